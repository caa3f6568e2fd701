//! Backward differences on an equidistant grid: the history of the formulas with quasi-constant steps, and its change
//! of step size.

use crate::interpolant::{add, multiply};
use crate::simd::{Pass, vectorised};

/// Rows of differences: the state, `order` differences, and two more for the error estimates.
const ROWS: usize = super::coefficients::NDF_MAX_ORDER + 3;

/// The largest |x (x+1) ... (x+k-1)/k!| for -1 <= x <= 0, from k = 1 on, rounded up.
const LARGEST: [f64; super::coefficients::NDF_MAX_ORDER] = [1.0, 0.1251, 0.0642, 0.0417, 0.0303];

/// Number of unknowns that pass through all rows at a time.
const PIECE: usize = 256;

/// `grad^0 y_n .. grad^(ROWS-1) y_n` on the grid of spacing `h`, each row n values.
pub struct Differences {
    n: usize,
    rows: Vec<f64>,
    /// New rows of a piece, each as long as a piece.
    changed: Vec<f64>,
}

impl Differences {
    /// Zero differences.
    pub fn new(n: usize) -> Self {
        Differences { n, rows: vec![0.0; ROWS * n], changed: vec![0.0; ROWS * n.min(PIECE)] }
    }

    /// Copies another history of the same size.
    pub fn copy_from(&mut self, other: &Differences) {
        self.rows.copy_from_slice(&other.rows);
    }

    /// Sets the state; all other differences become zero.
    pub fn reset(&mut self, y: &[f64]) {
        self.rows.fill(0.0);
        self.rows[..self.n].copy_from_slice(y);
    }

    /// The difference of order `k`.
    pub fn row(&self, k: usize) -> &[f64] {
        &self.rows[k * self.n..(k + 1) * self.n]
    }

    /// The difference of order `k`, mutable, for the start.
    pub fn row_mut(&mut self, k: usize) -> &mut [f64] {
        &mut self.rows[k * self.n..(k + 1) * self.n]
    }

    /// Writes the polynomial prediction of degree `order` at the next grid point (the sum of the rows) to `predicted`
    /// and `state`, and the prediction minus `sum_k weights[k - 1] grad^k` (k = 1..=order) to `anchor`.
    pub fn predict(&self, order: usize, weights: &[f64], predicted: &mut [f64], state: &mut [f64], anchor: &mut [f64]) {
        match order {
            1 => self.predict_with::<1>(weights, predicted, state, anchor),
            2 => self.predict_with::<2>(weights, predicted, state, anchor),
            3 => self.predict_with::<3>(weights, predicted, state, anchor),
            4 => self.predict_with::<4>(weights, predicted, state, anchor),
            _ => self.predict_with::<5>(weights, predicted, state, anchor),
        }
    }

    fn predict_with<const K: usize>(
        &self,
        weights: &[f64],
        predicted: &mut [f64],
        state: &mut [f64],
        anchor: &mut [f64],
    ) {
        let n = self.n;
        let (first, predicted, state, anchor) =
            (&self.rows[..n], &mut predicted[..n], &mut state[..n], &mut anchor[..n]);
        let rows: [&[f64]; K] = std::array::from_fn(|k| &self.rows[(k + 1) * n..][..n]);
        let weights: [f64; K] = std::array::from_fn(|k| weights[k]);
        for i in 0..n {
            let (mut sum, mut part) = (first[i], 0.0);
            for k in 0..K {
                sum += rows[k][i];
                part += weights[k] * rows[k][i];
            }
            predicted[i] = sum;
            state[i] = sum;
            anchor[i] = sum - part;
        }
    }

