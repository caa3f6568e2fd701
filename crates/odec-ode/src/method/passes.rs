//! Passes over the slopes of an explicit step: states of stages, and the error with its norm. For few unknowns they are written out for
//! their number, since setting up a loop would cost more than the loop.

use crate::control::Tolerances;
use crate::fused;

/// `out` = y + h times the sum of the terms, each a coefficient and the number of a slope in `k`.
pub fn combine(out: &mut [f64], y: &[f64], k: &[f64], h: f64, terms: &[(usize, f64)]) {
    match y.len() {
        1 => few::<1>(out, y, k, h, terms),
        2 => few::<2>(out, y, k, h, terms),
        3 => few::<3>(out, y, k, h, terms),
        4 => few::<4>(out, y, k, h, terms),
        _ => fused::combine(out, y, k, h, terms),
    }
}

/// `error` = h times the sum of the terms, and its weighted norm for a step from y to y1.
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
            tolerances.norm(error, y, y1)
        }
    }
}

/// Sum of the terms.
#[inline(always)]
fn weighed<const N: usize>(k: &[f64], terms: &[(usize, f64)]) -> [f64; N] {
    let (slopes, _) = k.as_chunks::<N>();
    // One unknown after the other: f has just stored its values one by one, and reading two of them at once would wait for that.
    std::array::from_fn(|i| {
        let mut sum = 0.0;
        for &(j, a) in terms {
            sum += a * slopes[j][i];
        }
        sum
    })
}

fn few<const N: usize>(out: &mut [f64], y: &[f64], k: &[f64], h: f64, terms: &[(usize, f64)]) {
    let sum = weighed::<N>(k, terms);
    let (out, y) = (&mut out[..N], &y[..N]);
    for i in 0..N {
        out[i] = y[i] + h * sum[i];
    }
}

fn little<const N: usize>(
    error: &mut [f64],
    tolerances: &Tolerances,
    (y, y1): (&[f64], &[f64]),
    k: &[f64],
    h: f64,
    terms: &[(usize, f64)],
) -> f64 {
    let sum = weighed::<N>(k, terms);
    let (error, y, y1, atol) = (&mut error[..N], &y[..N], &y1[..N], &tolerances.atol[..N]);
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let mut squares = 0.0;
    for i in 0..N {
        error[i] = h * sum[i];
        // as `Tolerances::norm`
        let scale = atol[i] + tolerances.rtol * larger(y[i].abs(), y1[i].abs());
        let q = error[i] / larger(scale, f64::MIN_POSITIVE);
        squares += q * q;
    }
    if squares.is_nan() { f64::INFINITY } else { (squares / N as f64).sqrt() }
}
