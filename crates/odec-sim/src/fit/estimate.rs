//! Estimates at a minimum: standard errors, intervals, and the parameters that the data do not determine.

use nalgebra::{DMatrix, DVector};

use super::descent::{Evaluation, Interval, decomposed};
use super::quantile::two_sided;

/// A message names the parameters of a combination with at least this coefficient.
const NAMED: f64 = 0.1;
/// A parameter with more than this coefficient in an undetermined combination has an infinite standard error.
const TOUCHED: f64 = 1e-3;

/// A combination of parameters: their indices and coefficients.
pub type Combination = Vec<(usize, f64)>;

/// Errors of the parameters, in inner values: logarithms for parameters whose logarithm is fitted.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Covariances. The diagonal is infinite for parameters that the data do not determine, and NaN for those on a
    /// bound.
    pub covariance: DMatrix<f64>,
    /// Combinations that the data do not determine.
    pub undetermined: Vec<Combination>,
    /// Singular values of the derivatives with respect to relative changes.
    pub singular: Vec<f64>,
    /// Parameters on a bound, and whether it is the upper one.
    pub bounded: Vec<(usize, bool)>,
    /// Degrees of freedom: number of data minus number of free parameters.
    pub freedom: i64,
    /// True if the standard deviations of the data are known.
    pub known: bool,
}

/// Computes the estimate from the derivatives at the minimum. `sizes` are the sizes of the inner values. A combination
/// is undetermined if its singular value is below `rank` times the largest.
pub fn estimate(
    at: &Evaluation,
    point: &[f64],
    bounds: &[Interval],
    sizes: &[f64],
    rank: f64,
    known: bool,
) -> Estimate {
    let n = point.len();
    let on = |j: usize| match bounds[j] {
        (low, _) if point[j] <= low => Some((j, false)),
        (_, high) if point[j] >= high => Some((j, true)),
        _ => None,
    };
    let bounded: Vec<(usize, bool)> = (0..n).filter_map(on).collect();
    let free: Vec<usize> = (0..n).filter(|j| bounded.iter().all(|(k, _)| k != j)).collect();
    let m = at.residuals.len();
    let freedom = m as i64 - free.len() as i64;
    let spread = if known {
        1.0
    } else if freedom > 0 {
        at.squares() / freedom as f64
    } else {
        f64::NAN
    };
    let scaled = DMatrix::from_fn(m, free.len(), |i, k| at.jacobian[(i, free[k])] * sizes[free[k]]);
    // the factor R has the same singular values as the whole matrix
    let small = if m > free.len() { scaled.qr().r() } else { scaled };
    let mut covariance = DMatrix::from_element(n, n, f64::NAN);
    let (mut undetermined, mut singular) = (Vec::new(), Vec::new());
    if let Some((_, s, vt)) = decomposed(small) {
        let largest = s.max();
        let poor = |k: usize| !(largest > 0.0) || s[k] <= rank * largest;
        let part = |k: usize, i: usize| vt[(k, i)];
        let mut lost = vec![false; free.len()];
        let mut inner = DMatrix::zeros(free.len(), free.len());
        for k in 0..s.len() {
            if poor(k) {
                let named = (0..free.len()).filter(|&i| part(k, i).abs() >= NAMED);
                undetermined.push(named.map(|i| (free[i], part(k, i))).collect());
                lost.iter_mut().enumerate().for_each(|(i, lost)| *lost |= part(k, i).abs() > TOUCHED);
            } else {
                let v = DVector::from_fn(free.len(), |i, _| part(k, i) / s[k]);
                inner += &v * v.transpose();
            }
        }
        for (i, &a) in free.iter().enumerate() {
            for (j, &b) in free.iter().enumerate() {
                covariance[(a, b)] = match (lost[i] || lost[j], i == j) {
                    (false, _) => inner[(i, j)] * sizes[a] * sizes[b] * spread,
                    (true, true) => f64::INFINITY,
                    (true, false) => f64::NAN,
                };
            }
        }
        singular = s.iter().copied().collect();
        singular.sort_by(|a, b| b.total_cmp(a));
    }
    Estimate { covariance, undetermined, singular, bounded, freedom, known }
}

impl Estimate {
    /// Standard error of an inner value.
    pub fn error(&self, j: usize) -> f64 {
        self.covariance[(j, j)].sqrt()
    }

    /// Half the width of a confidence interval of an inner value, from the curvature at the minimum.
    pub fn half_width(&self, j: usize, level: f64) -> f64 {
        let factor = match self.freedom {
            _ if self.known => two_sided(level, f64::INFINITY),
            freedom if freedom > 0 => two_sided(level, freedom as f64),
            _ => f64::NAN,
        };
        factor * self.error(j)
    }
}
