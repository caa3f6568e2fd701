//! Diagonally implicit Runge-Kutta methods that end on their last stage: one driver for every table, with or without
//! an explicit first stage.
//!
//! The stages Y_i satisfy `M K_i = f(t + c_i h, Y_i)` with `Y_i = y + h sum_j a_ij K_j`. This is Newton's equation
//! `alpha M (Y_i - anchor) = f` with alpha = 1/(gamma h); the anchor contains the known terms of Y_i. The slopes K
//! come from states and never from f, so that the remaining error of Newton's method is not amplified, M may be
//! singular or depend on (t, y), and one Jacobian with its factors is used for all stages and the following steps.

pub mod kencarp4;
pub mod sdirk2;
pub mod tr_bdf2;

use crate::control::{Control, PREDICTIVE, Tolerances};
use crate::evaluator::Evaluator;
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::{LinearReport, Rates, RequiredAccuracy};
use crate::method::polynomial::Polynomial;
use crate::method::{Family, Setup};
use crate::newton::{Accuracy, Equation, Newton};
use crate::problem::{Cause, Refusal};

/// Coefficients as in Butcher's array; `a` has no trailing zeros. This driver needs a diagonal of gamma (except for a
/// zero first row) and the last row equal to `b`.
#[derive(Debug)]
pub struct DirkTableau {
    /// Nodes.
    pub c: &'static [f64],
    /// Matrix.
    pub a: &'static [&'static [f64]],
    /// Weights.
    pub b: &'static [f64],
    /// Weights of the embedded solution and its order (for methods with an embedded solution).
    pub embedded: Option<(&'static [f64], u32)>,
    /// Factor on the difference to the embedded solution, the error estimate.
    pub care: f64,
    /// True if (I - gamma h J)^-1 damps the difference to the embedded solution. This is necessary if the embedded
    /// solution is not bounded for stiff components, but it hides errors of mildly stiff ones.
    pub damped: bool,
    /// Dense output.
    pub extension: Extension,
}

/// Dense output of a table.
#[derive(Debug)]
pub enum Extension {
    /// The cubic through states and slopes at both ends; the first stage must be explicit.
    Hermite,
    /// Rows d_k: D_k = h sum_i d_ki K_i in [`Polynomial`].
    Rows(&'static [&'static [f64]]),
    /// The collocation polynomial.
    Collocation,
}

/// Length of the short step that gives the slope at the start if M is singular, as a fraction of the step.
const PROBE: f64 = 1e-5;
/// Number of corrections of that slope.
const REFINEMENTS: u32 = 3;
/// With fixed steps, Newton's tolerance is smaller by this factor: its error in the last stage also affects the slope
/// of the next step.
const FIXED_STEP_CARE: f64 = 0.01;

/// Builds the integrator of a table.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::ImplicitRungeKutta(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    let n = setup.system.shape().n;
    let s = tableau.b.len();
    let (embedded, order) = tableau.embedded.unwrap_or((tableau.b, setup.method.order));
    let order = order.min(setup.method.order);
    let estimate: Vec<f64> = tableau.b.iter().zip(embedded).map(|(b, e)| tableau.care * (b - e)).collect();
    let unit = |i: usize, k: usize| f64::from(u8::from(i == k));
    let dense_rows: Vec<Vec<f64>> = match tableau.extension {
        Extension::Rows(rows) => rows.iter().map(|row| row.to_vec()).collect(),
        Extension::Hermite | Extension::Collocation => vec![
            (0..s).map(|i| unit(i, 0) - tableau.b[i]).collect(),
            (0..s).map(|i| 2.0 * tableau.b[i] - unit(i, 0) - unit(i, s - 1)).collect(),
        ],
    };
    let mut accuracy = Accuracy::of(setup.options);
    if setup.options.fixed {
        accuracy.tolerance *= FIXED_STEP_CARE;
    }
    let zero = || vec![0.0; n];
    Ok(Box::new(Dirk {
        tableau,
        gamma: tableau.a[s - 1][s - 1],
        explicit_first: tableau.a[0] == [0.0],
        anchors: tableau.a.iter().enumerate().map(|(i, row)| fused::terms(&row[..i.min(row.len())])).collect(),
        guesses: (0..s).map(|i| guess(tableau.c, i)).collect(),
        estimate: fused::terms(&estimate),
        dense_rows: dense_rows.iter().map(|row| fused::terms(row)).collect(),
        newton: Newton::new(setup.system, setup.options)?,
        rates: Rates::new(setup.system, setup.method.name).ok(),
        accuracy,
        fixed: setup.options.fixed,
        tolerances: Tolerances::new(setup.options, n),
        control: Control::new(PREDICTIVE, order),
        earlier: Control::new(PREDICTIVE, order),
        slope_before: zero(),
        order,
        t: 0.0,
        y: zero(),
        slope: zero(),
        known: false,
        k: vec![0.0; n * s],
        stage: zero(),
        anchor: zero(),
        error: zero(),
        weights: zero(),
        dense: Polynomial::new(n, dense_rows.len()),
    }))
}

