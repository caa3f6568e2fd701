//! The course of errors along a run, and where it leads.

use super::stored_run::StoredRow;
use crate::bind::Bound;
use crate::monitor::Findings;

/// Power of t above which growth counts as exponential.
pub const EXPONENTIAL_POWER: f64 = 4.0;
/// The same where errors are still small: phase errors grow with the square, and what grows faster may go on to do so.
const DOUBTFUL_POWER: f64 = 2.3;

/// Steps of a run from which on their errors may matter if a state grows much afterwards.
const STEPS_BEFORE_SWELL: u64 = 1_000;
/// Number of parts of a run whose sizes are compared, and the ratio of two sizes that counts as a swell: more than that of
/// a state that grows at a constant rate.
const WINDOWS: usize = 50;
const SWELL: f64 = 60.0;

/// Times of rows, with the errors there in tolerances.
#[derive(Default)]
pub struct Course {
    /// The rows so far.
    pub rows: Vec<(f64, f64)>,
    /// Their number at which they are looked at again, so that all looks together cost little.
    next: usize,
}

impl Course {
    /// True if the errors lead to less than `most` tolerances at the end of a run; false until enough rows are new.
    pub fn ends_below(&mut self, most: f64, run: (f64, f64)) -> bool {
        if self.rows.len() < self.next {
            return false;
        }
        self.next = self.rows.len() + self.rows.len() / 10;
        trend(&self.rows, run, DOUBTFUL_POWER) < most
    }
}

/// True if a state of these rows becomes much larger again after it was small, as in beats: what makes it grow makes its
/// error grow, each time anew.
pub fn swells(rows: &[StoredRow<'_>], n: usize) -> bool {
    let mut least = vec![f64::INFINITY; n];
    rows.chunks((rows.len() / WINDOWS).max(1)).any(|window| {
        least.iter_mut().enumerate().any(|(place, least)| {
            let size = window.iter().map(|row| row.at.y[place].abs()).fold(0.0, f64::max);
            *least = least.min(size);
            size > SWELL * *least
        })
    })
}

/// True if a state of a model that depends on time may grow in few steps after many: the prediction does not see that.
pub fn swells_late(bound: &Bound, findings: &Findings) -> bool {
    let rows = || findings.stored_run.full_rows().collect::<Vec<_>>();
    let long = findings.steps >= STEPS_BEFORE_SWELL && !bound.executor.is_autonomous();
    long && swells(&rows(), bound.problem.y0.len())
}

/// Extrapolates the error to the end of a run from its course: times, and errors in tolerances. Growth above this power
/// of t counts as exponential.
pub fn trend(behind: &[(f64, f64)], (start, end): (f64, f64), exponential: f64) -> f64 {
    let (Some(first), Some(last)) = (behind.first(), behind.last()) else { return 0.0 };
    let largest = |of: &[(f64, f64)]| of.iter().fold(0.0f64, |most, row| most.max(row.1));
    let middle = f64::midpoint(first.0, last.0);
    let (early, late) = behind.split_at(behind.partition_point(|row| (row.0 - start).abs() <= (middle - start).abs()));
    let most = largest(behind);
    if last.0 == end {
        return most;
    }
    let growth = if late.is_empty() { 1.0 } else { largest(late) / largest(early) };
    let (before, now, then) = ((middle - start).abs(), (last.0 - start).abs(), (end - start).abs());
    // two rows cannot distinguish growth from errors that add up
    let power = if growth > 1.0 { growth.ln() / (now / before).ln() } else { 0.0 };
    if power > exponential {
        return most * (growth.ln() / (now - before) * (then - now)).exp();
    }
    most * (then / now).powf(power)
}

#[cfg(test)]
mod tests {
    use super::{EXPONENTIAL_POWER, trend};

    #[test]
    fn the_error_at_the_end_follows_its_course() {
        let rows = |error: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
            (20..=40).map(f64::from).map(|t| (t, error(t))).collect()
        };
        let near = |found: f64, exact: f64| assert!((found / exact).ln().abs() < 0.3, "{found} {exact}");
        near(trend(&rows(&|t| 0.5 * t), (0.0, 400.0), EXPONENTIAL_POWER), 200.0);
        near(trend(&rows(&|t| 0.03 * t * t), (0.0, 400.0), EXPONENTIAL_POWER), 4800.0);
        near(trend(&rows(&|t| (0.5 * (t - 15.0)).exp()), (0.0, 60.0), EXPONENTIAL_POWER), 22.5f64.exp());
        // backward time, constant errors, and the end itself
        let back: Vec<_> = rows(&|t| 0.5 * t).into_iter().map(|(t, error)| (-t, error)).collect();
        near(trend(&back, (0.0, -400.0), EXPONENTIAL_POWER), 200.0);
        near(trend(&rows(&|_| 17.0), (0.0, 400.0), EXPONENTIAL_POWER), 17.0);
        near(trend(&rows(&|t| t), (0.0, 40.0), EXPONENTIAL_POWER), 40.0);
        near(trend(&[(1.0, 30.0)], (0.0, 400.0), EXPONENTIAL_POWER), 30.0);
    }
}
