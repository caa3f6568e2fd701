//! Iteration on an assembled matrix with its incomplete factors without fill, ILU(0) (Meijerink & van der Vorst 1977;
//! Saad, *Iterative Methods for Sparse Linear Systems*, section 10.3), in reverse Cuthill-McKee order: the fields of
//! a cell are adjacent, and so are rows that do not depend on each other.

use crate::linear::band::inverse;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::krylov::{End, Preconditioned, RequiredAccuracy, Work, bicgstab};
use crate::linear::{Assembled, Iterate};
use crate::pattern::Pattern;

/// A matrix by rows in the order of elimination, with its incomplete factors at the same positions.
pub(super) struct Incomplete {
    order: Vec<u32>,
    /// Rows: entries `start[i]..start[i + 1]`, columns ascending.
    start: Vec<u32>,
    cols: Vec<u32>,
    /// Position of the diagonal in each row.
    diagonal: Vec<u32>,
    /// Entry of the matrix at each position; `NONE` for a diagonal that the pattern lacks (zero).
    source: Vec<u32>,
    values: Vec<f64>,
    /// L without its unit diagonal, and U.
    factors: Vec<f64>,
    /// 1/u_ii.
    reciprocal: Vec<f64>,
    /// Position of each column in the current row; `NONE` for other columns.
    place: Vec<u32>,
    work: Work,
    /// True if the factors are stable; `None` before the check.
    stable: Option<bool>,
    iterations: u64,
    report: LinearReport,
}

const NONE: u32 = u32::MAX;

impl Incomplete {
    /// Prepares for matrices on a pattern; takes the order of elimination and the half bandwidth in it.
    pub fn new(pattern: &Pattern, (order, bandwidth): (Vec<u32>, usize)) -> Self {
        let n = pattern.cols();
        let position = inverse(&order);
        // A diagonal entry that the pattern lacks starts as zero.
        let mut lacking: Vec<bool> = vec![true; n];
        let mut start = vec![0u32; n + 1];
        for (i, j) in pattern.positions() {
            start[position[i] as usize + 1] += 1;
            lacking[i] &= i != j;
        }
        for (i, _) in lacking.iter().enumerate().filter(|(_, lacking)| **lacking) {
            start[position[i] as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let total = start[n] as usize;
        let (mut cols, mut source) = (vec![0u32; total], vec![NONE; total]);
        let mut next = start.clone();
        // Columns in the new order, so that they ascend within each row.
        for (k, j) in order.iter().enumerate() {
            let j = *j as usize;
            if lacking[j] {
                cols[next[k] as usize] = k as u32;
                next[k] += 1;
            }
            for entry in pattern.column(j) {
                let row = position[pattern.row_idx[entry] as usize] as usize;
                let at = next[row] as usize;
                (cols[at], source[at]) = (k as u32, entry as u32);
                next[row] += 1;
            }
        }
        let diagonal = (0..n)
            .map(|i| {
                let row = start[i] as usize..start[i + 1] as usize;
                match cols[row].binary_search(&(i as u32)) {
                    Ok(place) => start[i] + place as u32,
                    Err(place) => panic!("row {i} of the incomplete factors has no diagonal at {place}"),
                }
            })
            .collect();
        let report = LinearReport {
            fill: total as u64,
            ordering: "reverse Cuthill-McKee",
            bandwidth,
            ..LinearReport::new(SolverKind::Krylov, pattern)
        };
        Incomplete {
            order,
            start,
            cols,
            diagonal,
            source,
            values: vec![0.0; total],
            factors: vec![0.0; total],
            reciprocal: vec![0.0; n],
            place: vec![NONE; n],
            work: Work::new(n),
            stable: None,
            iterations: 0,
            report,
        }
    }

    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// Applies U^-1 L^-1 to `b`, which is in the original order; without `b`, to the pivots times `work.x`.
    fn precondition(&mut self, b: Option<&[f64]>) {
        let z = &mut self.work.r[..self.order.len()];
        for i in 0..z.len() {
            let (first, diagonal) = (self.start[i] as usize, self.diagonal[i] as usize);
            let mut sum = match b {
                Some(b) => b[self.order[i] as usize],
                None => self.work.x[i] / self.reciprocal[i],
            };
            for (j, l) in self.cols[first..diagonal].iter().zip(&self.factors[first..diagonal]) {
                sum -= l * z[*j as usize];
            }
            z[i] = sum;
        }
        backward(&self.start, &self.diagonal, &self.cols, &self.factors, &self.reciprocal, z);
    }

    fn iterate(&mut self, b: &mut [f64], tolerance: f64) -> bool {
        self.precondition(Some(b));
        let Incomplete { start, cols, diagonal, values, factors, reciprocal, work, .. } = self;
        let outcome = bicgstab(work, tolerance, &mut Factored { start, cols, diagonal, values, factors, reciprocal });
        self.iterations += outcome.iterations;
        for (j, x) in self.order.iter().zip(&self.work.x) {
            b[*j as usize] = *x;
        }
        outcome.end == End::Met
    }
}

/// The matrix with its factors as left preconditioner.
struct Factored<'a> {
    start: &'a [u32],
    cols: &'a [u32],
    diagonal: &'a [u32],
    values: &'a [f64],
    factors: &'a [f64],
    reciprocal: &'a [f64],
}

impl Preconditioned<f64> for Factored<'_> {
    fn inner(&mut self, v: &[f64], z: &mut [f64]) {
        z.copy_from_slice(v);
    }

