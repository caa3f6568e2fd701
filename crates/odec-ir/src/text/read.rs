//! Reading the text form. Any text gives a program or an error with its line.

use std::collections::HashMap;
use std::fmt;

use super::nests::Labels;
use super::{KERNELS, ROLES, is_output, is_word};
use crate::builtin;
use crate::derive;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{Axis, Extent, Nest};
use crate::program::{Array, ArrayId, Kernel, KernelRole, Program, Role, Store, Target};
use crate::span::Span;

/// Where and why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
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
    /// At the first line that is not of the form, refers to something that does not precede it, or repeats something.
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
        if reader.arrays.iter().all(|a| a.axes.is_empty()) && reader.nests.is_empty() {
            let (extents, axes) = (reader.extents, reader.axes);
            return Ok(Program { extents, axes, ..derive::assemble(name, reader.arrays, reader.kernels) });
        }
        if !reader.kernels.is_empty() {
            return Err(TextError { line: 1, message: "arrays with axes have nests, not kernels".into() });
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
    /// Array of each name, inputs and outputs apart; `None` if several bear it.
    by_name: [HashMap<String, Option<ArrayId>>; 2],
    pub(super) kernels: Vec<Kernel>,
    /// With their first lines.
    pub(super) nests: Vec<(usize, Nest)>,
    /// Of what the last nest refers to.
    pub(super) labels: Labels,
    stored: std::collections::HashSet<Target>,
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
            [Token::Word("nest"), Token::Word(role), Token::Word(part)] => self.nest(role, part, number),
            [Token::Word("kernel"), Token::Word(role)] => self.kernel(role),
            _ if !self.nests.is_empty() => self.nest_line(&tokens, &spans),
            [Token::Word(first), Token::Word("="), rest @ ..] if first.starts_with('%') => {
                self.node(first, rest, &spans)
            }
            [Token::Word(target), Token::Word("="), Token::Word(node)] => {
                let output = self.kernels.last().is_some_and(|k| k.role == KernelRole::Outputs);
                let target = Target::Element(self.array(target, output)?);
                self.store(target, node)
            }
            [Token::Word(row), Token::Word("/"), Token::Word(column), Token::Word("="), Token::Word(node)] => {
                let target = Target::Entry(self.array(row, false)?, self.array(column, false)?);
                self.store(target, node)
            }
            [Token::Word(role), name, rest @ ..] => self.declare(role, name, rest, &spans),
            _ => Err("neither a declaration, a kernel, a node nor a store".into()),
        }
    }

    fn declare(&mut self, role: &str, name: &Token, mut rest: &[Token], spans: &[Span]) -> Outcome<()> {
        let role = ROLES.iter().find(|(_, text)| *text == role).map(|(r, _)| *r);
        let role = role.ok_or("neither a declaration, a kernel, a node nor a store")?;
        if !self.kernels.is_empty() || !self.nests.is_empty() {
            return Err("arrays come before kernels".into());
        }
        let span = spans.first().copied().unwrap_or_default();
        let mut array = Array {
            name: name.text(),
            role,
            axes: Vec::new(),
            default: 0.0,
            data: Vec::new(),
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
                        array.data.push(self::number(&x).ok_or_else(|| format!("`{x}` is not a number"))?);
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
        let id = ArrayId(self.arrays.len() as u32);
        let names = &mut self.by_name[usize::from(is_output(role))];
        names.entry(array.name.clone()).and_modify(|known| *known = None).or_insert(Some(id));
        self.arrays.push(array);
        Ok(())
    }

    fn kernel(&mut self, role: &str) -> Outcome<()> {
        let role = KERNELS.iter().find(|(_, text)| *text == role).map(|(r, _)| *r);
        let role = role.ok_or("no kernel of this role")?;
        if !self.nests.is_empty() {
            return Err("a program has kernels or nests".into());
        }
        if self.kernels.iter().any(|k| k.role == role) {
            return Err("a second kernel of this role".into());
        }
        self.kernels.push(Kernel { role, graph: Graph::new(), stores: Vec::new() });
        self.stored.clear();
        Ok(())
    }

    fn node(&mut self, name: &str, tokens: &[Token], spans: &[Span]) -> Outcome<()> {
        let node = self.node_of(tokens)?;
        let graph = &mut self.kernels.last_mut().ok_or("a node outside a kernel")?.graph;
        if name != format!("%{}", graph.len()) {
            return Err(format!("the next node is %{}", graph.len()));
        }
        let before = graph.len();
        let id = graph.insert(node);
        if graph.len() == before {
            return Err(format!("the same as %{}", id.0));
        }
        for &span in spans {
            graph.add_span(id, span);
        }
        Ok(())
    }

    fn node_of(&self, tokens: &[Token]) -> Outcome<Node> {
        let [Token::Word(head), args @ ..] = tokens else { return Err("a node is missing".into()) };
        if args.is_empty() {
            return if *head == "time" {
                Ok(Node::Time)
            } else if let Some(x) = number(head) {
                Ok(Node::Constant(x.to_bits()))
            } else if let Some(array) = head.strip_prefix("w(").and_then(tail) {
                let array = self.array(array, false)?;
                match self.arrays[array.0 as usize].role {
                    Role::Position | Role::Velocity | Role::FirstOrder => Ok(Node::Direction(array)),
                    _ => Err("only states have a direction".into()),
                }
            } else {
                let array = self.array(head, false)?;
                match self.arrays[array.0 as usize].role {
                    Role::Output | Role::Conserved | Role::Expected => Err("outputs cannot be read".into()),
                    _ => Ok(Node::Read(array)),
                }
            };
        }
        call(head, args, |token| match token {
            Token::Word(text) => self.node_id(text),
            Token::Quoted(_) => Err("operands are nodes".into()),
        })
    }

    fn node_id(&self, text: &str) -> Outcome<NodeId> {
        let len = self.kernels.last().map_or(0, |k| k.graph.len());
        let id = text.strip_prefix('%').and_then(|digits| digits.parse::<u32>().ok());
        id.filter(|&id| (id as usize) < len).map(NodeId).ok_or_else(|| format!("`{text}` is not an earlier node"))
    }

    fn array(&self, text: &str, output: bool) -> Outcome<ArrayId> {
        if let Some(digits) = text.strip_prefix('#') {
            let id = digits.parse::<u32>().ok().filter(|&id| (id as usize) < self.arrays.len());
            return id.map(ArrayId).ok_or_else(|| format!("there is no array {text}"));
        }
        match self.by_name[usize::from(output)].get(text).filter(|_| is_word(text)) {
            Some(Some(id)) => Ok(*id),
            Some(None) => Err(format!("several arrays are called `{text}`; refer to one by `#` and its position")),
            None => Err(format!("no array is called `{text}`")),
        }
    }

    fn store(&mut self, target: Target, node: &str) -> Outcome<()> {
        let node = self.node_id(node)?;
        let role = self.kernels.last().map(|k| k.role).ok_or("a store outside a kernel")?;
        let is = |array: ArrayId, roles: &[Role]| roles.contains(&self.arrays[array.0 as usize].role);
        let states = [Role::Position, Role::Velocity, Role::FirstOrder];
        let fits = match (role, target) {
            (KernelRole::Jacobian | KernelRole::Mass | KernelRole::MassJacobian, Target::Entry(i, j)) => {
                is(i, &states) && is(j, &states)
            }
            (KernelRole::ParameterJacobian, Target::Entry(i, j)) => is(i, &states) && is(j, &[Role::Parameter]),
            (KernelRole::Jacobian | KernelRole::Mass | KernelRole::MassJacobian | KernelRole::ParameterJacobian, _)
            | (_, Target::Entry(..)) => false,
            (KernelRole::Prepare, Target::Element(i)) => is(i, &[Role::Staged]),
            (KernelRole::Outputs, Target::Element(i)) => is(i, &[Role::Output, Role::Conserved, Role::Expected]),
            (_, Target::Element(i)) => is(i, &states),
        };
        if !fits {
            return Err("the kernel does not store this".into());
        }
        if !self.stored.insert(target) {
            return Err("stored twice".into());
        }
        if let Some(kernel) = self.kernels.last_mut() {
            kernel.stores.push(Store { target, node });
        }
        Ok(())
    }
}

/// What stands before a closing parenthesis.
pub(super) fn tail(text: &str) -> Option<&str> {
    text.strip_suffix(')')
}

/// A builtin applied to as many operands as it takes.
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
