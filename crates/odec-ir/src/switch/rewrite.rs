//! Replaces comparisons by modes in one kernel.

mod magnitudes;
mod results;
mod roots;
mod sides;
mod timed;

use std::f64::consts::PI;

use self::magnitudes::Magnitude;
use super::keys::Key;
use super::locate::{LocatedRelation, LocatedSwitches, is_root, is_switch};
use super::reads::Variability;
use super::times::{Clock, Times, knots};
use super::{Knots, PieceCounter};
use crate::builtin::{Op, logic};
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap, QuickSet};
use crate::nest::{Axis, Element, Kernel, LoopId, Margin, ReduceOp, Region};
use crate::program::{Array, ArrayId, Role};
use crate::span::Span;
use crate::stage::{self, Stage};

/// The replacement of a node that depends on modes.
enum Replacement {
    /// A value that jumps at known times (for `abs`, `min` and `max`: the truth of their comparison), as a node of `clock`.
    Timed(NodeId, Vec<Times>),
    /// `mod(u, P)` as `u - P*n`, where n is timed.
    Remainder(NodeId, Vec<Times>),
}

/// The rewriting of one kernel.
pub(super) struct Rewrite<'a> {
    kernel: &'a mut Kernel,
    sketch: &'a mut LocatedSwitches,
    arrays: &'a mut Vec<Array>,
    axes: &'a mut Vec<Axis>,
    scalar: bool,
    takes: ModeNodes,
    /// For each node of the kernel: the loops that it varies with.
    loops: Vec<Vec<LoopId>>,
    stages: Vec<Stage>,
    /// The graph of the kernel, with the times of jumps.
    clock: Clock,
    /// The nodes of `clock` and of `graph` in [`LocatedSwitches::keys`].
    clock_keys: QuickMap<NodeId, NodeId>,
    graph_keys: QuickMap<NodeId, NodeId>,
    /// For each node of `graph`: how long its value stays constant.
    holds: Vec<Variability>,
    /// Nodes of `graph` that are magnitudes.
    magnitudes: QuickMap<NodeId, Magnitude>,
    /// The comparisons of timed modes as they are written, by the nodes that read the modes; see [`sides`].
    written: QuickMap<NodeId, NodeId>,
    /// True if the kernel needs them.
    needs_written: bool,
    /// For each node of `graph`: true if it depends on time.
    timed: Vec<bool>,
    /// The new graph.
    graph: Graph,
    /// Relations that this kernel reads, without duplicates.
    watched: Vec<ModeRead>,
    watching: QuickSet<usize>,
    /// Kernels under construction, by the loops that they iterate: sides, rates, values, facts.
    groups: Vec<Group>,
    /// The differences of the new relations.
    differences: Vec<Difference>,
}

/// The difference of both sides of a relation.
struct Difference {
    relation: usize,
    group: usize,
    loops: Vec<LoopId>,
    id: NodeId,
    node: NodeId,
}

/// The nodes that become modes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeNodes {
    /// Everything that switches. With `keeps`, a switch found before gets the same mode.
    New { keeps: bool },
    /// Only switches found before.
    Known,
}

/// A relation, and the node that reads its mode.
struct ModeRead {
    relation: usize,
    group: usize,
    /// The node that reads its mode; for a relation of a counter, the node that reads the count.
    mode: NodeId,
    sides: [NodeId; 2],
}

#[derive(Default)]
struct Group {
    loops: Vec<LoopId>,
    sides: Vec<(ArrayId, NodeId)>,
    rates: Vec<(ArrayId, NodeId)>,
    values: Vec<(ArrayId, NodeId)>,
    times: Vec<(ArrayId, NodeId)>,
    exists: Vec<ArrayId>,
    reads: Vec<(ArrayId, NodeId)>,
}

