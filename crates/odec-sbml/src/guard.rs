//! Checks a text for constructs that would make its XML expensive to parse, in one pass, before parsing, and without
//! recursion.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};

use crate::limits::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_NAMESPACES};

/// Refuses elements that are nested too deeply or have too many attributes or namespaces. Accepts a text that is not
/// XML.
pub fn check(text: &str) -> Result<(), Box<Diagnostic>> {
    let bytes = text.as_bytes();
    // for each open element, the number of namespaces that it declares
    let mut open: Vec<usize> = vec![];
    let mut at = 0;
    while let Some(next) = find(bytes, at, b"<") {
        let skipped = [(&b"<!--"[..], &b"-->"[..]), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"), (b"<!", b">")];
        if let Some((start, end)) = skipped.iter().find(|(start, _)| bytes[next..].starts_with(start)) {
            let Some(after) = find(bytes, next + start.len(), end) else { return Ok(()) };
            at = after + end.len();
            continue;
        }
        let Some(tag) = tag(bytes, next) else { return Ok(()) };
        at = tag.end;
        if bytes[next..].starts_with(b"</") {
            open.pop();
            continue;
        }
        let here = tag.namespaces + open.iter().sum::<usize>();
        let wrong = if open.len() >= MAX_DEPTH {
            format!("the elements are nested deeper than {MAX_DEPTH} levels")
        } else if tag.attributes > MAX_ATTRIBUTES {
            format!("an element has more than {MAX_ATTRIBUTES} attributes")
        } else if here > MAX_NAMESPACES {
            format!("more than {MAX_NAMESPACES} namespaces apply to one element")
        } else {
            if !tag.closed {
                open.push(tag.namespaces);
            }
            continue;
        };
        let name = bytes[next + 1..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let label = "this element exceeds the limit";
        return Err(Box::new(Diagnostic::error(&codes::E0803, wrong).label(Span::new(next, next + 1 + name), label)));
    }
    Ok(())
}

/// The content of a tag.
struct Tag {
    /// One past its `>`.
    end: usize,
    attributes: usize,
    namespaces: usize,
    /// True if it ends with `/>`.
    closed: bool,
}

/// The tag that begins at `start`; `None` if it does not end.
fn tag(bytes: &[u8], start: usize) -> Option<Tag> {
    let mut tag = Tag { end: start, attributes: 0, namespaces: 0, closed: false };
    let mut quote = None;
    for (k, &byte) in bytes.iter().enumerate().skip(start + 1) {
        match (quote, byte) {
            (Some(q), _) if q == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => tag.attributes += 1,
            (None, b'x') if bytes[k..].starts_with(b"xmlns") => tag.namespaces += 1,
            (None, b'>') => return Some(Tag { end: k + 1, closed: bytes[k - 1] == b'/', ..tag }),
            _ => {}
        }
    }
    None
}

/// The position of `what` at or after `at`.
fn find(bytes: &[u8], at: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(at..)?;
    rest.windows(what.len()).position(|window| window == what).map(|k| at + k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<&'static str> {
        check(text).err().map(|d| d.code.code)
    }

    #[test]
    fn only_expensive_documents_are_refused() {
        let nested = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
        assert_eq!(code(&nested(MAX_DEPTH)), None);
        assert_eq!(code(&nested(MAX_DEPTH + 1)), Some("E0803"));
        let attributes = |n: usize| format!("<a {}/>", (0..n).map(|k| format!("b{k}='=>'")).collect::<String>());
        assert_eq!(code(&attributes(MAX_ATTRIBUTES)), None);
        assert_eq!(code(&attributes(MAX_ATTRIBUTES + 1)), Some("E0803"));
        let spaces = |n: usize| "<a xmlns:b='c' xmlns='d'>".repeat(n);
        assert_eq!(code(&spaces(MAX_NAMESPACES / 2)), None);
        assert_eq!(code(&spaces(MAX_NAMESPACES / 2 + 1)), Some("E0803"));
        assert_eq!(code(&format!("<!-- {0} --><![CDATA[{0}]]><?x {0}?><b/>", "<a>".repeat(200))), None);
        for text in ["<", "<a", "<a b='", "<!--", "<![CDATA[", "", "é", "<a b=\"é"] {
            assert_eq!(code(text), None, "{text}");
        }
    }
}
