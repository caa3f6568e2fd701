//! The strong-stability-preserving method of order 3 with three stages.

use crate::control::STANDARD;
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Shu & Osher, Efficient implementation of essentially non-oscillatory shock-capturing schemes, J. Comput. Phys. 77 (1988), eq. (2.18),
/// as a tableau. Each stage is a convex combination of Euler steps.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
    c: &[0.0, 1.0, 1.0/2.0],
    a: &[&[],
         &[1.0],
         &[1.0/4.0, 1.0/4.0]],
    b:   &[1.0/6.0, 1.0/6.0, 2.0/3.0],
    embedded: None,
    second: None,
    controller: STANDARD,
    dense: None,
    fsal: false,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "ssprk33",
    aliases: &["ssp-rk3", "shu-osher"],
    about: "Shu-Osher of order 3: preserves what Euler steps preserve (positivity, total variation) at the same step \
            size",
    order: 3,
    stages: 3,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Shu & Osher 1988",
    build,
};
