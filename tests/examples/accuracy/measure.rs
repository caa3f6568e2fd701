//! Errors of runs at their ends, at the ends of their steps and over rows.

use std::collections::BTreeMap;

use odec_ode::Cause;
use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, SolveError, Stats};

use crate::problem::Problem;
use crate::reference;

/// Number of examined ends of steps per run, and number of all their values.
const ENDS: usize = 400;
const NUMBERS: usize = 10_000;
/// Number of examined ends of steps if rows have much larger errors than [`ENDS`] of them: an error may peak between.
const ALL_ENDS: usize = 20_000;
/// Errors of rows, relative to those at ends of steps, from which on [`ALL_ENDS`] are examined.
const LARGE_RATIO: f64 = 3.0;

/// A run to measure.
#[derive(Clone, Copy)]
pub struct Case {
    /// Method.
    pub method: &'static Method,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance relative to the relative one.
    pub floor: f64,
}

/// Errors in units of the tolerance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    /// Error at the end of the run, relative to the value of each unknown there.
    pub last: f64,
    /// Largest error at ends of steps, relative to the largest value of each unknown in the run.
    pub ends: f64,
    /// Largest error over rows.
    pub rows: f64,
}

/// Result of a run.
pub struct Measured {
    /// Problem, method and tolerance.
    pub case: Case,
    /// Work, and errors unless it failed.
    pub result: Result<(Stats, Errors), String>,
}

/// All runs of a problem.
pub struct Report {
    /// Name of the problem.
    pub problem: String,
    /// Unknowns.
    pub n: usize,
    /// The method that the reference is from.
    pub reference: Result<&'static str, String>,
    /// The largest value of each unknown.
    pub sizes: Option<Vec<f64>>,
    /// The runs.
    pub runs: Vec<Measured>,
}

/// Keeps rows, of many about [`ENDS`].
struct Kept {
    rows: Vec<(f64, Vec<f64>)>,
    most: usize,
    every: usize,
    seen: usize,
}

impl Kept {
    fn new(most: usize) -> Kept {
        Kept { rows: vec![], most, every: 1, seen: 0 }
    }

    fn row(&mut self, t: f64, y: &[f64]) {
        if self.seen.is_multiple_of(self.every) {
            self.rows.push((t, y.to_vec()));
        }
        self.seen += 1;
        if self.rows.len() > 2 * self.most {
            let mut odd = false;
            self.rows.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
        }
    }
}

/// Data of a run.
struct Run {
    case: Case,
    /// Rows, including the end, and ends of steps.
    kept: Result<(Stats, Kept, Kept), String>,
}

/// Text of a failure in one line.
fn brief(error: &SolveError) -> String {
    match error {
        SolveError::Refused(why) => format!("refused: {why:?}"),
        SolveError::Failed(failure) => match failure.cause {
            Cause::TooManySteps { .. } => "too many steps".into(),
            cause => format!("fails at t = {:.3e}: {cause:?}", failure.t),
        },
    }
}

fn run(problem: &Problem, case: Case, most_ends: usize) -> Run {
    let once = |samples: Samples, most: usize| {
        let (mut kept, options) = (Kept::new(most), problem.options(case.rtol, case.floor));
        match problem.run(case.method, options, samples, &mut |t, y| kept.row(t, y)) {
            Ok(stats) => Ok((stats, kept)),
            Err(error) => Err(brief(&error)),
        }
    };
    let kept = once(Samples::Times(problem.times()), usize::MAX / 4).and_then(|(stats, rows)| {
        let (_, ends) = once(Samples::Steps, most_ends)?;
        Ok((stats, rows, ends))
    });
    Run { case, kept }
}

/// Number of examined ends of steps.
fn few_ends(problem: &Problem) -> usize {
    ENDS.min(NUMBERS / problem.n() + 20)
}

/// Distinct times, ascending.
fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// The largest value of each unknown over the rows of the first run that came to its end.
fn sizes(problem: &Problem, runs: &[Run]) -> Option<Vec<f64>> {
    let (_, rows, _) = runs.iter().filter(|r| r.case.rtol < 1e-5).find_map(|r| r.kept.as_ref().ok())?;
    let mut sizes: Vec<f64> = problem.bound().problem.y0.iter().map(|y| y.abs()).collect();
    for (_, y) in &rows.rows {
        sizes.iter_mut().zip(y).for_each(|(size, y)| *size = size.max(y.abs()));
    }
    let largest = sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for size in &mut sizes {
        *size = size.max(1e-30 * largest);
    }
    Some(sizes)
}

