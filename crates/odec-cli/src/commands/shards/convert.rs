//! Joins parts into a typed file or JSON lines, with the same bytes as the whole sweep on one machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use odec_lang::diagnostic::codes;

use super::super::sweep::numbered;
use super::{PartManifest, table, wrong};
use crate::input::unreadable;
use crate::rows::{Rows, RowsError};
use crate::table::Format;

/// Writes the rows of all parts in this format.
pub fn convert(folder: &Path, parts: &[PartManifest], output: &Path, format: Format) -> Result<(), RowsError> {
    let failed = RowsError::Failed;
    let Some(first) = parts.first() else { return Ok(()) };
    if first.names.is_empty() || first.meta.is_empty() {
        let headline = "the parts lack information that this file format needs".to_string();
        return Err(failed(wrong(&codes::E0853, headline, "join them as `rows.csv`, or run them again")));
    }
    let mut rows = Rows::in_form(output, format, first.meta.clone()).map_err(failed)?;
    let typed = rows.typed();
    let (mut run, mut line) = (0, Vec::new());
    let mut record = csv::StringRecord::new();
    for (k, part) in parts.iter().enumerate() {
        let path = table(folder, part.part, part.parts);
        let damaged = || {
            let headline = format!("the number of rows in `{}` differs from that in its certificate", path.display());
            failed(wrong(&codes::E0853, headline, "delete it and its `.json` file, and run the part again"))
        };
        let unread = |e: csv::Error| match e.into_kind() {
            csv::ErrorKind::Io(e) => failed(unreadable(&path, &e)),
            _ => damaged(),
        };
        let file = File::open(&path).map_err(|e| failed(unreadable(&path, &e)))?;
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(file);
        if k == 0 {
            let names: Vec<String> = reader.headers().map_err(unread)?.iter().map(str::to_owned).collect();
            if names.len() <= first.names.len() {
                return Err(damaged());
            }
            begin(&mut rows, names, first.names.len())?;
        }
        let lost: BTreeSet<u64> = part.failed.iter().map(|failed| failed.point).collect();
        for &(each, count) in &part.counts {
            for _ in 0..count {
                for _ in 0..each {
                    if !reader.read_record(&mut record).map_err(unread)? {
                        return Err(damaged());
                    }
                    line.clear();
                    line.extend(typed.then_some(run as f64));
                    for cell in &record {
                        line.push(cell.parse::<f64>().map_err(|_| damaged())?);
                    }
                    line.extend(typed.then_some(f64::from(u8::from(!lost.contains(&run)))));
                    rows.row(&line)?;
                }
                run += 1;
            }
        }
        if reader.read_record(&mut record).map_err(unread)? {
            return Err(damaged());
        }
    }
    rows.finish()
}

/// The columns as in `odec sweep`; the first `varied` ones are the varying quantities.
fn begin(rows: &mut Rows, names: Vec<String>, varied: usize) -> Result<(), RowsError> {
    if !rows.typed() {
        return rows.header(names.into_iter());
    }
    let (points, columns) = names.split_at(varied);
    // column names must be unique: the initial value of x is x(0)
    let start = |name: &String| if columns.contains(name) { format!("{name}(0)") } else { name.clone() };
    let names: Vec<String> = points.iter().map(start).chain(columns.iter().cloned()).collect();
    rows.columns(numbered(names))
}
