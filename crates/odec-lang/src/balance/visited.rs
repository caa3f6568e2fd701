//! The derivatives of conserved quantities at states that a run visited: events and switches may make terms active that
//! are zero around the start.

use odec_ir::ArrayId;
use odec_ir::rounded::Rounded;

use super::{MAX_SHOWN, Point, Symbols, all_derivatives, conserved, derivatives, terms};
use crate::diagnostic::Label;
use crate::lower::Draft;
use crate::model::Model;
use crate::trial::Trial;

/// A derivative below this fraction of its terms may be an error of the states.
const STATE_ERROR: f64 = 1e-3;
/// Number of states at which single terms are evaluated.
const JUDGED: usize = 5;

/// A state that a run visited.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// The time.
    pub t: f64,
    /// The state, in the order of the layout.
    pub y: Vec<f64>,
    /// The discretes, in the order of the layout.
    pub discretes: Vec<f64>,
}

/// How the equations change a quantity along a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeAlongRun {
    /// Its derivative at each state; 0 where it may be zero, or has no finite value.
    pub rates: Vec<f64>,
    /// The derivative in the names of the source, if it is short.
    pub derivative: Option<String>,
    /// Terms of the equations that no other terms cancel, with their effects.
    pub terms: Vec<Label>,
}

/// See [`super::Balances::along_run`].
pub(super) fn changes(model: &Model, draft: &Draft, visited: &[Visited]) -> Vec<Option<ChangeAlongRun>> {
    let none = || vec![None; model.conserved.len()];
    let Some(arrays) = conserved(model, draft) else { return none() };
    let derivatives = derivatives(draft);
    let mut symbols = Symbols::of(draft, &derivatives);
    let sums: Vec<_> = arrays.iter().map(|&array| symbols.sum(&derivatives, array)).collect();
    let Ok(mut trial) = Trial::with_discretes(draft, derivatives) else { return none() };
    let mut found: Vec<Option<Vec<Rounded>>> = Vec::new();
    for state in visited {
        let fits = state.y.len() == trial.len() && trial.set_discretes(&state.discretes);
        found.push(fits.then(|| all_derivatives(&trial, &point(state))).flatten());
    }
    let one = |(&array, sum): (&ArrayId, &Option<_>)| {
        let output = trial.layout().output(array);
        let rate = |all: &Option<Vec<Rounded>>| {
            let x = all.as_ref()?.get(output).filter(|x| x.is_finite())?;
            (!x.may_be_zero() && x.value.abs() > STATE_ERROR * x.size()).then_some(x.value)
        };
        let rates: Vec<f64> = found.iter().map(|all| rate(all).unwrap_or_default()).collect();
        let text = sum.as_ref().filter(|sum: &&super::Sum| sum.len() <= MAX_SHOWN && symbols.is_closed());
        let derivative = text.map(|sum| symbols.expander.text(sum, &draft.arrays, &model.time.name));
        Some(ChangeAlongRun { rates, derivative, terms: Vec::new() })
            .filter(|change| change.rates.iter().any(|x| *x != 0.0))
    };
    let mut changes: Vec<Option<ChangeAlongRun>> = arrays.iter().zip(&sums).map(one).collect();
    for (array, change) in arrays.iter().zip(&mut changes) {
        let Some(change) = change else { continue };
        let size = |k: &usize| change.rates[*k].abs();
        let mut largest: Vec<usize> = (0..visited.len()).filter(|k| change.rates[*k] != 0.0).collect();
        largest.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let discretes = &visited[largest[0]].discretes;
        largest.retain(|k| visited[*k].discretes == *discretes);
        let points: Vec<Point> = largest.iter().take(JUDGED).map(|k| point(&visited[*k])).collect();
        if trial.set_discretes(discretes) {
            change.terms = terms::remaining(model, draft, &trial, *array, &points.iter().collect::<Vec<_>>());
        }
    }
    changes
}

fn point(state: &Visited) -> Point {
    Point { t: state.t, y: state.y.clone() }
}
