//! Iteration on matrices whose graph has no triangles (grids with a few neighbours): there incomplete factors without fill change the
//! diagonal alone, P = (L + E) E^-1 (E + U) with W = L + D + U, and a product with the preconditioned matrix costs two triangular solves and
//! no product with W (Eisenstat, SIAM J. Sci. Stat. Comput. 2 (1981)).
//!
//! With l = E^-1 L, u = E^-1 U: `(I + l)^-1 E^-1 W (I + u)^-1 v = z + (I + l)^-1 (v + (E^-1 D - 2) z)`, `z = (I + u)^-1 v`.

use std::sync::Arc;

use crate::linear::band::inverse;
use crate::linear::choice::{Kind, LinearReport};
use crate::linear::krylov::{Goal, Preconditioned, Work, bicgstab};
use crate::linear::triangle::{Above, Rows, Shape, Sum, Triangle, by_levels};
use crate::linear::{Assembled, Factor, Health};
use crate::pattern::Pattern;

/// The matrix, scaled by rows to E^-1 W.
struct Scaled {
    lower: Triangle,
    upper: Triangle,
    /// E^-1 D - 2.
    diagonal: Vec<f64>,
    /// E^-1.
    reciprocal: Vec<f64>,
}

/// What follows from the pattern.
pub(super) struct Structure {
    order: Vec<u32>,
    /// Entry of the matrix on the diagonal of each row.
    pivots: Vec<u32>,
    /// For each place of the lower triangle, the entry opposite; `NONE` where there is none.
    opposite: Vec<u32>,
    lower: Arc<Shape>,
    upper: Arc<Shape>,
    report: LinearReport,
}

/// Matrix and iteration.
pub(super) struct Split {
    structure: Arc<Structure>,
    /// Sums of the rows of the upper triangle.
    sums: Vec<f64>,
    scaled: Scaled,
    work: Work,
    /// The factors are, once they have been looked at.
    stable: Option<bool>,
    iterations: u64,
}

const NONE: u32 = u32::MAX;
/// An order with fewer levels than the other one divided by this makes worse incomplete factors (red and black cells have two).
const LEVELS: usize = 2;

/// True where no three unknowns are all coupled with one another (`graph` is the symmetric pattern without diagonal) and every
/// diagonal entry is there.
pub(super) fn suits(pattern: &Pattern, graph: &Pattern) -> bool {
    let n = pattern.cols();
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

impl Structure {
    /// For matrices on a pattern that [`suits`], with an order that brings their entries near the diagonal, and the half bandwidth in
    /// it. The order in which the unknowns come serves as well where it makes as many levels, as on grids numbered line by line.
    pub fn new(pattern: &Pattern, graph: &Pattern, (narrow, bandwidth): (Vec<u32>, usize)) -> Self {
        let n = pattern.cols();
        let given: Vec<u32> = (0..n as u32).collect();
        let (by_number, levels) = by_levels(graph, &given);
        let (by_nearness, needed) = by_levels(graph, &narrow);
        let (order, ordering) = if LEVELS * levels >= needed {
            (by_number, "levels of the given order")
        } else {
            (by_nearness, "levels of reverse Cuthill-McKee")
        };
        let position = inverse(&order);
        let rows = Rows::new(pattern, &position);
        let lower = Shape::new(true, &rows, &order);
        let upper = Shape::new(false, &rows, &order);
        let entry = |i: u32, j: u32| pattern.find(i as usize, j as usize).map_or(NONE, |e| e as u32);
        let mut opposite = vec![NONE; lower.entries()];
        for (place, k, c) in lower.places() {
            opposite[place] = entry(order[c], order[k]);
        }
        Structure {
            pivots: order.iter().map(|i| entry(*i, *i)).collect(),
            opposite,
            lower: Arc::new(lower),
            upper: Arc::new(upper),
            report: LinearReport { ordering, bandwidth, ..LinearReport::new(Kind::Krylov, pattern) },
            order,
        }
    }
}

impl Split {
    /// For matrices of this structure.
    pub fn new(structure: Arc<Structure>) -> Self {
        let n = structure.order.len();
        Split {
            sums: vec![0.0; n],
            scaled: Scaled {
                lower: Triangle::new(Arc::clone(&structure.lower)),
                upper: Triangle::new(Arc::clone(&structure.upper)),
                diagonal: vec![0.0; n],
                reciprocal: vec![0.0; n],
            },
            work: Work::new(n),
            stable: None,
            iterations: 0,
            structure,
        }
    }

    fn iterate(&mut self, b: &mut [f64], tolerance: f64) -> bool {
        let order = &self.structure.order;
        let Work { r, x, .. } = &mut self.work;
        for ((x, i), scale) in x.iter_mut().zip(order).zip(&self.scaled.reciprocal) {
            *x = b[*i as usize] * scale;
        }
        self.scaled.lower.solve(r, &x[..]);
        let (iterations, met) = bicgstab(&mut self.work, tolerance, &mut self.scaled);
        self.iterations += iterations;
        for (j, x) in order.iter().zip(&self.work.x) {
            b[*j as usize] = *x;
        }
        met
    }
}

impl Preconditioned for Scaled {
    const REST: f64 = 1.0;

    fn inner(&mut self, v: &[f64], z: &mut [f64]) {
        self.upper.solve(z, v);
    }

    fn outer(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        // z is added afterwards, since later rows need the forward solution without.
        self.lower.solve(out, Sum { v, d: &self.diagonal, z });
    }
}

impl Factor for Split {
    fn factor(&mut self, matrix: &Assembled) -> Result<(), usize> {
        let entries = matrix.values();
        let Structure { order, pivots, opposite, .. } = &*self.structure;
        let Scaled { lower, upper, diagonal, reciprocal } = &mut self.scaled;
        for (own, pivot) in diagonal.iter_mut().zip(pivots) {
            *own = entries[*pivot as usize];
        }
        upper.load(entries, &mut self.sums);
        let above = Above { diagonal, opposite, sums: &self.sums };
        lower.eliminate(entries, &above, reciprocal).map_err(|i| order[i] as usize)?;
        upper.scale(reciprocal);
        for (own, factor) in diagonal.iter_mut().zip(&*reciprocal) {
            *own = *own * factor - 2.0;
        }
        self.stable = None;
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) {
        self.work.weigh_equally();
        self.iterate(b, 0.0);
    }

    fn solve_within(&mut self, b: &mut [f64], goal: Goal<'_>) -> bool {
        self.work.weigh(&self.structure.order, goal.weights);
        let stable = *self.stable.get_or_insert_with(|| {
            self.work.one_each();
            let Work { r, x, .. } = &mut self.work;
            self.scaled.lower.solve(r, &x[..]);
            self.scaled.upper.solve(x, &r[..]);
            self.work.stable()
        });
        stable && self.iterate(b, goal.tolerance)
    }

    fn health(&self) -> Health {
        Health { pivot_ratio: 1.0 }
    }

    fn report(&self) -> LinearReport {
        LinearReport { iterations: self.iterations, ..self.structure.report.clone() }
    }

    fn iterates(&self) -> bool {
        true
    }
}
