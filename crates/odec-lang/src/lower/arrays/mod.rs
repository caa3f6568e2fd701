//! From the checked model with index sets to loop nests: every statement over the same index sets shares a nest, and what
//! reads past an edge has an interior and a shell.

mod conditions;
mod coupling;
mod index;
mod rates;
mod read;
mod reduce;
mod scatter;
mod scribe;
mod sizes;

use std::collections::{BTreeSet, HashMap};

use odec_ir::nest::{Access, Affine, AxisId, Edge, Kernel, LoopId, Part, Space, Store, Subscript, Target};
use odec_ir::{ArrayId, KernelRole, NodeId, Role};

use super::Arrays;
use crate::diagnostic::Diagnostic;
use crate::model::{Definition, Dimension, Model, Overrides, Place, Symbol, TermId, TermKind, Values};
use crate::report::error;
use index::IndexValue;
use read::PlaceAt;
use scribe::{Context, ContextId, Phase, Scribe};
use sizes::Sizes;

/// Axes of a symbol with the rule of their edges.
type Axes = Vec<(AxisId, Option<Edge>)>;

/// What all nests share.
struct World<'m> {
    pub model: &'m Model,
    pub values: &'m Values,
    pub arrays: Arrays,
    pub sizes: Sizes<'m>,
    /// Of each parameter.
    pub parameters: Vec<ArrayId>,
    /// The table of each constant with axes; for others nothing that is used.
    pub constants: Vec<ArrayId>,
    pub constant_axes: Vec<Axes>,
    /// Of each boundary.
    pub boundaries: Vec<Vec<PlaceAt>>,
    /// Of each equation.
    pub places: Vec<Vec<PlaceAt>>,
    axes: HashMap<Symbol, Axes>,
    guards: HashMap<TermId, bool>,
    /// States whose derivatives are solved for together, by a mass matrix.
    pub coupled: BTreeSet<usize>,
    /// Others that are found to have to be.
    pub wanted: BTreeSet<usize>,
    /// Of each definition: what it reads without a condition exists at all its elements, as was checked with the sizes.
    closed: Vec<bool>,
}

impl World<'_> {
    /// True for a definition with axes whose reads all exist where it does.
    pub fn is_closed(&self, symbol: Symbol) -> bool {
        matches!(symbol, Symbol::Definition(d) if self.closed[d])
    }

    pub fn axes(&self, symbol: Symbol) -> Axes {
        self.axes.get(&symbol).cloned().unwrap_or_default()
    }

    /// The array of a derivative of a state.
    pub fn state(&self, state: usize, order: u8) -> ArrayId {
        self.arrays.state(state, order)
    }

    /// The array whose rows hold the equations of a state.
    pub fn top(&self, state: usize) -> ArrayId {
        self.arrays.top(self.model, state)
    }

    /// The state of an equation.
    pub fn owner(&self, e: usize) -> Option<usize> {
        let equation = &self.model.equations[e];
        equation.target.or(equation.owner)
    }

    pub fn equations_of(&self, state: usize) -> Vec<usize> {
        (0..self.model.equations.len()).filter(|&e| self.owner(e) == Some(state)).collect()
    }

    /// A condition on indices that can protect what is read under it.
    pub fn guards(&mut self, root: TermId) -> bool {
        if let Some(&known) = self.guards.get(&root) {
            return known;
        }
        let known = self.model.index_only(root) && !self.folds(root);
        self.guards.insert(root, known);
        known
    }

    /// A reduction is in a term or in a definition that it uses.
    fn folds(&self, root: TermId) -> bool {
        let mut open = vec![root];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Reduce { .. } => return true,
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Definition(i) => open.push(self.model.definitions[*i].value.root),
                TermKind::Element(symbol, _, subscripts) => {
                    open.extend(subscripts);
                    if let Symbol::Definition(i) = symbol {
                        open.push(self.model.definitions[*i].value.root);
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// A term is more than numbers and scalar constants.
    pub fn has_index(&self, root: TermId) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match &self.model.term(id).kind {
                TermKind::Number(_) | TermKind::Constant(_) => {}
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                _ => return true,
            }
        }
        false
    }

    fn place(&mut self, place: &Place) -> Result<PlaceAt, Diagnostic> {
        Ok(match place {
            Place::At(body) => PlaceAt::At(self.sizes.affine(&mut self.arrays, *body)?),
            Place::Each(local) => {
                let (first, last) = self.sizes.range(&mut self.arrays, &self.model.locals[*local].range)?;
                PlaceAt::Each { local: *local, first, last }
            }
        })
    }

    fn symbol_axes(&mut self, dimensions: &[Dimension]) -> Result<Axes, Diagnostic> {
        let model = self.model;
        let edge = |d: &Dimension| {
            let own = d.index.filter(|_| d.range.is_none());
            own.and_then(|set| model.edges.iter().find(|e| e.index == set)).map(|e| e.edge)
        };
        let axis = |d: &Dimension| Ok((self.sizes.axis(&mut self.arrays, d)?, edge(d)));
        dimensions.iter().map(axis).collect()
    }
}

