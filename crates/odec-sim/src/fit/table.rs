//! Data as text: a header line with names and units, a column of times with the name of the independent variable, and
//! a cell without a number if nothing was measured.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;

use super::MAX_DATA;
use super::data::{DataSet, Deviations, Series};
use crate::session::header::{Column, parted};

/// Largest size of a data file, in bytes.
pub const MAX_BYTES: u64 = 1 << 28;
/// A message repeats at most this many characters of a cell.
const SHOWN: usize = 40;

/// A column of the file.
struct Named {
    /// The measured quantity, without `sigma(...)` or `weight(...)`.
    of: String,
    kind: Kind,
    unit: Option<String>,
    /// One value for each row; NaN if there is no number.
    cells: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Values,
    Sigma,
    Weight,
}

fn wrong(headline: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(&codes::E0854, headline).help(help))
}

/// Parses CSV. `shown` is the name of the file in messages. `warnings` receives warnings.
///
/// # Errors
/// E0854: no header, a duplicate column, a cell that is not a number, no times, or inconsistent units.
pub fn read(
    shown: &str,
    bytes: &[u8],
    model: &Model,
    warnings: &mut Vec<Diagnostic>,
) -> Result<DataSet, Box<Diagnostic>> {
    let time = &model.time.name;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong(format!("`{shown}` has more than {MAX_BYTES} bytes"), "use fewer data"));
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(bytes);
    let mut columns: Vec<Named> = Vec::new();
    let mut row = csv::StringRecord::new();
    let unread = |e: &csv::Error| wrong(format!("odec cannot read `{shown}`: {e}"), "write the data as CSV, in UTF-8");
    if !reader.read_record(&mut row).map_err(|e| unread(&e))? {
        return Err(wrong(format!("`{shown}` is empty"), &format!("its first line must name the columns: `{time},x`")));
    }
    header(shown, time, &row, &mut columns)?;
    while reader.read_record(&mut row).map_err(|e| unread(&e))? {
        let line = row.position().map_or(0, csv::Position::line);
        if row.len() != columns.len() {
            let headline = format!(
                "`{shown}`, line {line}: {} cells, but the header line names {} columns",
                row.len(),
                columns.len()
            );
            return Err(wrong(headline, "if there is no measurement, leave the cell empty, but keep its comma"));
        }
        for (column, cell) in columns.iter_mut().zip(row.iter()) {
            column.cells.push(number(shown, line, column, time, cell)?);
        }
        if columns.len().saturating_mul(columns[0].cells.len()) > MAX_DATA {
            return Err(wrong(format!("`{shown}` has more than {MAX_DATA} cells"), "use fewer data"));
        }
    }
    // a deviation has the unit of its quantity unless its header says otherwise
    let units: Vec<(String, Option<String>)> =
        columns.iter().filter(|c| c.kind == Kind::Values).map(|c| (c.of.clone(), c.unit.clone())).collect();
    for column in &mut columns {
        if column.kind == Kind::Sigma && column.unit.is_none() {
            column.unit = units.iter().find(|(of, _)| *of == column.of).and_then(|(_, unit)| unit.clone());
        }
        convert(shown, column, model, warnings)?;
    }
    joined(shown, time, columns)
}

/// Names of time in files of data.
const TIMES: [&str; 9] = ["t", "time", "times", "zeit", "temps", "hours", "days", "seconds", "sec"];

fn header(shown: &str, time: &str, row: &csv::StringRecord, columns: &mut Vec<Named>) -> Result<(), Box<Diagnostic>> {
    if row.iter().all(|cell| cell.parse::<f64>().is_ok()) {
        return Err(wrong(
            format!("`{shown}` has no header line"),
            &format!("write the names of the columns in its first line: `{time},x`"),
        ));
    }
    let blanks = |cell: &str| cell.split_whitespace().next() == Some(time) && cell.split_whitespace().count() > 1;
    if row.len() == 1 && row.iter().any(|cell| cell.contains([';', '\t']) || blanks(cell) && !cell.contains('[')) {
        let help = "write a decimal point in numbers and commas between them: `0.5,12.25`";
        return Err(wrong(format!("`{shown}`: its columns are not separated by commas"), help));
    }
    for cell in row {
        let (name, unit) = header_cell(cell);
        let inside = |word: &str| name.strip_prefix(word)?.strip_suffix(')').map(|of| of.trim().to_string());
        let (of, kind) = match (inside("sigma("), inside("weight(")) {
            (Some(of), _) => (of, Kind::Sigma),
            (_, Some(of)) => (of, Kind::Weight),
            _ => (name, Kind::Values),
        };
        if of.is_empty() {
            let headline = format!("`{shown}`: column {} has no name", columns.len() + 1);
            return Err(wrong(headline, "name each column in the first line"));
        }
        if columns.iter().any(|other| other.of == of && other.kind == kind) {
            let help = "give each column its own name; write repeated measurements as rows with the same time";
            return Err(wrong(format!("`{shown}` has two columns `{cell}`"), help));
        }
        columns.push(Named { of, kind, unit, cells: Vec::new() });
    }
    if columns[..].iter().all(|column| column.of != time || column.kind != Kind::Values) {
        let called = |column: &&Named| TIMES.iter().any(|word| word.eq_ignore_ascii_case(&column.of));
        let help = match columns.iter().find(called) {
            Some(column) => format!("rename the column `{}` to `{time}`, the name of time in the model", column.of),
            None => format!("name it in the first line: `{time},x`"),
        };
        return Err(wrong(format!("`{shown}` has no time column `{time}`"), &help));
    }
    Ok(())
}

