//! Writes the expressions of the model out as nodes of one nest: definitions in place of their names with their subscripts
//! put in, conditions on indices as guards of what they protect. An explicit stack, no recursion.

use std::collections::{BTreeMap, HashSet};

use odec_ir::builtin::logic;
use odec_ir::graph::QuickMap;
use odec_ir::nest::{Access, AccessId, Affine, Edge, Element, Loop, LoopId, Margin, Part, Space, Sub, Subscript};
use odec_ir::{Graph, Node, NodeId, Span};

use super::World;
use super::index::{Facts, IndexValue};
use super::sizes::combine;
use crate::diagnostic::Diagnostic;
use crate::model::walk::MAX_INLINED_TERMS;
use crate::model::{Symbol, TermId, TermKind};
use crate::report::error;

/// Into what a term is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A node of the nest's graph.
    Value,
    /// A node of the graph of guards.
    Guard,
    /// A subscript.
    Index,
    /// The derivative of the value by time.
    Slope,
}

/// Position of a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContextId(pub u32);

/// A term where it is written out.
pub(super) type Key = (Kind, TermId, ContextId);

/// Where a term is written out: what its indices and arguments stand for, and under which conditions it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context {
    /// Elements of [`crate::Model::locals`] with what they stand for, ascending.
    pub locals: Vec<(usize, IndexValue)>,
    /// Arguments of the function whose body this is.
    pub arguments: Vec<NodeId>,
    /// Nodes of the graph of guards that hold here, ascending.
    pub guards: Vec<NodeId>,
    /// Arrays whose boundary value is being written out: it does not use a boundary of the same array again.
    pub bounded: Vec<(Symbol, u8)>,
    /// The equation that is being written out.
    pub equation: Option<usize>,
}

/// A term written out.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Node(NodeId),
    Index(IndexValue),
}

/// What became of a term.
pub(super) enum Step {
    Done(Known),
    /// These are needed before it.
    Needs(Vec<Key>),
}

pub(super) type Outcome = Result<Step, Box<Diagnostic>>;

/// What states stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Their start values.
    Start,
    /// Elements of the solver's state.
    Run,
}

/// One nest that is being written.
pub(super) struct Scribe<'w, 'm> {
    pub world: &'w mut World<'m>,
    pub phase: Phase,
    /// In an interior what bounds it becomes a margin; elsewhere every rule of an edge is written out.
    pub part: Part,
    pub space: Space,
    pub graph: Graph,
    pub margins: Vec<Margin>,
    /// What the margins say: expressions that are at least zero.
    held: Vec<Affine>,
    pub iterates: Vec<LoopId>,
    /// Conditions that edges made, not the model.
    pub edge_guards: HashSet<NodeId>,
    contexts: Vec<Context>,
    context_ids: QuickMap<Context, ContextId>,
    pub known: QuickMap<Key, Known>,
    pub fold_loops: Vec<LoopId>,
    copies: Vec<Option<NodeId>>,
    solved: BTreeMap<(usize, u32), NodeId>,
    steps: u64,
}

impl<'w, 'm> Scribe<'w, 'm> {
    pub fn new(world: &'w mut World<'m>, phase: Phase, part: Part) -> Scribe<'w, 'm> {
        Scribe {
            world,
            phase,
            part,
            space: Space::new(),
            graph: Graph::new(),
            margins: Vec::new(),
            held: Vec::new(),
            iterates: Vec::new(),
            edge_guards: HashSet::new(),
            contexts: Vec::new(),
            context_ids: QuickMap::default(),
            known: QuickMap::default(),
            fold_loops: Vec::new(),
            copies: Vec::new(),
            solved: BTreeMap::new(),
            steps: 0,
        }
    }

    /// The number of a context, once.
    pub fn context(&mut self, mut context: Context) -> ContextId {
        context.locals.sort_by_key(|l| l.0);
        context.guards.sort_unstable();
        context.guards.dedup();
        if let Some(&id) = self.context_ids.get(&context) {
            return id;
        }
        let id = ContextId(self.contexts.len() as u32);
        self.contexts.push(context.clone());
        self.context_ids.insert(context, id);
        id
    }

    pub fn at(&self, id: ContextId) -> &Context {
        &self.contexts[id.0 as usize]
    }