/// The slope of stage `i`, extrapolated from earlier stages: by the line through the last one and the one farthest from it.
fn guess(c: &[f64], i: usize) -> Vec<(usize, f64)> {
    let Some(last) = i.checked_sub(1) else { return Vec::new() };
    let distance = |j: &usize| (c[*j] - c[last]).abs();
    match (0..last).max_by(|a, b| distance(a).total_cmp(&distance(b))) {
        Some(far) if distance(&far) > 0.0 => {
            let s = (c[i] - c[last]) / (c[last] - c[far]);
            vec![(last, 1.0 + s), (far, -s)]
        }
        _ => vec![(last, 1.0)],
    }
}

struct Dirk {
    tableau: &'static DirkTableau,
    gamma: f64,
    explicit_first: bool,
    /// The coefficients a_ij, j < i, of each stage.
    anchors: Vec<Vec<(usize, f64)>>,
    guesses: Vec<Vec<(usize, f64)>>,
    /// b - b^.
    estimate: Vec<(usize, f64)>,
    dense_rows: Vec<Vec<(usize, f64)>>,
    newton: Newton,
    /// Computes y' at the start; `None` if a constant M is singular.
    rates: Option<Rates>,
    accuracy: Accuracy,
    fixed: bool,
    tolerances: Tolerances,
    control: Control,
    /// The controller before the last step, and the slope at its start.
    earlier: Control,
    slope_before: Vec<f64>,
    order: u32,
    t: f64,
    y: Vec<f64>,
    /// y' at (t, y) if `known`, otherwise f.
    slope: Vec<f64>,
    known: bool,
    /// K_1, K_2, ..., consecutively.
    k: Vec<f64>,
    stage: Vec<f64>,
    anchor: Vec<f64>,
    error: Vec<f64>,
    weights: Vec<f64>,
    dense: Polynomial,
}

impl Dirk {
    /// Computes y' at the start if M is singular: the increment of a very short linearised backward Euler step,
    /// corrected until M y' = f. The derivative of the algebraic equations determines the components in the null
    /// space of M.
    fn find_slope(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        let probe = PROBE * h;
        let n = self.y.len();
        eval.time_derivative(self.t, &self.y, &mut self.stage)?;
        for i in 0..n {
            self.stage[i] = self.slope[i] + probe * self.stage[i];
        }
        self.newton.forget();
        let matrix = self.newton.matrix();
        matrix.evaluate(eval, self.t, &self.y)?;
        matrix.factor(eval, 1.0 / probe)?;
        self.anchor.fill(0.0);
        for _ in 0..=REFINEMENTS {
            matrix.solve(eval, &mut self.stage);
            for i in 0..n {
                self.anchor[i] += self.stage[i] / probe;
            }
            self.stage.copy_from_slice(&self.slope);
            matrix.mass().multiply_add(-1.0, &self.anchor, &mut self.stage);
        }
        self.slope.copy_from_slice(&self.anchor);
        self.known = true;
        Ok(())
    }

