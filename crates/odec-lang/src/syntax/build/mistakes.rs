//! Errors in a line that the grammar rejects. The grammar stops at the first error; a correction reveals the next one.

use odec_ir::Span;
use pest::Parser;
use pest::error::Error;

use super::rule_of;
use crate::diagnostic::{Diagnostic, Fix};
use crate::syntax::explain;
use crate::syntax::grammar::{Grammar, Rule};
use crate::syntax::keyword::{Keyword, classify};

/// Largest number of errors of one line that are reported together. If a line has more, odec reports only the first,
/// without a fix.
const MAX_MISTAKES: usize = 24;
/// A longer line is read once: it was not written by hand.
const MAX_LINE: usize = 2000;

/// The first error of a line; with `all`, also the following ones, if each has a fix and the line is valid with all
/// of them. A fix that leaves the line invalid is dropped.
pub(super) fn of(line: &str, base: usize, rule: Rule, error: &Error<Rule>, all: bool) -> Vec<Diagnostic> {
    let mut first = explain::explain(line, base, rule, error);
    if first.fixes.is_empty() || is_accepted(line, base, rule, &first.fixes) {
        return vec![first];
    }
    if all
        && line.len() <= MAX_LINE
        && let Some(mistakes) = several(line, base, rule, &first)
    {
        return mistakes;
    }
    first.fixes.clear();
    vec![first]
}

/// The errors of a line one after the other, starting with `first`. `None` if their fixes together do not make the
/// line valid.
fn several(line: &str, base: usize, rule: Rule, first: &Diagnostic) -> Option<Vec<Diagnostic>> {
    let mut mistakes = vec![first.clone()];
    let mut fixes = first.fixes.clone();
    while mistakes.len() < MAX_MISTAKES {
        let mended = CorrectedLine::new(line, base, &fixes)?;
        let error = Grammar::parse(rule, &mended.text).err()?;
        let next = mended.in_the_line(explain::explain(&mended.text, base, rule, &error))?;
        // after all corrections, so that no fix undoes another
        let end = fixes.iter().map(|fix| fix.span.end).max()?;
        if next.fixes.is_empty() || next.fixes.iter().any(|fix| fix.span.start < end) {
            return None;
        }
        fixes.extend(next.fixes.iter().cloned());
        mistakes.push(next);
        if is_accepted(line, base, rule, &fixes) {
            return Some(mistakes);
        }
    }
    None
}

/// A line with its fixes applied, and the origin of its parts.
struct CorrectedLine {
    text: String,
    base: usize,
    /// For each fix, in the order of the line: its range in `text`, and the range of the line that it replaces.
    made: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>,
}

impl CorrectedLine {
    /// `None` if locations do not exist or overlap, or if a fix splits the line.
    fn new(line: &str, base: usize, fixes: &[Fix]) -> Option<CorrectedLine> {
        let mut order: Vec<&Fix> = fixes.iter().collect();
        order.sort_by_key(|fix| fix.span);
        let mut mended =
            CorrectedLine { text: String::with_capacity(line.len() + order.len()), base, made: Vec::new() };
        let mut end = 0;
        for fix in order {
            let range = fix.span.range();
            let own = range.start.checked_sub(base)?..range.end.checked_sub(base)?;
            mended.text.push_str(line.get(end..own.start)?);
            end = own.end;
            if fix.text.contains(['\n', '#', ';']) {
                return None;
            }
            let start = mended.text.len();
            mended.text.push_str(&fix.text);
            mended.made.push((start..mended.text.len(), own));
        }
        mended.text.push_str(line.get(end..)?);
        Some(mended)
    }

    /// A diagnostic about the corrected text with its locations in the original line. `None` if one of them is inside
    /// a fix.
    fn in_the_line(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        for label in &mut diagnostic.labels {
            label.span = self.span(label.span)?;
        }
        for fix in &mut diagnostic.fixes {
            fix.span = self.span(fix.span)?;
        }
        Some(diagnostic)
    }

    fn span(&self, span: Span) -> Option<Span> {
        let range = span.range();
        let at = |place: usize| self.place(place.checked_sub(self.base)?);
        Some(Span::new(self.base + at(range.start)?, self.base + at(range.end)?))
    }

    /// The position in the line of a byte of the corrected text.
    fn place(&self, at: usize) -> Option<usize> {
        match self.made.iter().take_while(|(new, _)| new.start < at).last() {
            None => Some(at),
            Some((new, old)) if at >= new.end => Some(old.end + (at - new.end)),
            Some(_) => None,
        }
    }
}

/// True if the grammar accepts a line with its fixes: only then are they offered.
fn is_accepted(line: &str, base: usize, rule: Rule, fixes: &[Fix]) -> bool {
    let mut fixed = line.to_string();
    let mut order: Vec<&Fix> = fixes.iter().collect();
    order.sort_by_key(|fix| std::cmp::Reverse(fix.span));
    // leading blanks make the line a continuation of the previous one
    if fixes
        .iter()
        .all(|fix| fix.span.start == fix.span.end && !fix.text.is_empty() && fix.text.trim_matches(' ').is_empty())
    {
        return rule == Rule::equation_line || fixes.iter().any(|fix| fix.span.start as usize > base);
    }
    for fix in order {
        let range = fix.span.range();
        let Some((start, end)) = range.start.checked_sub(base).zip(range.end.checked_sub(base)) else { return false };
        if fixed.get(start..end).is_none() {
            return false;
        }
        fixed.replace_range(start..end, &fix.text);
    }
    let whole_line =
        !matches!(rule, Rule::entry_line | Rule::part_entry) && rule != Rule::action_line && !is_head(rule);
    if !whole_line && fixes.iter().all(|fix| fix.text == ";") {
        return fixed.split(';').all(|entry| Grammar::parse(rule, entry.trim()).is_ok());
    }
    if !whole_line {
        return Grammar::parse(rule, fixed.trim()).is_ok();
    }
    let breaks = fixes.iter().any(|fix| fix.text == "\n");
    let parts: Vec<&str> = if breaks { fixed.split('\n').collect() } else { vec![&fixed] };
    let accepted = |part: &&str| {
        // a comment counts as blank
        let part = part.split('#').next().unwrap_or_default();
        let word = classify(part.trim(), false);
        part.trim().is_empty()
            || !word.is_some_and(Keyword::takes_block) && Grammar::parse(rule_of(word), part.trim()).is_ok()
    };
    parts.iter().filter(|part| !part.trim().is_empty()).all(accepted)
}

/// True if a rule parses the head of a block.
fn is_head(rule: Rule) -> bool {
    matches!(rule, Rule::run_head | Rule::params_head | Rule::when_head | Rule::at_head | Rule::every_head)
}
