//! The table of idioms of other languages: each row gives one message with its code and the text to type, and if a
//! fix is offered, applying it gives a model without errors. `UPDATE=1` writes the results into the table.

use crate::common::{Random, apply, models, mutate};
use odec_lang::diagnostic::{Diagnostic, Fix};
use odec_lang::source::Source;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/idioms.txt");

/// Model around every row.
const BASE: &str = "model idiom\nstate x = 1, y = 1\nparam k = 1, a = 2\nx' = -k*x + a*y\n";

/// Largest number of times that fixes are applied to one row.
const ROUNDS: usize = 3;
/// Least number of rows: the requested ones, and a hundred from the manuals of other tools.
const ROWS: usize = 140;

/// Idiom.
#[derive(Default)]
struct Row {
    /// Origin and meaning.
    name: String,
    /// Lines of the idiom.
    lines: String,
    /// Codes, and texts that the message must tell the user to type.
    answers: Vec<String>,
    /// Lines after the fix, if one is offered.
    mended: Option<String>,
    /// Lines of a user who types the text of the message.
    typed: Option<String>,
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
        } else if let Some(text) = line.strip_prefix("~>") {
            *row.typed.get_or_insert_default() += &format!("{}\n", text.strip_prefix(' ').unwrap_or(text));
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
    // a fix may uncover the next mistake, as `check --fix` knows
    let (mut mended, mut left) = (None, found.clone());
    for _ in 0..ROUNDS {
        let fixes: Vec<Fix> = left.iter().flat_map(|diagnostic| diagnostic.fixes.clone()).collect();
        if fixes.is_empty() {
            break;
        }
        let text = apply(mended.as_deref().unwrap_or(&text), &fixes);
        left = errors(&text);
        mended = Some(text);
    }
    let mended = mended.map(|text| text.strip_prefix(BASE).unwrap_or(&text).to_owned());
    let (answers, typed) = (found.iter().map(answer).collect(), row.typed.clone());
    Row { name: row.name.clone(), lines: row.lines.clone(), answers, mended, typed }
}

fn written(row: &Row) -> String {
    let mut out = format!("== {}\n{}", row.name, row.lines);
    for answer in &row.answers {
        out += &format!("-> {answer}\n");
    }
    for line in row.mended.iter().flat_map(|text| text.lines()) {
        out += &format!("=> {line}\n");
    }
    for line in row.typed.iter().flat_map(|text| text.lines()) {
        out += &format!("~> {line}\n");
    }
    out + "\n"
}

