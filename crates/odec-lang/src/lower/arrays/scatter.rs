//! `sum(s where tab[s] == i: F[s])` as a term of an equation over `i` is no search: each `s` adds its term to the row that
//! the table names.

use odec_ir::builtin::logic;
use odec_ir::nest::{Affine, Element, Kernel, Store, Target};
use odec_ir::{ArrayId, KernelRole, Node, NodeId};

use super::index::IndexValue;
use super::read::PlaceAt;
use super::scribe::{Context, ContextId, Kind, Known, Outcome, Phase, Scribe, Step};
use super::{Fallible, Range, Side, World, add_loops, element, finish, row_context, row_subs};
use crate::model::{Level, Reduction, Symbol, TermId, TermKind};

/// A term of a sum, with its sign and the factors before it.
#[derive(Clone, Debug)]
struct Atom {
    negative: bool,
    /// Term, where, and whether the sum is divided by it.
    factors: Vec<(TermId, ContextId, bool)>,
    term: TermId,
    context: ContextId,
}

/// An [`Atom`] of one side of an equation.
struct Term {
    /// Of the left one.
    left: bool,
    atom: Atom,
}

/// A reduction that selects its row by a table.
struct Selection {
    /// Indices of the reduction.
    locals: Vec<usize>,
    /// Indices of the row with the element of a table that is equal to each.
    rows: Vec<(usize, TermId)>,
    /// Further conditions.
    others: Vec<TermId>,
    body: TermId,
}

impl World<'_> {
    /// A reduction with a condition `tab[..] == index` is in a term, or in a definition that it uses.
    fn selects(&self, root: TermId) -> bool {
        let mut open = vec![root];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Reduce { fold: Reduction::Sum, condition: Some(condition), .. }
                    if self.conjuncts(*condition).iter().any(|&c| self.equality(c).is_some()) =>
                {
                    return true;
                }
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Element(Symbol::Definition(i), ..) => open.push(self.model.definitions[*i].value.root),
                _ => {}
            }
        }
        false
    }

    /// Other nests may add to an equation.
    fn adds(&self, e: usize) -> bool {
        let equation = &self.model.equations[e];
        self.owner(e).is_some() && (self.selects(equation.rhs.root) || self.selects(equation.lhs.root))
    }

    /// An equation whose derivatives are solved for together with others.
    pub fn is_coupled(&self, e: usize) -> bool {
        self.owner(e).is_some_and(|state| self.coupled.contains(&state))
    }

    /// The conditions that a condition joins by `and`.
    fn conjuncts(&self, root: TermId) -> Vec<TermId> {
        let mut open = vec![root];
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            match &self.model.term(id).kind {
                TermKind::Apply(op, [a, b, _]) if op.0.name == "and" => open.extend([*b, *a]),
                _ => found.push(id),
            }
        }
        found
    }

    /// `tab[..] == i`: the local and the element.
    fn equality(&self, id: TermId) -> Option<(usize, TermId)> {
        let TermKind::Apply(op, [a, b, _]) = &self.model.term(id).kind else { return None };
        let one = |index: TermId, table: TermId| match (&self.model.term(index).kind, &self.model.term(table).kind) {
            (TermKind::Index(l), TermKind::Element(Symbol::Constant(_), ..)) => Some((*l, table)),
            _ => None,
        };
        if op.0.name == "eq" { one(*a, *b).or_else(|| one(*b, *a)) } else { None }
    }

    /// The indices that a term mentions itself.
    fn indices_in(&self, root: TermId) -> Vec<usize> {
        let mut open = vec![root];
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            match &self.model.term(id).kind {
                TermKind::Index(l) => found.push(*l),
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Element(_, _, subscripts) => open.extend(subscripts),
                _ => {}
            }
        }
        found
    }
}

impl Scribe<'_, '_> {
    /// Runs a step until it has what it needs.
    pub fn settle(&mut self, mut step: impl FnMut(&mut Self) -> Outcome) -> Fallible<NodeId> {
        loop {
            match step(self)? {
                Step::Done(Known::Node(node)) => return Ok(node),
                Step::Done(Known::Index(_)) => return Ok(self.graph.constant(f64::NAN)),
                Step::Needs(keys) => {
                    for key in keys {
                        self.run(key)?;
                    }
                }
            }
        }
    }

