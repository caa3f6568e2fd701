//! Mass matrices that depend on time and state, M(t, y) y' = f: the methods that solve them, the benefit of the
//! derivative of M, and the messages if M is singular.

use crate::dense;

use dense::{Dense, failure, fixed, run, tolerances};
use odec_ode::evaluator::Evaluator;
use odec_ode::linear::IterationMatrix;
use odec_ode::method::Family;
use odec_ode::{Cause, Options, Refusal, SolveError};

/// The pendulum-like (1 + 4 q^2) q'' = -q - 4 q q'^2, whose energy (1 + 4 q^2) q'^2/2 + q^2/2 is constant. `exact`:
/// with d(M w)/dy.
fn particle(exact: bool) -> Dense {
    Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (y[1], -y[0] - 4.0 * y[0] * y[1] * y[1]),
        |_, y, j| j.copy_from_slice(&[0.0, 1.0, -1.0 - 4.0 * y[1] * y[1], -8.0 * y[0] * y[1]]),
    )
    .second(1)
    .moving_mass(
        |_, y, m| m.copy_from_slice(&[1.0, 0.0, 0.0, 1.0 + 4.0 * y[0] * y[0]]),
        move |_, y, w, j| {
            j.fill(0.0);
            j[2] = if exact { 8.0 * y[0] * w[1] } else { 0.0 };
        },
    )
}

fn energy(y: &[f64]) -> f64 {
    0.5 * (1.0 + 4.0 * y[0] * y[0]) * y[1] * y[1] + 0.5 * y[0] * y[0]
}

#[test]
fn every_method_solves_or_refuses_by_name() {
    let y0 = [1.0, 0.0];
    let mut solved = 0;
    for method in odec_ode::method::general() {
        let rtol = if method.order < 3 { 1e-4 } else { 1e-6 };
        match run(&particle(true), (0.0, 3.0), &y0, method.name, &tolerances(rtol, rtol)) {
            Ok((outcome, _)) => {
                let drift = (energy(&outcome.y) - energy(&y0)).abs();
                assert!(drift < 300.0 * rtol, "{}: {drift:e}", method.name);
                solved += 1;
            }
            Err(SolveError::Refused(Refusal::Unsuitable { method: name, reason, instead })) => {
                assert_eq!(name, method.name);
                assert!(!reason.is_empty() && !instead.is_empty());
            }
            Err(other) => panic!("{}: {other:?}", method.name),
        }
        if matches!(method.family, Family::Rosenbrock(_)) {
            let refused = run(&particle(true), (0.0, 3.0), &y0, method.name, &fixed(0.1));
            assert!(matches!(refused, Err(SolveError::Refused(Refusal::Unsuitable { .. }))), "{}", method.name);
        }
    }
    assert!(solved >= 16, "{solved}");
}

/// Iterations of Newton's full method for one step `h` of backward Euler, M(y1) (y1 - y0)/h = f(y1), to rounding.
fn newton_iterations(h: f64, derivative: bool) -> (u32, Vec<f64>) {
    let system = particle(true);
    let y0 = [1.0, 0.3];
    let mut eval = Evaluator::new(&system);
    let mut matrix = IterationMatrix::new(&system, &Options::default()).unwrap();
    let (mut y, mut r, mut w) = (y0.to_vec(), vec![0.0; 2], vec![0.0; 2]);
    for iteration in 1..100 {
        (0..2).for_each(|i| w[i] = (y[i] - y0[i]) / h);
        if derivative {
            matrix.evaluate_moving(&mut eval, h, &y, &w).unwrap();
        } else {
            matrix.evaluate(&mut eval, h, &y).unwrap();
        }
        matrix.factor(&mut eval, 1.0 / h).unwrap();
        eval.rhs(h, &y, &mut r).unwrap();
        matrix.mass().multiply_add(-1.0, &w, &mut r);
        matrix.solve(&mut eval, &mut r);
        (0..2).for_each(|i| y[i] += r[i]);
        if r.iter().all(|r| r.abs() <= 1e-12) {
            return (iteration, y);
        }
    }
    (100, y)
}

