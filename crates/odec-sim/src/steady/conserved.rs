//! Linear combinations of the equations that are zero at every state: w^T f = 0, so that w^T M y keeps its value.
//!
//! Candidates come from the left null space of df/dy at several states, by singular values of rows of equal size. That alone would take
//! a slow equation for none at all. So a candidate is written with simple fractions, and has to cancel within the rounding of its
//! terms at other states.

use nalgebra::{DMatrix, DVector};
use odec_ir::KernelRole;
use odec_ir::graph::Node;
use odec_lang::stoichiometry::simplify;

use super::{NoSteady, Search};
use crate::points::uniform;
use crate::spectrum::Pencil;

/// States at which candidates are formed, and others at which they are tried.
const LOOKS: u64 = 4;
const TRIES: u64 = 12;
/// From this one on they are far from the start: a model that switches may do otherwise there.
const FAR: u64 = LOOKS + 5;
/// Of more states than this, candidates are formed at the start and one other state.
const MANY: usize = 100;
/// Singular values below this part of the largest one are zero.
const SINGULAR: f64 = 1e-10;
/// Coefficients that are smaller beside the largest one are zero.
const COEFFICIENT: f64 = 1e-9;
/// Functions that are constant, or have a constant slope, piece by piece.
const SWITCHES: [&str; 16] =
    ["if", "lt", "le", "eq", "ne", "and", "or", "not", "floor", "ceil", "round", "sign", "abs", "min", "max", "mod"];
/// Largest denominator of a coefficient.
const MAX_DENOMINATOR: i64 = 720;
/// How far a coefficient may be from a fraction that it is taken for.
const FRACTION: f64 = 1e-9;
/// Largest whole number of a combination.
const LARGEST: f64 = 1e6;
/// A combination whose coefficients are no simple fractions has to cancel to this part of its terms.
const CANCELS: f64 = 1e-12;
/// Bounds of the rounding error within which a sum is zero.
const SLACK: f64 = 4.0;

/// A linear combination of the states that keeps its value.
#[derive(Clone, Debug)]
pub struct Conserved {
    /// Place and coefficient.
    pub terms: Vec<(usize, f64)>,
    /// Its value at the start.
    pub value: f64,
}

