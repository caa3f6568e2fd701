//! Words that mean something without a declaration: constants, functions and reductions. The characters of names.

use odec_ir::{Op, builtin as table};

/// Constants by name; a model may declare these names.
pub(crate) const MATHEMATICAL: &[(&str, f64)] =
    &[("pi", std::f64::consts::PI), ("π", std::f64::consts::PI), ("inf", f64::INFINITY)];

/// Words that reduce arrays.
pub(crate) const REDUCTIONS: &[&str] = &["sum", "prod"];

/// Functions of vectors, and conversions, which are no operations of a kernel.
pub(crate) const WRITTEN_OUT: &[&str] = &["dot", "cross", "norm", "celsius"];

/// Other spellings of functions.
const ALIASES: &[(&str, &str)] = &[("log", "ln")];

/// The builtin of this name in the language.
pub(crate) fn builtin(name: &str) -> Option<Op> {
    let name = ALIASES.iter().find(|a| a.0 == name).map_or(name, |a| a.1);
    table::find_function(name)
}

/// All names of builtins in the language.
pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
    let rows = table::table().iter().map(|row| row.name).filter(|name| table::find_function(name).is_some());
    rows.chain(ALIASES.iter().map(|a| a.0)).chain(WRITTEN_OUT.iter().copied())
}

/// True for a character of a name, like `name_char` in the grammar.
pub(crate) fn is_name_char(c: char) -> bool {
    use pest::unicode::{DECIMAL_NUMBER, LETTER, MARK};
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    LETTER(c) || MARK(c) || DECIMAL_NUMBER(c) || ('₀'..='₉').contains(&c)
}

/// Greek letters that look like Latin ones. A model may use both `ν` and `v`.
const GREEK: [(char, char); 14] = [
    ('ο', 'o'),
    ('ν', 'v'),
    ('υ', 'u'),
    ('κ', 'k'),
    ('ι', 'i'),
    ('ρ', 'p'),
    ('α', 'a'),
    ('γ', 'y'),
    ('Α', 'A'),
    ('Β', 'B'),
    ('Ε', 'E'),
    ('Κ', 'K'),
    ('Ν', 'N'),
    ('Χ', 'X'),
];

/// The name with Latin letters for Greek ones that look like them.
pub(crate) fn greek_as_latin(name: &str) -> String {
    name.chars().map(|c| GREEK.iter().find(|(greek, _)| *greek == c).map_or(c, |(_, latin)| *latin)).collect()
}
