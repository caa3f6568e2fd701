//! Runs the SBML Test Suite through the command if it is present, and prints the table of `docs/sbml.md`: `cargo run
//! -p odec-tests --example sbml_suite -- FOLDER/cases/semantic target/release/odec`. It uses the criterion in the
//! README of the suite: `|C - U| <= Ta + Tr*|C|` for every value.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Features of cases, from common to rare ones, with the text in the file that shows them. A case belongs to the last
/// line whose feature it uses.
const NEEDS: [(&str, &[&str]); 10] = [
    ("rules, functions, initial assignments, volumes, stoichiometry", &[]),
    ("`rateOf`", &["symbols/rateOf"]),
    ("events", &["<event"]),
    ("delays of events", &["<delay>", "<delay "]),
    ("priority and persistence", &["<priority", "persistent=\"false\""]),
    ("algebraic rules", &["<algebraicRule"]),
    ("submodels (`comp`)", &["/comp/version"]),
    ("`delay()` in formulas", &["symbols/delay"]),
    ("fast reactions", &["fast=\"true\""]),
    ("other packages", &["/fbc/version", "/distrib/version", "/arrays/version"]),
];

/// The settings of a case by name.
fn settings(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim().to_lowercase(), value.trim().to_owned())).collect()
}

/// A number of a table; infinities are written in several ways.
fn number(text: &str) -> Option<f64> {
    match text.trim().to_lowercase().as_str() {
        "inf" | "+inf" | "infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        other => other.parse().ok(),
    }
}

/// Head and rows of a table.
fn table(text: &str) -> Option<(Vec<String>, Vec<Vec<f64>>)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let head = lines.next()?.split(',').map(|name| name.trim().to_owned()).collect();
    let rows: Option<Vec<Vec<f64>>> = lines.map(|line| line.split(',').map(number).collect()).collect();
    Some((head, rows?))
}

/// True if every expected value is met.
fn agree(settings: &BTreeMap<String, String>, expected: &str, found: &str) -> Option<bool> {
    let tolerance = |key: &str| settings.get(key).and_then(|text| text.parse::<f64>().ok());
    let (absolute, relative) = (tolerance("absolute")?, tolerance("relative")?);
    let concentrations: Vec<&str> =
        settings.get("concentration").map_or(vec![], |list| list.split(',').map(str::trim).collect());
    let ((head, rows), (columns, values)) = (table(expected)?, table(found)?);
    if rows.len() != values.len() {
        return Some(false);
    }
    for (j, name) in head.iter().enumerate() {
        let wanted = if concentrations.contains(&name.as_str()) { format!("[{name}]") } else { name.clone() };
        // the first column is the time, whatever it is called
        let k = if j == 0 { Some(0) } else { columns.iter().skip(1).position(|c| *c == wanted).map(|k| k + 1) };
        let Some(k) = k else { return Some(false) };
        let fits = |c: f64, u: f64| {
            (c - u).abs() <= absolute + relative * c.abs() || c.to_bits() == u.to_bits() || c.is_nan() && u.is_nan()
        };
        if !rows.iter().zip(&values).all(|(c, u)| c.get(j).zip(u.get(k)).is_some_and(|(c, u)| fits(*c, *u))) {
            return Some(false);
        }
    }
    Some(true)
}

/// Result of a case: column of the table.
fn judge(folder: &Path, case: &str, model: &Path, odec: &str) -> Option<usize> {
    let read = |end: &str| std::fs::read_to_string(folder.join(format!("{case}-{end}"))).ok();
    let settings = settings(&read("settings.txt")?);
    let get = |key: &str| settings.get(key).and_then(|text| text.parse::<f64>().ok());
    let (start, duration, steps) = (get("start")?, get("duration")?, settings.get("steps")?);
    let span = format!("{start}..{}", start + duration);
    let fixed = ["--samples", steps, "--rtol", "1e-9", "--atol", "1e-12", "--quiet"];
    let ran = Command::new(odec).arg("run").arg(model).args(["--t", &span]).args(fixed).output().ok()?;
    let found = String::from_utf8_lossy(&ran.stdout);
    Some(match ran.status.code() {
        Some(0) if agree(&settings, &read("results.csv")?, &found)? => 0,
        Some(0) => 1,
        _ => 2,
    })
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(cases), Some(odec)) = (words.next(), words.next()) else {
        eprintln!("which folder, and which odec?");
        std::process::exit(2);
    };
    let mut counts = [[0_usize; 3]; NEEDS.len()];
    let mut folders: Vec<_> =
        std::fs::read_dir(&cases).expect("a folder of cases").map(|e| e.expect("readable").path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let case = odec_tests::stem(folder);
        let newest = ["l3v2", "l3v1", "l2v5", "l2v4", "l2v3", "l2v2", "l2v1", "l1v2"]
            .map(|level| folder.join(format!("{case}-sbml-{level}.xml")));
        let Some(model) = newest.iter().find(|path| path.exists()) else { continue };
        let text = odec_tests::text(model);
        let needs = |marks: &[&str]| marks.is_empty() || marks.iter().any(|mark| text.contains(mark));
        let row = NEEDS.iter().rposition(|(_, marks)| needs(marks)).unwrap_or(0);
        // a case of flux balance has no time steps
        let Some(column) = judge(folder, &case, model, &odec) else { continue };
        counts[row][column] += 1;
        if column == 1 {
            eprintln!("{case} has wrong numbers");
        }
    }
    println!("| what the model needs | cases | right | refused | wrong |\n|---|---|---|---|---|");
    let line = |name: &str, [right, wrong, refused]: [usize; 3]| {
        println!("| {name} | {} | {right} | {refused} | {wrong} |", right + wrong + refused);
    };
    for ((name, _), counts) in NEEDS.iter().zip(counts).filter(|(_, counts)| counts.iter().sum::<usize>() > 0) {
        line(name, counts);
    }
    line("all", [0, 1, 2].map(|k| counts.iter().map(|row| row[k]).sum()));
}
