//! Sparse gradients of several roots over one graph: reverse accumulation inside regions, gradients passed between regions.
//!
//! One reverse sweep per root would repeat the nodes that roots share; one forward sweep of sparse gradients would
//! carry long lists through long sums. So the graph is cut into regions: a node is a *checkpoint* if it is a root, a
//! variable, the result or an argument of a branching operation, or shared by two regions; every other active node
//! belongs to the one checkpoint that all its users belong to. The gradient of a checkpoint is a reverse sweep over
//! its own region that ends in checkpoints whose gradients are known. Every local partial is built once.
//!
//! If few roots share many nodes with large gradients (an unrolled iteration with two values and many states), the
//! gradients of all those checkpoints cost more than the sweeps they save; then each root has its own sweep.

use crate::builtin::{Op, logic};
use crate::graph::{Graph, Node, NodeId};

/// Up to this many products per node, the regions are accepted without a comparison with separate sweeps.
const CHEAP: usize = 32;

/// A sparse gradient: columns ascending, and the node of each partial derivative.
pub type Gradient = Vec<(u32, NodeId)>;

/// The partial derivative of a call with respect to one argument; `None` if it is identically zero.
pub(super) fn partial(graph: &mut Graph, op: Op, args: &[NodeId], call: NodeId, i: usize) -> Option<NodeId> {
    let node = (op.0.derivative)(graph, args, call, i)?;
    (graph.as_constant(node) != Some(0.0)).then_some(node)
}

/// Computes the gradient of a reduction from the gradient of its term. Graphs without reductions need no rule: `()`.
pub(super) trait ReductionRule {
    /// The gradient of `reduction`, from the gradient of its term. It may add columns.
    fn gradient(&mut self, graph: &mut Graph, reduction: NodeId, term: &Gradient) -> Gradient;
}

impl ReductionRule for () {
    fn gradient(&mut self, _: &mut Graph, _: NodeId, _: &Gradient) -> Gradient {
        Vec::new()
    }
}

const NONE: u32 = u32::MAX;

/// Largest number of products for one matrix of derivatives: that of a dense one of 2,000 states. Above it the kernel
/// is left out, which lowering reports.
pub const MAX_DERIVATIVE_TERMS: usize = 1 << 22;

/// The gradients of the roots with respect to the variables: `variable` gives the column of a leaf. New nodes are
/// appended to the graph. The order of terms follows the order of nodes. `None` if more than [`MAX_DERIVATIVE_TERMS`]
/// products would be formed; nodes made until then stay in the graph, unused.
pub fn gradients(graph: &mut Graph, roots: &[NodeId], variable: impl Fn(Node) -> Option<u32>) -> Option<Vec<Gradient>> {
    gradients_by(graph, roots, variable, &mut ())
}

/// [`gradients`] of a graph with reductions.
pub(super) fn gradients_by(
    graph: &mut Graph,
    roots: &[NodeId],
    variable: impl Fn(Node) -> Option<u32>,
    rule: &mut impl ReductionRule,
) -> Option<Vec<Gradient>> {
    let len = graph.len();
    let active = active(graph, &variable);
    let by_regions = regions(graph, roots, &active);
    let first = (CHEAP * len).min(MAX_DERIVATIVE_TERMS);
    if let Some(done) = sweep(graph, roots, &active, &by_regions, &variable, rule, first) {
        return Some(done);
    }
    let by_roots = reverse_cost(graph, roots, &active);
    let budget = by_roots.unwrap_or(MAX_DERIVATIVE_TERMS);
    if budget > first
        && let Some(done) = sweep(graph, roots, &active, &by_regions, &variable, rule, budget)
    {
        return Some(done);
    }
    by_roots?;
    let by_roots = cones(graph, roots, &active)?;
    sweep(graph, roots, &active, &by_roots, &variable, rule, MAX_DERIVATIVE_TERMS)
}

