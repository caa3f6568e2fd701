//! Fused steps of a small system, if it has them; everything else is done by an integrator on vectors.
//!
//! The fused step takes its pivots from the diagonal of W, and reports for each step whether it is sound. If it is
//! not, the step is repeated on vectors: there, solutions are refined, pivots are chosen by size, and a value that is
//! not finite is traced to its row.

use std::sync::Arc;

use super::{Rosenbrock, RosenbrockTableau, by_vectors};
use crate::control::{Control, PREDICTIVE, Tolerances};
use crate::evaluator::Evaluator;
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::{LinearReport, LinearSolver};
use crate::method::polynomial::Polynomial;
use crate::method::{Method, Setup};
use crate::problem::{Cause, Options};
use crate::step::{FusedFormula, FusedStep};
use crate::system::{Mass, System};

/// Largest system for which a fused step is requested.
const MAX_UNKNOWNS: usize = 64;
/// Number of consecutive steps with an inaccurate factorisation that vectors could make, after which the fused step is
/// no longer used.
const MAX_UNFIT_STEPS: u32 = 3;

/// Steps of a single run before a fused step is requested: about as many as it takes to recover the compile time.
/// Both ways give the same bits.
const LONG_RUN: u64 = 10_000;

/// The implementation of the steps.
enum Maker {
    /// Not decided yet: vectors, until a request pays.
    Unasked,
    /// A fused step.
    Function(Arc<dyn FusedStep>),
    /// There is no fused step, or its pivots are not good enough.
    Vectors,
}

/// Integrator of small systems with M = I.
pub(super) struct FusedRosenbrock {
    tableau: &'static RosenbrockTableau,
    method: &'static Method,
    options: Options,
    maker: Maker,
    /// The integrator on vectors, created on demand.
    vectors: Option<Box<Rosenbrock>>,
    /// True if vectors made the last step.
    by_vectors: bool,
    /// True if the integrator on vectors is at the current state.
    aligned: bool,
    /// True if vectors make all steps: there is no fused step, or its pivots are not good enough. Then `vectors`
    /// holds state and time.
    delegated: bool,
    unfit_steps: u32,
    /// Number of attempts of this run on vectors before the request.
    attempts_on_vectors: u64,
    n: usize,
    t: f64,
    /// The start of the next step and its end, see [`FusedFormula::Rosenbrock`]. The other results of the function
    /// stay behind the state until the next step.
    now: Vec<f64>,
    next: Vec<f64>,
    given: Vec<f64>,
    /// Numbers of evaluations of f and of linear solves in a step.
    counts: [u64; 2],
    tolerances: Tolerances,
    control: Control,
    /// The controller before the last fused step.
    earlier: Control,
    fixed: bool,
    inside: bool,
    /// True if the rows of the dense output of that step have been computed.
    complete: bool,
    dense_terms: Vec<Vec<(usize, f64)>>,
    dense: Polynomial,
}

/// Elements of `given`.
const STEP: usize = 0;
const END: usize = 1;
const RTOL: usize = 2;
const ATOL: usize = 3;

/// The failure for an impossible case.
fn no_vectors(h: f64) -> Attempt {
    let what = "a Rosenbrock step in vector form was requested and is not available";
    Attempt::Failed { cause: Cause::Internal { what }, next: h }
}

impl FusedRosenbrock {
    /// An integrator for a system that may have a suitable fused step; otherwise `None`.
    pub(super) fn new(setup: &Setup<'_>, tableau: &'static RosenbrockTableau) -> Option<FusedRosenbrock> {
        let Setup { system, method, options } = *setup;
        let n = system.shape().n;
        let plain = matches!(system.mass(), Mass::Identity) && system.groups() == 1 && system.holds_jacobian();
        let asked = matches!(options.linear, LinearSolver::Auto | LinearSolver::Compiled) && options.fused_steps;
        if !plain || !asked || options.eliminator.is_none() || n == 0 || n > MAX_UNKNOWNS {
            return None;
        }
        let formula = FusedFormula::Rosenbrock { tableau };
        let room = formula.room(n);
        let buffer = || vec![0.0; formula.length(n).max(room)];
        let tolerances = Tolerances::new(options, n);
        let mut given = vec![0.0; room];
        given[RTOL] = tolerances.rtol;
        given[ATOL..ATOL + n].copy_from_slice(&tolerances.atol);
        let moved = tableau.a.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count();
        Some(FusedRosenbrock {
            tableau,
            method,
            options: options.clone(),
            maker: Maker::Unasked,
            vectors: None,
            by_vectors: false,
            aligned: false,
            delegated: false,
            unfit_steps: 0,
            attempts_on_vectors: 0,
            n,
            t: 0.0,
            now: buffer(),
            next: buffer(),
            given,
            counts: [moved as u64 + 1, tableau.m.len() as u64],
            tolerances,
            control: Control::new(PREDICTIVE, tableau.error.1),
            earlier: Control::new(PREDICTIVE, tableau.error.1),
            fixed: options.fixed,
            inside: true,
            complete: true,
            dense_terms: tableau.dense.iter().map(|row| fused::terms(row)).collect(),
            dense: Polynomial::new(n, tableau.dense.len()),
        })
    }

