//! Compares the `expect` and `conserve` lines of a model with a run.

use odec_ir::Span;
use odec_lang::balance::Balance;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;

use crate::bind::Bound;
use crate::blame::{drift, number};
use crate::sample::{Drift, Observations};

/// The kind of an expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectationKind {
    /// A value at a time.
    Expect {
        /// The time.
        at: f64,
        /// The expected value.
        expected: f64,
    },
    /// A quantity that does not change.
    Conserve,
}

/// An expectation and its result.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Text of the quantity.
    pub name: String,
    /// The kind of expectation.
    pub kind: ExpectationKind,
    /// For an `expect`: true if the run reached its time.
    pub reached: bool,
    /// If an event ended the run before that time: when, and the source location of the event.
    pub stopped: Option<(f64, Span)>,
    /// For a conserved quantity that events change: the largest change, its time, and the event.
    pub event: Option<(f64, f64, Span)>,
    /// The value found; for a conserved quantity, its drift.
    pub found: f64,
    /// Distance from the expected value.
    pub distance: f64,
    /// Largest permitted distance.
    pub within: Option<f64>,
    /// True if the expectation holds; `None` if the line only reports.
    pub kept: Option<bool>,
    /// The derivative of a conserved quantity that drifts.
    pub balance: Balance,
    /// True if the step size is constant.
    pub fixed_steps: bool,
    /// Source location of the statement.
    pub span: Span,
}

/// Default relative tolerance of an `expect`.
pub const DEFAULT_RELATIVE: f64 = 1e-3;

/// All expectations of a run.
pub fn of(model: &Model, bound: &Bound, seen: &Observations) -> Vec<Expectation> {
    let mut list = vec![];
    let stopped = seen.events.as_ref().and_then(|events| events.stopped);
    let stopped = stopped.and_then(|(event, t)| Some((t, model.events.get(event)?.span)));
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    for (e, &found) in bound.expectations.iter().zip(&seen.found) {
        let within = match e.tolerance {
            Some(w) if w.relative => w.value * e.value.abs(),
            Some(w) => w.value,
            None => DEFAULT_RELATIVE * e.value.abs(),
        };
        let distance = (found - e.value).abs();
        list.push(Expectation {
            name: e.name.clone(),
            kind: ExpectationKind::Expect { at: e.time, expected: e.value },
            reached: (e.time - t0) * (t_end - e.time) >= 0.0,
            stopped: stopped.filter(|(t, _)| e.time > *t),
            event: None,
            found,
            distance,
            within: Some(within),
            kept: Some(distance <= within),
            balance: Balance::Unknown,
            fixed_steps: bound.options.fixed,
            span: e.span,
        });
    }
    let broken = |drift: &Drift| drift.within.is_some_and(|within| !(drift.largest.abs() <= within));
    let balances = if seen.drifts.iter().any(broken) { drift::balances(model, bound, seen) } else { vec![] };
    for (k, (drift, settings)) in seen.drifts.iter().zip(&bound.conservation).enumerate() {
        let kept = drift.within.map(|w| drift.largest.abs() <= w);
        let balance = if kept == Some(false) { balances.get(k).cloned() } else { None };
        list.push(Expectation {
            name: drift.name.clone(),
            kind: ExpectationKind::Conserve,
            reached: true,
            stopped: None,
            event: event_change(bound, seen, k),
            found: drift.largest,
            distance: drift.largest.abs(),
            within: drift.within,
            kept,
            balance: balance.unwrap_or(Balance::Unknown),
            fixed_steps: bound.options.fixed,
            span: settings.span,
        });
    }
    list
}