fn sweep(
    graph: &mut Graph,
    roots: &[NodeId],
    active: &[bool],
    members: &[Vec<u32>],
    variable: &impl Fn(Node) -> Option<u32>,
    rule: &mut impl ReductionRule,
    budget: usize,
) -> Option<Vec<Gradient>> {
    let len = members.len();
    let mut sweep = Sweep {
        adjoint: vec![None; len],
        row: Vec::new(),
        known: vec![Vec::new(); len],
        boundary: Vec::new(),
        terms: 0,
    };
    for i in 0..len {
        if members[i].is_empty() {
            continue;
        }
        let node = graph.node(NodeId(i as u32));
        let gradient = if let Some(column) = variable(node) {
            vec![(column, graph.constant(1.0))]
        } else {
            match node {
                Node::Call(op, args) if op.0.branch.is_some() => sweep.branch(graph, op, &args),
                Node::Reduce(_, _, term) => {
                    sweep.terms += sweep.known[term.index()].len();
                    let inner = std::mem::take(&mut sweep.known[term.index()]);
                    let gradient = rule.gradient(graph, NodeId(i as u32), &inner);
                    sweep.known[term.index()] = inner;
                    gradient
                }
                _ => sweep.region(graph, active, members, i, budget)?,
            }
        };
        if sweep.terms > budget {
            return None;
        }
        sweep.known[i] = gradient;
    }
    Some(roots.iter().map(|r| sweep.known[r.index()].clone()).collect())
}

/// Number of edges in separate reverse sweeps from each root; `None` above [`MAX_DERIVATIVE_TERMS`].
fn reverse_cost(graph: &Graph, roots: &[NodeId], active: &[bool]) -> Option<usize> {
    let mut cones = Cones::new(graph, active);
    let mut cost = 0;
    for &root in roots {
        cost += cones.of(root, |_| false, MAX_DERIVATIVE_TERMS - cost)?.1;
    }
    Some(cost)
}

/// Like [`regions`], but with checkpoints only where they are necessary: nodes that several roots share belong to each
/// of them. `None` if that is more than [`MAX_DERIVATIVE_TERMS`] nodes.
fn cones(graph: &Graph, roots: &[NodeId], active: &[bool]) -> Option<Vec<Vec<u32>>> {
    let len = active.len();
    let live = graph.reachable(roots.iter().copied());
    let mut ends = vec![false; len];
    for i in 0..len {
        let node = graph.nodes()[i];
        if live[i] && active[i] && (node.operands().is_empty() || branches(node)) {
            ends[i] = true;
            node.operands().iter().for_each(|a| ends[a.index()] = active[a.index()]);
        }
    }
    let mut is_root = vec![false; len];
    for r in roots {
        is_root[r.index()] = true;
    }
    let mut members = vec![Vec::new(); len];
    let mut walker = Cones::new(graph, active);
    let mut cost = 0;
    for i in 0..len {
        let id = NodeId(i as u32);
        if active[i] && (ends[i] || is_root[i]) {
            let (mut cone, edges) = walker.of(id, |a| ends[a], MAX_DERIVATIVE_TERMS - cost)?;
            cone.sort_unstable_by(|a, b| b.cmp(a));
            cost += edges;
            members[i] = cone;
        }
    }
    Some(members)
}

/// Walks down from a node over active nodes, each once.
struct Cones<'a> {
    graph: &'a Graph,
    active: &'a [bool],
    seen: Vec<u32>,
    round: u32,
}

impl<'a> Cones<'a> {
    fn new(graph: &'a Graph, active: &'a [bool]) -> Cones<'a> {
        Cones { graph, active, seen: vec![0; active.len()], round: 0 }
    }

    /// The root and the nodes below it, without those behind ends, in any order, and the number of edges between
    /// them; `None` above `limit` edges.
    fn of(&mut self, root: NodeId, is_end: impl Fn(usize) -> bool, limit: usize) -> Option<(Vec<u32>, usize)> {
        self.round += 1;
        let (mut cone, mut edges, mut next) = (vec![root.0], 0, 0);
        while next < cone.len() {
            let node = self.graph.nodes()[cone[next] as usize];
            next += 1;
            if next == 1 && branches(node) {
                break;
            }
            for a in node.operands().iter().filter(|a| self.active[a.index()]) {
                edges += 1;
                if self.seen[a.index()] != self.round && !is_end(a.index()) {
                    self.seen[a.index()] = self.round;
                    cone.push(a.0);
                }
            }
            if edges > limit {
                return None;
            }
        }
        Some((cone, edges))
    }
}

