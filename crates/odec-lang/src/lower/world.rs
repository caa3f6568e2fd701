//! The data that all kernels of a program share: arrays, axes, extents, the elements of equations and boundaries.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use odec_ir::nest::{Affine, AxisId, Edge};
use odec_ir::{Array, ArrayId, Role};

use super::extents::Extents;
use super::flat::Flat;
use super::index_reduction::IndexReduction;
use super::inputs::{self, CurveTables};
use super::quantities::Arrays;
use super::{Fallible, InvariantDraft};
use crate::model::{Definition, Dimension, Model, Place, Symbol, TermId, TermKind, Values};

/// Axes of a symbol with the rule of their edges.
pub(super) type Axes = Rc<[(AxisId, Option<Edge>)]>;

/// A range of indices.
pub(super) type Ends = (Affine, Affine);

/// A [`Place`] with its numbers.
#[derive(Clone, Debug)]
pub(super) enum PlaceAt {
    Each { local: usize, first: Affine, last: Affine },
    At(Affine),
}

/// A state of the equations that are solved together.
pub(super) struct SystemState {
    /// Its number among them.
    pub number: usize,
    /// The state of the model.
    pub state: usize,
    /// The element, and its index in the array.
    pub at: Vec<PlaceAt>,
    pub position: usize,
}

/// See the head of this file.
pub(super) struct LoweringContext<'m> {
    pub model: &'m Model,
    pub values: &'m Values,
    pub arrays: Arrays,
    pub extents: Extents<'m>,
    /// True without index sets: kernels read and store scalars at known positions.
    pub scalar: bool,
    /// True if no state has an index: all equations are solved together ([`super::solve`]).
    pub one_system: bool,
    /// All elements as one system, if constraints on some of them must be differentiated.
    pub flat: Option<Rc<Flat>>,
    /// The table of each constant with axes; other entries are not used.
    pub tables: Vec<ArrayId>,
    /// The tables of each input.
    pub curves: Vec<CurveTables>,
    /// The places of each boundary.
    pub boundaries: Vec<Vec<PlaceAt>>,
    /// The places of each equation.
    pub places: Vec<Vec<PlaceAt>>,
    axes: HashMap<Symbol, Axes>,
    guards: HashMap<TermId, bool>,
    /// For each definition: true if a reduction is in it or in one that it uses. Found when first asked for.
    reducing: Option<Vec<bool>>,
    /// States whose derivatives are solved for together, by a mass matrix.
    pub coupled: BTreeSet<usize>,
    /// Further equations that must be solved together.
    pub wanted: BTreeSet<usize>,
    /// The system of equations without indices has rows of a mass matrix.
    pub has_mass: bool,
    /// The differentiated constraints, for equations without indices of index 2 or more; nodes of one kernel.
    pub reduction: Option<IndexReduction>,
    /// Invariants after the differentiation.
    pub invariants: Option<InvariantDraft>,
    /// For each definition: true if everything that it reads without a condition exists at all its elements; checked
    /// with the sizes.
    closed: Vec<bool>,
}

