//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once.

mod binding;
mod builtins;
mod derivatives;
mod elimination;
mod mass;
mod nest_derivatives;
mod nest_meaning;
mod nests;
mod repeat;
mod robertson;
#[path = "../../../tests/src/share.rs"]
mod share;
mod simplify;
mod stages;
mod taylor;
mod text;
