//! W = alpha*M - J for systems whose Jacobian is too large to store: an iteration that uses only products J w, scaled
//! by the diagonal of alpha*M. If positions are eliminated (see `second_order`), it works on the velocities and
//! first-order states.

use crate::linear::MassMatrix;
use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::krylov::{End, Preconditioned, RequiredAccuracy, Work, bicgstab};
use crate::pattern::Pattern;
use crate::system::System;

/// The point of linearisation, and working memory.
pub(super) struct MatrixFree {
    second: usize,
    alpha: f64,
    t: f64,
    y: Vec<f64>,
    /// 1/(alpha m_ii), or 1 if m_ii is zero.
    scale: Vec<f64>,
    w: Vec<f64>,
    jw: Vec<f64>,
    weights: Vec<f64>,
    identity: Vec<u32>,
    work: Work,
    iterations: u64,
}

/// The operator of the iteration.
struct Operator<'a> {
    system: &'a dyn System,
    mass: &'a MassMatrix,
    second: usize,
    alpha: f64,
    t: f64,
    y: &'a [f64],
    scale: &'a [f64],
    w: &'a mut [f64],
    jw: &'a mut [f64],
}

impl Operator<'_> {
    /// Computes J w in `jw`; fills it with NaN if f cannot be evaluated.
    fn product(&mut self) {
        if self.system.jacobian_vector(self.t, self.y, self.w, self.jw).is_err() {
            self.jw.fill(f64::NAN);
        }
    }
}

impl Preconditioned<f64> for Operator<'_> {
    fn inner(&mut self, v: &[f64], z: &mut [f64]) {
        z.copy_from_slice(v);
    }

    fn outer(&mut self, _: &[f64], z: &[f64], out: &mut [f64]) {
        let second = self.second;
        for i in 0..second {
            self.w[i] = z[i] / self.alpha;
        }
        self.w[second..].copy_from_slice(&z[..self.scale.len()]);
        self.product();
        for value in self.jw.iter_mut() {
            *value = -*value;
        }
        self.w[..second].fill(0.0);
        self.mass.multiply_add(self.alpha, self.w, self.jw);
        for i in 0..self.scale.len() {
            out[i] = self.jw[second + i] * self.scale[i];
        }
    }
}

impl MatrixFree {
    pub fn new(n: usize, second: usize) -> Self {
        let reduced = n - second;
        MatrixFree {
            second,
            alpha: 1.0,
            t: 0.0,
            y: vec![0.0; n],
            scale: vec![1.0; reduced],
            w: vec![0.0; n],
            jw: vec![0.0; n],
            weights: vec![0.0; reduced],
            identity: (0..reduced as u32).collect(),
            work: Work::new(reduced),
            iterations: 0,
        }
    }

    /// Linearises at (t, y).
    pub fn place(&mut self, t: f64, y: &[f64]) {
        self.t = t;
        self.y.copy_from_slice(y);
    }

    /// Sets alpha and M.
    pub fn prepare(&mut self, alpha: f64, mass: &MassMatrix) {
        self.alpha = alpha;
        self.scale.fill(1.0 / alpha);
        if let Some(m) = mass.assembled() {
            for (scale, m) in self.scale.iter_mut().zip(m.diagonal().skip(self.second)) {
                *scale = if m == 0.0 { 1.0 } else { 1.0 / (alpha * m) };
            }
        }
    }

    /// Replaces `r` by the solution; without a goal, to the highest accuracy of the iteration. False if it did not
    /// get there.
    pub fn solve(
        &mut self,
        system: &dyn System,
        mass: &MassMatrix,
        r: &mut [f64],
        goal: Option<RequiredAccuracy<'_>>,
    ) -> bool {
        let MatrixFree { second, alpha, w, jw, scale, work, .. } = self;
        let (second, alpha) = (*second, *alpha);
        let mut operator = Operator { system, mass, second, alpha, t: self.t, y: &self.y, scale, w, jw };
        if second > 0 {
            for i in 0..second {
                operator.w[i] = r[i] / alpha;
            }
            operator.w[second..].fill(0.0);
            operator.product();
            for (r, jw) in r.iter_mut().zip(operator.jw.iter()).skip(second) {
                *r += jw;
            }
        }
        let (positions, rest) = r.split_at_mut(second);
        match &goal {
            None => work.weigh_equally(),
            Some(goal) => {
                let (of_positions, of_rest) = goal.weights.split_at(second);
                self.weights.copy_from_slice(of_rest);
                for (w, position) in self.weights.iter_mut().zip(of_positions) {
                    *w = w.hypot(position / alpha);
                }
                work.weigh(&self.identity, &self.weights);
            }
        }
        for (to, (from, scale)) in work.r.iter_mut().zip(rest.iter().zip(operator.scale)) {
            *to = from * scale;
        }
        let outcome = bicgstab(work, goal.map_or(0.0, |goal| goal.tolerance), &mut operator);
        self.iterations += outcome.iterations;
        rest.copy_from_slice(&work.x[..rest.len()]);
        for (dq, dv) in positions.iter_mut().zip(rest.iter()) {
            *dq = (*dq + *dv) / alpha;
        }
        outcome.end == End::Met
    }

    pub fn report(&self) -> LinearReport {
        let n = self.scale.len();
        let nothing = Pattern { rows: n as u32, col_ptr: vec![0; n + 1], row_idx: Vec::new() };
        LinearReport { iterations: self.iterations, ..LinearReport::new(SolverKind::MatrixFree, &nothing) }
    }
}
