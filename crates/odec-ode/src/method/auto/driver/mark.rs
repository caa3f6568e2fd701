//! The evidence of `auto` before a step, so that the step can be undone.

use super::{Auto, Side};

/// The state of the driver that an accepted step changes, in addition to that of the integrators. The estimate of the
/// spectral radius is not part of it, because it remains valid after a retreat.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    quick: bool,
    hasty: bool,
    active: Side,
    leg: u64,
    held: f64,
    suspect: bool,
    /// The fields strained, relaxed, failures, calm, look and pause of the driver.
    counts: [u32; 6],
    since: f64,
    before: f64,
    last: f64,
    doubt: [u32; 2],
    /// The course: number of legs, switches, steps.
    known: usize,
    switches: u64,
    steps: [u64; 2],
}

impl Auto {
    /// Records the state before a step.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            quick: self.quick,
            hasty: self.hasty,
            active: self.active,
            leg: self.leg,
            held: self.held,
            suspect: self.suspect,
            counts: [self.strained, self.relaxed, self.failures, self.calm, self.look, self.pause],
            since: self.since,
            before: self.before,
            last: self.last,
            doubt: self.doubt,
            known: self.course.known,
            switches: self.course.switches,
            steps: self.course.steps,
        }
    }

    /// Restores the state before that step.
    pub(super) fn restore(&mut self, mark: Mark) {
        (self.quick, self.hasty, self.active, self.leg) = (mark.quick, mark.hasty, mark.active, mark.leg);
        (self.held, self.suspect) = (mark.held, mark.suspect);
        [self.strained, self.relaxed, self.failures, self.calm, self.look, self.pause] = mark.counts;
        (self.since, self.before, self.last, self.doubt) = (mark.since, mark.before, mark.last, mark.doubt);
        (self.course.known, self.course.switches, self.course.steps) = (mark.known, mark.switches, mark.steps);
    }
}
