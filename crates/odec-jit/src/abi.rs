//! The calling convention of compiled code.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{AbiParam, FuncRef, Function, Signature, Type, Value, types};
use cranelift_codegen::isa::CallConv;

use crate::JitError;

/// Bytes of a double.
pub(crate) const DOUBLE: usize = 8;

/// Positions of the parameters of a kernel.
pub(crate) const TIME: usize = 0;
pub(crate) const Y: usize = 1;
pub(crate) const P: usize = 2;
pub(crate) const W: usize = 3;
pub(crate) const OUT: usize = 4;
/// The words of the argument block; a kernel without loops does not read them.
pub(crate) const ARGUMENTS: usize = 5;
/// The argument with the buffer for kept values.
pub(crate) const BUFFER: usize = 6;

/// The calling convention of a target.
#[derive(Clone, Copy)]
pub(crate) struct Abi {
    /// Type of an address.
    pub(crate) pointer: Type,
    /// Calling convention of C functions.
    pub(crate) convention: CallConv,
}

impl Abi {
    /// `(t, y, p, w, out)`, the signature for C callers.
    pub(crate) fn exported(self) -> Signature {
        let mut signature = Signature::new(self.convention);
        signature.params.push(AbiParam::new(types::F64));
        signature.params.extend([AbiParam::new(self.pointer); 4]);
        signature
    }

    /// `(t, y, p, w, out, arguments, buffer)`, the signature of a kernel or a part of one.
    pub(crate) fn kernel(self) -> Signature {
        let mut signature = self.exported();
        signature.params.extend([AbiParam::new(self.pointer); 2]);
        signature
    }

    /// The signature of a C library function with this number of doubles.
    pub(crate) fn function(self, arity: usize) -> Signature {
        let mut signature = Signature::new(self.convention);
        signature.params.extend((0..arity).map(|_| AbiParam::new(types::F64)));
        signature.returns.push(AbiParam::new(types::F64));
        signature
    }
}

/// Declares the functions that a body calls.
pub(crate) trait Imports {
    /// A function of the C library.
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError>;
    /// The part with this number of the kernel under construction.
    fn part(&mut self, func: &mut Function, part: usize) -> FuncRef;
}

/// Creates an entry block with the parameters of the signature.
pub(crate) fn begin(func: &mut Function) -> (FuncCursor<'_>, Vec<Value>) {
    let types: Vec<Type> = func.signature.params.iter().map(|param| param.value_type).collect();
    let block = func.dfg.make_block();
    let args = types.into_iter().map(|ty| func.dfg.append_block_param(block, ty)).collect();
    let mut pos = FuncCursor::new(func);
    pos.insert_block(block);
    (pos, args)
}
