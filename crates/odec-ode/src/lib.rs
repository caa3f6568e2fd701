//! Solves initial value problems, independently of the language.
//!
//! ```
//! use odec_ode::pattern::Pattern;
//! use odec_ode::system::{EvalError, Jacobian, Shape, System};
//! use odec_ode::{Options, Problem, Samples, Sink, method, solve};
//! use std::ops::ControlFlow;
//!
//! /// y' = -y.
//! struct Decay(Pattern);
//!
//! impl System for Decay {
//!     fn shape(&self) -> Shape {
//!         Shape { n: 1, second: 0 }
//!     }
//!     fn rhs(&self, _t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
//!         f[0] = -y[0];
//!         Ok(())
//!     }
//!     fn jacobian(&self) -> Jacobian<'_> {
//!         Jacobian::Entries(&self.0)
//!     }
//!     fn jacobian_values(&self, _t: f64, _y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
//!         values[0] = -1.0;
//!         Ok(())
//!     }
//! }
//!
//! struct Ignore;
//!
//! impl Sink for Ignore {
//!     fn row(&mut self, _t: f64, _y: &[f64]) -> ControlFlow<()> {
//!         ControlFlow::Continue(())
//!     }
//! }
//!
//! let decay = Decay(Pattern::from_positions(1, 1, [(0, 0)]));
//! let problem = Problem { t0: 0.0, t_end: 1.0, y0: vec![1.0] };
//! let rodas4 = method::find("rodas4")?;
//! let outcome = solve(&decay, &problem, rodas4, &Options::default(), &Samples::Steps, &mut Ignore).unwrap();
//! assert!((outcome.y[0] - (-1f64).exp()).abs() < 1e-6);
//! # Ok::<(), odec_ode::Refusal>(())
//! ```

#![allow(clippy::needless_range_loop, reason = "loops run over several slices by one index")]
#![allow(clippy::excessive_precision, reason = "coefficients keep the digits of their papers")]

pub mod accelerated;
pub mod adjoint;
mod branches;
mod checks;
pub mod consistent;
pub mod control;
pub mod evaluator;
pub mod fused;
pub mod hybrid;
pub mod integrator;
pub mod interpolant;
pub mod invariants;
pub mod linear;
pub mod method;
pub mod narrow;
mod newton;
pub mod observer;
mod pace;
pub mod pattern;
pub mod problem;
pub(crate) mod roots;
mod row_times;
mod rows;
pub mod runner;
mod simd;
pub mod solve;
pub mod step;
pub mod system;

pub use accelerated::Accelerated;
pub use checks::check_rtol;
pub use method::Method;
pub use observer::StepEnd;
pub use problem::{
    Cause, CorrectedRows, Failure, Options, Outcome, Problem, Refusal, Samples, Sink, SolveError, Stats, Stop,
};
pub use runner::Runner;
pub use solve::solve;
pub use system::System;
