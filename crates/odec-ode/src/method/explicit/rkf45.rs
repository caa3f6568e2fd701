//! The pair of Fehlberg of order 4(5).

use crate::control::PI_EXPLICIT;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Fehlberg 1969; Hairer, Nørsett & Wanner I, table II.5.1. The step continues with the solution of order 4.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0/4.0, 3.0/8.0, 12.0/13.0, 1.0, 1.0/2.0],
    a: &[&[],
         &[   1.0/4.0],
         &[   3.0/32.0,      9.0/32.0],
         &[1932.0/2197.0, -7200.0/2197.0, 7296.0/2197.0],
         &[ 439.0/216.0,     -8.0,        3680.0/513.0,   -845.0/4104.0],
         &[  -8.0/27.0,       2.0,       -3544.0/2565.0,  1859.0/4104.0, -11.0/40.0]],
    b:   &[  25.0/216.0,      0.0,        1408.0/2565.0,  2197.0/4104.0,  -1.0/5.0,  0.0],
    embedded: Some((
         &[  16.0/135.0,      0.0,        6656.0/12825.0, 28561.0/56430.0, -9.0/50.0, 2.0/55.0], 5)),
    second: None,
    controller: PI_EXPLICIT,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "rkf45",
    aliases: &["fehlberg", "runge-kutta-fehlberg"],
    about: "Runge-Kutta-Fehlberg 4(5): the classic embedded pair",
    order: 4,
    stages: 6,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Embedded(5),
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Fehlberg 1969; Hairer, Nørsett & Wanner I, table II.5.1",
    build,
};
