//! Finds the times at which terms that depend only on t change rapidly: pulses, fronts, poles.
//!
//! Every stage of a long step sees 0 for `exp(-((t - 50)/0.01)^2)`, and no error estimate detects the pulse
//! between them. But the middle of such a pulse is where an expression that is linear in t, here `(t - 50)/0.01`, passes
//! through 0, and nearby values determine its width. So the terms of f that depend only on t and parameters are stored
//! as a list, each after its operands, and analysed before a run. A state with a constant rate (`p' = 1`) is linear in
//! t until an event changes it, and counts as t. The sides of conditions that a run locates are treated like f.
//!
//! A steep function of a wave and of states, such as the current `exp((sin(w*t) - v)/0.026)` of a diode, may be
//! negligible except near the extrema of the wave. States decide how long its pulses are, so steps that are longer than
//! an eighth of the period end at the extrema and zeros of such a wave.
//!
//! | file | what it does |
//! |---|---|
//! | `terms` | lists the terms: those of arrays once for each element |
//! | `form` | numbers, linear functions of t and waves |
//! | `transitions` | arguments of terms of states that change rapidly where the argument passes through 0 |
//! | `waves` | waves in the arguments of steep functions of states |
//! | `scan` | zeros and extrema of other terms of t, found by sampling |
//! | `view` | the values of terms at given parameters: how short a pulse is |

mod form;
mod scan;
mod terms;
mod transitions;
mod view;
mod waves;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::f64::consts::FRAC_PI_2;

use odec_ir::builtin::Op;
use odec_ir::builtin::lookup::Lookup;
use odec_ir::nest::BoundProgram;
use odec_ir::{Program, Span};
use odec_ode::accelerated::TimeFeature;

use form::{Form, Inner};
use view::View;

pub(crate) use transitions::Transitions;

/// Largest number of evaluated terms, which take some tenths of a second; further middles are left out.
const MAX_VALUES: usize = 20_000_000;
/// A term that depends only on t, or a part of one.
#[derive(Clone, Copy)]
enum Term {
    Number(f64),
    /// The parameter at this index of the parameter buffer.
    Parameter(usize),
    Time,
    /// A state that counts time: its index in the state, and the term of its rate.
    Clock(usize, u32),
    /// Any other state, at this index; only in [`Transitions`].
    State(usize),
    Call(Op, [u32; 3]),
    /// A lookup in a table of this length that starts at this index of the parameter buffer.
    Lookup(Lookup, (usize, u32), [u32; 1]),
}

impl Term {
    fn operands(&self) -> &[u32] {
        match self {
            Term::Call(op, operands) => &operands[..usize::from(op.0.arity)],
            Term::Lookup(_, _, argument) => argument,
            _ => &[],
        }
    }

    /// The identity of a call, except for its operands.
    fn identity(&self) -> [u64; 3] {
        match *self {
            Term::Call(op, _) => [0, std::ptr::from_ref(op.0) as usize as u64, 0],
            Term::Lookup(lookup, (start, length), _) => [1 + lookup as u64, start as u64, u64::from(length)],
            _ => [0; 3],
        }
    }

    /// The value of a call, from the values of its operands.
    fn value(&self, p: &[f64], arguments: &[f64]) -> f64 {
        match *self {
            Term::Call(op, _) => (op.0.value)(arguments),
            Term::Lookup(lookup, (start, length), _) => lookup.value(length as usize, |k| p[start + k], arguments[0]),
            _ => f64::NAN,
        }
    }
}

/// The terms of f, and of the sides of conditions, that depend only on t and parameters.
#[derive(Default)]
pub(crate) struct Timetable {
    terms: Vec<Term>,
    /// Source location of each term, if known.
    spans: Vec<Option<Span>>,
    /// True if the term depends on t.
    varies: Vec<bool>,
    /// True if a node that is not a term uses it.
    exits: Vec<bool>,
    /// True for a wave in the argument of a steep function that states move as well.
    hidden: Vec<bool>,
    /// Start of each term's users in `users`; the last entry is the end.
    first_user: Vec<u32>,
    /// The users of each term, in order.
    users: Vec<u32>,
    /// Number of terms that are not listed, because there are too many.
    unlisted: usize,
}

/// The rapid changes of the terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RapidChanges {
    pub narrow: Vec<TimeFeature>,
    /// The first oscillation with too many cycles to end steps: its source location, its period, its number of
    /// quarter turns.
    pub fast: Option<(Option<Span>, f64, f64)>,
    /// Number of middles that were not analysed because there are too many, and of those that were.
    pub left: (usize, usize),
}

