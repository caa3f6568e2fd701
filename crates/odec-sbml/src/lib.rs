//! Reads SBML Levels 1 to 3 and writes the model as `.ode` text, with comments that explain the decisions.
//!
//! ```text
//! XML ── read, flatten ──▶ model::Model ── decide ──▶ plan::Plan ── write ──▶ .ode text, titles of columns
//!                          (parts of SBML)  (amounts or concentrations, parameters,
//!                                            definitions, states, events)
//! ```
//!
//! This crate does not read files: the host puts other files, whose models a file uses, behind its text. Messages point
//! to locations in the XML.

mod decide;
mod export;
mod flatten;
mod guard;
mod limits;
mod math;
mod model;
mod plan;
mod read;
mod report;
mod write;
mod xml;

use std::collections::BTreeMap;
use std::ops::Range;

use odec_ir::Span;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

use read::units::{UnitTable, UnitTexts};
use report::Report;
use write::UnitsLine;

pub use export::{Chosen, Exported, export};
pub use read::files::used_files;

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The text of the model; `None` after an error.
    pub text: Option<String>,
    /// The SBML notation for quantities that have another name in the text: `[S]` for `S_conc`.
    pub titles: BTreeMap<String, String>,
    /// For each line of the text, its origin in the XML, in the order of the text.
    pub places: Vec<(Range<usize>, Span)>,
    /// Errors and warnings, with locations in the XML.
    pub diagnostics: Vec<Diagnostic>,
}

/// True for a text that is XML rather than a model in odec's language.
pub fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Imports a file from its text.
pub fn import(text: &str) -> Imported {
    import_files(&Source::new("", text))
}

/// Imports a file with the other files whose models it uses ([`used_files`]).
pub fn import_files(source: &Source) -> Imported {
    imported(source, false)
}

/// The same, with the units of the file in the text if they mean there what they mean in SBML.
pub fn import_with_units(source: &Source) -> Imported {
    imported(source, true)
}

fn imported(source: &Source, with_units: bool) -> Imported {
    let mut report = Report::default();
    let model = read::files::whole(source, &mut report).filter(|_| !report.failed());
    let units = model.as_ref().filter(|_| with_units).and_then(UnitTable::written);
    let plan = model.and_then(|model| decide::decide(&model, &mut report));
    let Some(plan) = plan else { return Imported { diagnostics: report.diagnostics, ..Imported::default() } };
    let write::Written { text, titles, places } = written(&plan, units);
    Imported { text: Some(text), titles, places, diagnostics: report.diagnostics }
}

/// Writes a plan, with its units if odec finds them consistent and needs no factor between them: SBML never converts a
/// number.
fn written(plan: &plan::Plan, units: Option<Result<UnitTexts, String>>) -> write::Written {
    let why = match units {
        None => return write::write(plan, &UnitsLine::None),
        Some(Err(why)) => why,
        Some(Ok(units)) => {
            let with = write::write(plan, &UnitsLine::Written(units));
            let odec_lang::Checked { model, diagnostics, .. } = odec_lang::check(&Source::new("", with.text.as_str()));
            let error = diagnostics.into_iter().find(Diagnostic::is_error);
            match (error, model) {
                (None, Some(model)) if !model.converts_units() => return with,
                (None, _) => "odec would convert them into each other".to_string(),
                (Some(error), _) => error.headline,
            }
        }
    };
    write::write(plan, &UnitsLine::LeftOut(why))
}
