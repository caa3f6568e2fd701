//! The origin of a text: the text of an imported model was generated, and its messages belong to the file that was
//! read.

use std::ops::Range;

use odec_ir::Span;

use super::Source;
use crate::diagnostic::{Diagnostic, Label};

/// Longest line of the text that a message shows, in characters.
const MAX_SHOWN: usize = 90;

/// The file from which a text was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    source: Source,
    places: Vec<(Range<usize>, Span)>,
}

impl Origin {
    /// Takes byte ranges of the text, in order, with the locations of `source` from which they were generated.
    pub fn new(source: Source, places: Vec<(Range<usize>, Span)>) -> Origin {
        Origin { source, places }
    }

    /// The origin of a location in the text.
    fn place(&self, span: Span) -> Option<Span> {
        let at = span.start as usize;
        let next = self.places.partition_point(|(range, _)| range.start <= at);
        let (range, from) = self.places.get(next.checked_sub(1)?)?;
        (at < range.end).then_some(*from)
    }

    /// A message with its locations replaced by their origins; `None` if the first one has no origin.
    pub(crate) fn traced(&self, text: &Source, d: &Diagnostic) -> Option<(&Source, Diagnostic)> {
        let mut labels: Vec<Label> = Vec::with_capacity(d.labels.len());
        for (k, label) in d.labels.iter().enumerate() {
            let span = match self.place(label.span) {
                Some(span) => span,
                None if k == 0 => return None,
                None => continue,
            };
            // several locations of one line are one element
            match labels.iter_mut().find(|known| known.span == span) {
                Some(known) if known.text.is_empty() => known.text.clone_from(&label.text),
                Some(_) => {}
                None => labels.push(Label { span, text: label.text.clone() }),
            }
        }
        let shown = d.span().map(|span| {
            let (_, line, _) = text.place(span);
            let whole = text.model().lines().nth(line - 1).unwrap_or_default().trim();
            let cut: String = whole.chars().take(MAX_SHOWN).collect();
            let dots = if cut.len() < whole.len() { "..." } else { "" };
            format!("odec imports this as `{cut}{dots}`")
        });
        let help = match (shown, &d.help) {
            (Some(shown), Some(help)) => Some(format!("{shown}\n{help}")),
            (shown, help) => shown.or_else(|| help.clone()),
        };
        // text to type belongs to the generated text
        let traced = Diagnostic { labels, help, fixes: Vec::new(), fixes_tried: false, ..d.clone() };
        Some((&self.source, traced))
    }
}
