//! The conditions of `when`: logic of comparisons and of values that are constant between events.

use std::collections::HashSet;
use std::rc::Rc;

use odec_ir::builtin;

use crate::diagnostic::codes;
use crate::model::phases::reports::Reports;
use crate::model::{EventKind, Level, Model, Symbol, TermId, TermKind};
use crate::report::error;

/// A call of a function, seen from its body.
struct Call {
    arguments: Vec<TermId>,
    from: Inside,
}

/// The call whose body contains a term.
type Inside = Option<Rc<Call>>;

/// A term and its context.
type At = (TermId, Inside);

/// Rewrites `v == 0` for varying quantities as `v > 0`, whose changes in both directions count; but `==` of
/// quantities that change only by jumps remains. The rest of a condition must be logic of comparisons and of values
/// that are constant between events.
pub(super) fn condition(model: &mut Model, event: usize, reports: &mut Reports) {
    let EventKind::When { condition, from_start, .. } = model.events[event].kind else { return };
    let root = condition.root;
    if let TermKind::Apply(op, [a, b, _]) = model.term(root).kind
        && op.0.name == "le"
    {
        (Conditions { model }).lasting([a, b], reports);
    }
    if let TermKind::Apply(op, [a, b, _]) = model.term(root).kind
        && op.0.name == "eq"
        && model.level(condition) >= Level::Time
        && !(Conditions { model }).jumps((root, None))
        && let Some(less) = builtin::find("lt")
    {
        (Conditions { model }).continuous([a, b], reports);
        if from_start {
            let headline = "`==` happens at each crossing, and a run does not cross a value from which it starts";
            let report = error(&codes::E0546, headline, model.term(root).span, "two continuous quantities");
            reports.say(report.help("remove `from start`, or compare with `>=` or `<=`"));
        }
        model.terms[root.index()].kind = TermKind::Apply(less, [b, a, b]);
        if let EventKind::When { crossing, .. } = &mut model.events[event].kind {
            *crossing = true;
        }
        return;
    }
    Conditions { model }.check(root, reports);
}

struct Conditions<'a> {
    model: &'a Model,
}

