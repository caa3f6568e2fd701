//! Rows as CSV, JSON lines or another format. Whole lines are written and flushed often, so that a failure loses no
//! computed rows.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use odec_jit::stdio::stdout_was_closed;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::Error;

use crate::digits::number;
use crate::exit::Exit;
use crate::input::{error, plain};
use crate::memory::file_limit;
use crate::signal;
use crate::table::{Column, Format, Meta, Table};

/// Number of buffered bytes before a write.
const BLOCK: usize = 1 << 16;
/// Longest time that rows stay in the buffer.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// Largest number of rows and steps between two readings of the clock: a reading takes longer than a step of a small
/// model. If they follow each other slowly, each one reads the clock.
const CHECK_INTERVAL: u32 = 16;
/// Time between two readings below which the next one may be skipped.
const FAST: Duration = Duration::from_millis(1);

/// The reason why rows cannot be written.
#[derive(Debug)]
pub enum RowsError {
    /// The reader closed the pipe: not an error.
    Closed,
    /// The file system reported an error.
    Failed(Box<Diagnostic>),
}

enum Output {
    Stdout(std::io::Stdout),
    File(File, PathBuf),
}

/// The format of the rows.
enum Form {
    Csv,
    /// An aligned table, with the widths of its columns.
    Aligned(Vec<usize>),
    /// JSON objects, with the text before each value.
    JsonLines(Vec<Vec<u8>>),
    /// A file that is complete only at the end; `None` before the header and after the end.
    Table(Format, PathBuf, Meta, Option<Box<Table>>),
}

/// A table on standard output or in a file.
pub struct Rows {
    output: Output,
    buffer: Vec<u8>,
    /// Number of bytes of whole rows in the file.
    written: u64,
    flushed: Instant,
    /// The last reading of the clock, and the number of rows and steps until the next one.
    last_check: Instant,
    until_check: u32,
    /// Largest size of the file in bytes.
    limit: Option<u64>,
    form: Form,
    /// Number of rows so far, without the header line.
    pub count: u64,
}

/// Significant digits in an aligned table.
const DIGITS: usize = 9;
/// Smallest width of its columns, which fits any number with this many digits after two blanks; also the width of the
/// first column.
const WIDTH: usize = DIGITS + 9;
const STEP_WIDTH: usize = 7;

impl Rows {
    /// Rows on standard output.
    pub fn stdout() -> Rows {
        Rows::to(Output::Stdout(std::io::stdout()))
    }

    /// Rows at the destination of `-o`: a file, or standard output for `-` or without the flag.
    pub fn to_output(output: Option<&Path>) -> Result<Rows, Box<Diagnostic>> {
        match output.filter(|path| *path != Path::new("-")) {
            None if stdout_was_closed() => Err(closed()),
            None => Ok(Rows::stdout()),
            Some(path) => Rows::file(path),
        }
    }

    /// The rows in the format of the file extension; `meta` describes them in formats with metadata.
    pub fn formatted(output: Option<&Path>, meta: impl FnOnce() -> Meta) -> Result<Rows, Box<Diagnostic>> {
        let Some(path) = output.filter(|path| *path != Path::new("-")) else { return Rows::to_output(output) };
        Rows::in_form(path, Format::of(path)?, meta())
    }

    /// Rows in a file of this format.
    pub fn in_form(path: &Path, format: Format, meta: Meta) -> Result<Rows, Box<Diagnostic>> {
        match format {
            Format::Csv => Rows::file(path),
            Format::JsonLines => Ok(Rows { form: Form::JsonLines(vec![]), ..Rows::file(path)? }),
            // nothing goes to standard output
            format => Ok(Rows { form: Form::Table(format, path.to_path_buf(), meta, None), ..Rows::stdout() }),
        }
    }

    /// True for typed rows, which are not text.
    pub fn typed(&self) -> bool {
        matches!(self.form, Form::Table(..))
    }

    /// Writes to a file. An existing file keeps its contents until there is something to write.
    pub fn file(path: &Path) -> Result<Rows, Box<Diagnostic>> {
        let options = File::options().write(true).create(true).truncate(false).open(path);
        let file = options.map_err(|e| cannot_write(path, &e))?;
        Ok(Rows::to(Output::File(file, path.to_path_buf())))
    }

    fn to(output: Output) -> Rows {
        Rows {
            output,
            buffer: Vec::with_capacity(BLOCK + 4096),
            written: 0,
            flushed: Instant::now(),
            last_check: Instant::now(),
            until_check: 1,
            limit: file_limit(),
            form: Form::Csv,
            count: 0,
        }
    }

    /// Rows as an aligned table for users, with rounded numbers and row numbers from 0.
    pub fn aligned(self) -> Rows {
        Rows { form: Form::Aligned(vec![]), ..self }
    }