impl<'m> LoweringContext<'m> {
    pub fn new(model: &'m Model, values: &'m Values, coupled: BTreeSet<usize>) -> Fallible<LoweringContext<'m>> {
        let mut arrays = Arrays::of(model, values);
        let flat = Flat::of(model, values).map(Rc::new);
        let extents = Extents::new(model, values, &mut arrays, flat.is_some());
        let mut world = LoweringContext {
            model,
            values,
            arrays,
            extents,
            scalar: !model.has_arrays(),
            one_system: model.states.iter().all(|s| s.indexed.is_scalar()),
            flat,
            tables: Vec::new(),
            curves: Vec::new(),
            boundaries: Vec::new(),
            places: Vec::new(),
            axes: HashMap::new(),
            guards: HashMap::new(),
            reducing: None,
            coupled,
            wanted: BTreeSet::new(),
            has_mass: false,
            reduction: None,
            invariants: None,
            closed: model.definitions.iter().map(|d| closed(model, d)).collect(),
        };
        world.declare()?;
        for boundary in &model.boundaries {
            let places = boundary.place.iter().map(|p| world.place(p)).collect::<Fallible<_>>()?;
            world.boundaries.push(places);
        }
        for equation in &model.equations {
            let places = equation.place.iter().map(|p| world.place(p)).collect::<Fallible<_>>()?;
            world.places.push(places);
        }
        world.extents.declared = world.extents.axes.len();
        Ok(world)
    }

    /// Declares the axes of all arrays, and the data of arrays.
    fn declare(&mut self) -> Fallible<()> {
        let (model, values) = (self.model, self.values);
        for (i, given) in model.parameters.iter().enumerate() {
            let axes = self.declare_axes(Symbol::Parameter(i), &given.indexed.axes)?;
            let array = &mut self.arrays.list[self.arrays.parameters[i].0 as usize];
            array.axes = axes.iter().map(|a| a.0).collect();
            if !axes.is_empty() {
                array.data = Arc::new(values.parameter_data[i].clone());
                set_unread(array);
            }
        }
        for (i, state) in model.states.iter().enumerate() {
            let axes = self.declare_axes(Symbol::State(i), &state.indexed.axes)?;
            for k in 0..state.order {
                let array = self.arrays.state(i, k);
                self.arrays.list[array.0 as usize].axes = axes.iter().map(|a| a.0).collect();
            }
        }
        for (i, discrete) in model.discretes.iter().enumerate() {
            let axes = self.declare_axes(Symbol::Discrete(i), &discrete.indexed.axes)?;
            let array = self.arrays.discretes[i];
            self.arrays.list[array.0 as usize].axes = axes.iter().map(|a| a.0).collect();
        }
        for (i, given) in model.constants.iter().enumerate() {
            let axes = self.declare_axes(Symbol::Constant(i), &given.indexed.axes)?;
            let id = self.arrays.next();
            self.tables.push(id);
            if !axes.is_empty() {
                let array = self.arrays.push(given.name.clone(), Role::Table, given.span);
                array.axes = axes.iter().map(|a| a.0).collect();
                array.unit.clone_from(&given.unit);
                array.doc.clone_from(&given.doc);
                array.data = Arc::new(values.constant_data[i].clone());
                set_unread(array);
            }
        }
        for (i, input) in model.inputs.iter().enumerate() {
            let curve = values.inputs.get(i).and_then(Option::as_deref);
            self.curves.push(inputs::declare(&mut self.arrays, input, curve));
        }
        for (i, definition) in model.definitions.iter().enumerate() {
            self.declare_axes(Symbol::Definition(i), &definition.indexed.axes)?;
        }
        Ok(())
    }

    fn declare_axes(&mut self, symbol: Symbol, dimensions: &[Dimension]) -> Fallible<Axes> {
        let axes = self.axes_of(dimensions)?;
        if !axes.is_empty() {
            self.axes.insert(symbol, axes.clone());
        }
        Ok(axes)
    }

    /// The axes of these dimensions.
    pub fn axes_of(&mut self, dimensions: &[Dimension]) -> Fallible<Axes> {
        let model = self.model;
        dimensions.iter().map(|d| Ok((self.extents.axis(&mut self.arrays, d)?, model.edge_of(d)))).collect()
    }

    /// The axes of a symbol.
    pub fn axes(&self, symbol: Symbol) -> Axes {
        self.axes.get(&symbol).cloned().unwrap_or_default()
    }

    /// The range of an index.
    pub fn range_of(&mut self, local: usize) -> Fallible<Ends> {
        self.extents.range(&mut self.arrays, &self.model.locals[local].range)
    }

    pub fn place(&mut self, place: &Place) -> Fallible<PlaceAt> {
        Ok(match *place {
            Place::At(body) => PlaceAt::At(self.extents.affine(&mut self.arrays, body)?),
            Place::Each(local) => {
                let (first, last) = self.range_of(local)?;
                PlaceAt::Each { local, first, last }
            }
        })
    }

    /// Every element of a state.
    pub fn whole_place(&mut self, state: usize) -> Fallible<Vec<PlaceAt>> {
        let model = self.model;
        model.states[state].indexed.locals.iter().map(|&local| self.place(&Place::Each(local))).collect()
    }

    /// A state of the equations that are solved together, by its number among them.
    pub fn system_state(&self, number: usize) -> SystemState {
        let Some(flat) = &self.flat else {
            return SystemState { number, state: number, at: Vec::new(), position: 0 };
        };
        let own = &flat.states[number];
        let at = own.at.iter().map(|at| PlaceAt::At(Affine::constant(*at))).collect();
        SystemState { number, state: own.state, at, position: own.position }
    }

    /// All states of the system.
    pub fn system_states(&self) -> Vec<SystemState> {
        let count = self.flat.as_ref().map_or(self.model.states.len(), |flat| flat.states.len());
        (0..count).map(|number| self.system_state(number)).collect()
    }

    /// The array whose rows contain the equations of a state.
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

    /// True for an equation whose derivatives are solved for together with others.
    pub fn is_coupled(&self, e: usize) -> bool {
        self.owner(e).is_some_and(|state| self.coupled.contains(&state))
    }

    /// True for a definition with axes whose reads exist wherever it exists.
    pub fn is_closed(&self, symbol: Symbol) -> bool {
        matches!(symbol, Symbol::Definition(d) if self.closed[d])
    }

    /// True for a condition on indices that can guard reads.
    pub fn guards(&mut self, root: TermId) -> bool {
        if let Some(&known) = self.guards.get(&root) {
            return known;
        }
        let known = self.model.index_only(root) && !self.reductions(root);
        self.guards.insert(root, known);
        known
    }

    /// A reduction is in a term or in a definition that it uses.
    fn reductions(&mut self, root: TermId) -> bool {
        let (has, used) = reductions_in(self.model, root);
        if has || used.is_empty() {
            return has;
        }
        let reducing = self.reducing.get_or_insert_with(|| reducing(self.model));
        used.into_iter().any(|i| reducing[i])
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
}

