//! Visits all source locations, names and references of a tree to change them, for example the names of a part from
//! another file.

use odec_ir::Span;

use super::tree::{
    BoundaryItem, Declared, Entry, EventAction, EventStatement, EventTrigger, ExprId, ExprKind, Ident, Index, Inside,
    Later, Reaction, ReactionCheck, Reference, Statement, StatementKind, Tree, Unit, WithinClause, WrittenValue,
};

/// The meaning of a name that is not a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An index set, or an index that a reduction or a bracket binds.
    Index,
    /// The name of a function, an input or a reduction in its declaration or a call.
    Called,
    /// A quantity: the key of an entry, the name of a conserved quantity.
    Quantity,
    /// A word with another meaning (an argument, a run, a unit), not a name of the model.
    Word,
}

/// The actions for each kind of node.
pub(crate) trait Visit {
    /// A source location.
    fn span(&mut self, _: &mut Span) {}
    /// A name that is not part of a reference.
    fn ident(&mut self, _: &mut Ident, _: Role) {}
    /// A reference, after its locations and indices; `at` is its expression, if it is one.
    fn reference(&mut self, _: &mut Reference, _at: Option<ExprId>) {}
    /// An operand.
    fn operand(&mut self, _: &mut ExprId) {}
}

/// Visits the expressions, operands first, then the statements.
pub(crate) fn visit(tree: &mut Tree, visitor: &mut impl Visit) {
    for (k, expr) in tree.exprs.iter_mut().enumerate() {
        visitor.span(&mut expr.span);
        expression(&mut expr.kind, ExprId(k as u32), visitor);
    }
    for each in &mut tree.statements {
        statement(each, visitor);
    }
}

fn expression(kind: &mut ExprKind, at: ExprId, v: &mut impl Visit) {
    match kind {
        ExprKind::Number(_) | ExprKind::Text(_) => {}
        ExprKind::Quantity(a, unit) => {
            v.operand(a);
            v.span(&mut unit.span);
        }
        ExprKind::Name(r) => reference(r, Some(at), v),
        ExprKind::Neg(a) | ExprKind::Not(a) => v.operand(a),
        ExprKind::Binary(_, sign, a, b) => {
            v.span(sign);
            v.operand(a);
            v.operand(b);
        }
        ExprKind::Comparison(list, signs) => {
            for (_, span) in signs.iter_mut() {
                v.span(span);
            }
            operands(list, v);
        }
        ExprKind::If(a, b, c) => [a, b, c].into_iter().for_each(|e| v.operand(e)),
        ExprKind::Call(name, list) => {
            ident(name, Role::Called, v);
            operands(list, v);
        }
        ExprKind::Reduce(name, binders, condition, body) => {
            ident(name, Role::Word, v);
            for (name, range) in binders {
                ident(name, Role::Index, v);
                pair(range, v);
            }
            for e in condition.iter_mut() {
                v.operand(e);
            }
            v.operand(body);
        }
        ExprKind::Tuple(list) | ExprKind::Table(list) => operands(list, v),
    }
}

fn operands(list: &mut [ExprId], v: &mut impl Visit) {
    for e in list.iter_mut() {
        v.operand(e);
    }
}

fn pair(range: &mut Option<(ExprId, ExprId)>, v: &mut impl Visit) {
    if let Some((a, b)) = range {
        v.operand(a);
        v.operand(b);
    }
}

fn ident(name: &mut Ident, role: Role, v: &mut impl Visit) {
    v.span(&mut name.span);
    v.ident(name, role);
}

fn unit(unit: Option<&mut Unit>, v: &mut impl Visit) {
    if let Some(unit) = unit {
        v.span(&mut unit.span);
    }
}

fn indices(list: &mut [Index], v: &mut impl Visit) {
    for index in list {
        match index {
            Index::At(e) => v.operand(e),
            Index::In(name, a, b) => {
                ident(name, Role::Index, v);
                v.operand(a);
                v.operand(b);
            }
            Index::Range(a, b) => {
                v.operand(a);
                v.operand(b);
            }
        }
    }
}