/// Text that a message tells the user to type, between backticks, without the `...` that stand for existing text.
fn said(answer: &str) -> Vec<String> {
    let pieces = answer.split('`').skip(1).step_by(2);
    pieces
        .flat_map(|piece| piece.split("..."))
        .map(|piece| piece.trim_matches([' ', '{', '}', '=']).to_owned())
        .collect()
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
        if let Some(typed) = &found.typed {
            let left = errors(&format!("{BASE}{typed}"));
            let told = found.answers.iter().flat_map(|answer| said(answer));
            if !left.is_empty() || !told.into_iter().any(|piece| piece.len() > 2 && typed.contains(&piece)) {
                let left: String = left.iter().map(answer).collect();
                wrong.push(format!("{}: typed as it is said this leaves\n{left}\n{typed}", row.name));
            }
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

#[test]
fn a_place_without_a_fix_does_not_block_the_fixes_of_the_others() {
    let text = format!("{BASE}w = np.foo(x)\ny' = w - np.exp(y)\n");
    let found = errors(&text);
    let fixes: Vec<Fix> =
        found.iter().filter(|found| found.fixes_tried).flat_map(|found| found.fixes.clone()).collect();
    assert!(apply(&text, &fixes).contains("y' = w - exp(y)"), "{found:?}");
    let help = |part: &str| found.iter().any(|found| found.help.as_deref().is_some_and(|help| help.contains(part)));
    assert!(help("remove `np.`") && help("write `exp`"), "{found:?}");
}

/// Contexts of an idiom: `_` is its position.
const PLACES: [&str; 8] = ["2/_", "_^2", "-_", "a - _", "2^_", "a/_*k", "2_", "fmax(2/_, k)"];

/// Equation for y in a model without errors, in prefix form. `None` if there are errors.
fn equation(text: &str) -> Option<String> {
    let checked = odec_lang::check(&Source::new("idiom.ode", text));
    let wrong = checked.diagnostics.iter().any(Diagnostic::is_error);
    let tree = checked.tree.to_string();
    let line = tree.lines().find(|line| line.starts_with("equation y' = "));
    line.filter(|_| !wrong).map(str::to_owned)
}

/// Text after all tested fixes, which are applied round by round like in `odec check --fix`.
fn mended(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..4 {
        let found = errors(&text);
        let mut fixes: Vec<Fix> = Vec::new();
        for diagnostic in found.iter().filter(|diagnostic| diagnostic.fixes_tried) {
            let apart = |a: &Fix| fixes.iter().all(|b| a.span.start > b.span.end || b.span.start > a.span.end);
            if diagnostic.fixes.iter().all(apart) {
                fixes.extend(diagnostic.fixes.iter().cloned());
            }
        }
        if fixes.is_empty() {
            break;
        }
        text = apply(&text, &fixes);
    }
    text
}

/// Idioms of a row that a fix corrects alone on the right-hand side of an equation: the lines around it, the idiom,
/// and its correction.
fn operands(row: &Row) -> Vec<(String, String, String)> {
    let text = format!("{BASE}{}", row.lines);
    let mut out = Vec::new();
    for fix in errors(&text).iter().flat_map(|diagnostic| diagnostic.fixes.clone()) {
        let range = fix.span.range();
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let value = text[start..range.start].contains('=') && end >= range.end && !range.is_empty();
        if !value || fix.text.contains('\n') || fix.text.starts_with("if ") {
            continue;
        }
        let model = format!("{}y' = _\n{}", &text[..start], &text[end..]);
        let (written, meant) = (text[range].to_owned(), fix.text.clone());
        // the correction alone must equal the correction among the other lines
        let alone = mended(&model.replace("y' = _", &format!("y' = {written}")));
        let known = equation(&model.replace("y' = _", &format!("y' = {meant}")));
        if known.is_some() && equation(&alone) == known {
            out.push((model, written, meant));
        }
    }
    out
}

/// True if a context accepts the text as one operand, as far as the text can be read.
fn one_operand(place: &str, written: &str) -> bool {
    let tree = |text: String| {
        let (tree, found) = odec_lang::parse(&Source::new("idiom.ode", format!("q = {text}\n")));
        found.is_empty().then(|| tree.to_string())
    };
    let plain = tree(place.replace('_', written));
    plain.is_none() || plain == tree(place.replace('_', &format!("({written})")))
}

#[test]
fn the_text_of_a_fix_stays_one_operand() {
    let table = std::fs::read_to_string(TABLE).expect("the table");
    let (mut wrong, mut idioms, mut checked) = (Vec::new(), 0, 0);
    for row in rows(&table) {
        for (model, written, meant) in operands(&row) {
            idioms += 1;
            // `2` before `30°` gives another number, and `2½` is 2.5
            let joins = |place: &&&str| place.starts_with("2_") && written.starts_with(char::is_numeric);
            for place in PLACES.iter().filter(|place| one_operand(place, &written) && !joins(place)) {
                let text = model.replace("y' = _", &format!("y' = {}", place.replace('_', &written)));
                let result = mended(&text);
                // a product without its sign corresponds to one in the table
                let place = place.replace("2_", "2*_").replace("fmax", "max");
                let right = model.replace("y' = _", &format!("y' = {}", place.replace('_', &format!("({meant})"))));
                let (Some(found), Some(expected)) = (equation(&result), equation(&right)) else { continue };
                checked += 1;
                if found != expected {
                    wrong.push(format!("{}: `{written}` in {place}\n  {found}\n  {expected}", row.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(idioms >= 60 && checked >= 200, "{idioms} idioms, {checked} places");
}

/// Every label and fix of any text lies inside of it.
fn answers_in_place(text: &str) {
    for diagnostic in odec_lang::check(&Source::new("idiom.ode", text)).diagnostics {
        let spans = diagnostic.labels.iter().map(|label| label.span).chain(diagnostic.fixes.iter().map(|fix| fix.span));
        for span in spans {
            assert!(text.get(span.range()).is_some(), "{span:?} is no place in\n{text}\n{diagnostic:?}");
        }
    }
}

#[test]
fn a_bracket_that_closes_in_the_next_action() {
    answers_in_place("param a = 0.5\nstate x = 1\nx' = 0\nevery 0.1 { x[k+1] := a*x[k + a }\nrun { t = 0 .. 1 ] }\n");
    answers_in_place("param a = 0.5\nstate x = 1\nx' = 0\nevery 0.1 { x[k+1] := x[k ; x := a] }\n");
}

#[test]
fn edited_idioms_get_an_answer() {
    let table = std::fs::read_to_string(TABLE).expect("the table");
    let rows = rows(&table);
    let mut random = Random(5);
    let edits = if std::env::var_os("ALL_CASES").is_some() { 12 } else { 4 };
    for row in &rows {
        for _ in 0..edits {
            let other = &rows[random.below(rows.len())].lines;
            let mut text = format!("{BASE}{}{}", row.lines, if random.below(4) == 0 { other } else { "" });
            for _ in 0..1 + random.below(4) {
                text = mutate(&text, &mut random).map_or(text, |mutant| mutant.text);
            }
            if random.below(3) == 0 {
                // and a sign somewhere
                let mut at = random.below(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(
                    at,
                    ["(", ")", "[", "]", "{", "}", ";", "\n", "'", "=", ",", "é", "\""][random.below(13)],
                );
            }
            answers_in_place(&text);
        }
    }
}

/// Beginnings of lines that have no value at their end.
const STATEMENTS: [&str; 13] =
    ["run", "when", "at ", "every", "expect", "params", "use", "if ", "fn ", "input", "index", "boundary", "table"];

/// An idiom that is seen in a correct line hides the real error of this line. So a name that is not declared must be
/// reported behind each right-hand side of the models.
#[test]
fn correct_lines_are_no_idioms() {
    let mut hidden = Vec::new();
    let mut tried = 0;
    let shipped = models().into_iter().filter(|(name, text)| name.ends_with(".ode") && !text.contains("use \""));
    for (name, text) in shipped {
        let lines: Vec<&str> = text.lines().collect();
        for (k, line) in lines.iter().enumerate() {
            let code = line.split('#').next().unwrap_or_default().trim_end();
            let next = lines.get(k + 1).copied().unwrap_or_default();
            let other = STATEMENTS.iter().any(|word| code.starts_with(word))
                || code.contains([';', '{', '"', ':', '<', '>'])
                || code.contains(" within ")
                || code.starts_with("output") && code.contains([',', '[']);
            // the line goes on, or is part of a statement above
            let open = next.starts_with([' ', '\t']) || code.starts_with([' ', '\t']);
            let ends = !code.ends_with(['}', '"', '\'', '+', '-', '*', ',', '=']);
            if other || open || !ends || !code.contains(" = ") {
                continue;
            }
            let changed = format!("{code} + zzz9");
            let mut all = lines.clone();
            all[k] = &changed;
            let checked = odec_lang::check(&Source::new("model.ode", all.join("\n") + "\n"));
            let said = |d: &Diagnostic| d.is_error() && (d.headline.contains("zzz9") || d.code.code.starts_with("E02"));
            tried += 1;
            if !checked.diagnostics.iter().any(said) {
                let first = checked.diagnostics.iter().find(|d| d.is_error()).map(answer);
                hidden.push(format!("{name}: {changed}\n    {first:?}"));
            }
        }
    }
    assert!(tried > 300, "{tried}");
    assert!(hidden.is_empty(), "{tried} tried\n{}", hidden.join("\n"));
}
