//! Short ways to build diagnostics.

use odec_ir::Span;

use crate::diagnostic::{Code, Diagnostic, Label, codes};

/// Largest number of source locations of one diagnostic; the last label gives the number of omitted ones.
pub(crate) const MAX_LABELS: usize = 8;

/// An error at a source location.
pub(crate) fn error(code: &'static Code, headline: impl Into<String>, at: Span, text: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, headline).label(at, text)
}

/// A warning at a source location.
pub(crate) fn warning(
    code: &'static Code,
    headline: impl Into<String>,
    at: Span,
    text: impl Into<String>,
) -> Diagnostic {
    Diagnostic::warning(code, headline).label(at, text)
}

/// An impossible case: a bug in odec, not in the model.
pub(crate) fn internal(what: &str, at: Option<Span>) -> Diagnostic {
    let report = Diagnostic::error(&codes::E0900, format!("this is a bug in odec, not in your model: {what}"));
    let report = match at {
        Some(span) => report.label(span, "the bug appeared here"),
        None => report,
    };
    report.help("please report it with the model: `odec explain E0900` lists what to send")
}

/// Methods that add to a diagnostic and return it.
pub(crate) trait Build: Sized {
    /// Adds locations, all with this text, up to a total of [`MAX_LABELS`].
    fn also_all(self, spans: impl IntoIterator<Item = Span>, text: &str) -> Self;
    /// Like `also_all`, with another limit.
    fn also_some(self, spans: impl IntoIterator<Item = Span>, text: &str, most: usize) -> Self;
}

impl Build for Diagnostic {
    fn also_all(self, spans: impl IntoIterator<Item = Span>, text: &str) -> Diagnostic {
        self.also_some(spans, text, MAX_LABELS)
    }

    fn also_some(mut self, spans: impl IntoIterator<Item = Span>, text: &str, most: usize) -> Diagnostic {
        let mut left_out = 0;
        for span in spans {
            if self.labels.iter().any(|l| l.span == span) {
                continue;
            }
            if self.labels.len() < most {
                self.labels.push(Label { span, text: text.to_owned() });
            } else {
                left_out += 1;
            }
        }
        if let (Some(last), true) = (self.labels.last_mut(), left_out > 0) {
            let more = if left_out == 1 { "place" } else { "places" };
            let said = format!("{text} (and {left_out} more {more})");
            last.text.clear();
            last.text.push_str(said.trim_start());
        }
        self
    }
}

/// The diagnostic with names of arrays of parts as users type them: `c.V`, which is `c[].V` internally.
pub(crate) fn without_marks(mut diagnostic: Diagnostic) -> Diagnostic {
    let plain = |text: &mut String| {
        if text.contains("[]") || text.contains("[,") {
            *text = text.replace("[]", "").replace("[,]", "").replace("[,,]", "");
        }
    };
    plain(&mut diagnostic.headline);
    diagnostic.help.iter_mut().for_each(plain);
    diagnostic.labels.iter_mut().for_each(|label| plain(&mut label.text));
    diagnostic
}

/// Longest quotation in a message, in characters; the source locations show the rest.
const MAX_QUOTED: usize = 60;

/// The diagnostic with its long quotations shortened. Text to type is never shortened.
pub(crate) fn clipped(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.headline = clip(&diagnostic.headline);
    diagnostic.help = diagnostic.help.map(|h| clip(&h));
    for label in &mut diagnostic.labels {
        label.text = clip(&label.text);
    }
    diagnostic
}

fn clip(text: &str) -> String {
    if text.len() <= MAX_QUOTED {
        return text.to_owned();
    }
    let parts = text.split('`').enumerate().map(|(i, part)| match part.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) if i % 2 == 1 => format!("{}…", &part[..end]),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// An equation that only constrains states, in a model whose unknowns are all determined by others.
pub(crate) fn constraint_without_unknown(equation: Span) -> Diagnostic {
    let headline = "this equation contains no derivative and no `unknown`";
    error(&codes::E0318, headline, equation, "it constrains the states").help(
        "it is a constraint, but no `unknown` is left to enforce it: declare one, such as the force in a rigid rod, \
         and let it act in the equation of a derivative; or remove the constraint",
    )
}
