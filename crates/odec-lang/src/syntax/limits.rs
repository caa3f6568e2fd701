//! Limits on the input, each with its own diagnostic.

/// Longest source text: spans are 32 bits wide, and a model written by hand stays far below.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// Deepest nesting of brackets and of `if` inside `if`. The grammar recurses once per level.
pub const MAX_NESTING: usize = 200;

/// Most primes on one name.
pub const MAX_PRIMES: usize = 20;

/// Most mistakes reported for one file; the rest is counted.
pub const MAX_REPORTED: usize = 100;

/// Most files that one model uses.
pub const MAX_PART_FILES: usize = 500;

/// Most parts of one model, those of parts included. An array of parts is one.
pub const MAX_PARTS: usize = 2000;

/// Deepest nesting of parts in parts.
pub const MAX_PART_DEPTH: usize = 20;

/// Most bytes of the files of all parts together, each counted as often as it is used.
pub const MAX_ASSEMBLED_BYTES: usize = 64 << 20;