impl Conditions<'_> {
    fn check(&self, root: TermId, reports: &mut Reports) {
        let model = self.model;
        let mut open: Vec<At> = vec![(root, None)];
        let mut seen = HashSet::new();
        while let Some(at) = open.pop() {
            let (id, inside) = self.given(at);
            if !seen.insert(key(id, &inside)) {
                continue;
            }
            let with = |id: &TermId| (*id, inside.clone());
            match &model.term(id).kind {
                TermKind::Apply(op, operands) => match op.0.name {
                    "and" | "or" => open.extend(operands[..2].iter().map(with)),
                    "not" => open.push(with(&operands[0])),
                    "lt" | "le" => {}
                    "eq" | "ne" => self.equality(&(id, inside.clone()), [operands[0], operands[1]], reports),
                    "if" => open.extend(operands[..3].iter().map(with)),
                    "smooth" => {
                        let headline = "odec must locate the condition of an event, but `smooth` forbids it";
                        let report = error(&codes::E0507, headline, model.term(id).span, "odec does not locate this");
                        reports.say(report.help("remove `smooth(...)` from the condition"));
                    }
                    _ => self.plain(&(id, inside.clone()), reports),
                },
                TermKind::Definition(i) => {
                    if model.definition_levels[*i] >= Level::Time {
                        open.push((model.definitions[*i].value.root, None));
                    }
                }
                TermKind::Element(Symbol::Definition(i), ..) if model.definition_levels[*i] >= Level::Time => {
                    open.push((model.definitions[*i].value.root, None));
                }
                TermKind::Call(i, arguments) if self.level((id, inside.clone())) >= Level::Time => {
                    let call = Call { arguments: arguments.clone(), from: inside.clone() };
                    open.push((model.functions[*i].value.root, Some(Rc::new(call))));
                }
                _ => self.plain(&(id, inside.clone()), reports),
            }
        }
    }

    /// Equality lasts only between quantities that change by jumps.
    fn equality(&self, at: &At, [a, b]: [TermId; 2], reports: &mut Reports) {
        if self.level(at.clone()) < Level::Time || self.jumps(at.clone()) {
            return;
        }
        let (a, b) = (self.text(a, &at.1), self.text(b, &at.1));
        let headline = "two continuous quantities are equal only at isolated instants";
        let help = format!(
            "write `when {a} == {b} {{ ... }}` for each crossing, and move other conditions to the right sides; or \
             compare with `<`"
        );
        reports.say(error(&codes::E0546, headline, self.model.term(at.0).span, "part of a condition").help(help));
    }

    /// Refuses an equality whose sides may jump across each other.
    fn continuous(&self, [a, b]: [TermId; 2], reports: &mut Reports) {
        let Some((id, inside)) = self.jumping([a, b]) else { return };
        let [left, right] = [a, b].map(|side| self.text(side, &None));
        let (text, remainder) = (self.text(id, &inside), self.remainder((id, inside.clone())));
        let help = match remainder {
            // the remainder itself is one side, and the other side is constant
            Some([u, period]) if [a, b].contains(&id) => {
                let other = if a == id { b } else { a };
                let (of, to, apart) = (self.text(u, &inside), self.text(other, &None), self.text(period, &inside));
                let zero = matches!(self.model.term(other).kind, TermKind::Number(0.0));
                if matches!(self.model.term(u).kind, TermKind::Time) {
                    let from = if zero { String::new() } else { format!(" from {to}") };
                    format!("for periodic times write `every {apart}{from} {{ ... }}`")
                } else if zero {
                    format!(
                        "for each crossing of a multiple of {apart} write `when sin(pi*({of})/({apart})) == 0 {{ ... \
                         }}`"
                    )
                } else {
                    format!("for the time at which it rises to {to} write `when {text} >= {to} {{ ... }}`")
                }
            }
            _ => format!("compare instead: `when {left} > {right} {{ ... }}` happens when it becomes true"),
        };
        let across = if id == b { &left } else { &right };
        let headline = format!("`{text}` jumps, so every jump across `{across}` would count as an equality");
        let span = self.model.term(id).span;
        reports.say(error(&codes::E0549, headline, span, "this jumps in an equality").help(help));
    }

    /// Refuses `mod(u, P) <= 0`, which holds only at single instants, like an equality.
    fn lasting(&self, [a, b]: [TermId; 2], reports: &mut Reports) {
        let zero = matches!(self.model.term(b).kind, TermKind::Number(0.0));
        if zero && self.remainder((a, None)).is_some() && self.level((a, None)) >= Level::Time {
            self.continuous([a, b], reports);
        }
    }

    /// The operands of a remainder.
    fn remainder(&self, (id, _): At) -> Option<[TermId; 2]> {
        match self.model.term(id).kind {
            TermKind::Apply(op, [u, period, _]) if op.0.name == "mod" => Some([u, period]),
            _ => None,
        }
    }

    /// The first function in these terms that jumps while its argument is continuous.
    fn jumping(&self, roots: [TermId; 2]) -> Option<At> {
        let mut open: Vec<At> = roots.into_iter().rev().map(|root| (root, None)).collect();
        let mut seen = HashSet::new();
        while let Some(at) = open.pop() {
            let (id, inside) = self.given(at);
            let level = self.level((id, inside.clone()));
            if !seen.insert(key(id, &inside)) || level < Level::Time {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Apply(op, [u, ..])
                    if matches!(op.0.name, "mod" | "floor" | "ceil" | "round" | "sign")
                        && !self.jumps((*u, inside.clone())) =>
                {
                    return Some((id, inside));
                }
                kind @ (TermKind::Apply(..) | TermKind::Call(..)) => {
                    crate::model::walk::operands(kind, |o| open.push((o, inside.clone())));
                }
                TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..) => {
                    open.push((self.model.definitions[*i].value.root, None));
                }
                _ => {}
            }
        }
        None
    }

    /// An expression that is not a comparison is allowed in a condition if it is constant between events.
    fn plain(&self, at: &At, reports: &mut Reports) {
        let number = matches!(self.model.term(at.0).kind, TermKind::Number(_));
        if !number && self.level(at.clone()) < Level::Time {
            return;
        }
        let span = self.model.term(at.0).span;
        let text = self.text(at.0, &at.1);
        let headline = format!("`{text}` is a quantity, not a condition");
        let report = error(&codes::E0541, headline, span, "neither true nor false");
        reports.say(
            report.help(format!(
                "compare it: `when {text} > 0 {{ ... }}`; or, for each crossing of 0, `when {text} == 0`"
            )),
        );
    }

    /// The value of an argument of a function in this call.
    fn given(&self, (mut id, mut inside): At) -> At {
        while let (TermKind::Argument(k), Some(call)) = (&self.model.term(id).kind, inside.clone()) {
            (id, inside) = (call.arguments[*k], call.from.clone());
        }
        (id, inside)
    }

    /// The level of a term, including its operands.
    fn level(&self, at: At) -> Level {
        let mut open = vec![at];
        let mut seen = HashSet::new();
        let mut level = Level::Constant;
        while let Some(at) = open.pop() {
            let (id, inside) = self.given(at);
            if seen.insert(key(id, &inside)) {
                let kind = &self.model.term(id).kind;
                level = level.max(self.model.own_level(kind));
                crate::model::walk::operands(kind, |o| open.push((o, inside.clone())));
            }
        }
        level
    }

    /// True if the value changes only by jumps.
    fn jumps(&self, at: At) -> bool {
        let mut open = vec![at];
        let mut seen = HashSet::new();
        while let Some(at) = open.pop() {
            let (id, inside) = self.given(at);
            if !seen.insert(key(id, &inside)) || self.level((id, inside.clone())) < Level::Time {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Apply(op, _) if matches!(op.0.name, "floor" | "ceil" | "round" | "sign" | "lt" | "le") => {}
                kind @ (TermKind::Apply(..) | TermKind::Call(..)) => {
                    crate::model::walk::operands(kind, |o| open.push((o, inside.clone())));
                }
                TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..) => {
                    open.push((self.model.definitions[*i].value.root, None));
                }
                _ => return false,
            }
        }
        true
    }

    /// A term as source text, with the arguments of this call.
    fn text(&self, id: TermId, inside: &Inside) -> String {
        let given = |argument: &TermId, call: &Call| {
            let text = self.text(*argument, &call.from);
            let whole = text.chars().all(|c| c.is_alphanumeric() || "_'.".contains(c));
            if whole { text } else { format!("({text})") }
        };
        let arguments: Vec<String> = inside
            .as_ref()
            .map(|call| call.arguments.iter().map(|argument| given(argument, call)).collect())
            .unwrap_or_default();
        let mut out = String::new();
        self.model.spell(&mut out, id, &arguments, &mut |_, _| {});
        out
    }
}

/// A term in the body of one call, with its arguments from the inside out.
fn key(id: TermId, inside: &Inside) -> (TermId, Vec<TermId>) {
    let mut given = Vec::new();
    let mut at = inside.as_ref();
    while let Some(call) = at {
        given.extend_from_slice(&call.arguments);
        at = call.from.as_ref();
    }
    (id, given)
}
