//! Tables of a model from CSV files. The model names them, the host provides their bytes, and this module reads the numbers.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::io::Read;

use odec_ir::Span;
use odec_ir::nest::bind::MAX_ELEMENTS;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Model, NamedValue, Overrides, Table};

use super::header::{Column, parted};

/// Longest text of a field that is repeated in a message.
pub(super) const MAX_SHOWN: usize = 40;
/// Number of bytes that a file may have besides its values: a header line, comments.
const MAX_BESIDE: u64 = 1 << 20;
/// Number of bytes that a file may have for each value of the table: other columns, blanks, digits.
const MAX_BYTES_PER_VALUE: u64 = 1 << 10;

/// Data by the name of the constant or parameter.
pub type Tables = HashMap<String, Vec<f64>>;

/// The files that a model names, implemented by the host; odec opens files in no other way.
pub trait Files: Send + Sync {
    /// Opens a file by its name in the model, usually a path relative to the model's folder.
    ///
    /// # Errors
    /// The reason, for a message.
    fn open(&self, name: &str) -> Result<Opened, Unreadable>;

    /// Opens a file that the caller named to replace a file of the model. The restrictions on the files of models do
    /// not apply.
    ///
    /// # Errors
    /// The errors of [`Files::open`].
    fn open_given(&self, name: &str) -> Result<Opened, Unreadable> {
        self.open(name)
    }

    /// Opens a file with a part that a file of the model uses. `folder` is the folder of that file, empty for the
    /// model itself; the result includes the folder of the part.
    ///
    /// # Errors
    /// See [`Files::open`].
    fn open_part(&self, folder: &str, name: &str) -> Result<(Opened, String), Unreadable> {
        let path = super::parts::joined(folder, name);
        Ok((self.open(&path)?, super::parts::folder_of(&path)))
    }
}

/// An open file, at its beginning.
pub struct Opened {
    /// Its name in messages.
    pub shown: String,
    /// Its bytes. odec reads only as many as the table needs.
    pub bytes: Box<dyn Read>,
}

/// The reason why odec cannot read a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// One sentence.
    pub headline: String,
    /// Advice to the user.
    pub help: Option<String>,
    /// True if the host does not permit models to read the file.
    pub forbidden: bool,
}

impl Unreadable {
    /// The message, with a label where the model or an option names the file.
    pub(super) fn diagnostic(self, at: Span, label: &str) -> Box<Diagnostic> {
        let code = if self.forbidden { &codes::E0719 } else { &codes::E0701 };
        let d = Diagnostic::error(code, self.headline).label(at, label);
        Box::new(match self.help {
            Some(help) => d.help(help),
            None => d,
        })
    }
}

/// The headline for a file that is not valid CSV.
///
/// # Errors
/// The file cannot be read.
pub(super) fn unread(name: &str, e: &csv::Error) -> Result<String, Unreadable> {
    match e.kind() {
        csv::ErrorKind::Io(e) => {
            let headline = format!("odec cannot read `{name}`: {e}");
            Err(Unreadable { headline, help: None, forbidden: false })
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            Ok(format!("`{name}`, line {line}: this is not UTF-8 text"))
        }
        _ => Ok(format!("`{name}`: {e}")),
    }
}

/// No files: a model that names one is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, name: &str) -> Result<Opened, Unreadable> {
        let headline = format!("odec does not read `{name}`: this program gives models no access to files");
        Err(Unreadable { headline, help: None, forbidden: true })
    }
}

/// Files in memory, by the name in the model.
impl<S: BuildHasher + Send + Sync> Files for HashMap<String, Vec<u8>, S> {
    fn open(&self, name: &str) -> Result<Opened, Unreadable> {
        let Some(bytes) = self.get(name) else {
            let known = odec_lang::suggest::list(self.keys().map(String::as_str));
            let help = if self.is_empty() { None } else { Some(format!("the files are {known}")) };
            return Err(Unreadable { headline: format!("there is no file `{name}`"), help, forbidden: false });
        };
        Ok(Opened { shown: name.to_string(), bytes: Box::new(std::io::Cursor::new(bytes.clone())) })
    }
}

/// Reads every file that a constant or parameter of the model names. Warnings about possible mistakes go to `warnings`.
///
/// # Errors
/// E0701, E0714, E0719, each at the place that names the file.
pub fn read(
    model: &Model,
    overrides: &Overrides,
    files: &dyn Files,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tables, Vec<Diagnostic>> {
    let named = |table: &Option<Table>| matches!(table, Some(Table::Csv { .. }));
    if !model.constants.iter().chain(&model.parameters).any(|given| named(&given.table)) {
        return Ok(Tables::new());
    }
    // sizes of index sets must be known before tables are read
    let values = model.values(overrides)?;
    let mut tables = Tables::new();
    let mut errors = vec![];
    for given in model.constants.iter().chain(&model.parameters) {
        if let Some(Table::Csv { file, column, span }) = &given.table {
            let ranges = model.ranges_of(&given.indexed, &values).unwrap_or_default();
            let count = elements(&ranges);
            let wanted = TableRequest { model, given, column: column.as_deref(), ranges, count, span: *span };
            match wanted.values(file, files, warnings) {
                Ok(values) => drop(tables.insert(given.name.clone(), values)),
                Err(d) => errors.push(*d),
            }
        }
    }
    if errors.is_empty() { Ok(tables) } else { Err(errors) }
}

/// Number of elements of an array with these ranges.
fn elements(ranges: &[(i64, i64)]) -> u64 {
    let width = |&(first, last): &(i64, i64)| u64::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0);
    ranges.iter().map(width).fold(1, u64::saturating_mul)
}

