//! Planted faults: the proofs must find each of them. Every control also shows that the proof passes without the fault.

use odec_ode::evaluator::Evaluator;
use odec_ode::integrator::{Attempt, Integrator};
use odec_ode::method::continuous::{DenseForm, DenseTable};
use odec_ode::method::mechanics::{Parameters, Part};
use odec_ode::method::multistep::bdf::Bdf;
use odec_ode::method::{self, Adaptive, Family, Method, Setup, dirk, rosenbrock, runge_kutta};
use odec_ode::system::{EvalError, Jacobian, Mass, Shape};
use odec_ode::{Cause, Refusal, System};

use crate::share::Share;

use super::problems::{Bound, PROOFS, Proof};
use super::run::At;
use super::{coefficients, mechanics, order, tolerance};

fn named(name: &str) -> &'static Proof {
    PROOFS.into_iter().find(|p| p.name == name).unwrap()
}

/// A row like `method`, with another family or another integrator.
fn planted(
    method: &Method,
    family: Family,
    build: fn(&Setup<'_>) -> Result<Box<dyn Integrator>, Refusal>,
) -> &'static Method {
    Box::leak(Box::new(Method {
        name: method.name,
        aliases: &[],
        about: method.about,
        order: method.order,
        stages: method.stages,
        family,
        stability: method.stability,
        adaptive: method.adaptive,
        dense_order: method.dense_order,
        structure: method.structure,
        source: method.source,
        build,
    }))
}

/// A system that forgets that f depends on t.
struct Timeless(Bound);

impl System for Timeless {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.0.rhs(t, y, f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        self.0.jacobian()
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.jacobian_values(t, y, values)
    }
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.0.jacobian_vector(t, y, w, out)
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn mass(&self) -> Mass<'_> {
        self.0.mass()
    }
    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.mass_values(t, y, values)
    }
    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.mass_jacobian(t, y, w, values)
    }
}

/// False for W-methods of order 2 (ROS2), which have this order with any matrix and without df/dt: sum_i b_i gamma_i = 0.
fn needs_df_dt(method: &Method) -> bool {
    let Family::Rosenbrock(t) = method.family else { return true };
    let b = coefficients::untransform(t).b;
    method.order > 2 || b.iter().zip(t.gammas).map(|(b, gamma)| b * gamma).sum::<f64>().abs() > 1e-12
}

#[test]
fn dropping_df_dt_is_seen() {
    // Every method that uses df/dt and has at least order 2 loses it (order 1 is lost on stiff problems only: see the
    // erratum).
    let mut seen = 0;
    for method in method::table().iter().filter(|m| m.structure.time_derivative && m.order > 1 && needs_df_dt(m)) {
        for name in ["forced", "duffing", "circle"] {
            let proof = named(name);
            assert!(order::on(&proof.bind(), proof, method).is_empty(), "{} on {name}", method.name);
            let spoilt = order::on(&Timeless(proof.bind()), proof, method);
            assert!(!spoilt.is_empty(), "{} on {name}: not seen", method.name);
            seen += 1;
        }
    }
    assert!(seen >= 3);
}

#[test]
fn rodas4_without_df_dt_falls_to_order_one() {
    let method = method::find("rodas4").unwrap();
    let proof = named("forced");
    let with = order::observed(&proof.bind(), proof, method, At::Grid).unwrap();
    let without = order::observed(&Timeless(proof.bind()), proof, method, At::Grid).unwrap();
    assert!(with > 3.75, "{with}");
    assert!(without < 1.25, "{without}");
}

/// `x` with its fourth digit changed.
fn misprint(x: f64) -> f64 {
    x + 10f64.powf(x.abs().log10().floor() - 3.0)
}

fn leak(values: Vec<f64>) -> &'static [f64] {
    Box::leak(values.into_boxed_slice())
}

