//! The form of a left-hand side: a definition, a derivative in one of its notations, or an expression.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::Collector;
use crate::model::Symbol;
use crate::report::error;
use crate::syntax::tree::{Binary, Expr, ExprId, ExprKind, Ident, Later, Reference, Statement, StatementKind};
use crate::words;

/// The form of a left-hand side.
#[derive(Clone, Copy, Debug)]
pub enum LeftSide<'a> {
    /// One name, with or without indices, without a prime.
    Plain(&'a Reference),
    /// The derivative of this order of a name, in whatever notation, and the reference that has the indices.
    Derivative(&'a str, Span, u8, &'a Reference),
    /// `x(0)` for a state x.
    Start(&'a Ident, ExprId),
    /// Any other expression.
    Expression,
}

impl<'a> Collector<'a> {
    /// `f(x) = ...` without `fn`, `F(t) = ...` for a definition, `x(0) = 1` for a state that is not declared. True if
    /// it is one of these.
    pub(super) fn call_as_left_side(&mut self, name: &'a Ident, arguments: &'a [ExprId], lhs: ExprId) -> bool {
        let known = self.names.symbols.contains_key(&name.name)
            || self.names.functions.contains_key(&name.name)
            || words::builtin(&name.name).is_some()
            || [words::REDUCTIONS, words::WRITTEN_OUT].concat().contains(&name.name.as_str());
        let kind = |id: &ExprId| &self.input.tree.exprs[id.0 as usize].kind;
        let plain = |id: &ExprId| matches!(kind(id), ExprKind::Name(r) if r.primes == 0);
        let time = |id: &ExprId| matches!(kind(id), ExprKind::Name(r) if r.name.name == self.names.time.name);
        if known || name.name == "d" || name.name == "der" {
            return false;
        }
        let (place, text) = (self.input.span_of(lhs), &name.name);
        let is_input = |s: &Statement| match &s.kind {
            StatementKind::Later(Later::Input(items)) => items.iter().any(|item| item.name.name == *text),
            _ => false,
        };
        if self.input.tree.statements.iter().any(is_input) {
            // an input on the left-hand side of an equation without derivatives
            return false;
        }
        let value = self.right_of(lhs).filter(|value| !value.contains('\n')).unwrap_or("...");
        let report = match arguments {
            [one] if matches!(kind(one), ExprKind::Number(_)) => {
                let at = self.input.text(self.input.span_of(*one));
                if self.input.is_start_of_runs(*one) {
                    let headline = format!("the initial value of `{text}` is not an equation");
                    error(&codes::E0307, headline, place, "is this an initial value?")
                        .help(format!("declare the state with its initial value: `state {text} = {value}`"))
                        .fix(place, format!("state {text}"))
                } else {
                    let headline = format!("the value of `{text}` at {at} follows from its equation");
                    error(&codes::E0307, headline, place, "no run starts at this time")
                        .help(super::super::boundary_value((text, text), at, value))
                }
            }
            [one] if time(one) => {
                let rest = Span { start: name.span.end, ..place };
                error(
                    &codes::E0203,
                    format!("there is no function `{text}`"),
                    place,
                    "is this a quantity that changes with time?",
                )
                .help(format!("write a definition without its arguments: `{text} = ...`"))
                .fix(rest, "")
            }
            [one] if self.dose_property(text, *one, lhs).is_some() => {
                let help = self.dose_property(text, *one, lhs).unwrap_or_default();
                error(&codes::E0203, format!("there is no function `{text}`"), place, "is this a property of a dose?")
                    .help(format!("{help}\nfor a function, write `fn` before its definition, and call it"))
            }
            [_, ..] if arguments.iter().all(plain) => {
                let start = Span { end: place.start, ..place };
                let report =
                    error(&codes::E0203, format!("there is no function `{text}`"), place, "is this its definition?")
                        .help("begin the definition of a function with `fn`");
                // a function without calls would have no effect
                let called = |expr: &Expr| matches!(&expr.kind, ExprKind::Call(f, _) if f.name == *text);
                if self.input.tree.exprs.iter().filter(|expr| called(expr)).count() > 1 {
                    report.fix(start, "fn ")
                } else {
                    report
                }
            }
            _ => return false,
        };
        self.names.broken.insert(text);
        self.say(report);
        true
    }

    /// How to write `f(gut) = 0.8` or `alag(gut) = 0.5` of pharmacometrics, if nothing calls it as a function.
    fn dose_property(&self, word: &str, argument: ExprId, lhs: ExprId) -> Option<String> {
        let ExprKind::Name(state) = &self.input.tree.exprs[argument.0 as usize].kind else { return None };
        let state = &state.name.name;
        let called = |expr: &Expr| matches!(&expr.kind, ExprKind::Call(f, _) if f.name == word);
        if !(self.is_state(state) || self.has_rate(state))
            || self.input.tree.exprs.iter().filter(|expr| called(expr)).count() > 1
        {
            return None;
        }
        let value = self.right_of(lhs)?;
        // a function of its argument
        let names = |word: &str| word == state.as_str();
        if value.split(|c: char| !c.is_alphanumeric() && c != '_').any(names) {
            return None;
        }
        Some(match word {
            "f" | "F" => format!("multiply each dose by this fraction: `at 0 {{ {state} += {value}*100 }}`"),
            "alag" | "lag" | "tlag" | "ALAG" => {
                format!("write the lag in the head of each dose: `at 0 after {value} {{ {state} += 100 }}`")
            }
            "rate" | "dur" => {
                format!("write an infusion as a rate: `{state}' = 100/2*(0 <= t < 2) - ...` gives 100 in the time 2")
            }
            _ => return None,
        })
    }

    /// The text of the right-hand side of the equation with this left-hand side.
    fn right_of(&self, lhs: ExprId) -> Option<&'a str> {
        let rhs = self.input.tree.statements.iter().find_map(|s| match s.kind {
            StatementKind::Equation { lhs: left, rhs, .. } if left == lhs => Some(rhs),
            _ => None,
        })?;
        Some(self.input.text(self.input.span_of(rhs)))
    }

    /// True if an equation has the derivative of this name as its left side: `d/dt(gut) = ...`.
    fn has_rate(&self, name: &str) -> bool {
        let forms = [format!("d/dt({name})"), format!("d{name}/dt"), format!("{name}'")];
        self.input.tree.statements.iter().any(|statement| match statement.kind {
            StatementKind::Equation { lhs, .. } => {
                let left = self.input.text(self.input.span_of(lhs));
                forms.contains(&left.split_whitespace().collect::<String>())
            }
            _ => false,
        })
    }

    fn is_state(&self, name: &str) -> bool {
        matches!(self.names.symbols.get(name), Some(Symbol::State(_)))
    }

    fn is_free(&self, name: &str) -> bool {
        !self.names.symbols.contains_key(name)
    }

    /// The form of a left-hand side. `der(x)`, `d/dt(x)` and `dx/dt` are derivatives where x is a state (or nothing),
    /// and `dx`, `dt` are not declared. A name `d` does no harm: with no function `dt`, a quotient has no meaning
    /// there.
    pub(super) fn left_side(&self, lhs: ExprId) -> LeftSide<'a> {
        let tree = self.input.tree;
        let expr = |id: ExprId| &tree.exprs[id.0 as usize];
        let plain = |id: ExprId| match &expr(id).kind {
            ExprKind::Name(r) if r.primes == 0 => Some(r),
            _ => None,
        };
        let span = expr(lhs).span;
        let may_be_state = |name: &str| self.is_state(name) || self.is_free(name);
        let by_time = |name: &str| name == "dt" || name.strip_prefix('d') == Some(&self.names.time.name);
        match &expr(lhs).kind {
            ExprKind::Name(r) if r.primes == 0 => LeftSide::Plain(r),
            ExprKind::Name(r) => LeftSide::Derivative(&r.name.name, r.name.span, r.primes, r),
            ExprKind::Call(f, arguments) => match (&arguments[..], f.name.as_str()) {
                (&[inner], "der") if !self.names.functions.contains_key("der") => match &expr(inner).kind {
                    ExprKind::Name(r) if may_be_state(&r.name.name) => {
                        LeftSide::Derivative(&r.name.name, r.name.span, r.primes.saturating_add(1), r)
                    }
                    _ => LeftSide::Expression,
                },
                (&[inner], name) if self.is_state(name) && !self.names.functions.contains_key(name) => {
                    LeftSide::Start(f, inner)
                }
                _ => LeftSide::Expression,
            },
            ExprKind::Binary(Binary::Div, _, top, bottom) => {
                let Some(top) = plain(*top) else { return LeftSide::Expression };
                match &expr(*bottom).kind {
                    ExprKind::Call(f, arguments)
                        if top.name.name == "d" && by_time(&f.name) && !self.names.functions.contains_key(&f.name) =>
                    {
                        match arguments[..] {
                            [inner] => match &expr(inner).kind {
                                ExprKind::Name(r) if may_be_state(&r.name.name) => {
                                    LeftSide::Derivative(&r.name.name, r.name.span, r.primes.saturating_add(1), r)
                                }
                                _ => LeftSide::Expression,
                            },
                            _ => LeftSide::Expression,
                        }
                    }
                    ExprKind::Name(r) if r.primes == 0 && by_time(&r.name.name) && self.is_free(&r.name.name) => {
                        match top.name.name.strip_prefix('d') {
                            Some(name) if !name.is_empty() && self.is_free(&top.name.name) && may_be_state(name) => {
                                LeftSide::Derivative(name, span, 1, top)
                            }
                            _ => LeftSide::Expression,
                        }
                    }
                    _ => LeftSide::Expression,
                }
            }
            _ => LeftSide::Expression,
        }
    }
}
