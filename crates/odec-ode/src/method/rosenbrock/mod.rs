//! Rosenbrock methods (linearly implicit Runge-Kutta with the exact Jacobian and df/dt): one driver for every table.
//!
//! In the transformed variables of Hairer & Wanner II, IV.7, with W = M/(h gamma) - J and J, df/dt at the start:
//! `W u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + M sum_j (c_ij/h) u_j + h gamma_i df/dt`, `y1 = y + sum_j m_j u_j`.

pub mod rodas3;
pub mod rodas4;
pub mod rodas5p;
pub mod ros2;

use crate::control::{Control, PREDICTIVE, Tolerances};
use crate::evaluator::Evaluator;
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::linear::{LinearReport, MassMatrix, Shifted};
use crate::method::polynomial::Polynomial;
use crate::method::{Family, Setup};
use crate::problem::{Cause, Refusal};
use crate::system::Mass;

/// Coefficients in transformed variables.
#[derive(Debug)]
pub struct Tableau {
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
    /// Order to which algebraic unknowns of index-1 equations are exact in one step. Order p - 1 suffices for convergence of
    /// order p, because their errors are not carried on (Hairer & Wanner II, VI.4).
    pub algebraic: u32,
}

/// Builds the integrator of a table.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::Rosenbrock(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    if let Mass::StateDependent { .. } = setup.system.mass() {
        return Err(Refusal::Unsuitable {
            method: setup.method.name.to_string(),
            reason: "a Rosenbrock method takes the factors of the derivatives to be constant, and here they depend on \
                     the state or the time"
                .to_string(),
            instead:
                "an implicit method that iterates: `bdf`, `backward-euler`, `trapezoidal`; or write an unknown for \
                      each derivative"
                    .to_string(),
        });
    }
    let n = setup.system.shape().n;
    let stages = tableau.m.len();
    let zero = || vec![0.0; n];
    let rows = |rows: &[&[f64]]| rows.iter().map(|row| fused::terms(row)).collect();
    Ok(Box::new(Rosenbrock {
        tableau,
        a: rows(tableau.a),
        c: rows(tableau.c),
        m: fused::terms(tableau.m),
        error_terms: fused::terms(tableau.error.0),
        dense_terms: rows(tableau.dense),
        matrix: Shifted::exact(setup.system, setup.options, setup.method.name)?,
        mass: MassMatrix::of(setup.system.mass()),
        fixed: setup.options.fixed,
        autonomous: setup.system.autonomous(),
        tolerances: Tolerances::new(setup.options, n),
        control: Control::new(PREDICTIVE, tableau.error.1),
        t: 0.0,
        y: zero(),
        f: zero(),
        ft: zero(),
        prepared: false,
        u: vec![0.0; n * stages],
        stage: zero(),
        y1: zero(),
        f1: zero(),
        coupling: zero(),
        error: zero(),
        dense: Polynomial::new(n, tableau.dense.len()),
    }))
}

struct Rosenbrock {
    tableau: &'static Tableau,
    a: Vec<Vec<(usize, f64)>>,
    c: Vec<Vec<(usize, f64)>>,
    m: Vec<(usize, f64)>,
    error_terms: Vec<(usize, f64)>,
    dense_terms: Vec<Vec<(usize, f64)>>,
    matrix: Shifted,
    mass: MassMatrix,
    fixed: bool,
    autonomous: bool,
    tolerances: Tolerances,
    control: Control,
    t: f64,
    y: Vec<f64>,
    /// f, and df/dt and the Jacobian once `prepared`, at (t, y).
    f: Vec<f64>,
    ft: Vec<f64>,
    prepared: bool,
    /// u_1, u_2, ... one after the other.
    u: Vec<f64>,
    stage: Vec<f64>,
    y1: Vec<f64>,
    f1: Vec<f64>,
    coupling: Vec<f64>,
    error: Vec<f64>,
    dense: Polynomial,
}

impl Rosenbrock {
    fn stages(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        if !self.prepared {
            self.matrix.evaluate(eval, self.t, &self.y)?;
            eval.time_derivative(self.t, &self.y, &mut self.ft)?;
            self.prepared = true;
        }
        self.matrix.factor(eval, 1.0 / (h * self.tableau.gamma))?;
        let n = self.y.len();
        for i in 0..self.m.len().max(self.a.len()) {
            let (before, rest) = self.u.split_at_mut(i * n);
            let u = &mut rest[..n];
            if self.a[i].is_empty() {
                u.copy_from_slice(&self.f);
            } else {
                fused::combine(&mut self.stage, &self.y, before, 1.0, &self.a[i]);
                let alpha = self.tableau.alpha[i];
                let t = if alpha == 1.0 { t_new } else { self.t + alpha * h };
                eval.rhs(t, &self.stage, u)?;
            }
            if self.mass.is_identity() {
                fused::add(u, before, 1.0 / h, &self.c[i]);
            } else {
                fused::sum(&mut self.coupling, before, 1.0 / h, &self.c[i]);
                self.mass.multiply_add(1.0, &self.coupling, u);
            }
            let gamma = self.tableau.gammas[i];
            if !self.autonomous && gamma != 0.0 {
                for (u, ft) in u.iter_mut().zip(&self.ft) {
                    *u += h * gamma * ft;
                }
            }
            self.matrix.solve(eval, u);
        }
        fused::combine(&mut self.y1, &self.y, &self.u, 1.0, &self.m);
        if let Some(row) = self.y1.iter().position(|y| !y.is_finite()) {
            return Err(Cause::NonFiniteState { row });
        }
        Ok(())
    }

    fn finish(&mut self, h: f64, t_new: f64) {
        for (row, terms) in self.dense.rows().zip(&self.dense_terms) {
            fused::sum(row, &self.u, 1.0, terms);
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
        self.prepared = false;
        eval.rhs(t, y, &mut self.f)
    }

    fn order(&self) -> u32 {
        self.tableau.error.1
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if let Err(cause) = self.stages(eval, h, t_new) {
            return Attempt::Failed { cause, next: self.control.fail(h) };
        }
        let mut err = 0.0;
        if !self.fixed {
            fused::sum(&mut self.error, &self.u, 1.0, &self.error_terms);
            err = self.tolerances.norm(&self.error, &self.y, &self.y1);
            if err > 1.0 {
                let row = self.tolerances.worst(&self.error, &self.y, &self.y1);
                return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
            }
        }
        if let Err(cause) = eval.rhs(t_new, &self.y1, &mut self.f1) {
            return Attempt::Failed { cause, next: self.control.fail(h) };
        }
        self.finish(h, t_new);
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, err) } }
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.matrix.report())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.dense.value(t, &self.y, y);
    }
}
