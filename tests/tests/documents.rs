//! Every ```` ```ode ```` block of the documents is compiled; a block marked with a code must give that code and no other.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;
use odec_tests::command::{run_in, scratch};
use odec_tests::{block, files, parts, root, snapshot, stem, text};

/// True if the diagnostics match the marks: every marked code, and no other error.
fn fits(found: &[Diagnostic], marked: &[String]) -> bool {
    let is_marked = |d: &&Diagnostic| marked.iter().any(|m| *d.code == **m);
    marked.iter().all(|m| found.iter().any(|d| *d.code == **m))
        && found.iter().filter(|d| d.is_error()).all(|d| is_marked(&d))
}

#[test]
fn every_example_compiles_or_fails_as_marked() {
    let mut documents = files(&root().join("docs"), "md");
    documents.push(root().join("README.md"));
    let mut count = 0;
    let mut wrong = Vec::new();
    for document in documents {
        let examples = block::of(&document, "ode");
        let file = |words: &[String]| words.iter().find(|word| word.ends_with(".ode")).cloned();
        let files: Vec<(String, String)> =
            examples.iter().filter_map(|e| Some((file(&e.words)?, e.text.clone()))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        for example in examples {
            count += 1;
            let expected: Vec<String> = example.words[1..].iter().filter(|w| !w.ends_with(".ode")).cloned().collect();
            let place = format!("{}:{}", document.display(), example.line);
            let source = parts::among(&files, Source::new(place.clone(), example.text.clone()));
            let checked = odec_lang::check(&source);
            let codes: Vec<&str> = checked.diagnostics.iter().map(|d| d.code.code).collect();
            let mut messages: Vec<&str> = checked.diagnostics.iter().map(|d| d.headline.as_str()).collect();
            if fits(&checked.diagnostics, &expected) {
                if expected.iter().any(|m| m.starts_with('E')) {
                    continue;
                }
                match checked.model.as_ref().map(|m| odec_lang::lower(m, &odec_lang::Overrides::default())) {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) => messages.push("it does not lower to a program"),
                    None => messages.push("no model and no error"),
                }
            }
            wrong.push(format!("{place}: expected {expected:?}, found {codes:?}\n  {}", messages.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 40, "only {count} examples were found");
}

/// The pages about errors show runs that fail.
#[test]
fn expectations_in_examples_hold() {
    let mut documents = files(&root().join("docs"), "md");
    documents.push(root().join("README.md"));
    documents.retain(|document| !document.starts_with(root().join("docs/errors")));
    let mut count = 0;
    for document in documents {
        let examples = block::of(&document, "ode");
        let name = |words: &[String]| words.iter().find(|word| word.ends_with(".ode")).cloned();
        let folder = scratch(&format!("expectations-{}", stem(&document)));
        for example in &examples {
            if let Some(name) = name(&example.words) {
                let file = folder.join(name);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                std::fs::write(file, &example.text).expect("a file");
            }
        }
        for example in &examples {
            let fails = example.words[1..].iter().any(|word| word.starts_with('E'));
            if fails || !example.text.lines().any(|line| line.trim_start().starts_with("expect ")) {
                continue;
            }
            count += 1;
            std::fs::write(folder.join("example.ode"), &example.text).expect("a file");
            let ran = run_in(&folder, &["test", "example.ode"], b"");
            assert!(ran.code == Some(0), "{}:{}\n{}{}", document.display(), example.line, ran.text(), ran.err);
        }
    }
    assert!(count >= 40, "only {count} examples with expectations were found");
}

/// Replaces the lines after the line that contains `mark` by `rows`, and compares the page.
fn generated(page: &str, mark: &str, rows: &str) {
    let path = root().join("docs").join(page);
    let old = text(&path);
    let start = old.find(mark).unwrap_or_else(|| panic!("{page} has no {mark}")) + mark.len();
    let end = old[start..].find("\n## ").map_or(old.len(), |at| start + at + 1);
    let gap = if end == old.len() { "" } else { "\n" };
    let new = format!("{}\n{rows}{gap}{}", &old[..start], &old[end..]);
    snapshot::report(snapshot::check(&path, &new).err().as_slice());
}

#[test]
fn the_list_of_functions_is_that_of_the_compiler() {
    let mut rows = String::from("| | |\n|---|---|\n");
    for row in odec_ir::builtin::table() {
        // `if` is a keyword of the language and has no call syntax
        if odec_ir::builtin::find_function(row.name).is_some() && row.name != "if" {
            let arguments = match (row.name, row.arity) {
                ("atan2", _) => "y, x",
                (_, 1) => "x",
                (_, 2) => "x, y",
                _ => "x, y, z",
            };
            rows.push_str(&format!("| `{}({arguments})` | {} |\n", row.name, row.doc));
        }
    }
    generated("language/functions.md", "<!-- made from the table of builtins -->", &rows);
}

#[test]
fn the_table_of_methods_is_that_of_the_solvers() {
    let mut rows = String::from("| name | order | family | stability | about |\n|---|---|---|---|---|\n");
    for row in odec_ode::method::table() {
        let names: Vec<String> = std::iter::once(&row.name).chain(row.aliases).map(|n| format!("`{n}`")).collect();
        let family = row.family.name();
        rows.push_str(&format!(
            "| {} | {} | {family} | {} | {} ({}) |\n",
            names.join(", "),
            row.order,
            row.stability,
            row.about.replace('|', "\\|"),
            row.source
        ));
    }
    generated("methods.md", "<!-- made from the table of methods -->", &rows);
}

/// Output in a terminal for one line of a `console` block; `| head -N` is supported.
fn terminal(folder: &std::path::Path, line: &str) -> String {
    let (command, head) = match line.split_once(" | head -") {
        Some((command, count)) => (command, count.trim().parse().expect("a number of lines")),
        None => (line, usize::MAX),
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"odec"), "{line}");
    let ran = run_in(folder, &words[1..], b"").orderly();
    let rows: String = ran.text().lines().take(head).map(|l| format!("{l}\n")).collect();
    format!("{rows}{}", ran.err)
}

/// Replaces durations, which differ between runs: a number before a unit of time of the clock equals any other.
fn without_durations(text: &str) -> String {
    let units = ["ns", "µs", "us", "ms", "s"];
    let mut masked = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (i, word) in words.iter().enumerate() {
            let bare = word.trim_end_matches([',', ';', ')']);
            let attached = units.iter().any(|u| bare.strip_suffix(u).is_some_and(|n| n.parse::<f64>().is_ok()));
            let next = words.get(i + 1).map(|w| w.trim_end_matches([',', ';', ')']));
            let detached = bare.parse::<f64>().is_ok() && next.is_some_and(|n| units.contains(&n));
            masked.push_str(if attached || detached { "N" } else { word });
            masked.push(' ');
        }
        masked.push('\n');
    }
    masked
}

/// Commands on the pages print the text on the pages. A block of a model or of data with a file name is written to
/// that file first.
#[test]
fn transcripts_are_real() {
    let mut documents = files(&root().join("docs"), "md");
    documents.push(root().join("README.md"));
    let mut differences = Vec::new();
    let mut commands = 0;
    for document in documents {
        let page = text(&document);
        if !page.contains("```console") {
            continue;
        }
        let folder = scratch(&format!("page-{}", stem(&document)));
        std::fs::create_dir_all(folder.join("models")).expect("a folder");
        for file in ["ode", "csv"].into_iter().flat_map(|ending| files(&root().join("models"), ending)) {
            std::fs::copy(&file, folder.join("models").join(file.file_name().expect("a name"))).expect("a copy");
        }
        let mut shown = page.clone();
        for example in block::blocks(&page) {
            match example.words.first().map(String::as_str) {
                Some("ode") => {
                    if let Some(file) = example.words.iter().find(|w| w.ends_with(".ode")) {
                        std::fs::write(folder.join(file), &example.text).expect("a folder");
                    }
                }
                Some("csv") => {
                    if let Some(file) = example.words.iter().find(|w| w.ends_with(".csv")) {
                        std::fs::write(folder.join(file), &example.text).expect("a folder");
                    }
                }
                Some("console") => {
                    let mut found = String::new();
                    for line in example.text.lines().filter_map(|l| l.strip_prefix("$ ")) {
                        commands += 1;
                        let printed = terminal(&folder, line);
                        assert!(!printed.contains("E0701"), "{}: `{line}` misses a file", document.display());
                        found.push_str(&format!("$ {line}\n{printed}"));
                    }
                    if without_durations(&found) != without_durations(&example.text) {
                        shown = shown.replacen(
                            &format!("```console\n{}```", example.text),
                            &format!("```console\n{found}```"),
                            1,
                        );
                    }
                }
                _ => {}
            }
        }
        if shown != page {
            differences.extend(snapshot::check(&document, &shown).err());
        }
    }
    snapshot::report(&differences);
    assert!(commands >= 7, "{commands} commands were found");
}