    /// The derivative of a state at an element that exists.
    pub fn state_element(
        &mut self,
        state: usize,
        order: u8,
        subs: &[IndexValue],
        context: ContextId,
    ) -> Fallible<NodeId> {
        let span = self.world.model.states[state].span;
        self.settle(|s| s.read(Symbol::State(state), order, subs, context, span))
    }

    /// The terms of a sum, where one of them selects its row by a table; through definitions and common factors.
    fn atoms(&mut self, root: TermId, context: ContextId) -> Fallible<Vec<Atom>> {
        let model = self.world.model;
        let mut open = vec![Atom { negative: false, factors: Vec::new(), term: root, context }];
        let mut atoms = Vec::new();
        while let Some(atom) = open.pop() {
            if !self.world.selects(atom.term) {
                atoms.push(atom);
                continue;
            }
            let with = |term: TermId| Atom { term, ..atom.clone() };
            match &model.term(atom.term).kind {
                TermKind::Apply(op, [a, b, _]) => match op.0.name {
                    "add" => open.extend([with(*b), with(*a)]),
                    "sub" => open.extend([Atom { negative: !atom.negative, ..with(*b) }, with(*a)]),
                    "neg" => open.push(Atom { negative: !atom.negative, ..with(*a) }),
                    "mul" if self.world.selects(*a) != self.world.selects(*b) => {
                        let (sum, factor) = if self.world.selects(*a) { (*a, *b) } else { (*b, *a) };
                        let mut next = with(sum);
                        next.factors.push((factor, atom.context, false));
                        open.push(next);
                    }
                    "div" if !self.world.selects(*b) => {
                        let mut next = with(*a);
                        next.factors.push((*b, atom.context, true));
                        open.push(next);
                    }
                    _ => atoms.push(atom),
                },
                TermKind::Element(Symbol::Definition(d), _, subscripts) => {
                    let definition = &model.definitions[*d];
                    let mut subs = Vec::new();
                    for &s in subscripts {
                        match self.run((Kind::Index, s, atom.context))? {
                            Known::Index(value) => subs.push(value),
                            Known::Node(_) => {}
                        }
                    }
                    let axes = self.world.axes(Symbol::Definition(*d));
                    let inside = subs.iter().zip(&axes).all(|(value, (axis, _))| {
                        let axis = &self.world.sizes.axes[axis.0 as usize];
                        // An element of a table is the row itself, which was in range when it was an index.
                        value.as_affine().is_none_or(|a| self.facts().inside(a, &axis.first, &axis.last))
                    });
                    if !inside {
                        atoms.push(atom);
                        continue;
                    }
                    let mut inner = Context {
                        locals: definition.indexed.locals.iter().copied().zip(subs).collect(),
                        ..Context::default()
                    };
                    inner.guards.clone_from(&self.at(atom.context).guards);
                    let inner = self.context(inner);
                    open.push(Atom { context: inner, ..with(definition.value.root) });
                }
                _ => atoms.push(atom),
            }
        }
        Ok(atoms)
    }

    /// An equation with such a leaf joins those that are solved for together.
    fn join(&mut self, e: usize, node: NodeId, leaf: impl Fn(Node) -> bool) -> bool {
        let live = self.graph.reachable([node]);
        let joins = live.iter().zip(self.graph.nodes()).any(|(live, n)| *live && leaf(*n));
        if joins {
            let state = self.world.owner(e);
            self.world.wanted.extend(state);
        }
        joins
    }

    /// The terms of both sides of an equation; of the right one where the left one is the derivative alone.
    fn parts(&mut self, e: usize, context: ContextId) -> Fallible<Vec<Term>> {
        let equation = &self.world.model.equations[e];
        let plain = equation.target.is_some() && !self.world.is_coupled(e);
        let mut parts = Vec::new();
        if !plain {
            let atoms = self.atoms(equation.lhs.root, context)?;
            parts.extend(atoms.into_iter().map(|atom| Term { left: true, atom }));
        }
        let atoms = self.atoms(equation.rhs.root, context)?;
        parts.extend(atoms.into_iter().map(|atom| Term { left: false, atom }));
        Ok(parts)
    }

