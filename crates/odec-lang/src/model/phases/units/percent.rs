//! Large numbers next to a quantity in [%] or [deg]: they are pure numbers, and are probably meant in that unit.

use super::Checker;
use crate::diagnostic::codes;
use crate::model::Symbol;
use crate::report::warning;
use crate::syntax::tree::{ExprId, ExprKind};

impl Checker<'_> {
    /// `humidity > 50`, with a humidity in [%]: 50 is 5000 %.
    pub(super) fn large_number(&mut self, bare: ExprId, other: ExprId) {
        let tree = self.input.tree;
        let kind = |id: ExprId| &tree.exprs[id.0 as usize].kind;
        let (ExprKind::Number(x), ExprKind::Name(reference)) = (kind(bare), kind(other)) else { return };
        let Some(bracket) = self.quantity(&reference.name.name).and_then(|q| q.bracket) else { return };
        if *x > 1.0 && !self.ignores_units {
            let (name, unit) = (&reference.name.name, &bracket.text);
            let headline = format!("`{name}` is in [{unit}], but a number next to it is a pure number");
            let report = warning(&codes::W0517, headline, self.span(bare), format!("not in [{unit}]"));
            let report = report.label(bracket.span, format!("`{name}` is in [{unit}]"));
            let help = format!("write `{x} [{unit}]`, or `{x} [1]` if you mean the pure number");
            self.reports.say(report.help(help));
        }
    }

    /// `humidity > limit`, with `param limit = 50`.
    pub(super) fn large_value(&mut self, first: ExprId, second: ExprId) {
        if self.ignores_units {
            return;
        }
        for (scaled, plain) in [(first, second), (second, first)] {
            let named = |id: ExprId| self.named[id.0 as usize].map(|at| &self.quantities[at as usize]);
            let (Some(of), Some(value)) = (named(scaled), named(plain)) else { continue };
            let Some(bracket) = of.bracket.filter(|_| self.pool[of.unit].is_scale()) else { continue };
            let item = match value.symbol {
                _ if value.bracket.is_some() => continue,
                Symbol::Parameter(at) => &self.names.found.parameters[at],
                Symbol::Constant(at) => &self.names.found.constants[at],
                _ => continue,
            };
            let number = item.value.map(|value| &self.input.tree.exprs[value.0 as usize].kind);
            let Some(ExprKind::Number(x)) = number.filter(|kind| matches!(kind, ExprKind::Number(x) if *x > 1.0))
            else {
                continue;
            };
            let (name, other, unit) = (of.name, value.name, &bracket.text);
            let headline = format!("`{name}` is in [{unit}], but `{other}` next to it is a pure number");
            let report = warning(&codes::W0517, headline, value.span, format!("not in [{unit}]"))
                .label(self.span(plain), "a pure number here")
                .label(bracket.span, format!("`{name}` is in [{unit}]"));
            let help = format!("write `{other} = {x} [{unit}]`, or `{other} = {x} [1]` if you mean the pure number");
            self.reports.say(report.help(help));
            return;
        }
    }
}
