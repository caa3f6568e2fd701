//! Explicit Runge-Kutta: one driver for every tableau, with or without embedded estimate.

use crate::control::{Control, Controller, Tolerances};
use crate::evaluator::{Evaluator, all_finite};
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::linear::Rates;
use crate::method::continuous::{DenseTable, HERMITE, hermite_weight};
use crate::method::one_step::{self, Dense, Formula, Point};
use crate::method::{Family, Setup, passes};
use crate::problem::{Cause, Refusal};

/// Coefficients of an explicit Runge-Kutta method, as in the papers.
#[derive(Debug)]
pub struct Tableau {
    /// Nodes c_i.
    pub c: &'static [f64],
    /// Rows a_i1 .. a_i(i-1).
    pub a: &'static [&'static [f64]],
    /// Weights b_i.
    pub b: &'static [f64],
    /// Embedded weights and their order.
    pub embedded: Option<(&'static [f64], u32)>,
    /// Second embedded weights and their order. With e and e2 the norms of both estimates the error is
    /// e^2 / sqrt(e^2 + 0.01 e2^2), of order 2p - p2: DOP853, Hairer, Norsett & Wanner I, II.10, eq. (10.17).
    pub second: Option<(&'static [f64], u32)>,
    /// How the step follows the error.
    pub controller: Controller,
    /// Dense output of its own; without it, cubic Hermite.
    pub dense: Option<&'static DenseTable>,
    /// First same as last: the last stage is f at the end of the step.
    pub fsal: bool,
}

impl Tableau {
    /// Index of the stage that is f at the end of the step: the last one, or one after it.
    pub fn end_stage(&self) -> usize {
        if self.fsal { self.b.len() - 1 } else { self.b.len() }
    }
}

/// Differences of states below this multiple of their size are rounding.
const ROUNDING: f64 = 2e-15;
/// Bound on the search for limits on the real axis, and its step.
const LONGEST: f64 = 20.0;
const FINE: f64 = 0.01;

impl Tableau {
    /// The coefficients of R(-x), what a step makes of 1 on y' = -y with h = x: 1, -b 1, b A 1, -b A^2 1, ...
    fn decay(&self) -> Vec<f64> {
        let s = self.b.len();
        let (mut v, mut next) = (vec![-1.0; s], vec![0.0; s]);
        let mut coefficients = vec![1.0];
        for _ in 0..s {
            coefficients.push(self.b.iter().zip(&v).map(|(b, v)| b * v).sum());
            for i in 0..s {
                next[i] = -self.a[i].iter().zip(&v).map(|(a, v)| a * v).sum::<f64>();
            }
            std::mem::swap(&mut v, &mut next);
        }
        coefficients
    }

    /// Largest x for which steps are stable on all of y' = -lambda y, h*lambda <= x: |R(-x)| <= 1.
    pub fn real_limit(&self) -> f64 {
        let decay = self.decay();
        while_true(|x| horner(&decay, x).abs() <= 1.0)
    }

    /// Largest x for which a step on y' = -lambda y, h*lambda = x, is wrong by at most `tolerance` times y.
    pub fn real_accuracy(&self, tolerance: f64) -> f64 {
        let decay = self.decay();
        while_true(|x| (horner(&decay, x) - (-x).exp()).abs() <= tolerance)
    }

    /// The last stage before the one at the end of the step that is at its end too.
    fn twin(&self) -> Option<usize> {
        (0..self.end_stage()).rev().find(|i| *i > 0 && self.c[*i] == 1.0)
    }
}

/// The value of a polynomial, lowest power first.
fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The largest x up to which something holds.
pub(super) fn while_true(holds: impl Fn(f64) -> bool) -> f64 {
    let mut x = FINE;
    while x < LONGEST && holds(x) {
        x += FINE;
    }
    x - FINE
}

/// Weight of the second estimate in the error of DOP853.
const SECOND: f64 = 0.01;

/// Builds the integrator of a tableau.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::RungeKutta(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    match tableau.embedded {
        Some(embedded) => Ok(Box::new(Embedded::new(setup, tableau, embedded)?)),
        None => one_step::integrator(setup, || Ok(Box::new(Stages::new(setup, tableau, tableau.b.len())?))),
    }
}

