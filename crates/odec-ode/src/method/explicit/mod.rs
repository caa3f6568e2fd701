//! Explicit Runge-Kutta methods, one file each.

pub mod bs32;
pub mod cash_karp;
pub mod dop853;
pub mod dopri5;
pub mod euler;
pub mod heun;
pub mod midpoint;
pub mod ralston;
pub mod rk4;
pub mod rkf45;
pub mod ssprk33;
pub mod tsit5;
pub mod vern7;
pub mod vern9;
