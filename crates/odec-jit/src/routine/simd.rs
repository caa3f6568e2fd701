//! Pairs independent roots and quotients, so that one instruction on two lanes computes both: the divider takes as
//! long for two numbers as for one, and it dominates the time of code with many distances or rate laws.

use std::collections::HashMap;

use odec_ir::nest::schedule::Step;
use odec_ir::{Graph, Lowering, Node, NodeId, Primitive};

/// Largest number of steps between two paired operations: the inputs of the second one are computed earlier and
/// occupy registers.
const REACH: usize = 64;
/// Largest difference in cycles between the times at which their operands are available, counting only latencies.
const WAIT: u32 = 8;

/// True for an operation that is computed in pairs.
fn is_paired(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::Div | Primitive::Sqrt | Primitive::Hypot)
}

/// The operation of two successive steps, if one instruction can compute both.
pub(crate) fn pair(graph: &Graph, first: &Step, second: &Step) -> Option<(Primitive, [NodeId; 2])> {
    let (&Step::Compute(first), &Step::Compute(second)) = (first, second) else { return None };
    let (one, other) = (primitive_of(graph, first)?, primitive_of(graph, second)?);
    let waits = graph.node(second).operands().contains(&first);
    (one == other && is_paired(one) && !waits).then_some((one, [first, second]))
}

fn primitive_of(graph: &Graph, node: NodeId) -> Option<Primitive> {
    let Node::Call(op, _) = graph.node(node) else { return None };
    if let Lowering::Primitive(primitive) = op.0.lowering { Some(primitive) } else { None }
}

/// Approximate latency in cycles on a current processor.
fn latency(graph: &Graph, node: NodeId) -> u32 {
    match primitive_of(graph, node) {
        Some(Primitive::Div) => 13,
        Some(Primitive::Sqrt) => 20,
        Some(Primitive::Hypot) => 30,
        Some(_) => 4,
        // a function call
        None => 60,
    }
}

/// Reorders the steps of a kernel without loops. Each operation still follows its operands, and results do not change.
pub(super) fn pair_operations(graph: &Graph, steps: &mut Vec<Step>) {
    let partner_of = find_pairs(graph, steps);
    if partner_of.is_empty() {
        return;
    }
    let mut order =
        Order { graph, partner_of, written: vec![false; graph.len()], steps: Vec::with_capacity(steps.len()) };
    for step in steps.drain(..) {
        match step {
            Step::Compute(node) => order.compute(node),
            other => order.steps.push(other),
        }
    }
    *steps = order.steps;
}

/// The partner of each operation. On the longest path from the inputs, both have the same number of such operations
/// before them, so neither depends on the other, and no earlier pair depends on them.
fn find_pairs(graph: &Graph, steps: &[Step]) -> HashMap<NodeId, NodeId> {
    let (mut depth, mut ready) = (vec![0u32; graph.len()], vec![0u32; graph.len()]);
    // the last one without a partner, for each kind and depth: its node, its step, and the time at which it may start
    let mut alone: HashMap<(u8, u32), (NodeId, usize, u32)> = HashMap::new();
    let mut partner_of = HashMap::new();
    for (k, step) in steps.iter().enumerate() {
        let &Step::Compute(node) = step else { continue };
        let (mut before, mut begin) = (0, 0);
        for operand in graph.node(node).operands() {
            before = before.max(depth[operand.index()]);
            begin = begin.max(ready[operand.index()]);
        }
        ready[node.index()] = begin + latency(graph, node);
        depth[node.index()] = before;
        let Some(primitive) = primitive_of(graph, node).filter(|&primitive| is_paired(primitive)) else { continue };
        depth[node.index()] += 1;
        let key = (primitive as u8, before);
        match alone.get(&key) {
            Some(&(other, at, moment)) if k - at <= REACH && begin.abs_diff(moment) <= WAIT => {
                alone.remove(&key);
                partner_of.insert(other, node);
                partner_of.insert(node, other);
            }
            _ => drop(alone.insert(key, (node, k, begin))),
        }
    }
    partner_of
}

/// Steps in their new order.
struct Order<'a> {
    graph: &'a Graph,
    partner_of: HashMap<NodeId, NodeId>,
    /// For each node.
    written: Vec<bool>,
    steps: Vec<Step>,
}

impl Order<'_> {
    /// Appends the missing inputs of a node, then the node, with its partner if it has one.
    fn compute(&mut self, root: NodeId) {
        let mut stack = vec![root];
        while let Some(&node) = stack.last() {
            if self.written[node.index()] {
                stack.pop();
                continue;
            }
            let group = [Some(node), self.partner_of.get(&node).copied()];
            let known = stack.len();
            for member in group.into_iter().flatten() {
                let member = self.graph.node(member);
                let missing = member.operands().iter().filter(|operand| {
                    !self.written[operand.index()] && matches!(self.graph.node(**operand), Node::Call(..))
                });
                stack.extend(missing);
            }
            if stack.len() > known {
                continue;
            }
            for member in group.into_iter().flatten() {
                self.written[member.index()] = true;
                self.steps.push(Step::Compute(member));
            }
            stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ir::expand;
    use odec_ir::nest::schedule::Schedule;
    use odec_ir::testing::{self, Shape};

    #[test]
    fn every_step_comes_once_and_behind_what_it_needs() {
        let mut is_paired = 0;
        for seed in 0..300 {
            let case = testing::case(seed, Shape { special: false, ..Shape::default() });
            for kernel in &case.program.kernels {
                let kernel = expand::expanded(kernel);
                let (graph, before) = (&kernel.graph, Schedule::of(&kernel).steps);
                let mut after = before.clone();
                pair_operations(graph, &mut after);
                let mut written = vec![false; graph.len()];
                for step in &after {
                    let needed = match step {
                        Step::Compute(node) => graph.node(*node).operands().to_vec(),
                        Step::Store(store) => vec![kernel.stores[*store as usize].node],
                        Step::Loop(_) => panic!("a loop"),
                    };
                    for node in needed {
                        let call = matches!(graph.node(node), Node::Call(..));
                        assert!(!call || written[node.index()], "seed {seed}");
                    }
                    if let Step::Compute(node) = step {
                        assert!(!std::mem::replace(&mut written[node.index()], true), "seed {seed}");
                    }
                }
                assert_eq!(after.len(), before.len());
                let stores = |steps: &[Step]| {
                    steps.iter().filter(|step| matches!(step, Step::Store(_))).cloned().collect::<Vec<_>>()
                };
                assert_eq!(stores(&before), stores(&after));
                is_paired += after.windows(2).filter(|two| pair(graph, &two[0], &two[1]).is_some()).count();
            }
        }
        assert!(is_paired > 100, "{is_paired}");
    }
}
