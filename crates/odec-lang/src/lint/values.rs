//! The value of a simple expression at the start of a run: numbers, names, functions, sums. An array has a value if all
//! of its elements have the same one, or if the element is known.

use std::collections::{HashMap, HashSet};

use super::Page;
use crate::model::Symbol;
use crate::syntax::tree::{Binary, Compare, Declared, ExprId, ExprKind, Ident, Index, Later, Reference, StatementKind};

/// Deepest chain of definitions that is followed.
const MAX_DEPTH: usize = 60;

/// A sum below this fraction of its first term is a rounding error.
const CANCELLED: f64 = 1e-12;

/// Largest number of parts of an expression that are searched for states.
const MAX_READ: usize = 1000;

/// The expressions of the values of names; those of arrays may contain indices, which have no value.
pub(super) struct Values<'a> {
    page: &'a Page<'a>,
    names: HashMap<(&'a str, u8), ExprId>,
    known: HashMap<(String, u8), Option<f64>>,
    /// States count as at least this large.
    least: f64,
    /// The first and the last number of each declared index.
    ranges: HashMap<&'a str, (ExprId, ExprId)>,
    /// The indices of each array in its declaration.
    axes: HashMap<&'a str, Vec<&'a str>>,
    /// The element at which arrays are read.
    element: HashMap<&'a str, f64>,
}

