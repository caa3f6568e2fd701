//! Compiles routines into any kind of module, as one function each or in parts.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_module::{DataId, FuncId, Linkage, Module};

use crate::JitError;
use crate::abi::{self, Abi, DOUBLE, Imports, OUT};
use crate::routine::Routine;
use crate::write;

/// The functions of a module, for the function under construction.
struct Declared<'m, M> {
    module: &'m mut M,
    parts: Vec<FuncId>,
}

impl<M: Module> Imports for Declared<'_, M> {
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError> {
        let id = self.module.declare_function(name, Linkage::Import, &signature)?;
        Ok(self.module.declare_func_in_func(id, func))
    }

    fn part(&mut self, func: &mut Function, part: usize) -> FuncRef {
        let function = self.module.declare_func_in_func(self.parts[part], func);
        // Functions need not be close in memory unless the code is position independent; then a linker arranges them.
        if !self.module.isa().flags().is_pic() {
            func.dfg.ext_funcs[function].colocated = false;
        }
        function
    }
}

/// Defines the code of a routine and gives its function and the bytes of its code. With a name it is exported with
/// the C signature, which a routine with loops does not have.
pub(crate) fn define<M: Module>(
    module: &mut M,
    name: Option<&str>,
    routine: &Routine,
) -> Result<(FuncId, usize), JitError> {
    let abi = abi(module);
    let signature = if name.is_some() { abi.exported() } else { abi.kernel() };
    let top = match name {
        Some(name) => module.declare_function(name, Linkage::Export, &signature)?,
        None => module.declare_anonymous_function(&signature)?,
    };
    let (mut context, mut bytes) = (module.make_context(), 0);
    let mut imports = Declared { module, parts: Vec::new() };
    write::functions(routine, (abi, signature), &mut imports, &mut context, |imports, context, part| {
        let id = match part {
            Some(_) => imports.module.declare_anonymous_function(&context.func.signature)?,
            None => top,
        };
        bytes += finish(imports.module, id, context)?;
        imports.parts.push(id);
        Ok(())
    })?;
    Ok((top, bytes))
}

/// The initialisation of `out` before the kernels of a role run.
#[derive(Clone, Copy)]
pub(crate) enum OutputInit {
    /// This many zeros.
    Zero(usize),
    /// This many numbers of this data, starting at an element.
    Copy(DataId, usize, usize),
}

/// Defines the function `(t, y, p, w, out)` that runs routines one after another, each with its argument block.
pub(crate) fn define_calls<M: Module>(
    module: &mut M,
    name: &str,
    first: Option<OutputInit>,
    calls: &[(FuncId, DataId)],
) -> Result<(), JitError> {
    let abi = abi(module);
    let id = module.declare_function(name, Linkage::Export, &abi.exported())?;
    let mut context = module.make_context();
    context.func.signature = abi.exported();
    let (mut pos, args) = abi::begin(&mut context.func);
    if let Some(filling) = first {
        fill(module, &mut pos, abi, args[OUT], filling);
    }
    for &(routine, arguments) in calls {
        let routine = module.declare_func_in_func(routine, pos.func);
        let arguments = module.declare_data_in_func(arguments, pos.func);
        let arguments = pos.ins().symbol_value(abi.pointer, arguments);
        // These routines have no hoisted values.
        let buffer = pos.ins().iconst(abi.pointer, 0);
        pos.ins().call(routine, &[&args[..], &[arguments, buffer]].concat());
    }
    pos.ins().return_(&[]);
    finish(module, id, &mut context)?;
    Ok(())
}

/// Writes a loop that fills a part of `out`.
fn fill<M: Module>(module: &mut M, pos: &mut FuncCursor, abi: Abi, out: Value, filling: OutputInit) {
    let (source, start, length) = match filling {
        OutputInit::Zero(length) => (None, 0, length),
        OutputInit::Copy(data, start, length) => (Some(data), start, length),
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

pub(crate) fn finish<M: Module>(module: &mut M, id: FuncId, context: &mut Context) -> Result<usize, JitError> {
    module.define_function(id, context)?;
    let bytes = context.compiled_code().map_or(0, |code| code.code_buffer().len());
    module.clear_context(context);
    Ok(bytes)
}
