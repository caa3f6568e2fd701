//! Band LU with partial pivoting, by columns (the storage of LAPACK's gbtrf, without its blocks), in a
//! bandwidth-reducing order.

use crate::linear::band::inverse;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::{Assembled, Factor, FactorDiagnostics, PivotChoice, Scalar};
use crate::pattern::Pattern;

/// Factors of a permuted band matrix with `width` diagonals on each side. Row exchanges widen the upper band to 2 `width`.
pub(super) struct Banded<S> {
    n: usize,
    width: usize,
    order: Vec<u32>,
    /// Position in `a` of each entry of the pattern.
    place: Vec<u32>,
    /// Column j at `j * stride`; the entry (i, j) is its element `2 * width + i - j`.
    a: Vec<S>,
    pivots: Vec<u32>,
    x: Vec<S>,
    report: LinearReport,
    health: FactorDiagnostics,
}

impl<S: Scalar> Banded<S> {
    /// Number of stored entries of a band matrix of this width.
    pub fn entries(n: usize, width: usize) -> u64 {
        n as u64 * (3 * width as u64 + 1)
    }

    /// Prepares for matrices on `pattern`; in this order all entries lie within `width` of the diagonal.
    pub fn new(pattern: &Pattern, order: Vec<u32>, width: usize) -> Self {
        let n = pattern.cols();
        let position = inverse(&order);
        let stride = 3 * width + 1;
        let place = |(i, j): (usize, usize)| {
            let (i, j) = (position[i] as usize, position[j] as usize);
            (j * stride + 2 * width + i - j) as u32
        };
        let report = LinearReport {
            fill: Self::entries(n, width),
            ordering: "reverse Cuthill-McKee",
            bandwidth: width,
            ..LinearReport::new(SolverKind::Banded, pattern)
        };
        Banded {
            n,
            width,
            place: pattern.positions().map(place).collect(),
            a: vec![S::ZERO; n * stride],
            pivots: vec![0; n],
            x: vec![S::ZERO; n],
            order,
            report,
            health: FactorDiagnostics { pivot_ratio: 0.0 },
        }
    }
}

impl<S: Scalar> Factor<S> for Banded<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        let (n, width) = (self.n, self.width);
        let (stride, diagonal) = (3 * width + 1, 2 * width);
        let a = &mut self.a[..];
        a.fill(S::ZERO);
        for (place, value) in self.place.iter().zip(matrix.values()) {
            a[*place as usize] = *value;
        }
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for k in 0..n {
            let below = width.min(n - 1 - k);
            let (left, right) = a.split_at_mut((k + 1) * stride);
            let column = &mut left[k * stride + diagonal..k * stride + diagonal + below + 1];
            let (mut pivot, mut size) = (0, column[0].magnitude());
            for (i, v) in column.iter().enumerate().skip(1) {
                if v.magnitude() > size {
                    (pivot, size) = (i, v.magnitude());
                }
            }
            if size == 0.0 || !size.is_finite() {
                return Err(self.order[k] as usize);
            }
            smallest = smallest.min(size);
            largest = largest.max(size);
            self.pivots[k] = (k + pivot) as u32;
            column.swap(0, pivot);
            let reciprocal = S::ONE / column[0];
            let (_, multipliers) = column.split_at_mut(1);
            for m in multipliers.iter_mut() {
                *m = *m * reciprocal;
            }
            // After the exchange, row k is as long as row `pivot` was.
            for (c, other) in right.chunks_exact_mut(stride).take(diagonal).enumerate() {
                let top = diagonal - 1 - c;
                let other = &mut other[top..top + below + 1];
                other.swap(0, pivot);
                let (head, tail) = other.split_at_mut(1);
                let u = head[0];
                if u != S::ZERO {
                    for (x, m) in tail.iter_mut().zip(multipliers.iter()) {
                        *x -= u * *m;
                    }
                }
            }
        }
        self.health = FactorDiagnostics { pivot_ratio: if n == 0 { 1.0 } else { smallest / largest } };
        Ok(())
    }

    fn solve(&mut self, b: &mut [S]) {
        let (n, width) = (self.n, self.width);
        let (stride, diagonal) = (3 * width + 1, 2 * width);
        let x = &mut self.x[..n];
        for (x, j) in x.iter_mut().zip(&self.order) {
            *x = b[*j as usize];
        }
        for (k, column) in self.a.chunks_exact(stride).enumerate() {
            x.swap(k, self.pivots[k] as usize);
            let top = x[k];
            let below = width.min(n - 1 - k);
            for (x, m) in x[k + 1..].iter_mut().zip(&column[diagonal + 1..diagonal + 1 + below]) {
                *x -= top * *m;
            }
        }
        for (k, column) in self.a.chunks_exact(stride).enumerate().rev() {
            x[k] = x[k] / column[diagonal];
            let top = x[k];
            let above = diagonal.min(k);
            for (x, u) in x[k - above..k].iter_mut().zip(&column[diagonal - above..diagonal]) {
                *x -= top * *u;
            }
        }
        for (x, j) in x.iter().zip(&self.order) {
            b[*j as usize] = *x;
        }
    }

    fn health(&self) -> FactorDiagnostics {
        self.health
    }

    /// Rows of very different scales make pivots that are large in their columns small in their rows.
    fn pivot_choice(&self) -> PivotChoice {
        PivotChoice::Kept
    }

    fn report(&self) -> LinearReport {
        self.report.clone()
    }
}
