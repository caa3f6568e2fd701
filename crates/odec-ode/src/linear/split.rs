//! Iteration on matrices whose graph has no triangles (grids with a few neighbours): there ILU(0) changes the diagonal alone,
//! P = (L + E) E^-1 (E + U) with W = L + D + U, and a product with the preconditioned matrix costs two triangular solves and
//! no product with W (Eisenstat, SIAM J. Sci. Stat. Comput. 2 (1981)).
//!
//! With l = E^-1 L, u = E^-1 U: `(I + l)^-1 E^-1 W (I + u)^-1 v = z + (I + l)^-1 (v + (E^-1 D - 2) z)`, `z = (I + u)^-1 v`.

use crate::linear::band::{inverse, reverse_cuthill_mckee, transpose};
use crate::linear::choice::{Kind, LinearReport};
use crate::linear::krylov::{Goal, Preconditioned, Work, bicgstab};
use crate::linear::{Assembled, Factor, Health};
use crate::pattern::Pattern;

/// Rows of a triangle in the order of elimination, without the diagonal.
struct Triangle {
    start: Vec<u32>,
    cols: Vec<u32>,
    /// Entry of the matrix at each place.
    source: Vec<u32>,
    values: Vec<f64>,
}

impl Triangle {
    #[inline(always)]
    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// sum of row i times x.
    #[inline(always)]
    fn times(&self, row: std::ops::Range<usize>, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (j, a) in self.cols[row.clone()].iter().zip(&self.values[row]) {
            sum += a * x[*j as usize];
        }
        sum
    }
}

/// The matrix, scaled by rows to E^-1 W.
struct Scaled {
    lower: Triangle,
    upper: Triangle,
    /// E^-1 D - 2.
    diagonal: Vec<f64>,
    /// E^-1.
    reciprocal: Vec<f64>,
}

/// Matrix and iteration.
pub(super) struct Split {
    order: Vec<u32>,
    /// Entry of the matrix on the diagonal of each row.
    pivots: Vec<u32>,
    /// For each entry of the lower triangle, the entry opposite; `NONE` where there is none.
    opposite: Vec<u32>,
    scaled: Scaled,
    work: Work,
    iterations: u64,
    report: LinearReport,
}

const NONE: u32 = u32::MAX;

/// True where no three unknowns are all coupled with one another and every diagonal entry is there.
pub(super) fn suits(pattern: &Pattern) -> bool {
    let n = pattern.cols();
    let graph = super::band::symmetric(pattern);
    let mut mark = vec![NONE; n];
    for j in 0..n {
        if pattern.find(j, j).is_none() {
            return false;
        }
        let neighbours = &graph.row_idx[graph.column(j)];
        for i in neighbours {
            mark[*i as usize] = j as u32;
        }
        for i in neighbours {
            if graph.row_idx[graph.column(*i as usize)].iter().any(|k| mark[*k as usize] == j as u32) {
                return false;
            }
        }
    }
    true
}

impl Split {
    /// For matrices on a pattern that [`suits`].
    pub fn new(pattern: &Pattern) -> Self {
        let n = pattern.cols();
        let (order, bandwidth) = reverse_cuthill_mckee(pattern);
        let position = inverse(&order);
        let rows = transpose(pattern);
        let entry = |i: u32, j: u32| pattern.find(i as usize, j as usize).map_or(NONE, |e| e as u32);
        let triangle = |below: bool| {
            let mut t = Triangle { start: vec![0], cols: Vec::new(), source: Vec::new(), values: Vec::new() };
            for (k, i) in order.iter().enumerate() {
                let from = t.cols.len();
                let cols = rows.row_idx[rows.column(*i as usize)].iter().map(|j| position[*j as usize]);
                t.cols.extend(cols.filter(|j| if below { (*j as usize) < k } else { *j as usize > k }));
                t.cols[from..].sort_unstable();
                t.source.extend(t.cols[from..].iter().map(|j| entry(*i, order[*j as usize])));
                t.start.push(t.cols.len() as u32);
            }
            t.values = vec![0.0; t.cols.len()];
            t
        };
        let lower = triangle(true);
        let mut opposite = Vec::with_capacity(lower.cols.len());
        for (k, i) in order.iter().enumerate() {
            opposite.extend(lower.cols[lower.row(k)].iter().map(|j| entry(order[*j as usize], *i)));
        }
        let report =
            LinearReport { ordering: "reverse Cuthill-McKee", bandwidth, ..LinearReport::new(Kind::Krylov, pattern) };
        Split {
            pivots: order.iter().map(|i| entry(*i, *i)).collect(),
            opposite,
            scaled: Scaled { lower, upper: triangle(false), diagonal: vec![0.0; n], reciprocal: vec![0.0; n] },
            work: Work::new(n),
            iterations: 0,
            report,
            order,
        }
    }

