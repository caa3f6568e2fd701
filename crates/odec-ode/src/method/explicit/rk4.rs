//! The classical Runge-Kutta method.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Kutta 1901; Hairer, Nørsett & Wanner I, table II.1.2, left.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 0.5, 0.5, 1.0],
    a: &[&[],
         &[0.5],
         &[0.0, 0.5],
         &[0.0, 0.0, 1.0]],
    b:   &[1.0/6.0, 1.0/3.0, 1.0/3.0, 1.0/6.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "rk4",
    aliases: &["runge-kutta", "runge-kutta-4", "classical"],
    about: "the classical Runge-Kutta method of order 4",
    order: 4,
    stages: 4,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Kutta 1901; Hairer, Nørsett & Wanner I, table II.1.2",
    build,
};
