//! Numbers that divide a quantity and lack its unit: `A/50` and `(WT/70)^0.75`.

use odec_ir::Span;

use super::{Checker, Clash, Kind, Value};
use crate::syntax::tree::{Binary, ExprId, ExprKind};
use crate::units::rational::Rational;
use crate::units::table;

/// Masses of one molecule, and the molar masses with the same number.
const DALTONS: [(&str, &str); 4] = [("Da", "g/mol"), ("u", "g/mol"), ("kDa", "kg/mol"), ("MDa", "Mg/mol")];

impl Checker<'_> {
    /// The expressions of the statements from which the units of a contradiction follow.
    fn exprs_between(&self, clash: &Clash<'_>) -> Vec<ExprId> {
        let kept = self.solver.kept();
        let chain = self.solver.chain(&self.pool[clash.left].quotient(&self.pool[clash.right]));
        let sites = chain.into_iter().map(|k| kept[k].site);
        sites.flat_map(|site| [site.left_expr, site.right_expr, site.context]).flatten().collect()
    }

    /// A quotient with another divisor; the whole value, in brackets, if a unit may follow it.
    fn quotient_with(&self, clash: &Clash<'_>, quotient: Span, number: Span, typed: &str) -> String {
        let whole = clash.site.right_expr.filter(|_| matches!(clash.site.kind, Kind::Value(_)));
        let whole = whole.map(|expr| self.span(expr)).filter(|whole| whole.start <= quotient.start);
        let place = whole.filter(|whole| quotient.end <= whole.end).unwrap_or(quotient);
        let text = self.input.text(place);
        let (from, to) = ((number.start - place.start) as usize, (number.end - place.start) as usize);
        let better = format!("{}{typed}{}", &text[..from], &text[to..]);
        if place == quotient && whole.is_none() { better } else { format!("({better})") }
    }

    /// Help for a mass of one molecule, in daltons, where a molar mass is meant.
    pub(super) fn molar_mass(&self, clash: &Clash<'_>) -> Option<String> {
        let missing = clash.quotient.dimensions();
        let mole = table::find("mol")?.dimensions();
        if ![1, -1].iter().any(|&power| mole.power(Rational::whole(power)) == missing) {
            return None;
        }
        let site = [clash.site.left_expr, clash.site.right_expr, clash.site.context].into_iter().flatten();
        let exprs: Vec<ExprId> = site.chain(self.exprs_between(clash)).collect();
        let names = exprs.into_iter().flat_map(|expr| self.names_in(expr));
        let mut brackets = names.filter_map(|name| Some((name, self.quantity(name)?.bracket?.text.as_str())));
        let (name, unit, molar) = brackets.find_map(|(name, unit)| {
            let molar = DALTONS.iter().find(|(dalton, _)| *dalton == unit)?.1;
            Some((name, unit, molar))
        })?;
        Some(format!("[{unit}] is the mass of one molecule; if `{name}` is a molar mass, write [{molar}] for [{unit}]"))
    }

    /// Help for `dx = 1/(N + 1) [m]`, whose unit belongs to the divisor.
    fn unit_of_divisor(&mut self, clash: &Clash<'_>) -> Option<String> {
        let missing = clash.quotient.dimensions();
        let tree = self.input.tree;
        let found = self.exprs_between(clash).into_iter().find_map(|expr| {
            let ExprKind::Binary(Binary::Div, _, above, below) = tree.exprs[expr.0 as usize].kind else { return None };
            let ExprKind::Quantity(inner, _) = tree.exprs[below.0 as usize].kind else { return None };
            // a rate such as `1/20 [min]` has its unit below
            let number = matches!(tree.exprs[inner.0 as usize].kind, ExprKind::Number(_));
            let Value::Unit(unit) = self.value_of(below) else { return None };
            let even = [2, -2, 4, -4, 6, -6]
                .iter()
                .any(|&power| self.pool[unit].dimensions().power(Rational::whole(power)) == missing);
            let plain = matches!(tree.exprs[above.0 as usize].kind, ExprKind::Number(_));
            (even && plain && !number).then_some((above, inner, below))
        });
        let (above, inner, below) = found?;
        let (above, divisor) = (self.input.text(self.span(above)), self.input.text(self.span(inner)));
        let unit = self.input.text(self.span(below)).strip_prefix(divisor)?.trim().to_owned();
        Some(format!(
            "`{unit}` is the unit of the divisor `{divisor}`; for the unit of the quotient, write `({above}/{divisor}) {unit}`"
        ))
    }

    /// Help for a contradiction that disappears when the number in a quotient gets the unit of the dividend.
    pub(super) fn number_in_quotient(&mut self, clash: &Clash<'_>) -> Option<String> {
        let missing = clash.quotient.dimensions();
        // a definition in between may stand on either side
        let between = self.exprs_between(clash).into_iter().flat_map(|expr| [(expr, 1), (expr, -1)]);
        let sides = [(clash.site.right_expr, -1), (clash.site.left_expr, 1)];
        let mut open: Vec<(ExprId, Rational)> = sides
            .into_iter()
            .filter_map(|(expr, sign)| Some((expr?, sign)))
            .chain(between)
            .map(|(expr, sign)| (expr, Rational::whole(sign)))
            .collect();
        let tree = self.input.tree;
        let kind = |e: ExprId| &tree.exprs[e.0 as usize].kind;
        let mut at = 0;
        while let Some(&(expr, power)) = open.get(at) {
            at += 1;
            match kind(expr) {
                ExprKind::Neg(a) => open.push((*a, power)),
                ExprKind::Binary(Binary::Mul, _, a, b) => open.extend([(*a, power), (*b, power)]),
                ExprKind::Binary(Binary::Div, _, a, b) => {
                    if matches!(kind(*b), ExprKind::Number(_))
                        && let Value::Unit(unit) = self.value_of(*a)
                        && !self.pool[unit].is_open()
                        && self.pool[unit].has_dimension()
                        && self.pool[unit].dimensions().power(power) == missing
                    {
                        let (number, text) = (self.span(*b), self.input.text(self.span(*b)));
                        let typed = format!("({text} [{}])", self.words(unit));
                        let better = self.quotient_with(clash, self.span(expr), number, &typed);
                        return Some(format!("if {text} is in [{}] too, write `{better}`", self.words(unit)));
                    }
                    open.extend([(*a, power), (*b, -power)]);
                }
                ExprKind::Binary(Binary::Pow, _, a, b) => {
                    if let ExprKind::Number(x) = kind(*b)
                        && let Some(exponent) = Rational::of_number(*x)
                    {
                        open.push((*a, power * exponent));
                    }
                }
                ExprKind::Call(name, list) if name.name == "sqrt" => {
                    open.extend(list.iter().map(|&a| (a, power * Rational::new(1, 2))));
                }
                _ => {}
            }
        }
        self.unit_of_divisor(clash)
    }
}