    /// Both sides, as the sums of their terms.
    fn sides(&mut self, terms: &[Term]) -> Fallible<[NodeId; 2]> {
        let mut sums: [Option<NodeId>; 2] = [None, None];
        for term in terms {
            let node = self.value(term.atom.term, term.atom.context)?;
            let node = self.weighted(&term.atom, node)?;
            let sum = &mut sums[usize::from(!term.left)];
            *sum = Some(match *sum {
                None => node,
                Some(other) => self.graph.add(other, node),
            });
        }
        Ok(sums.map(|sum| sum.unwrap_or_else(|| self.graph.constant(0.0))))
    }

    /// What is added to a row, divided by the factor that the row's own derivative has in its equation.
    fn over_factor(&mut self, e: usize, context: ContextId, node: NodeId) -> Fallible<NodeId> {
        let model = self.world.model;
        let mut own = self.parts(e, context)?;
        own.retain(|p| model.level(model.subtree(p.atom.term)) == Level::Rate);
        let [left, right] = self.sides(&own)?;
        let (factor, _) = self.balance(e, left, right)?;
        Ok(factor.map_or(node, |factor| self.graph.div(node, factor)))
    }

    /// A reduction that selects the row: for each of its conditions `tab[..] == i` with `i` an index of the row.
    fn selection(&mut self, atom: &Atom, place: &[PlaceAt], row: &[IndexValue]) -> Option<Selection> {
        let model = self.world.model;
        let TermKind::Reduce { fold: Reduction::Sum, locals, condition: Some(condition), body } =
            &model.term(atom.term).kind
        else {
            return None;
        };
        let mut rows = Vec::new();
        let mut others = Vec::new();
        for conjunct in self.world.conjuncts(*condition) {
            let own = self.world.equality(conjunct).and_then(|(local, table)| {
                let known = &self.at(atom.context).locals;
                let value = known.iter().find(|l| l.0 == local).map(|l| &l.1)?;
                let at = place.iter().zip(row).find_map(|(p, v)| match p {
                    PlaceAt::Each { local, .. } if v == value => Some(*local),
                    _ => None,
                })?;
                let own = self.world.indices_in(table).iter().all(|l| locals.contains(l));
                (own && !rows.iter().any(|r: &(usize, TermId)| r.0 == at)).then_some((at, table))
            });
            match own {
                Some(pair) => rows.push(pair),
                None => others.push(conjunct),
            }
        }
        (!rows.is_empty()).then(|| Selection { locals: locals.clone(), rows, others, body: *body })
    }

    /// A term with its factors and its sign.
    fn weighted(&mut self, atom: &Atom, node: NodeId) -> Fallible<NodeId> {
        let mut node = node;
        for &(factor, context, divide) in atom.factors.iter().rev() {
            let factor = self.value(factor, context)?;
            node = if divide { self.graph.div(node, factor) } else { self.graph.mul(factor, node) };
        }
        Ok(if atom.negative { self.graph.neg(node) } else { node })
    }
}

/// One side of an equation without what other nests add to it: that with the derivatives, or the rest, divided by the factor
/// of the derivative where it is one alone.
pub(super) fn rest(scribe: &mut Scribe<'_, '_>, e: usize, context: ContextId, side: Side) -> Fallible<NodeId> {
    let model = scribe.world.model;
    let equation = &model.equations[e];
    let coupled = scribe.world.is_coupled(e);
    let place = scribe.world.places[e].clone();
    let row = row_subs(&place, &scribe.iterates.clone());
    let mut kept = Vec::new();
    let mut added = false;
    if scribe.world.adds(e) {
        for part in scribe.parts(e, context)? {
            match scribe.selection(&part.atom, &place, &row) {
                Some(_) => added = true,
                None => kept.push(part),
            }
        }
    }
    if !added && !coupled {
        let node = scribe.settle(|s| s.equation(e, context))?;
        scribe.join(e, node, |n| matches!(n, Node::Direction(Element::At(_))));
        return Ok(node);
    }
    let [left, right] = if added {
        scribe.sides(&kept)?
    } else {
        [scribe.value(equation.lhs.root, context)?, scribe.value(equation.rhs.root, context)?]
    };
    if coupled {
        let parts = scribe.split(e, &[left, right])?;
        let node = match side {
            Side::Left => parts[0].minus(parts[1], &mut scribe.graph).linear,
            Side::Right => parts[1].minus(parts[0], &mut scribe.graph).rest,
        };
        return Ok(node.unwrap_or_else(|| scribe.graph.constant(0.0)));
    }
    let node = if equation.target.is_some() { right } else { scribe.solve(e, left, right)? };
    scribe.join(e, node, |n| matches!(n, Node::Direction(Element::At(_))));
    Ok(node)
}