/// Copies of `values`, in each of which one nonzero number is misprinted.
fn misprints(values: &'static [f64]) -> impl Iterator<Item = &'static [f64]> {
    (0..values.len()).filter(|i| values[*i] != 0.0).map(|i| {
        let mut copy = values.to_vec();
        copy[i] = misprint(copy[i]);
        leak(copy)
    })
}

/// Copies of a triangle of coefficients, in each of which one is misprinted.
fn misprinted_rows(rows: &'static [&'static [f64]]) -> impl Iterator<Item = &'static [&'static [f64]]> {
    (0..rows.len()).flat_map(move |i| {
        misprints(rows[i]).map(move |row| -> &'static [&'static [f64]] {
            let mut copy = rows.to_vec();
            copy[i] = row;
            Box::leak(copy.into_boxed_slice())
        })
    })
}

/// Copies of a table of dense output, in each of which one number is misprinted.
fn misprinted_dense(dense: &'static DenseTable) -> impl Iterator<Item = &'static DenseTable> {
    let DenseTable { c, a, order, .. } = *dense;
    let (rows, nested) = match dense.form {
        DenseForm::Nested(rows) => (rows, true),
        DenseForm::Powers(rows) => (rows, false),
    };
    let forms = misprinted_rows(rows).map(move |rows| {
        let form = if nested { DenseForm::Nested(rows) } else { DenseForm::Powers(rows) };
        DenseTable { c, a, order, form }
    });
    let nodes = misprints(c).map(move |c| DenseTable { c, a, order, form: dense.form });
    let inner = misprinted_rows(a).map(move |a| DenseTable { c, a, order, form: dense.form });
    forms.chain(nodes).chain(inner).map(|table| &*Box::leak(Box::new(table)))
}

#[test]
fn a_misprinted_digit_is_seen_in_every_coefficient() {
    let (mut planted, mut share) = (0, Share::one_of(5));
    for method in method::table() {
        let p = method.order as usize;
        match method.family {
            Family::RungeKutta(t) => {
                let main = misprints(t.b).map(|b| runge_kutta::ExplicitTableau { b, ..*t });
                let nodes = misprints(t.c).map(|c| runge_kutta::ExplicitTableau { c, ..*t });
                let inner = misprinted_rows(t.a).map(|a| runge_kutta::ExplicitTableau { a, ..*t });
                let embedded = t.embedded.into_iter().flat_map(|(b, order)| misprints(b).map(move |b| (b, order)));
                let embedded = embedded.map(|pair| runge_kutta::ExplicitTableau { embedded: Some(pair), ..*t });
                let second = t.second.into_iter().flat_map(|(b, order)| misprints(b).map(move |b| (b, order)));
                let second = second.map(|pair| runge_kutta::ExplicitTableau { second: Some(pair), ..*t });
                for spoilt in main.chain(nodes).chain(inner).chain(embedded).chain(second).filter(|_| share.takes()) {
                    assert!(!coefficients::runge_kutta(&spoilt, p).is_empty(), "{}: {spoilt:?}", method.name);
                    planted += 1;
                }
                for dense in t.dense.into_iter().flat_map(misprinted_dense).filter(|_| share.takes()) {
                    let spoilt = runge_kutta::ExplicitTableau { dense: Some(dense), ..*t };
                    assert!(!coefficients::dense_output(&spoilt).is_empty(), "{}: {dense:?}", method.name);
                    planted += 1;
                }
            }
            Family::Rosenbrock(t) => {
                let main = misprints(t.m).map(|m| rosenbrock::RosenbrockTableau { m, ..*t });
                // A factor on all weights of the estimate preserves its order, and late stages may be as small as an
                // estimate: a wrong digit is visible in the first stage, which is of size h.
                let mut e = t.error.0.to_vec();
                e[0] += 1e-3;
                let embedded = [rosenbrock::RosenbrockTableau { error: (leak(e), t.error.1), ..*t }];
                let a = misprinted_rows(t.a).map(|a| rosenbrock::RosenbrockTableau { a, ..*t });
                let c = misprinted_rows(t.c).map(|c| rosenbrock::RosenbrockTableau { c, ..*t });
                let alpha = misprints(t.alpha).map(|alpha| rosenbrock::RosenbrockTableau { alpha, ..*t });
                let gammas = misprints(t.gammas).map(|gammas| rosenbrock::RosenbrockTableau { gammas, ..*t });
                let gamma = rosenbrock::RosenbrockTableau { gamma: misprint(t.gamma), ..*t };
                let all = main.chain(embedded).chain(a).chain(c).chain(alpha).chain(gammas).chain([gamma]);
                for spoilt in all.filter(|_| share.takes()) {
                    assert!(!coefficients::rosenbrock(&spoilt, p).is_empty(), "{}: {spoilt:?}", method.name);
                    planted += 1;
                }
            }
            Family::ImplicitRungeKutta(t) => {
                let extension = || dirk::Extension::Collocation;
                let copy = |b, a, c, embedded| dirk::DirkTableau { b, a, c, embedded, extension: extension(), ..*t };
                let main = misprints(t.b).map(|b| copy(b, t.a, t.c, t.embedded));
                let nodes = misprints(t.c).map(|c| copy(t.b, t.a, c, t.embedded));
                let inner = misprinted_rows(t.a).map(|a| copy(t.b, a, t.c, t.embedded));
                let embedded = t.embedded.into_iter().flat_map(|(b, order)| misprints(b).map(move |b| (b, order)));
                let embedded = embedded.map(|pair| copy(t.b, t.a, t.c, Some(pair)));
                for spoilt in main.chain(nodes).chain(inner).chain(embedded) {
                    assert!(!coefficients::implicit(&spoilt, p).is_empty(), "{}: {spoilt:?}", method.name);
                    planted += 1;
                }
            }
            Family::Splitting(c) => {
                for i in 0..c.parts.len() {
                    let mut parts = c.parts.to_vec();
                    parts[i] = match parts[i] {
                        Part::Kick(d) => Part::Kick(misprint(d)),
                        Part::Drift(c) => Part::Drift(misprint(c)),
                    };
                    assert!(!mechanics::composition(&parts).is_empty(), "{}: {parts:?}", method.name);
                    planted += 1;
                }
            }
            Family::Alpha(p) => {
                let spoilt = [
                    Parameters { gamma: misprint(p.gamma), ..*p },
                    Parameters { beta: p.beta - 1e-3, ..*p },
                    Parameters { alpha_f: p.alpha_f + 1e-3, ..*p },
                    Parameters { alpha_m: p.alpha_m - 1e-3, ..*p },
                ];
                for spoilt in &spoilt {
                    assert!(!mechanics::parameters(spoilt).is_empty(), "{}: {spoilt:?}", method.name);
                    planted += 1;
                }
            }
            Family::ImplicitOneStep { .. } | Family::Multistep | Family::Automatic | Family::Taylor => {}
        }
    }
    assert!(planted > 60, "only {planted} misprints were planted");
}

#[test]
fn a_misprinted_weight_is_seen_in_the_observed_order_too() {
    let proof = named("kaps");
    let system = proof.bind();
    for name in ["rk4", "dopri5"] {
        let method = method::find(name).unwrap();
        let Family::RungeKutta(t) = method.family else { panic!("{name} is a Runge-Kutta method") };
        assert!(order::on(&system, proof, method).is_empty());
        let b = misprints(t.b).next().unwrap();
        // If the last stage of a table is the step itself, its row contains the weights too.
        let a = if t.fsal { misprinted_rows(t.a).last().unwrap() } else { t.a };
        let spoilt = Box::leak(Box::new(runge_kutta::ExplicitTableau { a, b, ..*t }));
        let spoilt = planted(method, Family::RungeKutta(spoilt), method.build);
        assert!(!order::on(&system, proof, spoilt).is_empty(), "{name}");
    }
}

/// Step doubling whose next step follows from h * (1/e)^(1/p).
struct WrongExponent {
    inner: Box<dyn Integrator>,
    p: i32,
}

impl WrongExponent {
    /// safety * e^(-1/(p+1)) is raised to safety * e^(-1/p).
    fn spoil(&self, h: f64, next: f64) -> f64 {
        const SAFETY: f64 = 0.9;
        let ratio = SAFETY * (next / h / SAFETY).powf(f64::from(self.p + 1) / f64::from(self.p));
        h * ratio.clamp(0.2, 5.0)
    }
}

impl Integrator for WrongExponent {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn time(&self) -> f64 {
        self.inner.time()
    }
    fn state(&self) -> &[f64] {
        self.inner.state()
    }
    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.inner.set(eval, t, y)
    }
    fn order(&self) -> u32 {
        self.inner.order()
    }
    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        match self.inner.attempt(eval, h, t_new) {
            Attempt::Accepted { next } => Attempt::Accepted { next: self.spoil(h, next) },
            Attempt::Rejected { next, error, row } => Attempt::Rejected { next: self.spoil(h, next), error, row },
            failed @ Attempt::Failed { .. } => failed,
        }
    }
    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.inner.interpolate(t, y);
    }
}