/// True for operations whose gradient is not a sum of products: choices and reductions. They and their arguments are
/// checkpoints.
fn branches(node: Node) -> bool {
    match node {
        Node::Call(op, _) => op.0.branch.is_some(),
        Node::Reduce(..) => true,
        _ => false,
    }
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
        let branching = branches(node);
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

/// Working memory of the pass.
struct Sweep {
    /// Derivative of the current checkpoint with respect to each node.
    adjoint: Vec<Option<NodeId>>,
    /// Gradient of the current checkpoint, by column.
    row: Vec<Option<NodeId>>,
    /// Gradients of the finished checkpoints.
    known: Vec<Gradient>,
    /// Checkpoints at which the current region ends.
    boundary: Vec<u32>,
    /// Number of products formed.
    terms: usize,
}

impl Sweep {
    /// The gradient of a checkpoint; `None` if the budget is used up.
    fn region(
        &mut self,
        graph: &mut Graph,
        active: &[bool],
        members: &[Vec<u32>],
        checkpoint: usize,
        budget: usize,
    ) -> Option<Gradient> {
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
                self.terms += 1;
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
            self.terms += self.known[b as usize].len();
            if self.terms > budget {
                return None;
            }
            for &(column, inner) in &self.known[b as usize] {
                let term = graph.mul(adjoint, inner);
                let slot = slot(&mut self.row, column);
                if slot.is_none() {
                    touched.push(column);
                }
                accumulate(graph, slot, term);
            }
        }
        boundary.clear();
        self.boundary = boundary;
        Some(self.collect(touched))
    }

    /// The gradient of an operation that chooses one of two values: for each column, the same choice.
    fn branch(&mut self, graph: &mut Graph, op: Op, args: &[NodeId]) -> Gradient {
        let args = &args[..usize::from(op.0.arity)];
        let Some(branch) = &op.0.branch else { return Vec::new() };
        let (then, otherwise) = (args[branch.then].index(), args[branch.otherwise].index());
        if self.known[then].is_empty() && self.known[otherwise].is_empty() {
            return Vec::new();
        }
        self.terms += self.known[then].len() + self.known[otherwise].len();
        let condition = (branch.condition)(graph, args);
        let zero = graph.constant(0.0);
        let mut touched: Vec<u32> = Vec::new();
        for &(column, inner) in &self.known[then] {
            *slot(&mut self.row, column) = Some(graph.apply(&logic::IF, &[condition, inner, zero]));
            touched.push(column);
        }
        let mut rest = self.known[then].iter().peekable();
        for &(column, inner) in &self.known[otherwise] {
            while rest.next_if(|(c, _)| *c < column).is_some() {}
            let taken = if let Some(&(_, taken)) = rest.next_if(|(c, _)| *c == column) {
                taken
            } else {
                touched.push(column);
                zero
            };
            *slot(&mut self.row, column) = Some(graph.apply(&logic::IF, &[condition, taken, inner]));
        }
        self.collect(touched)
    }

    /// Moves the row to a gradient with ascending columns.
    fn collect(&mut self, mut touched: Vec<u32>) -> Gradient {
        touched.sort_unstable();
        touched.into_iter().filter_map(|c| self.row[c as usize].take().map(|node| (c, node))).collect()
    }
}

/// The slot of a column.
fn slot(row: &mut Vec<Option<NodeId>>, column: u32) -> &mut Option<NodeId> {
    if row.len() <= column as usize {
        row.resize(column as usize + 1, None);
    }
    &mut row[column as usize]
}

fn accumulate(graph: &mut Graph, sum: &mut Option<NodeId>, term: NodeId) {
    *sum = Some(match *sum {
        None => term,
        Some(sum) => graph.add(sum, term),
    });
}
