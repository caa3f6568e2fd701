//! Compiles one kernel into a module, in one function or in pieces, whatever the module is.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_module::{DataId, FuncId, Linkage, Module};
use odec_ir::schedule::Schedule;

use crate::JitError;
use crate::host::Effort;
use crate::lower::{self, Abi, Bodies, DOUBLE, Imports, OUT};
use crate::nest::{self, Plan};
use crate::pieces::Pieces;

/// Where the code of a kernel is cut and how much work goes into it. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Steps (operations and stores) up to which a kernel is one function.
    pub whole: usize,
    /// Steps in a piece of a longer kernel.
    pub piece: usize,
    /// Steps up to which registers are allocated by backtracking rather than in a single pass.
    pub best: usize,
}

impl Default for Strategy {
    /// Chosen by measurement: `docs/dev/compile-time.md`.
    fn default() -> Strategy {
        Strategy { whole: 400, piece: 250, best: 4000 }
    }
}

impl Strategy {
    /// How a schedule is compiled into memory.
    pub(crate) fn effort(self, schedule: &Schedule) -> Effort {
        if schedule.steps.len() <= self.best { Effort::Best } else { Effort::Quick }
    }

    /// How a nest of so many steps is compiled: in one function, so that beyond this length registers take a single pass.
    pub(crate) fn effort_of_nest(self, steps: usize) -> Effort {
        if steps <= self.best.min(MAX_BEST_NEST) { Effort::Best } else { Effort::Quick }
    }

    /// How a schedule is cut.
    pub(crate) fn cut(self, schedule: &Schedule) -> Pieces {
        let whole = schedule.steps.len() <= self.whole;
        Pieces::of(schedule, if whole { self.whole } else { self.piece }.max(1))
    }
}

/// Steps of a nest up to which registers are allocated by backtracking.
const MAX_BEST_NEST: usize = 1500;

/// Functions of a module, as seen from the one being written.
struct Declared<'m, M> {
    module: &'m mut M,
    pieces: &'m [FuncId],
}

impl<M: Module> Imports for Declared<'_, M> {
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError> {
        let id = self.module.declare_function(name, Linkage::Import, &signature)?;
        Ok(self.module.declare_func_in_func(id, func))
    }

    fn piece(&mut self, func: &mut Function, piece: usize) -> FuncRef {
        let function = self.module.declare_func_in_func(self.pieces[piece], func);
        // Pieces need not be near in memory unless the code is position independent, when a linker sees to it.
        if !self.module.isa().flags().is_pic() {
            func.dfg.ext_funcs[function].colocated = false;
        }
        function
    }
}

/// Defines the kernel under a name and gives its function and the bytes of its code.
pub(crate) fn define<M: Module>(
    module: &mut M,
    name: &str,
    linkage: Linkage,
    schedule: &Schedule,
    strategy: Strategy,
) -> Result<(FuncId, usize), JitError> {
    let abi = abi(module);
    let cut = strategy.cut(schedule);
    let kernel = module.declare_function(name, linkage, &abi.kernel())?;
    let mut context = module.make_context();
    let mut bodies = Bodies::new(abi, schedule, &cut);
    let mut bytes = 0;
    if cut.ranges.len() <= 1 {
        bodies.write(&mut context.func, 0, &mut Declared { module, pieces: &[] })?;
        bytes += finish(module, kernel, &mut context)?;
        return Ok((kernel, bytes));
    }
    let mut ids = Vec::with_capacity(cut.ranges.len());
    for piece in 0..cut.ranges.len() {
        bodies.write(&mut context.func, piece, &mut Declared { module, pieces: &[] })?;
        let id = module.declare_anonymous_function(&context.func.signature)?;
        bytes += finish(module, id, &mut context)?;
        ids.push(id);
    }
    lower::driver(&mut context.func, abi, &cut, &mut Declared { module, pieces: &ids });
    bytes += finish(module, kernel, &mut context)?;
    Ok((kernel, bytes))
}

