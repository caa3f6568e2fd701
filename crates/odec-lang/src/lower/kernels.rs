//! The kernels that are not derivatives: all statements over the same index sets share a kernel, and statements that
//! read past an edge have an interior and a boundary region. The statements of a model without index sets share one
//! kernel for each role.

use odec_ir::nest::{Affine, Kernel, LoopId, Region, Store, Target};
use odec_ir::{ArrayId, Graph, InvariantStage, KernelRole, Node, NodeId, Role, StateElement};

use super::builder::{Context, ContextId, KernelBuilder, PLAIN, Phase, Unknown};
use super::index::IndexValue;
use super::scatter;
use super::solve::{self, Setting, Solved};
use super::world::{Ends, LoweringContext, PlaceAt, SystemState};
use super::{Fallible, InvariantDraft, algebraic, refuse};
use crate::model::{Body, Level, Place, Symbol};
use crate::report::internal;

/// One value for each point of some loops.
pub(super) struct Row {
    /// The array that receives the value.
    pub array: ArrayId,
    /// The elements.
    pub place: Vec<PlaceAt>,
    /// The value.
    pub value: RowValue,
}

pub(super) enum RowValue {
    /// An expression in the indices of the places.
    Expression(Body),
    /// An expression with the opposite sign.
    Negated(Body),
    /// The initial value of a discrete, at the same place.
    Start(usize),
    /// The derivative of this order of a state, at the same place.
    State(usize, u8),
    /// The derivative that an equation over indices determines; for a coupled one, the terms without derivatives.
    Equation(usize),
    /// The derivatives in a coupled equation.
    Product(usize),
    /// The derivative of this array, at the same place.
    Direction(ArrayId),
    /// f of the row of a state without indices, and its row of the mass matrix times the derivatives.
    Solved(usize),
    MassRow(usize),
    /// An invariant, by its number; zero after the last one.
    Invariant(usize),
}

/// A side of an equation whose derivatives are solved for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The terms with derivatives.
    Left,
    /// The terms without derivatives.
    Right,
}

/// All kernels of a program that are not derivatives.
pub(super) fn kernels(world: &mut LoweringContext<'_>) -> Fallible<Vec<Kernel>> {
    let mut kernels = initial(world)?;
    if world.one_system || world.flat.is_some() {
        kernels.extend(system(world)?);
    } else {
        kernels.extend(equations(world)?);
    }
    kernels.extend(outputs(world)?);
    Ok(kernels)
}

/// Rows over the same ranges share a kernel, in the order in which the ranges appear first.
pub(super) fn grouped(
    world: &mut LoweringContext<'_>,
    role: KernelRole,
    phase: Phase,
    rows: Vec<Row>,
) -> Fallible<Vec<Kernel>> {
    let mut groups: Vec<(Vec<Ends>, Vec<Row>)> = Vec::new();
    for row in rows {
        let each = row.place.iter().filter_map(|p| match p {
            PlaceAt::Each { first, last, .. } => Some((first.clone(), last.clone())),
            PlaceAt::At(_) => None,
        });
        let ranges: Vec<Ends> = each.collect();
        match groups.iter_mut().find(|g| g.0 == ranges) {
            Some(group) => group.1.push(row),
            None => groups.push((ranges, vec![row])),
        }
    }
    let mut kernels = Vec::new();
    for (_, rows) in groups {
        let interior = kernel(world, role, phase, &rows, Region::Interior)?;
        if interior.margins.is_empty() {
            kernels.push(Kernel { region: Region::Whole, ..interior });
            continue;
        }
        let boundary = kernel(world, role, phase, &rows, Region::Boundary)?;
        let margins = interior.margins.clone();
        kernels.extend([interior, Kernel { margins, ..boundary }]);
    }
    Ok(kernels)
}

