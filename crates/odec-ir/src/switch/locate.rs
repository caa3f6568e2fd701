//! The switches that odec locates in the kernels of a model, before and after differentiation.

use super::derivatives::DerivativeDraft;
use super::events::EventDraft;
use super::keys::{Key, Keys};
use super::rewrite::{ModeNodes, Rewrite, smooth};
use super::{ArrayRelation, PieceCounter, Switching, Timed, auxiliary};
use crate::graph::{Graph, Node, QuickMap};
use crate::nest::{Axis, Kernel, ReduceOp, Store, Target, fused};
use crate::program::{Array, ArrayId, KernelRole, Program};
use crate::span::Span;
use crate::stage::{self, Stage};

/// The switches located in the kernels of a model, before differentiation.
#[derive(Default)]
pub struct LocatedSwitches {
    pub(super) relations: Vec<ArrayRelation>,
    pub(super) counters: Vec<PieceCounter>,
    pub(super) timed: Vec<Timed>,
    pub(super) sides: Vec<Kernel>,
    pub(super) rates: Vec<Kernel>,
    pub(super) values: Vec<Kernel>,
    pub(super) facts: Vec<Kernel>,
    pub(super) reads: Vec<Kernel>,
    /// Source locations of jumps and kinks that are not located.
    pub unlocated: Vec<Span>,
    /// Modes and counters found so far, by their operands.
    pub(super) known: QuickMap<Key, LocatedRelation>,
    pub(super) keys: Keys,
}

/// A known mode or counter: the array of the mode or of the counter's n, and the number of the relation or counter.
#[derive(Clone, Copy)]
pub(super) struct LocatedRelation {
    pub array: ArrayId,
    pub number: usize,
}

/// Replaces switches by modes: in `Rhs` kernels; in `Outputs` kernels of a program without loops if they compare the
/// same quantities; and in right-hand sides of events that compare the same quantities as a condition. `None` if
/// nothing switches; the kernels are then unchanged.
///
/// A switch that depends only on time becomes a timed mode if the times of its jumps are known.
pub fn locate(
    arrays: &mut Vec<Array>,
    axes: &mut Vec<Axis>,
    kernels: &mut [Kernel],
    events: &mut EventDraft,
) -> Option<LocatedSwitches> {
    if !switches(arrays, kernels) && events.is_empty() {
        return None;
    }
    let scalar = kernels.iter().all(Kernel::is_scalar) && arrays.iter().all(|a| a.axes.is_empty());
    let mut sketch = LocatedSwitches::default();
    // a condition reads only modes and discretes
    for kernel in &mut events.conditions {
        Rewrite::of(kernel, &mut sketch, arrays, axes, (scalar, ModeNodes::New { keeps: true })).run();
    }
    for role in [KernelRole::Rhs, KernelRole::Outputs] {
        for kernel in kernels.iter_mut().filter(|kernel| kernel.role == role) {
            if role == KernelRole::Rhs {
                Rewrite::of(kernel, &mut sketch, arrays, axes, (scalar, ModeNodes::New { keeps: scalar })).run();
            } else if scalar {
                Rewrite::of(kernel, &mut sketch, arrays, axes, (scalar, ModeNodes::Known)).run();
            }
        }
    }
    // a right-hand side uses the modes of earlier comparisons of the same quantities
    for kernel in &mut events.values {
        Rewrite::of(kernel, &mut sketch, arrays, axes, (scalar, ModeNodes::Known)).run();
    }
    for kernel in kernels.iter().filter(|kernel| kernel.role == KernelRole::Mass) {
        let stages = stage::of(kernel, arrays);
        let left = kernel.live().filter(|(id, node)| stages[id.index()] >= Stage::Time && is_switch(*node));
        sketch.unlocated.extend(left.filter_map(|(id, _)| kernel.graph.spans(id).first()));
    }
    Some(sketch)
}

