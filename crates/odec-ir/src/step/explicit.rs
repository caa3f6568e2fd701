//! The step of an explicit Runge-Kutta method: every stage, the end, and the squares of the norms of its error
//! estimates.

use super::{MAX_NODES, StepBuilder};
use crate::graph::NodeId;
use crate::program::{KernelRole, Program};

/// Number of terms that are summed before the sum is added to a state; longer sums are split.
pub const WIDTH: usize = 8;

/// Elements of `w`: h, the time at the end of the step, rtol, then the absolute tolerance of each unknown.
pub const GIVEN: usize = 3;

/// Elements of `out` before the slopes: the squares of the norms of the error estimates, zero if there is none. The
/// first one is NaN if a value of the step is not finite (and infinite or NaN if the norm is).
pub const NORMS: usize = 2;

/// The coefficients of a method.
#[derive(Clone, Copy, Debug)]
pub struct ButcherTableau<'a> {
    /// Nodes c_i.
    pub c: &'a [f64],
    /// Rows a_i1 .. a_i(i-1).
    pub a: &'a [&'a [f64]],
    /// Weights b_i.
    pub b: &'a [f64],
    /// Weights of up to two error estimates; empty if steps are fixed.
    pub errors: &'a [Vec<f64>],
    /// True if the last stage is f at the end of the step; otherwise the step ends with another evaluation.
    pub fsal: bool,
}

/// The step of y' = f(t, y) from t to t + h, `out` = [norms, k_1, ..., k_s, y1], where k_s is the slope at the end:
/// the last stage, or one after it. `y` = [k_1, y], so that the end of one step is the start of the next one. `w`:
/// see [`GIVEN`].
///
/// Every operation is the same as in the generic step, without fused multiply-add, so that both give the same bits:
/// coefficients times h first, then the terms, whose sum is added to y; in a stage, the last term is added separately
/// at the end.
///
/// `None` for a program with loops, or one whose step is too long.
pub fn step(program: &Program, tableau: &ButcherTableau<'_>) -> Option<Program> {
    let n = program_length(program, tableau)?;
    let mut writer = StepBuilder::new(program, 2 * n, GIVEN + n, false)?;
    let slope: Vec<NodeId> = (0..n).map(|i| writer.kept(i)).collect();
    let y: Vec<NodeId> = (n..2 * n).map(|i| writer.kept(i)).collect();
    let (t, h, t_new) = (writer.graph.time(), writer.given(0), writer.given(1));
    let mut steps = Steps { writer, h, y, k: vec![slope] };
    let s = tableau.b.len();
    let mut states = vec![steps.y.clone()];
    for i in 1..s {
        // in such a method, the last row equals the weights
        let last = tableau.fsal && i + 1 == s;
        let state = if last { steps.state(tableau.b) } else { steps.stage(tableau.a[i]) };
        let time = steps.time(tableau.c[i], t, t_new);
        let k = steps.writer.inline(KernelRole::Rhs, time, &state).ok()?;
        steps.k.push(k);
        states.push(state);
        if steps.writer.graph.len() > 2 * MAX_NODES {
            return None;
        }
    }
    let y1 = if tableau.fsal {
        states.pop()?
    } else {
        let y1 = steps.state(tableau.b);
        let k = steps.writer.inline(KernelRole::Rhs, t_new, &y1).ok()?;
        steps.k.push(k);
        y1
    };
    let norms = steps.norms(tableau, &states, &y1);
    let mut out = norms.to_vec();
    out.extend(steps.k.iter().flatten());
    out.extend(&y1);
    steps.writer.finish(&out, MAX_NODES)
}

/// The number of unknowns; `None` if a rough estimate shows that the step is too long.
fn program_length(program: &Program, tableau: &ButcherTableau<'_>) -> Option<usize> {
    let rhs = program.kernel(KernelRole::Rhs)?;
    let n = crate::layout::Layout::of(program).n;
    let terms = tableau.a.iter().flat_map(|row| row.iter()).filter(|a| **a != 0.0).count();
    let length = tableau.b.len().saturating_mul(rhs.live().count()).saturating_add(n.saturating_mul(terms));
    (length <= 2 * MAX_NODES && tableau.errors.len() <= NORMS).then_some(n)
}

/// The inputs of the stages.
struct Steps<'a> {
    writer: StepBuilder<'a>,
    h: NodeId,
    y: Vec<NodeId>,
    /// The slopes computed so far, n each.
    k: Vec<Vec<NodeId>>,
}