/// The subscripts of a row: each of its indices runs over the next loop.
pub(super) fn row_subs(place: &[PlaceAt], loops: &[LoopId]) -> Fallible<Vec<IndexValue>> {
    let mut loops = loops.iter();
    let mut subs = Vec::with_capacity(place.len());
    for p in place {
        subs.push(match p {
            PlaceAt::At(at) => IndexValue::affine(at.clone()),
            PlaceAt::Each { .. } => match loops.next() {
                Some(&l) => IndexValue::index(l),
                None => return refuse(internal("a row with more indices than loops", None)),
            },
        });
    }
    Ok(subs)
}

pub(super) fn row_context(
    builder: &mut KernelBuilder<'_, '_>,
    place: &[PlaceAt],
    subs: &[IndexValue],
    unknown: Unknown,
) -> ContextId {
    let locals = place.iter().zip(subs).filter_map(|(p, value)| match p {
        PlaceAt::Each { local, .. } => Some((*local, value.clone())),
        PlaceAt::At(_) => None,
    });
    let locals = locals.collect();
    builder.context(Context { locals, unknown, ..Context::default() })
}

/// Adds the loops of a group, named after the indices of its first row.
pub(super) fn add_loops(builder: &mut KernelBuilder<'_, '_>, place: &[PlaceAt]) -> Vec<LoopId> {
    let mut loops = Vec::new();
    for p in place {
        if let PlaceAt::Each { local, first, last } = p {
            let local = &builder.world.model.locals[*local];
            loops.push(builder.iterate(&local.name, first.clone(), last.clone(), local.span));
        }
    }
    loops
}

/// One kernel.
fn kernel(
    world: &mut LoweringContext<'_>,
    role: KernelRole,
    phase: Phase,
    rows: &[Row],
    region: Region,
) -> Fallible<Kernel> {
    let mut builder = KernelBuilder::new(world, phase, region);
    let loops = rows.first().map(|row| add_loops(&mut builder, &row.place)).unwrap_or_default();
    if matches!(role, KernelRole::Rhs | KernelRole::Mass) && builder.world.scalar {
        builder.number_nodes()?;
    }
    let mut stores = Vec::with_capacity(rows.len());
    for row in rows {
        let subs = row_subs(&row.place, &loops)?;
        let unknown = match row.value {
            RowValue::Equation(e) | RowValue::Product(e) => Unknown::Own(e),
            _ => Unknown::Nothing,
        };
        let context = row_context(&mut builder, &row.place, &subs, unknown);
        let node = match row.value {
            RowValue::Expression(body) => builder.body(body, context)?,
            RowValue::Negated(body) => {
                let node = builder.body(body, context)?;
                builder.graph.neg(node)
            }
            RowValue::Start(discrete) => builder.start_of_discrete(discrete, &subs)?,
            RowValue::State(state, order) => builder.state_element(state, order, &subs)?,
            RowValue::Equation(e) => scatter::rest(&mut builder, e, context, Side::Right)?,
            RowValue::Product(e) => scatter::rest(&mut builder, e, context, Side::Left)?,
            RowValue::Direction(array) => {
                let element = builder.at_place(array, &subs, None);
                builder.graph.direction(element)
            }
            RowValue::Solved(state) => match builder.system()?.rows[state] {
                Some(node) => node,
                None => return refuse(internal("a state that no equation was solved for", None)),
            },
            RowValue::MassRow(state) => builder.mass_row(state)?,
            RowValue::Invariant(k) => builder.invariant(k)?,
        };
        let element = builder.at_place(row.array, &subs, None);
        stores.push(Store { target: Target::Set(element), node });
    }
    Ok(finish(builder, role, stores))
}

/// The kernel of the translated rows. Without index sets, nodes that no store needs are left out.
pub(super) fn finish(builder: KernelBuilder<'_, '_>, role: KernelRole, stores: Vec<Store>) -> Kernel {
    let scalar = builder.world.scalar;
    let KernelBuilder { space, graph, margins, iterates, region, .. } = builder;
    if scalar {
        let (graph, stores) = extracted(&graph, &stores);
        return Kernel::scalar(role, graph, stores);
    }
    Kernel { role, space, iterates, region, margins, graph, stores }
}

