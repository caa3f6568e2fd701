//! Solvers with which odec is compared. Each tells whether it is available, and computes curves for the problems that
//! it can solve.

pub mod cvode;
pub mod diffsol;
pub mod heyoka;
pub mod limit;
pub mod lsoda;
pub mod odec;

use crate::curve::Curve;
use crate::plan::Plan;
use crate::problem::Problem;

/// Solver for comparison.
pub struct Peer {
    /// Its name, for `--peers`.
    pub name: &'static str,
    /// Description with version, or the reason for which it is not available.
    pub here: fn() -> Result<String, String>,
    /// Curves on a problem; empty if it does not apply.
    pub curves: fn(&Problem, &Plan) -> Vec<Curve>,
}

/// All peers, in the order of the tables.
pub const ALL: [Peer; 6] = [
    Peer { name: odec::NAME, here: odec::here, curves: odec::curves },
    Peer { name: limit::NAME, here: limit::here, curves: limit::curves },
    Peer { name: cvode::NAME, here: cvode::here, curves: cvode::curves },
    Peer { name: diffsol::NAME, here: diffsol::here, curves: diffsol::curves },
    Peer { name: lsoda::NAME, here: lsoda::here, curves: lsoda::curves },
    Peer { name: heyoka::NAME, here: heyoka::here, curves: heyoka::curves },
];
