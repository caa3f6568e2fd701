//! The step of a Rosenbrock method with M = I: f, its derivatives, the elimination of W = I/(h gamma) - J with pivots
//! on the diagonal, every stage with its solution, the check of the first solution, and the error.
//!
//! The order of operations is the same as in the solver on vectors (`odec-ode`), so that both give the same bits.

use crate::builtin::logic;
use crate::elimination::{self, Arithmetic, Field, Source};
use crate::graph::NodeId;
use crate::program::{KernelRole, Pattern, Program};
use crate::step::StepBuilder;

/// Coefficients in the transformed variables of Hairer & Wanner II, IV.7: `W u_i = f(t + alpha_i h, y + sum_j a_ij u_j) +
/// sum_j (c_ij/h) u_j + h gamma_i df/dt`, `y1 = y + sum_j m_j u_j`.
#[derive(Clone, Copy, Debug)]
pub struct Coefficients<'a> {
    /// gamma, the diagonal.
    pub gamma: f64,
    /// alpha_i.
    pub alpha: &'a [f64],
    /// gamma_i.
    pub gammas: &'a [f64],
    /// a_ij: row i has as many entries as there are earlier stages.
    pub a: &'a [&'a [f64]],
    /// c_ij, like a_ij.
    pub c: &'a [&'a [f64]],
    /// m_i.
    pub m: &'a [f64],
    /// Weights of the error estimate.
    pub error: &'a [f64],
}

/// The description of a fused step.
#[derive(Clone, Copy, Debug)]
pub struct FusedStepPlan<'a> {
    /// The coefficients.
    pub coefficients: Coefficients<'a>,
    /// The order of pivots: a permutation of the unknowns.
    pub order: &'a [u32],
    /// Largest backward error of an accepted first solution.
    pub bound: f64,
    /// Residuals up to this size are negligible.
    pub negligible: f64,
    /// Largest number of nodes.
    pub limit: usize,
    /// See [`elimination::PivotOrder`].
    pub fused: bool,
}

/// Positions in the buffers of the kernel, for `n` unknowns. `y` = the state and f there.
#[derive(Clone, Copy, Debug)]
pub struct StepInputs;

impl StepInputs {
    /// In `w`: the step size.
    pub const STEP: usize = 0;
    /// In `w`: the time at the end of the step.
    pub const END: usize = 1;
    /// In `w`: the relative tolerance.
    pub const RTOL: usize = 2;
    /// In `w`: the first absolute tolerance.
    pub const ATOL: usize = 3;
}

