//! Derivatives of reductions.
//!
//! The derivative of `sum(k: f(u[k], v[i]))` with respect to `v[i]` is again a sum. The derivative with respect to
//! `u[k]` is one value for each k, and the entry loop also runs over k. It gets a separate loop, because its value may
//! contain other sums over the same indices.

use std::collections::BTreeMap;

use super::gradient::{Gradient, ReductionRule};
use super::tangent::call_tangent;
use crate::builtin::{logic, rounding};
use crate::graph::{Graph, Node, NodeId, QuickMap};
use crate::nest::carry::Carrier;
use crate::nest::{AccessId, Element, LoopId, ReduceOp, Space};

/// The loops and accesses that differentiation adds to a nest.
pub(super) struct Reductions {
    /// The space, extended by loops and accesses.
    pub space: Space,
    carrier: Carrier,
    /// For each loop of a reduction: the iteration loop of the entry loops that replaces it.
    entry_loops: QuickMap<LoopId, LoopId>,
    /// For each product: the loop over its other factors.
    others: QuickMap<NodeId, LoopId>,
    /// The columns of gradients: an access, and the reduction loops that became loops of its entry loop.
    columns: Vec<(AccessId, Vec<LoopId>)>,
    index: QuickMap<(AccessId, Vec<LoopId>), u32>,
}

impl Reductions {
    /// Starts with the space of a nest; the first columns are its accesses.
    pub fn new(space: Space) -> Reductions {
        let columns: Vec<_> = (0..space.accesses().len()).map(|a| (AccessId(a as u32), Vec::new())).collect();
        let index = columns.iter().enumerate().map(|(i, c)| (c.clone(), i as u32)).collect();
        Reductions {
            space,
            carrier: Carrier::default(),
            entry_loops: QuickMap::default(),
            others: QuickMap::default(),
            columns,
            index,
        }
    }

    /// The column of an element. A kernel reads scalars at known positions or accesses, never both, so arrays and
    /// accesses may share numbers.
    pub fn column_of(element: Element) -> u32 {
        match element {
            Element::Scalar(array) => array.0,
            Element::At(access) => access.0,
        }
    }

    /// The derivative of every node that the roots need along a direction, from those of the leaves; `None`: zero.
    pub fn slopes(
        &mut self,
        graph: &mut Graph,
        roots: impl IntoIterator<Item = NodeId>,
        leaf: impl Fn(&mut Graph, Node) -> Option<NodeId>,
    ) -> Vec<Option<NodeId>> {
        let live = graph.reachable(roots);
        let mut slopes: Vec<Option<NodeId>> = vec![None; live.len()];
        for i in (0..live.len()).filter(|&i| live[i]) {
            let id = NodeId(i as u32);
            let node = graph.node(id);
            slopes[i] = match node {
                Node::Call(..) => call_tangent(graph, id, node, &slopes),
                Node::Reduce(_, over, term) => slopes[term.index()]
                    .and_then(|slope| self.change(graph, id, slope))
                    .map(|change| graph.insert(Node::Reduce(ReduceOp::Sum, over, change))),
                _ => leaf(graph, node),
            };
        }
        slopes
    }

    /// The access of a column in the loops of its entry loop, and the reduction loops that these replace, ascending.
    pub fn column(&mut self, column: u32) -> (Element, Vec<LoopId>) {
        let (mut access, loops) = self.columns[column as usize].clone();
        for &l in &loops {
            let to = self.entry_loop(l);
            access = self.carrier.access(&mut self.space, access, l, to);
        }
        (Element::At(access), loops)
    }

    /// The iteration loop of entry loops that replaces the loop of a reduction.
    pub fn entry_loop(&mut self, l: LoopId) -> LoopId {
        let space = &mut self.space;
        *self.entry_loops.entry(l).or_insert_with(|| space.push_loop(space.loops()[l.0 as usize].clone()))
    }

