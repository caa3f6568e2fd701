//! The Levenberg-Marquardt method in the form of Moré (1978), with bounds: Gauss-Newton steps in a trust region whose
//! axes are scaled by the column norms. This file does not depend on models.

use nalgebra::{DMatrix, DVector};

/// Largest number of evaluations in one descent.
pub const MAX_EVALUATIONS: u32 = 400;
/// Singular values below this fraction of the largest are ignored in steps.
const NEGLIGIBLE: f64 = 1e-11;
/// If a full Gauss-Newton step promises to reduce the sum of squares by less than this fraction, it is not worth an
/// evaluation: each parameter is then within 1e-6 of its standard error.
const NEGLIGIBLE_GAIN: f64 = 1e-12;
/// If no step reduces the sum of squares any more, a promised reduction below this fraction is due to rounding and
/// errors of runs.
const SMALL: f64 = 1e-6;
/// A trust region smaller than this, relative to the parameters, contains no other useful point.
const SMALLEST: f64 = 1e-13;
/// A step is accepted if it achieves this fraction of the promised reduction.
const ACCEPTABLE: f64 = 1e-4;

/// Residuals and their derivatives at a point.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Weighted residuals.
    pub residuals: DVector<f64>,
    /// Their derivatives, a column for each parameter.
    pub jacobian: DMatrix<f64>,
    /// Norm of the errors of the residuals themselves.
    pub noise: f64,
}

impl Evaluation {
    /// Sum of squares.
    pub fn squares(&self) -> f64 {
        self.residuals.norm_squared()
    }
}

/// The caller has stopped the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted;

/// The function whose sum of squares is minimised.
pub trait Residuals {
    /// Evaluates it at a point within the bounds; `None` if it has no value there.
    ///
    /// # Errors
    /// The caller stops the fit.
    fn at(&mut self, point: &[f64]) -> Result<Option<Evaluation>, Halted>;
}

/// How a descent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At a minimum, within the accuracy of the runs.
    Minimum,
    /// No step reduced the sum of squares, although the derivatives promise a reduction.
    Stuck,
    /// After the limit of [`MAX_EVALUATIONS`] evaluations.
    Evaluations,
}

/// The result of a descent.
#[derive(Clone, Debug)]
pub struct Descent {
    /// The best point.
    pub point: Vec<f64>,
    /// The residuals and derivatives there.
    pub evaluation: Evaluation,
    /// Why it ended.
    pub ended: Ended,
    /// Number of points evaluated.
    pub evaluations: u32,
}

/// Bounds of a parameter; infinite if it has none.
pub type Interval = (f64, f64);

/// Minimises the sum of squares from a starting point. `sizes` are significant changes of the parameters; the first
/// step is at most as long as these. Below the fraction `rank` of the largest singular value, derivatives are errors
/// of the runs. `None` if there is no value at the starting point.
///
/// # Errors
/// The caller stops the fit.
pub fn descend(
    residuals: &mut dyn Residuals,
    start: &[f64],
    bounds: &[Interval],
    sizes: &[f64],
    rank: f64,
) -> Result<Option<Descent>, Halted> {
    let mut point: Vec<f64> = start.iter().zip(bounds).map(|(x, (low, high))| x.clamp(*low, *high)).collect();
    let Some(mut evaluation) = residuals.at(&point)? else { return Ok(None) };
    let (mut evaluations, mut scale) = (1, vec![0.0; point.len()]);
    let mut radius = None;
    let ended = loop {
        grow(&mut scale, &evaluation.jacobian);
        let local = Local::new(&evaluation, &point, bounds, &scale);
        let promised = local.promise(rank);
        let (squares, noise) = (evaluation.squares(), evaluation.noise * evaluation.noise);
        if promised <= NEGLIGIBLE_GAIN * squares || promised <= 1e-2 * noise {
            break Ended::Minimum;
        }
        let reach = radius.get_or_insert_with(|| weighted(sizes, &scale));
        // the smallest meaningful distance
        let least = SMALLEST * weighted(&point, &scale).max(weighted(sizes, &scale));
        let better = loop {
            if evaluations >= MAX_EVALUATIONS {
                break Err(Ended::Evaluations);
            }
            let Some(step) = local.step(*reach).filter(|_| *reach > least) else { break Err(Ended::Stuck) };
            evaluations += 1;
            let there = residuals.at(&step.point)?;
            let gain = there.as_ref().map_or(f64::NEG_INFINITY, |there| squares - there.squares());
            let ratio = gain / step.promise;
            if !(ratio >= 0.25) {
                *reach = 0.25 * step.length;
            } else if ratio >= 0.75 || step.whole {
                *reach = (2.0 * step.length).max(*reach);
            }
            match there {
                Some(there) if ratio >= ACCEPTABLE => break Ok((step.point, there)),
                _ => {}
            }
        };
        match better {
            Ok(better) => (point, evaluation) = better,
            Err(Ended::Stuck) if promised <= SMALL * squares || promised <= 1e2 * noise => break Ended::Minimum,
            Err(why) => break why,
        }
    };
    Ok(Some(Descent { point, evaluation, ended, evaluations }))
}

