//! Methods on x'': symplecticity of one step, the recurrence of the alpha family against its closed form, spectral radii over frequency
//! and damping, refusals.

use nalgebra::{DMatrix, DVector};
use odec_ode::method::mechanics::{Parameters, Part};
use odec_ode::method::{self, Adaptive, Family, Method};
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape};
use odec_ode::{Options, Problem, Refusal, Samples, SolveError, System, solve};

use super::problems::PROOFS;
use super::run::Rows;

/// Henon & Heiles 1964: x'' = -x - 2xy, y'' = -y - x^2 + y^2.
struct HenonHeiles(Pattern);

/// x'' = -omega^2 x - 2 zeta omega x'.
struct Oscillator {
    omega: f64,
    zeta: f64,
    pattern: Pattern,
}

fn oscillator(omega: f64, zeta: f64) -> Oscillator {
    let entries = [(0, 1), (1, 0), (1, 1)];
    let count = if zeta == 0.0 { 2 } else { 3 };
    Oscillator { omega, zeta, pattern: Pattern::from_positions(2, 2, entries.into_iter().take(count)) }
}

impl System for HenonHeiles {
    fn shape(&self) -> Shape {
        Shape { n: 4, second: 2 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(&[y[2], y[3], -y[0] - 2.0 * y[0] * y[1], -y[1] - y[0] * y[0] + y[1] * y[1]]);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.0)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], _: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
}

impl System for Oscillator {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 1 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.jacobian_vector(t, y, y, f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        // Column after column: (1, 0), (0, 1), (1, 1).
        values.copy_from_slice(&[-self.omega.powi(2), 1.0, -2.0 * self.zeta * self.omega][..values.len()]);
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        (out[0], out[1]) = (w[1], -self.omega.powi(2) * w[0] - 2.0 * self.zeta * self.omega * w[1]);
        Ok(())
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
}

/// States at the ends of equal steps.
fn states(system: &dyn System, method: &'static Method, y0: &[f64], h: f64, steps: u32) -> Vec<Vec<f64>> {
    let problem = Problem { t0: 0.0, t_end: h * f64::from(steps), y0: y0.to_vec() };
    let options = Options { step: Some(h), fixed: true, rtol: 1e-13, atol: vec![1e-13], ..Options::default() };
    let mut rows = Rows::default();
    if let Err(e) = solve(system, &problem, method, &options, &Samples::Steps, &mut rows) {
        panic!("{}: {e:?}", method.name);
    }
    rows.0.into_iter().map(|(_, y)| y).collect()
}

fn splittings() -> impl Iterator<Item = &'static Method> {
    method::table().iter().copied().filter(|m| matches!(m.family, Family::Splitting(_)))
}

/// Faults of a composition: kicks and drifts must each sum to one.
pub fn composition(parts: &[Part]) -> Vec<String> {
    let (mut kicks, mut drifts) = (0.0, 0.0);
    for part in parts {
        match part {
            Part::Kick(d) => kicks += d,
            Part::Drift(c) => drifts += c,
        }
    }
    let mut wrong = Vec::new();
    if f64::abs(kicks - 1.0) > 1e-15 || f64::abs(drifts - 1.0) > 1e-15 {
        wrong.push(format!("kicks add up to {kicks}, drifts to {drifts}"));
    }
    wrong
}

/// Faults of parameters of the alpha family: order 2, stable at every frequency, and with the largest damping at
/// infinity (Chung & Hulbert 1993, eqs. (17), (18) and (20)).
pub fn parameters(p: &Parameters) -> Vec<String> {
    let mut wrong = Vec::new();
    if (p.gamma - 0.5 + p.alpha_m - p.alpha_f).abs() > 1e-15 {
        wrong.push("gamma is not 1/2 - alpha_m + alpha_f: order 1".to_string());
    }
    if (p.beta - 0.25 * (1.0 - p.alpha_m + p.alpha_f).powi(2)).abs() > 1e-15 {
        wrong.push("beta is not (1 - alpha_m + alpha_f)^2 / 4: two roots part before infinite frequency".to_string());
    }
    if p.alpha_m > p.alpha_f || p.alpha_f > 0.5 || p.beta < 0.25 + 0.5 * (p.alpha_f - p.alpha_m) - 1e-15 {
        wrong.push("not stable at every frequency".to_string());
    }
    wrong
}

