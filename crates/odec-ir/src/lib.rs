//! Kernels over index domains: builtins, simplification, exact derivatives, sparsity, reference interpreter, text form.
//!
//! A front end builds a graph for each kernel, [`derive::complete`] adds the derivatives and stages parameter-only
//! values, and backends compile [`expand::expanded`] kernels:
//!
//! ```
//! use odec_ir::{Array, ArrayId, Graph, Kernel, KernelRole, Role, Span, Store, Target, derive, interpret};
//!
//! // x' = -k x^2
//! let array = |name: &str, role| {
//!     Array { name: name.into(), role, axes: Vec::new(), default: 0.0, data: Vec::new().into(), unit: None, doc: None, span: Span::default() }
//! };
//! let arrays = vec![array("x", Role::FirstOrder), array("k", Role::Parameter)];
//! let mut g = Graph::new();
//! let (x, k, two) = (g.read(ArrayId(0)), g.read(ArrayId(1)), g.constant(2.0));
//! let square = g.pow(x, two);
//! let rate = g.mul(k, square);
//! let slope = g.neg(rate);
//! let store = Store { target: Target::set(ArrayId(0)), node: slope };
//! let rhs = Kernel::scalar(KernelRole::Rhs, g, vec![store]);
//! let program = derive::complete(arrays, vec![rhs], "decay");
//!
//! let mut jacobian = [0.0];
//! interpret::run(&program, KernelRole::Jacobian, 0.0, &[3.0], &[0.5], &[], &mut jacobian);
//! assert_eq!(jacobian, [-3.0]); // -2 k x
//! ```

pub mod algebra;
pub mod builtin;
pub mod derive;
pub mod elimination;
pub mod expand;
pub mod graph;
pub mod interface;
pub mod interpret;
mod invariant;
pub mod layout;
pub mod names;
pub mod nest;
pub mod number;
pub mod program;
pub mod repeat;
pub mod residue;
pub mod rounded;
pub mod simplify;
pub mod span;
pub mod stage;
pub mod step;
pub mod switch;
pub mod taylor;
#[doc(hidden)]
pub mod testing;
pub mod text;

pub use builtin::{Builtin, Lowering, Op, Primitive};
pub use graph::{Graph, Node, NodeId};
pub use invariant::broken;
pub use layout::Layout;
pub use nest::{Element, Kernel, Store, Target};
pub use program::{
    Array, ArrayId, InvariantStage, Invariants, KernelRole, Malformed, Pattern, Program, Role, StateElement,
};
pub use span::Span;
