//! Runs a model: binds parameters, chooses executor and method, samples, finds the source of a failure.
//!
//! [`session`] is the entry point: [`Session`] loads a text or takes a model, [`Loaded::simulate`] compiles and binds
//! it, [`Simulation`] runs it. Behind it: [`bind::RunPlan::new`] (what the run block and the caller say),
//! `odec_lang::lower` (kernels), [`bind::RunPlan::bind`] (machine code, initial values, options), [`sample::solve`]
//! (rows). No step touches files, clock or terminal.

pub mod adjoint;
pub mod bind;
pub mod blame;
mod bound;
mod bytecode;
pub mod choices;
pub mod choose;
pub mod columns;
pub mod compare;
pub mod contour;
pub mod convergence;
pub mod derivatives;
pub mod elimination;
mod event_changes;
pub mod executor;
pub mod expectations;
pub mod experiment;
pub mod field;
pub mod fit;
pub mod hybrid;
pub mod memory;
pub mod monitor;
pub mod outline;
pub mod points;
pub mod portrait;
pub mod quantities;
pub mod reference;
mod run_checks;
pub mod run_eigenvalues;
pub mod sample;
pub mod samples;
pub mod select;
mod series;
pub mod session;
pub mod spectrum;
pub mod stability;
pub mod start;
pub mod steady;
mod steps;
pub mod sweep;
mod timetable;
pub mod timing;
pub mod trace;
pub mod work;

pub use session::{Error, Loaded, Occurrence, Session, Simulation, Solution, Stepper};

use odec_ir::Span;
use odec_lang::diagnostic::{Code, Diagnostic, Label};

/// A diagnostic of this crate, with a source location if there is one.
pub(crate) fn error(
    code: &'static Code,
    headline: String,
    place: Option<(Span, String)>,
    help: Option<String>,
) -> Diagnostic {
    let labels = place.into_iter().map(|(span, text)| Label { span, text }).collect();
    Diagnostic { labels, help, ..Diagnostic::error(code, headline) }
}
