//! Statements of one line.

use odec_ir::Span;
use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::Keyword;
use crate::syntax::tree::{
    Binary, BoundaryItem, Declared, ExprId, ExprKind, Ident, InputEntry, Later, Limit, Reference, StatementKind, Unit,
    WithinClause,
};

impl Builder<'_> {
    /// The statement of a line that the grammar accepted.
    pub(super) fn statement(&mut self, word: Option<Keyword>, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        match word {
            None => self.equation(pair),
            Some(Keyword::Model) => Some(StatementKind::Model(self.first_name(pair)?)),
            Some(Keyword::Time) => {
                let unit = pair.clone().into_inner().find(|part| part.as_rule() == Rule::unit);
                let unit = unit.map(|unit| self.item_unit(unit));
                Some(StatementKind::Time(self.first_name(pair)?, unit))
            }
            Some(Keyword::Param) => Some(StatementKind::Param(self.without_limits(pair, "parameter", true))),
            Some(Keyword::Const) => Some(StatementKind::Const(self.without_limits(pair, "constant", true))),
            Some(Keyword::State) => {
                self.no_range(&pair);
                Some(StatementKind::State(self.items(pair, true)))
            }
            Some(Keyword::Output) => {
                self.no_bounds(&pair);
                Some(StatementKind::Output(self.without_limits(pair, "output", false)))
            }
            Some(Keyword::Axis) => Some(StatementKind::Axis(self.items(pair, false))),
            Some(Keyword::Unknown) => {
                self.no_bounds(&pair);
                Some(StatementKind::Unknown(self.without_limits(pair, "unknown", true)))
            }
            Some(Keyword::Unit) => {
                let names = pair.into_inner().filter(|part| part.as_rule() == Rule::name);
                Some(StatementKind::Unit(names.map(|name| self.ident(&name)).collect()))
            }
            Some(Keyword::Units) => Some(StatementKind::Units(self.first_name(pair)?)),
            Some(Keyword::Discrete) => {
                self.no_bounds(&pair);
                Some(StatementKind::Discrete(self.without_limits(pair, "discrete quantity", true)))
            }
            Some(Keyword::Compartment) => {
                self.no_bounds(&pair);
                Some(StatementKind::Compartment(self.without_limits(pair, "compartment", false)))
            }
            Some(Keyword::Fn) => self.function(pair),
            Some(Keyword::Expect) => self.expect(pair),
            Some(Keyword::Conserve) => self.conserve(pair),
            Some(Keyword::Index) => self.index_statement(pair),
            Some(Keyword::Boundary) => Some(StatementKind::Later(Later::Boundary(self.boundary(pair)))),
            Some(Keyword::Input) => self.input(pair),
            Some(Keyword::Use) => self.used_part(pair).map(|part| StatementKind::Later(Later::Use(part))),
            // heads of blocks are handled with their block
            Some(Keyword::Params | Keyword::Run | Keyword::When | Keyword::At | Keyword::Every) => None,
        }
    }

    pub(super) fn first_name(&self, pair: Pair<'_, Rule>) -> Option<Ident> {
        pair.into_inner().find(|part| part.as_rule() == Rule::name).map(|name| self.ident(&name))
    }

    fn equation(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let (mut lhs, mut equals, mut rhs) = (None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::logic => lhs = Some(self.logic(part)),
                Rule::equals => equals = Some(self.span(&part)),
                Rule::expr => rhs = Some(self.expr(part)),
                _ => {}
            }
        }
        Some(StatementKind::Equation { lhs: lhs?, rhs: rhs?, equals: equals? })
    }

    /// Refuses a range for a name without a value.
    fn no_bounds(&mut self, pair: &Pair<'_, Rule>) {
        let items = pair.clone().into_inner().filter(|part| part.as_rule() == Rule::item);
        let bounds: Vec<Span> = items
            .flat_map(|item| item.into_inner().filter(|part| part.as_rule() == Rule::bounds))
            .map(|bounds| self.span(&bounds))
            .collect();
        for span in bounds {
            self.report(
                Diagnostic::error(&codes::E0118, "bounds belong to `param` and `const`")
                    .label(span, "odec does not enforce these bounds")
                    .fix(span, ""),
            );
        }
    }

    /// Refuses `x = 1 in 0..2` for a state: there it would constrain the solution, which is written in another form.
    fn no_range(&mut self, pair: &Pair<'_, Rule>) {
        for item in pair.clone().into_inner().filter(|part| part.as_rule() == Rule::item) {
            let parts = || item.clone().into_inner();
            let target = parts().find(|part| part.as_rule() == Rule::target);
            let range = parts().find(|part| part.as_rule() == Rule::bounds);
            let (Some(target), Some(range)) = (target, range) else { continue };
            let name = target.as_str().trim();
            let (low, high) = range.as_str().split_once("..").unwrap_or_default();
            let (low, high) = (low.trim_start_matches("in").trim(), high.trim());
            let bounds: String = [(">=", low), ("<=", high)]
                .into_iter()
                .filter(|(_, bound)| !bound.is_empty() && !bound.ends_with("inf"))
                .map(|(sign, bound)| format!(", {name} {sign} {bound}"))
                .collect();
            let value = &item.as_str()[..range.as_span().start() - item.as_span().start()];
            self.report(
                Diagnostic::error(&codes::E0118, "a range with `in` belongs to `param`; a state has bounds")
                    .label(self.span(&range), "the range of values of a parameter")
                    .help(format!("to keep `{name}` within bounds, write `state {}{bounds}`", value.trim_end())),
            );
        }
    }

    /// The items of a declaration for which bounds, as for states, are an error.
    fn without_limits(&mut self, pair: Pair<'_, Rule>, what: &str, share: bool) -> Vec<Declared> {
        self.no_limits(&pair, what);
        let mut items = self.items(pair, share);
        items.retain(|item| item.limit.is_none());
        for place in items.iter_mut().filter_map(|item| item.place.take()) {
            self.report(
                Diagnostic::error(&codes::E0118, "only a state can be in a compartment")
                    .label(place.span, format!("a {what} cannot be in a compartment"))
                    .help("write both ends of a range: `k = 1 in 0..10`"),
            );
        }
        items
    }

    /// Only states can have bounds.
    fn no_limits(&mut self, pair: &Pair<'_, Rule>, what: &str) {
        let items = pair.clone().into_inner().filter(|part| part.as_rule() == Rule::item);
        let limits: Vec<Span> = items
            .flat_map(|item| item.into_inner().filter(|part| part.as_rule() == Rule::limit))
            .map(|limit| self.span(&limit))
            .collect();
        for span in limits {
            let report = Diagnostic::error(&codes::E0118, "only a `state` can have a bound of this form")
                .label(span, format!("odec does not enforce bounds of a {what}"));
            let given = matches!(what, "parameter" | "constant");
            self.report(if given { report.help("write the range after the value: `k = 1 in 0..10`") } else { report });
        }
    }

    /// Refuses `0.3 +- 1e-6`: the grammar reads a sum, but a value with a tolerance is meant.
    fn no_typed_plus_minus(&mut self, value: &Pair<'_, Rule>, within: Option<&WithinClause>) {
        let at = value.as_str().rfind("+-").filter(|_| within.is_none());
        if let Some(at) = at {
            let start = value.as_span().start() + at;
            let span = Span::new(self.base + start, self.base + start + 2);
            self.report(
                Diagnostic::error(&codes::E0125, "`+-` means two operators, plus and minus")
                    .label(span, "is this a tolerance?")
                    .help("write `±` or `within`")
                    .fix(span, "±"),
            );
        }
    }

    /// The items of a declaration; with `share`, names before one `=` share its value.
    fn items(&mut self, pair: Pair<'_, Rule>, share: bool) -> Vec<Declared> {
        let mut items: Vec<Declared> = Vec::new();
        let mut waiting = 0;
        for part in pair.into_inner().filter(|part| matches!(part.as_rule(), Rule::item | Rule::axis_item)) {
            let Some(item) = self.item(part) else { continue };
            if item.value.is_some() && share {
                let first = items.len() - waiting;
                for earlier in items.iter_mut().skip(first) {
                    earlier.value = item.value;
                    earlier.unit = earlier.unit.take().or_else(|| item.unit.clone());
                    earlier.bounds = item.bounds;
                    earlier.place = earlier.place.take().or_else(|| item.place.clone());
                }
            }
            if item.limit.is_some() && share {
                let first = items.len() - waiting;
                items.iter_mut().skip(first).for_each(|earlier| earlier.limit = item.limit);
            }
            waiting = if item.value.is_some() || item.limit.is_some() { 0 } else { waiting + 1 };
            items.push(item);
        }
        items
    }

    fn item(&mut self, pair: Pair<'_, Rule>) -> Option<Declared> {
        let mut target: Option<Reference> = None;
        let mut item_unit: Option<Unit> = None;
        let (mut value, mut bounds, mut limit, mut place) = (None, None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::place => {
                    let reference = part.into_inner().find(|part| part.as_rule() == Rule::reference)?;
                    place = Some(self.reference(reference));
                }
                Rule::target => target = Some(self.target(part)?),
                Rule::expr => {
                    self.begin_value(&part);
                    value = Some(self.expr(part));
                    item_unit = self.end_value(value);
                }
                Rule::unit => {
                    let first = item_unit.replace(self.item_unit(part));
                    match (&first, &item_unit) {
                        (Some(first), Some(second)) => self.two_units(first, second),
                        (_, unit) if value.is_some() => self.other_units(unit.as_ref(), value),
                        // the last units belong to another statement
                        _ => {}
                    }
                }
                Rule::bounds => {
                    let range = part.into_inner().find(|part| part.as_rule() == Rule::range)?;
                    bounds = self.range(range);
                }
                Rule::limit => limit = self.limit(part),
                _ => {}
            }
        }
        Some(Declared { target: target?, value, unit: item_unit, bounds, limit, place, doc: None })
    }

    fn limit(&mut self, pair: Pair<'_, Rule>) -> Option<Limit> {
        let span = self.span(&pair);
        let (mut at_least, mut value) = (true, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::limit_sign => at_least = matches!(part.as_str(), ">=" | "≥"),
                Rule::sum => value = Some(self.sum(part)),
                _ => {}
            }
        }
        Some(Limit { at_least, value: value?, span })
    }

    pub(super) fn target(&mut self, pair: Pair<'_, Rule>) -> Option<Reference> {
        pair.into_inner().next().map(|reference| self.reference(reference))
    }

    /// From here on, a unit at the end belongs to the item, not to the last number.
    fn begin_value(&mut self, value: &Pair<'_, Rule>) {
        self.units.clear();
        self.trailing = None;
        self.value = Some(self.span(value));
    }

    fn end_value(&mut self, value: Option<ExprId>) -> Option<Unit> {
        self.value = None;
        let unit = self.trailing.take();
        self.other_units(unit.as_ref(), value);
        unit
    }

    /// Refuses `1 [m] + 20 [cm]`: `[cm]` could be the unit of the sum or of the last number. After a value that is one
    /// call, `f(20 [cm]) [s]`, the bracket can only be the unit of the item.
    fn other_units(&mut self, unit: Option<&Unit>, value: Option<ExprId>) {
        let kind = value.and_then(|id| self.tree.exprs.get(id.0 as usize)).map(|expr| &expr.kind);
        if matches!(kind, Some(ExprKind::Call(..))) {
            return;
        }
        // `if c then -60 [mV] else -65 [mV]` means the same with either reading
        if unit.zip(value).is_some_and(|(unit, value)| self.has_one_unit(value, &unit.text)) {
            return;
        }
        if let (Some(unit), Some(&other)) = (unit, self.units.first()) {
            let (start, end) = (value.map(|id| self.span_of(id).start as usize), unit.span.start as usize);
            let value = start.and_then(|start| self.text.get(start..end)).unwrap_or("...").trim_end();
            let last = if value.ends_with(')') { "to its last part" } else { "to the last number" };
            self.report(
                Diagnostic::error(&codes::E0120, format!("the last unit could belong to the item or {last}"))
                    .label(unit.span, format!("`[{}]` is ambiguous", unit.text))
                    .label(other, "another number of the value has a unit")
                    .help(format!(
                        "if it belongs to the item, put the value in parentheses: `({value}) [{}]`",
                        unit.text
                    )),
            );
        }
    }

    /// True for a number, or a choice or sum of numbers, all of which have this unit or none.
    fn has_one_unit(&self, value: ExprId, text: &str) -> bool {
        let mut open = vec![value];
        while let Some(expr) = open.pop().and_then(|id| self.tree.exprs.get(id.0 as usize)) {
            match &expr.kind {
                ExprKind::Number(_) => {}
                ExprKind::Quantity(inner, unit) if unit.text == text => open.push(*inner),
                ExprKind::Neg(a) => open.push(*a),
                ExprKind::If(_, a, b) | ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) => open.extend([*a, *b]),
                _ => return false,
            }
        }
        true
    }

    /// Refuses `1 [m] [s]`: neither unit is preferable.
    fn two_units(&mut self, first: &Unit, second: &Unit) {
        self.report(
            Diagnostic::error(&codes::E0120, "one item has two units")
                .label(second.span, "second unit")
                .label(first.span, "first unit")
                .help(format!("keep one of the two, `[{}]` or `[{}]`", first.text, second.text)),
        );
    }

    /// A unit after a name: only the blank distinguishes it from an index.
    pub(super) fn item_unit(&mut self, pair: Pair<'_, Rule>) -> Unit {
        let unit = self.unit(pair);
        let start = unit.span.start as usize;
        if !self.text[..start].ends_with([' ', '\t']) {
            self.report(
                Diagnostic::error(&codes::E0119, "a space is missing before the unit")
                    .label(unit.span, "a bracket without a space before it is an index")
                    .fix(Span::new(start, start), " "),
            );
        }
        unit
    }

    fn parameters(&self, pair: Pair<'_, Rule>) -> Vec<Ident> {
        pair.into_inner().filter(|part| part.as_rule() == Rule::name).map(|name| self.ident(&name)).collect()
    }

    fn function(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let mut names = Vec::new();
        let mut body = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => names.push(self.ident(&part)),
                Rule::parameters => names.extend(self.parameters(part)),
                Rule::expr => body = Some(self.expr(part)),
                _ => {}
            }
        }
        let mut names = names.into_iter();
        let name = names.next()?;
        Some(StatementKind::Function { name, arguments: names.collect(), body: body? })
    }

    fn expect(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let (mut quantity, mut time, mut value, mut within, mut typed) = (None, None, None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::quantity => {
                    let inner = part.into_inner().next()?;
                    quantity = Some(if inner.as_rule() == Rule::group {
                        self.group(inner)
                    } else {
                        let span = self.span(&inner);
                        let reference = self.reference(inner);
                        self.push(ExprKind::Name(reference), span)
                    });
                }
                Rule::at_time => time = part.into_inner().next().map(|time| self.expr(time)),
                Rule::expr => {
                    typed = Some(part.clone());
                    value = Some(self.expr(part));
                }
                Rule::tolerance => within = self.tolerance(part),
                _ => {}
            }
        }
        if let Some(typed) = typed {
            self.no_typed_plus_minus(&typed, within.as_ref());
        }
        Some(StatementKind::Expect { quantity: quantity?, time: time?, value: value?, within })
    }

    fn tolerance(&mut self, pair: Pair<'_, Rule>) -> Option<WithinClause> {
        let span = self.span(&pair);
        let mut value = None;
        let mut percent = false;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::sum => value = Some(self.sum(part)),
                Rule::percent => percent = true,
                _ => {}
            }
        }
        Some(WithinClause { value: value?, percent, span })
    }

    fn conserve(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let (mut name, mut value, mut within, mut typed) = (None, None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::expr => {
                    typed = Some(part.clone());
                    value = Some(self.expr(part));
                }
                Rule::tolerance => within = self.tolerance(part),
                _ => {}
            }
        }
        if let Some(typed) = typed {
            self.no_typed_plus_minus(&typed, within.as_ref());
        }
        Some(StatementKind::Conserve { name, value: value?, within })
    }

    fn index_statement(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let mut items = Vec::new();
        for item in pair.into_inner().filter(|part| part.as_rule() == Rule::index_item) {
            let mut names = Vec::new();
            for part in item.into_inner() {
                match part.as_rule() {
                    Rule::name => names.push(self.ident(&part)),
                    Rule::range => {
                        let (from, to) = self.range(part)?;
                        items.push((std::mem::take(&mut names), from, to));
                    }
                    _ => {}
                }
            }
        }
        Some(StatementKind::Later(Later::Index(items)))
    }

    fn boundary(&mut self, pair: Pair<'_, Rule>) -> Vec<BoundaryItem> {
        let mut items = Vec::new();
        let mut targets = Vec::new();
        for item in pair.into_inner().filter(|part| part.as_rule() == Rule::boundary_item) {
            let mut periodic = false;
            for part in item.into_inner() {
                match part.as_rule() {
                    Rule::rule_word => periodic = part.as_str() == "periodic",
                    Rule::name if periodic => items.push(BoundaryItem::Periodic(self.ident(&part))),
                    Rule::name => items.push(BoundaryItem::Clamp(self.ident(&part))),
                    Rule::target => targets.extend(self.target(part)),
                    Rule::expr => {
                        let value = self.expr(part);
                        items.push(BoundaryItem::Value(std::mem::take(&mut targets), value));
                    }
                    _ => {}
                }
            }
        }
        if let Some(target) = targets.first() {
            self.report(
                Diagnostic::error(&codes::E0128, "this boundary has no value")
                    .label(target.span, "`= value` is missing")
                    .help("write for example `boundary u[0] = 0`"),
            );
        }
        items
    }

    fn input(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let mut items = Vec::new();
        for item in pair.into_inner().filter(|part| part.as_rule() == Rule::input_item) {
            let mut names = Vec::new();
            let (mut argument, mut argument_unit) = (None, None);
            let (mut value, mut unit) = (None, None);
            for part in item.into_inner() {
                match part.as_rule() {
                    Rule::name => names.push(self.ident(&part)),
                    Rule::input_argument => {
                        for part in part.into_inner() {
                            match part.as_rule() {
                                Rule::name => argument = Some(self.ident(&part)),
                                Rule::unit => argument_unit = Some(self.item_unit(part)),
                                _ => {}
                            }
                        }
                    }
                    Rule::expr => {
                        self.begin_value(&part);
                        value = Some(self.expr(part));
                        unit = self.end_value(value);
                    }
                    Rule::unit => unit = Some(self.item_unit(part)),
                    _ => {}
                }
            }
            if let Some(second) = names.get(1) {
                self.report(
                    Diagnostic::error(&codes::E0118, "an input takes one argument")
                        .label(second.span, "a second argument")
                        .help("write `input q(t) = table(...)`"),
                );
            }
            let (name, argument, value) = (names.into_iter().next()?, argument?, value?);
            items.push(InputEntry { name, argument, argument_unit, value, unit });
        }
        Some(StatementKind::Later(Later::Input(items)))
    }
}