impl Search<'_> {
    /// Finds what is conserved. The start has to have values.
    pub(super) fn find_conserved(&mut self) -> Result<(), NoSteady> {
        let n = self.y0.len();
        let (Some(first), Some(f)) = (Pencil::at(self.executor, self.t, &self.y0), self.f(&self.y0)) else {
            return Err(NoSteady::NoValue);
        };
        let Some(mass) = self.constant_mass() else { return Ok(()) };
        let mut columns: Vec<DVector<f64>> = first.jacobian.column_iter().map(nalgebra::Matrix::into_owned).collect();
        columns.push(f);
        let looks = if n > MANY { 1 } else { LOOKS };
        for look in 0..looks {
            let near = self.beside(look);
            let (Some(pencil), Some(f)) = (Pencil::at(self.executor, self.t, &near), self.f(&near)) else { continue };
            columns.extend(pencil.jacobian.column_iter().map(nalgebra::Matrix::into_owned));
            columns.push(f);
        }
        self.without_growth(&columns, &mass)?;
        let candidates = left_null_space(&DMatrix::from_columns(&columns));
        let kept: Vec<DVector<f64>> = candidates.into_iter().filter(|w| self.cancels(w)).collect();
        for w in simplest(kept) {
            let weights = (w.transpose() * &mass).transpose();
            let largest = weights.amax();
            if largest == 0.0 {
                // a combination of equations that hold no derivative
                continue;
            }
            let rows = self.null.nrows();
            for (matrix, row) in [(&mut self.null, &w), (&mut self.weights, &weights)] {
                let mut larger = std::mem::replace(matrix, DMatrix::zeros(0, n)).insert_row(rows, 0.0);
                larger.row_mut(rows).copy_from(&row.transpose());
                *matrix = larger;
            }
            let terms = weights.iter().enumerate().filter(|(_, c)| c.abs() > COEFFICIENT * largest);
            let terms: Vec<(usize, f64)> = terms.map(|(k, c)| (k, *c)).collect();
            let value = terms.iter().map(|(k, c)| c * self.y0[*k]).sum();
            self.conserved.push(Conserved { terms, value });
        }
        self.totals = &self.weights * DVector::from_column_slice(&self.y0);
        Ok(())
    }

    /// Refuses equations of which a combination has the same rate at every state, and not zero: then no state is steady, however small
    /// that rate is beside the rounding of f at some of them. `columns` are n of df/dy and one of f for each state.
    fn without_growth(&self, columns: &[DVector<f64>], mass: &DMatrix<f64>) -> Result<(), NoSteady> {
        if self.switches() {
            return Ok(());
        }
        let n = self.y0.len();
        let slopes: Vec<DVector<f64>> =
            columns.iter().enumerate().filter(|(k, _)| k % (n + 1) < n).map(|(_, c)| c.clone()).collect();
        for w in left_null_space(&DMatrix::from_columns(&slopes)) {
            let rates: Vec<(f64, f64)> =
                (LOOKS..LOOKS + TRIES).filter_map(|look| self.along(&w, &self.beside(look))).collect();
            let Some(&(rate, _)) = rates.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            let alike = rates.iter().all(|(own, error)| (own - rate).abs() <= 2.0 * error);
            if alike && rates.iter().any(|(rate, error)| rate.abs() > *error) {
                let weights = (w.transpose() * mass).transpose();
                let largest = weights.amax();
                let terms = weights.iter().enumerate().filter(|(_, c)| c.abs() > COEFFICIENT * largest);
                return Err(NoSteady::Grows(terms.map(|(k, c)| (k, *c)).collect(), rate));
            }
        }
        Ok(())
    }

    /// Whether f is given piece by piece: then what holds at some states may not hold at others.
    fn switches(&self) -> bool {
        let switches = |(_, node)| matches!(node, Node::Call(op, _) if SWITCHES.contains(&op.0.name));
        self.executor.program().kernels_of(KernelRole::Rhs).any(|kernel| kernel.live().any(switches))
    }

    /// w^T f at a state, with what rounding may make of zero; `None` where f has no value.
    fn along(&self, w: &DVector<f64>, y: &[f64]) -> Option<(f64, f64)> {
        let f = self.rounded.at(self.t, y);
        if f.iter().any(|f| !f.is_finite()) {
            return None;
        }
        let exact = w.iter().all(|c| c.fract() == 0.0);
        let (mut sum, mut error, mut size) = (0.0, 0.0, 0.0);
        for (c, f) in w.iter().zip(&f).filter(|(c, _)| **c != 0.0) {
            sum += c * f.value;
            error += c.abs() * (f.error + f64::EPSILON * f.value.abs());
            size += (c * f.value).abs();
        }
        Some((sum, if exact { SLACK * error } else { SLACK * error + CANCELS * size }))
    }

    /// A state about the start, or far from it, in which no component is zero.
    fn beside(&self, look: u64) -> Vec<f64> {
        let largest = self.y0.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let n = self.y0.len() as u64;
        let draw = |i: usize| uniform(7, look * n + i as u64);
        let value = |(i, y): (usize, &f64)| {
            let own = if *y == 0.0 { 0.3 * largest } else { *y };
            let factor = if look < FAR { 0.5 + draw(i) } else { 10f64.powf(5.0 * draw(i) - 2.0) };
            let sign = if look >= FAR && look.is_multiple_of(3) { -1.0 } else { 1.0 };
            let (low, high) = self.bounds[i];
            (sign * own * factor).clamp(low, high)
        };
        self.y0.iter().enumerate().map(value).collect()
    }

    /// Whether w^T f is zero within rounding wherever it is tried.
    fn cancels(&self, w: &DVector<f64>) -> bool {
        let tried: Vec<(f64, f64)> =
            (LOOKS..LOOKS + TRIES).filter_map(|look| self.along(w, &self.beside(look))).collect();
        !tried.is_empty() && tried.iter().all(|(sum, error)| sum.abs() <= *error)
    }

    /// The nearest state with the totals of the start, relative to the sizes of the components.
    pub(super) fn on_totals(&self, y: Vec<f64>) -> Vec<f64> {
        if self.weights.nrows() == 0 {
            return y;
        }
        let sizes: Vec<f64> = y.iter().enumerate().map(|(k, y)| y.abs() + self.atol(k) + f64::MIN_POSITIVE).collect();
        let mut scaled = self.weights.clone();
        for (mut column, size) in scaled.column_iter_mut().zip(&sizes) {
            column *= *size;
        }
        let y = DVector::from_vec(y);
        let off = &self.totals - &self.weights * &y;
        let Ok(moved) = scaled.svd(true, true).solve(&off, SINGULAR) else { return self.y0.clone() };
        y.iter().zip(moved.iter().zip(&sizes)).map(|(y, (m, s))| y + m * s).collect()
    }
}

