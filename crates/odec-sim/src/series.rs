//! Taylor coefficients of a model's solution: the recurrences are derived once, with one kernel for each requested order.

use std::sync::{Mutex, OnceLock, PoisonError};

use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::layout::Layout;
use odec_ir::nest::BoundProgram;
use odec_ir::taylor::{MAX_ORDER, MAX_UNROLLED, Recurrences, SeriesTable, Unsuited, step, unrolled};
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, Strategy};
use odec_ode::step::FusedStep;

use crate::executor::Execution;
use crate::steps::Native;

/// Largest number of nodes of a fused Taylor step. Compiling it may take a few milliseconds at most, because the user
/// did not request it; for long series, the rest of the step matters less.
const MAX_STEP: usize = 4_000;
/// One function, with registers allocated by backtracking, which saves 4 % of a step.
const STRATEGY: Strategy = Strategy { whole: 2 * MAX_STEP, part: 2 * MAX_STEP, best: 2 * MAX_STEP };

/// The coefficients of one order.
enum Kernel {
    /// Machine code of the unrolled coefficients.
    Code(Box<Compiled>),
    /// Unrolled coefficients, interpreted.
    Written(Box<(Program, Interpreter)>),
    /// Too large to be unrolled, or with loops.
    Looped(Box<Looped>),
}

/// A fused step of one order.
enum Step {
    /// Machine code.
    Code(Box<Native>),
    /// An interpreted step, and the length of its results.
    Written(Box<(Program, Interpreter, usize)>),
}

/// Loops over the order, with buffers for simultaneous runs.
struct Looped {
    table: SeriesTable,
    room: Mutex<Vec<Vec<f64>>>,
}

/// Kernels for each order, compiled on first use.
pub(crate) struct SeriesKernels {
    recurrences: OnceLock<Result<Recurrences, Unsuited>>,
    kernels: [OnceLock<Kernel>; MAX_ORDER + 1],
    /// `None` inside for a step that would be too long.
    steps: [OnceLock<Option<Step>>; MAX_ORDER + 1],
}

impl SeriesKernels {
    /// No kernels.
    pub(crate) fn new() -> SeriesKernels {
        SeriesKernels {
            recurrences: OnceLock::new(),
            kernels: [const { OnceLock::new() }; MAX_ORDER + 1],
            steps: [const { OnceLock::new() }; MAX_ORDER + 1],
        }
    }

    /// Prepares the kernel of an order; the error gives the reason if that is impossible.
    pub(crate) fn prepare(
        &self,
        (program, bound): (&Program, &BoundProgram),
        execution: Execution,
        order: usize,
    ) -> Result<(), String> {
        let recurrences = self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().map_err(reason)?;
        self.make((program, bound), recurrences, execution, order)
    }

    /// Makes the code of fused steps of an order if it is short; false if it is not.
    pub(crate) fn prepare_step(&self, program: &Program, execution: Execution, order: usize) -> bool {
        let Some(slot) = self.steps.get(order) else { return false };
        let make = || {
            let recurrences = self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().ok()?;
            let written = step::written(program, recurrences, order, MAX_STEP, odec_jit::fuses())?;
            if execution == Execution::Interpret {
                let (interpreter, length) = (Interpreter::new(&written), Layout::of(&written).outputs_len());
                return Some(Step::Written(Box::new((written, interpreter, length))));
            }
            Compiled::with(&written, STRATEGY)
                .ok()?
                .function(KernelRole::Outputs)
                .map(|code| Step::Code(Box::new(Native::new(code, None))))
        };
        slot.get_or_init(make).is_some()
    }

    /// True if no operation of the equations has a jump or a kink.
    pub(crate) fn is_smooth(&self, program: &Program) -> bool {
        self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().is_ok_and(Recurrences::smooth)
    }

    /// True if a function in the equations may be large inside a step and vanish at its ends.
    pub(crate) fn may_peak(&self, program: &Program) -> bool {
        self.recurrences.get_or_init(|| Recurrences::of(program)).as_ref().is_ok_and(Recurrences::may_peak)
    }

    /// True if the code of fused steps of an order is short and branch-free; it is then compiled.
    pub(crate) fn is_short(&self, program: &Program, execution: Execution, order: usize) -> bool {
        let Ok(recurrences) = self.recurrences.get_or_init(|| Recurrences::of(program)) else { return false };
        recurrences.smooth() && self.prepare_step(program, execution, order)
    }

    /// Makes a fused step; false if the order was not prepared.
    #[inline]
    pub(crate) fn step(&self, inputs: Inputs<'_, f64>, order: usize, out: &mut [f64]) -> bool {
        match self.steps.get(order).and_then(OnceLock::get) {
            Some(Some(Step::Code(code))) => code.run(inputs.t, inputs.y, inputs.p, inputs.w, out),
            Some(Some(Step::Written(written))) => {
                // the part after the results is for the next step
                let (program, interpreter, length) = &**written;
                interpreter.run_straight(program, KernelRole::Outputs, inputs, &mut out[..*length]);
            }
            _ => return false,
        }
        true
    }

    /// Creates a kernel: unrolled if it has at most [`MAX_UNROLLED`] nodes, otherwise loops.
    fn make(
        &self,
        (program, bound): (&Program, &BoundProgram),
        recurrences: &Recurrences,
        execution: Execution,
        order: usize,
    ) -> Result<(), String> {
        let slot = self.kernels.get(order).ok_or_else(|| format!("order {order} exceeds the limit of {MAX_ORDER}"))?;
        if slot.get().is_some() {
            return Ok(());
        }
        let kernel = match (unrolled(program, recurrences, order, MAX_UNROLLED, odec_jit::fuses()), execution) {
            (None, _) => {
                let table = SeriesTable::of(program, bound, recurrences).map_err(|why| reason(&why))?;
                Kernel::Looped(Box::new(Looped { table, room: Mutex::default() }))
            }
            (Some(written), Execution::Jit) => {
                let code = Compiled::new(&written).map_err(|e| e.to_string())?;
                code.compile(&[KernelRole::Outputs]).map_err(|e| e.to_string())?;
                Kernel::Code(Box::new(code))
            }
            (Some(written), Execution::Interpret) => {
                let interpreter = Interpreter::new(&written);
                Kernel::Written(Box::new((written, interpreter)))
            }
        };
        // another thread may have stored the same kernel first
        let _ = slot.set(kernel);
        Ok(())
    }

    /// The coefficients at a point; false if the order was not prepared.
    pub(crate) fn run(&self, inputs: Inputs<'_, f64>, order: usize, out: &mut [f64]) -> bool {
        match self.kernels.get(order).and_then(OnceLock::get) {
            Some(Kernel::Code(code)) => code.outputs(inputs.t, inputs.y, inputs.p, inputs.w, out),
            Some(Kernel::Written(written)) => {
                written.1.run_straight(&written.0, KernelRole::Outputs, inputs, out);
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
        Unsuited::Mass => "its coefficients need y' itself, and the equations have a mass matrix".to_string(),
        Unsuited::TooLarge => "the model is too large for series".to_string(),
    }
}
