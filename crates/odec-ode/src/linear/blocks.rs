//! LU of block-tridiagonal matrices with equal small blocks and pivots inside the blocks, for one-dimensional
//! problems.
//!
//! With D_i, L_i, U_i the blocks of row i: `E_i = D_i - L_i G_(i-1)`, `G_i = E_i^-1 U_i`; then forwards `x_i = E_i^-1 (b_i - L_i
//! x_(i-1))` and backwards `x_i -= G_i x_(i+1)` (Golub & Van Loan, section 4.5.1). A band of half width B is such a matrix.

use crate::linear::band::inverse;
use crate::linear::banded::Banded;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::{Assembled, Factor, FactorDiagnostics, PivotChoice, Scalar};
use crate::pattern::Pattern;

/// Largest block with a compiled loop; wider bands are factored as band matrices.
pub(super) const MAX_BLOCK: usize = 4;

/// Block-tridiagonal factorisation with blocks of the size `width` (1 to [`MAX_BLOCK`]), the half bandwidth of the
/// pattern in this order.
pub(super) fn factor<S: Scalar>(pattern: &Pattern, order: Vec<u32>, width: usize) -> Box<dyn Factor<S>> {
    match width {
        1 => Box::new(Blocks::<S, 1>::new(pattern, order)),
        2 => Box::new(Blocks::<S, 2>::new(pattern, order)),
        3 => Box::new(Blocks::<S, 3>::new(pattern, order)),
        _ => Box::new(Blocks::<S, 4>::new(pattern, order)),
    }
}

type Block<S, const B: usize> = [[S; B]; B];

/// Columns of L_i, D_i, U_i; the factorisation replaces them by L_i, E_i^-1, G_i.
type Row<S, const B: usize> = [Block<S, B>; 3];

struct Blocks<S, const B: usize> {
    n: usize,
    order: Vec<u32>,
    /// Position of each entry of the pattern among the elements of `rows`.
    place: Vec<u32>,
    rows: Vec<Row<S, B>>,
    x: Vec<[S; B]>,
    report: LinearReport,
    health: FactorDiagnostics,
}

impl<S: Scalar, const B: usize> Blocks<S, B> {
    fn new(pattern: &Pattern, order: Vec<u32>) -> Self {
        let n = pattern.cols();
        let position = inverse(&order);
        let count = n.div_ceil(B);
        let place = |(i, j): (usize, usize)| {
            let (i, j) = (position[i] as usize, position[j] as usize);
            let side = j / B + 1 - i / B;
            (((i / B * 3 + side) * B + j % B) * B + i % B) as u32
        };
        let report = LinearReport {
            fill: (count * 3 * B * B) as u64,
            ordering: "reverse Cuthill-McKee",
            bandwidth: B,
            block: B,
            ..LinearReport::new(SolverKind::BlockTridiagonal, pattern)
        };
        Blocks {
            n,
            place: pattern.positions().map(place).collect(),
            rows: vec![[[[S::ZERO; B]; B]; 3]; count],
            x: vec![[S::ZERO; B]; count],
            order,
            report,
            health: FactorDiagnostics { pivot_ratio: 0.0 },
        }
    }
}

/// out - A x.
#[inline(always)]
fn subtract<S: Scalar, const B: usize>(mut out: [S; B], a: &Block<S, B>, x: &[S; B]) -> [S; B] {
    for j in 0..B {
        for i in 0..B {
            out[i] -= a[j][i] * x[j];
        }
    }
    out
}

/// A x.
#[inline(always)]
fn product<S: Scalar, const B: usize>(a: &Block<S, B>, x: &[S; B]) -> [S; B] {
    let mut out = a[0].map(|v| v * x[0]);
    for j in 1..B {
        for i in 0..B {
            out[i] += a[j][i] * x[j];
        }
    }
    out
}

