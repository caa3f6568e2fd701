//! Utilities for several test files: models to start from, a small random generator, tokens, mutations.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod written_out;

use odec_lang::diagnostic::{Diagnostic, Fix};
use odec_lang::parse;
use odec_lang::source::{NoPart, PartFile, PartFiles, Source};
use odec_lang::syntax::tree::Tree;

/// A model of every construct of the first version.
pub const EVERYTHING: &str = include_str!("everything.ode");
/// A model of constructs that came later: algebraic unknowns, discrete quantities, inputs, parts and events.
pub const LATER: &str = include_str!("later.ode");

/// The models of the repository and those above, with their names.
pub fn models() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let mut models = vec![("everything".to_string(), EVERYTHING.to_string()), ("later".to_string(), LATER.to_string())];
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "ode")).collect();
    paths.sort();
    for path in paths {
        if let Ok(text) = std::fs::read_to_string(&path) {
            models.push((path.display().to_string(), text));
        }
    }
    models
}

/// The parts that fixtures use.
struct Parts;

impl PartFiles for Parts {
    fn part(&self, _: &str, name: &str) -> Result<PartFile, NoPart> {
        let path = format!("{}/../../tests/fixtures/parts/{name}", env!("CARGO_MANIFEST_DIR"));
        let refused = |why: std::io::Error| NoPart { headline: format!("`{name}`: {why}"), help: None };
        let bytes = std::fs::read(path).map_err(refused)?;
        Ok(PartFile { name: name.to_owned(), folder: String::new(), bytes })
    }
}

/// A fixture with its parts.
pub fn with_parts(source: Source) -> Source {
    source.with_parts(&Parts)
}

pub fn read(text: &str) -> (Tree, Vec<Diagnostic>) {
    parse(&Source::new("test.ode", text))
}

/// Linear congruential generator with the constants of Knuth's MMIX; the upper bits are used.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Words, numbers and signs with their positions; comments are left out.
pub fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        let mut chars = code.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            if c.is_whitespace() {
                continue;
            }
            let word = |c: char| c.is_alphanumeric() || c == '_' || ('₀'..='₉').contains(&c);
            let mut end = i + c.len_utf8();
            if word(c) {
                let number = c.is_ascii_digit();
                while let Some(&(j, next)) = chars.peek() {
                    let dot = number && next == '.' && !code[j + 1..].starts_with('.') && !code[i..j].contains('.');
                    let exponent = number && (next == '-' || next == '+') && code[..j].ends_with('e');
                    if !(word(next) || dot || exponent) {
                        break;
                    }
                    end = j + next.len_utf8();
                    chars.next();
                }
            } else if c == '"' {
                for (j, next) in chars.by_ref() {
                    end = j + next.len_utf8();
                    if next == '"' {
                        break;
                    }
                }
            } else {
                let rest = &code[i..];
                if ["..", "<=", ">=", "==", "!=", ":=", "+=", "-="].iter().any(|sign| rest.starts_with(sign)) {
                    end = i + 2;
                    chars.next();
                }
            }
            out.push((at + i, at + end));
        }
        at += line.len();
    }
    out
}

/// Edit of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Delete,
    Double,
    Swap,
    Misspell,
}

pub struct Mutant {
    pub text: String,
    pub edit: Edit,
    pub token: String,
    /// Line of the edit in the mutant, from 1.
    pub line: usize,
}

/// Mutant of a text; `None` if the edit is not possible there.
pub fn mutate(text: &str, random: &mut Random) -> Option<Mutant> {
    let tokens = tokens(text);
    let i = random.below(tokens.len());
    let (start, end) = *tokens.get(i)?;
    let token = &text[start..end];
    let edit = [Edit::Delete, Edit::Double, Edit::Swap, Edit::Misspell][random.below(4)];
    let line = 1 + text[..start].matches('\n').count();
    let new = match edit {
        Edit::Delete => format!("{}{}", &text[..start], &text[end..]),
        Edit::Double => format!("{}{token} {token}{}", &text[..start], &text[end..]),
        Edit::Swap => {
            let &(next, next_end) = tokens.get(i + 1)?;
            if text[end..next].contains('\n') {
                return None;
            }
            format!("{}{}{}{token}{}", &text[..start], &text[next..next_end], &text[end..next], &text[next_end..])
        }
        Edit::Misspell => {
            let letters: Vec<char> = token.chars().collect();
            if letters.len() < 2 || !letters[0].is_alphabetic() {
                return None;
            }
            let mut other = letters.clone();
            let at = random.below(letters.len() - 1);
            match random.below(3) {
                0 => other.swap(at, at + 1),
                1 => {
                    other.remove(at + 1);
                }
                _ => other.insert(at + 1, letters[at]),
            }
            let other: String = other.into_iter().collect();
            format!("{}{other}{}", &text[..start], &text[end..])
        }
    };
    (new != text).then(|| Mutant { text: new, edit, token: token.to_string(), line })
}

/// Text with all fixes of one diagnostic applied.
pub fn apply(text: &str, fixes: &[Fix]) -> String {
    let mut fixes = fixes.to_vec();
    fixes.sort_by_key(|fix| std::cmp::Reverse((fix.span.start, fix.span.end)));
    let mut out = text.to_string();
    for fix in fixes {
        out.replace_range(fix.span.range(), &fix.text);
    }
    out
}
