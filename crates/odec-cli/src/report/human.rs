//! Diagnostics for users: rendered by miette with the source, or in one line.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, ThemeCharacters, ThemeStyles};
use odec_lang::diagnostic::{Diagnostic, Label, Severity};
use odec_lang::source::Source;
use textwrap::WordSplitter;

use super::Paint;
use super::excerpt::{Excerpt, clip};

/// Width of messages that do not go to a terminal, so that they are always the same.
const PLAIN_WIDTH: usize = 100;
/// Smallest width for line breaks.
const MIN_WIDTH: usize = 40;
/// Widest message on a terminal: longer lines are hard to read.
const MAX_WIDTH: usize = 110;

/// A diagnostic with the source and all its locations.
pub fn full(source: Option<&Source>, d: &Diagnostic, color: bool, terminal: bool) -> String {
    if let Some((original, d)) = source.and_then(|source| source.original(d)) {
        return full(Some(original), &d, color, terminal);
    }
    within(source, d, color, terminal.then(terminal_width))
}

/// The same for a terminal of this width, or for none. The last column stays free, because some terminals break a
/// line that reaches it.
fn within(source: Option<&Source>, d: &Diagnostic, color: bool, width: Option<usize>) -> String {
    let width = width.map(|width| width - 1);
    let file_of = |source: &Source, label: &Label| source.file_at(label.span.start as usize);
    let own = source.zip(d.labels.first()).map_or(0, |(source, label)| file_of(source, label));
    let excerpt = source.filter(|_| !d.labels.is_empty()).map(|s| Excerpt::of(s, own, d, width));
    let headline = if color { format!("\x1b[1m{}\x1b[0m", clip(&d.headline)) } else { clip(&d.headline) };
    let mut out = drawn(d, (headline, help(source, d).map(|text| clip(&text))), excerpt, color, width);
    if let (Some(source), Some(span)) = (source, d.span()) {
        let (name, line, column) = source.place(span);
        out = placed(&out, name, (line, column));
        let mut others: Vec<usize> = d.labels.iter().map(|label| file_of(source, label)).collect();
        others.sort_unstable();
        others.dedup();
        for file in others.into_iter().filter(|file| *file != own) {
            let other = drawn(d, (String::new(), None), Some(Excerpt::of(source, file, d, width)), color, width);
            let first = d.labels.iter().find(|label| file_of(source, label) == file).map_or(span, |label| label.span);
            let (name, line, column) = source.place(first);
            out = with_excerpt(&out, &placed(&other, name, (line, column)));
        }
    }
    // miette inserts a blank line between code and headline
    out.replacen("\n\n", "\n", 1) + "\n"
}

/// Headline and help with an excerpt of one file.
fn drawn(
    d: &Diagnostic,
    (headline, help): (String, Option<String>),
    excerpt: Option<Excerpt>,
    color: bool,
    width: Option<usize>,
) -> String {
    let shown = Shown {
        diagnostic: d,
        headline,
        help,
        source: excerpt.as_ref().map(|e| NamedSource::new(e.name.clone(), e.text.clone())),
        labels: excerpt.map(|e| e.labels).unwrap_or_default(),
    };
    let styles = if color { styles(d) } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width.unwrap_or(PLAIN_WIDTH))
        // numbers and text to type must not be broken
        .with_word_splitter(WordSplitter::NoHyphenation)
        .with_links(false)
        .without_syntax_highlighting()
        .without_cause_chain()
        .with_context_lines(1);
    if handler.render_report(&mut out, &shown).is_err() {
        out = format!("{}\n", shown.headline);
    }
    out
}

/// Appends the excerpt of another message.
fn with_excerpt(out: &str, other: &str) -> String {
    let lines: Vec<&str> = other.split_inclusive('\n').collect();
    let start = lines.iter().position(|line| line.contains("─[")).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| line.contains("╰──")).map_or(start, |k| k + 1);
    let below = out.split_inclusive('\n').collect::<Vec<_>>();
    let at = below.iter().rposition(|line| line.contains("╰──")).map_or(below.len(), |k| k + 1);
    [&below[..at], &lines[start..end.max(start)], &below[at..]].concat().concat()
}

/// Adds line and column of the primary location to the name of the file: miette counts bytes, and in a shortened text.
fn placed(out: &str, name: &str, (line, column): (usize, usize)) -> String {
    // after the bracket; colour codes may come in between
    let mark = format!("{name}:");
    let found = out.find("─[").and_then(|head| Some(head + out[head..].find(&mark)? + mark.len()));
    let Some(from) = found else { return out.to_string() };
    let digits = out[from..].bytes().take_while(|c| c.is_ascii_digit() || *c == b':').count();
    format!("{}{line}:{column}{}", &out[..from], &out[from + digits..])
}

/// Red for the primary label, blue for the others; labels are drawn in the order of the text.
fn styles(d: &Diagnostic) -> ThemeStyles {
    let mut order: Vec<(u32, bool)> = d.labels.iter().enumerate().map(|(k, l)| (l.span.start, k == 0)).collect();
    order.sort_by_key(|(start, _)| *start);
    let base = ThemeStyles::ansi();
    let plain = ThemeStyles::none().help;
    let highlights = order.iter().map(|(_, primary)| if *primary { plain.red() } else { plain.blue() });
    ThemeStyles { highlights: highlights.collect(), ..base }
}

