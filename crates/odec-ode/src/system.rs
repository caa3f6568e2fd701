//! The one interface between solvers and models: M(t, y) y' = f(t, y) over `f64` slices.

use std::sync::Arc;

use crate::pattern::Pattern;
use crate::step::{Formula, WholeStep};

/// Sizes of the state `y = [q, v, z]` with q' = v (`second` of each) and first-order rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of unknowns in the first-order view, `2*second + (n - 2*second)`.
    pub n: usize,
    /// Number of second-order unknowns: y[0..second] = q, y[second..2*second] = v, and f[0..second] = v exactly.
    pub second: usize,
}

/// Why an evaluation gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// A smaller step may help (a value out of the domain, not finite).
    Recoverable,
    /// Nothing helps; stop.
    Fatal,
}

/// The mass matrix M of M y' = f.
#[derive(Clone, Copy, Debug)]
pub enum Mass<'a> {
    /// M = I.
    Identity,
    /// Constant values on a pattern (n x n, first-order view, identity on the rows of q).
    Constant(&'a Pattern, &'a [f64]),
    /// M(t, y): values from [`System::mass_values`], the identity on the rows of q.
    StateDependent {
        /// Pattern of M, n x n in the first-order view.
        pattern: &'a Pattern,
        /// Pattern of d(M(t, y) w)/dy for a fixed vector w, n x n; no entry in the rows of q.
        jacobian: &'a Pattern,
    },
}

/// A function of (t, y) that holds no state. Solvers call it through `&dyn System`; slices have length n unless said.
/// A value that is not finite need not be reported: the caller looks.
pub trait System {
    /// Sizes.
    fn shape(&self) -> Shape;
    /// f(t, y) into `f`.
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError>;
    /// Pattern of df/dy, n x n. Fixed for the life of the system.
    fn jacobian_pattern(&self) -> &Pattern;
    /// df/dy on the pattern into `values` (length: entries of the pattern).
    fn jacobian(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError>;
    /// False where df/dy has too many entries to hold: then the pattern is empty (n columns without entries), `jacobian` is not
    /// called, and implicit methods can only iterate with [`System::jacobian_vector`].
    fn holds_jacobian(&self) -> bool {
        true
    }
    /// df/dy * w into `out`.
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError>;
    /// The partial derivative df/dt into `out`.
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError>;
    /// True when f does not depend on t, so that df/dt is zero and need not be asked for.
    fn autonomous(&self) -> bool {
        false
    }
    /// Makes ready for [`System::series`] of this order; the error says why there is none.
    fn prepare_series(&self, _order: usize) -> Result<(), String> {
        Err("this system has no Taylor coefficients".to_string())
    }
    /// True where the coefficients of this order are short code and hold for whole steps, so that they are worth a try where nobody
    /// named a method. If so they are ready.
    fn series_is_short(&self, _order: usize) -> bool {
        false
    }
    /// The Taylor coefficients of h, h^2, ..., h^order of the solution through (t, y), n each, into `out`. Called only
    /// after [`System::prepare_series`] or [`System::prepare_series_step`] of that order.
    fn series(&self, _t: f64, _y: &[f64], _order: usize, _out: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Makes ready for [`System::series_step`] of this order; false where it is not to be had, and [`System::series`] has to do.
    fn prepare_series_step(&self, _order: usize) -> bool {
        false
    }
    /// A whole step by the series of this order that ends at `t`, from one buffer into another of the same layout ([`crate::method::taylor::Places`]).
    /// Called only after [`System::prepare_series_step`] of that order.
    fn series_step(&self, _t: f64, _order: usize, _from: &[f64], _to: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Whole steps of a method on this system as one function; `None` where there is none yet, and the method calls f itself. Methods
    /// whose steps are the same bit by bit either way ask again as they go.
    fn whole_step(&self, _formula: Formula) -> Option<Arc<dyn WholeStep>> {
        None
    }
    /// True where there will be many runs, so that code for them pays from the first step on.
    fn expects_many_runs(&self) -> bool {
        false
    }
    /// What [`WholeStep::run`] takes as `p`.
    fn parameters(&self) -> &[f64] {
        &[]
    }
    /// Of a system with sensitivities (y and its derivatives by parameters) one more than there are parameters, else 1. The
    /// unknowns q, v and z are each so many groups of equal length, those of y first; df/dy has entries in the first block
    /// column and in the diagonal blocks, which are all equal, and so has M, whose diagonal blocks are equal too.
    fn groups(&self) -> usize {
        1
    }
    /// M.
    fn mass(&self) -> Mass<'_> {
        Mass::Identity
    }
    /// M(t, y) on its pattern into `values`; called only where [`System::mass`] says that M depends on them, as are the
    /// next two.
    fn mass_values(&self, _t: f64, _y: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// d(M(t, y) w)/dy with `w` held fixed, on its pattern, into `values`.
    fn mass_jacobian(&self, _t: f64, _y: &[f64], _w: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// The partial derivative d(M(t, y) w)/dt with `w` held fixed, into `out`.
    fn mass_time_derivative(&self, _t: f64, _y: &[f64], _w: &[f64], _out: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
}
