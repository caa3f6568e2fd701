//! Numbers without a unit next to a temperature that is given with `celsius`: odec takes them in kelvin. Temperatures
//! in `[C]`, the coulomb.

use std::collections::HashMap;

use odec_ir::Span;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::{Build, warning};
use crate::syntax::tree::{Binary, Declared, EventAction, ExprId, ExprKind, Reference, StatementKind, WrittenValue};
use crate::units;

/// Numbers up to this size are probably in degrees Celsius. In kelvin they are far below usual temperatures.
const LARGEST: f64 = 100.0;
/// Longest chain of names that is followed.
const MAX_DEPTH: usize = 20;

/// A number without a unit, at its place and with its value.
struct Bare {
    span: Span,
    value: f64,
}

struct Temperatures<'a> {
    page: &'a Page<'a>,
    /// The value of each name, and true if the name has a unit of its own.
    values: HashMap<&'a str, (ExprId, bool)>,
    /// Where `celsius` gives these names; `None` if it does not.
    known: HashMap<&'a str, Option<Span>>,
    found: Vec<Diagnostic>,
}

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    found.extend(coulombs(page));
    let celsius = |kind: &ExprKind| matches!(kind, ExprKind::Call(name, _) if name.name == "celsius");
    if !page.tree.exprs.iter().any(|expr| celsius(&expr.kind)) {
        return;
    }
    let mut lint = Temperatures { page, values: HashMap::new(), known: HashMap::new(), found: Vec::new() };
    lint.collect();
    lint.expressions();
    lint.statements();
    found.append(&mut lint.found);
}

impl<'a> Temperatures<'a> {
    fn collect(&mut self) {
        for statement in &self.page.tree.statements {
            let own = |item: &&Declared| item.target.primes == 0 && item.limit.is_none();
            for item in statement.kind.items().iter().filter(own) {
                if let Some(value) = item.value {
                    self.values.insert(&item.target.name.name, (value, item.unit.is_some()));
                }
            }
            if let StatementKind::Equation { lhs, rhs, .. } = &statement.kind
                && let ExprKind::Name(name) = &self.page.expr(*lhs).kind
                && name.primes == 0
            {
                self.values.insert(&name.name.name, (*rhs, false));
            }
        }
    }

    /// `T < 25`, `T - 20`, `max(T, 0)`
    fn expressions(&mut self) {
        for expr in &self.page.tree.exprs {
            match &expr.kind {
                ExprKind::Comparison(list, _) => {
                    list.windows(2).for_each(|pair| self.beside(pair[0], pair[1], true));
                }
                ExprKind::Binary(Binary::Sub, _, a, b) => self.beside(*a, *b, false),
                ExprKind::Call(name, arguments) if matches!(name.name.as_str(), "min" | "max") => {
                    if let [a, b] = arguments.as_slice() {
                        self.beside(*a, *b, true);
                    }
                }
                _ => {}
            }
        }
    }

    /// `T := 25`, `expect T(10) = 25`, `params warm { T = 25 }`
    fn statements(&mut self) {
        for statement in &self.page.tree.statements {
            match &statement.kind {
                StatementKind::Event(event) => {
                    let rest = event.rest.iter().flat_map(|(_, actions)| actions);
                    for action in event.actions.iter().chain(rest) {
                        if let EventAction::Change(target, crate::model::Change::Set, value, _) = action {
                            self.given(target, *value);
                        }
                    }
                }
                StatementKind::Params(_, entries) => {
                    for entry in entries.iter().filter(|entry| entry.primes == 0) {
                        let known = self.source_of(&entry.key.name, 0);
                        if let (Some(place), WrittenValue::Expr(value)) = (known, &entry.value) {
                            self.warn(&entry.key.name, place, *value, true);
                        }
                    }
                }
                StatementKind::Expect { quantity, value, .. } => self.beside(*quantity, *value, true),
                _ => {}
            }
        }
    }

    fn given(&mut self, target: &'a Reference, value: ExprId) {
        let name = target.name.name.as_str();
        if let Some(place) = self.source_of(name, 0).filter(|_| target.primes == 0) {
            self.warn(name, place, value, true);
        }
    }

    /// Two values of one unit, one of which may be a temperature, and the other one a number.
    fn beside(&mut self, a: ExprId, b: ExprId, zero: bool) {
        for (temperature, number) in [(a, b), (b, a)] {
            if let Some(place) = self.temperature(temperature, 0) {
                let page = self.page;
                self.warn(page.text(temperature), place, number, zero);
            }
        }
    }

