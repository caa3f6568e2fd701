//! Observed order: errors of fixed steps on every problem that a method admits, at step ends and between them.

use odec_ode::method::{self, Adaptive, Family, Method};
use odec_ode::{Options, Refusal, SolveError, System};

use crate::problems::{PROOFS, Proof};
use crate::run::{At, SAMPLES, run, slope};

/// Errors outside this window are not yet asymptotic, or rounding.
const WINDOW: (f64, f64) = (1e-11, 1e-3);
/// Fewer points in the window prove nothing.
const POINTS: usize = 4;
/// Largest distance of the slope from the order.
const WITHIN: f64 = 0.25;
/// Most steps between two samples.
const MOST: usize = 8192;
/// Points that are enough.
const ENOUGH: usize = 10;
/// The line is fitted through the last of them, where the leading term rules.
const FITTED: usize = 5;

/// Fixed-step options for `parts` steps between samples.
fn options(proof: &Proof, parts: usize) -> Options {
    Options {
        step: Some(proof.t_end / (SAMPLES * parts) as f64),
        fixed: true,
        rtol: 1e-12,
        atol: vec![1e-12],
        ..Options::default()
    }
}

/// The fitted order, or why there is none.
pub fn observed(system: &dyn System, proof: &Proof, method: &'static Method, at: At) -> Result<f64, String> {
    let mut points = Vec::new();
    let mut parts = 1usize;
    while parts <= MOST && points.len() < ENOUGH {
        let (_, error) = run(system, proof, method, &options(proof, parts), at).map_err(|e| format!("{e:?}"))?;
        if error < WINDOW.0 {
            break;
        }
        if error <= WINDOW.1 {
            points.push(((1.0 / parts as f64).ln(), error.ln()));
        }
        // 1, 2, 3, 4, 6, 8, 12, ...
        parts = if parts.is_power_of_two() && parts > 1 {
            parts * 3 / 2
        } else {
            (parts * 4).div_ceil(3).next_power_of_two()
        };
    }
    if points.len() < POINTS {
        return Err(format!("only {} points: {points:?}", points.len()));
    }
    Ok(slope(&points[points.len().saturating_sub(FITTED)..]))
}

/// True when the method can run the problem at all: explicit methods need y' of every unknown, Rosenbrock methods an M that
/// stays.
pub fn admits(method: &Method, proof: &Proof) -> bool {
    let rosenbrock = matches!(method.family, Family::Rosenbrock(_));
    (method.structure.jacobian || !proof.algebraic()) && !(rosenbrock && proof.moving_mass())
}

/// What is wrong with the orders of `method` seen on one problem.
pub fn on(system: &dyn System, proof: &Proof, method: &'static Method) -> Vec<String> {
    let mut wrong = Vec::new();
    let p = f64::from(method.order);
    // Interpolation of order d is wrong by h^(d+1) in what is integrated, but by h^d in algebraic unknowns.
    let d = f64::from(method.dense_order);
    for (at, low, high) in [(At::Grid, p, p), (At::Between, p.min(d), p.min(d + 1.0) + 0.25)] {
        match observed(system, proof, method, at) {
            Ok(order) if order >= low - WITHIN && order <= high + WITHIN => {}
            Ok(order) => wrong.push(format!("{} ({at:?}): order {order:.2} instead of {low}", proof.name)),
            Err(why) => wrong.push(format!("{} ({at:?}): {why}", proof.name)),
        }
    }
    wrong
}

/// The whole proof for one row.
pub fn prove(method: &'static Method) -> Vec<String> {
    if method.adaptive == Adaptive::VariableOrder {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for proof in PROOFS {
        let system = proof.bind();
        if admits(method, proof) {
            wrong.extend(on(&system, proof, method));
        } else if !matches!(
            run(&system, proof, method, &options(proof, 4), At::Grid),
            Err(SolveError::Refused(Refusal::SingularMass { .. } | Refusal::Unsuitable { .. }))
        ) {
            wrong.push(format!("{}: should be refused by name", proof.name));
        }
    }
    wrong
}

#[test]
fn every_method_shows_its_order() {
    let mut wrong = Vec::new();
    for method in method::table() {
        wrong.extend(prove(method).into_iter().map(|w| format!("{} on {w}", method.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_list_of_problems_has_every_structure() {
    assert!(PROOFS.iter().any(|p| p.strong_time && !p.second_order() && !p.has_mass()));
    assert!(PROOFS.iter().any(|p| p.second_order()));
    assert!(PROOFS.iter().any(|p| p.has_mass() && !p.algebraic()));
    assert!(PROOFS.iter().any(|p| p.algebraic()));
    assert!(PROOFS.iter().any(|p| p.moving_mass()));
    assert!(method::table().iter().any(|m| matches!(m.family, Family::Rosenbrock(_))));
}