/// One-step Jacobian by central differences of order 8, whose error is at rounding level.
fn one_step_jacobian(system: &dyn System, method: &'static Method, y: &[f64], h: f64) -> DMatrix<f64> {
    const DELTA: f64 = 0.02;
    const WEIGHTS: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let n = y.len();
    let step = |j: usize, by: f64| {
        let mut y = y.to_vec();
        y[j] += by;
        DVector::from_vec(states(system, method, &y, h, 1).swap_remove(1))
    };
    let mut jacobian = DMatrix::zeros(n, n);
    for j in 0..n {
        let mut column = DVector::zeros(n);
        for (k, w) in WEIGHTS.iter().enumerate() {
            let by = DELTA * (k + 1) as f64;
            column += (step(j, by) - step(j, -by)) * (*w / DELTA);
        }
        jacobian.set_column(j, &column);
    }
    jacobian
}

/// |Phi' S Phi - S|.
fn defect(phi: &DMatrix<f64>) -> f64 {
    let m = phi.nrows() / 2;
    let s = DMatrix::from_fn(2 * m, 2 * m, |i, j| f64::from(i32::from(j == i + m) - i32::from(i == j + m)));
    (phi.transpose() * &s * phi - s).amax()
}

#[test]
fn one_step_is_symplectic() {
    let entries = [(0, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)];
    let system = HenonHeiles(Pattern::from_positions(4, 4, entries));
    let y = [0.2, -0.1, 0.3, 0.15];
    assert!(splittings().count() >= 3);
    for method in splittings() {
        for h in [0.01, 0.1, 0.3] {
            let defect = defect(&one_step_jacobian(&system, method, &y, h));
            assert!(defect <= 1e-12, "{} at h = {h}: {defect:e}", method.name);
        }
    }
    // The proof detects a method that is not symplectic: the classical one is symplectic only to its order.
    let rk4 = method::find("rk4").unwrap();
    assert!(defect(&one_step_jacobian(&system, rk4, &y, 0.3)) > 1e-7);
}

#[test]
fn energy_stays_where_it_is() {
    let entries = [(0, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)];
    let system = HenonHeiles(Pattern::from_positions(4, 4, entries));
    let energy = |y: &[f64]| {
        0.5 * (y[2] * y[2] + y[3] * y[3] + y[0] * y[0] + y[1] * y[1]) + y[0] * y[0] * y[1] - y[1].powi(3) / 3.0
    };
    for method in splittings() {
        let rows = states(&system, method, &[0.2, -0.1, 0.3, 0.15], 0.05, 20_000);
        let drift = |rows: &[Vec<f64>]| {
            rows.iter().map(|y| (energy(y) - energy(&[0.2, -0.1, 0.3, 0.15])).abs()).fold(0.0, f64::max)
        };
        // As large in the first tenth as in the last.
        let (first, last) = (drift(&rows[..2_000]), drift(&rows[18_000..]));
        assert!(last < 1.5 * first && first < 1e-2, "{}: {first:e} and {last:e}", method.name);
    }
}

/// (x, h v, h^2 a) after a step of the alpha family on the oscillator, from (x, h v, h^2 a) before it; w = h omega.
fn amplification(p: &Parameters, w: f64, zeta: f64) -> DMatrix<f64> {
    // The unknowns (x1, v1, a1) of three equations, with (x0, v0, a0) on the right.
    let (m, f) = (1.0 - p.alpha_m, 1.0 - p.alpha_f);
    let (k, c) = (w * w, 2.0 * zeta * w);
    let left = DMatrix::from_row_slice(3, 3, &[1.0, 0.0, -p.beta, 0.0, 1.0, -p.gamma, f * k, f * c, m]);
    let right = DMatrix::from_row_slice(
        3,
        3,
        &[1.0, 1.0, 0.5 - p.beta, 0.0, 1.0, 1.0 - p.gamma, -p.alpha_f * k, -p.alpha_f * c, -p.alpha_m],
    );
    left.lu().solve(&right).unwrap()
}

fn radius(a: &DMatrix<f64>) -> f64 {
    a.complex_eigenvalues().iter().map(|l| l.norm()).fold(0.0, f64::max)
}