    /// Makes a fused step to `next` and returns its error; `None` if there is no fused step or the step is not sound.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Option<f64> {
        let code = match &self.maker {
            Maker::Function(code) => code,
            Maker::Unasked if !eval.system().expects_many_runs() => return None,
            Maker::Unasked => return self.request(eval.system()).then(|| self.step(eval, h, t_new))?,
            Maker::Vectors => return None,
        };
        (self.given[STEP], self.given[END]) = (h, t_new);
        code.run(self.t, &self.now, eval.system().parameters(), &self.given, &mut self.next);
        let (error, sound) = (self.next[2 * self.n], self.next[2 * self.n + 1]);
        if sound != 1.0 {
            return None;
        }
        eval.stats.rhs += self.counts[0];
        eval.stats.jacobians += 1;
        eval.stats.factorisations += 1;
        eval.stats.solves += self.counts[1];
        Some(if self.fixed {
            0.0
        } else if error.is_nan() {
            f64::INFINITY
        } else {
            error
        })
    }

    /// Requests the fused step during a run, and continues with it from the state of the vectors.
    #[cold]
    fn request_again(&mut self, system: &dyn System) {
        if !self.request(system) {
            return;
        }
        let n = self.n;
        let Some(vectors) = &self.vectors else { return };
        self.now[..n].copy_from_slice(&vectors.y[..n]);
        self.now[n..2 * n].copy_from_slice(&vectors.f[..n]);
        self.t = vectors.t;
        self.control = vectors.control.clone();
        (self.delegated, self.by_vectors, self.aligned) = (false, true, true);
    }

    /// Requests the fused step from the system.
    #[cold]
    fn request(&mut self, system: &dyn System) -> bool {
        let code = system.fused_step(FusedFormula::Rosenbrock { tableau: self.tableau });
        self.maker = code.map_or(Maker::Vectors, Maker::Function);
        matches!(self.maker, Maker::Function(_))
    }

    /// The vectors u of the last step, consecutively, in its buffer.
    fn stages(buffer: &[f64], n: usize, stages: usize) -> &[f64] {
        &buffer[2 * n + 2..][..stages * n]
    }

    /// Computes the rows of the dense output of the step in `now`.
    fn make_rows(&mut self) {
        let u = Self::stages(&self.now, self.n, self.tableau.m.len());
        for (row, terms) in self.dense.rows().zip(&self.dense_terms) {
            fused::sum(row, u, 1.0, terms);
        }
        self.complete = true;
    }

    /// The integrator on vectors, if it made the last step.
    fn makers(&mut self) -> Option<&mut Rosenbrock> {
        self.vectors.as_deref_mut().filter(|_| self.by_vectors || self.delegated)
    }

    /// The row with the largest error of the step in `next`.
    fn worst(&self) -> usize {
        let (n, stages) = (self.n, self.tableau.m.len());
        let last = if self.tableau.is_stiffly_accurate() { stages - 1 } else { stages };
        let error = &self.next[2 * n + 2 + last * n..][..n];
        self.tolerances.worst(error, &self.now[..n], &self.next[..n])
    }

    /// A step on vectors.
    #[cold]
    fn over_vectors(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if self.vectors.is_none() {
            let setup = Setup { system: eval.system(), method: self.method, options: &self.options };
            match by_vectors(&setup, self.tableau) {
                Ok(mut made) => {
                    made.tighten(self.tolerances.part());
                    self.vectors = Some(Box::new(made));
                }
                // a small system with M = I is never refused here
                Err(_) => return no_vectors(h),
            }
        }
        let n = self.n;
        let Some(vectors) = &mut self.vectors else { return no_vectors(h) };
        if !self.aligned {
            vectors.resume(self.t, &self.now[..n], &self.now[n..2 * n]);
            self.aligned = true;
        }
        vectors.control = self.control.clone();
        vectors.sample_ahead(self.inside);
        if !matches!(self.maker, Maker::Function(_)) {
            self.delegated = true;
            return vectors.attempt(eval, h, t_new);
        }
        let attempt = vectors.attempt(eval, h, t_new);
        self.control = vectors.control.clone();
        if !matches!(attempt, Attempt::Failed { .. }) {
            self.unfit_steps += 1;
            if self.unfit_steps == MAX_UNFIT_STEPS {
                self.maker = Maker::Vectors;
            }
        }
        if matches!(attempt, Attempt::Accepted { .. }) {
            self.now[..n].copy_from_slice(&vectors.y[..n]);
            self.now[n..2 * n].copy_from_slice(&vectors.f[..n]);
            self.t = t_new;
            self.by_vectors = true;
        }
        attempt
    }
}

impl Integrator for FusedRosenbrock {
    fn dimension(&self) -> usize {
        self.n
    }

    fn time(&self) -> f64 {
        match &self.vectors {
            Some(vectors) if self.delegated => vectors.time(),
            _ => self.t,
        }
    }

