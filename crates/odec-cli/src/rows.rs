//! Rows as CSV: whole rows only, flushed often enough that what is computed is kept whatever happens next.

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

/// Bytes gathered before they are written.
const BLOCK: usize = 1 << 16;
/// Longest time that rows wait to be written.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why rows cannot be written.
#[derive(Debug)]
pub enum RowsError {
    /// The reader has had enough: not an error.
    Closed,
    /// The file system says no.
    Failed(Box<Diagnostic>),
}

enum Output {
    Stdout(std::io::Stdout),
    File(File, PathBuf),
}

/// A table on standard output or in a file.
pub struct Rows {
    output: Output,
    buffer: Vec<u8>,
    /// Bytes of the file that are whole rows.
    written: u64,
    flushed: Instant,
    /// Bytes that a file may have.
    limit: Option<u64>,
    /// Widths of the columns of an aligned table; none of CSV.
    widths: Option<Vec<usize>>,
    /// Rows so far, the header not counted.
    pub count: u64,
}

/// Significant digits in an aligned table.
const DIGITS: usize = 9;
/// Least width of its columns, which holds any number of so many digits with two blanks before it, and of the first one.
const WIDTH: usize = DIGITS + 9;
const STEP_WIDTH: usize = 7;

impl Rows {
    /// On standard output.
    pub fn stdout() -> Rows {
        Rows::to(Output::Stdout(std::io::stdout()))
    }

    /// Where `-o` says: a file, or standard output if it says `-` or nothing.
    pub fn to_output(output: Option<&Path>) -> Result<Rows, Box<Diagnostic>> {
        match output.filter(|path| *path != Path::new("-")) {
            None if stdout_was_closed() => Err(closed()),
            None => Ok(Rows::stdout()),
            Some(path) => Rows::file(path),
        }
    }

    /// Into a new file, or over an old one. What is in it stays until there is something to write.
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
            limit: file_limit(),
            widths: None,
            count: 0,
        }
    }

    /// The same as an aligned table for people, with rounded numbers, each row with its number from 0.
    pub fn aligned(self) -> Rows {
        Rows { widths: Some(vec![]), ..self }
    }

    /// The names of the columns.
    pub fn header(&mut self, names: impl Iterator<Item = String>) -> Result<(), RowsError> {
        if let Some(widths) = &mut self.widths {
            let mut line = format!("{:>STEP_WIDTH$}", "step");
            for name in names {
                let width = WIDTH.max(name.chars().count() + 2);
                widths.push(width);
                line.push_str(&format!("{name:>width$}"));
            }
            self.buffer.extend_from_slice(line.as_bytes());
            self.buffer.push(b'\n');
            return self.write_if_due();
        }
        let mut writer = csv::Writer::from_writer(vec![]);
        // a vector takes everything: no call can fail
        for name in names {
            let _ = writer.write_field(&name);
        }
        let _ = writer.write_record(None::<&[u8]>);
        if let Ok(bytes) = writer.into_inner() {
            self.buffer.extend_from_slice(&bytes);
        }
        self.write_if_due()
    }

    /// A line of CSV fields, which are quoted where they have to be.
    pub fn fields<'a>(&mut self, fields: impl Iterator<Item = &'a String>) -> Result<(), RowsError> {
        let mut writer = csv::Writer::from_writer(vec![]);
        // a vector takes everything: no call can fail
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

    /// One row.
    pub fn row(&mut self, values: &[f64]) -> Result<(), RowsError> {
        if let Some(widths) = &self.widths {
            let mut line = format!("{:>STEP_WIDTH$}", self.count);
            for (v, width) in values.iter().zip(widths) {
                line.push_str(&format!("{:>width$}", rounded(*v)));
            }
            self.buffer.extend_from_slice(line.as_bytes());
            self.buffer.push(b'\n');
            self.count += 1;
            return self.write_if_due();
        }
        for (k, &v) in values.iter().enumerate() {
            if k > 0 {
                self.buffer.push(b',');
            }
            number(&mut self.buffer, v);
        }
        self.buffer.push(b'\n');
        self.count += 1;
        self.write_if_due()
    }

    /// Writes what has waited long enough; called between rows that are far apart.
    pub fn tick(&mut self) -> Result<(), RowsError> {
        if self.buffer.is_empty() { Ok(()) } else { self.write_if_due() }
    }

    fn write_if_due(&mut self) -> Result<(), RowsError> {
        if self.buffer.len() >= BLOCK || self.flushed.elapsed() >= PATIENCE { self.flush() } else { Ok(()) }
    }

    /// Bytes of these rows that go into the file below the limit of the system, whole rows only: where it is passed, the system
    /// ends the process in the middle of a row.
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

    /// Writes what is gathered.
    pub fn flush(&mut self) -> Result<(), RowsError> {
        let _whole = signal::writing();
        self.flushed = Instant::now();
        if let (Output::File(file, _), 0) = (&self.output, self.written) {
            // a device cannot be cut, and need not be
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
                        let headline = format!("standard output cannot be written: {}", plain(&e));
                        RowsError::Failed(Box::new(error(&codes::E0704, headline, None)))
                    }
                    Output::File(file, path) => {
                        // a torn row is taken back; where the file cannot be cut (a device) nothing is lost by trying
                        let _ = file.set_len(self.written);
                        let headline = format!("`{}` cannot be written: {}", path.display(), plain(&e));
                        let help = format!("{} whole rows are in it", self.count);
                        RowsError::Failed(Box::new(error(&codes::E0704, headline, (self.count > 0).then_some(help))))
                    }
                })
            }
        }
    }
}

/// What a closed standard output is told as.
fn closed() -> Box<Diagnostic> {
    let help = "leave it open, or write the rows to a file: `-o rows.csv`".to_string();
    Box::new(error(
        &codes::E0704,
        "standard output is closed, and nothing can be written to it".to_string(),
        Some(help),
    ))
}

/// Like `Write::write_all`, but tells how many bytes went through before an error.
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
        ErrorKind::PermissionDenied => format!("`{name}` may not be written: permission denied"),
        ErrorKind::NotFound => format!("`{name}` cannot be written: there is no such folder"),
        ErrorKind::IsADirectory => format!("`{name}` cannot be written: it is a directory"),
        _ => format!("`{name}` cannot be written: {}", plain(e)),
    };
    Box::new(error(&codes::E0703, headline, None))
}

/// Writes text on standard output. A reader that has had enough is no error.
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