/// The formula of a tableau alone, for the first steps of other methods.
pub fn formula(setup: &Setup<'_>, tableau: &'static Tableau) -> Result<Box<dyn Formula>, Refusal> {
    Ok(Box::new(Stages::new(setup, tableau, tableau.b.len())?))
}

/// The stages of one step.
struct Stages {
    tableau: &'static Tableau,
    rows: Vec<Vec<(usize, f64)>>,
    weights: Vec<(usize, f64)>,
    /// k_1, k_2, ... one after the other.
    k: Vec<f64>,
    y: Vec<f64>,
    rates: Rates,
}

impl Stages {
    /// With room for `count` slopes.
    fn new(setup: &Setup<'_>, tableau: &'static Tableau, count: usize) -> Result<Self, Refusal> {
        let n = setup.system.shape().n;
        Ok(Stages {
            tableau,
            rows: tableau.a.iter().map(|row| fused::terms(row)).collect(),
            weights: fused::terms(tableau.b),
            k: vec![0.0; n * count],
            y: vec![0.0; n],
            rates: Rates::new(setup.system, setup.method.name)?,
        })
    }

    /// All stages from (t, y), whose slope is in k_1. When FSAL, `y` of the last stage is y1 and stays in `self.y`.
    ///
    /// Values that are not finite are looked for once, behind the last stage. If there is one, all is done again with a look at
    /// every stage, so that what is said and counted is that of the first stage without a value.
    fn run(&mut self, eval: &mut Evaluator<'_>, (t, y): (f64, &[f64]), h: f64, t_new: f64) -> Result<(), Cause> {
        let n = self.y.len();
        if self.rates.is_identity() {
            let before = eval.stats.rhs;
            let mut there = true;
            for i in 1..self.rows.len() {
                passes::combine(&mut self.y, y, &self.k, h, &self.rows[i]);
                let t = self.time(i, t, h, t_new);
                there &= eval.rhs_unchecked(t, &self.y, &mut self.k[i * n..(i + 1) * n]);
            }
            if there && all_finite(&self.k[n..self.rows.len() * n]) {
                return Ok(());
            }
            eval.stats.rhs = before;
        }
        for i in 1..self.rows.len() {
            passes::combine(&mut self.y, y, &self.k, h, &self.rows[i]);
            self.evaluate(eval, self.time(i, t, h, t_new), i)?;
        }
        Ok(())
    }

    /// The time of a stage; the end of the step is the one that the caller names.
    fn time(&self, i: usize, t: f64, h: f64, t_new: f64) -> f64 {
        if self.tableau.c[i] == 1.0 { t_new } else { t + self.tableau.c[i] * h }
    }

    /// y' at `self.y` into k_i.
    fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, i: usize) -> Result<(), Cause> {
        let n = self.y.len();
        let k = &mut self.k[i * n..(i + 1) * n];
        eval.rhs(t, &self.y, k)?;
        self.rates.solve(eval, t, &self.y, k)
    }
}

impl Formula for Stages {
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: Point<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        self.k[..from.slope.len()].copy_from_slice(from.slope);
        self.run(eval, (from.t, from.y), h, t_new)?;
        passes::combine(y1, from.y, &self.k, h, &self.weights);
        Ok(())
    }

    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        eval.rhs(t, y, slope)?;
        self.rates.solve(eval, t, y, slope)
    }

    fn dense(&self) -> Dense {
        Dense::Hermite
    }
}

