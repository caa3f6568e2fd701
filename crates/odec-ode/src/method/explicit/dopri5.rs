//! The pair of Dormand and Prince of order 5(4), with dense output of order 5.

use crate::control::PI_EXPLICIT;
use crate::method::continuous::{DenseForm, DenseTable};
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Dormand & Prince 1980; Hairer, Nørsett & Wanner I, table II.5.2.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0/5.0, 3.0/10.0, 4.0/5.0, 8.0/9.0, 1.0, 1.0],
    a: &[&[],
         &[     1.0/5.0],
         &[     3.0/40.0,          9.0/40.0],
         &[    44.0/45.0,        -56.0/15.0,       32.0/9.0],
         &[19372.0/6561.0,   -25360.0/2187.0, 64448.0/6561.0, -212.0/729.0],
         &[ 9017.0/3168.0,     -355.0/33.0,   46732.0/5247.0,   49.0/176.0, -5103.0/18656.0],
         &[   35.0/384.0,         0.0,          500.0/1113.0,  125.0/192.0, -2187.0/6784.0,      11.0/84.0]],
    b:   &[   35.0/384.0,         0.0,          500.0/1113.0,  125.0/192.0, -2187.0/6784.0,      11.0/84.0,    0.0],
    embedded: Some((
         &[ 5179.0/57600.0,       0.0,         7571.0/16695.0, 393.0/640.0, -92097.0/339200.0, 187.0/2100.0, 1.0/40.0], 4)),
    second: None,
    controller: PI_EXPLICIT,
    dense: Some(&DENSE),
    fsal: true,
};

/// Dense output of order 5. Two slopes inside the step, at 1/5 and 4/5, join the states and slopes at its ends, and
/// determine a polynomial of degree 5. The states of the two slopes are from the dense output of order 4 (Shampine 1986;
/// Hairer, Nørsett & Wanner I, section II.6), whose own error is up to four times the error estimate of a step: rows
/// would be far less accurate than the ends of steps.
#[rustfmt::skip]
pub static DENSE: DenseTable = DenseTable {
    c: &[1.0/5.0, 4.0/5.0],
    a: &[&[0.10862751699277781, 0.0, 0.11521144182186273, -0.07784115688333237, 0.05663434597726282,
           -0.031623352562091464, 0.028991204653520477],
         &[0.08481501699277781, 0.0, 0.47100659006984114, 0.4377838431166676, -0.19868758798500133,
           0.07209093315219425, -0.06700879534647952, 0.0]],
    form: DenseForm::Nested(&[
        &[-3.2421875, 0.0, -6.738544474393531, -9.765625, 4.835642688679245, -1.9642857142857142, 1.25,
          10.416666666666666, 5.208333333333333],
        &[3.359375, 0.0, 13.477088948787062, 19.53125, -9.67128537735849, 3.9285714285714284, 0.625, -15.625, -15.625]]),
    order: 5,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "dopri5",
    aliases: &["rk45", "ode45", "dormand-prince"],
    about: "Dormand-Prince 5(4): the usual choice for nonstiff problems",
    order: 5,
    stages: 7,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Embedded(4),
    dense_order: 5,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Dormand & Prince 1980; Hairer, Nørsett & Wanner I, table II.5.2",
    build,
};
