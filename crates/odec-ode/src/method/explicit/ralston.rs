//! Ralston's method of order 2.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Ralston, Runge-Kutta methods with minimum error bounds, Math. Comp. 16 (1962): the two-stage method of order 2
/// with the smallest bound on the local error.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 2.0/3.0],
    a: &[&[],
         &[2.0/3.0]],
    b:   &[1.0/4.0, 3.0/4.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "ralston",
    aliases: &["ralston2"],
    about: "Ralston's method of order 2: two evaluations, smallest error bound",
    order: 2,
    stages: 2,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Ralston 1962",
    build,
};