/// A separate graph for the stored values, in the same order.
fn extracted(graph: &Graph, stores: &[Store]) -> (Graph, Vec<Store>) {
    let mut out = Graph::new();
    let mut copies: Vec<NodeId> = (0..graph.len()).map(|i| NodeId(i as u32)).collect();
    for (id, mut node) in graph.live(stores.iter().map(|s| s.node)) {
        if let Node::Call(_, operands) = &mut node {
            for operand in operands {
                *operand = copies[operand.index()];
            }
        }
        let new = out.insert(node);
        for &span in graph.spans(id) {
            out.add_span(new, span);
        }
        copies[id.index()] = new;
    }
    let stores = stores.iter().map(|s| Store { node: copies[s.node.index()], ..*s }).collect();
    (out, stores)
}

fn initial(world: &mut LoweringContext<'_>) -> Fallible<Vec<Kernel>> {
    let mut rows = Vec::new();
    for i in 0..world.model.states.len() {
        for k in 0..world.model.states[i].order {
            let place = world.whole_place(i)?;
            rows.push(Row { array: world.arrays.state(i, k), place, value: RowValue::State(i, k) });
        }
    }
    grouped(world, KernelRole::Initial, Phase::Start, rows)
}

/// States without indices, or all elements of a flat model: their equations as one system, and M y' by rows if there
/// is a mass matrix.
fn system(world: &mut LoweringContext<'_>) -> Fallible<Vec<Kernel>> {
    let model = world.model;
    let (mut right, mut left) = (Vec::new(), Vec::new());
    for SystemState { number, state: i, at, .. } in world.system_states() {
        for k in 1..model.states[i].order {
            let array = world.arrays.state(i, k - 1);
            right.push(Row { array, place: at.clone(), value: RowValue::State(i, k) });
            left.push(Row { array, place: at.clone(), value: RowValue::Direction(array) });
        }
        let array = world.top(i);
        right.push(Row { array, place: at.clone(), value: RowValue::Solved(number) });
        left.push(Row { array, place: at, value: RowValue::MassRow(number) });
    }
    let mut kernels = grouped(world, KernelRole::Rhs, Phase::Run, right)?;
    if world.has_mass {
        kernels.extend(grouped(world, KernelRole::Mass, Phase::Run, left)?);
    }
    invariants(world)?;
    Ok(kernels)
}

/// The invariants, as the right-hand side of a separate program.
fn invariants(world: &mut LoweringContext<'_>) -> Fallible<()> {
    let Some(reduction) = world.reduction.clone() else { return Ok(()) };
    let model = world.model;
    let mut rows = Vec::new();
    let mut elements = Vec::new();
    for SystemState { state: i, at, position, .. } in world.system_states() {
        for k in 0..model.states[i].order {
            let array = world.arrays.state(i, k);
            rows.push(Row { array, place: at.clone(), value: RowValue::Invariant(elements.len()) });
            elements.push(StateElement { array, position });
        }
    }
    let kernels = grouped(world, KernelRole::Rhs, Phase::Run, rows)?;
    let mut left = elements.into_iter();
    let stages = reduction.stages.iter().map(|stage| InvariantStage {
        rows: left.by_ref().take(stage.rows.len()).collect(),
        columns: stage.columns.clone(),
    });
    world.invariants = Some(InvariantDraft {
        kernels,
        stages: stages.collect(),
        derived: Vec::new(),
        unknowns: reduction.unknowns.clone(),
        direct: reduction.direct.clone(),
        constraints: reduction.constraints.clone(),
    });
    Ok(())
}

