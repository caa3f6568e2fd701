//! Random numbers for the tests of this folder.

/// A small generator (SplitMix64) with a seed.
pub struct Random(pub u64);

impl Random {
    /// Uniform in [0, 1).
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of 0, 1, ..., n - 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// Uniform in the exponent, from 1e-12 to 1e12.
    pub fn scale(&mut self) -> f64 {
        10f64.powf(24.0 * self.next() - 12.0)
    }
}
