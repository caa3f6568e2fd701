//! Indices and sizes as nodes: subscripts as numbers, and the loops and tables that nodes depend on.

use std::collections::HashSet;

use odec_ir::builtin::rounding;
use odec_ir::nest::{Access, AccessId, Affine, Edge, Element, LoopId, Sub};
use odec_ir::{ArrayId, Graph, Node, NodeId};

use super::{ContextId, KernelBuilder};
use crate::lower::index::{IndexValue, Wrap};

impl KernelBuilder<'_, '_> {
    pub(super) fn constant_node(&mut self, c: usize, guard: bool) -> NodeId {
        let size = self.world.extents.varying(c);
        let access = size.map(|array| self.space.scalar(array));
        let graph = if guard { &mut self.space.guards } else { &mut self.graph };
        match access {
            Some(access) => graph.read(access),
            None => graph.constant(self.world.values.constants[c]),
        }
    }

    /// A subscript as a number, in the graph of guards.
    pub fn number(&mut self, value: &IndexValue) -> NodeId {
        let plain = match &value.sub {
            Sub::Affine(affine) => self.affine_node(affine),
            Sub::Lookup { table, subs, shift } => {
                let access = self.space.intern(Access { array: *table, subs: subs.clone(), guard: None });
                let guards = &mut self.space.guards;
                let element = guards.read(access);
                shifted(guards, element, *shift)
            }
        };
        let Some(Wrap { axis, edge, .. }) = value.wrap else { return plain };
        let axis = self.world.extents.axes[axis.0 as usize].clone();
        let (first, last) = (self.affine_node(&axis.first), self.affine_node(&axis.last));
        let guards = &mut self.space.guards;
        match edge {
            Edge::Inside => plain,
            Edge::Clamp => {
                let low = guards.apply(&rounding::MAX, &[plain, first]);
                guards.apply(&rounding::MIN, &[low, last])
            }
            Edge::Periodic => {
                let one = guards.constant(1.0);
                let span = guards.sub(last, first);
                let length = guards.add(span, one);
                let offset = guards.sub(plain, first);
                let inside = guards.apply(&rounding::MOD, &[offset, length]);
                guards.add(inside, first)
            }
        }
    }

    /// An affine number as a node of the graph of guards.
    pub fn affine_node(&mut self, affine: &Affine) -> NodeId {
        let mut sum: Option<NodeId> = None;
        let extents: Vec<(AccessId, i64)> = affine
            .extents
            .iter()
            .map(|&(e, c)| {
                let scalar = self.world.extents.scalar(e);
                (self.space.scalar(scalar), c)
            })
            .collect();
        let guards = &mut self.space.guards;
        let loops = affine.loops.iter().map(|&(l, c)| (Node::Index(l), c));
        let terms: Vec<(Node, i64)> =
            loops.chain(extents.into_iter().map(|(a, c)| (Node::Read(a.into()), c))).collect();
        for (leaf, c) in terms {
            let leaf = guards.insert(leaf);
            let factor = guards.constant(c.unsigned_abs() as f64);
            let term = guards.mul(factor, leaf);
            sum = Some(match (sum, c < 0) {
                (None, false) => term,
                (None, true) => guards.neg(term),
                (Some(s), false) => guards.add(s, term),
                (Some(s), true) => guards.sub(s, term),
            });
        }
        match sum {
            None => guards.constant(affine.constant as f64),
            Some(sum) => shifted(guards, sum, affine.constant),
        }
    }

    /// Copies a node of the graph of guards to the graph of the kernel. Their leaves are the same.
    pub fn copied(&mut self, root: NodeId) -> NodeId {
        self.copies.resize(self.space.guards.len(), None);
        if let Some(copy) = self.copies[root.index()] {
            return copy;
        }
        let mut open = vec![root];
        loop {
            let Some(&top) = open.last() else { unreachable!("the root is the last to be copied") };
            let node = self.space.guards.node(top);
            let missing = node.operands().iter().rev().find(|o| self.copies[o.index()].is_none());
            if let Some(&missing) = missing {
                open.push(missing);
                continue;
            }
            let copy = match node {
                Node::Call(op, _) => {
                    let operands: Vec<NodeId> = node.operands().iter().filter_map(|o| self.copies[o.index()]).collect();
                    self.graph.call(op, &operands)
                }
                leaf => self.graph.insert(leaf),
            };
            self.copies[top.index()] = Some(copy);
            open.pop();
            if top == root {
                return copy;
            }
        }
    }

    /// The loops that a context depends on.
    pub fn loops_in(&self, context: ContextId) -> Vec<LoopId> {
        let context = self.at(context);
        let mut found = Vec::new();
        for (_, value) in &context.locals {
            value.loops(&mut found);
        }
        for &guard in &context.guards {
            self.loops_of_guard(guard, &mut found);
        }
        if !context.arguments.is_empty() {
            for node in below(&self.graph, &context.arguments) {
                self.loops_of_leaf(node, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn loops_of_leaf(&self, node: Node, found: &mut Vec<LoopId>) {
        match node {
            Node::Index(l) => found.push(l),
            Node::Read(Element::At(access)) => found.extend(self.space.loops_of(access)),
            _ => {}
        }
    }

    /// The loops that a node of the graph of guards depends on.
    pub fn loops_of_guard(&self, guard: NodeId, found: &mut Vec<LoopId>) {
        for node in below(&self.space.guards, &[guard]) {
            self.loops_of_leaf(node, found);
        }
    }

    /// True if a node of the graph of guards reads a table under a condition.
    pub fn reads_under_guards(&self, guard: NodeId) -> bool {
        let guarded = |node: &Node| match node {
            Node::Read(Element::At(access)) => self.space.access(*access).guard.is_some(),
            _ => false,
        };
        below(&self.space.guards, &[guard]).iter().any(guarded)
    }

    /// The tables that a node of the graph of guards reads.
    pub fn arrays_of_guard(&self, guard: NodeId) -> Vec<ArrayId> {
        let nodes = below(&self.space.guards, &[guard]);
        let arrays = nodes.into_iter().filter_map(|node| match node {
            Node::Read(Element::At(access)) => Some(self.space.access(access).array),
            _ => None,
        });
        arrays.collect()
    }
}

/// The nodes that these depend on, including themselves, without visiting the rest of the graph.
fn below(graph: &Graph, roots: &[NodeId]) -> Vec<Node> {
    let mut seen = HashSet::new();
    let mut open = roots.to_vec();
    let mut nodes = Vec::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            let node = graph.node(id);
            open.extend(node.operands());
            nodes.push(node);
        }
    }
    nodes
}

fn shifted(graph: &mut Graph, node: NodeId, by: i64) -> NodeId {
    let constant = graph.constant(by.unsigned_abs() as f64);
    match by {
        0 => node,
        1.. => graph.add(node, constant),
        _ => graph.sub(node, constant),
    }
}