impl Expectation {
    /// The message for a violated expectation.
    pub fn diagnostic(&self, time: &str) -> Diagnostic {
        let within = number(self.within.unwrap_or(0.0));
        match self.kind {
            ExpectationKind::Expect { at, .. } if !self.reached => {
                let headline =
                    format!("the model expects `{}` at {time} = {}, before the run starts", self.name, number(at));
                let help = format!(
                    "start the run earlier, or move the expectation to a later time: `expect {}(...)`",
                    self.name
                );
                Diagnostic::error(&codes::E0616, headline).label(self.span, "").help(help)
            }
            ExpectationKind::Expect { at, .. } if let Some((end, event)) = self.stopped => {
                let (name, end) = (&self.name, number(end));
                let headline = format!(
                    "the model expects `{name}` at {time} = {}, but the run ended at {time} = {end}",
                    number(at)
                );
                Diagnostic::error(&codes::E0616, headline)
                    .label(self.span, "")
                    .label(event, format!("this event ended the run at {time} = {end}"))
                    .help(format!(
                        "move the expectation to an earlier time, `expect {name}({end}) = ...`, or correct \
                                   the event that ends the run"
                    ))
            }
            ExpectationKind::Expect { at, expected } => {
                let headline = format!(
                    "`{}` is {} at {time} = {}, not {}",
                    self.name,
                    shortest(self.found),
                    number(at),
                    shortest(expected)
                );
                Diagnostic::error(&codes::E0616, headline)
                    .label(self.span, format!("off by {}, permitted {within}", number(self.distance)))
                    .help(if self.fixed_steps {
                        "if the model is right, use a smaller `step`, or a method of higher order; if the expected \
                         value is right, correct the model"
                    } else {
                        "if the model is right, tighten `rtol` and `atol`; if the expected value is right, correct \
                         the model"
                    })
            }
            ExpectationKind::Conserve => {
                let headline = format!("`{}` drifts by {}", self.name, number(self.found));
                let mut report =
                    Diagnostic::error(&codes::E0617, headline).label(self.span, format!("permitted {within}"));
                report.labels.extend(self.balance.change().iter().flat_map(|change| change.terms.clone()));
                if let Some((change, t, place)) = self.event {
                    report = report.label(place, changed_by(change, time, t));
                }
                report.help(drift_help(&self.balance, self.fixed_steps, self.event.is_some()))
            }
        }
    }
}

/// The largest change of a conserved quantity by an event, its time, and the event; `None` if events do not explain the
/// drift.
pub(crate) fn event_change(bound: &Bound, seen: &Observations, k: usize) -> Option<(f64, f64, Span)> {
    let changes = seen.event_changes.get(k).copied().flatten()?;
    let place = bound.located.as_ref()?.event_span(changes.event)?;
    changes.explain(seen.drifts[k].largest).then_some((changes.largest, changes.t, place))
}

/// What an event does to a conserved quantity, as a label.
pub(crate) fn changed_by(change: f64, time: &str, t: f64) -> String {
    format!("this event changes it by {} at {time} = {}", number(change), number(t))
}

/// Explains whether the model or the tolerance is at fault, and what to do.
pub(crate) fn drift_help(balance: &Balance, fixed_steps: bool, by_event: bool) -> String {
    let tighten = if fixed_steps {
        "use a smaller `step`, or a method of higher order"
    } else {
        "tighten `rtol` and `atol`, or use a method of higher order"
    };
    match balance {
        Balance::Changes(change) => {
            format!("the equations change it, so no tolerance can prevent this: {}", change.sentence())
        }
        Balance::ChangesElsewhere(change) => format!(
            "the equations keep it constant at the start of the run, but not everywhere: {}; if the run does not \
             reach the region where these terms matter, {tighten}",
            change.sentence()
        ),
        _ if by_event => {
            "an event changes it, so no tolerance can prevent this: give the change a counterpart, or conserve \
             another quantity"
                .to_owned()
        }
        Balance::Symbolic => {
            format!("the equations keep it constant (the terms of its derivative cancel): {tighten}")
        }
        Balance::Numeric(states) => {
            format!("the equations keep it constant (its derivative vanishes at {states} sampled states): {tighten}")
        }
        Balance::TooLarge(..) | Balance::Unknown => tighten.to_owned(),
    }
}

/// The shortest digits that read back as the same number.
fn shortest(v: f64) -> String {
    let (plain, scientific) = (format!("{v}"), format!("{v:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}
