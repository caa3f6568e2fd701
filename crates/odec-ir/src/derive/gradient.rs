//! Sparse gradients of several roots over one graph: reverse accumulation inside regions, gradients handed on between.
//!
//! One reverse sweep per root would walk what the roots share once for each; one forward sweep of sparse gradients
//! would carry long lists through long sums. So the graph is cut: a node is a *checkpoint* if it is a root, a
//! variable, the result or an argument of a branching operation, or shared by two regions; every other active node
//! belongs to the one checkpoint that all its users belong to. The gradient of a checkpoint is a reverse sweep over its
//! own region that ends in checkpoints whose gradients are known. Every local partial is built once.

use crate::builtin::{Op, logic};
use crate::graph::{Graph, Node, NodeId};

/// A sparse gradient: columns ascending, and the node of each partial derivative.
pub type Gradient = Vec<(u32, NodeId)>;

/// The partial derivative of a call by one argument; `None` if it is identically zero.
pub(super) fn partial(graph: &mut Graph, op: Op, args: &[NodeId], call: NodeId, i: usize) -> Option<NodeId> {
    let node = (op.0.derivative)(graph, args, call, i)?;
    (graph.as_constant(node) != Some(0.0)).then_some(node)
}

const NONE: u32 = u32::MAX;

/// The gradients of the roots by the variables: `variable` gives the column (below `columns`) of the leaves that count.
/// New nodes are appended to the graph. The order of terms follows the order of nodes.
pub fn gradients(
    graph: &mut Graph,
    roots: &[NodeId],
    columns: usize,
    variable: impl Fn(Node) -> Option<u32>,
) -> Vec<Gradient> {
    let len = graph.len();
    let active = active(graph, &variable);
    let members = regions(graph, roots, &active);
    let mut sweep = Sweep {
        adjoint: vec![None; len],
        row: vec![None; columns],
        known: vec![Vec::new(); len],
        boundary: Vec::new(),
    };
    for i in 0..len {
        if members[i].is_empty() {
            continue;
        }
        let id = NodeId(i as u32);
        let node = graph.node(id);
        let gradient = if let Some(column) = variable(node) {
            vec![(column, graph.constant(1.0))]
        } else {
            match node {
                Node::Call(op, args) if op.0.branch.is_some() => sweep.branch(graph, op, &args),
                _ => sweep.region(graph, &active, &members, i),
            }
        };
        sweep.known[i] = gradient;
    }
    roots.iter().map(|r| sweep.known[r.index()].clone()).collect()
}

/// Nodes that depend on a variable.
fn active(graph: &Graph, variable: &impl Fn(Node) -> Option<u32>) -> Vec<bool> {
    let mut active = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let is = variable(*node).is_some() || node.operands().iter().any(|a| active[a.index()]);
        active.push(is);
    }
    active
}

/// The nodes of each checkpoint's region, descending from the checkpoint itself; empty for other nodes.
fn regions(graph: &Graph, roots: &[NodeId], active: &[bool]) -> Vec<Vec<u32>> {
    let len = graph.len();
    let mut owner = vec![NONE; len];
    let mut members = vec![Vec::new(); len];
    for root in roots {
        owner[root.index()] = root.0;
    }
    for i in (0..len).rev() {
        if owner[i] == NONE || !active[i] {
            continue;
        }
        let node = graph.nodes()[i];
        let branching = matches!(node, Node::Call(op, _) if op.0.branch.is_some());
        if branching || node.operands().is_empty() {
            owner[i] = i as u32;
        }
        let me = owner[i];
        members[me as usize].push(i as u32);
        for a in node.operands() {
            let a = a.index();
            owner[a] = if branching || (owner[a] != NONE && owner[a] != me) { a as u32 } else { me };
        }
    }
    members
}

/// Scratch of the pass.
struct Sweep {
    /// Derivative of the checkpoint under way by each node.
    adjoint: Vec<Option<NodeId>>,
    /// Its gradient by column.
    row: Vec<Option<NodeId>>,
    /// Gradients of the checkpoints done.
    known: Vec<Gradient>,
    /// Checkpoints that the region under way ends in.
    boundary: Vec<u32>,
}

impl Sweep {
    fn region(&mut self, graph: &mut Graph, active: &[bool], members: &[Vec<u32>], checkpoint: usize) -> Gradient {
        self.adjoint[checkpoint] = Some(graph.constant(1.0));
        for &i in &members[checkpoint] {
            let Some(adjoint) = self.adjoint[i as usize].take() else { continue };
            let id = NodeId(i);
            let Node::Call(op, args) = graph.node(id) else { continue };
            let args = &args[..usize::from(op.0.arity)];
            for (k, a) in args.iter().enumerate() {
                if !active[a.index()] {
                    continue;
                }
                let Some(partial) = partial(graph, op, args, id, k) else { continue };
                let term = graph.mul(adjoint, partial);
                if !members[a.index()].is_empty() && self.adjoint[a.index()].is_none() {
                    self.boundary.push(a.0);
                }
                accumulate(graph, &mut self.adjoint[a.index()], term);
            }
        }
        let mut boundary = std::mem::take(&mut self.boundary);
        boundary.sort_unstable();
        let mut touched = Vec::new();
        for &b in &boundary {
            let Some(adjoint) = self.adjoint[b as usize].take() else { continue };
            for &(column, inner) in &self.known[b as usize] {
                let term = graph.mul(adjoint, inner);
                let slot = &mut self.row[column as usize];
                if slot.is_none() {
                    touched.push(column);
                }
                accumulate(graph, slot, term);
            }
        }
        boundary.clear();
        self.boundary = boundary;
        self.collect(touched)
    }

    /// The gradient of an operation that takes one of two values: by each column, the same choice.
    fn branch(&mut self, graph: &mut Graph, op: Op, args: &[NodeId]) -> Gradient {
        let args = &args[..usize::from(op.0.arity)];
        let Some(branch) = &op.0.branch else { return Vec::new() };
        let (then, otherwise) = (args[branch.then].index(), args[branch.otherwise].index());
        if self.known[then].is_empty() && self.known[otherwise].is_empty() {
            return Vec::new();
        }
        let condition = (branch.condition)(graph, args);
        let zero = graph.constant(0.0);
        let mut touched: Vec<u32> = Vec::new();
        for &(column, inner) in &self.known[then] {
            self.row[column as usize] = Some(graph.apply(&logic::IF, &[condition, inner, zero]));
            touched.push(column);
        }
        let mut rest = self.known[then].iter().peekable();
        for &(column, inner) in &self.known[otherwise] {
            while rest.next_if(|(c, _)| *c < column).is_some() {}
            let taken = match rest.next_if(|(c, _)| *c == column) {
                Some(&(_, taken)) => taken,
                None => {
                    touched.push(column);
                    zero
                }
            };
            self.row[column as usize] = Some(graph.apply(&logic::IF, &[condition, taken, inner]));
        }
        self.collect(touched)
    }

    /// Empties the row into a gradient, columns ascending.
    fn collect(&mut self, mut touched: Vec<u32>) -> Gradient {
        touched.sort_unstable();
        touched.into_iter().filter_map(|c| self.row[c as usize].take().map(|node| (c, node))).collect()
    }
}

fn accumulate(graph: &mut Graph, sum: &mut Option<NodeId>, term: NodeId) {
    *sum = Some(match *sum {
        None => term,
        Some(sum) => graph.add(sum, term),
    });
}
