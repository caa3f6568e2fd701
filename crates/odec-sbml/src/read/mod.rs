//! Converts the XML tree to the parts of a model.

pub mod comp;
pub mod files;
mod infix;
mod mathml;
mod parts;
mod schema;
pub mod units;

use odec_lang::diagnostic::{Diagnostic, codes};
use roxmltree::Document;

use crate::report::Report;
use crate::xml::{Element, attribute, child, span};

/// Reads level, version and model of a file.
///
/// # Errors
/// The file is not SBML, or has a level that odec does not support.
pub fn root<'a>(document: &'a Document<'a>) -> Result<((u32, u32), Element<'a>), Box<Diagnostic>> {
    let root = document.root_element();
    let name = root.tag_name().name();
    let error =
        |headline: String, label: &str| Box::new(Diagnostic::error(&codes::E0802, headline).label(span(root), label));
    if name != "sbml" {
        return Err(error(format!("the file is XML, but not SBML: its first element is `<{name}>`"), "not `<sbml>`"));
    }
    let whole = |name| attribute(root, name).and_then(|text| text.parse::<u32>().ok());
    let (Some(level), Some(version)) = (whole("level"), whole("version")) else {
        return Err(error(
            "the file does not give its level and version".to_string(),
            "the attributes `level` and `version` are missing",
        ));
    };
    if !(1..=3).contains(&level) {
        return Err(error(format!("odec reads SBML Levels 1 to 3, but this file is Level {level}"), "the level"));
    }
    // a Level 3 file may contain only packages
    match child(root, "model") {
        Some(model) => Ok(((level, version), model)),
        None => Err(error("the file has no `<model>`".to_string(), "`<model>` is missing")),
    }
}

/// Packages that change the meaning of a model and that odec does not support.
pub fn check_packages(root: Element<'_>, report: &mut Report) {
    for attribute in root.attributes().filter(|a| a.name() == "required" && a.value().trim() == "true") {
        let url = attribute.namespace().unwrap_or_default();
        let package = url.split('/').rev().nth(1).unwrap_or(url);
        if package != "comp" {
            let headline = format!("the model requires the SBML package `{package}`, which odec does not import");
            let range = attribute.range();
            let at = odec_ir::Span::new(range.start, range.end);
            report.error(&codes::E0808, headline, at, "declared here");
        }
    }
}
