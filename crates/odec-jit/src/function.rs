//! A kernel with the address of its code, for callers that run it millions of times.

use std::sync::Arc;

use odec_ir::KernelRole;

use crate::arguments::Lengths;
use crate::code::{self, Buffers, Entry};
use crate::compiled::RoleCode;

/// A kernel of a program without index sets. In addition to the kernel, a call costs a comparison of lengths and a
/// jump.
#[derive(Clone)]
pub struct Function {
    entry: Entry,
    lengths: Lengths,
    /// Length of the direction; 0 if the kernel has none.
    w: usize,
    /// The owner of the code.
    _code: Arc<RoleCode>,
}

impl Function {
    /// The kernel of a role, if it has no loops and its code could be made.
    pub(crate) fn of(role: KernelRole, code: &Arc<RoleCode>) -> Option<Function> {
        let [routine] = &code.routines[..] else { return None };
        let lengths = routine.scalar.as_ref()?.lengths;
        if matches!(role, KernelRole::Prepare | KernelRole::Initial) {
            return None;
        }
        let entry = crate::error::unless_unsuitable(code.code().map_err(Clone::clone))?.entry()?;
        let w = if routine.reads_direction() { lengths.y } else { 0 };
        Some(Function { entry, lengths, w, _code: Arc::clone(code) })
    }

    /// The address of its code: `void (double t, const double *y, const double *p, const double *w, double *out)`;
    /// valid while this value is alive.
    pub fn address(&self) -> usize {
        self.entry as usize
    }

    /// Runs the kernel. `y`, `p` and `out` have the lengths of state, parameter buffer and results; `w` has that of
    /// the state if the kernel has a direction, and is ignored otherwise.
    ///
    /// # Panics
    /// A slice is too short: this is a mistake of the caller, not of a model.
    #[inline]
    pub fn call(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        let given = (y.len() >= self.lengths.y) & (p.len() >= self.lengths.p) & (w.len() >= self.w);
        assert!(given & (out.len() >= self.lengths.out), "lengths of the buffers");
        let buffers = Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
        // SAFETY: the lengths were checked against those of the routine, and the code is alive with `_code`.
        unsafe { code::call(self.entry, buffers) }
    }
}
