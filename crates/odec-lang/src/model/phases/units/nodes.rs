//! The nodes of expressions. The parser builds the operands of an expression directly before it, so its nodes are a
//! range of positions. One pass over the tree finds these ranges, and no expression need be walked again.

use crate::syntax::tree::{ExprId, ExprKind, Tree};

/// In place of a range for an expression whose nodes are not together.
const SCATTERED: u32 = u32::MAX;

/// For each expression, the first position of its nodes, which end with itself.
#[derive(Default)]
pub struct Nodes {
    firsts: Vec<u32>,
    operands: Vec<ExprId>,
}

impl Nodes {
    /// Nodes of a tree, whose expressions are to be entered one by one.
    pub fn of(tree: &Tree) -> Nodes {
        Nodes { firsts: Vec::with_capacity(tree.exprs.len()), operands: Vec::new() }
    }

    /// Enters the next expression of the tree.
    pub fn enter(&mut self, tree: &Tree, id: ExprId) {
        // the frequent kinds, without a list of their operands
        let first = match &tree.exprs[id.0 as usize].kind {
            ExprKind::Number(_) | ExprKind::Text(_) => id.0,
            ExprKind::Name(reference) if reference.indices.is_empty() => id.0,
            ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => self.before(*a, id.0),
            ExprKind::Binary(_, _, a, b) => self.before(*a, self.before(*b, id.0)),
            _ => {
                let mut operands = std::mem::take(&mut self.operands);
                operands.clear();
                tree.each_operand(id, |operand| operands.push(operand));
                let first = operands.iter().rev().fold(id.0, |first, &operand| self.before(operand, first));
                self.operands = operands;
                first
            }
        };
        self.firsts.push(first);
    }

    /// The first node of an operand, if its nodes end directly before the position `first`.
    fn before(&self, operand: ExprId, first: u32) -> u32 {
        let is_together = first != SCATTERED && operand.0 + 1 == first;
        if is_together { self.firsts.get(operand.0 as usize).copied().unwrap_or(SCATTERED) } else { SCATTERED }
    }

    /// The first node of an expression whose nodes are together, and end with itself.
    pub fn first(&self, expr: ExprId) -> Option<u32> {
        self.firsts.get(expr.0 as usize).copied().filter(|&first| first != SCATTERED)
    }
}
