//! SDIRK2 of Alexander: order 2, L-stable, both stages implicit.

use crate::method::dirk::{DirkTableau, Extension, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

const GAMMA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;

/// Alexander, *Diagonally implicit Runge-Kutta methods for stiff ODEs*, SIAM J. Numer. Anal. 14 (1977), theorem 5,
/// s = 2. The embedded solution uses the slope of the first stage for the whole step; the dense output is the only
/// quadratic of order 2.
#[rustfmt::skip]
pub static TABLEAU: DirkTableau = DirkTableau {
    c: &[GAMMA, 1.0],
    a: &[&[GAMMA],
         &[1.0 - GAMMA, GAMMA]],
    b: &[1.0 - GAMMA, GAMMA],
    embedded: Some((&[1.0, 0.0], 1)),
    care: 1.0,
    damped: true,
    extension: Extension::Rows(&[&[std::f64::consts::FRAC_1_SQRT_2, -std::f64::consts::FRAC_1_SQRT_2]]),
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "sdirk2",
    aliases: &["sdirk22"],
    about: "diagonally implicit 2(1), L-stable, two stages: loose tolerances, DAEs of index 1",
    order: 2,
    stages: 2,
    family: Family::ImplicitRungeKutta(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(1),
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Alexander 1977",
    build,
};
