//! How much compile time goes into the code of a kernel.

use crate::host::Effort;
use crate::routine::Routine;

/// Where the code of a kernel is split, and how much it is optimised. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Steps (operations and stores) up to which a kernel without loops is one function.
    pub whole: usize,
    /// Steps in a part of a longer kernel.
    pub part: usize,
    /// Steps up to which registers are allocated by backtracking rather than in a single pass.
    pub best: usize,
}

impl Default for Strategy {
    /// Chosen by measurement: `docs/dev/compile-time.md`.
    fn default() -> Strategy {
        Strategy { whole: 400, part: 250, best: 4000 }
    }
}

/// Steps of a kernel with loops up to which registers are allocated by backtracking: it is one function.
const MAX_BEST_NEST: usize = 1500;

impl Strategy {
    /// How a routine is compiled into memory.
    pub(crate) fn effort(self, routine: &Routine) -> Effort {
        let most = if routine.scalar.is_some() { self.best } else { self.best.min(MAX_BEST_NEST) };
        if routine.steps <= most { Effort::Best } else { Effort::Quick }
    }

    /// Number of steps after which a kernel without loops of this length is split.
    pub(crate) fn cut(self, steps: usize) -> usize {
        if steps <= self.whole { self.whole } else { self.part }.max(1)
    }
}
