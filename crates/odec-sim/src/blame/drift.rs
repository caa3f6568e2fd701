//! Conserved quantities without a limit that the equations change along the run, though not around the start: an event
//! or a switch makes a term active.

use odec_lang::balance::{Balance, ChangeAlongRun, NonzeroDerivative, Visited};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;

use super::number;
use crate::bind::Bound;
use crate::expectations::{changed_by, event_change};
use crate::sample::{Drift, Observations};

/// A drift of fewer relative tolerances is an error of the steps.
const TOLERANCES: f64 = 10.0;
/// With constant steps, a smaller relative drift is not examined.
const LEAST: f64 = 1e-6;
/// The derivative along the run must explain at least this fraction of the drift.
const EXPLAINED: f64 = 0.3;

/// Warnings about quantities that the equations change along the run.
pub(super) fn caused_by_model(model: &Model, bound: &Bound, seen: &Observations) -> Vec<Diagnostic> {
    let limit = if bound.options.fixed { LEAST } else { TOLERANCES * bound.options.rtol };
    let drifts = |drift: &Drift| {
        drift.within.is_none() && drift.largest.abs() > limit * (drift.start.abs() + drift.largest.abs())
    };
    if !seen.drifts.iter().any(drifts) {
        return vec![];
    }
    let mut list = by_events(model, bound, seen, &drifts);
    let known = bound.balances.of(model);
    let visited = visited(model, bound, seen);
    let changes = bound.balances.along_run(model, &visited);
    for (k, (drift, change)) in seen.drifts.iter().zip(changes).enumerate() {
        let decided = matches!(known.get(k), Some(Balance::Changes(_) | Balance::Symbolic));
        let Some(change) = change.filter(|_| !decided && drifts(drift)) else { continue };
        if explained(&visited, &change, drift.at).abs() < EXPLAINED * drift.largest.abs() {
            continue;
        }
        let largest = (0..visited.len()).max_by(|a, b| change.rates[*a].abs().total_cmp(&change.rates[*b].abs()));
        let (time, name) = (&model.time.name, &drift.name);
        let headline = match (&change.derivative, largest) {
            (Some(text), _) => format!("d/dt of `{name}` is `{text}`, not zero"),
            (None, Some(k)) => {
                let at = number(visited[k].t);
                format!("d/dt of `{name}` is not zero: at {time} = {at} it is {}", number(change.rates[k]))
            }
            (None, None) => continue,
        };
        let label =
            format!("the model itself changes this, by {} until {time} = {}", number(drift.largest), number(drift.at));
        let mut d = Diagnostic::warning(&codes::W0508, headline).label(bound.conservation[k].span, label);
        d.labels.extend(change.terms);
        list.push(d.help(
            "give these terms a counterpart, or conserve another quantity; no tolerance and no method can prevent \
             this drift",
        ));
    }
    list
}

/// The effect of the equations on each quantity: at the states that the run visited, if it is not known otherwise, and
/// explains the drift.
pub(crate) fn balances(model: &Model, bound: &Bound, seen: &Observations) -> Vec<Balance> {
    let mut list = bound.balances.of(model).to_vec();
    let open = |balance: &Balance| matches!(balance, Balance::Numeric(_) | Balance::ChangesElsewhere(_));
    if !list.iter().any(open) {
        return list;
    }
    let visited = visited(model, bound, seen);
    let changes = bound.balances.along_run(model, &visited);
    for ((balance, change), drift) in list.iter_mut().zip(changes).zip(&seen.drifts) {
        let Some(change) = change.filter(|_| open(balance)) else { continue };
        if explained(&visited, &change, drift.at).abs() >= EXPLAINED * drift.largest.abs() {
            let ChangeAlongRun { derivative, terms, .. } = change;
            let name = drift.name.clone();
            *balance = Balance::Changes(NonzeroDerivative { name, derivative, at_start: 0.0, terms });
        }
    }
    list
}

/// Warnings about quantities without a limit that events change.
fn by_events(model: &Model, bound: &Bound, seen: &Observations, drifts: &dyn Fn(&Drift) -> bool) -> Vec<Diagnostic> {
    let one = |(k, drift): (usize, &Drift)| {
        let (change, t, place) = event_change(bound, seen, k).filter(|_| drifts(drift))?;
        let (name, time) = (&drift.name, &model.time.name);
        let headline = format!("an event changes `{name}`");
        let label = format!(
            "{} at the start, off by {} at {time} = {}",
            number(drift.start),
            number(drift.largest),
            number(drift.at)
        );
        let d = Diagnostic::warning(&codes::W0508, headline).label(bound.conservation[k].span, label);
        let d = d.label(place, changed_by(change, time, t));
        Some(d.help("give the change a counterpart, or conserve another quantity; no tolerance can prevent this"))
    };
    seen.drifts.iter().enumerate().filter_map(one).collect()
}

/// The stored rows with the discretes there; rows with unknown discretes are left out.
fn visited(model: &Model, bound: &Bound, seen: &Observations) -> Vec<Visited> {
    let state = |(t, y): &(f64, Vec<f64>)| {
        let changed = seen.findings.discretes.after(*t)?;
        let discretes = bound
            .located
            .as_ref()
            .map_or_else(Vec::new, |located| located.discretes_of(model, bound.problem.t0, changed).concat());
        Some(Visited { t: *t, y: y.clone(), discretes })
    };
    seen.visited.kept.iter().filter_map(state).collect()
}

/// The integral of the derivative up to a time, by the trapezoidal rule.
fn explained(visited: &[Visited], change: &ChangeAlongRun, until: f64) -> f64 {
    let start = visited.first().map_or(until, |state| state.t);
    let covered = |t: f64| (t - start).abs() <= (until - start).abs();
    let pairs = visited.windows(2).zip(change.rates.windows(2));
    let area = |(at, rate): (&[Visited], &[f64])| (at[1].t - at[0].t) * f64::midpoint(rate[0], rate[1]);
    pairs.filter(|(at, _)| covered(at[1].t)).map(area).sum()
}