/// A diagnostic in one line: `warning[W0201] robertson.ode:5:3: headline`.
pub fn short(source: Option<&Source>, d: &Diagnostic, paint: Paint) -> String {
    if let Some((original, d)) = source.and_then(|source| source.original(d)) {
        return short(Some(original), &d, paint);
    }
    let kind = format!("{}[{}]", word(d.severity), d.code);
    let kind = match d.severity {
        Severity::Error => paint.red(&kind),
        Severity::Warning => paint.yellow(&kind),
        Severity::Note => paint.cyan(&kind),
    };
    let place = match (source, d.labels.first()) {
        (Some(s), Some(label)) => {
            let (name, line, column) = s.place(label.span);
            paint.dim(&format!(" {name}:{line}:{column}:"))
        }
        _ => ":".to_string(),
    };
    format!("{kind}{place} {}\n", clip(&d.headline))
}

/// The word for a severity.
pub fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Width of messages on the terminal.
pub fn terminal_width() -> usize {
    console_width().clamp(MIN_WIDTH, MAX_WIDTH)
}

/// The same for standard output.
pub fn stdout_width() -> usize {
    let width = terminal_size::terminal_size_of(std::io::stdout()).map_or(PLAIN_WIDTH, |(w, _)| w.0 as usize);
    width.clamp(MIN_WIDTH, MAX_WIDTH)
}

fn console_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(PLAIN_WIDTH, |(w, _)| w.0 as usize)
}

/// The help, and the text to type if the help does not show it.
fn help(source: Option<&Source>, d: &Diagnostic) -> Option<String> {
    let mut text = d.help.clone().unwrap_or_default();
    for fix in &d.fixes {
        let new = fix.text.trim();
        // a help text with several lines contains them one by one
        if new.lines().all(|line| text.contains(line)) {
            continue;
        }
        let old = source.and_then(|s| s.text.get(fix.span.range())).unwrap_or("").trim();
        if !text.is_empty() {
            text.push('\n');
        }
        if old.is_empty() {
            text.push_str(&format!("insert `{new}`"));
        } else {
            text.push_str(&format!("write `{new}` instead of `{old}`"));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A diagnostic in miette's terms.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    headline: String,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("{}[{}]", word(self.diagnostic.severity), self.diagnostic.code)))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|s| s as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty()).then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }
}

#[cfg(test)]
mod tests {
    use odec_ir::Span;
    use odec_lang::diagnostic::{Diagnostic, codes};
    use odec_lang::source::Source;

    use super::within;

    const TEXT: &str = "state x = 1, y = 2\n\
        x' = -k_on*x*y + k_off*(total - x) + first_inflow*exp(-t/time_constant) + second_inflow*sqrt(y - threshold)\n\
        y' = -µ*y # mü\tend\n";

    fn span(of: &str) -> Span {
        let start = TEXT.find(of).expect("it is there");
        Span { file: 0, start: start as u32, end: (start + of.len()) as u32 }
    }

    fn message() -> Diagnostic {
        Diagnostic::error(
            &codes::E0601,
            "`x'` has no finite value at t = 3.25: the argument of a square root has become negative",
        )
        .label(span("sqrt(y - threshold)"), "this is NaN, which no equation can go on from, whatever comes later")
        .label(span("-µ*y"), "through `y`, which falls below the threshold here")
        .help("a square root needs an argument of at least 0: is a sign wrong, or has a state gone below 0?")
    }

    #[test]
    fn lines_fit_the_terminal_and_underlines_stay_below_what_they_mark() {
        let source = Source::new("model.ode", TEXT);
        for width in [60, 80, 100] {
            let text = within(Some(&source), &message(), false, Some(width));
            let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
            assert!(lines.iter().all(|line| line.len() <= width), "{width}:\n{text}");
            let at = lines.iter().position(|line| line.iter().collect::<String>().contains("sqrt(")).expect("the line");
            let marked: String = lines[at]
                .iter()
                .zip(&lines[at + 1])
                .filter(|(_, mark)| "─┬".contains(**mark))
                .map(|(c, _)| *c)
                .collect();
            assert_eq!(marked, "sqrt(y - threshold)", "{width}:\n{text}");
            assert!(text.contains("through `y`"), "{text}");
        }
    }

    #[test]
    fn the_primary_place_is_red_the_others_are_blue_and_the_headline_is_bold() {
        let source = Source::new("model.ode", TEXT);
        let text = within(Some(&source), &message(), true, Some(100));
        assert!(text.contains("\u{1b}[1m`x'` has no finite value"), "{text:?}");
        let of = |label: &str| {
            let end = text.find(label).expect("the label");
            text[..end].rfind("\u{1b}[3").map(|at| text[at..at + 5].to_string())
        };
        assert_eq!(of("this is NaN").as_deref(), Some("\u{1b}[31m"), "{text:?}");
        assert_eq!(of("through `y`").as_deref(), Some("\u{1b}[34m"), "{text:?}");
    }

    #[test]
    fn columns_count_characters_and_a_tab_as_one() {
        let source = Source::new("model.ode", TEXT);
        let d = Diagnostic::error(&codes::E0106, "wrong").label(span("end"), "here");
        assert!(within(Some(&source), &d, false, None).contains("[model.ode:3:16]"));
        assert!(within(Some(&source), &d, true, Some(60)).contains("model.ode:3:16\u{1b}"));
    }
}
