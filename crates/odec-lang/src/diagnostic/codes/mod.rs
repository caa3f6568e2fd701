//! The registry of diagnostics: one row per code with its meaning for the user, one file per range, one page per row
//! for `odec explain`.

mod class;
mod command;
mod import;
mod model;
mod runtime;
mod syntax;

use std::fmt;

pub use class::Class;
pub use command::*;
pub use import::*;
pub use model::*;
pub use runtime::*;
pub use syntax::*;

/// A kind of diagnostic.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// `E0201`, `W0101`, `N0101`.
    pub code: &'static str,
    /// The class of the fault, which determines the exit code of the process.
    pub class: Class,
    /// A few words, for lists.
    pub title: &'static str,
    /// The manual page, Markdown.
    pub page: &'static str,
}

impl Code {
    /// True for messages about syntax: 01 in the code.
    pub fn is_about_syntax(&self) -> bool {
        self.code[1..].starts_with("01")
    }

    /// True for messages about a run: 06 in the code.
    pub fn is_about_a_run(&self) -> bool {
        self.code[1..].starts_with("06")
    }

    /// True for messages about parts of a model in other files: E0580 to E0589.
    pub fn is_about_parts(&self) -> bool {
        self.code.starts_with("E058")
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Code {}

impl std::hash::Hash for Code {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

/// Defines a constant for each row, and the list of them.
macro_rules! rows {
    ($($code:ident $class:ident $title:literal)*) => {
        $(
            #[doc = $title]
            pub static $code: Code = Code {
                code: stringify!($code),
                class: Class::$class,
                title: $title,
                page: include_str!(concat!("../../../errors/", stringify!($code), ".md")),
            };
        )*
        pub(super) static ROWS: &[&Code] = &[$(&$code),*];
    };
}
use rows;

/// All codes: syntax (01), names (02), equations (03), runs (04), features (05), run time (06), command line (07), imports (08),
/// odec (09).
pub fn codes() -> impl Iterator<Item = &'static Code> {
    [syntax::ROWS, model::ROWS, runtime::ROWS, command::ROWS, import::ROWS].into_iter().flatten().copied()
}

/// The row of a code, upper or lower case.
pub fn find(code: &str) -> Option<&'static Code> {
    codes().find(|row| row.code.eq_ignore_ascii_case(code))
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code)
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.code == other
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, codes, find};

    #[test]
    fn the_letter_of_a_code_says_whether_it_ends_anything() {
        for row in codes() {
            assert_eq!(row.code.starts_with('E'), row.class.ends(), "{row}");
            assert!(find(&row.code.to_lowercase()) == Some(row) && !row.title.is_empty());
        }
        assert!(codes().any(|row| row.class == Class::Internal));
    }
}
