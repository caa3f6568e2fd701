//! Staging: the dependencies of each node, and the hoisting of parameter-only values into `Prepare` kernels.

mod hoist;
mod reciprocal;
mod roots;

pub use hoist::hoist;
pub(crate) use hoist::{axis, element};
pub use reciprocal::{Quotients, ROUNDING_RULE, with_reciprocals};
pub use roots::{ROOTS_RULE, with_roots};

use crate::builtin::Primitive;
use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::nest::{Element, Kernel};
use crate::program::{Array, KernelRole, Role};

/// How often a node must be computed; the most frequent of its dependencies decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Numbers only: never.
    Constant,
    /// Depends on parameters: once per parameter set. This includes discretes and modes; their values are computed
    /// again when they change.
    Parameter,
    /// Time: once per time.
    Time,
    /// States or a direction: at every evaluation.
    State,
}

/// The stage of every node of a kernel. Loop indices count as parameters, because they are known as early.
pub fn of(kernel: &Kernel, arrays: &[Array]) -> Vec<Stage> {
    of_graph(&kernel.graph, |element| arrays[kernel.array(element).0 as usize].role)
}

/// The stage of every node of a graph, given the roles of the elements that it reads.
pub fn of_graph(graph: &Graph, role: impl Fn(Element) -> Role) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        stages.push(match *node {
            Node::Constant(_) => Stage::Constant,
            Node::Time => Stage::Time,
            Node::Index(_) => Stage::Parameter,
            Node::Read(element) => match role(element) {
                Role::Parameter | Role::Staged | Role::Size | Role::Table | Role::Discrete | Role::Mode => {
                    Stage::Parameter
                }
                _ => Stage::State,
            },
            Node::Direction(_) => Stage::State,
            Node::Call(..) | Node::Reduce(..) => {
                node.operands().iter().map(|a| stages[a.index()]).max().unwrap_or(Stage::Constant)
            }
        });
    }
    stages
}

/// True for nodes that cost no more to compute than to load.
fn trivial(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id) {
        Node::Call(op, [x, ..]) => op.primitive() == Some(Primitive::Neg) && !matches!(graph.node(x), Node::Call(..)),
        Node::Reduce(..) => false,
        _ => true,
    }
}

/// True if a run records or returns the results of the kernel, so that divisions and powers outside loops remain as
/// written in the model.
fn is_recorded(kernel: &Kernel) -> bool {
    matches!(kernel.role, KernelRole::Initial | KernelRole::Outputs | KernelRole::Mass)
}

/// Copies the nodes that the roots need to another graph.
pub(crate) fn copied(from: &Graph, roots: impl IntoIterator<Item = NodeId>, into: &mut Graph) -> NodeMap {
    let mut map = NodeMap::new(from.len());
    for (id, _) in from.live(roots) {
        map.set(id, copy(from, id, &map, into));
    }
    map
}

/// Copies a node whose operands have been copied; keeps the canonical order of commutative arguments.
pub(crate) fn copy(from: &Graph, id: NodeId, map: &NodeMap, into: &mut Graph) -> NodeId {
    match from.node(id) {
        Node::Call(op, mut args) => {
            let args = &mut args[..usize::from(op.0.arity)];
            for a in args.iter_mut() {
                *a = map[*a];
            }
            if op.0.commutative && args[1] < args[0] {
                args.swap(0, 1);
            }
            into.insert_call(op, args)
        }
        Node::Reduce(reduction, over, term) => into.insert(Node::Reduce(reduction, over, map[term])),
        leaf => into.insert(leaf),
    }
}