/// The norm of a vector in the scaled axes of the trust region.
fn weighted(v: &[f64], scale: &[f64]) -> f64 {
    v.iter().zip(scale).map(|(x, d)| (x * d) * (x * d)).sum::<f64>().sqrt()
}

/// Updates the scales of the axes: the largest norm of each column so far.
fn grow(scale: &mut [f64], jacobian: &DMatrix<f64>) {
    for (d, column) in scale.iter_mut().zip(jacobian.column_iter()) {
        let norm = column.norm();
        *d = if norm > *d { norm } else { *d };
        if *d == 0.0 {
            *d = 1.0;
        }
    }
}

/// A linear model of the residuals around a point: R p + c, from J = QR.
struct Local<'a> {
    r: DMatrix<f64>,
    c: DVector<f64>,
    gradient: DVector<f64>,
    point: &'a [f64],
    bounds: &'a [Interval],
    scale: &'a [f64],
}

/// A proposed step.
struct Step {
    point: Vec<f64>,
    /// Length in the scaled axes of the trust region.
    length: f64,
    /// Reduction of the sum of squares that the linear model predicts.
    promise: f64,
    /// True if the trust region did not limit the step.
    whole: bool,
}

impl Local<'_> {
    fn new<'a>(at: &Evaluation, point: &'a [f64], bounds: &'a [Interval], scale: &'a [f64]) -> Local<'a> {
        let gradient = at.jacobian.transpose() * &at.residuals;
        let qr = at.jacobian.clone().qr();
        let mut c = DMatrix::from_column_slice(at.residuals.len(), 1, at.residuals.as_slice());
        qr.q_tr_mul(&mut c);
        let r = qr.r();
        let c = DVector::from_iterator(r.nrows(), c.iter().copied().take(r.nrows()));
        Local { r, c, gradient, point, bounds, scale }
    }

    /// The parameters that can move: not on a bound, or with a descent direction that leads inside.
    fn free(&self) -> Vec<usize> {
        let held = |j: usize| {
            let (low, high) = self.bounds[j];
            (self.point[j] <= low && self.gradient[j] >= 0.0) || (self.point[j] >= high && self.gradient[j] <= 0.0)
        };
        (0..self.point.len()).filter(|&j| !held(j)).collect()
    }

    /// The columns of free parameters, multiplied by these factors.
    fn columns(&self, free: &[usize], factor: impl Fn(usize) -> f64) -> DMatrix<f64> {
        DMatrix::from_fn(self.r.nrows(), free.len(), |i, k| self.r[(i, free[k])] * factor(free[k]))
    }

    /// The reduction of the sum of squares by a Gauss-Newton step, in the directions that the data determine.
    fn promise(&self, rank: f64) -> f64 {
        let free = self.free();
        let norm = |j: usize| self.r.column(j).norm();
        let scaled = self.columns(&free, |j| if norm(j) > 0.0 { 1.0 / norm(j) } else { 0.0 });
        let Some((u, s, _)) = decomposed(scaled) else { return 0.0 };
        let largest = s.max();
        let along = u.transpose() * &self.c;
        along.iter().zip(s.iter()).filter(|(_, s)| **s > rank * largest).map(|(b, _)| b * b).sum()
    }

    /// The step that minimises the linear model within the trust region and the bounds. A parameter that would exceed
    /// its bound is set to it, and the step of the others is computed again.
    fn step(&self, radius: f64) -> Option<Step> {
        let mut free = self.free();
        let mut p = DVector::zeros(self.point.len());
        let mut whole = true;
        while !free.is_empty() {
            let c = &self.c + &self.r * &p;
            let taken = p.iter().zip(self.scale).map(|(x, d)| (x * d) * (x * d)).sum::<f64>();
            let rest = (radius * radius - taken).max(1e-2 * radius * radius).sqrt();
            let scaled = self.columns(&free, |j| 1.0 / self.scale[j]);
            let (u, s, vt) = decomposed(scaled)?;
            let (q, unbound) = within(&(u.transpose() * c), &s, &vt, rest);
            whole &= unbound;
            let mut left = Vec::new();
            for (k, &j) in free.iter().enumerate() {
                let x = self.point[j] + q[k] / self.scale[j];
                let (low, high) = self.bounds[j];
                if x < low || x > high {
                    left.push(j);
                    p[j] = x.clamp(low, high) - self.point[j];
                }
            }
            if left.is_empty() {
                for (k, &j) in free.iter().enumerate() {
                    p[j] = q[k] / self.scale[j];
                }
                break;
            }
            free.retain(|j| !left.contains(j));
        }
        let change = &self.r * &p;
        let promise = -(2.0 * self.gradient.dot(&p) + change.norm_squared());
        let length = weighted(p.as_slice(), self.scale);
        let moved = |(j, x): (usize, &f64)| (x + p[j]).clamp(self.bounds[j].0, self.bounds[j].1);
        let point: Vec<f64> = self.point.iter().enumerate().map(moved).collect();
        (promise > 0.0 && length > 0.0 && point != self.point).then_some(Step { point, length, promise, whole })
    }
}