#[test]
fn the_exponent_one_over_p_of_step_doubling_is_seen() {
    fn spoilt(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
        let inner = (method::find(setup.method.name)?.build)(setup)?;
        Ok(Box::new(WrongExponent { inner, p: setup.method.order as i32 }))
    }
    for method in method::general().filter(|m| m.adaptive == Adaptive::Doubling) {
        assert!(tolerance::settles(method).is_empty());
        let wrong = planted(method, method.family, spoilt);
        assert!(!tolerance::settles(wrong).is_empty(), "{}", method.name);
    }
}

/// BDF3 whose first two steps use the explicit Euler method.
struct EulerStart {
    bdf: Bdf,
    t: f64,
    /// Newest first.
    states: Vec<Vec<f64>>,
    slope: Vec<f64>,
}

impl Integrator for EulerStart {
    fn dimension(&self) -> usize {
        self.bdf.dimension()
    }
    fn time(&self) -> f64 {
        if self.states.len() < 3 { self.t } else { self.bdf.time() }
    }
    fn state(&self) -> &[f64] {
        if self.states.len() < 3 { &self.states[0] } else { self.bdf.state() }
    }
    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.t = t;
        self.states = vec![y.to_vec()];
        self.bdf.set(eval, t, y)
    }
    fn order(&self) -> u32 {
        3
    }
    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if self.states.len() == 3 {
            return self.bdf.attempt(eval, h, t_new);
        }
        if let Err(cause) = eval.rhs(self.t, &self.states[0], &mut self.slope) {
            return Attempt::Failed { cause, next: h };
        }
        let y = self.states[0].iter().zip(&self.slope).map(|(y, f)| y + h * f).collect();
        self.states.insert(0, y);
        self.t = t_new;
        if self.states.len() == 3 {
            self.bdf.set_history(self.t, h, &self.states);
        }
        Attempt::Accepted { next: h }
    }
    fn interpolate(&self, t: f64, y: &mut [f64]) {
        if self.states.len() == 3 { self.bdf.interpolate(t, y) } else { y.copy_from_slice(&self.states[0]) }
    }
}

#[test]
fn starting_bdf3_by_euler_is_seen() {
    let proof = named("kaps");
    let system = proof.bind();
    let method = method::find("bdf3").unwrap();
    assert!(order::on(&system, proof, method).is_empty());
    let wrong = planted(method, method.family, |setup| {
        let n = setup.system.shape().n;
        let bdf = Bdf::new(setup.system, 3, setup.options)?;
        Ok(Box::new(EulerStart { bdf, t: 0.0, states: Vec::new(), slope: vec![0.0; n] }))
    });
    let at_ends = order::observed(&system, proof, wrong, At::Grid).unwrap();
    assert!(at_ends < 3.0 - 0.25, "order {at_ends}");
    assert!(!order::on(&system, proof, wrong).is_empty());
}
