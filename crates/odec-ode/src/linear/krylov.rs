//! BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992)) on the preconditioned system, in the norm that errors are
//! weighed in: its residual then estimates the error of the solution in units of the tolerance.

/// How far a system is to be solved.
#[derive(Clone, Copy, Debug)]
pub struct Goal<'a> {
    /// Weights 1/(atol + rtol |y|) of the unknowns.
    pub weights: &'a [f64],
    /// Weighted root mean square of the error that may be left.
    pub tolerance: f64,
}

/// Iterations (of two products each) after which a system is given up.
pub const MAX_KRYLOV: u64 = 200;
/// Accuracy relative to the right side at which an iteration ends at the latest, and at which it ends without a goal.
pub const TIGHT: f64 = 1e-12;
/// A scalar product this much smaller than its factors allow has lost its meaning: the iteration begins anew from where it is.
const BREAKDOWN: f64 = 1e-30;

/// A preconditioned matrix Q A R of which the iteration solves Q A R v = Q b; the solution is R v.
pub(super) trait Preconditioned {
    /// z = R v.
    fn inner(&mut self, v: &[f64], z: &mut [f64]);
    /// out = Q A z, where z = R v.
    fn outer(&mut self, v: &[f64], z: &[f64], out: &mut [f64]);
}

/// Vectors of the iteration; no other memory is used.
pub(super) struct Work {
    /// Squares of the weights.
    pub metric: Vec<f64>,
    /// The solution.
    pub x: Vec<f64>,
    /// The preconditioned right side, then what is left of it.
    pub r: Vec<f64>,
    shadow: Vec<f64>,
    p: Vec<f64>,
    v: Vec<f64>,
    t: Vec<f64>,
    /// R p and R r.
    zp: Vec<f64>,
    zr: Vec<f64>,
}

impl Work {
    pub fn new(n: usize) -> Self {
        let zeros = || vec![0.0; n];
        Work {
            metric: vec![1.0; n],
            x: zeros(),
            r: zeros(),
            shadow: zeros(),
            p: zeros(),
            v: zeros(),
            t: zeros(),
            zp: zeros(),
            zr: zeros(),
        }
    }

    /// Takes the weights of unknowns in this order.
    pub fn weigh(&mut self, order: &[u32], weights: &[f64]) {
        for (m, j) in self.metric.iter_mut().zip(order) {
            let weight = weights[*j as usize];
            *m = weight * weight;
        }
    }
}

/// The four partial sums that reductions are made of, so that they vectorise.
type Lanes = [f64; 4];

fn total(s: Lanes) -> f64 {
    (s[0] + s[2]) + (s[1] + s[3])
}

/// sum a_i b_i.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a4, a), (b4, b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut s: Lanes = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        for l in 0..4 {
            s[l] += a[l] * b[l];
        }
    }
    for (l, (a, b)) in a.iter().zip(b).enumerate() {
        s[l] += a * b;
    }
    total(s)
}

/// sum w_i a_i b_i and sum w_i a_i a_i.
fn dots(w: &[f64], a: &[f64], b: &[f64]) -> (f64, f64) {
    let ((w4, w), (a4, a), (b4, b)) = (w.as_chunks::<4>(), a.as_chunks::<4>(), b.as_chunks::<4>());
    let (mut s, mut q): (Lanes, Lanes) = ([0.0; 4], [0.0; 4]);
    for ((w, a), b) in w4.iter().zip(a4).zip(b4) {
        for l in 0..4 {
            let wa = w[l] * a[l];
            s[l] += wa * b[l];
            q[l] += wa * a[l];
        }
    }
    for (l, ((w, a), b)) in w.iter().zip(a).zip(b).enumerate() {
        s[l] += w * a * b;
        q[l] += w * a * a;
    }
    (total(s), total(q))
}

