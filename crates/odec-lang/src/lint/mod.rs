//! Warnings about models that are valid but probably not as intended: one file for each family, each a function from the
//! model to warnings. `# allow W0501` on the line of a warning turns it off there.

mod actions;
mod allow;
mod conditions;
mod equations;
mod idle;
mod indices;
mod logic;
mod names;
mod numbers;
mod rates;
mod scales;
mod signs;
mod steps;
mod suffixes;
mod tables;
mod temperatures;
mod values;

pub use allow::allowed;

use crate::diagnostic::Diagnostic;
use crate::model::Model;
use crate::report::clipped;
use crate::source::Source;
use crate::syntax::tree::{Expr, ExprId, Tree};

/// The input of the families: the syntax tree of a valid model.
pub(crate) struct Page<'a> {
    pub tree: &'a Tree,
    pub source: &'a Source,
    pub model: &'a Model,
}

impl<'a> Page<'a> {
    fn expr(&self, id: ExprId) -> &'a Expr {
        &self.tree.exprs[id.0 as usize]
    }

    /// The text of an expression as it is written.
    fn text(&self, id: ExprId) -> &'a str {
        self.source.text.get(self.expr(id).span.range()).unwrap_or_default()
    }

    /// The text without blanks: expressions with equal keys are equal.
    fn key(&self, id: ExprId) -> String {
        self.text(id).chars().filter(|c| !c.is_whitespace()).collect()
    }
}

/// All warnings for a valid model, from its tree.
pub fn lint(tree: &Tree, source: &Source, model: &Model) -> Vec<Diagnostic> {
    let page = Page { tree, source, model };
    let families: [fn(&Page<'_>, &mut Vec<Diagnostic>); 16] = [
        numbers::lint,
        conditions::lint,
        logic::lint,
        equations::lint,
        indices::lint,
        scales::lint,
        rates::lint,
        temperatures::lint,
        actions::lint,
        tables::lint,
        steps::lint,
        suffixes::lint,
        names::lint,
        signs::lint,
        idle::lint,
        allow::lint,
    ];
    let mut found = Vec::new();
    for family in families {
        family(&page, &mut found);
    }
    found.into_iter().map(clipped).collect()
}
