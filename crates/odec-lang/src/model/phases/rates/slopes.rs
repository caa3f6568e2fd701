//! The time derivative of one expression, term by term.

use std::collections::{HashMap, HashSet};

use odec_ir::derive::call_tangent;
use odec_ir::{ArrayId, Element, Graph, Node, NodeId, Op, Span};

use super::{DerivedKind, Maker, is_varying, jumps, read};
use crate::limits::{MAX_NESTING, MAX_PRIMES};
use crate::model::phases::map_operands;
use crate::model::walk::{MAX_INLINED_TERMS, operands};
use crate::model::{Body, Model, Reduction, Symbol, Term, TermId, TermKind};

/// The reason why an expression has no derivative.
pub(super) struct Refused {
    /// The end of the headline.
    pub why: String,
    pub at: Span,
    pub help: String,
}

impl Refused {
    /// The definition depends on its own derivative.
    pub(super) fn own(name: &str, at: Span) -> Refused {
        let help = format!(
            "a definition names a value; for a differential equation, declare `state {name} = ...` with its initial \
             value and write the equation for `{name}'`"
        );
        Refused { why: "its value depends on its own derivative".to_owned(), at, help }
    }

    /// Derivatives of higher order than any use.
    pub(super) fn deep(at: Span) -> Refused {
        let why = format!("it needs more than {MAX_PRIMES} nested derivatives of definitions");
        Refused { why, at, help: "write one of the definitions in between without derivatives".to_owned() }
    }
}

/// A separate list of terms, operands first, and the derivative of each.
pub(super) struct Slopes<'m, 'a> {
    maker: &'m mut Maker<'a>,
    terms: Vec<Term>,
    /// The first terms, by their content.
    written: HashMap<String, TermId>,
    /// The derivative of each first term; `None` is zero.
    of: Vec<Option<TermId>>,
    /// The location of a jump of each first term.
    jumps: Vec<Option<(Span, String)>>,
    /// Choices that may jump.
    doubtful: Vec<Span>,
}

impl<'m, 'a> Slopes<'m, 'a> {
    /// The derivative of an expression as a new expression, and the choices that may jump.
    pub(super) fn of(maker: &'m mut Maker<'a>, body: Body) -> Result<(Body, Vec<Span>), Refused> {
        let mut slopes = Slopes {
            maker,
            terms: Vec::new(),
            written: HashMap::new(),
            of: Vec::new(),
            jumps: Vec::new(),
            doubtful: Vec::new(),
        };
        let root = slopes.write_out(body, &[], 0)?;
        for id in 0..slopes.terms.len() {
            let id = TermId(id as u32);
            let slope = slopes.slope(id)?;
            slopes.of.push(slope);
        }
        if let Some((at, why)) = slopes.jumps[root.index()].clone() {
            let help = "give the continuous part its own name, and take the derivative of that";
            return Err(Refused { why, at, help: help.to_owned() });
        }
        let span = slopes.terms[root.index()].span;
        let root = match slopes.of[root.index()] {
            Some(root) => root,
            None => slopes.push(TermKind::Number(0.0), span),
        };
        Ok((slopes.keep(root), slopes.doubtful))
    }

    /// The term of this kind. Equal terms are shared.
    fn known(&mut self, kind: TermKind, span: Span) -> TermId {
        let key = format!("{kind:?}");
        if let Some(&id) = self.written.get(&key) {
            return id;
        }
        let id = self.push(kind, span);
        self.written.insert(key, id);
        id
    }

    fn push(&mut self, kind: TermKind, span: Span) -> TermId {
        self.terms.push(Term { kind, span });
        TermId(self.terms.len() as u32 - 1)
    }

    fn model(&self) -> &Model {
        self.maker.model
    }

    /// The terms of a body, appended to the list, with calls replaced by their bodies.
    fn write_out(&mut self, body: Body, arguments: &[TermId], depth: usize) -> Result<TermId, Refused> {
        let old: Vec<Term> = self.model().terms[body.range()].to_vec();
        let mut live = vec![false; old.len()];
        let at = |id: TermId| id.index() - body.start as usize;
        live[at(body.root)] = true;
        for i in (0..old.len()).rev().filter(|&i| i <= at(body.root)) {
            if live[i] {
                operands(&old[i].kind, |o| live[at(o)] = true);
            }
        }
        let mut new = vec![TermId(0); old.len()];
        for (i, term) in old.into_iter().enumerate().filter(|(i, _)| live[*i]) {
            if self.terms.len() as u64 > MAX_INLINED_TERMS || depth > MAX_NESTING {
                let help = "give the common part of its functions its own name".to_owned();
                return Err(Refused { why: "its functions expand to too many terms".to_owned(), at: term.span, help });
            }
            let Term { mut kind, span } = term;
            map_operands(&mut kind, |o| new[at(o)]);
            new[i] = match kind {
                TermKind::Argument(k) => arguments.get(k).copied().unwrap_or(TermId(0)),
                TermKind::Call(function, list) => {
                    let value = self.model().functions[function].value;
                    self.write_out(value, &list, depth + 1)?
                }
                kind => self.known(kind, span),
            };
        }
        Ok(new[at(body.root)])
    }

