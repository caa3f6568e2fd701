//! Runs a one-step formula without its own error estimate: with fixed steps, or adaptively by step doubling.

use crate::control::{Control, STANDARD, Tolerances};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::{self, Segment};
use crate::linear::LinearReport;
use crate::method::Setup;
use crate::problem::{Cause, Refusal};

/// Fraction of the difference from Simpson's rule that counts as an error. For a smooth solution, both estimates of the
/// error are alike. A formula of order 4 may be more accurate than the rule, which has the same order.
const OF_SIMPSON: [f64; 2] = [0.25, 0.0625];
/// See [`OF_SIMPSON`].
const ORDER_OF_SIMPSON: u32 = 4;

/// A one-step formula: y1 from (t, y, h).
pub trait Formula {
    /// Computes one step of length `h` that ends at `t_new`, in `y1`.
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause>;
    /// The slope at a point for the next step and the dense output: y' (Hermite), or f, or nothing.
    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause>;
    /// Discards everything from earlier steps (Jacobian, factors).
    fn forget(&mut self) {}
    /// See [`Integrator::tighten`].
    fn tighten(&mut self, _part: f64) {}
    /// True if steps beyond a limit amplify decays.
    fn is_bounded(&self) -> bool {
        false
    }
    /// The report of its linear solver; `None` if it has none.
    fn linear(&self) -> Option<LinearReport> {
        None
    }
    /// The dense output of the formula.
    fn dense(&self) -> DenseOutput;
}

/// The start of a step.
#[derive(Clone, Copy)]
pub struct StepStart<'a> {
    /// Time.
    pub t: f64,
    /// State.
    pub y: &'a [f64],
    /// The result of `Formula::slope` there.
    pub slope: &'a [f64],
}

/// Dense output of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenseOutput {
    /// Cubic Hermite through values and slopes at both ends.
    Hermite,
    /// The line through the ends.
    LinearSolver,
    /// The parabola through the ends and the state before (or the middle, in step doubling).
    Parabola,
}

/// Builds the integrator: fixed steps, or step doubling. `formula` is called once for each step length in use.
pub fn integrator(
    setup: &Setup<'_>,
    formula: impl Fn() -> Result<Box<dyn Formula>, Refusal>,
) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    let whole = formula()?;
    Ok(Box::new(OneStep {
        order: setup.method.order,
        dense: whole.dense(),
        whole,
        half: if setup.options.fixed { None } else { Some(formula()?) },
        tolerances: Tolerances::new(setup.options, n),
        control: Control::new(STANDARD, setup.method.order),
        earlier: Control::new(STANDARD, setup.method.order),
        start: Node::new(n),
        between: Node::new(n),
        end: Node::new(n),
        trial: Node::new(n),
        trial_between: Node::new(n),
        error: vec![0.0; n],
        other: vec![0.0; n],
        steps: 0,
        retreated: false,
    }))
}

/// A state with its time and slope.
struct Node {
    t: f64,
    y: Vec<f64>,
    slope: Vec<f64>,
}

impl Node {
    fn new(n: usize) -> Self {
        Node { t: 0.0, y: vec![0.0; n], slope: vec![0.0; n] }
    }

    fn point(&self) -> StepStart<'_> {
        StepStart { t: self.t, y: &self.y, slope: &self.slope }
    }
}

/// The integrator of all formulas.
struct OneStep {
    order: u32,
    dense: DenseOutput,
    whole: Box<dyn Formula>,
    /// The same formula with half the step size, with separate factors; used by step doubling.
    half: Option<Box<dyn Formula>>,
    tolerances: Tolerances,
    control: Control,
    /// The controller before the last step.
    earlier: Control,
    /// The start of the last step.
    start: Node,
    /// In step doubling, the middle of the last step; otherwise the start of the step before.
    between: Node,
    end: Node,
    trial: Node,
    trial_between: Node,
    error: Vec<f64>,
    /// The second estimate of the error.
    other: Vec<f64>,
    steps: u64,
    /// True if the last step was undone.
    retreated: bool,
}

