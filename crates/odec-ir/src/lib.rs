//! Kernels over index domains: builtins, simplification, exact derivatives, sparsity, reference interpreter, text form.

pub mod builtin;
pub mod graph;
pub mod program;
pub mod span;

pub use builtin::{Builtin, Lowering, Op, Primitive};
pub use graph::{Graph, Node, NodeId};
pub use program::{Array, ArrayId, Kernel, KernelRole, Pattern, Program, Role, Store, Target};
pub use span::Span;
