//! Iteration on matrices whose graph has no triangles (grids with a few neighbours). For these, ILU(0) changes only
//! the diagonal, P = (L + E) E^-1 (E + U) with W = L + D + U, and a product with the preconditioned matrix costs two
//! triangular solves and no product with W (Eisenstat, SIAM J. Sci. Stat. Comput. 2 (1981)).
//!
//! With l = E^-1 L, u = E^-1 U: `(I + l)^-1 E^-1 W (I + u)^-1 v = z + (I + l)^-1 (v + (E^-1 D - 2) z)`, `z = (I +
//! u)^-1 v`.

use std::sync::Arc;

use crate::linear::band::inverse;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::krylov::{End, Outcome, Preconditioned, Real, RequiredAccuracy, TIGHT, Work, bicgstab};
use crate::linear::levels::{Above, LevelTriangle, Rows, Shape, Units, by_levels};
use crate::linear::right_side::Sum;
use crate::linear::{Assembled, Iterate};
use crate::pattern::Pattern;

/// The matrix E^-1 W, in units and scaled by rows, with entries of one number type.
struct Scaled<T> {
    lower: LevelTriangle<T>,
    upper: LevelTriangle<T>,
    /// E^-1 D - 2.
    diagonal: Vec<T>,
}

/// A scaled matrix with the working memory of the iteration.
struct Iteration<T> {
    scaled: Scaled<T>,
    work: Work<T>,
    /// True if the factors are stable; `None` before the check.
    stable: Option<bool>,
}

/// The data that depend only on the pattern.
pub(super) struct Structure {
    order: Vec<u32>,
    /// Entry of the matrix on the diagonal, for each row.
    pivots: Vec<u32>,
    /// For each position of the lower triangle, the entry across the diagonal; `NONE` if it is zero.
    opposite: Vec<u32>,
    lower: Arc<Shape>,
    upper: Arc<Shape>,
    report: LinearReport,
}

/// Matrix and iteration. Corrections need few digits, so they are computed in single precision, in the units of the
/// error control: this halves the memory and doubles the SIMD lanes. If single precision is not sufficient, double
/// precision takes over.
pub(super) struct Eisenstat {
    structure: Arc<Structure>,
    plain: DoubleParts,
    numbers: Numbers,
    /// True if the units come from weights.
    measured: bool,
    /// True if the next single-precision solution must be checked against the right-hand side.
    doubted: bool,
    iterations: u64,
}

/// The part that is always stored in double precision.
struct DoubleParts {
    /// Sums of the rows of the upper triangle; after the factorisation, memory for a right-hand side.
    sums: Vec<f64>,
    /// The diagonal of the matrix; after the factorisation, memory for a residual.
    diagonal: Vec<f64>,
    /// E^-1, in units.
    reciprocal: Vec<f64>,
    units: Units,
}

enum Numbers {
    Single(Box<Iteration<f32>>),
    Double(Box<Iteration<f64>>),
}

/// The units are computed again if weights differ from them by more than this factor.
const DRIFT: f64 = 1e6;
/// Units are at most this, and at least its reciprocal.
const LARGEST_UNIT: f64 = 1e150;
/// Number of refinements of a single-precision solution.
const REFINEMENTS: u32 = 8;

const NONE: u32 = u32::MAX;
/// Of two orders, the one with fewer levels gives worse incomplete factors if it has less than 1/`LEVELS` of the
/// levels (a red-black order has two).
const LEVELS: usize = 2;

/// True if no three unknowns are mutually coupled (`graph` is the symmetric pattern without diagonal) and every
/// diagonal entry exists.
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
    /// Prepares for matrices on a pattern that [`suits`]; takes a bandwidth-reducing order and the half bandwidth in
    /// it. The original order is used if it has as many levels, as on grids numbered line by line.
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
            report: LinearReport { ordering, bandwidth, ..LinearReport::new(SolverKind::Krylov, pattern) },
            order,
        }
    }
}

impl<T: Real> Iteration<T> {
    fn new(structure: &Structure) -> Box<Self> {
        let n = structure.order.len();
        Box::new(Iteration {
            scaled: Scaled {
                lower: LevelTriangle::new(Arc::clone(&structure.lower)),
                upper: LevelTriangle::new(Arc::clone(&structure.upper)),
                diagonal: vec![T::ZERO; n],
            },
            work: Work::new(n),
            stable: None,
        })
    }

