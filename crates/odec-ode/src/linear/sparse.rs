//! Sparse LU: left-looking with threshold pivoting (Gilbert & Peierls 1988), then refactorisation of further values
//! with the same pivots and pattern (as in KLU) until a pivot becomes too small.

use crate::linear::assembled::Columns;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::ordering::Ordering;
use crate::linear::{Assembled, Factor, FactorDiagnostics, PivotChoice, Scalar};
use crate::pattern::Pattern;

/// The diagonal entry is the pivot if it reaches this fraction of the largest candidate. Candidates are compared in
/// units of the largest entry of their row: rows of kinetics differ by many orders of magnitude.
const PIVOT_THRESHOLD: f64 = 0.01;
/// The choice of pivots in a column.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pivots {
    /// The diagonal entry if it is large enough; further matrices keep the pivots while these are large enough.
    Threshold,
    /// The largest entry, chosen again for every matrix.
    Largest,
}

/// A fixed pivot below this fraction of its column leads to new pivots.
const KEPT_PIVOT_THRESHOLD: f64 = 1e-3;

/// Columns of a triangle: entries of column k at `start[k]..start[k+1]`.
struct Triangle<S> {
    start: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<S>,
}

impl<S> Triangle<S> {
    fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.rows.clear();
        self.values.clear();
    }

    fn column(&self, k: usize) -> std::ops::Range<usize> {
        self.start[k]..self.start[k + 1]
    }
}

/// Factors P A Q = L U with L of unit diagonal.
pub(super) struct Sparse<S = f64> {
    n: usize,
    /// Column of A that is eliminated k-th.
    order: Vec<u32>,
    /// Row of A that is the k-th pivot.
    pivot_row: Vec<u32>,
    /// Inverse of `pivot_row`; `NONE` while a row has no pivot.
    position: Vec<u32>,
    lower: Triangle<S>,
    upper: Triangle<S>,
    diagonal: Vec<S>,
    analysed: bool,
    pivots: Pivots,
    limit: u64,
    work: Vec<S>,
    /// 1 / largest entry of each row of the matrix for which the pivots were chosen.
    weights: Vec<f64>,
    marks: Vec<u32>,
    stack: Vec<(u32, usize)>,
    reach: Vec<u32>,
    sorted: Vec<(u32, S)>,
    report: LinearReport,
    health: FactorDiagnostics,
}

const NONE: u32 = u32::MAX;

impl<S: Scalar> Sparse<S> {
    /// Prepares for matrices on the pattern, eliminated in this order; `limit` bounds the entries of the factors.
    pub(super) fn new(pattern: &Pattern, ordering: Ordering, limit: u64) -> Self {
        let n = ordering.order.len();
        let triangle = || {
            let entries = (ordering.fill as usize - n) / 2;
            Triangle {
                start: Vec::with_capacity(n + 1),
                rows: Vec::with_capacity(entries),
                values: Vec::with_capacity(entries),
            }
        };
        let report = LinearReport {
            fill: ordering.fill,
            ordering: "minimum degree",
            ..LinearReport::new(SolverKind::Sparse, pattern)
        };
        Sparse {
            n,
            report,
            pivot_row: vec![NONE; n],
            position: vec![NONE; n],
            lower: triangle(),
            upper: triangle(),
            order: ordering.order,
            diagonal: vec![S::ZERO; n],
            analysed: false,
            pivots: Pivots::Threshold,
            limit,
            work: vec![S::ZERO; n],
            weights: vec![1.0; n],
            marks: vec![NONE; n],
            stack: Vec::with_capacity(n),
            reach: Vec::with_capacity(n),
            sorted: Vec::with_capacity(n),
            health: FactorDiagnostics { pivot_ratio: 0.0 },
        }
    }

    /// Changes the choice of pivots, and the report that names it.
    pub(super) fn with_pivots(self, pivots: Pivots, report: LinearReport) -> Self {
        Sparse { pivots, report, ..self }
    }

    /// The pivot rows and columns of the last analysis, in the order of elimination.
    pub(super) fn pivots(&self) -> (&[u32], &[u32]) {
        (&self.pivot_row, &self.order)
    }

    /// Finds the rows that are reachable from a column of A through the finished columns of L. `self.reach` receives
    /// them in reverse topological order.
    fn find_reach(&mut self, k: u32, column: &[u32]) {
        self.reach.clear();
        for &row in column {
            if self.marks[row as usize] == k {
                continue;
            }
            self.marks[row as usize] = k;
            self.stack.push((row, 0));
            while let Some((row, done)) = self.stack.pop() {
                let position = self.position[row as usize];
                let children = if position == NONE { 0..0 } else { self.lower.column(position as usize) };
                let mut next = children.start + done;
                while next < children.end && self.marks[self.lower.rows[next] as usize] == k {
                    next += 1;
                }
                if next < children.end {
                    let child = self.lower.rows[next];
                    self.marks[child as usize] = k;
                    self.stack.push((row, next + 1 - children.start));
                    self.stack.push((child, 0));
                } else {
                    self.reach.push(row);
                }
            }
        }
    }

