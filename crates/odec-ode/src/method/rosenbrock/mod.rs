//! Rosenbrock methods (linearly implicit Runge-Kutta with the exact Jacobian and df/dt): one driver for every table.
//!
//! In the transformed variables of Hairer & Wanner II, IV.7, with W = M/(h gamma) - J and J, df/dt at the start:
//! `W u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + M sum_j (c_ij/h) u_j + h gamma_i df/dt`, `y1 = y + sum_j m_j u_j`.

mod fused_step;
pub mod rodas3;
pub mod rodas4;
pub mod rodas5p;
pub mod ros2;
mod vectors;

use crate::consistent::Consistent;
use crate::control::{Control, PREDICTIVE, Tolerances, root_mean};
use crate::evaluator::{Evaluator, all_finite};
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::{IterationMatrix, LinearReport, MassMatrix};
use crate::method::polynomial::Polynomial;
use crate::method::rosenbrock::fused_step::FusedRosenbrock;
use crate::method::rosenbrock::vectors::{End, Stage, padded};
use crate::method::{Family, Setup};
use crate::problem::{Cause, Refusal};
use crate::system::{Mass, System};

/// Coefficients in transformed variables.
#[derive(Debug)]
pub struct RosenbrockTableau {
    /// gamma, the diagonal.
    pub gamma: f64,
    /// alpha_i.
    pub alpha: &'static [f64],
    /// gamma_i, the row sums of (gamma_ij).
    pub gammas: &'static [f64],
    /// a_ij.
    pub a: &'static [&'static [f64]],
    /// c_ij.
    pub c: &'static [&'static [f64]],
    /// m_i.
    pub m: &'static [f64],
    /// Weights e_i of the error estimate sum_i e_i u_i, and the order of the embedded solution.
    pub error: (&'static [f64], u32),
    /// Rows d_k of the dense output: u(s) = (1-s) y0 + s (y1 + (1-s) (D_1 + s (D_2 + ...))), D_k = sum_i d_ki u_i.
    pub dense: &'static [&'static [f64]],
    /// Order to which algebraic unknowns of index-1 equations are exact in one step. Order p - 1 suffices for
    /// convergence of order p, because their errors do not propagate (Hairer & Wanner II, VI.4).
    pub algebraic: u32,
}

impl RosenbrockTableau {
    /// True if y1 is the state of the last stage plus its u, and this u is also the error estimate.
    pub fn is_stiffly_accurate(&self) -> bool {
        let weights = self.error.0;
        let last_alone =
            weights.split_last().is_some_and(|(last, rest)| *last == 1.0 && rest.iter().all(|w| *w == 0.0));
        let row = self.a.last().copied().unwrap_or_default();
        last_alone && self.m.split_last().is_some_and(|(last, rest)| *last == 1.0 && rest == row)
    }
}

/// Builds the integrator of a table.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::Rosenbrock(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    match FusedRosenbrock::new(setup, tableau) {
        Some(whole) => Ok(Box::new(whole)),
        None => Ok(Box::new(by_vectors(setup, tableau)?)),
    }
}

