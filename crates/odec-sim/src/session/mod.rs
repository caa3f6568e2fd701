//! The interface for programs that embed odec: it takes text or a model, and returns runs. Nothing here opens a file,
//! reads the clock or the environment, or writes to a terminal; the host supplies these resources.
//!
//! ```text
//! Session ── load ──▶ Loaded ── simulate ──▶ Simulation ─┬─ run, solve, sweep ──▶ rows
//! (files, clock)      (checked)              (compiled,   └─ stepper ──▶ Stepper (step by step, values set from outside)
//!                                             bound)
//! ```
//!
//! A [`Loaded`] and a [`Simulation`] never change and can be shared between threads.

mod error;
pub(crate) mod header;
mod load;
mod parts;
pub mod samples;
mod simulation;
mod solution;
mod stepper;
pub mod tables;

pub use crate::monitor::amplified::SecondRun;
pub use error::Error;
pub use load::{Loaded, Session};
pub use parts::{folder_of, joined};
pub use simulation::{Judgement, Simulation, Solved};
pub use solution::Solution;
pub use stepper::{Occurrence, Stepper};
pub use tables::{Files, NoFiles, Opened, Unreadable};

/// The host's clock: nanoseconds since an arbitrary moment.
pub type Clock = fn() -> u64;

/// The seconds that each stage took; zeros if the host has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Text to tree.
    pub parse: f64,
    /// Tree to checked model.
    pub check: f64,
    /// Model to kernels with derivatives.
    pub derive: f64,
    /// Kernels to machine code, which does not depend on extents.
    pub compile: f64,
    /// Positions, patterns and initial values at the extents.
    pub bind: f64,
}

/// Measures laps with a clock, if there is one.
struct Stopwatch {
    clock: Option<Clock>,
    last: u64,
}

impl Stopwatch {
    fn new(clock: Option<Clock>) -> Stopwatch {
        Stopwatch { clock, last: clock.map_or(0, |now| now()) }
    }

    /// Seconds since the last call.
    fn lap(&mut self) -> f64 {
        let Some(now) = self.clock.map(|now| now()) else { return 0.0 };
        let seconds = now.saturating_sub(self.last) as f64 * 1e-9;
        self.last = now;
        seconds
    }
}