/// The singular value decomposition, if it exists.
pub(super) fn decomposed(a: DMatrix<f64>) -> Option<(DMatrix<f64>, DVector<f64>, DMatrix<f64>)> {
    if a.ncols() == 0 || a.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let svd = a.try_svd(true, true, f64::EPSILON, 10_000)?;
    Some((svd.u?, svd.singular_values, svd.v_t?))
}

/// The shortest vector that minimises |A q + c| with |q| at most `radius`, for A = U S V' and b = U'c. Also returns
/// whether the vector is shorter than `radius` anyway.
fn within(b: &DVector<f64>, s: &DVector<f64>, vt: &DMatrix<f64>, radius: f64) -> (DVector<f64>, bool) {
    let least = NEGLIGIBLE * s.max();
    let part = |k: usize, damping: f64| if s[k] > least { -s[k] * b[k] / (s[k] * s[k] + damping) } else { 0.0 };
    let along = |damping: f64| DVector::from_fn(s.len(), |k, _| part(k, damping));
    let (mut damping, mut z) = (0.0, along(0.0));
    if z.norm() <= radius {
        return (vt.transpose() * z, true);
    }
    // Newton's iteration for 1/|z| = 1/radius approaches from the left and does not overshoot (Hebden 1973, Moré 1978)
    for _ in 0..50 {
        let norm = z.norm();
        if norm <= 1.1 * radius {
            break;
        }
        let slope: f64 = (0..s.len()).filter(|&k| s[k] > least).map(|k| z[k] * z[k] / (s[k] * s[k] + damping)).sum();
        if !(slope > 0.0) {
            break;
        }
        damping += (norm / radius - 1.0) * norm * norm / slope;
        z = along(damping);
    }
    let norm = z.norm();
    if norm > radius {
        z *= radius / norm;
    }
    (vt.transpose() * z, false)
}
