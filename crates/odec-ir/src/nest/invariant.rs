//! Hoists values that vary only with a reduction loop out of the loops around it: the hyperbolic tangents in `sum(j:
//! W[i,j]*tanh(u[j]))` are computed once instead of once per row.
//!
//! This is for backends with a buffer for such values. It changes no bit of a result, and does not affect binding:
//! the program keeps the original nest, which the interpreter runs.

use super::depends::Depends;
use super::schedule::is_known;
use super::{Access, AccessId, Affine, Edge, Kernel, LoopId, Sub, Subscript};
use crate::builtin::{Lowering, Primitive};
use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::program::ArrayId;
use crate::stage::copy;

/// From this number of operations on, storing and loading a value is cheaper than computing it again.
const MIN_OPERATIONS: u32 = 4;

/// Largest number of hoisted values in a nest.
const MAX_VALUES: usize = 32;

/// A value that is computed for every index of a loop before the nest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoistedValue {
    /// The loop.
    pub over: LoopId,
    /// The value.
    pub node: NodeId,
    /// The element that replaces the value. It belongs to no array of the program: the backend stores the values in
    /// the order of the rounds.
    pub access: AccessId,
}

/// A nest that reads hoisted values.
pub struct Hoisted {
    /// The nest in which elements replace the values. Its accesses are those of the original nest and these elements.
    pub nest: Kernel,
    /// The values, ascending by loop.
    pub values: Vec<HoistedValue>,
    /// Inputs of the values that vary with no loop, in the order of evaluation. They are computed first.
    pub before: Vec<NodeId>,
    /// Nodes to compute in each round of a loop, in the order of evaluation, including the values.
    pub loops: Vec<(LoopId, Vec<NodeId>)>,
}

/// The nest, after [`crate::expand::expanded`], with hoisted values; `None` if there are none. A value must read an
/// element that varies with the loop, so that the values need no more memory than the arrays of the model.
pub fn hoisted(nest: &Kernel) -> Option<Hoisted> {
    if nest.is_scalar() {
        return None;
    }
    let depends = Depends::of(nest);
    let chosen = chosen(nest, &depends);
    let mut values: Vec<(LoopId, NodeId)> = chosen.iter().map(|&id| (depends.loops(id)[0], id)).collect();
    values.sort_unstable();
    values.truncate(MAX_VALUES);
    if values.is_empty() {
        return None;
    }
    let mut out = nest.clone();
    let needed = nest.graph.reachable(values.iter().map(|v| v.1));
    let live = nest.graph.reachable(nest.stores.iter().map(|s| s.node));
    let mut graph = Graph::new();
    let mut plain = NodeMap::new(nest.graph.len());
    let mut map = NodeMap::new(nest.graph.len());
    let mut hoisted = Vec::with_capacity(values.len());
    let (mut before, mut loops): (Vec<NodeId>, Vec<(LoopId, Vec<NodeId>)>) = (Vec::new(), Vec::new());
    for i in (0..nest.graph.len()).filter(|&i| live[i]) {
        let id = NodeId(i as u32);
        if needed[i] {
            let new = copy(&nest.graph, id, &plain, &mut graph);
            plain.set(id, new);
            match (nest.graph.node(id), depends.loops(id)) {
                (node, _) if is_known(node) => {}
                (_, []) => before.push(new),
                (_, [over, ..]) => match loops.iter_mut().find(|(l, _)| l == over) {
                    Some((_, nodes)) => nodes.push(new),
                    None => loops.push((*over, vec![new])),
                },
            }
        }
        let new = match (values.iter().position(|v| v.1 == id), plain.get(id)) {
            (Some(k), Some(node)) => {
                let over = values[k].0;
                let sub = Subscript { sub: Sub::Affine(Affine::index(over)), edge: Edge::Inside };
                let array = ArrayId(u32::MAX - k as u32);
                let access = out.space.intern(Access { array, subs: vec![sub], guard: None });
                hoisted.push(HoistedValue { over, node, access });
                graph.read(access)
            }
            _ => copy(&nest.graph, id, &map, &mut graph),
        };
        map.set(id, new);
    }
    for store in &mut out.stores {
        store.node = map[store.node];
    }
    out.graph = graph;
    hoisted.sort_by_key(|v| v.over);
    loops.sort_by_key(|l| l.0);
    Some(Hoisted { nest: out, values: hoisted, before, loops })
}

/// The largest values that vary with a single reduction loop, are expensive enough, and are used inside other loops.
fn chosen(nest: &Kernel, depends: &Depends) -> Vec<NodeId> {
    let graph = &nest.graph;
    let live = graph.reachable(nest.stores.iter().map(|s| s.node));
    let len = graph.len();
    // For each node: it depends on one loop's index and loop-invariant nodes, without reductions; its cost in
    // operations; it reads an array along the loop.
    let (mut simple, mut operations) = (vec![false; len], vec![0u32; len]);
    let (mut costly, mut reads) = (vec![false; len], vec![false; len]);
    let mut chosen = vec![false; len];
    for i in (0..len).filter(|&i| live[i]) {
        let id = NodeId(i as u32);
        let node = graph.node(id);
        let own = depends.loops(id);
        let operands = || node.operands().iter().map(|a| a.index());
        let reduction = matches!(node, Node::Reduce(..));
        simple[i] = depends.level[i] == 0 && own.len() <= 1 && !reduction && operands().all(|a| simple[a]);
        if simple[i] && !own.is_empty() {
            let costs = matches!(node, Node::Call(op, _) if match op.0.lowering {
                Lowering::Primitive(p) => matches!(p, Primitive::Div | Primitive::Sqrt | Primitive::Hypot),
                Lowering::Libm(_) | Lowering::Expand(_) | Lowering::Lookup(_) => true,
            });
            let call = u32::from(matches!(node, Node::Call(..)));
            operations[i] = operands().map(|a| operations[a]).fold(call, u32::saturating_add);
            costly[i] = costs || operands().any(|a| costly[a]);
            reads[i] = matches!(node, Node::Read(_) | Node::Direction(_)) || operands().any(|a| reads[a]);
            continue;
        }
        // In an outermost reduction loop, a value is computed once anyway.
        if own.len() <= 1 && depends.level[i] == 0 {
            continue;
        }
        for a in operands() {
            let varies = simple[a] && !depends.loops(NodeId(a as u32)).is_empty();
            chosen[a] |= varies && reads[a] && (costly[a] || operations[a] >= MIN_OPERATIONS);
        }
    }
    (0..len).filter(|&i| chosen[i]).map(|i| NodeId(i as u32)).collect()
}
