//! The cost of solving a model, for each method and tolerance: time of the solution, counts, and the error. The host
//! supplies the clock.

use std::ops::ControlFlow;

use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, Sink, SolveError, Stats};
use odec_ode::{Runner, Stop};

use crate::bind::Bound;
use crate::compare::{self, End, Measurement};
use crate::reference::{Reference, Unfinished, accurate, even_times};
use crate::work::{Watch, at_tolerance};

/// Default methods: the default of a run, and the fast methods of each family.
pub const DEFAULT: [&str; 7] = ["auto", "rodas4", "rodas5p", "radau5", "bdf", "tsit5", "vern7"];
/// Default relative tolerances.
pub const RTOLS: [f64; 3] = [1e-4, 1e-6, 1e-8];
/// Repetitions of a run end after this many seconds, even if more were requested.
pub const LONGEST: f64 = 10.0;
/// Number of times at which errors are measured.
const TIMES: usize = 100;
/// Default limit on the steps of a run; a method that needs more is unsuitable.
const BUDGET: u64 = 1_000_000;

/// The measurements to be made.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// The methods.
    pub methods: Vec<&'static Method>,
    /// Relative tolerances; the absolute ones change in proportion.
    pub rtols: Vec<f64>,
    /// Number of runs of each; fewer if they take longer than [`LONGEST`] in total.
    pub repeat: usize,
    /// Limit on the steps of one run.
    pub budget: Option<u64>,
}

/// The cost of one method at one tolerance.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The method.
    pub method: &'static Method,
    /// The relative tolerance.
    pub rtol: f64,
    /// How its run ended.
    pub end: End,
    /// Largest error at the times of comparison; see [`crate::reference::error`]. Infinite if there is no result.
    pub error: f64,
    /// Seconds of each run, the shortest first; empty if the end was not reached.
    pub seconds: Vec<f64>,
    /// Counts of one run.
    pub stats: Stats,
}

impl Cost {
    /// Seconds of the shortest run.
    pub fn minimum(&self) -> Option<f64> {
        self.seconds.first().copied()
    }

    /// Seconds of the median run.
    pub fn median(&self) -> Option<f64> {
        self.seconds.get(self.seconds.len() / 2).copied()
    }
}

/// An observer that only stops on request.
struct StopOnRequest<'a>(&'a dyn Fn() -> bool);

impl Sink for StopOnRequest<'_> {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.0)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Measures every method at every tolerance, compiled beforehand, against an accurate run.
///
/// # Errors
/// The model cannot be solved accurately; an interrupt.
pub fn costs(bound: &Bound, schedule: &Measurements, watch: Watch<'_>) -> Result<(Reference, Vec<Cost>), Unfinished> {
    let reference = accurate(bound, &even_times(bound, TIMES), watch.stop)?;
    compare::warm(bound);
    let max_steps = schedule.budget.unwrap_or(BUDGET);
    let mut costs = vec![];
    for &method in &schedule.methods {
        for &rtol in &schedule.rtols {
            let options = Options { fixed: false, step: None, max_steps, ..at_tolerance(&bound.options, rtol) };
            costs.push(cost(bound, method, &options, schedule.repeat, &reference, watch)?);
        }
    }
    Ok((reference, costs))
}

fn cost(
    bound: &Bound,
    method: &'static Method,
    options: &Options,
    repeat: usize,
    reference: &Reference,
    Watch { clock, stop }: Watch<'_>,
) -> Result<Cost, Unfinished> {
    let Measurement { end, error, stats, .. } = compare::measure(bound, method, options, reference, stop)?;
    let mut seconds = vec![];
    if matches!(end, End::Reached) {
        let samples = Samples::Times(vec![bound.problem.t_end]);
        let mut runner = Runner::new(&bound.executor, method, options)
            .map_err(|refusal| Unfinished::Failed(SolveError::Refused(refusal)))?;
        let begin = clock();
        while seconds.len() < repeat && clock() - begin < LONGEST {
            let start = clock();
            let result = runner.run(&bound.executor, &bound.problem, &samples, &mut StopOnRequest(stop));
            seconds.push(clock() - start);
            match result {
                Ok(outcome) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
                Ok(_) => {}
                Err(why) => return Err(Unfinished::Failed(why)),
            }
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Cost { method, rtol: options.rtol, end, error, seconds, stats })
}