    fn weigh(&mut self, matrix: Columns<'_, S>) {
        self.weights.fill(0.0);
        for (row, value) in matrix.rows.iter().zip(matrix.values) {
            let largest = &mut self.weights[*row as usize];
            *largest = largest.max(value.magnitude());
        }
        for weight in &mut self.weights {
            let inverse = 1.0 / *weight;
            *weight = if inverse.is_finite() && inverse > 0.0 { inverse } else { 1.0 };
        }
    }

    /// Factors with newly chosen pivots; rows of L are numbered as rows of A until the end.
    fn analyse(&mut self, matrix: Columns<'_, S>) -> Result<(), usize> {
        self.analysed = false;
        self.position.fill(NONE);
        self.marks.fill(NONE);
        self.work.fill(S::ZERO);
        self.lower.clear();
        self.upper.clear();
        self.weigh(matrix);
        for k in 0..self.n {
            let j = self.order[k] as usize;
            let column = matrix.column(j);
            self.find_reach(k as u32, &matrix.rows[column.clone()]);
            for p in column {
                self.work[matrix.rows[p] as usize] = matrix.values[p];
            }
            self.sorted.clear();
            let (mut best, mut best_size, mut diagonal) = (NONE, 0.0f64, 0.0f64);
            for index in (0..self.reach.len()).rev() {
                let row = self.reach[index];
                let x = self.work[row as usize];
                let position = self.position[row as usize];
                if position == NONE {
                    if !x.magnitude().is_finite() {
                        return Err(j);
                    }
                    let size = x.magnitude() * self.weights[row as usize];
                    if size > best_size {
                        (best, best_size) = (row, size);
                    }
                    if row as usize == j {
                        diagonal = size;
                    }
                    continue;
                }
                self.sorted.push((position, x));
                for p in self.lower.column(position as usize) {
                    self.work[self.lower.rows[p] as usize] -= x * self.lower.values[p];
                }
            }
            if best_size == 0.0 {
                return Err(j);
            }
            let enough = if self.pivots == Pivots::Threshold { PIVOT_THRESHOLD } else { 1.0 };
            if diagonal >= enough * best_size {
                best = j as u32;
            }
            let pivot = self.work[best as usize];
            self.sorted.sort_unstable_by_key(|(position, _)| *position);
            for (position, x) in &self.sorted {
                self.upper.rows.push(*position);
                self.upper.values.push(*x);
            }
            for &row in &self.reach {
                if self.position[row as usize] == NONE && row != best {
                    self.lower.rows.push(row);
                    self.lower.values.push(self.work[row as usize] / pivot);
                }
                self.work[row as usize] = S::ZERO;
            }
            self.upper.start.push(self.upper.rows.len());
            self.lower.start.push(self.lower.rows.len());
            if (self.upper.rows.len() + self.lower.rows.len()) as u64 > self.limit {
                return Err(j);
            }
            self.diagonal[k] = pivot;
            self.pivot_row[k] = best;
            self.position[best as usize] = k as u32;
        }
        for row in &mut self.lower.rows {
            *row = self.position[*row as usize];
        }
        self.analysed = true;
        Ok(())
    }

    /// Factors with the previous pivots and pattern; false if a pivot became too small.
    fn repeat(&mut self, matrix: Columns<'_, S>) -> bool {
        let work = &mut self.work[..];
        for k in 0..self.n {
            let j = self.order[k] as usize;
            for p in matrix.column(j) {
                work[self.position[matrix.rows[p] as usize] as usize] = matrix.values[p];
            }
            for p in self.upper.column(k) {
                let row = self.upper.rows[p] as usize;
                let x = std::mem::replace(&mut work[row], S::ZERO);
                self.upper.values[p] = x;
                if x != S::ZERO {
                    let range = self.lower.column(row);
                    for (i, l) in self.lower.rows[range.clone()].iter().zip(&self.lower.values[range]) {
                        work[*i as usize] -= x * *l;
                    }
                }
            }
            let pivot = std::mem::replace(&mut work[k], S::ZERO);
            let inverse = S::ONE / pivot;
            let mut largest = 0.0f64;
            for p in self.lower.column(k) {
                let x = std::mem::replace(&mut work[self.lower.rows[p] as usize], S::ZERO);
                largest = largest.max(x.magnitude());
                self.lower.values[p] = x * inverse;
            }
            let usable = inverse.magnitude().is_finite() && pivot.magnitude().is_finite();
            if !(pivot.magnitude() >= KEPT_PIVOT_THRESHOLD * largest && usable) {
                return false;
            }
            self.diagonal[k] = pivot;
        }
        true
    }
}

