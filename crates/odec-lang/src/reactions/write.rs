//! A growing tree: new expressions are appended to those of the text, and new statements replace reactions.

use std::collections::BTreeMap;

use odec_ir::Span;

use crate::syntax::tree::{
    Binary, Compare, Expr, ExprId, ExprKind, Ident, Index, Reference, Statement, StatementKind, Tree,
};

/// Builds expressions and statements at the end of a tree.
pub(super) struct Writer {
    tree: Tree,
    /// The statements that replace reactions and compartments.
    added: Vec<Statement>,
}

impl Writer {
    pub(super) fn new(tree: &Tree) -> Writer {
        Writer { tree: tree.clone(), added: Vec::new() }
    }

    /// The tree with the current changes.
    pub(super) fn text(&self) -> &Tree {
        &self.tree
    }

    /// The tree without reactions and compartments.
    pub(super) fn finish(self) -> Tree {
        let Writer { mut tree, added } = self;
        tree.statements
            .retain(|statement| !matches!(statement.kind, StatementKind::Reaction(_) | StatementKind::Compartment(_)));
        for statement in &mut tree.statements {
            if let StatementKind::State(items) = &mut statement.kind {
                for item in items {
                    item.place = None;
                }
            }
        }
        tree.statements.extend(added);
        tree
    }

    pub(super) fn add(&mut self, kind: StatementKind, span: Span, doc: Option<String>) {
        self.added.push(Statement { kind, span, doc });
    }

    /// `name = value`, or `name' = value`.
    pub(super) fn equation(&mut self, left: Reference, value: ExprId, span: Span, doc: Option<String>) {
        let place = left.span;
        let lhs = self.push(ExprKind::Name(left), place);
        self.add(StatementKind::Equation { lhs, rhs: value, equals: place }, span, doc);
    }

    /// The statement with the equation that a state has.
    fn equation_of(&self, state: &Reference) -> Option<(usize, ExprId)> {
        let is_left = |lhs: ExprId| match &self.tree.exprs[lhs.0 as usize].kind {
            ExprKind::Name(left) => left.primes == 1 && left.name.name == state.name.name,
            _ => false,
        };
        self.tree.statements.iter().enumerate().find_map(|(k, statement)| match &statement.kind {
            StatementKind::Equation { lhs, rhs, .. } if is_left(*lhs) => Some((k, *rhs)),
            _ => None,
        })
    }

    /// The right side of that equation.
    pub(super) fn right_side(&self, state: &Reference) -> Option<ExprId> {
        self.equation_of(state).map(|(_, rhs)| rhs)
    }

    /// Replaces the right-hand side of the equation of a state.
    pub(super) fn replace(&mut self, state: &Reference, value: ExprId) {
        if let Some((k, _)) = self.equation_of(state)
            && let StatementKind::Equation { rhs, .. } = &mut self.tree.statements[k].kind
        {
            *rhs = value;
        }
    }

