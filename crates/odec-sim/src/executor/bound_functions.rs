//! The functions that stay zero along the solutions of a program with differentiated constraints, as a separate
//! program with the same parameters.

use odec_ir::{ArrayId, InvariantStage, Invariants, Role, StateElement};
use odec_ode::invariants::{self, Stage};

use super::{Executor, KernelCode, UnsuitableProgram};

/// The bound functions.
pub(super) struct BoundFunctions {
    executor: Executor,
    stages: Vec<Stage>,
    derived: Vec<Stage>,
    unknowns: Vec<usize>,
    direct: Vec<usize>,
}

impl BoundFunctions {
    pub(super) fn bind(code: KernelCode, of: Option<&Invariants>) -> Result<BoundFunctions, UnsuitableProgram> {
        let executor = Executor::bind(code, true)?;
        let place = |element: &StateElement| executor.layout.state(element.array) + element.position;
        let places = |elements: &[StateElement]| -> Vec<usize> { elements.iter().map(place).collect() };
        let listed = |stages: &[InvariantStage]| {
            stages.iter().map(|s| Stage { rows: places(&s.rows), columns: places(&s.columns) }).collect()
        };
        let (stages, derived) = of.map_or((vec![], vec![]), |of| (listed(&of.stages), listed(&of.derived)));
        let (unknowns, direct) = of.map_or((vec![], vec![]), |of| (places(&of.unknowns), places(&of.direct)));
        Ok(BoundFunctions { executor, stages, derived, unknowns, direct })
    }

    pub(super) fn fork(&self) -> BoundFunctions {
        BoundFunctions {
            executor: self.executor.fork(),
            stages: self.stages.clone(),
            derived: self.derived.clone(),
            unknowns: self.unknowns.clone(),
            direct: self.direct.clone(),
        }
    }

    pub(super) fn invariants(&self) -> invariants::SystemInvariants<'_> {
        let BoundFunctions { executor, stages, derived, unknowns, direct } = self;
        invariants::SystemInvariants { residual: executor, stages, derived, unknowns, direct }
    }

    /// Copies parameters, discretes and modes from the other program. Arrays in both programs come first in both.
    pub(super) fn take_parameters(&mut self, from: &Executor) {
        let Executor { program, layout, p, .. } = &mut self.executor;
        for (k, array) in program.arrays.iter().enumerate() {
            let id = ArrayId(k as u32);
            if matches!(array.role, Role::Parameter | Role::Discrete | Role::Mode | Role::Size | Role::Table) {
                let (to, at, len) = (layout.start(id), from.layout.start(id), layout.len(id));
                p[to..to + len].copy_from_slice(&from.p[at..at + len]);
            }
        }
        self.executor.stage();
    }
}
