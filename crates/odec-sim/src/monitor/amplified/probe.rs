//! Measures the errors of the steps in some intervals of a run: integrates each interval between two stored ends of steps again
//! with a smaller tolerance. It starts from the state of the run, so it shows only the errors of the steps in the interval.

use std::ops::ControlFlow;

use nalgebra::DVector;
use odec_ode::problem::Samples;

use crate::bind::Bound;
use crate::monitor::Findings;
use crate::sample::{self, Recorder};

use super::course::At;
use super::growth::Slopes;
use super::second;
use super::sum::pass;

/// Number of intervals that are integrated again.
const STRETCHES: usize = 8;
/// Steps for such an interval, beyond those that the run took.
const MORE: u64 = 100;

/// The mean error of the intervals, divided by the error if each of their steps had an error of one tolerance. `None` if it
/// cannot be measured: with modes and events, which differ from those at the start, and if an interval has no solution.
pub fn share(bound: &Bound, findings: &Findings) -> Option<f64> {
    let all: Vec<At<'_>> = findings.course.steps().collect();
    if bound.located.is_some() || all.len() < 2 * STRETCHES {
        return None;
    }
    let steps = findings.steps as f64 / all.len() as f64;
    let slopes = Slopes::new(bound, findings);
    let mut other = second::tighter(bound);
    other.options.max_steps = MORE + 4 * steps as u64;
    let places = second::places(&other.columns);
    let n = bound.problem.y0.len();
    let mut share = 0.0;
    for k in 0..STRETCHES {
        let place = (2 * k + 1) * (all.len() - 1) / (2 * STRETCHES);
        let (from, to) = (all[place], all[place + 1]);
        let h = to.t - from.t;
        let new = DVector::from_vec(slopes.seed(from)).abs() * steps;
        let made = pass(&slopes.at(from)?, &slopes.at(to)?, h, &DVector::zeros(n), new)?;
        other.problem.t0 = from.t;
        other.problem.y0.copy_from_slice(from.y);
        other.problem.t_end = to.t;
        other.options.step = Some(h.abs() / steps);
        other.samples = Samples::Times(vec![to.t]);
        let mut end = End { values: vec![f64::NAN; other.columns.len()] };
        sample::solve(&other, &mut end).0.ok()?;
        let off = |(column, place): (usize, usize)| (end.values[column] - to.y[place]).abs() / slopes.unit[place];
        let error = places.iter().map(|place| off(*place)).fold(0.0, f64::max);
        share += error / made.amax() / STRETCHES as f64;
    }
    share.is_finite().then_some(share)
}

/// The last row.
struct End {
    values: Vec<f64>,
}

impl Recorder for End {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.values = values.to_vec();
        ControlFlow::Continue(())
    }
}
