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

/// Growth of the residual on the way beyond which the one that the iteration carries along says nothing of the true one: as a fraction
/// of the goal over rounding.
const LOST: f64 = 4.0 * f64::EPSILON;

/// Factors that blow a change of all unknowns by their tolerances up by more than this are unstable (Chow & Saad, J. Comput. Appl.
/// Math. 86 (1997)): what they make of a residual says nothing.
const UNSTABLE: f64 = 1e9;

/// A preconditioned matrix Q A R of which the iteration solves Q A R v = Q b; the solution is R v.
pub(super) trait Preconditioned {
    /// Multiple of z that `outer` leaves to the loop that reads its result first.
    const REST: f64 = 0.0;
    /// z = R v.
    fn inner(&mut self, v: &[f64], z: &mut [f64]);
    /// out + REST z = Q A z, where z = R v.
    fn outer(&mut self, v: &[f64], z: &[f64], out: &mut [f64]);
}

/// Vectors of the iteration; no other memory is used. All are filled up with zeros to whole [`Lanes`].
pub(super) struct Work {
    n: usize,
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
        let zeros = || vec![0.0; n.next_multiple_of(LANES)];
        Work {
            n,
            metric: zeros(),
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

    /// Changes of all unknowns by their tolerances, into `x`.
    pub fn one_each(&mut self) {
        for (x, metric) in self.x[..self.n].iter_mut().zip(&self.metric) {
            *x = 1.0 / metric.sqrt();
        }
    }

    /// True where `x`, which incomplete factors made of the diagonal times [`Work::one_each`], shows them to be good for something.
    pub fn stable(&self) -> bool {
        self.x[..self.n].iter().zip(&self.metric).all(|(x, metric)| x * x * metric <= UNSTABLE * UNSTABLE)
    }

    /// Weighs all unknowns the same.
    pub fn weigh_equally(&mut self) {
        self.metric[..self.n].fill(1.0);
    }
}

/// Partial sums that reductions are made of, so that they vectorise.
const LANES: usize = 4;
type Lanes = [f64; LANES];

fn total(s: Lanes) -> f64 {
    (s[0] + s[2]) + (s[1] + s[3])
}

fn lanes(a: &[f64]) -> &[Lanes] {
    a.as_chunks().0
}

fn lanes_mut(a: &mut [f64]) -> &mut [Lanes] {
    a.as_chunks_mut().0
}

/// out += rest z, and sum a_i out_i of the result.
fn complete(out: &mut [f64], rest: f64, z: &[f64], a: &[f64]) -> f64 {
    let mut s = [0.0; LANES];
    for ((out, z), a) in lanes_mut(out).iter_mut().zip(lanes(z)).zip(lanes(a)) {
        for l in 0..LANES {
            out[l] += rest * z[l];
            s[l] += a[l] * out[l];
        }
    }
    total(s)
}

/// out += rest z, and of the result sum w_i out_i a_i and sum w_i out_i out_i.
fn complete_weighed(out: &mut [f64], rest: f64, z: &[f64], w: &[f64], a: &[f64]) -> (f64, f64) {
    let (mut s, mut q) = ([0.0; LANES], [0.0; LANES]);
    for (((out, z), w), a) in lanes_mut(out).iter_mut().zip(lanes(z)).zip(lanes(w)).zip(lanes(a)) {
        for l in 0..LANES {
            out[l] += rest * z[l];
            let weighed = w[l] * out[l];
            s[l] += weighed * a[l];
            q[l] += weighed * out[l];
        }
    }
    (total(s), total(q))
}

/// r -= alpha v, and sum w_i r_i r_i of the result.
fn reduce(r: &mut [f64], alpha: f64, v: &[f64], w: &[f64]) -> f64 {
    let mut s = [0.0; LANES];
    for ((r, v), w) in lanes_mut(r).iter_mut().zip(lanes(v)).zip(lanes(w)) {
        for l in 0..LANES {
            r[l] -= alpha * v[l];
            s[l] += w[l] * r[l] * r[l];
        }
    }
    total(s)
}

/// r -= omega t, and of the result sum w_i r_i r_i and sum a_i r_i.
fn reduce_twice(r: &mut [f64], omega: f64, t: &[f64], w: &[f64], a: &[f64]) -> (f64, f64) {
    let (mut s, mut q) = ([0.0; LANES], [0.0; LANES]);
    for (((r, t), w), a) in lanes_mut(r).iter_mut().zip(lanes(t)).zip(lanes(w)).zip(lanes(a)) {
        for l in 0..LANES {
            r[l] -= omega * t[l];
            s[l] += w[l] * r[l] * r[l];
            q[l] += a[l] * r[l];
        }
    }
    (total(s), total(q))
}

/// sum w_i a_i a_i.
fn square(w: &[f64], a: &[f64]) -> f64 {
    let mut s = [0.0; LANES];
    for (w, a) in lanes(w).iter().zip(lanes(a)) {
        for l in 0..LANES {
            s[l] += w[l] * a[l] * a[l];
        }
    }
    total(s)
}

/// Solves Q A x = Q b from x = 0, where `work.r` is Q b, for `work.x`. The residual r is measured as R r, which estimates the
/// error: at most `tolerance` in the norm sqrt(mean(metric_i e_i^2)), or [`TIGHT`] times what it was at the start. Gives the
/// iterations, and whether the goal was met.
pub(super) fn bicgstab<P: Preconditioned>(work: &mut Work, tolerance: f64, matrix: &mut P) -> (u64, bool) {
    let Work { n, metric, x, r, shadow, p, v, t, zp, zr } = work;
    matrix.inner(r, zp);
    let start = square(metric, zp);
    let goal = (tolerance * tolerance * *n as f64).max(TIGHT * TIGHT * start);
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
    let mut largest = start;
    let (mut alpha, mut omega, mut rho, mut next) = (1.0, 1.0, 1.0, 0.0);
    let mut anew = true;
    for iteration in 1..=MAX_KRYLOV {
        if anew || f64::abs(next) <= BREAKDOWN * size {
            for ((shadow, metric), r) in shadow.iter_mut().zip(&*metric).zip(&*r) {
                *shadow = metric * r;
            }
            p.copy_from_slice(r);
            next = size;
        } else {
            let beta = (next / rho) * (alpha / omega);
            for ((p, r), v) in p.iter_mut().zip(&*r).zip(&*v) {
                *p = r + beta * (*p - omega * v);
            }
        }
        rho = next;
        if iteration > 1 {
            matrix.inner(p, zp);
        }
        matrix.outer(p, zp, v);
        alpha = rho / complete(v, P::REST, zp, shadow);
        if !alpha.is_finite() {
            return (iteration, false);
        }
        size = reduce(r, alpha, v, metric);
        matrix.inner(r, zr);
        let left = square(metric, zr);
        if left <= goal {
            for (x, zp) in x.iter_mut().zip(&*zp) {
                *x += alpha * zp;
            }
            return (iteration, LOST * LOST * largest <= goal);
        }
        // What R does to the size is taken to be the same for the next residual.
        let stretch = left / size;
        matrix.outer(r, zr, t);
        let (ts, tt) = complete_weighed(t, P::REST, zr, metric, r);
        omega = ts / tt;
        for ((x, zp), zr) in x.iter_mut().zip(&*zp).zip(&*zr) {
            *x += alpha * zp + omega * zr;
        }
        (size, next) = reduce_twice(r, omega, t, metric, shadow);
        if size * stretch <= goal {
            return (iteration, LOST * LOST * largest <= goal);
        }
        largest = largest.max(left).max(size * stretch);
        if !(omega.is_finite() && size.is_finite()) {
            return (iteration, false);
        }
        anew = omega == 0.0;
    }
    (MAX_KRYLOV, false)
}
