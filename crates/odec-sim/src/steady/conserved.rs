//! Linear combinations of the equations that vanish at every state: w^T f = 0, so w^T M y is constant.
//!
//! They are computed without rounding, modulo a prime: the vectors w that make w^T f zero at random states. So a loss
//! of 1e-16 of the fastest rate still counts as a loss. Coefficients that are not simple fractions come from the
//! singular values of df/dy.

use nalgebra::{DMatrix, DVector};
use odec_ir::residue::{self, Residue};
use odec_lang::stoichiometry::simplify;
use odec_lang::units::rational::gcd;

use super::modular;
use super::{NoSteady, Search};
use crate::points::uniform;
use crate::spectrum::Pencil;

/// Number of states, in addition to the number of unknowns, at which f is computed without rounding.
const MORE: usize = 3;
/// Number of states at which coefficients are computed with rounding, and of other states at which they are tested.
const SAMPLE_STATES: u64 = 4;
const TRIES: u64 = 5;
/// With more states than this, coefficients are computed at the start and at one other state.
const MANY: usize = 100;
/// Singular values below this fraction of the largest one count as zero.
const SINGULAR: f64 = 1e-10;
/// Coefficients below this fraction of the largest one count as zero.
const COEFFICIENT: f64 = 1e-9;
/// Largest integer coefficient.
const LARGEST: i128 = 1_000_000;
/// A combination with other coefficients must cancel to this fraction of its terms.
const CANCELS: f64 = 1e-12;
/// Number of error bounds within which a sum counts as zero.
const SLACK: f64 = 4.0;

/// A linear combination of the states that is constant.
#[derive(Clone, Debug)]
pub struct Conserved {
    /// Index of the state, and its coefficient.
    pub terms: Vec<(usize, f64)>,
    /// Its initial value.
    pub value: f64,
}

