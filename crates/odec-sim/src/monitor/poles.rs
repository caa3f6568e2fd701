//! Steps across a pole. In `S/(K + S)` the divisor is zero at S = -K, where no solution passes; a long step may, and
//! beyond it the term has the other sign. No error estimate shows that, because the solution is smooth on both sides.
//! So the monitor follows the signs of divisors that are linear in the states, in models without arrays.

use std::collections::HashMap;

use odec_ir::builtin::Op;
use odec_ir::{ArrayId, Element, Kernel, KernelRole, Node, NodeId, Role, Span};
use odec_lang::diagnostic::{Diagnostic, codes};

use super::Moment;
use super::report::CheckedRun;
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::spectrum;

/// Largest number of states in a divisor.
const MAX_STATES: usize = 8;
/// Largest number of divisors that are followed.
const MAX_DIVISORS: usize = 256;
/// Largest number of operations below each other in a divisor.
const MAX_DEPTH: usize = 16;
/// Number of stored changes of sign.
const KEPT: usize = 4;
/// Near a pole, the equations are evaluated where the divisor is this fraction of the sizes of its terms.
const NEAR: f64 = 1e-9;
/// At half the distance from a pole, a rate is larger by at least this factor.
const GROWS: f64 = 1.5;

/// A sum of a number and of multiples of states.
#[derive(Clone, Debug, Default, PartialEq)]
struct Linear {
    constant: f64,
    factors: Vec<(usize, f64)>,
}

impl Linear {
    fn number(constant: f64) -> Linear {
        Linear { constant, factors: Vec::new() }
    }

    fn at(&self, y: &[f64]) -> f64 {
        self.factors.iter().fold(self.constant, |sum, (place, factor)| sum + factor * y[*place])
    }

    /// The sum of the sizes of its terms.
    fn size(&self, y: &[f64]) -> f64 {
        self.factors.iter().fold(self.constant.abs(), |sum, (place, factor)| sum + (factor * y[*place]).abs())
    }

    fn scaled(&self, by: f64) -> Linear {
        let factors = self.factors.iter().map(|(place, factor)| (*place, factor * by)).collect();
        Linear { constant: self.constant * by, factors }
    }

    fn plus(&self, other: &Linear, by: f64) -> Linear {
        let mut sum = self.clone();
        sum.constant += by * other.constant;
        for (place, factor) in &other.factors {
            match sum.factors.iter_mut().find(|own| own.0 == *place) {
                Some(own) => own.1 += by * factor,
                None => sum.factors.push((*place, by * factor)),
            }
        }
        sum
    }

    fn as_number(&self) -> Option<f64> {
        self.factors.is_empty().then_some(self.constant)
    }
}

/// A divisor of the equations.
#[derive(Clone, Debug)]
struct Divisor {
    value: Linear,
    span: Option<Span>,
    /// Its sign at the last examined step; 0 if it is not known.
    sign: f64,
}

/// A divisor that changed its sign between two examined steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    divisor: Linear,
    span: Option<Span>,
    from: Moment,
    to: Moment,
}

/// Monitor of the divisors of one run.
#[derive(Debug, Default)]
pub(super) struct Poles {
    divisors: Vec<Divisor>,
    last: Moment,
    kept: Vec<Crossing>,
}

impl Poles {
    pub(super) fn new(bound: &Bound) -> Poles {
        let mut divisors = divisors(bound);
        let y0 = &bound.problem.y0;
        for divisor in &mut divisors {
            divisor.sign = sign(divisor.value.at(y0));
        }
        let last = if divisors.is_empty() { Moment::default() } else { Moment { t: bound.problem.t0, y: y0.clone() } };
        Poles { divisors, last, kept: Vec::new() }
    }

    /// True if no divisor is followed.
    pub(super) fn none(&self) -> bool {
        self.divisors.is_empty()
    }

    /// The changes of sign, in order.
    pub(super) fn kept(self) -> Vec<Crossing> {
        self.kept
    }

