//! diffsol with models in DiffSL, compiled by Cranelift: BDF, dense or sparse, and its explicit method of order 5.

#[cfg(any(feature = "diffsol", test))]
pub mod model;
#[cfg(feature = "diffsol")]
mod run;

use crate::curve::Curve;
use crate::plan::Plan;
use crate::problem::Problem;

/// Its name.
pub const NAME: &str = "diffsol";

/// Version of the built-in library, or the reason for which it is not available.
pub fn here() -> Result<String, String> {
    #[cfg(feature = "diffsol")]
    return Ok("diffsol 0.18, DiffSL with Cranelift".into());
    #[cfg(not(feature = "diffsol"))]
    Err("not built in; `--features diffsol` or `--features peers`".into())
}

/// Its curves.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    #[cfg(feature = "diffsol")]
    return run::curves(problem, plan);
    #[cfg(not(feature = "diffsol"))]
    {
        let _ = (problem, plan);
        vec![]
    }
}

/// Many trajectories with one compilation.
pub fn ensemble(problem: &Problem, count: usize) -> crate::group::ensemble::Total {
    #[cfg(feature = "diffsol")]
    return run::ensemble(problem, count);
    #[cfg(not(feature = "diffsol"))]
    {
        let _ = (problem, count);
        Err("not built in".into())
    }
}