    /// Advances by one grid point, at which the state is the prediction of degree `order` plus `correction` (which is
    /// the difference of order + 1 there).
    pub fn advance(&mut self, order: usize, correction: &[f64]) {
        let n = self.n;
        // One piece at a time, which stays in the cache while it passes through the rows.
        for from in (0..n).step_by(PIECE) {
            let len = PIECE.min(n - from);
            let sums = &mut self.changed[..len];
            sums.copy_from_slice(&correction[from..from + len]);
            let (low, high) = self.rows.split_at_mut((order + 2) * n);
            let previous = &mut low[(order + 1) * n + from..][..len];
            begin(&mut high[from..from + len], previous, sums);
            for k in (0..=order).rev() {
                accumulate(sums, &mut low[k * n + from..][..len]);
            }
        }
    }

    /// Like [`Differences::advance`], but leaves this history as it is and writes the new one to `next`. Rows above
    /// order + 2, which nothing reads at this order, are not copied.
    pub fn advance_into(&self, order: usize, correction: &[f64], next: &mut Differences) {
        let n = self.n;
        let Differences { rows, changed, .. } = next;
        for from in (0..n).step_by(PIECE) {
            let len = PIECE.min(n - from);
            let sums = &mut changed[..len];
            sums.copy_from_slice(&correction[from..from + len]);
            let (low, high) = rows.split_at_mut((order + 2) * n);
            let rows = (&self.rows[(order + 1) * n + from..][..len], &mut low[(order + 1) * n + from..][..len]);
            begin_into(&mut high[from..from + len], rows, sums);
            for k in (0..=order).rev() {
                accumulate_into(sums, &self.rows[k * n + from..][..len], &mut low[k * n + from..][..len]);
            }
        }
    }

    /// Changes the spacing of the grid by `ratio`, keeping the polynomial of degree `order`
    /// (Shampine & Reichelt 1997, section 2.2: D <- D R(ratio) U with U = R(1)).
    pub fn rescale(&mut self, order: usize, ratio: f64) {
        let r = interpolation_matrix(order, ratio);
        let u = interpolation_matrix(order, 1.0);
        let mut change = [[0.0; ROWS]; ROWS];
        for i in 1..=order {
            for j in 1..=order {
                change[i][j] = (1..=order).map(|k| r[i][k] * u[k][j]).sum();
            }
        }
        let n = self.n;
        for from in (0..n).step_by(PIECE) {
            let len = PIECE.min(n - from);
            for (changed, j) in self.changed.chunks_exact_mut(PIECE.min(n)).zip(1..=order) {
                let changed = &mut changed[..len];
                changed.fill(0.0);
                for i in 1..=order {
                    add_scaled(changed, change[i][j], &self.rows[i * n + from..][..len]);
                }
            }
            for (changed, j) in self.changed.chunks_exact(PIECE.min(n)).zip(1..=order) {
                self.rows[j * n + from..][..len].copy_from_slice(&changed[..len]);
            }
        }
    }

    /// The coefficients of that polynomial over the last spacing, in powers of the distance from its start in spacings.
    pub fn coefficients(&self, order: usize, c: &mut [f64]) {
        c[..(order + 1) * self.n].fill(0.0);
        let mut basis = [0.0; ROWS];
        basis[0] = 1.0;
        add(c, self.n, &basis[..1], self.row(0));
        for k in 1..=order {
            // x + k - 1 with x = s - 1
            multiply(&mut basis, k as f64 - 2.0, 1.0 / k as f64);
            add(c, self.n, &basis[..=k], self.row(k));
        }
    }

    /// True if a bound shows that this polynomial lies between `low` and `high` over the last spacing: the terms of
    /// [`Differences::interpolate`] are at most [`LARGEST`] times the differences.
    pub fn stay_within(&self, order: usize, low: &[f64], high: &[f64]) -> bool {
        match order {
            1 => self.stay_within_by::<1>(low, high),
            2 => self.stay_within_by::<2>(low, high),
            3 => self.stay_within_by::<3>(low, high),
            4 => self.stay_within_by::<4>(low, high),
            _ => self.stay_within_by::<5>(low, high),
        }
    }

    fn stay_within_by<const K: usize>(&self, low: &[f64], high: &[f64]) -> bool {
        let n = self.n;
        vectorised(n, WithinBounds::<K> { rows: &self.rows, low: &low[..n], high: &high[..n] })
    }