impl<'a> Values<'a> {
    pub(super) fn of(page: &'a Page<'a>) -> Values<'a> {
        let mut names = HashMap::new();
        // names whose parts have values of their own: `state u[1] = 2, u[2..5] = 0`
        let mut parts: HashSet<(&str, u8)> = HashSet::new();
        let (mut ranges, mut axes) = (HashMap::new(), HashMap::new());
        let mut note = |target: &'a Reference, value: ExprId| {
            let key = (target.name.name.as_str(), target.primes);
            let named = target.indices.iter().map(|index| match index {
                Index::At(id) => name_of(page, *id),
                _ => None,
            });
            if let Some(list) = named.collect::<Option<Vec<&str>>>().filter(|list| !list.is_empty()) {
                axes.insert(key.0, list);
            }
            if names.insert(key, value).is_some() && !target.indices.is_empty() {
                parts.insert(key);
            }
        };
        for statement in &page.tree.statements {
            let plain = |item: &&Declared| item.target.path.is_empty();
            for item in statement.kind.items().iter().filter(plain) {
                if let Some(value) = item.value {
                    note(&item.target, value);
                }
            }
            if let StatementKind::Later(Later::Index(items)) = &statement.kind {
                let all =
                    items.iter().flat_map(|(names, first, last)| names.iter().map(move |name| (name, first, last)));
                ranges.extend(all.map(|(name, first, last)| (name.name.as_str(), (*first, *last))));
            }
            if let StatementKind::Equation { lhs, rhs, .. } = &statement.kind
                && let ExprKind::Name(name) = &page.expr(*lhs).kind
                && name.primes == 0
                && name.path.is_empty()
            {
                note(name, *rhs);
            }
        }
        names.retain(|key, _| !parts.contains(key));
        Values { page, names, known: HashMap::new(), least: 0.0, ranges, axes, element: HashMap::new() }
    }

    /// Reads arrays at these values of indices from now on.
    pub(super) fn read_at(&mut self, element: &[(&'a str, f64)]) {
        self.element = element.iter().copied().collect();
        self.known.clear();
    }

    /// The first and the last number of an index.
    pub(super) fn range(&mut self, index: &str) -> Option<(f64, f64)> {
        let (first, last) = *self.ranges.get(index)?;
        Some((self.value(first)?, self.value(last)?))
    }

    /// The same with states that are at least this large, as they may become later.
    pub(super) fn with_states_from(page: &'a Page<'a>, least: f64) -> Values<'a> {
        Values { least, ..Values::of(page) }
    }

    /// The initial value of an expression, if it is known.
    pub(super) fn value(&mut self, id: ExprId) -> Option<f64> {
        self.deep(id, 0)
    }

    /// The values of the states that an expression reads, including reads by definitions.
    pub(super) fn states(&mut self, id: ExprId) -> Vec<f64> {
        let page = self.page;
        let (mut found, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) || seen.len() > MAX_READ {
                continue;
            }
            match &page.expr(id).kind {
                ExprKind::Name(name) => {
                    let (text, primes) = (name.name.name.as_str(), name.primes);
                    match page.model.symbols.get(text) {
                        Some(Symbol::State(_)) => found.extend(self.name(text, primes, 0)),
                        Some(Symbol::Definition(_)) => open.extend(self.names.get(&(text, 0))),
                        _ => {}
                    }
                }
                ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => open.push(*a),
                ExprKind::Binary(_, _, a, b) => open.extend([*a, *b]),
                ExprKind::If(a, b, c) => open.extend([*a, *b, *c]),
                ExprKind::Comparison(list, _) | ExprKind::Call(_, list) | ExprKind::Tuple(list) => open.extend(list),
                _ => {}
            }
        }
        found
    }

    fn deep(&mut self, id: ExprId, depth: usize) -> Option<f64> {
        let value = self.unconverted(id, depth)?;
        Some(self.page.model.unit_factors.get(&id).map_or(value, |factor| factor * value))
    }

    fn unconverted(&mut self, id: ExprId, depth: usize) -> Option<f64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let page = self.page;
        match &page.expr(id).kind {
            ExprKind::Number(value) => Some(*value),
            // with `units off` the sizes of quantities would be guessed
            ExprKind::Quantity(a, _) if self.page.model.units.mode != crate::units::Mode::Off => {
                self.deep(*a, depth + 1)
            }
            ExprKind::Name(name) if name.path.is_empty() => {
                self.entry(name, depth).or_else(|| self.name(&name.name.name, name.primes, depth))
            }
            ExprKind::Reduce(name, binders, None, body) => self.reduced(name, binders, *body, depth + 1),
            ExprKind::Neg(a) => Some(-self.deep(*a, depth + 1)?),
            ExprKind::Tuple(one) if one.len() == 1 => self.deep(one[0], depth + 1),
            ExprKind::Binary(op, _, a, b) => {
                let (a, b) = (self.deep(*a, depth + 1)?, self.deep(*b, depth + 1)?);
                // what is left of two equal numbers is a rounding error
                let sum = |b: f64| Some(a + b).filter(|sum| *sum == 0.0 || sum.abs() > CANCELLED * a.abs());
                match op {
                    Binary::Add => sum(b),
                    Binary::Sub => sum(-b),
                    Binary::Mul => Some(a * b),
                    Binary::Div => Some(a / b),
                    Binary::Pow => Some(a.powf(b)),
                    Binary::And | Binary::Or => None,
                }
            }
            ExprKind::If(condition, yes, no) => {
                let holds = self.holds(*condition, depth + 1)?;
                self.deep(if holds { *yes } else { *no }, depth + 1)
            }
            ExprKind::Call(name, arguments) => {
                let op = odec_ir::builtin::find_function(if name.name == "log" { "ln" } else { &name.name })?;
                let own = page.model.functions.iter().any(|function| function.name == name.name);
                if own || arguments.len() != usize::from(op.0.arity) {
                    return None;
                }
                let arguments: Option<Vec<f64>> = arguments.iter().map(|a| self.deep(*a, depth + 1)).collect();
                Some((op.0.value)(&arguments?))
            }
            _ => None,
        }
    }

    /// The entry of a table that an element names: `b[2]`, or `b[i]` at the element that is read.
    fn entry(&mut self, name: &Reference, depth: usize) -> Option<f64> {
        let [Index::At(at)] = name.indices[..] else { return None };
        let key = (name.name.name.as_str(), name.primes);
        let ExprKind::Table(entries) = &self.page.expr(*self.names.get(&key)?).kind else { return None };
        let [axis] = self.axes.get(key.0)?[..] else { return None };
        let (first, _) = self.range(axis)?;
        let place = self.deep(at, depth + 1)? - first;
        let entry = entries.get(place as usize).filter(|_| place >= 0.0 && place.fract() == 0.0)?;
        self.deep(*entry, depth + 1)
    }

    /// A sum of equal terms, and the largest or smallest of them.
    fn reduced(
        &mut self,
        name: &Ident,
        binders: &[(Ident, Option<(ExprId, ExprId)>)],
        body: ExprId,
        depth: usize,
    ) -> Option<f64> {
        let mut count = 1.0;
        for (index, ends) in binders {
            // the index of the sum hides that of the element
            if self.element.contains_key(index.name.as_str()) {
                return None;
            }
            let (first, last) = match ends {
                Some((first, last)) => (self.deep(*first, depth)?, self.deep(*last, depth)?),
                None => self.range(&index.name)?,
            };
            count *= (last - first + 1.0).max(0.0);
        }
        let each = self.deep(body, depth)?;
        match name.name.as_str() {
            "sum" => Some(count * each),
            "min" | "max" if count > 0.0 => Some(each),
            _ => None,
        }
    }

    fn name(&mut self, name: &str, primes: u8, depth: usize) -> Option<f64> {
        if let Some(index) = self.element.get(name).filter(|_| primes == 0) {
            return Some(*index);
        }
        match name {
            "pi" | "π" if !self.names.contains_key(&(name, 0)) => return Some(std::f64::consts::PI),
            _ => {}
        }
        let key = (name.to_owned(), primes);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        // prevents infinite recursion: a name has no value inside its own value
        self.known.insert(key.clone(), None);
        let mut value = self.names.get(&(name, primes)).copied().and_then(|id| self.deep(id, depth + 1));
        if self.least > 0.0 && matches!(self.page.model.symbols.get(name), Some(Symbol::State(_))) {
            value = value.map(|x| x.abs().max(self.least).copysign(x));
        }
        self.known.insert(key, value);
        value
    }

    fn holds(&mut self, id: ExprId, depth: usize) -> Option<bool> {
        let page = self.page;
        let ExprKind::Comparison(operands, signs) = &page.expr(id).kind else { return None };
        let [a, b] = operands.as_slice() else { return None };
        let (a, b) = (self.deep(*a, depth)?, self.deep(*b, depth)?);
        Some(match signs.first()?.0 {
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
            Compare::Eq => a == b,
            Compare::Ne => a != b,
        })
    }
}

fn name_of<'a>(page: &Page<'a>, id: ExprId) -> Option<&'a str> {
    match &page.expr(id).kind {
        ExprKind::Name(name) if name.indices.is_empty() && name.path.is_empty() => Some(&name.name.name),
        _ => None,
    }
}
