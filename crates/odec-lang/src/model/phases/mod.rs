//! From the syntax tree to the checked model, in phases. Each is a function from values to values; it returns its
//! messages together with its result.
//!
//! ```text
//! Tree ─ features             constructs of later versions; if there are any, the other phases do not run
//!      ─ reactions ─▶ Tree    reactions as definitions and equations
//!      ─ names    ─▶ Names    declarations, without their expressions
//!      ─ shapes   ─▶ Shapes   which names are vectors
//!      ─ units    ─▶ Found    the unit of every expression, and the factors between units
//!      ─ resolve  ─▶ Resolved expressions as terms, names as symbols
//!      ─ undeclared           names without a declaration, once all uses are known
//!      ─ rates    ─▶ Model    derivatives of definitions, as definitions
//!      ─ conditions           `and`, `or` after a condition on indices, as choices
//!      ─ settle   ─▶ Model    orders, initial values, orders of evaluation, owners of equations, runs
//!      ─ warnings             statements that are probably not meant
//! ```
//!
//! A model without text ([`crate::model::parts`]) enters before `settle`.

mod conditions;
mod features;
mod names;
mod rates;
pub(crate) mod reports;
mod resolve;
pub(crate) mod settle;
mod shapes;
mod undeclared;
pub(crate) mod units;
mod warnings;

use std::collections::HashMap;

use odec_ir::Span;

use super::Model;
use crate::diagnostic::Diagnostic;
use crate::reactions;
use crate::source::Source;
use crate::syntax::tree::{ExprId, ExprKind, Ident, StatementKind, Tree, WrittenValue};
use crate::units::Mode;
use resolve::Resolved;
pub(crate) use resolve::map_operands;

/// Checks a tree and builds its model. The model is `None` if there is an error. Equations are not lowered here:
/// [`crate::check`] and [`crate::lower()`] report what only their kernels show.
pub fn analyse(tree: &Tree, source: &Source) -> (Option<Model>, Vec<Diagnostic>) {
    analyse_after(tree, source, tree.broken.is_empty())
}

/// Like [`analyse`]; `readable` is true if the whole text could be parsed.
pub(crate) fn analyse_after(tree: &Tree, source: &Source, readable: bool) -> (Option<Model>, Vec<Diagnostic>) {
    if tree.foreign {
        return (None, Vec::new());
    }
    let features = features::find(tree);
    if !features.is_empty() {
        return (None, features);
    }
    let (expanded, mut said) = reactions::expand(tree);
    said.extend(reactions::jumps(&expanded));
    if !has_no_errors(&said) {
        return (None, said);
    }
    let input = PhaseInput { tree: &expanded, source };
    let (names, more) = names::collect(input);
    said.extend(more);
    let shapes = shapes::find(input, &names);
    let mut units = units::check(input, &names);
    let (resolved, more) = resolve::resolve(input, &names, &shapes, &units.factors, readable);
    said.extend(more);
    said.extend(undeclared::find(input, &names, &resolved));
    // The effect of an unreadable line is unknown: only names are checked then.
    if !has_no_errors(&said) || !readable {
        return (None, said);
    }
    let Resolved { model, starts, uses } = resolved;
    let (model, uses, more) = rates::form(model, uses);
    said.extend(more);
    if !has_no_errors(&said) {
        return (None, said);
    }
    let (mut model, more) = settle::order(conditions::shorten(model), &starts, source);
    let ordered = has_no_errors(&more);
    said.extend(more);
    if ordered {
        said.extend(settle::runs::check(&model, source));
        said.append(&mut units.said);
    }
    if units.units.mode == Mode::Off && has_no_errors(&said) {
        said.extend(units::unchecked(input, &model));
    }
    if !has_no_errors(&said) {
        return (None, said);
    }
    said.extend(warnings::find(&model, &uses));
    model.units = units.units;
    model.unit_factors = units.factors;
    (Some(model), said)
}

/// The places of names that are declared nowhere, in a text with unreadable lines, and do not occur on these lines.
pub(crate) fn undeclared_places(tree: &Tree, source: &Source) -> Vec<Span> {
    let (expanded, said) = reactions::expand(tree);
    if tree.foreign || !features::find(tree).is_empty() || !has_no_errors(&said) {
        return Vec::new();
    }
    let input = PhaseInput { tree: &expanded, source };
    let (names, _) = names::collect(input);
    let shapes = shapes::find(input, &names);
    let (resolved, _) = resolve::resolve(input, &names, &shapes, &HashMap::new(), false);
    let unknown = resolved.uses.undeclared.iter().filter(|(name, _)| !names.is_broken(name));
    unknown.flat_map(|(_, uses)| uses.iter().map(|u| u.span)).collect()
}

/// Help for a value that a model prescribes at a time at which no run starts, `y(1) = 5`; `free` is the initial value
/// to find.
fn boundary_value((name, free): (&str, &str), at: &str, value: &str) -> String {
    format!(
        "write the initial value in `state`; to find the one that gives {value} at {at}, start from a guess, remove this \
         line, and fit: `odec fit MODEL data.csv --params {free}`, with the lines `t,{name}` and `{at},{value}` in \
         `data.csv`"
    )
}

/// True if there is no error among them.
fn has_no_errors(said: &[Diagnostic]) -> bool {
    !said.iter().any(Diagnostic::is_error)
}

/// The input of all phases: the tree, and the text from which it was parsed.
#[derive(Clone, Copy)]
struct PhaseInput<'a> {
    tree: &'a Tree,
    source: &'a Source,
}

impl<'a> PhaseInput<'a> {
    /// The source text at a location.
    fn text(self, span: Span) -> &'a str {
        self.source.text.get(span.range()).unwrap_or_default()
    }

    fn span_of(self, expr: ExprId) -> Span {
        self.tree.exprs[expr.0 as usize].span
    }

    /// The nodes of an expression, operands first.
    fn nodes_of(self, expr: ExprId) -> Vec<ExprId> {
        self.tree.nodes_of(expr)
    }

    /// True if a number is the time at which every run starts; without a run, if it is 0.
    fn is_start_of_runs(self, e: ExprId) -> bool {
        let number = |e: ExprId| self.text(self.span_of(e)).trim().parse::<f64>().ok();
        let entries = self.tree.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Run(_, entries, _) => Some(entries),
            _ => None,
        });
        let starts = entries.flatten().filter_map(|entry| match entry.value {
            WrittenValue::Range(start, _) => Some(number(start)),
            _ => None,
        });
        let starts: Vec<Option<f64>> = starts.collect();
        number(e).is_some_and(|at| if starts.is_empty() { at == 0.0 } else { starts.iter().all(|s| *s == Some(at)) })
    }

    /// A bare name.
    fn plain_name(self, e: ExprId) -> Option<&'a Ident> {
        match &self.tree.exprs[e.0 as usize].kind {
            ExprKind::Name(r) if r.indices.is_empty() && r.path.is_empty() && r.primes == 0 => Some(&r.name),
            _ => None,
        }
    }
}

/// The text on one line with collapsed blanks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
