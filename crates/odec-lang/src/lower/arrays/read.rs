//! Reads: elements of arrays, definitions with their subscripts put in, and what is there where a subscript leaves its axis.

use odec_ir::builtin::logic;
use odec_ir::nest::{Access, Affine, AxisId, Edge, Margin, Part, Sub, Subscript};
use odec_ir::{ArrayId, NodeId, Span};

use super::index::{Equal, IndexValue};
use super::scribe::{Context, ContextId, Key, Kind, Known, Outcome, Phase, Scribe, Step};
use crate::model::{Opened, Place, Symbol, TermId};

/// Something that is read: an array of the program, or an expression with indices.
enum Source {
    Array(ArrayId),
    Body(TermId, Vec<usize>),
    /// The highest derivative of a state, which is one of those that are solved for together.
    Rate(ArrayId),
}

/// A value with the condition (a node of the guards) under which it is the one.
struct Case {
    condition: NodeId,
    key: Key,
}

impl Scribe<'_, '_> {
    /// An element of a symbol where it is used.
    pub fn read(&mut self, symbol: Symbol, order: u8, subs: &[IndexValue], context: ContextId, span: Span) -> Outcome {
        let model = self.world.model;
        let source = match symbol {
            Symbol::State(i) if order >= model.states[i].order => {
                if !self.world.coupled.contains(&i) {
                    // What a table names was checked when it was loaded.
                    let leaves = self.leaves(symbol, subs).iter().any(|&k| subs[k].as_affine().is_some());
                    if !leaves || self.phase == Phase::Start || self.is_own(i, subs, context) {
                        return self.rate(i, subs, context, span);
                    }
                    self.world.wanted.insert(i);
                }
                Source::Rate(self.world.top(i))
            }
            Symbol::State(i) if self.phase == Phase::Start => {
                let state = &model.states[i];
                Source::Body(state.initial[usize::from(order)].root, state.indexed.locals.clone())
            }
            Symbol::State(i) => Source::Array(self.world.state(i, order)),
            Symbol::Definition(d) => {
                let definition = &model.definitions[d];
                Source::Body(definition.value.root, definition.indexed.locals.clone())
            }
            Symbol::Parameter(i) => Source::Array(self.world.parameters[i]),
            Symbol::Constant(i) => Source::Array(self.world.constants[i]),
            Symbol::Time | Symbol::Index(_) => {
                let node = self.graph.time();
                return Ok(Step::Done(Known::Node(node)));
            }
        };
        let axes = self.world.axes(symbol);
        if let Some(outcome) = self.whole_start(symbol, order, subs) {
            return outcome;
        }
        // Where may it leave an axis, and what is there?
        let outside = self.leaves(symbol, subs);
        let bounded = self.at(context).bounded.contains(&(symbol, order));
        let boundaries = if outside.is_empty() || bounded { Vec::new() } else { self.boundaries(symbol, order, subs) };
        let ruled = |k: usize| {
            axes[k].1.is_some()
                || boundaries.iter().any(|&b| matches!(self.world.model.boundaries[b].place[k], Place::At(_)))
        };
        let ruled: Vec<usize> = outside.iter().copied().filter(|&k| ruled(k)).collect();
        let margin = |k: usize| self.margin(&subs[k]);
        if self.part == Part::Interior && ruled.iter().all(|&k| margin(k)) {
            for &k in &ruled {
                let axis = axes[k].0;
                if let Some(sub) = subs[k].as_affine().cloned() {
                    self.bound(Margin { sub, axis });
                }
            }
            let unsafe_axes = outside.len() > ruled.len();
            return self.plain(&source, symbol, order, subs, &axes, &[], unsafe_axes, context);
        }
        self.cases(&source, symbol, order, subs, &axes, &outside, &boundaries, context)
    }

