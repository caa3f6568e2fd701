//! Which of their cases the tests examine: shared by test programs of several crates.

/// 1 divided by the golden ratio: its multiples, without their whole parts, fill (0, 1) evenly, and a share does not
/// fall on the same rows of a nested loop again and again, as every n-th case would.
const STRIDE: f64 = 0.618_033_988_749_894_9;

/// A share of the cases of a test: one of `n` on average, always the same ones. With the environment variable
/// `ALL_CASES`, which `.ci/run` sets, it is all of them.
#[derive(Debug)]
pub struct Share {
    n: usize,
    seen: usize,
}

impl Share {
    /// One case of `n`, or all with `ALL_CASES`.
    pub fn one_of(n: usize) -> Share {
        Share { n: if all_cases() { 1 } else { n }, seen: 0 }
    }

    /// True if the test examines its next case. The first case is always in the share.
    pub fn takes(&mut self) -> bool {
        let place = (self.seen as f64 * STRIDE).fract();
        self.seen += 1;
        place * (self.n as f64) < 1.0
    }
}

/// True if `ALL_CASES` is set.
fn all_cases() -> bool {
    std::env::var_os("ALL_CASES").is_some()
}
