//! Pages of the documentation on a terminal: paragraphs in its width, with code and tables as they are.

use textwrap::{Options, WordSplitter};

/// Narrowest and widest lines.
const NARROWEST: usize = 24;
const WIDEST: usize = 110;

/// A page of Markdown for a terminal of this width; `None`: a file or a pipe, which takes the page as it is.
pub fn in_width(page: &str, terminal: Option<usize>) -> String {
    let Some(terminal) = terminal else { return page.to_owned() };
    let width = terminal.clamp(NARROWEST, WIDEST) - 1;
    let (mut out, mut paragraph, mut code) = (String::new(), String::new(), false);
    for line in page.lines() {
        let fence = line.starts_with("```");
        let whole = code || fence || line.is_empty() || line.starts_with(['#', '|']);
        if whole || line.starts_with("- ") {
            flush(&mut out, &mut paragraph, width);
        }
        code ^= fence;
        if whole {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line.trim());
    }
    flush(&mut out, &mut paragraph, width);
    out
}

/// Writes a paragraph; the lines of a list item after its first are indented.
fn flush(out: &mut String, paragraph: &mut String, width: usize) {
    if paragraph.is_empty() {
        return;
    }
    let indent = if paragraph.starts_with("- ") { "  " } else { "" };
    // names such as `tr-bdf2` are not broken
    let options = Options::new(width).word_splitter(WordSplitter::NoHyphenation).subsequent_indent(indent);
    out.push_str(&textwrap::fill(paragraph, options));
    out.push('\n');
    paragraph.clear();
}

#[cfg(test)]
mod tests {
    use super::in_width;

    #[test]
    fn paragraphs_fit_and_code_stays() {
        let page = "# W0000: a title that is longer than the terminal\n\nOne two three four five\nsix seven.\n\n- an item \
                    of a list that is long\n\n```ode\nx' = -a_long_line*of*code*in*a*model\n```\n";
        let wrapped = "# W0000: a title that is longer than the terminal\n\nOne two three four five\nsix seven.\n\n- an \
                       item of a list that\n  is long\n\n```ode\nx' = -a_long_line*of*code*in*a*model\n```\n";
        assert_eq!(in_width(page, Some(26)), wrapped);
        assert_eq!(in_width(page, None), page);
    }
}
