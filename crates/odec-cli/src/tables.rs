//! Tables of a model that come from CSV files. The language names them, this reads them.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use odec_ir::Span;
use odec_ir::nest::bind::MAX_ELEMENTS;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::{Model, Table};

use crate::input::plain;

/// Data by the name of the constant or parameter.
pub type Tables = HashMap<String, Vec<f64>>;

/// Longest text of a field that is repeated in a message.
const MAX_SHOWN: usize = 40;

/// Reads every file that the model names; `path` is that of the model, beside which they are looked for.
pub fn read(model: &Model, path: &Path) -> Result<Tables, Vec<Diagnostic>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut tables = Tables::new();
    let mut errors = vec![];
    for given in model.constants.iter().chain(&model.parameters) {
        if let Some(Table::Csv { file, column, span }) = &given.table {
            match values(&folder.join(file), column.as_deref(), *span) {
                Ok(values) => {
                    tables.insert(given.name.clone(), values);
                }
                Err(d) => errors.push(*d),
            }
        }
    }
    if errors.is_empty() { Ok(tables) } else { Err(errors) }
}

/// The numbers of a file, row by row: of one column, or of all.
fn values(path: &Path, column: Option<&str>, span: Span) -> Result<Vec<f64>, Box<Diagnostic>> {
    let name = path.display();
    let unreadable = |e: &std::io::Error| {
        let headline = match e.kind() {
            std::io::ErrorKind::NotFound => format!("there is no file `{name}`"),
            _ => format!("`{name}` cannot be read: {}", plain(e)),
        };
        let d = Diagnostic::error("E0701", headline).label(span, "named here");
        Box::new(d.help("the name is relative to the folder of the model"))
    };
    let file = File::open(path).map_err(|e| unreadable(&e))?;
    if file.metadata().map_err(|e| unreadable(&e))?.is_dir() {
        let d = Diagnostic::error("E0701", format!("`{name}` is a directory, not a table"));
        return Err(Box::new(d.label(span, "named here")));
    }
    let wrong = |headline: String| Box::new(Diagnostic::error("E0714", headline).label(span, "read here"));
    let mut rows = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(std::io::BufReader::new(file));
    let mut values = vec![];
    // position of the column, once the head line is read
    let mut chosen = None;
    let mut width = None;
    let mut row = csv::StringRecord::new();
    let mut first = true;
    loop {
        match rows.read_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(e) => {
                return Err(match e.kind() {
                    csv::ErrorKind::Io(e) => unreadable(e),
                    csv::ErrorKind::Utf8 { pos, .. } => {
                        let line = pos.as_ref().map_or(0, csv::Position::line);
                        wrong(format!("`{name}`, line {line}: this is not UTF-8 text"))
                    }
                    _ => wrong(format!("`{name}`: {e}")),
                });
            }
        }
        let line = row.position().map_or(0, csv::Position::line);
        if std::mem::take(&mut first) {
            if let Some(column) = column {
                let found = row.iter().position(|field| field == column);
                let known = odec_lang::suggest::list(row.iter());
                chosen = Some(found.ok_or_else(|| {
                    Box::new(
                        wrong(format!("`{name}` has no column `{column}`")).help(format!("its columns are {known}")),
                    )
                })?);
                continue;
            }
            // a head line, if nothing in it is a number
            if row.iter().all(|field| number(field).is_none()) {
                continue;
            }
        }
        let fields = match chosen {
            Some(k) => k..k + 1,
            None => 0..row.len(),
        };
        if chosen.is_none() && *width.get_or_insert(row.len()) != row.len() {
            let expected = width.unwrap_or(0);
            return Err(wrong(format!("`{name}`, line {line}: {} values, not {expected} as above", row.len())));
        }
        for k in fields {
            let field = row.get(k).unwrap_or("");
            let value = number(field).ok_or_else(|| {
                let shown: String = field.chars().take(MAX_SHOWN).collect();
                match field {
                    "" => wrong(format!("`{name}`, line {line}: column {} is empty", k + 1)),
                    _ => wrong(format!("`{name}`, line {line}: `{shown}` is not a number")),
                }
            })?;
            values.push(value);
        }
        if values.len() as u64 > MAX_ELEMENTS {
            return Err(wrong(format!("`{name}` has more than {MAX_ELEMENTS} values")));
        }
    }
    if values.is_empty() { Err(wrong(format!("`{name}` holds no number"))) } else { Ok(values) }
}

/// A finite number.
fn number(field: &str) -> Option<f64> {
    field.parse::<f64>().ok().filter(|v| v.is_finite())
}
