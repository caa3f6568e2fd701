//! Loops over vectors in the widest SIMD registers that the processor has: the same operations in the same order, so the same bits, whatever its width.

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

/// Least number of unknowns for which a loop goes into SIMD registers: it is a function of its own then, which has to be called.
const LEAST: usize = 16;

/// What the processor has, found out once.
pub(crate) static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// A loop over groups of four numbers. All that it does has to be inlined (`#[inline(always)]`), or it stays code for any processor.
pub(crate) trait Pass {
    /// What comes out of it.
    type Output;
    /// Goes through it.
    fn run(self) -> Self::Output;
}

struct Vectorised<P>(P);

impl<P: Pass> WithSimd for Vectorised<P> {
    type Output = P::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> P::Output {
        self.0.run()
    }
}

/// Goes through a loop over so many unknowns, as code for the processor at hand where they are many.
#[inline(always)]
pub(crate) fn vectorised<P: Pass>(n: usize, pass: P) -> P::Output {
    if n < LEAST { pass.run() } else { ARCH.dispatch(Vectorised(pass)) }
}
