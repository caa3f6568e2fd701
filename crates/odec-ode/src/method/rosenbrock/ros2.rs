//! ROS2 of Verwer: order 2(1), L-stable, two stages.

use crate::method::rosenbrock::{RosenbrockTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// The larger root of gamma^2 - 2 gamma + 1/2, for which R(z) stays positive on the negative axis.
const GAMMA: f64 = 1.0 + std::f64::consts::FRAC_1_SQRT_2;

/// Verwer, Spee, Blom & Hundsdorfer, *A second-order Rosenbrock method applied to photochemical dispersion problems*,
/// SIAM J. Sci. Comput. 20 (1999), equation (1.3), transformed. It has order 2 with any matrix in place of the
/// Jacobian. The dense output is the only quadratic of order 2.
#[rustfmt::skip]
pub static TABLEAU: RosenbrockTableau = RosenbrockTableau {
    gamma: GAMMA,
    alpha:  &[0.0, 1.0],
    gammas: &[GAMMA, -GAMMA],
    a: &[&[],
         &[1.0 / GAMMA]],
    c: &[&[],
         &[-2.0 / GAMMA]],
    m:   &[1.5 / GAMMA, 0.5 / GAMMA],
    error: (&[0.5 / GAMMA, 0.5 / GAMMA], 1),
    dense: &[&[0.5 / (GAMMA * (2.0 * GAMMA - 1.0)), 0.5 / (GAMMA * (2.0 * GAMMA - 1.0))]],
    algebraic: 1,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "ros2",
    aliases: &[],
    about: "Rosenbrock 2(1), L-stable, two stages: loose tolerances; not for stiff algebraic equations",
    order: 2,
    stages: 2,
    family: Family::Rosenbrock(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(1),
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: true },
    source: "Verwer, Spee, Blom & Hundsdorfer 1999",
    build,
};