    fn iterate(&mut self, b: &mut [f64], tolerance: f64) -> bool {
        let r = &mut self.work.r;
        for i in 0..r.len() {
            let sum = b[self.order[i] as usize] * self.scaled.reciprocal[i];
            r[i] = sum - self.scaled.lower.times(self.scaled.lower.row(i), r);
        }
        let (iterations, met) = bicgstab(&mut self.work, tolerance, &mut self.scaled);
        self.iterations += iterations;
        for (j, x) in self.order.iter().zip(&self.work.x) {
            b[*j as usize] = *x;
        }
        met
    }
}

impl Preconditioned for Scaled {
    fn inner(&mut self, v: &[f64], z: &mut [f64]) {
        let n = self.diagonal.len();
        let (v, z) = (&v[..n], &mut z[..n]);
        let mut end = self.upper.cols.len();
        for i in (0..n).rev() {
            let first = self.upper.start[i] as usize;
            z[i] = v[i] - self.upper.times(first..end, z);
            end = first;
        }
    }

    fn outer(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        let n = self.diagonal.len();
        let (v, z, out) = (&v[..n], &z[..n], &mut out[..n]);
        let ends = &self.lower.start[1..];
        let mut first = 0;
        for i in 0..n {
            // `out` holds the forward solution until it is complete: z is added afterwards, since later rows need it without.
            let end = ends[i] as usize;
            out[i] = v[i] + self.diagonal[i] * z[i] - self.lower.times(first..end, out);
            first = end;
        }
        for (out, z) in out.iter_mut().zip(z) {
            *out += z;
        }
    }
}

impl Factor for Split {
    fn factor(&mut self, matrix: &Assembled) -> Result<(), usize> {
        let entries = matrix.values();
        let Scaled { lower, upper, diagonal, reciprocal } = &mut self.scaled;
        for i in 0..self.order.len() {
            let own = entries[self.pivots[i] as usize];
            let mut pivot = own;
            for k in lower.start[i] as usize..lower.start[i + 1] as usize {
                if self.opposite[k] != NONE {
                    let across = entries[lower.source[k] as usize] * entries[self.opposite[k] as usize];
                    pivot -= across * reciprocal[lower.cols[k] as usize];
                }
            }
            // Where dropped fill leaves no pivot, the entry itself is better than none.
            if !(pivot.abs() >= f64::EPSILON * own.abs()) || pivot == 0.0 {
                pivot = own;
            }
            if pivot == 0.0 || !pivot.is_finite() {
                return Err(self.order[i] as usize);
            }
            let scale = 1.0 / pivot;
            reciprocal[i] = scale;
            diagonal[i] = own * scale - 2.0;
            for triangle in [&mut *lower, &mut *upper] {
                for k in triangle.row(i) {
                    triangle.values[k] = entries[triangle.source[k] as usize] * scale;
                }
            }
        }
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) {
        self.work.metric.fill(1.0);
        self.iterate(b, 0.0);
    }

    fn solve_within(&mut self, b: &mut [f64], goal: Goal<'_>) -> bool {
        self.work.weigh(&self.order, goal.weights);
        self.iterate(b, goal.tolerance)
    }

    fn health(&self) -> Health {
        Health { pivot_ratio: 1.0 }
    }

    fn report(&self) -> LinearReport {
        LinearReport { iterations: self.iterations, ..self.report.clone() }
    }

    fn iterates(&self) -> bool {
        true
    }
}
