//! Dense LU with partial pivoting, in place, by columns.

use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::{Assembled, Factor, FactorDiagnostics, Scalar};
use crate::pattern::Pattern;

/// A full matrix by columns, its row exchanges, and the position of each entry of the pattern.
pub struct Dense<S = f64> {
    n: usize,
    a: Vec<S>,
    pivots: Vec<usize>,
    place: Vec<u32>,
    report: LinearReport,
    health: FactorDiagnostics,
}

impl<S: Scalar> Dense<S> {
    /// Prepares for matrices on `pattern`.
    pub fn new(pattern: &Pattern) -> Self {
        let n = pattern.cols();
        let place = pattern.positions().map(|(r, c)| (c * n + r) as u32).collect();
        let report = LinearReport { fill: (n * n) as u64, ..LinearReport::new(SolverKind::Dense, pattern) };
        Dense {
            n,
            a: vec![S::ZERO; n * n],
            pivots: vec![0; n],
            place,
            report,
            health: FactorDiagnostics { pivot_ratio: 0.0 },
        }
    }
}

impl<S: Scalar> Factor<S> for Dense<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        let n = self.n;
        let a = &mut self.a[..];
        a.fill(S::ZERO);
        for (place, value) in self.place.iter().zip(matrix.values()) {
            a[*place as usize] = *value;
        }
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for k in 0..n {
            let (left, right) = a.split_at_mut((k + 1) * n);
            let column = &mut left[k * n..];
            let mut pivot_row = k;
            let mut pivot_size = column[k].magnitude();
            for (i, v) in column.iter().enumerate().skip(k + 1) {
                if v.magnitude() > pivot_size {
                    (pivot_row, pivot_size) = (i, v.magnitude());
                }
            }
            if pivot_size == 0.0 || !pivot_size.is_finite() {
                return Err(k);
            }
            smallest = smallest.min(pivot_size);
            largest = largest.max(pivot_size);
            self.pivots[k] = pivot_row;
            column.swap(k, pivot_row);
            let inverse = S::ONE / column[k];
            let multipliers = &mut column[k + 1..];
            for m in multipliers.iter_mut() {
                *m = *m * inverse;
            }
            for other in right.chunks_exact_mut(n.max(1)) {
                other.swap(k, pivot_row);
                let top = other[k];
                if top != S::ZERO {
                    for (x, m) in other[k + 1..].iter_mut().zip(multipliers.iter()) {
                        *x -= top * *m;
                    }
                }
            }
        }
        // Rows of the multipliers already stored are exchanged later, in `solve`.
        self.health = FactorDiagnostics { pivot_ratio: if n == 0 { 1.0 } else { smallest / largest } };
        Ok(())
    }

    fn solve(&mut self, b: &mut [S]) {
        let n = self.n;
        for (k, column) in self.a.chunks_exact(n.max(1)).enumerate() {
            b.swap(k, self.pivots[k]);
            let top = b[k];
            if top != S::ZERO {
                for (x, m) in b[k + 1..n].iter_mut().zip(&column[k + 1..]) {
                    *x -= top * *m;
                }
            }
        }
        for (k, column) in self.a.chunks_exact(n.max(1)).enumerate().rev() {
            b[k] = b[k] / column[k];
            let x = b[k];
            for (v, u) in b[..k].iter_mut().zip(&column[..k]) {
                *v -= x * *u;
            }
        }
    }

    fn health(&self) -> FactorDiagnostics {
        self.health
    }

    fn report(&self) -> LinearReport {
        self.report.clone()
    }
}
