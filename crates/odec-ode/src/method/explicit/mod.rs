//! Explicit Runge-Kutta methods, one file each.

pub mod bs32;
pub mod dopri5;
pub mod euler;
pub mod midpoint;
pub mod rk4;
pub mod rkf45;
