//! Turns a program into machine code with Cranelift; the only crate with `unsafe`.
//!
//! [`Compiled`] holds the kernels of a program as machine code of this process; [`object`] writes them as an object file
//! for a linker. Values have the same bits as those of the interpreter (NaN payload apart).
//!
//! Every kernel goes one way: `routine` plans it (the order of its steps, the addresses it walks along, the functions it is
//! cut into), `write` writes the plan as functions of Cranelift's intermediate form, `unit` defines these in a module, and
//! `code` owns the memory and calls it. A kernel without loops is the case in which all positions are known: it reads no
//! argument block, is cut where it is long, and does quotients and roots in pairs.

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
pub use error::JitError;
pub use function::Function;
pub use host::fuses;
pub use object::{object, object_with_events};
pub use strategy::Strategy;
pub use text::{asm_text, clif_text};

/// Largest number of elements of a buffer that a kernel without loops may read or write: each needs code, and
/// addresses must fit into 31 bits.
pub const MAX_BUFFER: usize = 1 << 22;

/// Largest number of intermediate values that a kernel keeps at a time from one part of its code to a later one: they
/// are on the stack of the caller's thread, 512 KiB of it at this limit.
pub const MAX_SCRATCH: usize = 1 << 16;

/// Most loops that may be nested in one another.
pub const MAX_LOOPS: usize = 64;
