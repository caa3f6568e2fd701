//! Converts errors of `odec-sim` to the exceptions of the package, with their diagnostics as plain data.

use odec_cli::rendered;
use odec_lang::diagnostic::{Class, Diagnostic, Severity};
use odec_lang::source::Source;
use odec_sim::Error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::spelling::in_python;

/// The name of the Python class for an error.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::Model => "CompileError",
        Class::Run | Class::Promise => "RunError",
        Class::Setting | Class::Usage | Class::Io => "UsageError",
        Class::Internal | Class::Advice => "OdecError",
    }
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("odec._errors")
}

/// Converts a diagnostic to the Python class.
pub fn diagnostic<'py>(py: Python<'py>, source: Option<&Source>, d: &Diagnostic) -> PyResult<Bound<'py, PyAny>> {
    // if the text was generated from another one, report the location there
    if let Some((original, d)) = source.and_then(|source| source.original(d)) {
        return diagnostic(py, Some(original), &d);
    }
    let d = &in_python(d);
    let fields = PyDict::new(py);
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    fields.set_item("code", d.code.code)?;
    fields.set_item("severity", severity)?;
    fields.set_item("message", &d.headline)?;
    fields.set_item("help", d.help.as_deref())?;
    let place = source.zip(d.span()).filter(|(source, _)| !source.text.is_empty());
    let (start, end) = place.map_or((0, 0), |(_, span)| (span.start as usize, span.end as usize));
    let (line, column) = place.map_or((0, 0), |(source, _)| source.position(start));
    let (end_line, end_column) = place.map_or((0, 0), |(source, _)| source.position(end));
    // Python counts characters, a span counts bytes
    let characters =
        |at: usize| place.and_then(|(source, _)| source.text.get(..at)).map_or(0, |before| before.chars().count());
    fields.set_item("span", (characters(start), characters(end)))?;
    fields.set_item("line", line)?;
    fields.set_item("column", column)?;
    fields.set_item("end_line", end_line)?;
    fields.set_item("end_column", end_column)?;
    fields.set_item("rendered", rendered(source, d, false, false))?;
    fields.set_item("coloured", rendered(source, d, true, false))?;
    module(py)?.getattr("Diagnostic")?.call((), Some(&fields))
}

/// Converts the diagnostics that the text does not turn off.
pub fn diagnostics<'py>(py: Python<'py>, source: Option<&Source>, list: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let shown = list.iter().filter(|d| !source.is_some_and(|source| odec_lang::lint::allowed(source, d)));
    let made: Vec<_> = shown.map(|d| diagnostic(py, source, d)).collect::<PyResult<_>>()?;
    PyList::new(py, made)
}

/// Converts an error to an exception.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let source = error.source.as_deref();
    let made = diagnostics(py, source, &error.diagnostics).and_then(|list| {
        let first = error.diagnostics.iter().find(|d| d.severity == Severity::Error && d.span().is_some());
        let shown =
            source.zip(first).and_then(|(source, d)| source.original(d)).map(|(original, _)| original).or(source);
        let (name, text) = shown.map_or(("", ""), |source| (source.name.as_str(), source.text.as_str()));
        module(py)?.getattr("made")?.call1((class_name(error.class), list, name, text))
    });
    made.map_or_else(|why| why, PyErr::from_value)
}

/// An error of the caller that does not concern a model.
pub fn usage(py: Python<'_>, text: &str) -> PyErr {
    let made = module(py).and_then(|module| module.getattr("UsageError")?.call1((text,)));
    made.map_or_else(|why| why, PyErr::from_value)
}
