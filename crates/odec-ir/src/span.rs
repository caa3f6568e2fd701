//! Opaque source locations carried by nodes, so that a run-time failure can be shown in the text.

/// A half-open byte range `start..end` of one source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Index of the file in the caller's list of files.
    pub file: u16,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of file 0.
    pub fn new(start: usize, end: usize) -> Span {
        Span { file: 0, start: start as u32, end: end as u32 }
    }

    /// The smallest span of the same file that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The byte range, for slicing the text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}
