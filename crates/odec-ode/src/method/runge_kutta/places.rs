//! The buffer of a step of an embedded pair, and its dense output as a polynomial.

use crate::method::continuous::MAX_DEGREE;
use crate::simd::Pass;

/// The positions of the values of a step in its buffer: the squares of the norms, k_1 .. k_e (the slope at the end of
/// the step last), the state there, the additional slopes for dense output. [`crate::step::FusedFormula::Explicit`]
/// writes these values, and reads those from k_e on.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub n: usize,
    pub end: usize,
}

impl Places {
    /// Squares of norms.
    pub const NORMS: usize = 2;

    /// The position of a slope in the list behind the squares: that of the stage; additional stages follow the state
    /// at the end.
    pub fn rank(self, stage: usize) -> usize {
        if stage <= self.end { stage } else { stage + 1 }
    }

    /// The slopes, including the state among them.
    pub fn slopes(buffer: &[f64]) -> &[f64] {
        &buffer[Self::NORMS..]
    }

    /// One of the slopes.
    pub fn slope(self, stage: usize) -> std::ops::Range<usize> {
        let start = Self::NORMS + self.rank(stage) * self.n;
        start..start + self.n
    }

    pub fn state(self) -> std::ops::Range<usize> {
        let start = Self::NORMS + (self.end + 1) * self.n;
        start..start + self.n
    }

    /// Start of the slope at the end of the step; the state follows it.
    pub fn kept(self) -> usize {
        Self::NORMS + self.end * self.n
    }
}

/// Unknowns and powers whose coefficients are summed together, in registers.
const LANES: usize = 16;
const GROUP: usize = 4;

/// Computes the coefficients of s, s^2, ..., n for each power, as sums over the slopes.
pub(super) struct Powers<'a> {
    pub c: &'a mut [f64],
    pub n: usize,
    pub h: f64,
    /// The weights of each slope, from s^0 on.
    pub weights: &'a [[f64; MAX_DEGREE + 1]],
    pub slopes: &'a [f64],
    pub places: Places,
}

impl Pass for Powers<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Powers { c, n, h, weights, slopes, places } = self;
        for (group, rows) in c.chunks_mut(GROUP * n.max(1)).enumerate() {
            let mut at = 0;
            while at + LANES <= n {
                let mut sums = [[0.0; LANES]; GROUP];
                for (j, weights) in weights.iter().enumerate() {
                    let weights = &weights[1 + GROUP * group..];
                    let k = &slopes[places.rank(j) * n + at..][..LANES];
                    for (sums, w) in sums.iter_mut().zip(weights) {
                        let w = h * w;
                        for i in 0..LANES {
                            sums[i] += w * k[i];
                        }
                    }
                }
                for (row, sums) in rows.chunks_exact_mut(n).zip(&sums) {
                    row[at..at + LANES].copy_from_slice(sums);
                }
                at += LANES;
            }
            for (power, row) in rows.chunks_exact_mut(n).enumerate() {
                for (i, c) in row.iter_mut().enumerate().skip(at) {
                    *c = weights.iter().enumerate().fold(0.0, |sum, (j, weights)| {
                        sum + h * weights[1 + GROUP * group + power] * slopes[places.rank(j) * n + i]
                    });
                }
            }
        }
    }
}
