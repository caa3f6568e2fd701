//! Reading the text form. Any text gives a program or an error with its line.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::ROLES;
use super::labels::Labels;
use crate::builtin;
use crate::graph::{Node, NodeId};
use crate::nest::{Axis, Extent, Kernel, Target};
use crate::program::{Array, Program, Role};
use crate::span::Span;

/// The position and reason of an error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// The error.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

impl Program {
    /// Reads the text form. The patterns follow from the stores of the kernels.
    ///
    /// # Errors
    /// An error at the first line that is malformed, refers to something that does not precede it, or repeats something.
    pub fn parse(text: &str) -> Result<Program, TextError> {
        let mut reader = Reader::default();
        for (i, line) in text.lines().enumerate() {
            reader.line(line, i + 1).map_err(|message| TextError { line: i + 1, message })?;
        }
        let Some(name) = reader.name.clone() else {
            return Err(TextError { line: 1, message: "a program begins with `program NAME`".into() });
        };
        let count = |role: Role| reader.arrays.iter().filter(|a| a.role == role).count();
        if count(Role::Position) != count(Role::Velocity) {
            return Err(TextError { line: 1, message: "every position has a velocity".into() });
        }
        reader.program(name)
    }
}

#[derive(Default)]
pub(super) struct Reader {
    name: Option<String>,
    pub(super) extents: Vec<Extent>,
    pub(super) axes: Vec<Axis>,
    pub(super) arrays: Vec<Array>,
    /// The kernels with their first lines.
    pub(super) kernels: Vec<(usize, Kernel)>,
    /// The names that the last kernel uses.
    pub(super) labels: Labels,
    /// The targets of the last kernel's stores.
    pub(super) stored: HashSet<Target>,
}

pub(super) type Outcome<T> = Result<T, String>;

impl Reader {
    fn line(&mut self, line: &str, number: usize) -> Outcome<()> {
        let mut tokens = tokens(line)?;
        let spans = match tokens.iter().position(|t| *t == Token::Word("@")) {
            Some(at) => tokens.split_off(at)[1..].iter().map(span).collect::<Outcome<Vec<_>>>()?,
            None => Vec::new(),
        };
        match tokens.as_slice() {
            [] => Ok(()),
            [Token::Word("program"), name] if self.name.is_none() => {
                self.name = Some(name.text());
                Ok(())
            }
            _ if self.name.is_none() => Err("a program begins with `program NAME`".into()),
            [Token::Word("extent"), name, Token::Word("="), Token::Word(value)] => {
                self.extent(name, value, spans.first().copied().unwrap_or_default())
            }
            [Token::Word("axis"), name, Token::Word("="), Token::Word(first), Token::Word(".."), Token::Word(last)] => {
                self.axis(name, first, last, spans.first().copied().unwrap_or_default())
            }
            [Token::Word("kernel"), Token::Word(role)] => self.kernel(role, "whole", number),
            [Token::Word("kernel"), Token::Word(role), Token::Word(region)] => self.kernel(role, region, number),
            _ if !self.kernels.is_empty() => self.kernel_line(&tokens, &spans),
            [Token::Word(word), ..] if word.starts_with(['%', '?']) => Err("a node outside a kernel".into()),
            [Token::Word(role), name, rest @ ..] => self.declare(role, name, rest, &spans),
            _ => Err("neither a declaration, a kernel, a node nor a store".into()),
        }
    }

