//! Chebyshev interpolants on [0, 1] for relations that are not polynomials.
//!
//! Values at x_j = cos(pi j/N) determine c_k = (2/N) sum_j'' g(x_j) cos(pi j k/N), where the first and last terms are
//! halved (Trefethen, Approximation Theory and Approximation Practice, 2013, chapter 3). The size of the last
//! coefficients shows how well the interpolant resolves the function.

use std::f64::consts::PI;
use std::sync::LazyLock;

/// Numbers of intervals N. The second is used if the first does not resolve the function; it reuses the points of the
/// first, which are every other point of the second.
pub const SIZES: [usize; 2] = [8, 16];
/// Points of the larger interpolant.
pub const MOST_POINTS: usize = SIZES[1] + 1;
/// Number of last coefficients whose size estimates the truncation error.
const TAIL: usize = 3;

/// cos(pi k/16) for a full turn.
static COSINES: LazyLock<[f64; 2 * SIZES[1]]> =
    LazyLock::new(|| std::array::from_fn(|k| (PI * k as f64 / SIZES[1] as f64).cos()));

/// Point number `j` in [0, 1], in descending order from 1 to 0, for n intervals.
pub fn point(j: usize, n: usize) -> f64 {
    match j {
        0 => 1.0,
        _ if j == n => 0.0,
        _ => 0.5 + 0.5 * (PI * j as f64 / n as f64).cos(),
    }
}

/// The n + 1 coefficients of the interpolant through `values` at the points 0, 1, ..., n. n is one of [`SIZES`].
pub fn coefficients(values: &[f64]) -> [f64; MOST_POINTS] {
    let mut c = [0.0; MOST_POINTS];
    for (k, c) in c.iter_mut().enumerate().take(values.len()) {
        *c = coefficient(values, k);
    }
    c
}

/// Coefficient number `k` of the interpolant.
fn coefficient(values: &[f64], k: usize) -> f64 {
    let n = values.len() - 1;
    let (cosines, stride) = (&*COSINES, SIZES[1] / n);
    let mut sum = 0.5 * (values[0] + if k.is_multiple_of(2) { values[n] } else { -values[n] });
    for (j, value) in values.iter().enumerate().take(n).skip(1) {
        sum += value * cosines[(j * k) % (2 * n) * stride];
    }
    let ends = if k == 0 || k == n { 1.0 } else { 2.0 };
    ends * sum / n as f64
}

/// The estimate of [`tail`] from the values, without the other coefficients.
pub fn tail_of(values: &[f64]) -> f64 {
    let n = values.len();
    (n - TAIL..n).fold(0.0, |most: f64, k| most.max(coefficient(values, k).abs()))
}

/// True if values of one sign vary so little, compared with their distance from zero, that [`clearance`] exceeds
/// `noise` and eleven times [`tail`]: every coefficient but the first is at most the difference between the largest
/// and the smallest value.
pub fn are_far(values: &[f64], noise: f64) -> bool {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        (low, high) = (low.min(*value), high.max(*value));
    }
    let least = if low > 0.0 { low } else { -high };
    least > (values.len() + 11) as f64 * (high - low) + 2.0 * noise
}

/// The largest of the last coefficients, an estimate of the truncation error.
pub fn tail(c: &[f64]) -> f64 {
    c.iter().rev().take(TAIL).fold(0.0, |most: f64, c| most.max(c.abs()))
}

/// A lower bound of the distance of an interpolant from zero, from its coefficients alone; not positive if they give
/// no bound.
pub fn clearance(c: &[f64]) -> f64 {
    c[0].abs() - c[1..].iter().map(|c| c.abs()).sum::<f64>()
}

/// The coefficients up to the last one above `noise`, but at least one.
pub fn trimmed(c: &[f64], noise: f64) -> &[f64] {
    let last = c.iter().rposition(|c| c.abs() > noise).unwrap_or(0);
    &c[..=last]
}

#[cfg(test)]
mod tests {
    use super::{MOST_POINTS, SIZES, coefficients, point, tail, tail_of, trimmed};
    use crate::hybrid::bernstein::Bernstein;

    /// A function, and the degree that its interpolant needs.
    type Case = (fn(f64) -> f64, usize);

    #[test]
    fn interpolants_of_smooth_functions_are_exact_to_rounding() {
        let functions: [Case; 3] = [(|s| s * s - 0.3, 2), (|s| (s - 0.5).powi(5), 5), (|s| s.exp() - 1.5, 13)];
        for (g, degree) in functions {
            let mut values = [0.0; MOST_POINTS];
            for (j, value) in values.iter_mut().enumerate() {
                *value = g(point(j, SIZES[1]));
            }
            let c = coefficients(&values);
            assert!(tail(&c) < 1e-15 && tail(&c) == tail_of(&values), "{}", tail(&c));
            let c = trimmed(&c, 4e-16);
            assert!(c.len() <= degree + 1, "{c:?}");
            let p = Bernstein::from_chebyshev(c);
            for k in 0..=100 {
                let s = f64::from(k) / 100.0;
                assert!((p.value(s) - g(s)).abs() < 1e-13, "{s}: {}", p.value(s) - g(s));
            }
        }
    }

    #[test]
    fn the_tail_shows_what_is_not_resolved() {
        let values: Vec<f64> = (0..=8).map(|j| (40.0 * point(j, 8)).sin()).collect();
        assert!(tail(&coefficients(&values)[..9]) > 0.1);
        let kink: Vec<f64> = (0..=16).map(|j| (point(j, 16) - 0.3).abs()).collect();
        assert!(tail(&coefficients(&kink)) > 1e-4);
    }

    #[test]
    fn points_of_both_sizes_agree() {
        for j in 0..=SIZES[0] {
            assert_eq!(point(j, SIZES[0]), point(2 * j, SIZES[1]));
        }
        assert_eq!((point(0, 8), point(4, 8), point(8, 8)), (1.0, 0.5, 0.0));
    }
}