    /// The change of a reduction for a small change of its term at one index; `None` if it does not change.
    pub fn change(&mut self, graph: &mut Graph, id: NodeId, slope: NodeId) -> Option<NodeId> {
        let Node::Reduce(reduction, over, term) = graph.node(id) else { return None };
        let position = match reduction {
            ReduceOp::Sum => return Some(slope),
            ReduceOp::Product => {
                let others = self.others(graph, id, over, term);
                return Some(graph.mul(slope, others));
            }
            ReduceOp::Min => ReduceOp::ArgMin,
            ReduceOp::Max => ReduceOp::ArgMax,
            ReduceOp::ArgMin | ReduceOp::ArgMax => return None,
        };
        let attained = graph.insert(Node::Reduce(position, over, term));
        let index = graph.insert(Node::Index(over));
        let here = graph.apply(&logic::EQ, &[index, attained]);
        let zero = graph.constant(0.0);
        Some(graph.apply(&logic::IF, &[here, slope, zero]))
    }

    /// The product of the factors at all other indices of its loop: the product divided by the factor. If the factor
    /// is zero, and is the first or the second one that is zero, the factors are multiplied without it. If it is a
    /// later one, two others are zero. So all products together take a number of operations that is linear in the
    /// number of factors, and a derivative of these expressions is right, too.
    fn others(&mut self, graph: &mut Graph, id: NodeId, over: LoopId, term: NodeId) -> NodeId {
        let space = &mut self.space;
        let inner = *self.others.entry(id).or_insert_with(|| space.push_loop(space.loops()[over.0 as usize].clone()));
        let factor = self.carrier.node(graph, space, term, over, inner);
        let (other, this) = (graph.insert(Node::Index(inner)), graph.insert(Node::Index(over)));
        let (zero, one, infinite) = (graph.constant(0.0), graph.constant(1.0), graph.constant(f64::INFINITY));
        let size = graph.apply(&rounding::ABS, &[factor]);
        let without = |graph: &mut Graph, size: NodeId| {
            let least = graph.insert(Node::Reduce(ReduceOp::ArgMin, inner, size));
            let differs = graph.apply(&logic::NE, &[other, least]);
            let rest = graph.apply(&logic::IF, &[differs, factor, one]);
            (least, differs, graph.insert(Node::Reduce(ReduceOp::Product, inner, rest)))
        };
        let (first, not_first, without_first) = without(graph, size);
        let size = graph.apply(&logic::IF, &[not_first, size, infinite]);
        let (second, _, without_second) = without(graph, size);
        let is_first = graph.apply(&logic::EQ, &[this, first]);
        let is_second = graph.apply(&logic::EQ, &[this, second]);
        let later = graph.apply(&logic::IF, &[is_second, without_second, zero]);
        let at_zero = graph.apply(&logic::IF, &[is_first, without_first, later]);
        let quotient = graph.div(id, term);
        let not_zero = graph.apply(&logic::NE, &[term, zero]);
        graph.apply(&logic::IF, &[not_zero, quotient, at_zero])
    }
}

impl ReductionRule for Reductions {
    fn gradient(&mut self, graph: &mut Graph, reduction: NodeId, term: &Gradient) -> Gradient {
        let Node::Reduce(_, over, _) = graph.node(reduction) else { return Vec::new() };
        let mut sum: BTreeMap<u32, NodeId> = BTreeMap::new();
        for &(column, slope) in term {
            let Some(node) = self.change(graph, reduction, slope) else { continue };
            let (access, mut loops) = self.columns[column as usize].clone();
            let opens = !loops.contains(&over) && self.space.loops_of(access).contains(&over);
            let (column, node) = if opens {
                loops.push(over);
                loops.sort_unstable();
                let to = self.entry_loop(over);
                let node = self.carrier.node(graph, &mut self.space, node, over, to);
                let next = self.columns.len() as u32;
                let column = *self.index.entry((access, loops.clone())).or_insert(next);
                if column == next {
                    self.columns.push((access, loops));
                }
                (column, node)
            } else {
                (column, graph.insert(Node::Reduce(ReduceOp::Sum, over, node)))
            };
            let node = sum.get(&column).map_or(node, |&other| graph.add(other, node));
            sum.insert(column, node);
        }
        sum.into_iter().collect()
    }
}