/// What a program is made of beside its nests.
pub(crate) struct Parts {
    pub arrays: Vec<odec_ir::Array>,
    pub axes: Vec<odec_ir::nest::Axis>,
    pub extents: Vec<odec_ir::nest::Extent>,
}

/// The nests that are not derivatives of others.
pub(crate) fn nests(model: &Model, overrides: &Overrides) -> Result<(Parts, Vec<Kernel>), Vec<Diagnostic>> {
    let values = model.values(overrides)?;
    let wrong = model.check_sizes(&values);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let one = |d: Box<Diagnostic>| vec![*d];
    let mut coupled = coupling::coupled(model);
    loop {
        let mut world = world(model, &values).map_err(|d| vec![d])?;
        world.coupled.clone_from(&coupled);
        let mut nests = Vec::new();
        nests.extend(initial(&mut world).map_err(one)?);
        nests.extend(rows(&mut world).map_err(one)?);
        nests.extend(outputs(&mut world).map_err(one)?);
        let World { arrays, sizes, wanted, .. } = world;
        if wanted.is_empty() {
            let Sizes { axes, extents, .. } = sizes;
            return Ok((Parts { arrays: arrays.list, axes, extents }, nests));
        }
        // Derivatives that are used beyond an edge join those that are coupled; there are finitely many.
        coupled.extend(wanted);
    }
}

/// Every subscript in a definition is linear in its indices or an element of a table, and no index is in two subscripts of one
/// element: what is read is then known to exist, or refused, for the whole range of the definition.
fn closed(model: &Model, definition: &Definition) -> bool {
    fn simple(model: &Model, root: TermId, used: &mut Vec<usize>) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match &model.term(id).kind {
                TermKind::Number(_) | TermKind::Constant(_) => {}
                TermKind::Index(local) => used.push(*local),
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Element(Symbol::Constant(_), _, subscripts) => open.extend(subscripts),
                _ => return false,
            }
        }
        true
    }
    !definition.indexed.is_scalar()
        && model.terms[definition.value.range()].iter().all(|term| match &term.kind {
            TermKind::Element(_, _, subscripts) => {
                let mut before: Vec<usize> = Vec::new();
                subscripts.iter().all(|&s| {
                    let mut used = Vec::new();
                    let known = simple(model, s, &mut used) && !used.iter().any(|l| before.contains(l));
                    before.extend(used);
                    known
                })
            }
            _ => true,
        })
}

