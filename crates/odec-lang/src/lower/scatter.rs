//! `sum(s where tab[s] == i: F[s])` as a term of an equation over `i` needs no search: each `s` adds its term to the
//! row that the table gives.

use odec_ir::builtin::{logic, rounding};
use odec_ir::nest::{Affine, Element, Kernel, Region, Store, Target};
use odec_ir::{KernelRole, Node, NodeId};

use super::builder::{Context, ContextId, KernelBuilder, Phase, Unknown};
use super::index::IndexValue;
use super::kernels::{Side, add_loops, finish, row_context, row_subs};
use super::world::{Ends, LoweringContext, PlaceAt};
use super::{Fallible, refuse};
use crate::model::{Level, Reduction, Symbol, TermId, TermKind};
use crate::report::internal;

/// A term of a sum, with its sign and the factors before it.
#[derive(Clone, Debug)]
struct Atom {
    negative: bool,
    /// Term, context, and true if the sum is divided by it.
    factors: Vec<(TermId, ContextId, bool)>,
    term: TermId,
    context: ContextId,
}

/// An [`Atom`] on one side of an equation.
struct SideTerm {
    /// True for the left-hand side.
    left: bool,
    atom: Atom,
}

/// Numbers in a table that are not an index of some rows.
#[derive(Default)]
struct NonIndices {
    /// Some are outside the range.
    out_of_range: bool,
    /// Some are not integers.
    fractional: bool,
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

impl LoweringContext<'_> {
    /// A reduction with a condition `tab[..] == index` is in a term, or in a definition that it uses.
    fn selects(&self, root: TermId) -> bool {
        let mut open = vec![root];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Reduce { reduction: Reduction::Sum, condition: Some(condition), .. }
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

    /// True if other kernels may add to an equation.
    fn adds(&self, e: usize) -> bool {
        let equation = &self.model.equations[e];
        self.owner(e).is_some() && (self.selects(equation.rhs.root) || self.selects(equation.lhs.root))
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

    /// The numbers of a table that are not an index from `first` to `last`.
    fn non_indices(&self, table: TermId, first: &Affine, last: &Affine) -> NonIndices {
        let TermKind::Element(Symbol::Constant(table), ..) = self.model.term(table).kind else {
            return NonIndices::default();
        };
        let data = &self.values.constant_data[table];
        let [first, last] = [first, last].map(|end| end.value(&self.extents.list).map_or(f64::NAN, |end| end as f64));
        NonIndices {
            out_of_range: data.iter().any(|&x| !(first <= x && x <= last)),
            fractional: data.iter().any(|x| x.fract() != 0.0),
        }
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

impl KernelBuilder<'_, '_> {
    /// The terms of a sum in which some term selects its row by a table; looks through definitions and common factors.
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
                    let subs = self.settle(|s| Ok(s.subscripts(subscripts, atom.context)))?;
                    let axes = self.world.axes(Symbol::Definition(*d));
                    let inside = subs.iter().zip(axes.iter()).all(|(value, (axis, _))| {
                        let axis = &self.world.extents.axes[axis.0 as usize];
                        // An element of a table is the row itself, and was in range when it was an index.
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

    /// Makes an equation with such a leaf one of those that are solved together.
    fn join(&mut self, e: usize, node: NodeId, leaf: impl Fn(Node) -> bool) -> bool {
        let live = self.graph.reachable([node]);
        let joins = live.iter().zip(self.graph.nodes()).any(|(live, n)| *live && leaf(*n));
        if joins {
            let state = self.world.owner(e);
            self.world.wanted.extend(state);
        }
        joins
    }

    /// The terms of both sides of an equation; only of the right-hand side if the left-hand side is the derivative alone.
    fn parts(&mut self, e: usize, context: ContextId) -> Fallible<Vec<SideTerm>> {
        let equation = &self.world.model.equations[e];
        let plain = equation.target.is_some() && !self.world.is_coupled(e);
        let mut parts = Vec::new();
        if !plain {
            let atoms = self.atoms(equation.lhs.root, context)?;
            parts.extend(atoms.into_iter().map(|atom| SideTerm { left: true, atom }));
        }
        let atoms = self.atoms(equation.rhs.root, context)?;
        parts.extend(atoms.into_iter().map(|atom| SideTerm { left: false, atom }));
        Ok(parts)
    }

    /// Both sides, as the sums of their terms.
    fn sides(&mut self, terms: &[SideTerm]) -> Fallible<[NodeId; 2]> {
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

    /// A term that is added to a row, divided by the coefficient of the row's own derivative in its equation.
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
        let TermKind::Reduce { reduction: Reduction::Sum, locals, condition: Some(condition), body } =
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

/// One side of an equation without the terms that other kernels add: the derivatives, or the rest, divided by the
/// factor of the derivative if it is the only one.
pub(super) fn rest(builder: &mut KernelBuilder<'_, '_>, e: usize, context: ContextId, side: Side) -> Fallible<NodeId> {
    let model = builder.world.model;
    let equation = &model.equations[e];
    let coupled = builder.world.is_coupled(e);
    let place = builder.world.places[e].clone();
    let row = row_subs(&place, &builder.iterates.clone())?;
    let mut kept = Vec::new();
    let mut added = false;
    if builder.world.adds(e) {
        for part in builder.parts(e, context)? {
            match builder.selection(&part.atom, &place, &row) {
                Some(_) => added = true,
                None => kept.push(part),
            }
        }
    }
    if !added && !coupled {
        let node = builder.settle(|s| s.equation(e, context))?;
        builder.join(e, node, |n| matches!(n, Node::Direction(Element::At(_))));
        return Ok(node);
    }
    let [left, right] = if added {
        builder.sides(&kept)?
    } else {
        [builder.value(equation.lhs.root, context)?, builder.value(equation.rhs.root, context)?]
    };
    if coupled {
        let parts = builder.split(e, &[left, right])?;
        let node = match side {
            Side::Left => parts[0].minus(parts[1], &mut builder.graph).linear,
            Side::Right => parts[1].minus(parts[0], &mut builder.graph).rest,
        };
        return Ok(node.unwrap_or_else(|| builder.graph.constant(0.0)));
    }
    let node = if equation.target.is_some() { right } else { builder.solve(e, left, right)? };
    builder.join(e, node, |n| matches!(n, Node::Direction(Element::At(_))));
    Ok(node)
}

/// A term that is added through a table.
struct Addend {
    equation: usize,
    /// Its index among the atoms of the right-hand side.
    position: usize,
    selection: Selection,
}

/// The kernels that add through tables: all terms over the same ranges share one.
pub(super) fn kernels(world: &mut LoweringContext<'_>, side: Side) -> Fallible<Vec<Kernel>> {
    let mut groups: Vec<(Vec<Ends>, Vec<Addend>)> = Vec::new();
    for e in 0..world.model.equations.len() {
        if !world.adds(e) || (side == Side::Left && !world.is_coupled(e)) {
            continue;
        }
        let place = world.places[e].clone();
        let mut probe = KernelBuilder::new(world, Phase::Run, Region::Whole);
        let loops = add_loops(&mut probe, &place);
        let row = row_subs(&place, &loops)?;
        let context = row_context(&mut probe, &place, &row, Unknown::Own(e));
        let parts = probe.parts(e, context)?;
        let selections: Vec<Option<Selection>> = parts.iter().map(|p| probe.selection(&p.atom, &place, &row)).collect();
        for (position, selection) in selections.into_iter().enumerate() {
            let Some(selection) = selection else { continue };
            let part = Addend { equation: e, position, selection };
            let ranges = part_loops(world, &part)?.into_iter().map(|(_, ends)| ends).collect();
            match groups.iter_mut().find(|g| g.0 == ranges) {
                Some(group) => group.1.push(part),
                None => groups.push((ranges, vec![part])),
            }
        }
    }
    let mut kernels = Vec::new();
    for (_, parts) in groups {
        let kernel = kernel(world, &parts, side)?;
        if !kernel.stores.is_empty() {
            kernels.push(kernel);
        }
    }
    Ok(kernels)
}

/// The indices of the kernel of a part: those of the reduction, and those of the row that no table determines.
fn part_loops(world: &mut LoweringContext<'_>, part: &Addend) -> Fallible<Vec<(usize, Ends)>> {
    let mut loops = Vec::new();
    for &local in &part.selection.locals {
        loops.push((local, world.range_of(local)?));
    }
    for p in &world.places[part.equation] {
        if let PlaceAt::Each { local, first, last } = p
            && !part.selection.rows.iter().any(|r| r.0 == *local)
        {
            loops.push((*local, (first.clone(), last.clone())));
        }
    }
    Ok(loops)
}

fn kernel(world: &mut LoweringContext<'_>, parts: &[Addend], side: Side) -> Fallible<Kernel> {
    let indices: Vec<Vec<(usize, Ends)>> = parts.iter().map(|p| part_loops(world, p)).collect::<Fallible<_>>()?;
    let mut builder = KernelBuilder::new(world, Phase::Run, Region::Whole);
    let mut loops = Vec::new();
    for (local, (first, last)) in indices.first().into_iter().flatten() {
        let local = &builder.world.model.locals[*local];
        loops.push(builder.iterate(&local.name, first.clone(), last.clone(), local.span));
    }
    let mut stores = Vec::new();
    for (part, indices) in parts.iter().zip(&indices) {
        let own: Vec<(usize, IndexValue)> =
            indices.iter().zip(&loops).map(|((local, _), &l)| (*local, IndexValue::index(l))).collect();
        stores.extend(store(&mut builder, part, &own, side)?);
    }
    let role = if side == Side::Left { KernelRole::Mass } else { KernelRole::Rhs };
    Ok(finish(builder, role, stores))
}

/// The store of a term; `None` if the side contains no part of it.
fn store(
    builder: &mut KernelBuilder<'_, '_>,
    part: &Addend,
    own: &[(usize, IndexValue)],
    side: Side,
) -> Fallible<Option<Store>> {
    let span = builder.world.model.equations[part.equation].span;
    let Some(state) = builder.world.owner(part.equation) else {
        return refuse(internal("a term is added to an equation without a derivative", Some(span)));
    };
    let outer = builder.context(Context { locals: own.to_vec(), ..Context::default() });
    // The index of the row is the element of the table.
    let mut locals = own.to_vec();
    for &(local, table) in &part.selection.rows {
        locals.push((local, builder.subscript(table, outer)?));
    }
    let mut row = Vec::new();
    for p in &builder.world.places[part.equation] {
        row.push(match p {
            PlaceAt::At(at) => IndexValue::affine(at.clone()),
            PlaceAt::Each { local, .. } => match locals.iter().find(|l| l.0 == *local) {
                Some((_, value)) => value.clone(),
                None => return refuse(internal("a row that no table and no index gives", Some(span))),
            },
        });
    }
    let mut conditions = within_place(builder, part, state, &row);
    let mut base = Context { locals, unknown: Unknown::Own(part.equation), ..Context::default() };
    base.guards.clone_from(&conditions);
    let mut context = builder.context(base.clone());
    let (mut atom, mut inner) = inside(builder, part, own, context)?;
    let mut values = Vec::new();
    for &condition in &part.selection.others {
        if builder.world.guards(condition) {
            conditions.push(builder.guard(condition, inner)?);
        } else {
            values.push(condition);
        }
    }
    if base.guards != conditions {
        base.guards.clone_from(&conditions);
        context = builder.context(base);
        (atom, inner) = inside(builder, part, own, context)?;
    }
    let mut node = builder.value(part.selection.body, inner)?;
    node = builder.weighted(&atom, node)?;
    let zero = builder.graph.constant(0.0);
    for condition in values {
        let condition = builder.value(condition, inner)?;
        node = builder.graph.apply(&logic::IF, &[condition, node, zero]);
    }
    let Some(mut node) = of_side(builder, part, context, node, side)? else { return Ok(None) };
    let guard = builder.all(&conditions);
    if let Some(guard) = guard {
        let condition = builder.copied(guard);
        node = builder.graph.apply(&logic::IF, &[condition, node, zero]);
    }
    let element = builder.at_place(builder.world.top(state), &row, guard);
    Ok(Some(Store { target: Target::Add(element), node }))
}

/// Adds only to rows of the equation: it may apply to some of the rows, and a table may contain numbers that are no
/// row, for which terms need not exist.
fn within_place(builder: &mut KernelBuilder<'_, '_>, part: &Addend, state: usize, row: &[IndexValue]) -> Vec<NodeId> {
    let axes = builder.world.axes(Symbol::State(state));
    let mut conditions = Vec::new();
    for ((p, value), (axis, _)) in builder.world.places[part.equation].clone().iter().zip(row).zip(axes.iter()) {
        let PlaceAt::Each { local, first, last } = p else { continue };
        let axis = &builder.world.extents.axes[axis.0 as usize];
        let table = part.selection.rows.iter().find(|r| r.0 == *local).map(|r| r.1);
        let NonIndices { out_of_range, fractional } =
            table.map_or_else(NonIndices::default, |table| builder.world.non_indices(table, first, last));
        if axis.first != *first || axis.last != *last || out_of_range {
            conditions.extend(builder.within(value, first, last));
        }
        if fractional {
            let x = builder.number(value);
            let whole = builder.space.guards.apply(&rounding::FLOOR, &[x]);
            conditions.push(builder.space.guards.apply(&logic::EQ, &[x, whole]));
        }
    }
    conditions
}

/// A part of an equation at its place, and the context of its terms.
fn inside(
    builder: &mut KernelBuilder<'_, '_>,
    part: &Addend,
    own: &[(usize, IndexValue)],
    context: ContextId,
) -> Fallible<(Atom, ContextId)> {
    let atom = builder.parts(part.equation, context)?[part.position].atom.clone();
    let mut inner = builder.at(atom.context).clone();
    for (local, value) in own {
        if part.selection.locals.contains(local) {
            inner.locals.retain(|l| l.0 != *local);
            inner.locals.push((*local, value.clone()));
        }
    }
    let inner = builder.context(inner);
    Ok((atom, inner))
}

/// The part of a value on one side of its equation.
fn of_side(
    builder: &mut KernelBuilder<'_, '_>,
    part: &Addend,
    context: ContextId,
    node: NodeId,
    side: Side,
) -> Fallible<Option<NodeId>> {
    let e = part.equation;
    let left = builder.parts(e, context)?[part.position].left;
    if builder.world.is_coupled(e) {
        let split = builder.split(e, &[node])?[0];
        let (own, negative) = match side {
            Side::Left => (split.linear, !left),
            Side::Right => (split.rest, left),
        };
        return Ok(own.map(|own| if negative { builder.graph.neg(own) } else { own }));
    }
    // If its own derivative is in the sum, a division alone does not determine it.
    if builder.join(e, node, |n| matches!(n, Node::Direction(_))) {
        return Ok(None);
    }
    let node = if left { builder.graph.neg(node) } else { node };
    if builder.world.model.equations[e].target.is_some() {
        return Ok(Some(node));
    }
    builder.over_factor(e, context, node).map(Some)
}