    /// Solves all stages; the last one is the state at the end, in `self.stage`.
    fn stages(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        let n = self.y.len();
        if self.explicit_first && !self.known {
            self.find_slope(eval, h)?;
        }
        self.tolerances.weights(&self.y, &mut self.weights);
        let scaled = self.gamma * h;
        for i in 0..self.anchors.len() {
            let (before, rest) = self.k.split_at_mut(i * n);
            let k = &mut rest[..n];
            if i == 0 && self.explicit_first {
                k.copy_from_slice(&self.slope);
                continue;
            }
            fused::combine(&mut self.anchor, &self.y, before, h, &self.anchors[i]);
            if i > 0 {
                fused::combine(&mut self.stage, &self.anchor, before, scaled, &self.guesses[i]);
            } else {
                // `slope` is the slope at the end of the previous step, or zero.
                for m in 0..n {
                    self.stage[m] = self.anchor[m] + scaled * self.slope[m];
                }
            }
            let c = self.tableau.c[i];
            let t = if c == 1.0 { t_new } else { self.t + c * h };
            let equation = Equation { t, alpha: 1.0 / scaled, anchor: &self.anchor, offset: None };
            self.newton.solve(eval, &equation, &mut self.stage, &self.weights, self.accuracy)?;
            for m in 0..n {
                k[m] = (self.stage[m] - self.anchor[m]) / scaled;
            }
        }
        match self.stage.iter().position(|y| !y.is_finite()) {
            Some(row) => Err(Cause::NonFiniteState { row }),
            None => Ok(()),
        }
    }

    /// Computes h sum_i (b_i - b^_i) K_i, the difference to the embedded solution; if damped, W^-1 alpha M times it.
    fn estimate(&mut self, eval: &mut Evaluator<'_>, h: f64) {
        if !self.tableau.damped {
            fused::sum(&mut self.error, &self.k, h, &self.estimate);
            return;
        }
        let matrix = self.newton.matrix();
        let alpha = matrix.alpha();
        fused::sum(&mut self.anchor, &self.k, h * alpha, &self.estimate);
        self.error.fill(0.0);
        matrix.mass().multiply_add(1.0, &self.anchor, &mut self.error);
        let goal = RequiredAccuracy { weights: &self.weights, tolerance: self.accuracy.tolerance };
        matrix.solve_within(eval, &mut self.error, goal);
    }

    fn finish(&mut self, h: f64, t_new: f64) {
        let n = self.y.len();
        for (row, terms) in self.dense.rows().zip(&self.dense_rows) {
            fused::sum(row, &self.k, h, terms);
        }
        self.dense.begin(self.t, h, &mut self.y);
        std::mem::swap(&mut self.y, &mut self.stage);
        std::mem::swap(&mut self.slope, &mut self.slope_before);
        self.slope.copy_from_slice(&self.k[self.k.len() - n..]);
        self.t = t_new;
        self.earlier = self.control.clone();
    }
}

impl Integrator for Dirk {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.y
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.newton.forget();
        self.t = t;
        self.y.copy_from_slice(y);
        self.control.reset();
        self.dense.clear();
        eval.rhs(t, y, &mut self.slope)?;
        if !self.explicit_first {
            self.slope.fill(0.0);
            return Ok(());
        }
        self.known = match &mut self.rates {
            None => false,
            Some(rates) => match rates.solve(eval, t, y, &mut self.slope) {
                Ok(()) => true,
                Err(Cause::SingularMass { .. }) => false,
                Err(cause) => return Err(cause),
            },
        };
        Ok(())
    }

    fn shift(&mut self, _: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.y.copy_from_slice(y);
        Ok(())
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn order(&self) -> u32 {
        self.order
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if let Err(cause) = self.stages(eval, h, t_new) {
            return Attempt::Failed { cause, next: self.control.fail(h) };
        }
        let mut err = 0.0;
        if !self.fixed {
            self.estimate(eval, h);
            err = self.tolerances.norm(&self.error, &self.y, &self.stage);
            if !(err <= 1.0) {
                let row = self.tolerances.worst(&self.error, &self.y, &self.stage);
                return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
            }
        }
        self.finish(h, t_new);
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, err) } }
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.newton.linear())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.dense.value(t, &self.y, y);
    }

    fn degree(&self) -> usize {
        self.dense.degree()
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if segment == 0 { self.dense.coefficients(&self.y, c) } else { None }
    }

    fn retreat(&mut self) -> bool {
        let Some((t, start)) = self.dense.start() else { return false };
        std::mem::swap(&mut self.y, start);
        std::mem::swap(&mut self.slope, &mut self.slope_before);
        self.t = t;
        self.dense.clear();
        self.control = self.earlier.clone();
        self.newton.forget();
        true
    }
}
