//! Diagnostics for people: rendered by miette with the source, or in one line.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, ThemeCharacters, ThemeStyles};
use odec_lang::diagnostic::{Diagnostic, Severity};
use odec_lang::source::Source;

use super::Paint;
use super::excerpt::{Excerpt, clip, position};

/// Width of messages that do not go to a terminal, so that they are the same everywhere.
const PLAIN_WIDTH: usize = 100;
/// Widest message on a terminal: longer lines are hard to read.
const MAX_WIDTH: usize = 110;

/// With the source and every place involved.
pub fn full(source: Option<&Source>, d: &Diagnostic, color: bool, terminal: bool) -> String {
    let excerpt = source.filter(|_| !d.labels.is_empty()).map(|s| Excerpt::of(s, d));
    let shown = Shown {
        diagnostic: d,
        headline: if color { format!("\x1b[1m{}\x1b[0m", clip(&d.headline)) } else { clip(&d.headline) },
        help: help(source, d).map(|text| clip(&text)),
        source: excerpt.as_ref().map(|e| NamedSource::new(e.name.clone(), e.text.clone())),
        labels: excerpt.map(|e| e.labels).unwrap_or_default(),
    };
    let width = if terminal { console_width().clamp(40, MAX_WIDTH) } else { PLAIN_WIDTH };
    let styles = if color { styles(d) } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_links(false)
        .without_syntax_highlighting()
        .without_cause_chain()
        .with_context_lines(1);
    if handler.render_report(&mut out, &shown).is_err() {
        out = format!("{}\n", clip(&d.headline));
    }
    // miette leaves a blank line between code and headline; one message is one block
    out.replacen("\n\n", "\n", 1) + "\n"
}

/// The primary place in red, the others in blue; labels are drawn in the order of the text.
fn styles(d: &Diagnostic) -> ThemeStyles {
    let mut order: Vec<(u32, bool)> = d.labels.iter().enumerate().map(|(k, l)| (l.span.start, k == 0)).collect();
    order.sort_by_key(|(start, _)| *start);
    let base = ThemeStyles::ansi();
    let plain = ThemeStyles::none().help;
    let highlights = order.iter().map(|(_, primary)| if *primary { plain.red() } else { plain.blue() });
    ThemeStyles { highlights: highlights.collect(), ..base }
}

/// In one line: `warning[W0201] robertson.ode:5:3: headline`.
pub fn short(source: Option<&Source>, d: &Diagnostic, paint: Paint) -> String {
    let kind = format!("{}[{}]", word(d.severity), d.code);
    let kind = match d.severity {
        Severity::Error => paint.red(&kind),
        Severity::Warning => paint.yellow(&kind),
        Severity::Note => paint.cyan(&kind),
    };
    let place = match (source, d.labels.first()) {
        (Some(s), Some(label)) => {
            let (line, column) = position(&s.text, label.span.start as usize);
            paint.dim(&format!(" {}:{line}:{column}:", s.name))
        }
        _ => ":".to_string(),
    };
    format!("{kind}{place} {}\n", clip(&d.headline))
}

/// The word for it.
pub fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn console_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(PLAIN_WIDTH, |(w, _)| w.0 as usize)
}

/// The help, and the text to type where the help does not already show it.
fn help(source: Option<&Source>, d: &Diagnostic) -> Option<String> {
    let mut text = d.help.clone().unwrap_or_default();
    for fix in &d.fixes {
        let new = fix.text.trim();
        if new.is_empty() || text.contains(new) {
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
