//! Splits a long kernel without loops into parts that become separate functions, and places values that cross a split,
//! or are used long after they were computed, in a scratch buffer.
//!
//! The time of register allocation grows faster than linearly with the length of a function with many live values, and
//! long straight-line code waits for memory anyway. A value that is used after the next split is written to scratch
//! where it is computed, and read from there by the parts that use it. Inputs and constants are read again instead.

use std::ops::Range;

use odec_ir::nest::schedule::Step;
use odec_ir::{Graph, NodeId};

/// Number of steps after which a value is read from scratch instead of kept in a register. The register allocator also
/// spills values, but later and in worse places: with this constant, a step of a Rosenbrock method takes 0.7 to 0.8 of
/// the time, and compiling takes no longer (`docs/dev/compile-time.md`).
pub(crate) const MAX_REGISTER_STEPS: usize = 32;

/// Not stored in scratch.
const NOWHERE: u32 = u32::MAX;

/// Steps split into parts.
pub(crate) struct SplitKernel {
    /// Ranges of the steps.
    pub(crate) ranges: Vec<Range<usize>>,
    /// For each node: the scratch element of a value that crosses a split.
    scratch: Vec<u32>,
    /// Length of the scratch buffer.
    pub(crate) scratch_len: usize,
}

impl SplitKernel {
    /// Splits after every `length` steps. Scratch elements are reused after the last step that reads them. `results`
    /// are the nodes of the first stores; the remaining stores store a constant.
    pub(super) fn of((graph, results): (&Graph, &[NodeId]), steps: &[Step], length: usize) -> SplitKernel {
        let ranges: Vec<Range<usize>> =
            (0..steps.len()).step_by(length).map(|start| start..steps.len().min(start + length)).collect();
        let mut last_use = vec![0u32; graph.len()];
        for (k, step) in steps.iter().enumerate() {
            match step {
                Step::Compute(node) => {
                    for operand in graph.node(*node).operands() {
                        last_use[operand.index()] = k as u32;
                    }
                }
                Step::Store(store) => {
                    if let Some(node) = results.get(*store as usize) {
                        last_use[node.index()] = k as u32;
                    }
                }
                Step::Loop(_) => {}
            }
        }
        let mut parts = SplitKernel { ranges, scratch: vec![NOWHERE; graph.len()], scratch_len: 0 };
        parts.place(steps, &last_use);
        parts
    }

    /// The scratch position of a value that later parts need.
    pub(crate) fn scratch(&self, node: NodeId) -> Option<u32> {
        Some(self.scratch[node.index()]).filter(|&slot| slot != NOWHERE)
    }

    fn place(&mut self, steps: &[Step], last_use: &[u32]) {
        // Scratch elements that become free after each step.
        let mut ending: Vec<Vec<u32>> = vec![Vec::new(); steps.len()];
        let mut free = Vec::new();
        for range in self.ranges.clone() {
            for k in range.clone() {
                if let Step::Compute(node) = steps[k] {
                    let last = last_use[node.index()] as usize;
                    if last >= range.end || last > k + MAX_REGISTER_STEPS {
                        let slot = free.pop().unwrap_or_else(|| {
                            self.scratch_len += 1;
                            self.scratch_len as u32 - 1
                        });
                        self.scratch[node.index()] = slot;
                        ending[last].push(slot);
                    }
                }
                free.append(&mut ending[k]);
            }
        }
    }
}