/// An embedded pair; its dense output is the table's own or cubic Hermite.
struct Embedded {
    stages: Stages,
    fixed: bool,
    order: u32,
    error_terms: Vec<(usize, f64)>,
    second_terms: Vec<(usize, f64)>,
    dense: &'static DenseTable,
    /// Rows of the further stages of dense output.
    dense_rows: Vec<Vec<(usize, f64)>>,
    /// True when a state inside the next step will be asked for.
    inside: bool,
    /// The other stage at the end of the step, and y1 less its state, over h, in the slopes.
    twin: Option<(usize, Vec<(usize, f64)>)>,
    tolerances: Tolerances,
    control: Control,
    t: f64,
    /// Its slope is k_1 of the stages.
    y: Vec<f64>,
    /// The end of the step that is tried; y' there is the stage at the end.
    y1: Vec<f64>,
    error: Vec<f64>,
    last: Step,
}

/// The last accepted step, for dense output.
struct Step {
    t: f64,
    h: f64,
    y: Vec<f64>,
    k: Vec<f64>,
    /// True when the further stages are there.
    complete: bool,
}

impl Embedded {
    fn new(setup: &Setup<'_>, tableau: &'static Tableau, (hat, order): (&[f64], u32)) -> Result<Self, Refusal> {
        let order = match tableau.second {
            Some((_, second)) => 2 * order - second,
            None => order.min(setup.method.order),
        };
        let n = setup.system.shape().n;
        let dense = tableau.dense.unwrap_or(&HERMITE);
        let count = tableau.end_stage() + 1 + dense.c.len();
        let difference = |hat: &[f64]| {
            let difference: Vec<f64> = tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
            fused::terms(&difference)
        };
        let zero = || vec![0.0; n];
        Ok(Embedded {
            stages: Stages::new(setup, tableau, count)?,
            fixed: setup.options.fixed,
            order,
            error_terms: difference(hat),
            second_terms: tableau.second.map(|(hat, _)| difference(hat)).unwrap_or_default(),
            dense,
            dense_rows: dense.a.iter().map(|row| fused::terms(row)).collect(),
            inside: false,
            twin: tableau.twin().map(|i| {
                let own = |j: usize| tableau.a[i].get(j).copied().unwrap_or(0.0);
                let difference: Vec<f64> = tableau.b.iter().enumerate().map(|(j, b)| b - own(j)).collect();
                (i, fused::terms(&difference))
            }),
            tolerances: Tolerances::new(setup.options, n),
            control: Control::new(tableau.controller, order),
            t: 0.0,
            y: zero(),
            y1: zero(),
            error: zero(),
            last: Step { t: 0.0, h: 0.0, y: zero(), k: vec![0.0; n * count], complete: false },
        })
    }

    /// One step into `y1` and its weighted error.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let tableau = self.stages.tableau;
        self.stages.run(eval, (self.t, &self.y), h, t_new)?;
        if tableau.fsal {
            std::mem::swap(&mut self.y1, &mut self.stages.y);
        } else {
            passes::combine(&mut self.y1, &self.y, &self.stages.k, h, &self.stages.weights);
        }
        if !all_finite(&self.y1) {
            let row = self.y1.iter().position(|y| !y.is_finite()).unwrap_or(0);
            return Err(Cause::NonFiniteState { row });
        }
        let err = if self.fixed { 0.0 } else { self.error(h) };
        if err <= 1.0 {
            if !tableau.fsal {
                let end = tableau.end_stage() * self.y.len();
                let Stages { k, rates, .. } = &mut self.stages;
                let slope = &mut k[end..end + self.y.len()];
                eval.rhs(t_new, &self.y1, slope)?;
                rates.solve(eval, t_new, &self.y1, slope)?;
            }
            if self.inside {
                self.complete(eval, h)?;
            }
        }
        Ok(err)
    }

    /// The weighted error of the step from `y` to `y1`; `error` keeps the estimate.
    fn error(&mut self, h: f64) -> f64 {
        let mut second = 0.0;
        if !self.second_terms.is_empty() {
            let ends = (&self.y[..], &self.y1[..]);
            second = passes::estimate(&mut self.error, &self.tolerances, ends, &self.stages.k, h, &self.second_terms);
        }
        let ends = (&self.y[..], &self.y1[..]);
        let first = passes::estimate(&mut self.error, &self.tolerances, ends, &self.stages.k, h, &self.error_terms);
        if self.second_terms.is_empty() || first == 0.0 || !first.is_finite() {
            return first;
        }
        // The quotient before the product: the square of a large error would overflow.
        first / (1.0 + SECOND * (second / first).powi(2)).sqrt()
    }

    /// The further stages of dense output.
    fn complete(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        let first = self.stages.tableau.end_stage() + 1;
        for (i, (row, c)) in self.dense_rows.iter().zip(self.dense.c).enumerate() {
            passes::combine(&mut self.stages.y, &self.y, &self.stages.k, h, row);
            self.stages.evaluate(eval, self.t + c * h, first + i)?;
        }
        Ok(())
    }
}

