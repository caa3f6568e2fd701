//! Comments become blanks of equal length, so that spans survive; doc comments and foreign `//` are stored separately.

/// A `##` comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// Position of `##`.
    pub start: usize,
    /// End of its line.
    pub end: usize,
    /// Its text.
    pub text: String,
    /// True if only blanks precede it on its line.
    pub alone: bool,
}

/// A text without comments.
#[derive(Debug, Default)]
pub struct Masked {
    /// The text; positions do not change.
    pub text: String,
    /// Doc comments in order.
    pub docs: Vec<Doc>,
    /// Positions of `//` that do not start a line.
    pub slashes: Vec<usize>,
}

/// True if a character separates like a blank (copied text often contains wide and non-breaking spaces).
fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || (c != '\n' && c != '\r' && c.is_whitespace())
}

/// Blanks out comments, carriage returns, odd blanks and a byte order mark.
pub fn mask(source: &str) -> Masked {
    let mut out = Masked { text: String::with_capacity(source.len()), ..Masked::default() };
    let mut at = 0;
    while at < source.len() {
        let line = first_line(&source[at..]);
        mask_line(line, at, &mut out);
        at += line.len();
    }
    out
}

/// The first line including its end: `\n`, `\r\n`, or `\r`.
fn first_line(text: &str) -> &str {
    let end = text.find(['\n', '\r']).map_or(text.len(), |at| match &text.as_bytes()[at..] {
        [b'\r', b'\n', ..] => at + 2,
        _ => at + 1,
    });
    &text[..end]
}

fn mask_line(line: &str, at: usize, out: &mut Masked) {
    let mut in_text = false;
    let mut blank_so_far = true;
    for (i, c) in line.char_indices() {
        let slashes = c == '/' && !in_text && line[i + 1..].starts_with('/');
        if (c == '#' && !in_text) || slashes {
            let body = line.trim_end_matches(['\n', '\r']);
            if slashes && !blank_so_far {
                out.slashes.push(at + i);
            }
            if body[i..].starts_with("##") && !body[i..].starts_with("###") {
                let text = body[i + 2..].trim().to_string();
                out.docs.push(Doc { start: at + i, end: at + body.len(), text, alone: blank_so_far });
            }
            blank_out(line.len() - i - usize::from(line.ends_with(['\n', '\r'])), &mut out.text);
            if line.ends_with(['\n', '\r']) {
                out.text.push('\n');
            }
            return;
        }
        if c == '"' {
            in_text = !in_text;
        }
        let mark = c == '\u{feff}' && at == 0 && i == 0;
        if c == '\r' && i + 1 == line.len() {
            out.text.push('\n');
        } else if c == '\r' || mark || (is_blank(c) && c != ' ' && c != '\t' && !in_text) {
            blank_out(c.len_utf8(), &mut out.text);
        } else {
            blank_so_far &= is_blank(c) || c == '\n';
            out.text.push(c);
        }
    }
}

fn blank_out(bytes: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', bytes));
}
