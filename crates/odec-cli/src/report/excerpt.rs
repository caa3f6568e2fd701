//! The part of a source that a message shows: lines and columns; long lines are cut around the marked text.

use std::borrow::Cow;

use miette::LabeledSpan;
use odec_lang::diagnostic::{Diagnostic, Label};
use odec_lang::source::Source;

/// Largest width of a line that does not go to a terminal, in columns.
const MAX_LINE: usize = 240;
/// Columns that a tab takes on the screen.
const TAB: usize = 4;
/// Smallest width for a line or a label, in columns: on a narrower terminal, lines break.
const MIN_ROOM: usize = 16;
/// Columns between a line number and the text, and between an underline and its label.
const GUTTER: usize = 4;

/// The shown text, with labels.
pub struct Excerpt {
    /// Name of the file.
    pub name: String,
    /// The text.
    pub text: String,
    /// The labels; the first one is primary.
    pub labels: Vec<LabeledSpan>,
}

/// The position of a label in the shown text.
#[derive(Clone, Copy, Default)]
struct Mark {
    start: usize,
    length: usize,
    /// Start of its line.
    line: usize,
}

impl Mark {
    fn end(self) -> usize {
        self.start + self.length
    }

    /// Columns before the middle of its underline.
    fn column(self, text: &str) -> usize {
        columns(&text[self.line..floor(text, self.start + self.length / 2)])
    }
}

/// Removes from each mark the parts that marks inside it cover, since underlines cannot overlap: with `y - 1` marked
/// in `sqrt(y - 1)`, the first four letters and the bracket remain.
fn apart(text: &str, marks: &[Mark]) -> Vec<Mark> {
    let bare = |mark: &Mark| {
        let inside =
            |m: &&Mark| m.start >= mark.start && m.end() <= mark.end() && m.length < mark.length && m.length > 0;
        let mut holes: Vec<(usize, usize)> = marks.iter().filter(inside).map(|m| (m.start, m.end())).collect();
        holes.sort_unstable();
        holes.push((mark.end(), mark.end()));
        let mut from = mark.start;
        for (start, end) in holes {
            let piece = text.get(from..start).unwrap_or_default();
            let shown = piece.trim();
            if !shown.is_empty() {
                let lead = piece.len() - piece.trim_start().len();
                return Mark { start: from + lead, length: shown.len(), ..*mark };
            }
            from = from.max(end);
        }
        *mark
    };
    marks.iter().map(bare).collect()
}

impl Excerpt {
    /// A file with its long lines cut around the labels of `d` in it. `width` is the width of the terminal in
    /// columns: lines and labels fit into it, so that underlines stay below the marked text.
    pub fn of(source: &Source, file: usize, d: &Diagnostic, width: Option<usize>) -> Excerpt {
        let range = source.range(file);
        let text = &source.text[range.clone()];
        let here = |label: &&Label| source.file_at(label.span.start as usize) == file;
        let inside: Vec<&Label> = d.labels.iter().filter(here).collect();
        let labels: Vec<(usize, usize)> = inside
            .iter()
            .map(|l| {
                let at = |byte: u32| (byte as usize).saturating_sub(range.start);
                let start = floor(text, at(l.span.start).min(text.len()));
                (start, floor(text, at(l.span.end).clamp(start, text.len())))
            })
            .collect();
        let last = labels.iter().map(|label| label.0).max().unwrap_or(0);
        // a line of context follows the last marked line
        let digits = (position(text, last).0 + 1).to_string().len();
        let room = width.map_or(MAX_LINE, |width| width.saturating_sub(digits + GUTTER).max(MIN_ROOM));
        let mut keep = String::with_capacity(text.len().min(1 << 16));
        let mut marks = vec![Mark::default(); labels.len()];
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let end = offset + line.len();
            let last = end == text.len();
            let here = |&&(start, _): &&(usize, usize)| start >= offset && (start < end || last && start == end);
            let window = if columns(line) <= room {
                (offset, end)
            } else {
                let marked: Vec<_> = labels.iter().filter(here).copied().collect();
                window(text, (offset, end), &marked, room)
            };
            let begin = keep.len();
            if window.0 > offset {
                keep.push('…');
            }
            let shift = keep.len();
            keep.push_str(&without_directions(&text[window.0..window.1]));
            let stop = keep.len();
            if window.1 < end {
                keep.push_str("…\n");
            }
            for (label, mark) in labels.iter().zip(&mut marks) {
                if here(&label) {
                    let start = label.0.clamp(window.0, window.1) - window.0 + shift;
                    // a label over several lines is marked on its first line
                    let length = (label.1 - label.0).min(stop - start);
                    *mark = Mark { start, length, line: begin };
                }
            }
            offset = end;
        }
        let marks = apart(&keep, &marks);
        let labels = inside.iter().zip(marks).enumerate().map(|(k, (label, mark))| {
            let text = (!label.text.is_empty()).then(|| match width {
                Some(_) => wrap(&clip(&label.text), room.saturating_sub(mark.column(&keep) + GUTTER).max(MIN_ROOM)),
                None => clip(&label.text),
            });
            let place = (mark.start, mark.length);
            if k == 0 && d.labels.first() == Some(label) {
                LabeledSpan::new_primary_with_span(text, place)
            } else {
                LabeledSpan::new_with_span(text, place)
            }
        });
        let labels = labels.collect();
        Excerpt { name: source.file_name(file).to_string(), text: keep, labels }
    }
}

