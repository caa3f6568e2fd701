//! Terms as subscripts, and as guards: conditions on indices that are known before the run.

use odec_ir::builtin::logic;
use odec_ir::nest::{Access, Affine, Edge, Sub, Subscript};
use odec_ir::{Op, Span};

use super::{Context, ContextId, Form, KernelBuilder, Key, Outcome, PLAIN, Progress, ready};
use crate::diagnostic::{Diagnostic, codes};
use crate::lower::extents::combine;
use crate::lower::index::{EdgePosition, IndexValue, Wrap};
use crate::lower::{Fallible, refuse};
use crate::model::{Symbol, TermId, TermKind};
use crate::report::error;

impl KernelBuilder<'_, '_> {
    /// The value of an index.
    pub(super) fn local(&self, local: usize, term: TermId, context: ContextId) -> Fallible<IndexValue> {
        let locals = &self.at(context).locals;
        match locals.binary_search_by_key(&local, |l| l.0) {
            Ok(at) => Ok(locals[at].1.clone()),
            Err(_) => refuse(self.impossible("an index outside of the statement that binds it", term)),
        }
    }

    /// The body of a definition with these subscripts.
    fn definition(&mut self, d: usize, subs: Vec<IndexValue>) -> (TermId, ContextId) {
        let definition = &self.world.model.definitions[d];
        let locals = definition.indexed.locals.iter().copied().zip(subs).collect();
        (definition.value.root, self.context(Context { locals, ..Context::default() }))
    }

    pub(super) fn guard_step(&mut self, (_, id, context): Key) -> Outcome {
        let model = self.world.model;
        let done = |node| Ok(Progress::Done(node));
        match &model.term(id).kind {
            TermKind::Number(x) => done(self.space.guards.constant(*x)),
            TermKind::Constant(c) => {
                let node = self.constant_node(*c, true);
                done(node)
            }
            TermKind::Index(l) => {
                let value = self.local(*l, id, context)?;
                done(self.number(&value))
            }
            TermKind::Apply(op, [c, a, b]) if *op == Op(&logic::IF) => {
                let [guard] = ready!(self.nodes(&[(Form::Guard, *c, context)]))[..] else {
                    return refuse(self.impossible("a condition without a value", id));
                };
                let otherwise = self.space.guards.apply(&logic::NOT, &[guard]);
                let (then, other) = (self.under(context, guard), self.under(context, otherwise));
                let nodes = ready!(self.nodes(&[(Form::Guard, *a, then), (Form::Guard, *b, other)]));
                done(self.space.guards.call(*op, &[guard, nodes[0], nodes[1]]))
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                let keys: Vec<Key> = operands.iter().map(|&o| (Form::Guard, o, context)).collect();
                let nodes = ready!(self.nodes(&keys));
                done(self.space.guards.call(*op, &nodes))
            }
            TermKind::Definition(i) => Ok(self.same((Form::Guard, model.definitions[*i].value.root, PLAIN))),
            TermKind::Element(Symbol::Definition(d), _, subscripts) => {
                let subs = ready!(self.subscripts(subscripts, context));
                let (root, inner) = self.definition(*d, subs);
                Ok(self.same((Form::Guard, root, inner)))
            }
            TermKind::Element(Symbol::Constant(c), _, subscripts) => {
                let subs = ready!(self.subscripts(subscripts, context));
                let mut access = self.table(*c, &subs, model.term(id).span)?;
                if self.may_leave(*c, &access) {
                    // It is read only under this condition: in a definition at a clamped subscript, which is also
                    // expanded for the subscript inside, and after a condition on indices.
                    let guards = self.at(context).guards.clone();
                    // conditions on conditions on conditions would double at each level
                    let plain: Vec<_> = guards.into_iter().filter(|&guard| !self.reads_under_guards(guard)).collect();
                    access.guard = self.all(&plain);
                }
                let id = self.space.intern(access);
                done(self.space.guards.read(id))
            }
            // Other terms are not conditions on indices, and are never requested.
            _ => refuse(self.impossible("a condition on indices that is none", id)),
        }
    }

    pub(super) fn subscript_step(&mut self, (_, id, context): Key) -> Outcome<IndexValue> {
        let model = self.world.model;
        let term = model.term(id);
        let done = |value| Ok(Progress::Done(value));
        let world = &mut *self.world;
        if let Some(affine) = world.extents.leaf(&mut world.arrays, &term.kind, term.span)? {
            return done(IndexValue::affine(affine));
        }
        match &term.kind {
            TermKind::Index(l) => done(self.local(*l, id, context)?),
            TermKind::Apply(op, operands) => {
                let fixed = !self.world.has_index(id);
                let (mut value, mut replaced) = (None, None);
                if !fixed || matches!(op.0.name, "add" | "sub" | "mul" | "neg") {
                    let operands = &operands[..usize::from(op.0.arity)];
                    let values = ready!(self.subscripts(operands, context));
                    value = combined(op.0.name, &values);
                    replaced = operands.iter().zip(&values).find_map(|(id, value)| self.table_for_index(*id, value));
                }
                match value {
                    Some(value) => done(value),
                    None if fixed => {
                        let world = &mut *self.world;
                        let affine = world.extents.compound(&mut world.arrays, id)?;
                        done(IndexValue::affine(affine))
                    }
                    None => refuse(replaced.map_or_else(
                        || not_linear(term.span),
                        |(index, table, place)| {
                            let says = format!(
                                "{index} stands for an element of `{table}` here, which takes no part in a formula"
                            );
                            error(
                                &codes::E0519,
                                "an element of a table replaces the index of a formula",
                                term.span,
                                says,
                            )
                            .label(place, "the table")
                            .help(format!(
                                "a definition that is read at `{table}[...]` passes it on to this subscript: put the \
                                     values of the formula into the table, or write out the definitions in between"
                            ))
                        },
                    )),
                }
            }
            TermKind::Definition(i) => self.same_subscript(model.definitions[*i].value.root, PLAIN),
            TermKind::Element(Symbol::Definition(d), _, subscripts) => {
                let subs = ready!(self.subscripts(subscripts, context));
                let (root, inner) = self.definition(*d, subs);
                self.same_subscript(root, inner)
            }
            TermKind::Element(Symbol::Constant(c), _, subscripts) => {
                let subs = ready!(self.subscripts(subscripts, context));
                let Access { array, subs, .. } = self.table(*c, &subs, term.span)?;
                done(IndexValue { sub: Sub::Lookup { table: array, subs, shift: 0 }, wrap: None })
            }
            _ => refuse(not_linear(term.span)),
        }
    }

