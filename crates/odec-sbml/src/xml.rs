//! The XML of a file: its tree, within limits, and the values of attributes.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use roxmltree::{Document, Node, ParsingOptions};

use crate::guard;
use crate::limits::MAX_NODES;
use crate::model::Base;
use crate::read::comp;
use crate::report::Report;

/// An element.
pub type Element<'a> = Node<'a, 'a>;

/// Parses the text. A document type declaration is refused, because it may define entities.
pub fn parse(text: &str) -> Result<Document<'_>, Box<Diagnostic>> {
    guard::check(text)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| unreadable(text, &error))
}

/// The message about a text that is not XML.
fn unreadable(text: &str, error: &roxmltree::Error) -> Box<Diagnostic> {
    use roxmltree::Error;
    let report = match error {
        Error::DtdDetected => {
            let at = text.find("<!DOCTYPE").unwrap_or_default();
            Diagnostic::error(
                &codes::E0801,
                "the file contains a document type declaration, which could define entities",
            )
            .label(Span::new(at, (at + 9).min(text.len())), "SBML does not use it")
            .help("remove the line `<!DOCTYPE ...>`")
        }
        Error::NodesLimitReached | Error::AttributesLimitReached | Error::NamespacesLimitReached => {
            Diagnostic::error(&codes::E0803, format!("the file has more than {MAX_NODES} elements, texts and comments"))
        }
        Error::UnexpectedEndOfStream | Error::UnclosedRootNode => {
            let end = text.trim_end().len();
            let start = text[..end].char_indices().next_back().map_or(0, |(k, _)| k);
            Diagnostic::error(&codes::E0801, "the file ends before its last element is closed")
                .label(Span::new(start, end), "the file ends here")
                .help("the last tag of an SBML file is `</sbml>`: the file may be truncated")
        }
        Error::NoRootNode => Diagnostic::error(&codes::E0801, "the file contains no XML element"),
        other => {
            let place = other.pos();
            let said = other.to_string();
            let said = said.rsplit_once(" at ").map_or(said.as_str(), |(before, _)| before);
            Diagnostic::error(&codes::E0801, format!("the file is not well-formed XML: {said}"))
                .label(at_position(text, place.row, place.col), "here")
        }
    };
    Box::new(report)
}

/// The position of a line and column, both counted from 1.
fn at_position(text: &str, row: u32, column: u32) -> Span {
    let start: usize = text.split_inclusive('\n').take(row.saturating_sub(1) as usize).map(str::len).sum();
    let line = text.get(start..).unwrap_or_default();
    let mut places = line.char_indices().skip(column.saturating_sub(1) as usize);
    match places.next() {
        Some((k, c)) => Span::new(start + k, start + k + c.len_utf8()),
        None => Span::new(text.len(), text.len()),
    }
}

/// The span of an element's start tag.
pub fn span(node: Element<'_>) -> Span {
    let range = node.range();
    let text = &node.document().input_text()[range.clone()];
    let mut quote = None;
    for (k, c) in text.bytes().enumerate() {
        match (quote, c) {
            (None, b'"' | b'\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            (None, b'>') => return Span::new(range.start, range.start + k + 1),
            _ => {}
        }
    }
    Span::new(range.start, range.end)
}

/// The value of an attribute without a namespace.
pub fn attribute<'a>(node: Element<'a>, name: &str) -> Option<&'a str> {
    node.attribute(name).map(str::trim)
}

/// Reads id, metaid, name and location. In Level 1 the id is called `name`.
pub fn base(node: Element<'_>, level: u32) -> Base {
    let text = |name: &str| attribute(node, name).unwrap_or_default().to_string();
    let id = if level == 1 { text("name") } else { text("id") };
    let name = if level == 1 { String::new() } else { text("name") };
    let (replaces, replaced_by) = (comp::replaces(node), comp::replaced_by(node));
    Base { id, metaid: text("metaid"), name, span: span(node), owner: String::new(), replaces, replaced_by }
}

/// The namespace of SBML itself.
fn core(node: Element<'_>) -> Option<&str> {
    node.document().root_element().tag_name().namespace()
}

/// The children with this name.
pub fn children<'a>(node: Element<'a>, name: &'static str) -> impl Iterator<Item = Element<'a>> {
    let namespace = core(node);
    node.children().filter(move |c| c.has_tag_name(name) && c.tag_name().namespace() == namespace)
}

/// The first child with this name.
pub fn child<'a>(node: Element<'a>, name: &'static str) -> Option<Element<'a>> {
    children(node, name).next()
}

/// The entries of `listOf...`, whatever their names.
pub fn list<'a>(node: Element<'a>, name: &'static str) -> impl Iterator<Item = Element<'a>> {
    let namespace = core(node);
    let lists = children(node, name).flat_map(|list| list.children());
    lists.filter(move |c| c.is_element() && c.tag_name().namespace() == namespace)
}

/// Parses `1.5`, `1e-3`, `INF`, `-INF`, `NaN`.
pub fn number(text: &str) -> Option<f64> {
    match text {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ if text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) => text.parse().ok(),
        _ => None,
    }
}

/// A numeric attribute, if it exists.
pub fn real(node: Element<'_>, name: &str, report: &mut Report) -> Option<f64> {
    let text = attribute(node, name)?;
    let value = number(text);
    if value.is_none() {
        wrong(node, name, "a number", report);
    }
    value
}

/// An attribute with the value `true` or `false`.
pub fn truth(node: Element<'_>, name: &str, default: bool, report: &mut Report) -> bool {
    match attribute(node, name) {
        None => default,
        Some("true" | "1") => true,
        Some("false" | "0") => false,
        Some(_) => {
            wrong(node, name, "`true` or `false`", report);
            default
        }
    }
}

/// Reports an attribute with an invalid value.
fn wrong(node: Element<'_>, name: &str, expected: &str, report: &mut Report) {
    let Some(found) = node.attribute_node(name) else { return };
    let range = found.range();
    let headline = format!("`{}` of `<{}>` is not {expected}", name, node.tag_name().name());
    report.error(&codes::E0804, headline, Span::new(range.start, range.end), format!("expected {expected}"));
}

/// A required attribute.
pub fn required(node: Element<'_>, name: &str, report: &mut Report) -> String {
    match attribute(node, name) {
        Some(text) if !text.is_empty() => text.to_string(),
        _ => {
            let headline = format!("`<{}>` has no `{name}`", node.tag_name().name());
            report.error(&codes::E0804, headline, span(node), format!("`{name}` is missing"));
            String::new()
        }
    }
}
