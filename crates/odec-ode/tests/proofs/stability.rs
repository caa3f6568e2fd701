//! Linear stability: the effect of one step of the code on y' = lambda y, against the stability function of its
//! coefficients; and the claims of each row. Complex lambda are run as the equivalent real 2 x 2 system.

use nalgebra::{Complex, DMatrix, DVector};
use odec_ode::method::{self, Adaptive, Family, Method, Stability};
use odec_ode::{Options, Problem, Samples, System, solve};

use super::coefficients::{triangular, untransform};
use super::problems::dense_pattern;
use super::random::Random;
use super::run::Rows;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape};

type C = Complex<f64>;

/// y' = lambda y as a real system.
struct Linear {
    lambda: C,
    pattern: Pattern,
}

impl System for Linear {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.jacobian_vector(t, y, y, f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values.copy_from_slice(&[self.lambda.re, self.lambda.im, -self.lambda.im, self.lambda.re]);
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let z = self.lambda * C::new(w[0], w[1]);
        (out[0], out[1]) = (z.re, z.im);
        Ok(())
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

/// States at the ends of `steps` unit steps, the start 1 included.
fn states(method: &'static Method, z: C, steps: u32) -> Vec<C> {
    let system = Linear { lambda: z, pattern: dense_pattern(2) };
    let problem = Problem { t0: 0.0, t_end: f64::from(steps), y0: vec![1.0, 0.0] };
    let options = Options { step: Some(1.0), fixed: true, rtol: 1e-13, atol: vec![1e-13], ..Options::default() };
    let mut rows = Rows::default();
    if let Err(e) = solve(&system, &problem, method, &options, &Samples::Steps, &mut rows) {
        panic!("{} at z = {z}: {e:?}", method.name);
    }
    rows.0.iter().map(|(_, y)| C::new(y[0], y[1])).collect()
}

/// R(z) = 1 + z b (I - z A)^-1 (1, ..., 1).
fn function(a: &DMatrix<f64>, b: &[f64], z: C) -> C {
    let s = b.len();
    let matrix = DMatrix::from_fn(s, s, |i, j| C::from(f64::from(u8::from(i == j))) - z * a[(i, j)]);
    let solved = matrix.lu().solve(&DVector::repeat(s, C::from(1.0))).expect("no pole where it is sampled");
    C::from(1.0) + z * b.iter().zip(&solved).map(|(b, k)| k * *b).sum::<C>()
}

/// Last component of (I - z A)^-1 (1, ..., 1), which is R(z) if the last stage is the step: no cancellation at large z.
fn last_stage(a: &DMatrix<f64>, z: C) -> C {
    let s = a.nrows();
    let matrix = DMatrix::from_fn(s, s, |i, j| C::from(f64::from(u8::from(i == j))) - z * a[(i, j)]);
    matrix.lu().solve(&DVector::repeat(s, C::from(1.0))).expect("no pole where it is sampled")[s - 1]
}

fn polynomial(coefficients: &[f64], z: C) -> C {
    coefficients.iter().rev().fold(C::from(0.0), |acc, c| acc * z + *c)
}

/// R(z) of a one-step row from its coefficients; `None` for multistep rows.
fn formula(method: &Method, z: C) -> Option<C> {
    match method.family {
        Family::RungeKutta(t) => Some(function(&triangular(t.a, t.b.len()), t.b, z)),
        Family::ImplicitRungeKutta(t) => Some(last_stage(&triangular(t.a, t.b.len()), z)),
        Family::Rosenbrock(t) => {
            let u = untransform(t);
            Some(function(&u.beta, &u.b, z))
        }
        Family::ImplicitOneStep { numerator, denominator } => {
            Some(polynomial(numerator, z) / polynomial(denominator, z))
        }
        Family::Multistep | Family::Automatic | Family::Taylor | Family::Splitting(_) | Family::Alpha(_) => None,
    }
}

/// Points of the plane for all samples: near the origin, in both half-planes, and far left.
fn points(count: usize) -> Vec<C> {
    let mut random = Random::new(11);
    (0..count)
        .map(|k| {
            let size = 10f64.powf(-2.0 + 4.0 * random.unit());
            let angle = std::f64::consts::PI * if k % 4 == 0 { random.unit() - 0.5 } else { 0.5 + random.unit() };
            C::new(size * angle.cos(), size * angle.sin())
        })
        .collect()
}

#[test]
fn one_step_is_the_stability_function() {
    let mut rows = 0;
    for method in method::table() {
        for z in points(200) {
            let Some(expected) = formula(method, z) else { continue };
            if expected.norm() >= 1e6 || expected.norm().is_nan() {
                continue; // next to a pole, where rounding decides
            }
            let got = states(method, z, 1)[1];
            let scale = 1.0
                + expected.norm()
                + if method.structure.jacobian { 0.0 } else { z.norm().powi(method.order as i32) };
            assert!((got - expected).norm() <= 1e-12 * scale, "{} at z = {z}: {got} and not {expected}", method.name);
            rows += 1;
        }
    }
    assert!(rows > 1000, "only {rows} points were compared");
}

#[test]
fn multistep_states_satisfy_the_formula() {
    use odec_ode::method::multistep::coefficients::EQUAL_STEPS;
    for method in method::table().iter().filter(|m| matches!(m.family, Family::Multistep)) {
        if method.adaptive != Adaptive::VariableStep {
            continue;
        }
        let s = method.order as usize;
        let table = &EQUAL_STEPS[s - 1];
        let a: Vec<f64> = table.numerators.iter().map(|n| *n as f64 / table.denominator as f64).collect();
        for z in points(200) {
            if (z - a[s]).norm() < 0.1 {
                continue; // next to the pole
            }
            let y = states(method, z, 12);
            for window in y.windows(s + 1) {
                let terms: Vec<C> = a.iter().zip(window).map(|(a, y)| y * *a).collect();
                let sum = terms.iter().sum::<C>() - z * window[s];
                let scale = terms.iter().map(|t| t.norm()).sum::<f64>() + (z * window[s]).norm();
                assert!(sum.norm() <= 1e-12 * scale, "{} at z = {z}: off by {:e}", method.name, sum.norm() / scale);
            }
        }
    }
}

/// Weights of past values of f, newest first, in the predictor of order k and in the corrector of order k + 1, whose newest value is
/// the predicted one (Hairer, Nørsett & Wanner I, section III.1).
fn adams(k: usize) -> (&'static [f64], &'static [f64]) {
    match k {
        1 => (&[1.0], &[1.0 / 2.0, 1.0 / 2.0]),
        2 => (&[3.0 / 2.0, -1.0 / 2.0], &[5.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0]),
        _ => (&[23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0], &[9.0 / 24.0, 19.0 / 24.0, -5.0 / 24.0, 1.0 / 24.0]),
    }
}

#[test]
fn adams_states_satisfy_the_formulas() {
    let mut rows = 0;
    for method in method::table() {
        if !method.name.starts_with("abm") || method.name == "abm" {
            continue;
        }
        let k = method.order as usize - 1;
        let (predictor, corrector) = adams(k);
        for z in points(200).into_iter().filter(|z| z.norm() < 10.0) {
            let y = states(method, z, 12);
            // The first steps are those of the Runge-Kutta method.
            let rk4 = 1.0 + z + z * z / 2.0 + z * z * z / 6.0 + z * z * z * z / 24.0;
            for m in 1..k {
                assert!((y[m] - rk4 * y[m - 1]).norm() <= 1e-12 * (1.0 + z.norm().powi(4)) * y[m - 1].norm());
            }
            for m in k..y.len() {
                let past = |j: usize| z * y[m - 1 - j];
                let predicted = y[m - 1] + (0..k).map(|j| past(j) * predictor[j]).sum::<C>();
                let end = y[m - 1] + z * predicted * corrector[0];
                let end = end + (1..=k).map(|j| past(j - 1) * corrector[j]).sum::<C>();
                let scale = (m.saturating_sub(k)..=m).map(|i| y[i].norm()).sum::<f64>() * (1.0 + z.norm().powi(2));
                assert!((y[m] - end).norm() <= 1e-12 * scale, "{} at z = {z}: {} and not {end}", method.name, y[m]);
            }
        }
        rows += 1;
    }
    assert_eq!(rows, 3);
}

#[test]
fn rows_are_as_stable_as_they_say() {
    let far = C::new(-1e10, 0.0);
    for method in method::table() {
        let Some(at_infinity) = formula(method, far) else { continue };
        let stepped = |z: C| states(method, z, 1)[1].norm();
        match method.stability {
            Stability::L => {
                assert!(at_infinity.norm() < 1e-8 && stepped(far) < 1e-8, "{}: R(-1e10) = {at_infinity}", method.name);
            }
            Stability::A => assert!((at_infinity.norm() - 1.0).abs() < 1e-8, "{} is L-stable", method.name),
            Stability::Bounded => {
                assert!(formula(method, C::new(-100.0, 0.0)).is_some_and(|r| r.norm() > 1.0), "{}", method.name);
            }
            Stability::Sector(_) => panic!("{}: no proof of a sector for one-step methods", method.name),
        }
        if matches!(method.stability, Stability::L | Stability::A) {
            for z in points(400).into_iter().filter(|z| z.re <= 0.0) {
                let r = formula(method, z).unwrap();
                assert!(r.norm() <= 1.0 + 1e-12, "{} at {z}: |R| = {}", method.name, r.norm());
            }
            // The imaginary axis bounds the rest (no pole to the left of it).
            for k in -100..=100 {
                let z = C::new(0.0, 10f64.powf(f64::from(k) / 25.0));
                assert!(formula(method, z).unwrap().norm() <= 1.0 + 1e-12, "{} at {z}", method.name);
            }
        }
    }
    for method in
        method::table().iter().filter(|m| matches!(m.family, Family::Multistep) && m.adaptive == Adaptive::VariableStep)
    {
        let y = states(method, far, 8);
        assert!(y[8].norm() < 1e-8, "{}: damps to {}", method.name, y[8]);
    }
}

/// Largest x such that the method is stable on the segment from 0 to x * direction.
fn limit(method: &Method, direction: C) -> f64 {
    let stable = |x: f64| formula(method, direction * x).is_some_and(|r| r.norm() <= 1.0 + 1e-13);
    let first = (1..10_000).map(|k| f64::from(k) * 1e-3).find(|x| !stable(*x)).unwrap_or(f64::INFINITY);
    let (mut low, mut high) = (first - 1e-3, first);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if stable(middle) { low = middle } else { high = middle }
    }
    low
}

#[test]
fn explicit_methods_have_the_classical_limits() {
    let limits = [
        ("euler", 2.0, 0.0),
        ("midpoint", 2.0, 0.0),
        ("heun", 2.0, 0.0),
        ("ralston", 2.0, 0.0),
        ("ssprk33", 2.513, 1.732),
        ("rk4", 2.785, 2.828),
    ];
    for (name, real, imaginary) in limits {
        let method = method::find(name).unwrap();
        assert!((limit(method, C::new(-1.0, 0.0)) - real).abs() < 1e-3, "{name}");
        assert!((limit(method, C::new(0.0, 1.0)) - imaginary).abs() < 1.5e-3, "{name} on the imaginary axis");
    }
}
