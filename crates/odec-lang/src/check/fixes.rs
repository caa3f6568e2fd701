//! Keeps only the fixes that reduce the number of errors: each fix is applied and the text is checked again, because
//! a tool may apply it without review. If a fix inserts text into an expression, the text gets parentheses where the
//! operators around it would split it.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::{Checked, diagnose};
use crate::diagnostic::{Code, Diagnostic, Fix, apply, codes};
use crate::report::{MAX_LABELS, clipped};
use crate::source::Source;
use crate::syntax::operand::{self, Fit};
use crate::syntax::{without_brackets, without_comments};

/// Largest number of mistakes whose fixes are tested one by one. The fixes of the others are tested together, in groups,
/// in as many checks again. What remains untested is offered without a claim.
const MAX_TRIED: usize = 12;
/// Number of times that all tested fixes are applied at once, each time without those that failed.
const MAX_TOGETHER: usize = 3;
/// Number of lines before and after a fix that are read to find the operators around it.
const LINES_AROUND: usize = 3;
/// Texts longer than this are not checked again for every fix.
const MAX_TEXT: usize = 64 << 10;

/// A diagnostic, and the number of occurrences of its mistake.
pub(crate) struct CountedMistake {
    pub diagnostic: Diagnostic,
    pub times: usize,
}

/// Merges the diagnostics of a mistake that occurs several times: same code, same words, same text to type. The
/// merged one points to every occurrence, up to a limit, and its fixes correct them all.
pub(crate) fn gathered(diagnostics: Vec<Diagnostic>) -> Vec<CountedMistake> {
    let mut mistakes: Vec<CountedMistake> = Vec::new();
    // indices in `mistakes`, by common key
    let mut known: HashMap<(&'static str, String), Vec<usize>> = HashMap::new();
    for diagnostic in diagnostics {
        if diagnostic.fixes.is_empty() || diagnostic.labels.len() != 1 {
            mistakes.push(CountedMistake { diagnostic, times: 1 });
            continue;
        }
        let alike = known.entry((diagnostic.code.code, diagnostic.headline.clone())).or_default();
        if let Some(&k) = alike.iter().find(|&&k| one_slip(&mistakes[k].diagnostic, &diagnostic)) {
            let CountedMistake { diagnostic: first, times } = &mut mistakes[k];
            *times += 1;
            first.fixes.extend(diagnostic.fixes);
            if first.labels.len() < MAX_LABELS {
                first.labels.extend(diagnostic.labels);
            }
        } else {
            alike.push(mistakes.len());
            mistakes.push(CountedMistake { diagnostic, times: 1 });
        }
    }
    for CountedMistake { diagnostic, times } in mistakes.iter_mut().filter(|slip| slip.times > 1) {
        diagnostic.headline = format!("{} ({times} times)", diagnostic.headline);
    }
    mistakes
}

/// True if both have the same words and the same text to type.
fn one_slip(a: &Diagnostic, b: &Diagnostic) -> bool {
    let mut texts = b.fixes.iter().map(|fix| &fix.text);
    let alike = a.fixes.iter().take(b.fixes.len()).all(|fix| texts.next() == Some(&fix.text));
    alike && a.severity == b.severity && a.help == b.help && a.labels[0].text == b.labels[0].text
}

/// The code for names that are written in pieces: the replaced text looks like an expression.
const NAMES: &Code = &codes::E0134;

/// Adds brackets to the text of a fix that would not remain one operand. Drops fixes that replace a part of an
/// operand: `E^x` in `E^x^2`.
pub(crate) fn keep_operands_whole(source: &Source, diagnostics: &mut [Diagnostic]) {
    if source.text.len() > MAX_TEXT || diagnostics.iter().all(|diagnostic| diagnostic.fixes.is_empty()) {
        return;
    }
    let masked = without_comments(&source.text);
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| !diagnostic.fixes.is_empty()) {
        let whole = |fix: &Fix| {
            // a fix may consist of brackets only
            let brackets = masked.get(fix.span.range()).map(str::trim) == Some(without_brackets(&fix.text));
            fix.text.trim().is_empty() || brackets || operand::is_whole(&masked, fix.span.range())
        };
        let torn = diagnostic.code != NAMES && !diagnostic.fixes.iter().all(whole);
        let (text, fixes) = near(&source.text, &diagnostic.fixes);
        match fits(text, &fixes).filter(|_| !torn) {
            Some(fits) => fits.into_iter().enumerate().filter(|(_, fit)| *fit == Fit::Bracketed).for_each(|(k, _)| {
                bracket(diagnostic, k);
            }),
            None => diagnostic.fixes.clear(),
        }
    }
}

