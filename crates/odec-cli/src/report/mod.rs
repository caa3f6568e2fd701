//! Writes diagnostics on standard error: for users (miette) or as JSON lines, and short messages of the command itself.

mod excerpt;
mod human;
mod json;
mod paint;

use std::io::{IsTerminal, Write};

use odec_lang::diagnostic::{Code, Diagnostic, Severity, codes};
use odec_lang::source::Source;

use crate::args::{ColorChoice, Common, MessageFormat};

pub use human::full;
pub use paint::Paint;

/// Largest number of diagnostics shown in full; the others are counted, because they mostly repeat the first ones.
const MAX_SHOWN: usize = 20;

/// Warnings that do not concern the rows: about names, comments and expectations.
const NOT_ABOUT_ROWS: [&Code; 6] =
    [&codes::W0101, &codes::W0201, &codes::W0202, &codes::W0401, &codes::W0403, &codes::W0505];

/// The messages that are shown with their source; the others are shown in one line. Errors are always shown with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All of them.
    Full,
    /// Warnings that affect the rows of a run.
    ForRows,
    /// None.
    Short,
}

impl From<bool> for Detail {
    fn from(full: bool) -> Detail {
        if full { Detail::Full } else { Detail::Short }
    }
}

impl Detail {
    fn shows(self, d: &Diagnostic) -> bool {
        match (d.severity, self) {
            (Severity::Error, _) | (_, Detail::Full) => true,
            (Severity::Warning, Detail::ForRows) => !NOT_ABOUT_ROWS.contains(&d.code),
            _ => false,
        }
    }
}

/// The destination and the form of messages.
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    format: MessageFormat,
    quiet: bool,
    color: bool,
    terminal: bool,
}

impl Reporter {
    /// A reporter for the flags, the environment (`NO_COLOR`) and the type of standard error.
    pub fn new(common: Common) -> Reporter {
        let terminal = std::io::stderr().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let color = match common.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !plain,
        };
        Reporter { format: common.message_format, quiet: common.quiet, color, terminal }
    }

    /// True if warnings, notes and the summary are suppressed.
    pub fn quiet(self) -> bool {
        self.quiet
    }

    /// True if standard error is a terminal and messages are for users.
    pub fn terminal(self) -> bool {
        self.terminal && self.format == MessageFormat::Human
    }

    /// Width of the terminal in columns, if messages go to one.
    pub fn width(self) -> Option<usize> {
        self.terminal().then(human::terminal_width)
    }

    /// True if messages are for users.
    pub fn human(self) -> bool {
        self.format == MessageFormat::Human
    }

    /// Colours of messages for users.
    pub fn paint(self) -> Paint {
        Paint(self.color)
    }

    /// Colours on standard output.
    pub fn stdout_paint(self) -> Paint {
        Paint(self.color && std::io::stdout().is_terminal())
    }

    /// Width of the terminal in columns, if standard output goes to one.
    pub fn stdout_width() -> Option<usize> {
        std::io::stdout().is_terminal().then(human::stdout_width)
    }

    /// False for messages that the model suppresses, and for unwanted advice.
    pub fn shows(self, source: Option<&Source>, d: &Diagnostic) -> bool {
        let allowed = source.is_some_and(|source| odec_lang::lint::allowed(source, d));
        !allowed && (!self.quiet || d.severity == Severity::Error)
    }

    /// Writes diagnostics, with their source if `detail` is set.
    pub fn diagnostics(self, source: Option<&Source>, list: &[Diagnostic], detail: impl Into<Detail>) {
        let detail = detail.into();
        let mut text = String::new();
        let mut shown = 0;
        for d in list {
            if !self.shows(source, d) {
                continue;
            }
            match self.format {
                MessageFormat::Json => text.push_str(&json::line(source, d)),
                MessageFormat::Human => {
                    shown += 1;
                    if shown > MAX_SHOWN {
                        continue;
                    }
                    if detail.shows(d) {
                        text.push_str(&human::full(source, d, self.color, self.terminal));
                    } else {
                        text.push_str(&human::short(source, d, self.paint()));
                    }
                }
            }
        }
        if shown > MAX_SHOWN {
            text.push_str(&format!("... and {} more\n", shown - MAX_SHOWN));
        }
        say(&text);
    }
}

/// A diagnostic without a source as a line of JSON.
pub fn line(d: &Diagnostic) -> String {
    json::line(None, d)
}

/// The message about a bug in odec; `what` describes it and its place.
pub fn internal(what: &str, json: bool) -> String {
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    let headline = format!("this is a bug in odec, not in your model: {what}");
    let help = format!(
        "please report it with this message, the model, the command line and the version, odec {}; `odec explain E0900` says what to send",
        env!("CARGO_PKG_VERSION")
    );
    let d = Diagnostic::error(&codes::E0900, headline).help(help);
    if json { json::line(None, &d) } else { human::full(None, &d, false, false) }
}

/// Writes to standard error. Errors are ignored, because there is nowhere to report them.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}