impl<S: Scalar> Factor<S> for Sparse<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        let columns = matrix.columns();
        let keep = self.analysed && self.pivots == Pivots::Threshold;
        if !(keep && self.repeat(columns)) {
            self.analyse(columns)?;
        }
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for pivot in &self.diagonal {
            smallest = smallest.min(pivot.magnitude());
            largest = largest.max(pivot.magnitude());
        }
        self.health = FactorDiagnostics { pivot_ratio: smallest / largest };
        Ok(())
    }

    fn solve(&mut self, b: &mut [S]) {
        if !self.analysed {
            // the matrix was singular: there is no solution
            b.fill(S::from(f64::NAN));
            return;
        }
        let n = self.n;
        let x = &mut self.work[..n];
        for k in 0..n {
            x[k] = b[self.pivot_row[k] as usize];
        }
        for k in 0..n {
            let top = x[k];
            if top != S::ZERO {
                let range = self.lower.column(k);
                for (i, l) in self.lower.rows[range.clone()].iter().zip(&self.lower.values[range]) {
                    x[*i as usize] -= top * *l;
                }
            }
        }
        for k in (0..n).rev() {
            let top = x[k] / self.diagonal[k];
            x[k] = S::ZERO;
            b[self.order[k] as usize] = top;
            let range = self.upper.column(k);
            for (i, u) in self.upper.rows[range.clone()].iter().zip(&self.upper.values[range]) {
                x[*i as usize] -= top * *u;
            }
        }
    }

    fn health(&self) -> FactorDiagnostics {
        self.health
    }

    /// Pivots that are large in their columns may be small in their rows.
    fn pivot_choice(&self) -> PivotChoice {
        PivotChoice::Kept
    }

    fn report(&self) -> LinearReport {
        let fill = if self.analysed {
            (self.lower.rows.len() + self.upper.rows.len() + self.n) as u64
        } else {
            self.report.fill
        };
        LinearReport { fill, ..self.report.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::ordering::minimum_degree;
    use crate::linear::random::Random;
    use crate::linear::{Complex, Dense};

    fn sparse<S: Scalar>(pattern: &Pattern) -> Sparse<S> {
        Sparse::new(pattern, minimum_degree(pattern, u64::MAX).unwrap(), u64::MAX)
    }

    #[test]
    fn factors_of_a_singular_matrix_solve_nothing() {
        let pattern = Pattern::from_positions(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let mut factor: Sparse<f64> = sparse(&pattern);
        assert!(factor.factor(&Assembled::with(&pattern, vec![1.0; 4])).is_err());
        let mut b = [1.0, 2.0];
        factor.solve(&mut b);
        assert!(b.iter().all(|x| x.is_nan()));
    }

    /// max_i |b - A x|_i / (|A||x| + |b|)_i.
    fn backward_error(pattern: &Pattern, values: &[f64], x: &[f64], b: &[f64]) -> f64 {
        let (mut r, mut s) = (b.to_vec(), b.iter().map(|b| b.abs()).collect::<Vec<_>>());
        for ((i, j), v) in pattern.positions().zip(values) {
            r[i] -= v * x[j];
            s[i] += (v * x[j]).abs();
        }
        r.iter().zip(&s).map(|(r, s)| if *s == 0.0 { 0.0 } else { r.abs() / s }).fold(0.0, f64::max)
    }

    #[test]
    fn random_matrices_are_solved_and_solved_again_with_other_values() {
        let mut random = Random(7);
        let mut pivoted = 0;
        for case in 0..300 {
            let n = 2 + random.below(40);
            // The permutation makes the matrix regular; the diagonal may be absent (algebraic rows).
            let mut permutation: Vec<usize> = (0..n).collect();
            for i in (1..n).rev() {
                permutation.swap(i, random.below(i + 1));
            }
            let extra: Vec<_> = (0..3 * n).map(|_| (random.below(n), random.below(n))).collect();
            let pattern = Pattern::from_positions(n, n, permutation.iter().copied().enumerate().chain(extra));
            let mut lu = sparse(&pattern);
            for round in 0..4 {
                let values: Vec<f64> = (0..pattern.entries()).map(|_| random.next() - 0.5).collect();
                let b: Vec<f64> = (0..n).map(|_| random.next() - 0.5).collect();
                let mut full = Dense::new(&pattern);
                if full.factor(&Assembled::with(&pattern, values.clone())).is_err() || full.health().pivot_ratio < 1e-10
                {
                    continue;
                }
                lu.factor(&Assembled::with(&pattern, values.clone()))
                    .unwrap_or_else(|c| panic!("case {case} round {round}: column {c}"));
                pivoted += u32::from((0..n).any(|k| lu.pivot_row[k] != lu.order[k]));
                let mut x = b.clone();
                lu.solve(&mut x);
                let error = backward_error(&pattern, &values, &x, &b);
                assert!(error <= 1e-9, "case {case} round {round}: {error:e}");
            }
        }
        assert!(pivoted > 100, "{pivoted}");
    }

    #[test]
    fn a_singular_matrix_names_a_column() {
        let pattern = Pattern::from_positions(3, 3, [(0, 0), (1, 1), (2, 1), (0, 2)]);
        let column = sparse(&pattern).factor(&Assembled::with(&pattern, vec![1.0; 4])).unwrap_err();
        assert!(column < 3);
        let diagonal = Pattern::from_positions(2, 2, [(0, 0), (1, 1)]);
        let mut zero = sparse(&diagonal);
        let of = |values: [f64; 2]| Assembled::with(&diagonal, values.to_vec());
        assert_eq!(zero.factor(&of([1.0, 0.0])), Err(1));
        assert_eq!(zero.factor(&of([1.0, 2.0])), Ok(()));
        assert_eq!(zero.factor(&of([0.0, 2.0])), Err(0));
        assert_eq!(zero.factor(&of([4.0, 2.0])), Ok(()));
        let mut b = [8.0, 6.0];
        zero.solve(&mut b);
        assert_eq!(b, [2.0, 3.0]);
    }

    #[test]
    fn complex_matrices_are_solved_sparse_and_dense() {
        let mut random = Random(3);
        for n in [1, 5, 60] {
            let extra: Vec<_> = (0..2 * n).map(|_| (random.below(n), random.below(n))).collect();
            let pattern = Pattern::from_positions(n, n, (0..n).map(|i| (i, (i + 1) % n)).chain(extra));
            let mut draw = || Complex::new(random.next() - 0.5, random.next() - 0.5);
            let values: Vec<Complex> = (0..pattern.entries()).map(|_| draw()).collect();
            let x: Vec<Complex> = (0..n).map(|_| draw()).collect();
            let matrix = Assembled::with(&pattern, values);
            let mut b = vec![Complex::ZERO; n];
            matrix.multiply_add(Complex::ONE, &x, &mut b);
            let factors: [Box<dyn Factor<Complex>>; 2] = [Box::new(sparse(&pattern)), Box::new(Dense::new(&pattern))];
            for mut factor in factors {
                factor.factor(&matrix).unwrap();
                let mut solved = b.clone();
                factor.solve(&mut solved);
                let worst = solved.iter().zip(&x).map(|(a, b)| (*a - *b).magnitude()).fold(0.0, f64::max);
                assert!(worst <= 1e-8, "n = {n}: {worst:e}");
            }
        }
    }

    #[test]
    fn a_grid_fills_little() {
        let side = 40;
        let at = |i: usize, j: usize| i * side + j;
        let mut positions = Vec::new();
        for i in 0..side {
            for j in 0..side {
                positions.push((at(i, j), at(i, j)));
                if i + 1 < side {
                    positions.extend([(at(i, j), at(i + 1, j)), (at(i + 1, j), at(i, j))]);
                }
                if j + 1 < side {
                    positions.extend([(at(i, j), at(i, j + 1)), (at(i, j + 1), at(i, j))]);
                }
            }
        }
        let n = side * side;
        let pattern = Pattern::from_positions(n, n, positions);
        let ordering = minimum_degree(&pattern, u64::MAX).unwrap();
        // Banded elimination would fill 2 * side * n; a good order about 8 n log2(n).
        assert!(ordering.fill < 8 * n as u64 * 11, "{}", ordering.fill);
        let mut seen = vec![false; n];
        ordering.order.iter().for_each(|j| seen[*j as usize] = true);
        assert!(seen.iter().all(|s| *s));
        let values: Vec<f64> = pattern.positions().map(|(i, j)| if i == j { 4.5 } else { -1.0 }).collect();
        let fill = ordering.fill;
        let mut lu = Sparse::new(&pattern, ordering, u64::MAX);
        lu.factor(&Assembled::with(&pattern, values.clone())).unwrap();
        assert_eq!((lu.lower.rows.len() + lu.upper.rows.len() + n) as u64, fill);
        let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut x = b.clone();
        lu.solve(&mut x);
        assert!(backward_error(&pattern, &values, &x, &b) < 1e-14);
        assert!(minimum_degree(&pattern, fill - 1).is_none());
    }
}