/// The lines around some fixes, with the fixes at their places there. Only these lines decide how a text fits.
fn near<'a>(text: &'a str, fixes: &[Fix]) -> (&'a str, Vec<Fix>) {
    let bytes = text.as_bytes();
    let first = fixes.iter().map(|fix| fix.span.start as usize).min().unwrap_or(0).min(bytes.len());
    let last = fixes.iter().map(|fix| fix.span.end as usize).max().unwrap_or(0).clamp(first, bytes.len());
    let newlines = |part: &'a [u8]| part.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let start = newlines(&bytes[..first]).rev().nth(LINES_AROUND).map_or(0, |at| at + 1);
    let end = newlines(&bytes[last..]).nth(LINES_AROUND).map_or(bytes.len(), |at| last + at);
    let moved = |at: u32| at - start as u32;
    let there = |fix: &Fix| Fix {
        span: Span { start: moved(fix.span.start), end: moved(fix.span.end), ..fix.span },
        text: fix.text.clone(),
    };
    (&text[start..end], fixes.iter().map(there).collect())
}

/// How each text must be typed, checked in the text with all fixes. `None` if one of them does not fit at its place.
fn fits(text: &str, fixes: &[Fix]) -> Option<Vec<Fit>> {
    let edited = without_comments(&apply(text, fixes)?);
    let mut order: Vec<usize> = (0..fixes.len()).collect();
    order.sort_by_key(|k| fixes[*k].span);
    let mut found = vec![Fit::Unknown; fixes.len()];
    let (mut grown, mut shrunk) = (0, 0);
    for k in order {
        let Fix { span, text } = &fixes[k];
        let start = (span.start as usize + grown).checked_sub(shrunk)?;
        found[k] = operand::at(&edited, start..start + text.len());
        if found[k] == Fit::Unknown {
            return None;
        }
        grown += text.len();
        shrunk += span.range().len();
    }
    Some(found)
}

/// Adds brackets to the text of a fix, and to its quotation in the message.
fn bracket(diagnostic: &mut Diagnostic, k: usize) {
    let plain = diagnostic.fixes[k].text.clone();
    let (quoted, better) = (format!("`{plain}`"), format!("`({plain})`"));
    diagnostic.fixes[k].text = format!("({plain})");
    diagnostic.help = diagnostic.help.take().map(|help| help.replace(&quoted, &better));
    for label in &mut diagnostic.labels {
        label.text = label.text.replace(&quoted, &better);
    }
}

/// Drops the fixes that put a name into a line that contains it already: `-ke*x/(Ke + x)` has two quantities, and
/// `pos - posr` would become zero.
pub(crate) fn keep_distinct_names(source: &Source, diagnostics: &mut [Diagnostic]) {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let repeats = |fix: &Fix| {
        let old = source.text.get(fix.span.range()).unwrap_or_default();
        if old.is_empty() || fix.text.is_empty() || !old.chars().chain(fix.text.chars()).all(word) {
            return false;
        }
        let start = source.text[..fix.span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let line = source.text[start..].lines().next().unwrap_or_default();
        line.split(|c| !word(c)).any(|name| name == fix.text)
    };
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.code == UNKNOWN) {
        if diagnostic.fixes.iter().any(repeats) {
            diagnostic.fixes.clear();
        }
    }
}