#[test]
fn the_derivative_of_the_mass_matrix_makes_newton_quadratic() {
    let ((with, y), (without, same)) = (newton_iterations(0.5, true), newton_iterations(0.5, false));
    assert_eq!((with, without), (5, 11));
    assert!((0..2).all(|i| (y[i] - same[i]).abs() <= 1e-11), "the answer is the same");
    let residual = (1.0 + 4.0 * y[0] * y[0]) * (y[1] - 0.3) + 0.5 * (y[0] + 4.0 * y[0] * y[1] * y[1]);
    assert!(residual.abs() <= 1e-12 && (y[0] - 1.0 - 0.5 * y[1]).abs() <= 1e-12, "{residual:e}");
}

#[test]
fn simplified_newton_needs_fewer_iterations_and_factors_with_it() {
    // One long step, with as many factorisations as the contraction requires.
    let options = Options { rtol: 1e-9, atol: vec![1e-12], ..fixed(0.7) };
    let counts = |exact| {
        let (outcome, _) = run(&particle(exact), (0.0, 0.7), &[1.0, 0.3], "backward-euler", &options).unwrap();
        (outcome.stats.newton, outcome.stats.factorisations)
    };
    let (with, without) = (counts(true), counts(false));
    assert!(with.0 < without.0 && 2 * with.1 < without.1, "{with:?} against {without:?}");
}

/// M(t, y) couples two second-order unknowns and a first-order one; q' = v, all others are time-dependent.
fn coupled() -> Dense {
    Dense::new(
        5,
        |t, y, f| {
            let [q1, q2, v1, v2, z] = [y[0], y[1], y[2], y[3], y[4]];
            f[0] = v1;
            f[1] = v2;
            f[2] = -50.0 * q1 + 20.0 * q2 - 0.5 * v1 + 2.0 * z + (2.0 * t).sin();
            f[3] = 20.0 * q1 - 30.0 * q2 - 0.1 * v1 * v2 - z;
            f[4] = -100.0 * (z - q1 * q2) + 0.3 * v2 + t;
        },
        |_, y, j| {
            #[rustfmt::skip]
            j.copy_from_slice(&[
                0.0, 0.0, 1.0, 0.0, 0.0,
                0.0, 0.0, 0.0, 1.0, 0.0,
                -50.0, 20.0, -0.5, 0.0, 2.0,
                20.0, -30.0, -0.1 * y[3], -0.1 * y[2], -1.0,
                100.0 * y[1], 100.0 * y[0], 0.0, 0.3, -100.0,
            ]);
        },
    )
    .time(|t, _, ft| ft.copy_from_slice(&[0.0, 0.0, 2.0 * (2.0 * t).cos(), 0.0, 1.0]))
    .second(2)
    .moving_mass(
        |t, y, m| {
            let c = (y[0] - y[1]).cos();
            #[rustfmt::skip]
            m.copy_from_slice(&[
                1.0, 0.0, 0.0, 0.0, 0.0,
                0.0, 1.0, 0.0, 0.0, 0.0,
                0.0, 0.0, 2.0 + y[2] * y[2], 0.5 * c, 0.0,
                0.0, 0.0, 0.5 * c, 3.0, 0.1 * t,
                0.0, 0.0, 0.0, 0.2 * y[4], 1.5,
            ]);
        },
        |_, y, w, j| {
            let s = (y[0] - y[1]).sin();
            j.fill(0.0);
            (j[10], j[11], j[12]) = (-0.5 * s * w[3], 0.5 * s * w[3], 2.0 * y[2] * w[2]);
            (j[15], j[16]) = (-0.5 * s * w[2], 0.5 * s * w[2]);
            j[24] = 0.2 * w[3];
        },
    )
}