/// The text with signs of the same length for marks that change its direction on the screen.
pub fn without_directions(text: &str) -> Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.is_ascii() || !text.contains(turns) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(turns, "\u{fffd}"))
}

/// Number of columns of a text on the screen.
fn columns(text: &str) -> usize {
    text.trim_end_matches(['\n', '\r']).chars().map(column).sum()
}

fn column(c: char) -> usize {
    if c == '\t' { TAB } else { 1 }
}

/// Number of bytes of the longest sequence of these characters that fits into this width.
fn fitting(chars: impl Iterator<Item = char>, mut room: usize) -> usize {
    let within = |c: &char| {
        let fits = column(*c) <= room;
        room = room.saturating_sub(column(*c));
        fits
    };
    chars.take_while(within).map(char::len_utf8).sum()
}

/// The part of the line `offset..end` that fits into the width: all marked places if possible, otherwise the first one
/// with its surroundings.
fn window(text: &str, (offset, end): (usize, usize), marked: &[(usize, usize)], room: usize) -> (usize, usize) {
    // one column on each side for a dot that marks an omission
    let room = room - 2;
    let all = marked.iter().fold(None, |all: Option<(usize, usize)>, &(a, b)| {
        Some(all.map_or((a, b.min(end)), |(start, stop)| (start.min(a), stop.max(b.min(end)))))
    });
    let primary = marked.first().copied().unwrap_or((offset, offset));
    let (start, stop) = all.filter(|&(a, b)| columns(&text[a..b]) <= room).unwrap_or(primary);
    let stop = start + fitting(text[start..stop.min(end)].chars(), room);
    // a third of the remaining width goes before it
    let before = (room - columns(&text[start..stop])) / 3;
    let from = start - fitting(text[offset..start].chars().rev(), before);
    let line = offset + text[offset..end].trim_end_matches(['\n', '\r']).len();
    let to = from + fitting(text[from..line.max(from)].chars(), room);
    (from, if to >= line { end } else { to })
}

/// The text in lines of at most this many columns, broken between words.
fn wrap(text: &str, room: usize) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut used = 0;
    for word in text.split(' ') {
        let width = columns(word);
        if used > 0 {
            let breaks = used + 1 + width > room;
            out.push(if breaks { '\n' } else { ' ' });
            used = if breaks { 0 } else { used + 1 };
        }
        out.push_str(word);
        used += width;
    }
    out
}

/// Longest quoted name or term in a sentence, in characters.
const MAX_QUOTED: usize = 60;

/// A sentence whose quoted parts are cut to a readable length.
pub fn clip(text: &str) -> String {
    let text = &without_directions(text);
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

/// Line and column of a byte, both from 1; columns count Unicode scalar values, including tabs.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let at = floor(text, at.min(text.len()));
    let before = &text[..at];
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |k| k + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::{Mark, apart, columns, window, without_directions, wrap};

    #[test]
    fn marks_of_direction_keep_their_length() {
        let text = "x' = \u{202e}k*x\u{2066}";
        let shown = without_directions(text);
        assert_eq!((&*shown, shown.len()), ("x' = \u{fffd}k*x\u{fffd}", text.len()));
    }

    #[test]
    fn a_long_line_is_cut_around_what_is_marked() {
        let text = "aaaa bbbb cccc dddd eeee ffff gggg\n";
        let cut = |marked: &[(usize, usize)], room: usize| {
            let (from, to) = window(text, (0, text.len()), marked, room);
            assert!(columns(&text[from..to]) + 2 <= room, "{from} {to}");
            text[from..to].to_string()
        };
        assert!(cut(&[(15, 19)], 20).contains("dddd"));
        let both = cut(&[(25, 29), (15, 19)], 20);
        assert!(both.contains("dddd") && both.contains("ffff"), "{both}");
        assert!(cut(&[(25, 29), (0, 4)], 20).contains("ffff"), "the primary place, where not all fit");
        assert_eq!(cut(&[(0, 34)], 16), "aaaa bbbb cccc");
        assert_eq!(cut(&[], 16), "aaaa bbbb cccc");
    }

    #[test]
    fn underlines_lie_beside_one_another() {
        let text = "x' = a/b + sqrt(y - 1)";
        let mark = |of: &str| Mark { start: text.find(of).expect("it is there"), length: of.len(), line: 0 };
        let shown =
            |marks: &[Mark]| -> Vec<&str> { apart(text, marks).iter().map(|m| &text[m.start..m.end()]).collect() };
        assert_eq!(shown(&[mark("sqrt(y - 1)"), mark("y - 1")]), ["sqrt(", "y - 1"]);
        assert_eq!(shown(&[mark("a/b"), mark("a"), mark("b")]), ["/", "a", "b"]);
        assert_eq!(shown(&[mark("a/b"), mark("a/b")]), ["a/b", "a/b"]);
        assert_eq!(shown(&[mark("a/b"), mark("b + sqrt")]), ["a/b", "b + sqrt"]);
    }

    #[test]
    fn labels_break_between_words() {
        assert_eq!(wrap("this is -4.2e13 here", 8), "this is\n-4.2e13\nhere");
        assert_eq!(wrap("incomprehensible", 4), "incomprehensible");
    }
}
