//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once. `allocation.rs` is a separate program, because it measures the whole process.

mod adjoint;
mod auto;
mod bead;
mod by_hand;
mod controllers;
mod counts;
mod dae;
#[path = "common/dense.rs"]
#[allow(dead_code, reason = "the rest is for `allocation.rs`")]
mod dense;
mod erratum;
mod failures;
#[path = "common/grids.rs"]
#[allow(dead_code, reason = "the rest is for `allocation.rs`")]
mod grids;
mod hybrid;
mod integrator;
mod large;
mod linear;
mod mass;
mod midpoint;
mod moving_mass;
mod multistep_accuracy;
mod one_step_accuracy;
#[path = "proofs/main.rs"]
mod proofs;
mod prothero_robinson;
mod registers;
mod resumable;
mod rows;
mod second_order;
#[path = "../../../tests/src/share.rs"]
mod share;
mod stepping;
#[path = "common/stiff.rs"]
#[allow(dead_code, reason = "the rest is for `allocation.rs`")]
mod stiff;
