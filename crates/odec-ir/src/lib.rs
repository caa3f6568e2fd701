//! Kernels over index domains: builtins, simplification, exact derivatives, sparsity, reference interpreter, text form.

pub mod algebra;
pub mod builtin;
pub mod derive;
pub mod expand;
pub mod graph;
pub mod interface;
pub mod interpret;
pub mod layout;
pub mod number;
pub mod program;
pub mod schedule;
pub mod simplify;
pub mod span;
pub mod stage;
#[doc(hidden)]
pub mod testing;
pub mod text;

pub use builtin::{Builtin, Lowering, Op, Primitive};
pub use graph::{Graph, Node, NodeId};
pub use layout::Layout;
pub use program::{Array, ArrayId, Kernel, KernelRole, Pattern, Program, Role, Store, Target};
pub use span::Span;