/// The code for names that are not declared.
const UNKNOWN: &Code = &codes::E0201;

/// The errors of a text before any fix.
struct Before {
    count: usize,
    /// Their codes and headlines.
    known: HashSet<(&'static str, String)>,
}

impl Before {
    fn of(mistakes: &[CountedMistake]) -> Before {
        let errors = || mistakes.iter().filter(|slip| slip.diagnostic.is_error());
        let headline = |CountedMistake { diagnostic, times }: &CountedMistake| {
            let counted = format!(" ({times} times)");
            diagnostic.headline.strip_suffix(&counted).unwrap_or(&diagnostic.headline).to_owned()
        };
        Before {
            count: errors().map(|slip| slip.times).sum(),
            known: errors().map(|slip| (slip.diagnostic.code.code, headline(slip))).collect(),
        }
    }

    fn knows(&self, diagnostic: &Diagnostic) -> bool {
        let headline = clipped(diagnostic.clone()).headline;
        self.known.contains(&(diagnostic.code.code, headline))
    }
}

/// Drops the fixes of errors that do not reduce the number of errors, or that correct fewer places than they change,
/// or whose text has errors of its own.
pub(crate) fn keep_effective_fixes(source: &Source, mistakes: &mut [CountedMistake]) {
    if source.text.len() > MAX_TEXT {
        return;
    }
    let before = Before::of(mistakes);
    let offers = |slip: &CountedMistake| slip.diagnostic.is_error() && !slip.diagnostic.fixes.is_empty();
    let offered: Vec<usize> = (0..mistakes.len()).filter(|&k| offers(&mistakes[k])).collect();
    let (few, many) = offered.split_at(offered.len().min(MAX_TRIED));
    for &k in few {
        test(source, mistakes, &[k], &before);
    }
    let mut groups = vec![apart(mistakes, many)];
    for _ in 0..MAX_TRIED {
        let Some(group) = groups.pop() else { break };
        if !group.is_empty() && !test(source, mistakes, &group, &before) && group.len() > 1 {
            let (first, second) = group.split_at(group.len() / 2);
            groups.extend([second.to_vec(), first.to_vec()]);
        }
    }
    for _ in 0..MAX_TOGETHER {
        if test_together(source, mistakes, &before) {
            break;
        }
    }
}

/// Tests the fixes of some mistakes together. Those of a single mistake are dropped if they fail.
fn test(source: &Source, mistakes: &mut [CountedMistake], group: &[usize], before: &Before) -> bool {
    let fixes: Vec<Fix> = group.iter().flat_map(|&k| mistakes[k].diagnostic.fixes.iter().cloned()).collect();
    let times: usize = group.iter().map(|&k| mistakes[k].times).sum();
    let mends = source.edited(&fixes).is_some_and(|edited| {
        let left = diagnose(&edited);
        let errors = left.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        // one fix of a group may hide that another one is wrong; then the text that it typed has an error
        let single = group.len() == 1;
        let fewer = errors + times <= before.count || single && uncovers(source, &fixes, &left, before);
        fewer && wrong(&edited, &left, &fixes, |d| single && before.knows(d)).is_empty()
    });
    for &k in group {
        let diagnostic = &mut mistakes[k].diagnostic;
        diagnostic.fixes_tried = mends;
        if !mends && group.len() == 1 {
            diagnostic.fixes.clear();
        }
    }
    mends
}

/// True if the errors that remain after some fixes are not of their making: they remain too if a number stands in place
/// of what the fixes type. The mistake has hidden some of them.
fn uncovers(source: &Source, fixes: &[Fix], left: &Checked, before: &Before) -> bool {
    let errors = |checked: &Checked| -> Vec<(&'static str, String)> {
        let errors = checked.diagnostics.iter().filter(|d| d.is_error());
        errors.map(|d| (d.code.code, clipped(d.clone()).headline)).collect()
    };
    let remaining = errors(left);
    let inert: Vec<Fix> = fixes.iter().map(|fix| Fix { text: "1".into(), ..fix.clone() }).collect();
    // an error that was there before is the mistake itself, or one that may depend on it
    !remaining.iter().any(|error| before.known.contains(error))
        && fixes.iter().all(|fix| !fix.span.range().is_empty())
        && source.edited(&inert).is_some_and(|edited| errors(&diagnose(&edited)) == remaining)
}

/// Applies all tested fixes at once, as `odec check --fix` does, and drops those whose text has an error then: the
/// other mistakes have hidden it. True if there is none.
fn test_together(source: &Source, mistakes: &mut [CountedMistake], before: &Before) -> bool {
    let (mut fixes, mut owners): (Vec<Fix>, Vec<usize>) = (Vec::new(), Vec::new());
    let tried: Vec<usize> = (0..mistakes.len()).filter(|&k| mistakes[k].diagnostic.fixes_tried).collect();
    for k in apart(mistakes, &tried) {
        let own = &mistakes[k].diagnostic.fixes;
        owners.extend(own.iter().map(|_| k));
        fixes.extend(own.iter().cloned());
    }
    if owners.first() == owners.last() {
        return true;
    }
    let Some(edited) = source.edited(&fixes) else { return true };
    let failed = wrong(&edited, &diagnose(&edited), &fixes, |d| before.knows(d));
    for &k in &failed {
        let diagnostic = &mut mistakes[owners[k]].diagnostic;
        diagnostic.fixes.clear();
        diagnostic.fixes_tried = false;
    }
    failed.is_empty()
}

/// The fixes whose text has an error in the edited source, other than the expected ones. Unreadable lines hide names
/// that are not declared, so these are searched for.
fn wrong(edited: &Source, left: &Checked, fixes: &[Fix], expected: impl Fn(&Diagnostic) -> bool) -> HashSet<usize> {
    let errors = left.diagnostics.iter().filter(|d| d.is_error() && !expected(d));
    let mut places: Vec<Span> = errors.filter_map(Diagnostic::span).collect();
    if !left.tree.broken.is_empty() {
        places.extend(crate::model::phases::undeclared_places(&left.tree, edited));
    }
    typed_at(&places, fixes)
}

/// The fixes whose text one of these places of the edited source touches.
fn typed_at(places: &[Span], fixes: &[Fix]) -> HashSet<usize> {
    let mut order: Vec<usize> = (0..fixes.len()).collect();
    order.sort_by_key(|&k| fixes[k].span);
    let (mut grown, mut shrunk) = (0, 0);
    let mut typed: Vec<std::ops::Range<usize>> = Vec::with_capacity(order.len());
    for &k in &order {
        let start = (fixes[k].span.start as usize + grown).saturating_sub(shrunk);
        typed.push(start..start + fixes[k].text.len());
        grown += fixes[k].text.len();
        shrunk += fixes[k].span.range().len();
    }
    let mut found = HashSet::new();
    for place in places.iter().map(|place| place.range()) {
        let first = typed.partition_point(|range| range.end < place.start);
        let here = typed[first..].iter().take_while(|range| range.start <= place.end).count();
        found.extend(&order[first..first + here]);
    }
    found
}

/// The mistakes whose fixes are apart from each other.
fn apart(mistakes: &[CountedMistake], offered: &[usize]) -> Vec<usize> {
    let spans = |&k: &usize| mistakes[k].diagnostic.fixes.iter().map(move |fix| (fix.span, k));
    let mut places: Vec<(Span, usize)> = offered.iter().flat_map(spans).collect();
    places.sort_unstable();
    let touching = |pair: &&[(Span, usize)]| pair[0].1 != pair[1].1 && pair[1].0.start <= pair[0].0.end;
    let close: HashSet<usize> = places.windows(2).filter(touching).flat_map(|pair| [pair[0].1, pair[1].1]).collect();
    offered.iter().copied().filter(|k| !close.contains(k)).collect()
}