    /// Writes the names of the columns.
    pub fn header(&mut self, names: impl Iterator<Item = String>) -> Result<(), RowsError> {
        match &mut self.form {
            Form::Aligned(widths) => {
                let mut line = format!("{:>STEP_WIDTH$}", "step");
                for name in names {
                    let width = WIDTH.max(name.chars().count() + 2);
                    widths.push(width);
                    line.push_str(&format!("{name:>width$}"));
                }
                self.buffer.extend_from_slice(line.as_bytes());
                self.buffer.push(b'\n');
            }
            Form::JsonLines(keys) => {
                for name in names {
                    let before = if keys.is_empty() { '{' } else { ',' };
                    keys.push(format!("{before}{}:", serde_json::Value::from(name)).into_bytes());
                }
            }
            Form::Csv => {
                let mut writer = csv::Writer::from_writer(vec![]);
                // writing to a vector cannot fail
                for name in names {
                    let _ = writer.write_field(&name);
                }
                let _ = writer.write_record(None::<&[u8]>);
                if let Ok(bytes) = writer.into_inner() {
                    self.buffer.extend_from_slice(&bytes);
                }
            }
            Form::Table(..) => return self.columns(names.map(Column::number).collect()),
        }
        self.write_if_due()
    }

    /// Sets the columns of typed rows.
    pub fn columns(&mut self, columns: Vec<Column>) -> Result<(), RowsError> {
        if let Form::Table(format, path, meta, table) = &mut self.form {
            let begun = Table::begin(path, *format, columns, std::mem::take(meta));
            *table = Some(Box::new(begun.map_err(RowsError::Failed)?));
        }
        Ok(())
    }

    /// Writes a line of CSV fields, quoted if necessary.
    pub fn fields<'a>(&mut self, fields: impl Iterator<Item = &'a String>) -> Result<(), RowsError> {
        let mut writer = csv::Writer::from_writer(vec![]);
        // writing to a vector cannot fail
        for field in fields {
            let _ = writer.write_field(field);
        }
        let _ = writer.write_record(None::<&[u8]>);
        if let Ok(bytes) = writer.into_inner() {
            self.buffer.extend_from_slice(&bytes);
        }
        self.count += 1;
        self.write_if_due()
    }

    /// Writes a row.
    pub fn row(&mut self, values: &[f64]) -> Result<(), RowsError> {
        match &mut self.form {
            Form::Aligned(widths) => {
                let mut line = format!("{:>STEP_WIDTH$}", self.count);
                for (v, width) in values.iter().zip(widths) {
                    line.push_str(&format!("{:>width$}", rounded(*v)));
                }
                self.buffer.extend_from_slice(line.as_bytes());
            }
            Form::JsonLines(keys) => {
                for (key, &v) in keys.iter().zip(values) {
                    self.buffer.extend_from_slice(key);
                    // JSON has only finite numbers
                    if v.is_finite() {
                        number(&mut self.buffer, v);
                    } else {
                        self.buffer.extend_from_slice(b"null");
                    }
                }
                self.buffer.push(b'}');
            }
            Form::Csv => {
                for (k, &v) in values.iter().enumerate() {
                    if k > 0 {
                        self.buffer.push(b',');
                    }
                    number(&mut self.buffer, v);
                }
            }
            Form::Table(.., table) => {
                self.count += 1;
                return match table {
                    Some(table) => table.row(values).map_err(RowsError::Failed),
                    None => Ok(()),
                };
            }
        }
        self.buffer.push(b'\n');
        self.count += 1;
        self.write_if_due()
    }

    /// Writes the remaining rows; renames a file that is complete only at the end.
    pub fn finish(&mut self) -> Result<(), RowsError> {
        match &mut self.form {
            Form::Table(.., table) => table.take().map_or(Ok(()), |table| table.finish().map_err(RowsError::Failed)),
            _ => self.flush(),
        }
    }

    /// Writes rows that have waited long enough; called between rows that are far apart.
    pub fn tick(&mut self) -> Result<(), RowsError> {
        if self.buffer.is_empty() { Ok(()) } else { self.write_if_due() }
    }

    fn write_if_due(&mut self) -> Result<(), RowsError> {
        if self.buffer.len() >= BLOCK {
            return self.flush();
        }
        self.until_check -= 1;
        if self.until_check > 0 {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.last_check, Instant::now());
        self.until_check = if self.last_check - before < FAST { CHECK_INTERVAL } else { 1 };
        if self.last_check - self.flushed >= FLUSH_INTERVAL { self.flush() } else { Ok(()) }
    }

    /// Number of bytes of these rows that fit into the file, whole rows only: at the limit, the system ends the
    /// process in the middle of a row.
    fn fitting(&self, rows: &[u8]) -> usize {
        let Some(limit) = self.limit else { return rows.len() };
        let now = match &self.output {
            Output::File(..) => self.written,
            Output::Stdout(_) => match Path::new("/dev/stdout").metadata() {
                Ok(file) if file.is_file() => file.len(),
                _ => return rows.len(),
            },
        };
        match usize::try_from(limit.saturating_sub(now)) {
            Ok(room) if room < rows.len() => rows[..room].iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1),
            _ => rows.len(),
        }
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> Result<(), RowsError> {
        if self.typed() {
            return Ok(());
        }
        let _whole = signal::writing();
        self.flushed = Instant::now();
        if let (Output::File(file, _), 0) = (&self.output, self.written) {
            // a device cannot be truncated, and need not be
            let _ = file.set_len(0);
        }
        let gathered = std::mem::take(&mut self.buffer);
        let fits = self.fitting(&gathered);
        let result = match &mut self.output {
            Output::Stdout(_) if stdout_was_closed() => return Err(RowsError::Failed(closed())),
            Output::Stdout(out) => write_all(out, &gathered[..fits]).and_then(|()| out.flush().map_err(|e| (0, e))),
            Output::File(file, _) => write_all(file, &gathered[..fits]),
        };
        let result = match result {
            Ok(()) if fits < gathered.len() => Err((fits, ErrorKind::FileTooLarge.into())),
            result => result,
        };
        match result {
            Ok(()) => {
                self.written += gathered.len() as u64;
                self.buffer = gathered;
                self.buffer.clear();
                Ok(())
            }
            Err((accepted, e)) => {
                let whole = gathered[..accepted].iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1);
                self.written += whole as u64;
                let lost = gathered[whole..].split(|&b| b == b'\n').count() as u64 - 1;
                self.count = self.count.saturating_sub(lost);
                Err(match &mut self.output {
                    Output::Stdout(_) if e.kind() == ErrorKind::BrokenPipe => RowsError::Closed,
                    Output::Stdout(_) => {
                        let headline = format!("odec cannot write to standard output: {}", plain(&e));
                        RowsError::Failed(Box::new(error(&codes::E0704, headline, None)))
                    }
                    Output::File(file, path) => {
                        // remove an incomplete row; if the file cannot be truncated (a device), nothing is lost
                        let _ = file.set_len(self.written);
                        let headline = format!("odec cannot write `{}`: {}", path.display(), plain(&e));
                        let help = format!("it contains {} complete rows", self.count);
                        RowsError::Failed(Box::new(error(&codes::E0704, headline, (self.count > 0).then_some(help))))
                    }
                })
            }
        }
    }
}