impl RapidChanges {
    fn add(&mut self, other: &RapidChanges) {
        self.narrow.extend_from_slice(&other.narrow);
        self.fast = self.fast.or(other.fast);
        self.left = (self.left.0 + other.left.0, self.left.1 + other.left.1);
    }
}

/// Cached results: an event changes few terms, and the others need not be analysed again.
#[derive(Default)]
pub(crate) struct AnalysedTerms {
    span: (f64, f64),
    forms: Vec<Form>,
    /// Results for each term that passes through 0 or has an extremum.
    by_term: HashMap<usize, RapidChanges>,
    all: RapidChanges,
}

impl Timetable {
    /// The terms of f, and of further results over the same inputs; empty if all are linear in t, waves, or sums of
    /// these.
    pub(crate) fn of(program: &Program, bound: &BoundProgram, further: Option<(&Program, &BoundProgram)>) -> Timetable {
        terms::table(program, bound, further)
    }

    fn push(&mut self, term: Term, span: Option<Span>) {
        let varies =
            matches!(term, Term::Time | Term::Clock(..)) || term.operands().iter().any(|i| self.varies[*i as usize]);
        self.terms.push(term);
        self.spans.push(span);
        self.varies.push(varies);
        self.exits.push(false);
        self.hidden.push(false);
    }

    /// Finds the users of each term.
    fn link(&mut self) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (k, term) in self.terms.iter().enumerate() {
            pairs.extend(term.operands().iter().map(|operand| (*operand, k as u32)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        self.first_user = vec![0; self.terms.len() + 1];
        for (operand, _) in &pairs {
            self.first_user[*operand as usize + 1] += 1;
        }
        for k in 0..self.terms.len() {
            self.first_user[k + 1] += self.first_user[k];
        }
        self.users = pairs.into_iter().map(|pair| pair.1).collect();
    }

    fn users_of(&self, k: usize) -> &[u32] {
        &self.users[self.first_user[k] as usize..self.first_user[k + 1] as usize]
    }

    /// The rapid changes of the terms between two times, the second of which may be infinite; `at` is a time and the
    /// state there. Reuses unchanged results in `before`.
    pub(crate) fn rapid_changes(
        &self,
        p: &[f64],
        at: (f64, &[f64]),
        span: (f64, f64),
        before: &mut AnalysedTerms,
    ) -> RapidChanges {
        if self.terms.is_empty() {
            return RapidChanges { left: (self.unlisted, 0), ..RapidChanges::default() };
        }
        let forms = self.forms(p, at);
        let holds = before.forms.len() == forms.len() && before.span.1 == span.1 && before.span.0 <= span.0;
        let changed = if holds { self.changed(&before.forms, &forms) } else { vec![true; forms.len()] };
        if !changed.contains(&true) {
            return before.all.clone();
        }
        let mut known = std::mem::take(&mut before.by_term);
        let mut open = vec![false; self.terms.len()];
        for (term, form) in self.terms.iter().zip(&forms) {
            if *form == Form::Other {
                term.operands().iter().for_each(|i| open[*i as usize] = true);
            }
        }
        let mut all = RapidChanges { left: (self.unlisted, 0), ..RapidChanges::default() };
        let mut by_term = HashMap::new();
        let within = |t: f64| t >= span.0 && t <= span.1;
        let analysed = |u: usize| match forms[u] {
            Form::Number(_) => false,
            Form::Scaled { scale, shift, inner: Inner::Time } => open[u] && within(-shift / scale),
            Form::Scaled { .. } => open[u] || self.hidden[u],
            Form::Other => self.hidden[u] || (open[u] && self.bends(u, &forms)),
        };
        let others = (0..self.terms.len()).filter(|u| forms[*u] == Form::Other && analysed(*u)).count();
        let mut view = View::new(self, p, &forms, others);
        for u in 0..self.terms.len() {
            if !analysed(u) {
                continue;
            }
            let cone = self.cone(u);
            let same = |found: &RapidChanges| found.left.0 == 0 && !changed[u] && cone.iter().all(|k| !changed[*k]);
            let found = match known.remove(&u).filter(same) {
                Some(found) => found,
                None => view.rapid_changes(u, (open[u], &cone), span),
            };
            all.add(&found);
            by_term.insert(u, found);
        }
        all.narrow.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.width.total_cmp(&b.width)));
        all.narrow.dedup_by_key(|narrow| (narrow.t, narrow.every, narrow.root));
        // results from an earlier start remain valid
        let span = if holds { before.span } else { span };
        *before = AnalysedTerms { span, forms, by_term, all: all.clone() };
        all
    }

