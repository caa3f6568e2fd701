//! Implicit one-step formulas.

pub mod backward_euler;
