//! Optional capabilities of a system: fused steps as one function, Taylor coefficients, facts about its structure.

use std::sync::Arc;

use crate::step::{FusedFormula, FusedStep};
use crate::system::{EvalError, System};

/// Optional capabilities. Results do not depend on fused steps; a Taylor series method needs the series.
pub trait Accelerated {
    /// A whole step of a method on this system as one function. Without one, the method calls f itself. A method
    /// whose results are bitwise equal either way asks again during the run.
    fn fused_step(&self, _formula: FusedFormula) -> Option<Arc<dyn FusedStep>> {
        None
    }
    /// The argument `p` of [`FusedStep::run`].
    fn parameters(&self) -> &[f64] {
        &[]
    }
    /// True if many runs will follow, so that compiling code for them pays off from the first step on.
    fn expects_many_runs(&self) -> bool {
        false
    }
    /// Number of groups: for a system with sensitivities (y and its derivatives with respect to parameters) one more
    /// than there are parameters, otherwise 1. The unknowns q, v and z each consist of this many groups of equal
    /// length, those of y first. df/dy has entries only in the first block column and in the diagonal blocks, which
    /// are all equal. The same holds for M.
    fn groups(&self) -> usize {
        1
    }
    /// The times between `from` and `to` at which terms of t change rapidly, for the current parameters; `to` may be
    /// infinite. A state with a constant rate counts as t: `at` is a time and the state there. A step that is longer
    /// than the duration of such a change ends there, so that no method skips it.
    fn narrow(&self, _at: (f64, &[f64]), _from: f64, _to: f64) -> Vec<TimeFeature> {
        Vec::new()
    }
    /// The arguments of terms of states that change rapidly where the argument passes through 0, over a change of the
    /// argument by about 1, for the current parameters: x/0.01 of `exp(-(x/0.01)^2)`. No step passes over such a place
    /// unseen.
    fn transitions(&self) -> Vec<Transition> {
        Vec::new()
    }
    /// The values of all arguments, for [`Transition::Other`].
    fn transition_arguments(&self, _t: f64, _y: &[f64], _out: &mut Vec<f64>) {}
    /// The Taylor coefficients of the solution.
    fn series(&self) -> Option<&dyn Series> {
        None
    }
}

/// The argument of a term that changes rapidly where the argument passes through 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transition {
    /// The argument `scale*y[state] + shift`.
    Linear {
        /// Index of the state.
        state: usize,
        /// Its factor.
        scale: f64,
        /// The rest.
        shift: f64,
    },
    /// The argument at this place of [`Accelerated::transition_arguments`].
    Other(usize),
    /// The exponent of an exponential function at this place: where it has a maximum, there is a pulse.
    Peak(usize),
}

/// A short interval in which a term of t alone rises or falls, or a time at which it has a pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeFeature {
    /// The middle of the interval.
    pub t: f64,
    /// The length of the interval; 0 for a pole.
    pub width: f64,
    /// The period, if the term repeats, before and after `t`.
    pub every: Option<f64>,
    /// True if the term is like a root or a broken power of the distance from `t`, as `cbrt(t - 1)` is: a step that
    /// ends at `t` or contains it is then no smoother the shorter it is.
    pub root: bool,
}

/// The Taylor coefficients of the solutions of a system.
pub trait Series {
    /// Prepares [`Series::coefficients`] of this order; the error says why this is not possible.
    fn prepare(&self, order: usize) -> Result<(), String>;
    /// The coefficients of h, h^2, ..., h^order of the solution through (t, y), n each, into `out`. Called only after
    /// [`Series::prepare`] or [`Series::prepare_step`] of that order.
    fn coefficients(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError>;
    /// True if the code for the coefficients of this order is short, so that `auto` may use them. They are then ready.
    fn is_short(&self, _order: usize) -> bool {
        false
    }
    /// True if f has no jumps and no kinks. A step that is right at its end is then also right inside, unless
    /// [`Series::may_peak`].
    fn is_smooth(&self) -> bool {
        false
    }
    /// True if a term of f may be large inside a step and zero at its ends, such as `exp(-20000*(1 - u)^2)`: its
    /// coefficients at both ends are 0 to any order.
    fn may_peak(&self) -> bool {
        false
    }
    /// Prepares [`Series::step`] of this order; false if it is not available and the solver has to use
    /// [`Series::coefficients`].
    fn prepare_step(&self, _order: usize) -> bool {
        false
    }
    /// A fused step by the series of this order that ends at `t`, from one buffer into another of the same layout
    /// ([`crate::method::taylor::Places`]). Called only after [`Series::prepare_step`] of that order.
    fn step(&self, _t: f64, _order: usize, _from: &[f64], _to: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
}

/// Shorthands for solvers, with defaults for a system without an accelerator.
impl dyn System + '_ {
    pub(crate) fn fused_step(&self, formula: FusedFormula) -> Option<Arc<dyn FusedStep>> {
        self.accelerated()?.fused_step(formula)
    }

    pub(crate) fn parameters(&self) -> &[f64] {
        self.accelerated().map_or(&[], |accelerated| accelerated.parameters())
    }

    pub(crate) fn expects_many_runs(&self) -> bool {
        self.accelerated().is_some_and(Accelerated::expects_many_runs)
    }

    pub(crate) fn groups(&self) -> usize {
        self.accelerated().map_or(1, Accelerated::groups)
    }

    pub(crate) fn narrow(&self, at: (f64, &[f64]), from: f64, to: f64) -> Vec<TimeFeature> {
        self.accelerated().map_or_else(Vec::new, |accelerated| accelerated.narrow(at, from, to))
    }

    pub(crate) fn transitions(&self) -> Vec<Transition> {
        self.accelerated().map_or_else(Vec::new, Accelerated::transitions)
    }

    pub(crate) fn transition_arguments(&self, t: f64, y: &[f64], out: &mut Vec<f64>) {
        if let Some(accelerated) = self.accelerated() {
            accelerated.transition_arguments(t, y, out);
        }
    }

    pub(crate) fn series(&self) -> Option<&dyn Series> {
        self.accelerated()?.series()
    }

    /// True if df/dy is available by entries.
    pub(crate) fn holds_jacobian(&self) -> bool {
        self.jacobian().pattern().is_some()
    }
}
