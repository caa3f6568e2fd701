//! Keeps only the fixes that reduce the number of errors: each fix is applied and the text is checked again, because
//! a tool may apply it without review. If a fix inserts text into an expression, the text gets parentheses where the
//! operators around it would split it.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Fix};
use crate::report::MAX_LABELS;
use crate::source::Source;
use crate::syntax::operand::{self, Fit};
use crate::syntax::{without_brackets, without_comments};

/// Largest number of fixes to test for one text. The others are offered without a test: users correct so many
/// mistakes one at a time anyway.
const MAX_TRIED: usize = 12;
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
const NAMES: &str = "E0134";

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
        let torn = diagnostic.code.code != NAMES && !diagnostic.fixes.iter().all(whole);
        match fits(&source.text, &diagnostic.fixes).filter(|_| !torn) {
            Some(fits) => fits.into_iter().enumerate().filter(|(_, fit)| *fit == Fit::Bracketed).for_each(|(k, _)| {
                bracket(diagnostic, k);
            }),
            None => diagnostic.fixes.clear(),
        }
    }
}

/// How each text must be typed, judged in the text with all fixes. `None` if one of them does not fit at its place.
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
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.code.code == UNKNOWN) {
        if diagnostic.fixes.iter().any(repeats) {
            diagnostic.fixes.clear();
        }
    }
}

/// The code for names that are not declared.
const UNKNOWN: &str = "E0201";

/// Drops the fixes of errors that do not reduce the number of errors, or that correct fewer places than they change.
pub(crate) fn keep_effective_fixes(source: &Source, mistakes: &mut [CountedMistake]) {
    if source.text.len() > MAX_TEXT {
        return;
    }
    let before: usize = mistakes.iter().filter(|slip| slip.diagnostic.is_error()).map(|slip| slip.times).sum();
    let offered = mistakes.iter_mut().filter(|slip| slip.diagnostic.is_error() && !slip.diagnostic.fixes.is_empty());
    for CountedMistake { diagnostic, times } in offered.take(MAX_TRIED) {
        let mends = source.edited(&diagnostic.fixes).is_some_and(|edited| errors(&edited) + *times <= before);
        diagnostic.fixes_tried = mends;
        if !mends {
            diagnostic.fixes.clear();
        }
    }
}

/// The text with all fixes applied, if their locations exist. The result for overlapping fixes is undefined.
pub fn apply(text: &str, fixes: &[Fix]) -> Option<String> {
    let mut order: Vec<&Fix> = fixes.iter().collect();
    order.sort_by_key(|fix| std::cmp::Reverse(fix.span));
    let mut out = text.to_string();
    for fix in order {
        out.get(fix.span.range())?;
        out.replace_range(fix.span.range(), &fix.text);
    }
    Some(out)
}

fn errors(source: &Source) -> usize {
    let checked = crate::diagnose(source);
    checked.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
}