pub(crate) fn reference(r: &mut Reference, at: Option<ExprId>, v: &mut impl Visit) {
    v.span(&mut r.span);
    v.span(&mut r.name.span);
    for name in &mut r.path {
        v.span(&mut name.span);
    }
    indices(&mut r.indices, v);
    v.reference(r, at);
}

pub(crate) fn declared(item: &mut Declared, v: &mut impl Visit) {
    reference(&mut item.target, None, v);
    if let Some(value) = &mut item.value {
        v.operand(value);
    }
    unit(item.unit.as_mut(), v);
    pair(&mut item.bounds, v);
    if let Some(limit) = &mut item.limit {
        v.span(&mut limit.span);
        v.operand(&mut limit.value);
    }
    if let Some(place) = &mut item.place {
        reference(place, None, v);
    }
}

fn entry(entry: &mut Entry, role: Role, v: &mut impl Visit) {
    v.span(&mut entry.span);
    indices(&mut entry.indices, v);
    ident(&mut entry.key, role, v);
    if let Some(argument) = &mut entry.argument {
        reference(argument, None, v);
    }
    match &mut entry.value {
        WrittenValue::Expr(e) => v.operand(e),
        WrittenValue::Word(word) => ident(word, Role::Word, v),
        WrittenValue::Range(a, b) => {
            v.operand(a);
            v.operand(b);
        }
    }
}

fn within(within: Option<&mut WithinClause>, v: &mut impl Visit) {
    if let Some(within) = within {
        v.span(&mut within.span);
        v.operand(&mut within.value);
    }
}

fn event(event: &mut EventStatement, v: &mut impl Visit) {
    v.span(&mut event.span);
    match &mut event.head {
        EventTrigger::When(e) | EventTrigger::Every(e) => v.operand(e),
        EventTrigger::At(e, of) => {
            v.operand(e);
            unit(of.as_mut(), v);
        }
    }
    let clauses = &mut event.clauses;
    let marks = [&mut clauses.from_start, &mut clauses.late, &mut clauses.cancel, &mut clauses.alone];
    marks.into_iter().flatten().for_each(|span| v.span(span));
    let values = [&mut clauses.from, &mut clauses.until, &mut clauses.after, &mut clauses.priority];
    values.into_iter().flatten().for_each(|e| v.operand(e));
    if let Some((span, _)) = &mut event.rest {
        v.span(span);
    }
    let rest = event.rest.iter_mut().flat_map(|(_, actions)| actions);
    for action in event.actions.iter_mut().chain(rest) {
        match action {
            EventAction::Change(target, _, value, span) => {
                reference(target, None, v);
                v.operand(value);
                v.span(span);
            }
            EventAction::Stop(_, span) => v.span(span),
        }
    }
}

fn reaction(reaction: &mut Reaction, v: &mut impl Visit) {
    if let Some((name, of)) = &mut reaction.label {
        ident(name, Role::Quantity, v);
        indices(of, v);
    }
    for participant in reaction.left.iter_mut().chain(&mut reaction.right) {
        reference(&mut participant.species, None, v);
    }
    v.span(&mut reaction.arrow);
    v.span(&mut reaction.law_span);
    v.operand(&mut reaction.value);
}

