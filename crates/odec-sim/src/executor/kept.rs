//! What stays zero along the solutions of a program whose constraints were differentiated: a program of its own with the same
//! parameters.

use odec_ir::{ArrayId, Invariants, Role};
use odec_ode::invariants::{self, Stage};

use super::{Executor, KernelCode, Unfit};

/// The functions, bound.
pub(super) struct Kept {
    executor: Executor,
    stages: Vec<Stage>,
}

impl Kept {
    pub(super) fn bind(code: KernelCode, of: Option<&Invariants>) -> Result<Kept, Unfit> {
        let executor = Executor::bind(code, true)?;
        let places = |arrays: &[ArrayId]| arrays.iter().map(|array| executor.layout.state(*array)).collect();
        let stages = of.map_or(&[][..], |of| &of.stages);
        let stages = stages.iter().map(|s| Stage { rows: places(&s.rows), columns: places(&s.columns) }).collect();
        Ok(Kept { executor, stages })
    }

    pub(super) fn fork(&self) -> Kept {
        Kept { executor: self.executor.fork(), stages: self.stages.clone() }
    }

    pub(super) fn invariants(&self) -> invariants::Invariants<'_> {
        invariants::Invariants { residual: &self.executor, stages: &self.stages }
    }

    /// Parameters and what events change, as they are in the other program. The arrays that both have come first in both.
    pub(super) fn take_parameters(&mut self, from: &Executor) {
        let Executor { program, layout, p, .. } = &mut self.executor;
        for (k, array) in program.arrays.iter().enumerate() {
            let id = ArrayId(k as u32);
            if matches!(array.role, Role::Parameter | Role::Discrete | Role::Size | Role::Table) {
                let (to, at, len) = (layout.start(id), from.layout.start(id), layout.len(id));
                p[to..to + len].copy_from_slice(&from.p[at..at + len]);
            }
        }
        self.executor.stage();
    }
}
