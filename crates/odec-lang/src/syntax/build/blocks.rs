//! Statements with a block in braces.

use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::Diagnostic;
use crate::syntax::explain;
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{Keyword, classify};
use crate::syntax::lines::{Block, Segment};
use crate::syntax::tree::{Action, Change, Entry, EntryValue, Later, Statement, StatementKind};

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
                let (period, from, until) = heads?;
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

    fn head_expr(&mut self, pair: Pair<'_, Rule>) -> Option<crate::syntax::tree::ExprId> {
        pair.into_inner().find(|part| part.as_rule() == Rule::expr).map(|expr| self.expr(expr))
    }

    #[allow(clippy::type_complexity)]
    fn every_head(
        &mut self,
        pair: Pair<'_, Rule>,
    ) -> (Option<crate::syntax::tree::ExprId>, Option<crate::syntax::tree::ExprId>, Option<crate::syntax::tree::ExprId>)
    {
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
        (period, from, until)
    }

    /// Entries `key = value`, and `expect` lines where the block may hold them.
    fn entries(&mut self, block: &Block, expects: bool) -> (Vec<Entry>, Vec<Statement>) {
        let mut entries = Vec::new();
        let mut statements = Vec::new();
        for segment in &block.body {
            let line = &self.text[segment.range.clone()];
            let span = odec_ir::Span::new(segment.range.start, segment.range.end);
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

    fn entry(&mut self, pair: Pair<'_, Rule>, span: odec_ir::Span) -> Option<Entry> {
        let mut out: Option<Entry> = None;
        let placeholder = EntryValue::Expr(crate::syntax::tree::ExprId(0));
        let mut value = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::named_key => {
                    let key = self.ident(&part);
                    let value = placeholder.clone();
                    out = Some(Entry { key, indices: Vec::new(), primes: 0, argument: None, value, span });
                }
                Rule::entry_key => {
                    let mut references = part.into_inner();
                    let key = self.reference(references.next()?);
                    let argument = references.next().map(|argument| self.reference(argument));
                    if let Some(inner) = key.path.first() {
                        self.report(
                            Diagnostic::error("E0118", "the key of an entry is one name")
                                .label(inner.span, "no component and no module here"),
                        );
                    }
                    let (indices, primes, value) = (key.indices, key.primes, placeholder.clone());
                    out = Some(Entry { key: key.name, indices, primes, argument, value, span });
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
        let mut entry = out?;
        entry.value = value?;
        Some(entry)
    }

    fn actions(&mut self, block: &Block) -> Vec<Action> {
        let mut actions = Vec::new();
        for segment in &block.body {
            if let Some(pair) = self.read(Rule::action_line, segment) {
                let span = odec_ir::Span::new(segment.range.start, segment.range.end);
                actions.extend(self.action(pair, span));
            }
        }
        actions
    }

    fn action(&mut self, pair: Pair<'_, Rule>, span: odec_ir::Span) -> Option<Action> {
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