    fn outer(&mut self, _: &[f64], z: &[f64], out: &mut [f64]) {
        let n = self.reciprocal.len();
        let (z, out) = (&z[..n], &mut out[..n]);
        for i in 0..n {
            // Matrix product and forward solve read the same columns.
            let (first, middle, end) = (self.start[i] as usize, self.diagonal[i] as usize, self.start[i + 1] as usize);
            let row = &self.cols[first..end];
            let mut sum = 0.0;
            for (j, a) in row.iter().zip(&self.values[first..end]) {
                sum += a * z[*j as usize];
            }
            let mut known = 0.0;
            for (j, l) in row.iter().zip(&self.factors[first..middle]) {
                known += l * out[*j as usize];
            }
            out[i] = sum - known;
        }
        backward(self.start, self.diagonal, self.cols, self.factors, self.reciprocal, out);
    }
}

/// z = U^-1 z.
fn backward(start: &[u32], diagonal: &[u32], cols: &[u32], factors: &[f64], reciprocal: &[f64], z: &mut [f64]) {
    for i in (0..z.len()).rev() {
        let (first, end) = (diagonal[i] as usize + 1, start[i + 1] as usize);
        let mut sum = z[i];
        for (j, u) in cols[first..end].iter().zip(&factors[first..end]) {
            sum -= u * z[*j as usize];
        }
        z[i] = sum * reciprocal[i];
    }
}

impl Iterate for Incomplete {
    fn precondition(&mut self, matrix: &Assembled) -> Result<(), usize> {
        let entries = matrix.values();
        for (value, source) in self.values.iter_mut().zip(&self.source) {
            *value = if *source == NONE { 0.0 } else { entries[*source as usize] };
        }
        self.factors.copy_from_slice(&self.values);
        for i in 0..self.order.len() {
            let row = self.row(i);
            for k in row.clone() {
                self.place[self.cols[k] as usize] = k as u32;
            }
            let diagonal = self.diagonal[i] as usize;
            for k in row.start..diagonal {
                let j = self.cols[k] as usize;
                let multiplier = self.factors[k] * self.reciprocal[j];
                self.factors[k] = multiplier;
                for u in self.diagonal[j] as usize + 1..self.start[j + 1] as usize {
                    let at = self.place[self.cols[u] as usize];
                    if at != NONE {
                        self.factors[at as usize] -= multiplier * self.factors[u];
                    }
                }
            }
            for k in row.clone() {
                self.place[self.cols[k] as usize] = NONE;
            }
            // If dropped fill leaves no pivot, use the entry itself, or the size of its row.
            let mut pivot = self.factors[diagonal];
            if !(pivot.abs() >= f64::EPSILON * self.values[diagonal].abs()) || pivot == 0.0 {
                pivot = self.values[diagonal];
            }
            if pivot == 0.0 {
                pivot = self.values[row].iter().map(|v| v.abs()).sum();
            }
            if pivot == 0.0 || !pivot.is_finite() {
                return Err(self.order[i] as usize);
            }
            self.reciprocal[i] = 1.0 / pivot;
        }
        self.stable = None;
        Ok(())
    }

    fn solve(&mut self, _: &Assembled, b: &mut [f64], goal: Option<RequiredAccuracy<'_>>) -> bool {
        let Some(goal) = goal else {
            self.work.weigh_equally();
            self.iterate(b, 0.0);
            return true;
        };
        self.work.weigh(&self.order, goal.weights);
        if self.stable.is_none() {
            self.work.one_each();
            self.precondition(None);
            std::mem::swap(&mut self.work.x, &mut self.work.r);
            self.stable = Some(self.work.stable());
        }
        self.stable == Some(true) && self.iterate(b, goal.tolerance)
    }

    fn report(&self) -> LinearReport {
        LinearReport { iterations: self.iterations, ..self.report.clone() }
    }
}