    /// An event changed the state, so that a sign may be another one.
    pub(super) fn restart(&mut self) {
        self.divisors.iter_mut().for_each(|divisor| divisor.sign = 0.0);
    }

    /// The end of a step.
    pub(super) fn observe(&mut self, t: f64, y: &[f64]) {
        for divisor in &mut self.divisors {
            let now = sign(divisor.value.at(y));
            if now * divisor.sign < 0.0 && self.kept.len() < KEPT {
                let to = Moment { t, y: y.to_vec() };
                let (divisor, span) = (divisor.value.clone(), divisor.span);
                self.kept.push(Crossing { divisor, span, from: self.last.clone(), to });
            }
            if now != 0.0 {
                divisor.sign = now;
            }
        }
        self.last.t = t;
        self.last.y.copy_from_slice(y);
    }
}

/// -1, 0 or 1.
fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }
}

/// The divisors of the equations that are linear in the states, each once.
fn divisors(bound: &Bound) -> Vec<Divisor> {
    let program = bound.executor.program();
    if !program.is_scalar() || program.has(KernelRole::Mass) {
        return Vec::new();
    }
    let mut found: Vec<Divisor> = Vec::new();
    for kernel in program.kernels_of(KernelRole::Rhs) {
        let mut forms = Forms { bound, kernel, known: HashMap::new() };
        for (_, node) in kernel.graph.live(kernel.stores.iter().map(|store| store.node)) {
            let Node::Call(op, args) = node else { continue };
            if op.0.name != "div" || found.len() >= MAX_DIVISORS {
                continue;
            }
            let Some(value) = forms.of(args[1], MAX_DEPTH).filter(|form| form.as_number().is_none()) else { continue };
            if found.iter().all(|other| other.value != value) {
                found.push(Divisor { value, span: kernel.graph.spans(args[1]).first().copied(), sign: 0.0 });
            }
        }
    }
    found
}

/// The linear forms of the nodes of a kernel, as far as divisors need them.
struct Forms<'a> {
    bound: &'a Bound,
    kernel: &'a Kernel,
    known: HashMap<NodeId, Option<Linear>>,
}

impl Forms<'_> {
    /// The form of a node that has at most this many calls below each other.
    fn of(&mut self, id: NodeId, depth: usize) -> Option<Linear> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let form = match self.kernel.graph.node(id) {
            Node::Constant(bits) => Some(Linear::number(f64::from_bits(bits))),
            Node::Read(Element::Scalar(array)) => self.read(array),
            Node::Call(op, args) if depth > 0 => {
                let operands = &args[..usize::from(op.0.arity).min(2)];
                let operands: Option<Vec<Linear>> = operands.iter().map(|id| self.of(*id, depth - 1)).collect();
                operands.and_then(|operands| combined(op, &operands))
            }
            _ => None,
        };
        let form = form.filter(|form| form.factors.len() <= MAX_STATES);
        self.known.insert(id, form.clone());
        form
    }

    fn read(&self, array: ArrayId) -> Option<Linear> {
        let (executor, layout) = (&self.bound.executor, self.bound.executor.layout());
        match executor.program().arrays[array.0 as usize].role {
            Role::Position | Role::Velocity | Role::FirstOrder => {
                Some(Linear { constant: 0.0, factors: vec![(layout.state(array), 1.0)] })
            }
            Role::Parameter | Role::Staged | Role::Size | Role::Table => {
                executor.parameters().get(layout.parameter(array)).copied().map(Linear::number)
            }
            _ => None,
        }
    }
}

/// The linear form of a call, if it has one.
fn combined(op: Op, operands: &[Linear]) -> Option<Linear> {
    match (op.0.name, operands) {
        ("neg", [a]) => Some(a.scaled(-1.0)),
        ("add", [a, b]) => Some(a.plus(b, 1.0)),
        ("sub", [a, b]) => Some(a.plus(b, -1.0)),
        ("mul", [a, b]) => match (a.as_number(), b.as_number()) {
            (Some(a), _) => Some(b.scaled(a)),
            (_, Some(b)) => Some(a.scaled(b)),
            _ => None,
        },
        ("div", [a, b]) => b.as_number().filter(|b| *b != 0.0).map(|b| a.scaled(1.0 / b)),
        _ => None,
    }
}

