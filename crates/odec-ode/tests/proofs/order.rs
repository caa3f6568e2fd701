//! Observed order: errors of fixed steps on every problem that a method admits, at step ends and between them.

use odec_ode::method::{self, Family, Method};
use odec_ode::{Options, Problem, Refusal, Samples, SolveError, System, solve};

use super::problems::{PROOFS, Proof};
use crate::share::Share;

use super::run::{At, Rows, SAMPLES, distance, run, slope, times};

/// From this number of problems on, a method of high order must show its order on more than half of them.
const MANY: usize = 4;
/// Errors outside this window are not yet asymptotic, or rounding.
const WINDOW: (f64, f64) = (1e-11, 1e-3);
/// Least number of points in the window.
const POINTS: usize = 4;
/// Largest distance of the slope from the order.
const MAX_DEVIATION: f64 = 0.25;
/// Largest number of steps between two samples.
const MOST: usize = 8192;
/// Points that are enough.
const ENOUGH: usize = 10;
/// Number of last points through which the line is fitted, where the leading term dominates.
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

/// Fitted order, or the reason for which there is none.
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

/// From this order on, pairs are optimised until the leading term of their error is so small that the next one
/// dominates above 1e-11.
const HIGH: u32 = 5;
/// From this order on, the next terms dominate down to rounding: the observed order may be this much higher, and the
/// order conditions exclude a higher order.
const HIGHEST: u32 = 9;
const ABOVE_HIGH_ORDER: f64 = 2.0;
/// Error that rounding causes in so few steps.
const FLOOR: f64 = 2e-13;
/// Numbers of steps over the whole interval for methods of high order.
const STEPS: [usize; 26] =
    [3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024];

/// The order of a method of high order: from few long steps on, and down to rounding. Two estimates: the slope through the last four
/// points, and its limit when the slope between neighbours is a line in h.
pub fn observed_high(
    system: &dyn System,
    proof: &Proof,
    method: &'static Method,
    at: At,
) -> Result<(f64, f64), String> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for n in STEPS {
        let options = Options { step: Some(proof.t_end / n as f64), ..options(proof, 1) };
        let problem = Problem { t0: 0.0, t_end: proof.t_end, y0: proof.exact(0.0) };
        let samples = match at {
            At::Grid => Samples::Steps,
            At::Inside => Samples::Times(times(proof, at)),
        };
        let mut rows = Rows::default();
        solve(system, &problem, method, &options, &samples, &mut rows).map_err(|e| format!("{e:?}"))?;
        let error = rows.0.iter().map(|(t, y)| distance(y, &proof.exact(*t))).fold(0.0, f64::max);
        if error < FLOOR {
            break;
        }
        if error <= WINDOW.1 {
            points.push(((1.0 / n as f64).ln(), error.ln()));
        }
    }
    if points.len() < POINTS + 1 {
        return Err(format!("only {} points: {points:?}", points.len()));
    }
    let last = &points[points.len() - POINTS..];
    let local: Vec<(f64, f64)> =
        last.windows(2).map(|w| (0.5 * (w[0].0.exp() + w[1].0.exp()), (w[0].1 - w[1].1) / (w[0].0 - w[1].0))).collect();
    let tilt = slope(&local);
    let limit = local.iter().map(|(h, q)| q - tilt * h).sum::<f64>() / local.len() as f64;
    Ok((slope(last), limit))
}

/// True if the method can run the problem: explicit methods need y' of every unknown, Rosenbrock methods a constant
/// M, methods on x'' no other unknowns.
pub fn admits(method: &Method, proof: &Proof) -> bool {
    match method.family {
        Family::Splitting(_) => return proof.pure_second_order() && proof.free_of_velocities,
        Family::Alpha(_) => return proof.pure_second_order(),
        // its coefficients come from a compiled model, which is tested there
        Family::Taylor => return false,
        _ => {}
    }
    let rosenbrock = matches!(method.family, Family::Rosenbrock(_));
    (method.structure.jacobian || !proof.algebraic()) && !(rosenbrock && proof.moving_mass())
}

/// Faults in the orders of `method` observed on one problem.
pub fn on(system: &dyn System, proof: &Proof, method: &'static Method) -> Vec<String> {
    let mut wrong = Vec::new();
    let p = f64::from(method.order);
    // Interpolation of order d has an error of h^(d+1) in integrated unknowns, but of h^d in algebraic unknowns.
    let d = f64::from(method.dense_order);
    for (at, low, high) in [(At::Grid, p, p), (At::Inside, p.min(d), p.min(d + 1.0) + 0.25)] {
        match observed(system, proof, method, at) {
            Ok(order) if order >= low - MAX_DEVIATION && order <= high + MAX_DEVIATION => {}
            // Here only a lower order is wrong: that it is not higher, the order conditions show.
            _ if method.order >= HIGH && matches!(method.family, Family::RungeKutta(_)) => {
                match observed_high(system, proof, method, at) {
                    Ok((slope, limit)) if slope.max(limit) >= low - MAX_DEVIATION => {}
                    Ok((slope, limit)) => {
                        wrong.push(format!("{} ({at:?}): order {slope:.2} ({limit:.2}) and not {low}", proof.name));
                    }
                    Err(why) => wrong.push(format!("{} ({at:?}): {why}", proof.name)),
                }
            }
            Ok(order) => wrong.push(format!("{} ({at:?}): order {order:.2} instead of {low}", proof.name)),
            Err(why) => wrong.push(format!("{} ({at:?}): {why}", proof.name)),
        }
    }
    wrong
}

/// True if the order of a method of high order is observed within the bounds on this problem.
fn exactly(proof: &'static Proof, method: &'static Method) -> bool {
    let above = if method.order >= HIGHEST { ABOVE_HIGH_ORDER } else { MAX_DEVIATION };
    let near = |order: f64| (-MAX_DEVIATION..=above).contains(&(order - f64::from(method.order)));
    let system = proof.bind();
    observed(&system, proof, method, At::Grid).is_ok_and(near)
        || observed_high(&system, proof, method, At::Grid).is_ok_and(|(slope, limit)| near(slope) || near(limit))
}

/// Proof for one row, on a share of the problems.
pub fn prove(method: &'static Method, share: &mut Share) -> Vec<String> {
    // These two have no constant steps.
    if ["bdf", "abm"].contains(&method.name) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let proofs: Vec<_> = PROOFS.into_iter().filter(|_| share.takes()).collect();
    for proof in &proofs {
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
    if method.order >= HIGH && matches!(method.family, Family::RungeKutta(_)) {
        let admitted: Vec<_> = proofs.into_iter().filter(|proof| admits(method, proof)).collect();
        let seen = admitted.iter().filter(|proof| exactly(proof, method)).count();
        // few of the problems say nothing about most of them
        if admitted.len() >= MANY && 2 * seen <= admitted.len() {
            wrong.push(format!("the order is seen on {seen} problems of {} only", admitted.len()));
        }
    }
    wrong
}

#[test]
fn every_method_shows_its_order() {
    let (mut wrong, mut share) = (Vec::new(), Share::one_of(6));
    for method in method::table() {
        wrong.extend(prove(method, &mut share).into_iter().map(|w| format!("{} on {w}", method.name)));
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
