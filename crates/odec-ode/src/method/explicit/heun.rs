//! Heun's method of order 2, the explicit trapezoidal rule.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Heun 1900; Hairer, Nørsett & Wanner I, section II.1, eq. (1.4) with the trapezoidal rule.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0],
    a: &[&[],
         &[1.0]],
    b:   &[1.0/2.0, 1.0/2.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "heun",
    aliases: &["heun2", "explicit-trapezoidal", "improved-euler"],
    about: "Heun's method of order 2: an Euler step, corrected with the slope at its end",
    order: 2,
    stages: 2,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Heun 1900; Hairer, Nørsett & Wanner I, section II.1",
    build,
};
