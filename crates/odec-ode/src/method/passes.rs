//! Loops over the slopes of an explicit step: states of stages, and the error with the square of its norm. Small
//! numbers of unknowns have unrolled versions, since setting up a loop would cost more than the loop.
//!
//! A fused step (`odec_ir::step`) computes every sum in the same order.

use crate::control::{Tolerances, mean_of};
use crate::fused::{self, WIDTH};

/// Weight of the second estimate in the error of DOP853.
const SECOND: f64 = 0.01;

/// The square of the error, from the squares of the norms of two estimates; see
/// [`crate::method::runge_kutta::ExplicitTableau::second`].
pub fn both(first: f64, second: f64) -> f64 {
    if first == 0.0 || !first.is_finite() {
        return first;
    }
    first / (1.0 + SECOND * (second / first))
}

/// `out` = y + h times the sum of the terms; each term is a coefficient and the index of a slope in `k`.
pub fn combine(out: &mut [f64], y: &[f64], k: &[f64], h: f64, terms: &[(usize, f64)]) {
    match y.len() {
        1 => few::<1>(out, y, k, h, terms),
        2 => few::<2>(out, y, k, h, terms),
        3 => few::<3>(out, y, k, h, terms),
        4 => few::<4>(out, y, k, h, terms),
        _ => fused::combine(out, y, k, h, terms),
    }
}

/// Like [`combine`], but the last term is added after the sum of all others, so that only this addition waits for the
/// newest slope.
pub fn advance(out: &mut [f64], y: &[f64], k: &[f64], h: f64, terms: &[(usize, f64)]) {
    if y.len() > 4 {
        return fused::advance(out, y, k, h, terms);
    }
    let Some((&(last, a), before)) = terms.split_last() else { return out.copy_from_slice(y) };
    combine(out, y, k, h, before);
    let a = h * a;
    out.iter_mut().zip(&k[last * y.len()..]).for_each(|(out, k)| *out += a * k);
}

/// Computes `error` = h times the sum of the terms; returns the square of its weighted norm for a step from y to y1.
pub fn estimate(
    error: &mut [f64],
    tolerances: &Tolerances,
    (y, y1): (&[f64], &[f64]),
    k: &[f64],
    h: f64,
    terms: &[(usize, f64)],
) -> f64 {
    match y.len() {
        1 => little::<1>(error, tolerances, (y, y1), k, h, terms),
        2 => little::<2>(error, tolerances, (y, y1), k, h, terms),
        3 => little::<3>(error, tolerances, (y, y1), k, h, terms),
        4 => little::<4>(error, tolerances, (y, y1), k, h, terms),
        _ => {
            fused::sum(error, k, h, terms);
            tolerances.mean_square(error, y, y1)
        }
    }
}

/// `base` plus h times the sum of the terms.
#[inline(always)]
fn weighed<const N: usize>(base: [f64; N], k: &[f64], h: f64, terms: &[(usize, f64)]) -> [f64; N] {
    let (slopes, _) = k.as_chunks::<N>();
    // One unknown after the other: f has just stored its values one by one, and loading two at once would wait for
    // these stores.
    std::array::from_fn(|i| {
        let mut whole = base[i];
        for part in terms.chunks(WIDTH) {
            let mut sum = -0.0;
            for &(j, a) in part {
                sum += (h * a) * slopes[j][i];
            }
            whole += sum;
        }
        whole
    })
}

fn few<const N: usize>(out: &mut [f64], y: &[f64], k: &[f64], h: f64, terms: &[(usize, f64)]) {
    let y: [f64; N] = std::array::from_fn(|i| y[i]);
    out[..N].copy_from_slice(&weighed(y, k, h, terms));
}

fn little<const N: usize>(
    error: &mut [f64],
    tolerances: &Tolerances,
    (y, y1): (&[f64], &[f64]),
    k: &[f64],
    h: f64,
    terms: &[(usize, f64)],
) -> f64 {
    let sum = weighed([-0.0; N], k, h, terms);
    let (error, y, y1, atol) = (&mut error[..N], &y[..N], &y1[..N], &tolerances.atol[..N]);
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    error.copy_from_slice(&sum);
    let mut squares = [-0.0; 4];
    for i in 0..N {
        // like `Tolerances::mean_square`
        let scale = atol[i] + tolerances.rtol * larger(y[i].abs(), y1[i].abs());
        let q = sum[i] / larger(scale, f64::MIN_POSITIVE);
        squares[i % 4] += q * q;
    }
    mean_of(squares, N)
}
