//! Rules of docs/dev/architecture.md that a machine can check: the form of files, and permitted dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use odec_tests::{files, root, stem, text};

/// Files with more source lines probably contain two ideas.
const LINES: usize = 601;
/// Lines of a page have fewer characters.
const PAGE_WIDTH: usize = 120;

/// Crates that are separate workspaces, so that they, other solvers and Python are not built with the product.
const OUTSIDE: [&str; 2] = ["odec-bench", "odec-py"];

fn sources() -> Vec<PathBuf> {
    let mut found = files(&root().join("crates"), "rs");
    found.extend(files(&root().join("tests"), "rs"));
    assert!(found.len() > 50, "{} source files", found.len());
    found
}

/// The crate a file belongs to: the folder below `crates`, or `odec-tests`.
fn owner(path: &Path) -> String {
    let relative = path.strip_prefix(root()).expect("below the root");
    let mut parts = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned());
    match (parts.next().as_deref(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        _ => "odec-tests".to_owned(),
    }
}

/// Part of a file that is compiled into the library: no integration tests, nothing from the `tests` module on.
fn shipped(path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root()).expect("below the root");
    if !relative.starts_with("crates") || !relative.components().any(|c| c.as_os_str() == "src") {
        return None;
    }
    let text = text(path);
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    Some(text[..end].to_owned())
}

/// True for files of the benchmark crate, which is not part of the product, that call solvers written in C.
fn calls_peers(path: &Path) -> bool {
    path.starts_with(root().join("crates/odec-bench/src/peer"))
}

/// Lines of code: comments are left out, strings are not examined.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, l)| (i + 1, l.split("//").next().unwrap_or(l)))
}

