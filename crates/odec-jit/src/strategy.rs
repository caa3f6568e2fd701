//! The trade-off between compile time and speed of the code.

use crate::host::Effort;
use crate::routine::Routine;

/// When the code of a kernel is split, and how much it is optimised. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Largest number of steps (operations and stores) of a kernel without loops that is a single function.
    pub whole: usize,
    /// Number of steps in a part of a longer kernel.
    pub part: usize,
    /// Largest number of steps for which registers are allocated by backtracking instead of in a single pass.
    pub best: usize,
}

impl Default for Strategy {
    /// Chosen by measurement: `docs/dev/compile-time.md`.
    fn default() -> Strategy {
        Strategy { whole: 400, part: 250, best: 4000 }
    }
}

/// Largest number of steps of a kernel with loops whose registers are allocated by backtracking; it is one function.
const MAX_BEST_NEST: usize = 1500;

impl Strategy {
    /// The effort of compiling a routine into memory.
    pub(crate) fn effort(self, routine: &Routine) -> Effort {
        let most = if routine.scalar.is_some() { self.best } else { self.best.min(MAX_BEST_NEST) };
        if routine.steps <= most { Effort::Best } else { Effort::Quick }
    }

    /// Number of steps after which a kernel without loops of this length is split.
    pub(crate) fn cut(self, steps: usize) -> usize {
        if steps <= self.whole { self.whole } else { self.part }.max(1)
    }
}
