//! CVODE of SUNDIALS, built from source with -O3: its linear solvers on hand-written f and Jacobians.

#[cfg(feature = "cvode")]
mod preconditioner;
#[cfg(feature = "cvode")]
mod session;

use crate::curve::Curve;
use crate::plan::Plan;
use crate::problem::Problem;

/// Its name.
pub const NAME: &str = "cvode";

/// Version of the built-in library, or the reason for which it is not available.
pub fn here() -> Result<String, String> {
    #[cfg(feature = "cvode")]
    return Ok(session::version());
    #[cfg(not(feature = "cvode"))]
    Err("not built in; `--features cvode` (with cmake and libclang) or `--features peers`".into())
}

/// BDF with each linear solver that fits, or Adams.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    #[cfg(feature = "cvode")]
    return session::curves(problem, plan);
    #[cfg(not(feature = "cvode"))]
    {
        let _ = (problem, plan);
        vec![]
    }
}

/// Many trajectories in one session.
pub fn ensemble(problem: &Problem, count: usize) -> crate::group::ensemble::Total {
    #[cfg(feature = "cvode")]
    return session::ensemble(problem, count);
    #[cfg(not(feature = "cvode"))]
    {
        let _ = (problem, count);
        Err("not built in".into())
    }
}
