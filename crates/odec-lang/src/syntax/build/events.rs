//! Events: their heads with the clauses, their actions, and `rest`.

use odec_ir::Span;
use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::Keyword;
use crate::syntax::lines::{Block, Segment};
use crate::syntax::tree::{
    Change, Clauses, EventAction, EventStatement, EventTrigger, ExprId, ExprKind, StatementKind,
};

impl Builder<'_> {
    /// `when`, `at` or `every` with its block.
    pub(super) fn event(
        &mut self,
        word: Option<Keyword>,
        head: &Segment,
        block: &Block,
        before: usize,
    ) -> Option<StatementKind> {
        let rule = match word {
            Some(Keyword::When) => Rule::when_head,
            Some(Keyword::At) => Rule::at_head,
            _ => Rule::every_head,
        };
        let pair = self.read(rule, head);
        self.silent = head.bad || self.diagnostics.len() > before;
        let read = pair.map(|pair| self.event_head(rule, pair));
        let actions = self.actions(block);
        let (head_value, clauses) = read?;
        let span = Span::new(head.range.start, head.range.end);
        Some(StatementKind::Event(EventStatement { head: head_value?, clauses, actions, rest: None, span }))
    }

    /// A `rest` block: it belongs to the `when` directly before it.
    pub(super) fn rest(&mut self, head: &Segment, block: &Block) {
        let word = Span::new(head.range.start, head.range.end);
        let end = block.end.max(head.range.end) as u32;
        let fits = match self.tree.statements.last().map(|last| &last.kind) {
            Some(StatementKind::Event(event)) => matches!(event.head, EventTrigger::When(_)) && event.rest.is_none(),
            _ => false,
        };
        if !fits {
            // an unreadable `when` may precede it
            let lost = self.rejected.is_some()
                && !matches!(self.tree.statements.last(), Some(s) if s.span.end as usize > self.rejected.unwrap_or(0));
            if !lost {
                self.report(
                    Diagnostic::error(&codes::E0544, "`rest` must follow the block of a `when`")
                        .label(word, "there is no `when ... { }` directly before it")
                        .help(
                            "`when h < 0 { h' := -e*h' } rest { h := 0 }` defines the state after the event \
                             accumulates",
                        ),
                );
            }
            block.body.iter().for_each(|segment| self.give_up(segment));
            return;
        }
        let actions = self.actions(block);
        if let Some(last) = self.tree.statements.last_mut() {
            last.span.end = end;
            if let StatementKind::Event(event) = &mut last.kind {
                event.rest = Some((word, actions));
            }
        }
    }

    /// The trigger and the clauses.
    fn event_head(&mut self, rule: Rule, pair: Pair<'_, Rule>) -> (Option<EventTrigger>, Clauses) {
        let mut head = None;
        let mut clauses = Clauses::default();
        let mut seen: Vec<(&'static str, Span)> = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::logic => head = Some(EventTrigger::When(self.logic(part))),
                Rule::sum if rule == Rule::at_head => {
                    let time = self.sum(part);
                    self.refuse_tuple(time);
                    head = Some(EventTrigger::At(time, None));
                }
                Rule::sum => head = Some(EventTrigger::Every(self.sum(part))),
                Rule::times => {
                    let (mut list, mut unit) = (None, None);
                    for part in part.into_inner() {
                        match part.as_rule() {
                            Rule::table => list = self.operand(part),
                            _ => unit = Some(self.item_unit(part)),
                        }
                    }
                    head = list.map(|list| EventTrigger::At(list, unit));
                }
                Rule::clause => {
                    let span = self.span(&part);
                    if let Some(inner) = part.into_inner().next() {
                        self.clause(rule, inner, span, &mut clauses, &mut seen);
                    }
                }
                _ => {}
            }
        }
        (head, clauses)
    }

    /// Refuses `at (5, 10) { }`: a list of times needs square brackets.
    fn refuse_tuple(&mut self, time: ExprId) {
        let ExprKind::Tuple(list) = self.tree.exprs[time.0 as usize].kind.clone() else { return };
        let texts: Vec<&str> =
            list.iter().map(|&e| self.text.get(self.span_of(e).range()).unwrap_or_default()).collect();
        let (span, better) = (self.span_of(time), format!("[{}]", texts.join(", ")));
        self.report(
            Diagnostic::error(&codes::E0118, "write several times in square brackets")
                .label(span, "a vector")
                .help(format!("write `at {better} {{ ... }}`"))
                .fix(span, better),
        );
        // treat it as a list, so that no further errors follow
        self.tree.exprs[time.0 as usize].kind = ExprKind::Table(list);
    }

    fn clause(
        &mut self,
        rule: Rule,
        part: Pair<'_, Rule>,
        span: Span,
        clauses: &mut Clauses,
        seen: &mut Vec<(&'static str, Span)>,
    ) {
        let word = match part.as_rule() {
            Rule::from => "from",
            Rule::until => "until",
            Rule::after => "after",
            Rule::late => "late",
            Rule::cancel => "cancel",
            Rule::alone => "alone",
            _ => "priority",
        };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == word) {
            self.report(
                Diagnostic::error(&codes::E0544, format!("`{word}` occurs twice in the head of this event"))
                    .label(span, "again here")
                    .label(*first, "first here")
                    .help("keep one of the two"),
            );
            return;
        }
        seen.push((word, span));
        let value = part.into_inner().find(|part| part.as_rule() == Rule::sum).map(|sum| self.sum(sum));
        match word {
            "from" if rule == Rule::when_head => self.start_of_when(value, span, clauses),
            "from" if rule == Rule::every_head => {
                if value.is_some_and(|value| self.is_start(value)) && !self.declares("start") {
                    self.report(
                        Diagnostic::error(&codes::E0544, "`from start` belongs to `when`")
                            .label(span, "after `every`, this is the time of the first event")
                            .help("write `from 0`, or leave it out: the first event is at 0"),
                    );
                } else {
                    clauses.from = value;
                }
            }
            "until" if rule == Rule::every_head => clauses.until = value,
            "cancel" if rule == Rule::when_head => clauses.cancel = Some(span),
            "after" => clauses.after = value,
            "late" => clauses.late = Some(span),
            "alone" => clauses.alone = Some(span),
            "priority" => clauses.priority = value,
            _ => self.foreign_clause(rule, word, span),
        }
    }

    /// `from start`, the only clause of this form after a condition.
    fn start_of_when(&mut self, value: Option<ExprId>, span: Span, clauses: &mut Clauses) {
        let Some(value) = value else { return };
        if self.is_start(value) {
            clauses.from_start = Some(span);
            return;
        }
        let place = self.span_of(value);
        let time = self.text.get(place.range()).unwrap_or_default().to_string();
        self.report(
            Diagnostic::error(&codes::E0544, "a condition has no starting time")
                .label(span, "after `when`, only `from start` is possible")
                .help(format!("put the time into the condition: `t >= {time} and ...`")),
        );
    }

    /// True for the word `start` alone.
    fn is_start(&self, value: ExprId) -> bool {
        match &self.tree.exprs[value.0 as usize].kind {
            ExprKind::Name(r) => r.name.name == "start" && r.indices.is_empty() && r.primes == 0 && r.path.is_empty(),
            _ => false,
        }
    }

    /// True if the text declares this name, as far as can be seen before all of it is parsed.
    fn declares(&self, name: &str) -> bool {
        let begins = |at: usize| {
            let (before, after) = (&self.text[..at], self.text[at + name.len()..].trim_start());
            let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            whole && after.starts_with('=') && !after.starts_with("==")
        };
        self.text.match_indices(name).any(|(at, _)| begins(at))
    }

    fn foreign_clause(&mut self, rule: Rule, word: &str, span: Span) {
        let (owner, help) = match (word, rule) {
            ("until", Rule::when_head) => ("every", "put the time into the condition: `... and t < 5`"),
            ("until" | "from", _) => ("every", "write `every 12 from 0 until 96 { ... }` for a series of times"),
            _ => ("when", "a known time cannot be cancelled: remove `cancel`"),
        };
        self.report(
            Diagnostic::error(&codes::E0544, format!("`{word}` belongs to `{owner}`"))
                .label(span, "not here")
                .help(help),
        );
    }

    fn actions(&mut self, block: &Block) -> Vec<EventAction> {
        let mut actions = Vec::new();
        for segment in &block.body {
            if let Some(pair) = self.read(Rule::action_line, segment) {
                let span = Span::new(segment.range.start, segment.range.end);
                actions.extend(self.action(pair, span));
            }
        }
        actions
    }

    fn action(&mut self, pair: Pair<'_, Rule>, span: Span) -> Option<EventAction> {
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
            return Some(EventAction::Stop(text, span));
        }
        Some(EventAction::Change(target?, change, value?, span))
    }
}