fn world<'m>(model: &'m Model, values: &'m Values) -> Result<World<'m>, Diagnostic> {
    let mut arrays = super::arrays(model, values);
    let sizes = Sizes::new(model, values, &mut arrays);
    let parameters = arrays.parameters.clone();
    let mut world = World {
        model,
        values,
        arrays,
        sizes,
        parameters,
        constants: Vec::new(),
        constant_axes: Vec::new(),
        boundaries: Vec::new(),
        places: Vec::new(),
        axes: HashMap::new(),
        guards: HashMap::new(),
        coupled: BTreeSet::new(),
        wanted: BTreeSet::new(),
        closed: model.definitions.iter().map(|d| closed(model, d)).collect(),
    };
    for (i, given) in model.parameters.iter().enumerate() {
        let axes = world.symbol_axes(&given.indexed.axes)?;
        let array = &mut world.arrays.list[world.parameters[i].0 as usize];
        array.axes = axes.iter().map(|a| a.0).collect();
        if !axes.is_empty() {
            array.data = values.parameter_data.get(i).cloned().unwrap_or_default();
        }
        world.axes.insert(Symbol::Parameter(i), axes);
    }
    for (i, state) in model.states.iter().enumerate() {
        let axes = world.symbol_axes(&state.indexed.axes)?;
        for k in 0..state.order {
            let array = world.arrays.state(i, k);
            world.arrays.list[array.0 as usize].axes = axes.iter().map(|a| a.0).collect();
        }
        world.axes.insert(Symbol::State(i), axes);
    }
    for (i, given) in model.constants.iter().enumerate() {
        let axes = world.symbol_axes(&given.indexed.axes)?;
        let id = world.arrays.next();
        world.constants.push(id);
        if !axes.is_empty() {
            let array = world.arrays.push(given.name.clone(), Role::Table, given.span);
            array.axes = axes.iter().map(|a| a.0).collect();
            array.unit.clone_from(&given.unit);
            array.doc.clone_from(&given.doc);
            array.data = values.constant_data.get(i).cloned().unwrap_or_default();
        }
        world.constant_axes.push(axes.clone());
        world.axes.insert(Symbol::Constant(i), axes);
    }
    for (i, definition) in model.definitions.iter().enumerate() {
        let axes = world.symbol_axes(&definition.indexed.axes)?;
        world.axes.insert(Symbol::Definition(i), axes);
    }
    for boundary in &model.boundaries {
        let places: Result<Vec<PlaceAt>, Diagnostic> = boundary.place.iter().map(|p| world.place(p)).collect();
        world.boundaries.push(places?);
    }
    for equation in &model.equations {
        let places: Result<Vec<PlaceAt>, Diagnostic> = equation.place.iter().map(|p| world.place(p)).collect();
        world.places.push(places?);
    }
    world.sizes.declared = world.sizes.axes.len();
    Ok(world)
}

/// One value for each point of some loops.
struct Row {
    /// Where it is stored.
    array: ArrayId,
    /// Which elements.
    place: Vec<PlaceAt>,
    /// What.
    value: RowValue,
}

enum RowValue {
    /// An expression in the locals of the places.
    Term(TermId),
    /// The derivative of this order of a state, at the place itself.
    State(usize, u8),
    /// The derivative that an equation gives; of a coupled one, what is left without derivatives.
    Equation(usize),
    /// The derivatives that a coupled equation holds.
    Product(usize),
    /// The derivative of this array itself, at the place.
    Direction(ArrayId),
}

/// Of an equation whose derivatives are solved for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// What holds derivatives.
    Left,
    /// What does not.
    Right,
}

/// A range of indices.
type Range = (Affine, Affine);

fn ranges(place: &[PlaceAt]) -> Vec<Range> {
    let each = place.iter().filter_map(|p| match p {
        PlaceAt::Each { first, last, .. } => Some((first.clone(), last.clone())),
        PlaceAt::At(_) => None,
    });
    each.collect()
}

/// Rows over the same ranges share a nest, in the order in which the ranges appear first.
fn grouped(rows: Vec<Row>) -> Vec<(Vec<Range>, Vec<Row>)> {
    let mut groups: Vec<(Vec<Range>, Vec<Row>)> = Vec::new();
    for row in rows {
        let ranges = ranges(&row.place);
        match groups.iter_mut().find(|g| g.0 == ranges) {
            Some(group) => group.1.push(row),
            None => groups.push((ranges, vec![row])),
        }
    }
    groups
}

type Fallible<T> = Result<T, Box<Diagnostic>>;

