//! Turns a program into machine code with Cranelift; the only crate with `unsafe`.
//!
//! [`Compiled`] holds the kernels of a program as machine code of this process; [`object`] writes them as an object
//! file for a linker. Values have the same bits as those of the interpreter (except for NaN payloads).
//!
//! Every kernel takes the same path: `routine` plans it (order of steps, address sequences, split into functions),
//! `write` translates the plan to Cranelift's intermediate form, `unit` defines the functions in a module, and `code`
//! owns the memory and calls it. For a kernel without loops all positions are known: it reads no argument block, is
//! split if it is long, and computes quotients and roots in pairs.

#![allow(unsafe_code, reason = "code that was made here is called, and its memory owned")]

mod abi;
mod arguments;
mod callback;
mod code;
mod compiled;
mod error;
mod function;
mod host;
mod libm;
mod loaded;
mod object;
mod ops;
mod routine;
pub mod stdio;
mod strategy;
mod text;
mod unit;
mod write;

pub use callback::{Callback, Extents};
pub use compiled::Compiled;
pub use error::{JitError, unless_unsuitable};
pub use function::Function;
pub use host::fuses;
pub use object::{object, object_with_events};
pub use strategy::Strategy;
pub use text::{asm_text, clif_text};

/// Largest number of states, and of results, of a kernel without loops: each needs code.
pub const MAX_BUFFER: usize = 1 << 22;

/// Largest number of values of parameters and tables, whose addresses must fit into 31 bits.
pub const MAX_GIVEN: usize = (1 << 28) - 1;

/// Largest number of intermediate values that a kernel passes from one part of its code to later parts at a time:
/// they are on the stack of the caller's thread, 512 KiB of it at this limit.
pub const MAX_SCRATCH: usize = 1 << 16;

/// Largest depth of nested loops.
pub const MAX_LOOPS: usize = 64;
