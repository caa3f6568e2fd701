//! Length of the measurement: the number of runs, and the time above which a run is not repeated.

use std::time::Instant;

use crate::curve::{Curve, Point};
use crate::problem::Problem;

/// Budgets of the command.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds in which all methods of a problem are measured; the fastest run of all rounds counts. The speed of a
    /// shared machine changes within seconds, and each method then meets its fast phases.
    pub rounds: usize,
    /// Seconds of a round after which no other round follows: long runs meet fast phases of the machine anyway.
    pub round: f64,
    /// Runs of each point in a round.
    pub runs: usize,
    /// Least number of runs in a round, even if they are slow.
    pub least: usize,
    /// Seconds per point and round after which only the least number of runs is made.
    pub point: f64,
    /// Seconds per curve after which no tolerance is added.
    pub curve: f64,
    /// Every second tolerance only.
    pub sparse: bool,
    /// Trajectories of an ensemble.
    pub trajectories: usize,
}

/// The full measurement.
pub const FULL: Plan =
    Plan { rounds: 3, round: 15.0, runs: 20, least: 2, point: 0.08, curve: 30.0, sparse: false, trajectories: 10_000 };
/// The quick measurement: every second tolerance, few runs.
pub const QUICK: Plan =
    Plan { rounds: 2, round: 5.0, runs: 8, least: 1, point: 0.015, curve: 4.0, sparse: true, trajectories: 1_000 };

/// Counters of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Accepted steps.
    pub steps: u64,
    /// Evaluations of f.
    pub f: u64,
}

impl Plan {
    /// The tolerances of a problem.
    pub fn tolerances(&self, problem: &Problem) -> Vec<f64> {
        let step = if self.sparse { 2 } else { 1 };
        (problem.digits.0..=problem.digits.1).step_by(step).map(|k| 10f64.powi(-k)).collect()
    }

    /// Measures one method at all tolerances: `solve` makes one run at a tolerance and returns the end in the order
    /// of the reference. Only `solve` is timed.
    pub fn curve(
        &self,
        problem: &Problem,
        peer: &'static str,
        method: &str,
        mut solve: impl FnMut(f64, &mut [f64]) -> Result<Counts, String>,
    ) -> Curve {
        let mut curve = Curve { peer, method: method.to_string(), points: vec![], missing: None };
        let clock = Instant::now();
        let mut end = problem.start.clone();
        for rtol in self.tolerances(problem) {
            let mut times = vec![];
            let mut counts = Counts::default();
            let mut spent = 0.0;
            let mut failed = None;
            while times.len() < self.least || (times.len() < self.runs && spent < self.point) {
                // a run that uses the whole budget is not repeated
                if spent > 4.0 * self.point + 0.5 * self.curve {
                    break;
                }
                end.copy_from_slice(&problem.start);
                let start = Instant::now();
                let result = solve(rtol, &mut end);
                let seconds = start.elapsed().as_secs_f64();
                match result {
                    Ok(found) => counts = found,
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                }
                spent += seconds;
                times.push(1e3 * seconds);
            }
            if let Some(why) = failed {
                curve.missing.get_or_insert(format!("rtol {rtol:.0e}: {why}"));
                continue;
            }
            let runs = times.len();
            times.sort_by(f64::total_cmp);
            let error = problem.error(&end);
            if !error.is_finite() {
                curve.missing.get_or_insert(format!("rtol {rtol:.0e}: no finite end"));
                continue;
            }
            let (minimum, median) = (times[0], times[runs / 2]);
            curve.points.push(Point { rtol, error, minimum, median, runs, steps: counts.steps, f: counts.f });
            if clock.elapsed().as_secs_f64() > self.curve {
                curve.missing.get_or_insert(format!("tolerances below {rtol:.0e} left out: too slow"));
                break;
            }
        }
        eprintln!("  {}, {}: {:.1} s", problem.id, curve.label(), clock.elapsed().as_secs_f64());
        curve
    }
}