/// One term that is added through a table.
struct Addend {
    equation: usize,
    /// Which of the atoms of its right side.
    position: usize,
    selection: Selection,
}

/// The nests that add through tables: all terms over the same ranges share one.
pub(super) fn nests(world: &mut World<'_>, side: Side) -> Fallible<Vec<Kernel>> {
    let mut groups: Vec<(Vec<Range>, Vec<Addend>)> = Vec::new();
    for e in 0..world.model.equations.len() {
        if !world.adds(e) || (side == Side::Left && !world.is_coupled(e)) {
            continue;
        }
        let place = world.places[e].clone();
        let mut probe = Scribe::new(world, Phase::Run, odec_ir::nest::Part::Whole);
        let loops = add_loops(&mut probe, &place);
        let row = row_subs(&place, &loops);
        let context = row_context(&mut probe, &place, &row, Some(e));
        let parts = probe.parts(e, context)?;
        let selections: Vec<Option<Selection>> = parts.iter().map(|p| probe.selection(&p.atom, &place, &row)).collect();
        for (position, selection) in selections.into_iter().enumerate() {
            let Some(selection) = selection else { continue };
            let part = Addend { equation: e, position, selection };
            let ranges = part_loops(world, &part)?.into_iter().map(|(_, first, last)| (first, last)).collect();
            match groups.iter_mut().find(|g| g.0 == ranges) {
                Some(group) => group.1.push(part),
                None => groups.push((ranges, vec![part])),
            }
        }
    }
    let mut nests = Vec::new();
    for (_, parts) in groups {
        let nest = nest(world, &parts, side)?;
        if !nest.stores.is_empty() {
            nests.push(nest);
        }
    }
    Ok(nests)
}

/// The indices that the nest of a part runs over: those of the reduction, and those of the row that no table gives.
fn part_loops(world: &mut World<'_>, part: &Addend) -> Fallible<Vec<(usize, Affine, Affine)>> {
    let mut loops = Vec::new();
    for &local in &part.selection.locals {
        let (first, last) = world.sizes.range(&mut world.arrays, &world.model.locals[local].range)?;
        loops.push((local, first, last));
    }
    for p in &world.places[part.equation] {
        if let PlaceAt::Each { local, first, last } = p
            && !part.selection.rows.iter().any(|r| r.0 == *local)
        {
            loops.push((*local, first.clone(), last.clone()));
        }
    }
    Ok(loops)
}

fn nest(world: &mut World<'_>, parts: &[Addend], side: Side) -> Fallible<Kernel> {
    let indices: Vec<Vec<(usize, Affine, Affine)>> =
        parts.iter().map(|p| part_loops(world, p)).collect::<Fallible<_>>()?;
    let mut scribe = Scribe::new(world, Phase::Run, odec_ir::nest::Part::Whole);
    let mut loops = Vec::new();
    for (local, first, last) in indices.first().into_iter().flatten() {
        let local = &scribe.world.model.locals[*local];
        loops.push(scribe.iterate(&local.name, first.clone(), last.clone(), local.span));
    }
    let mut stores = Vec::new();
    for (part, indices) in parts.iter().zip(&indices) {
        let own: Vec<(usize, IndexValue)> =
            indices.iter().zip(&loops).map(|((local, _, _), &l)| (*local, IndexValue::index(l))).collect();
        stores.extend(store(&mut scribe, part, own, side)?);
    }
    let role = if side == Side::Left { KernelRole::Mass } else { KernelRole::Rhs };
    Ok(finish(scribe, role, stores))
}

