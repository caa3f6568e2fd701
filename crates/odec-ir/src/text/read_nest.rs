//! Reading extents, axes and nests.

use super::nests::{Cursor, FOLDS, Labels, PARTS, find, labels};
use super::read::{Outcome, Reader, Token, call, number, tail};
use super::{KERNELS, Role, TextError};
use crate::graph::{Graph, Node, NodeId};
use crate::layout::elements;
use crate::nest::{AccessId, Axis, AxisId, Extent, Loop, LoopId, Margin, Nest, Part, Space, Store, Target};
use crate::program::{Pattern, Program};
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

    /// `[i,j]` behind the name of an array.
    pub(super) fn axes_of(&self, text: &str) -> Outcome<Vec<AxisId>> {
        let names = labels(self.axes.iter().map(|a| a.name.as_str()));
        let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or("axes stand in brackets")?;
        inside.split(',').map(|label| find(&names, label, "axis").map(AxisId)).collect()
    }

    fn before_arrays(&self) -> Outcome<()> {
        if self.arrays.is_empty() { Ok(()) } else { Err("extents and axes come before arrays".into()) }
    }

    /// `nest rhs shell`
    pub(super) fn nest(&mut self, role: &str, part: &str, line: usize) -> Outcome<()> {
        if !self.kernels.is_empty() {
            return Err("a program has kernels or nests".into());
        }
        let role = KERNELS.iter().find(|(_, text)| *text == role).map(|(r, _)| *r).ok_or("no nest of this role")?;
        let part = PARTS.iter().find(|(_, text)| *text == part).map(|(p, _)| *p).ok_or("no such part")?;
        self.labels.of_axes(&self.axes, &self.extents);
        self.labels.arrays = labels(self.arrays.iter().map(|a| a.name.as_str()));
        self.labels.loops.clear();
        self.nests.push((line, empty(role, part)));
        Ok(())
    }

    /// A line below `nest`.
    pub(super) fn nest_line(&mut self, tokens: &[Token], spans: &[Span]) -> Outcome<()> {
        let span = spans.first().copied().unwrap_or_default();
        let labels = &mut self.labels;
        let Some((_, nest)) = self.nests.last_mut() else { return Err("outside a nest".into()) };
        let space = &mut nest.space;
        match tokens {
            [Token::Word("loop"), name, Token::Word("="), Token::Word(first), Token::Word(".."), Token::Word(last)] => {
                // Ranges name no loops.
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
                let access = known(target, labels, space)?;
                let node = earlier(node, '%', nest.graph.len())?;
                let target = if *sign == "=" { Target::Set(access) } else { Target::Add(access) };
                nest.stores.push(Store { target, node });
            }
            [Token::Word(row), Token::Word("/"), Token::Word(column), Token::Word("+="), Token::Word(node)] => {
                let target = Target::Entry(known(row, labels, space)?, known(column, labels, space)?);
                nest.stores.push(Store { target, node: earlier(node, '%', nest.graph.len())? });
            }
            _ => return Err("neither a loop, an access, a guard, a node nor a store".into()),
        }
        Ok(())
    }

    /// The program of the nests.
    ///
    /// # Errors
    /// Data that do not fit, or a nest that is not well formed.
    pub(super) fn program(self, name: String) -> Result<Program, TextError> {
        let (lines, nests): (Vec<usize>, Vec<Nest>) = self.nests.into_iter().unzip();
        let program = Program {
            name,
            arrays: self.arrays,
            extents: self.extents,
            axes: self.axes,
            kernels: Vec::new(),
            nests,
            jacobian: Pattern::default(),
            parameter_jacobian: Pattern::default(),
            mass: None,
            mass_jacobian: Pattern::default(),
        };
        for a in &program.arrays {
            let given = a.role == Role::Table || !a.data.is_empty();
            if given && a.data.len() != elements(a, &program.axes, &program.extents) {
                return Err(TextError { line: 1, message: format!("`{}` has not as many data as elements", a.name) });
            }
        }
        for (line, nest) in lines.into_iter().zip(&program.nests) {
            nest.check(&program).map_err(|message| TextError { line, message: message.into() })?;
        }
        Ok(program)
    }
}

fn empty(role: crate::KernelRole, part: Part) -> Nest {
    Nest {
        role,
        space: Space::new(),
        iterates: Vec::new(),
        part,
        margins: Vec::new(),
        graph: Graph::new(),
        stores: Vec::new(),
    }
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
    spans.iter().for_each(|&span| graph.add_span(id, span));
    Ok(())
}

fn known(text: &str, labels: &Labels, space: &Space) -> Outcome<AccessId> {
    let access = Cursor::new(labels, text).access()?;
    space.find(&access).ok_or_else(|| format!("`{text}` is not among the accesses"))
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
            Ok(Node::DirectionElement(known(text, labels, space)?))
        } else {
            Ok(Node::Element(known(head, labels, space)?))
        };
    }
    if let (&"index", [name]) = (head, args) {
        return Ok(Node::Index(LoopId(find(&labels.loops, &name.text(), "loop")?)));
    }
    if let (Some((fold, _)), [name, term]) = (FOLDS.iter().find(|(_, text)| text == head), args) {
        let over = LoopId(find(&labels.loops, &name.text(), "loop")?);
        return Ok(Node::Fold(*fold, over, operand(term)?));
    }
    call(head, args, operand)
}