/// The vectors w with w^T A = 0 to rounding: in whole numbers where their coefficients are simple fractions.
fn left_null_space(a: &DMatrix<f64>) -> Vec<DVector<f64>> {
    let n = a.nrows();
    let mut a = a.clone();
    let mut rows = vec![1.0; n];
    for _ in 0..3 {
        for (mut row, scale) in a.row_iter_mut().zip(&mut rows) {
            let size = row.amax();
            if size > 0.0 {
                row /= size;
                *scale *= size;
            }
        }
        for mut column in a.column_iter_mut() {
            let size = column.amax();
            if size > 0.0 {
                column /= size;
            }
        }
    }
    // A has more columns than rows, so that all left vectors are formed
    let svd = a.svd(true, false);
    let Some(u) = svd.u else { return Vec::new() };
    let largest = svd.singular_values.max();
    let least = (SINGULAR * largest).max(f64::MIN_POSITIVE);
    let zero: Vec<usize> = (0..svd.singular_values.len()).filter(|k| svd.singular_values[*k] <= least).collect();
    let mut basis = DMatrix::from_fn(zero.len(), n, |i, j| u[(j, zero[i])] / rows[j]);
    reduce(&mut basis);
    in_whole_numbers(&basis)
}

/// Gauss-Jordan elimination of the rows, with coefficients that are 0 but for rounding set to 0.
fn reduce(rows: &mut DMatrix<f64>) {
    for mut row in rows.row_iter_mut() {
        let size = row.amax();
        if size > 0.0 {
            row /= size;
        }
    }
    let mut done = 0;
    for column in 0..rows.ncols() {
        let Some(pivot) =
            (done..rows.nrows()).max_by(|a, b| rows[(*a, column)].abs().total_cmp(&rows[(*b, column)].abs()))
        else {
            break;
        };
        if rows[(pivot, column)].abs() <= 1e-6 {
            continue;
        }
        rows.swap_rows(done, pivot);
        let by = rows[(done, column)];
        rows.row_mut(done).unscale_mut(by);
        let base = rows.row(done).into_owned();
        for other in (0..rows.nrows()).filter(|other| *other != done) {
            let factor = rows[(other, column)];
            rows.row_mut(other).iter_mut().zip(base.iter()).for_each(|(x, b)| *x -= factor * b);
        }
        done += 1;
    }
    for mut row in rows.row_iter_mut() {
        let size = row.amax();
        row.iter_mut().filter(|x| x.abs() <= COEFFICIENT * size).for_each(|x| *x = 0.0);
    }
}

/// The rows with whole numbers; those that have none stay as they are.
fn in_whole_numbers(rows: &DMatrix<f64>) -> Vec<DVector<f64>> {
    let whole = |row: &DVector<f64>| {
        let fits = |d: &i64| row.iter().all(|x| is_whole(x * *d as f64));
        let denominator = (1..=MAX_DENOMINATOR).find(fits)? as f64;
        (row.amax() * denominator < LARGEST).then(|| row.map(|x| (x * denominator).round()))
    };
    let rows = rows.row_iter().map(|row| row.transpose());
    rows.map(|row| whole(&row).unwrap_or(row)).collect()
}

fn is_whole(x: f64) -> bool {
    (x - x.round()).abs() <= FRACTION * (1.0 + x.abs())
}

/// Rows of whole numbers as simple as they can be made, then the others.
fn simplest(rows: Vec<DVector<f64>>) -> Vec<DVector<f64>> {
    let (whole, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.iter().all(|x| x.fract() == 0.0));
    let mut basis: Vec<Vec<i128>> = whole.iter().map(|row| row.iter().map(|x| *x as i128).collect()).collect();
    simplify(&mut basis);
    let floats = |row: &Vec<i128>| DVector::from_iterator(row.len(), row.iter().map(|x| *x as f64));
    basis.iter().map(floats).chain(others).collect()
}