/// The nests of a group: one, or interior and shell.
fn group(world: &mut World<'_>, role: KernelRole, phase: Phase, rows: &[Row]) -> Fallible<Vec<Kernel>> {
    let interior = nest(world, role, phase, rows, Part::Interior)?;
    if interior.margins.is_empty() {
        return Ok(vec![Kernel { part: Part::Whole, ..interior }]);
    }
    let shell = nest(world, role, phase, rows, Part::Shell)?;
    let shell = Kernel { margins: interior.margins.clone(), ..shell };
    Ok(vec![interior, shell])
}

/// The subscripts of a row.
fn row_subs(place: &[PlaceAt], loops: &[LoopId]) -> Vec<IndexValue> {
    let mut loops = loops.iter();
    let value = |p: &PlaceAt| match p {
        PlaceAt::At(at) => IndexValue::affine(at.clone()),
        PlaceAt::Each { .. } => loops.next().map_or(IndexValue::affine(Affine::constant(0)), |&l| IndexValue::index(l)),
    };
    place.iter().map(value).collect()
}

fn row_context(scribe: &mut Scribe<'_, '_>, place: &[PlaceAt], subs: &[IndexValue], e: Option<usize>) -> ContextId {
    let locals = place.iter().zip(subs).filter_map(|(p, value)| match p {
        PlaceAt::Each { local, .. } => Some((*local, value.clone())),
        PlaceAt::At(_) => None,
    });
    let locals = locals.collect();
    scribe.context(Context { locals, equation: e, ..Context::default() })
}

fn element(space: &mut Space, array: ArrayId, subs: &[IndexValue], guard: Option<NodeId>) -> odec_ir::nest::AccessId {
    let subs = subs.iter().map(|v| Subscript { sub: v.sub.clone(), edge: Edge::Inside }).collect();
    space.intern(Access { array, subs, guard })
}

/// Adds the loops of a group, named after the indices of its first row.
fn add_loops(scribe: &mut Scribe<'_, '_>, place: &[PlaceAt]) -> Vec<LoopId> {
    let mut loops = Vec::new();
    for p in place {
        if let PlaceAt::Each { local, first, last } = p {
            let local = &scribe.world.model.locals[*local];
            loops.push(scribe.iterate(&local.name, first.clone(), last.clone(), local.span));
        }
    }
    loops
}

/// One nest.
fn nest(world: &mut World<'_>, role: KernelRole, phase: Phase, rows: &[Row], part: Part) -> Fallible<Kernel> {
    let mut scribe = Scribe::new(world, phase, part);
    let loops = add_loops(&mut scribe, &rows[0].place);
    let mut stores = Vec::with_capacity(rows.len());
    for row in rows {
        let subs = row_subs(&row.place, &loops);
        let node = match row.value {
            RowValue::Term(term) => {
                let context = row_context(&mut scribe, &row.place, &subs, None);
                scribe.value(term, context)?
            }
            RowValue::State(state, order) => {
                let context = scribe.context(Context::default());
                scribe.state_element(state, order, &subs, context)?
            }
            RowValue::Equation(e) => {
                let context = row_context(&mut scribe, &row.place, &subs, Some(e));
                scatter::rest(&mut scribe, e, context, Side::Right)?
            }
            RowValue::Product(e) => {
                let context = row_context(&mut scribe, &row.place, &subs, Some(e));
                scatter::rest(&mut scribe, e, context, Side::Left)?
            }
            RowValue::Direction(array) => {
                let access = element(&mut scribe.space, array, &subs, None);
                scribe.graph.direction(access)
            }
        };
        let access = element(&mut scribe.space, row.array, &subs, None);
        stores.push(Store { target: Target::set(access), node });
    }
    Ok(finish(scribe, role, stores))
}

/// The nest of what was written.
fn finish(scribe: Scribe<'_, '_>, role: KernelRole, stores: Vec<Store>) -> Kernel {
    let Scribe { space, graph, margins, iterates, part, .. } = scribe;
    Kernel { role, space, iterates, part, margins, graph, stores }
}

/// Every element of a state.
fn whole_place(world: &mut World<'_>, state: usize) -> Fallible<Vec<PlaceAt>> {
    let model = world.model;
    let mut place = Vec::new();
    for &local in &model.states[state].indexed.locals {
        place.push(world.place(&Place::Each(local))?);
    }
    Ok(place)
}

