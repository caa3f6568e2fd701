//! Assigns each `##` comment to an item: the one before it on its line, or the one directly below.

use odec_ir::Span;

use super::mask::Doc;
use super::tree::{Declared, StatementKind, Tree};
use crate::diagnostic::{Diagnostic, codes};

/// Attaches doc comments; a comment without an item is a warning.
pub fn attach(source: &str, docs: &[Doc], tree: &mut Tree) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let mut i = 0;
    while i < docs.len() {
        let first = &docs[i];
        if !first.alone {
            if !document_line(source, first, tree) {
                warnings.push(lost(first));
            }
            i += 1;
            continue;
        }
        // consecutive lines form one comment
        let mut last = first;
        let mut text = first.text.clone();
        i += 1;
        while i < docs.len() && docs[i].alone && next_line(source, last.end) == line_start(source, docs[i].start) {
            last = &docs[i];
            text = format!("{text}\n{}", last.text);
            i += 1;
        }
        if !document_next(source, last.end, &text, tree) {
            warnings.push(lost(first));
        }
    }
    warnings
}

fn lost(doc: &Doc) -> Diagnostic {
    Diagnostic::warning(&codes::W0101, "this `##` comment documents nothing")
        .label(Span::new(doc.start, doc.end), "there is no item before it on its line or directly below")
        .help("write `#` for an ordinary comment")
        .fix(Span::new(doc.start, doc.start + 2), "#")
}

fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Start of the line after the one that ends at `end` (which may be followed by a carriage return).
fn next_line(source: &str, end: usize) -> usize {
    source[end..].find('\n').map_or(source.len(), |newline| end + newline + 1)
}

fn add(place: &mut Option<String>, text: &str) {
    match place {
        Some(before) => *before = format!("{before}\n{text}"),
        None => *place = Some(text.to_string()),
    }
}

/// A comment after something on its line.
fn document_line(source: &str, doc: &Doc, tree: &mut Tree) -> bool {
    let line = line_start(source, doc.start);
    let after = tree.statements.partition_point(|statement| (statement.span.start as usize) < doc.start);
    let Some(statement) = after.checked_sub(1).and_then(|i| tree.statements.get_mut(i)) else { return false };
    let items = statement.kind.items_mut();
    let count = items.partition_point(|item| (item.target.span.start as usize) < doc.start);
    if let Some(last) = count.checked_sub(1) {
        document(items, last, &doc.text);
        return true;
    }
    let on_this_line = statement.span.end as usize > line || !source[line..doc.start].trim().is_empty();
    if on_this_line {
        add(&mut statement.doc, &doc.text);
    }
    on_this_line
}

/// Documents an item and the names before it that share its value.
fn document(items: &mut [Declared], at: usize, text: &str) {
    let value = items.get(at).and_then(|item| item.value);
    for item in items.iter_mut().take(at + 1).rev().take_while(|item| item.value == value) {
        add(&mut item.doc, text);
    }
}

/// A comment alone on its line, for the item that begins on the next line.
fn document_next(source: &str, end: usize, text: &str, tree: &mut Tree) -> bool {
    let from = next_line(source, end);
    let to = next_line(source, from);
    let i = tree.statements.partition_point(|statement| (statement.span.start as usize) < from);
    // inside a declaration of several lines
    if let Some(before) = i.checked_sub(1).and_then(|i| tree.statements.get_mut(i))
        && before.span.end as usize > from
    {
        let items = before.kind.items_mut();
        let at = items.partition_point(|item| (item.target.span.start as usize) < from);
        if items.get(at).is_some_and(|item| (item.target.span.start as usize) < to) {
            let value = items[at].value;
            let shared = items[at..].iter().take_while(|item| item.value == value).count();
            document(items, at + shared - 1, text);
            return true;
        }
        add(&mut before.doc, text);
        return true;
    }
    let Some(statement) = tree.statements.get_mut(i) else { return false };
    let start = statement.span.start as usize;
    // the comment at the top of a file is the file's: before `model`, or before a blank line
    if i == 0 && (start >= to || matches!(statement.kind, StatementKind::Model(_))) {
        add(&mut tree.doc, text);
        return true;
    }
    if start >= to {
        return false;
    }
    let items = statement.kind.items_mut();
    if let Some(first) = items.first() {
        let value = first.value;
        let shared = items.iter().take_while(|item| item.value == value).count();
        document(items, shared - 1, text);
    } else {
        add(&mut statement.doc, text);
    }
    true
}
