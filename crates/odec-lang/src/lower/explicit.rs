//! Derivatives that an equation gives as it stands, `x' = ...`, in equations that are not linear in them: in
//! `s' = sqrt(x'^2 + y'^2)`, x' and y' stand for the right-hand sides of their equations.

use std::collections::BTreeMap;

use odec_ir::{Element, Graph, Node, NodeId};

/// The sides of equations with the values of such derivatives in their places; `None` if there are none. A derivative is
/// given once all derivatives on its right-hand side are.
pub(super) fn substituted(
    graph: &mut Graph,
    rates: &[Element],
    sides: &[(NodeId, NodeId)],
) -> Option<Vec<(NodeId, NodeId)>> {
    let mut state_of: BTreeMap<NodeId, usize> = BTreeMap::new();
    for (state, rate) in rates.iter().enumerate() {
        state_of.insert(graph.direction(*rate), state);
    }
    let mut given: Vec<Option<NodeId>> = vec![None; rates.len()];
    let mut sides = sides.to_vec();
    let mut waiting: Vec<usize> = (0..sides.len()).filter(|&e| state_of.contains_key(&sides[e].0)).collect();
    loop {
        let known = waiting.len();
        for e in std::mem::take(&mut waiting) {
            let (lhs, rhs) = sides[e];
            let rhs = with_values(graph, rhs, &state_of, &given);
            sides[e].1 = rhs;
            let is_given = graph.live([rhs]).all(|(id, _)| !state_of.contains_key(&id));
            match state_of.get(&lhs) {
                Some(&state) if is_given && given[state].is_none() => given[state] = Some(rhs),
                _ => waiting.push(e),
            }
        }
        if waiting.len() == known {
            break;
        }
    }
    if given.iter().all(Option::is_none) {
        return None;
    }
    for (lhs, rhs) in &mut sides {
        *rhs = with_values(graph, *rhs, &state_of, &given);
        // the derivative that an equation gives stays on its left-hand side
        if !state_of.contains_key(lhs) {
            *lhs = with_values(graph, *lhs, &state_of, &given);
        }
    }
    Some(sides)
}

/// The node with the given derivatives replaced.
fn with_values(
    graph: &mut Graph,
    root: NodeId,
    state_of: &BTreeMap<NodeId, usize>,
    given: &[Option<NodeId>],
) -> NodeId {
    let live: Vec<(NodeId, Node)> = graph.live([root]).collect();
    let mut new: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for (id, node) in live {
        let of = |operand: &NodeId| new.get(operand).copied().unwrap_or(*operand);
        let value = match node {
            Node::Direction(_) => state_of.get(&id).and_then(|state| given[*state]).unwrap_or(id),
            node if node.operands().iter().all(|operand| of(operand) == *operand) => id,
            Node::Call(op, _) => {
                let operands: Vec<NodeId> = node.operands().iter().map(of).collect();
                graph.call(op, &operands)
            }
            Node::Reduce(how, over, term) => graph.insert(Node::Reduce(how, over, of(&term))),
            _ => id,
        };
        if value != id {
            for span in graph.spans(id).to_vec() {
                graph.add_span(value, span);
            }
            new.insert(id, value);
        }
    }
    new.get(&root).copied().unwrap_or(root)
}