impl Integrator for Embedded {
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
        self.t = t;
        self.y.copy_from_slice(y);
        self.control.reset();
        let Stages { k, rates, .. } = &mut self.stages;
        let slope = &mut k[..y.len()];
        eval.rhs(t, y, slope)?;
        rates.solve(eval, t, y, slope)
    }

    fn order(&self) -> u32 {
        self.order
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let err = match self.step(eval, h, t_new) {
            Err(cause) => return Attempt::Failed { cause, next: self.control.fail(h) },
            Ok(err) => err,
        };
        if err > 1.0 {
            let row = self.tolerances.worst(&self.error, &self.y, &self.y1);
            return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
        }
        (self.last.t, self.last.h) = (self.t, h);
        self.last.complete = self.inside || self.dense.c.is_empty();
        std::mem::swap(&mut self.last.y, &mut self.y);
        std::mem::swap(&mut self.y, &mut self.y1);
        std::mem::swap(&mut self.last.k, &mut self.stages.k);
        let (n, end) = (self.y.len(), self.stages.tableau.end_stage());
        self.stages.k[..n].copy_from_slice(&self.last.k[end * n..(end + 1) * n]);
        self.t = t_new;
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, err) } }
    }

    fn sample_ahead(&mut self, inside: bool) {
        self.inside = inside;
    }

    /// |f(y1) - f(Y)| / |y1 - Y| with the other stage Y at the end of the step (Hairer & Wanner II, eq. (IV.2.27)).
    fn strain(&mut self) -> Option<(f64, f64)> {
        let (stage, terms) = self.twin.as_ref()?;
        let n = self.y.len();
        let (k, h) = (&self.last.k, self.last.h);
        fused::sum(&mut self.error, k, h, terms);
        let (own, end) = (&k[stage * n..][..n], &k[self.stages.tableau.end_stage() * n..][..n]);
        let (mut slopes, mut states, mut along) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let weight = 1.0 / self.tolerances.scale(i, self.y[i].abs());
            let (df, dy) = ((end[i] - own[i]) * weight, self.error[i] * weight);
            slopes += df * df;
            states += dy * dy;
            along += df * dy;
        }
        let rounding = ROUNDING / self.tolerances.rtol;
        (states > rounding * rounding * n as f64).then(|| (h.abs() * (slopes / states).sqrt(), h * along / states))
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let last = &self.last;
        let s = (t - last.t) / last.h;
        let (b, end, n) = (self.stages.tableau.b, self.stages.tableau.end_stage(), y.len());
        y.copy_from_slice(&last.y);
        for (i, k) in last.k.chunks_exact(n).enumerate() {
            let w = if last.complete { self.dense.weight(b, end, i, s) } else { hermite_weight(b, end, i, s) };
            if w != 0.0 {
                y.iter_mut().zip(k).for_each(|(y, k)| *y += last.h * w * k);
            }
        }
    }
}