    pub(super) fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(self.tree.exprs.len() as u32);
        self.tree.exprs.push(Expr { kind, span });
        id
    }

    pub(super) fn span(&self, id: ExprId) -> Span {
        self.tree.exprs[id.0 as usize].span
    }

    /// A copy of the expression: statements do not share expressions.
    pub(super) fn copy(&mut self, id: ExprId) -> ExprId {
        let mut copies = BTreeMap::new();
        for node in self.tree.nodes_of(id) {
            let Expr { mut kind, span } = self.tree.exprs[node.0 as usize].clone();
            map_operands(&mut kind, |operand| copies.get(&operand).copied().unwrap_or(operand));
            copies.insert(node, self.push(kind, span));
        }
        copies.get(&id).copied().unwrap_or(id)
    }

    pub(super) fn number(&mut self, value: f64, span: Span) -> ExprId {
        self.push(ExprKind::Number(value), span)
    }

    pub(super) fn name(&mut self, name: &Ident, span: Span) -> ExprId {
        self.push(ExprKind::Name(plain(name, span)), span)
    }

    pub(super) fn read(&mut self, reference: Reference) -> ExprId {
        let span = reference.span;
        self.push(ExprKind::Name(reference), span)
    }

    pub(super) fn binary(&mut self, operator: Binary, a: ExprId, b: ExprId, span: Span) -> ExprId {
        self.push(ExprKind::Binary(operator, span, a, b), span)
    }

    pub(super) fn compare(&mut self, a: ExprId, operator: Compare, b: ExprId, span: Span) -> ExprId {
        self.push(ExprKind::Comparison(vec![a, b], vec![(operator, span)]), span)
    }

    /// `count*value`, without a factor 1.
    pub(super) fn times(&mut self, count: f64, value: ExprId, span: Span) -> ExprId {
        if count == 1.0 {
            return value;
        }
        let count = self.number(count, span);
        self.binary(Binary::Mul, count, value, span)
    }

    /// `name + offset`
    pub(super) fn shifted(&mut self, name: &Ident, offset: i64, span: Span) -> ExprId {
        let name = self.name(name, span);
        if offset == 0 {
            return name;
        }
        let operator = if offset > 0 { Binary::Add } else { Binary::Sub };
        let offset = self.number(offset.unsigned_abs() as f64, span);
        self.binary(operator, name, offset, span)
    }
}

/// A bare name.
pub(super) fn plain(name: &Ident, span: Span) -> Reference {
    Reference {
        name: name.clone(),
        indices: Vec::new(),
        primes: 0,
        path: Vec::new(),
        lead: 0,
        brackets: Vec::new(),
        span,
    }
}

/// A reference as it is read: `X[i in 1..3]` as `X[i]`.
pub(super) fn as_read(writer: &mut Writer, reference: &Reference) -> Reference {
    let mut read = reference.clone();
    for index in &mut read.indices {
        *index = match index {
            Index::In(name, ..) => Index::At(writer.name(name, name.span)),
            Index::At(at) => Index::At(writer.copy(*at)),
            Index::Range(from, to) => Index::Range(writer.copy(*from), writer.copy(*to)),
        };
    }
    read
}

/// A copy of a reference as it is written.
pub(super) fn as_written(writer: &mut Writer, reference: &Reference) -> Reference {
    let mut written = reference.clone();
    for index in &mut written.indices {
        *index = match index {
            Index::In(name, from, to) => Index::In(name.clone(), writer.copy(*from), writer.copy(*to)),
            Index::At(at) => Index::At(writer.copy(*at)),
            Index::Range(from, to) => Index::Range(writer.copy(*from), writer.copy(*to)),
        };
    }
    written
}

/// Replaces the operands of an expression.
fn map_operands(kind: &mut ExprKind, to: impl Fn(ExprId) -> ExprId) {
    let put = |id: &mut ExprId| *id = to(*id);
    match kind {
        ExprKind::Number(_) | ExprKind::Text(_) => {}
        ExprKind::Name(reference) => {
            for index in &mut reference.indices {
                match index {
                    Index::At(a) => put(a),
                    Index::In(_, a, b) | Index::Range(a, b) => {
                        put(a);
                        put(b);
                    }
                }
            }
        }
        ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => put(a),
        ExprKind::Binary(_, _, a, b) => {
            put(a);
            put(b);
        }
        ExprKind::If(a, b, c) => {
            put(a);
            put(b);
            put(c);
        }
        ExprKind::Comparison(list, _) | ExprKind::Call(_, list) | ExprKind::Tuple(list) | ExprKind::Table(list) => {
            list.iter_mut().for_each(put);
        }
        ExprKind::Reduce(_, binders, condition, body) => {
            for (from, to) in binders.iter_mut().filter_map(|binder| binder.1.as_mut()) {
                put(from);
                put(to);
            }
            condition.iter_mut().for_each(put);
            put(body);
        }
    }
}
