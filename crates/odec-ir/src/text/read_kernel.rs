//! Reading extents, axes and kernels.

use std::collections::HashSet;

use super::labels::{Cursor, Labels, REDUCTIONS, REGIONS, find, labels};
use super::read::{Outcome, Reader, Token, call, number, tail};
use super::{KERNELS, Role, TextError};
use crate::derive;
use crate::graph::{Graph, Node, NodeId};
use crate::layout::elements;
use crate::nest::{Axis, AxisId, Element, Extent, Kernel, Loop, LoopId, Margin, Space, Store, Target};
use crate::program::Program;
use crate::span::Span;

impl Reader {
    /// `extent N = 200`
    pub(super) fn extent(&mut self, name: &Token, value: &str, span: Span) -> Outcome<()> {
        self.before_arrays()?;
        let value = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
        self.extents.push(Extent { text: name.text(), value, span });
        Ok(())
    }

    /// `axis i = 1 .. {N}`
    pub(super) fn axis(&mut self, name: &Token, first: &str, last: &str, span: Span) -> Outcome<()> {
        self.before_arrays()?;
        let mut labels = Labels::default();
        labels.of_axes(&[], &self.extents);
        let (first, last) = (Cursor::new(&labels, first).affine()?, Cursor::new(&labels, last).affine()?);
        self.axes.push(Axis { name: name.text(), first, last, span });
        Ok(())
    }

    /// Parses `[i,j]` after the name of an array.
    pub(super) fn axes_of(&self, text: &str) -> Outcome<Vec<AxisId>> {
        let names = labels(self.axes.iter().map(|a| a.name.as_str()));
        let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or("axes stand in brackets")?;
        inside.split(',').map(|label| find(&names, label, "axis").map(AxisId)).collect()
    }

    fn before_arrays(&self) -> Outcome<()> {
        if self.arrays.is_empty() { Ok(()) } else { Err("extents and axes come before arrays".into()) }
    }

    /// `kernel rhs boundary`
    pub(super) fn kernel(&mut self, role: &str, region: &str, line: usize) -> Outcome<()> {
        let role = KERNELS.iter().find(|(_, text)| *text == role).map(|(r, _)| *r).ok_or("no kernel of this role")?;
        let region = REGIONS.iter().find(|(_, text)| *text == region).map(|(p, _)| *p).ok_or("no such region")?;
        if self.kernels.is_empty() {
            self.labels.of_axes(&self.axes, &self.extents);
            self.labels.of_arrays(&self.arrays);
        }
        self.labels.loops.clear();
        self.stored.clear();
        self.kernels.push((line, Kernel { region, ..Kernel::scalar(role, Graph::new(), Vec::new()) }));
        Ok(())
    }

    /// A line below `kernel`.
    pub(super) fn kernel_line(&mut self, tokens: &[Token], spans: &[Span]) -> Outcome<()> {
        let span = spans.first().copied().unwrap_or_default();
        let labels = &mut self.labels;
        let Some((_, nest)) = self.kernels.last_mut() else { return Err("outside a kernel".into()) };
        let space = &mut nest.space;
        match tokens {
            [Token::Word("loop"), name, Token::Word("="), Token::Word(first), Token::Word(".."), Token::Word(last)] => {
                // Ranges contain no loops.
                labels.loops.clear();
                let (first, last) = (Cursor::new(labels, first).affine()?, Cursor::new(labels, last).affine()?);
                space.push_loop(Loop { name: name.text(), first, last, span });
                labels.of_loops(space.loops());
            }
            [Token::Word("over"), loops @ ..] => {
                for token in loops {
                    nest.iterates.push(LoopId(find(&labels.loops, &token.text(), "loop")?));
                }
            }
            [Token::Word("margin"), Token::Word(sub), Token::Word("in"), Token::Word(axis)] => {
                let sub = Cursor::new(labels, sub).affine()?;
                nest.margins.push(Margin { sub, axis: AxisId(find(&labels.axes, axis, "axis")?) });
            }
            [Token::Word("access"), Token::Word(text)] => {
                let access = Cursor::new(labels, text).access()?;
                if access.guard.is_some_and(|g| g.index() >= space.guards.len()) {
                    return Err("the guard of an access comes before it".into());
                }
                let before = space.accesses().len();
                if (space.intern(access).0 as usize) < before {
                    return Err("the same access twice".into());
                }
            }
            [Token::Word(first), Token::Word("="), rest @ ..] if first.starts_with('?') => {
                let node = node(rest, '?', space.guards.len(), labels, space)?;
                insert(&mut space.guards, first, '?', node, spans)?;
            }
            [Token::Word(first), Token::Word("="), rest @ ..] if first.starts_with('%') => {
                let node = node(rest, '%', nest.graph.len(), labels, space)?;
                insert(&mut nest.graph, first, '%', node, spans)?;
            }
            [Token::Word(target), Token::Word(sign @ ("=" | "+=")), Token::Word(node)] => {
                let element = known(target, labels, space)?;
                let node = earlier(node, '%', nest.graph.len())?;
                let target = if *sign == "=" { Target::Set(element) } else { Target::Add(element) };
                store(nest, &mut self.stored, Store { target, node })?;
            }
            [Token::Word(row), Token::Word("/"), Token::Word(column), Token::Word("+="), Token::Word(node)] => {
                let target = Target::Entry(known(row, labels, space)?, known(column, labels, space)?);
                let node = earlier(node, '%', nest.graph.len())?;
                store(nest, &mut self.stored, Store { target, node })?;
            }
            _ => return Err("neither a loop, an access, a guard, a node nor a store".into()),
        }
        Ok(())
    }

