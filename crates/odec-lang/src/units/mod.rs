//! Units: the table of units, their notation, exact arithmetic, and the elimination that infers the units of names
//! without a declared one. `model/phases/units` collects what a model states about its units.
//!
//! A unit is a vector of rational exponents of dimensions and of prime factors of its scale, so every comparison is
//! exact. Rational exponents also make the elimination complete: it misses no solution. (Kennedy, Relational
//! parametricity and units of measure, POPL 1997, does the same for integers.)

pub(crate) mod compose;
mod given;
pub mod pool;
pub mod rational;
pub mod solve;
pub mod table;
pub mod text;
pub mod vector;

pub use given::{Mode, Units};
pub(crate) use given::{named, without_indices};
