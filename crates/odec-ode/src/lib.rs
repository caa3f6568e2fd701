//! Solves initial value problems and knows nothing of the language.

// Loops run over several slices by one index; negated comparisons are there to catch NaN; coefficients keep the digits of
// their papers.
#![allow(clippy::needless_range_loop, clippy::neg_cmp_op_on_partial_ord, clippy::excessive_precision)]

pub mod control;
pub mod evaluator;
pub mod fused;
pub mod integrator;
pub mod linear;
pub mod method;
pub mod newton;
pub mod pattern;
pub mod problem;
pub mod solve;
pub mod system;

pub use method::Method;
pub use problem::{Cause, Failure, Options, Outcome, Problem, Refusal, Samples, Sink, SolveError, Stats, Stop};
pub use solve::solve;
pub use system::System;
