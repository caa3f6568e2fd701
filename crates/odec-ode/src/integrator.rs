//! The interface of a method to the stepping loop: state and time, one attempt at a step, values inside the last step.

#[cfg(doc)]
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::interpolant::Segment;
use crate::linear::LinearReport;
use crate::method::Method;
use crate::method::auto::MethodHistory;
use crate::problem::Cause;
use crate::system::System;

/// The result of an attempt. Steps have the sign of the direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attempt {
    /// The step is accepted: `time` and `state` refer to its end. `next` is the next step size (ignored for fixed steps).
    Accepted {
        /// Next step size.
        next: f64,
    },
    /// The error test failed. At the start of a multistep method, it may also have passed by so much that it pays to
    /// repeat the step with a larger size. Time and state are unchanged.
    Rejected {
        /// Step size to try instead.
        next: f64,
        /// Weighted error norm (1 is the tolerance).
        error: f64,
        /// Row with the largest weighted error.
        row: usize,
    },
    /// The attempt gave no error estimate (a value is not finite, a matrix is singular, or Newton does not converge);
    /// time and state are unchanged.
    Failed {
        /// The cause, which the run reports if no smaller step helps.
        cause: Cause,
        /// Step size to try instead.
        next: f64,
    },
}

/// A method applied to one problem. The trait is object-safe. Construction allocates every buffer, and no other method
/// allocates.
pub trait Integrator {
    /// Number of unknowns.
    fn dimension(&self) -> usize;
    /// Current time.
    fn time(&self) -> f64;
    /// Current state.
    fn state(&self) -> &[f64];
    /// Sets time and state, and discards all history. Evaluates f there; the error is a failure of this evaluation.
    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause>;
    /// Restores the state after construction, for another run with the same options on the same system with other
    /// parameters; false if the integrator must be built again instead.
    fn renew(&mut self, _system: &dyn System) -> bool {
        false
    }
    /// Order of the error control, for the choice of the first step.
    fn order(&self) -> u32;
    /// Announces the end of the run before the first step.
    fn set_end_time(&mut self, _t_end: f64) {}
    /// Tries one step `h` that ends at `t_new`. This equals time + h up to rounding: the loop computes exact times, so
    /// that fixed steps do not drift and `h` keeps its bits.
    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt;
    /// Announces before an attempt whether states inside that step are needed. Methods whose dense output costs
    /// additional evaluations make them only then, and otherwise interpolate at lower order.
    fn sample_ahead(&mut self, _inside: bool) {}
    /// State at `t` inside the last accepted step, from the dense output of the method. Valid until the next attempt.
    fn interpolate(&self, t: f64, y: &mut [f64]);
    /// Completes the dense output of the last accepted step, as if [`Integrator::sample_ahead`] had announced
    /// samples. This costs evaluations of f if the method has stages for dense output alone. Call it before the next
    /// attempt.
    fn complete(&mut self, _eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        Ok(())
    }
    /// Highest degree of the polynomials that [`Integrator::coefficients`] gives.
    fn degree(&self) -> usize {
        0
    }
    /// The dense output on one segment of the last accepted step, as coefficients of powers of its variable s: n for
    /// s^0, n for s^1 and so on, in `c`, which must hold `degree() + 1` powers. `None` after the last segment, before
    /// the first step from the state that was set, and for a method without continuous output. Valid until the next
    /// attempt.
    fn coefficients(&self, _segment: usize, _c: &mut [f64]) -> Option<Segment> {
        None
    }
    /// y' at the start and at the end of the last accepted step, n values each, if the method has computed them
    /// anyway. They are valid until the next attempt.
    fn slopes(&self) -> Option<[&[f64]; 2]> {
        None
    }
    /// True if a bound that costs little shows that the dense output over the last accepted step lies between `low` and
    /// `high`, n values each; false also if there is no such bound.
    fn stays_within(&self, _low: &[f64], _high: &[f64]) -> bool {
        false
    }
    /// The state at the start of the last accepted step, n values, if the method still has it. It is valid until the
    /// next attempt.
    fn start(&self) -> Option<&[f64]> {
        None
    }
    /// True if [`Integrator::start`] has a state after every step.
    fn keeps_start(&self) -> bool {
        false
    }
    /// Announces before a run that [`Integrator::retreat`] may be called: from now on, a method whose steps overwrite
    /// their start keeps a copy.
    fn allow_retreat(&mut self) {}
    /// Returns to the start of the last accepted step, with the history and the step-size controller of that time.
    /// Matrices that are kept from step to step are evaluated again. So repeated attempts of a step have the same
    /// bits, and in methods that solve their stages directly these are the bits of the first attempt. Call this before
    /// the next attempt. Returns false, and changes nothing, if there is no such step or the method has no copy of its
    /// start.
    fn retreat(&mut self) -> bool {
        false
    }
    /// Uses a fraction of the requested tolerances from now on; see [`Tolerances::tighten`]. Methods that are as
    /// accurate as rounding allows on short steps may ignore this.
    fn tighten(&mut self, _part: f64) {}
    /// Continues from another state at a time, which may be the current one. f may differ from before, as after an
    /// event. So everything that was evaluated is discarded as in [`Integrator::set`]; code is kept. Evaluates f there; a
    /// failure of f is the error.
    fn resume(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.set(eval, t, y)
    }
    /// Changes the state at the current time by an amount of the size of its error. History and dense output stay, so
    /// that the next step is not affected. Methods that do not implement this restart.
    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.resume(eval, self.time(), y)
    }
    /// The method of the next step, and that of the last one: `own`, for which the integrator was built, or one that
    /// it chose.
    fn next_method(&self, own: &'static Method) -> &'static Method {
        own
    }
    /// See [`Integrator::next_method`].
    fn last_method(&self, own: &'static Method) -> &'static Method {
        own
    }
    /// The report of its linear solver; `None` if it has none.
    fn linear(&self) -> Option<LinearReport> {
        None
    }
    /// Sets the absolute tolerances of the following steps, n values. A method that ignores this keeps those of its
    /// options.
    fn set_atol(&mut self, _atol: &[f64]) {}
    /// Time and state at the start of the last accepted step if its dense output is doubtful: its slopes are far
    /// larger than the change over the step, as in a decay that is too fast for an explicit method.
    fn doubtful(&self) -> Option<(f64, &[f64])> {
        None
    }
    /// h times the spectral radius of df/dy as the stages of the last accepted step show it, and the real part of the
    /// dominant eigenvalue, for methods whose steps are limited by stability.
    fn stiffness(&mut self) -> Option<(f64, f64)> {
        None
    }
    /// The methods in use, for an integrator that chooses its method.
    fn method_history(&self) -> Option<MethodHistory> {
        None
    }
}
