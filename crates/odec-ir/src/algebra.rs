//! An abstract number type for the formulas of composite builtins. Each formula is written once: with numbers it
//! computes the value, with nodes it builds the expansion that backends compile.

use crate::builtin::{Builtin, arithmetic};
use crate::graph::{Graph, NodeId};

/// A domain in which builtins can be applied.
pub trait Algebra {
    /// A number, or a node that represents a number.
    type Value: Copy;
    /// A constant.
    fn number(&mut self, x: f64) -> Self::Value;
    /// Applies a builtin to its arguments.
    fn apply(&mut self, row: &'static Builtin, args: &[Self::Value]) -> Self::Value;

    /// `x + y`
    fn add(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.apply(&arithmetic::ADD, &[x, y])
    }
    /// `x - y`
    fn sub(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.apply(&arithmetic::SUB, &[x, y])
    }
    /// `x * y`
    fn mul(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.apply(&arithmetic::MUL, &[x, y])
    }
    /// `-x`
    fn neg(&mut self, x: Self::Value) -> Self::Value {
        self.apply(&arithmetic::NEG, &[x])
    }
    /// The sum of `c[k] x^k` by Horner's rule.
    fn polynomial(&mut self, x: Self::Value, c: &[f64]) -> Self::Value {
        let Some((&last, rest)) = c.split_last() else { return self.number(0.0) };
        let mut sum = self.number(last);
        for &c in rest.iter().rev() {
            let product = self.mul(sum, x);
            let c = self.number(c);
            sum = self.add(product, c);
        }
        sum
    }
    /// `x / y`
    fn div(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.apply(&arithmetic::DIV, &[x, y])
    }
}

/// The domain of numbers: computes values at once.
pub struct Values;

impl Algebra for Values {
    type Value = f64;
    fn number(&mut self, x: f64) -> f64 {
        x
    }
    fn apply(&mut self, row: &'static Builtin, args: &[f64]) -> f64 {
        (row.value)(args)
    }
}

impl Algebra for Graph {
    type Value = NodeId;
    fn number(&mut self, x: f64) -> NodeId {
        self.constant(x)
    }
    fn apply(&mut self, row: &'static Builtin, args: &[NodeId]) -> NodeId {
        Graph::apply(self, row, args)
    }
}
