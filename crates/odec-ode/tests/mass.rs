//! Constant mass matrices: nonsingular ones in every method, singular ones in the implicit methods, refused by name elsewhere.

use crate::dense;

use dense::{Dense, run, tolerances};
use odec_ode::{Refusal, SolveError};

/// M y' = M A y for a full M: the solution is that of y' = A y, a damped rotation.
fn rotated() -> Dense {
    // A = [[-0.5, 2], [-2, -0.5]], M = [[2, 1], [0.5, 3]].
    let f = [2.0 * -0.5 - 2.0, 2.0 * 2.0 - 0.5, 0.5 * -0.5 - 6.0, 0.5 * 2.0 - 1.5];
    Dense::new(
        2,
        move |_, y, out| (out[0], out[1]) = (f[0] * y[0] + f[1] * y[1], f[2] * y[0] + f[3] * y[1]),
        move |_, _, j| j.copy_from_slice(&f),
    )
    .mass(&[2.0, 1.0, 0.5, 3.0])
}

#[test]
fn every_method_solves_with_a_mass_matrix() {
    let exact = [(-1f64).exp() * 4f64.cos(), (-1f64).exp() * -(4f64.sin())];
    for method in odec_ode::method::general() {
        let rtol = if method.order < 3 { 1e-4 } else { 1e-6 };
        let (outcome, _) = run(&rotated(), (0.0, 2.0), &[1.0, 0.0], method.name, &tolerances(rtol, rtol)).unwrap();
        let error = (0..2).map(|i| (outcome.y[i] - exact[i]).abs()).fold(0.0, f64::max);
        assert!(error < 300.0 * rtol, "{}: {error:e}", method.name);
    }
}

/// y' = -z, 0 = z - y^3 (index 1); y(t) = 1/sqrt(1 + 2t).
fn algebraic() -> Dense {
    Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (-y[1], y[1] - y[0] * y[0] * y[0]),
        |_, y, j| j.copy_from_slice(&[0.0, -1.0, -3.0 * y[0] * y[0], 1.0]),
    )
    .mass(&[1.0, 0.0, 0.0, 0.0])
}

#[test]
fn implicit_methods_solve_with_a_singular_mass_matrix() {
    let exact = 1.0 / 5f64.sqrt();
    for method in odec_ode::method::general().filter(|m| m.structure.jacobian) {
        let rtol = if method.order < 3 { 1e-4 } else { 1e-6 };
        let (outcome, _) = run(&algebraic(), (0.0, 2.0), &[1.0, 1.0], method.name, &tolerances(rtol, rtol))
            .unwrap_or_else(|e| panic!("{}: {e:?}", method.name));
        let error = (outcome.y[0] - exact).abs().max((outcome.y[1] - exact.powi(3)).abs());
        assert!(error < 300.0 * rtol, "{}: {error:e}", method.name);
    }
}

#[test]
fn explicit_methods_refuse_a_singular_mass_matrix_and_name_its_rows() {
    for method in odec_ode::method::general().filter(|m| !m.structure.jacobian) {
        match run(&algebraic(), (0.0, 2.0), &[1.0, 1.0], method.name, &tolerances(1e-4, 1e-4)) {
            Err(SolveError::Refused(Refusal::SingularMass { method: name, rows })) => {
                assert_eq!((name.as_str(), rows), (method.name, vec![1]));
            }
            other => panic!("{}: {other:?}", method.name),
        }
    }
}

#[test]
fn a_dependent_mass_matrix_is_refused_too() {
    let system = Dense::new(2, |_, y, f| f.copy_from_slice(y), |_, _, j| j.copy_from_slice(&[1.0, 0.0, 0.0, 1.0]))
        .mass(&[0.1, 0.2, 0.3, 0.6]);
    match run(&system, (0.0, 1.0), &[1.0, 1.0], "rk4", &tolerances(1e-4, 1e-4)) {
        Err(SolveError::Refused(Refusal::SingularMass { rows, .. })) => assert!(rows.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn masses_may_differ_by_any_factor() {
    let system = Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (-1e-25 * y[0], -1e5 * y[1]),
        |_, _, j| j.copy_from_slice(&[-1e-25, 0.0, 0.0, -1e5]),
    )
    .mass(&[1e-25, 0.0, 0.0, 1e5]);
    for method in odec_ode::method::general() {
        let (outcome, _) = run(&system, (0.0, 1.0), &[1.0, 1.0], method.name, &tolerances(1e-4, 1e-4)).unwrap();
        assert!(outcome.y.iter().all(|y| (y - (-1f64).exp()).abs() < 1e-2), "{}: {:?}", method.name, outcome.y);
    }
}
