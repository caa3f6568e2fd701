//! Translates the expressions of the model to nodes of one kernel: definitions are expanded with their subscripts,
//! and conditions on indices become guards of the reads under them. An explicit stack replaces recursion.

mod numbers;
mod subscripts;
mod terms;

use std::collections::{BTreeMap, HashSet};

use odec_ir::graph::QuickMap;
use odec_ir::nest::{Access, Affine, Edge, Element, Loop, LoopId, Margin, Region, Space, Subscript};
use odec_ir::{ArrayId, Graph, NodeId, Span};

use super::index::{Facts, IndexValue};
use super::solve::Solved;
use super::world::LoweringContext;
use super::{Fallible, refuse};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::walk::MAX_INLINED_TERMS;
use crate::model::{Body, Symbol, TermId};
use crate::report::error;

/// The target form of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// A node of the kernel's graph.
    Value,
    /// A node of the graph of guards.
    Guard,
    /// A subscript.
    Subscript,
    /// The derivative of the value by time.
    Slope,
}

/// Position of a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContextId(pub u32);

/// The context of terms that are the same everywhere: no index, no argument, no condition.
pub(super) const PLAIN: ContextId = ContextId(0);

/// A term in its context.
pub(super) type Key = (Form, TermId, ContextId);

/// The highest derivatives that are leaves, because the equations are solved for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Unknown {
    /// None.
    #[default]
    Nothing,
    /// That of the element whose equation this is.
    Own(usize),
    /// All: the equations without indices are solved as one system.
    All,
}

/// The context in which a term is expanded: the values of its indices and arguments, and the conditions under which it
/// is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context {
    /// Elements of [`crate::Model::locals`] with their values, ascending.
    pub locals: Vec<(usize, IndexValue)>,
    /// Arguments of the function whose body this is.
    pub arguments: Vec<NodeId>,
    /// Nodes of the graph of guards that hold here, ascending.
    pub guards: Vec<NodeId>,
    /// Arrays whose boundary value is being expanded: it does not use a boundary of the same array again.
    pub bounded: Vec<(Symbol, u8)>,
    /// The unknown that the equation is solved for.
    pub unknown: Unknown,
}

/// The result for a term.
pub(super) enum Progress<T> {
    Done(T),
    /// These are needed before it.
    Needs(Vec<Key>),
}

pub(super) type Outcome<T = NodeId> = Fallible<Progress<T>>;

/// The value of a [`Progress`]; if it is missing, the function returns the nodes that are needed first.
macro_rules! ready {
    ($progress:expr) => {
        match $progress {
            Progress::Done(value) => value,
            Progress::Needs(keys) => return Ok(Progress::Needs(keys)),
        }
    };
}
pub(super) use ready;

/// The meaning of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Their initial values.
    Start,
    /// Elements of the solver's state.
    Run,
}

/// A kernel under construction.
pub(super) struct KernelBuilder<'w, 'm> {
    pub world: &'w mut LoweringContext<'m>,
    pub phase: Phase,
    /// In an interior, bounds become margins; elsewhere all edge rules are expanded.
    pub region: Region,
    pub space: Space,
    pub graph: Graph,
    pub margins: Vec<Margin>,
    /// Expressions that are at least zero because of the margins.
    held: Vec<Affine>,
    pub iterates: Vec<LoopId>,
    /// Conditions that come from edges, not from the model.
    pub edge_guards: HashSet<NodeId>,
    contexts: Vec<Context>,
    context_ids: QuickMap<Context, ContextId>,
    /// Values in the context [`PLAIN`], by term: almost all terms of a model without index sets.
    plain: Vec<Option<NodeId>>,
    nodes: QuickMap<Key, NodeId>,
    subscripts: QuickMap<(TermId, ContextId), IndexValue>,
    pub reduction_loops: Vec<LoopId>,
    copies: Vec<Option<NodeId>>,
    /// Right sides solved for the derivative, by equation and context.
    pub rates: BTreeMap<(usize, u32), NodeId>,
    /// The equations without indices, solved.
    pub system: Option<Solved>,
    steps: u64,
    inlined: u64,
}

