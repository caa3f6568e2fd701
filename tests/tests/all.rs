//! The integration tests of this crate as one program: linking is what costs, and one program is linked once.
//! `instructions.rs` is a program of its own, because it runs only when asked.

mod accuracy;
mod arrays;
mod constraints;
mod constraints_events;
mod documents;
mod edges;
mod embedding;
mod emit;
mod errors;
mod events;
mod failures;
mod fit;
mod fmu;
mod fuzz;
mod input;
mod instants;
mod interpreter;
mod library;
mod models;
mod modules;
mod mutation;
mod names;
mod orifices;
mod reactions;
mod sbml;
mod sbml_fast;
mod sbml_lines;
mod sbml_meaning;
mod sizes;
mod smoke;
mod steady;
mod tidy;
mod unknowns;
mod warnings;
