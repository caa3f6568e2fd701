//! The tree as text: in source notation, or with expressions in prefix form for `odec dump --stage tree`.
//!
//! Invariant: parsing the output of [`Tree::to_source`] gives the same tree, except for source locations.

mod expr;
mod statement;

use std::fmt;

use super::tree::{ExprId, Ident, Index, Reference, Tree, Unit};

/// The notation of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Source notation, without unnecessary brackets.
    Source,
    /// `(+ a (* b c))`: the structure of the expression.
    Prefix,
}

struct Printer<'a> {
    tree: &'a Tree,
    style: Style,
    out: String,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn ident(&mut self, ident: &Ident) {
        self.put(&ident.name);
    }

    fn unit(&mut self, unit: &Unit) {
        self.put(" [");
        self.put(&unit.text);
        self.put("]");
    }

    fn range(&mut self, (from, to): (ExprId, ExprId)) {
        self.expr(from, expr::SUM);
        self.put(" .. ");
        self.expr(to, expr::SUM);
    }

    /// `##` lines above something.
    fn doc(&mut self, doc: Option<&String>, indent: &str) {
        for line in doc.iter().flat_map(|doc| doc.split('\n')) {
            self.put(indent);
            self.put(format!("## {line}").trim_end());
            self.put("\n");
        }
    }
}

impl Tree {
    fn print(&self, style: Style) -> String {
        let mut printer = Printer { tree: self, style, out: String::new() };
        printer.doc(self.doc.as_ref(), "");
        for statement in &self.statements {
            printer.statement(statement);
            printer.put("\n");
        }
        printer.out
    }

    /// A name with its indices, as a user would write it.
    pub(crate) fn reference_text(&self, reference: &Reference) -> String {
        let mut printer = Printer { tree: self, style: Style::Source, out: String::new() };
        printer.reference(reference);
        printer.out
    }

    /// The text of one index in brackets.
    pub(crate) fn index_text(&self, index: &Index) -> String {
        match index {
            Index::At(at) => self.expr_text(*at),
            Index::In(name, ..) => name.name.clone(),
            Index::Range(from, to) => format!("{}..{}", self.expr_text(*from), self.expr_text(*to)),
        }
    }

    /// An expression in source notation, as a factor.
    pub(crate) fn expr_text(&self, id: ExprId) -> String {
        let mut printer = Printer { tree: self, style: Style::Source, out: String::new() };
        printer.expr(id, expr::MINUS);
        printer.out
    }

    /// The model as source text; only `##` comments are kept.
    pub fn to_source(&self) -> String {
        self.print(Style::Source)
    }
}

/// One statement per line, expressions in prefix form.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.print(Style::Prefix))
    }
}
