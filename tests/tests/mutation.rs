//! Messages judged by mutation: every model with one token deleted, doubled, swapped or misspelt.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::diagnostic::{Diagnostic, Fix, Severity};
use odec_lang::source::Source;
use odec_tests::mutate::{Random, mutant};
use odec_tests::{models, stem, text};

const SEED: u64 = 2026;
const MUTANTS: usize = 1000;

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].split(|b| *b == b'\n').count()
}

/// Errors of a text from the whole front end: parsing, names, lowering.
fn errors(name: &str, text: &str) -> Vec<Diagnostic> {
    let source = Source::new(name.to_owned(), text.to_owned());
    let checked = odec_lang::check(&source);
    let mut found = checked.diagnostics;
    found.retain(|d| d.severity == Severity::Error);
    if let (true, Some(model)) = (found.is_empty(), &checked.model)
        && let Err(more) = odec_lang::lower(model, &odec_lang::Overrides::default())
    {
        found.extend(more.into_iter().filter(|d| d.severity == Severity::Error));
    }
    found
}

/// The text with these replacements, the last in the text first; overlapping ones are left out.
fn apply(text: &str, fixes: &[Fix]) -> String {
    let mut fixes = fixes.to_vec();
    fixes.sort_by_key(|f| std::cmp::Reverse((f.span.start, f.span.end)));
    fixes.dedup();
    let mut changed = text.to_owned();
    let mut from = usize::MAX;
    for fix in fixes {
        let range = fix.span.range();
        if range.end <= from {
            from = range.start;
            changed.replace_range(range, &fix.text);
        }
    }
    changed
}

#[derive(Default)]
struct Tally {
    all: usize,
    rejected: usize,
    single: usize,
    on_the_line: usize,
    offered: usize,
    mended: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |a: usize, b: usize| if b == 0 { 100.0 } else { 100.0 * a as f64 / b as f64 };
        write!(
            f,
            "{:5} mutants, {:5} rejected, one error {:5.1} %, on the line {:5.1} %, a fix offered {:4}, it mends {:5.1} %",
            self.all,
            self.rejected,
            percent(self.single, self.rejected),
            percent(self.on_the_line, self.rejected),
            self.offered,
            percent(self.mended, self.offered)
        )
    }
}

#[test]
fn one_mistake_gives_one_message_at_its_place() {
    let mut random = Random(SEED);
    let models: Vec<(String, String)> = models().iter().map(|p| (stem(p), text(p))).collect();
    // their files do not exist
    let models: Vec<(String, String)> = models.into_iter().filter(|(_, text)| !text.contains("\nuse \"")).collect();
    let mut seen = BTreeSet::new();
    let mut total = Tally::default();
    let mut kinds: BTreeMap<String, Tally> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut next = 0;
    while total.all < MUTANTS {
        let (name, text) = &models[next % models.len()];
        next += 1;
        let Some(mutant) = mutant(text, &mut random) else { continue };
        if !seen.insert(mutant.text.clone()) {
            continue;
        }
        let Ok(found) = std::panic::catch_unwind(|| errors(name, &mutant.text)) else {
            panic!("{name}: {:?} of `{}` in line {} panics:\n{}", mutant.edit, mutant.token, mutant.line, mutant.text)
        };
        let single = found.len() == 1;
        let place = found.first().and_then(|d| d.labels.first()).map(|l| line_of(&mutant.text, l.span.start as usize));
        let on_the_line = place == Some(mutant.line);
        let fixes: Vec<Fix> = found.iter().flat_map(|d| d.fixes.clone()).collect();
        let mended = !fixes.is_empty() && errors(name, &apply(&mutant.text, &fixes)).is_empty();
        let kind = kinds.entry(format!("{:?}", mutant.edit)).or_default();
        for tally in [&mut total, kind] {
            tally.all += 1;
            tally.rejected += usize::from(!found.is_empty());
            tally.single += usize::from(single);
            tally.on_the_line += usize::from(on_the_line);
            tally.offered += usize::from(!fixes.is_empty());
            tally.mended += usize::from(mended);
        }
        if !found.is_empty() && (!single || !on_the_line || (!fixes.is_empty() && !mended)) {
            let line = mutant.text.lines().nth(mutant.line - 1).unwrap_or_default();
            let messages: Vec<String> = found
                .iter()
                .map(|d| {
                    let at = d.labels.first().map_or(0, |l| line_of(&mutant.text, l.span.start as usize));
                    format!(
                        "    {} line {at}: {}{}",
                        d.code,
                        d.headline,
                        if d.fixes.is_empty() { "" } else { " [fix]" }
                    )
                })
                .take(6)
                .collect();
            faults.push(format!(
                "{name}:{} {:?} `{}`: {line}\n{}",
                mutant.line,
                mutant.edit,
                mutant.token,
                messages.join("\n")
            ));
        }
    }
    for (kind, tally) in &kinds {
        println!("{kind:8} {tally}");
    }
    println!("{:8} {total} (seed {SEED})", "all");
    if std::env::var_os("SHOW").is_some() {
        println!("{}", faults.join("\n"));
    }
    assert!(total.rejected >= MUTANTS / 2, "{total}");
    assert!(total.single * 100 >= total.rejected * 80, "{total}");
    assert!(total.on_the_line * 100 >= total.rejected * 80, "{total}");
    assert!(total.mended * 100 >= total.offered * 90, "{total}");
    assert!(total.offered >= 50, "{total}");
}