/// The integrator that works on vectors, for any system.
fn by_vectors(setup: &Setup<'_>, tableau: &'static RosenbrockTableau) -> Result<Rosenbrock, Refusal> {
    if let Mass::StateDependent { .. } = setup.system.mass() {
        return Err(Refusal::Unsuitable {
            method: setup.method.name.to_string(),
            reason: "a Rosenbrock method needs constant coefficients of the derivatives, and here they depend on the \
                     state or time"
                .to_string(),
            instead: "an iterative implicit method, `radau5`, `bdf` or `backward-euler`; or write an unknown for \
                 each derivative"
                .to_string(),
        });
    }
    let n = setup.system.shape().n;
    let stages = tableau.m.len();
    let length = padded(n);
    let zero = || vec![0.0; length];
    let tolerances = Tolerances::new(setup.options, n);
    let mut atol = tolerances.atol.clone();
    atol.resize(length, 1.0);
    Ok(Rosenbrock {
        tableau,
        stages: (0..stages).map(|i| stage(tableau, i)).collect(),
        sum: if tableau.is_stiffly_accurate() {
            Sum::Last
        } else {
            Sum::Terms { m: fused::terms(tableau.m), error: fused::terms(tableau.error.0) }
        },
        dense_terms: tableau.dense.iter().map(|row| fused::terms(row)).collect(),
        consistent: if tableau.is_stiffly_accurate() { None } else { Consistent::of(setup.system, setup.options)? },
        shifted: false,
        matrix: IterationMatrix::exact(setup.system, setup.options, setup.method.name)?,
        mass: MassMatrix::of(setup.system.mass()),
        fixed: setup.options.fixed,
        autonomous: setup.system.autonomous(),
        tolerances,
        atol,
        control: Control::new(PREDICTIVE, tableau.error.1),
        earlier: Control::new(PREDICTIVE, tableau.error.1),
        n,
        t: 0.0,
        y: zero(),
        f: zero(),
        ft: zero(),
        prepared: false,
        u: vec![0.0; length * stages],
        stage: zero(),
        coupling: zero(),
        right: zero(),
        y1: zero(),
        f1: zero(),
        error: zero(),
        inside: true,
        complete: true,
        dense: Polynomial::new(length, tableau.dense.len()),
    })
}

/// The coefficients of a stage; `moved` is false if its state is the start of the step, where f is known.
fn stage(tableau: &RosenbrockTableau, i: usize) -> Stage {
    let row = |rows: &[&[f64]], i: usize| (0..i).map(|j| rows[i].get(j).copied().unwrap_or(0.0)).collect::<Vec<f64>>();
    let a = row(tableau.a, i);
    let extends = i > 1 && {
        let before = row(tableau.a, i - 1);
        a[..i - 1] == before[..] && before.iter().any(|a| *a != 0.0)
    };
    Stage { moved: a.iter().any(|a| *a != 0.0), extends, a, c: row(tableau.c, i) }
}

/// How the result and the error estimate follow from the stages.
enum Sum {
    /// y1 is the state of the last stage plus its u, which is also the error estimate (stiffly accurate tables).
    Last,
    /// Sums with these weights.
    Terms { m: Vec<(usize, f64)>, error: Vec<(usize, f64)> },
}

/// Vectors are padded to [`padded`] numbers.
struct Rosenbrock {
    tableau: &'static RosenbrockTableau,
    stages: Vec<Stage>,
    sum: Sum,
    dense_terms: Vec<Vec<(usize, f64)>>,
    /// For algebraic unknowns, if the table is not stiffly accurate. A step then leaves an error in their equations,
    /// and the estimate of the next step contains a fraction of this error, however short that step is. So each step
    /// ends with consistent values.
    consistent: Option<Consistent>,
    /// True if the state was changed since the last step, so that the unknowns may be inconsistent.
    shifted: bool,
    matrix: IterationMatrix,
    mass: MassMatrix,
    fixed: bool,
    autonomous: bool,
    tolerances: Tolerances,
    atol: Vec<f64>,
    control: Control,
    /// The controller before the last step.
    earlier: Control,
    n: usize,
    t: f64,
    y: Vec<f64>,
    /// f at (t, y); once `prepared`, also df/dt and the Jacobian there.
    f: Vec<f64>,
    ft: Vec<f64>,
    prepared: bool,
    /// u_1, u_2, ..., consecutively.
    u: Vec<f64>,
    stage: Vec<f64>,
    coupling: Vec<f64>,
    right: Vec<f64>,
    y1: Vec<f64>,
    f1: Vec<f64>,
    error: Vec<f64>,
    /// False if no state inside the next step is needed.
    inside: bool,
    /// True if the rows of the dense output of the last step have been computed.
    complete: bool,
    dense: Polynomial,
}

impl Rosenbrock {
    /// Continues at (t, y), where f is known.
    fn resume(&mut self, t: f64, y: &[f64], f: &[f64]) {
        self.t = t;
        self.y[..self.n].copy_from_slice(y);
        self.f[..self.n].copy_from_slice(f);
        self.prepared = false;
        self.dense.clear();
    }