    /// The polynomial of degree `order` through the newest grid points, `x` spacings after the newest (negative: before it).
    pub fn interpolate(&self, order: usize, x: f64, y: &mut [f64]) {
        y.copy_from_slice(self.row(0));
        let mut basis = 1.0;
        for k in 1..=order {
            basis *= (x + (k - 1) as f64) / k as f64;
            for (y, d) in y.iter_mut().zip(self.row(k)) {
                *y += basis * d;
            }
        }
    }
}

// The loops are separate functions, so that the compiler knows that the slices do not overlap.

/// Sets the next difference and the last one.
#[inline]
fn begin(next: &mut [f64], previous: &mut [f64], correction: &[f64]) {
    for ((next, previous), sum) in next.iter_mut().zip(previous).zip(correction) {
        *next = sum - *previous;
        *previous = *sum;
    }
}

/// Like [`begin`], but the new previous difference goes to another row.
#[inline]
fn begin_into(next: &mut [f64], (previous, to): (&[f64], &mut [f64]), correction: &[f64]) {
    for (((next, previous), to), sum) in next.iter_mut().zip(previous).zip(to).zip(correction) {
        *next = sum - *previous;
        *to = *sum;
    }
}

/// Adds a difference to the sums; the row becomes the sum.
#[inline]
fn accumulate(sums: &mut [f64], row: &mut [f64]) {
    for (sum, d) in sums.iter_mut().zip(row) {
        *sum += *d;
        *d = *sum;
    }
}

/// Like [`accumulate`], but the sum goes to another row.
#[inline]
fn accumulate_into(sums: &mut [f64], row: &[f64], to: &mut [f64]) {
    for ((sum, d), to) in sums.iter_mut().zip(row).zip(to) {
        *sum += *d;
        *to = *sum;
    }
}

#[inline]
fn add_scaled(sums: &mut [f64], c: f64, row: &[f64]) {
    for (sum, d) in sums.iter_mut().zip(row) {
        *sum += c * d;
    }
}

/// `R_ij = (1/i!) prod_{m=0..i-1} (m - j ratio)`, rows and columns 1..=order.
fn interpolation_matrix(order: usize, ratio: f64) -> [[f64; ROWS]; ROWS] {
    let mut r = [[0.0; ROWS]; ROWS];
    for j in 1..=order {
        let mut product = 1.0;
        for i in 1..=order {
            product *= ((i - 1) as f64 - j as f64 * ratio) / i as f64;
            r[i][j] = product;
        }
    }
    r
}

/// True if each state, and all that its K weighted differences can add to it or take from it, lies between its bounds.
struct WithinBounds<'a, const K: usize> {
    rows: &'a [f64],
    low: &'a [f64],
    high: &'a [f64],
}

