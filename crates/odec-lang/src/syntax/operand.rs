//! Checks whether a text remains one operand when it is inserted: the operators around it must not split it.
//!
//! The parser itself decides. The text in parentheses has the intended meaning. If the tree without them is the same,
//! they are not needed; otherwise they are inserted as well.

use std::ops::Range;

use super::explain::token::{Token, TokenKind, tokens};
use super::idiom::is_operand;
use super::tree::StatementKind;

/// A name that represents the operands around a location.
const OTHER: &str = "q";

/// The form in which a text must be inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As it is.
    Plain,
    /// In brackets.
    Bracketed,
    /// Unknown: it is not an expression, or no expression can be there.
    Unknown,
}

/// The tree of an expression in prefix form; `None` if the text is not an expression.
fn meaning(text: &str) -> Option<String> {
    let text = format!("{OTHER} = {text}\n");
    let (tree, diagnostics) = super::read(&text, &super::mask::mask(&text));
    let whole = matches!(&tree.statements[..], [only] if matches!(only.kind, StatementKind::Equation { .. }));
    (whole && !diagnostics.iter().any(crate::diagnostic::Diagnostic::is_error)).then(|| tree.to_string())
}

/// True if the text is an expression.
pub fn is_expression(text: &str) -> bool {
    meaning(text).is_some()
}

/// The tree of an expression whose last operation is an operator, so that other operators can split it.
fn operation(text: &str) -> Option<String> {
    let tree = meaning(text)?;
    let head = tree.strip_prefix(&format!("equation {OTHER} = ("))?.split(' ').next()?;
    let signs = head.bytes().all(|byte| byte.is_ascii_punctuation());
    (signs || matches!(head, "neg" | "not" | "and" | "or" | "if")).then_some(tree)
}

/// The form of `text` between these two parts of an expression in which it is one operand.
pub fn between(before: &str, text: &str, after: &str) -> Fit {
    if meaning(text).is_none() {
        return Fit::Unknown;
    }
    match (meaning(&format!("{before}{text}{after}")), meaning(&format!("{before}({text}){after}"))) {
        (_, None) => Fit::Unknown,
        (plain, meant) if plain == meant => Fit::Plain,
        _ => Fit::Bracketed,
    }
}

/// The text around a location, as far as it can split an operand: both ends, with names for the operands.
struct OperandContext {
    before: String,
    after: String,
    /// A suffix of the operand: a prime, a superscript digit, a bracket without a space.
    bound: bool,
}

/// The form in which `text[range]` remains one operand among the operators around it.
pub fn at(masked: &str, range: Range<usize>) -> Fit {
    let Some(text) = masked.get(range.clone()).map(str::trim) else { return Fit::Unknown };
    if is_operand(text) || operation(text).is_none() {
        return Fit::Plain;
    }
    let surroundings = surroundings(masked, range);
    match between(&surroundings.before, text, &surroundings.after) {
        Fit::Plain if surroundings.bound => Fit::Bracketed,
        fit => fit,
    }
}

/// True if `text[range]`, if it is an operation, is one operand as it is. A product after a sign or in a product
/// counts as one, because its value is the same.
pub fn is_whole(masked: &str, range: Range<usize>) -> bool {
    let Some(text) = masked.get(range.clone()).map(str::trim) else { return false };
    let Some(tree) = operation(text).filter(|_| !is_operand(text)) else { return true };
    let surroundings = surroundings(masked, range);
    let product = ["(* ", "(/ "].iter().any(|head| tree.contains(&format!("{OTHER} = {head}")));
    let harmless = surroundings.before == "- " || surroundings.before == format!("{OTHER} * ");
    let before = if product && harmless { "" } else { &surroundings.before };
    !surroundings.bound && between(before, text, &surroundings.after) == Fit::Plain
}

/// The tokens of the line and its possible continuation, with positions relative to the start of the text.
fn around(masked: &str, range: &Range<usize>) -> Vec<Token> {
    let before = masked[..range.start].rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at + 1);
    let after = masked[range.end..].match_indices('\n').nth(1).map_or(masked.len(), |(at, _)| range.end + at);
    let shift = |token: Token| Token { start: token.start + before, end: token.end + before, ..token };
    tokens(&masked[before..after]).into_iter().map(shift).collect()
}

fn surroundings(masked: &str, range: Range<usize>) -> OperandContext {
    let tokens = around(masked, &range);
    let first = tokens.partition_point(|token| token.end <= range.start);
    let last = tokens.partition_point(|token| token.start < range.end);
    let get = |at: Option<usize>| at.and_then(|at| tokens.get(at)).copied();
    let (left, far) = (get(first.checked_sub(1)), get(first.checked_sub(2)));
    let (mut right, next) = (get(Some(last)), get(Some(last + 1)));
    // `.^` is an operator of other languages and reported separately
    if right.is_some_and(|dot| dot.kind == TokenKind::Dot) && next.is_some_and(|sign| sign.kind == TokenKind::Operator)
    {
        right = next;
    }
    let word = |token: Option<Token>| token.map_or("", |token| token.text(masked));
    let touches = right.is_some_and(|token| token.start == range.end);
    let choice = word(left) == "if" && word(right) == "then";
    let before = match left {
        _ if choice => "if ".to_owned(),
        Some(sign) if sign.kind == TokenKind::Operator => {
            let binary = far.is_some_and(|far| far.ends_value());
            let sign = operator(sign.text(masked));
            if binary { format!("{OTHER} {sign} ") } else { format!("{} ", if sign == "+" { "" } else { sign }) }
        }
        Some(sign) => match infix(sign, masked) {
            Some(word) => format!("{OTHER} {word} "),
            None if matches!(sign.text(masked), "not" | "!" | "~") => "not ".to_owned(),
            None if matches!(sign.text(masked), "√" | "∛") => format!("{OTHER}^"),
            // side by side they are a product
            None if sign.ends_value() && !masked[sign.end..range.start].contains('\n') => format!("{OTHER} * "),
            None => String::new(),
        },
        None => String::new(),
    };
    let mut bound = false;
    let after = match right {
        _ if choice => format!(" then {OTHER} else {OTHER}"),
        Some(sign) if sign.kind == TokenKind::Operator => format!(" {} {OTHER}", operator(sign.text(masked))),
        Some(sign) => match infix(sign, masked) {
            Some(word) => format!(" {word} {OTHER}"),
            None => {
                bound = matches!(sign.kind, TokenKind::Prime | TokenKind::Raised)
                    || touches && matches!(sign.text(masked), "(" | "[" | "!" | "°");
                let product = sign.begins_value() && !masked[range.end..sign.start].contains('\n') && !bound;
                let product = product && !matches!(sign.text(masked), "[" | "{");
                if product { format!(" * {OTHER}") } else { String::new() }
            }
        },
        None => String::new(),
    };
    OperandContext { before, after, bound }
}

/// An operator in this language's signs.
fn operator(sign: &str) -> &str {
    match sign {
        "−" => "-",
        "·" | "×" | "⋅" => "*",
        "**" => "^",
        sign => sign,
    }
}

/// The operator for a sign of comparison, of logic or of other languages.
fn infix(token: Token, masked: &str) -> Option<&str> {
    match (token.kind, token.text(masked)) {
        (TokenKind::Compare, sign) => Some(sign),
        (_, "and" | "&&" | "&") => Some("and"),
        (_, "or" | "||") => Some("or"),
        (_, "<>" | "~=") => Some("!="),
        (_, "%") => Some("*"),
        (_, "÷") => Some("/"),
        _ => None,
    }
}
