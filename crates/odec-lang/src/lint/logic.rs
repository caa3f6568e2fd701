//! Conditions and quantities mixed up: `not x + k`, `x and k`, `(1 < x) < 3`, `x' = -k*x > 0`.

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::report::warning;
use crate::syntax::tree::{Binary, ExprId, ExprKind, StatementKind};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let kinds = Kinds::of(page);
    for (at, expr) in page.tree.exprs.iter().enumerate() {
        match &expr.kind {
            ExprKind::Not(a) => found.extend(as_condition(page, &kinds, *a)),
            ExprKind::If(condition, ..) => found.extend(as_condition(page, &kinds, *condition)),
            ExprKind::Binary(Binary::And | Binary::Or, _, a, b) => {
                found.extend([*a, *b].into_iter().filter_map(|id| as_condition(page, &kinds, id)));
            }
            ExprKind::Comparison(operands, _) => found.extend(compared(page, ExprId(at as u32), operands)),
            _ => {}
        }
    }
    for statement in &page.tree.statements {
        let StatementKind::Equation { lhs, rhs, .. } = &statement.kind else { continue };
        let is_rate = matches!(&page.expr(*lhs).kind, ExprKind::Name(name) if name.primes > 0);
        let compares = matches!(page.expr(*rhs).kind, ExprKind::Comparison(..));
        if is_rate && compares && !bracketed(page.text(*rhs)) {
            let (rate, text) = (page.text(*lhs), page.text(*rhs));
            found.push(
                warning(
                    &codes::W0512,
                    format!("`{rate}` is set to a condition"),
                    page.expr(*rhs).span,
                    "this is 1 or 0",
                )
                .help(format!("if you intend this, put it in brackets: `{rate} = ({text})`")),
            );
        }
    }
}

/// The kind of each expression; operands precede the expressions that contain them.
struct Kinds {
    /// True for an expression with a comparison, or with something that may be one: a name that is not a state, or a call.
    logical: Vec<bool>,
    /// True for an expression that reads a state.
    moves: Vec<bool>,
}

impl Kinds {
    fn of(page: &Page<'_>) -> Kinds {
        let count = page.tree.exprs.len();
        let mut kinds = Kinds { logical: vec![false; count], moves: vec![false; count] };
        for (at, expr) in page.tree.exprs.iter().enumerate() {
            let (logical, moves) = match &expr.kind {
                ExprKind::Number(_) => (false, false),
                ExprKind::Name(name) => {
                    let symbol = page.model.symbols.get(&name.name.name);
                    let state = name.path.is_empty() && matches!(symbol, Some(Symbol::State(_)));
                    let value = matches!(symbol, Some(Symbol::Parameter(_) | Symbol::Constant(_)));
                    (!state && !value, state)
                }
                ExprKind::Neg(a) | ExprKind::Quantity(a, _) => kinds.both(&[*a]),
                ExprKind::Binary(Binary::And | Binary::Or, ..) => (true, false),
                ExprKind::Binary(_, _, a, b) => kinds.both(&[*a, *b]),
                _ => (true, false),
            };
            (kinds.logical[at], kinds.moves[at]) = (logical, moves);
        }
        kinds
    }

    fn both(&self, operands: &[ExprId]) -> (bool, bool) {
        let any = |list: &[bool]| operands.iter().any(|id| list.get(id.0 as usize).copied().unwrap_or(true));
        (any(&self.logical), any(&self.moves))
    }
}

/// Warns about a state, or an expression in states, that is used as a condition.
fn as_condition(page: &Page<'_>, kinds: &Kinds, id: ExprId) -> Option<Diagnostic> {
    let at = id.0 as usize;
    let text = page.text(id);
    // `h > 0 and -g or 0` chooses a value in Lua and Python
    let plain = match page.expr(id).kind {
        ExprKind::Neg(_) => true,
        ExprKind::Binary(op, ..) => !matches!(op, Binary::And | Binary::Or),
        _ => false,
    };
    ((kinds.moves[at] || plain) && !kinds.logical[at]).then(|| {
        warning(
            &codes::W0512,
            format!("`{text}` is a quantity, but is used as a condition here"),
            page.expr(id).span,
            "every value except 0 counts as true",
        )
        .help("compare it with a value: `x > 0`; note that `not` applies to everything up to the next `and` or `or`")
    })
}

/// `(1 < x) < 3`
fn compared(page: &Page<'_>, whole: ExprId, operands: &[ExprId]) -> Option<Diagnostic> {
    let truth = |id: &ExprId| is_condition(page, *id);
    let flag = |id: &ExprId| matches!(page.expr(*id).kind, ExprKind::Number(x) if x == 0.0 || x == 1.0);
    let condition = operands.iter().find(|id| truth(id))?;
    if operands.iter().all(|id| truth(id) || flag(id)) {
        return None;
    }
    Some(
        warning(
            &codes::W0512,
            format!("`{}` compares a condition with a quantity", page.text(whole)),
            page.expr(*condition).span,
            "this is 1 or 0",
        )
        .help("write a chain without brackets, `1 < x < 3`, and join two conditions by `and`"),
    )
}

fn is_condition(page: &Page<'_>, id: ExprId) -> bool {
    matches!(
        page.expr(id).kind,
        ExprKind::Comparison(..) | ExprKind::Not(_) | ExprKind::Binary(Binary::And | Binary::Or, ..)
    )
}

/// True if one pair of brackets encloses the whole text.
fn bracketed(text: &str) -> bool {
    if !text.starts_with('(') {
        return false;
    }
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1 == text.len();
        }
    }
    false
}
