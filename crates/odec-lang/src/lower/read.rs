//! Reads: elements of arrays, and definitions expanded with their subscripts.

use odec_ir::nest::{Affine, AxisId, Edge, Margin, Region, Sub, Subscript};
use odec_ir::{ArrayId, NodeId, Span};

use super::builder::{Context, ContextId, Form, KernelBuilder, Outcome, Phase, Progress, Unknown};
use super::index::{EdgePosition, Equal, IndexValue};
use super::world::{Axes, PlaceAt};
use super::{Fallible, refuse};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::data::position;
use crate::model::{Symbol, TermId};
use crate::report::error;

/// A quantity that is read.
pub(super) enum Quantity {
    /// An array of the program.
    Array(ArrayId),
    /// An expression with indices.
    Body(TermId, Vec<usize>),
    /// The highest derivative of a state, one of those that are solved for together.
    Rate(ArrayId),
}

/// An element to read, and the place of the read.
pub(super) struct Reading<'a> {
    pub quantity: Quantity,
    pub symbol: Symbol,
    pub order: u8,
    pub subs: &'a [IndexValue],
    pub axes: Axes,
    /// The axes that these subscripts may leave.
    pub outside: Vec<usize>,
    pub context: ContextId,
}

impl KernelBuilder<'_, '_> {
    /// An element of a symbol, at its use.
    pub fn read(&mut self, symbol: Symbol, order: u8, subs: &[IndexValue], context: ContextId, span: Span) -> Outcome {
        let model = self.world.model;
        let subs = &self.landed(symbol, subs, span)?[..];
        let outside = self.leaves(symbol, subs);
        let quantity = match symbol {
            Symbol::State(i) if order >= model.states[i].order => {
                if self.world.one_system {
                    return self.solved_rate(i, context, span);
                }
                let together = self.world.flat.is_some() && self.at(context).unknown == Unknown::All;
                if !together && !self.world.coupled.contains(&i) {
                    // The contents of tables were checked when they were loaded.
                    let leaves = outside.iter().any(|&k| subs[k].as_affine().is_some());
                    if !leaves || self.phase == Phase::Start || self.is_own(i, subs, context) {
                        return self.rate(i, subs, context, span);
                    }
                    self.world.wanted.insert(i);
                }
                Quantity::Rate(self.world.top(i))
            }
            Symbol::State(i) if self.phase == Phase::Start => {
                let state = &model.states[i];
                Quantity::Body(state.initial[usize::from(order)].root, state.indexed.locals.clone())
            }
            Symbol::State(i) => Quantity::Array(self.world.arrays.state(i, order)),
            Symbol::Definition(d) => {
                let definition = &model.definitions[d];
                Quantity::Body(definition.value.root, definition.indexed.locals.clone())
            }
            Symbol::Parameter(i) => Quantity::Array(self.world.arrays.parameters[i]),
            Symbol::Discrete(i) if self.phase == Phase::Start => {
                let discrete = &model.discretes[i];
                Quantity::Body(discrete.initial.root, discrete.indexed.locals.clone())
            }
            Symbol::Discrete(i) => Quantity::Array(self.world.arrays.discretes[i]),
            Symbol::Constant(i) => Quantity::Array(self.world.tables[i]),
            Symbol::Time | Symbol::Index(_) => {
                return refuse(crate::report::internal("an element of what is no array", Some(span)));
            }
        };
        if let Some(node) = self.replaced_whole(symbol, order, subs) {
            return Ok(Progress::Done(node));
        }
        let axes = self.world.axes(symbol);
        let reading = Reading { quantity, symbol, order, subs, axes, outside, context };
        let bounded = self.at(context).bounded.contains(&(symbol, order));
        let boundaries =
            if reading.outside.is_empty() || bounded { Vec::new() } else { self.boundaries(symbol, order, subs) };
        if self.region == Region::Interior
            && let Some(ruled) = self.margins_of(&reading, &boundaries)
        {
            let unsafe_axes = reading.outside.len() > ruled.len();
            for margin in ruled {
                self.bound(margin);
            }
            return self.plain_element(&reading, subs, &[], unsafe_axes, context);
        }
        self.cases(&reading, &boundaries)
    }