    fn state(&self) -> &[f64] {
        match &self.vectors {
            Some(vectors) if self.delegated => vectors.state(),
            _ => &self.now[..self.n],
        }
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        if let (Some(vectors), true) = (&mut self.vectors, self.delegated) {
            return vectors.set(eval, t, y);
        }
        self.t = t;
        self.control.reset();
        (self.by_vectors, self.aligned) = (false, false);
        self.dense.clear();
        self.now[..self.n].copy_from_slice(y);
        eval.rhs(t, y, &mut self.now[self.n..2 * self.n])
    }

    fn renew(&mut self, system: &dyn System) -> bool {
        self.maker = Maker::Unasked;
        (self.unfit_steps, self.attempts_on_vectors, self.delegated, self.aligned) = (0, 0, false, false);
        if self.vectors.as_mut().is_some_and(|vectors| !vectors.renew(system)) {
            self.vectors = None;
        }
        true
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
        self.given[RTOL] = self.tolerances.rtol;
        self.given[ATOL..ATOL + self.n].copy_from_slice(&self.tolerances.atol);
        if let Some(vectors) = &mut self.vectors {
            vectors.tighten(part);
        }
    }

    fn order(&self) -> u32 {
        self.tableau.error.1
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if let (Some(vectors), true) = (&mut self.vectors, self.delegated) {
            let attempt = vectors.attempt(eval, h, t_new);
            if matches!(self.maker, Maker::Unasked) {
                self.attempts_on_vectors += 1;
                if self.attempts_on_vectors == LONG_RUN {
                    self.request_again(eval.system());
                }
            }
            return attempt;
        }
        let Some(error) = self.step(eval, h, t_new) else { return self.over_vectors(eval, h, t_new) };
        self.unfit_steps = 0;
        if error > 1.0 {
            return Attempt::Rejected { next: self.control.reject(h, error), error, row: self.worst() };
        }
        std::mem::swap(&mut self.now, &mut self.next);
        self.complete = false;
        if self.inside {
            self.make_rows();
        }
        self.dense.begin_at(self.t, h, &self.next[..self.n]);
        self.t = t_new;
        (self.by_vectors, self.aligned) = (false, false);
        self.earlier = self.control.clone();
        Attempt::Accepted { next: if self.fixed { h } else { self.control.accept(h, error) } }
    }

    fn sample_ahead(&mut self, inside: bool) {
        self.inside = inside;
        if let (Some(vectors), true) = (&mut self.vectors, self.delegated) {
            vectors.sample_ahead(inside);
        }
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
        self.given[ATOL..ATOL + self.n].copy_from_slice(&self.tolerances.atol);
        self.options.atol.clear();
        self.options.atol.extend_from_slice(atol);
        if let Some(vectors) = &mut self.vectors {
            vectors.set_atol(atol);
        }
    }

    fn linear(&self) -> Option<LinearReport> {
        let of_vectors = self.vectors.as_ref().and_then(|vectors| vectors.linear());
        match &self.maker {
            Maker::Function(code) => {
                let fallbacks = of_vectors.map_or(0, |report| report.fallbacks);
                code.linear().map(|report| LinearReport { fallbacks, ..report })
            }
            Maker::Unasked | Maker::Vectors => of_vectors,
        }
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        match &self.vectors {
            Some(vectors) if self.by_vectors || self.delegated => vectors.interpolate(t, y),
            _ => self.dense.value(t, &self.now[..self.n], y),
        }
    }

    fn complete(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        if let Some(vectors) = self.makers() {
            return vectors.complete(eval);
        }
        if !self.complete {
            self.make_rows();
        }
        Ok(())
    }

    fn degree(&self) -> usize {
        self.dense.degree()
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        match &self.vectors {
            Some(vectors) if self.by_vectors || self.delegated => vectors.coefficients(segment, c),
            _ if segment == 0 => self.dense.coefficients(&self.now[..self.n], c),
            _ => None,
        }
    }

    fn slopes(&self) -> Option<[&[f64]; 2]> {
        let n = self.n;
        match &self.vectors {
            Some(vectors) if self.by_vectors || self.delegated => vectors.slopes(),
            _ => self.dense.is_made().then(|| [&self.next[n..2 * n], &self.now[n..2 * n]]),
        }
    }

    fn retreat(&mut self) -> bool {
        let n = self.n;
        if let Some(vectors) = self.makers() {
            if !vectors.retreat() {
                return false;
            }
            if let (Some(vectors), false) = (&self.vectors, self.delegated) {
                self.now[..n].copy_from_slice(&vectors.y[..n]);
                self.now[n..2 * n].copy_from_slice(&vectors.f[..n]);
                (self.t, self.control) = (vectors.t, vectors.control.clone());
                (self.by_vectors, self.aligned) = (false, true);
                self.dense.clear();
            }
            return true;
        }
        let Some((t, _)) = self.dense.start() else { return false };
        self.t = t;
        std::mem::swap(&mut self.now, &mut self.next);
        (self.by_vectors, self.aligned) = (false, false);
        self.dense.clear();
        self.control = self.earlier.clone();
        true
    }
}