    /// The program of the kernels.
    ///
    /// # Errors
    /// Data that do not fit, or a malformed kernel.
    pub(super) fn program(self, name: String) -> Result<Program, TextError> {
        let (lines, kernels): (Vec<usize>, Vec<Kernel>) = self.kernels.into_iter().unzip();
        let program = derive::assemble(name, self.arrays, self.axes, self.extents, kernels);
        for a in &program.arrays {
            let given = a.role == Role::Table || !a.data.is_empty();
            if given && a.data.len() != elements(a, &program.axes, &program.extents) {
                return Err(TextError { line: 1, message: format!("`{}` has not as many data as elements", a.name) });
            }
        }
        let scalar = program.is_scalar();
        let mut roles = HashSet::new();
        for (line, kernel) in lines.into_iter().zip(&program.kernels) {
            let once = roles.insert(kernel.role) || !scalar;
            let checked = if once { kernel.check(&program) } else { Err("a second kernel of this role") };
            checked.map_err(|message| TextError { line, message: message.into() })?;
        }
        Ok(program)
    }
}

/// Adds a store. Each scalar is stored once.
fn store(kernel: &mut Kernel, stored: &mut HashSet<Target>, store: Store) -> Outcome<()> {
    let scalars = store.target.elements().all(|e| e.scalar().is_some());
    if scalars && !stored.insert(store.target) {
        return Err("stored twice".into());
    }
    kernel.stores.push(store);
    Ok(())
}

fn insert(graph: &mut Graph, name: &str, sign: char, node: Node, spans: &[Span]) -> Outcome<()> {
    let before = graph.len();
    if name != format!("{sign}{before}") {
        return Err(format!("the next node is {sign}{before}"));
    }
    let id = graph.insert(node);
    if graph.len() == before {
        return Err(format!("the same as {sign}{}", id.0));
    }
    for &span in spans {
        graph.add_span(id, span);
    }
    Ok(())
}

/// An access of the kernel, or a scalar.
fn known(text: &str, labels: &Labels, space: &Space) -> Outcome<Element> {
    let access = Cursor::new(labels, text).access()?;
    match space.find(&access) {
        Some(id) => Ok(Element::At(id)),
        None if access.subs.is_empty() && access.guard.is_none() => Ok(Element::Scalar(access.array)),
        None => Err(format!("`{text}` is not among the accesses")),
    }
}

fn earlier(text: &str, sign: char, len: usize) -> Outcome<NodeId> {
    let id = text.strip_prefix(sign).and_then(|digits| digits.parse::<u32>().ok());
    id.filter(|&id| (id as usize) < len).map(NodeId).ok_or_else(|| format!("`{text}` is not an earlier node"))
}

fn node(tokens: &[Token], sign: char, len: usize, labels: &Labels, space: &Space) -> Outcome<Node> {
    let [Token::Word(head), args @ ..] = tokens else { return Err("a node is missing".into()) };
    let operand = |token: &Token| match token {
        Token::Word(text) => earlier(text, sign, len),
        Token::Quoted(_) => Err("operands are nodes".into()),
    };
    if args.is_empty() {
        return if *head == "time" {
            Ok(Node::Time)
        } else if let Some(x) = number(head) {
            Ok(Node::Constant(x.to_bits()))
        } else if let Some(text) = head.strip_prefix("w(").and_then(tail) {
            Ok(Node::Direction(known(text, labels, space)?))
        } else {
            Ok(Node::Read(known(head, labels, space)?))
        };
    }
    if let (&"index", [name]) = (head, args) {
        return Ok(Node::Index(LoopId(find(&labels.loops, &name.text(), "loop")?)));
    }
    if let (Some((reduction, _)), [name, term]) = (REDUCTIONS.iter().find(|(_, text)| text == head), args) {
        let over = LoopId(find(&labels.loops, &name.text(), "loop")?);
        return Ok(Node::Reduce(*reduction, over, operand(term)?));
    }
    call(head, args, operand)
}
