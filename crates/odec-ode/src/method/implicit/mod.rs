//! Implicit one-step formulas.

pub mod backward_euler;
pub mod linearised_backward_euler;
pub mod midpoint;
pub mod trapezoidal;
