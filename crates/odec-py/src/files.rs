//! Files of rows, and models from SBML.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use odec_cli::{Column, Kind, Meta};
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Origin;
use odec_lang::source::Source;
use odec_sbml::Imported;
use odec_sim::Error;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{diagnostics, exception, usage};
use crate::model::Core;
use crate::settings::Settings;

#[pymethods]
impl Core {
    /// The metadata for a file with the rows of a run with these settings: keys and values.
    fn described(&self, py: Python<'_>, settings: Settings) -> PyResult<Meta> {
        let prepared = py.detach(|| self.prepared(&settings)).map_err(|error| exception(py, &error))?;
        Ok(odec_cli::described(&prepared.simulation))
    }
}

/// Writes rows in the format of the file extension. The kinds of columns are `number`, `whole` and `flag`.
#[pyfunction]
pub fn save_rows(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, String)>,
    rows: PyReadonlyArray2<'_, f64>,
    meta: Meta,
) -> PyResult<()> {
    if rows.shape()[1] != columns.len() {
        return Err(usage(py, "each column of the rows needs a name"));
    }
    let column = |(name, kind): (String, String)| {
        let kind = match kind.as_str() {
            "whole" => Kind::Whole,
            "flag" => Kind::Flag,
            _ => Kind::Number,
        };
        Column { name, kind }
    };
    let columns = columns.into_iter().map(column).collect();
    let values = rows.as_slice()?;
    let written = py.detach(|| odec_cli::save(&path, columns, values, meta));
    written.map_err(|d| exception(py, &Error::from(d)))
}

/// Converts an SBML model to text, with messages that point to the SBML. Also returns the warnings.
///
/// # Errors
/// The model cannot be imported.
pub fn made_of_sbml(source: Source) -> Result<(Source, Vec<Diagnostic>), Error> {
    let Imported { text, places, diagnostics, .. } = odec_sbml::import_files(&source);
    let Some(text) = text else { return Err(Error::new(Some(Arc::new(source)), diagnostics)) };
    let made = Source::new(format!("{}, imported", source.name), text);
    Ok((made.made_from(Origin::new(source, places)), diagnostics))
}

/// The warnings about an SBML model.
#[pyfunction]
pub fn doubts<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyList>> {
    let source = Source::new(name, text);
    let made = py.detach(|| made_of_sbml(source.clone()));
    let (_, list) = made.map_err(|error| exception(py, &error))?;
    diagnostics(py, Some(&source), &list)
}
