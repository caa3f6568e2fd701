//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once.

mod advice;
mod array_edges;
mod array_kernels;
mod array_mass;
mod arrays;
mod balance;
mod common;
mod declared_values;
mod errors;
mod events;
mod fixes;
mod idioms;
mod lints;
mod lowered_once;
mod many_mistakes;
mod model_arrays;
mod model_blame;
mod model_codes;
mod model_hard;
mod model_meaning;
mod model_messages;
mod model_text;
mod syntax;
mod syntax_fuzz;
mod syntax_mutation;
mod syntax_print;
mod units;
