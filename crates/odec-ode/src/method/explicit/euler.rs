//! Forward Euler.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// y1 = y0 + h f(t0, y0).
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0],
    a: &[&[]],
    b: &[1.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "euler",
    aliases: &["forward-euler", "explicit-euler", "rk1"],
    about: "forward Euler: the simplest method; unstable for steps beyond 2/|lambda|",
    order: 1,
    stages: 1,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Euler 1768; Baraff, SIGGRAPH 2001 course notes",
    build,
};