/// One step of a formula from one node to another, including the slope.
fn advance(
    formula: &mut dyn Formula,
    eval: &mut Evaluator<'_>,
    from: &Node,
    h: f64,
    t_new: f64,
    to: &mut Node,
) -> Result<(), Cause> {
    to.t = t_new;
    formula.step(eval, from.point(), h, t_new, &mut to.y)?;
    if let Some(row) = to.y.iter().position(|y| !y.is_finite()) {
        return Err(Cause::NonFiniteState { row });
    }
    formula.slope(eval, t_new, &to.y, &mut to.slope)
}

impl OneStep {
    /// Discards all data of earlier steps.
    fn forget(&mut self) {
        self.whole.forget();
        if let Some(half) = &mut self.half {
            half.forget();
        }
    }

    fn double(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let OneStep { whole, half: Some(half), end, trial, trial_between: middle, error, .. } = self else {
            return advance(self.whole.as_mut(), eval, &self.end, h, t_new, &mut self.trial).map(|()| 0.0);
        };
        whole.step(eval, end.point(), h, t_new, error)?;
        advance(half.as_mut(), eval, end, 0.5 * h, end.t + 0.5 * h, middle)?;
        advance(half.as_mut(), eval, middle, 0.5 * h, t_new, trial)?;
        let scale = 1.0 / (f64::from(1u32 << self.order) - 1.0);
        for (e, y) in error.iter_mut().zip(&trial.y) {
            *e = (y - *e) * scale;
        }
        let err = self.tolerances.norm(error, &end.y, &trial.y);
        Ok(if self.whole.is_bounded() { self.by_simpson(h, err) } else { err })
    }

    /// The larger one of the error `err` of step doubling and that of the integral of y' by Simpson's rule. One long step
    /// and two short ones may amplify a decay by the same factor, such as 25 in steps of order 2 with h*lambda = -8: the
    /// first estimate is 0 there.
    fn by_simpson(&mut self, h: f64, err: f64) -> f64 {
        let OneStep { end, trial, trial_between: middle, error, other, .. } = self;
        let part = OF_SIMPSON[usize::from(self.order >= ORDER_OF_SIMPSON)];
        let slopes = end.slope.iter().zip(&middle.slope).zip(&trial.slope);
        let integrals = slopes.map(|((a, b), c)| h / 6.0 * (a + 4.0 * b + c));
        for (e, ((from, to), integral)) in other.iter_mut().zip(end.y.iter().zip(&trial.y).zip(integrals)) {
            *e = part * (to - from - integral);
        }
        let by_integral = self.tolerances.norm(other, &end.y, &trial.y);
        // states and slopes are finite here, so both are numbers or infinite
        if by_integral > err {
            std::mem::swap(error, other);
        }
        by_integral.max(err)
    }
}

impl Integrator for OneStep {
    fn dimension(&self) -> usize {
        self.end.y.len()
    }

    fn time(&self) -> f64 {
        self.end.t
    }

