//! Terms as nodes of the program's graph.

use std::collections::BTreeMap;

use odec_ir::{ArrayId, Graph, NodeId, Op, Span};

use crate::model::TermKind;
use crate::model::walk::Domain;

/// What states stand for in the expressions that are built next.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// Lower derivatives: state, order.
    pub values: BTreeMap<(usize, u8), NodeId>,
    /// Highest derivatives of each state; a missing one reads as zero and was reported.
    pub rates: BTreeMap<usize, NodeId>,
}

/// The graph, and what names stand for in it.
pub(super) struct Nodes<'a> {
    pub graph: Graph,
    pub constants: &'a [f64],
    pub parameters: Vec<ArrayId>,
    pub orders: Vec<u8>,
    pub states: States,
    pub definitions: Vec<Option<NodeId>>,
}

impl Domain for Nodes<'_> {
    type Value = NodeId;
    type Key = NodeId;

    fn key(&self, value: NodeId) -> NodeId {
        value
    }

    fn number(&mut self, x: f64) -> NodeId {
        self.graph.constant(x)
    }

    fn leaf(&mut self, kind: &TermKind) -> NodeId {
        let known = match *kind {
            TermKind::Time => Some(self.graph.time()),
            TermKind::Constant(i) => self.constants.get(i).map(|&x| self.graph.constant(x)),
            TermKind::Parameter(i) => self.parameters.get(i).map(|&array| self.graph.read(array)),
            TermKind::Definition(i) => self.definitions.get(i).copied().flatten(),
            TermKind::State(i, k) if k >= self.orders[i] => self.states.rates.get(&i).copied(),
            TermKind::State(i, k) => self.states.values.get(&(i, k)).copied(),
            _ => None,
        };
        known.unwrap_or_else(|| self.graph.constant(0.0))
    }

    fn apply(&mut self, op: Op, operands: &[NodeId], span: Span) -> NodeId {
        let node = self.graph.call(op, operands);
        self.graph.with_span(node, span)
    }
}

/// A graph of its own for some of the nodes, in the same order.
pub(super) fn extract(graph: &Graph, roots: &[NodeId]) -> (Graph, Vec<NodeId>) {
    let live = graph.reachable(roots.iter().copied());
    let mut out = Graph::new();
    let mut copy: Vec<Option<NodeId>> = vec![None; graph.len()];
    for (i, _) in live.iter().enumerate().filter(|(_, live)| **live) {
        let id = NodeId(i as u32);
        let mut node = graph.node(id);
        if let odec_ir::Node::Call(_, operands) = &mut node {
            for o in operands.iter_mut() {
                // Padding repeats an operand, so every one of them was copied before.
                *o = copy[o.index()].unwrap_or(*o);
            }
        }
        let new = out.insert(node);
        for &span in graph.spans(id) {
            out.add_span(new, span);
        }
        copy[i] = Some(new);
    }
    let roots = roots.iter().map(|r| copy[r.index()].unwrap_or(*r)).collect();
    (out, roots)
}
