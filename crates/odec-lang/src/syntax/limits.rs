//! Bounds on what is read, each answered with a diagnostic of its own.

/// Longest source text: spans are 32 bits wide, and a model written by hand stays far below.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// Deepest nesting of brackets and of `if` inside `if`. The grammar recurses once per level.
pub const MAX_NESTING: usize = 200;

/// Most primes on one name.
pub const MAX_PRIMES: usize = 20;

/// Most mistakes reported for one file; the rest is counted.
pub const MAX_REPORTED: usize = 100;
