//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once. `memory.rs` is a separate program, because it measures the whole process.

mod bits;
#[path = "../../../tests/src/fuzz.rs"]
mod fuzz;
mod link;
mod nests;
mod refusals;
#[path = "../../../tests/src/share.rs"]
mod share;
