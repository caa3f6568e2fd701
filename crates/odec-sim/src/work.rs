//! Compares methods on one model: the cost and accuracy of each, at one setting and along a work-precision curve. The
//! host supplies the clock.

use odec_ode::method::{self, Method};
use odec_ode::problem::Options;

use crate::bind::Bound;
use crate::compare::{self, End, Measurement};
use crate::memory::MemoryEstimate;
use crate::reference::{Reference, Unfinished, accurate, even_times};

/// Default methods: some of each family.
pub const DEFAULT: [&str; 9] =
    ["euler", "rk4", "dopri5", "backward-euler", "trapezoidal", "rodas4", "radau5", "bdf2", "bdf"];
/// The name that stands for all methods in a list.
pub const ALL: &str = "all";
/// Number of times at which errors are measured; with constant steps they are ends of steps.
const TIMES: usize = 100;
/// Number of sets of rows in memory at a time: two accurate runs, the best one so far, and the measured run.
const KEPT: u64 = 4;
/// The longest steps divide the run into at least this many.
const COARSEST: f64 = 5.0;
/// Short runs are repeated for this many seconds, longer ones this many times if the time permits; the shortest time
/// counts.
const REPEAT: f64 = 0.02;
const REPEATS: u32 = 3;
const TOO_LONG: f64 = 0.5;
/// Errors below this multiple of the error of the reference are left out.
const ABOVE_REFERENCE: f64 = 2.0;
/// Settings along the curves: factors on the relative tolerance, and on the step size.
const TOLERANCES: [f64; 8] = [1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5];
const STEPS: [f64; 8] = [4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125];
/// Smallest relative tolerance of methods of order 1: smaller ones would take too long.
const LOW_ORDER: f64 = 1e-8;
/// Range of the tolerances.
const TOLERANCE: (f64, f64) = (1e-12, 0.05);
/// Largest number of steps of a run of a curve; runs with more are left out.
const BUDGET: u64 = 300_000;
/// Larger errors are left out.
const LARGEST: f64 = 10.0;

/// The functions that the host supplies for a measurement.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Seconds since an arbitrary moment.
    pub clock: &'a dyn Fn() -> f64,
    /// True to end the measurement.
    pub stop: &'a dyn Fn() -> bool,
}

/// A method at the requested setting.
#[derive(Clone, Debug)]
pub struct MeasuredMethod {
    /// The method.
    pub method: &'static Method,
    /// The measurement of its run.
    pub measured: Measurement,
    /// Seconds of its fastest run.
    pub seconds: f64,
}

/// A run of a work-precision curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkPoint {
    /// Largest error.
    pub error: f64,
    /// Seconds of the fastest run.
    pub seconds: f64,
    /// Evaluations of f.
    pub rhs: u64,
    /// Steps, including rejected ones.
    pub steps: u64,
}

/// A comparison of methods.
pub struct Comparison<'a> {
    bound: &'a Bound,
    watch: Watch<'a>,
    /// The requested setting.
    pub options: Options,
    /// The accurate run that errors are measured against.
    pub reference: Reference,
    /// One for each method.
    pub rows: Vec<MeasuredMethod>,
}

/// The memory of a measurement of a model: a run, and the compared rows.
pub fn need(bound: &Bound) -> MemoryEstimate {
    MemoryEstimate::of_run(bound).keeping(KEPT * TIMES as u64, bound.problem.y0.len() as u64)
}

/// The methods of a list of names, of [`ALL`], or of none.
///
/// # Errors
/// A name of no method.
pub fn methods(names: &[&str]) -> Result<Vec<&'static Method>, odec_lang::diagnostic::Diagnostic> {
    match names {
        [] => crate::choose::named(&DEFAULT),
        [ALL] => Ok(method::table().to_vec()),
        _ => crate::choose::named(names),
    }
}