impl<'w, 'm> KernelBuilder<'w, 'm> {
    pub fn new(world: &'w mut LoweringContext<'m>, phase: Phase, region: Region) -> KernelBuilder<'w, 'm> {
        let mut builder = KernelBuilder {
            world,
            phase,
            region,
            space: Space::new(),
            graph: Graph::new(),
            margins: Vec::new(),
            held: Vec::new(),
            iterates: Vec::new(),
            edge_guards: HashSet::new(),
            contexts: Vec::new(),
            context_ids: QuickMap::default(),
            plain: Vec::new(),
            nodes: QuickMap::default(),
            subscripts: QuickMap::default(),
            reduction_loops: Vec::new(),
            copies: Vec::new(),
            rates: BTreeMap::new(),
            system: None,
            steps: 0,
            inlined: 0,
        };
        builder.context(Context::default());
        builder
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
        Facts { loops: self.space.loops(), axes: self.world.extents.declared_axes(), held: &self.held }
    }

    /// Bounds the interior.
    pub fn bound(&mut self, margin: Margin) {
        if self.margins.contains(&margin) {
            return;
        }
        let axis = &self.world.extents.axes[margin.axis.0 as usize];
        self.held.extend(margin.sub.plus(&axis.first, -1));
        self.held.extend(axis.last.plus(&margin.sub, -1));
        // If a subscript is in range, the range is not empty.
        self.held.extend(axis.last.plus(&axis.first, -1));
        self.margins.push(margin);
    }

    /// Writes a term out.
    fn run(&mut self, key: Key) -> Fallible<()> {
        let mut stack = vec![key];
        while let Some(&top) = stack.last() {
            if self.is_known(&top) {
                stack.pop();
                continue;
            }
            self.count(&top)?;
            if stack.len() as u64 > MAX_INLINED_TERMS {
                return refuse(self.too_large(top.1));
            }
            let missing = match top.0 {
                Form::Subscript => match self.subscript_step(top)? {
                    Progress::Done(value) => {
                        self.subscripts.insert((top.1, top.2), value);
                        Vec::new()
                    }
                    Progress::Needs(keys) => keys,
                },
                _ => match self.node_step(top)? {
                    Progress::Done(node) => {
                        self.keep(top, node);
                        Vec::new()
                    }
                    Progress::Needs(keys) => keys,
                },
            };
            if missing.is_empty() {
                stack.pop();
            }
            stack.extend(missing.into_iter().rev());
        }
        Ok(())
    }

    fn node_step(&mut self, key: Key) -> Outcome {
        match key.0 {
            Form::Value => self.value_step(key),
            Form::Guard => self.guard_step(key),
            Form::Slope => {
                let node = ready!(self.same((Form::Value, key.1, key.2)));
                self.slope(node, self.world.model.term(key.1).span)
            }
            Form::Subscript => refuse(self.impossible("a subscript as a node", key.1)),
        }
    }

    /// Counts the steps to a term, except in the plain context, which has one step for each term.
    fn count(&mut self, key: &Key) -> Fallible<()> {
        if key.2 != PLAIN {
            self.steps += 1;
            self.inlined += u64::from(!self.at(key.2).arguments.is_empty());
            if self.steps > 4 * MAX_INLINED_TERMS || self.inlined > MAX_INLINED_TERMS {
                return refuse(self.too_large(key.1));
            }
        }
        Ok(())
    }

    fn too_large(&self, term: TermId) -> Diagnostic {
        let model = self.world.model;
        if let Some(f) = model.functions.iter().find(|f| f.value.range().contains(&term.index())) {
            let headline = format!("the functions expand to more than {MAX_INLINED_TERMS} operations");
            return error(&codes::E0509, headline, f.span, format!("while inlining `{}`", f.name))
                .help("odec inlines a function at every call: pass common parts as an argument, or use definitions");
        }
        let headline = format!("the definitions and functions expand to more than {MAX_INLINED_TERMS} operations");
        error(&codes::E0509, headline, model.term(term).span, "while expanding this").help(
            "definitions multiply if they use other definitions at several subscripts: make one of them a state, or \
             simplify it",
        )
    }

    /// The error for a term in an impossible place: a bug.
    pub fn impossible(&self, what: &str, term: TermId) -> Diagnostic {
        crate::report::internal(what, Some(self.world.model.term(term).span))
    }

    fn is_known(&self, key: &Key) -> bool {
        match key.0 {
            Form::Subscript => self.subscripts.contains_key(&(key.1, key.2)),
            _ => self.node(key).is_some(),
        }
    }

    /// The node of a key, if it was written out.
    fn node(&self, key: &Key) -> Option<NodeId> {
        match *key {
            (Form::Value, term, PLAIN) => self.plain.get(term.index()).copied().flatten(),
            _ => self.nodes.get(key).copied(),
        }
    }

