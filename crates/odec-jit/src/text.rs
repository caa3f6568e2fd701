//! The code of a program as text: Cranelift's intermediate form, and the instructions of this computer.

use std::fmt::Write;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExtFuncData, ExternalName, FuncRef, Function, Signature, UserExternalName, UserFuncName};
use odec_ir::Program;
use odec_ir::nest::Kernel;

use crate::abi::{Abi, Imports};
use crate::host::Effort;
use crate::routine::Source;
use crate::{JitError, Strategy, host, write};

/// The functions of every kernel in Cranelift's intermediate form, before register allocation.
///
/// # Errors
/// See [`Compiled::new`](crate::Compiled::new).
pub fn clif_text(program: &Program) -> Result<String, JitError> {
    let mut text = String::new();
    each_function(program, |name, _, context| {
        let _ = writeln!(text, "; {name}\n{}", context.func.display());
        Ok(())
    })?;
    Ok(text)
}

/// The functions of every kernel as the instructions that run on this computer.
///
/// # Errors
/// The errors of [`Compiled::new`](crate::Compiled::new), and failures of the code generator.
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

/// Names that replace addresses.
struct Named {
    abi: Abi,
    kernel: usize,
}

/// Largest length of a function's name in the intermediate form.
const MAX_NAME: usize = 16;

impl Imports for Named {
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError> {
        if name.len() > MAX_NAME {
            return Err(JitError::Malformed(format!("the name {name} is too long")));
        }
        let signature = func.import_signature(signature);
        let name = ExternalName::testcase(name);
        Ok(func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false }))
    }

    fn part(&mut self, func: &mut Function, part: usize) -> FuncRef {
        let signature = func.import_signature(self.abi.kernel());
        let name = UserExternalName::new(self.kernel as u32, part as u32 + 1);
        let name = ExternalName::user(func.declare_imported_user_function(name));
        func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
    }
}

fn each_function(
    program: &Program,
    mut visit: impl FnMut(&str, Effort, &mut Context) -> Result<(), JitError>,
) -> Result<(), JitError> {
    let strategy = Strategy::default();
    let source = Source::new(program, strategy);
    for (number, kernel) in program.kernels.iter().enumerate() {
        let routine = source.routine(kernel)?;
        let effort = strategy.effort(&routine);
        let isa = host::isa(effort)?;
        let abi = Abi { pointer: isa.pointer_type(), convention: isa.default_call_conv() };
        let name = name(number, kernel, program.is_scalar());
        let parts = routine.scalar.as_ref().map_or(0, |scalar| scalar.parts.ranges.len());
        let mut imports = Named { abi, kernel: number };
        let mut context = Context::new();
        write::functions(&routine, (abi, abi.kernel()), &mut imports, &mut context, |_, context, part| {
            let position = part.map_or(0, |part| part + 1);
            context.func.name = UserFuncName::user(number as u32, position as u32);
            let name = match part {
                Some(_) => format!("{name}, part {position} of {parts}"),
                None => name.clone(),
            };
            visit(&name, effort, context)?;
            context.clear();
            Ok(())
        })?;
    }
    Ok(())
}

/// The name of a kernel in a listing: its role; if a role has several kernels, its number and part too.
fn name(number: usize, kernel: &Kernel, scalar: bool) -> String {
    if scalar { format!("{:?}", kernel.role) } else { format!("{:?}, nest {number}, {:?}", kernel.role, kernel.region) }
}
