//! A progress bar with simulated time and remaining time, for runs that take longer than a moment.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::rows::shortest;

/// A run shorter than this shows no bar.
const MOMENT: Duration = Duration::from_millis(500);
/// Time between two drawings.
const REFRESH: Duration = Duration::from_millis(100);
/// Length of the bar in its own units.
const UNITS: u64 = 10_000;
/// Longest remaining time that is shown, in seconds: a year.
const LONGEST: f64 = 3.2e7;
/// Number of steps between two readings of the clock.
const CLOCK_INTERVAL: u32 = 16;

/// The bar, or nothing if standard error is not a terminal.
pub struct Progress {
    bar: Option<ProgressBar>,
    wanted: bool,
    started: Instant,
    drawn: Instant,
    steps: u32,
    t0: f64,
    t_end: f64,
    /// First sample after the start, if samples are logarithmic: progress is then logarithmic too.
    first: Option<f64>,
}

impl Progress {
    /// For a run over `t0..t_end`; `wanted` is false if standard error is not a terminal, or rows go to one.
    pub fn new(wanted: bool, t0: f64, t_end: f64, first: Option<f64>) -> Progress {
        let now = Instant::now();
        Progress { bar: None, wanted, started: now, drawn: now, steps: 0, t0, t_end, first }
    }

    /// Updates the bar after a step that reached `t`.
    pub fn step(&mut self, t: f64) {
        if !self.wanted {
            return;
        }
        self.steps = self.steps.wrapping_add(1);
        if !self.steps.is_multiple_of(CLOCK_INTERVAL) || self.drawn.elapsed() < REFRESH {
            return;
        }
        self.drawn = Instant::now();
        if self.bar.is_none() {
            if self.started.elapsed() < MOMENT {
                return;
            }
            self.bar = Some(bar());
        }
        if let Some(bar) = &self.bar {
            let fraction = self.fraction(t);
            let digits = format!("{t:.3e}").parse().unwrap_or(t);
            let left = self.started.elapsed().as_secs_f64() * (1.0 - fraction) / fraction.max(1e-9);
            let left = HumanDuration(Duration::from_secs_f64(left.clamp(0.0, LONGEST)));
            let (percent, end) = ((100.0 * fraction).floor(), shortest(self.t_end));
            bar.set_message(format!("{percent:>3} %  t = {} of {end}, {left:#} left", shortest(digits)));
            bar.set_position((fraction * UNITS as f64) as u64);
        }
    }

    fn fraction(&self, t: f64) -> f64 {
        let (done, all) = ((t - self.t0).abs(), (self.t_end - self.t0).abs());
        let fraction = match self.first {
            Some(first) if first > 0.0 && all > first => (done / first).max(1.0).ln() / (all / first).ln(),
            _ => done / all,
        };
        if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Hides the bar while `write` writes to standard error.
    pub fn suspend(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.wanted = false;
    }
}

/// A bar of finished runs.
pub struct Runs {
    bar: Option<ProgressBar>,
    wanted: bool,
    started: Instant,
    all: u64,
}

impl Runs {
    /// For a sweep of `all` runs; `wanted` as in [`Progress::new`].
    pub fn new(wanted: bool, all: u64) -> Runs {
        Runs { bar: None, wanted, started: Instant::now(), all }
    }

    /// Updates the number of finished runs.
    pub fn done(&mut self, done: u64) {
        if !self.wanted || (self.bar.is_none() && self.started.elapsed() < MOMENT) {
            return;
        }
        let bar = self.bar.get_or_insert_with(bar);
        let fraction = done as f64 / self.all.max(1) as f64;
        let left = self.started.elapsed().as_secs_f64() * (1.0 - fraction) / fraction.max(1e-9);
        let left = HumanDuration(Duration::from_secs_f64(left.clamp(0.0, LONGEST)));
        bar.set_message(format!("{done} of {} runs, {left:#} left", self.all));
        bar.set_position((fraction * UNITS as f64) as u64);
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.wanted = false;
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(UNITS), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:32.cyan} {msg}") {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}