impl<const K: usize> Pass for WithinBounds<'_, K> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let n = self.low.len();
        let (low, high, state) = (&self.low[..n], &self.high[..n], &self.rows[..n]);
        let rows: [&[f64]; K] = std::array::from_fn(|k| &self.rows[(k + 1) * n..][..n]);
        // without a branch, so that the loop processes several states at once
        let mut outside = 0u64;
        for i in 0..n {
            // the first weight is 1
            let mut spread = rows[0][i].abs();
            for k in 1..K {
                spread += LARGEST[k] * rows[k][i].abs();
            }
            outside |= u64::from(!(state[i] - spread >= low[i])) | u64::from(!(state[i] + spread <= high[i]));
        }
        outside == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_over_a_spacing_hold_its_polynomial() {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for order in 1..=LARGEST.len() {
            for _ in 0..200 {
                let mut d = Differences::new(1);
                (0..=order).for_each(|k| d.row_mut(k)[0] = next());
                let mut y = [0.0];
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                for k in 0..=400 {
                    d.interpolate(order, f64::from(k) / 400.0 - 1.0, &mut y);
                    (low, high) = (low.min(y[0]), high.max(y[0]));
                }
                // not inside any point, and not far outside
                assert!(!d.stay_within(order, &[low + 1e-12], &[9.0]), "{order}");
                assert!(!d.stay_within(order, &[-9.0], &[high - 1e-12]), "{order}");
                let sum: f64 = (1..=order).map(|k| d.row(k)[0].abs()).sum();
                assert!(d.stay_within(order, &[d.row(0)[0] - sum], &[d.row(0)[0] + sum]), "{order}");
                assert!(d.stay_within(order, &[f64::NEG_INFINITY], &[f64::INFINITY]), "{order}");
            }
        }
        // the largest values of the terms are those of the constants
        for k in 1..=LARGEST.len() {
            let mut d = Differences::new(1);
            d.row_mut(k)[0] = 1.0;
            let mut y = [0.0];
            let most = (0..=10_000).fold(0.0f64, |most, j| {
                d.interpolate(k, f64::from(j) / 10_000.0 - 1.0, &mut y);
                most.max(y[0].abs())
            });
            assert!(most <= LARGEST[k - 1] && most > 0.99 * LARGEST[k - 1], "{k}: {most}");
        }
    }

    /// Differences of t^3 - 2 t on a grid of spacing h that ends at t.
    fn cubic(t: f64, h: f64) -> Differences {
        let f = |t: f64| t * t * t - 2.0 * t;
        let mut d = Differences::new(1);
        let mut column: Vec<f64> = (0..4).map(|k| f(t - f64::from(k) * h)).collect();
        for k in 0..4 {
            d.row_mut(k)[0] = column[0];
            column = column.windows(2).map(|w| w[0] - w[1]).collect();
        }
        d
    }

    #[test]
    fn rescaling_keeps_the_polynomial() {
        for ratio in [0.1, 0.5, 1.7, 4.0] {
            let mut d = cubic(1.3, 0.2);
            d.rescale(3, ratio);
            let want = cubic(1.3, 0.2 * ratio);
            for k in 0..4 {
                assert!((d.row(k)[0] - want.row(k)[0]).abs() < 1e-13, "ratio {ratio}, row {k}");
            }
        }
    }

    #[test]
    fn a_history_that_stays_gives_the_same_bits() {
        let n = PIECE + 3;
        for order in 1..=LARGEST.len() {
            let mut before = Differences::new(n);
            for k in 0..=order + 1 {
                before.row_mut(k).iter_mut().enumerate().for_each(|(i, d)| *d = (1.3 * (i * (k + 1)) as f64).sin());
            }
            let correction: Vec<f64> = (0..n).map(|i| 1e-3 * (i as f64).cos()).collect();
            let kept = before.rows.clone();
            let mut next = Differences::new(n);
            before.advance_into(order, &correction, &mut next);
            assert_eq!(before.rows, kept);
            before.advance(order, &correction);
            assert_eq!(before.rows[..(order + 3) * n], next.rows[..(order + 3) * n], "{order}");
        }
    }

    #[test]
    fn prediction_advance_and_interpolation_agree_on_a_cubic() {
        let mut d = cubic(1.3, 0.2);
        let mut y = [0.0];
        let (mut state, mut anchor) = ([0.0], [0.0]);
        d.predict(3, &[1.0, 0.0, 0.0], &mut y, &mut state, &mut anchor);
        assert!((y[0] - (1.5f64.powi(3) - 3.0)).abs() < 1e-13 && state == y);
        assert!((anchor[0] - (y[0] - d.row(1)[0])).abs() < 1e-13);
        d.interpolate(3, 0.5, &mut y);
        assert!((y[0] - (1.4f64.powi(3) - 2.8)).abs() < 1e-13);
        d.advance(3, &[0.0]);
        let want = cubic(1.5, 0.2);
        for k in 0..4 {
            assert!((d.row(k)[0] - want.row(k)[0]).abs() < 1e-13, "row {k}");
        }
    }
}
