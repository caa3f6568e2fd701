//! The order of computation in a nest: each node is in the outermost possible loop, and reductions with the same
//! range share a loop.
//!
//! A node outside reductions is computed once for each round of the innermost iteration loop that it varies with. The
//! term of a reduction is computed in the body of the reduction's loop, after everything that does not vary with this
//! loop. Reductions over one loop at one place share the loop, unless one needs the result of another.

use super::arguments::Counter;
use super::depends::Depends;
use super::{Element, Kernel, LoopId, ReduceOp, Region};
use crate::broken;
use crate::graph::{Node, NodeId, QuickMap, QuickSet};

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Compute (or load) the node. This covers all nodes except reductions and those that [`is_known`], which are
    /// written where they are used. A node may be computed in several loops if none can use the value from another.
    Compute(NodeId),
    /// Store the value of this store.
    Store(u32),
    /// Run a loop.
    Loop(Body),
}

/// A loop of the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The counter of the loop.
    pub counter: Counter,
    /// The reductions whose values are known when it ends; empty for an iteration loop.
    pub reductions: Vec<LoopReduction>,
    /// The steps of each round.
    pub steps: Vec<Step>,
}

/// A [`Node::Reduce`] of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopReduction {
    /// The node.
    pub node: NodeId,
    /// The operation that combines the terms.
    pub reduction: ReduceOp,
    /// The loop.
    pub over: LoopId,
    /// The term of each round.
    pub term: NodeId,
}

/// True for a node that no step computes: a number, the time, an element at a position that code knows.
pub fn is_known(node: Node) -> bool {
    matches!(
        node,
        Node::Constant(_) | Node::Time | Node::Read(Element::Scalar(_)) | Node::Direction(Element::Scalar(_))
    )
}

/// The steps of a nest, in order. Each node is computed just before its first use, to keep few values live.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The steps outside all loops, and the loops.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// The schedule of a nest; backends pass a nest after [`crate::expand::expanded`].
    pub fn of(nest: &Kernel) -> Schedule {
        if nest.is_scalar() {
            return Schedule::scalar(nest);
        }
        let mut planner = Planner::new(nest);
        let counters = nest.counters();
        planner.stack = vec![Scope::new(&mut planner.scopes, None)];
        for _ in &counters {
            let scope = Scope::new(&mut planner.scopes, None);
            planner.stack.push(scope);
        }
        planner.levels = planner.stack.len();
        planner.want(nest.stores.iter().map(|s| s.node), None, 0);
        for (k, store) in nest.stores.iter().enumerate() {
            planner.run(&[store.node]);
            planner.stack[counters.len()].steps.push(Step::Store(k as u32));
        }
        let mut steps = Vec::new();
        for (scope, counter) in planner.stack.drain(1..).zip(&counters).rev().collect::<Vec<_>>() {
            let mut own = scope.steps;
            own.append(&mut steps);
            steps = vec![Step::Loop(Body { counter: *counter, reductions: Vec::new(), steps: own })];
        }
        let mut own = planner.stack.remove(0).steps;
        own.append(&mut steps);
        Schedule { steps: own }
    }

    /// A kernel without loops has one body: for each store, the operands that have not been computed, in order, then
    /// the store.
    fn scalar(kernel: &Kernel) -> Schedule {
        let graph = &kernel.graph;
        let mut done = vec![false; graph.len()];
        let mut steps = Vec::with_capacity(graph.len() + kernel.stores.len());
        // a node, and the number of its operands that were visited
        let mut stack: Vec<(NodeId, usize)> = Vec::new();
        for (k, store) in kernel.stores.iter().enumerate() {
            stack.push((store.node, 0));
            while let Some((id, next)) = stack.pop() {
                let node = &graph.nodes()[id.index()];
                if done[id.index()] || is_known(*node) {
                    continue;
                }
                match node.operands().get(next) {
                    Some(&operand) => stack.extend([(id, next + 1), (operand, 0)]),
                    None => {
                        done[id.index()] = true;
                        steps.push(Step::Compute(id));
                    }
                }
            }
            steps.push(Step::Store(k as u32));
        }
        Schedule { steps }
    }

    /// Number of calls in the code: its size, not its work.
    pub fn calls(&self, nest: &Kernel) -> usize {
        fn count(steps: &[Step], nest: &Kernel) -> usize {
            let one = |step: &Step| match step {
                Step::Compute(id) => usize::from(matches!(nest.graph.node(*id), Node::Call(..))),
                Step::Store(_) => 0,
                Step::Loop(body) => count(&body.steps, nest),
            };
            steps.iter().map(one).sum()
        }
        count(&self.steps, nest)
    }
}

