//! The recorded quantities: declared outputs, existing names, whole arrays and single elements.

use std::collections::hash_map::Entry;

use odec_ir::Span;

use super::Resolver;
use super::statements::component_name;
use crate::diagnostic::codes;
use crate::model::phases::names::{Declarations, OutputItem};
use crate::model::phases::one_line;
use crate::model::phases::shapes::{COMPONENTS, offset};
use crate::model::{self, Body, Indexed, Symbol, TermKind};
use crate::report::error;
use crate::syntax::tree::{Reference, Unit};

impl<'a> Resolver<'a> {
    pub(super) fn resolve_output(&mut self, output: &OutputItem<'a>, found: &Declarations<'a>) {
        match output {
            OutputItem::Declared(i) => {
                let d = &found.definitions[*i];
                let dim = self.shapes.dim(d.name);
                let first = self.shapes.definition_firsts[*i];
                for c in 0..usize::from(dim.max(1)) {
                    self.uses.mark(Symbol::Definition(first + c));
                    let axes = self.model.definitions[first + c].indexed.axes.clone();
                    let (value, indexed) = self.whole(Symbol::Definition(first + c), 0, &axes, d.span);
                    self.record_output(model::Output {
                        name: component_name(d.name, dim, c),
                        value,
                        unit: d.unit.map(|u| u.text.clone()),
                        doc: d.doc.map(str::to_owned),
                        span: d.span,
                        indexed,
                    });
                }
            }
            OutputItem::Existing(reference, unit, doc) => self.existing(reference, *unit, *doc),
        }
    }

    /// All elements of a quantity: a value over new indices.
    fn whole(&mut self, symbol: Symbol, order: u8, axes: &[model::Dimension], span: Span) -> (Body, Indexed) {
        let locals: Vec<usize> = axes.iter().map(|d| self.local(d.name.clone(), d.clone(), span)).collect();
        let start = self.model.terms.len() as u32;
        let subscripts: Vec<_> = locals.iter().map(|&l| self.push(TermKind::Index(l), span)).collect();
        let kind = if axes.is_empty() {
            TermKind::scalar(symbol, order).unwrap_or(TermKind::Number(0.0))
        } else {
            TermKind::Element(symbol, order, subscripts)
        };
        let root = self.push(kind, span);
        let body = Body { start, end: self.model.terms.len() as u32, root };
        (body, Indexed { axes: axes.to_vec(), locals })
    }

    fn existing(&mut self, reference: &'a Reference, unit: Option<&'a Unit>, doc: Option<&'a str>) {
        let name = reference.name.name.as_str();
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        let symbol = self.model.symbols.get(name).copied();
        let unit = unit.map(|u| u.text.clone());
        let doc = doc.map(str::to_owned);
        let span = reference.span;
        let output =
            |name, value, indexed| model::Output { name, value, unit: unit.clone(), doc: doc.clone(), span, indexed };
        let array = symbol.filter(|s| rank > 0 && !matches!(s, Symbol::Time | Symbol::Index(_)));
        let primed = reference.primes > 0 && !matches!(symbol, Some(Symbol::State(_) | Symbol::Definition(_)));
        let Some(symbol) = array.filter(|_| !primed) else {
            let (start, value) = self.within_scope(None, |b| b.outside_name(reference));
            let dim = value.dim();
            let primes = "'".repeat(usize::from(reference.primes));
            for (c, body) in self.split(start, value).into_iter().enumerate() {
                let tail = reference.path.iter().map(|p| format!(".{}", p.name)).collect::<String>();
                let tail = if dim > 0 { format!(".{}", COMPONENTS[c]) } else { tail };
                self.record_output(output(format!("{name}{primes}{tail}"), body, Indexed::default()));
            }
            return;
        };
        self.uses.mark(symbol);
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(reference, dim) else { return };
        let components = match which {
            Some(c) => c..c + 1,
            None => 0..usize::from(dim.max(1)),
        };
        if !reference.indices.is_empty() && reference.indices.len() != rank {
            self.wrong_rank(reference, rank);
            return;
        }
        let places = if reference.indices.is_empty() { None } else { Some(self.places(&reference.indices).0) };
        for c in components {
            let tail = if dim > 0 { format!(".{}", COMPONENTS[c]) } else { String::new() };
            let primes = "'".repeat(usize::from(reference.primes));
            let symbol = offset(symbol, c);
            let axes = self.model.indexed(symbol).map(|i| i.axes.clone()).unwrap_or_default();
            let (symbol, order) = self.of_order(symbol, reference.primes, span);
            let axes: Vec<model::Dimension> = match &places {
                None => axes,
                Some(places) => places.iter().map(|p| self.recorded_axis(p)).collect(),
            };
            let (value, indexed) = self.whole(symbol, order, &axes, span);
            // A single element has its own name; several elements are named by their indices.
            let single = places.as_ref().is_some_and(|p| p.iter().all(|p| matches!(p, model::Place::At(_))));
            let (name, value, indexed) = if single {
                let start = self.model.terms.len() as u32;
                let mut subscripts = Vec::new();
                for p in places.iter().flatten() {
                    if let model::Place::At(body) = p {
                        subscripts.push(self.copy(*body));
                    }
                }
                let root = self.push(TermKind::Element(symbol, order, subscripts), span);
                let written = self.subscripts_text(reference);
                // a name of a part has empty brackets at the place of its indices
                let name = if name.contains('[') {
                    odec_ir::names::element(name, &written)
                } else {
                    format!("{name}[{}]", written.join(","))
                };
                let body = Body { start, end: self.model.terms.len() as u32, root };
                (format!("{name}{primes}{tail}"), body, Indexed::default())
            } else {
                (format!("{name}{primes}{tail}"), value, indexed)
            };
            self.record_output(output(name, value, indexed));
        }
    }