    /// True if a term depends on this one in another way than as a sum or a multiple. The others of a chain of sums and
    /// multiples need not be analysed.
    fn bends(&self, u: usize, forms: &[Form]) -> bool {
        let number = |k: u32| matches!(forms[k as usize], Form::Number(_));
        self.varies[u]
            && self.users_of(u).iter().any(|user| match self.terms[*user as usize] {
                Term::Call(op, args) => match op.0.name {
                    "add" | "sub" | "neg" => false,
                    "mul" => !args[..2].iter().any(|k| number(*k)),
                    "div" => !number(args[1]),
                    _ => true,
                },
                _ => true,
            })
    }

    /// Terms whose form has changed, and those that depend on them.
    fn changed(&self, before: &[Form], now: &[Form]) -> Vec<bool> {
        let mut changed: Vec<bool> = Vec::with_capacity(now.len());
        for (k, term) in self.terms.iter().enumerate() {
            let below = term.operands().iter().any(|i| changed[*i as usize]);
            changed.push(below || !before[k].same(now[k]));
        }
        changed
    }

    fn forms(&self, p: &[f64], (t, y): (f64, &[f64])) -> Vec<Form> {
        let mut forms: Vec<Form> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let of = |k: usize| forms[term.operands()[k] as usize];
            forms.push(match *term {
                Term::Number(v) => Form::Number(v),
                Term::Parameter(place) => Form::Number(p[place]),
                Term::Time => Form::Scaled { scale: 1.0, shift: 0.0, inner: Inner::Time },
                Term::Clock(position, rate) => match (forms[rate as usize], y.get(position)) {
                    (Form::Number(0.0), Some(y)) => Form::Number(*y),
                    (Form::Number(rate), Some(y)) => {
                        Form::Scaled { scale: rate, shift: y - rate * t, inner: Inner::Time }
                    }
                    _ => Form::Other,
                },
                Term::State(_) => Form::Other,
                Term::Lookup(..) => match of(0) {
                    Form::Number(argument) => Form::Number(term.value(p, &[argument])),
                    _ => Form::Other,
                },
                Term::Call(op, _) => {
                    let known: Vec<f64> = (0..usize::from(op.0.arity))
                        .map_while(|k| if let Form::Number(v) = of(k) { Some(v) } else { None })
                        .collect();
                    match op.0.name {
                        _ if known.len() == usize::from(op.0.arity) => Form::Number((op.0.value)(&known)),
                        "add" => of(0).sum(of(1)),
                        "sub" => of(0).sum(of(1).scaled(-1.0)),
                        "neg" => of(0).scaled(-1.0),
                        "if" => match of(0) {
                            Form::Number(condition) => of(if condition == 0.0 { 2 } else { 1 }),
                            _ => Form::Other,
                        },
                        "sin" => of(0).wave(0.0),
                        "cos" => of(0).wave(FRAC_PI_2),
                        "mul" => match (of(0), of(1)) {
                            (Form::Number(by), form) | (form, Form::Number(by)) => form.scaled(by),
                            _ => Form::Other,
                        },
                        "div" => match (of(0), of(1)) {
                            (form, Form::Number(by)) => form.scaled(1.0 / by),
                            _ => Form::Other,
                        },
                        _ => Form::Other,
                    }
                }
            });
        }
        forms
    }

    /// The nodes that depend on t only through one term, without this term, in order.
    fn cone(&self, u: usize) -> Vec<usize> {
        let mut cone: Vec<usize> = Vec::new();
        let mut next: BinaryHeap<Reverse<u32>> = self.users_of(u).iter().copied().map(Reverse).collect();
        while let Some(Reverse(k)) = next.pop() {
            let k = k as usize;
            if cone.last() == Some(&k) {
                continue;
            }
            let inside = |i: usize| i == u || !self.varies[i] || cone.binary_search(&i).is_ok();
            if self.terms[k].operands().iter().all(|i| inside(*i as usize)) {
                cone.push(k);
                next.extend(self.users_of(k).iter().copied().map(Reverse));
            }
        }
        cone
    }
}

/// Checks that the builtins that [`Form`] refers to exist under their names.
#[cfg(test)]
mod tests {
    use odec_ir::builtin;

    #[test]
    fn the_builtins_of_forms_are_there() {
        for name in ["add", "sub", "neg", "mul", "div", "sin", "cos", "if"] {
            assert!(builtin::find(name).is_some(), "{name}");
        }
    }
}
