//! `odec methods`: the table of methods.

use std::borrow::Cow;

use odec_ode::method;
use odec_sim::Error;
use textwrap::WordSplitter;

use crate::exit::Exit;
use crate::rows::print;

/// Widest line on a terminal, and the narrowest column of descriptions.
const WIDEST: usize = 110;
const NARROWEST: usize = 24;

/// Prints the table.
pub fn methods() -> Result<Exit, Error> {
    let head = ["name", "order", "stability", "steps", "about"].map(String::from);
    let mut rows = vec![head];
    let auto = &method::auto::METHOD;
    for m in std::iter::once(auto).chain(method::table().iter().copied().filter(|m| m.name != auto.name)) {
        let mut about = m.about.to_string();
        if !m.aliases.is_empty() {
            about.push_str(&format!(" (also {})", m.aliases.join(", ")));
        }
        rows.push([m.name.to_string(), m.order.to_string(), m.stability.to_string(), m.adaptive.to_string(), about]);
    }
    let last = rows[0].len() - 1;
    let widths: Vec<usize> = (0..last).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    let indent: usize = widths.iter().map(|width| width + 2).sum();
    // in a file or a pipe, each method is one line
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    let room = terminal.map(|width| width.min(WIDEST).saturating_sub(indent + 1).max(NARROWEST));
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&wrapped(&row[last], room).join(&format!("\n{:indent$}", "")));
        text.push('\n');
    }
    let notes = [
        "stability: an L- or A-stable method is stable in the whole left half-plane, an A(60)-stable one in a sector of \
         60 degrees about the axis.",
        "steps: how the method controls the error; with `--step`, every method except bdf and abm takes constant steps.",
    ];
    text.push('\n');
    for note in notes {
        text.push_str(&wrapped(note, terminal.map(|width| width.clamp(NARROWEST, WIDEST) - 1)).join("\n"));
        text.push('\n');
    }
    print(&text)
}

/// The lines of a text in this width; names such as `tr-bdf2` are not broken.
fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let options = textwrap::Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn descriptions_fit_a_terminal() {
        let text = "Euler's method (also forward-euler, rk1)";
        assert_eq!(wrapped(text, None), [text]);
        assert_eq!(wrapped(text, Some(24)), ["Euler's method (also", "forward-euler, rk1)"]);
    }
}
