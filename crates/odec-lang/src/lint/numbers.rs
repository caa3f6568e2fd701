//! Numbers that mean something else than they look like: `x^1/2`, degrees in `sin`.

use super::Page;
use crate::diagnostic::Diagnostic;
use crate::report::warning;
use crate::syntax::tree::{Binary, ExprId, ExprKind};

/// Functions whose argument is an angle in radians.
const ANGLES: [&str; 3] = ["sin", "cos", "tan"];
/// A whole number is taken for degrees from here on, if it is a multiple of [`DEGREES_STEP`].
const DEGREES_FROM: f64 = 30.0;
/// Angles in degrees are mostly multiples of this.
const DEGREES_STEP: f64 = 15.0;

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for expr in &page.tree.exprs {
        match &expr.kind {
            ExprKind::Binary(Binary::Div, _, base, below) => found.extend(root(page, *base, *below, expr.span)),
            ExprKind::Call(name, arguments) if ANGLES.contains(&name.name.as_str()) => {
                if let [argument] = arguments.as_slice() {
                    found.extend(degrees(page, &name.name, *argument));
                }
            }
            _ => {}
        }
    }
}

fn number(page: &Page<'_>, id: ExprId) -> Option<f64> {
    match page.expr(id).kind {
        ExprKind::Number(value) => Some(value),
        _ => None,
    }
}

/// `x^1/2` is `(x^1)/2`.
fn root(page: &Page<'_>, base: ExprId, below: ExprId, span: odec_ir::Span) -> Option<Diagnostic> {
    // a minus before it belongs to all of it
    let base = match page.expr(base).kind {
        ExprKind::Neg(inner) => inner,
        _ => base,
    };
    let ExprKind::Binary(Binary::Pow, _, x, exponent) = page.expr(base).kind else { return None };
    let (one, below) = (number(page, exponent)?, number(page, below)?);
    // in brackets the exponent is meant as it stands
    let bare = page
        .source
        .text
        .get(span.range())
        .is_some_and(|text| text.trim_start_matches(['-', ' ']).starts_with(page.text(base)));
    (one == 1.0 && below.fract() == 0.0 && below > 1.0 && bare).then(|| {
        let text = page.text(x);
        warning(
            "W0501",
            format!("`{}` is `({}^1)/{below}`", clean(page, span), text),
            span,
            "a power binds before a division",
        )
        .help(format!("write `{text}^(1/{below})`, or `{text}/{below}`"))
    })
}

fn clean(page: &Page<'_>, span: odec_ir::Span) -> String {
    page.source.text.get(span.range()).unwrap_or_default().split_whitespace().collect()
}

/// `sin(30)`, `sin(360*t)`
fn degrees(page: &Page<'_>, name: &str, argument: ExprId) -> Option<Diagnostic> {
    let looks = |x: f64| x >= DEGREES_FROM && x % DEGREES_STEP == 0.0;
    let expr = page.expr(argument);
    let alone = number(page, argument).filter(|x| looks(*x));
    let factor = match expr.kind {
        ExprKind::Binary(Binary::Mul, _, a, b) => {
            let turns = |id: ExprId| number(page, id).filter(|x| *x == 360.0 || *x == 180.0);
            turns(a)
                .or_else(|| turns(b))
                .filter(|_| !page.text(argument).contains("pi") && !page.text(argument).contains('π'))
        }
        _ => None,
    };
    alone.or(factor)?;
    let text = page.text(argument);
    let better = if alone.is_some() { format!("{name}({text}*pi/180)") } else { format!("{name}(({text})*pi/180)") };
    Some(
        warning("W0502", format!("`{name}({text})` takes its argument in radians"), expr.span, "degrees?")
            .help(format!("if these are degrees write `{better}`")),
    )
}
