//! At least one fixture for every code: the source, and the output of the command. Registry, pages and fixtures match.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use odec_lang::diagnostic::codes::{Class, Code, codes};
use odec_lang::source::Source;
use odec_tests::command::{run_in, scratch};
use odec_tests::{files, parts, root, snapshot, stem, text};

fn fixtures() -> PathBuf {
    root().join("tests/fixtures/errors")
}

/// Code in a file name: `E0201` of `E0201-no-such-name.ode`.
fn code(path: &Path) -> String {
    stem(path).split('-').next().unwrap_or_default().to_owned()
}

/// Text of a fixture; one of them is not UTF-8.
fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("a fixture")).into_owned()
}

/// Arguments of the command for a fixture: the words of an `.args` file, or by kind of code for an `.ode` file.
fn arguments(path: &Path) -> Vec<String> {
    let file = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
    if path.extension().is_some_and(|e| e == "args") {
        let command = text(path).lines().last().unwrap_or_default().to_owned();
        return command.split_whitespace().map(str::to_owned).collect();
    }
    let command = match code(path).as_str() {
        "E0616" | "E0617" => "test",
        code if code.get(1..3) == Some("06") => "run",
        _ => "check",
    };
    [command, &file].map(str::to_owned).to_vec()
}

/// Two sums over the same number of values, all of which must be stored for the second one.
fn sums(n: usize) -> String {
    let list = |term: &dyn Fn(usize) -> String| (0..n).map(term).collect::<Vec<_>>();
    format!(
        "model sums\nstate x = 1, y = 1\n{}\nx' = {}\ny' = {}\nrun {{ t = 0 .. 1e-9; method = euler; step = 1e-9 }}\n",
        list(&|i| format!("d{i} = sin({i}*x)")).join("\n"),
        list(&|i| format!("d{i}")).join(" + "),
        list(&|i| format!("{i}*d{i}")).join(" + ")
    )
}

/// Every equation depends on every state.
fn dense(n: usize) -> String {
    let list = |term: &dyn Fn(usize) -> String| (0..n).map(term).collect::<Vec<_>>();
    format!(
        "model dense\n{}\nsum = {}\n{}\nrun {{ t = 0 .. 1 }}\n",
        list(&|i| format!("state x{i} = 1")).join("\n"),
        list(&|i| format!("x{i}")).join(" + "),
        list(&|i| format!("x{i}' = sin({i}*sum)")).join("\n")
    )
}