    /// The derivative of a term whose operands have known derivatives.
    fn slope(&mut self, id: TermId) -> Result<Option<TermId>, Refused> {
        let Term { kind, span } = self.terms[id.index()].clone();
        let mut jump = None;
        let slope = match &kind {
            TermKind::Time => Some(self.push(TermKind::Number(1.0), span)),
            TermKind::State(state, order) | TermKind::Element(Symbol::State(state), order, _) => {
                let rate = self.rate(&kind, *state, *order, span)?;
                Some(self.push(rate, span))
            }
            TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..) => {
                let varies = self.varies(*i);
                let slope = varies.then(|| read(&kind, Symbol::Definition(self.maker.ask(DerivedKind::Slope(*i))), 0));
                slope.map(|slope| self.push(slope, span))
            }
            TermKind::Discrete(i) | TermKind::Element(Symbol::Discrete(i), ..) => {
                let name = &self.model().discretes[*i].name;
                jump = Some((span, format!("events change `{name}`, which then jumps")));
                None
            }
            TermKind::Input(input, argument) => {
                let input = &self.model().inputs[*input];
                if self.of[argument.index()].is_none() && self.jumps[argument.index()].is_none() {
                    None
                } else {
                    let why =
                        format!("it reads the input `{}`, and odec does not form the slope of an input", input.name);
                    let help = "read the slope from the table as another input with its own column";
                    return Err(Refused { why, at: span, help: help.to_owned() });
                }
            }
            TermKind::Apply(op, list) => {
                let list = &list[..usize::from(op.0.arity)];
                jump = self.jump_of(*op, list, span);
                if jump.is_some() { None } else { self.applied(id, *op, list, span) }
            }
            TermKind::Reduce { reduction, condition, body, locals } => {
                let inside = [Some(*body), *condition].into_iter().flatten();
                jump = inside.clone().find_map(|o| self.jumps[o.index()].clone());
                let varies = inside.clone().any(|o| self.of[o.index()].is_some());
                match (self.of[body.index()], reduction) {
                    _ if !varies => None,
                    (Some(slope), Reduction::Sum) if condition.is_none_or(|c| self.of[c.index()].is_none()) => {
                        let kind = TermKind::Reduce {
                            reduction: Reduction::Sum,
                            locals: locals.clone(),
                            condition: *condition,
                            body: slope,
                        };
                        Some(self.push(kind, span))
                    }
                    _ => {
                        let word = reduction.word();
                        let why = format!("it is a `{word}` whose terms or condition change with time");
                        let help = "odec differentiates no reductions except sums over fixed elements";
                        return Err(Refused { why, at: span, help: help.to_owned() });
                    }
                }
            }
            _ => None,
        };
        self.jumps.push(jump);
        Ok(slope)
    }

    /// Location and reason of a jump in the value of an operation.
    fn jump_of(&mut self, op: Op, list: &[TermId], span: Span) -> Option<(Span, String)> {
        let varies = |s: &Self, o: TermId| s.of[o.index()].is_some() || s.jumps[o.index()].is_some();
        if op.0.name == "if" {
            let (condition, branches) = (list[0], &list[1..]);
            if let Some(jump) = branches.iter().find_map(|o| self.jumps[o.index()].clone()) {
                return Some(jump);
            }
            if !varies(self, condition) {
                return None;
            }
            return match jumps::of_choice(&self.terms, condition, [list[1], list[2]]) {
                jumps::Continuity::Continuous => None,
                jumps::Continuity::Jumps => Some((span, "its value jumps where the condition changes".to_owned())),
                jumps::Continuity::Unknown => {
                    self.doubtful.push(span);
                    None
                }
            };
        }
        if jumps::STEPS.contains(&op.0.name) {
            let stepped = list.iter().any(|&o| varies(self, o));
            return stepped.then(|| (span, jumps::reason(op.0.name)));
        }
        list.iter().find_map(|o| self.jumps[o.index()].clone())
    }

    /// The derivative of an operation by the rules of the kernels.
    fn applied(&mut self, id: TermId, op: Op, list: &[TermId], span: Span) -> Option<TermId> {
        if list.iter().all(|o| self.of[o.index()].is_none()) {
            return None;
        }
        let mut graph = Graph::default();
        let leaf = |graph: &mut Graph, k: usize| graph.read(Element::Scalar(ArrayId(k as u32)));
        let arguments: Vec<NodeId> = (0..list.len()).map(|k| leaf(&mut graph, k)).collect();
        let mut tangents: Vec<Option<NodeId>> = vec![None; arguments.len()];
        for k in (0..list.len()).filter(|&k| self.of[list[k].index()].is_some()) {
            tangents[arguments[k].index()] = Some(leaf(&mut graph, list.len() + k));
        }
        let call = graph.call(op, &arguments);
        let node = graph.node(call);
        let slope = call_tangent(&mut graph, call, node, &tangents)?;
        // back to terms
        let live: Vec<(NodeId, Node)> = graph.live([slope]).collect();
        let mut terms: Vec<TermId> = vec![TermId(0); graph.len()];
        for (node_id, node) in live {
            terms[node_id.index()] = match node {
                _ if node_id == call => id,
                Node::Read(Element::Scalar(ArrayId(k))) if (k as usize) < list.len() => list[k as usize],
                Node::Read(Element::Scalar(ArrayId(k))) => {
                    let slope = list.get(k as usize - list.len()).and_then(|o| self.of[o.index()]);
                    slope.unwrap_or(id)
                }
                Node::Constant(bits) => self.push(TermKind::Number(f64::from_bits(bits)), span),
                Node::Call(op, args) => {
                    let args = args.map(|a| terms[a.index()]);
                    self.push(TermKind::Apply(op, args), span)
                }
                _ => id,
            };
        }
        Some(terms[slope.index()])
    }

    /// The derivative of a state or of one of its derivatives.
    fn rate(&mut self, kind: &TermKind, state: usize, order: u8, span: Span) -> Result<TermKind, Refused> {
        let of = &self.model().states[state];
        let name = of.derivative(order);
        if of.algebraic {
            let why = format!("it reads the unknown `{name}`, and no equation determines its derivative");
            let help = format!("declare `state {name} = ...` with an equation for `{name}'`, or remove it");
            return Err(Refused { why, at: span, help });
        }
        let highest = self.maker.order_of(state);
        let side = self.maker.equation_of(state).filter(|_| !self.maker.kept.contains(&state));
        let whole = match kind {
            TermKind::Element(_, _, subscripts) => self.is_whole(state, subscripts),
            _ => true,
        };
        if order + 1 < highest {
            return Ok(read(kind, Symbol::State(state), order + 1));
        }
        if order + 1 > highest {
            let why = format!("it reads `{name}`, and no equation determines its derivative");
            let help =
                format!("the equations determine `{name}`; give an equation for `{name}'` instead, or remove a prime");
            return Err(Refused { why, at: span, help });
        }
        Ok(match side {
            Some(_) if whole => read(kind, Symbol::Definition(self.maker.ask(DerivedKind::Side(state))), 0),
            _ => read(kind, Symbol::State(state), order + 1),
        })
    }

    /// True if the subscripts are plain indices over the axes of the state, so that nothing outside is read.
    fn is_whole(&self, state: usize, subscripts: &[TermId]) -> bool {
        let model = self.model();
        let axes = &model.states[state].indexed.axes;
        subscripts.iter().zip(axes).all(|(s, axis)| match self.terms[s.index()].kind {
            TermKind::Index(local) => model.locals[local].range == *axis,
            _ => false,
        })
    }

    /// True if a definition depends on time or on varying quantities.
    fn varies(&self, definition: usize) -> bool {
        if let Some(Some(known)) = self.maker.varies.get(definition) {
            return *known;
        }
        let model = self.model();
        // a requested definition that does not exist yet is the derivative of a varying quantity
        let Some(first) = model.definitions.get(definition) else { return true };
        let mut seen = HashSet::from([definition]);
        let mut open = vec![first.value];
        while let Some(body) = open.pop() {
            for term in &model.terms[body.range()] {
                match &term.kind {
                    kind if is_varying(kind) => return true,
                    kind => {
                        let next = Model::definition_read(kind).filter(|&d| seen.insert(d));
                        if next.is_some_and(|d| d >= model.definitions.len()) {
                            return true;
                        }
                        open.extend(next.map(|d| model.definitions[d].value));
                    }
                }
            }
        }
        false
    }

    /// Copies a term and its operands into the model.
    fn keep(&mut self, root: TermId) -> Body {
        let mut needed = vec![false; self.terms.len()];
        needed[root.index()] = true;
        for i in (0..=root.index()).rev() {
            if needed[i] {
                operands(&self.terms[i].kind, |o| needed[o.index()] = true);
            }
        }
        let start = self.model().terms.len() as u32;
        let mut new = vec![TermId(0); self.terms.len()];
        let terms = std::mem::take(&mut self.terms);
        for (i, mut term) in terms.into_iter().enumerate().filter(|(i, _)| needed[*i]) {
            map_operands(&mut term.kind, |o| new[o.index()]);
            new[i] = TermId(self.model().terms.len() as u32);
            self.maker.model.terms.push(term);
        }
        Body { start, end: self.model().terms.len() as u32, root: new[root.index()] }
    }
}
