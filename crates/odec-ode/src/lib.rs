//! Solves initial value problems and knows nothing of the language.

pub mod pattern;
pub mod problem;
pub mod system;
