//! Taylor coefficients of a model's solution: recurrences once, one kernel for each order asked for.

use std::sync::{Mutex, OnceLock, PoisonError};

use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::nest;
use odec_ir::taylor::{MAX_ORDER, MAX_UNROLLED, Recurrences, Table, Unsuited, unrolled};
use odec_ir::{KernelRole, Program};
use odec_jit::Compiled;

use crate::machine::Execution;

/// Most nodes of a kernel that is made without being asked for: it is to cost no more than a few milliseconds.
const MAX_UNASKED: usize = 4_000;

/// The coefficients of one order.
enum Kernel {
    /// Machine code of the coefficients written out.
    Code(Box<Compiled>),
    /// The same, interpreted.
    Written(Box<(Program, Layout)>),
    /// Too large to be written out, or with loops of its own.
    Looped(Box<Looped>),
}

/// Loops over the order, with room for the coefficients of runs that go on at the same time.
struct Looped {
    table: Table,
    room: Mutex<Vec<Vec<f64>>>,
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
    pub(crate) fn prepare(
        &self,
        (program, layout, nests): (&Program, &Layout, Option<&nest::Bound>),
        execution: Execution,
        order: usize,
    ) -> Result<(), String> {
        let recurrences = self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().map_err(reason)?;
        self.make((program, layout, nests), recurrences, execution, order, MAX_UNROLLED)
    }

    /// Makes the kernel of an order if it is short, written out and without branches; false if it is not.
    pub(crate) fn prepare_short(
        &self,
        model: (&Program, &Layout, Option<&nest::Bound>),
        execution: Execution,
        order: usize,
    ) -> bool {
        let Ok(recurrences) = self.recurrences.get_or_init(|| Recurrences::of(model.0)) else { return false };
        recurrences.smooth()
            && !recurrences.has_loops()
            && self.make(model, recurrences, execution, order, MAX_UNASKED).is_ok()
            && !matches!(self.kernels[order].get(), Some(Kernel::Looped(_)))
    }

    /// Makes a kernel: written out if it has at most `limit` nodes, a table beyond if that is more than may be written out unasked.
    fn make(
        &self,
        (program, layout, nests): (&Program, &Layout, Option<&nest::Bound>),
        recurrences: &Recurrences,
        execution: Execution,
        order: usize,
        limit: usize,
    ) -> Result<(), String> {
        let slot = self.kernels.get(order).ok_or_else(|| format!("order {order} is beyond {MAX_ORDER}"))?;
        if slot.get().is_some() {
            return Ok(());
        }
        let kernel = match (unrolled(program, recurrences, order, limit, odec_jit::fuses()), execution) {
            (None, _) if limit < MAX_UNROLLED => return Err("it is too long to be made unasked".to_string()),
            (None, _) => {
                let table = Table::of(program, layout, nests, recurrences).map_err(|why| reason(&why))?;
                Kernel::Looped(Box::new(Looped { table, room: Mutex::default() }))
            }
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
    pub(crate) fn run(&self, inputs: Inputs<'_, f64>, order: usize, out: &mut [f64]) -> bool {
        match self.kernels.get(order).and_then(OnceLock::get) {
            Some(Kernel::Code(code)) => code.outputs(inputs.t, inputs.y, inputs.p, inputs.w, out),
            Some(Kernel::Written(written)) => {
                interpret::run_on(&written.0, &written.1, KernelRole::Outputs, inputs, out);
            }
            Some(Kernel::Looped(looped)) => {
                let room = || looped.room.lock().unwrap_or_else(PoisonError::into_inner);
                let mut c = room().pop().unwrap_or_default();
                looped.table.evaluate(inputs, order, &mut c, out);
                room().push(c);
            }
            None => return false,
        }
        true
    }
}

fn reason(why: &Unsuited) -> String {
    match why {
        Unsuited::Function(name) => format!("the derivatives of `{name}` have no recurrence"),
        Unsuited::Mass => "it needs y' itself, and the equations have a mass matrix".to_string(),
        Unsuited::TooLarge => "the model is too large for it".to_string(),
    }
}