impl<'a> Comparison<'a> {
    /// Measures methods at the setting of a bound model. If another relative tolerance is given, the absolute ones
    /// change in proportion.
    ///
    /// # Errors
    /// The model cannot be solved accurately, or the user interrupts.
    pub fn new(
        bound: &'a Bound,
        methods: &[&'static Method],
        rtol: Option<f64>,
        watch: Watch<'a>,
    ) -> Result<Comparison<'a>, Unfinished> {
        let options = match rtol {
            Some(rtol) => at_tolerance(&bound.options, rtol),
            None => bound.options.clone(),
        };
        let times = times(bound, &settings(bound, &options));
        let reference = accurate(bound, &times, watch.stop)?;
        compare::warm(bound);
        let mut comparison = Comparison { bound, watch, options, reference, rows: vec![] };
        for &method in methods {
            let (measured, seconds) = comparison.timed(method, &comparison.options)?;
            comparison.rows.push(MeasuredMethod { method, measured, seconds });
        }
        Ok(comparison)
    }

    /// Error and work of each method that accepts the model, over a range of tolerances or steps, the coarsest first.
    ///
    /// # Errors
    /// An interrupt.
    pub fn curves(&self) -> Result<Vec<(&'static str, Vec<WorkPoint>)>, Unfinished> {
        let settings = settings(self.bound, &self.options);
        let mut curves = vec![];
        for row in self.rows.iter().filter(|row| !matches!(row.measured.end, End::Refused(_))) {
            let low = |options: &Options| !options.fixed && row.method.order <= 1 && options.rtol < LOW_ORDER;
            let mut points = vec![];
            for options in settings.iter().filter(|options| !low(options)) {
                let (m, seconds) = self.timed(row.method, options)?;
                let known = m.error > ABOVE_REFERENCE * self.reference.error;
                if known && m.error < LARGEST && matches!(m.end, End::Reached) {
                    points.push(WorkPoint { error: m.error, seconds, rhs: m.stats.rhs, steps: m.stats.steps() });
                }
            }
            curves.push((row.method.name, points));
        }
        Ok(curves)
    }

    /// A measurement and its seconds.
    fn timed(&self, method: &'static Method, options: &Options) -> Result<(Measurement, f64), Unfinished> {
        let Watch { clock, stop } = self.watch;
        let begin = clock();
        let mut best = f64::INFINITY;
        let mut repeats = 0;
        loop {
            let start = clock();
            let measured = compare::measure(self.bound, method, options, &self.reference, stop)?;
            let end = clock();
            best = best.min(end - start);
            repeats += 1;
            let long = end - begin;
            if (long > REPEAT && repeats >= REPEATS) || long > TOO_LONG || matches!(measured.end, End::Refused(_)) {
                return Ok((measured, best));
            }
        }
    }
}

/// The options for the points of a curve, the coarsest first.
fn settings(bound: &Bound, own: &Options) -> Vec<Options> {
    if let Some(h) = own.step.filter(|_| own.fixed) {
        let span = (bound.problem.t_end - bound.problem.t0).abs();
        let fits = |s: &f64| *s <= h || span / s >= COARSEST;
        let steps = STEPS.iter().map(|f| f * h).filter(fits).filter(|s| span / s < BUDGET as f64);
        return steps.map(|h| Options { step: Some(h), ..own.clone() }).collect();
    }
    let list = TOLERANCES.iter().map(|f| f * own.rtol).filter(|r| *r >= TOLERANCE.0 && *r <= TOLERANCE.1);
    list.map(|rtol| Options { max_steps: BUDGET, ..at_tolerance(own, rtol) }).collect()
}

/// The options at another relative tolerance, with proportional absolute tolerances.
pub(crate) fn at_tolerance(own: &Options, rtol: f64) -> Options {
    Options { rtol, atol: own.atol.iter().map(|a| a * (rtol / own.rtol)).collect(), ..own.clone() }
}

/// Times at which errors are measured: if constant steps are compared, these are ends of steps for all step sizes.
fn times(bound: &Bound, settings: &[Options]) -> Vec<f64> {
    let longest = settings.first().filter(|o| o.fixed).and_then(|o| o.step);
    let Some(h) = longest else { return even_times(bound, TIMES) };
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    let h = h.copysign(t_end - t0);
    let whole = ((t_end - t0) / h * (1.0 + 1e-9)).floor() as usize;
    let every = whole.div_ceil(TIMES).max(1);
    let mut times: Vec<f64> = (1..=whole / every).map(|k| t0 + (k * every) as f64 * h).collect();
    // the last step may be shorter than the others, or end there up to rounding
    times.retain(|t| (t_end - t) / h > 1e-6);
    times.push(t_end);
    times
}
