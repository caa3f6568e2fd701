//! Runs that fail: the message shows the term that is to blame, the values of its operands, when, and what to try.

use odec_tests::command::run_in;
use odec_tests::{files, root, snapshot, stem, text};

#[test]
fn failures_are_explained_as_reviewed() {
    let folder = root().join("tests/fixtures/failures");
    let fixtures = files(&folder, "ode");
    assert!(fixtures.len() >= 10);
    let mut differences = Vec::new();
    for path in fixtures {
        let file = format!("{}.ode", stem(&path));
        let special = path.with_extension("args");
        let words = if special.exists() { text(&special) } else { format!("run {file}") };
        let mut arguments: Vec<&str> = words.split_whitespace().collect();
        let testing = arguments[0] == "test";
        arguments.push("--quiet");
        let ran = run_in(&folder, &arguments, b"").orderly();
        let code = ran.code.unwrap_or_default();
        let found = format!("{}---\n$ odec {}\nexit code {code}\n{}", text(&path), arguments.join(" "), ran.err);
        differences.extend(snapshot::check(&path.with_extension("txt"), &found).err());

        let table_is_empty = ran.out.is_empty();
        // properties that every message must have
        let mut owes = |fair: bool, what: &str| {
            if !fair {
                differences.push(format!("{}: {what}\n{found}", path.display()));
            }
        };
        // a start without a value is a fault of the model
        owes(if testing { code == 4 } else { code == 3 || code == 1 && table_is_empty }, "wrong exit code");
        owes(ran.err.contains("E06"), "no code");
        // a budget belongs to the run, not to a line
        owes(ran.err.contains(&format!("{file}:")) || ran.err.contains("E0607"), "no place in the source");
        if !testing {
            let table = String::from_utf8_lossy(&ran.out).into_owned();
            let columns = table.lines().next().map_or(0, |l| l.split(',').count());
            owes(table.lines().all(|l| l.split(',').count() == columns), "a torn row");
            owes(table.is_empty() || table.ends_with('\n'), "a torn row");
        }
    }
    snapshot::report(&differences);
}
