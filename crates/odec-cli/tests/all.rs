//! The integration tests of this crate as one program: linking is what costs, and one program is linked once.

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
