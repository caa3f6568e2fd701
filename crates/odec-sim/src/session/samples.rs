//! The samples of inputs that come from CSV files: times in the first column, values in another column, names and
//! units in the header line.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::model::inputs::{Curve, CurveSource, Input, MAX_SAMPLES};

use super::header::{Column, parted};
use super::tables::{Files, LastByteReader, MAX_SHOWN, Opened, Unreadable, may_be_cut, number, unread};

/// Largest size of a file of samples in bytes.
pub const MAX_BYTES: u64 = 1 << 29;

/// Curves, by the name of the input.
pub type Curves = HashMap<String, Arc<Curve>>;

/// Reads the samples of every input that a file defines; the files in `given` replace those of the model. Warnings
/// about possible mistakes go to `warnings`.
///
/// # Errors
/// E0701, E0705, E0714, E0719.
pub fn read(
    model: &Model,
    given: &[(String, String)],
    files: &dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Curves, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for (name, file) in given {
        if !model.inputs.iter().any(|input| input.name == *name) {
            errors.push(unknown(model, name, file));
        }
    }
    let mut curves = Curves::new();
    for input in &model.inputs {
        let other = given.iter().rev().find(|(name, _)| *name == input.name).map(|(_, file)| file.as_str());
        let (named, column) = match &input.source {
            CurveSource::Csv { file, column } => (Some(file.as_str()), column.as_deref()),
            CurveSource::Lists(..) => (None, None),
        };
        let Some(file) = other.or(named) else { continue };
        let opened = if other.is_some() { files.open_given(file) } else { files.open(file) };
        let wanted = Samples { model, input, column, given: other.is_some() };
        match opened.map_err(|why| wanted.unreadable(why)).and_then(|opened| wanted.curve(opened, warnings)) {
            Ok(curve) => drop(curves.insert(input.name.clone(), Arc::new(curve))),
            Err(report) => errors.push(*report),
        }
    }
    if errors.is_empty() { Ok(curves) } else { Err(errors) }
}

fn unknown(model: &Model, name: &str, file: &str) -> Diagnostic {
    let report = Diagnostic::error(&codes::E0705, format!("`--data {name}={file}`: the model has no input `{name}`"));
    let known = || model.inputs.iter().map(|input| input.name.as_str());
    match odec_lang::suggest::nearest(name, known()).first() {
        Some(near) => report.help(format!("did you mean `{near}`?")),
        None if model.inputs.is_empty() => {
            report.help("declare an input like this: `input q(t) = table(\"q.csv\", linear)`")
        }
        None => report.help(format!("the inputs are {}", odec_lang::suggest::list(known()))),
    }
}

type Outcome<T> = Result<T, Box<Diagnostic>>;

/// The values that a model needs from a file.
struct Samples<'a> {
    model: &'a Model,
    input: &'a Input,
    column: Option<&'a str>,
    /// True if the file replaces the one that the model names.
    given: bool,
}

/// The columns to read, and their names.
struct Columns {
    value: usize,
    count: usize,
    names: Option<Vec<String>>,
    /// Factors to the units of the model, for times and for values.
    factors: [f64; 2],
}

impl Columns {
    /// Describes a column.
    fn name(&self, k: usize) -> String {
        match self.names.as_ref().and_then(|names| names.get(k)) {
            Some(name) => format!("column `{name}`"),
            None => format!("column {}", k + 1),
        }
    }
}