/// Defines the code of a nest and gives its function and the bytes of its code.
pub(crate) fn define_nest<M: Module>(module: &mut M, plan: &Plan) -> Result<(FuncId, usize), JitError> {
    let abi = abi(module);
    let id = module.declare_anonymous_function(&abi.nest())?;
    let mut context = module.make_context();
    nest::write(&mut context.func, abi, plan, &mut Declared { module, pieces: &[] })?;
    let bytes = finish(module, id, &mut context)?;
    Ok((id, bytes))
}

/// What is done to `out` before the nests of a role run.
#[derive(Clone, Copy)]
pub(crate) enum Filling {
    /// So many zeros.
    Zero(usize),
    /// From an element on, so many numbers of this data.
    Copy(DataId, usize, usize),
}

/// Defines the function `(t, y, p, w, out)` that runs nests one after the other, each with its frame.
pub(crate) fn define_nests<M: Module>(
    module: &mut M,
    name: &str,
    first: Option<Filling>,
    calls: &[(FuncId, DataId)],
) -> Result<(), JitError> {
    let abi = abi(module);
    let id = module.declare_function(name, Linkage::Export, &abi.kernel())?;
    let mut context = module.make_context();
    context.func.signature = abi.kernel();
    let (mut pos, args) = lower::begin(&mut context.func);
    if let Some(filling) = first {
        fill(module, &mut pos, abi, args[OUT], filling);
    }
    for &(nest, frame) in calls {
        let nest = module.declare_func_in_func(nest, pos.func);
        let frame = module.declare_data_in_func(frame, pos.func);
        let frame = pos.ins().symbol_value(abi.pointer, frame);
        // These nests keep no values.
        let kept = pos.ins().iconst(abi.pointer, 0);
        pos.ins().call(nest, &[&args[..], &[frame, kept]].concat());
    }
    pos.ins().return_(&[]);
    finish(module, id, &mut context)?;
    Ok(())
}

/// Writes a loop that fills a part of `out`.
fn fill<M: Module>(module: &mut M, pos: &mut FuncCursor, abi: Abi, out: Value, filling: Filling) {
    let (source, start, length) = match filling {
        Filling::Zero(length) => (None, 0, length),
        Filling::Copy(data, start, length) => (Some(data), start, length),
    };
    if length == 0 {
        return;
    }
    let source = source.map(|data| {
        let data = module.declare_data_in_func(data, pos.func);
        pos.ins().symbol_value(abi.pointer, data)
    });
    let target = pos.ins().iadd_imm_u(out, (start * DOUBLE) as i64);
    let (inside, after) = (pos.func.dfg.make_block(), pos.func.dfg.make_block());
    let k = pos.func.dfg.append_block_param(inside, abi.pointer);
    let zero = pos.ins().iconst(abi.pointer, 0);
    pos.ins().jump(inside, &[BlockArg::Value(zero)]);
    pos.insert_block(inside);
    let flags = MemFlagsData::trusted();
    let number = match source {
        Some(source) => {
            let address = pos.ins().iadd(source, k);
            pos.ins().load(types::F64, flags, address, 0)
        }
        None => pos.ins().f64const(0.0),
    };
    let address = pos.ins().iadd(target, k);
    pos.ins().store(flags, number, address, 0);
    let next = pos.ins().iadd_imm_u(k, DOUBLE as i64);
    let again = pos.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, (length * DOUBLE) as i64);
    pos.ins().brif(again, inside, &[BlockArg::Value(next)], after, &[]);
    pos.insert_block(after);
}

fn abi<M: Module>(module: &M) -> Abi {
    let config = module.target_config();
    Abi { pointer: config.pointer_type(), convention: config.default_call_conv }
}

fn finish<M: Module>(module: &mut M, id: FuncId, context: &mut Context) -> Result<usize, JitError> {
    module.define_function(id, context)?;
    let bytes = context.compiled_code().map_or(0, |code| code.code_buffer().len());
    module.clear_context(context);
    Ok(bytes)
}
