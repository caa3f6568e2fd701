//! Hybrid systems: smooth motion, interrupted by instants at which the state, discretes or the right-hand side change.
//!
//! | file | what it does |
//! |---|---|
//! | `system`, `complete` | what a model provides: relations, events, times; whether it is complete |
//! | `bernstein`, `chebyshev` | roots of polynomials; polynomials of functions |
//! | `mode_box`, `locate` | whether and where a relation changes in a step |
//! | `motion` | y' at a point; consistent algebraic unknowns |
//! | `modes` | which relations hold after an instant; sliding |
//! | `stops` | times that are known in advance |
//! | `rounds` | events at an instant: queue, priorities, conflicts |
//! | `derived` | derivatives with respect to parameters across an instant |
//! | `accumulation`, `chatter` | infinitely many events in a finite time; too many instants |
//! | `runner` | the run, landings, bounds of states |
//! | `outcome` | rows, log, end, failures |
//!
//! A ball that loses a tenth of its speed whenever it falls below the ground:
//!
//! ```
//! use odec_ode::hybrid::{Event, HybridEvents, HybridRelations, HybridRunner, HybridSystem, HybridTimes};
//! use odec_ode::hybrid::{Observer, Point, Relation, Write};
//! use odec_ode::system::{EvalError, Shape, System};
//! use odec_ode::{Options, Problem, Samples, method};
//! use std::ops::ControlFlow;
//!
//! /// Height and velocity; the relation `0 > height`, and the event that it triggers.
//! struct Ball {
//!     modes: [f64; 1],
//!     relations: [Relation; 1],
//!     events: [Event; 1],
//! }
//!
//! impl System for Ball {
//!     fn shape(&self) -> Shape {
//!         Shape { n: 2, second: 0 }
//!     }
//!     fn rhs(&self, _t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
//!         (f[0], f[1]) = (y[1], -9.81);
//!         Ok(())
//!     }
//! }
//!
//! impl HybridSystem for Ball {
//!     fn system(&self) -> &dyn System {
//!         self
//!     }
//!     fn modes(&self) -> &[f64] {
//!         &self.modes
//!     }
//!     fn modes_mut(&mut self) -> &mut [f64] {
//!         &mut self.modes
//!     }
//! }
//!
//! impl HybridRelations for Ball {
//!     fn relations(&self) -> &[Relation] {
//!         &self.relations
//!     }
//!     fn sides(&self, _t: f64, y: &[f64], left: &mut [f64], right: &mut [f64]) -> Result<(), EvalError> {
//!         (left[0], right[0]) = (0.0, y[0]);
//!         Ok(())
//!     }
//! }
//!
//! impl HybridEvents for Ball {
//!     fn events(&self) -> &[Event] {
//!         &self.events
//!     }
//!     fn conditions(&self, _t: f64, _y: &[f64], conditions: &mut [bool]) {
//!         conditions[0] = self.modes[0] != 0.0;
//!     }
//!     fn values(&self, _event: usize, _t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
//!         values[0] = -0.9 * y[1];
//!         Ok(())
//!     }
//! }
//!
//! // no times are known in advance
//! impl HybridTimes for Ball {}
//!
//! struct Ignore;
//!
//! impl Observer for Ignore {
//!     fn row(&mut self, _point: Point<'_>) -> ControlFlow<()> {
//!         ControlFlow::Continue(())
//!     }
//! }
//!
//! let bounce = Event::when(vec![Write::state(1)]);
//! let mut ball = Ball { modes: [0.0], relations: [Relation::default()], events: [bounce] };
//! let tsit5 = method::find("tsit5")?;
//! let mut runner = HybridRunner::new(&ball, tsit5, &Options::default()).unwrap();
//! let problem = Problem { t0: 0.0, t_end: 1.0, y0: vec![1.0, 0.0] };
//! let outcome = runner.run(&mut ball, &problem, &Samples::Steps, &mut Ignore).unwrap();
//! assert_eq!(outcome.executed, 1);
//! // it falls for sqrt(2/9.81) seconds, and then rises with nine tenths of its speed
//! let (fall, speed) = ((2.0 / 9.81f64).sqrt(), (2.0 * 9.81f64).sqrt());
//! assert!((outcome.outcome.y[1] - (0.9 * speed - 9.81 * (1.0 - fall))).abs() < 1e-5);
//! # Ok::<(), odec_ode::Refusal>(())
//! ```

mod accumulation;
pub mod bernstein;
mod chatter;
pub mod chebyshev;
mod complete;
mod derived;
mod locate;
mod mode_box;
mod modes;
mod motion;
mod outcome;
mod rates;
mod rounds;
mod runner;
mod stops;
mod system;

pub use outcome::{
    AcceptedStep, Doubtful, End, Executed, HybridCause, HybridError, HybridFailure, HybridOutcome, Met, Observer, Point,
};
pub use rounds::MAX_ROUNDS;
pub use runner::{HybridRunner, Pushes};
pub use stops::{resolution, same};
pub use system::{
    AffineRows, AffineTerms, Derived, Edge, Enclosure, Event, EventDerivatives, HybridEvents, HybridRelations,
    HybridSystem, HybridTimes, Relation, RowBound, Smooth, Times, Trigger, Write, WriteTarget,
};