impl FusedStepPlan<'_> {
    /// The step of a model as the `Outputs` kernel of a program. `y` = the state, then f there; `w`: see [`StepInputs`];
    /// `out` = the state at the end, f there, the error in the norm of the tolerances, 1 if the first solution passed
    /// the check and the state at the end and f there are finite (otherwise 0), then every u_i, and the error unless
    /// it is the last u.
    ///
    /// `None` for a model with loops, without a Jacobian or with a mass matrix, for a table that does not fit this
    /// form, or if the step would have more than `limit` nodes.
    pub fn written(&self, program: &Program) -> Option<Program> {
        let stages = self.coefficients.m.len();
        let autonomous = program.is_autonomous();
        let derivatives = [Some(KernelRole::Jacobian), (!autonomous).then_some(KernelRole::TimeDerivative)];
        if program.mass.is_some() || !derivatives.into_iter().flatten().all(|role| program.kernel(role).is_some()) {
            return None;
        }
        let n = program.jacobian.columns();
        let mut step = StepBuilder::new(program, 2 * n, StepInputs::ATOL + n, false)?;
        if n == 0 || step.n() != n || stages == 0 {
            return None;
        }
        let mut kept = |from: usize| -> Vec<NodeId> { (from..from + n).map(|i| step.kept(i)).collect() };
        let (y, f) = (kept(0), kept(n));
        let t = step.graph.time();
        let [h, end, rtol] = [StepInputs::STEP, StepInputs::END, StepInputs::RTOL].map(|at| step.given(at));
        let atol: Vec<NodeId> = (0..n).map(|i| step.given(StepInputs::ATOL + i)).collect();
        let jacobian = step.inline(KernelRole::Jacobian, t, &y).ok()?;
        let slopes = if autonomous { Vec::new() } else { step.inline(KernelRole::TimeDerivative, t, &y).ok()? };
        let one = step.graph.constant(1.0);
        let scaled = product(&mut step, h, self.coefficients.gamma);
        let shift = step.graph.div(one, scaled);
        let inverse = step.graph.div(one, h);

        let (pattern, of_jacobian, of_mass) = iteration_matrix(&program.jacobian)?;
        let order = elimination::PivotOrder {
            pattern: &pattern,
            source: Source::IterationMatrix { jacobian: &of_jacobian, mass: &of_mass, unit: true },
            rows: self.order,
            columns: self.order,
            field: Field::Real,
            fused: self.fused,
            bound: self.bound,
        };
        let mut inputs = |_: &mut Arithmetic, place: usize| jacobian.get(place).copied().unwrap_or(shift);
        let factors = on(&mut step, &order, |field| order.inlined(field, &mut inputs, self.limit as u64))?;

        let mut sound = None;
        let state = y.clone();
        let mut run =
            Stages { step, coefficients: self.coefficients, y, f, slopes, t, h, end, inverse, state, u: Vec::new() };
        for i in 0..stages {
            let right = run.right_side(i)?;
            let step = &mut run.step;
            let x = on(step, &order, |field| factors.solve(field, &right));
            if i == 0 {
                let excess = on(step, &order, |field| factors.excess(field, &right, &x))?;
                let negligible = step.graph.constant(self.negligible);
                for excess in excess {
                    let small = step.graph.apply(&logic::LE, &[excess, negligible]);
                    sound = Some(both(step, sound, small));
                }
            }
            run.u.push(x);
        }
        let (y1, error, stiffly_accurate) = run.end();
        let Stages { mut step, y, u, .. } = run;
        let f1 = step.inline(KernelRole::Rhs, end, &y1).ok()?;
        let scales = step.scales(rtol, &atol, &y, &y1);
        let norm = step.norm(&error, &scales);
        let ends: Vec<NodeId> = y1.iter().chain(&f1).copied().collect();
        let doubt = step.nan_unless_finite(&ends);
        let zero = step.graph.constant(0.0);
        let finite = step.graph.apply(&logic::EQ, &[doubt, zero]);
        let sound = both(&mut step, sound, finite);
        let mut out = ends;
        out.extend([norm, sound]);
        out.extend(u.iter().flatten());
        if !stiffly_accurate {
            out.extend(&error);
        }
        step.finish(&out, self.limit)
    }
}

/// Row i of the coefficients, filled with zeros up to the number of earlier stages.
fn coefficients(rows: &[&[f64]], i: usize) -> Vec<f64> {
    (0..i).map(|j| rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0)).collect()
}

/// The pattern of W, and the entries of W for the entries of J and of M = I.
fn iteration_matrix(jacobian: &Pattern) -> Option<(Pattern, Vec<u32>, Vec<u32>)> {
    let n = jacobian.columns();
    let diagonal = (0..n).map(|i| (i, i));
    let pattern = Pattern::of(n, n, jacobian.entries().chain(diagonal.clone()));
    let entry = |at: (usize, usize)| pattern.position(at.0, at.1).map(|entry| entry as u32);
    let of_jacobian = jacobian.entries().map(entry).collect::<Option<_>>()?;
    let of_mass = diagonal.map(entry).collect::<Option<_>>()?;
    Some((pattern, of_jacobian, of_mass))
}

/// The stages written so far.
struct Stages<'a> {
    step: StepBuilder<'a>,
    coefficients: Coefficients<'a>,
    y: Vec<NodeId>,
    f: Vec<NodeId>,
    /// df/dt; empty if it is zero.
    slopes: Vec<NodeId>,
    t: NodeId,
    h: NodeId,
    /// The time at the end.
    end: NodeId,
    /// 1/h.
    inverse: NodeId,
    /// The last state at which f was evaluated.
    state: Vec<NodeId>,
    u: Vec<Vec<NodeId>>,
}

