//! Machine code of nests: loops over index sets whose extents the code does not know.

mod fold;
mod plan;
mod write;

pub(crate) use plan::{Origin, Plan};
pub(crate) use write::write;
