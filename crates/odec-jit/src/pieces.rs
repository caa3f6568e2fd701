//! Cuts a long schedule into pieces that become functions of their own, and places the values that cross a cut, or are
//! used long after they were computed, in a scratch buffer.
//!
//! Register allocation is worse than linear in the length of a function with many values alive, and machine code of a
//! long straight line waits for memory anyway. A value that is used behind the next cut is written to scratch where it is
//! computed, and read from there by the pieces that use it; elements of the inputs and numbers are read again instead.

use std::ops::Range;

use odec_ir::schedule::{Schedule, Step, Value};

/// Steps after which a value is read from scratch rather than kept in a register. The allocator of registers spills values too,
/// but later and at worse places: with this a step of a Rosenbrock method takes 0.7 to 0.8 of the time, and compiling does not take
/// longer (`docs/dev/compile-time.md`).
pub(crate) const FAR: usize = 32;

/// Not in scratch.
const NOWHERE: u32 = u32::MAX;

/// A schedule in pieces.
pub(crate) struct Pieces {
    /// Ranges of the steps.
    pub(crate) ranges: Vec<Range<usize>>,
    /// Scratch element of each value that crosses a cut.
    scratch: Vec<u32>,
    /// Length of the scratch buffer.
    pub(crate) scratch_len: usize,
}

impl Pieces {
    /// Cuts after every `length` steps. Scratch elements are used again behind the last step that reads them.
    pub(crate) fn of(schedule: &Schedule, length: usize) -> Pieces {
        let steps = &schedule.steps;
        let ranges: Vec<Range<usize>> =
            (0..steps.len()).step_by(length).map(|start| start..steps.len().min(start + length)).collect();
        let mut pieces = Pieces { ranges, scratch: vec![NOWHERE; schedule.values.len()], scratch_len: 0 };
        pieces.place(schedule);
        pieces
    }

    /// Where a value is kept for later pieces, if any needs it.
    pub(crate) fn scratch(&self, value: u32) -> Option<u32> {
        Some(self.scratch[value as usize]).filter(|&slot| slot != NOWHERE)
    }

    fn place(&mut self, schedule: &Schedule) {
        let steps = schedule.steps.len();
        let mut last_use = vec![0u32; schedule.values.len()];
        for (k, step) in schedule.steps.iter().enumerate() {
            each_operand(schedule, *step, |value| last_use[value as usize] = k as u32);
        }
        // Elements that become free behind a step.
        let mut ending: Vec<Vec<u32>> = vec![Vec::new(); steps];
        let mut free = Vec::new();
        for range in self.ranges.clone() {
            for k in range.clone() {
                if let Step::Compute(value) = schedule.steps[k] {
                    let last = last_use[value as usize] as usize;
                    if last >= range.end || last > k + FAR {
                        let slot = free.pop().unwrap_or_else(|| {
                            self.scratch_len += 1;
                            self.scratch_len as u32 - 1
                        });
                        self.scratch[value as usize] = slot;
                        ending[last].push(slot);
                    }
                }
                free.append(&mut ending[k]);
            }
        }
    }
}

/// Calls `visit` for every call that a step uses.
fn each_operand(schedule: &Schedule, step: Step, mut visit: impl FnMut(u32)) {
    match step {
        Step::Store { value, .. } => visit(value),
        Step::Compute(value) => {
            if let Value::Call(op, args) = schedule.values[value as usize] {
                args[..usize::from(op.0.arity)].iter().for_each(|&arg| visit(arg));
            }
        }
    }
}
