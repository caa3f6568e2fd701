//! Turns text into a checked model, lowers it to a program, and says what is wrong, where, and how to mend it.

pub mod diagnostic;
pub mod source;
pub mod syntax;

pub use syntax::parse;
