//! Private parts that integration tests examine, because a unit test that checks a text compiles this crate a second
//! time.

use crate::model::Model;
use crate::model::phases::settle::events;
use crate::model::phases::units::nodes::Nodes;
use crate::syntax::tree::{ExprId, Tree};

/// The number of pairs of actions that may set one element at one fixed time, and of those compared to find them.
pub fn pairs_of_actions(model: &Model) -> (usize, usize) {
    events::pairs_of_actions(model)
}

/// For each expression of a tree, its nodes as a walk finds them, and the first one if they are taken to be together.
pub fn nodes(tree: &Tree) -> Vec<(Vec<ExprId>, Option<u32>)> {
    let mut nodes = Nodes::of(tree);
    let of = |id: u32| {
        nodes.enter(tree, ExprId(id));
        let mut walked = Vec::new();
        tree.nodes_into(ExprId(id), &mut walked);
        (walked, nodes.first(ExprId(id)))
    };
    (0..tree.exprs.len() as u32).map(of).collect()
}
