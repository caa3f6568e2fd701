//! Writes a whole table for other hosts: the extension determines the format, and the file appears only when it is
//! complete.

use std::path::Path;

use odec_lang::diagnostic::Diagnostic;

use crate::rows::{Rows, RowsError, cannot_write};
use crate::table::{Column, Format, Meta};
use crate::whole::{hidden_path, not_written};

/// Writes rows, consecutive in `values`, as `.csv`, `.jsonl`, `.parquet`, `.arrow` or `.npz`.
///
/// # Errors
/// odec does not support the format, or cannot write the file.
pub fn save(path: &Path, columns: Vec<Column>, values: &[f64], meta: Meta) -> Result<(), Box<Diagnostic>> {
    let format = Format::of(path)?;
    if path.parent().is_some_and(|folder| folder != Path::new("") && !folder.is_dir()) {
        return Err(cannot_write(path, &std::io::ErrorKind::NotFound.into()));
    }
    let lines = matches!(format, Format::Csv | Format::JsonLines);
    let hidden = hidden_path(path, "part");
    let target = if lines { &hidden } else { path };
    let written = write(target, format, columns, values, meta);
    if !lines {
        return written;
    }
    let renamed = written.and_then(|()| std::fs::rename(&hidden, path).map_err(|e| not_written(path, &e)));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&hidden);
    }
    renamed
}

fn write(path: &Path, format: Format, columns: Vec<Column>, values: &[f64], meta: Meta) -> Result<(), Box<Diagnostic>> {
    let width = columns.len().max(1);
    let mut rows = Rows::in_form(path, format, meta)?;
    let all = || {
        if rows.typed() {
            rows.columns(columns)?;
        } else {
            rows.header(columns.into_iter().map(|column| column.name))?;
        }
        values.chunks_exact(width).try_for_each(|row| rows.row(row))?;
        rows.finish()
    };
    all().map_err(|trouble| match trouble {
        RowsError::Failed(d) => d,
        RowsError::Closed => not_written(path, &std::io::ErrorKind::BrokenPipe.into()),
    })
}
