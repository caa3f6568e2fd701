//! One fixture for every code of names, equations, runs and features: exactly one diagnostic, the fix compiles.

use odec_lang::diagnostic::{Diagnostic, Severity, codes};
use odec_lang::source::{NoPart, PartFile, PartFiles, Source};

use crate::common::with_parts;

/// The fixtures of a code, in the order of their names.
fn fixtures() -> Vec<(String, Source)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/errors");
    let entries = std::fs::read_dir(folder).map_or_else(|_| Vec::new(), |list| list.filter_map(Result::ok).collect());
    let mut list = Vec::new();
    for entry in entries {
        let path = entry.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let ours = ["E02", "E03", "E04", "E05", "W02", "W03", "W04", "N01"].iter().any(|p| name.starts_with(p));
        if ours && name.ends_with(".ode") {
            let text = std::fs::read_to_string(&path).expect("a readable fixture");
            list.push((name[..5].to_owned(), with_parts(Source::new(name, text))));
        }
    }
    list.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    list
}

fn apply(text: &str, fixes: &[odec_lang::diagnostic::Fix]) -> String {
    let mut fixes = fixes.to_vec();
    fixes.sort_by_key(|f| std::cmp::Reverse(f.span.start));
    let mut text = text.to_owned();
    for fix in fixes {
        text.replace_range(fix.span.range(), &fix.text);
    }
    text
}

#[test]
fn a_fixture_with_one_fault_yields_one_diagnostic() {
    let mut wrong = Vec::new();
    for (code, source) in fixtures() {
        let checked = odec_lang::check(&source);
        // A note on units accompanies the two warnings and the error on units.
        let said: Vec<&str> = checked
            .diagnostics
            .iter()
            .filter(|d| d.severity > Severity::Note || code.starts_with('N'))
            .map(|d| d.code.code)
            .collect();
        if said != [code.as_str()] {
            wrong.push(format!("{}: {said:?}", source.name));
        }
        for d in &checked.diagnostics {
            let inside =
                d.labels.iter().all(|l| l.span.start <= l.span.end && (l.span.end as usize) <= source.text.len());
            if !inside || d.labels.is_empty() || d.headline.is_empty() || d.help.is_none() {
                wrong.push(format!("{}: a diagnostic without place, headline or help", source.name));
            }
            if !d.fixes.is_empty() {
                let mended = with_parts(Source::new("mended", apply(source.model(), &d.fixes)));
                let errors: Vec<_> =
                    odec_lang::check(&mended).diagnostics.into_iter().filter(Diagnostic::is_error).collect();
                if !errors.is_empty() {
                    wrong.push(format!("{}: the fix gives\n{}\nand {errors:?}", source.name, mended.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_fixture() {
    let fixtures: Vec<String> = fixtures().into_iter().map(|f| f.0).collect();
    // E0409 is about a flag, and E0323 and E0504 about commands: no text alone causes them. A text for E0508 is too
    // long to store. E0552 is found when sizes are bound.
    let missing: Vec<&str> = codes()
        .map(|c| c.code)
        .filter(|c| ["E02", "E03", "E04", "E05", "W02", "W03", "W04", "N01"].iter().any(|p| c.starts_with(p)))
        .filter(|c| !["E0323", "E0409", "E0504", "E0508", "E0552"].contains(c) && !fixtures.iter().any(|f| f == c))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(fixtures.len() > 40);
}

/// Fenced examples of a page: the words after the language, and the text.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut list = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => list.extend(open.take()),
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    list
}

/// The examples of a page that have the names of files.
struct Examples(Vec<(String, String)>);

impl PartFiles for Examples {
    fn part(&self, _: &str, name: &str) -> Result<PartFile, NoPart> {
        let found = self.0.iter().find(|(info, _)| info.split(',').any(|word| word == name));
        let missing = || NoPart { headline: format!("there is no file `{name}`"), help: None };
        let (_, text) = found.ok_or_else(missing)?;
        Ok(PartFile { name: name.to_owned(), folder: String::new(), bytes: text.as_bytes().to_vec() })
    }
}

#[test]
fn the_examples_of_the_pages_do_what_the_pages_say() {
    let mut seen = 0;
    for row in codes()
        .filter(|c| ["E02", "E03", "E04", "E05", "W02", "W03", "W04", "N01"].iter().any(|p| c.code.starts_with(p)))
    {
        let examples = examples(row.page);
        let page = Examples(examples.clone());
        for (info, text) in examples.into_iter().filter(|(info, _)| info.starts_with("ode")) {
            let source = Source::new(row.code, text).with_parts(&page);
            let diagnostics = odec_lang::check(&source).diagnostics;
            let found = diagnostics.iter().any(|d| *d.code == *row.code);
            let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.code).collect();
            match info.split(',').skip(1).find(|word| !word.ends_with(".ode")) {
                // an example of a page may show another code that belongs to the matter
                Some(code) => assert!(diagnostics.iter().any(|d| d.code == code), "{}: {errors:?}", row.code),
                None => assert!(!found && errors.is_empty(), "{}: {errors:?}", row.code),
            }
            seen += 1;
        }
    }
    assert!(seen > 80);
}