impl Kernel {
    /// The counters over the points of the nest, outermost first.
    pub fn counters(&self) -> Vec<Counter> {
        match self.region {
            Region::Boundary => vec![Counter::Points],
            _ => self.iterates.iter().map(|&l| Counter::Loop(l)).collect(),
        }
    }
}

/// The body in which a node is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Placement {
    /// In the body of the iteration loop of this level.
    Level(u32),
    /// In the body of a reduction's loop.
    Reduce(LoopId),
}

/// A body under construction.
struct Scope {
    /// Unique number of this body.
    id: u32,
    /// The loop, for a body of a reduction loop.
    over: Option<LoopId>,
    steps: Vec<Step>,
}

impl Scope {
    fn new(scopes: &mut u32, over: Option<LoopId>) -> Scope {
        *scopes += 1;
        Scope { id: *scopes, over, steps: Vec::new() }
    }
}

/// Reductions that share a loop.
type Group = (Placement, LoopId, u32);

enum Task {
    Visit(NodeId),
    Compute(NodeId),
    Loop(Group, u32),
}

struct Planner<'a> {
    nest: &'a Kernel,
    depends: Depends,
    /// For each node: the number of reduction loops in its home that must run one after another before its value is known.
    phase: Vec<u32>,
    groups: QuickMap<Group, Vec<NodeId>>,
    /// For each node: the body in which it was last computed.
    done: Vec<u32>,
    /// For each node: the last body that needs it.
    wanted: Vec<u32>,
    stack: Vec<Scope>,
    /// Number of iteration loops (including the outside) in the stack.
    levels: usize,
    scopes: u32,
}

impl<'a> Planner<'a> {
    fn new(nest: &'a Kernel) -> Planner<'a> {
        let len = nest.graph.len();
        let mut planner = Planner {
            nest,
            depends: Depends::of(nest),
            phase: Vec::with_capacity(len),
            groups: QuickMap::default(),
            done: vec![0; len],
            wanted: vec![0; len],
            stack: Vec::new(),
            levels: 0,
            scopes: 0,
        };
        let live = nest.graph.reachable(nest.stores.iter().map(|s| s.node));
        for (i, node) in nest.graph.nodes().iter().enumerate() {
            let home = planner.placement(NodeId(i as u32));
            let latest = |planner: &Planner, ids: &[NodeId]| {
                ids.iter()
                    .filter(|a| planner.placement(**a) == home)
                    .map(|a| planner.phase[a.index()])
                    .max()
                    .unwrap_or(0)
            };
            let phase = match *node {
                Node::Reduce(_, over, _) if live[i] => {
                    let phase = latest(&planner, &planner.outside(NodeId(i as u32))) + 1;
                    planner.groups.entry((home, over, phase)).or_default().push(NodeId(i as u32));
                    phase
                }
                _ => latest(&planner, node.operands()),
            };
            planner.phase.push(phase);
        }
        planner
    }

    fn placement(&self, id: NodeId) -> Placement {
        match self.depends.innermost(id) {
            Some(l) => Placement::Reduce(l),
            None => Placement::Level(self.depends.level[id.index()]),
        }
    }

    /// Index in the stack of the body in which a node is computed.
    fn place(&self, id: NodeId) -> usize {
        match self.placement(id) {
            Placement::Level(level) => level as usize,
            Placement::Reduce(l) => self.stack.iter().rposition(|s| s.over == Some(l)).unwrap_or(self.stack.len() - 1),
        }
    }

    /// The inputs of a reduction from outside its loop: they vary with the same reduction loops as the reduction
    /// itself.
    fn outside(&self, reduction: NodeId) -> Vec<NodeId> {
        let around = self.depends.loops(reduction);
        let mut outside = Vec::new();
        let mut seen = QuickSet::default();
        let mut stack = vec![self.reduction_of(reduction).term];
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            if self.depends.loops(id).iter().all(|l| around.contains(l)) {
                outside.push(id);
            } else {
                stack.extend(self.nest.graph.node(id).operands().iter().rev());
            }
        }
        outside
    }

