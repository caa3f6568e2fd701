//! TR-BDF2: a step of the trapezoidal rule, then BDF2 through its ends.

use crate::method::dirk::{DirkTableau, Extension, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// The diagonal: half the node 2 - sqrt(2) of the middle stage.
const GAMMA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// sqrt(2)/4.
const W: f64 = 0.5 * std::f64::consts::FRAC_1_SQRT_2;

/// Bank et al., IEEE Trans. CAD 4 (1985), in the form of Hosea & Shampine, *Analysis and implementation of TR-BDF2*, Appl. Numer.
/// Math. 20 (1996), table 1, with their embedded formula of order 3.
#[rustfmt::skip]
pub static TABLEAU: DirkTableau = DirkTableau {
    c: &[0.0, 2.0 * GAMMA, 1.0],
    a: &[&[0.0],
         &[GAMMA, GAMMA],
         &[W, W, GAMMA]],
    b: &[W, W, GAMMA],
    embedded: Some((&[(1.0 - W) / 3.0, (3.0 * W + 1.0) / 3.0, GAMMA / 3.0], 3)),
    care: 1.0,
    damped: true,
    extension: Extension::Hermite,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "tr-bdf2",
    aliases: &["trbdf2"],
    about: "trapezoidal rule and BDF2 in one step, order 2, L-stable: like the trapezoidal rule, without its ringing",
    order: 2,
    stages: 3,
    family: Family::ImplicitRungeKutta(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(3),
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Bank et al. 1985; Hosea & Shampine 1996",
    build,
};
