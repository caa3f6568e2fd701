//! Mutated SBML files: a model or a message for each, within 1 GiB of memory. Ten thousand files in every run of the
//! tests, and a fuzz target.

use std::process::Command;

use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;
use odec_tests::command::{finish, odec, scratch};
use odec_tests::fuzz::{Seeds, with_seed};
use odec_tests::mutate::Random;
use odec_tests::{files, root, text};

/// Exit codes of a run; 70, an internal error, is not among them.
const ANSWERS: std::ops::RangeInclusive<i32> = 0..=5;

/// Memory limit of the command, in KiB: the address space, which is never smaller than the memory in use.
const MOST_MEMORY: u64 = 1 << 20;

/// Values for attributes and numbers.
const VALUES: [&str; 14] =
    ["0", "-1", "1e308", "-1e-320", "NaN", "INF", "-INF", "true", "false", "", "99999999999999999999", "S1", "t", "é"];

fn originals() -> Vec<String> {
    files(&root().join("tests/fixtures/sbml"), "xml").iter().map(|p| text(p)).collect()
}

/// Ranges between two characters: values of attributes, or contents of elements.
fn between(text: &str, open: char, close: char) -> Vec<std::ops::Range<usize>> {
    let found = text.match_indices(open).filter_map(|(k, _)| {
        let start = k + open.len_utf8();
        text[start..].find(close).map(|n| start..start + n)
    });
    found.collect()
}

/// Edits of values, which do not change the elements and attributes of SBML.
const OF_VALUES: std::ops::Range<usize> = 5..8;

/// Makes one edit of a text.
fn edit(text: &mut String, kind: usize, originals: &[String], random: &mut Random) {
    let tags: Vec<usize> = text.match_indices('<').map(|(k, _)| k).chain([text.len()]).collect();
    let tag = |random: &mut Random| *random.pick(&tags);
    match kind {
        0 => {
            let mut bytes = std::mem::take(text).into_bytes();
            let at = random.below(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *random.pick(b"<>&\"'= /x0-.\x00\xc3e");
            }
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => {
            let at = tag(random);
            text.truncate(at);
        }
        // from one tag to another, often a whole element
        2 => {
            let from = random.below(tags.len());
            let to = (from + 1 + random.below(8)).min(tags.len() - 1);
            text.replace_range(tags[from]..tags[to].max(tags[from]), "");
        }
        3 => {
            let from = random.below(tags.len());
            let to = (from + 1 + random.below(12)).min(tags.len() - 1);
            let piece = text[tags[from]..tags[to].max(tags[from])].to_owned();
            let at = tag(random);
            text.insert_str(at, &piece);
        }
        // from another file
        4 => {
            let other = random.pick(originals);
            let others: Vec<usize> = other.match_indices('<').map(|(k, _)| k).collect();
            let from = random.below(others.len());
            let to = (from + 1 + random.below(20)).min(others.len() - 1);
            let at = tag(random);
            text.insert_str(at, &other[others[from]..others[to]]);
        }
        kind @ (5 | 6) => {
            let places = if kind == 5 { between(text, '"', '"') } else { between(text, '>', '<') };
            if !places.is_empty() {
                let place = random.pick(&places).clone();
                text.replace_range(place, VALUES[random.below(VALUES.len())]);
            }
        }
        // replaces the value of one attribute by that of another
        7 => {
            let places = between(text, '"', '"');
            if !places.is_empty() {
                let (to, from) = (random.pick(&places).clone(), random.pick(&places).clone());
                let value = text[from].to_owned();
                text.replace_range(to, &value);
            }
        }
        // an element in itself, many times
        _ => {
            let at = random.below(tags.len());
            let end = text[tags[at]..].find('>').map_or(tags[at], |n| tags[at] + n + 1);
            let piece = text[tags[at]..end].repeat(1 << random.below(10));
            text.insert_str(tags[at], &piece);
        }
    }
}

fn mutant(originals: &[String], random: &mut Random) -> String {
    let mut text = random.pick(originals).clone();
    // most other edits make a file that is refused for its form, before any other check
    let kinds = if random.below(3) == 0 { OF_VALUES } else { 0..9 };
    for _ in 0..=random.below(3) {
        if !text.is_empty() {
            let kind = kinds.start + random.below(kinds.len());
            edit(&mut text, kind, originals, random);
        }
    }
    text
}

/// Imports a file and compiles its model. True if the model can be run.
fn judge(text: &str) -> bool {
    let imported = odec_sbml::import(text);
    let errors = imported.diagnostics.iter().any(Diagnostic::is_error);
    assert_eq!(imported.text.is_none(), errors, "{text}");
    for label in imported.diagnostics.iter().flat_map(|d| &d.labels) {
        assert!(text.get(label.span.range()).is_some(), "a place outside of the text: {:?}\n{text}", label.span);
    }
    let Some(made) = imported.text else { return false };
    let checked = odec_lang::check(&Source::new("mutant.ode".to_owned(), made));
    checked.model.is_some_and(|model| odec_lang::lower(&model, &odec_lang::Overrides::default()).is_ok())
}

#[test]
fn mutated_files_get_a_model_or_a_message() {
    let originals = originals();
    let mut random = Random(17);
    let models = (0..10_000).filter(|_| judge(&mutant(&originals, &mut random))).count();
    assert!((500..9500).contains(&models), "{models} of the mutants were models");
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_sbml() {
    let originals = originals();
    let folder = scratch("fuzz-sbml");
    let limited = format!("ulimit -v {MOST_MEMORY}; exec \"$0\" \"$@\"");
    odec();
    for seed in Seeds::new("sbml") {
        with_seed(seed, || {
            let text = mutant(&originals, &mut Random(seed));
            judge(&text);
            // now and then to the end, in a process whose memory is limited
            if cfg!(unix) && seed % 8 == 0 {
                std::fs::write(folder.join("fuzz.xml"), &text).expect("a writable folder");
                let mut command = Command::new("sh");
                command.arg("-c").arg(&limited).arg(odec()).current_dir(&folder);
                command.args(["run", "fuzz.xml", "--quiet", "--t-end", "1", "--samples", "2", "--max-steps", "100"]);
                let ran = finish(command, &[]).orderly();
                assert!(ran.code.is_some_and(|c| ANSWERS.contains(&c)), "{:?}\n{}\n{text}", ran.code, ran.err);
            }
        });
    }
}