impl<'a> Rewrite<'a> {
    pub fn of(
        kernel: &'a mut Kernel,
        sketch: &'a mut LocatedSwitches,
        arrays: &'a mut Vec<Array>,
        axes: &'a mut Vec<Axis>,
        (scalar, takes): (bool, ModeNodes),
    ) -> Rewrite<'a> {
        let stages = stage::of(kernel, arrays);
        let mut loops: Vec<Vec<LoopId>> = Vec::with_capacity(kernel.graph.len());
        for node in kernel.graph.nodes() {
            let own = match *node {
                Node::Index(l) => vec![l],
                Node::Read(Element::At(a)) | Node::Direction(Element::At(a)) => kernel.space.loops_of(a),
                Node::Reduce(_, over, term) => loops[term.index()].iter().copied().filter(|l| *l != over).collect(),
                _ => {
                    let mut all: Vec<LoopId> =
                        node.operands().iter().flat_map(|a| &loops[a.index()]).copied().collect();
                    all.sort_unstable();
                    all.dedup();
                    all
                }
            };
            loops.push(own);
        }
        let needs_written = sides::may_fail(&kernel.graph);
        let clock = Clock::new(kernel.graph.clone(), stages.clone());
        let (graph, groups) = (Graph::new(), Vec::new());
        let (clock_keys, graph_keys, holds) = (QuickMap::default(), QuickMap::default(), Vec::new());
        Rewrite {
            kernel,
            sketch,
            arrays,
            axes,
            scalar,
            takes,
            loops,
            stages,
            clock,
            clock_keys,
            graph_keys,
            holds,
            magnitudes: QuickMap::default(),
            written: QuickMap::default(),
            needs_written,
            timed: Vec::new(),
            graph,
            watched: Vec::new(),
            watching: QuickSet::default(),
            groups,
            differences: Vec::new(),
        }
    }

    pub fn run(mut self) {
        let len = self.kernel.graph.len();
        let (plans, modal, plain) = self.plan();
        // the original node and the node with modes
        let (mut as_was, mut moded) = (NodeMap::new(len), NodeMap::new(len));
        for i in 0..len {
            let id = NodeId(i as u32);
            if plain[i] {
                let new = match smooth(self.kernel.graph.node(id)) {
                    Some(inner) => as_was[inner],
                    None => self.copy(id, &as_was),
                };
                as_was.set(id, new);
            }
            if modal[i] {
                let new = match (&plans[i], smooth(self.kernel.graph.node(id))) {
                    (Some(plan), _) => self.timed(id, plan, &moded, &as_was),
                    (None, Some(inner)) => as_was[inner],
                    (None, None) => self.switched(id, &moded),
                };
                self.carry_magnitude(new);
                for &span in self.kernel.graph.spans(id) {
                    self.graph.add_span(new, span);
                }
                moded.set(id, new);
            }
        }
        self.linear_relations();
        self.check_branches(&modal, &moded);
        for store in &mut self.kernel.stores {
            store.node = moded[store.node];
        }
        self.reads();
        self.flush();
        let graph = std::mem::take(&mut self.graph);
        self.kernel.graph = graph;
        *self.kernel = self.kernel.rewritten(|_, _, _, _| None);
    }

    fn copy(&mut self, id: NodeId, map: &NodeMap) -> NodeId {
        let new = stage::copy(&self.kernel.graph, id, map, &mut self.graph);
        for &span in self.kernel.graph.spans(id) {
            self.graph.add_span(new, span);
        }
        new
    }

    /// The timed modes, the nodes that modes reach, and the nodes that are needed unchanged, under `smooth`.
    fn plan(&mut self) -> (Vec<Option<Replacement>>, Vec<bool>, Vec<bool>) {
        let len = self.kernel.graph.len();
        let mut plans: Vec<Option<Replacement>> = (0..len).map(|_| None).collect();
        let (mut modal, mut plain) = (vec![false; len], vec![false; len]);
        for store in &self.kernel.stores {
            modal[store.node.index()] = true;
        }
        for i in (0..len).rev() {
            let id = NodeId(i as u32);
            let node = self.kernel.graph.node(id);
            if modal[i] {
                let by_time = self.stages[i] == Stage::Time && is_switch(node);
                plans[i] = if by_time { self.by_time(id) } else { None };
                match (&plans[i], smooth(node)) {
                    (None, Some(inner)) => plain[inner.index()] = true,
                    (None, None) => {
                        node.operands().iter().for_each(|a| modal[a.index()] = true);
                    }
                    (Some(Replacement::Timed(..)), _) => {
                        let Node::Call(op, args) = node else { continue };
                        let args = &args[..usize::from(op.0.arity)];
                        let is_choice = matches!(op.0.name, "abs" | "min" | "max");
                        if is_choice {
                            for a in args {
                                modal[a.index()] = true;
                            }
                        }
                        if self.needs_written && (is_choice || matches!(op.0.name, "lt" | "le")) {
                            for a in args {
                                plain[a.index()] = true;
                            }
                        }
                    }
                    (Some(Replacement::Remainder(..)), _) => {
                        node.operands().iter().for_each(|a| modal[a.index()] = true);
                    }
                }
            }
            if plain[i] {
                node.operands().iter().for_each(|a| plain[a.index()] = true);
            }
        }
        (plans, modal, plain)
    }

    /// The key of a node of the new graph that varies with these loops.
    fn key(&mut self, node: NodeId, loops: &[LoopId]) -> Option<NodeId> {
        let Rewrite { graph, graph_keys, sketch, scalar, takes, kernel, .. } = self;
        match (*scalar, *takes) {
            (_, ModeNodes::New { keeps: false }) => None,
            (true, _) => Some(sketch.keys.scalar(graph, node, graph_keys)),
            (false, _) => sketch.keys.nested(graph, node, kernel, loops),
        }
    }

    /// A node whose operands have been replaced, with its mode.
    fn switched(&mut self, id: NodeId, moded: &NodeMap) -> NodeId {
        let node = self.kernel.graph.node(id);
        let Node::Call(op, args) = node else { return self.copy(id, moded) };
        let stage = self.stages[id.index()];
        if stage > Stage::Time && is_root(node) {
            let made = self.root(id, moded).or_else(|| self.odd_root(id, moded));
            return made.unwrap_or_else(|| self.copy(id, moded));
        }
        if stage < Stage::Time || !is_switch(node) {
            return self.root(id, moded).unwrap_or_else(|| self.copy(id, moded));
        }
        let arity = usize::from(op.0.arity);
        let operands: Vec<NodeId> = args[..arity].iter().map(|a| moded[*a]).collect();
        if self.steady(&operands) {
            return self.copy(id, moded);
        }
        let kernel = &*self.kernel;
        if let Some((knots, _)) = knots(&kernel.graph, id, |element| kernel.array(element)) {
            return self.follow(id, operands[1], Some(knots)).unwrap_or_else(|| self.copy(id, moded));
        }
        let zero = self.graph.constant(0.0);
        let made = match (op.0.name, operands.as_slice()) {
            ("lt", &[a, b]) => self.truth(id, b, a, false, false),
            ("le", &[a, b]) => self.truth(id, b, a, true, false),
            ("abs", &[a]) => self.truth(id, a, zero, false, true).map(|positive| {
                let opposite = self.graph.neg(a);
                let made = self.graph.apply(&logic::IF, &[positive, a, opposite]);
                self.is_magnitude(made, a, opposite);
                made
            }),
            ("min", &[a, b]) => {
                self.truth(id, b, a, true, true).map(|first| self.graph.apply(&logic::IF, &[first, a, b]))
            }
            ("max", &[a, b]) => {
                self.truth(id, a, b, true, true).map(|first| self.graph.apply(&logic::IF, &[first, a, b]))
            }
            ("sign", &[a]) => self.sign(id, a, zero),
            ("atan2", &[y, x]) => self.angle(id, [y, x], zero, moded),
            ("floor", &[u]) => self.count(id, u),
            ("ceil", &[u]) => {
                let opposite = self.graph.neg(u);
                self.count(id, opposite).map(|n| self.graph.neg(n))
            }
            ("round", &[u]) => {
                let half = self.graph.constant(0.5);
                let above = self.graph.add(u, half);
                self.count(id, above)
            }
            ("mod", &[u, period]) => {
                let ratio = self.graph.div(u, period);
                self.count(id, ratio).map(|n| self.remainder(n, u, period))
            }
            _ => None,
        };
        made.unwrap_or_else(|| self.copy(id, moded))
    }

    fn sign(&mut self, id: NodeId, a: NodeId, zero: NodeId) -> Option<NodeId> {
        let positive = self.truth(id, a, zero, false, false)?;
        let negative = self.truth(id, zero, a, false, false)?;
        let (one, minus) = (self.graph.constant(1.0), self.graph.constant(-1.0));
        let otherwise = self.graph.apply(&logic::IF, &[negative, minus, zero]);
        Some(self.graph.apply(&logic::IF, &[positive, one, otherwise]))
    }

    /// An angle that continues across its cut, where x < 0 and y = 0: the opposite angle plus or minus half a turn.
    fn angle(&mut self, id: NodeId, [y, x]: [NodeId; 2], zero: NodeId, moded: &NodeMap) -> Option<NodeId> {
        let Node::Call(op, _) = self.kernel.graph.node(id) else { return None };
        let right = self.truth(id, x, zero, false, true)?;
        let above = self.truth(id, y, zero, true, false)?;
        let [up, down] = [PI, -PI].map(|half| self.graph.constant(half));
        let half = self.graph.apply(&logic::IF, &[above, up, down]);
        let opposite = [self.graph.neg(y), self.graph.neg(x)];
        let opposite = self.graph.apply(op.0, &opposite);
        let turned = self.graph.add(opposite, half);
        let plain = self.copy(id, moded);
        Some(self.graph.apply(&logic::IF, &[right, plain, turned]))
    }

    /// True if no operand varies inside a step.
    fn steady(&mut self, operands: &[NodeId]) -> bool {
        while self.holds.len() < self.graph.len() {
            let node = self.graph.nodes()[self.holds.len()];
            self.holds.push(match node {
                Node::Time | Node::Direction(_) => Variability::Varies,
                Node::Read(element) => match self.arrays[self.kernel.array(element).0 as usize].role {
                    role if role.is_state() => Variability::Varies,
                    Role::Mode => Variability::Mode,
                    _ => Variability::Written,
                },
                _ => node.operands().iter().map(|a| self.holds[a.index()]).max().unwrap_or(Variability::Written),
            });
        }
        operands.iter().all(|operand| self.holds[operand.index()] != Variability::Varies)
    }

    /// The mode of `left > right`.
    fn truth(&mut self, id: NodeId, left: NodeId, right: NodeId, or_equal: bool, bends: bool) -> Option<NodeId> {
        if self.magnitudes.contains_key(&left) || self.magnitudes.contains_key(&right) {
            return self.truth_of_magnitude(id, [left, right], or_equal, bends);
        }
        let loops = self.loops[id.index()].clone();
        let keys = self.key(left, &loops).zip(self.key(right, &loops));
        let key = keys.map(|(a, b)| Key::ArrayRelation(a, b, or_equal));
        let found = key.and_then(|key| self.sketch.known.get(&key).copied());
        if let Some(LocatedRelation { array, number }) = found {
            if self.takes != ModeNodes::Known {
                // if one use jumps, the relation jumps
                self.sketch.relations[number].bends &= bends;
            }
            let mode = self.read(array, &loops);
            self.watch(number, &loops, mode, [left, right]);
            self.keep_relation(id, mode, [left, right], or_equal);
            return Some(mode);
        }
        if self.takes == ModeNodes::Known {
            return None;
        }
        let (group, domain) = self.group(&loops);
        let array = self.array(Role::Mode, format!("mode.{}", self.arrays.len()), &domain, id);
        let number = self.relation(group, &domain, id, Some(array), [left, right], or_equal, bends);
        let mode = self.read(array, &loops);
        self.watch(number, &loops, mode, [left, right]);
        self.sketch.known.extend(key.map(|key| (key, LocatedRelation { array, number })));
        self.keep_relation(id, mode, [left, right], or_equal);
        Some(mode)
    }

    /// The largest integer not above u.
    fn count(&mut self, id: NodeId, u: NodeId) -> Option<NodeId> {
        self.follow(id, u, None)
    }

    /// The largest integer not above u, or the number of the piece that contains u.
    fn follow(&mut self, id: NodeId, u: NodeId, knots: Option<Knots>) -> Option<NodeId> {
        let bends = knots.is_some_and(|knots| !knots.jumps);
        let loops = self.loops[id.index()].clone();
        let key = self.key(u, &loops).map(|u| Key::Counter(u, knots.map(|knots| knots.table)));
        let found = key.and_then(|key| self.sketch.known.get(&key)).map(|known| known.number);
        if found.is_none() && self.takes == ModeNodes::Known {
            return None;
        }
        let number = match found {
            Some(number) => number,
            None => {
                let (group, domain) = self.group(&loops);
                let k = self.sketch.counters.len();
                let discretes =
                    ["count", "low", "high"].map(|name| self.array(Role::Discrete, format!("{name}.{k}"), &domain, id));
                let [low, high] = [discretes[1], discretes[2]].map(|array| self.read(array, &domain));
                let up = self.relation(group, &domain, id, None, [u, high], true, bends);
                let down = self.relation(group, &domain, id, None, [low, u], false, bends);
                self.sketch.counters.push(PieceCounter { knots, discretes, up, down, span: self.span(id) });
                self.sketch.known.extend(key.map(|key| (key, LocatedRelation { array: discretes[0], number: k })));
                k
            }
        };
        let PieceCounter { discretes, up, down, .. } = self.sketch.counters[number];
        let [count, low, high] = discretes.map(|array| self.read(array, &loops));
        self.watch(up, &loops, count, [u, high]);
        self.watch(down, &loops, count, [low, u]);
        Some(count)
    }

    /// Records that this kernel reads a relation through this node.
    fn watch(&mut self, relation: usize, loops: &[LoopId], mode: NodeId, sides: [NodeId; 2]) {
        if self.watching.insert(relation) {
            let (group, _) = self.group(loops);
            self.watched.push(ModeRead { relation, group, mode, sides });
        }
    }

    fn span(&self, id: NodeId) -> Span {
        self.kernel.graph.spans(id).first().copied().unwrap_or_default()
    }

    fn existence(&mut self, group: usize, loops: &[LoopId], id: NodeId) -> Option<ArrayId> {
        (self.kernel.region != Region::Whole && !loops.is_empty()).then(|| {
            let array = self.array(Role::Side, format!("exists.{}", self.arrays.len()), loops, id);
            self.groups[group].exists.push(array);
            array
        })
    }

    /// The group of kernels for values that vary with these loops, and all loops that it iterates.
    fn group(&mut self, loops: &[LoopId]) -> (usize, Vec<LoopId>) {
        let (domain, ..) = domain(self.kernel, loops);
        let at = self.groups.iter().position(|group| group.loops == domain).unwrap_or_else(|| {
            self.groups.push(Group { loops: domain.clone(), ..Group::default() });
            self.groups.len() - 1
        });
        (at, domain)
    }

    /// A new array over these loops.
    fn array(&mut self, role: Role, name: String, loops: &[LoopId], id: NodeId) -> ArrayId {
        let span = self.span(id);
        self.array_at(role, name, loops, span)
    }

    fn array_at(&mut self, role: Role, name: String, loops: &[LoopId], span: Span) -> ArrayId {
        let axes = loops.iter().map(|l| stage::axis(self.axes, &self.kernel.space.loops()[l.0 as usize])).collect();
        self.arrays.push(Array {
            name,
            role,
            axes,
            default: 0.0,
            data: Vec::new().into(),
            unit: None,
            doc: None,
            span,
        });
        ArrayId(self.arrays.len() as u32 - 1)
    }

    /// The element of an array of [`Rewrite::array`] at the indices of the loops.
    fn read(&mut self, array: ArrayId, loops: &[LoopId]) -> NodeId {
        let (over, ..) = domain(self.kernel, loops);
        let element = stage::element(array, self.scalar, &over, &mut self.kernel.space);
        self.graph.read(element)
    }

    /// Marks the logic under `smooth`, and choices by it.
    fn opted_out(&self) -> Vec<bool> {
        let mut found: Vec<bool> = Vec::with_capacity(self.kernel.graph.len());
        for node in self.kernel.graph.nodes() {
            let logic = |op: Op| matches!(op.0.name, "and" | "or" | "not" | "eq" | "ne");
            found.push(match *node {
                node if smooth(node).is_some() => true,
                Node::Call(op, args) if op.0.name == "if" => found[args[0].index()],
                Node::Call(op, _) if logic(op) => node.operands().iter().any(|a| found[a.index()]),
                _ => false,
            });
        }
        found
    }

    /// Records the remaining jumps and kinks.
    fn check_branches(&mut self, modal: &[bool], moded: &NodeMap) {
        if self.takes == ModeNodes::Known {
            return;
        }
        let asked = self.opted_out();
        for (i, modal) in modal.iter().enumerate() {
            if !modal || self.stages[i] < Stage::Time || asked[i] {
                continue;
            }
            let id = NodeId(i as u32);
            let left = match self.kernel.graph.node(id) {
                Node::Reduce(ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax, ..) => {
                    !self.steady(&[moded[id]])
                }
                Node::Call(op, args) if op.0.name == "if" => !self.steady(&[moded[args[0]]]),
                Node::Call(op, _) if matches!(op.0.name, "and" | "or" | "not" | "eq" | "ne") => {
                    !self.steady(&[moded[id]])
                }
                _ => false,
            };
            if left {
                self.sketch.unlocated.extend(self.kernel.graph.spans(id).first());
            }
        }
    }
}

/// The loops that kernels over these loops iterate: for an interior or boundary region all loops of the kernel, since
/// the region consists of points.
pub(super) fn domain(kernel: &Kernel, loops: &[LoopId]) -> (Vec<LoopId>, Region, Vec<Margin>) {
    let own: Vec<LoopId> = kernel.iterates.iter().copied().filter(|l| loops.contains(l)).collect();
    let reductions = loops.iter().copied().filter(|l| !kernel.iterates.contains(l));
    if own.is_empty() || kernel.region == Region::Whole {
        return (own.into_iter().chain(reductions).collect(), Region::Whole, Vec::new());
    }
    (kernel.iterates.iter().copied().chain(reductions).collect(), kernel.region, kernel.margins.clone())
}

/// The operand of `smooth`.
pub(super) fn smooth(node: Node) -> Option<NodeId> {
    match node {
        Node::Call(op, args) if op == Op(&logic::SMOOTH) => Some(args[0]),
        _ => None,
    }
}