    /// Computes the factors of a matrix. The error is a row without a pivot.
    fn factor(&mut self, structure: &Structure, plain: &mut DoubleParts, matrix: &Assembled) -> Result<(), usize> {
        let entries = matrix.values();
        let Structure { order, pivots, opposite, .. } = structure;
        let Scaled { lower, upper, diagonal } = &mut self.scaled;
        let DoubleParts { sums, diagonal: own, reciprocal, units } = plain;
        for (own, pivot) in own.iter_mut().zip(pivots) {
            *own = entries[*pivot as usize];
        }
        upper.load(entries, units, sums);
        let above = Above { diagonal: own, opposite, sums };
        lower.eliminate(entries, &above, units, reciprocal).map_err(|i| order[i] as usize)?;
        upper.scale(reciprocal);
        for (((d, own), factor), by) in diagonal.iter_mut().zip(own).zip(reciprocal).zip(&units.by) {
            *d = T::of(*own * *factor - 2.0);
            *factor *= by;
        }
        self.stable = None;
        Ok(())
    }

    /// Stores weights, which are in the original order; false if some differ too much from the units.
    fn weigh(&mut self, order: &[u32], units: &Units, weights: &[f64]) -> bool {
        let mut near = true;
        for ((metric, of), j) in self.work.metric.iter_mut().zip(&units.of).zip(order) {
            let weight = weights[*j as usize] * of;
            near &= weight <= DRIFT && weight * DRIFT >= 1.0;
            *metric = T::of(weight * weight);
        }
        near
    }

    /// Solves for a right-hand side to the tolerance; [`Iteration::leave`] returns the solution.
    fn solve(&mut self, structure: &Structure, plain: &DoubleParts, b: &[f64], tolerance: f64) -> Outcome {
        let Work { r, x, .. } = &mut self.work;
        for ((x, i), factor) in x.iter_mut().zip(&structure.order).zip(&plain.reciprocal) {
            *x = T::of(b[*i as usize] * factor);
        }
        self.scaled.lower.solve(r, &x[..]);
        bicgstab(&mut self.work, tolerance, &mut self.scaled)
    }

    /// Writes the solution to `b`.
    fn leave(&self, structure: &Structure, plain: &DoubleParts, b: &mut [f64]) {
        for ((j, x), of) in structure.order.iter().zip(&self.work.x).zip(&plain.units.of) {
            b[*j as usize] = x.wide() * of;
        }
    }

    /// Adds the solution to `b`.
    fn add(&self, structure: &Structure, plain: &DoubleParts, b: &mut [f64]) {
        for ((j, x), of) in structure.order.iter().zip(&self.work.x).zip(&plain.units.of) {
            b[*j as usize] += x.wide() * of;
        }
    }

    fn is_stable(&mut self) -> bool {
        let Iteration { scaled, work, stable } = self;
        *stable.get_or_insert_with(|| {
            work.one_each();
            let Work { r, x, .. } = &mut *work;
            scaled.lower.solve(r, &x[..]);
            scaled.upper.solve(x, &r[..]);
            work.stable()
        })
    }
}

impl Eisenstat {
    /// Prepares for matrices of this structure.
    pub fn new(structure: Arc<Structure>) -> Self {
        let n = structure.order.len();
        Eisenstat {
            plain: DoubleParts {
                sums: vec![0.0; n],
                diagonal: vec![0.0; n],
                reciprocal: vec![0.0; n],
                units: Units { by: vec![1.0; n], of: vec![1.0; n] },
            },
            numbers: Numbers::Single(Iteration::new(&structure)),
            measured: false,
            doubted: true,
            iterations: 0,
            structure,
        }
    }