/// The message about a closed standard output.
fn closed() -> Box<Diagnostic> {
    let help = "keep it open, or write the rows to a file: `-o rows.csv`".to_string();
    Box::new(error(&codes::E0704, "standard output is closed".to_string(), Some(help)))
}

/// Like `Write::write_all`, but returns the number of written bytes with an error.
fn write_all(out: &mut impl Write, bytes: &[u8]) -> Result<(), (usize, std::io::Error)> {
    let mut done = 0;
    while done < bytes.len() {
        match out.write(&bytes[done..]) {
            Ok(0) => return Err((done, ErrorKind::WriteZero.into())),
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err((done, e)),
        }
    }
    Ok(())
}

/// A file that cannot be opened for writing.
pub fn cannot_write(path: &Path, e: &std::io::Error) -> Box<Diagnostic> {
    let name = path.display();
    let headline = match e.kind() {
        ErrorKind::PermissionDenied => format!("odec cannot write `{name}`: permission denied"),
        ErrorKind::NotFound => format!("odec cannot write `{name}`: there is no such folder"),
        ErrorKind::IsADirectory => format!("odec cannot write `{name}`: it is a directory"),
        _ => format!("odec cannot write `{name}`: {}", plain(e)),
    };
    Box::new(error(&codes::E0703, headline, None))
}

/// Prints text on standard output. A closed pipe is not an error.
pub fn print(text: &str) -> Result<Exit, Error> {
    let mut rows = Rows::stdout();
    rows.buffer.extend_from_slice(text.as_bytes());
    match rows.flush() {
        Ok(()) | Err(RowsError::Closed) => Ok(Exit::Success),
        Err(RowsError::Failed(d)) => Err(d.into()),
    }
}

/// A number rounded for an aligned table, with an exponent only where it is very large or small.
fn rounded(v: f64) -> String {
    let rounded = format!("{v:.*e}", DIGITS - 1).parse().unwrap_or(v);
    if v == 0.0 || (1e-4..1e9).contains(&v.abs()) { format!("{rounded}") } else { shortest(rounded) }
}

/// [`number`] as a string.
pub fn shortest(v: f64) -> String {
    let mut out = vec![];
    number(&mut out, v);
    String::from_utf8_lossy(&out).into_owned()
}