    /// The axes of a symbol that these subscripts may leave.
    fn leaves(&self, symbol: Symbol, subs: &[IndexValue]) -> Vec<usize> {
        let facts = self.facts();
        let axes = self.world.axes(symbol);
        let leaves = |k: usize| {
            let axis = &self.world.sizes.axes[axes[k].0.0 as usize];
            let fits = |a: &Affine| facts.inside(a, &axis.first, &axis.last);
            // A subscript that wraps at this very axis is inside of it by its edge.
            !subs[k].as_affine().is_some_and(fits)
        };
        (0..axes.len()).filter(|&k| leaves(k)).collect()
    }

    /// A subscript that can bound an interior: it follows an iteration loop.
    fn margin(&self, value: &IndexValue) -> bool {
        let affine = value.as_affine().filter(|_| value.wrap.is_none());
        affine.is_some_and(|a| a.loops.iter().any(|(l, _)| self.iterates.contains(l)))
    }

    /// A start value that was replaced for all elements, but for those that were replaced by themselves.
    fn whole_start(&mut self, symbol: Symbol, order: u8, subs: &[IndexValue]) -> Option<Outcome> {
        let Symbol::State(i) = symbol else { return None };
        if self.phase != Phase::Start {
            return None;
        }
        let given = self.world.values.initial.iter().rev().find(|g| (g.0, g.1) == (i, order))?.2;
        let node = self.opened(i, order, None).unwrap_or_else(|| self.graph.constant(given));
        Some(Ok(Step::Done(Known::Node(self.replaced(node, i, order, subs)))))
    }

    /// Boundaries of an array that may concern these subscripts.
    fn boundaries(&self, symbol: Symbol, order: u8, subs: &[IndexValue]) -> Vec<usize> {
        let facts = self.facts();
        let concerns = |b: &usize| {
            let boundary = &self.world.model.boundaries[*b];
            let concerned = (boundary.array, boundary.order) == (symbol, order)
                || self.world.model.follows(boundary, symbol, order);
            concerned
                && self.world.boundaries[*b].iter().zip(subs).all(|(place, value)| match (place, value.as_affine()) {
                    (PlaceAt::At(at), Some(sub)) => facts.compare(sub, at) != Equal::Never,
                    _ => true,
                })
        };
        let mut found: Vec<usize> = (0..self.world.model.boundaries.len()).filter(concerns).collect();
        // What is said of the derivative itself comes first.
        found.sort_by_key(|&b| self.world.model.boundaries[b].order != order);
        found
    }

