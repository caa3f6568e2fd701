//! The registry of diagnostics: one row per code, one file per range, one page per row for `odec explain`.

mod command;
mod model;
mod runtime;
mod syntax;

/// One kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `E0201`, `W0101`, `N0101`.
    pub code: &'static str,
    /// A few words, for lists.
    pub title: &'static str,
    /// The manual page, Markdown.
    pub page: &'static str,
}

/// All codes: syntax (01), names (02), equations (03), runs (04), features (05), run time (06), command line (07).
pub fn codes() -> impl Iterator<Item = &'static Code> {
    const RANGES: [&[Code]; 4] = [syntax::CODES, model::CODES, runtime::CODES, command::CODES];
    RANGES.into_iter().flatten()
}

/// The row of a code, upper or lower case.
pub fn find(code: &str) -> Option<&'static Code> {
    codes().find(|row| row.code.eq_ignore_ascii_case(code))
}