/// r -= alpha v, and sum w_i r_i r_i of the result.
fn reduce(r: &mut [f64], alpha: f64, v: &[f64], w: &[f64]) -> f64 {
    let ((r4, r), (v4, v), (w4, w)) = (r.as_chunks_mut::<4>(), v.as_chunks::<4>(), w.as_chunks::<4>());
    let mut s: Lanes = [0.0; 4];
    for ((r, v), w) in r4.iter_mut().zip(v4).zip(w4) {
        for l in 0..4 {
            r[l] -= alpha * v[l];
            s[l] += w[l] * r[l] * r[l];
        }
    }
    for (l, ((r, v), w)) in r.iter_mut().zip(v).zip(w).enumerate() {
        *r -= alpha * v;
        s[l] += w * *r * *r;
    }
    total(s)
}

/// sum w_i a_i a_i.
fn square(w: &[f64], a: &[f64]) -> f64 {
    let ((w4, w), (a4, a)) = (w.as_chunks::<4>(), a.as_chunks::<4>());
    let mut s: Lanes = [0.0; 4];
    for (w, a) in w4.iter().zip(a4) {
        for l in 0..4 {
            s[l] += w[l] * a[l] * a[l];
        }
    }
    for (l, (w, a)) in w.iter().zip(a).enumerate() {
        s[l] += w * a * a;
    }
    total(s)
}

/// Solves Q A x = Q b from x = 0, where `work.r` is Q b, for `work.x`. The residual r is measured as R r, which estimates the
/// error: at most `tolerance` in the norm sqrt(mean(metric_i e_i^2)), or [`TIGHT`] times what it was at the start. Gives the
/// iterations, and whether the goal was met.
pub(super) fn bicgstab(work: &mut Work, tolerance: f64, matrix: &mut impl Preconditioned) -> (u64, bool) {
    let Work { metric, x, r, shadow, p, v, t, zp, zr } = work;
    let n = x.len();
    matrix.inner(r, zp);
    let start = square(metric, zp);
    let goal = (tolerance * tolerance * n as f64).max(TIGHT * TIGHT * start);
    if start <= goal {
        // The preconditioner alone is nearer than nothing.
        x.copy_from_slice(zp);
        return (0, true);
    }
    x.fill(0.0);
    if !start.is_finite() {
        return (0, false);
    }
    let mut size = square(metric, r);
    let (mut alpha, mut omega, mut rho) = (1.0, 1.0, 1.0);
    let mut anew = true;
    for iteration in 1..=MAX_KRYLOV {
        let mut next = if anew { 0.0 } else { dot(shadow, r) };
        if anew || next.abs() <= BREAKDOWN * size {
            for i in 0..n {
                shadow[i] = metric[i] * r[i];
            }
            p.copy_from_slice(r);
            next = size;
        } else {
            let beta = (next / rho) * (alpha / omega);
            for i in 0..n {
                p[i] = r[i] + beta * (p[i] - omega * v[i]);
            }
        }
        rho = next;
        if iteration > 1 {
            matrix.inner(p, zp);
        }
        matrix.outer(p, zp, v);
        alpha = rho / dot(shadow, v);
        if !alpha.is_finite() {
            return (iteration, false);
        }
        size = reduce(r, alpha, v, metric);
        matrix.inner(r, zr);
        let left = square(metric, zr);
        if left <= goal {
            for i in 0..n {
                x[i] += alpha * zp[i];
            }
            return (iteration, true);
        }
        // What R does to the size is taken to be the same for the next residual.
        let stretch = left / size;
        matrix.outer(r, zr, t);
        let (ts, tt) = dots(metric, t, r);
        omega = ts / tt;
        for i in 0..n {
            x[i] += alpha * zp[i] + omega * zr[i];
        }
        size = reduce(r, omega, t, metric);
        if size * stretch <= goal {
            return (iteration, true);
        }
        if !(omega.is_finite() && size.is_finite()) {
            return (iteration, false);
        }
        anew = omega == 0.0;
    }
    (MAX_KRYLOV, false)
}
