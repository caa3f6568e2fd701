//! The symplectic method of order 4 composed of three steps of Störmer and Verlet.

use crate::method::mechanics::splitting::{Composition, Part, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// w1 = 1/(2 - 2^(1/3)), the length of the outer steps: Yoshida 1990, eq. (2.11).
const OUTER: f64 = 1.351_207_191_959_657_6;
/// w0 = -2^(1/3) w1 = 1 - 2 w1, the length of the middle step.
const MIDDLE: f64 = 1.0 - 2.0 * OUTER;

/// Yoshida, Construction of higher order symplectic integrators, Phys. Lett. A 150 (1990), section 2.
pub static COMPOSITION: Composition = Composition {
    parts: &[
        Part::Kick(0.5 * OUTER),
        Part::Drift(OUTER),
        Part::Kick(0.5 * (OUTER + MIDDLE)),
        Part::Drift(MIDDLE),
        Part::Kick(0.5 * (MIDDLE + OUTER)),
        Part::Drift(OUTER),
        Part::Kick(0.5 * OUTER),
    ],
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "yoshida4",
    aliases: &["forest-ruth"],
    about: "Yoshida of order 4, on x'' = a(t, x): three evaluations, symplectic: long orbits with constant steps",
    order: 4,
    stages: 3,
    family: Family::Splitting(&COMPOSITION),
    stability: Stability::Bounded,
    adaptive: Adaptive::FixedStep,
    dense_order: 3,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Yoshida 1990; Forest & Ruth 1990",
    build,
};
