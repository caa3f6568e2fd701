//! Collects the messages about a file, with locations in its XML.

use odec_ir::Span;
use odec_lang::diagnostic::{Code, Diagnostic};

use crate::limits::MAX_REPORTED;

/// The messages of one import.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Adds an error at a location.
    pub fn error(&mut self, code: &'static Code, headline: impl Into<String>, at: Span, label: impl Into<String>) {
        self.push(Diagnostic::error(code, headline).label(at, label));
    }

    /// Adds a warning at a location.
    pub fn warning(&mut self, code: &'static Code, headline: impl Into<String>, at: Span, label: impl Into<String>) {
        self.push(Diagnostic::warning(code, headline).label(at, label));
    }

    /// Adds a message, unless it is a duplicate or there are too many.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_REPORTED && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// True if the file cannot be imported.
    pub fn failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