fn holds_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(part) && !line[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[track_caller]
fn none(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_source_file_says_what_it_is_for() {
    none(
        &sources().iter().filter(|p| !text(p).starts_with("//! ")).map(|p| p.display().to_string()).collect::<Vec<_>>(),
    );
}

#[test]
fn files_are_one_idea() {
    let long = |p: &PathBuf| {
        let lines = text(p).lines().count();
        (lines >= LINES).then(|| format!("{}: {lines} lines", p.display()))
    };
    none(&sources().iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn unsafe_is_in_the_jit_alone() {
    let mut found = Vec::new();
    for path in sources() {
        // this file names the word
        if owner(&path) == "odec-jit" || path.ends_with("tests/tests/tidy.rs") || calls_peers(&path) {
            continue;
        }
        for (number, line) in code(&text(&path)) {
            if holds_word(line, "unsafe") || line.contains("unsafe_code") {
                found.push(format!("{}:{number}: {line}", path.display()));
            }
        }
    }
    none(&found);
}

#[test]
fn only_the_command_uses_files_clock_and_environment() {
    let forbidden = [
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::time",
        "Instant::now",
        "SystemTime",
        "println",
        "eprintln",
        "print",
        "eprint",
        "dbg",
        "File",
        "stdout",
        "stderr",
        "stdin",
    ];
    let mut found = Vec::new();
    for path in sources() {
        let own = owner(&path);
        if own == "odec-cli" || OUTSIDE.contains(&own.as_str()) {
            continue;
        }
        let Some(text) = shipped(&path) else { continue };
        for (number, line) in code(&text) {
            for word in forbidden {
                // `print` and its kin only as the macros
                let hit = if word.ends_with("print") || word.ends_with("println") || word == "dbg" {
                    holds_word(line, word) && line.contains(&format!("{word}!"))
                } else {
                    holds_word(line, word)
                };
                if hit {
                    found.push(format!("{}:{number}: {word}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    none(&found);
}

/// The name of a public type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|word| rest.strip_prefix(word))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn public_types_of_a_crate_have_different_names() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for path in sources() {
        let Some(text) = shipped(&path) else { continue };
        for (number, line) in code(&text) {
            if let Some(name) = declared_type(line) {
                let place = format!("{}:{number}", path.display());
                places.entry((owner(&path), name.to_owned())).or_default().push(place);
            }
        }
    }
    assert!(places.len() > 500, "{} public types", places.len());
    let twice = places.iter().filter(|(_, places)| places.len() > 1);
    none(&twice.map(|((own, name), places)| format!("{own}: `{name}` in {}", places.join(", "))).collect::<Vec<_>>());
}

/// True if a line of imports gives a type another name, as a file must that uses two types of one name.
fn renames_a_type(line: &str) -> bool {
    let upper = |word: Option<&str>| word.is_some_and(|w| w.starts_with(|c: char| c.is_ascii_uppercase()));
    let last = |text: &str| text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
    let import = line.trim_start().trim_start_matches("pub ").starts_with("use ") && !line.contains("std::");
    let constant = |word: &str| word.chars().all(|c| !c.is_lowercase());
    import
        && line.match_indices(" as ").any(|(at, word)| {
            let (before, after) = (last(&line[..at]), line[at + word.len()..].split([',', '}', ';', ' ']).next());
            upper(before.as_deref()) && upper(after) && !after.is_some_and(constant)
        })
}

#[test]
fn no_file_uses_two_types_of_one_name() {
    let mut found = Vec::new();
    for path in sources() {
        let Some(text) = shipped(&path) else { continue };
        let lines = code(&text).filter(|(_, line)| renames_a_type(line));
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", path.display())));
    }
    none(&found);
    let lines = [
        "use a::{B, Cause as Why};",
        "pub use a::Row as Line;",
        "use a::b as c;",
        "use a::LEAST as MOST;",
        "use std::X as Y;",
    ];
    assert_eq!(lines.map(renames_a_type), [true, true, false, false, false]);
}

#[test]
fn a_declared_type_is_found_by_its_first_line() {
    let lines = ["pub struct Row {", "pub type Row = f64;", "pub(crate) struct Row;", "struct Row;", "pub fn row() {}"];
    assert_eq!(lines.map(declared_type), [Some("Row"), Some("Row"), None, None, None]);
}

#[test]
fn nothing_is_left_for_later_in_the_code() {
    // spelt in two parts, so that this file does not find itself
    let words = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["XX", "X"],
        ["unimple", "mented!"],
        ["to", "do!"],
        ["for ", "now"],
        ["place", "holder"],
    ];
    let mut found = Vec::new();
    for path in sources() {
        for (number, line) in text(&path).lines().enumerate() {
            for word in &words {
                if line.contains(&word.concat()) {
                    found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
                }
            }
        }
    }
    none(&found);
}

#[test]
fn the_solvers_show_no_matrix_type_of_another_library() {
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|p| owner(p) == "odec-ode") {
        let Some(text) = shipped(&path) else { continue };
        for (number, line) in code(&text) {
            let line = line.trim_start();
            // the field of a tuple struct is private unless it is `pub`; a complex number is not a matrix
            let shown = match line.split_once('(') {
                Some((head, field)) if head.starts_with("pub struct") && !field.contains("pub ") => head.to_owned(),
                _ => line.replace("nalgebra::Complex", ""),
            };
            let foreign = ["nalgebra", "sprs", "DMatrix", "DVector", "CsMat", "SMatrix"];
            if shown.starts_with("pub ") && foreign.iter().any(|w| shown.contains(w)) {
                found.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    none(&found);
}

fn metadata() -> serde_json::Value {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn name(value: &serde_json::Value) -> String {
    value["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn crates_depend_as_the_architecture_says() {
    // crate, own crates that it may use, external libraries that only it may use
    let allowed: BTreeMap<&str, (&[&str], &[&str])> = BTreeMap::from([
        ("odec-ir", (&[][..], &["num-dual"][..])),
        ("odec-lang", (&["odec-ir"], &["pest", "pest_derive", "unicode-normalization"])),
        ("odec-jit", (&["odec-ir"], &["cranelift-*"])),
        ("odec-emit", (&["odec-ir"], &[])),
        ("odec-ode", (&[], &["nalgebra", "sprs", "pulp"])),
        ("odec-sim", (&["odec-ir", "odec-lang", "odec-jit", "odec-ode"], &["csv", "nalgebra", "pulp"])),
        ("odec-sbml", (&["odec-ir", "odec-lang"], &["roxmltree"])),
        (
            "odec-cli",
            (
                &["odec-ir", "odec-lang", "odec-jit", "odec-emit", "odec-ode", "odec-sim", "odec-sbml"],
                &[
                    "clap",
                    "clap_complete",
                    "clap_mangen",
                    "miette",
                    "textwrap",
                    "indicatif",
                    "plotters",
                    "ctrlc",
                    "serde",
                    "serde_json",
                    "csv",
                    "png",
                    "terminal_size",
                    "flate2",
                    "zmij",
                ],
            ),
        ),
    ]);
    let metadata = metadata();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        let of = name(package);
        if of == "odec-tests" {
            continue;
        }
        let Some((ours, others)) = allowed.get(of.as_str()) else {
            found.push(format!("{of} is not in the table of crates"));
            continue;
        };
        seen.insert(of.clone());
        for dependency in list(&package["dependencies"]).iter().filter(|d| d["kind"].as_str() != Some("dev")) {
            let on = name(dependency);
            let fits = |rule: &str| rule.strip_suffix('*').map_or(on == rule, |start| on.starts_with(start));
            if !ours.contains(&on.as_str()) && !others.iter().any(|r| fits(r)) {
                found.push(format!("{of} depends on {on}"));
            }
        }
    }
    none(&found);
    assert_eq!(seen.len(), allowed.len(), "crates: {seen:?}");
}

/// The other modules of odec-lang that each of its modules uses, by their names at the root of the crate.
fn modules_used() -> BTreeMap<String, BTreeSet<String>> {
    let root = root().join("crates/odec-lang/src");
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files(&root, "rs") {
        let relative = path.strip_prefix(&root).expect("below the root");
        let first = relative.components().next().expect("a file").as_os_str().to_string_lossy().replace(".rs", "");
        // the root of the crate only names its modules
        if first == "lib" {
            continue;
        }
        let text = shipped(&path).expect("a source file");
        let all: String = code(&text).map(|(_, line)| format!("{line}\n")).collect();
        let used = used.entry(first).or_default();
        for after in all.split("crate::").skip(1) {
            // `crate::{lint, lower}` names several
            let (names, separator) = match after.strip_prefix('{') {
                Some(list) => (list.split('}').next().unwrap_or_default(), ','),
                None => (after, '\n'),
            };
            let word =
                |name: &str| name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
            used.extend(names.split(separator).take(if separator == ',' { usize::MAX } else { 1 }).map(word));
        }
    }
    let modules: BTreeSet<String> = used.keys().cloned().collect();
    for (module, used) in &mut used {
        used.retain(|other| modules.contains(other) && other != module);
    }
    used
}

#[test]
fn the_modules_of_the_front_end_form_no_circle() {
    let mut left = modules_used();
    assert!(left.len() > 20 && left.values().map(BTreeSet::len).sum::<usize>() > 50, "{left:?}");
    // modules that use no others are taken away, until none is left
    while let Some(free) = left.iter().find(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()) {
        left.remove(&free);
        for used in left.values_mut() {
            used.remove(&free);
        }
    }
    assert!(left.is_empty(), "these modules use each other: {left:?}");
}

#[test]
fn cargo_runs_every_test_file_and_finds_one_command() {
    let metadata = metadata();
    let packages = list(&metadata["packages"]);
    let mut found = Vec::new();
    let mut files_of_tests = 0;
    for package in packages {
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().expect("a folder").join("tests");
        if !folder.exists() {
            continue;
        }
        let targets: BTreeSet<String> = list(&package["targets"])
            .iter()
            .filter(|t| list(&t["kind"]).iter().any(|k| k == "test"))
            .map(name)
            .collect();
        // a file is a separate program or a module of the program `all`
        let all = folder.join("all.rs");
        let modules = if all.exists() { text(&all) } else { String::new() };
        let here = std::fs::read_dir(&folder).expect("tests/").map(|entry| entry.expect("readable").path());
        for file in here.filter(|f| f.extension().is_some_and(|e| e == "rs")) {
            files_of_tests += 1;
            let module = format!("mod {};", stem(&file));
            if !targets.contains(&stem(&file)) && !modules.lines().any(|l| l == module) {
                found.push(format!("cargo does not run {}", file.display()));
            }
        }
    }
    none(&found);
    assert!(files_of_tests >= 70, "{files_of_tests}");

    let cli = packages.iter().find(|p| name(p) == "odec-cli").expect("a member");
    assert_eq!(cli["default_run"], "odec");
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    for folder in std::fs::read_dir(root().join("crates")).expect("crates/") {
        let folder = folder.expect("readable").file_name().to_string_lossy().into_owned();
        let outside = OUTSIDE.contains(&folder.as_str());
        assert!(members.contains(&folder) != outside, "crates/{folder} and the members of the workspace");
    }
}

/// Anchors of a page as made by the book and the forges: headings in lower case, blanks as hyphens, no other signs.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut code = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        found.insert(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    found
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents = files(&root().join("docs"), "md");
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|n| root().join(n)));
    let mut found = Vec::new();
    for document in documents {
        let page = text(&document);
        for (at, _) in page.match_indices("](") {
            let target = page[at + 2..].split([')', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let other = if file.is_empty() { document.clone() } else { document.with_file_name(file) };
            if !other.exists() || !anchor.is_empty() && !anchors(&text(&other)).contains(anchor) {
                found.push(format!("{}: {target}", document.display()));
            }
        }
    }
    none(&found);
}

#[test]
fn an_anchor_is_made_of_the_words_of_its_heading() {
    let page = "# All methods\n```text\n# no heading\n```\n## A part of the range, `u[1]`\n#hashtag\n";
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a-part-of-the-range-u1", "all-methods"]);
}

#[test]
fn lines_of_the_pages_are_short() {
    let mut documents = files(&root().join("docs"), "md");
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|n| root().join(n)));
    // the benchmark program writes this page, with the messages of other solvers
    let written = documents.iter().filter(|page| !page.ends_with("docs/benchmarks.md"));
    let mut found = Vec::new();
    for document in written {
        let mut code = false;
        for (n, line) in text(document).lines().enumerate() {
            let length = line.chars().count();
            code ^= line.trim_start().starts_with("```");
            // tables, output of a command, and an entry of a table of contents cannot be broken
            let whole = code || line.starts_with('|') || line.trim_start().starts_with("- [") && line.ends_with(')');
            if length >= PAGE_WIDTH && !whole {
                found.push(format!("{}:{}: {length} characters", document.display(), n + 1));
            }
        }
    }
    none(&found);
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = text(&docs.join("SUMMARY.md"));
    let missing = |p: &PathBuf| {
        let relative = p.strip_prefix(&docs).expect("below docs").to_string_lossy().into_owned();
        (relative != "SUMMARY.md" && !summary.contains(&format!("({relative})"))).then_some(relative)
    };
    none(&files(&docs, "md").iter().filter_map(missing).collect::<Vec<_>>());
}

/// Endings of the files that pages name.
const ENDINGS: [&str; 9] = ["rs", "md", "ode", "py", "sh", "c", "toml", "txt", "tsv"];
/// Folders with which a path from the root begins.
const FOLDERS: [&str; 6] = ["crates/", "docs/", "models/", "tests/", ".ci/", "odec-"];

/// Paths that a page names in backticks outside of code blocks. A word in capitals (`CODE.md`) stands for any name.
fn paths(page: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut code = false;
    for line in page.lines() {
        code ^= line.trim_start().starts_with("```");
        let words = line.split('`').skip(1).step_by(2).filter(|_| !code);
        for word in words {
            let signs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
            let any = |stem: &str| stem.starts_with(|c: char| c.is_uppercase()) && stem != "README";
            let (stem, ending) = word.rsplit_once('.').unwrap_or((word, ""));
            let stem = stem.rsplit('/').next().unwrap_or(stem).split('-').next().unwrap_or(stem);
            let named = ENDINGS.contains(&ending) && !stem.is_empty() && !any(stem);
            let below = FOLDERS.iter().any(|folder| word.starts_with(folder)) && word.contains('/') && !any(stem);
            if word.chars().all(signs) && (named || below) {
                found.insert(word.trim_end_matches('/'));
            }
        }
    }
    found
}

#[test]
fn pages_for_developers_name_files_that_exist() {
    let root = root();
    let mut pages = files(&root.join("docs/dev"), "md");
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let mut known = BTreeSet::new();
    for file in ENDINGS.iter().flat_map(|ending| files(&root, ending)) {
        let relative = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        known.extend(relative.match_indices('/').map(|(at, _)| format!("/{}", &relative[..at])));
        known.insert(format!("/{relative}"));
    }
    let exists = |path: &str| {
        let end = format!("/{path}");
        root.join(path).exists() || known.iter().any(|known| known.ends_with(&end))
    };
    let mut found = Vec::new();
    for page in pages {
        let text = text(&page);
        found.extend(paths(&text).into_iter().filter(|path| !exists(path)).map(|p| format!("{}: {p}", page.display())));
    }
    none(&found);
}

#[test]
fn paths_of_a_page_are_its_words_in_backticks() {
    let page = "`locate.rs` and `crates/odec-ir/`, not `CODE.md`, `docs/errors/CODE.md`, `x/d` or `f.g`\n\
                ```\n`gone.rs`\n```\n`README.md` in `tests/fixtures`";
    let expected = ["README.md", "crates/odec-ir", "locate.rs", "tests/fixtures"];
    assert_eq!(paths(page).into_iter().collect::<Vec<_>>(), expected);
}
