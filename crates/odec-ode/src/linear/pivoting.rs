//! Sparse LU with partial pivoting, what is fallen back to when pivots that were kept in place will not do: faer's, which analyses
//! once and allocates at every factorisation.

use faer::linalg::solvers::SolveCore;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::ComplexField;
use faer::{Conj, MatMut};

use crate::linear::choice::{Kind, LinearReport};
use crate::linear::{Assembled, Factor, Health, Scalar};
use crate::pattern::Pattern;

/// Analysis and factors.
pub(super) struct Pivoting<S> {
    symbolic: Option<SymbolicLu<u32>>,
    factors: Option<Lu<u32, S>>,
    report: LinearReport,
}

impl<S: Scalar + ComplexField> Pivoting<S> {
    /// For matrices on a pattern.
    pub fn new(pattern: &Pattern) -> Self {
        let n = pattern.cols();
        let symbolic = SymbolicSparseColMatRef::new_checked(n, n, &pattern.col_ptr, None, &pattern.row_idx);
        let report = LinearReport { ordering: "column minimum degree", ..LinearReport::new(Kind::Pivoting, pattern) };
        Pivoting { symbolic: SymbolicLu::try_new(symbolic).ok(), factors: None, report }
    }
}

impl<S: Scalar + ComplexField> Factor<S> for Pivoting<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        self.factors = None;
        let columns = matrix.columns();
        let n = columns.count();
        let empty = (0..n).find(|j| columns.values[columns.column(*j)].iter().all(|v| v.magnitude() == 0.0));
        let (Some(symbolic), None) = (&self.symbolic, empty) else { return Err(empty.unwrap_or(0)) };
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, columns.start, None, columns.rows);
        let matrix = SparseColMatRef::new(pattern, columns.values);
        match Lu::try_new_with_symbolic(symbolic.clone(), matrix) {
            Ok(factors) => {
                self.factors = Some(factors);
                Ok(())
            }
            Err(_) => Err(0),
        }
    }

    fn solve(&mut self, b: &mut [S]) {
        let n = b.len();
        match &self.factors {
            Some(factors) => {
                let b = MatMut::from_column_major_slice_mut(b, n, 1);
                factors.solve_in_place_with_conj(Conj::No, b);
            }
            None => b.fill(S::from(f64::NAN)),
        }
    }

    fn health(&self) -> Health {
        Health { pivot_ratio: 1.0 }
    }

    fn report(&self) -> LinearReport {
        self.report.clone()
    }
}