    fn declare(&mut self, role: &str, name: &Token, mut rest: &[Token], spans: &[Span]) -> Outcome<()> {
        let role = ROLES.iter().find(|(_, text)| *text == role).map(|(r, _)| *r);
        let role = role.ok_or("neither a declaration, a kernel, a node nor a store")?;
        let span = spans.first().copied().unwrap_or_default();
        let mut array = Array {
            name: name.text(),
            role,
            axes: Vec::new(),
            default: 0.0,
            data: Vec::new().into(),
            unit: None,
            doc: None,
            span,
        };
        loop {
            rest = match rest {
                [] => break,
                [Token::Word("="), Token::Word(x), rest @ ..] => {
                    array.default = number(x).ok_or_else(|| format!("`{x}` is not a number"))?;
                    rest
                }
                [Token::Word("unit"), Token::Quoted(unit), rest @ ..] => {
                    array.unit = Some(unit.clone());
                    rest
                }
                [Token::Word("doc"), Token::Quoted(doc), rest @ ..] => {
                    array.doc = Some(doc.clone());
                    rest
                }
                [Token::Word("data"), data @ ..] => {
                    for x in data {
                        let x = x.text();
                        Arc::make_mut(&mut array.data)
                            .push(self::number(&x).ok_or_else(|| format!("`{x}` is not a number"))?);
                    }
                    break;
                }
                [Token::Word(axes), rest @ ..] if array.axes.is_empty() && axes.starts_with('[') => {
                    array.axes = self.axes_of(axes)?;
                    rest
                }
                _ => {
                    return Err(
                        "after a name stand `[axes]`, `= number`, `unit \"..\"`, `doc \"..\"`, `data ..`".into()
                    );
                }
            };
        }
        self.arrays.push(array);
        Ok(())
    }
}

/// The text before a closing parenthesis.
pub(super) fn tail(text: &str) -> Option<&str> {
    text.strip_suffix(')')
}

/// A builtin applied to its operands.
pub(super) fn call(name: &str, args: &[Token], operand: impl Fn(&Token) -> Outcome<NodeId>) -> Outcome<Node> {
    let op = builtin::find(name).ok_or_else(|| format!("no operation `{name}`"))?;
    if args.len() != usize::from(op.0.arity) {
        return Err(format!("`{name}` takes {} operands", op.0.arity));
    }
    let mut operands = [operand(&args[0])?; 3];
    for (slot, token) in operands.iter_mut().zip(args) {
        *slot = operand(token)?;
    }
    Ok(Node::Call(op, operands))
}

#[derive(Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Quoted(String),
}

impl Token<'_> {
    pub(super) fn text(&self) -> String {
        match self {
            Token::Word(word) => (*word).to_string(),
            Token::Quoted(text) => text.clone(),
        }
    }
}

/// Splits at spaces; a quotation, with the escapes of Rust's `{:?}`, is one token.
fn tokens(line: &str) -> Outcome<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start_matches(' ');
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = unquote(quoted)?;
            tokens.push(Token::Quoted(text));
            rest = after;
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(' ');
    }
    Ok(tokens)
}

/// The text up to the closing quotation mark, and what follows it.
fn unquote(text: &str) -> Outcome<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((out, &text[i + 1..])),
            '\\' => {
                let escape = chars.next().map(|(_, c)| c).ok_or("the quotation does not end")?;
                out.push(match escape {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    '\\' | '"' | '\'' => escape,
                    'u' => {
                        let digits: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|&c| c != '}').collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        code.ok_or("an escape is not a character")?
                    }
                    _ => return Err(format!("unknown escape `\\{escape}`")),
                });
            }
            _ => out.push(c),
        }
    }
    Err("the quotation does not end".into())
}

pub(super) fn number(text: &str) -> Option<f64> {
    if let Some(bits) = text.strip_prefix("nan:") {
        return u64::from_str_radix(bits, 16).ok().map(f64::from_bits).filter(|x| x.is_nan());
    }
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '-') || text == "inf" || text == "nan";
    text.parse().ok().filter(|_| starts)
}

fn span(token: &Token) -> Outcome<Span> {
    let Token::Word(text) = token else { return Err("after `@` stand source ranges".into()) };
    let (file, range) = text.split_once(':').unwrap_or(("0", text));
    let ends = range.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match (file.parse(), ends) {
        (Ok(file), Some((start, end))) => Ok(Span { file, start, end }),
        _ => Err(format!("`{text}` is not a source range")),
    }
}
