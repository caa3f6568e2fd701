//! The generalised-alpha method.

use crate::method::mechanics::alpha::{Parameters, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Spectral radius at infinite frequency.
pub const RHO: f64 = 0.8;

/// Chung & Hulbert, A time integration algorithm for structural dynamics with improved numerical dissipation: the generalized-alpha method,
/// J. Appl. Mech. 60 (1993), eqs. (17), (20) and (25).
pub static PARAMETERS: Parameters = Parameters {
    alpha_m: (2.0 * RHO - 1.0) / (RHO + 1.0),
    alpha_f: RHO / (RHO + 1.0),
    beta: 1.0 / ((RHO + 1.0) * (RHO + 1.0)),
    gamma: (3.0 - RHO) / (2.0 * (RHO + 1.0)),
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "generalized-alpha",
    aliases: &["generalised-alpha", "chung-hulbert"],
    about: "generalised alpha with rho = 0.8, on M x'' = F(t, x, x'): order 2, damps only high frequencies",
    order: 2,
    stages: 1,
    family: Family::Alpha(&PARAMETERS),
    stability: Stability::A,
    adaptive: Adaptive::FixedStep,
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Chung & Hulbert 1993",
    build,
};