/// Equations over indices, each solved for its own derivative; equations for which this is impossible get products
/// with a mass matrix.
fn equations(world: &mut LoweringContext<'_>) -> Fallible<Vec<Kernel>> {
    let model = world.model;
    let mut rows = Vec::new();
    for i in 0..model.states.len() {
        for k in 1..model.states[i].order {
            let place = world.whole_place(i)?;
            rows.push(Row { array: world.arrays.state(i, k - 1), place, value: RowValue::State(i, k) });
        }
    }
    for (e, equation) in model.equations.iter().enumerate() {
        let Some(state) = world.owner(e) else { return refuse(algebraic(equation.span, "u[i]' = ...")) };
        rows.push(Row { array: world.top(state), place: world.places[e].clone(), value: RowValue::Equation(e) });
    }
    let mut kernels = grouped(world, KernelRole::Rhs, Phase::Run, rows)?;
    kernels.extend(scatter::kernels(world, Side::Right)?);
    if world.coupled.is_empty() {
        return Ok(kernels);
    }
    // The product of the mass matrix with all derivatives.
    let mut rows = Vec::new();
    for i in 0..model.states.len() {
        let most = model.states[i].order - u8::from(world.coupled.contains(&i));
        for k in 0..most {
            let place = world.whole_place(i)?;
            let array = world.arrays.state(i, k);
            rows.push(Row { array, place, value: RowValue::Direction(array) });
        }
    }
    for e in 0..model.equations.len() {
        if let Some(state) = world.owner(e).filter(|s| world.coupled.contains(s)) {
            rows.push(Row { array: world.top(state), place: world.places[e].clone(), value: RowValue::Product(e) });
        }
    }
    kernels.extend(grouped(world, KernelRole::Mass, Phase::Run, rows)?);
    kernels.extend(scatter::kernels(world, Side::Left)?);
    Ok(kernels)
}

fn outputs(world: &mut LoweringContext<'_>) -> Fallible<Vec<Kernel>> {
    let model = world.model;
    let mut rows = Vec::new();
    for o in &model.outputs {
        let axes = world.axes_of(&o.indexed.axes)?;
        let array = world.arrays.next();
        let pushed = world.arrays.push(o.name.clone(), Role::Output, o.span);
        pushed.axes = axes.iter().map(|a| a.0).collect();
        pushed.unit.clone_from(&o.unit);
        pushed.doc.clone_from(&o.doc);
        let place = o.indexed.locals.iter().map(|&local| world.place(&Place::Each(local))).collect::<Fallible<_>>()?;
        rows.push(Row { array, place, value: RowValue::Expression(o.value) });
    }
    let conserved = model.conserved.iter().map(|c| (&c.name, Role::Conserved, c.value, c.span));
    let expected = model.expects.iter().map(|e| (&e.name, Role::Expected, e.quantity, e.span));
    for (name, role, body, span) in conserved.chain(expected) {
        let array = world.arrays.next();
        world.arrays.push(name.clone(), role, span);
        rows.push(Row { array, place: Vec::new(), value: RowValue::Expression(body) });
    }
    grouped(world, KernelRole::Outputs, Phase::Run, rows)
}

impl KernelBuilder<'_, '_> {
    /// Without index sets, nodes are numbered in the order of the text: states, then definitions, each after those it
    /// uses. Sums of derivatives are formed in the order of the numbers.
    fn number_nodes(&mut self) -> Fallible<()> {
        let model = self.world.model;
        for (i, state) in model.states.iter().enumerate() {
            for k in 0..state.order {
                let element = self.scalar(self.world.arrays.state(i, k));
                self.graph.read(element);
            }
            let top = self.scalar(self.world.top(i));
            self.graph.direction(top);
        }
        for &i in &model.definition_order {
            self.side(model.definitions[i].value)?;
        }
        Ok(())
    }

    /// An expression in the equations without indices, which are solved for all highest derivatives.
    fn side(&mut self, body: Body) -> Fallible<NodeId> {
        let rate = self.world.model.level(body) == Level::Rate;
        let context = if rate { self.solving() } else { PLAIN };
        self.body(body, context)
    }

