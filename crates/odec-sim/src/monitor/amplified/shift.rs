//! Errors in the direction of the solution. If the equations do not depend on time, such an error is a shift of the
//! solution in time: nothing damps it, and its size follows the slope of the solution. A small shift that a slow phase
//! leaves becomes a large error in the next jump or pulse, and the shifts of all steps add up. Equations that depend on
//! time damp shifts in phases in which they follow time, but a solution that jumps by itself keeps those of the phase
//! before the jump.

use odec_ode::system::System;

use super::growth::{self, Slopes};
use super::probe::ErrorEstimate;
use super::stored_run::At;
use crate::hybrid::Located;
use crate::monitor::Findings;

/// With equations that depend on time, a slope counts as at least this fraction of its mean over the time: such a
/// solution may turn round, and an error there is no shift.
const TURNING_FRACTION: f64 = 0.3;
/// Such a solution jumps if its slope becomes this many times as large as before. On 40 models, it was below 20 with
/// smooth oscillations, and mostly above 30 with relaxation oscillations.
const JUMP_RATIO: f64 = 25.0;

/// The slope of a solution along its run.
pub struct Shift {
    start: f64,
    /// Ends of intervals of equal numbers of steps, and the largest slope of an unknown there in tolerances per time.
    intervals: Vec<(f64, f64)>,
    /// Steps per interval.
    steps: f64,
    /// Least slope for which an error is a shift.
    least: f64,
}

impl Shift {
    /// From the stored ends of steps alone.
    pub fn new(slopes: &Slopes<'_>, findings: &Findings) -> Shift {
        let all = growth::places(slopes.bound, findings);
        let interval = |pair: &[At<'_>]| (pair[1].t, slope(pair[0], pair[1], &slopes.unit));
        let intervals: Vec<(f64, f64)> = all.windows(2).map(interval).collect();
        let steps = findings.steps as f64 / intervals.len().max(1) as f64;
        let start = slopes.bound.problem.t0;
        let mut shift = Shift { start, intervals, steps, least: 0.0 };
        if !slopes.bound.executor.autonomous() {
            shift.least = TURNING_FRACTION * shift.mean();
        }
        shift
    }

    /// The mean of the slope over the time.
    fn mean(&self) -> f64 {
        let (mut before, mut way) = (self.start, 0.0);
        for &(t, slope) in self.intervals.iter().filter(|(_, slope)| slope.is_finite()) {
            way += slope * (t - before).abs();
            before = t;
        }
        let time = (before - self.start).abs();
        if time > 0.0 { way / time } else { 0.0 }
    }

    /// The largest slope relative to the smallest one before it.
    pub fn faster(&self) -> f64 {
        self.ratio(0.0)
    }

    /// True if an error may be a shift of the solution in time that becomes larger.
    pub fn lasts(&self) -> bool {
        self.least == 0.0 || self.ratio(self.least) >= JUMP_RATIO
    }

    fn ratio(&self, least: f64) -> f64 {
        let (mut slowest, mut faster) = (f64::INFINITY, 0.0f64);
        for slope in self.valid().map(|(_, (_, slope))| slope.max(least)) {
            faster = faster.max(slope / slowest);
            slowest = slowest.min(slope);
        }
        faster
    }

    /// The largest error of the run in tolerances, if each step makes an error of one tolerance in the direction of the
    /// solution.
    pub fn of_equal(&self) -> f64 {
        self.course(|_| 1.0).last().map_or(0.0, |point| point.1)
    }

    /// Times, and the largest error up to there in tolerances, if each step has the error of the closest measured one.
    pub fn of(&self, errors: &[ErrorEstimate<'_>]) -> Vec<(f64, f64)> {
        self.course(|interval| {
            let middle = (interval as f64 + 0.5) * self.steps;
            let distance = |error: &ErrorEstimate<'_>| (error.number as f64 - middle).abs();
            errors.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).map_or(0.0, |error| error.along)
        })
    }

    fn course(&self, error: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        let (mut shift, mut largest) = (0.0, 0.0f64);
        let mut points = vec![(self.start, 0.0)];
        for (interval, (t, slope)) in self.valid() {
            largest = largest.max(shift * slope);
            shift += error(interval) * self.steps / slope.max(self.least);
            points.push((t, largest));
        }
        points
    }

    /// Intervals in which the solution moves: number, end and slope.
    fn valid(&self) -> impl Iterator<Item = (usize, (f64, f64))> {
        let all = self.intervals.iter().copied().enumerate();
        all.filter(|(_, (_, slope))| *slope > 0.0 && slope.is_finite())
    }
}

/// True if the solution may be shifted: no event changes states.
pub fn is_possible(slopes: &Slopes<'_>) -> bool {
    !slopes.bound.located.as_ref().is_some_and(Located::moves_states)
}

/// The largest change of an unknown between two points, in tolerances per time.
fn slope(from: At<'_>, to: At<'_>, unit: &[f64]) -> f64 {
    let changes = from.y.iter().zip(to.y).zip(unit).map(|((y, next), unit)| (next - y).abs() / unit);
    changes.fold(0.0, f64::max) / (to.t - from.t).abs()
}
