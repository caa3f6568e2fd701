//! Loops over vectors in the widest SIMD registers that the processor has: the same operations in the same order, so
//! the same bits for every width.

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

/// Smallest number of unknowns for which a loop uses wider registers, at the cost of a function call.
const LEAST: usize = 16;

/// The features of the processor, detected once.
pub(crate) static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// A loop over groups of four numbers. Everything that it calls must be inlined (`#[inline(always)]`), otherwise it
/// is not compiled for the wider registers.
pub(crate) trait Pass {
    /// The result of the loop.
    type Output;
    /// Runs the loop.
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

/// Runs a loop over `n` unknowns, with code for this processor if there are many.
#[inline(always)]
pub(crate) fn vectorised<P: Pass>(n: usize, pass: P) -> P::Output {
    if n < LEAST { pass.run() } else { ARCH.dispatch(Vectorised(pass)) }
}
