//! Explicit Runge-Kutta: one driver for every tableau, with or without embedded estimate.

use crate::control::{Control, PI_EXPLICIT, Tolerances};
use crate::evaluator::Evaluator;
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::linear::Rates;
use crate::method::one_step::{self, Dense, Formula, Point};
use crate::method::{Family, Setup};
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
    /// Dense output of its own; without it, cubic Hermite.
    pub dense: Option<&'static DenseTable>,
    /// First same as last: the last stage is f at the end of the step.
    pub fsal: bool,
}

/// Dense output in the form of DOPRI5: with s in [0, 1], d = y1 - y0, b0 = h k1 - d,
/// u(s) = y0 + s (d + (1-s) (b0 + s (d - h k_last - b0 + (1-s) h sum_i d_i k_i))).
#[derive(Debug)]
pub struct DenseTable {
    /// d_i.
    pub d: &'static [f64],
}

/// Builds the integrator of a tableau.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::RungeKutta(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    match tableau.embedded {
        Some(embedded) => Ok(Box::new(Embedded::new(setup, tableau, embedded)?)),
        None => one_step::integrator(setup, || Ok(Box::new(Stages::new(setup, tableau)?))),
    }
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
    fn new(setup: &Setup<'_>, tableau: &'static Tableau) -> Result<Self, Refusal> {
        let n = setup.system.shape().n;
        Ok(Stages {
            tableau,
            rows: tableau.a.iter().map(|row| fused::terms(row)).collect(),
            weights: fused::terms(tableau.b),
            k: vec![0.0; n * tableau.b.len()],
            y: vec![0.0; n],
            rates: Rates::new(setup.system, setup.method.name)?,
        })
    }

    /// All stages from (t, y) with k_1 given. When FSAL, `y` of the last stage is y1 and stays in `self.y`.
    fn run(&mut self, eval: &mut Evaluator<'_>, from: Point<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        let n = self.y.len();
        self.k[..n].copy_from_slice(from.slope);
        for i in 1..self.rows.len() {
            fused::combine(&mut self.y, from.y, &self.k, h, &self.rows[i]);
            let t = if self.tableau.c[i] == 1.0 { t_new } else { from.t + self.tableau.c[i] * h };
            let k = &mut self.k[i * n..(i + 1) * n];
            eval.rhs(t, &self.y, k)?;
            self.rates.solve(eval, t, &self.y, k)?;
        }
        Ok(())
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
        self.run(eval, from, h, t_new)?;
        fused::combine(y1, from.y, &self.k, h, &self.weights);
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
    dense_terms: Vec<(usize, f64)>,
    tolerances: Tolerances,
    control: Control,
    t: f64,
    y: Vec<f64>,
    slope: Vec<f64>,
    /// The end of the step that is tried, and y' there.
    y1: Vec<f64>,
    slope1: Vec<f64>,
    error: Vec<f64>,
    last: Step,
}

/// The last accepted step, for dense output.
struct Step {
    t: f64,
    h: f64,
    y: Vec<f64>,
    delta: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    third: Vec<f64>,
}

impl Embedded {
    fn new(setup: &Setup<'_>, tableau: &'static Tableau, (hat, order): (&[f64], u32)) -> Result<Self, Refusal> {
        let order = order.min(setup.method.order);
        let n = setup.system.shape().n;
        let difference: Vec<f64> = tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
        let zero = || vec![0.0; n];
        Ok(Embedded {
            stages: Stages::new(setup, tableau)?,
            fixed: setup.options.fixed,
            order,
            error_terms: fused::terms(&difference),
            dense_terms: tableau.dense.map(|dense| fused::terms(dense.d)).unwrap_or_default(),
            tolerances: Tolerances::new(setup.options, n),
            control: Control::new(PI_EXPLICIT, order),
            t: 0.0,
            y: zero(),
            slope: zero(),
            y1: zero(),
            slope1: zero(),
            error: zero(),
            last: Step { t: 0.0, h: 0.0, y: zero(), delta: zero(), first: zero(), second: zero(), third: zero() },
        })
    }

    /// One step into `y1` and its weighted error.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let from = Point { t: self.t, y: &self.y, slope: &self.slope };
        let n = self.y.len();
        self.stages.run(eval, from, h, t_new)?;
        if self.stages.tableau.fsal {
            self.y1.copy_from_slice(&self.stages.y);
            self.slope1.copy_from_slice(&self.stages.k[self.stages.k.len() - n..]);
        } else {
            fused::combine(&mut self.y1, &self.y, &self.stages.k, h, &self.stages.weights);
        }
        if let Some(row) = self.y1.iter().position(|y| !y.is_finite()) {
            return Err(Cause::NonFiniteState { row });
        }
        let mut err = 0.0;
        if !self.fixed {
            fused::sum(&mut self.error, &self.stages.k, h, &self.error_terms);
            err = self.tolerances.norm(&self.error, &self.y, &self.y1);
        }
        if !self.stages.tableau.fsal && err <= 1.0 {
            self.stages.slope(eval, t_new, &self.y1, &mut self.slope1)?;
        }
        Ok(err)
    }

    /// Keeps what dense output needs: without a table of its own the third term is zero and the rest is cubic Hermite.
    fn remember(&mut self, h: f64) {
        let last = &mut self.last;
        (last.t, last.h) = (self.t, h);
        for i in 0..self.y.len() {
            let delta = self.y1[i] - self.y[i];
            let first = h * self.slope[i] - delta;
            last.y[i] = self.y[i];
            last.delta[i] = delta;
            last.first[i] = first;
            last.second[i] = delta - h * self.slope1[i] - first;
        }
        fused::sum(&mut last.third, &self.stages.k, h, &self.dense_terms);
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
        self.stages.slope(eval, t, y, &mut self.slope)
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
        self.remember(h);
        std::mem::swap(&mut self.y, &mut self.y1);
        std::mem::swap(&mut self.slope, &mut self.slope1);
        self.t = t_new;
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, err) } }
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let last = &self.last;
        let s = (t - last.t) / last.h;
        let r = 1.0 - s;
        for i in 0..y.len() {
            y[i] = last.y[i] + s * (last.delta[i] + r * (last.first[i] + s * (last.second[i] + r * last.third[i])));
        }
    }
}
