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
    "E0104" "too many primes"
    "E0105" "a file of another language"
    "E0106" "a character that the language does not have"
    "E0107" "a text is not closed"
    "E0108" "a bracket is not closed"
    "E0109" "a closing bracket has no opening one"
    "E0110" "a block is not closed"
    "E0111" "a block is missing or misplaced"
    "E0112" "a comment of another language"
    "E0113" "a malformed number"
    "E0114" "a number is too large"
    "E0115" "an operator is missing"
    "E0116" "a value is missing"
    "E0117" "a word that starts no statement"
    "E0118" "a sign or word that does not fit"
    "E0119" "a unit in the wrong place"
    "E0120" "a unit that could belong to two things"
    "E0121" "a prime in the wrong place"
    "E0122" "an incomplete or bare `if`"
    "E0123" "a chain of comparisons in both directions"
    "E0124" "`=`, `==` and `:=` mixed up"
    "E0125" "an operator of another language"
    "E0126" "a `;` at the end of a statement"
    "E0127" "a raised digit"
    "E0128" "a part of the statement is missing"
    "E0129" "a sign is missing"
    "E0130" "something occurs twice"
    "E0131" "a function or value of another language"
    "E0132" "a derivative in another notation"
    "E0133" "a statement of another language"
    "E0134" "a name that cannot be written so"
    "E0135" "an array in another notation"
    "E0136" "a formula in another notation"
    "W0101" "a doc comment that documents nothing"
    "W0102" "a number that becomes 0"
};
