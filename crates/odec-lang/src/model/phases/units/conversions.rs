//! Factors between units of one dimension. A factor is only applied if the unit of every number in the expression is
//! given: a number whose unit is inferred from its neighbours may be meant in the other unit.

use std::collections::{HashMap, HashSet};

use super::{Checker, Kind, Value};
use crate::diagnostic::codes;
use crate::report::error;
use crate::syntax::tree::{Binary, ExprId, ExprKind};
use crate::units::pool::UnitId;

impl<'a> Checker<'a> {
    /// The factors, by the expressions that they multiply.
    pub(super) fn factors(&mut self) -> HashMap<ExprId, f64> {
        if self.conversions.is_empty() {
            return HashMap::new();
        }
        let conversions = std::mem::take(&mut self.conversions);
        let inferred_names = self.inferred_names();
        let tops = self.tops();
        let mut chains: HashSet<ExprId> = HashSet::new();
        let mut factors: HashMap<ExprId, (f64, u32)> = HashMap::new();
        for conversion in &conversions {
            let site = conversion.site;
            let plain = !conversion.factor.is_lost() && !conversion.factor.has_named_exponent();
            let Some(expr) = site.right_expr.filter(|_| plain && !matches!(site.kind, Kind::Recorded(_))) else {
                self.not_here(conversion);
                continue;
            };
            let before = self.reports.list().len();
            let mut sides = [site.left_expr, Some(expr)].into_iter().flatten();
            if let Some((name, place)) = sides.find_map(|side| inferred_names[side.0 as usize]) {
                self.undecided_name(name, place, conversion);
            }
            let top = tops[expr.0 as usize];
            if conversion.has_dimension
                && chains.insert(top)
                && let Some(number) = self.bare_in_chain(top)
            {
                let left = site.left_expr.map_or(Value::Any, |left| self.value_of(left));
                self.undecided_number(number, site.right, left);
            }
            if self.reports.list().len() > before {
                continue;
            }
            let factor = conversion.factor.scale();
            let entry = factors.entry(expr).or_insert((factor, 0));
            entry.1 += 1;
            if entry.0 != factor {
                self.not_here(conversion);
            }
        }
        // a value shared by several names is converted for all of them or for none
        for conversion in &conversions {
            let Some(expr) = conversion.site.right_expr else { continue };
            let uses = self.shared.get(&expr).copied().unwrap_or(1);
            if factors.get(&expr).is_some_and(|&(_, count)| count < uses) {
                self.not_here(conversion);
            }
        }
        factors.into_iter().map(|(expr, (factor, _))| (expr, factor)).collect()
    }

    /// Reports a conversion at a place where no factor can be applied.
    fn not_here(&mut self, conversion: &super::Conversion<'a>) {
        let site = conversion.site;
        let factor = conversion.factor.scale();
        let headline = match site.kind {
            Kind::Recorded(name) => format!("an output of `{name}` cannot have another unit than `{name}`"),
            _ if conversion.factor.has_named_exponent() => {
                "the factor between these units depends on a parameter in an exponent".to_owned()
            }
            _ => "these units differ by a factor, and odec cannot convert here".to_owned(),
        };
        let help = match site.kind {
            Kind::Recorded(name) => {
                let unit = self.input.text(site.right);
                format!("define another output, and odec converts it: `output {name}_converted = {name} {unit}`")
            }
            _ if conversion.factor.has_named_exponent() => {
                "make the base a pure number: divide it by a quantity with its unit, `(x/K)^n`".to_owned()
            }
            _ => format!("give each name its own value; the factor is {factor}"),
        };
        let report = error(&codes::E0575, headline, site.right, "").help(help);
        let report = if site.left == odec_ir::Span::default() { report } else { report.label(site.left, "") };
        self.reports.say(report);
    }

    /// Reports a number whose unit is inferred from neighbours of different scales; `of` is the unit of such a
    /// neighbour, if it is known.
    pub(super) fn undecided_number(&mut self, number: ExprId, other: odec_ir::Span, of: Value) {
        let headline = "this combines a number without a unit with units of different scale";
        let report = error(&codes::E0574, headline, self.span(number), "which unit does this have?")
            .label(other, "odec converts this");
        // the unit of the neighbour is as likely as any
        let unit = match of {
            Value::Unit(unit) => Some(self.reduced(unit)).filter(|&unit| self.is_writable(unit)),
            Value::Any | Value::Bare => None,
        };
        let beside = self.input.text(other);
        let bracket = || {
            // a bracket directly after a name contains indices
            let open = beside.rfind('[').filter(|&open| open == 0 || beside[..open].ends_with(' '))?;
            let text = &beside[open + 1..open + beside[open..].find(']')?];
            self.units.read(text).is_ok().then(|| text.to_owned())
        };
        let unit = match unit {
            Some(unit) => Some(self.words(unit)),
            None => bracket(),
        };
        let number = self.input.text(self.span(number));
        self.reports.say(report.help(match unit {
            Some(unit) => format!("give the number its unit, for example `{number} [{unit}]`"),
            None => format!("give the number its unit after a space: `{number} [1]` is a pure number"),
        }));
    }

