//! Staging: what each node depends on, and the hoisting of what depends on parameters alone into the `Prepare` kernel.

mod nests;
mod reciprocal;
mod roots;

pub use nests::{hoist_nests, of_nest};
pub use reciprocal::{ROUNDING_RULE, with_reciprocals};
pub use roots::{ROOTS_RULE, with_roots};

use std::collections::HashMap;

use crate::builtin::Primitive;
use crate::graph::{Graph, Node, NodeId};
use crate::program::{Array, ArrayId, Kernel, KernelRole, Role, Store, Target};
use crate::span::Span;

/// How often a node must be computed: the most frequent of what it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Numbers only: never.
    Constant,
    /// Parameters: once per parameter set.
    Parameter,
    /// Time: once per time.
    Time,
    /// States or a direction: at every evaluation.
    State,
}

/// The stage of every node of a graph, given the arrays that it reads.
pub fn of(graph: &Graph, arrays: &[Array]) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let stage = match node {
            Node::Constant(_) => Stage::Constant,
            Node::Time => Stage::Time,
            Node::Direction(_) => Stage::State,
            Node::Read(array) => match arrays[array.0 as usize].role {
                Role::Parameter | Role::Staged => Stage::Parameter,
                _ => Stage::State,
            },
            // Nests are staged by what their accesses read, which the graph alone does not say: see `of_nest`.
            Node::Index(_) | Node::Element(_) | Node::DirectionElement(_) => Stage::State,
            Node::Call(..) | Node::Fold(..) => {
                node.operands().iter().map(|a| stages[a.index()]).max().unwrap_or(Stage::Constant)
            }
        };
        stages.push(stage);
    }
    stages
}

/// True for nodes that cost as much to load as to compute.
fn trivial(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id) {
        Node::Call(op, [x, ..]) => op.primitive() == Some(Primitive::Neg) && !matches!(graph.node(x), Node::Call(..)),
        Node::Fold(..) => false,
        _ => true,
    }
}

/// Kernels that run at every evaluation; the others run once per parameter set themselves.
fn repeated(kernel: &Kernel, arrays: &[Array]) -> bool {
    match kernel.role {
        KernelRole::Prepare | KernelRole::Initial => false,
        KernelRole::Mass => kernel.varies(arrays),
        _ => true,
    }
}

/// Moves the largest parameter-only expressions of the kernels that run often to a new `Prepare` kernel, appends one
/// `Staged` array for each, and leaves a read in their place. Also drops nodes that no store needs.
pub fn hoist(arrays: &mut Vec<Array>, kernels: &mut Vec<Kernel>) {
    let mut prepare = Kernel { role: KernelRole::Prepare, graph: Graph::new(), stores: Vec::new() };
    let mut staged: HashMap<NodeId, ArrayId> = HashMap::new();
    for kernel in kernels.iter_mut() {
        let stages = of(&kernel.graph, arrays);
        let mut graph = Graph::new();
        // Where each node went: into the kernel, or into the prepare kernel (or both).
        let mut kept: Vec<Option<NodeId>> = vec![None; kernel.graph.len()];
        let moved = if repeated(kernel, arrays) { moves(kernel, &stages) } else { vec![false; kernel.graph.len()] };
        let prepared = copy_prepared(kernel, &moved, &mut prepare.graph);
        let needed = needed(kernel, &moved);
        for i in 0..kernel.graph.len() {
            if !needed[i] {
                continue;
            }
            let id = NodeId(i as u32);
            let new = match (moved[i], prepared[i]) {
                (true, Some(source)) => {
                    let array = *staged.entry(source).or_insert_with(|| {
                        let array = ArrayId(arrays.len() as u32);
                        arrays.push(staged_array(prepare.stores.len()));
                        prepare.stores.push(Store { target: Target::Element(array), node: source });
                        array
                    });
                    graph.read(array)
                }
                _ => copy(&kernel.graph, id, &kept, &mut graph),
            };
            for &span in kernel.graph.spans(id) {
                graph.add_span(new, span);
            }
            kept[i] = Some(new);
        }
        for store in &mut kernel.stores {
            if let Some(new) = kept[store.node.index()] {
                store.node = new;
            }
        }
        kernel.graph = graph;
    }
    kernels.insert(0, prepare);
}

