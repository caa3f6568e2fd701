//! Errors: diagnostics with the text that they refer to, and the class that says who can fix them.

use std::fmt;
use std::sync::Arc;

use odec_lang::diagnostic::{Class, Diagnostic, Severity};
use odec_lang::source::Source;

/// The reason why odec could not do something, as diagnostics.
#[derive(Clone, Debug)]
pub struct Error {
    /// The cause of the error; [`Class::exit_code`] is the exit code of the command `odec`.
    pub class: Class,
    /// The diagnostics, at least one of them an error.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the model, if there is one.
    pub source: Option<Arc<Source>>,
}

impl Error {
    /// An error with the class of the first diagnostic that is an error.
    pub fn new(source: Option<Arc<Source>>, diagnostics: Vec<Diagnostic>) -> Error {
        let first = diagnostics.iter().find(|d| d.is_error());
        Error { class: first.map_or(Class::Internal, Diagnostic::class), diagnostics, source }
    }

    /// Writes location and text of a diagnostic: `decay.ode:2:6: error[E0201]: ...`.
    fn lines(&self, f: &mut fmt::Formatter<'_>, d: &Diagnostic) -> fmt::Result {
        if let (Some(source), Some(span)) = (&self.source, d.span()) {
            let (name, line, column) = source.place(span);
            write!(f, "{name}:{line}:{column}: ")?;
        }
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(f, "{severity}[{}]: {}", d.code, d.headline)?;
        for text in d.labels.iter().map(|label| &label.text).chain(&d.help).filter(|text| !text.is_empty()) {
            write!(f, "\n    {}", text.replace('\n', "\n    "))?;
        }
        Ok(())
    }
}

impl From<Diagnostic> for Error {
    fn from(d: Diagnostic) -> Error {
        Error::new(None, vec![d])
    }
}

impl From<Box<Diagnostic>> for Error {
    fn from(d: Box<Diagnostic>) -> Error {
        Error::from(*d)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, d) in self.diagnostics.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            self.lines(f, d)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
