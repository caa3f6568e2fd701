//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once.

mod bounds;
mod commands;
mod common;
mod faults;
mod files;
mod plots;
mod seeing;
mod sens;
mod stability;
mod sweep;
