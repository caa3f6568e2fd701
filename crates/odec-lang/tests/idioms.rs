//! The table of idioms of other languages: each row is answered with one message, its code and the text to type, and
//! where a fix is offered, applying it gives a model without errors. `UPDATE=1` writes what was found into the table.

use crate::common::apply;
use odec_lang::diagnostic::{Diagnostic, Fix};
use odec_lang::source::Source;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/idioms.txt");

/// What every row stands in.
const BASE: &str = "model idiom\nstate x = 1, y = 1\nparam k = 1, a = 2\nx' = -k*x + a*y\n";

/// Fewest rows: those that were asked for, and a hundred from the manuals of other tools.
const ROWS: usize = 140;

/// One idiom.
#[derive(Default)]
struct Row {
    /// Where it is from, and what it is.
    name: String,
    /// The lines as they are written there.
    lines: String,
    /// Codes, and what the message has to say to type.
    answers: Vec<String>,
    /// The lines after the fix, if one is offered.
    mended: Option<String>,
}

fn rows(table: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in table.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            rows.push(Row { name: name.to_owned(), ..Row::default() });
            continue;
        }
        let Some(row) = rows.last_mut() else { continue };
        if let Some(answer) = line.strip_prefix("-> ") {
            row.answers.push(answer.to_owned());
        } else if let Some(text) = line.strip_prefix("=>") {
            *row.mended.get_or_insert_default() += &format!("{}\n", text.strip_prefix(' ').unwrap_or(text));
        } else if !line.is_empty() {
            row.lines += &format!("{line}\n");
        }
    }
    rows
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let mut found = odec_lang::check(&Source::new("idiom.ode", text)).diagnostics;
    found.retain(Diagnostic::is_error);
    found
}

/// Code and help of a message, as the table has it.
fn answer(diagnostic: &Diagnostic) -> String {
    let label = diagnostic.labels.first().map(|label| label.text.as_str()).unwrap_or_default();
    let say = diagnostic.help.as_deref().unwrap_or(label).replace('\n', " ");
    format!("{} {} | {say}", diagnostic.code, diagnostic.headline)
}

/// The row as it is answered.
fn found(row: &Row) -> Row {
    let text = format!("{BASE}{}", row.lines);
    let found = errors(&text);
    let fixes: Vec<Fix> = found.iter().flat_map(|diagnostic| diagnostic.fixes.clone()).collect();
    let mended = (!fixes.is_empty()).then(|| apply(&text, &fixes));
    let mended = mended.map(|text| text.strip_prefix(BASE).unwrap_or(&text).to_owned());
    Row { name: row.name.clone(), lines: row.lines.clone(), answers: found.iter().map(answer).collect(), mended }
}

fn written(row: &Row) -> String {
    let mut out = format!("== {}\n{}", row.name, row.lines);
    for answer in &row.answers {
        out += &format!("-> {answer}\n");
    }
    for line in row.mended.iter().flat_map(|text| text.lines()) {
        out += &format!("=> {line}\n");
    }
    out + "\n"
}

#[test]
fn every_idiom_has_its_answer() {
    let table = std::fs::read_to_string(TABLE).expect("the table");
    let head: String =
        table.lines().take_while(|line| !line.starts_with("== ")).map(|line| format!("{line}\n")).collect();
    let (mut shown, mut wrong) = (head, Vec::new());
    let rows = rows(&table);
    for row in &rows {
        let found = found(row);
        shown += &written(&found);
        if found.answers != row.answers || found.mended != row.mended {
            wrong.push(format!("expected\n{}found\n{}", written(row), written(&found)));
        }
        if found.answers.is_empty() {
            wrong.push(format!("{}: no error", row.name));
        }
        let lines: Vec<&str> = row.lines.lines().collect();
        if found.answers.len() > lines.len().min(2) {
            wrong.push(format!("{}: {} messages", row.name, found.answers.len()));
        }
        if let Some(mended) = &found.mended {
            let left = errors(&format!("{BASE}{mended}"));
            if !left.is_empty() {
                wrong.push(format!(
                    "{}: the fix leaves\n{}{mended}",
                    row.name,
                    left.iter().map(answer).collect::<String>()
                ));
            }
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(TABLE, shown).expect("a writable table");
    }
    assert!(rows.len() >= ROWS, "{} rows", rows.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
