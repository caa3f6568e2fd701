//! Units: the table of units, how they are written, exact arithmetic with them, and the elimination that finds the units
//! of names without one. What a model says of its units is collected in `model/phases/units`.
//!
//! A unit is a vector of fractions over dimensions and prime factors of its scale, so that every comparison is exact.
//! Fractions make the elimination complete: no other solution exists that it misses. (Kennedy, Relational parametricity
//! and units of measure, POPL 1997, has the same for whole numbers.)

mod given;
pub mod rational;
pub mod solve;
pub mod table;
pub mod text;
pub mod vector;

pub use given::{Mode, Units};
