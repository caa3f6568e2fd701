//! The interface of a method to the stepping loop: state and time, one attempt at a step, values inside the last step.

#[cfg(doc)]
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::interpolant::Segment;
use crate::linear::LinearReport;
use crate::method::Method;
use crate::method::auto::Course;
use crate::problem::Cause;
use crate::system::System;

/// What came of one attempt. Steps carry the sign of the direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attempt {
    /// The step stands: `time` and `state` are those of its end. `next`: the step to try now (ignored when steps are fixed).
    Accepted {
        /// Next step.
        next: f64,
    },
    /// The error test failed (or, at the start of a multistep method, passed by so much that a longer step is worth the
    /// work again); time and state are unchanged.
    Rejected {
        /// Step to try instead.
        next: f64,
        /// Weighted error norm (1 is the tolerance).
        error: f64,
        /// Row with the largest weighted error.
        row: usize,
    },
    /// There was no value to test (not finite, singular, no convergence); time and state are unchanged.
    Failed {
        /// Why; what the run reports if no smaller step helps.
        cause: Cause,
        /// Step to try instead.
        next: f64,
    },
}

/// A method at work on one problem. Object-safe; every buffer is made at construction, and no other method allocates.
pub trait Integrator {
    /// Number of unknowns.
    fn dimension(&self) -> usize;
    /// Time reached.
    fn time(&self) -> f64;
    /// State there.
    fn state(&self) -> &[f64];
    /// Puts time and state, and forgets all history. Evaluates f there, whose failure is the error.
    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause>;
    /// Makes it what it was when it was built, for another run of the same options on the same system with other parameters; false
    /// where it has to be built anew for that.
    fn renew(&mut self, _system: &dyn System) -> bool {
        false
    }
    /// Order that the error estimate is controlled at, for the choice of the first step.
    fn order(&self) -> u32;
    /// Says before the first step where the run ends.
    fn aim(&mut self, _t_end: f64) {}
    /// Tries one step `h` that ends at `t_new` (equal to time + h but for rounding: the loop owns the exact times, so that
    /// fixed steps do not drift and `h` keeps its bits).
    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt;
    /// Says before an attempt whether states inside that step will be asked for: methods whose dense output costs evaluations of
    /// its own make them then only. Without it they interpolate at lower order.
    fn sample_ahead(&mut self, _inside: bool) {}
    /// State at `t` inside the last accepted step, by the dense output of the method. It holds until the next attempt.
    fn interpolate(&self, t: f64, y: &mut [f64]);
    /// Makes the dense output of the last accepted step what it is where [`Integrator::sample_ahead`] announced samples, at the
    /// cost of evaluations of f where the method has stages for it alone. To be called before the next attempt.
    fn complete(&mut self, _eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        Ok(())
    }
    /// Highest degree of the polynomials that [`Integrator::coefficients`] gives.
    fn degree(&self) -> usize {
        0
    }
    /// The dense output on the segment of this number of the last accepted step, as coefficients of powers of its variable s: n for
    /// s^0, n for s^1 and so on, into `c`, which has room for `degree() + 1` powers. `None` past the last segment, where no step was made
    /// since the state was put, and for a method without continuous output. It holds until the next attempt.
    fn coefficients(&self, _stretch: usize, _c: &mut [f64]) -> Option<Segment> {
        None
    }
    /// y' at the start and at the end of the last accepted step, n values each, where the method has them for nothing. They hold until
    /// the next attempt.
    fn slopes(&self) -> Option<[&[f64]; 2]> {
        None
    }
    /// The state at the start of the last accepted step, n values, where the method has it for nothing. It holds until the next attempt.
    fn start(&self) -> Option<&[f64]> {
        None
    }
    /// Says before a run that [`Integrator::retreat`] will be asked for: a method whose steps overwrite what they begin from keeps a copy from
    /// now on.
    fn allow_retreat(&mut self) {}
    /// Goes back to the start of the last accepted step, with the history and the step-size controller as they were then; matrices that are
    /// kept from step to step are evaluated anew. So a step tried again has the bits that it has whenever it is tried again, and where the
    /// method solves its stages directly those of the first time. To be called before the next attempt; false, and nothing changes, where
    /// there is no such step or the method keeps no start.
    fn retreat(&mut self) -> bool {
        false
    }
    /// From now on errors are held to a part of the tolerances that were asked for; see [`Tolerances::tighten`]. Methods that are as
    /// accurate on short steps as rounding allows need not heed it.
    fn tighten(&mut self, _part: f64) {}
    /// Takes up again from another state at a time, which may be that reached: the history is forgotten as in [`Integrator::set`], while code,
    /// matrices and factors are kept as long as they serve. Evaluates f there, whose failure is the error.
    fn resume(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.set(eval, t, y)
    }
    /// Moves the state by an amount of the size of its error, at the time reached: history and dense output stay, so that the next step
    /// goes on as it would have. Methods that do not know it begin anew.
    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.resume(eval, self.time(), y)
    }
    /// What makes the next step, and what made the last one: `own`, the method it was built for, or one that it chose.
    fn next_by(&self, own: &'static Method) -> &'static Method {
        own
    }
    /// See [`Integrator::next_by`].
    fn made_by(&self, own: &'static Method) -> &'static Method {
        own
    }
    /// What solves its linear systems; `None` where it has none.
    fn linear(&self) -> Option<LinearReport> {
        None
    }
    /// The absolute tolerances of the steps to come, n values. A method that does not take them keeps those of its options.
    fn absolute(&mut self, _atol: &[f64]) {}
    /// Time and state at the start of the last accepted step where its dense output is not to be believed: its slopes are
    /// far larger than what the ends of the step show, as those of a decay are that is too fast for an explicit method.
    fn doubtful(&self) -> Option<(f64, &[f64])> {
        None
    }
    /// h times the spectral radius of df/dy as the stages of the last accepted step show it, and the real part of what makes it
    /// out, for methods whose steps stability bounds.
    fn strain(&mut self) -> Option<(f64, f64)> {
        None
    }
    /// Which methods were at work, of an integrator that chooses.
    fn course(&self) -> Option<Course> {
        None
    }
}
