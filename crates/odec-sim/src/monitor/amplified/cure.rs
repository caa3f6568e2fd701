//! A smaller tolerance with which rows are right although errors grow as large as the states: two further runs must agree.

use std::ops::ControlFlow;

use odec_ode::problem::Samples;

use super::TIGHTEST_RTOL;
use super::second::{SecondRun, missed_tolerances, places};
use super::tighter::{step_limit, tighter};
use super::writes::WrittenErrors;
use crate::bind::Bound;
use crate::monitor::report::{CheckedRun, power_below};
use crate::sample::{self, Recorder};

/// The tolerance of the first of the two runs as a part of that of the run. In chaos, it only delays the errors.
const PART: f64 = 1e-3;
/// The same of the second one, relative to the first.
const CHECKED_BY: f64 = 0.1;

/// Keeps the rows of a run.
struct Rows<'a> {
    rows: Vec<Vec<f64>>,
    stop: &'a dyn Fn() -> bool,
}

impl Recorder for Rows<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.rows.push(values.to_vec());
        ControlFlow::Continue(())
    }

    fn watched(&self) -> bool {
        false
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The relative tolerance that helps, a power of ten: a run with about [`PART`] of the tolerance, if all its rows agree
/// with those of a run with a tenth of that, within what the tolerance of this run allows. `None` if they do not agree,
/// or do not reach the end. And the runs.
pub fn found(checked: &CheckedRun<'_>, written: &WrittenErrors) -> (Option<f64>, Vec<SecondRun>) {
    let CheckedRun { bound, findings, .. } = checked;
    let rtol = power_below(PART * bound.options.rtol).max(TIGHTEST_RTOL / CHECKED_BY);
    if rtol >= bound.options.rtol {
        return (None, vec![]);
    }
    let times: Vec<f64> = findings.stored_run.full_rows().map(|row| row.at.t).collect();
    let mut made = Vec::new();
    let mut rows = Vec::new();
    for rtol in [rtol, CHECKED_BY * rtol] {
        let mut other = tighter(bound, findings, true, rtol / bound.options.rtol);
        if !made.is_empty() {
            written.change_last_digits(&mut other);
        }
        other.samples = Samples::Times(times.clone());
        other.options.max_steps = step_limit(bound, findings.steps);
        let mut kept = Rows { rows: vec![], stop: checked.stop };
        let (result, _) = sample::solve(&other, &mut kept);
        made.push(SecondRun::of(&other, &result));
        if !matches!(&result, Ok(outcome) if outcome.t == bound.problem.t_end) || kept.rows.len() != times.len() {
            return (None, made);
        }
        rows.push((kept.rows, places(&other.columns)));
    }
    let [(first, columns), (second, _)] = &rows[..] else { return (None, made) };
    (agree(bound, columns, first, second).then_some(rtol), made)
}

/// True if the states of two runs differ by no more than the tolerance of `bound` allows.
fn agree(bound: &Bound, columns: &[(usize, usize)], first: &[Vec<f64>], second: &[Vec<f64>]) -> bool {
    columns.iter().all(|&(column, place)| {
        let mut size = 0.0f64;
        first.iter().zip(second).all(|(a, b)| {
            size = size.max(b[column].abs());
            let tolerance = bound.atol(place) + bound.options.rtol * size;
            (a[column] - b[column]).abs() <= missed_tolerances(bound) * tolerance
        })
    })
}
