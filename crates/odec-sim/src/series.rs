//! Taylor coefficients of a model's solution: recurrences once, one kernel for each order asked for.

use std::sync::{Mutex, OnceLock};

use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::taylor::{Jets, MAX_ORDER, MAX_UNROLLED, Recurrences, Unsuited, unrolled};
use odec_ir::{KernelRole, Program};
use odec_jit::Compiled;

use crate::machine::Execution;

/// The coefficients of one order.
enum Kernel {
    /// Machine code of the coefficients written out.
    Code(Box<Compiled>),
    /// The same, interpreted.
    Written(Box<(Program, Layout)>),
    /// Too large to be written out.
    Looped(Box<Mutex<Jets>>),
}

/// Kernels by order, made when first asked for.
pub(crate) struct SeriesKernels {
    recurrences: OnceLock<Result<Recurrences, Unsuited>>,
    kernels: [OnceLock<Kernel>; MAX_ORDER + 1],
}

impl SeriesKernels {
    /// Nothing made yet.
    pub(crate) fn new() -> SeriesKernels {
        SeriesKernels { recurrences: OnceLock::new(), kernels: [const { OnceLock::new() }; MAX_ORDER + 1] }
    }

    /// Makes the kernel of an order; the error says what stands in the way.
    pub(crate) fn prepare(&self, program: &Program, execution: Execution, order: usize) -> Result<(), String> {
        let recurrences =
            self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().map_err(|why| match why {
                Unsuited::Function(name) => format!("the derivatives of `{name}` have no recurrence"),
                Unsuited::Mass => "it needs y' itself, and the equations have a mass matrix".to_string(),
                Unsuited::Loops => "it does not take models with index sets yet".to_string(),
                Unsuited::TooLarge => "the model is too large for it".to_string(),
            })?;
        let slot = self.kernels.get(order).ok_or_else(|| format!("order {order} is beyond {MAX_ORDER}"))?;
        if slot.get().is_some() {
            return Ok(());
        }
        let kernel = match (unrolled(program, recurrences, order, MAX_UNROLLED), execution) {
            (None, _) => Kernel::Looped(Box::default()),
            (Some(written), Execution::Jit) => {
                let code = Compiled::new(&written).map_err(|e| e.to_string())?;
                code.compile(&[KernelRole::Outputs]).map_err(|e| e.to_string())?;
                Kernel::Code(Box::new(code))
            }
            (Some(written), Execution::Interpret) => {
                let layout = Layout::of(&written);
                Kernel::Written(Box::new((written, layout)))
            }
        };
        // another thread may have been first, with the same kernel
        let _ = slot.set(kernel);
        Ok(())
    }

    /// The coefficients at a point; false if the order was not prepared.
    pub(crate) fn run(
        &self,
        program: &Program,
        layout: &Layout,
        inputs: Inputs<'_, f64>,
        order: usize,
        out: &mut [f64],
    ) -> bool {
        match self.kernels.get(order).and_then(OnceLock::get) {
            Some(Kernel::Code(code)) => code.outputs(inputs.t, inputs.y, inputs.p, inputs.w, out),
            Some(Kernel::Written(written)) => {
                interpret::run_on(&written.0, &written.1, KernelRole::Outputs, inputs, out);
            }
            Some(Kernel::Looped(jets)) => {
                let Some(Ok(recurrences)) = self.recurrences.get() else { return false };
                let mut jets = jets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                jets.evaluate(program, layout, recurrences, inputs, order, out);
            }
            None => return false,
        }
        true
    }
}
