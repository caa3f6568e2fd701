//! The implicit midpoint rule preserves quadratic invariants, which the trapezoidal rule does not.

use crate::dense;

use dense::{Dense, fixed, run};

/// Euler's equations of a rigid body: |y|^2 and the energy are constant.
fn body() -> Dense {
    Dense::new(
        3,
        |_, y, f| {
            f[0] = -2.0 * y[1] * y[2];
            f[1] = 1.25 * y[0] * y[2];
            f[2] = -0.5 * y[0] * y[1];
        },
        |_, y, j| {
            j[..3].copy_from_slice(&[0.0, -2.0 * y[2], -2.0 * y[1]]);
            j[3..6].copy_from_slice(&[1.25 * y[2], 0.0, 1.25 * y[0]]);
            j[6..].copy_from_slice(&[-0.5 * y[1], -0.5 * y[0], 0.0]);
        },
    )
}

#[test]
fn quadratic_invariants_stay() {
    // d/dt (a y1^2 + b y2^2 + c y3^2) = 2 y1 y2 y3 (-2 a + 1.25 b - 0.5 c).
    let invariants = |y: &[f64]| {
        [0.625 * y[0] * y[0] + y[1] * y[1], y[0] * y[0] - 4.0 * y[2] * y[2], 0.4 * y[1] * y[1] + y[2] * y[2]]
    };
    let y0 = [0.8, 0.6, 0.5];
    let drift = |name: &str| {
        let y = run(&body(), (0.0, 100.0), &y0, name, &fixed(0.1)).unwrap().0.y;
        let pairs = invariants(&y).into_iter().zip(invariants(&y0));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let (midpoint, trapezoidal) = (drift("implicit-midpoint"), drift("trapezoidal"));
    assert!(midpoint < 1e-11, "{midpoint:e}");
    assert!(trapezoidal > 1e-6, "{trapezoidal:e}");
}
