//! The reduction of second-order problems: the same results as in first-order form, for every implicit method, with
//! mass matrices and additional first-order unknowns.

use crate::dense;

use dense::{Dense, fixed, run, tolerances};
use odec_ode::Options;

/// Two positions, two velocities, one first-order unknown, all coupled, with forcing and M, Mz not the identity.
fn mixed(mass: bool) -> Dense {
    let system = Dense::new(
        5,
        |t, y, f| {
            let [q1, q2, v1, v2, z] = [y[0], y[1], y[2], y[3], y[4]];
            f[0] = v1;
            f[1] = v2;
            f[2] = -50.0 * q1 + 20.0 * q2 - 0.5 * v1 - q1 * q1 * q1 + 2.0 * z + (2.0 * t).sin();
            f[3] = 20.0 * q1 - 30.0 * q2 - 0.1 * v1 * v2 - z;
            f[4] = -100.0 * (z - q1 * q2) + 0.3 * v2 + t;
        },
        |_, y, j| {
            let [q1, q2, v1, v2, _] = [y[0], y[1], y[2], y[3], y[4]];
            #[rustfmt::skip]
            j.copy_from_slice(&[
                0.0, 0.0, 1.0, 0.0, 0.0,
                0.0, 0.0, 0.0, 1.0, 0.0,
                -50.0 - 3.0 * q1 * q1, 20.0, -0.5, 0.0, 2.0,
                20.0, -30.0, -0.1 * v2, -0.1 * v1, -1.0,
                100.0 * q2, 100.0 * q1, 0.0, 0.3, -100.0,
            ]);
        },
    )
    .time(|t, _, ft| ft.copy_from_slice(&[0.0, 0.0, 2.0 * (2.0 * t).cos(), 0.0, 1.0]))
    .second(2);
    if !mass {
        return system;
    }
    #[rustfmt::skip]
    let m = [
        1.0, 0.0, 0.0, 0.0, 0.0,
        0.0, 1.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 2.0, 0.5, 0.0,
        0.0, 0.0, 0.5, 3.0, 0.0,
        0.0, 0.0, 0.0, 0.2, 1.5,
    ];
    system.mass(&m)
}

const Y0: [f64; 5] = [1.0, -0.5, 0.3, 0.2, 0.1];

#[test]
fn the_reduced_and_the_full_way_agree_to_rounding() {
    let mut seen = 0;
    for method in odec_ode::method::general().filter(|m| m.structure.jacobian) {
        for mass in [false, true] {
            let system = mixed(mass);
            // The adaptive run has tolerances at which the result of Newton's iteration is independent of rounding.
            for options in [fixed(0.01), tolerances(1e-6, 1e-8)] {
                if options.fixed && method.name == "bdf" {
                    continue;
                }
                let end = |reduce| {
                    let options = Options { reduce, ..options.clone() };
                    run(&system, (0.0, 1.0), &Y0, method.name, &options)
                        .unwrap_or_else(|e| panic!("{}: {e:?}", method.name))
                };
                let ((reduced, _), (full, _)) = (end(true), end(false));
                assert_eq!(reduced.stats, full.stats, "{}", method.name);
                for i in 0..5 {
                    let difference = (reduced.y[i] - full.y[i]).abs();
                    assert!(difference <= 1e-11, "{} mass {mass} row {i}: {difference:e}", method.name);
                }
                seen += 1;
            }
        }
    }
    assert!(seen >= 20);
}

#[test]
fn a_linearised_step_is_the_formula_in_velocity_space() {
    // (M - h fv - h^2 fx) dv = h (f0 + h fx v0 + h ft), dx = h (v0 + dv) for M x'' = -k x - c x' + sin t, by hand.
    let (m, k, c, h, t): (f64, f64, f64, f64, f64) = (2.0, 30.0, 0.7, 0.05, 0.4);
    let system = Dense::new(
        2,
        move |t, y, f| (f[0], f[1]) = (y[1], -k * y[0] - c * y[1] + t.sin()),
        move |_, _, j| j.copy_from_slice(&[0.0, 1.0, -k, -c]),
    )
    .time(|t, _, ft| (ft[0], ft[1]) = (0.0, t.cos()))
    .mass(&[1.0, 0.0, 0.0, m])
    .second(1);
    let (x0, v0) = (0.8, -0.2);
    let end = run(&system, (t, t + h), &[x0, v0], "linearised-backward-euler", &fixed(h)).unwrap().0.y;
    let f0 = -k * x0 - c * v0 + t.sin();
    let dv = h * (f0 + h * (-k) * v0 + h * t.cos()) / (m + h * c + h * h * k);
    let dx = h * (v0 + dv);
    assert!((end[0] - (x0 + dx)).abs() <= 1e-15 && (end[1] - (v0 + dv)).abs() <= 1e-15);
}
