//! Statements with a block in braces.

use odec_ir::Span;
use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::explain;
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{Keyword, classify};
use crate::syntax::lines::{Block, Segment};
use crate::syntax::tree::{Entry, Later, Statement, StatementKind, UsedPart, WrittenValue};

impl Builder<'_> {
    /// Builds a head and the block in braces after it.
    pub(super) fn block(&mut self, head: &Segment, block: &Block) -> Option<StatementKind> {
        let before = self.diagnostics.len();
        let kind = self.head_and_body(head, block, before);
        self.silent = false;
        kind
    }

    fn head_and_body(&mut self, head: &Segment, block: &Block, before: usize) -> Option<StatementKind> {
        let line = &self.text[head.range.clone()];
        let word = classify(line, true);
        match word {
            Some(Keyword::Run) => {
                let name = self.read(Rule::run_head, head).map(|pair| self.first_name(pair));
                self.silent = head.bad || self.diagnostics.len() > before;
                let (entries, expects) = self.entries(block, Keys::Settings);
                Some(StatementKind::Run(name?, entries, expects))
            }
            Some(Keyword::Params) => {
                let name = self.read(Rule::params_head, head).and_then(|pair| self.first_name(pair));
                self.silent = head.bad || self.diagnostics.len() > before;
                let (entries, _) = self.entries(block, Keys::Dotted);
                Some(StatementKind::Params(name?, entries))
            }
            Some(Keyword::Use) => {
                let part = self.read(Rule::use_line, head).and_then(|pair| self.used_part(pair));
                self.silent = head.bad || self.diagnostics.len() > before;
                let (entries, _) = self.entries(block, Keys::OfPart);
                Some(StatementKind::Later(Later::Use(UsedPart { entries, ..part? })))
            }
            Some(Keyword::When | Keyword::At | Keyword::Every) => self.event(word, head, block, before),
            _ => {
                if !head.bad {
                    self.report(explain::unknown_block(line, head.range.start, block.open));
                }
                self.give_up(head);
                block.body.iter().for_each(|segment| self.give_up(segment));
                None
            }
        }
    }

    /// Entries `key = value`, and `expect` lines if the block may contain them.
    fn entries(&mut self, block: &Block, keys: Keys) -> (Vec<Entry>, Vec<Statement>) {
        let mut entries = Vec::new();
        let mut statements = Vec::new();
        for segment in &block.body {
            let line = &self.text[segment.range.clone()];
            let span = Span::new(segment.range.start, segment.range.end);
            if keys == Keys::Settings && classify(line, false) == Some(Keyword::Expect) {
                if let Some(pair) = self.read(Rule::expect_line, segment)
                    && let Some(kind) = self.statement(Some(Keyword::Expect), pair)
                {
                    statements.push(Statement { kind, span, doc: None });
                }
            } else if let Some(pair) = self.read(keys.rule(), segment) {
                entries.extend(self.entry(pair, span, keys));
            }
        }
        (entries, statements)
    }

    fn entry(&mut self, pair: Pair<'_, Rule>, span: Span, keys: Keys) -> Option<Entry> {
        let (mut key, mut indices, mut primes, mut argument, mut value) = (None, Vec::new(), 0, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::named_key => key = Some(self.ident(&part)),
                Rule::entry_key => {
                    let mut references = part.into_inner();
                    let mut target = self.reference(references.next()?);
                    argument = references.next().map(|argument| self.reference(argument));
                    if keys != Keys::Settings {
                        for part in std::mem::take(&mut target.path) {
                            target.name.name.push('.');
                            target.name.name.push_str(&part.name);
                            target.name.span = target.name.span.to(part.span);
                        }
                    }
                    if let Some(inner) = target.path.first() {
                        self.report(
                            Diagnostic::error(&codes::E0118, "the key of an entry must be a single name")
                                .label(inner.span, "a key has no component and no module"),
                        );
                    }
                    (key, indices, primes) = (Some(target.name), target.indices, target.primes);
                }
                Rule::choice => value = Some(WrittenValue::Word(self.ident(&part))),
                Rule::expr => value = Some(WrittenValue::Expr(self.expr(part))),
                Rule::sum => {
                    let end = self.sum(part);
                    if let Some(WrittenValue::Expr(start)) = value {
                        value = Some(WrittenValue::Range(start, end));
                    }
                }
                _ => {}
            }
        }
        Some(Entry { key: key?, indices, primes, argument, value: value?, span })
    }

    /// `use "file" as c[i]`
    pub(super) fn used_part(&mut self, pair: Pair<'_, Rule>) -> Option<UsedPart> {
        let text = pair.clone().into_inner().find(|part| part.as_rule() == Rule::text)?;
        let file_span = self.span(&text);
        let file = text.into_inner().next().map(|body| body.as_str().to_string()).unwrap_or_default();
        let part_name = pair.into_inner().find(|part| part.as_rule() == Rule::part_name)?;
        let axes = part_name.clone().into_inner().find(|part| part.as_rule() == Rule::indices);
        let indices = axes.map(|axes| self.indices(axes)).unwrap_or_default();
        let name = self.first_name(part_name)?;
        Some(UsedPart { file, file_span, name, indices, entries: Vec::new() })
    }
}

/// The permitted keys of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Settings of a run.
    Settings,
    /// Names of quantities, including those of parts.
    Dotted,
    /// Parameters of a part.
    OfPart,
}

impl Keys {
    fn rule(self) -> Rule {
        if self == Keys::OfPart { Rule::part_entry } else { Rule::entry_line }
    }
}
