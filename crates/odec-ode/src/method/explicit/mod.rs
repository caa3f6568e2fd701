//! Explicit Runge-Kutta methods, one file each.

pub mod dopri5;
pub mod euler;
pub mod midpoint;
pub mod rk4;
