//! Turns text into a checked model, lowers it to a program, and reports what is wrong, where, and how to correct it.

mod assemble;
pub mod balance;
pub mod blame;
mod check;
pub mod dependence;
pub mod diagnostic;
#[doc(hidden)]
pub mod internals;
pub mod limits;
pub mod lint;
pub mod lower;
pub mod model;
mod order;
mod parse;
pub mod program;
mod reactions;
mod report;
pub mod source;
mod start;
pub mod stoichiometry;
pub mod suggest;
pub mod syntax;
mod trial;
pub mod units;
mod words;

pub use blame::blame;
pub use check::{Checked, check, of_parts};
pub use model::{Model, Overrides, analyse};
pub use parse::parse;
pub use program::{MAX_SENSITIVITIES, lower, lower_sensitivities};