impl Samples<'_> {
    fn wrong(&self, headline: String) -> Box<Diagnostic> {
        let label = if self.given { "`--data` names this file" } else { "read here" };
        Box::new(Diagnostic::error(&codes::E0714, headline).label(self.input.place, label))
    }

    fn unreadable(&self, why: Unreadable) -> Box<Diagnostic> {
        why.diagnostic(self.input.place, if self.given { "`--data` names this file" } else { "named here" })
    }

    fn curve(&self, opened: Opened, warnings: &mut Vec<Diagnostic>) -> Outcome<Curve> {
        let Opened { shown, bytes } = opened;
        let mut bytes = bytes.take(MAX_BYTES + 1);
        let mut rows = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(LastByteReader::new(&mut bytes));
        let mut list = List::default();
        let result = self.gather(&shown, &mut rows, &mut list, warnings);
        // an error in a last line without a newline means that the file is truncated
        let read = result.is_ok() || !rows.read_record(&mut csv::StringRecord::new()).unwrap_or(true);
        let torn = !rows.get_ref().closed();
        if bytes.limit() == 0 {
            return Err(self.wrong(format!("`{shown}` is longer than {MAX_BYTES} bytes")));
        }
        let last = list.lines.last().copied().unwrap_or(0);
        let cut = "an interrupted program or a full disk leaves such a file: write it again, or delete its last line";
        result.map_err(|why| {
            if !(torn && read) {
                return why;
            }
            let headline = format!("`{shown}` is truncated: its last row, line {}, is incomplete", list.line);
            Box::new(self.wrong(headline).help(cut))
        })?;
        if torn && last > 0 {
            warnings.push(may_be_cut(&shown, u64::from(last), self.input.place));
        }
        let made = Curve::of(&list.times, &list.values, self.input.between, self.input.outside);
        made.map_err(|misfit| {
            let line = misfit.at().and_then(|k| list.lines.get(k)).map(|line| format!(", line {line}"));
            let what = misfit.says(&list.times);
            Box::new(self.wrong(format!("`{shown}`{}: {what}", line.unwrap_or_default())).help(misfit.help()))
        })
    }

    fn gather<R: Read>(
        &self,
        name: &str,
        rows: &mut csv::Reader<R>,
        list: &mut List,
        warnings: &mut Vec<Diagnostic>,
    ) -> Outcome<()> {
        let mut row = csv::StringRecord::new();
        let mut columns = None;
        while rows.read_record(&mut row).map_err(|e| self.unread(name, &e))? {
            list.line = row.position().map_or(0, csv::Position::line);
            let columns = match &columns {
                Some(columns) => columns,
                None => {
                    let found = columns.insert(self.columns(name, &row, warnings)?);
                    if found.names.is_some() {
                        continue;
                    }
                    found
                }
            };
            if row.len() != columns.count {
                let headline = format!(
                    "`{name}`, line {}: {}, but the lines above have {}",
                    list.line,
                    amount(row.len(), "column"),
                    columns.count
                );
                let report = self.wrong(headline);
                return Err(Box::new(
                    report.help("every line needs the same columns as the first one; delete incomplete lines"),
                ));
            }
            let time = self.field(name, list.line, columns, 0, row.get(0).unwrap_or(""))?;
            let value = self.field(name, list.line, columns, columns.value, row.get(columns.value).unwrap_or(""))?;
            list.times.push(time * columns.factors[0]);
            list.values.push(value * columns.factors[1]);
            list.lines.push(list.line as u32);
            if list.times.len() > MAX_SAMPLES {
                return Err(self.wrong(format!("`{name}` has more than {MAX_SAMPLES} samples")));
            }
        }
        if list.times.is_empty() { Err(self.wrong(format!("`{name}` contains no samples"))) } else { Ok(()) }
    }

    /// Finds the columns from the first row.
    fn columns(&self, name: &str, row: &csv::StringRecord, warnings: &mut Vec<Diagnostic>) -> Outcome<Columns> {
        let header = row.iter().next().is_some_and(|field| number(field).is_none());
        if row.len() == 1 && row.iter().any(|field| field.contains([';', '\t'])) {
            let report = self.wrong(format!("`{name}`: its columns are not separated by commas"));
            return Err(Box::new(report.help("write a decimal point in numbers and commas between them: `0.5,12.25`")));
        }
        if !header {
            return match (self.column, row.len()) {
                (None, 2) => Ok(Columns { value: 1, count: 2, names: None, factors: [1.0; 2] }),
                (Some(column), _) => {
                    let report = self.wrong(format!("`{name}` has no header line, so it has no column `{column}`"));
                    Err(Box::new(
                        report.help(format!("write the names of the columns in its first line: `t,{column}`")),
                    ))
                }
                (None, n) => {
                    let report = self.wrong(format!("`{name}` has {}, not 2", amount(n, "column")));
                    Err(Box::new(report.help("the first column contains the times; name the others in a header line")))
                }
            };
        }
        let fields: Vec<(String, Option<String>)> = row.iter().map(parted).collect();
        let names: Vec<String> = fields.iter().map(|field| field.0.clone()).collect();
        let value = match self.column {
            None if row.len() == 2 => 1,
            None => {
                let known = odec_lang::suggest::list(names.iter().skip(1).map(String::as_str));
                let report = self
                    .wrong(format!("`{name}` has {}, and the model names none of them", amount(row.len(), "column")));
                let help = format!(
                    "name a column: `table(\"{name}\", \"{}\", ...)`; the columns are {known}",
                    names.get(1).map_or("", |n| n)
                );
                return Err(Box::new(report.help(help)));
            }
            Some(column) => self.named(name, column, row, &names)?,
        };
        let (time, input) = (&self.model.time, self.input);
        let first = (input.argument_in_units(&time.name), input.argument.as_ref().map_or(&time.unit, |a| &a.unit));
        let takers = [(0, &first.0, first.1), (value, &input.name, &input.unit)];
        let mut factors = [1.0; 2];
        for (factor, (k, taker, declared)) in factors.iter_mut().zip(takers) {
            let (unit, declared) = (fields[k].1.as_deref(), declared.as_deref());
            let column = Column { file: name, name: &names[k], unit, taker, declared, place: input.place };
            let found = column.factor(self.model, warnings);
            *factor = found.map_err(|(headline, help)| Box::new(self.wrong(headline).help(help)))?;
        }
        Ok(Columns { value, count: row.len(), names: Some(names), factors })
    }

    /// The position of a column.
    fn named(&self, name: &str, column: &str, row: &csv::StringRecord, names: &[String]) -> Outcome<usize> {
        let fits = |k: &usize| names[*k] == column || row.get(*k) == Some(column);
        let found: Vec<usize> = (0..names.len()).filter(fits).collect();
        match found[..] {
            [0] => {
                let report =
                    self.wrong(format!("`{column}` is the first column of `{name}`, which contains the times"));
                Err(Box::new(report.help("name a later column")))
            }
            [k] => Ok(k),
            [] => {
                let report = self.wrong(format!("`{name}` has no column `{column}`"));
                let known = odec_lang::suggest::list(names.iter().skip(1).map(String::as_str));
                Err(Box::new(report.help(format!("the columns are {known}"))))
            }
            _ => {
                let report = self.wrong(format!("`{name}` has {} columns `{column}`", found.len()));
                Err(Box::new(report.help("give each column its own name")))
            }
        }
    }

    fn unread(&self, name: &str, e: &csv::Error) -> Box<Diagnostic> {
        unread(name, e).map_or_else(|why| self.unreadable(why), |headline| self.wrong(headline))
    }

    fn field(&self, name: &str, line: u64, columns: &Columns, k: usize, field: &str) -> Outcome<f64> {
        number(field).ok_or_else(|| {
            let (shown, column): (String, String) = (field.chars().take(MAX_SHOWN).collect(), columns.name(k));
            if field.is_empty() {
                let report = self.wrong(format!("`{name}`, line {line}: {column} is empty"));
                return Box::new(report.help("delete the whole line: odec interpolates between its neighbours"));
            }
            let report = self.wrong(format!("`{name}`, line {line}, {column}: `{shown}` is not a finite number"));
            if k == 0 {
                return Box::new(report.help("write times as numbers, in the time unit of the model"));
            }
            Box::new(report.help(match with_comma(field) {
                Some(better) => better,
                None => "delete lines without a value: odec interpolates between their neighbours".to_owned(),
            }))
        })
    }
}

/// How to write `1,000` or `0,5`.
fn with_comma(field: &str) -> Option<String> {
    let joined = field.replace(',', "");
    let decimal = field.replacen(',', ".", 1);
    number(&joined).filter(|_| field.contains(','))?;
    let parts: Vec<&str> = field.split(',').collect();
    let groups = parts[1..].iter().all(|part| part.split('.').next().is_some_and(|digits| digits.len() == 3));
    match (groups && !parts[0].trim_start_matches(['-', '0']).is_empty(), number(&decimal)) {
        (true, Some(_)) => Some(format!("write `{joined}`, or `{decimal}` if the comma is a decimal comma")),
        (true, None) => Some(format!("write `{joined}`, without a separator")),
        (false, Some(_)) => Some(format!("write `{decimal}`, with a decimal point")),
        (false, None) => None,
    }
}

/// The samples read so far.
#[derive(Default)]
struct List {
    times: Vec<f64>,
    values: Vec<f64>,
    lines: Vec<u32>,
    /// The number of the last line.
    line: u64,
}

fn amount(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
