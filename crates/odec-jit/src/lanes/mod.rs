//! One kernel for several callers at a time: each gives its own buffers, and every instruction works on the values of four of them, or two. Each gets the bits that
//! [`crate::Function::call`] gives it.

#[cfg(target_arch = "x86_64")]
mod avx;
#[cfg(target_arch = "x86_64")]
mod encode;
mod write;

use std::cell::Cell;
use std::sync::Arc;

use odec_ir::KernelRole;
use odec_ir::schedule::{Schedule, Value};

use crate::JitError;
use crate::code::{Buffers, LaneCode};
use crate::compiled::Kernels;

pub(crate) use write::define;

/// The whole code of a function over lanes where this processor has instructions that work on more than two of them; `None` elsewhere, and
/// for schedules that call functions of the C library.
pub(crate) fn wide(schedule: &Schedule, lanes: usize) -> Option<Vec<u8>> {
    #[cfg(target_arch = "x86_64")]
    if avx::can_run() {
        return avx::write(schedule, lanes);
    }
    let _ = (schedule, lanes);
    None
}

/// Most lanes of a kernel.
pub const MAX_LANES: usize = 8;

/// A kernel of a program without index sets for several callers at a time.
pub struct LaneFunction {
    code: LaneCode,
    lanes: usize,
    lengths: [usize; 4],
}

/// Where a caller waits with its buffers until a [`LaneFunction`] runs.
pub struct Slot {
    /// Where the code begins that the buffers are for; 0 where there are none.
    code: Cell<usize>,
    buffers: Cell<Buffers>,
}

impl LaneFunction {
    /// The kernel of a role for an even number of callers up to [`MAX_LANES`]; `None` if there is none, or it cannot be compiled.
    pub(crate) fn of(kernels: &Arc<Kernels>, role: KernelRole, lanes: usize) -> Option<LaneFunction> {
        if matches!(role, KernelRole::Prepare | KernelRole::Initial) {
            return None;
        }
        LaneFunction::new(&kernels[role as usize].as_ref()?.schedule, lanes).ok()
    }

    fn new(schedule: &Schedule, lanes: usize) -> Result<LaneFunction, JitError> {
        if !(2..=MAX_LANES).contains(&lanes) || !lanes.is_multiple_of(2) {
            return Err(JitError::Malformed(format!("{lanes} lanes")));
        }
        let Schedule { n, p_len, out_len, ref values, .. } = *schedule;
        let directed = values.iter().any(|value| matches!(value, Value::Direction(_)));
        let lengths = [n, p_len, if directed { n } else { 0 }, out_len];
        Ok(LaneFunction { code: LaneCode::new(schedule, lanes)?, lanes, lengths })
    }

    /// Number of callers.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.code.bytes
    }

    /// Puts the buffers of a call, as of [`crate::Function::call`], into a slot and calls `wait`. While that has not returned, [`LaneFunction::run`] may
    /// fill `out`; if it does not, `out` is as it was.
    ///
    /// # Panics
    /// At a slice that is shorter: a mistake of the caller, not of a model.
    #[inline]
    pub fn offer(
        &self,
        slot: &Slot,
        (t, y, p, w): (f64, &[f64], &[f64], &[f64]),
        out: &mut [f64],
        wait: impl FnOnce(),
    ) {
        let [y_len, p_len, w_len, out_len] = self.lengths;
        let fit = (y.len() >= y_len) & (p.len() >= p_len) & (w.len() >= w_len) & (out.len() >= out_len);
        assert!(fit, "lengths of the buffers");
        let buffers = Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
        // The slices are borrowed until this function ends. It takes the buffers out of the slot however it ends, and one that never ends
        // never gives its borrows back.
        let _taken_back = TakenBack(slot);
        slot.buffers.set(buffers);
        slot.code.set(self.address());
        wait();
    }

    /// Runs the kernel for the callers that wait with an offer for it: one or more, up to [`LaneFunction::lanes`]. False, and nothing is done, if a
    /// slot has no such offer.
    #[inline]
    pub fn run(&self, slots: &[&Slot]) -> bool {
        let Some(first) = slots.first().filter(|_| slots.len() <= self.lanes) else { return false };
        let address = self.address();
        // lanes without a caller do what the first one does, and write the same numbers to the same places
        let mut callers = [first.buffers.as_ptr().cast_const(); MAX_LANES];
        for (caller, slot) in callers.iter_mut().zip(slots) {
            if slot.code.get() != address {
                return false;
            }
            *caller = slot.buffers.as_ptr();
        }
        // SAFETY: the slots hold buffers, so that the calls of `offer` which put them there, on this thread, have not ended and hold their borrows; those
        // calls compared the lengths with those of this function. No two calls can have borrowed one `out`, nor one as `out` that another reads.
        unsafe { self.code.call(&callers) };
        true
    }

    #[inline]
    fn address(&self) -> usize {
        self.code.address()
    }
}

impl Slot {
    /// Without buffers.
    pub fn new() -> Slot {
        let nothing = std::ptr::null();
        let buffers = Buffers { t: 0.0, y: nothing, p: nothing, w: nothing, out: std::ptr::null_mut() };
        Slot { code: Cell::new(0), buffers: Cell::new(buffers) }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Slot::new()
    }
}

/// Empties a slot at the end.
struct TakenBack<'a>(&'a Slot);

impl Drop for TakenBack<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.code.set(0);
    }
}