    pub(super) fn landing(&self, value: &IndexValue, axis: (AxisId, Option<Edge>)) -> EdgePosition {
        EdgePosition::of(value.wrap, axis, &self.world.extents.axes)
    }

    /// Converts subscripts that followed the edge rules of other axes to the axes of a symbol: inside according to
    /// that rule or, if the symbol has the same rule, as if they had followed none.
    pub(super) fn landed(&self, symbol: Symbol, subs: &[IndexValue], span: Span) -> Fallible<Vec<IndexValue>> {
        let mut landed = subs.to_vec();
        let axes = self.world.axes(symbol);
        for (k, value) in landed.iter_mut().enumerate() {
            let Some(wrap) = value.wrap else { continue };
            match self.landing(value, axes[k]) {
                EdgePosition::Inside(_) => {}
                EdgePosition::Own => value.wrap = None,
                EdgePosition::Unknown => {
                    let name = &self.world.extents.axes[wrap.axis.0 as usize].name;
                    return refuse(other_ends(self.world.model.name_of(symbol), name, span));
                }
            }
        }
        Ok(landed)
    }

    /// The axes of a symbol that these subscripts may leave.
    fn leaves(&self, symbol: Symbol, subs: &[IndexValue]) -> Vec<usize> {
        if subs.is_empty() {
            return Vec::new();
        }
        let facts = self.facts();
        let axes = self.world.axes(symbol);
        let leaves = |k: usize| {
            let axis = &self.world.extents.axes[axes[k].0.0 as usize];
            let fits = |a: &Affine| facts.inside(a, &axis.first, &axis.last);
            !matches!(self.landing(&subs[k], axes[k]), EdgePosition::Inside(_))
                && !subs[k].as_affine().is_some_and(fits)
        };
        (0..axes.len()).filter(|&k| leaves(k)).collect()
    }

    /// The margins of an interior in which a read needs no edge rule; `None` if there is no such interior.
    fn margins_of(&self, reading: &Reading<'_>, boundaries: &[usize]) -> Option<Vec<Margin>> {
        let facts = self.facts();
        // a range along an edge lies inside its axis, `T[N+1..N+2]` beyond its end
        let beyond = |k: usize, place: &PlaceAt| match place {
            PlaceAt::At(_) => true,
            PlaceAt::Each { first, last, .. } => {
                let axis = &self.world.extents.axes[reading.axes[k].0.0 as usize];
                !(facts.inside(first, &axis.first, &axis.last) && facts.inside(last, &axis.first, &axis.last))
            }
        };
        let ruled = |k: usize| {
            reading.axes[k].1.is_some() || boundaries.iter().any(|&b| beyond(k, &self.world.boundaries[b][k]))
        };
        let margin = |k: usize| {
            let value = &reading.subs[k];
            let affine = value.as_affine().filter(|_| value.wrap.is_none())?;
            // It bounds an interior if it follows an iteration loop.
            let follows = affine.loops.iter().any(|(l, _)| self.iterates.contains(l));
            follows.then(|| Margin { sub: affine.clone(), axis: reading.axes[k].0 })
        };
        reading.outside.iter().filter(|&&k| ruled(k)).map(|&k| margin(k)).collect()
    }

    /// Boundaries of an array that may concern these subscripts.
    fn boundaries(&self, symbol: Symbol, order: u8, subs: &[IndexValue]) -> Vec<usize> {
        let facts = self.facts();
        let model = self.world.model;
        let concerns = |b: &usize| {
            let boundary = &model.boundaries[*b];
            let concerned =
                (boundary.array, boundary.order) == (symbol, order) || model.follows(boundary, symbol, order);
            concerned
                && self.world.boundaries[*b].iter().zip(subs).all(|(place, value)| match (place, value.as_affine()) {
                    // after its edge rule it is not beyond an edge
                    (PlaceAt::At(_), _) if value.wrap.is_some() => false,
                    (PlaceAt::At(at), Some(sub)) => facts.compare(sub, at) != Equal::Never,
                    _ => true,
                })
        };
        let mut found: Vec<usize> = (0..model.boundaries.len()).filter(concerns).collect();
        // Rules for the derivative itself come first.
        found.sort_by_key(|&b| model.boundaries[b].order != order);
        found
    }