/// Copies the fixtures, so that output of commands does not mix with them. An `.args` file may request files that are
/// too long to store, or are data, before the line with the command: `blanks NAME BYTES`, `sums NAME TERMS`, `dense
/// NAME STATES`, `lines NAME LINE...`, and `torn NAME LINE...` without the last line end.
fn copy(name: &str) -> PathBuf {
    let folder = scratch(name);
    for entry in std::fs::read_dir(fixtures()).expect("fixtures") {
        let path = entry.expect("readable").path();
        std::fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
        if path.extension().is_some_and(|e| e == "args") {
            for line in text(&path).lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let size = |text: &str| text.parse::<usize>().expect("a number");
                let bytes = match words.as_slice() {
                    ["blanks", _, n] => vec![b' '; size(n)],
                    ["sums", _, n] => sums(size(n)).into_bytes(),
                    ["dense", _, n] => dense(size(n)).into_bytes(),
                    ["lines", _, rest @ ..] => format!("{}\n", rest.join("\n")).into_bytes(),
                    ["torn", _, rest @ ..] => rest.join("\n").into_bytes(),
                    _ => continue,
                };
                std::fs::write(folder.join(words[1]), bytes).expect("a writable folder");
            }
        }
    }
    for path in files(&root().join("tests/fixtures/parts"), "ode") {
        std::fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
    }
    // parts in parts, one level deeper than allowed
    for k in 0..odec_lang::limits::MAX_PART_DEPTH + 2 {
        let name = if k == 0 { "deep.ode".to_owned() } else { format!("deep{k}.ode") };
        let text = format!("use \"deep{}.ode\" as d\nstate x = 1\nx' = -x\n", k + 1);
        std::fs::write(folder.join(name), text).expect("a folder");
    }
    std::fs::write(folder.join("decay.ode"), "model decay\nstate x = 1\nx' = -x\nrun { t = 0 .. 1 }\n")
        .expect("a folder");
    std::fs::write(folder.join("endless.ode"), "model endless\nstate x = 1\nx' = -x\n").expect("a folder");
    let together = "param k = 1\nstate x = 0\nx' = -x + (t > 1)\nat k { x := 2*x }\nrun { t = 0 .. 2 }\n";
    std::fs::write(folder.join("together.ode"), together).expect("a folder");
    let swap = "state a = 1, b = 2\na' = 1\nb' = 1\nwhen t > 1 late { a := b }\nwhen t > 1 late { b := a }\n";
    std::fs::write(folder.join("swap.ode"), swap).expect("a folder");
    std::fs::write(folder.join("implicit.ode"), "param m = 2\nstate x = 1\nm*x' = -x\n").expect("a folder");
    let bound = "state x = 1, x >= 0\nx' = -x\n";
    std::fs::write(folder.join("bound.ode"), bound).expect("a folder");
    let beyond = "param least = 3\nstate x = 1, x >= least\nx' = -x\nrun { t = 0 .. 1 }\n";
    std::fs::write(folder.join("beyond.ode"), beyond).expect("a folder");
    let loss = "param k = 0.1, m = 2\nstate x = 1\nx' = -k*m*x\nrun { t = 0 .. 4 }\n";
    std::fs::write(folder.join("loss.ode"), loss).expect("a folder");
    let swing = "param w = 0.8\nstate x = 1, v = 0\nx' = v\nv' = -w^2*x\nrun { t = 0 .. 20 }\n";
    std::fs::write(folder.join("swing.ode"), swing).expect("a folder");
    let rest = "param k = 0.5\nstate x = 0\nx' = 1 - k*x\nrun { t = 0 .. 3; start = steady; samples = 2 }\n";
    std::fs::write(folder.join("rest.ode"), rest).expect("a folder");
    let full = "param p = 0.5\nstate x = 0\nx' = p\nwhen x > 2 { stop }\nrun { t = 0 .. 3 }\n";
    std::fs::write(folder.join("full.ode"), full).expect("a folder");
    let river = "model river\ntime t [h]\ninput q(t) = table(\"q.csv\", \"flow\", linear) [m^3/h]\nstate x = 1\n\
                 x' = q(t) - x\nrun { t = 0 .. 2 }\n";
    std::fs::write(folder.join("river.ode"), river).expect("a folder");
    let plain = "input q(t) = table(\"plain.csv\", \"x\", linear)\nstate x = 1\nx' = q(t) - x\nrun { t = 0 .. 2 }\n";
    std::fs::write(folder.join("plain.ode"), plain).expect("a folder");
    let arrays = |name: &str, text: &str| {
        let text = format!("model {name}\nconst N = 10\nindex i = 1..N\n{text}\nrun {{ t = 0 .. 1 }}\n");
        std::fs::write(folder.join(format!("{name}.ode")), text).expect("a folder");
    };
    arrays("rod", "state u[i] = 1\nu[i]' = u[i-1] - 2*u[i] + u[i+1]\nboundary u[0], u[N+1] = 0");
    arrays("chain", "state X[i] = 1\nhop[i in 1..9]: X[i] -> X[i+1]  mass 1");
    arrays("ring", "state u[i] = i\nu[i]' = sum(k in 0..N-1: u[i+k])/N\nboundary periodic i");
    arrays("folded", "axis x[i] = (i - 5)^2\nstate u[i] = i\nu[i]' = -u[i]");
    arrays("weighted", "const w[i] = csv(\"weights.csv\")\nstate u[i] = 1\nu[i]' = -w[i]*u[i]");
    arrays("outside", "const w[i] = csv(\"..\")\nstate u[i] = 1\nu[i]' = -w[i]*u[i]");
    std::fs::write(folder.join("weights.csv"), "1\n2\nthree\n4\n").expect("a folder");
    folder
}

/// Messages without the summary of the run, which contains times: its second line names the method.
fn messages(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let summary = |i: &usize| lines.get(i + 1).is_some_and(|l| l.starts_with("method "));
    let end = (0..lines.len()).find(summary).unwrap_or(lines.len());
    lines[..end].iter().map(|l| format!("{}\n", l.trim_end())).collect()
}

#[test]
fn the_rendering_of_each_fixture_is_as_reviewed() {
    let mut differences = Vec::new();
    let folder = copy("errors");
    let mut all = files(&fixtures(), "ode");
    all.extend(files(&fixtures(), "args"));
    for path in all {
        let arguments = arguments(&path);
        let ran = run_in(&folder, &arguments, b"").orderly();
        let source = if path.extension().is_some_and(|e| e == "ode") { lossy(&path) } else { String::new() };
        let code = ran.code.unwrap_or_default();
        let found = format!("{source}---\n$ odec {}\nexit code {code}\n{}", arguments.join(" "), messages(&ran.err));
        if !found.contains(&self::code(&path)) {
            differences.push(format!("{}: the code is not in what is printed\n{found}", path.display()));
        }
        differences.extend(snapshot::check(&path.with_extension("txt"), &found).err());
    }
    snapshot::report(&differences);
}

#[test]
fn one_fault_gives_one_diagnostic() {
    let mut wrong = Vec::new();
    for path in files(&fixtures(), "ode") {
        let expected = code(&path);
        let bytes = std::fs::read(&path).expect("a fixture");
        let mut found: Vec<&str> = match Source::from_bytes(stem(&path), bytes) {
            Ok(source) => {
                let source = parts::within(&root().join("tests/fixtures/parts"), source);
                odec_lang::check(&source).diagnostics.iter().map(|d| d.code.code).collect()
            }
            Err(diagnostic) => vec![diagnostic.code.code],
        };
        if matches!(expected.get(1..3), Some("06")) {
            found.retain(|c| c.starts_with('E'));
            if !found.is_empty() {
                wrong.push(format!("{}: it must compile, found {found:?}", path.display()));
            }
            continue;
        }
        // a note about units accompanies other messages
        found.retain(|c| !c.starts_with('N') || expected.starts_with('N'));
        if found != [expected.as_str()] {
            wrong.push(format!("{}: found {found:?}", path.display()));
        }
    }
    snapshot::report(&wrong);
}

