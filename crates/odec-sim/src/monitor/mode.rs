//! The eigenvalue that explains a finding, and the term of the model that causes it.

use odec_lang::blame::{By, StateAt, Summand, summands};
use odec_ode::system::System;

use super::Moment;
use super::report::CheckedRun;
use crate::blame::{in_order, values_at};
use crate::spectrum::{self, Spectrum};
use crate::stability::{Amplification, C, parts_of_step};

/// Largest number of unknowns for which all eigenvalues are computed. This happens only if something is already wrong,
/// and takes a few milliseconds.
const MAX_DENSE: usize = 150;
/// Multiplications by df/dy that find the largest eigenvalue of more unknowns.
const MAX_PRODUCTS: usize = 120;
/// Largest fraction of the product orthogonal to the vector; beyond it, the eigenvalue is not real, or not isolated.
const MAX_ORTHOGONAL: f64 = 0.3;

/// Number of entries whose terms are examined.
const MAX_ENTRIES: usize = 8;

/// An eigenvalue at a point of a run.
#[derive(Clone, Debug)]
pub struct Mode {
    /// The eigenvalue.
    pub lambda: C,
    /// When.
    pub t: f64,
    /// Rows of f with the largest entries of the mode, each with a state on which the row depends.
    pub entries: Vec<(usize, usize)>,
}

/// Eigenvalues at a moment, with the opposite sign for a backward run; for many unknowns, only the one of largest modulus.
pub fn spectrum(checked: &CheckedRun<'_>, moment: &Moment) -> Option<Spectrum> {
    let executor = checked.executor_before(moment.t)?;
    let mut found = if moment.y.len() <= MAX_DENSE {
        spectrum::at(&*executor, moment.t, &moment.y)?
    } else {
        let (lambda, _) = leading(&*executor, moment)?;
        Spectrum { t: moment.t, y: moment.y.clone(), values: vec![C::from(lambda)] }
    };
    if checked.backwards() {
        for value in &mut found.values {
            *value = -*value;
        }
    }
    Some(found)
}

/// Largest eigenvalue and the row of the largest component of its vector, by the power method (Golub & Van Loan,
/// section 7.3.1); `None` if the eigenvalue is not real.
fn leading(system: &dyn System, moment: &Moment) -> Option<(f64, usize)> {
    let n = moment.y.len();
    // a vector with a component in every direction; deterministic
    let mut v: Vec<f64> =
        (0..n).map(|i| 1.0 + 0.5 * (i as f64 * 1.7).sin() * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let mut w = vec![0.0; n];
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut found = None;
    for _ in 0..MAX_PRODUCTS {
        let size = norm(&v);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        for v in &mut v {
            *v /= size;
        }
        system.jacobian_vector(moment.t, &moment.y, &v, &mut w).ok()?;
        let lambda: f64 = v.iter().zip(&w).map(|(v, w)| v * w).sum();
        let across = v.iter().zip(&w).map(|(v, w)| (w - lambda * v).powi(2)).sum::<f64>().sqrt();
        found = (across <= MAX_ORTHOGONAL * lambda.abs()).then_some(lambda);
        std::mem::swap(&mut v, &mut w);
    }
    let largest = (0..n).max_by(|a, b| v[*a].abs().total_cmp(&v[*b].abs()))?;
    found.map(|lambda| (lambda, largest))
}

/// Mode of an eigenvalue of a [`mod@spectrum`]. Its entries are those that determine the part of the eigenvalue in
/// the direction of `toward`: the eigenvalue itself, or the real axis if only its growth matters.
pub fn mode(checked: &CheckedRun<'_>, spectrum: &Spectrum, lambda: C, toward: C) -> Mode {
    let executor = checked.executor_before(spectrum.t);
    let (lambda, toward) = if checked.backwards() { (-lambda, -toward) } else { (lambda, toward) };
    let entries = match &executor {
        None => vec![],
        Some(executor) if spectrum.y.len() <= MAX_DENSE => {
            spectrum::dominant_entries(&**executor, spectrum, lambda, toward)
        }
        Some(executor) => {
            let moment = Moment { t: spectrum.t, y: spectrum.y.clone() };
            leading(&**executor, &moment).into_iter().map(|(_, row)| (row, row)).collect()
        }
    };
    Mode { lambda, t: spectrum.t, entries }
}

/// Smallest step limit of a method with these regions at these points, with the mode that causes it; `None` if there
/// is no limit.
pub fn limit(
    checked: &CheckedRun<'_>,
    regions: &[(String, Amplification)],
    moments: &[&Moment],
) -> Option<(f64, Mode)> {
    let spectra: Vec<Spectrum> = moments.iter().filter_map(|moment| spectrum(checked, moment)).collect();
    let limits = regions.iter().filter_map(|(_, region)| spectrum::limit(region, &spectra));
    let least = limits.min_by(|a, b| a.step.total_cmp(&b.step))?;
    Some((least.step * parts_of_step(checked.bound), mode(checked, &spectra[least.index], least.lambda, least.lambda)))
}

/// Term that causes a mode: of the summands of its rows that depend on its states, the one that changes most with
/// them; among the rows, the first such term that is not bare.
pub fn term(checked: &CheckedRun<'_>, mode: &Mode, moment: &Moment) -> Option<Summand> {
    let states = &checked.bound.states;
    let y = in_order(checked.bound, &moment.y);
    let discretes = checked.findings.discretes.before(moment.t)?;
    let values = values_at(checked.model, checked.bound, discretes);
    let point = StateAt { t: moment.t, y: &y, values: &values };
    let of = |&(row, col): &(usize, usize)| {
        let by = By::State(states.rank(col));
        let mut list = summands(checked.model, checked.source, states.rank(row), by, point);
        // terms of the opposite sign make the entry smaller
        let sum: f64 = list.iter().map(|term| term.slope).sum();
        list.retain(|term| term.slope * sum > 0.0);
        list.into_iter().max_by(|a, b| a.slope.abs().total_cmp(&b.slope.abs()))
    };
    let terms: Vec<Summand> = mode.entries.iter().take(MAX_ENTRIES).filter_map(of).collect();
    let first = terms.iter().position(|term| !term.bare).unwrap_or(0);
    terms.into_iter().nth(first)
}