    /// Marks the nodes of a body (of all bodies for the iteration loops) that the roots need, so that a shared loop
    /// computes no other reductions.
    fn want(&mut self, roots: impl Iterator<Item = NodeId>, over: Option<LoopId>, scope: u32) {
        let mut stack: Vec<NodeId> = roots.collect();
        while let Some(id) = stack.pop() {
            let inside = over.is_none_or(|l| self.depends.varies(id, l));
            if self.wanted[id.index()] != scope + 1 && inside {
                self.wanted[id.index()] = scope + 1;
                stack.extend(self.nest.graph.node(id).operands());
            }
        }
    }

    /// Computes the roots and what they need, each node in its body.
    fn run(&mut self, roots: &[NodeId]) {
        let mut tasks: Vec<Task> = roots.iter().rev().map(|&id| Task::Visit(id)).collect();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(id) => {
                    let place = self.place(id);
                    if self.done[id.index()] == self.stack[place].id {
                        continue;
                    }
                    match self.nest.graph.node(id) {
                        node if is_known(node) => {}
                        Node::Reduce(_, over, _) => {
                            let group = (self.placement(id), over, self.phase[id.index()]);
                            let scope = self.stack[place].id;
                            tasks.push(Task::Loop(group, place as u32));
                            for reduction in self.members(group, scope).into_iter().rev() {
                                tasks.extend(self.outside(reduction).into_iter().rev().map(Task::Visit));
                            }
                        }
                        node => {
                            tasks.push(Task::Compute(id));
                            tasks.extend(node.operands().iter().rev().map(|&a| Task::Visit(a)));
                        }
                    }
                }
                Task::Compute(id) => {
                    let place = self.place(id);
                    let scope = &mut self.stack[place];
                    if self.done[id.index()] != scope.id {
                        self.done[id.index()] = scope.id;
                        scope.steps.push(Step::Compute(id));
                    }
                }
                Task::Loop(group, place) => self.reduction(group, place as usize),
            }
        }
    }

    fn reduction_of(&self, node: NodeId) -> LoopReduction {
        match self.nest.graph.node(node) {
            Node::Reduce(reduction, over, term) => LoopReduction { node, reduction, over, term },
            other => broken(&format!("{other:?} is in the list of reductions")),
        }
    }

    /// The reductions of a group that a body needs.
    fn members(&self, group: Group, scope: u32) -> Vec<NodeId> {
        let all = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        let levels = matches!(group.0, Placement::Level(_));
        let wanted = if levels { 1 } else { scope + 1 };
        all.iter().copied().filter(|f| self.wanted[f.index()] == wanted).collect()
    }

    /// Appends the loop of a group.
    fn reduction(&mut self, group: Group, place: usize) {
        let (_, over, _) = group;
        let outer = self.stack[place].id;
        let reductions: Vec<NodeId> = self.members(group, outer);
        if reductions.iter().all(|f| self.done[f.index()] == outer) {
            return;
        }
        let reductions: Vec<LoopReduction> = reductions.into_iter().map(|node| self.reduction_of(node)).collect();
        let terms: Vec<NodeId> = reductions.iter().map(|f| f.term).collect();
        // No node computed here belongs to a body deeper than that of the reductions.
        let inner = self.stack.split_off(self.levels.max(place + 1));
        let scope = Scope::new(&mut self.scopes, Some(over));
        self.want(terms.iter().copied(), Some(over), scope.id);
        self.stack.push(scope);
        self.run(&terms);
        let Some(Scope { steps, .. }) = self.stack.pop() else { broken("the loop of a reduction has no body") };
        self.stack.extend(inner);
        for f in &reductions {
            self.done[f.node.index()] = outer;
        }
        self.stack[place].steps.push(Step::Loop(Body { counter: Counter::Loop(over), reductions, steps }));
    }
}
