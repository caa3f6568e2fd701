//! The buffer of a step of an embedded pair.

/// Where the values of a step are in its buffer: the squares of the norms, k_1 .. k_e with the slope at the end of
/// the step last, the state there, the further slopes of dense output. This is what
/// [`crate::step::FusedFormula::Explicit`] writes, and from k_e on what it reads.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub n: usize,
    pub end: usize,
}

impl Places {
    /// Squares of norms.
    pub const NORMS: usize = 2;

    /// The position of a slope or state in the list behind the squares: that of a stage; for additional stages after
    /// the state at the end.
    pub fn rank(self, stage: usize) -> usize {
        if stage <= self.end { stage } else { stage + 1 }
    }

    /// The slopes with the state among them.
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

    /// Where the slope at the end begins, with the state behind it.
    pub fn kept(self) -> usize {
        Self::NORMS + self.end * self.n
    }
}
