//! Rows in binary files: Parquet, Arrow and npz. A file is written under a temporary name and renamed when it is complete.

mod arrow;
mod flat;
mod npz;
mod parquet;
mod thrift;

use std::path::Path;

use odec_lang::diagnostic::{Diagnostic, codes};

use crate::input::error;
use crate::whole::Draft;

use arrow::Arrow;
use npz::Npz;
use parquet::Parquet;

type Written<T> = Result<T, Box<Diagnostic>>;

/// The format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// A JSON object in each line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// An Arrow file, also named Feather.
    Arrow,
    /// NumPy arrays.
    Npz,
}

/// Extensions of formats that odec does not write.
const FOREIGN: [&str; 12] = ["h5", "hdf5", "json", "mat", "nc", "npy", "ods", "tsv", "xlsx", "gz", "zip", "zst"];

impl Format {
    /// The format for the extension of a name; CSV if the extension is unknown.
    pub fn of(path: &Path) -> Written<Format> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("jsonl" | "ndjson") => Ok(Format::JsonLines),
            Some("parquet" | "pq") => Ok(Format::Parquet),
            Some("arrow" | "feather" | "ipc") => Ok(Format::Arrow),
            Some("npz") => Ok(Format::Npz),
            Some(word) if FOREIGN.contains(&word) => {
                let headline = format!("`{}`: odec cannot write files of type `.{word}`", path.display());
                let help = "choose a name that ends in `.csv`, `.parquet`, `.arrow`, `.npz` or `.jsonl`".to_string();
                Err(Box::new(error(&codes::E0850, headline, Some(help))))
            }
            _ => Ok(Format::Csv),
        }
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Real numbers.
    Number,
    /// Integers.
    Whole,
    /// Boolean: a number that is zero or not.
    Flag,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

impl Column {
    /// A column of real numbers.
    pub fn number(name: String) -> Column {
        Column { name, kind: Kind::Number }
    }
}

/// Metadata of the rows: keys and values.
pub type Meta = Vec<(String, String)>;

enum Form {
    Parquet(Parquet),
    Arrow(Arrow),
    Npz(Npz),
}

/// A file under construction.
pub struct Table {
    draft: Draft,
    form: Form,
    meta: Meta,
}

impl Table {
    /// Begins a file of rows with these columns.
    pub fn begin(path: &Path, format: Format, columns: Vec<Column>, meta: Meta) -> Written<Table> {
        let mut draft = Draft::begin(path)?;
        let form = match format {
            Format::Npz => Form::Npz(Npz::begin(columns, &draft)?),
            Format::Arrow => Form::Arrow(Arrow::begin(columns, meta.clone(), &mut draft)?),
            _ => Form::Parquet(Parquet::begin(columns, &mut draft)?),
        };
        Ok(Table { draft, form, meta })
    }

    /// Adds a row with a number for each column.
    pub fn row(&mut self, values: &[f64]) -> Written<()> {
        match &mut self.form {
            Form::Parquet(file) => file.row(values, &mut self.draft),
            Form::Arrow(file) => file.row(values, &mut self.draft),
            Form::Npz(file) => file.row(values),
        }
    }

    /// Writes the remaining rows, and renames the file.
    pub fn finish(mut self) -> Written<()> {
        match &mut self.form {
            Form::Parquet(file) => file.finish(&self.meta, &mut self.draft)?,
            Form::Arrow(file) => file.finish(&mut self.draft)?,
            Form::Npz(file) => file.finish(&self.meta, &mut self.draft)?,
        }
        self.draft.publish()
    }
}