    /// The context of a definition at these subscripts.
    pub(super) fn inlined(
        &mut self,
        locals: &[usize],
        subs: &[IndexValue],
        reading: &Reading<'_>,
        context: ContextId,
    ) -> ContextId {
        let mut inner =
            Context { locals: locals.iter().copied().zip(subs.iter().cloned()).collect(), ..Context::default() };
        inner.guards.clone_from(&self.at(context).guards);
        if self.world.is_closed(reading.symbol) {
            // The value exists wherever the element exists, in whichever way it was reached.
            inner.guards = self.existence(subs, &reading.axes, &[]);
            // except if a table contains numbers that are no index: then conditions on the table select the valid ones
            let mut tables = Vec::new();
            for value in subs {
                tables_of(&value.sub, &mut tables);
            }
            let data = |table: &ArrayId| &self.world.arrays.list[table.0 as usize].data;
            tables.retain(|table| data(table).iter().any(|x| x.fract() != 0.0));
            let concerns = |g: &NodeId| self.arrays_of_guard(*g).iter().any(|array| tables.contains(array));
            inner.guards.extend(self.at(context).guards.iter().copied().filter(concerns));
        } else if reading.axes.is_empty() {
            // The value is the same everywhere, so only conditions that always hold apply.
            let fixed = |g: &NodeId| {
                let mut loops = Vec::new();
                self.loops_of_guard(*g, &mut loops);
                loops.is_empty()
            };
            inner.guards.retain(fixed);
        }
        inner.bounded.clone_from(&self.at(context).bounded);
        if self.at(context).unknown == Unknown::All {
            inner.unknown = Unknown::All;
        }
        self.context(inner)
    }

    /// The conditions under which an element exists, unless it always exists. Axes in `edges` have edge rules and
    /// need no condition.
    fn existence(&mut self, subs: &[IndexValue], axes: &Axes, edges: &[usize]) -> Vec<NodeId> {
        let mut conditions = Vec::new();
        for (k, (value, &(axis, edge))) in subs.iter().zip(axes.iter()).enumerate() {
            if !edges.contains(&k) && !matches!(self.landing(value, (axis, edge)), EdgePosition::Inside(_)) {
                let axis = &self.world.extents.axes[axis.0 as usize];
                let (first, last) = (axis.first.clone(), axis.last.clone());
                conditions.extend(self.within(value, &first, &last));
            }
        }
        self.edge_guards.extend(conditions.iter().copied());
        conditions
    }

    /// The element itself. `edges` are the axes whose rule applies; along the others it is in range, but with
    /// `unsafe_axes` only under a condition.
    pub(super) fn plain_element(
        &mut self,
        reading: &Reading<'_>,
        subs: &[IndexValue],
        edges: &[usize],
        unsafe_axes: bool,
        context: ContextId,
    ) -> Outcome {
        let array = match &reading.quantity {
            Quantity::Body(root, locals) => {
                let inner = self.inlined(locals, subs, reading, context);
                let key = (Form::Value, *root, inner);
                return match reading.symbol {
                    Symbol::State(i) if self.phase == Phase::Start => self.initial_element(i, reading.order, subs, key),
                    Symbol::Discrete(i) => self.initial_discrete(i, subs, key),
                    _ => Ok(self.same(key)),
                };
            }
            Quantity::Array(array) | Quantity::Rate(array) => *array,
        };
        let mut subscripts = Vec::with_capacity(subs.len());
        for (k, value) in subs.iter().enumerate() {
            let edge = match (edges.contains(&k), self.landing(value, reading.axes[k])) {
                (true, _) => reading.axes[k].1.unwrap_or(Edge::Inside),
                (false, EdgePosition::Inside(edge)) => edge,
                _ => Edge::Inside,
            };
            subscripts.push(Subscript { sub: value.sub.clone(), edge });
        }
        if self.world.flat.is_some()
            && let Some(subscripts) = self.settled(array, &subscripts)
        {
            // an element is a single node, whatever its subscripts look like
            let element = self.element(array, subscripts, None);
            return Ok(Progress::Done(match reading.quantity {
                Quantity::Rate(_) => self.graph.direction(element),
                _ => self.graph.read(element),
            }));
        }
        let guard = match self.exists(reading, subs, edges, unsafe_axes, context) {
            Some(conditions) => self.all(&conditions),
            None => self.guard_of(&subscripts, unsafe_axes, context),
        };
        let element = self.element(array, subscripts, guard);
        Ok(Progress::Done(match reading.quantity {
            Quantity::Rate(_) => self.graph.direction(element),
            _ => self.graph.read(element),
        }))
    }

