//! RODAS of Hairer and Wanner: order 4(3), L-stable, stiffly accurate, with dense output of order 3.

use crate::method::rosenbrock::{RosenbrockTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Hairer & Wanner II, section VI.4, in the transformed variables of the code RODAS (METH = 1).
#[rustfmt::skip]
pub static TABLEAU: RosenbrockTableau = RosenbrockTableau {
    gamma: 0.25,
    alpha:  &[0.0, 0.386, 0.21, 0.63, 1.0, 1.0],
    gammas: &[0.25, -0.1043, 0.1035, -0.3620000000000023e-1, 0.0, 0.0],
    a: &[&[],
         &[1.544],
         &[0.9466785280815826, 0.2557011698983284],
         &[3.314825187068521, 2.896124015972201, 0.9986419139977817],
         &[1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950],
         &[1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0]],
    c: &[&[],
         &[-5.6688],
         &[-2.430093356833875, -0.2063599157091915],
         &[-0.1073529058151375, -9.594562251023355, -20.47028614809616],
         &[7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160],
         &[8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054]],
    m:   &[1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0, 1.0],
    error: (&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 3),
    dense: &[&[10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662],
             &[-0.6762803392806898, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872]],
    algebraic: 4,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "rodas4",
    aliases: &["rodas", "rodas43"],
    about: "Rosenbrock 4(3), L-stable: the usual choice for small stiff problems and index-1 DAEs",
    order: 4,
    stages: 6,
    family: Family::Rosenbrock(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(3),
    dense_order: 3,
    structure: Structure { jacobian: true, time_derivative: true },
    source: "Hairer & Wanner II, section VI.4",
    build,
};
