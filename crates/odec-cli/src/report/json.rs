//! Diagnostics as JSON, one object per line.

use odec_ir::Span;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;
use serde::Serialize;

use super::excerpt::position;
use super::human::word;

#[derive(Serialize)]
struct Place {
    /// Bytes of the file.
    start: u32,
    end: u32,
    /// From 1; columns count characters.
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Label<'a> {
    #[serde(flatten)]
    place: Place,
    text: &'a str,
    /// The place that the message is about; the others explain it.
    primary: bool,
}

#[derive(Serialize)]
struct Fix<'a> {
    #[serde(flatten)]
    place: Place,
    replacement: &'a str,
    /// `machine-applicable`: a tool may make it unseen. All fixes of a message are made together.
    applicability: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    code: &'a str,
    severity: &'a str,
    headline: &'a str,
    file: Option<&'a str>,
    labels: Vec<Label<'a>>,
    help: Option<&'a str>,
    /// The page of the code, from the root of the documentation.
    url: String,
    fixes: Vec<Fix<'a>>,
}

/// One line with its end.
pub fn line(source: Option<&Source>, d: &Diagnostic) -> String {
    let place = |span: Span| {
        let text = source.map_or("", |s| s.text.as_str());
        let (line, column) = position(text, span.start as usize);
        let (end_line, end_column) = position(text, span.end as usize);
        Place { start: span.start, end: span.end, line, column, end_line, end_column }
    };
    let message = Message {
        code: d.code.code,
        severity: word(d.severity),
        headline: &d.headline,
        file: source.map(|s| s.name.as_str()),
        labels: d
            .labels
            .iter()
            .enumerate()
            .map(|(k, l)| Label { place: place(l.span), text: &l.text, primary: k == 0 })
            .collect(),
        help: d.help.as_deref(),
        url: format!("errors/{}.md", d.code),
        fixes: d
            .fixes
            .iter()
            .map(|f| Fix { place: place(f.span), replacement: &f.text, applicability: "machine-applicable" })
            .collect(),
    };
    // strings and integers only: serialisation cannot fail
    serde_json::to_string(&message).unwrap_or_default() + "\n"
}