/// True if the equations contain a jump or a kink that depends on a quantity that changes during a run.
pub fn switches(arrays: &[Array], kernels: &[Kernel]) -> bool {
    let switching = |kernel: &Kernel| {
        let stages = stage::of(kernel, arrays);
        kernel.live().any(|(id, node)| {
            let stage = stages[id.index()];
            stage >= Stage::Time && is_switch(node) || stage > Stage::Time && is_root(node)
        })
    };
    kernels.iter().any(|kernel| matches!(kernel.role, KernelRole::Rhs | KernelRole::Mass) && switching(kernel))
}

/// The same kernels with each `smooth` replaced by its operand, for code that only evaluates them.
pub fn without_smooth(kernels: &mut [Kernel]) {
    for kernel in kernels {
        if kernel.graph.nodes().iter().any(|node| smooth(*node).is_some()) {
            *kernel = kernel.rewritten(|graph, _, id, map| smooth(graph.node(id)).map(|inner| map[inner]));
        }
    }
}

/// True for an operation with an infinite slope inside its domain. Error estimates are too small there, so steps end at
/// it, unless the root depends on time alone: the times near which such a root is steep are known.
pub(super) fn is_root(node: Node) -> bool {
    matches!(node, Node::Call(op, _) if op.0.name == "cbrt")
}

/// True for operations that have a jump or a kink.
pub(super) fn is_switch(node: Node) -> bool {
    match node {
        Node::Call(op, _) => {
            let choice = matches!(op.0.name, "if" | "and" | "or" | "not");
            op.0.switches && !choice || op.0.name == "atan2"
        }
        Node::Reduce(ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax, ..) => true,
        _ => false,
    }
}

impl LocatedSwitches {
    /// True if nothing was located.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.timed.is_empty()
    }

    /// The description of the modes for the program with derivatives that was made from the kernels.
    pub fn finish(self, program: &Program, events: EventDraft, derivatives: Option<DerivativeDraft>) -> Switching {
        let LocatedSwitches { relations, counters, timed, sides, rates, values, reads, facts, .. } = self;
        let made = |list: Vec<Kernel>| {
            let results = results(&list);
            auxiliary(program, joined(program, list), &results)
        };
        let [sides, rates, values, reads, facts] = [sides, rates, values, reads, facts].map(made);
        let events = events.finish(program);
        let derivatives = derivatives.map(|draft| draft.finish(program));
        Switching { relations, counters, timed, sides, rates, values, reads, facts, events, derivatives }
    }
}

/// The arrays that the kernels store.
pub(super) fn results(list: &[Kernel]) -> Vec<ArrayId> {
    let array = |kernel: &Kernel, store: &Store| match store.target {
        Target::Set(element) => Some(kernel.array(element)),
        _ => None,
    };
    let stored = |kernel: &Kernel| kernel.stores.iter().filter_map(|s| array(kernel, s)).collect::<Vec<_>>();
    let mut all: Vec<ArrayId> = Vec::new();
    for array in list.iter().flat_map(stored) {
        if !all.contains(&array) {
            all.push(array);
        }
    }
    all
}

/// Kernels of results in the form of a program: without loops, they are joined to one kernel.
pub(super) fn joined(program: &Program, list: Vec<Kernel>) -> Vec<Kernel> {
    if program.is_scalar() { one(&list) } else { list.into_iter().map(fused).collect() }
}

/// Joins kernels without loops to one.
fn one(list: &[Kernel]) -> Vec<Kernel> {
    let mut graph = Graph::new();
    let mut stores = Vec::new();
    for kernel in list {
        let map = stage::copied(&kernel.graph, kernel.stores.iter().map(|s| s.node), &mut graph);
        stores.extend(kernel.stores.iter().map(|s| Store { node: map[s.node], ..*s }));
    }
    if list.is_empty() { Vec::new() } else { vec![Kernel::scalar(KernelRole::Outputs, graph, stores)] }
}
