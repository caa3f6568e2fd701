//! The buffer of a step of an embedded pair.

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