    /// Computes y1; returns its error in the norm of the tolerances.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        if !self.prepared {
            let y = &self.y[..self.n];
            self.matrix.evaluate(eval, self.t, y)?;
            if !self.autonomous {
                eval.time_derivative(self.t, y, &mut self.ft[..self.n])?;
            }
            self.prepared = true;
        }
        self.matrix.factor(eval, 1.0 / (h * self.tableau.gamma))?;
        // A value that is not finite in a stage shows in y1. Then the stages are computed again to find its origin.
        let (rhs, solves) = (eval.stats.rhs, eval.stats.solves);
        if self.all_stages::<false>(eval, h, t_new).is_ok()
            && let Some(err) = self.end()
        {
            return Ok(err);
        }
        (eval.stats.rhs, eval.stats.solves) = (rhs, solves);
        self.all_stages::<true>(eval, h, t_new)?;
        // a system that refused an evaluation may not do so again
        self.end().ok_or_else(|| {
            let row = self.y1.iter().position(|y| !y.is_finite());
            row.map_or(Cause::Refused, |row| Cause::NonFiniteState { row })
        })
    }

    fn all_stages<const CHECKED: bool>(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        let (n, length) = (self.n, self.y.len());
        let inverse = 1.0 / h;
        for (i, stage) in self.stages.iter().enumerate() {
            let (earlier, rest) = self.u.split_at_mut(i * length);
            vectors::before(stage, &self.y, earlier, &mut self.stage, &mut self.coupling);
            if stage.moved {
                let alpha = self.tableau.alpha[i];
                let t = if alpha == 1.0 { t_new } else { self.t + alpha * h };
                let (state, f) = (&self.stage[..n], &mut self.right[..n]);
                if CHECKED {
                    eval.rhs(t, state, f)?;
                } else if !eval.rhs_unchecked(t, state, f) {
                    return Err(Cause::Fatal);
                }
            } else {
                self.right.copy_from_slice(&self.f);
            }
            if i > 0 {
                if self.mass.is_identity() {
                    vectors::accumulate(&mut self.right, inverse, &self.coupling);
                } else {
                    self.mass.multiply_add(inverse, &self.coupling[..n], &mut self.right[..n]);
                }
            }
            let gamma = self.tableau.gammas[i];
            if !self.autonomous && gamma != 0.0 {
                vectors::accumulate(&mut self.right, h * gamma, &self.ft);
            }
            self.matrix.solve_to(eval, &self.right[..n], &mut rest[..n]);
        }
        Ok(())
    }

    /// Computes y1; returns its error in the norm of the tolerances (unless steps are fixed), or `None` if y1 is not
    /// finite.
    fn end(&mut self) -> Option<f64> {
        let n = self.n;
        match &self.sum {
            Sum::Last => {
                let tolerances = (self.tolerances.rtol, &self.atol[..]);
                let last = &self.u[self.u.len() - self.y.len()..];
                let End { squares, finite } = vectors::end(&self.y, &self.stage, last, tolerances, &mut self.y1);
                finite.then(|| if self.fixed { 0.0 } else { root_mean(squares, n) })
            }
            Sum::Terms { m, error } => {
                fused::combine(&mut self.y1, &self.y, &self.u, 1.0, m);
                if !all_finite(&self.y1) {
                    return None;
                }
                if self.fixed {
                    return Some(0.0);
                }
                fused::sum(&mut self.error, &self.u, 1.0, error);
                Some(self.tolerances.norm(&self.error[..n], &self.y[..n], &self.y1[..n]))
            }
        }
    }

    /// Solves the equations of the algebraic unknowns at the start of a step, if the state was changed there.
    fn begin_consistently(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        if !std::mem::take(&mut self.shifted) {
            return Ok(());
        }
        let Some(consistent) = &mut self.consistent else { return Ok(()) };
        consistent.refine(eval, self.t, &mut self.y[..self.n])?;
        self.prepared = false;
        eval.rhs(self.t, &self.y[..self.n], &mut self.f[..self.n])
    }

    /// Solves them at the end of an accurate step.
    fn end_consistently(&mut self, eval: &mut Evaluator<'_>, t_new: f64) -> Result<(), Cause> {
        match &mut self.consistent {
            Some(consistent) => consistent.refine(eval, t_new, &mut self.y1[..self.n]),
            None => Ok(()),
        }
    }

    /// The row with the largest error.
    fn worst(&self) -> usize {
        let error = match &self.sum {
            Sum::Last => &self.u[self.u.len() - self.y.len()..],
            Sum::Terms { .. } => &self.error[..],
        };
        self.tolerances.worst(&error[..self.n], &self.y, &self.y1)
    }

    /// Computes the rows of the dense output.
    fn make_rows(&mut self) {
        for (row, terms) in self.dense.rows().zip(&self.dense_terms) {
            fused::sum(row, &self.u, 1.0, terms);
        }
        self.complete = true;
    }

    fn finish(&mut self, h: f64, t_new: f64) {
        self.complete = false;
        if self.inside {
            self.make_rows();
        }
        self.dense.begin(self.t, h, &mut self.y);
        std::mem::swap(&mut self.y, &mut self.y1);
        std::mem::swap(&mut self.f, &mut self.f1);
        self.t = t_new;
        self.prepared = false;
    }
}

