//! Diagnostics as JSON, one object per line.

use odec_ir::Span;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;
use serde::Serialize;

use super::excerpt::position;
use super::human::word;

#[derive(Serialize)]
struct Place<'a> {
    /// The file of the label, if it is not the file of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// Byte range in the file.
    start: u32,
    end: u32,
    /// Starting from 1; columns count Unicode scalar values, including tabs.
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Label<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    text: &'a str,
    /// True for the primary label; other labels explain it.
    primary: bool,
}

#[derive(Serialize)]
struct Fix<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    replacement: &'a str,
    /// `machine-applicable`: it was tested, and a tool may apply it without review. `maybe-incorrect`: it needs
    /// review. All fixes of a message are applied together.
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
    /// Time and state of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Value<'a>>,
}

/// A state; null if it is not finite.
#[derive(Serialize)]
struct Value<'a> {
    name: &'a str,
    value: f64,
}

impl Value<'_> {
    fn of((name, value): &(String, f64)) -> Value<'_> {
        Value { name, value: *value }
    }
}

/// A line of JSON with a newline.
pub fn line(source: Option<&Source>, d: &Diagnostic) -> String {
    if let Some((original, d)) = source.and_then(|source| source.original(d)) {
        return line(Some(original), &d);
    }
    let file_of = |span: Span| source.map_or(0, |s| s.file_at(span.start as usize));
    let own = d.span().map_or(0, file_of);
    let place = |span: Span| {
        let file = file_of(span);
        let range = source.map_or(0..0, |s| s.range(file));
        let text = source.map_or("", |s| &s.text[range.clone()]);
        let (start, end) = (span.start - range.start as u32, span.end - range.start as u32);
        let (line, column) = position(text, start as usize);
        let (end_line, end_column) = position(text, end as usize);
        let file = source.filter(|_| file != own).map(|s| s.file_name(file));
        Place { file, start, end, line, column, end_line, end_column }
    };
    let applicability = if d.fixes_tried { "machine-applicable" } else { "maybe-incorrect" };
    let message = Message {
        code: d.code.code,
        severity: word(d.severity),
        headline: &d.headline,
        file: source.map(|s| s.file_name(own)),
        labels: d
            .labels
            .iter()
            .enumerate()
            .map(|(k, l)| Label { place: place(l.span), text: &l.text, primary: k == 0 })
            .collect(),
        help: d.help.as_deref(),
        url: format!("errors/{}.md", d.code),
        fixes: d.fixes.iter().map(|f| Fix { place: place(f.span), replacement: &f.text, applicability }).collect(),
        t: d.moment.as_ref().map(|moment| moment.t),
        values: d.moment.as_ref().map_or(&[][..], |moment| &moment.values).iter().map(Value::of).collect(),
    };
    // only strings and numbers: serialisation cannot fail
    serde_json::to_string(&message).unwrap_or_default() + "\n"
}