/// The values that a model needs from a file.
struct TableRequest<'a> {
    model: &'a Model,
    /// The constant or parameter.
    given: &'a NamedValue,
    column: Option<&'a str>,
    /// The ranges of its indices.
    ranges: Vec<(i64, i64)>,
    /// Its elements.
    count: u64,
    span: Span,
}

type Numbers = Result<Vec<f64>, Box<Diagnostic>>;

impl TableRequest<'_> {
    fn wrong(&self, headline: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(&codes::E0714, headline).label(self.span, "read here"))
    }

    fn unreadable(&self, why: Unreadable) -> Box<Diagnostic> {
        why.diagnostic(self.span, "named here")
    }

    /// The numbers of a file, row by row: of one column, or of all columns.
    fn values(&self, file: &str, files: &dyn Files, warnings: &mut Vec<Diagnostic>) -> Numbers {
        let Opened { shown, bytes } = files.open(file).map_err(|why| self.unreadable(why))?;
        let limit = MAX_BESIDE + MAX_BYTES_PER_VALUE * self.count.min(MAX_ELEMENTS);
        let mut bytes = bytes.take(limit + 1);
        let result = self.numbers(&shown, &mut bytes, warnings);
        if bytes.limit() == 0 {
            // the error may be caused by truncation
            let headline = format!(
                "`{shown}` is longer than {limit} bytes, but `{}` has {} elements",
                self.given.name, self.count
            );
            return Err(Box::new(
                self.wrong(headline).help("is this the right file? A table contains only what the model needs"),
            ));
        }
        result
    }

    fn numbers(&self, name: &str, bytes: &mut dyn Read, warnings: &mut Vec<Diagnostic>) -> Numbers {
        let mut rows = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(LastByteReader::new(bytes));
        let mut row = csv::StringRecord::new();
        let gathered = self.gather(name, &mut rows, &mut row, warnings);
        if gathered.is_ok() && !rows.get_ref().closed() {
            warnings.push(may_be_cut(name, row.position().map_or(0, csv::Position::line), self.span));
        }
        gathered.map_err(|why| {
            // an error in a last line without a newline means that the file is truncated
            let line = row.position().map_or(0, csv::Position::line);
            let over = !rows.read_record(&mut row).unwrap_or(true);
            if !over || rows.get_ref().closed() {
                return why;
            }
            let d = self.wrong(format!("`{name}` is truncated: its last row, line {line}, is incomplete"));
            Box::new(d.help("an interrupted run or a full disk leaves such a file: delete its last line"))
        })
    }

    fn gather(
        &self,
        name: &str,
        rows: &mut csv::Reader<LastByteReader<'_>>,
        row: &mut csv::StringRecord,
        warnings: &mut Vec<Diagnostic>,
    ) -> Numbers {
        let mut values = vec![];
        let mut width = None;
        // the index of the column, after the header line has been read
        let mut chosen = None;
        let mut factors = vec![];
        let (mut first, mut heading) = (true, String::new());
        while rows.read_record(row).map_err(|e| self.unread(name, &e))? {
            let line = row.position().map_or(0, csv::Position::line);
            if std::mem::take(&mut first) {
                if let Some(column) = self.column {
                    let k = self.position(name, column, row)?;
                    chosen = Some(k);
                    factors = self.factors(name, row, k..k + 1, warnings)?;
                    continue;
                }
                // a line without any number is a header line
                if row.iter().all(|field| number(field).is_none()) {
                    row.iter().next().unwrap_or_default().clone_into(&mut heading);
                    factors = self.factors(name, row, 0..row.len(), warnings)?;
                    continue;
                }
            }
            if chosen.is_none() && *width.get_or_insert(row.len()) != row.len() {
                let expected = width.unwrap_or(0);
                let headline =
                    format!("`{name}`, line {line}: {} values, but the lines above have {expected}", row.len());
                return Err(self.wrong(headline));
            }
            for (n, k) in chosen.map_or(0..row.len(), |k| k..k + 1).enumerate() {
                let factor = factors.get(n).copied().unwrap_or(1.0);
                values.push(factor * self.field(name, line, k, row.get(k).unwrap_or(""))?);
            }
            if values.len() as u64 > MAX_ELEMENTS {
                return Err(self.wrong(format!("`{name}` has more than {MAX_ELEMENTS} values")));
            }
        }
        if values.is_empty() {
            let report = self.wrong(format!("`{name}` contains no numbers"));
            return Err(match separator(&heading) {
                Some(by) => Box::new(report.help(format!("separate the values by commas instead of {by}"))),
                None => report,
            });
        }
        self.fits(name, values.len(), width.unwrap_or(1))?;
        Ok(values)
    }

    /// Checks that the lines of a file are rows of a table with several indices. One value in each line fits any table.
    fn fits(&self, file: &str, values: usize, width: usize) -> Result<(), Box<Diagnostic>> {
        let extents: Vec<usize> = self.ranges.iter().map(|(a, b)| usize::try_from(b - a + 1).unwrap_or(0)).collect();
        let lines = values / width.max(1);
        // a line may have the elements of the last index, of the last two, and so on
        let widths = extents.iter().rev().scan(1_usize, |product, n| {
            *product = product.saturating_mul(*n);
            Some(*product)
        });
        // a wrong number of values has its own message
        let other = self.column.is_some() || values as u64 != self.count;
        if other || width == 1 || extents.len() < 2 || widths.into_iter().any(|w| w == width) {
            return Ok(());
        }
        let name = &self.given.name;
        let shape = extents.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let headline = format!("`{file}` has {lines} lines of {width} values, but `{name}` has {shape} elements");
        let help = if extents == [width, lines] {
            let axes: Vec<&str> = self.given.indexed.axes.iter().rev().map(|axis| axis.name.as_str()).collect();
            format!("the file has the rows as columns: write `{name}[{}]`, or transpose the file", axes.join(","))
        } else {
            format!("write a line of {} values for each row", extents.last().copied().unwrap_or(1))
        };
        Err(Box::new(Diagnostic::error(&codes::E0525, headline).label(self.span, "read here").help(help)))
    }

    /// For each of these columns, the factor to the unit of the model.
    fn factors(
        &self,
        file: &str,
        row: &csv::StringRecord,
        columns: std::ops::Range<usize>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Numbers {
        let factor = |k: usize| {
            let (name, unit) = parted(row.get(k).unwrap_or(""));
            let (taker, declared) = (self.given.name.as_str(), self.given.unit.as_deref());
            let column = Column { file, name: &name, unit: unit.as_deref(), taker, declared, place: self.span };
            let found = column.factor(self.model, warnings);
            found.map_err(|(headline, help)| Box::new(Diagnostic { help: Some(help), ..*self.wrong(headline) }))
        };
        columns.map(factor).collect()
    }

    fn unread(&self, name: &str, e: &csv::Error) -> Box<Diagnostic> {
        unread(name, e).map_or_else(|why| self.unreadable(why), |headline| self.wrong(headline))
    }

    fn position(&self, name: &str, column: &str, row: &csv::StringRecord) -> Result<usize, Box<Diagnostic>> {
        row.iter().position(|field| field == column || parted(field).0 == column).ok_or_else(|| {
            let known = odec_lang::suggest::list(row.iter());
            let d = self.wrong(format!("`{name}` has no column `{column}`"));
            Box::new(d.help(format!("the columns are {known}")))
        })
    }

    fn field(&self, name: &str, line: u64, k: usize, field: &str) -> Result<f64, Box<Diagnostic>> {
        number(field).ok_or_else(|| {
            let shown: String = field.chars().take(MAX_SHOWN).collect();
            match field {
                "" => self.wrong(format!("`{name}`, line {line}: column {} is empty", k + 1)),
                _ => {
                    let report = self.wrong(format!("`{name}`, line {line}: `{shown}` is not a number"));
                    match separator(field) {
                        Some(by) => Box::new(report.help(format!("separate the values by commas instead of {by}"))),
                        None => report,
                    }
                }
            }
        })
    }
}

