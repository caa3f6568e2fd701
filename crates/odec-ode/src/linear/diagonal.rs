//! An order of elimination with pivots on the diagonal, for the compiler of fused steps. If M = I and steps are
//! small, the diagonal of W = I/(h gamma) - J dominates.

use crate::linear::choice::{COMPILED, LinearReport, MAX_FILL, SolverKind};
use crate::linear::full::with_diagonal;
use crate::linear::ordering;
use crate::pattern::Pattern;

/// The order of elimination of a matrix with pivots on its diagonal.
#[derive(Clone, Debug)]
pub struct Diagonal {
    /// The matrix: the entries of J and the diagonal.
    pub pattern: Pattern,
    /// Unknowns in the order of elimination.
    pub order: Vec<u32>,
    /// Entries of the factors.
    pub fill: u64,
}

impl Diagonal {
    /// The order for a square J; `None` if the factorisation takes too many operations.
    pub fn of(jacobian: &Pattern) -> Option<Diagonal> {
        let pattern = with_diagonal(jacobian);
        let ordering = ordering::within(&pattern, MAX_FILL, COMPILED)?;
        Some(Diagonal { pattern, order: ordering.order, fill: ordering.fill })
    }

    /// The report about steps that contain this elimination.
    pub fn report(&self) -> LinearReport {
        let report = LinearReport::new(SolverKind::FusedSteps, &self.pattern);
        LinearReport { fill: self.fill, ordering: "minimum degree", ..report }
    }
}
