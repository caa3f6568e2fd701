//! Rows of the mass matrix that are written out as zero: `0*z' = x - z`, `m[i]*x[i]' = ...` with a zero in the table
//! `m`, and `eps*z' = ...` with `eps = 0`. Such an equation is not divided by its coefficient.

use odec_ir::builtin::Primitive;
use odec_ir::{Array, Element, Graph, Node, NodeId, Role};

use crate::model::{Equation, Level, Model, TermKind, Values};

/// True if an equation contains a derivative times a constant that is zero.
pub(super) fn is_written(model: &Model, values: &Values, equation: &Equation) -> bool {
    [equation.lhs, equation.rhs].into_iter().flat_map(|body| &model.terms[body.range()]).any(|term| {
        let TermKind::Apply(op, [a, b, _]) = &term.kind else { return false };
        let is_rate = |id| model.level(model.subtree(id)) == Level::Rate;
        let is_zero = |id| {
            let body = model.subtree(id);
            model.level(body) == Level::Constant && model.number(body, values) == 0.0
        };
        op.0.name == "mul" && (is_rate(*a) && is_zero(*b) || is_rate(*b) && is_zero(*a))
    })
}

/// True if a coefficient contains a factor that is zero: a parameter by its value, or a table by one of its elements.
pub(super) fn vanishes<'a>(graph: &Graph, root: NodeId, array: impl Fn(Element) -> &'a Array) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match graph.node(id) {
            Node::Constant(bits) if f64::from_bits(bits) == 0.0 => return true,
            Node::Read(element) => {
                let array = array(element);
                let data = &array.data[..];
                let zero = if data.is_empty() { array.default == 0.0 } else { data.contains(&0.0) };
                if zero && matches!(array.role, Role::Parameter | Role::Table) {
                    return true;
                }
            }
            Node::Call(op, [a, b, _]) => match op.primitive() {
                Some(Primitive::Mul) => open.extend([a, b]),
                Some(Primitive::Div | Primitive::Neg) => open.push(a),
                _ => {}
            },
            _ => {}
        }
    }
    false
}