#[test]
fn the_alpha_family_is_its_closed_form() {
    let mut seen = 0;
    for &method in method::table() {
        let Family::Alpha(p) = method.family else { continue };
        for omega in [0.1, 1.0, 3.0, 30.0] {
            for zeta in [0.0, 0.1, 0.7, 2.0] {
                let (h, x, v) = (0.5, 1.0, -0.3);
                let system = oscillator(omega, zeta);
                let rows = states(&system, method, &[x, v], h, 20);
                let a = -omega * omega * x - 2.0 * zeta * omega * v;
                let step = amplification(p, h * omega, zeta);
                let mut z = DVector::from_vec(vec![x, h * v, h * h * a]);
                for (n, y) in rows.iter().enumerate() {
                    let difference = (y[0] - z[0]).abs().max((h * y[1] - z[1]).abs());
                    let scale = 1.0 + h * h * a.abs();
                    let name = method.name;
                    assert!(
                        difference <= 1e-12 * scale,
                        "{name}, omega {omega}, zeta {zeta}, step {n}: {difference:e}"
                    );
                    z = &step * z;
                }
                seen += 1;
            }
        }
    }
    assert!(seen >= 32);
}

#[test]
fn spectral_radii_over_frequency_and_damping() {
    for &method in method::table() {
        if let Family::Alpha(p) = method.family {
            for k in -40..=60 {
                for zeta in [0.0, 0.01, 0.1, 0.5, 1.0, 3.0] {
                    let rho = radius(&amplification(p, 10f64.powf(f64::from(k) / 10.0), zeta));
                    // A double eigenvalue is known to the root of rounding.
                    assert!(rho <= 1.0 + 1e-7, "{} at 10^{}, {zeta}: {rho}", method.name, f64::from(k) / 10.0);
                }
            }
        }
    }
    let find = |name: &str| match method::find(name).unwrap().family {
        Family::Alpha(p) => p,
        _ => panic!("{name} is of the alpha family"),
    };
    // Newmark's method damps nothing, and the other one damps fast modes by the factor in its name.
    assert!((radius(&amplification(find("newmark"), 2.0, 0.0)) - 1.0).abs() < 1e-12);
    let far = radius(&amplification(find("generalized-alpha"), 1e5, 0.0));
    assert!((far - method::mechanics::generalized_alpha::RHO).abs() < 1e-3, "{far}");
    assert!(1.0 - radius(&amplification(find("generalized-alpha"), 0.1, 0.0)) < 1e-4);
}

/// Spectral radius of the 2 x 2 matrix that the code applies to (x, v).
fn stepped(method: &'static Method, w: f64) -> f64 {
    let system = oscillator(w, 0.0);
    let columns: Vec<f64> =
        [[1.0, 0.0], [0.0, 1.0]].iter().flat_map(|y| states(&system, method, y, 1.0, 1).swap_remove(1)).collect();
    radius(&DMatrix::from_column_slice(2, 2, &columns))
}

#[test]
fn splittings_are_stable_up_to_their_limits() {
    // x'' = -omega^2 x: h omega = 2 for the first two; for Yoshida's method where the trace of its matrix leaves [-2, 2].
    for (name, limit) in [("symplectic-euler", 2.0), ("velocity-verlet", 2.0), ("yoshida4", 1.5734)] {
        let method = method::find(name).unwrap();
        for k in 1..=50 {
            let rho = stepped(method, limit * f64::from(k) / 50.5);
            assert!((rho - 1.0).abs() < 1e-7, "{name} at {k}/50.5 of its limit: {rho}");
        }
        assert!(stepped(method, limit + 1e-3) > 1.0 + 1e-4, "{name} beyond its limit");
    }
}

#[test]
fn unsolvable_systems_are_refused_with_a_reason() {
    let proof = |name: &str| PROOFS.into_iter().find(|p| p.name == name).unwrap();
    let reason = |method: &'static Method, name: &str, fixed: bool| {
        let (proof, step) = (proof(name), if fixed { Some(0.1) } else { None });
        let problem = Problem { t0: 0.0, t_end: proof.t_end, y0: proof.exact(0.0) };
        let options = Options { step, fixed, ..Options::default() };
        match solve(&proof.bind(), &problem, method, &options, &Samples::Steps, &mut Rows::default()) {
            Err(SolveError::Refused(Refusal::Unsuitable { reason, instead, .. })) => {
                assert!(!instead.is_empty());
                reason
            }
            other => panic!("{} on {name}: {other:?}", method.name),
        }
    };
    for &method in method::table() {
        if !matches!(method.family, Family::Splitting(_) | Family::Alpha(_)) {
            continue;
        }
        assert!(reason(method, "kaps", true).contains("this model has no second-order equation"));
        assert!(reason(method, "mixed", true).contains("also has first-order unknowns"));
        if method.adaptive == Adaptive::FixedStep {
            reason(method, "spring", false);
        }
        if matches!(method.family, Family::Splitting(_)) {
            assert!(reason(method, "duffing", true).contains("velocities"));
        }
    }
}