    fn keep(&mut self, key: Key, node: NodeId) {
        match key {
            (Form::Value, term, PLAIN) => {
                if self.plain.is_empty() {
                    self.plain.resize(self.world.model.terms.len(), None);
                }
                self.plain[term.index()] = Some(node);
            }
            _ => {
                self.nodes.insert(key, node);
            }
        }
    }

    /// The nodes of these keys, or the nodes that are needed first.
    pub fn nodes(&self, keys: &[Key]) -> Progress<Vec<NodeId>> {
        let known: Option<Vec<NodeId>> = keys.iter().map(|key| self.node(key)).collect();
        known.map_or_else(|| Progress::Needs(self.unknown(keys)), Progress::Done)
    }

    fn unknown(&self, keys: &[Key]) -> Vec<Key> {
        keys.iter().copied().filter(|key| !self.is_known(key)).collect()
    }

    /// The node of another key.
    pub fn same(&self, key: Key) -> Progress<NodeId> {
        self.node(&key).map_or_else(|| Progress::Needs(vec![key]), Progress::Done)
    }

    /// These terms as subscripts, or the nodes that are needed first.
    pub fn subscripts(&self, terms: &[TermId], context: ContextId) -> Progress<Vec<IndexValue>> {
        let known: Option<Vec<IndexValue>> =
            terms.iter().map(|&term| self.subscripts.get(&(term, context)).cloned()).collect();
        let keys = || terms.iter().map(|&term| (Form::Subscript, term, context)).collect::<Vec<_>>();
        known.map_or_else(|| Progress::Needs(self.unknown(&keys())), Progress::Done)
    }

    /// Repeats a step until all its inputs are available.
    pub fn settle<T>(&mut self, mut step: impl FnMut(&mut Self) -> Outcome<T>) -> Fallible<T> {
        loop {
            match step(self)? {
                Progress::Done(value) => return Ok(value),
                Progress::Needs(keys) => {
                    for key in keys {
                        self.run(key)?;
                    }
                }
            }
        }
    }

    /// The value of a term.
    pub fn value(&mut self, term: TermId, context: ContextId) -> Fallible<NodeId> {
        self.settle(|s| Ok(s.same((Form::Value, term, context))))
    }

    /// A term as a guard.
    pub fn guard(&mut self, term: TermId, context: ContextId) -> Fallible<NodeId> {
        self.settle(|s| Ok(s.same((Form::Guard, term, context))))
    }

    /// A term as a subscript.
    pub fn subscript(&mut self, term: TermId, context: ContextId) -> Fallible<IndexValue> {
        let mut values = self.settle(|s| Ok(s.subscripts(&[term], context)))?;
        values.pop().map_or_else(|| refuse(self.impossible("a subscript without a value", term)), Ok)
    }

    /// The value of an expression. Without index sets its terms are written in their order, each once.
    pub fn body(&mut self, body: Body, context: ContextId) -> Fallible<NodeId> {
        if self.world.scalar {
            for i in body.start..body.end {
                let key = (Form::Value, TermId(i), context);
                if self.node(&key).is_none() {
                    let node = self.settle(|s| s.value_step(key))?;
                    self.keep(key, node);
                }
            }
        }
        self.value(body.root, context)
    }

    /// A scalar or an element; without index sets, the scalar itself at a known position.
    pub fn element(&mut self, array: ArrayId, subs: Vec<Subscript>, guard: Option<NodeId>) -> Element {
        if self.world.scalar {
            return Element::Scalar(array);
        }
        Element::At(self.space.intern(Access { array, subs, guard }))
    }

    /// The element at these subscripts, which are in range.
    pub fn at_place(&mut self, array: ArrayId, subs: &[IndexValue], guard: Option<NodeId>) -> Element {
        let subs = subs.iter().map(|v| Subscript { sub: v.sub.clone(), edge: Edge::Inside }).collect();
        self.element(array, subs, guard)
    }

    /// A scalar of the program.
    pub fn scalar(&mut self, array: ArrayId) -> Element {
        self.element(array, Vec::new(), None)
    }

    /// Adds an iteration loop.
    pub fn iterate(&mut self, name: &str, first: Affine, last: Affine, span: Span) -> LoopId {
        let l = self.space.push_loop(Loop { name: name.to_owned(), first, last, span });
        self.iterates.push(l);
        l
    }
}
