//! The nodes of expressions. The parser builds the operands of an expression directly before it, so its nodes are a
//! range of positions. One pass over the tree finds these ranges, and no expression need be walked again.

use crate::syntax::tree::{ExprId, Tree};

/// In place of a range for an expression whose nodes are not together.
const SCATTERED: u32 = u32::MAX;

/// For each expression, the first position of its nodes, which end with itself.
#[derive(Default)]
pub(super) struct Nodes {
    firsts: Vec<u32>,
    operands: Vec<u32>,
}

impl Nodes {
    /// Enters the next expression of the tree.
    pub fn enter(&mut self, tree: &Tree, id: ExprId) {
        self.operands.clear();
        let operands = &mut self.operands;
        tree.each_operand(id, |operand| operands.push(operand.0));
        let mut first = id.0;
        for &operand in self.operands.iter().rev() {
            let together = operand.checked_add(1) == Some(first);
            let before = self.firsts.get(operand as usize).copied().filter(|_| together);
            first = before.unwrap_or(SCATTERED);
            if first == SCATTERED {
                break;
            }
        }
        self.firsts.push(first);
    }

    /// The nodes of an expression, operands first.
    pub fn list(&self, tree: &Tree, expr: ExprId, nodes: &mut Vec<ExprId>) {
        match self.firsts.get(expr.0 as usize) {
            Some(&first) if first != SCATTERED => {
                nodes.clear();
                nodes.extend((first..=expr.0).map(ExprId));
            }
            _ => tree.nodes_into(expr, nodes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Nodes, SCATTERED};
    use crate::source::Source;
    use crate::syntax::tree::ExprId;

    #[test]
    fn ranges_are_the_nodes_that_a_walk_finds() {
        let text = "index i, j = 1..4\nconst k[i] = [1, 2, 3, 4]\nparam a, b = 1 [m/s]\nstate u[i] = a, v = 2 [m]\n\
                    u[i]' = -k[i]*u[i] + sum(j where j != i: k[j]*u[j]) + (if 1 < u[i] < 3 then max(a, b) else -2)\n\
                    2 A + B -> C mass (a, b)\nv' = a/b^2*hypot(v, u[k[1]+1])\nexpect v(2 [s]) = 3 [m] within 1\n";
        let (tree, _) = crate::syntax::parse(&Source::new("m.ode", text));
        let mut nodes = Nodes::default();
        let (mut list, mut walked, mut ranges) = (Vec::new(), Vec::new(), 0);
        for k in 0..tree.exprs.len() as u32 {
            nodes.enter(&tree, ExprId(k));
            nodes.list(&tree, ExprId(k), &mut list);
            tree.nodes_into(ExprId(k), &mut walked);
            assert_eq!(list, walked);
            ranges += usize::from(nodes.firsts[k as usize] != SCATTERED);
        }
        assert!(ranges > 50, "{ranges} of {}", tree.exprs.len());
    }
}
