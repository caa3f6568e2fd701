//! BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992)) on the preconditioned system, in the norm of the
//! error control: its residual then estimates the error of the solution in units of the tolerance.

use std::ops::{Add, AddAssign, Mul, MulAssign, Sub, SubAssign};

/// The accuracy that a solution needs.
#[derive(Clone, Copy, Debug)]
pub struct RequiredAccuracy<'a> {
    /// Weights 1/(atol + rtol |y|) of the unknowns.
    pub weights: &'a [f64],
    /// Permitted error of the solution: weighted root mean square.
    pub tolerance: f64,
}

/// The number type of an iteration.
pub(super) trait Real:
    Copy + AddAssign + SubAssign + MulAssign + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    /// 0.
    const ZERO: Self;
    /// True for the type with the most digits.
    const WIDEST: bool;
    /// Accuracy relative to the right-hand side at which every iteration ends.
    const TIGHT: f64;
    /// Limit on the growth of the residual during the iteration, as a multiple of the goal. Beyond it, the
    /// recursively updated residual says nothing about the true one.
    const LOST: f64;
    /// Rounds to this type.
    fn of(x: f64) -> Self;
    /// Converts to double precision.
    fn wide(self) -> f64;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const WIDEST: bool = true;
    const TIGHT: f64 = TIGHT;
    const LOST: f64 = 4.0 * f64::EPSILON;

    #[inline(always)]
    fn of(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const WIDEST: bool = false;
    const TIGHT: f64 = 1e-5;
    const LOST: f64 = 4.0 * f32::EPSILON as f64;

    #[inline(always)]
    fn of(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

/// The result of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Iterations of two products each.
    pub iterations: u64,
    /// The norm of the preconditioned right-hand side: the error of x = 0.
    pub start: f64,
    pub end: End,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It reached the goal.
    Met,
    /// It reached the goal in this precision, but rounding errors may exceed the goal.
    Rounded,
    /// It did not reach the goal.
    Failed,
}

/// Number of iterations (of two products each) after which the iteration fails.
pub const MAX_KRYLOV: u64 = 200;
/// Accuracy relative to the right-hand side at which every iteration ends; it is the tolerance without a goal.
pub const TIGHT: f64 = 1e-12;
/// A scalar product this much smaller than the norms of its factors is mostly rounding error: the iteration restarts
/// from the current x.
const BREAKDOWN: f64 = 1e-30;

/// Factors that amplify a change of all unknowns by their tolerances by more than this factor are unstable (Chow &
/// Saad, J. Comput. Appl. Math. 86 (1997)): the preconditioned residual then says nothing.
const UNSTABLE: f64 = 1e9;

/// A preconditioned matrix Q A R: the iteration solves Q A R v = Q b, and the solution is R v.
pub(super) trait Preconditioned<T> {
    /// True if `outer` leaves the addition of z to the next loop, which reads its result.
    const REST: bool = false;
    /// z = R v.
    fn inner(&mut self, v: &[T], z: &mut [T]);
    /// Computes Q A z for z = R v in `out`; with [`Preconditioned::REST`], in out + z.
    fn outer(&mut self, v: &[T], z: &[T], out: &mut [T]);
}

/// Vectors of the iteration, which uses no other memory. Zeros fill them to a multiple of the number of SIMD lanes.
pub(super) struct Work<T = f64> {
    n: usize,
    /// Squares of the weights.
    pub metric: Vec<T>,
    /// The solution.
    pub x: Vec<T>,
    /// The preconditioned right-hand side; later the residual.
    pub r: Vec<T>,
    shadow: Vec<T>,
    p: Vec<T>,
    v: Vec<T>,
    t: Vec<T>,
    /// R p and R r.
    zp: Vec<T>,
    zr: Vec<T>,
}

impl<T: Real> Work<T> {
    pub fn new(n: usize) -> Self {
        let zeros = || vec![T::ZERO; n.next_multiple_of(LANES)];
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

    /// Sets the weights of the unknowns, given in this order.
    pub fn weigh(&mut self, order: &[u32], weights: &[f64]) {
        for (m, j) in self.metric.iter_mut().zip(order) {
            let weight = weights[*j as usize];
            *m = T::of(weight * weight);
        }
    }

    /// Fills `x` with a change of each unknown by its tolerance.
    pub fn one_each(&mut self) {
        for (x, metric) in self.x[..self.n].iter_mut().zip(&self.metric) {
            *x = T::of(1.0 / metric.wide().sqrt());
        }
    }

    /// True if the incomplete factors are usable: `x` is their solution for the diagonal times [`Work::one_each`].
    pub fn stable(&self) -> bool {
        let square = |(x, metric): (&T, &T)| x.wide() * x.wide() * metric.wide();
        self.x[..self.n].iter().zip(&self.metric).all(|of| square(of) <= UNSTABLE * UNSTABLE)
    }

    /// Sets equal weights.
    pub fn weigh_equally(&mut self) {
        self.metric[..self.n].fill(T::of(1.0));
    }
}

/// Number of partial sums of a reduction; separate sums let it vectorise.
const LANES: usize = 8;
/// Number of terms of a partial sum; short sums keep the digits in single precision.
const BLOCK: usize = 1024;

fn total<T: Real>(s: [T; LANES]) -> f64 {
    let four = [s[0] + s[4], s[1] + s[5], s[2] + s[6], s[3] + s[7]];
    (four[0].wide() + four[2].wide()) + (four[1].wide() + four[3].wide())
}

fn lanes<T>(a: &[T]) -> &[[T; LANES]] {
    a.as_chunks().0
}

// Updates and sums are separate loops over one block at a time, which stays in the cache. The compiler vectorises
// each loop, but not both in one.

/// Adds z to `out` if `rest` is set; returns sum a_i out_i.
#[inline(never)]
fn complete<T: Real>(out: &mut [T], rest: bool, z: &[T], a: &[T]) -> f64 {
    let mut sum = 0.0;
    for ((out, z), a) in out.chunks_mut(BLOCK).zip(z.chunks(BLOCK)).zip(a.chunks(BLOCK)) {
        if rest {
            add(out, z);
        }
        sum += product(a, out);
    }
    sum
}

/// Adds z to `out` if `rest` is set; returns sum w_i out_i a_i and sum w_i out_i out_i.
#[inline(never)]
fn complete_weighed<T: Real>(out: &mut [T], rest: bool, z: &[T], w: &[T], a: &[T]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    let others = z.chunks(BLOCK).zip(w.chunks(BLOCK)).zip(a.chunks(BLOCK));
    for (out, ((z, w), a)) in out.chunks_mut(BLOCK).zip(others) {
        if rest {
            add(out, z);
        }
        let (mut s, mut q) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        for ((out, w), a) in lanes(out).iter().zip(lanes(w)).zip(lanes(a)) {
            for l in 0..LANES {
                let weighed = w[l] * out[l];
                s[l] += weighed * a[l];
                q[l] += weighed * out[l];
            }
        }
        sums = (sums.0 + total(s), sums.1 + total(q));
    }
    sums
}

/// r -= alpha v; returns sum w_i r_i r_i.
#[inline(never)]
fn reduce<T: Real>(r: &mut [T], alpha: T, v: &[T], w: &[T]) -> f64 {
    let mut sum = 0.0;
    for ((r, v), w) in r.chunks_mut(BLOCK).zip(v.chunks(BLOCK)).zip(w.chunks(BLOCK)) {
        subtract(r, alpha, v);
        sum += square_of(w, r);
    }
    sum
}

/// r -= omega t; returns sum w_i r_i r_i and sum a_i r_i.
#[inline(never)]
fn reduce_twice<T: Real>(r: &mut [T], omega: T, t: &[T], w: &[T], a: &[T]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    let others = t.chunks(BLOCK).zip(w.chunks(BLOCK)).zip(a.chunks(BLOCK));
    for (r, ((t, w), a)) in r.chunks_mut(BLOCK).zip(others) {
        subtract(r, omega, t);
        let (mut s, mut q) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        for ((r, w), a) in lanes(r).iter().zip(lanes(w)).zip(lanes(a)) {
            for l in 0..LANES {
                s[l] += w[l] * r[l] * r[l];
                q[l] += a[l] * r[l];
            }
        }
        sums = (sums.0 + total(s), sums.1 + total(q));
    }
    sums
}

/// out += z.
#[inline(always)]
fn add<T: Real>(out: &mut [T], z: &[T]) {
    for (out, z) in out.iter_mut().zip(z) {
        *out += *z;
    }
}

/// r -= alpha v.
#[inline(always)]
fn subtract<T: Real>(r: &mut [T], alpha: T, v: &[T]) {
    for (r, v) in r.iter_mut().zip(v) {
        *r -= alpha * *v;
    }
}

/// sum a_i b_i of a block.
#[inline(always)]
fn product<T: Real>(a: &[T], b: &[T]) -> f64 {
    let mut s = [T::ZERO; LANES];
    for (a, b) in lanes(a).iter().zip(lanes(b)) {
        for l in 0..LANES {
            s[l] += a[l] * b[l];
        }
    }
    total(s)
}

/// sum w_i a_i a_i of a block.
#[inline(always)]
fn square_of<T: Real>(w: &[T], a: &[T]) -> f64 {
    let mut s = [T::ZERO; LANES];
    for (w, a) in lanes(w).iter().zip(lanes(a)) {
        for l in 0..LANES {
            s[l] += w[l] * a[l] * a[l];
        }
    }
    total(s)
}

/// sum w_i a_i a_i.
#[inline(never)]
fn square<T: Real>(w: &[T], a: &[T]) -> f64 {
    w.chunks(BLOCK).zip(a.chunks(BLOCK)).map(|(w, a)| square_of(w, a)).sum()
}

/// Solves Q A x = Q b from x = 0; `work.r` is Q b, and `work.x` receives x. The norm sqrt(mean(metric_i (R r)_i^2))
/// of the residual estimates the error. The iteration ends if it is at most `tolerance`, or [`Real::TIGHT`] times its
/// value at the start, which is the accuracy of this number type.
pub(super) fn bicgstab<T: Real, P: Preconditioned<T>>(work: &mut Work<T>, tolerance: f64, matrix: &mut P) -> Outcome {
    let Work { n, metric, x, r, shadow, p, v, t, zp, zr } = work;
    matrix.inner(r, zp);
    let start = square(metric, zp);
    let (wanted, least) = (tolerance * tolerance * *n as f64, T::TIGHT * T::TIGHT * start);
    let goal = wanted.max(least);
    let outcome = |iterations, end| Outcome { iterations, end, start: (start / (*n).max(1) as f64).sqrt() };
    // In the widest type, the accuracy of the type is all that can be asked for.
    let exact = T::WIDEST || wanted >= least;
    if start <= goal {
        // The preconditioner alone gives a better start than zero.
        x.copy_from_slice(zp);
        return outcome(0, End::Met);
    }
    x.fill(T::ZERO);
    if !start.is_finite() {
        return outcome(0, End::Failed);
    }
    let end = |largest: f64| if exact && T::LOST * T::LOST * largest <= goal { End::Met } else { End::Rounded };
    let mut size = square(metric, r);
    let mut largest = start;
    let (mut alpha, mut omega, mut rho, mut next) = (1.0, 1.0, 1.0, 0.0);
    let mut anew = true;
    for iteration in 1..=MAX_KRYLOV {
        if anew || f64::abs(next) <= BREAKDOWN * size {
            for ((shadow, metric), r) in shadow.iter_mut().zip(&*metric).zip(&*r) {
                *shadow = *metric * *r;
            }
            p.copy_from_slice(r);
            next = size;
        } else {
            let (beta, omega) = (T::of((next / rho) * (alpha / omega)), T::of(omega));
            for ((p, r), v) in p.iter_mut().zip(&*r).zip(&*v) {
                *p = *r + beta * (*p - omega * *v);
            }
        }
        rho = next;
        if iteration > 1 {
            matrix.inner(p, zp);
        }
        matrix.outer(p, zp, v);
        alpha = rho / complete(v, P::REST, zp, shadow);
        if !alpha.is_finite() {
            return outcome(iteration, End::Failed);
        }
        size = reduce(r, T::of(alpha), v, metric);
        matrix.inner(r, zr);
        let left = square(metric, zr);
        if left <= goal {
            let alpha = T::of(alpha);
            for (x, zp) in x.iter_mut().zip(&*zp) {
                *x += alpha * *zp;
            }
            return outcome(iteration, end(largest));
        }
        // Assumes that R changes the norm of the next residual by the same factor.
        let factor = left / size;
        matrix.outer(r, zr, t);
        let (ts, tt) = complete_weighed(t, P::REST, zr, metric, r);
        omega = ts / tt;
        let (by_p, by_r) = (T::of(alpha), T::of(omega));
        for ((x, zp), zr) in x.iter_mut().zip(&*zp).zip(&*zr) {
            *x += by_p * *zp + by_r * *zr;
        }
        (size, next) = reduce_twice(r, by_r, t, metric, shadow);
        if size * factor <= goal {
            return outcome(iteration, end(largest));
        }
        largest = largest.max(left).max(size * factor);
        if !(omega.is_finite() && size.is_finite()) {
            return outcome(iteration, End::Failed);
        }
        anew = omega == 0.0;
    }
    outcome(MAX_KRYLOV, End::Failed)
}