/// The inverse, and the smallest and the largest pivot; the error is the column without a pivot.
#[inline(always)]
fn invert<S: Scalar, const B: usize>(mut a: Block<S, B>) -> Result<(Block<S, B>, f64, f64), usize> {
    let usable = |v: f64| v > 0.0 && v.is_finite();
    if B == 1 {
        let size = a[0][0].magnitude();
        a[0][0] = S::ONE / a[0][0];
        return if usable(size) { Ok((a, size, size)) } else { Err(0) };
    }
    if B == 2 {
        let determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        let first = a[0][0].magnitude().max(a[0][1].magnitude());
        let second = determinant.magnitude() / first;
        if !(usable(first) && usable(second)) {
            return Err(usize::from(usable(first)));
        }
        let scale = S::ONE / determinant;
        let mut out = a;
        (out[0][0], out[1][1]) = (a[1][1] * scale, a[0][0] * scale);
        (out[0][1], out[1][0]) = (-a[0][1] * scale, -a[1][0] * scale);
        return Ok((out, first.min(second), first.max(second)));
    }
    // Gauss-Jordan elimination with row exchanges, applied to the identity as well.
    let mut out = [[S::ZERO; B]; B];
    for (j, column) in out.iter_mut().enumerate() {
        column[j] = S::ONE;
    }
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for k in 0..B {
        let mut pivot = k;
        for i in k + 1..B {
            if a[k][i].magnitude() > a[k][pivot].magnitude() {
                pivot = i;
            }
        }
        let size = a[k][pivot].magnitude();
        if !usable(size) {
            return Err(k);
        }
        (smallest, largest) = (smallest.min(size), largest.max(size));
        let scale = S::ONE / a[k][pivot];
        for column in a.iter_mut().chain(out.iter_mut()) {
            column.swap(k, pivot);
            column[k] = column[k] * scale;
        }
        let multipliers = a[k];
        for column in a.iter_mut().skip(k + 1).chain(out.iter_mut()) {
            for i in 0..B {
                if i != k {
                    column[i] -= multipliers[i] * column[k];
                }
            }
        }
    }
    Ok((out, smallest, largest))
}

impl<S: Scalar, const B: usize> Factor<S> for Blocks<S, B> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        // Clear the entries that the last elimination filled; the blocks below the diagonal have kept their zeros.
        for [_, diagonal, upper] in &mut self.rows {
            (*diagonal, *upper) = ([[S::ZERO; B]; B], [[S::ZERO; B]; B]);
        }
        let entries = self.rows.as_flattened_mut().as_flattened_mut().as_flattened_mut();
        for (place, value) in self.place.iter().zip(matrix.values()) {
            entries[*place as usize] = *value;
        }
        if let Some([_, last, _]) = self.rows.last_mut() {
            // The identity completes the last block.
            let used = (self.n - 1) % B + 1;
            for k in used..B {
                last[k][k] = S::ONE;
            }
        }
        let mut before: Block<S, B> = [[S::ZERO; B]; B];
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for (i, [lower, diagonal, upper]) in self.rows.iter_mut().enumerate() {
            for j in 0..B {
                diagonal[j] = subtract(diagonal[j], lower, &before[j]);
            }
            let (inverse, least, most) = match invert(*diagonal) {
                Ok(inverse) => inverse,
                Err(k) => return Err(self.order[(i * B + k).min(self.n - 1)] as usize),
            };
            (smallest, largest) = (smallest.min(least), largest.max(most));
            for j in 0..B {
                upper[j] = product(&inverse, &upper[j]);
            }
            (*diagonal, before) = (inverse, *upper);
        }
        self.health = FactorDiagnostics { pivot_ratio: if self.n == 0 { 1.0 } else { smallest / largest } };
        Ok(())
    }

    fn solve(&mut self, b: &mut [S]) {
        let (order, rest) = self.order.as_chunks::<B>();
        let mut before = [S::ZERO; B];
        for ((x, [lower, inverse, _]), order) in self.x.iter_mut().zip(&self.rows).zip(order) {
            before = product(inverse, &subtract(order.map(|j| b[j as usize]), lower, &before));
            *x = before;
        }
        let whole = order.len();
        if let (Some(x), Some([lower, inverse, _])) = (self.x.get_mut(whole), self.rows.get(whole)) {
            let mut last = [S::ZERO; B];
            for (l, j) in last.iter_mut().zip(rest) {
                *l = b[*j as usize];
            }
            before = product(inverse, &subtract(last, lower, &before));
            *x = before;
            for (l, j) in before.iter().zip(rest) {
                b[*j as usize] = *l;
            }
        }
        let mut after = if rest.is_empty() { [S::ZERO; B] } else { before };
        for ((x, [_, _, upper]), order) in self.x.iter().zip(&self.rows).zip(order).rev() {
            after = subtract(*x, upper, &after);
            for k in 0..B {
                b[order[k] as usize] = after[k];
            }
        }
    }

    fn health(&self) -> FactorDiagnostics {
        self.health
    }

    fn report(&self) -> LinearReport {
        self.report.clone()
    }

    fn pivot_choice(&self) -> PivotChoice {
        PivotChoice::Fixed
    }

    fn pivoting(&self, pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        Some(Box::new(Banded::new(pattern, self.order.clone(), B)))
    }
}
