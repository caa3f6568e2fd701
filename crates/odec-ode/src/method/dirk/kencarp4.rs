//! KenCarp4: the implicit half of ARK4(3)6L\[2\]SA of Kennedy and Carpenter.

use crate::method::dirk::{DirkTableau, Extension, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// The embedded solution has nearly order 4: for y' = z y its error is 2.2e-4 z^4. The error of the method itself is
/// 8.5e-4 z^5, larger than the estimate if |z| > 0.26. Multiplied by this factor, the estimate is the larger one up
/// to |z| = 1.3.
const CARE: f64 = 5.0;

/// Kennedy & Carpenter, *Additive Runge-Kutta schemes for convection-diffusion-reaction equations*, Appl. Numer. Math. 44 (2003),
/// appendix C, ARK4(3)6L\[2\]SA-ESDIRK.
#[rustfmt::skip]
pub static TABLEAU: DirkTableau = DirkTableau {
    c: &[0.0, 1.0 / 2.0, 83.0 / 250.0, 31.0 / 50.0, 17.0 / 20.0, 1.0],
    a: &[&[0.0],
         &[1.0 / 4.0, 1.0 / 4.0],
         &[8611.0 / 62500.0, -1743.0 / 31250.0, 1.0 / 4.0],
         &[5012029.0 / 34652500.0, -654441.0 / 2922500.0, 174375.0 / 388108.0, 1.0 / 4.0],
         &[15267082809.0 / 155376265600.0, -71443401.0 / 120774400.0, 730878875.0 / 902184768.0, 2285395.0 / 8070912.0, 1.0 / 4.0],
         &[82889.0 / 524892.0, 0.0, 15625.0 / 83664.0, 69875.0 / 102672.0, -2260.0 / 8211.0, 1.0 / 4.0]],
    b: &[82889.0 / 524892.0, 0.0, 15625.0 / 83664.0, 69875.0 / 102672.0, -2260.0 / 8211.0, 1.0 / 4.0],
    embedded: Some((&[4586570599.0 / 29645900160.0, 0.0, 178811875.0 / 945068544.0, 814220225.0 / 1159782912.0, -3700637.0 / 11593932.0, 61727.0 / 225920.0], 3)),
    care: CARE,
    damped: false,
    extension: Extension::Hermite,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "kencarp4",
    aliases: &[],
    about: "diagonally implicit 4(3), L-stable, one matrix for all stages: moderate tolerances on large stiff \
            problems",
    order: 4,
    stages: 6,
    family: Family::ImplicitRungeKutta(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(3),
    dense_order: 3,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Kennedy & Carpenter 2003",
    build,
};