    /// The index that an element of a table replaces in a definition, the table, and its declaration.
    fn table_for_index(&self, id: TermId, value: &IndexValue) -> Option<(String, String, Span)> {
        let model = self.world.model;
        let Sub::Lookup { table, .. } = &value.sub else { return None };
        let index = match &model.term(id).kind {
            TermKind::Index(local) => format!("`{}`", model.locals[*local].name),
            TermKind::Argument(_) => "the argument".to_owned(),
            // the argument of a function that is written out
            TermKind::Element(Symbol::Constant(_), ..) => "this subscript".to_owned(),
            _ => return None,
        };
        let known = model.constants.iter().zip(&self.world.tables);
        let (constant, _) =
            known.filter(|(constant, _)| !constant.indexed.axes.is_empty()).find(|(_, t)| *t == table)?;
        Some((index, constant.name.clone(), constant.span))
    }

    fn same_subscript(&self, term: TermId, context: ContextId) -> Outcome<IndexValue> {
        let mut values = ready!(self.subscripts(&[term], context));
        values
            .pop()
            .map_or_else(|| refuse(self.impossible("a subscript without a value", term)), |v| Ok(Progress::Done(v)))
    }

    /// False if all subscripts of a table stay inside their axes at all points, or wrap around.
    fn may_leave(&self, constant: usize, access: &Access) -> bool {
        let facts = self.facts();
        let axes = self.world.axes(Symbol::Constant(constant));
        access.subs.iter().zip(axes.iter()).any(|(sub, (axis, _))| match &sub.sub {
            Sub::Affine(affine) if sub.edge == Edge::Inside => {
                let axis = &self.world.extents.axes[axis.0 as usize];
                !facts.inside(affine, &axis.first, &axis.last)
            }
            Sub::Lookup { .. } => sub.edge == Edge::Inside,
            Sub::Affine(_) => false,
        })
    }

    /// An element of a table, for subscripts and guards.
    fn table(&self, constant: usize, subs: &[IndexValue], span: Span) -> Fallible<Access> {
        let subs = self.landed(Symbol::Constant(constant), subs, span)?;
        let axes = self.world.axes(Symbol::Constant(constant));
        let facts = self.facts();
        let subscripts = subs.iter().zip(axes.iter()).map(|(value, &(axis, edge))| {
            if let EdgePosition::Inside(edge) = self.landing(value, (axis, edge)) {
                return Subscript { sub: value.sub.clone(), edge };
            }
            let axis = &self.world.extents.axes[axis.0 as usize];
            let inside = value.as_affine().is_some_and(|a| facts.inside(a, &axis.first, &axis.last));
            let edge = if inside { Edge::Inside } else { edge.unwrap_or(Edge::Inside) };
            Subscript { sub: value.sub.clone(), edge }
        });
        Ok(Access { array: self.world.tables[constant], subs: subscripts.collect(), guard: None })
    }
}

/// Arithmetic of subscripts: affine expressions, and elements of tables with a shift.
fn combined(op: &str, values: &[IndexValue]) -> Option<IndexValue> {
    let mut wraps = values.iter().filter_map(|v| v.wrap);
    let wrap = wraps.next().map(|w| Wrap { moved: true, ..w });
    if wraps.next().is_some() {
        return None;
    }
    let affine: Option<Vec<Affine>> = values.iter().map(|v| v.as_affine().cloned()).collect();
    if let Some(parts) = affine {
        return combine(op, &parts).map(|a| IndexValue { sub: Sub::Affine(a), wrap });
    }
    let [a, b] = values else { return None };
    let (lookup, number, sign) = match (&a.sub, &b.sub, op) {
        (lookup @ Sub::Lookup { .. }, Sub::Affine(number), "add")
        | (Sub::Affine(number), lookup @ Sub::Lookup { .. }, "add") => (lookup, number, 1),
        (lookup @ Sub::Lookup { .. }, Sub::Affine(number), "sub") => (lookup, number, -1),
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
    error(
        &codes::E0519,
        "this is not a valid subscript",
        span,
        "neither linear in the indices nor an element of a table",
    )
    .help(
        "write a sum of indices, constants and numbers (`i + 1`, `N - i`), or an element of a table of whole numbers \
         (`nbr[e,k]`); a formula can define the table: `const at[i] = floor(i/2)`",
    )
}
