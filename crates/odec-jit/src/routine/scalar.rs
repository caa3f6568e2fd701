//! The plan of a kernel without loops: positions, the order of its steps, and its split into functions.

use std::sync::Arc;

use odec_ir::nest::Kernel;
use odec_ir::nest::schedule::Step;
use odec_ir::{ArrayId, KernelRole, Layout, Malformed, NodeId, Program};

use super::split::SplitKernel;
use super::{input_buffer, simd};
use crate::arguments::Lengths;
use crate::{JitError, MAX_BUFFER, MAX_GIVEN, MAX_SCRATCH, Strategy};

/// The positions of the scalars of a program without index sets.
pub(super) struct Scalars {
    pub(super) layout: Layout,
    /// For each array: the buffer that contains it.
    buffers: Vec<usize>,
}

impl Scalars {
    pub(super) fn of(program: &Program) -> Scalars {
        let buffers = program.arrays.iter().map(|array| input_buffer(array.role)).collect();
        Scalars { layout: Layout::of(program), buffers }
    }
}

/// The plan of a kernel of a program without index sets.
pub(crate) struct ScalarKernel {
    scalars: Arc<Scalars>,
    /// The number 0.
    pub(super) zero: NodeId,
    /// For each store: its element of `out`. The elements that the kernel does not store follow; they become 0.
    positions: Vec<u32>,
    /// Lengths of the buffers.
    pub(crate) lengths: Lengths,
    /// The functions that the code is split into.
    pub(crate) parts: SplitKernel,
}

/// Refuses a kernel with buffers that are too long.
pub(super) fn check(program: &Program, layout: &Layout, role: KernelRole) -> Result<(), JitError> {
    let results = if role == KernelRole::Prepare { 0 } else { layout.out_len(program, role) };
    for (length, most) in [(layout.n.max(results), MAX_BUFFER), (layout.p_len(), MAX_GIVEN)] {
        if length > most {
            return Err(JitError::BufferTooLong { role, length, most });
        }
    }
    Ok(())
}

impl ScalarKernel {
    /// Finds positions, pairs operations for SIMD instructions, and splits the steps. Elements of `out` that the
    /// kernel does not store are set to zero at the end, except the parameters in `Prepare`.
    pub(super) fn of(
        program: &Program,
        scalars: &Arc<Scalars>,
        kernel: &mut Kernel,
        steps: &mut Vec<Step>,
        strategy: Strategy,
    ) -> Result<ScalarKernel, JitError> {
        let (role, layout) = (kernel.role, &scalars.layout);
        let lengths = Lengths { y: layout.n, p: layout.p_len(), out: layout.out_len(program, role) };
        let mut stored = vec![role == KernelRole::Prepare; lengths.out];
        let mut positions = Vec::with_capacity(kernel.stores.len());
        for store in &kernel.stores {
            let position = layout.position(program, role, store.target).filter(|&position| position < lengths.out);
            let position = position.ok_or(Malformed::NoElement(role))?;
            stored[position] = true;
            positions.push(position as u32);
        }
        for position in (0..lengths.out).filter(|&position| !stored[position]) {
            steps.push(Step::Store(positions.len() as u32));
            positions.push(position as u32);
        }
        let zero = kernel.graph.constant(0.0);
        simd::pair_operations(&kernel.graph, steps);
        let results: Vec<NodeId> = kernel.stores.iter().map(|store| store.node).collect();
        let parts = SplitKernel::of((&kernel.graph, &results), steps, strategy.cut(steps.len()));
        if parts.scratch_len > MAX_SCRATCH {
            return Err(JitError::TooManyLiveValues { role, values: parts.scratch_len });
        }
        Ok(ScalarKernel { scalars: Arc::clone(scalars), zero, positions, lengths, parts })
    }

    /// The buffer and the position of a scalar.
    pub(crate) fn element(&self, array: ArrayId) -> (usize, usize) {
        (self.scalars.buffers[array.0 as usize], self.scalars.layout.start(array))
    }

    /// The element of `out` that a store sets.
    pub(crate) fn position(&self, store: u32) -> usize {
        self.positions[store as usize] as usize
    }
}