/// True if a reduction is in a term itself; otherwise the definitions that it uses.
fn reductions_in(model: &Model, root: TermId) -> (bool, Vec<usize>) {
    let mut open = vec![root];
    let mut seen = HashSet::new();
    let mut used = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &model.term(id).kind {
            TermKind::Reduce { .. } => return (true, Vec::new()),
            TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
            TermKind::Definition(i) => used.push(*i),
            TermKind::Element(symbol, _, subscripts) => {
                open.extend(subscripts);
                if let Symbol::Definition(i) = symbol {
                    used.push(*i);
                }
            }
            _ => {}
        }
    }
    (false, used)
}

/// For each definition, whether a reduction is in it or in one that it uses, however long the chain: each definition
/// is read once, and passes its answer to those that use it.
fn reducing(model: &Model) -> Vec<bool> {
    let mut reduces = vec![false; model.definitions.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); reduces.len()];
    let mut open = Vec::new();
    for (i, definition) in model.definitions.iter().enumerate() {
        let (has, used) = reductions_in(model, definition.value.root);
        reduces[i] = has;
        open.extend(has.then_some(i));
        for j in used {
            users[j].push(i);
        }
    }
    while let Some(j) = open.pop() {
        for &i in &users[j] {
            if !std::mem::replace(&mut reduces[i], true) {
                open.push(i);
            }
        }
    }
    reduces
}

/// True if every subscript in a definition is linear in its indices or an element of a table, and no index is in two
/// subscripts of one element. The check of sizes then guarantees that all its reads exist for the whole range of the
/// definition.
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

/// Sets the elements of an array without data (its file was not read) to undefined.
fn set_unread(array: &mut Array) {
    if array.data.is_empty() {
        array.default = f64::NAN;
    }
}