impl Integrator for Rosenbrock {
    fn dimension(&self) -> usize {
        self.n
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.y[..self.n]
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.t = t;
        self.y[..self.n].copy_from_slice(y);
        self.control.reset();
        self.prepared = false;
        self.dense.clear();
        eval.rhs(t, y, &mut self.f[..self.n])
    }

    fn renew(&mut self, _: &dyn System) -> bool {
        self.matrix.renew()
    }

    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.y[..self.n].copy_from_slice(y);
        self.prepared = false;
        self.shifted = true;
        eval.rhs(self.t, y, &mut self.f[..self.n])
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
        self.atol[..self.n].copy_from_slice(&self.tolerances.atol);
    }

    fn order(&self) -> u32 {
        self.tableau.error.1
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if let Err(cause) = self.begin_consistently(eval) {
            return Attempt::Failed { cause, next: self.control.fail(h) };
        }
        let err = match self.step(eval, h, t_new) {
            Ok(err) => err,
            Err(cause) => return Attempt::Failed { cause, next: self.control.fail(h) },
        };
        if err > 1.0 {
            return Attempt::Rejected { next: self.control.reject(h, err), error: err, row: self.worst() };
        }
        let end = self.end_consistently(eval, t_new);
        if let Err(cause) = end.and_then(|()| eval.rhs(t_new, &self.y1[..self.n], &mut self.f1[..self.n])) {
            return Attempt::Failed { cause, next: self.control.fail(h) };
        }
        self.finish(h, t_new);
        self.earlier = self.control.clone();
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, err) } }
    }

    fn sample_ahead(&mut self, inside: bool) {
        self.inside = inside;
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
        self.atol[..self.n].copy_from_slice(&self.tolerances.atol);
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.matrix.report())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.dense.value(t, &self.y, y);
    }

    fn complete(&mut self, _: &mut Evaluator<'_>) -> Result<(), Cause> {
        if !self.complete {
            self.make_rows();
        }
        Ok(())
    }

    fn degree(&self) -> usize {
        self.dense.degree()
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if segment == 0 { self.dense.coefficients(self.state(), c) } else { None }
    }

    fn slopes(&self) -> Option<[&[f64]; 2]> {
        (self.dense.is_made() && self.mass.is_identity()).then(|| [&self.f1[..self.n], &self.f[..self.n]])
    }

    fn retreat(&mut self) -> bool {
        let Some((t, start)) = self.dense.start() else { return false };
        std::mem::swap(&mut self.y, start);
        std::mem::swap(&mut self.f, &mut self.f1);
        self.t = t;
        self.prepared = false;
        self.dense.clear();
        self.control = self.earlier.clone();
        true
    }
}