impl Stages<'_> {
    /// The right-hand side of the linear system of stage `i`.
    fn right_side(&mut self, i: usize) -> Option<Vec<NodeId>> {
        let Coefficients { alpha, gammas, c, .. } = self.coefficients;
        let mut right = self.f.clone();
        if self.moved(i)? {
            let time = if alpha[i] == 1.0 {
                self.end
            } else {
                let part = product(&mut self.step, self.h, alpha[i]);
                self.step.graph.add(self.t, part)
            };
            right = self.step.inline(KernelRole::Rhs, time, &self.state).ok()?;
        }
        let coupling = coefficients(c, i);
        let step = &mut self.step;
        for (k, right) in right.iter_mut().enumerate() {
            if let Some(sum) = sum(step, &coupling, &self.u, k) {
                let part = step.graph.mul(self.inverse, sum);
                *right = step.graph.add(*right, part);
            }
            if !self.slopes.is_empty() && gammas[i] != 0.0 {
                let weight = product(step, self.h, gammas[i]);
                let part = step.graph.mul(weight, self.slopes[k]);
                *right = step.graph.add(*right, part);
            }
        }
        Some(right)
    }

    /// Moves to the state of stage `i`; false if that is y.
    fn moved(&mut self, i: usize) -> Option<bool> {
        let a = self.coefficients.a;
        let (row, before) = (coefficients(a, i), coefficients(a, i.saturating_sub(1)));
        if row.iter().all(|a| *a == 0.0) {
            return Some(false);
        }
        let extends = i > 1 && row[..i - 1] == before[..] && before.iter().any(|a| *a != 0.0);
        // the last term is added last, because only this addition waits for it
        let (last, earlier) = row.split_last()?;
        for k in 0..self.y.len() {
            let base = if extends { self.state[k] } else { plus_sum(&mut self.step, self.y[k], earlier, &self.u, k) };
            self.state[k] = plus_product(&mut self.step, base, *last, self.u[i - 1][k]);
        }
        Some(true)
    }

    /// The state at the end, the error, and true if the error is the last u.
    fn end(&mut self) -> (Vec<NodeId>, Vec<NodeId>, bool) {
        let Coefficients { a, m, error, .. } = self.coefficients;
        let (step, stages) = (&mut self.step, m.len());
        // the solver on vectors distinguishes the two forms in the same way
        let last_row = coefficients(a, stages - 1);
        let error_is_last = error.split_last().is_some_and(|(l, rest)| *l == 1.0 && rest.iter().all(|w| *w == 0.0));
        let stiffly_accurate = m[..stages - 1] == last_row[..] && m[stages - 1] == 1.0 && error_is_last;
        if stiffly_accurate {
            let last = self.u[stages - 1].clone();
            let y1 = self.state.iter().zip(&last).map(|(state, u)| step.graph.add(*state, *u)).collect();
            return (y1, last, true);
        }
        let y1 = (0..self.y.len()).map(|k| plus_sum(step, self.y[k], m, &self.u, k)).collect();
        let zero = step.graph.constant(0.0);
        let error = (0..self.y.len()).map(|k| sum(step, error, &self.u, k).unwrap_or(zero)).collect();
        (y1, error, false)
    }
}

/// Runs elimination code on the graph of a step.
fn on<T>(
    step: &mut StepBuilder<'_>,
    order: &elimination::PivotOrder<'_>,
    work: impl FnOnce(&mut Arithmetic) -> T,
) -> T {
    let mut field = order.arithmetic();
    std::mem::swap(&mut field.graph, &mut step.graph);
    let made = work(&mut field);
    std::mem::swap(&mut field.graph, &mut step.graph);
    made
}

fn product(step: &mut StepBuilder<'_>, a: NodeId, b: f64) -> NodeId {
    let b = step.graph.constant(b);
    step.graph.mul(a, b)
}

/// a + b c.
fn plus_product(step: &mut StepBuilder<'_>, a: NodeId, b: f64, c: NodeId) -> NodeId {
    let part = product(step, c, b);
    step.graph.add(a, part)
}

/// Component k of sum_j c_j u_j, from the first nonzero term to the last; `None` without terms.
fn sum(step: &mut StepBuilder<'_>, coefficients: &[f64], u: &[Vec<NodeId>], k: usize) -> Option<NodeId> {
    let mut sum = None;
    for (&c, u) in coefficients.iter().zip(u).filter(|(c, _)| **c != 0.0) {
        let term = product(step, u[k], c);
        sum = Some(match sum {
            None => term,
            Some(sum) => step.graph.add(sum, term),
        });
    }
    sum
}

/// y + sum_j c_j u_j.
fn plus_sum(step: &mut StepBuilder<'_>, y: NodeId, coefficients: &[f64], u: &[Vec<NodeId>], k: usize) -> NodeId {
    match sum(step, coefficients, u, k) {
        Some(sum) => step.graph.add(y, sum),
        None => y,
    }
}

fn both(step: &mut StepBuilder<'_>, a: Option<NodeId>, b: NodeId) -> NodeId {
    match a {
        Some(a) => step.graph.apply(&logic::AND, &[a, b]),
        None => b,
    }
}
