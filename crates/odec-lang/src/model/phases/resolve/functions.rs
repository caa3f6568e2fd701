//! Functions of the model. A function whose body reads only its arguments remains a function; a function that reads
//! names of the model or elements of arrays is inlined at its calls.

use std::collections::HashMap;

use odec_ir::Span;

use super::scope::Scope;
use super::terms::Value;
use super::{Allowed, Resolver};
use crate::diagnostic::codes;
use crate::limits::MAX_NESTING;
use crate::model::phases::PhaseInput;
use crate::model::phases::names::{FunctionItem, Names};
use crate::model::walk::MAX_INLINED_TERMS;
use crate::model::{Body, Symbol, TermKind};
use crate::order::{components, is_cycle};
use crate::report::error;
use crate::syntax::tree::{ExprId, ExprKind, Ident, Reference};

/// A function that is being inlined.
pub(super) struct Frame<'a> {
    arguments: &'a [Ident],
    values: Vec<Value>,
}

/// The inlined functions, and the current ones.
pub(super) struct Functions<'a> {
    /// For each function: true if it is inlined.
    pub open: Vec<bool>,
    /// From the outermost call to the current one.
    pub frames: Vec<Frame<'a>>,
    /// Ranges of the reductions in functions: their terms must not be among those of an expression.
    pub ranges: HashMap<ExprId, Body>,
    /// Number of terms that functions were expanded to, without the current outermost call.
    terms: u64,
    /// The first term of the current outermost call.
    start: u64,
    /// True after a report of too many inlined calls.
    too_many: bool,
}

impl<'a> Functions<'a> {
    pub(super) fn of(input: PhaseInput<'a>, names: &Names<'a>) -> Functions<'a> {
        let functions = &names.found.functions;
        let calls: Vec<Vec<usize>> = functions.iter().map(|f| calls(input, names, f)).collect();
        let mut open: Vec<bool> = functions.iter().map(|f| reads_more(input, names, f)).collect();
        for component in components(&calls) {
            // recursion is reported elsewhere
            let cycle = is_cycle(&component, &calls);
            for i in component {
                open[i] = !cycle && (open[i] || calls[i].iter().any(|&called| open[called]));
            }
        }
        Functions { open, frames: Vec::new(), ranges: HashMap::new(), terms: 0, start: 0, too_many: false }
    }
}

/// The functions that a function calls.
fn calls(input: PhaseInput<'_>, names: &Names<'_>, f: &FunctionItem<'_>) -> Vec<usize> {
    let called = |id: ExprId| match &input.tree.exprs[id.0 as usize].kind {
        ExprKind::Call(name, _) => names.functions.get(&name.name).copied(),
        _ => None,
    };
    input.nodes_of(f.body).into_iter().filter_map(called).collect()
}

/// True if the body reads names of the model other than scalar constants.
fn reads_more(input: PhaseInput<'_>, names: &Names<'_>, f: &FunctionItem<'_>) -> bool {
    input.nodes_of(f.body).into_iter().any(|id| match &input.tree.exprs[id.0 as usize].kind {
        ExprKind::Name(r) if f.arguments.iter().any(|a| a.name == r.name.name) => false,
        ExprKind::Name(r) => match names.symbols.get(&r.name.name) {
            None | Some(Symbol::Index(_)) => false,
            Some(Symbol::Constant(_)) => !r.indices.is_empty(),
            Some(_) => true,
        },
        ExprKind::Call(name, _) => names.inputs.contains_key(&name.name),
        _ => false,
    })
}

impl<'a> Resolver<'a> {
    /// Resolves the ranges of reductions in inlined functions, before any expression calls them.
    pub(super) fn resolve_function_ranges(&mut self) {
        let names = self.names;
        for f in names.found.functions.iter().zip(self.functions.open.clone()).filter(|(_, open)| *open).map(|f| f.0) {
            for id in self.input.nodes_of(f.body) {
                if let ExprKind::Reduce(_, binders, ..) = &self.input.tree.exprs[id.0 as usize].kind {
                    for e in binders.iter().filter_map(|b| b.1).flat_map(|(a, b)| [a, b]) {
                        let body = self.extent(e);
                        self.functions.ranges.insert(e, body);
                    }
                }
            }
        }
    }