    /// A copy of a context with a further condition.
    pub fn under(&mut self, id: ContextId, guard: NodeId) -> ContextId {
        let mut context = self.at(id).clone();
        context.guards.push(guard);
        self.context(context)
    }

    pub fn facts(&self) -> Facts<'_> {
        Facts { loops: self.space.loops(), axes: self.world.sizes.declared_axes(), held: &self.held }
    }

    /// Bounds the interior.
    pub fn bound(&mut self, margin: Margin) {
        if self.margins.contains(&margin) {
            return;
        }
        let axis = &self.world.sizes.axes[margin.axis.0 as usize];
        self.held.extend(margin.sub.plus(&axis.first, -1));
        self.held.extend(axis.last.plus(&margin.sub, -1));
        // Where something is in range, the range is not empty.
        self.held.extend(axis.last.plus(&axis.first, -1));
        self.margins.push(margin);
    }

    /// Writes a term out.
    pub fn run(&mut self, key: Key) -> Result<Known, Box<Diagnostic>> {
        let mut stack = vec![key];
        while let Some(&top) = stack.last() {
            if self.known.contains_key(&top) {
                stack.pop();
                continue;
            }
            self.steps += 1;
            if self.steps > 4 * MAX_INLINED_TERMS || stack.len() as u64 > MAX_INLINED_TERMS {
                return Err(Box::new(self.too_large(key.1)));
            }
            let step = match top.0 {
                Kind::Value => self.value_step(top)?,
                Kind::Guard => self.guard_step(top)?,
                Kind::Index => self.index_step(top)?,
                Kind::Slope => match self.nodes(&[(Kind::Value, top.1, top.2)]) {
                    Err(step) => step,
                    Ok(nodes) => self.slope(nodes[0], self.world.model.term(top.1).span)?,
                },
            };
            match step {
                Step::Done(value) => {
                    self.known.insert(top, value);
                    stack.pop();
                }
                Step::Needs(keys) => stack.extend(keys.into_iter().rev()),
            }
        }
        Ok(self.known[&key].clone())
    }

    /// [`Scribe::run`] for a value.
    pub fn value(&mut self, term: TermId, context: ContextId) -> Result<NodeId, Box<Diagnostic>> {
        match self.run((Kind::Value, term, context))? {
            Known::Node(node) => Ok(node),
            Known::Index(_) => Ok(self.graph.constant(f64::NAN)),
        }
    }

    fn too_large(&self, term: TermId) -> Diagnostic {
        let headline = format!("the definitions and functions expand to more than {MAX_INLINED_TERMS} operations");
        error("E0509", headline, self.world.model.term(term).span, "while this was written out").help(
            "definitions that use definitions at several subscripts multiply: make one of them a state, or simplify it",
        )
    }

    /// The nodes of these keys, or what is needed for them.
    pub fn nodes(&self, keys: &[Key]) -> Result<Vec<NodeId>, Step> {
        let mut nodes = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for key in keys {
            match self.known.get(key) {
                Some(Known::Node(node)) => nodes.push(*node),
                Some(Known::Index(_)) => nodes.push(NodeId(0)),
                None => missing.push(*key),
            }
        }
        if missing.is_empty() { Ok(nodes) } else { Err(Step::Needs(missing)) }
    }

    /// The subscripts of these keys, or what is needed for them.
    pub fn indices(&self, keys: &[Key]) -> Result<Vec<IndexValue>, Step> {
        let mut values = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for key in keys {
            match self.known.get(key) {
                Some(Known::Index(value)) => values.push(value.clone()),
                Some(Known::Node(_)) => values.push(IndexValue::affine(Affine::constant(0))),
                None => missing.push(*key),
            }
        }
        if missing.is_empty() { Ok(values) } else { Err(Step::Needs(missing)) }
    }

    fn local(&self, local: usize, context: ContextId) -> IndexValue {
        let locals = &self.at(context).locals;
        match locals.binary_search_by_key(&local, |l| l.0) {
            Ok(at) => locals[at].1.clone(),
            Err(_) => IndexValue::affine(Affine::constant(0)),
        }
    }

    fn value_step(&mut self, (_, id, context): Key) -> Outcome {
        let model = self.world.model;
        let term = model.term(id);
        let done = |node| Ok(Step::Done(Known::Node(node)));
        match &term.kind {
            TermKind::Number(x) => done(self.graph.constant(*x)),
            TermKind::Time => done(self.graph.time()),
            TermKind::Constant(c) => {
                let node = self.constant_node(*c, false);
                done(node)
            }
            TermKind::Parameter(i) => {
                let node = self.scalar(self.world.parameters[*i]);
                done(node)
            }
            TermKind::Argument(i) => {
                let argument = self.at(context).arguments.get(*i).copied();
                let node = argument.unwrap_or_else(|| self.graph.constant(f64::NAN));
                done(node)
            }
            TermKind::Definition(i) => self.read(Symbol::Definition(*i), 0, &[], context, term.span),
            TermKind::State(i, k) => self.read(Symbol::State(*i), *k, &[], context, term.span),
            TermKind::Index(l) => {
                let value = self.local(*l, context);
                let node = self.number(&value);
                let node = self.copied(node);
                done(node)
            }
            TermKind::Apply(op, [c, a, b]) if op.0.name == "if" && self.world.guards(*c) => {
                self.choice(*c, *a, *b, context, term.span)
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                let keys: Vec<Key> = operands.iter().map(|&o| (Kind::Value, o, context)).collect();
                match self.nodes(&keys) {
                    Err(step) => Ok(step),
                    Ok(nodes) => {
                        let node = self.graph.call(*op, &nodes);
                        done(self.graph.with_span(node, term.span))
                    }
                }
            }
            TermKind::Call(function, operands) => {
                let keys: Vec<Key> = operands.iter().map(|&o| (Kind::Value, o, context)).collect();
                let arguments = match self.nodes(&keys) {
                    Err(step) => return Ok(step),
                    Ok(nodes) => nodes,
                };
                let inner = self.context(Context { arguments, ..Context::default() });
                self.same((Kind::Value, model.functions[*function].value.root, inner))
            }
            TermKind::Element(symbol, order, subscripts) => {
                let keys: Vec<Key> = subscripts.iter().map(|&s| (Kind::Index, s, context)).collect();
                match self.indices(&keys) {
                    Err(step) => Ok(step),
                    Ok(subs) => self.read(*symbol, *order, &subs, context, term.span),
                }
            }
            TermKind::Reduce { fold, locals, condition, body } => {
                self.reduce(*fold, locals, *condition, *body, context, term.span)
            }
        }
    }

    /// The value of another key.
    pub fn same(&self, key: Key) -> Outcome {
        Ok(match self.known.get(&key) {
            Some(known) => Step::Done(known.clone()),
            None => Step::Needs(vec![key]),
        })
    }

    /// A choice by a condition on indices: the branch that is not taken is not read.
    fn choice(&mut self, c: TermId, a: TermId, b: TermId, context: ContextId, span: Span) -> Outcome {
        let guard = match self.nodes(&[(Kind::Guard, c, context)]) {
            Err(step) => return Ok(step),
            Ok(nodes) => nodes[0],
        };
        if let Some(x) = self.space.guards.as_constant(guard) {
            return self.same((Kind::Value, if x != 0.0 { a } else { b }, context));
        }
        if let Some(holds) = self.settled_inside(guard) {
            return self.same((Kind::Value, if holds { a } else { b }, context));
        }
        let otherwise = self.space.guards.apply(&logic::NOT, &[guard]);
        let (then, other) = (self.under(context, guard), self.under(context, otherwise));
        match self.nodes(&[(Kind::Value, a, then), (Kind::Value, b, other)]) {
            Err(step) => Ok(step),
            Ok(nodes) => {
                let condition = self.copied(guard);
                let node = self.graph.apply(&logic::IF, &[condition, nodes[0], nodes[1]]);
                Ok(Step::Done(Known::Node(self.graph.with_span(node, span))))
            }
        }
    }

    fn guard_step(&mut self, (_, id, context): Key) -> Outcome {
        let model = self.world.model;
        let done = |node| Ok(Step::Done(Known::Node(node)));
        match &model.term(id).kind {
            TermKind::Number(x) => done(self.space.guards.constant(*x)),
            TermKind::Constant(c) => {
                let node = self.constant_node(*c, true);
                done(node)
            }
            TermKind::Index(l) => {
                let value = self.local(*l, context);
                done(self.number(&value))
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                let keys: Vec<Key> = operands.iter().map(|&o| (Kind::Guard, o, context)).collect();
                match self.nodes(&keys) {
                    Err(step) => Ok(step),
                    Ok(nodes) => done(self.space.guards.call(*op, &nodes)),
                }
            }
            TermKind::Definition(i) => {
                let inner = self.context(Context::default());
                self.same((Kind::Guard, model.definitions[*i].value.root, inner))
            }
            TermKind::Element(symbol, _, subscripts) => {
                let keys: Vec<Key> = subscripts.iter().map(|&s| (Kind::Index, s, context)).collect();
                let subs = match self.indices(&keys) {
                    Err(step) => return Ok(step),
                    Ok(subs) => subs,
                };
                match *symbol {
                    Symbol::Definition(d) => {
                        let definition = &model.definitions[d];
                        let locals = definition.indexed.locals.iter().copied().zip(subs).collect();
                        let inner = self.context(Context { locals, ..Context::default() });
                        self.same((Kind::Guard, definition.value.root, inner))
                    }
                    Symbol::Constant(c) => {
                        let access = self.table(c, &subs);
                        let id = self.space.intern(access);
                        done(self.space.guards.read(id))
                    }
                    _ => done(self.space.guards.constant(f64::NAN)),
                }
            }
            // Other terms are no conditions on indices, and were not asked for.
            _ => done(self.space.guards.constant(f64::NAN)),
        }
    }

    fn index_step(&mut self, (_, id, context): Key) -> Outcome {
        let model = self.world.model;
        let term = model.term(id);
        let done = |value| Ok(Step::Done(Known::Index(value)));
        let world = &mut *self.world;
        if let Some(affine) = world.sizes.leaf(&mut world.arrays, &term.kind, term.span)? {
            return done(IndexValue::affine(affine));
        }
        match &term.kind {
            TermKind::Index(l) => {
                let value = self.local(*l, context);
                done(value)
            }
            TermKind::Apply(op, _)
                if !self.world.has_index(id) && !matches!(op.0.name, "add" | "sub" | "mul" | "neg") =>
            {
                let world = &mut *self.world;
                let affine = world.sizes.compound(&mut world.arrays, id)?;
                done(IndexValue::affine(affine))
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                let keys: Vec<Key> = operands.iter().map(|&o| (Kind::Index, o, context)).collect();
                let values = match self.indices(&keys) {
                    Err(step) => return Ok(step),
                    Ok(values) => values,
                };
                match combined(op.0.name, &values) {
                    Some(value) => done(value),
                    None if !self.world.has_index(id) => {
                        let world = &mut *self.world;
                        let affine = world.sizes.compound(&mut world.arrays, id)?;
                        done(IndexValue::affine(affine))
                    }
                    None => Err(Box::new(not_linear(term.span))),
                }
            }
            TermKind::Definition(i) => {
                let inner = self.context(Context::default());
                self.same((Kind::Index, model.definitions[*i].value.root, inner))
            }
            TermKind::Element(symbol, _, subscripts) => {
                let keys: Vec<Key> = subscripts.iter().map(|&s| (Kind::Index, s, context)).collect();
                let subs = match self.indices(&keys) {
                    Err(step) => return Ok(step),
                    Ok(subs) => subs,
                };
                match *symbol {
                    Symbol::Definition(d) => {
                        let definition = &model.definitions[d];
                        let locals = definition.indexed.locals.iter().copied().zip(subs).collect();
                        let inner = self.context(Context { locals, ..Context::default() });
                        self.same((Kind::Index, definition.value.root, inner))
                    }
                    Symbol::Constant(c) => {
                        let Access { array, subs, .. } = self.table(c, &subs);
                        done(IndexValue { sub: Sub::Lookup { table: array, subs, shift: 0 }, wrap: None })
                    }
                    _ => Err(Box::new(not_linear(term.span))),
                }
            }
            _ => Err(Box::new(not_linear(term.span))),
        }
    }

    /// An element of a table, for subscripts and guards.
    fn table(&self, constant: usize, subs: &[IndexValue]) -> Access {
        let axes = &self.world.constant_axes[constant];
        let facts = self.facts();
        let subscripts = subs.iter().zip(axes).map(|(value, &(axis, edge))| {
            let axis = &self.world.sizes.axes[axis.0 as usize];
            let inside = value.as_affine().is_some_and(|a| facts.inside(a, &axis.first, &axis.last));
            let edge = if inside { Edge::Inside } else { edge.unwrap_or(Edge::Inside) };
            Subscript { sub: value.sub.clone(), edge }
        });
        Access { array: self.world.constants[constant], subs: subscripts.collect(), guard: None }
    }

    /// A scalar of the program.
    pub fn scalar(&mut self, array: odec_ir::ArrayId) -> NodeId {
        let access = self.space.scalar(array);
        self.graph.read(access)
    }

    fn constant_node(&mut self, c: usize, guard: bool) -> NodeId {
        let size = self.world.sizes.varying(c);
        let access = size.map(|array| self.space.scalar(array));
        let graph = if guard { &mut self.space.guards } else { &mut self.graph };
        match access {
            Some(access) => graph.read(access),
            None => graph.constant(self.world.values.constants[c]),
        }
    }

    /// A subscript as a number, in the graph of guards.
    pub fn number(&mut self, value: &IndexValue) -> NodeId {
        let plain = match &value.sub {
            Sub::Affine(affine) => self.affine_node(affine),
            Sub::Lookup { table, subs, shift } => {
                let access = self.space.intern(Access { array: *table, subs: subs.clone(), guard: None });
                let guards = &mut self.space.guards;
                let element = guards.read(access);
                shifted(guards, element, *shift)
            }
        };
        let Some((axis, edge)) = value.wrap else { return plain };
        let axis = self.world.sizes.axes[axis.0 as usize].clone();
        let (first, last) = (self.affine_node(&axis.first), self.affine_node(&axis.last));
        let guards = &mut self.space.guards;
        let call = |g: &mut Graph, name: &str, a, b| match odec_ir::builtin::find(name) {
            Some(op) => g.call(op, &[a, b]),
            None => a,
        };
        match edge {
            Edge::Inside => plain,
            Edge::Clamp => {
                let low = call(guards, "max", plain, first);
                call(guards, "min", low, last)
            }
            Edge::Periodic => {
                let one = guards.constant(1.0);
                let span = guards.sub(last, first);
                let length = guards.add(span, one);
                let offset = guards.sub(plain, first);
                let inside = call(guards, "mod", offset, length);
                guards.add(inside, first)
            }
        }
    }

    /// An affine number as a node of the graph of guards.
    pub fn affine_node(&mut self, affine: &Affine) -> NodeId {
        let mut sum: Option<NodeId> = None;
        let extents: Vec<(AccessId, i64)> = affine
            .extents
            .iter()
            .map(|&(e, c)| {
                let scalar = self.world.sizes.scalar(e);
                (self.space.scalar(scalar), c)
            })
            .collect();
        let guards = &mut self.space.guards;
        let loops = affine.loops.iter().map(|&(l, c)| (Node::Index(l), c));
        let terms: Vec<(Node, i64)> =
            loops.chain(extents.into_iter().map(|(a, c)| (Node::Read(a.into()), c))).collect();
        for (leaf, c) in terms {
            let leaf = guards.insert(leaf);
            let factor = guards.constant(c.unsigned_abs() as f64);
            let term = guards.mul(factor, leaf);
            sum = Some(match (sum, c < 0) {
                (None, false) => term,
                (None, true) => guards.neg(term),
                (Some(s), false) => guards.add(s, term),
                (Some(s), true) => guards.sub(s, term),
            });
        }
        match sum {
            None => guards.constant(affine.constant as f64),
            Some(sum) => shifted(guards, sum, affine.constant),
        }
    }

    /// A node of the graph of guards in the graph of the nest. Their leaves are the same.
    pub fn copied(&mut self, root: NodeId) -> NodeId {
        self.copies.resize(self.space.guards.len(), None);
        let mut open = vec![root];
        while let Some(&top) = open.last() {
            if self.copies[top.index()].is_some() {
                open.pop();
                continue;
            }
            let node = self.space.guards.node(top);
            let missing: Vec<NodeId> =
                node.operands().iter().copied().filter(|o| self.copies[o.index()].is_none()).collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            let copy = match node {
                Node::Call(op, _) => {
                    let operands: Vec<NodeId> =
                        node.operands().iter().map(|o| self.copies[o.index()].unwrap_or(*o)).collect();
                    self.graph.call(op, &operands)
                }
                leaf => self.graph.insert(leaf),
            };
            self.copies[top.index()] = Some(copy);
            open.pop();
        }
        self.copies[root.index()].unwrap_or(root)
    }

    /// The loops that a context depends on.
    pub fn loops_in(&self, context: ContextId) -> Vec<LoopId> {
        let context = self.at(context);
        let mut found = Vec::new();
        for (_, value) in &context.locals {
            value.loops(&mut found);
        }
        for &guard in &context.guards {
            self.loops_of_guard(guard, &mut found);
        }
        if !context.arguments.is_empty() {
            for node in self.below(&self.graph, &context.arguments) {
                self.loops_of_leaf(node, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn loops_of_leaf(&self, node: Node, found: &mut Vec<LoopId>) {
        match node {
            Node::Index(l) => found.push(l),
            Node::Read(Element::At(access)) => found.extend(self.space.loops_of(access)),
            _ => {}
        }
    }

    /// The loops that a node of the graph of guards depends on.
    pub fn loops_of_guard(&self, guard: NodeId, found: &mut Vec<LoopId>) {
        for node in self.below(&self.space.guards, &[guard]) {
            self.loops_of_leaf(node, found);
        }
    }

    /// The tables that a node of the graph of guards reads.
    pub fn arrays_of_guard(&self, guard: NodeId) -> Vec<odec_ir::ArrayId> {
        let nodes = self.below(&self.space.guards, &[guard]);
        let arrays = nodes.into_iter().filter_map(|node| match node {
            Node::Read(Element::At(access)) => Some(self.space.access(access).array),
            _ => None,
        });
        arrays.collect()
    }

    /// Nodes that some depend on, themselves included, without following the rest of the graph.
    fn below(&self, graph: &Graph, roots: &[NodeId]) -> Vec<Node> {
        let mut seen = std::collections::HashSet::new();
        let mut open = roots.to_vec();
        let mut nodes = Vec::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let node = graph.node(id);
                open.extend(node.operands());
                nodes.push(node);
            }
        }
        nodes
    }

    /// Adds an iteration loop.
    pub fn iterate(&mut self, name: &str, first: Affine, last: Affine, span: Span) -> LoopId {
        let l = self.space.push_loop(Loop { name: name.to_owned(), first, last, span });
        self.iterates.push(l);
        l
    }

    /// A right side solved for the derivative, remembered by equation and context.
    pub fn solved(&mut self, equation: usize, context: ContextId) -> Option<NodeId> {
        self.solved.get(&(equation, context.0)).copied()
    }

    pub fn remember(&mut self, equation: usize, context: ContextId, node: NodeId) {
        self.solved.insert((equation, context.0), node);
    }
}

fn shifted(graph: &mut Graph, node: NodeId, by: i64) -> NodeId {
    let constant = graph.constant(by.unsigned_abs() as f64);
    match by {
        0 => node,
        1.. => graph.add(node, constant),
        _ => graph.sub(node, constant),
    }
}

/// Arithmetic of subscripts: affine expressions, and elements of tables with a shift.
fn combined(op: &str, values: &[IndexValue]) -> Option<IndexValue> {
    let wrap = values.iter().find_map(|v| v.wrap);
    let affine: Option<Vec<Affine>> = values.iter().map(|v| v.as_affine().cloned()).collect();
    if let Some(parts) = affine {
        return combine(op, &parts).map(|a| IndexValue { sub: Sub::Affine(a), wrap });
    }
    let [a, b] = values else { return None };
    let (lookup, number, sign) = match (&a.sub, &b.sub, op) {
        (lookup @ Sub::Lookup { .. }, Sub::Affine(number), "add") => (lookup, number, 1),
        (lookup @ Sub::Lookup { .. }, Sub::Affine(number), "sub") => (lookup, number, -1),
        (Sub::Affine(number), lookup @ Sub::Lookup { .. }, "add") => (lookup, number, 1),
        _ => return None,
    };
    let Sub::Lookup { table, subs, shift } = lookup else { return None };
    if !number.loops.is_empty() || !number.extents.is_empty() {
        return None;
    }
    let shift = shift.checked_add(number.constant.checked_mul(sign)?)?;
    Some(IndexValue { sub: Sub::Lookup { table: *table, subs: subs.clone(), shift }, wrap })
}

fn not_linear(span: Span) -> Diagnostic {
    error("E0519", "this cannot be a subscript", span, "neither linear in indices nor an element of a table")
        .help("a subscript is a sum of indices, constants and numbers (`i + 1`, `N - i`), or an element of a table of whole numbers (`nbr[e,k]`), which may have a formula: `const at[i] = floor(i/2)`")
}