    /// True if nothing about a unit is unknown.
    pub(super) fn is_writable(&self, unit: UnitId) -> bool {
        let unit = &self.pool[unit];
        !unit.is_open() && !unit.is_lost() && !unit.has_named_exponent()
    }

    fn undecided_name(&mut self, name: &str, place: ExprId, conversion: &super::Conversion<'a>) {
        let headline = format!("`{name}` has no unit, but its use requires a conversion");
        let site = conversion.site;
        let report = error(&codes::E0574, headline, site.right, format!("multiplied by {}", conversion.factor.scale()));
        let report = match self.quantity(name) {
            Some(quantity) => report.label(quantity.span, "declared without a unit"),
            None => report,
        };
        let report = report.label(self.span(place), "");
        self.reports.say(report.help(format!(
            "declare the unit of `{name}`, or `[1]` for a pure number: odec does not convert units that it has \
             inferred"
        )));
    }

    /// For each expression, the first name in it whose unit is inferred from its use only, with the location. A
    /// definition counts if its value contains one.
    fn inferred_names(&mut self) -> Vec<Option<(&'a str, ExprId)>> {
        let found = &self.names.found;
        let mut doubtful: HashMap<&'a str, &'a str> = HashMap::new();
        let mut inferred_names = vec![None; self.input.tree.exprs.len()];
        for k in self.definition_order() {
            let item = &found.definitions[k];
            for value in item.pieces.iter().map(|piece| piece.1).chain([item.value]) {
                for id in self.input.nodes_of(value) {
                    inferred_names[id.0 as usize] = self.report_ambiguous(id, &inferred_names, &doubtful);
                }
                if let Some((name, _)) = inferred_names[value.0 as usize] {
                    doubtful.entry(item.name).or_insert(name);
                }
            }
        }
        for k in 0..inferred_names.len() {
            inferred_names[k] = self.report_ambiguous(ExprId(k as u32), &inferred_names, &doubtful);
        }
        inferred_names
    }

    fn report_ambiguous(
        &mut self,
        id: ExprId,
        inferred_names: &[Option<(&'a str, ExprId)>],
        doubtful: &HashMap<&'a str, &'a str>,
    ) -> Option<(&'a str, ExprId)> {
        let mut found = self.guessed_name(id, doubtful);
        self.input.tree.each_operand(id, |operand| found = found.or(inferred_names[operand.0 as usize]));
        found
    }

    /// Name whose unit is inferred from its use only, or a definition that contains one. Pure numbers are excluded.
    fn guessed_name(&mut self, id: ExprId, doubtful: &HashMap<&'a str, &'a str>) -> Option<(&'a str, ExprId)> {
        let name = match &self.input.tree.exprs[id.0 as usize].kind {
            ExprKind::Name(reference) => reference.name.name.as_str(),
            ExprKind::Call(name, _) if self.names.inputs.contains_key(&name.name) => name.name.as_str(),
            _ => return None,
        };
        if self.arguments.iter().any(|a| a.0 == name) {
            return None;
        }
        if let Some(&inner) = doubtful.get(name) {
            return Some((inner, id));
        }
        let at = match self.named[id.0 as usize] {
            Some(at) => at as usize,
            None => *self.by_name.get(name)?,
        };
        let quantity = &self.quantities[at];
        if !quantity.guessed {
            return None;
        }
        let (name, unit) = (quantity.name, quantity.unit);
        let unit = self.reduced(unit);
        (unit != UnitId::ONE && !self.pool[unit].is_open()).then_some((name, id))
    }

    /// For each expression, the outermost expression that must have the same unit.
    fn tops(&self) -> Vec<ExprId> {
        let exprs = &self.input.tree.exprs;
        let mut tops: Vec<ExprId> = (0..exprs.len() as u32).map(ExprId).collect();
        // operands have smaller positions
        for k in (0..exprs.len()).rev() {
            let top = tops[k];
            each_alike(&exprs[k].kind, |operand| tops[operand.0 as usize] = top);
        }
        tops
    }

    /// Number without a unit among the operands that must have the same unit.
    fn bare_in_chain(&self, top: ExprId) -> Option<ExprId> {
        let mut open = vec![top];
        let mut first = true;
        while let Some(id) = open.pop() {
            // a difference of numbers is a number
            if !first && self.value_of(id) == Value::Bare {
                return Some(id);
            }
            first = false;
            each_alike(&self.input.tree.exprs[id.0 as usize].kind, |operand| open.push(operand));
        }
        None
    }
}

/// Calls `f` with the operands that must have the same unit as the whole expression, or as each other.
fn each_alike(kind: &ExprKind, mut f: impl FnMut(ExprId)) {
    match kind {
        ExprKind::Neg(a) => f(*a),
        ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) | ExprKind::If(_, a, b) => {
            [*a, *b].into_iter().for_each(f);
        }
        ExprKind::Comparison(list, _) | ExprKind::Tuple(list) => list.iter().copied().for_each(f),
        ExprKind::Call(name, list) if matches!(name.name.as_str(), "min" | "max" | "mod" | "hypot" | "atan2") => {
            list.iter().copied().for_each(f);
        }
        _ => {}
    }
}