impl Steps<'_> {
    fn n(&self) -> usize {
        self.y.len()
    }

    /// The nonzero terms of a row: stage, and h times the coefficient.
    fn terms(&mut self, row: &[f64]) -> Vec<(usize, NodeId)> {
        let used = row.iter().enumerate().filter(|(_, a)| **a != 0.0);
        let mut terms = Vec::with_capacity(row.len());
        for (j, &a) in used {
            let a = self.writer.graph.constant(a);
            terms.push((j, self.writer.graph.mul(self.h, a)));
        }
        terms
    }

    /// `base` plus the terms of unknown i, split into parts.
    fn plus(&mut self, base: Option<NodeId>, terms: &[(usize, NodeId)], i: usize) -> Option<NodeId> {
        let mut sum = base;
        for part in terms.chunks(WIDTH) {
            let products = part.iter().map(|&(j, a)| (a, self.k[j][i]));
            let part = self.writer.sum_of_products(products);
            sum = match (sum, part) {
                (Some(sum), Some(part)) => Some(self.writer.graph.add(sum, part)),
                (one, other) => one.or(other),
            };
        }
        sum
    }

    /// The state of a stage: the newest slope is added last, so that only one product and one sum wait for it.
    fn stage(&mut self, row: &[f64]) -> Vec<NodeId> {
        let terms = self.terms(row);
        let Some((&(last, a), before)) = terms.split_last() else { return self.y.clone() };
        let mut state = Vec::with_capacity(self.n());
        for i in 0..self.n() {
            let y = self.y[i];
            let base = self.plus(Some(y), before, i).unwrap_or(y);
            state.push(self.writer.add_product(base, a, self.k[last][i]));
        }
        state
    }

    /// The state at the end of the step.
    fn state(&mut self, row: &[f64]) -> Vec<NodeId> {
        let terms = self.terms(row);
        let mut state = Vec::with_capacity(self.n());
        for i in 0..self.n() {
            let y = self.y[i];
            state.push(self.plus(Some(y), &terms, i).unwrap_or(y));
        }
        state
    }

    /// The time of a stage; for the end of the step, the exact time that the driver gives.
    fn time(&mut self, c: f64, t: NodeId, t_new: NodeId) -> NodeId {
        if c == 1.0 {
            return t_new;
        }
        let g = &mut self.writer.graph;
        let c = g.constant(c);
        let past = g.mul(c, self.h);
        g.add(t, past)
    }

    fn norms(&mut self, tableau: &ButcherTableau<'_>, states: &[Vec<NodeId>], y1: &[NodeId]) -> [NodeId; NORMS] {
        let n = self.n();
        let rtol = self.writer.given(2);
        let atol: Vec<NodeId> = (0..n).map(|i| self.writer.given(GIVEN + i)).collect();
        let zero = self.writer.graph.constant(0.0);
        let mut norms = [zero; NORMS];
        let y = self.y.clone();
        // A scale is finite if y1 is.
        let mut doubtful = y1.to_vec();
        if !tableau.errors.is_empty() {
            doubtful = self.writer.scales(rtol, &atol, &y, y1);
            for (norm, weights) in norms.iter_mut().zip(tableau.errors) {
                let terms = self.terms(weights);
                let error: Vec<NodeId> = (0..n).map(|i| self.plus(None, &terms, i).unwrap_or(zero)).collect();
                *norm = self.writer.mean_square(&error, &doubtful);
            }
        }
        for source in finite_checks(tableau) {
            match source {
                FiniteCheck::State(stage) => doubtful.extend(&states[stage]),
                FiniteCheck::Slope(stage) => doubtful.extend(&self.k[stage]),
            }
        }
        let doubt = self.writer.nan_unless_finite(&doubtful);
        norms[0] = self.writer.graph.add(norms[0], doubt);
        norms
    }
}

/// Values that are checked for NaN and infinity, in addition to y1 and the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FiniteCheck {
    /// The state of a stage.
    State(usize),
    /// The slope of a stage.
    Slope(usize),
}

/// The smallest number of vectors (chosen from the last stage downwards) that contain every slope that y1 and the
/// error do not contain: a slope that is not finite makes a vector that contains it not finite.
fn finite_checks(tableau: &ButcherTableau<'_>) -> Vec<FiniteCheck> {
    let slopes = tableau.b.len() + usize::from(!tableau.fsal);
    let holds = |row: &[f64], j: usize| row.get(j).is_some_and(|a| *a != 0.0);
    // The first slope was checked when it was computed.
    let mut seen: Vec<bool> = (0..slopes)
        .map(|j| j == 0 || holds(tableau.b, j) || tableau.errors.first().is_some_and(|error| holds(error, j)))
        .collect();
    let mut finite_checks = Vec::new();
    for i in (1..tableau.b.len()).rev() {
        let row = if tableau.fsal && i + 1 == tableau.b.len() { &[] } else { tableau.a[i] };
        if (0..i).any(|j| !seen[j] && holds(row, j)) {
            finite_checks.push(FiniteCheck::State(i));
            (0..i).for_each(|j| seen[j] |= holds(row, j));
        }
    }
    let rest = (0..slopes).filter(|&j| !seen[j]).map(FiniteCheck::Slope);
    finite_checks.extend(rest);
    finite_checks
}
