//! RADAU5 of Hairer and Wanner: order 5, L-stable, fully implicit.

use crate::method::dirk::{DirkTableau, Extension};
use crate::method::radau::driver::build;
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Square root of 6.
const R6: f64 = 2.449_489_742_783_178;
/// Nodes of Radau IIA of order 5: Hairer & Wanner, *Solving Ordinary Differential Equations II*, table IV.5.6.
pub const C: [f64; 3] = [(4.0 - R6) / 10.0, (4.0 + R6) / 10.0, 1.0];
/// Coefficients, from the same table; the last row is the weights.
pub const A: [[f64; 3]; 3] = [
    [(88.0 - 7.0 * R6) / 360.0, (296.0 - 169.0 * R6) / 1800.0, (-2.0 + 3.0 * R6) / 225.0],
    [(296.0 + 169.0 * R6) / 1800.0, (88.0 + 7.0 * R6) / 360.0, (-2.0 - 3.0 * R6) / 225.0],
    [(16.0 - R6) / 36.0, (16.0 + R6) / 36.0, 1.0 / 9.0],
];
/// The error estimate is W^-1 (f(t, y) + M sum_i ERROR_i Z_i / h), W = M gamma/h - J with the real eigenvalue gamma
/// of A^-1 (section IV.8, equation 8.19): a quadrature formula of order 3 on 0 and the nodes, damped for stiff
/// components.
pub const ERROR: [f64; 3] = [-(13.0 + 7.0 * R6) / 3.0, (-13.0 + 7.0 * R6) / 3.0, -1.0 / 3.0];

/// The method as a Butcher tableau, for the tests.
pub static TABLEAU: DirkTableau = DirkTableau {
    c: &C,
    a: &[&A[0], &A[1], &A[2]],
    b: &A[2],
    embedded: None,
    care: 1.0,
    damped: true,
    extension: Extension::Collocation,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "radau5",
    aliases: &["radau", "radau-iia"],
    about: "Radau IIA of order 5, L-stable, fully implicit: tight tolerances on very stiff problems and DAEs",
    order: 5,
    stages: 3,
    family: Family::ImplicitRungeKutta(&TABLEAU),
    stability: Stability::L,
    adaptive: Adaptive::Embedded(3),
    dense_order: 3,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Hairer & Wanner II, section IV.8",
    build,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_of_order_three() {
        // For y = t^k on [0, 1], Z_i = c_i^k and f(0) is 1 for k = 1, else 0.
        for (k, expected) in [(1, -1.0), (2, 0.0), (3, 0.0)] {
            let sum: f64 = (0..3).map(|i| ERROR[i] * C[i].powi(k)).sum();
            assert!((sum - expected).abs() < 1e-14, "k = {k}: {sum}");
        }
        let fourth: f64 = (0..3).map(|i| ERROR[i] * C[i].powi(4)).sum();
        assert!(fourth.abs() > 1e-2);
    }
}
