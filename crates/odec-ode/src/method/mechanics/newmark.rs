//! Newmark's method with constant average acceleration.

use crate::method::mechanics::alpha::{Parameters, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// beta = 1/4, gamma = 1/2: Newmark, A method of computation for structural dynamics, J. Eng. Mech. Div. ASCE 85 (1959).
pub static PARAMETERS: Parameters = Parameters { alpha_m: 0.0, alpha_f: 0.0, beta: 0.25, gamma: 0.5 };

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "newmark",
    aliases: &["newmark-beta", "average-acceleration"],
    about: "Newmark with beta = 1/4, gamma = 1/2, on M x'' = F(t, x, x'): order 2, no damping",
    order: 2,
    stages: 1,
    family: Family::Alpha(&PARAMETERS),
    stability: Stability::A,
    adaptive: Adaptive::Doubling,
    dense_order: 3,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Newmark 1959",
    build,
};