fn staged_array(k: usize) -> Array {
    Array {
        name: format!("staged.{k}"),
        role: Role::Staged,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}

/// Marks the nodes to replace: parameter-only, not trivial, and used by a node of a later stage or stored.
fn moves(kernel: &Kernel, stages: &[Stage]) -> Vec<bool> {
    let graph = &kernel.graph;
    let mut moved = vec![false; graph.len()];
    let candidate = |id: NodeId| stages[id.index()] == Stage::Parameter && !trivial(graph, id);
    for (id, node) in kernel.live() {
        if stages[id.index()] > Stage::Parameter {
            for &a in node.operands() {
                moved[a.index()] |= candidate(a);
            }
        }
    }
    for store in &kernel.stores {
        moved[store.node.index()] |= candidate(store.node);
    }
    moved
}

/// Nodes that the kernel still computes: reachable without passing through a moved node.
fn needed(kernel: &Kernel, moved: &[bool]) -> Vec<bool> {
    let mut needed = vec![false; kernel.graph.len()];
    for store in &kernel.stores {
        needed[store.node.index()] = true;
    }
    for i in (0..needed.len()).rev() {
        if needed[i] && !moved[i] {
            for a in kernel.graph.nodes()[i].operands() {
                needed[a.index()] = true;
            }
        }
    }
    needed
}

/// Copies the moved nodes and their operands into the prepare graph.
fn copy_prepared(kernel: &Kernel, moved: &[bool], into: &mut Graph) -> Vec<Option<NodeId>> {
    let roots = (0..moved.len()).filter(|&i| moved[i]).map(|i| NodeId(i as u32));
    let wanted = kernel.graph.reachable(roots);
    let mut copies = vec![None; moved.len()];
    for i in 0..moved.len() {
        if wanted[i] {
            copies[i] = Some(copy(&kernel.graph, NodeId(i as u32), &copies, into));
        }
    }
    copies
}

/// The kernel with other nodes in the place of some: `write` is given the graph, the new one, the node it may replace and how operands are called there; where it
/// gives none, the node stays. Spans go over, and nodes that no store needs are left out.
fn rewritten(
    kernel: Kernel,
    mut write: impl FnMut(&Graph, &mut Graph, NodeId, &dyn Fn(NodeId) -> NodeId) -> Option<NodeId>,
) -> Kernel {
    let mut graph = Graph::new();
    let mut map: Vec<Option<NodeId>> = vec![None; kernel.graph.len()];
    for (id, _) in kernel.live() {
        let written = write(&kernel.graph, &mut graph, id, &|operand| map[operand.index()].unwrap_or(operand));
        let new = written.unwrap_or_else(|| copy(&kernel.graph, id, &map, &mut graph));
        for &span in kernel.graph.spans(id) {
            graph.add_span(new, span);
        }
        map[id.index()] = Some(new);
    }
    let mut out = kernel;
    for store in &mut out.stores {
        store.node = map[store.node.index()].unwrap_or(store.node);
    }
    out.graph = graph;
    out
}

/// Copies one node whose operands are in the map, keeping the canonical order of commutative arguments.
pub(crate) fn copy(from: &Graph, id: NodeId, map: &[Option<NodeId>], into: &mut Graph) -> NodeId {
    match from.node(id) {
        Node::Call(op, _) => {
            let node = from.node(id);
            let mut args = [id; 3];
            for (new, old) in args.iter_mut().zip(node.operands()) {
                *new = map[old.index()].unwrap_or(*old);
            }
            let arity = usize::from(op.0.arity);
            if op.0.commutative && args[1] < args[0] {
                args.swap(0, 1);
            }
            into.insert_call(op, &args[..arity])
        }
        Node::Fold(fold, over, term) => into.insert(Node::Fold(fold, over, map[term.index()].unwrap_or(term))),
        leaf => into.insert(leaf),
    }
}
