//! Random edits of a model: one token deleted, doubled, swapped with the next, or misspelt.

use std::ops::Range;

/// Small generator of random numbers (splitmix64); a seed always gives the same mutants.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Number below `n`, which is nonzero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Random element of a slice.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Tokens of a model without comments, blanks and newlines: names, numbers, operators.
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let name = |c: char| c.is_alphanumeric() || c == '_';
        let run = |test: &dyn Fn(char) -> bool| {
            text[start..].chars().take_while(|c| test(*c)).map(char::len_utf8).sum::<usize>()
        };
        if c == '#' {
            at += run(&|c| c != '\n');
            continue;
        } else if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() {
            at += run(&|c| c.is_ascii_digit());
            if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
                at += 1 + text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            }
            if matches!(bytes.get(at), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
                let digits = text[at + 1 + sign..].bytes().take_while(u8::is_ascii_digit).count();
                at += if digits > 0 { 1 + sign + digits } else { 0 };
            }
        } else if name(c) {
            at += run(&name);
        } else if let Some(two) =
            ["..", "<=", ">=", "==", "!=", ":=", "+=", "-=", "''"].iter().find(|t| text[at..].starts_with(**t))
        {
            at += two.len();
        } else {
            at += c.len_utf8();
        }
        found.push(start..at);
    }
    found
}

/// Kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A token is gone.
    Delete,
    /// A token is doubled.
    Double,
    /// A token and the next one on the same line are exchanged.
    Swap,
    /// A name has one additional, missing or changed letter.
    Misspell,
}

/// Text with one edit.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Kind of edit.
    pub edit: Edit,
    /// The token it was done to.
    pub token: String,
    /// Line of the edit, from 1 (in the mutant: no edit adds or removes a line).
    pub line: usize,
    /// The edited text.
    pub text: String,
}

/// Random edit of `text`; `None` if the chosen one does not apply (no neighbour to swap with, not a name).
pub fn mutant(text: &str, random: &mut Random) -> Option<Mutant> {
    let tokens = tokens(text);
    let at = random.below(tokens.len());
    let here = tokens[at].clone();
    let token = text[here.clone()].to_owned();
    let edit = *random.pick(&[Edit::Delete, Edit::Double, Edit::Swap, Edit::Misspell]);
    let changed = match edit {
        Edit::Delete => format!("{}{}", &text[..here.start], &text[here.end..]),
        Edit::Double => format!("{}{token} {token}{}", &text[..here.start], &text[here.end..]),
        Edit::Swap => {
            let next = tokens.get(at + 1)?.clone();
            let between = &text[here.end..next.start];
            if between.contains('\n') || text[next.clone()] == token {
                return None;
            }
            format!("{}{}{between}{token}{}", &text[..here.start], &text[next.clone()], &text[next.end..])
        }
        Edit::Misspell => {
            if !token.chars().next().is_some_and(char::is_alphabetic) {
                return None;
            }
            let mut letters: Vec<char> = token.chars().collect();
            let place = random.below(letters.len());
            match random.below(3) {
                0 if letters.len() > 1 => drop(letters.remove(place)),
                1 => letters.insert(place + 1, letters[place]),
                _ => letters[place] = if letters[place] == 'z' { 'q' } else { 'z' },
            }
            let word: String = letters.into_iter().collect();
            format!("{}{word}{}", &text[..here.start], &text[here.end..])
        }
    };
    let line = text[..here.start].matches('\n').count() + 1;
    Some(Mutant { edit, token, line, text: changed })
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn tokens_are_what_a_reader_sees() {
        let text = "x'' = 3.5e-7*k_1 # note\nt=0..10";
        let found: Vec<&str> = tokens(text).into_iter().map(|t| &text[t]).collect();
        assert_eq!(found, ["x", "''", "=", "3.5e-7", "*", "k_1", "t", "=", "0", "..", "10"]);
    }
}
