//! The pair of Dormand and Prince of order 5(4), with dense output of order 4.

use crate::control::PI_EXPLICIT;
use crate::method::continuous::{DenseForm, DenseTable};
use crate::method::runge_kutta::{Tableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Dormand & Prince 1980; Hairer, Nørsett & Wanner I, table II.5.2.
#[rustfmt::skip]
pub static TABLEAU: Tableau = Tableau {
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

/// Dense output of order 4: Shampine 1986; Hairer, Nørsett & Wanner I, section II.6, in the form of DOPRI5.
#[rustfmt::skip]
pub static DENSE: DenseTable = DenseTable {
    c: &[],
    a: &[],
    form: DenseForm::Nested(&[
        &[-12715105075.0/11282082432.0, 0.0, 87487479700.0/32700410799.0, -10690763975.0/1880347072.0,
          701980252875.0/199316789632.0, -1453857185.0/822651844.0, 69997945.0/29380423.0]]),
    order: 4,
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
    dense_order: 4,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Dormand & Prince 1980; Hairer, Nørsett & Wanner I, table II.5.2",
    build,
};
