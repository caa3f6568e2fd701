//! Detects events that move a quantity onto the surface of their own condition, so that the motion leads back across
//! it.
//!
//! An example is `when x > 1 { x := 1 }` with x' > 0. After the assignment, `x > 1` is false, but it becomes true
//! again at once. No time passes in between, so the event would happen infinitely often. With `x >= 1` the condition
//! stays true, and the event does not happen again. In both cases, a run that continued would show an x above 1, which
//! is not what the author meant.

use super::Rounds;
use crate::hybrid::locate::Locator;
use crate::hybrid::modes::{Departure, Modes, Place};
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::system::{Edge, HybridSystem, Trigger, WriteTarget};

/// To detect the relations that read a quantity, the quantity is changed by this fraction of its value.
const MOVED: f64 = 1e-3;

/// Memory that is reused between instants.
#[derive(Debug, Default)]
pub(super) struct Returning {
    departures: Vec<Departure>,
    suspects: Vec<usize>,
    kept: Vec<f64>,
    /// The conditions with the opposite modes.
    other: Vec<bool>,
}

impl Rounds {
    /// Examines the instant that has just ended.
    pub fn returns(
        &mut self,
        model: &mut dyn HybridSystem,
        (modes, locator): (&mut Modes, &Locator),
        at: Place<'_>,
    ) -> Result<(), HybridCause> {
        if !self.executed.iter().any(|executed| may_return(model, executed.event, at)) {
            return Ok(());
        }
        let mut departures = std::mem::take(&mut self.returning.departures);
        let found = modes.surfaces_to_leave(model, locator, at, &mut departures);
        let found =
            found.and_then(|()| if departures.is_empty() { Ok(()) } else { self.lead(model, modes, at, &departures) });
        self.returning.departures = departures;
        found
    }

    fn lead(
        &mut self,
        model: &mut dyn HybridSystem,
        modes: &mut Modes,
        at: Place<'_>,
        departures: &[Departure],
    ) -> Result<(), HybridCause> {
        self.led_to(model, at, departures);
        let mut suspects = std::mem::take(&mut self.returning.suspects);
        suspects.clear();
        suspects.extend(self.executed.iter().map(|executed| executed.event));
        suspects.retain(|event| self.leads_to(model, *event) && may_return(model, *event, at));
        // a single evaluation for all of them excludes most events that do not write the quantities that they compare
        let any = !suspects.is_empty() && !read(model, modes, &suspects, at, departures)?.is_empty();
        for event in suspects.iter().copied().filter(|_| any) {
            for k in read(model, modes, &[event], at, departures)? {
                self.led_to(model, at, &departures[k..=k]);
                if self.leads_to(model, event) {
                    let relation = departures[k].relation;
                    return Err(HybridCause::Returns { event, relation, again: !self.was[event] });
                }
            }
        }
        self.returning.suspects = suspects;
        Ok(())
    }

    /// Computes the conditions with these relations in the modes that the motion leads to, in `now`, and with the
    /// opposite modes, in `other`.
    fn led_to(&mut self, model: &mut dyn HybridSystem, at: Place<'_>, departures: &[Departure]) {
        let Returning { kept, other, .. } = &mut self.returning;
        kept.clear();
        kept.extend(departures.iter().map(|departure| model.modes()[departure.relation]));
        other.resize(self.now.len(), false);
        for (opposite, conditions) in [(false, &mut self.now), (true, other)] {
            for Departure { relation, leads } in departures {
                model.modes_mut()[*relation] = f64::from(u8::from(*leads != opposite));
            }
            model.refresh();
            model.conditions(at.t, at.y, conditions);
        }
        for (Departure { relation, .. }, mode) in departures.iter().zip(kept) {
            model.modes_mut()[*relation] = *mode;
        }
        model.refresh();
    }

    /// True if the motion triggers the event.
    fn leads_to(&self, model: &dyn HybridSystem, event: usize) -> bool {
        let (now, other) = (self.now[event], self.returning.other[event]);
        match model.events()[event].trigger {
            Trigger::Condition(Edge::Rising) => now && !other,
            Trigger::Condition(Edge::Falling) => other && !now,
            _ => false,
        }
    }
}

/// True for an event that a change of its condition triggers and that is executed at once.
fn may_return(model: &dyn HybridSystem, event: usize, at: Place<'_>) -> bool {
    let waits = matches!(model.events()[event].trigger, Trigger::Condition(Edge::Rising | Edge::Falling));
    waits && !model.events()[event].stops && model.delay(event, at.t, at.y) == 0.0
}

/// Indices in `departures` of the relations that read quantities that the events write.
fn read(
    model: &mut dyn HybridSystem,
    modes: &mut Modes,
    events: &[usize],
    at: Place<'_>,
    departures: &[Departure],
) -> Result<Vec<usize>, HybridCause> {
    let sides = model.relations().len();
    let [mut left, mut right] = [vec![0.0; sides], vec![0.0; sides]];
    let mut look = |model: &dyn HybridSystem, y: &[f64]| -> Result<Vec<f64>, HybridCause> {
        model.sides(at.t, y, &mut left, &mut right).map_err(|_| HybridCause::NoSides)?;
        Ok(departures.iter().map(|departure| left[departure.relation] - right[departure.relation]).collect())
    };
    // both views come from the same Newton iteration: the rounding errors of unknowns are no change
    let mut base = at.y.to_vec();
    let _ = modes.motion.refine(model, at.t, &mut base);
    let plain = look(model, &base)?;
    let targets: Vec<WriteTarget> =
        events.iter().flat_map(|event| &model.events()[*event].writes).map(|write| write.target).collect();
    let discretes = model.discretes().to_vec();
    let mut found = vec![false; departures.len()];
    for sign in [1.0, -1.0] {
        let mut y = at.y.to_vec();
        for (k, target) in targets.iter().enumerate() {
            // each by a different fraction, so that no two changes cancel in a difference
            let moved = |value: f64| value + sign * MOVED * (1.0 + 0.5 / (k as f64 + 1.0)) * value.abs().max(MOVED);
            match *target {
                WriteTarget::State(row) => y[row] = moved(y[row]),
                WriteTarget::Discrete(position) => model.discretes_mut()[position] = moved(discretes[position]),
            }
        }
        model.refresh();
        // an algebraic unknown in a relation depends on the changed quantities
        let _ = modes.motion.refine(model, at.t, &mut y);
        let seen = look(model, &y);
        model.discretes_mut().copy_from_slice(&discretes);
        model.refresh();
        for (found, (seen, plain)) in found.iter_mut().zip(seen?.iter().zip(&plain)) {
            *found |= seen != plain;
        }
    }
    Ok((0..departures.len()).filter(|k| found[*k]).collect())
}
