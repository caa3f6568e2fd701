//! Turns a program into machine code with Cranelift; the only crate with `unsafe`.
