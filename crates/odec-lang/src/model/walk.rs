//! One walk over resolved expressions for every purpose: numbers, graph nodes. Calls of functions are entered with an
//! explicit stack and remembered by their arguments, so that neither depth nor sharing of functions costs.

use std::collections::HashMap;
use std::hash::Hash;

use odec_ir::{Op, Span};

use super::{Body, Model, TermId, TermKind};

/// Largest number of terms that the functions of a model may expand to: functions that call functions may double at each
/// level.
pub const MAX_INLINED_TERMS: u64 = 1_000_000;

/// What the values of a walk are.
pub(crate) trait Domain {
    /// A value.
    type Value: Copy;
    /// What tells values apart when calls are remembered.
    type Key: Hash + Eq;

    /// See [`Domain::Key`].
    fn key(&self, value: Self::Value) -> Self::Key;
    /// A literal.
    fn number(&mut self, x: f64) -> Self::Value;
    /// Whatever is not a literal, argument or operation: time, parameter, constant, definition, state.
    fn leaf(&mut self, kind: &TermKind) -> Self::Value;
    /// An operation.
    fn apply(&mut self, op: Op, operands: &[Self::Value], span: Span) -> Self::Value;
}

/// The functions expand to more than [`MAX_INLINED_TERMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    /// The function that was being expanded.
    pub function: Option<usize>,
}

/// Remembered calls and the budget, kept from one expression to the next.
pub(crate) struct Walk<D: Domain> {
    /// Where values come from.
    pub domain: D,
    calls: HashMap<(usize, Vec<D::Key>), D::Value>,
    inlined: u64,
}

struct Frame<V> {
    body: Body,
    next: u32,
    values: Vec<V>,
    arguments: Vec<V>,
    function: usize,
}

impl<D: Domain> Walk<D> {
    /// A walk that has seen nothing.
    pub fn new(domain: D) -> Walk<D> {
        Walk { domain, calls: HashMap::new(), inlined: 0 }
    }

    fn key(&self, function: usize, arguments: &[D::Value]) -> (usize, Vec<D::Key>) {
        (function, arguments.iter().map(|&v| self.domain.key(v)).collect())
    }

    /// The value of an expression.
    pub fn value(&mut self, model: &Model, body: Body) -> Result<D::Value, TooLarge> {
        let values = self.values(model, body, Vec::new())?;
        Ok(values[body.root.index() - body.start as usize])
    }

    /// The values of all terms of an expression, or of the body of a function with these arguments.
    pub fn values(&mut self, model: &Model, body: Body, arguments: Vec<D::Value>) -> Result<Vec<D::Value>, TooLarge> {
        let frame = |body: Body, arguments, function| Frame {
            body,
            next: body.start,
            values: Vec::with_capacity(body.range().len()),
            arguments,
            function,
        };
        let mut callers: Vec<Frame<D::Value>> = Vec::new();
        let mut top = frame(body, arguments, usize::MAX);
        loop {
            if top.next == top.body.end {
                let Some(caller) = callers.pop() else { return Ok(top.values) };
                let value = top.values[top.body.root.index() - top.body.start as usize];
                let key = self.key(top.function, &top.arguments);
                self.calls.insert(key, value);
                top = caller;
                continue;
            }
            self.inlined += u64::from(!callers.is_empty());
            if self.inlined > MAX_INLINED_TERMS {
                return Err(TooLarge { function: Some(top.function).filter(|&f| f != usize::MAX) });
            }
            let term = &model.terms[top.next as usize];
            let start = top.body.start as usize;
            let value = match &term.kind {
                TermKind::Number(x) => self.domain.number(*x),
                TermKind::Argument(i) => top.arguments[*i],
                TermKind::Apply(op, operands) => {
                    let operands = operands.map(|o| top.values[o.index() - start]);
                    let arity = usize::from(op.0.arity);
                    self.domain.apply(*op, &operands[..arity], term.span)
                }
                TermKind::Call(function, arguments) => {
                    let arguments: Vec<_> = arguments.iter().map(|o| top.values[o.index() - start]).collect();
                    match self.calls.get(&self.key(*function, &arguments)) {
                        Some(&value) => value,
                        None => {
                            let callee = frame(model.functions[*function].value, arguments, *function);
                            callers.push(std::mem::replace(&mut top, callee));
                            continue;
                        }
                    }
                }
                leaf => self.domain.leaf(leaf),
            };
            top.values.push(value);
            top.next += 1;
        }
    }
}

/// The operands of a term.
pub(crate) fn operands(kind: &TermKind, mut visit: impl FnMut(TermId)) {
    match kind {
        TermKind::Apply(_, list) => list.iter().copied().for_each(visit),
        TermKind::Call(_, list) | TermKind::Element(_, _, list) => list.iter().copied().for_each(visit),
        TermKind::Reduce { condition, body, .. } => {
            condition.iter().copied().for_each(&mut visit);
            visit(*body);
        }
        _ => {}
    }
}
