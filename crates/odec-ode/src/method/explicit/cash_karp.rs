//! The pair of Cash and Karp of order 5(4).

use crate::control::PI42;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Cash & Karp, A variable order Runge-Kutta method for initial value problems with rapidly varying right-hand sides,
/// ACM Trans. Math. Softw. 16 (1990): the formulas of order 5 and 4 of the tableau in section 2.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0/5.0, 3.0/10.0, 3.0/5.0, 1.0, 7.0/8.0],
    a: &[&[],
         &[   1.0/5.0],
         &[   3.0/40.0,      9.0/40.0],
         &[   3.0/10.0,     -9.0/10.0,      6.0/5.0],
         &[ -11.0/54.0,      5.0/2.0,     -70.0/27.0,       35.0/27.0],
         &[1631.0/55296.0, 175.0/512.0,   575.0/13824.0, 44275.0/110592.0, 253.0/4096.0]],
    b:   &[  37.0/378.0,     0.0,         250.0/621.0,     125.0/594.0,      0.0,          512.0/1771.0],
    embedded: Some((
         &[2825.0/27648.0,   0.0,       18575.0/48384.0, 13525.0/55296.0,  277.0/14336.0,    1.0/4.0], 4)),
    second: None,
    controller: PI42,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "cash-karp",
    aliases: &["rkck", "ck54"],
    about: "Cash-Karp 5(4): the pair of Numerical Recipes; dopri5 and tsit5 need less work",
    order: 5,
    stages: 6,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Embedded(4),
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Cash & Karp 1990",
    build,
};
