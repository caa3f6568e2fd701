//! Values with their derivative with respect to one quantity, at a point of a run.

use odec_ir::builtin::arithmetic::ADD;
use odec_ir::{Graph, Node, Op};

use super::places::Places;
use super::{By, StateAt};
use crate::model::evaluator::Arithmetic;
use crate::model::{Model, Symbol};

/// A value with its derivative; `None` if it does not depend on the varied quantity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual {
    pub value: f64,
    pub slope: Option<f64>,
}

impl Dual {
    fn plain(value: f64) -> Dual {
        Dual { value, slope: None }
    }

    /// Both parts are finite.
    pub fn is_finite(self) -> bool {
        self.value.is_finite() && self.slope.is_none_or(f64::is_finite)
    }
}

/// The values of names.
pub(super) struct Duals<'a> {
    pub model: &'a Model,
    pub point: StateAt<'a>,
    pub by: Option<By>,
    /// The value for derivatives that equations determine.
    pub rate: f64,
    /// States have their initial values.
    pub start: bool,
    pub places: &'a Places,
}

impl Duals<'_> {
    fn seeded(&self, value: f64, by: By) -> Dual {
        Dual { value, slope: (self.by == Some(by)).then_some(1.0) }
    }

    /// The initial value that replaces the value in the model.
    fn given(&self, state: usize, order: u8, offset: usize) -> Option<f64> {
        let values = self.point.values;
        let same = |e: &&(usize, u8, Vec<i64>, f64)| {
            (e.0, e.1) == (state, order) && self.places.offset(state, &e.2) == Some(offset)
        };
        let element = values.elements.iter().rev().find(same).map(|e| e.3);
        element.or_else(|| values.initial.iter().rev().find(|g| (g.0, g.1) == (state, order)).map(|g| g.2))
    }
}

impl Arithmetic for Duals<'_> {
    type Value = Dual;
    type Key = (u64, Option<u64>);

    fn key(x: Dual) -> (u64, Option<u64>) {
        (x.value.to_bits(), x.slope.map(f64::to_bits))
    }

    fn number(x: f64) -> Dual {
        Dual::plain(x)
    }

    fn real(value: Dual) -> f64 {
        value.value
    }

    fn apply(op: Op, operands: &[Dual]) -> Dual {
        let mut plain = [0.0; 3];
        for (plain, operand) in plain.iter_mut().zip(operands) {
            *plain = operand.value;
        }
        let plain = &plain[..operands.len()];
        let value = (op.0.value)(plain);
        let mut slope = None;
        for (i, operand) in operands.iter().enumerate() {
            let Some(own) = operand.slope else { continue };
            let part = if op == Op(&ADD) { Some(own) } else { partial(op, plain, i).map(|partial| partial * own) };
            slope = match (slope, part) {
                (Some(sum), Some(part)) => Some(sum + part),
                (sum, part) => sum.or(part),
            };
        }
        Dual { value, slope }
    }

    fn time(&self) -> Dual {
        self.seeded(self.point.t, By::Time)
    }

    fn element(&self, symbol: Symbol, order: u8, offset: usize) -> Option<Dual> {
        match symbol {
            Symbol::Definition(_) => None,
            Symbol::State(i) if order >= self.model.states[i].order => Some(Dual::plain(self.rate)),
            Symbol::State(i) if self.start => self.given(i, order, offset).map(Dual::plain),
            Symbol::State(i) => {
                let number = self.places.state(i, order, offset);
                let value = self.point.y.get(number).copied().unwrap_or(f64::NAN);
                Some(self.seeded(value, By::State(number)))
            }
            Symbol::Parameter(i) => {
                let number = self.places.parameter(i, offset);
                let value = self.point.values.element(self.model, symbol, offset);
                Some(self.seeded(value, By::Parameter(number)))
            }
            Symbol::Constant(_) | Symbol::Discrete(_) | Symbol::Time | Symbol::Index(_) => {
                Some(Dual::plain(self.point.values.element(self.model, symbol, offset)))
            }
        }
    }
}

/// The partial derivative of an operation at a point; `None` if it is identically zero.
fn partial(op: Op, at: &[f64], i: usize) -> Option<f64> {
    let mut graph = Graph::new();
    let operands: Vec<_> = at.iter().map(|&x| graph.constant(x)).collect();
    let call = graph.call(op, &operands);
    let root = (op.0.derivative)(&mut graph, &operands, call, i)?;
    let mut values: Vec<f64> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        values.push(match node {
            Node::Constant(bits) => f64::from_bits(*bits),
            Node::Call(op, _) => {
                let operands: Vec<f64> = node.operands().iter().map(|o| values[o.index()]).collect();
                (op.0.value)(&operands)
            }
            // The operands are constant, and so is the result.
            _ => return None,
        });
    }
    Some(values[root.index()])
}