    fn state(&self) -> &[f64] {
        &self.end.y
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.forget();
        self.steps = 0;
        self.control.reset();
        self.end.t = t;
        self.end.y.copy_from_slice(y);
        self.whole.slope(eval, t, y, &mut self.end.slope)
    }

    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.end.y.copy_from_slice(y);
        self.whole.slope(eval, self.end.t, y, &mut self.end.slope)
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
        self.whole.tighten(part);
        if let Some(half) = &mut self.half {
            half.tighten(part);
        }
    }

    fn order(&self) -> u32 {
        self.order
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let err = match self.double(eval, h, t_new) {
            Err(cause) => return Attempt::Failed { cause, next: self.control.fail(h) },
            Ok(err) => err,
        };
        if err > 1.0 {
            let row = self.tolerances.worst(&self.error, &self.end.y, &self.trial.y);
            return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
        }
        let doubling = self.half.is_some();
        std::mem::swap(&mut self.between, if doubling { &mut self.trial_between } else { &mut self.start });
        std::mem::swap(&mut self.start, &mut self.end);
        std::mem::swap(&mut self.end, &mut self.trial);
        self.steps += 1;
        self.retreated = false;
        self.earlier = self.control.clone();
        Attempt::Accepted { next: if doubling { self.control.accept(h, err) } else { h } }
    }

    fn linear(&self) -> Option<LinearReport> {
        self.whole.linear()
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let doubling = self.half.is_some();
        let first_half = (t - self.start.t).abs() < (self.between.t - self.start.t).abs();
        let (a, b) = match (doubling, first_half) {
            (false, _) => (&self.start, &self.end),
            (true, true) => (&self.start, &self.between),
            (true, false) => (&self.between, &self.end),
        };
        match self.dense {
            DenseOutput::Parabola if doubling || self.steps > 1 => {
                parabola(&self.between, &self.start, &self.end, t, y);
            }
            DenseOutput::LinearSolver | DenseOutput::Parabola => {
                let s = (t - a.t) / (b.t - a.t);
                for i in 0..y.len() {
                    y[i] = a.y[i] + s * (b.y[i] - a.y[i]);
                }
            }
            DenseOutput::Hermite => hermite(a, b, t, y),
        }
    }

    fn degree(&self) -> usize {
        match self.dense {
            DenseOutput::Hermite => 3,
            DenseOutput::LinearSolver => 1,
            DenseOutput::Parabola => 2,
        }
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if self.steps == 0 || self.retreated {
            return None;
        }
        let doubling = self.half.is_some();
        let n = self.end.y.len();
        if self.dense == DenseOutput::Parabola && (doubling || self.steps > 1) {
            let length = self.end.t - self.start.t;
            let nodes = [(self.between.t - self.start.t) / length, 0.0, 1.0];
            let states = [&self.between.y[..], &self.start.y, &self.end.y].into_iter();
            interpolant::lagrange(c, n, &nodes, states);
            return (segment == 0).then_some(Segment { from: self.start.t, length, degree: 2 });
        }
        let (a, b) = match (doubling, segment) {
            (false, 0) => (&self.start, &self.end),
            (true, 0) => (&self.start, &self.between),
            (true, 1) => (&self.between, &self.end),
            _ => return None,
        };
        let length = b.t - a.t;
        let degree = if self.dense == DenseOutput::Hermite { 3 } else { 1 };
        match degree {
            3 => interpolant::hermite(c, length, [&a.y, &a.slope], [&b.y, &b.slope]),
            _ => interpolant::line(c, &a.y, &b.y),
        }
        Some(Segment { from: a.t, length, degree })
    }

    fn retreat(&mut self) -> bool {
        if self.steps == 0 || self.retreated {
            return false;
        }
        std::mem::swap(&mut self.end, &mut self.trial);
        std::mem::swap(&mut self.start, &mut self.end);
        let doubling = self.half.is_some();
        std::mem::swap(&mut self.between, if doubling { &mut self.trial_between } else { &mut self.start });
        self.steps -= 1;
        self.retreated = true;
        self.control = self.earlier.clone();
        self.forget();
        true
    }
}

/// Cubic through values and slopes at both ends.
fn hermite(a: &Node, b: &Node, t: f64, y: &mut [f64]) {
    let h = b.t - a.t;
    let s = (t - a.t) / h;
    let (bump_a, bump_b) = (s * (1.0 - s) * (1.0 - s) * h, -s * s * (1.0 - s) * h);
    let blend = s * s * (3.0 - 2.0 * s);
    for i in 0..y.len() {
        y[i] = a.y[i] + blend * (b.y[i] - a.y[i]) + bump_a * a.slope[i] + bump_b * b.slope[i];
    }
}

/// Parabola through three states (Lagrange).
fn parabola(a: &Node, b: &Node, c: &Node, t: f64, y: &mut [f64]) {
    let la = (t - b.t) * (t - c.t) / ((a.t - b.t) * (a.t - c.t));
    let lc = (t - a.t) * (t - b.t) / ((c.t - a.t) * (c.t - b.t));
    for i in 0..y.len() {
        y[i] = b.y[i] + la * (a.y[i] - b.y[i]) + lc * (c.y[i] - b.y[i]);
    }
}
