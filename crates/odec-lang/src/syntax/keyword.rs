//! The words that begin a statement, and when such a word is an ordinary name.

pub(crate) use crate::words::is_name_char;
/// The kind of a statement, by its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keyword {
    Model,
    Time,
    Param,
    Const,
    State,
    Output,
    Fn,
    Params,
    Run,
    Expect,
    Conserve,
    Index,
    Boundary,
    Unknown,
    Discrete,
    When,
    At,
    Every,
    Input,
    Use,
    Axis,
    Unit,
    Units,
    Compartment,
}

/// The words in the order of the reference.
pub const KEYWORDS: [(&str, Keyword); 24] = [
    ("model", Keyword::Model),
    ("time", Keyword::Time),
    ("param", Keyword::Param),
    ("const", Keyword::Const),
    ("state", Keyword::State),
    ("output", Keyword::Output),
    ("fn", Keyword::Fn),
    ("params", Keyword::Params),
    ("run", Keyword::Run),
    ("expect", Keyword::Expect),
    ("conserve", Keyword::Conserve),
    ("index", Keyword::Index),
    ("boundary", Keyword::Boundary),
    ("unknown", Keyword::Unknown),
    ("discrete", Keyword::Discrete),
    ("when", Keyword::When),
    ("at", Keyword::At),
    ("every", Keyword::Every),
    ("input", Keyword::Input),
    ("use", Keyword::Use),
    ("axis", Keyword::Axis),
    ("unit", Keyword::Unit),
    ("units", Keyword::Units),
    ("compartment", Keyword::Compartment),
];

/// Words that cannot be names.
pub const RESERVED: [&str; 6] = ["if", "then", "else", "and", "or", "not"];

/// Words that begin a clause in the head of an event.
pub const CLAUSES: [&str; 7] = ["after", "late", "cancel", "alone", "priority", "from", "until"];

/// The head of the block for the state after an accumulation.
pub const REST: &str = "rest";

impl Keyword {
    /// The word itself.
    pub fn word(self) -> &'static str {
        KEYWORDS.iter().find(|(_, keyword)| *keyword == self).map_or("", |(word, _)| word)
    }

    /// True if `{` must follow.
    pub fn takes_block(self) -> bool {
        matches!(self, Keyword::Run | Keyword::Params | Keyword::When | Keyword::At | Keyword::Every)
    }

    /// True if it starts an event.
    pub fn is_event(self) -> bool {
        matches!(self, Keyword::When | Keyword::At | Keyword::Every)
    }

    /// True if the following text may start with `-`.
    fn takes_minus(self) -> bool {
        matches!(self, Keyword::Conserve | Keyword::Expect)
    }
}

/// Arrows of reactions, longer ones first.
const ARROWS: [&str; 7] = ["<->", "<=>", "-->", "->", "=>", "⇌", "→"];

/// True if a line is a reaction: an arrow outside brackets and texts, without a preceding `=`.
pub fn is_reaction(line: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in line.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '"' | '{' => return false,
            _ if depth > 0 => {}
            _ if ARROWS.iter().any(|arrow| line[at..].starts_with(arrow)) => return at > 0,
            '=' => return false,
            _ => {}
        }
    }
    false
}

/// The name characters at the start of a text.
pub fn first_word(text: &str) -> &str {
    let end = text.char_indices().find(|&(_, c)| !is_name_char(c)).map_or(text.len(), |(i, _)| i);
    &text[..end]
}

/// The keyword at the start of a line, unless the text after it shows that the word is a name (`state = 3*x`).
/// `block` tells that `{` ends the line: then `at -5 {` is no difference.
pub fn classify(line: &str, block: bool) -> Option<Keyword> {
    let word = first_word(line);
    let keyword = KEYWORDS.iter().find(|(text, _)| *text == word).map(|(_, keyword)| *keyword)?;
    let touching = &line[word.len()..];
    let rest = touching.trim_start_matches([' ', '\t', '\n']);
    let Some(next) = rest.chars().next() else { return Some(keyword) };
    let a_name = match next {
        '-' | '−' => !(keyword.takes_minus() || (block && keyword.takes_block())),
        '[' => touching.starts_with('['),
        '=' | '\'' | '′' | '’' | '″' | '*' | '/' | '^' | '+' | ':' | ',' | '·' | '×' | '⋅' | ')' | '<' | '>' => {
            true
        }
        '.' => !rest[1..].starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    };
    (!a_name).then_some(keyword)
}