/// Warning about the first change of sign at which the equations have a pole.
pub(super) fn passed(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let crossing = checked.findings.crossings.iter().find(|crossing| is_pole(checked.bound, crossing))?;
    let Crossing { divisor, span, from, to } = crossing;
    let (bound, time) = (checked.bound, &checked.model.time.name);
    let text = span.and_then(|span| checked.source.text.get(span.range())).unwrap_or("a divisor");
    let headline = format!(
        "a step passes a pole: `{text}` changes its sign between {time} = {} and {}",
        number(from.t),
        number(to.t)
    );
    let mut d = Diagnostic::warning(&codes::W0624, headline);
    if let Some(span) = span {
        let values = [from, to].map(|at| number(divisor.at(&at.y)));
        d = d.label(*span, format!("{} before, {} after it", values[0], values[1]));
    }
    let finer = format!(
        "no solution passes a pole, and the rows after it are wrong: use a smaller `rtol` than {}",
        number(bound.options.rtol)
    );
    let help = match divisor.factors[..] {
        [(place, factor)] if -divisor.constant / factor <= 0.0 && from.y[place] >= 0.0 => {
            let name = bound.states.name(place);
            if let Some(state) = declared(checked.model, &bound.states, place) {
                d = d.label(checked.model.states[state].span, "");
            }
            format!("{finer}, or, if `{name}` is never negative, declare that: `state {name} = ..., {name} >= 0`")
        }
        _ => finer,
    };
    Some(d.help(help))
}

/// True if the equations have a pole where the divisor is zero, and not only a removable singularity.
fn is_pole(bound: &Bound, crossing: &Crossing) -> bool {
    let Crossing { divisor, from, to, .. } = crossing;
    let (before, after) = (divisor.at(&from.y), divisor.at(&to.y));
    let between = |part: f64| -> Vec<f64> { from.y.iter().zip(&to.y).map(|(a, b)| a + part * (b - a)).collect() };
    let zero = before / (before - after);
    let near = NEAR * divisor.size(&between(zero)) / (before - after).abs();
    let t = from.t + zero * (to.t - from.t);
    let rates = |part: f64| spectrum::rates(&bound.executor, t, &between(part));
    [1.0, -1.0].iter().all(|side| {
        let (Some(close), Some(far)) = (rates(zero + side * near), rates(zero + 2.0 * side * near)) else {
            return false;
        };
        close.iter().zip(&far).any(|(close, far)| close.abs() > GROWS * far.abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_is_followed_from_step_to_step() {
        let value = Linear { constant: 0.5, factors: vec![(0, 1.0)] };
        let divisors = vec![Divisor { value, span: None, sign: 1.0 }];
        let mut poles = Poles { divisors, last: Moment { t: 0.0, y: vec![1.0] }, kept: vec![] };
        for (t, y) in [(1.0, 0.2), (2.0, -0.1), (3.0, -0.7), (4.0, -2.0)] {
            poles.observe(t, &[y]);
        }
        let kept = poles.kept();
        let [crossing] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((crossing.from.t, crossing.to.t), (2.0, 3.0));
    }

    #[test]
    fn sums_and_multiples_of_states_are_linear() {
        let x = Linear { constant: 0.0, factors: vec![(3, 1.0)] };
        let sum = Linear::number(2.0).plus(&x, -1.0).scaled(0.5);
        assert_eq!(sum, Linear { constant: 1.0, factors: vec![(3, -0.5)] });
        let y = [0.0, 0.0, 0.0, 4.0];
        assert_eq!((sum.at(&y), sum.size(&y)), (-1.0, 3.0));
    }
}