    /// Solves in single precision, to the tolerance of the goal, or to [`TIGHT`] without one. False if single
    /// precision is not sufficient; `b` is then unchanged.
    fn by_short(&mut self, matrix: &Assembled, b: &mut [f64], goal: Option<RequiredAccuracy<'_>>) -> bool {
        let Eisenstat { structure, plain, numbers: Numbers::Single(short), measured, .. } = self else { return false };
        match goal {
            None => short.work.weigh_equally(),
            Some(goal) if *measured && short.weigh(&structure.order, &plain.units, goal.weights) => {}
            Some(goal) => {
                *measured = true;
                let Units { by, of } = &mut plain.units;
                for ((by, of), j) in by.iter_mut().zip(of).zip(&structure.order) {
                    *by = goal.weights[*j as usize].clamp(1.0 / LARGEST_UNIT, LARGEST_UNIT);
                    *of = 1.0 / *by;
                }
                let near = short.weigh(&structure.order, &plain.units, goal.weights);
                if !near || short.factor(structure, plain, matrix).is_err() {
                    return false;
                }
            }
        }
        if goal.is_some() && !short.is_stable() {
            return false;
        }
        let mut tolerance = goal.map_or(0.0, |goal| goal.tolerance);
        let first = short.solve(structure, plain, b, tolerance);
        self.iterations += first.iterations;
        if first.end == End::Met && goal.is_some() && !self.doubted {
            short.leave(structure, plain, b);
            return true;
        }
        if goal.is_none() {
            tolerance = TIGHT * first.start;
        }
        let (mut right, mut residual) = (std::mem::take(&mut plain.sums), std::mem::take(&mut plain.diagonal));
        right.copy_from_slice(b);
        let mut met = false;
        let mut end = first.end;
        short.leave(structure, plain, b);
        for refinement in 0..REFINEMENTS {
            if end == End::Failed {
                break;
            }
            residual.copy_from_slice(&right);
            matrix.multiply_add(-1.0, b, &mut residual);
            let next = short.solve(structure, plain, &residual, tolerance);
            self.iterations += next.iterations;
            end = next.end;
            if end != End::Failed {
                short.add(structure, plain, b);
            }
            if end == End::Met && next.iterations == 0 {
                self.doubted = refinement > 0;
                met = true;
                break;
            }
        }
        if !met {
            b.copy_from_slice(&right);
        }
        (plain.sums, plain.diagonal) = (right, residual);
        met
    }

    /// Solves in double precision.
    fn by_long(&mut self, b: &mut [f64], goal: Option<RequiredAccuracy<'_>>) -> bool {
        let Eisenstat { structure, plain, numbers: Numbers::Double(long), .. } = self else { return false };
        match goal {
            None => long.work.weigh_equally(),
            Some(goal) => {
                long.weigh(&structure.order, &plain.units, goal.weights);
                if !long.is_stable() {
                    return false;
                }
            }
        }
        let outcome = long.solve(structure, plain, b, goal.map_or(0.0, |goal| goal.tolerance));
        self.iterations += outcome.iterations;
        long.leave(structure, plain, b);
        outcome.end == End::Met
    }

    fn by_any(&mut self, matrix: &Assembled, b: &mut [f64], goal: Option<RequiredAccuracy<'_>>) -> bool {
        if let Numbers::Double(_) = self.numbers {
            return self.by_long(b, goal);
        }
        if self.by_short(matrix, b, goal) {
            return true;
        }
        let mut long = Iteration::new(&self.structure);
        if long.factor(&self.structure, &mut self.plain, matrix).is_err() {
            return false;
        }
        let short = std::mem::replace(&mut self.numbers, Numbers::Double(long));
        let met = self.by_long(b, goal);
        if !met {
            // Single precision was not the cause: return to it.
            self.numbers = short;
        }
        met
    }
}

impl<T: Real> Preconditioned<T> for Scaled<T> {
    const REST: bool = true;

    fn inner(&mut self, v: &[T], z: &mut [T]) {
        self.upper.solve(z, v);
    }

    fn outer(&mut self, v: &[T], z: &[T], out: &mut [T]) {
        // z is added afterwards, since later rows need the forward solution without z.
        self.lower.solve(out, Sum { v, d: &self.diagonal, z });
    }
}

impl Iterate for Eisenstat {
    fn precondition(&mut self, matrix: &Assembled) -> Result<(), usize> {
        let Eisenstat { structure, plain, numbers, .. } = self;
        match numbers {
            Numbers::Single(short) => short.factor(structure, plain, matrix),
            Numbers::Double(long) => long.factor(structure, plain, matrix),
        }
    }

    fn solve(&mut self, matrix: &Assembled, b: &mut [f64], goal: Option<RequiredAccuracy<'_>>) -> bool {
        self.by_any(matrix, b, goal)
    }

    fn report_inaccuracy(&mut self) {
        self.doubted = true;
    }

    fn renew(&mut self) -> bool {
        let Numbers::Single(_) = self.numbers else { return false };
        let Units { by, of } = &mut self.plain.units;
        by.fill(1.0);
        of.fill(1.0);
        (self.measured, self.doubted, self.iterations) = (false, true, 0);
        true
    }

    fn report(&self) -> LinearReport {
        LinearReport { iterations: self.iterations, ..self.structure.report.clone() }
    }
}
