//! The method of Störmer and Verlet in its velocity form.

use crate::method::mechanics::splitting::{Composition, Part, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Swope, Andersen, Berens & Wilson 1982; Hairer, Lubich & Wanner, Geometric Numerical Integration, eq. (I.1.17).
pub static COMPOSITION: Composition = Composition { parts: &[Part::Kick(0.5), Part::Drift(1.0), Part::Kick(0.5)] };

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "velocity-verlet",
    aliases: &["verlet", "stoermer-verlet", "leapfrog"],
    about: "Störmer-Verlet, on x'' = a(t, x): order 2, one evaluation, symplectic; stable below h = 2/omega",
    order: 2,
    stages: 1,
    family: Family::Splitting(&COMPOSITION),
    stability: Stability::Bounded,
    adaptive: Adaptive::FixedStep,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Verlet 1967; Swope et al. 1982; Hairer, Lubich & Wanner, section I.1",
    build,
};
