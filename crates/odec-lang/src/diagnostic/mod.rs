//! Diagnostics as plain data: the mistake, all source locations, and the text to type. Other crates render them.

pub mod codes;

pub use codes::{Class, Code, codes};

use odec_ir::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information, printed once per run.
    Note,
    /// The model runs.
    Warning,
    /// The model does not run.
    Error,
}

/// A source location with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Source location.
    pub span: Span,
    /// The text at this location (may be empty for the primary one).
    pub text: String,
}

/// A correction: a text that replaces a range. An empty range inserts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The replaced range.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// The instant of a run to which a diagnostic refers, for tools. The sentences of the diagnostic contain it as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The independent variable.
    pub t: f64,
    /// States by name; only the first ones if there are many.
    pub values: Vec<(String, f64)>,
}

/// A diagnostic. The first label is the primary one.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Its row in the table of codes: name, class, page.
    pub code: &'static Code,
    /// Its severity.
    pub severity: Severity,
    /// A sentence in terms that users know.
    pub headline: String,
    /// All source locations; the first one is primary. Empty if there is no source (a missing file).
    pub labels: Vec<Label>,
    /// What odec found and expected, and what to try.
    pub help: Option<String>,
    /// Corrections that are certain enough for a tool to apply.
    pub fixes: Vec<Fix>,
    /// True if odec applied the corrections to a copy of the text, and the copy had fewer errors.
    pub fixes_tried: bool,
    /// The time and state of the run, for failures of runs.
    pub moment: Option<Box<Moment>>,
}

impl Diagnostic {
    fn new(severity: Severity, code: &'static Code, headline: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            headline: headline.into(),
            labels: Vec::new(),
            help: None,
            fixes: Vec::new(),
            fixes_tried: false,
            moment: None,
        }
    }

    /// An error without source locations.
    pub fn error(code: &'static Code, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, headline)
    }

    /// A warning without source locations.
    pub fn warning(code: &'static Code, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, headline)
    }

    /// A note without source locations.
    pub fn note(code: &'static Code, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, headline)
    }

    /// Adds a source location; the first one is the primary location.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Adds a correction that is certain enough for a tool to apply.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fixes.push(Fix { span, text: text.into() });
        self
    }

    /// Adds the time and state of the run.
    pub fn at(mut self, t: f64, values: Vec<(String, f64)>) -> Diagnostic {
        self.moment = Some(Box::new(Moment { t, values }));
        self
    }

    /// The primary source location.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// The class of its code. A setting without a source location in the model comes from the caller.
    pub fn class(&self) -> Class {
        match self.code.class {
            Class::Setting if self.labels.is_empty() => Class::Usage,
            Class::Setting => Class::Model,
            class => class,
        }
    }

    /// True if it prevents the model from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The text with all fixes applied, if their locations exist. The result for overlapping fixes is undefined.
pub fn apply(text: &str, fixes: &[Fix]) -> Option<String> {
    let mut order: Vec<&Fix> = fixes.iter().collect();
    order.sort_by_key(|fix| std::cmp::Reverse(fix.span));
    let mut out = text.to_string();
    for fix in order {
        out.get(fix.span.range())?;
        out.replace_range(fix.span.range(), &fix.text);
    }
    Some(out)
}