/// The solution at the times of rows.
pub fn rows(problem: &Problem, case: Case) -> Result<Vec<(f64, Vec<f64>)>, String> {
    let first = run(problem, case, few_ends(problem));
    first.kept.as_ref().map_err(String::clone)?;
    let sizes = sizes(problem, &[first]).ok_or("no run came to its end")?;
    let times = problem.times();
    let (states, _) = reference::states(problem, &sizes, &times)?;
    Ok(times.into_iter().zip(states).collect())
}

/// Runs all cases and compares them with the solution.
pub fn report(problem: &Problem, cases: &[Case]) -> Report {
    let mut report = compared(problem, cases.iter().map(|case| run(problem, *case, few_ends(problem))).collect(), None);
    let missed = |measured: &Measured| {
        measured.result.as_ref().is_ok_and(|(_, errors)| errors.rows > LARGE_RATIO * errors.ends + 1.0)
    };
    let places: Vec<usize> = (0..report.runs.len()).filter(|k| missed(&report.runs[*k])).collect();
    let sizes = report.sizes.clone();
    for k in places {
        let again = run(problem, report.runs[k].case, ALL_ENDS);
        if let Some(measured) = compared(problem, vec![again], sizes.clone()).runs.pop().filter(|m| m.result.is_ok()) {
            report.runs[k] = measured;
        }
    }
    report
}

/// Compares runs with the solution, relative to these sizes or to those of the runs.
fn compared(problem: &Problem, runs: Vec<Run>, known_sizes: Option<Vec<f64>>) -> Report {
    let mut times = problem.times();
    for (_, rows, ends) in runs.iter().filter_map(|r| r.kept.as_ref().ok()) {
        times.extend(rows.rows.iter().chain(&ends.rows).map(|row| row.0));
    }
    let start = problem.bound().problem.t0;
    let times = sorted(times.into_iter().filter(|t| *t != start).collect());
    let found = known_sizes
        .or_else(|| sizes(problem, &runs))
        .ok_or_else(|| "no run came to its end".to_string())
        .and_then(|sizes| Ok((reference::states(problem, &sizes, &times)?, sizes)));
    let ((states, method), sizes) = match found {
        Ok(found) => found,
        Err(why) => {
            let runs = runs.into_iter().map(|r| Measured { case: r.case, result: Err("no reference".into()) });
            let (name, n, runs) = (problem.name.clone(), problem.n(), runs.collect());
            return Report { problem: name, n, reference: Err(why), sizes: None, runs };
        }
    };
    let known: BTreeMap<u64, &Vec<f64>> = times.iter().map(|t| t.to_bits()).zip(&states).collect();
    let measured = runs.into_iter().map(|r| {
        let options = problem.options(r.case.rtol, r.case.floor);
        let result = r.kept.map(|(stats, rows, ends)| {
            let worst = |kept: &Kept| {
                let one =
                    |(t, y): &(f64, Vec<f64>)| known.get(&t.to_bits()).map_or(0.0, |z| over(y, z, &sizes, &options));
                kept.rows.iter().map(one).fold(0.0, f64::max)
            };
            let last = rows.rows.last().expect("the end of the run");
            let at_end = known[&last.0.to_bits()];
            let errors =
                Errors { last: over(&last.1, at_end, at_end, &options), ends: worst(&ends), rows: worst(&rows) };
            (stats, Errors { ends: errors.ends.max(over(&last.1, at_end, &sizes, &options)), ..errors })
        });
        Measured { case: r.case, result }
    });
    let runs = measured.collect();
    Report { problem: problem.name.clone(), n: problem.n(), reference: Ok(method), sizes: Some(sizes), runs }
}

/// The largest error in units of the tolerance of unknowns of these sizes.
fn over(y: &[f64], z: &[f64], sizes: &[f64], options: &Options) -> f64 {
    let one = |((y, z), size): ((&f64, &f64), &f64)| (y - z).abs() / (options.atol[0] + options.rtol * size.abs());
    y.iter().zip(z).zip(sizes).map(one).fold(0.0, f64::max)
}
