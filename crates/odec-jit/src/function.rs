//! One kernel with its code found beforehand, for callers that run it millions of times.

use std::sync::Arc;

use odec_ir::schedule::Value;
use odec_ir::{KernelRole, schedule::Schedule};

use crate::code::{Buffers, Entry};
use crate::compiled::Kernels;

/// A kernel of a program without index sets: what a call costs beside the kernel is a comparison of lengths and a jump.
#[derive(Clone)]
pub struct Function {
    entry: Entry,
    y: usize,
    p: usize,
    w: usize,
    out: usize,
    /// Owns the code.
    _kernels: Arc<Kernels>,
}

impl Function {
    /// The kernel of a role, if there is one whose code could be made.
    pub(crate) fn of(kernels: &Arc<Kernels>, role: KernelRole) -> Option<Function> {
        if matches!(role, KernelRole::Prepare | KernelRole::Initial) {
            return None;
        }
        let kernel = kernels[role as usize].as_ref()?;
        let entry = kernel.code().ok()?.entry();
        let Schedule { n, p_len, out_len, ref values, .. } = kernel.schedule;
        let directed = values.iter().any(|value| matches!(value, Value::Direction(_)));
        Some(Function {
            entry,
            y: n,
            p: p_len,
            w: if directed { n } else { 0 },
            out: out_len,
            _kernels: Arc::clone(kernels),
        })
    }

    /// Runs the kernel: `y`, `p` and `out` have the lengths of state, parameter buffer and results; `w` that of the state if
    /// the kernel has a direction, else it is not looked at.
    ///
    /// # Panics
    /// At a slice that is shorter: a mistake of the caller, not of a model.
    #[inline]
    pub fn call(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        let fit = (y.len() >= self.y) & (p.len() >= self.p) & (w.len() >= self.w) & (out.len() >= self.out);
        assert!(fit, "lengths of the buffers");
        let buffers = Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
        // SAFETY: the lengths were checked against those of the schedule, and the code is alive with `_kernels`.
        unsafe { crate::code::call(self.entry, buffers) }
    }
}
