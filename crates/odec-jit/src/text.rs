//! The code of a program in words: Cranelift's intermediate form, and the instructions of this computer.

use std::fmt::Write;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExtFuncData, ExternalName, FuncRef, Function, Signature, UserExternalName};
use odec_ir::{Layout, Program};

use crate::host::Effort;
use crate::lower::{self, Abi, Bodies, Imports};
use crate::nest::{self, Plan};
use crate::{JitError, Strategy, compiled, host};

/// The functions of every kernel in Cranelift's intermediate form, before register allocation.
///
/// # Errors
/// As [`Compiled::new`](crate::Compiled::new).
pub fn clif_text(program: &Program) -> Result<String, JitError> {
    let mut text = String::new();
    each_function(program, |name, _, context| {
        let _ = writeln!(text, "; {name}\n{}", context.func.display());
        Ok(())
    })?;
    Ok(text)
}

/// The functions of every kernel as instructions of this computer, as they are run.
///
/// # Errors
/// As [`Compiled::new`](crate::Compiled::new), and failures of the code generator.
pub fn asm_text(program: &Program) -> Result<String, JitError> {
    let mut text = String::new();
    each_function(program, |name, effort, context| {
        let isa = host::isa(effort)?;
        context.set_disasm(true);
        let code = context
            .compile(&*isa, &mut ControlPlane::default())
            .map_err(|error| JitError::Backend(error.inner.to_string()))?;
        let listing = code.vcode.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{name}: {} bytes\n{listing}", code.code_buffer().len());
        Ok(())
    })?;
    Ok(text)
}

/// Names instead of addresses.
struct Named {
    abi: Abi,
    kernel: usize,
}

/// Most characters of a function's name in the intermediate form.
const MAX_NAME: usize = 16;

impl Imports for Named {
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError> {
        debug_assert!(name.len() <= MAX_NAME);
        let signature = func.import_signature(signature);
        let name = ExternalName::testcase(name);
        Ok(func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false }))
    }

    fn piece(&mut self, func: &mut Function, piece: usize) -> FuncRef {
        let signature = func.import_signature(self.abi.piece());
        let name = UserExternalName::new(self.kernel as u32, piece as u32 + 1);
        let name = ExternalName::user(func.declare_imported_user_function(name));
        func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
    }
}

fn each_function(
    program: &Program,
    mut visit: impl FnMut(&str, Effort, &mut Context) -> Result<(), JitError>,
) -> Result<(), JitError> {
    if !program.is_straight() {
        return each_nest(program, visit);
    }
    for (kernel, schedule) in
        compiled::schedules(program, &Layout::of(program), Strategy::default())?.iter().enumerate()
    {
        let effort = Strategy::default().effort(schedule);
        let isa = host::isa(effort)?;
        let abi = Abi { pointer: isa.pointer_type(), convention: isa.default_call_conv() };
        let cut = Strategy::default().cut(schedule);
        let mut imports = Named { abi, kernel };
        let mut bodies = Bodies::new(abi, schedule, &cut);
        let mut context = Context::new();
        let name = |piece: usize| match piece {
            0 => format!("{:?}", schedule.role),
            piece => format!("{:?}, piece {piece} of {}", schedule.role, cut.ranges.len()),
        };
        let single = cut.ranges.len() <= 1;
        for piece in 0..cut.ranges.len().max(1) {
            bodies.write(&mut context.func, piece, &mut imports)?;
            let piece = if single { 0 } else { piece + 1 };
            context.func.name = cranelift_codegen::ir::UserFuncName::user(kernel as u32, piece as u32);
            visit(&name(piece), effort, &mut context)?;
            context.clear();
        }
        if !single {
            lower::driver(&mut context.func, abi, &cut, &mut imports);
            context.func.name = cranelift_codegen::ir::UserFuncName::user(kernel as u32, 0);
            visit(&name(0), effort, &mut context)?;
        }
    }
    Ok(())
}

/// The functions of kernels with loops.
fn each_nest(
    program: &Program,
    mut visit: impl FnMut(&str, Effort, &mut Context) -> Result<(), JitError>,
) -> Result<(), JitError> {
    for (kernel, nest) in program.kernels.iter().enumerate() {
        let plan = Plan::of(program, nest)?;
        let effort = Strategy::default().effort_of_nest(plan.steps);
        let isa = host::isa(effort)?;
        let abi = Abi { pointer: isa.pointer_type(), convention: isa.default_call_conv() };
        let mut context = Context::new();
        nest::write(&mut context.func, abi, &plan, &mut Named { abi, kernel })?;
        context.func.name = cranelift_codegen::ir::UserFuncName::user(kernel as u32, 0);
        visit(&format!("{:?}, nest {kernel}, {:?}", nest.role, nest.part), effort, &mut context)?;
    }
    Ok(())
}
