//! The integration tests of this crate as one program: linking is what costs, and one program is linked once.
//! `memory.rs` is a program of its own, because it measures the whole process.

mod bits;
#[path = "../../../tests/src/fuzz.rs"]
mod fuzz;
mod link;
mod nests;
mod refusals;
