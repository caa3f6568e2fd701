//! Statements with a block in braces.

use odec_ir::Span;
use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::Diagnostic;
use crate::syntax::explain;
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{Keyword, classify};
use crate::syntax::lines::{Block, Segment};
use crate::syntax::tree::{Action, Change, Entry, EntryValue, ExprId, Later, Statement, StatementKind};

impl Builder<'_> {
    /// A head and what stands in braces after it.
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
                let (entries, expects) = self.entries(block, true);
                Some(StatementKind::Run(name?, entries, expects))
            }
            Some(Keyword::Params) => {
                let name = self.read(Rule::params_head, head).and_then(|pair| self.first_name(pair));
                self.silent = head.bad || self.diagnostics.len() > before;
                let (entries, _) = self.entries(block, false);
                Some(StatementKind::Params(name?, entries))
            }
            Some(Keyword::Use) => {
                let pair = self.read(Rule::use_line, head);
                self.silent = head.bad || self.diagnostics.len() > before;
                let (entries, _) = self.entries(block, false);
                self.use_statement(pair?, entries)
            }
            Some(Keyword::When) => {
                let pair = self.read(Rule::when_head, head);
                self.silent = head.bad || self.diagnostics.len() > before;
                let condition = pair.and_then(|pair| self.head_expr(pair));
                let actions = self.actions(block);
                Some(StatementKind::Later(Later::When(condition?, actions)))
            }
            Some(Keyword::At) => {
                let pair = self.read(Rule::at_head, head);
                self.silent = head.bad || self.diagnostics.len() > before;
                let time = pair.and_then(|pair| self.head_expr(pair));
                let actions = self.actions(block);
                Some(StatementKind::Later(Later::At(time?, actions)))
            }
            Some(Keyword::Every) => {
                let pair = self.read(Rule::every_head, head);
                self.silent = head.bad || self.diagnostics.len() > before;
                let heads = pair.map(|pair| self.every_head(pair));
                let actions = self.actions(block);
                let [period, from, until] = heads?;
                Some(StatementKind::Later(Later::Every { period: period?, from, until, actions }))
            }
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

    fn head_expr(&mut self, pair: Pair<'_, Rule>) -> Option<ExprId> {
        pair.into_inner().find(|part| part.as_rule() == Rule::expr).map(|expr| self.expr(expr))
    }

    /// Period, start and end.
    fn every_head(&mut self, pair: Pair<'_, Rule>) -> [Option<ExprId>; 3] {
        let (mut period, mut from, mut until) = (None, None, None);
        for part in pair.into_inner() {
            let rule = part.as_rule();
            let sum = match rule {
                Rule::sum => Some(part),
                Rule::from | Rule::until => part.into_inner().find(|part| part.as_rule() == Rule::sum),
                _ => None,
            };
            let value = sum.map(|sum| self.sum(sum));
            match rule {
                Rule::sum => period = value,
                Rule::from => from = value,
                Rule::until => until = value,
                _ => {}
            }
        }
        [period, from, until]
    }

    /// Entries `key = value`, and `expect` lines where the block may hold them.
    fn entries(&mut self, block: &Block, expects: bool) -> (Vec<Entry>, Vec<Statement>) {
        let mut entries = Vec::new();
        let mut statements = Vec::new();
        for segment in &block.body {
            let line = &self.text[segment.range.clone()];
            let span = Span::new(segment.range.start, segment.range.end);
            if expects && classify(line, false) == Some(Keyword::Expect) {
                if let Some(pair) = self.read(Rule::expect_line, segment)
                    && let Some(kind) = self.statement(Some(Keyword::Expect), pair)
                {
                    statements.push(Statement { kind, span, doc: None });
                }
            } else if let Some(pair) = self.read(Rule::entry_line, segment) {
                entries.extend(self.entry(pair, span));
            }
        }
        (entries, statements)
    }

    fn entry(&mut self, pair: Pair<'_, Rule>, span: Span) -> Option<Entry> {
        let (mut key, mut indices, mut primes, mut argument, mut value) = (None, Vec::new(), 0, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::named_key => key = Some(self.ident(&part)),
                Rule::entry_key => {
                    let mut references = part.into_inner();
                    let target = self.reference(references.next()?);
                    argument = references.next().map(|argument| self.reference(argument));
                    if let Some(inner) = target.path.first() {
                        self.report(
                            Diagnostic::error("E0118", "the key of an entry is one name")
                                .label(inner.span, "no component and no module here"),
                        );
                    }
                    (key, indices, primes) = (Some(target.name), target.indices, target.primes);
                }
                Rule::choice => value = Some(EntryValue::Word(self.ident(&part))),
                Rule::expr => value = Some(EntryValue::Expr(self.expr(part))),
                Rule::sum => {
                    let end = self.sum(part);
                    if let Some(EntryValue::Expr(start)) = value {
                        value = Some(EntryValue::Range(start, end));
                    }
                }
                _ => {}
            }
        }
        Some(Entry { key: key?, indices, primes, argument, value: value?, span })
    }

    fn actions(&mut self, block: &Block) -> Vec<Action> {
        let mut actions = Vec::new();
        for segment in &block.body {
            if let Some(pair) = self.read(Rule::action_line, segment) {
                let span = Span::new(segment.range.start, segment.range.end);
                actions.extend(self.action(pair, span));
            }
        }
        actions
    }

    fn action(&mut self, pair: Pair<'_, Rule>, span: Span) -> Option<Action> {
        let (mut target, mut change, mut value, mut stop, mut text) = (None, Change::Set, None, false, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::stop => stop = true,
                Rule::text => text = part.into_inner().next().map(|body| body.as_str().to_string()),
                Rule::target => target = self.target(part),
                Rule::change => {
                    change = match part.as_str() {
                        "+=" => Change::Add,
                        "-=" => Change::Subtract,
                        _ => Change::Set,
                    }
                }
                Rule::expr => value = Some(self.expr(part)),
                _ => {}
            }
        }
        if stop {
            return Some(Action::Stop(text, span));
        }
        Some(Action::Change(target?, change, value?, span))
    }

    /// `use "file" as c`, with the names it replaces.
    pub(super) fn use_statement(&mut self, pair: Pair<'_, Rule>, entries: Vec<Entry>) -> Option<StatementKind> {
        let text = pair.clone().into_inner().find(|part| part.as_rule() == Rule::text)?;
        let file = text.into_inner().next().map(|body| body.as_str().to_string()).unwrap_or_default();
        Some(StatementKind::Later(Later::Use(file, self.first_name(pair)?, entries)))
    }
}
