//! RODAS3 of Sandu et al.: order 3(2), L-stable, stiffly accurate.

use crate::method::rosenbrock::{RosenbrockTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Sandu, Verwer, Blom, Spee, Carmichael & Potra, *Benchmarking stiff ODE solvers for atmospheric chemistry problems
/// II: Rosenbrock solvers*, Atmos. Environ. 31 (1997), transformed. The paper gives no dense output. The one here is
/// the quadratic that satisfies the conditions of order 2, including those of index-1 equations, without the last
/// stage.
#[rustfmt::skip]
pub static TABLEAU: RosenbrockTableau = RosenbrockTableau {
    gamma: 0.5,
    alpha:  &[0.0, 0.0, 1.0, 1.0],
    gammas: &[0.5, 1.5, 0.0, 0.0],
    a: &[&[],
         &[0.0],
         &[2.0, 0.0],
         &[2.0, 0.0, 1.0]],
    c: &[&[],
         &[4.0],
         &[1.0, -1.0],
         &[1.0, -1.0, -8.0 / 3.0]],
    m:   &[2.0, 0.0, 1.0, 1.0],
    error: (&[0.0, 0.0, 0.0, 1.0], 2),
    dense: &[&[3.0, -1.0, -1.0]],
    algebraic: 3,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "rodas3",
    aliases: &[],
    about: "Rosenbrock 3(2), L-stable, three evaluations of f: moderate tolerances on stiff problems and index-1 DAEs",
    order: 3,
    stages: 4,
    family: Family::Rosenbrock(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(2),
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: true },
    source: "Sandu et al. 1997",
    build,
};
