//! Names without a declared unit that the text treats as pure numbers, such as `n` in `1 - n`, while their other uses
//! give them a unit: a wrong unit elsewhere in the model hides there.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::{Checker, Site};
use crate::model::Symbol;
use crate::syntax::tree::{Binary, Change, EventAction, ExprId, ExprKind};
use crate::units::Mode;

/// Largest number of names that are reported.
const MAX_NAMES: usize = 3;

/// What shows that a name is a pure number.
struct Fraction {
    /// Position of the name among the quantities.
    quantity: usize,
    place: Span,
    reason: &'static str,
}

impl<'a> Checker<'a> {
    /// Warns about such a name if the unit is not one that the model writes. A name whose unit remains free is taken as
    /// a pure number here, as the text says; this can give another name its unit.
    pub(super) fn report_fractions(&mut self) {
        if self.units.mode == Mode::Strict || !self.clashes.is_empty() {
            return;
        }
        let candidates = self.fractions();
        let mut reported = 0;
        for free in [false, true] {
            for candidate in &candidates {
                let quantity = &self.quantities[candidate.quantity];
                let (name, declared) = (quantity.name, quantity.span);
                let id = self.reduced(quantity.unit);
                let unit = self.pool[id].clone();
                if unit.is_open() {
                    if free {
                        let site = Site { left: declared, right: candidate.place, ..Self::nowhere() };
                        self.solver.equate(unit, site);
                    }
                    continue;
                }
                let odd = unit.has_dimension() && !self.units.spelled.contains_key(&unit);
                if !odd || reported >= MAX_NAMES {
                    continue;
                }
                reported += 1;
                let headline = format!("the units of the model make `{name}` a quantity in [{}]", self.words(id));
                let report = crate::report::warning(&codes::W0522, headline, declared, "declared without a unit");
                let report = report.label(candidate.place, candidate.reason);
                self.reports.say(report.help(format!(
                    "declare its unit, `[1]` for a pure number: `{name} = ... [1]`; odec then reports a unit that does \
                     not fit"
                )));
            }
            if reported > 0 {
                return;
            }
        }
    }

    fn nowhere() -> Site<'a> {
        let (left, right) = (Span::default(), Span::default());
        Site { kind: super::Kind::Sum, left, right, left_expr: None, right_expr: None, context: None }
    }

    /// Names without a unit in `1 - x`, and those that are only ever 0 or 1; each once.
    fn fractions(&self) -> Vec<Fraction> {
        let tree = self.input.tree;
        let kind = |id: ExprId| &tree.exprs[id.0 as usize].kind;
        let flag = |id: ExprId| matches!(kind(id), ExprKind::Number(x) if *x == 0.0 || *x == 1.0);
        let is_one = |id: ExprId| matches!(kind(id), ExprKind::Number(x) if *x == 1.0);
        let found = &self.names.found;
        let mut list: Vec<Fraction> = Vec::new();
        let mut seen = vec![false; self.quantities.len()];
        let mut add = |quantity: usize, place, reason| {
            if self.quantities[quantity].bracket.is_none() && !std::mem::replace(&mut seen[quantity], true) {
                list.push(Fraction { quantity, place, reason });
            }
        };
        let mut in_functions = vec![false; if found.functions.is_empty() { 0 } else { tree.exprs.len() }];
        for function in &found.functions {
            self.input.nodes_of(function.body).into_iter().for_each(|id| in_functions[id.0 as usize] = true);
        }
        for (k, expr) in tree.exprs.iter().enumerate() {
            let ExprKind::Binary(Binary::Sub, _, a, b) = expr.kind else { continue };
            let named =
                self.named[b.0 as usize].filter(|_| is_one(a) && !in_functions.get(k).copied().unwrap_or(false));
            if let (Some(at), ExprKind::Name(reference)) = (named, kind(b))
                && reference.primes == 0
            {
                add(at as usize, self.span(ExprId(k as u32)), "this treats it as a pure number");
            }
        }
        for item in &found.discretes {
            let name = item.target.name.name.as_str();
            let actions = found.events.iter().flat_map(|event| {
                let rest = event.event.rest.iter().flat_map(|(_, actions)| actions);
                event.event.actions.iter().chain(rest)
            });
            let mut values = actions.filter_map(|action| match action {
                EventAction::Change(target, change, value, _) if target.name.name == name => Some((change, *value)),
                _ => None,
            });
            if item.value.is_some_and(flag)
                && values.all(|(change, value)| matches!(change, Change::Set) && flag(value))
                && let Some(&at) = self.by_name.get(name)
            {
                add(at, item.target.span, "it is only ever 0 or 1");
            }
        }
        for (k, item) in found.definitions.iter().enumerate() {
            if let ExprKind::If(_, a, b) = kind(item.value)
                && flag(*a)
                && flag(*b)
                && item.pieces.is_empty()
            {
                add(self.first_definition + k, self.span(item.value), "it is only ever 0 or 1");
            }
        }
        list.retain(|fraction| !matches!(self.quantities[fraction.quantity].symbol, Symbol::Constant(_)));
        list
    }
}