    /// Where `celsius` gives an expression, if it is a temperature by it.
    fn temperature(&mut self, id: ExprId, depth: usize) -> Option<Span> {
        if depth > MAX_DEPTH {
            return None;
        }
        let page = self.page;
        match &page.expr(id).kind {
            ExprKind::Call(name, _) if name.name == "celsius" => Some(page.expr(id).span),
            ExprKind::Call(name, arguments) if matches!(name.name.as_str(), "min" | "max") => {
                arguments.iter().find_map(|a| self.temperature(*a, depth + 1))
            }
            ExprKind::Name(name) if name.primes == 0 => self.source_of(&name.name.name, depth + 1),
            ExprKind::Tuple(list) => match list.as_slice() {
                [one] => self.temperature(*one, depth + 1),
                _ => None,
            },
            ExprKind::If(_, a, b) => self.temperature(*a, depth + 1).or_else(|| self.temperature(*b, depth + 1)),
            ExprKind::Binary(Binary::Add, _, a, b) => {
                self.temperature(*a, depth + 1).or_else(|| self.temperature(*b, depth + 1))
            }
            // the difference of two temperatures is none
            ExprKind::Binary(Binary::Sub, _, a, b) => {
                let first = self.temperature(*a, depth + 1)?;
                self.temperature(*b, depth + 1).is_none().then_some(first)
            }
            _ => None,
        }
    }

    fn source_of(&mut self, name: &'a str, depth: usize) -> Option<Span> {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        // a name that is defined by itself has no value
        self.known.insert(name, None);
        let found = self.temperature(self.values.get(name)?.0, depth);
        self.known.insert(name, found);
        found
    }

    /// A number, or the name of a number, without a unit.
    fn bare(&self, id: ExprId) -> Option<Bare> {
        let number = |id: ExprId| match &self.page.expr(id).kind {
            ExprKind::Number(x) => Some(*x),
            ExprKind::Neg(inner) => match &self.page.expr(*inner).kind {
                ExprKind::Number(x) => Some(-x),
                _ => None,
            },
            _ => None,
        };
        let named = || match &self.page.expr(id).kind {
            ExprKind::Name(name) if name.primes == 0 && name.indices.is_empty() => {
                let (value, has_unit) = self.values.get(name.name.name.as_str())?;
                number(*value).filter(|_| !has_unit)
            }
            _ => None,
        };
        number(id).or_else(named).map(|value| Bare { span: self.page.expr(id).span, value })
    }

    fn warn(&mut self, temperature: &str, place: Span, number: ExprId, zero: bool) {
        let Some(Bare { span, value }) = self.bare(number) else { return };
        if value.abs() > LARGEST || (value == 0.0 && !zero) {
            return;
        }
        let headline = format!("odec reads `{}` in kelvin beside `{temperature}`", self.page.text(number));
        let report = warning(&codes::W0524, headline, span, "a number without a unit");
        let report = report.label(place, "this temperature is given in degrees Celsius");
        self.found.push(report.help(format!(
            "write `celsius({value})` for a temperature, or `{value} [K]` for a difference of temperatures"
        )));
    }
}

/// `param T_env = 37 [C]` in a model without any other electric unit.
fn coulombs(page: &Page<'_>) -> Option<Diagnostic> {
    let items = page.tree.statements.iter().flat_map(|statement| statement.kind.items());
    let named: Vec<(&Declared, Span)> = items
        .filter_map(|item| Some((item, item.unit.as_ref().filter(|unit| unit.text.trim() == "C")?.span)))
        .filter(|(item, _)| is_temperature(&item.target.name.name))
        .collect();
    let (first, span) = named.first()?;
    let ampere = units::table::find("A")?.dimensions();
    let electric = |word: &str| {
        let parts = units::table::find(word).map(|unit| unit.dimensions());
        word != "C" && parts.is_some_and(|parts| ampere.iter().any(|(key, _)| !parts.get(key).is_zero()))
    };
    let words = |text: &str| text.split(|c: char| !c.is_alphabetic()).any(electric);
    let in_items =
        page.tree.statements.iter().flat_map(|statement| statement.kind.items()).filter_map(|item| item.unit.as_ref());
    let in_terms = page.tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Quantity(_, unit) => Some(unit),
        _ => None,
    });
    if in_items.chain(in_terms).any(|unit| words(&unit.text)) {
        return None;
    }
    let name = &first.target.name.name;
    let headline = format!("`{name}` is a charge: `[C]` is the coulomb");
    let report = warning(&codes::W0524, headline, *span, "is this a temperature in degrees Celsius?");
    let report = report.also_all(named[1..].iter().map(|(_, span)| *span), "and here");
    Some(report.help("write a temperature as `celsius(20)`, which is in [K], and a difference of temperatures in [K]"))
}

/// True for `T`, `T0`, `Tb`, `T_env` and `room_temp`.
fn is_temperature(name: &str) -> bool {
    let short = name.strip_prefix('T').is_some_and(|rest| rest.is_empty() || rest.len() == 1 || rest.starts_with('_'));
    short || name.to_lowercase().contains("temp")
}