/// Warns about a file whose last line has no newline.
pub(super) fn may_be_cut(name: &str, line: u64, place: Span) -> Diagnostic {
    let headline = format!("`{name}` does not end with a newline: its last row, line {line}, may be incomplete");
    let report = Diagnostic::warning(&codes::W0513, headline).label(place, "read here");
    report.help("if the file is complete, add a newline at its end; otherwise write it again")
}

/// A reader that stores the last byte.
pub(super) struct LastByteReader<'a> {
    bytes: &'a mut dyn Read,
    last: u8,
}

impl<'a> LastByteReader<'a> {
    /// Reads `bytes` from the first byte.
    pub fn new(bytes: &'a mut dyn Read) -> LastByteReader<'a> {
        LastByteReader { bytes, last: b'\n' }
    }

    /// True if the bytes end with a newline.
    pub fn closed(&self) -> bool {
        self.last == b'\n'
    }
}

impl Read for LastByteReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        if let Some(last) = buffer[..count].last() {
            self.last = *last;
        }
        Ok(count)
    }
}

/// What separates the numbers of a line, if it is not a comma.
fn separator(field: &str) -> Option<&'static str> {
    let several = |by: char| field.contains(by) && field.split(by).all(|part| number(part.trim()).is_some());
    [(';', "semicolons"), ('\t', "tabs"), (' ', "spaces")]
        .into_iter()
        .find(|(by, _)| several(*by))
        .map(|(_, name)| name)
}

/// Parses a finite number.
pub(super) fn number(field: &str) -> Option<f64> {
    field.parse::<f64>().ok().filter(|v| v.is_finite())
}
