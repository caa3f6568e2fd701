//! The part of a source that a message shows: lines and columns, and long lines cut around what is marked.

use miette::LabeledSpan;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

/// Longest line shown whole, in bytes; of a longer one this much is kept around the marked place.
const MAX_LINE: usize = 240;

/// Text to show and labels in it.
pub struct Excerpt {
    /// Name of the file, with the line and column of the primary place if lines were cut (miette would count wrongly).
    pub name: String,
    /// The text.
    pub text: String,
    /// Labels on it, the first is primary.
    pub labels: Vec<LabeledSpan>,
}

impl Excerpt {
    /// The source with its long lines cut around the labels of `d`.
    pub fn of(source: &Source, d: &Diagnostic) -> Excerpt {
        let text = &source.text;
        let labels: Vec<(usize, usize)> = d
            .labels
            .iter()
            .map(|l| {
                let start = floor(text, (l.span.start as usize).min(text.len()));
                (start, floor(text, (l.span.end as usize).clamp(start, text.len())))
            })
            .collect();
        let mut keep = String::with_capacity(text.len().min(1 << 16));
        let mut moved: Vec<(usize, usize)> = vec![(0, 0); labels.len()];
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let end = offset + line.len();
            let last = end == text.len();
            let here = |&&(start, _): &&(usize, usize)| start >= offset && (start < end || last && start == end);
            let window = if line.len() <= MAX_LINE {
                (offset, end)
            } else {
                let marked: Vec<_> = labels.iter().filter(here).collect();
                window(text, offset, end, &marked)
            };
            let cut_left = window.0 > offset;
            let shift = keep.len() + if cut_left { '…'.len_utf8() } else { 0 };
            if cut_left {
                keep.push('…');
            }
            keep.push_str(&text[window.0..window.1]);
            let stop = keep.len();
            if window.1 < end {
                keep.push_str("…\n");
            }
            for (label, place) in labels.iter().zip(&mut moved) {
                if here(&label) {
                    let start = label.0.clamp(window.0, window.1) - window.0 + shift;
                    // a label over several lines is marked on its first
                    let length = (label.1 - label.0).min(stop - start);
                    *place = (start, length);
                }
            }
            offset = end;
        }
        let labels = d
            .labels
            .iter()
            .zip(moved)
            .enumerate()
            .map(|(k, (label, place))| {
                let text = (!label.text.is_empty()).then(|| clip(&label.text));
                if k == 0 {
                    LabeledSpan::new_primary_with_span(text, place)
                } else {
                    LabeledSpan::new_with_span(text, place)
                }
            })
            .collect();
        Excerpt { name: source.name.clone(), text: keep, labels }
    }
}

/// What to keep of the line `offset..end`: the marked place with as much around it as fits.
fn window(text: &str, offset: usize, end: usize, marked: &[&(usize, usize)]) -> (usize, usize) {
    let (start, stop) = marked.first().map_or((offset, offset), |&&(a, b)| (a, b));
    let length = (stop - start).min(MAX_LINE / 2);
    let before = (MAX_LINE - length) / 2;
    let from = floor(text, start.saturating_sub(before).max(offset));
    let to = floor(text, (from + MAX_LINE).min(end));
    (from, to)
}

/// Longest name or term repeated in a sentence, in characters.
const MAX_QUOTED: usize = 60;

/// A sentence with what stands between backquotes cut to a readable length.
pub fn clip(text: &str) -> String {
    if text.len() <= MAX_QUOTED {
        return text.to_string();
    }
    let parts: Vec<String> = text
        .split('`')
        .enumerate()
        .map(|(k, part)| {
            if k % 2 == 0 || part.chars().count() <= MAX_QUOTED {
                part.to_string()
            } else {
                part.chars().take(MAX_QUOTED - 1).chain(['…']).collect()
            }
        })
        .collect();
    parts.join("`")
}

/// The nearest character boundary not above `at`.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Line and column (in characters) of a byte, both from 1.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let at = floor(text, at.min(text.len()));
    let before = &text[..at];
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |k| k + 1);
    (line, before[start..].chars().count() + 1)
}
