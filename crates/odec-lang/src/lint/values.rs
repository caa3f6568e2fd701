//! The value of a simple expression at the start of a run: numbers, names, functions. An array has a value if all of
//! its elements have the same one.

use std::collections::{HashMap, HashSet};

use super::Page;
use crate::model::Symbol;
use crate::syntax::tree::{Binary, Compare, Declared, ExprId, ExprKind, Reference, StatementKind};

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
}

impl<'a> Values<'a> {
    pub(super) fn of(page: &'a Page<'a>) -> Values<'a> {
        let mut names = HashMap::new();
        // names whose parts have values of their own: `state u[1] = 2, u[2..5] = 0`
        let mut parts: HashSet<(&str, u8)> = HashSet::new();
        let mut note = |target: &'a Reference, value: ExprId| {
            let key = (target.name.name.as_str(), target.primes);
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
            if let StatementKind::Equation { lhs, rhs, .. } = &statement.kind
                && let ExprKind::Name(name) = &page.expr(*lhs).kind
                && name.primes == 0
                && name.path.is_empty()
            {
                note(name, *rhs);
            }
        }
        names.retain(|key, _| !parts.contains(key));
        Values { page, names, known: HashMap::new(), least: 0.0 }
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
        Some(self.page.model.units.factors.get(&id).map_or(value, |factor| factor * value))
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
            ExprKind::Name(name) if name.path.is_empty() => self.name(&name.name.name, name.primes, depth),
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

    fn name(&mut self, name: &str, primes: u8, depth: usize) -> Option<f64> {
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
