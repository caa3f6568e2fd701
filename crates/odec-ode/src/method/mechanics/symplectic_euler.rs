//! The symplectic Euler method.

use crate::method::mechanics::splitting::{Composition, Part, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// v1 = v0 + h a(t0, x0), x1 = x0 + h v1: de Vogelaere 1956; Hairer, Lubich & Wanner, Geometric Numerical Integration, eq. (I.1.9).
pub static COMPOSITION: Composition = Composition { parts: &[Part::Kick(1.0), Part::Drift(1.0)] };

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "symplectic-euler",
    aliases: &["semi-explicit-euler", "euler-cromer"],
    about: "symplectic Euler, on x'' = a(t, x): order 1, one evaluation, nearly conserves energy",
    order: 1,
    stages: 1,
    family: Family::Splitting(&COMPOSITION),
    stability: Stability::Bounded,
    adaptive: Adaptive::FixedStep,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "de Vogelaere 1956; Hairer, Lubich & Wanner, section I.1",
    build,
};