    /// The value with every rule of an edge, as a chain of choices.
    #[allow(clippy::too_many_arguments)]
    fn cases(
        &mut self,
        source: &Source,
        symbol: Symbol,
        order: u8,
        subs: &[IndexValue],
        axes: &[(AxisId, Option<Edge>)],
        outside: &[usize],
        boundaries: &[usize],
        context: ContextId,
    ) -> Outcome {
        let model = self.world.model;
        let mut cases: Vec<Case> = Vec::new();
        let mut others: Vec<NodeId> = Vec::new();
        let mut always = None;
        for &b in boundaries {
            let mut conditions = Vec::new();
            let mut locals = Vec::new();
            for (k, place) in self.world.boundaries[b].clone().into_iter().enumerate() {
                match place {
                    PlaceAt::At(at) => {
                        let sure = subs[k].as_affine().map(|sub| self.facts().compare(sub, &at));
                        if sure != Some(Equal::Always) {
                            let (x, y) = (self.number(&subs[k]), self.affine_node(&at));
                            conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
                        }
                    }
                    PlaceAt::Each { local, first, last } => {
                        let mut value = subs[k].clone();
                        match (axes[k].1, outside.contains(&k)) {
                            (Some(edge), true) => value.wrap = Some((axes[k].0, edge)),
                            _ => conditions.extend(self.within(&value, &first, &last)),
                        }
                        locals.push((local, value));
                    }
                }
            }
            let condition = self.all(&conditions);
            self.edge_guards.extend(condition);
            let mut inner = Context { locals, ..Context::default() };
            inner.guards.clone_from(&self.at(context).guards);
            inner.bounded.clone_from(&self.at(context).bounded);
            inner.bounded.push((symbol, order));
            inner.equation = self.at(context).equation;
            inner.guards.extend(condition);
            let inner = self.context(inner);
            let kind = if model.boundaries[b].order == order { Kind::Value } else { Kind::Slope };
            let key = (kind, model.boundaries[b].value.root, inner);
            match condition {
                None => {
                    always.get_or_insert(key);
                }
                Some(condition) => {
                    cases.push(Case { condition, key });
                    others.push(condition);
                }
            }
        }
        if let Some(key) = always {
            return self.same(key);
        }
        // A definition at a clamped subscript is the one at the end of the axis.
        let mut subs = subs.to_vec();
        if matches!(source, Source::Body(..)) {
            for &k in outside {
                let (axis, Some(edge)) = axes[k] else { continue };
                if edge == Edge::Periodic {
                    subs[k].wrap = Some((axis, edge));
                    continue;
                }
                let (first, last) = {
                    let axis = &self.world.sizes.axes[axis.0 as usize];
                    (axis.first.clone(), axis.last.clone())
                };
                let (low, high) = match subs[k].as_affine() {
                    Some(a) => (self.facts().not_below(a, &first), self.facts().not_above(a, &last)),
                    None => (false, false),
                };
                let x = self.number(&subs[k]);
                for (at, below, never) in [(first, true, low), (last, false, high)] {
                    if never {
                        continue;
                    }
                    let y = self.affine_node(&at);
                    let pair = if below { [x, y] } else { [y, x] };
                    let condition = self.space.guards.apply(&logic::LT, &pair);
                    self.edge_guards.insert(condition);
                    let Source::Body(root, locals) = source else { continue };
                    let mut there = subs.clone();
                    there[k] = IndexValue::affine(at);
                    let under = self.under(context, condition);
                    let inner = self.inlined(locals, &there, axes, self.world.is_closed(symbol), under);
                    cases.push(Case { condition, key: (Kind::Value, *root, inner) });
                    others.push(condition);
                }
            }
        }
        let mut base = context;
        for &condition in &others {
            let not = self.space.guards.apply(&logic::NOT, &[condition]);
            self.edge_guards.insert(not);
            base = self.under(base, not);
        }
        let edges: Vec<usize> = outside.iter().copied().filter(|&k| axes[k].1.is_some()).collect();
        let unsafe_axes = outside.len() > edges.len();
        let last = match self.plain(source, symbol, order, &subs, axes, &edges, unsafe_axes, base)? {
            Step::Done(Known::Node(node)) => Ok(node),
            Step::Done(known) => return Ok(Step::Done(known)),
            Step::Needs(keys) => Err(keys),
        };
        let keys: Vec<Key> = cases.iter().map(|c| c.key).collect();
        let (nodes, last) = match (self.nodes(&keys), last) {
            (Ok(nodes), Ok(last)) => (nodes, last),
            (Err(Step::Needs(mut more)), last) => {
                more.extend(last.err().into_iter().flatten());
                return Ok(Step::Needs(more));
            }
            (_, Err(more)) => return Ok(Step::Needs(more)),
            (Err(step), _) => return Ok(step),
        };
        let mut node = last;
        for (case, value) in cases.iter().zip(nodes).rev() {
            let condition = self.copied(case.condition);
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        Ok(Step::Done(Known::Node(node)))
    }

    /// `first <= value <= last`, as far as it is not so anyway.
    pub fn within(&mut self, value: &IndexValue, first: &Affine, last: &Affine) -> Vec<NodeId> {
        let (low, high) = match value.as_affine() {
            Some(a) => (self.facts().not_below(a, first), self.facts().not_above(a, last)),
            None => (false, false),
        };
        let mut conditions = Vec::new();
        if !low || !high {
            let x = self.number(value);
            if !low {
                let y = self.affine_node(first);
                conditions.push(self.space.guards.apply(&logic::LE, &[y, x]));
            }
            if !high {
                let y = self.affine_node(last);
                conditions.push(self.space.guards.apply(&logic::LE, &[x, y]));
            }
        }
        conditions
    }

    /// All of these conditions; `None` if there is none.
    pub fn all(&mut self, conditions: &[NodeId]) -> Option<NodeId> {
        let guards = &mut self.space.guards;
        conditions.iter().copied().reduce(|a, b| guards.apply(&logic::AND, &[a, b]))
    }

    /// The context of a definition at these subscripts.
    fn inlined(
        &mut self,
        locals: &[usize],
        subs: &[IndexValue],
        axes: &[(AxisId, Option<Edge>)],
        closed: bool,
        context: ContextId,
    ) -> ContextId {
        let mut inner =
            Context { locals: locals.iter().copied().zip(subs.iter().cloned()).collect(), ..Context::default() };
        inner.guards.clone_from(&self.at(context).guards);
        if closed {
            // What it reads exists wherever it does itself, however it is come by.
            inner.guards = self.existence(subs, axes);
        } else if axes.is_empty() {
            // The value is the same everywhere: only what holds everywhere counts.
            let fixed = |g: &NodeId| {
                let mut loops = Vec::new();
                self.loops_of_guard(*g, &mut loops);
                loops.is_empty()
            };
            inner.guards.retain(fixed);
        }
        inner.bounded.clone_from(&self.at(context).bounded);
        self.context(inner)
    }

    /// Conditions under which an element exists, as far as it may not. What an edge brings in again exists.
    fn existence(&mut self, subs: &[IndexValue], axes: &[(AxisId, Option<Edge>)]) -> Vec<NodeId> {
        let mut conditions = Vec::new();
        for (value, &(axis, _)) in subs.iter().zip(axes) {
            if value.wrap.is_none_or(|(other, _)| other != axis) {
                let axis = &self.world.sizes.axes[axis.0 as usize];
                let (first, last) = (axis.first.clone(), axis.last.clone());
                conditions.extend(self.within(value, &first, &last));
            }
        }
        self.edge_guards.extend(conditions.iter().copied());
        conditions
    }

    /// The element itself. `edges` are the axes whose rule it follows; the others are in range, but for `unsafe_axes`
    /// where a condition says so.
    #[allow(clippy::too_many_arguments)]
    fn plain(
        &mut self,
        source: &Source,
        symbol: Symbol,
        order: u8,
        subs: &[IndexValue],
        axes: &[(AxisId, Option<Edge>)],
        edges: &[usize],
        unsafe_axes: bool,
        context: ContextId,
    ) -> Outcome {
        match source {
            Source::Body(root, locals) => {
                let inner = self.inlined(locals, subs, axes, self.world.is_closed(symbol), context);
                let key = (Kind::Value, *root, inner);
                if self.phase == Phase::Start
                    && let Symbol::State(i) = symbol
                {
                    return self.start_element(i, order, subs, key);
                }
                self.same(key)
            }
            Source::Array(array) | Source::Rate(array) => {
                let mut subscripts = Vec::with_capacity(subs.len());
                for (k, value) in subs.iter().enumerate() {
                    let edge = match (edges.contains(&k), value.wrap) {
                        (true, _) => axes[k].1.unwrap_or(Edge::Inside),
                        (false, Some((axis, edge))) if axis == axes[k].0 => edge,
                        _ => Edge::Inside,
                    };
                    subscripts.push(Subscript { sub: value.sub.clone(), edge });
                }
                let guard = match self.exists(subs, axes, edges, unsafe_axes, context) {
                    Some(conditions) => self.all(&conditions),
                    None => self.guard_of(&subscripts, unsafe_axes, context),
                };
                let access = self.space.intern(Access { array: *array, subs: subscripts, guard });
                let node = match source {
                    Source::Rate(_) => self.graph.direction(access),
                    _ => self.graph.read(access),
                };
                Ok(Step::Done(Known::Node(node)))
            }
        }
    }

    /// The conditions under which an element exists, where nothing but edges decides whether it is read: one guard for it,
    /// whichever way led here. The sizes were checked for that, unless two subscripts go with one index.
    fn exists(
        &mut self,
        subs: &[IndexValue],
        axes: &[(AxisId, Option<Edge>)],
        edges: &[usize],
        unsafe_axes: bool,
        context: ContextId,
    ) -> Option<Vec<NodeId>> {
        let mut loops = Vec::new();
        for value in subs {
            value.as_affine()?;
            value.loops(&mut loops);
        }
        let of_edges = self.at(context).guards.iter().all(|g| self.edge_guards.contains(g));
        let several = (1..loops.len()).any(|k| loops[..k].contains(&loops[k]));
        if !unsafe_axes || !of_edges || several {
            return None;
        }
        let others = (0..subs.len()).filter(|k| !edges.contains(k));
        let (subs, axes): (Vec<_>, Vec<_>) = others.map(|k| (subs[k].clone(), axes[k])).unzip();
        Some(self.existence(&subs, &axes))
    }

    /// The condition under which an element is read, if it may not exist elsewhere.
    fn guard_of(&mut self, subs: &[Subscript], unsafe_axes: bool, context: ContextId) -> Option<NodeId> {
        let guards = self.at(context).guards.clone();
        let mut loops = Vec::new();
        for s in subs {
            IndexValue { sub: s.sub.clone(), wrap: None }.loops(&mut loops);
        }
        if unsafe_axes && subs.iter().all(|s| matches!(s.sub, Sub::Affine(_))) {
            return self.all(&guards);
        }
        // Elements of tables are checked where they are used, but for conditions on the same table or the same point.
        let mut tables = Vec::new();
        subs.iter().for_each(|s| tables_of(&s.sub, &mut tables));
        if tables.is_empty() {
            return None;
        }
        let concerns = |&g: &NodeId| {
            let mut own = Vec::new();
            self.loops_of_guard(g, &mut own);
            own.iter().all(|l| loops.contains(l)) || self.arrays_of_guard(g).iter().any(|a| tables.contains(a))
        };
        let kept: Vec<NodeId> = guards.iter().copied().filter(concerns).collect();
        self.all(&kept)
    }

    /// A start value, with those of single elements that were replaced.
    fn start_element(&mut self, state: usize, order: u8, subs: &[IndexValue], key: Key) -> Outcome {
        let node = match self.same(key)? {
            Step::Done(Known::Node(node)) => node,
            other => return Ok(other),
        };
        let shifted = self.opened(state, order, None).map(|shift| self.graph.add(node, shift));
        let node = shifted.unwrap_or(node);
        Ok(Step::Done(Known::Node(self.replaced(node, state, order, subs))))
    }

    /// The parameter that stands for a start value, if one does.
    fn opened(&mut self, state: usize, order: u8, at: Option<&[i64]>) -> Option<NodeId> {
        let same = |o: &Opened| (o.state, o.order, o.at.as_deref()) == (state, order, at);
        let found = self.world.values.opened.iter().rposition(same)?;
        let array = self.world.arrays.opened[found];
        Some(self.scalar(array))
    }

    /// A start value where its element was not replaced by itself.
    fn replaced(&mut self, mut node: NodeId, state: usize, order: u8, subs: &[IndexValue]) -> NodeId {
        let given = self.world.values.elements.iter().filter(|e| (e.0, e.1) == (state, order));
        for (_, _, at, value) in given.cloned().collect::<Vec<_>>() {
            let mut conditions = Vec::new();
            for (sub, &at) in subs.iter().zip(&at) {
                let (x, y) = (self.number(sub), self.space.guards.constant(at as f64));
                conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
            }
            let Some(condition) = self.all(&conditions) else { continue };
            let condition = self.copied(condition);
            let value = self.opened(state, order, Some(&at)).unwrap_or_else(|| self.graph.constant(value));
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        node
    }
}

fn tables_of(sub: &Sub, found: &mut Vec<ArrayId>) {
    if let Sub::Lookup { table, subs, .. } = sub {
        found.push(*table);
        subs.iter().for_each(|s| tables_of(&s.sub, found));
    }
}

/// A [`Place`] with its numbers.
#[derive(Clone, Debug)]
pub(super) enum PlaceAt {
    Each { local: usize, first: Affine, last: Affine },
    At(Affine),
}
