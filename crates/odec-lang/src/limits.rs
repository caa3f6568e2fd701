//! Limits on the input, each with its own diagnostic.

/// Longest source text: spans are 32 bits wide, and handwritten models are much shorter.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// Deepest nesting of brackets and of `if` inside `if`. The grammar recurses once per level.
pub const MAX_NESTING: usize = 200;

/// Largest number of primes on one name.
pub const MAX_PRIMES: usize = 20;

/// Largest number of errors reported for one file; the rest is counted.
pub const MAX_REPORTED: usize = 100;

/// Largest number of files that one model uses.
pub const MAX_PART_FILES: usize = 500;

/// Largest number of parts in one model, including parts of parts. An array of parts counts once.
pub const MAX_PARTS: usize = 2000;

/// Deepest nesting of parts in parts.
pub const MAX_PART_DEPTH: usize = 20;

/// Largest total size of the files of all parts in bytes, counting repeated uses.
pub const MAX_ASSEMBLED_BYTES: usize = 64 << 20;