/// Splits `x [mg]` into name and unit. The index of `u[3]` is not a unit.
fn header_cell(cell: &str) -> (String, Option<String>) {
    let Some(open) = cell.rfind('[').filter(|_| cell.ends_with(']')) else { return (cell.to_string(), None) };
    let inside = &cell[open + 1..cell.len() - 1];
    let index = !inside.is_empty() && inside.chars().all(|c| c.is_ascii_digit() || ", -".contains(c));
    if index && !cell[..open].ends_with(char::is_whitespace) {
        return (cell.to_string(), None);
    }
    let (_, unit) = parted(&cell[open..]);
    (cell[..open].trim().to_string(), unit)
}

/// Words for values below the limit of a measurement.
const LIMITS: [&str; 6] = ["BLQ", "BQL", "LOQ", "BLOQ", "LLOQ", "ND"];

fn number(shown: &str, line: u64, column: &Named, time: &str, cell: &str) -> Result<f64, Box<Diagnostic>> {
    let missing = matches!(cell, "" | "NA");
    if missing && column.of != time {
        return Ok(f64::NAN);
    }
    let name = &column.of;
    if missing {
        return Err(wrong(format!("`{shown}`, line {line}: the time is missing"), "leave out lines without a time"));
    }
    match cell.replace('−', "-").parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(v),
        _ => {
            let cell: String = cell.chars().take(SHOWN).collect();
            let headline = format!("`{shown}`, line {line}, column `{name}`: `{cell}` is not a finite number");
            let (plain, point) = (cell.replace(',', ""), cell.replacen(',', ".", 1));
            let grouped = cell.split(['.', ',']).nth(1).is_some_and(|group| group.len() == 3);
            Err(wrong(
                headline,
                &match (plain.parse::<f64>(), point.parse::<f64>()) {
                    (Ok(_), _) if cell.contains(',') && grouped => {
                        format!("write `{plain}`, or `{point}` if the comma is a decimal point")
                    }
                    (_, Ok(_)) if cell.contains(',') => format!("write a decimal point: `{point}`"),
                    _ if LIMITS.contains(&cell.to_uppercase().as_str()) || cell.starts_with('<') => format!(
                        "odec fits numbers only: leave the cell empty, or write half of the limit and its uncertainty in a \
                     column `sigma({name})`"
                    ),
                    _ => "if there is no measurement, leave the cell empty".to_owned(),
                },
            ))
        }
    }
}

/// Converts a column to the unit of the model.
fn convert(
    shown: &str,
    column: &mut Named,
    model: &Model,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Box<Diagnostic>> {
    let Some(unit) = column.unit.clone() else { return Ok(()) };
    if column.kind == Kind::Weight {
        let headline = format!("`{shown}`: the weight of `{}` has a unit", column.of);
        return Err(wrong(headline, "weights are pure numbers: remove the unit"));
    }
    let declared = declared(model, &column.of);
    let taken = Column {
        file: shown,
        name: &column.of,
        unit: Some(&unit),
        taker: &column.of,
        declared: declared.as_deref(),
        place: Span::default(),
    };
    let mut doubtful = Vec::new();
    let factor = taken.factor(model, &mut doubtful).map_err(|(headline, help)| wrong(headline, &help))?;
    // the labels would point into the model, which does not contain this file
    warnings.extend(doubtful.into_iter().map(|d| Diagnostic { labels: Vec::new(), ..d }));
    column.cells.iter_mut().for_each(|cell| *cell *= factor);
    Ok(())
}

/// The unit of a quantity, as the model writes it.
fn declared(model: &Model, name: &str) -> Option<String> {
    let stem = name.split('[').next().unwrap_or(name);
    if stem == model.time.name {
        return model.time.unit.clone();
    }
    let state = model.states.iter().find(|state| state.name == stem).and_then(|state| state.unit.clone());
    state.or_else(|| model.definitions.iter().find(|d| d.name == stem).and_then(|d| d.unit.clone()))
}

/// The values of a series with their deviations.
fn joined(shown: &str, time: &str, columns: Vec<Named>) -> Result<DataSet, Box<Diagnostic>> {
    let (values, others): (Vec<Named>, Vec<Named>) = columns.into_iter().partition(|c| c.kind == Kind::Values);
    let (times, values): (Vec<Named>, Vec<Named>) = values.into_iter().partition(|c| c.of == time);
    if values.is_empty() {
        let help = "give each measured quantity its own column, with its name in the model";
        return Err(wrong(format!("`{shown}` contains only times"), help));
    }
    let word = |kind: Kind| if kind == Kind::Sigma { "sigma" } else { "weight" };
    if let Some(other) = others.iter().find(|other| values.iter().all(|c| c.of != other.of)) {
        let headline = format!("`{shown}` has a column `{}({1})`, but no column `{1}`", word(other.kind), other.of);
        return Err(wrong(headline, "add the column with the measured values"));
    }
    let series = |column: Named| {
        let of = |kind: Kind| others.iter().find(|other| other.of == column.of && other.kind == kind);
        let deviations = match (of(Kind::Sigma), of(Kind::Weight)) {
            (Some(_), Some(_)) => {
                let headline = format!("`{shown}` has both standard deviations and weights of `{}`", column.of);
                return Err(wrong(
                    headline,
                    "a standard deviation already determines a weight: remove one of the columns",
                ));
            }
            (Some(sigma), None) => Deviations::Each(sigma.cells.clone()),
            (None, Some(weight)) => Deviations::Weights(weight.cells.clone()),
            (None, None) => Deviations::Unknown,
        };
        Ok(Series { name: column.of, values: column.cells, deviations })
    };
    let series = values.into_iter().map(series).collect::<Result<Vec<_>, _>>()?;
    let times = times.into_iter().next().map(|column| column.cells).unwrap_or_default();
    Ok(DataSet { shown: shown.to_string(), times, series, values: Vec::new(), params: None })
}
