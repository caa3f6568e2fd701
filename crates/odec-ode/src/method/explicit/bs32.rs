//! The pair of Bogacki and Shampine of order 3(2).

use crate::control::PI_EXPLICIT;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Bogacki & Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989).
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0/2.0, 3.0/4.0, 1.0],
    a: &[&[],
         &[1.0/2.0],
         &[0.0,     3.0/4.0],
         &[2.0/9.0, 1.0/3.0, 4.0/9.0]],
    b:   &[2.0/9.0, 1.0/3.0, 4.0/9.0, 0.0],
    embedded: Some((
         &[7.0/24.0, 1.0/4.0, 1.0/3.0, 1.0/8.0], 2)),
    second: None,
    controller: PI_EXPLICIT,
    dense: None,
    fsal: true,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "bs32",
    aliases: &["rk23", "ode23", "bogacki-shampine"],
    about: "Bogacki-Shampine 3(2): for loose tolerances on nonstiff problems",
    order: 3,
    stages: 4,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Embedded(2),
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Bogacki & Shampine 1989",
    build,
};
