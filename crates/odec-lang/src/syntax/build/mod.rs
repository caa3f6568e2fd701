//! From pest's pairs to the tree, one line at a time.

mod blocks;
mod events;
mod expr;
mod mistakes;
mod reactions;
mod statement;

use odec_ir::Span;
use pest::Parser;
use pest::iterators::Pair;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::grammar::{Grammar, Rule};
use super::keyword::{self, Keyword, classify};
use super::lines::{LinePiece, Segment};
use super::tree::{Expr, ExprId, ExprKind, Ident, Statement, StatementKind, Tree, Unit};
use crate::diagnostic::Diagnostic;
use crate::limits;

/// Collects statements and mistakes.
pub struct Builder<'a> {
    text: &'a str,
    tree: Tree,
    diagnostics: Vec<Diagnostic>,
    /// Start of the current line: pest's positions are relative to it.
    base: usize,
    /// End of the last rejected segment: later mistakes on the same line may follow from it.
    rejected: Option<usize>,
    /// The head of the current block was wrong: mistakes inside may follow from it.
    silent: bool,
    /// Place of the declared value that is being built: a unit at its end belongs to the item.
    value: Option<Span>,
    /// That unit.
    trailing: Option<Unit>,
    /// Units of numbers since the start of the value.
    units: Vec<Span>,
}

impl<'a> Builder<'a> {
    /// `text` is masked and cut.
    pub fn new(text: &'a str) -> Builder<'a> {
        Builder {
            text,
            tree: Tree::default(),
            diagnostics: Vec::new(),
            base: 0,
            rejected: None,
            silent: false,
            value: None,
            trailing: None,
            units: Vec::new(),
        }
    }

    /// The tree and the errors.
    pub fn finish(mut self) -> (Tree, Vec<Diagnostic>) {
        self.tree.broken.sort();
        self.tree.broken.dedup();
        (self.tree, self.diagnostics)
    }

    /// Builds one line or block.
    pub fn piece(&mut self, piece: &LinePiece) {
        if let Some(block) = piece.block.as_ref().filter(|_| &self.text[piece.head.range.clone()] == keyword::REST) {
            self.rest(&piece.head, block);
            return;
        }
        let end = piece.block.as_ref().map_or(piece.head.range.end, |block| block.end.max(piece.head.range.end));
        let span = Span::new(piece.head.range.start, end);
        let kind = match &piece.block {
            Some(block) => self.block(&piece.head, block),
            None => self.line(&piece.head),
        };
        if let Some(kind) = kind {
            self.tree.statements.push(Statement { kind, span, doc: None });
        }
    }

    /// A statement without a block.
    fn line(&mut self, head: &Segment) -> Option<StatementKind> {
        let line = &self.text[head.range.clone()];
        let word = classify(line, false);
        if word.is_none() && keyword::is_reaction(line) {
            let pair = self.read(Rule::reaction_line, head)?;
            return self.reaction(pair);
        }
        let pair = self.read(rule_of(word), head)?;
        self.statement(word, pair)
    }

    /// Parses a segment with one rule; an error is explained once.
    fn read(&mut self, rule: Rule, segment: &Segment) -> Option<Pair<'a, Rule>> {
        let follows = self.rejected.is_some_and(|end| !self.text[end..segment.range.start.max(end)].contains('\n'));
        if segment.bad {
            self.give_up(segment);
            return None;
        }
        let text = self.text;
        let line = &text[segment.range.clone()];
        self.base = segment.range.start;
        match Grammar::parse(rule, line) {
            Ok(mut pairs) => pairs.next(),
            Err(error) => {
                let all = self.diagnostics.len() < limits::MAX_REPORTED;
                for diagnostic in mistakes::of(line, self.base, rule, &error, all) {
                    if !follows {
                        self.report(diagnostic);
                    }
                }
                self.give_up(segment);
                None
            }
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.silent {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Remembers the names of a line that cannot be read.
    fn give_up(&mut self, segment: &Segment) {
        self.rejected = Some(segment.range.end);
        let line = &self.text[segment.range.clone()];
        let mut rest = line;
        while let Some(start) = rest.find(keyword::is_name_char) {
            let word = keyword::first_word(&rest[start..]);
            if !word.starts_with(|c: char| c.is_ascii_digit()) {
                self.tree.broken.push(normal(word));
            }
            rest = &rest[start + word.len()..];
        }
    }

    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        // a rule that ends with an optional part includes the blanks before that part
        let start = self.base + pair.as_span().start();
        Span::new(start, start + pair.as_str().trim_end().len())
    }

    fn ident(&self, pair: &Pair<'_, Rule>) -> Ident {
        Ident { name: normal(pair.as_str()), span: self.span(pair) }
    }

    fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(self.tree.exprs.len() as u32);
        self.tree.exprs.push(Expr { kind, span });
        id
    }

    fn span_of(&self, id: ExprId) -> Span {
        self.tree.exprs.get(id.0 as usize).map(|expr| expr.span).unwrap_or_default()
    }
}

/// The rule for a line that starts with a keyword, or without one.
fn rule_of(word: Option<Keyword>) -> Rule {
    match word {
        Some(Keyword::Model) => Rule::model_line,
        Some(Keyword::Time) => Rule::time_line,
        Some(Keyword::Fn) => Rule::function_line,
        Some(Keyword::Expect) => Rule::expect_line,
        Some(Keyword::Conserve) => Rule::conserve_line,
        Some(Keyword::Index) => Rule::index_line,
        Some(Keyword::Boundary) => Rule::boundary_line,
        Some(Keyword::Axis) => Rule::axis_line,
        Some(Keyword::Unit) => Rule::unit_line,
        Some(Keyword::Units) => Rule::units_line,
        Some(Keyword::Input) => Rule::input_line,
        Some(Keyword::Use) => Rule::use_line,
        Some(Keyword::Params) => Rule::params_head,
        Some(Keyword::Run) => Rule::run_head,
        Some(Keyword::When) => Rule::when_head,
        Some(Keyword::At) => Rule::at_head,
        Some(Keyword::Every) => Rule::every_head,
        Some(
            Keyword::Param
            | Keyword::Const
            | Keyword::State
            | Keyword::Output
            | Keyword::Unknown
            | Keyword::Discrete
            | Keyword::Compartment,
        ) => Rule::declaration_line,
        None => Rule::equation_line,
    }
}

/// The normal form of a name: NFC, with the micro sign as the letter mu. Never NFKC, which turns `x²` into `x2`.
pub fn normal(name: &str) -> String {
    if name.is_ascii() {
        return name.to_string();
    }
    let reduced: String = name.chars().map(|c| if c == '\u{b5}' { '\u{3bc}' } else { c }).collect();
    if is_nfc(&reduced) { reduced } else { reduced.nfc().collect() }
}
