//! The first step after a change of the state.
//!
//! The step before the change says how long steps may be if the motion goes on as before. But a dose wakes a system
//! at rest, and an error estimate may be far too small while a term such as `C^3.3` only begins to rise from 0. So if f
//! turns much faster after the change than before it, the next step is chosen as at the start of a run.
//!
//! The equations may also begin a pulse in t: f of `if t > 300 then (t - 300)*exp(-2*(t - 300)) else 0` is 0 at t = 300,
//! and a long step has all of its stages behind the pulse. So f is evaluated at distances that become shorter by a
//! constant ratio, and the next step is at most as long as the shortest one at which f differs more than a smooth
//! function would.

use std::collections::HashMap;

use super::Runner;
use crate::control::first_step;
use crate::evaluator::Evaluator;
use crate::pace::Pace;
use crate::system::System;

/// Smallest change of the state, in tolerances.
const CHANGED: f64 = 1.0;
/// The step is chosen afresh if f now changes by this factor faster, measured in tolerances.
const FASTER: f64 = 8.0;

/// Distances at which a search for pulses evaluates f; each is a quarter of the one before it.
const DISTANCES: usize = 11;
/// Least change of the state by the difference of f over a distance, in tolerances, that a search takes for a pulse.
const PULSE: f64 = 0.1;
/// A smooth function changes the state by a 16th over a quarter of the distance, a constant that ends by a quarter.
const SMOOTH: f64 = 0.5;
/// Searches after instants of one kind that find nothing; then only every so-many-th instant of this kind has one.
const SEARCHES: u32 = 8;
/// See [`SEARCHES`].
const SELDOM: u32 = 16;
/// Kinds of instants that are told apart.
const MAX_KINDS: usize = 4096;

/// Decides how often a run looks for pulses: after most instants of a switched system, there is none.
#[derive(Clone, Debug, Default)]
pub struct PulseSearch {
    /// Instants of each kind since the last one after which a pulse began.
    without: HashMap<u64, u32>,
}

impl PulseSearch {
    /// True if a search is worthwhile after an instant of this kind.
    fn is_due(&mut self, kind: u64) -> bool {
        if self.without.len() >= MAX_KINDS {
            self.without.clear();
        }
        let without = self.without.entry(kind).or_default();
        *without = without.saturating_add(1);
        *without <= SEARCHES || without.is_multiple_of(SELDOM)
    }
}

impl Runner {
    /// Prepares the checks between steps for a run that continues from `y`.
    pub(super) fn begin_again(&mut self, eval: &Evaluator<'_>, t: f64, y: &[f64]) {
        self.run.find_rapid_changes(eval, (t, y), &self.options);
        self.rounding.begin(self.integrator.as_mut(), y);
        self.unknowns_check.resume();
        self.transitions.begin(eval);
    }

    /// Shortens the next step if f has a pulse in t that begins at the current time, after an instant of this kind. Call
    /// this after [`Runner::resume`].
    pub(crate) fn shorten_for_pulse(&mut self, system: &dyn System, kind: u64) {
        let (t, t_end) = (self.integrator.time(), self.run.t_end);
        let Some(h) = self.run.pace.as_ref().and_then(Pace::proposed) else { return };
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        if !eval.autonomous() && self.run.pulses.is_due(kind) {
            let longest = if h.abs() < (t_end - t).abs() { h } else { t_end - t };
            let y = self.integrator.state().to_vec();
            if let Some(shorter) = self.pulse(&mut eval, (t, &y), longest) {
                self.run.pulses.without.remove(&kind);
                if let Some(pace) = &mut self.run.pace {
                    pace.shorten(shorter);
                }
            }
        }
        self.paused = eval.pause();
    }

    /// The shortest distance of at most `longest` at which f differs more than a smooth function of t would.
    fn pulse(&self, eval: &mut Evaluator<'_>, (t, y): (f64, &[f64]), longest: f64) -> Option<f64> {
        let (mut start, mut difference) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        eval.rhs(t, y, &mut start).ok()?;
        let (mut distance, mut farther, mut found) = (longest, f64::INFINITY, None);
        for _ in 0..DISTANCES {
            if t + distance == t {
                break;
            }
            if eval.rhs(t + distance, y, &mut difference).is_ok() {
                difference.iter_mut().zip(&start).for_each(|(f, start)| *f = distance * (*f - start));
                let change = self.tolerances.norm(&difference, y, y);
                if change > PULSE && change > SMOOTH * farther {
                    found = Some(distance);
                }
                farther = change;
            }
            distance *= 0.25;
        }
        found
    }

    /// The rate at which f changed before a change to the state `y`, in tolerances; `None` if the state hardly changes.
    /// Call this before the integrator continues.
    pub(super) fn turning(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Option<f64> {
        let adaptive = self.run.pace.is_some_and(|pace| !pace.is_fixed());
        if !adaptive {
            return None;
        }
        let before = self.integrator.state();
        let mut difference = std::mem::take(&mut self.row);
        let fill = |out: &mut [f64], to: &[f64], from: &[f64]| {
            out.iter_mut().zip(to.iter().zip(from)).for_each(|(out, (to, from))| *out = to - from);
        };
        fill(&mut difference, y, before);
        let turning = if !(self.tolerances.norm(&difference, before, y) > CHANGED) {
            None
        } else if let Some([from, to]) = self.integrator.slopes() {
            fill(&mut difference, to, from);
            Some(self.tolerances.norm(&difference, y, y) / self.run.tried.abs())
        } else {
            let mut kept = std::mem::take(&mut self.first_step_memory.before);
            kept.clear();
            kept.extend_from_slice(before);
            let made = self.probe(eval, &kept);
            self.first_step_memory.before = kept;
            made.map(|_| self.first_step_memory.turning(&self.tolerances, y))
        };
        self.row = difference;
        turning
    }

    /// The length of the next step from the changed state `y`, if it must be chosen afresh. `before` is the result of
    /// [`Runner::turning`].
    pub(super) fn fresh_step(&mut self, eval: &mut Evaluator<'_>, y: &[f64], before: f64) -> Option<f64> {
        let h = self.probe(eval, y)?;
        (self.first_step_memory.turning(&self.tolerances, y) > FASTER * before).then_some(h)
    }

    /// The step that the start of a run would take from `y` at the current time; `None` if f has no value there.
    fn probe(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Option<f64> {
        let (t, order) = (self.integrator.time(), self.integrator.order());
        let span = if self.run.t_end.is_finite() { self.run.t_end - self.run.t0 } else { self.run.tried };
        let memory = &mut self.first_step_memory;
        let h = first_step(eval, &self.tolerances, (t, t + span), y, order, memory).ok()?;
        memory.is_probed().then_some(h)
    }
}
