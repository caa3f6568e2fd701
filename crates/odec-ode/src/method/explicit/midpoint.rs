//! The explicit midpoint rule.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Runge 1895; Hairer, Nørsett & Wanner I, table II.1.1.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 0.5],
    a: &[&[],
         &[0.5]],
    b: &[0.0, 1.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "midpoint",
    aliases: &["explicit-midpoint", "rk2"],
    about: "explicit midpoint rule: order 2 with two evaluations",
    order: 2,
    stages: 2,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Runge 1895; Hairer, Nørsett & Wanner I, table II.1.1",
    build,
};