    fn subscripts_text(&self, reference: &Reference) -> Vec<String> {
        let text = |index: &crate::syntax::tree::Index| {
            let first = index.parts().next().map(|part| self.input.span_of(part));
            first.map_or_else(String::new, |span| one_line(self.input.text(span)))
        };
        reference.indices.iter().map(text).collect()
    }

    /// A fixed index is an axis with one element, so that names keep all their indices.
    fn recorded_axis(&self, place: &model::Place) -> model::Dimension {
        match place {
            model::Place::Each(local) => self.model.locals[*local].range.clone(),
            model::Place::At(body) => {
                let name = one_line(self.input.text(self.model.span(*body)));
                model::Dimension { index: None, range: Some((*body, *body)), name }
            }
        }
    }

    fn record_output(&mut self, output: model::Output) {
        match self.recorded.entry(output.name.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(output.span);
                self.model.outputs.push(output);
            }
            Entry::Occupied(first) => {
                let first = *first.get();
                self.say(
                    error(&codes::E0202, format!("`{}` is recorded twice", output.name), output.span, "again here")
                        .label(first, "first here")
                        .help("keep one of the two"),
                );
            }
        }
    }

    /// Names in `record = [...]`: a state, its derivative or an output, whole or one element.
    pub(super) fn recorded(&mut self, reference: &'a Reference) -> Vec<(String, Body)> {
        let name = reference.name.name.as_str();
        let primes = "'".repeat(usize::from(reference.primes));
        let dim = self.shapes.dim(name);
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        if rank > 0 && reference.indices.is_empty() {
            let symbol = self.model.symbols.get(name).copied();
            if let Some(symbol) = symbol {
                self.uses.mark(symbol);
            }
            let Some(which) = self.which_component(reference, dim) else { return Vec::new() };
            let zero = self.number_body(0.0, reference.span);
            let all = 0..usize::from(dim.max(1));
            let wanted = all.filter(|c| which.is_none_or(|w| w == *c));
            let tail = |c: usize| if dim > 0 { format!(".{}", COMPONENTS[c]) } else { String::new() };
            return wanted.map(|c| (format!("{name}{primes}{}", tail(c)), zero)).collect();
        }
        let (start, value) = self.within_scope(None, |b| b.outside_name(reference));
        let several = value.dim() > 0;
        let tail = reference.path.iter().map(|p| format!(".{}", p.name)).collect::<String>();
        let bodies = self.split(start, value);
        let named = |(c, body): (usize, Body)| {
            let tail = if several { format!(".{}", COMPONENTS[c]) } else { tail.clone() };
            (format!("{name}{primes}{tail}"), body)
        };
        bodies.into_iter().enumerate().map(named).collect()
    }
}