    /// The subscripts as numbers inside the axes, if they are known; for the fixed sizes of a flat model.
    fn settled(&self, array: ArrayId, subs: &[Subscript]) -> Option<Vec<Subscript>> {
        let axes = &self.world.arrays.list[array.0 as usize].axes;
        let known = subs.iter().zip(axes).map(|(sub, axis)| {
            let axis = &self.world.extents.axes[axis.0 as usize];
            let (first, last) = (number(&axis.first)?, number(&axis.last)?);
            let at = self.known(&sub.sub)?;
            let at = match sub.edge {
                Edge::Inside => at,
                Edge::Clamp => at.clamp(first, last),
                Edge::Periodic => first + (at - first).rem_euclid(last - first + 1),
            };
            let inside = Subscript { sub: Sub::Affine(Affine::constant(at)), edge: Edge::Inside };
            (first <= at && at <= last).then_some(inside)
        });
        known.collect()
    }

    fn known(&self, sub: &Sub) -> Option<i64> {
        let (table, subs, shift) = match sub {
            Sub::Affine(affine) => return number(affine),
            Sub::Lookup { table, subs, shift } => (*table, subs, *shift),
        };
        let array = &self.world.arrays.list[table.0 as usize];
        let mut ranges = Vec::new();
        for axis in &array.axes {
            let axis = &self.world.extents.axes[axis.0 as usize];
            ranges.push((number(&axis.first)?, number(&axis.last)?));
        }
        let at: Option<Vec<i64>> = self.settled(table, subs)?.iter().map(|s| self.known(&s.sub)).collect();
        let value = *array.data.get(position(&ranges, &at?)?)?;
        (value.fract() == 0.0).then(|| value as i64 + shift)
    }

    /// The conditions under which an element exists, if only edges decide whether it is read: one guard for the
    /// element on all paths. The check of sizes has verified this, unless two subscripts contain the same index.
    fn exists(
        &mut self,
        reading: &Reading<'_>,
        subs: &[IndexValue],
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
        Some(self.existence(subs, &reading.axes, edges))
    }

    /// The condition under which an element is read, if it may not exist elsewhere.
    fn guard_of(&mut self, subs: &[Subscript], unsafe_axes: bool, context: ContextId) -> Option<NodeId> {
        if subs.is_empty() {
            return None;
        }
        let guards = self.at(context).guards.clone();
        let mut loops = Vec::new();
        for s in subs {
            IndexValue { sub: s.sub.clone(), wrap: None }.loops(&mut loops);
        }
        if unsafe_axes && subs.iter().all(|s| matches!(s.sub, Sub::Affine(_))) {
            return self.all(&guards);
        }
        // Elements of tables are checked at their use, except under conditions on the same table or the same point.
        let mut tables = Vec::new();
        for s in subs {
            tables_of(&s.sub, &mut tables);
        }
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
}

/// The value of a subscript without indices and sizes.
fn number(affine: &Affine) -> Option<i64> {
    (affine.loops.is_empty() && affine.extents.is_empty()).then_some(affine.constant)
}

fn other_ends(name: &str, index: &str, span: Span) -> Diagnostic {
    let headline =
        format!("this reads `{name}` beyond the ends of `{index}`, but the ends of `{name}` follow a different rule");
    error(&codes::E0519, headline, span, "the index wraps around or stays at the end, and is then shifted").help(format!(
        "give the indices of `{name}` the rule of `{index}` with `boundary`, or write out the definition that reads it"
    ))
}

fn tables_of(sub: &Sub, found: &mut Vec<ArrayId>) {
    if let Sub::Lookup { table, subs, .. } = sub {
        found.push(*table);
        for s in subs {
            tables_of(&s.sub, found);
        }
    }
}
