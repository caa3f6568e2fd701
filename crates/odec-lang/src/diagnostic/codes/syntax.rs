//! Codes 01: the text itself.

use super::Code;

macro_rules! codes {
    ($($code:literal $title:literal)*) => {
        &[$(Code { code: $code, title: $title, page: include_str!(concat!("../../../../../docs/errors/", $code, ".md")) }),*]
    };
}

pub(super) const CODES: &[Code] = codes! {
    "E0101" "the file is not UTF-8 text"
    "E0102" "the file is too long"
    "E0103" "brackets are nested too deeply"
    "E0108" "a bracket is not closed"
    "E0109" "a closing bracket has no opening one"
    "E0110" "a block is not closed"
    "E0111" "a block is missing"
    "E0107" "a text is not closed"
    "E0112" "`//` in the middle of a line"
    "E0113" "too many primes"
    "E0114" "a number is too large"
    "E0119" "a unit in the wrong place"
    "E0120" "a unit that could belong to two things"
    "E0123" "a chain of comparisons in both directions"
    "E0126" "a `;` at the end of a statement"
    "E0128" "a value is missing"
    "W0101" "a doc comment that documents nothing"
    "W0102" "a number that becomes 0"
    "E0118" "something else was expected here"
};
