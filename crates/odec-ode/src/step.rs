//! Fused steps: a system that has f and a method compiled into one function offers it here, and the method calls it
//! instead of f.

use std::any::Any;

use crate::linear::LinearReport;
use crate::method::{rosenbrock, runge_kutta};

/// The formulas of fused steps.
#[derive(Clone, Copy, Debug)]
pub enum FusedFormula {
    /// An explicit Runge-Kutta method from k_1 to the slope at the end of the step; with the squares of the norms of
    /// its error estimates, unless `fixed`. `kept` = [k_1, y], `given` = [h, the time at the end, rtol, atol of each
    /// unknown], `out` = [square, second square or zero, k_1 .. k_e, y1], where k_e is the slope at the end. The first
    /// square is NaN or infinite if a value is not finite.
    Explicit {
        /// The coefficients of the method.
        tableau: &'static runge_kutta::ExplicitTableau,
        /// True for steps without an error estimate.
        fixed: bool,
    },
    /// A Rosenbrock method with M = I, pivots on the diagonal in the order of [`crate::linear::Diagonal`]. `kept` =
    /// [y, f(y)], `given` as above, `out` = [y1, f(y1), norm of the error, 1 if sound, else 0, u_1 .. u_s, and the
    /// error unless it is u_s]. A step is sound if the first solution has a backward error of at most
    /// [`crate::linear::BACKWARD_ERROR`], and y1 and f there are finite.
    Rosenbrock {
        /// The coefficients of the method.
        tableau: &'static rosenbrock::RosenbrockTableau,
    },
}

impl FusedFormula {
    /// Length of `out` for n unknowns.
    pub fn length(&self, n: usize) -> usize {
        match self {
            FusedFormula::Explicit { tableau, .. } => 2 + (tableau.end_stage() + 2) * n,
            FusedFormula::Rosenbrock { tableau } => {
                let error = usize::from(!tableau.is_stiffly_accurate());
                2 + (2 + tableau.m.len() + error) * n
            }
        }
    }

    /// Smallest length of `kept` and `given` for n unknowns.
    pub fn room(&self, n: usize) -> usize {
        match self {
            FusedFormula::Explicit { .. } | FusedFormula::Rosenbrock { .. } => (2 * n).max(n + 3),
        }
    }
}

impl PartialEq for FusedFormula {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (FusedFormula::Explicit { tableau, fixed }, FusedFormula::Explicit { tableau: of, fixed: likewise }) => {
                std::ptr::eq(*tableau, *of) && fixed == likewise
            }
            (FusedFormula::Rosenbrock { tableau }, FusedFormula::Rosenbrock { tableau: of }) => {
                std::ptr::eq(*tableau, *of)
            }
            _ => false,
        }
    }
}

/// A fused step of a system.
pub trait FusedStep: Any + Send + Sync {
    /// One step from time t with the parameters `p` of the system ([`crate::Accelerated::parameters`]).
    /// [`FusedFormula`] describes the buffers.
    fn run(&self, t: f64, kept: &[f64], p: &[f64], given: &[f64], out: &mut [f64]);
    /// The report of its linear solver, if it has one.
    fn linear(&self) -> Option<LinearReport> {
        None
    }
}