#[test]
fn the_reduced_and_the_full_way_agree_to_rounding() {
    let mut seen = 0;
    for method in odec_ode::method::general().filter(|m| m.structure.jacobian) {
        for options in [fixed(0.01), tolerances(1e-6, 1e-8)] {
            let end = |reduce| {
                let options = Options { reduce, ..options.clone() };
                run(&coupled(), (0.0, 1.0), &[1.0, -0.5, 0.3, 0.2, 0.1], method.name, &options)
            };
            let (reduced, full) = match (end(true), end(false)) {
                (Err(SolveError::Refused(_)), Err(SolveError::Refused(_))) => continue,
                (reduced, full) => (reduced.unwrap().0, full.unwrap().0),
            };
            assert_eq!(reduced.stats, full.stats, "{}", method.name);
            for i in 0..5 {
                let difference = (reduced.y[i] - full.y[i]).abs();
                assert!(difference <= 1e-10, "{} row {i}: {difference:e}", method.name);
            }
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn a_linearised_step_takes_the_mass_matrix_at_the_end_time_and_the_start_state() {
    // (M(t1, x0) - h fv - h^2 fx) dv = h (f0 + h fx v0), dx = h (v0 + dv) for (2 + t + x^2) x'' = -k x - c x', by hand.
    let (k, c, h, t): (f64, f64, f64, f64) = (30.0, 0.7, 0.05, 0.4);
    let system = Dense::new(
        2,
        move |_, y, f| (f[0], f[1]) = (y[1], -k * y[0] - c * y[1]),
        move |_, _, j| j.copy_from_slice(&[0.0, 1.0, -k, -c]),
    )
    .second(1)
    .moving_mass(
        |t, y, m| m.copy_from_slice(&[1.0, 0.0, 0.0, 2.0 + t + y[0] * y[0]]),
        |_, _, _, _| panic!("the derivative of M is not wanted"),
    );
    let (x0, v0) = (0.8, -0.2);
    let end = run(&system, (t, t + h), &[x0, v0], "linearised-backward-euler", &fixed(h)).unwrap().0.y;
    let m = 2.0 + (t + h) + x0 * x0;
    let dv = h * (-k * x0 - c * v0 - h * k * v0) / (m + h * c + h * h * k);
    assert!((end[0] - (x0 + h * (v0 + dv))).abs() <= 1e-15 && (end[1] - (v0 + dv)).abs() <= 1e-15);
}

#[test]
fn a_singular_mass_matrix_is_found_where_it_is_met() {
    // (1 - t) x' = 1, y' = -y: no x' at t = 1.
    let system =
        Dense::new(2, |_, y, f| (f[0], f[1]) = (1.0, -y[1]), |_, _, j| j.copy_from_slice(&[0.0, 0.0, 0.0, -1.0]))
            .moving_mass(|t, _, m| m.copy_from_slice(&[1.0 - t, 0.0, 0.0, 1.0]), |_, _, _, j| j.fill(0.0));
    for method in ["euler", "rk4"] {
        let failed = failure(&system, (0.0, 2.0), &[0.0, 1.0], method, &fixed(0.25));
        assert_eq!(failed.cause, Cause::SingularMass { row: 0 }, "{method}");
        assert_eq!(failed.at.map(|(t, _)| t), Some(1.0), "{method}");
    }
}

#[test]
fn implicit_methods_solve_with_a_singular_matrix_of_varying_entries() {
    // (1 + y^2) y' = -(1 + y^2) z, 0 = z - y^3 (index 1); y(t) = 1/sqrt(1 + 2t).
    let system = Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (-(1.0 + y[0] * y[0]) * y[1], y[1] - y[0] * y[0] * y[0]),
        |_, y, j| j.copy_from_slice(&[-2.0 * y[0] * y[1], -1.0 - y[0] * y[0], -3.0 * y[0] * y[0], 1.0]),
    )
    .moving_mass(
        |_, y, m| m.copy_from_slice(&[1.0 + y[0] * y[0], 0.0, 0.0, 0.0]),
        |_, y, w, j| j.copy_from_slice(&[2.0 * y[0] * w[0], 0.0, 0.0, 0.0]),
    );
    let exact = 1.0 / 5f64.sqrt();
    for name in ["backward-euler", "linearised-backward-euler", "bdf", "bdf1", "bdf2", "bdf3", "bdf4", "bdf5"] {
        let rtol = 1e-5;
        let (outcome, _) = run(&system, (0.0, 2.0), &[1.0, 1.0], name, &tolerances(rtol, rtol)).unwrap();
        let error = (outcome.y[0] - exact).abs().max((outcome.y[1] - exact.powi(3)).abs());
        assert!(error < 300.0 * rtol, "{name}: {error:e}");
    }
}