#[test]
fn registry_pages_and_fixtures_match() {
    // a bug in odec has no fixture
    let without = |row: &&Code| row.class == Class::Internal;
    let registry: BTreeMap<&str, &str> = codes().map(|row| (row.code, row.title)).collect();
    assert_eq!(registry.len(), codes().count(), "a code is registered twice");
    let mut with_fixture: BTreeSet<String> = files(&fixtures(), "ode").iter().map(|p| code(p)).collect();
    with_fixture.extend(files(&fixtures(), "args").iter().map(|p| code(p)));
    // failing runs have a separate folder
    for rendering in files(&root().join("tests/fixtures/failures"), "txt") {
        let shown = text(&rendering);
        with_fixture.extend(registry.keys().filter(|c| shown.contains(**c)).map(|c| (*c).to_owned()));
    }
    let pages: BTreeSet<String> =
        files(&root().join("docs/errors"), "md").iter().map(|p| stem(p)).filter(|s| s != "README").collect();
    let registered: BTreeSet<String> = registry.keys().map(|c| (*c).to_owned()).collect();
    let to_cause: BTreeSet<String> = codes().filter(|row| !without(row)).map(|row| row.code.to_owned()).collect();
    let missing = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>().join(" ");
    let mut wrong = Vec::new();
    for (what, list) in [
        ("without a page", missing(&registered, &pages)),
        ("pages without a code", missing(&pages, &registered)),
        ("without a fixture", missing(&to_cause, &with_fixture)),
        ("fixtures without a code", missing(&with_fixture, &registered)),
    ] {
        if !list.is_empty() {
            wrong.push(format!("{what}: {list}"));
        }
    }
    for row in codes() {
        let head = format!("# {}", row.code);
        if !row.page.starts_with(&head) {
            wrong.push(format!("docs/errors/{}.md does not begin with `{head}`", row.code));
        }
        if row.page.len() < 120 {
            wrong.push(format!("docs/errors/{}.md is too short to help anybody", row.code));
        }
    }
    snapshot::report(&wrong);
}

/// A code of which no source speaks is never given. The compiler finds a constant that does not exist.
#[test]
fn the_sources_use_every_code_as_a_constant() {
    let mut used = HashSet::new();
    for path in files(&root().join("crates"), "rs") {
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if parts.iter().any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        let text = text(&path);
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        used.extend(
            product.match_indices("codes::").filter_map(|(at, _)| product.get(at + 7..at + 12)).map(str::to_owned),
        );
        for code in codes() {
            assert!(!product.contains(&format!("\"{}\"", code.code)), "{}: {} is a text", path.display(), code.code);
        }
    }
    let unused: Vec<_> = codes().map(|code| code.code).filter(|code| !used.contains(*code)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// A rendering without its source is a leftover.
#[test]
fn every_rendering_has_its_source() {
    for path in files(&fixtures(), "txt") {
        let found = path.with_extension("ode").exists() || path.with_extension("args").exists();
        assert!(found, "{}", path.display());
    }
}

/// The list of codes in the table of contents and on the page of the codes is made from the registry.
#[test]
fn the_lists_of_codes_are_complete() {
    let docs = root().join("docs");
    let mut rows: Vec<&Code> = codes().collect();
    rows.sort_unstable_by_key(|row| row.code);
    let mut differences = Vec::new();
    for (file, mark, line) in [
        ("SUMMARY.md", "- [Diagnostics](errors/README.md)\n", "  - [{code}: {title}](errors/{code}.md)\n"),
        ("errors/README.md", "## All codes\n\n", "- [{code}]({code}.md): {title}{exit}\n"),
    ] {
        let path = docs.join(file);
        let page = text(&path);
        let at = page.find(mark).unwrap_or_else(|| panic!("{file} has no `{}`", mark.trim())) + mark.len();
        let exit = |row: &Code| match row.class {
            Class::Advice => String::new(),
            Class::Setting => format!(" ({} or {})", Class::Usage.exit_code(), Class::Model.exit_code()),
            class => format!(" ({})", class.exit_code()),
        };
        let filled =
            |row: &&Code| line.replace("{code}", row.code).replace("{title}", row.title).replace("{exit}", &exit(row));
        let list: String = rows.iter().map(filled).collect();
        differences.extend(snapshot::check(&path, &format!("{}{list}", &page[..at])).err());
    }
    snapshot::report(&differences);
}

#[test]
fn explain_knows_every_code_and_only_these() {
    for row in codes() {
        let ran = run_in(&root(), &["explain", row.code], b"").success();
        assert!(ran.text().contains(row.code), "{}", ran.text());
    }
    let ran = run_in(&root(), &["explain", "E9999"], b"").orderly();
    assert_ne!(ran.code, Some(0));
}