/// The store of a term; `None` if the side has nothing of it.
fn store(
    scribe: &mut Scribe<'_, '_>,
    part: &Addend,
    own: Vec<(usize, IndexValue)>,
    side: Side,
) -> Fallible<Option<Store>> {
    let model = scribe.world.model;
    let equation = &model.equations[part.equation];
    let place = scribe.world.places[part.equation].clone();
    let outer = scribe.context(Context { locals: own.clone(), ..Context::default() });
    // The index of the row is the element of the table.
    let mut locals = own.clone();
    let mut conditions = Vec::new();
    for &(local, table) in &part.selection.rows {
        let Known::Index(value) = scribe.run((Kind::Index, table, outer))? else { continue };
        locals.push((local, value));
    }
    let row: Vec<IndexValue> = place
        .iter()
        .map(|p| match p {
            PlaceAt::At(at) => IndexValue::affine(at.clone()),
            PlaceAt::Each { local, .. } => {
                locals.iter().find(|l| l.0 == *local).map_or(IndexValue::affine(Affine::constant(0)), |l| l.1.clone())
            }
        })
        .collect();
    // An equation for a part of the rows takes only what goes there.
    let state = scribe.world.owner(part.equation);
    let axes = state.map(|s| scribe.world.axes(Symbol::State(s))).unwrap_or_default();
    for ((p, value), (axis, _)) in place.iter().zip(&row).zip(&axes) {
        let axis = &scribe.world.sizes.axes[axis.0 as usize];
        if let PlaceAt::Each { first, last, .. } = p
            && (axis.first != *first || axis.last != *last)
        {
            conditions.extend(scribe.within(value, first, last));
        }
    }
    let mut base = Context { locals, equation: Some(part.equation), ..Context::default() };
    base.guards.clone_from(&conditions);
    let mut context = scribe.context(base.clone());
    let inside = |scribe: &mut Scribe<'_, '_>, context: ContextId| -> Fallible<(Atom, ContextId)> {
        let atom = scribe.parts(part.equation, context)?[part.position].atom.clone();
        let mut inner = scribe.at(atom.context).clone();
        for (local, value) in &own {
            if part.selection.locals.contains(local) {
                inner.locals.retain(|l| l.0 != *local);
                inner.locals.push((*local, value.clone()));
            }
        }
        let inner = scribe.context(inner);
        Ok((atom, inner))
    };
    let (mut atom, mut inner) = inside(scribe, context)?;
    let mut values = Vec::new();
    for &condition in &part.selection.others {
        if scribe.world.guards(condition) {
            if let Known::Node(node) = scribe.run((Kind::Guard, condition, inner))? {
                conditions.push(node);
            }
        } else {
            values.push(condition);
        }
    }
    if base.guards != conditions {
        base.guards.clone_from(&conditions);
        context = scribe.context(base);
        (atom, inner) = inside(scribe, context)?;
    }
    let mut node = scribe.value(part.selection.body, inner)?;
    node = scribe.weighted(&atom, node)?;
    let zero = scribe.graph.constant(0.0);
    for condition in values {
        let condition = scribe.value(condition, inner)?;
        node = scribe.graph.apply(&logic::IF, &[condition, node, zero]);
    }
    let left = scribe.parts(part.equation, context)?[part.position].left;
    let node = if scribe.world.is_coupled(part.equation) {
        let split = scribe.split(part.equation, &[node])?[0];
        let (own, negative) = match side {
            Side::Left => (split.linear, !left),
            Side::Right => (split.rest, left),
        };
        let Some(own) = own else { return Ok(None) };
        if negative { scribe.graph.neg(own) } else { own }
    } else {
        // With its own derivative in the sum it is not given by a division alone.
        if scribe.join(part.equation, node, |n| matches!(n, Node::Direction(_))) {
            return Ok(None);
        }
        let node = if left { scribe.graph.neg(node) } else { node };
        if equation.target.is_some() { node } else { scribe.over_factor(part.equation, context, node)? }
    };
    let mut node = node;
    let guard = scribe.all(&conditions);
    if let Some(guard) = guard {
        let condition = scribe.copied(guard);
        node = scribe.graph.apply(&logic::IF, &[condition, node, zero]);
    }
    let array: ArrayId = state.map_or(ArrayId(0), |s| scribe.world.top(s));
    let access = element(&mut scribe.space, array, &row, guard);
    Ok(Some(Store { target: Target::Add(access.into()), node }))
}