    /// The body of a function with these arguments, instead of its call.
    pub(super) fn put_in(&mut self, index: usize, values: Vec<Value>, place: Allowed<'a>, span: Span) -> Value {
        let names = self.names;
        let item = &names.found.functions[index];
        let here = self.model.terms.len() as u64;
        if self.functions.frames.is_empty() {
            self.functions.start = here;
        }
        let so_far = self.functions.terms + (here - self.functions.start);
        if so_far > MAX_INLINED_TERMS || self.functions.frames.len() > MAX_NESTING {
            if !std::mem::replace(&mut self.functions.too_many, true) {
                let headline = if so_far > MAX_INLINED_TERMS {
                    format!("the functions of the model expand to more than {MAX_INLINED_TERMS} terms")
                } else {
                    format!("functions call functions more than {MAX_NESTING} levels deep")
                };
                let report =
                    error(&codes::E0509, headline, span, "at this call").label(item.name.span, "this function");
                self.say(report.help("nest fewer calls, or give a value that you use twice a name"));
            }
            return self.nothing(span);
        }
        self.functions.frames.push(Frame { arguments: item.arguments, values });
        let outside: (Scope, Scope) = (self.scopes.base.take(), self.scopes.here.take());
        let restricted = std::mem::take(&mut self.scopes.restricted);
        for (id, scope) in self.scoped_nodes(item.body, place) {
            self.scopes.here = scope;
            let value = self.node(id, place);
            self.values[id.0 as usize] = Some(self.converted(id, value));
        }
        (self.scopes.base, self.scopes.here) = outside;
        self.scopes.restricted = restricted;
        self.functions.frames.pop();
        if self.functions.frames.is_empty() {
            self.functions.terms += self.model.terms.len() as u64 - self.functions.start;
        }
        self.value_of(item.body)
    }

    /// The argument of the function that is being inlined, if the name is one.
    pub(super) fn put_in_argument(&mut self, reference: &'a Reference) -> Option<Value> {
        let frame = self.functions.frames.last()?;
        let i = frame.arguments.iter().position(|a| a.name == reference.name.name)?;
        let value = frame.values[i];
        self.refuse_parts_of_argument(reference);
        Some(match self.which_component(reference, value.dim()) {
            None => self.nothing(reference.span),
            Some(None) => value,
            Some(Some(c)) => Value::Scalar(value.component(c)),
        })
    }

    /// The argument with this name of the current function.
    pub(super) fn is_argument(&self, place: Allowed<'a>, name: &str) -> Option<&'a Ident> {
        let arguments = match (self.functions.frames.last(), place) {
            (Some(frame), _) => frame.arguments,
            (None, Allowed::Function(arguments)) => arguments,
            _ => return None,
        };
        arguments.iter().find(|a| a.name == name)
    }

    /// Reports an index that nothing binds: in a function it must be an argument.
    pub(super) fn index_outside(&mut self, name: &str, span: Span, place: Allowed<'a>) {
        let inside = |f: &&FunctionItem<'a>| {
            let body = self.input.span_of(f.body);
            body.start <= span.start && span.end <= body.end
        };
        let function = match place {
            _ if !self.functions.frames.is_empty() => self.names.found.functions.iter().find(inside),
            Allowed::Function(..) => self.names.found.functions.iter().find(inside),
            _ => None,
        };
        let Some(f) = function else { return self.free_index(name, span) };
        let headline = format!("the function `{}` uses the index `{name}`, which is not an argument", f.name.name);
        let list: Vec<&str> = std::iter::once(name).chain(f.arguments.iter().map(|a| a.name.as_str())).collect();
        let form = format!("{}({})", f.name.name, list.join(", "));
        let report = error(&codes::E0207, headline, span, "an unbound index");
        self.say(report.help(format!("pass it as an argument: `fn {form} = ...`, and call `{form}`")));
    }

    fn refuse_parts_of_argument(&mut self, reference: &'a Reference) {
        let (name, span) = (&reference.name.name, reference.span);
        if reference.primes > 0 {
            let headline = format!("`{name}` has no derivative");
            let report = error(&codes::E0302, headline, span, "an argument of the function");
            self.say(report.help("pass the derivative as another argument"));
        }
        if !reference.indices.is_empty() {
            let headline = format!("`{name}` is a single value without indices");
            let report = error(&codes::E0513, headline, span, "an argument of the function");
            self.say(report.help("pass the element, `f(u[i])`; functions do not take arrays"));
        }
    }

    /// An argument of a function that is not inlined.
    pub(super) fn argument(&mut self, reference: &'a Reference, i: usize) -> Value {
        let dims = self.instances.arguments.clone();
        let span = reference.span;
        self.refuse_parts_of_argument(reference);
        let dim = dims.get(i).copied().unwrap_or(0);
        let before: usize = dims[..i.min(dims.len())].iter().map(|&d| usize::from(d.max(1))).sum();
        let Some(which) = self.which_component(reference, dim) else { return self.nothing(span) };
        match which {
            Some(c) => Value::Scalar(self.push(TermKind::Argument(before + c), span)),
            None => self.each(dim, span, |b, c| b.push(TermKind::Argument(before + c), span)),
        }
    }
}
