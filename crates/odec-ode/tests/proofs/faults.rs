//! Systems that fail at random calls: recoverably, fatally, or with NaN. Every run ends, with an outcome or with a
//! failure that tells the place.

use std::sync::atomic::{AtomicU64, Ordering};

use odec_ode::method;
use odec_ode::system::{EvalError, Jacobian, Mass, Shape};
use odec_ode::{Cause, Options, Problem, Samples, SolveError, System, solve};

use super::order::admits;
use super::problems::{Bound, PROOFS};
use super::random::Random;
use super::run::Rows;

/// Budget of steps: an endless run uses it up.
const BUDGET: u64 = 3_000;

/// System some of whose calls fail, depending only on the number of the call.
struct Faulty {
    inner: Bound,
    calls: AtomicU64,
    seed: u64,
    /// One call in this number fails.
    every: u64,
    /// Shares, in tenths, of the fatal faults.
    fatal: u64,
}

impl Faulty {
    /// Decides on a fault for this call and puts NaN or infinity into the values.
    fn fault(&self, out: &mut [f64]) -> Result<(), EvalError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut random = Random::new(self.seed ^ call.wrapping_mul(0x2545_f491_4f6c_dd1d));
        random.bits();
        if !random.bits().is_multiple_of(self.every) {
            return Ok(());
        }
        let row = random.below(out.len());
        match random.bits() % 10 {
            k if k < self.fatal => Err(EvalError::Fatal),
            k if k % 3 == 0 => Err(EvalError::Recoverable),
            k if k % 3 == 1 => {
                out[row] = f64::NAN;
                Ok(())
            }
            _ => {
                out[row] = f64::NEG_INFINITY;
                Ok(())
            }
        }
    }
}

impl System for Faulty {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.inner.rhs(t, y, f)?;
        self.fault(f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        self.inner.jacobian()
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.inner.jacobian_values(t, y, values)?;
        self.fault(values)
    }
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.inner.jacobian_vector(t, y, w, out)?;
        self.fault(out)
    }
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.inner.time_derivative(t, y, out)?;
        self.fault(out)
    }
    fn autonomous(&self) -> bool {
        self.inner.autonomous()
    }
    fn mass(&self) -> Mass<'_> {
        self.inner.mass()
    }
    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.inner.mass_values(t, y, values)?;
        self.fault(values)
    }
    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.inner.mass_jacobian(t, y, w, values)?;
        self.fault(values)
    }
}

#[test]
fn random_faults_never_panic_or_hang() {
    let mut random = Random::new(2024);
    let (mut ended, mut failed, mut fatal) = (0u32, 0u32, 0u32);
    for run in 0..1_000u64 {
        let method = method::table()[random.below(method::table().len())];
        let proof = PROOFS[random.below(PROOFS.len())];
        if !admits(method, proof) {
            continue;
        }
        let every = [3, 10, 50, 300][random.below(4)];
        let system = Faulty { inner: proof.bind(), calls: AtomicU64::new(0), seed: run, every, fatal: run % 3 };
        let problem = Problem { t0: 0.0, t_end: proof.t_end, y0: proof.exact(0.0) };
        let chosen = random.below(4) == 0 && method.adaptive != method::Adaptive::VariableOrder;
        let fixed = chosen || method.adaptive == method::Adaptive::FixedStep;
        let rtol = 10f64.powi(-2 - random.below(6) as i32);
        let step = fixed.then_some(proof.t_end / 100.0);
        let options = Options { rtol, atol: vec![rtol], step, fixed, max_steps: BUDGET, ..Options::default() };
        let mut rows = Rows::default();
        match solve(&system, &problem, method, &options, &Samples::Steps, &mut rows) {
            Ok(outcome) => {
                assert_eq!(outcome.t, proof.t_end);
                assert!(outcome.y.iter().all(|y| y.is_finite()), "{} on {}", method.name, proof.name);
                ended += 1;
            }
            Err(SolveError::Failed(failure)) => {
                assert!(failure.t.is_finite() && failure.y.iter().all(|y| y.is_finite()), "{failure:?}");
                let attempts = failure.stats.accepted + failure.stats.rejected + failure.stats.failed;
                assert!(attempts <= BUDGET, "{failure:?}");
                fatal += u32::from(failure.cause == Cause::Fatal);
                failed += 1;
            }
            Err(SolveError::Refused(refusal)) => panic!("{} on {}: {refusal:?}", method.name, proof.name),
        }
        assert!(rows.0.iter().all(|(t, y)| t.is_finite() && y.iter().all(|y| y.is_finite())), "{}", method.name);
    }
    assert!(ended > 100 && failed > 200 && fatal > 100, "{ended} ended, {failed} failed, {fatal} fatally");
}
