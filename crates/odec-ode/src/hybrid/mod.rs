//! Hybrid systems: smooth motion, interrupted by instants at which the state, discretes or the right-hand side change.
//!
//! | file | what it does |
//! |---|---|
//! | `system` | what a model provides: relations, events, times |
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

mod accumulation;
pub mod bernstein;
mod chatter;
pub mod chebyshev;
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