    /// The equations without indices, solved.
    pub(super) fn system(&mut self) -> Fallible<&Solved> {
        if self.system.is_none() {
            let flat = self.world.flat.clone();
            let model = flat.as_deref().map_or(self.world.model, |flat| &flat.model);
            let sides = self.system_sides()?;
            let mut rates = Vec::with_capacity(model.states.len());
            let mut states = Vec::with_capacity(model.states.len());
            let mut positions = Vec::with_capacity(model.states.len());
            for SystemState { state: i, at, position, .. } in self.world.system_states() {
                let subs = row_subs(&at, &[])?;
                let top = self.world.top(i);
                rates.push(self.at_place(top, &subs, None));
                let orders = 0..self.world.model.states[i].order;
                let arrays: Vec<ArrayId> = orders.map(|k| self.world.arrays.state(i, k)).collect();
                states.push(arrays.into_iter().map(|array| self.at_place(array, &subs, None)).collect());
                positions.push(position);
            }
            let LoweringContext { values, arrays, .. } = &*self.world;
            let setting = Setting { model, values, arrays, rates, states, positions, space: &self.space };
            let solved = solve::solve(&setting, &mut self.graph, &sides)?;
            self.world.has_mass = !solved.mass.is_empty();
            self.world.reduction.clone_from(&solved.reduction);
            self.system = Some(solved);
        }
        self.system.as_ref().map_or_else(|| refuse(internal("equations that were not solved", None)), Ok)
    }

    /// Both sides of the equations of the system.
    fn system_sides(&mut self) -> Fallible<Vec<(NodeId, NodeId)>> {
        let model = self.world.model;
        let Some(flat) = self.world.flat.clone() else {
            return model.equations.iter().map(|e| Ok((self.side(e.lhs)?, self.side(e.rhs)?))).collect();
        };
        let mut sides = Vec::with_capacity(flat.equations.len());
        for own in &flat.equations {
            let value = |&(local, at): &(usize, i64)| (local, IndexValue::affine(Affine::constant(at)));
            let locals = own.locals.iter().map(value).collect();
            let context = self.context(Context { locals, unknown: Unknown::All, ..Context::default() });
            let equation = &model.equations[own.equation];
            sides.push((self.value(equation.lhs.root, context)?, self.value(equation.rhs.root, context)?));
        }
        Ok(sides)
    }

    /// An invariant.
    fn invariant(&mut self, k: usize) -> Fallible<NodeId> {
        let reduction = self.system()?.reduction.as_ref();
        let node = reduction.and_then(|r| r.stages.iter().flat_map(|stage| &stage.rows).nth(k).copied());
        Ok(node.unwrap_or_else(|| self.graph.constant(0.0)))
    }

    /// The derivative of a state at an element that exists.
    fn state_element(&mut self, state: usize, order: u8, subs: &[IndexValue]) -> Fallible<NodeId> {
        let span = self.world.model.states[state].span;
        self.settle(|s| s.read(Symbol::State(state), order, subs, PLAIN, span))
    }

    /// The initial value of a discrete at an element that exists.
    fn start_of_discrete(&mut self, discrete: usize, subs: &[IndexValue]) -> Fallible<NodeId> {
        let span = self.world.model.discretes[discrete].span;
        self.settle(|s| s.read(Symbol::Discrete(discrete), 0, subs, PLAIN, span))
    }

    /// A row of M y': for a coupled equation, the row it is solved for; otherwise the derivative itself. The terms
    /// are in the order of the states in y.
    fn mass_row(&mut self, state: usize) -> Fallible<NodeId> {
        let row = self.system()?.mass.get(&state).cloned();
        let Some(row) = row else {
            let own = self.world.system_state(state);
            let subs = row_subs(&own.at, &[])?;
            let element = self.at_place(self.world.top(own.state), &subs, None);
            return Ok(self.graph.direction(element));
        };
        let mut terms: Vec<_> = row.into_iter().map(|(j, node)| (self.world.system_state(j), node)).collect();
        terms.sort_by_key(|(of, _)| {
            let column = self.world.top(of.state);
            (self.world.arrays.list[column.0 as usize].role, column, of.position)
        });
        let mut sum = None;
        for (of, entry) in terms {
            let subs = row_subs(&of.at, &[])?;
            let element = self.at_place(self.world.top(of.state), &subs, None);
            let rate = self.graph.direction(element);
            let term = self.graph.mul(entry, rate);
            sum = Some(match sum {
                None => term,
                Some(sum) => self.graph.add(sum, term),
            });
        }
        Ok(sum.unwrap_or_else(|| self.graph.constant(0.0)))
    }
}