fn initial(world: &mut World<'_>) -> Fallible<Vec<Kernel>> {
    let mut list = Vec::new();
    for i in 0..world.model.states.len() {
        for k in 0..world.model.states[i].order {
            let place = whole_place(world, i)?;
            list.push(Row { array: world.state(i, k), place, value: RowValue::State(i, k) });
        }
    }
    let mut nests = Vec::new();
    for (_, rows) in grouped(list) {
        nests.extend(group(world, KernelRole::Initial, Phase::Start, &rows)?);
    }
    Ok(nests)
}

fn rows(world: &mut World<'_>) -> Fallible<Vec<Kernel>> {
    let model = world.model;
    let mut list = Vec::new();
    for i in 0..model.states.len() {
        for k in 1..model.states[i].order {
            let place = whole_place(world, i)?;
            list.push(Row { array: world.state(i, k - 1), place, value: RowValue::State(i, k) });
        }
    }
    for (e, equation) in model.equations.iter().enumerate() {
        let Some(state) = world.owner(e) else {
            return Err(Box::new(
                error(
                    "E0503",
                    "an equation without a derivative is not part of this version",
                    equation.span,
                    "this is an algebraic equation",
                )
                .help("write the derivative of a state with a prime, `u[i]' = ...`; algebraic unknowns come later"),
            ));
        };
        list.push(Row { array: world.top(state), place: world.places[e].clone(), value: RowValue::Equation(e) });
    }
    let mut nests = Vec::new();
    for (_, rows) in grouped(list) {
        nests.extend(group(world, KernelRole::Rhs, Phase::Run, &rows)?);
    }
    nests.extend(scatter::nests(world, Side::Right)?);
    if world.coupled.is_empty() {
        return Ok(nests);
    }
    // The product of the mass matrix with all derivatives.
    let mut list = Vec::new();
    for i in 0..model.states.len() {
        let most = model.states[i].order - u8::from(world.coupled.contains(&i));
        for k in 0..most {
            let place = whole_place(world, i)?;
            let array = world.state(i, k);
            list.push(Row { array, place, value: RowValue::Direction(array) });
        }
    }
    for e in 0..model.equations.len() {
        if let Some(state) = world.owner(e).filter(|s| world.coupled.contains(s)) {
            list.push(Row { array: world.top(state), place: world.places[e].clone(), value: RowValue::Product(e) });
        }
    }
    for (_, rows) in grouped(list) {
        nests.extend(group(world, KernelRole::Mass, Phase::Run, &rows)?);
    }
    nests.extend(scatter::nests(world, Side::Left)?);
    Ok(nests)
}

fn outputs(world: &mut World<'_>) -> Fallible<Vec<Kernel>> {
    let model = world.model;
    let mut list = Vec::new();
    for o in &model.outputs {
        let axes = world.symbol_axes(&o.indexed.axes)?;
        let array = world.arrays.next();
        let pushed = world.arrays.push(o.name.clone(), Role::Output, o.span);
        pushed.axes = axes.iter().map(|a| a.0).collect();
        pushed.unit.clone_from(&o.unit);
        pushed.doc.clone_from(&o.doc);
        let mut place = Vec::new();
        for &local in &o.indexed.locals {
            place.push(world.place(&Place::Each(local))?);
        }
        list.push(Row { array, place, value: RowValue::Term(o.value.root) });
    }
    let conserved = model.conserved.iter().map(|c| (&c.name, Role::Conserved, c.value, c.span));
    let expected = model.expects.iter().map(|e| (&e.name, Role::Expected, e.quantity, e.span));
    for (name, role, body, span) in conserved.chain(expected) {
        let array = world.arrays.next();
        world.arrays.push(name.clone(), role, span);
        list.push(Row { array, place: Vec::new(), value: RowValue::Term(body.root) });
    }
    let mut nests = Vec::new();
    for (_, rows) in grouped(list) {
        nests.extend(group(world, KernelRole::Outputs, Phase::Run, &rows)?);
    }
    Ok(nests)
}