fn later(later: &mut Later, v: &mut impl Visit) {
    match later {
        Later::Index(items) => {
            for (names, a, b) in items {
                for name in names.iter_mut() {
                    ident(name, Role::Index, v);
                }
                v.operand(a);
                v.operand(b);
            }
        }
        Later::Boundary(items) => {
            for item in items {
                match item {
                    BoundaryItem::Value(targets, value) => {
                        for target in targets.iter_mut() {
                            reference(target, None, v);
                        }
                        v.operand(value);
                    }
                    BoundaryItem::Periodic(name) | BoundaryItem::Clamp(name) => ident(name, Role::Index, v),
                }
            }
        }
        Later::Input(items) => {
            for item in items {
                ident(&mut item.name, Role::Called, v);
                ident(&mut item.argument, Role::Word, v);
                unit(item.argument_unit.as_mut(), v);
                v.operand(&mut item.value);
                unit(item.unit.as_mut(), v);
            }
        }
        Later::Use(part) => {
            v.span(&mut part.file_span);
            ident(&mut part.name, Role::Word, v);
            indices(&mut part.indices, v);
            for each in &mut part.entries {
                entry(each, Role::Word, v);
            }
        }
    }
}

pub(crate) fn statement(statement: &mut Statement, v: &mut impl Visit) {
    v.span(&mut statement.span);
    match &mut statement.kind {
        StatementKind::Model(name) | StatementKind::Units(name) => ident(name, Role::Word, v),
        StatementKind::Time(name, of) => {
            ident(name, Role::Word, v);
            unit(of.as_mut(), v);
        }
        StatementKind::Event(each) => event(each, v),
        StatementKind::Equation { lhs, rhs, equals } => {
            v.operand(lhs);
            v.operand(rhs);
            v.span(equals);
        }
        StatementKind::Function { name, arguments, body } => {
            ident(name, Role::Called, v);
            for argument in arguments.iter_mut() {
                ident(argument, Role::Word, v);
            }
            v.operand(body);
        }
        StatementKind::Params(name, entries) => {
            ident(name, Role::Word, v);
            for each in entries.iter_mut() {
                entry(each, Role::Quantity, v);
            }
        }
        StatementKind::Run(name, entries, inside) => {
            for name in name.iter_mut() {
                ident(name, Role::Word, v);
            }
            for each in entries.iter_mut() {
                entry(each, Role::Word, v);
            }
            for each in inside.iter_mut() {
                self::statement(each, v);
            }
        }
        StatementKind::Expect { quantity, time, value, within: tolerance } => {
            for e in [quantity, time, value] {
                v.operand(e);
            }
            within(tolerance.as_mut(), v);
        }
        StatementKind::Conserve { name, value, within: tolerance } => {
            for name in name.iter_mut() {
                ident(name, Role::Quantity, v);
            }
            v.operand(value);
            within(tolerance.as_mut(), v);
        }
        StatementKind::Reaction(each) => reaction(each, v),
        StatementKind::ReactionCheck(ReactionCheck::Elements(value)) => v.operand(value),
        StatementKind::ReactionCheck(ReactionCheck::Sum(state)) => reference(state, None, v),
        StatementKind::ReactionCheck(ReactionCheck::Inside(inside)) => {
            let Inside { species, compartment, volume } = inside.as_mut();
            [Some(species), Some(compartment), volume.as_mut()]
                .into_iter()
                .flatten()
                .for_each(|r| reference(r, None, v));
        }
        StatementKind::Unit(names) => names.iter_mut().for_each(|name| ident(name, Role::Word, v)),
        StatementKind::Later(each) => later(each, v),
        declaring => declaring.items_mut().iter_mut().for_each(|item| declared(item, v)),
    }
}

/// True if a tree contains a unit.
pub(crate) fn has_units(tree: &Tree) -> bool {
    let declared = |statement: &StatementKind| match statement {
        StatementKind::Time(_, unit) => unit.is_some(),
        StatementKind::Later(Later::Input(items)) => {
            items.iter().any(|item| item.unit.is_some() || item.argument_unit.is_some())
        }
        StatementKind::Event(event) => matches!(&event.head, EventTrigger::At(_, Some(_))),
        other => other.items().iter().any(|item| item.unit.is_some()),
    };
    let quantity = |kind: &ExprKind| matches!(kind, ExprKind::Quantity(..));
    tree.statements.iter().any(|s| declared(&s.kind)) || tree.exprs.iter().any(|e| quantity(&e.kind))
}
