//! Simplifies an entry of a matrix under its guard. The entry is not stored if the guard is false, so a choice by the
//! same condition disappears: the derivative of `if i > 1 then u[i-1] else 0` with respect to `u[i-1]` is 1 wherever
//! it is stored.

use crate::builtin::Primitive;
use crate::graph::{Graph, Node, NodeId, QuickMap};
use crate::nest::{Element, Space, Store, Target};
use crate::stage::copied;

/// The stores, without the choices that the guards of their columns decide. Unchanged if that would be more code,
/// because entry loops then share less.
pub(super) fn under_guards(graph: &mut Graph, space: &Space, stores: Vec<Store>) -> Vec<Store> {
    let guard = |store: &Store| match store.target {
        Target::Entry(_, Element::At(column)) => space.access(column).guard,
        _ => None,
    };
    if !stores.iter().any(|s| guard(s).is_some()) {
        return stores;
    }
    let mut taken: QuickMap<NodeId, Decided> = QuickMap::default();
    let decided: Vec<Store> = stores
        .iter()
        .map(|&store| {
            let Some(guard) = guard(&store) else { return store };
            let known = taken.entry(guard).or_insert_with(|| Decided::by(graph, &space.guards, guard));
            Store { node: known.node(graph, store.node), ..store }
        })
        .collect();
    if calls(graph, &decided) < calls(graph, &stores) { decided } else { stores }
}

fn calls(graph: &Graph, stores: &[Store]) -> usize {
    let live = graph.reachable(stores.iter().map(|s| s.node));
    graph.nodes().iter().zip(live).filter(|(node, live)| *live && matches!(node, Node::Call(..))).count()
}

/// A graph simplified under a guard.
#[derive(Default)]
struct Decided {
    /// The simplified form of each node.
    nodes: QuickMap<NodeId, NodeId>,
}

impl Decided {
    fn by(graph: &mut Graph, guards: &Graph, guard: NodeId) -> Decided {
        let map = copied(guards, [guard], graph);
        let mut decided = Decided::default();
        let mut stack = vec![(map[guard], true)];
        while let Some((id, holds)) = stack.pop() {
            let Node::Call(op, args) = graph.node(id) else { continue };
            use Primitive::{And, Eq, Le, Lt, Ne, Not, Or};
            // Only these operations give 1 for true.
            if !matches!(op.primitive(), Some(And | Eq | Le | Lt | Ne | Not | Or)) {
                continue;
            }
            let value = graph.constant(if holds { 1.0 } else { 0.0 });
            decided.nodes.insert(id, value);
            match (op.primitive(), holds) {
                (Some(Not), _) => stack.push((args[0], !holds)),
                (Some(And), true) | (Some(Or), false) => stack.extend([(args[0], holds), (args[1], holds)]),
                _ => {}
            }
        }
        decided
    }

    /// The simplified form of a node under the guard.
    fn node(&mut self, graph: &mut Graph, root: NodeId) -> NodeId {
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            if self.nodes.contains_key(&id) {
                continue;
            }
            let node = graph.node(id);
            if !ready && !node.operands().is_empty() {
                stack.push((id, true));
                stack.extend(node.operands().iter().map(|&a| (a, false)));
                continue;
            }
            let new = |a: NodeId| self.nodes[&a];
            let changed = node.operands().iter().any(|&a| new(a) != a);
            let node = match node {
                _ if !changed => id,
                Node::Call(op, args) => {
                    let args = args.map(new);
                    graph.call(op, &args[..usize::from(op.0.arity)])
                }
                Node::Reduce(reduction, over, term) => graph.insert(Node::Reduce(reduction, over, new(term))),
                _ => id,
            };
            if node != id {
                for span in graph.spans(id).to_vec() {
                    graph.add_span(node, span);
                }
            }
            self.nodes.insert(id, node);
        }
        self.nodes[&root]
    }
}