impl Search<'_> {
    /// Finds the conserved combinations. f must be defined at the start.
    pub(super) fn find_conserved(&mut self) -> Result<(), NoSteady> {
        let n = self.y0.len();
        let (Some(first), Some(f)) = (Pencil::at(self.executor, self.t, &self.y0), self.f(&self.y0)) else {
            return Err(NoSteady::NoValue);
        };
        let Some(mass) = self.constant_mass() else { return Ok(()) };
        let columns = self.without_rounding();
        let zero = modular::left_null_space(&columns, n);
        without_growth(&columns, zero.len(), &f, &mass)?;
        let exact: Vec<Option<DVector<f64>>> = zero.iter().map(|w| in_fractions(w)).collect();
        let known: Vec<DVector<f64>> = exact.iter().flatten().filter(|w| self.cancels(w)).cloned().collect();
        let kept = if known.len() == zero.len() {
            known
        } else {
            let rounded = self.with_rounding(&first, f);
            if rounded.len() == zero.len() { rounded } else { known }
        };
        let mut kept = simplest(kept);
        kept.sort_by_key(|w| w.iter().position(|c| *c != 0.0));
        for w in kept {
            let weights = (w.transpose() * &mass).transpose();
            let largest = weights.amax();
            if largest == 0.0 {
                // a combination of equations without a derivative
                continue;
            }
            let rows = self.null.nrows();
            for (matrix, row) in [(&mut self.null, &w), (&mut self.weights, &weights)] {
                let mut larger = std::mem::replace(matrix, DMatrix::zeros(0, n)).insert_row(rows, 0.0);
                larger.row_mut(rows).copy_from(&row.transpose());
                *matrix = larger;
            }
            let terms = in_terms(&weights);
            let value = terms.iter().map(|(k, c)| c * self.y0[*k]).sum();
            self.conserved.push(Conserved { terms, value });
        }
        self.totals = &self.weights * DVector::from_column_slice(&self.y0);
        Ok(())
    }

    /// f modulo a prime at states drawn at random. An equation that is undefined at one of them is `None` in all.
    fn without_rounding(&self) -> Vec<Vec<Option<u64>>> {
        let n = self.y0.len();
        let state = |k: usize| (0..n).map(|i| Residue::drawn((k * n + i) as u64)).collect::<Vec<_>>();
        let values = |k: usize| self.exact.at(self.t, &state(k)).into_iter().map(Residue::get).collect();
        let mut columns: Vec<Vec<Option<u64>>> = (0..n + MORE).map(values).collect();
        for i in 0..n {
            if columns.iter().any(|column| column[i].is_none()) {
                for column in &mut columns {
                    column[i] = None;
                }
            }
        }
        columns
    }

    /// Combinations from the left null space of df/dy and f at several states, by the singular values of the
    /// equilibrated matrix.
    fn with_rounding(&self, first: &Pencil, f: DVector<f64>) -> Vec<DVector<f64>> {
        let mut columns: Vec<DVector<f64>> = first.jacobian.column_iter().map(nalgebra::Matrix::into_owned).collect();
        columns.push(f);
        for sample in 0..if self.y0.len() > MANY { 1 } else { SAMPLE_STATES } {
            let near = self.nearby_state(sample);
            let (Some(pencil), Some(f)) = (Pencil::at(self.executor, self.t, &near), self.f(&near)) else { continue };
            columns.extend(pencil.jacobian.column_iter().map(nalgebra::Matrix::into_owned));
            columns.push(f);
        }
        left_null_space(&DMatrix::from_columns(&columns)).into_iter().filter(|w| self.cancels(w)).collect()
    }

    /// w^T f at a state, and its rounding error; `None` if f cannot be evaluated.
    fn along(&self, w: &DVector<f64>, y: &[f64]) -> Option<(f64, f64)> {
        let f = self.rounded.bounded(self.t, y);
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

    /// A state near the start in which no component is zero.
    fn nearby_state(&self, sample: u64) -> Vec<f64> {
        let largest = self.y0.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let n = self.y0.len() as u64;
        let value = |(i, y): (usize, &f64)| {
            let own = if *y == 0.0 { 0.3 * largest } else { *y };
            let (low, high) = self.bounds[i];
            (own * (0.5 + uniform(7, sample * n + i as u64))).clamp(low, high)
        };
        self.y0.iter().enumerate().map(value).collect()
    }

    /// True if w^T f is zero within rounding at all tested states.
    fn cancels(&self, w: &DVector<f64>) -> bool {
        let tried: Vec<(f64, f64)> = (SAMPLE_STATES..SAMPLE_STATES + TRIES)
            .filter_map(|sample| self.along(w, &self.nearby_state(sample)))
            .collect();
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

/// Refuses equations with a combination that has the same nonzero rate at every state: then no state is steady,
/// however small that rate is compared with the rounding of f. The `zero` combinations are zero at every state.
fn without_growth(
    columns: &[Vec<Option<u64>>],
    zero: usize,
    f: &DVector<f64>,
    mass: &DMatrix<f64>,
) -> Result<(), NoSteady> {
    let Some((first, others)) = columns.split_first() else { return Ok(()) };
    let less = |a: &Option<u64>, b: &Option<u64>| Some(residue::subtract((*a)?, (*b)?));
    let differences: Vec<Vec<Option<u64>>> =
        others.iter().map(|column| column.iter().zip(first).map(|(a, b)| less(a, b)).collect()).collect();
    let constant = modular::left_null_space(&differences, f.len());
    if constant.len() == zero {
        return Ok(());
    }
    let grows = |w: &&Vec<u64>| modular::product(w, first) != 0;
    let terms = |w: &&Vec<u64>| w.iter().filter(|c| **c != 0).count();
    let Some(w) = constant.iter().filter(grows).min_by_key(terms).and_then(|w| in_fractions(w)) else { return Ok(()) };
    Err(NoSteady::Grows(in_terms(&(w.transpose() * mass).transpose()), w.dot(f)))
}

/// Indices and coefficients of the nonzero elements.
fn in_terms(weights: &DVector<f64>) -> Vec<(usize, f64)> {
    let largest = weights.amax();
    weights.iter().copied().enumerate().filter(|(_, c)| c.abs() > COEFFICIENT * largest).collect()
}

/// The fractions that residues represent, as integers if these are small; `None` if a residue represents no fraction.
fn in_fractions(w: &[u64]) -> Option<DVector<f64>> {
    let fractions = w.iter().map(|c| residue::fraction(*c)).collect::<Option<Vec<(i64, i64)>>>()?;
    let floats = || DVector::from_iterator(w.len(), fractions.iter().map(|(n, d)| *n as f64 / *d as f64));
    let multiple = fractions.iter().try_fold(1i128, |all, (_, d)| {
        let multiple = all / gcd(all, i128::from(*d)) * i128::from(*d);
        (multiple <= LARGEST).then_some(multiple)
    });
    let Some(multiple) = multiple else { return Some(floats()) };
    let whole: Vec<i128> = fractions.iter().map(|(n, d)| i128::from(*n) * (multiple / i128::from(*d))).collect();
    if whole.iter().any(|c| c.abs() > LARGEST) {
        return Some(floats());
    }
    Some(DVector::from_iterator(w.len(), whole.iter().map(|c| *c as f64)))
}

/// The vectors w with w^T A = 0 up to rounding.
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
    // A has more columns than rows, so that the SVD computes all left vectors
    let svd = a.svd(true, false);
    let Some(u) = svd.u else { return Vec::new() };
    let largest = svd.singular_values.max();
    let least = (SINGULAR * largest).max(f64::MIN_POSITIVE);
    let zero: Vec<usize> = (0..svd.singular_values.len()).filter(|k| svd.singular_values[*k] <= least).collect();
    let mut basis = DMatrix::from_fn(zero.len(), n, |i, j| u[(j, zero[i])] / rows[j]);
    reduce(&mut basis);
    basis.row_iter().map(|row| row.transpose()).collect()
}

/// Gauss-Jordan elimination of the rows; coefficients that are zero up to rounding become 0.
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

/// Rows with the simplest possible integers first, then the others.
fn simplest(rows: Vec<DVector<f64>>) -> Vec<DVector<f64>> {
    let (whole, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.iter().all(|x| x.fract() == 0.0));
    let mut basis: Vec<Vec<i128>> = whole.iter().map(|row| row.iter().map(|x| *x as i128).collect()).collect();
    simplify(&mut basis);
    let floats = |row: &Vec<i128>| DVector::from_iterator(row.len(), row.iter().map(|x| *x as f64));
    basis.iter().map(floats).chain(others).collect()
}
