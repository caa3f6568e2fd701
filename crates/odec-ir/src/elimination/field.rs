//! Arithmetic on the numbers of a matrix, real or complex, as nodes of a graph.

use crate::builtin::{arithmetic, rounding};
use crate::graph::{Graph, NodeId};
use crate::program::ArrayId;

/// The kind of numbers in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Real numbers.
    Real,
    /// Complex numbers. In every buffer, the real part of a number comes first, then its imaginary part.
    Complex,
}

/// A number of the matrix as nodes. A number of a complex matrix may be known to be real.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Real(NodeId),
    Complex(NodeId, NodeId),
}

impl Number {
    /// Number of doubles in which it is stored.
    pub(super) fn width(self) -> usize {
        match self {
            Number::Real(_) => 1,
            Number::Complex(..) => 2,
        }
    }
}

/// Arithmetic of the field on a graph.
pub(crate) struct Arithmetic {
    pub(crate) graph: Graph,
    pub(super) field: Field,
    fused: bool,
}

impl Arithmetic {
    /// Begins with an empty graph. With `fused`, `a + b*c` is rounded once.
    pub(crate) fn new(field: Field, fused: bool) -> Self {
        Arithmetic { graph: Graph::new(), field, fused }
    }

    /// Reads the double at this position of the inputs.
    pub(super) fn double(&mut self, place: usize) -> NodeId {
        self.graph.read(ArrayId(place as u32))
    }

    /// Reads the number with this index from the input that begins at the double `first`.
    pub(super) fn read(&mut self, first: usize, element: usize) -> Number {
        match self.field {
            Field::Real => Number::Real(self.double(first + element)),
            Field::Complex => Number::Complex(self.double(first + 2 * element), self.double(first + 2 * element + 1)),
        }
    }

    /// a + b*c.
    pub(super) fn add_product(&mut self, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        if self.fused {
            return self.graph.apply(&arithmetic::FMA, &[b, c, a]);
        }
        let product = self.graph.mul(b, c);
        self.graph.add(a, product)
    }

    /// a - b*c.
    pub(super) fn subtract_product(&mut self, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        if self.fused {
            let minus = self.graph.neg(b);
            return self.graph.apply(&arithmetic::FMA, &[minus, c, a]);
        }
        let product = self.graph.mul(b, c);
        self.graph.sub(a, product)
    }

    pub(super) fn multiply(&mut self, a: Number, b: Number) -> Number {
        match (a, b) {
            (Number::Complex(ar, ai), Number::Complex(br, bi)) => {
                let (rr, ri) = (self.graph.mul(ar, br), self.graph.mul(ar, bi));
                Number::Complex(self.subtract_product(rr, ai, bi), self.add_product(ri, ai, br))
            }
            (Number::Real(real), Number::Complex(re, im)) | (Number::Complex(re, im), Number::Real(real)) => {
                Number::Complex(self.graph.mul(real, re), self.graph.mul(real, im))
            }
            (Number::Real(a), Number::Real(b)) => Number::Real(self.graph.mul(a, b)),
        }
    }

    /// a + b*c.
    pub(super) fn accumulate(&mut self, a: Number, b: Number, c: Number) -> Number {
        match (a, b, c) {
            (Number::Real(a), Number::Real(b), Number::Real(c)) => Number::Real(self.add_product(a, b, c)),
            (Number::Complex(re, im), Number::Real(b), Number::Real(c)) => {
                Number::Complex(self.add_product(re, b, c), im)
            }
            (Number::Complex(re, im), Number::Real(real), Number::Complex(cr, ci))
            | (Number::Complex(re, im), Number::Complex(cr, ci), Number::Real(real)) => {
                Number::Complex(self.add_product(re, real, cr), self.add_product(im, real, ci))
            }
            (Number::Real(a), Number::Real(real), Number::Complex(cr, ci))
            | (Number::Real(a), Number::Complex(cr, ci), Number::Real(real)) => {
                Number::Complex(self.add_product(a, real, cr), self.graph.mul(real, ci))
            }
            (Number::Complex(re, im), Number::Complex(br, bi), Number::Complex(cr, ci)) => {
                let (re, im) = (self.add_product(re, br, cr), self.add_product(im, br, ci));
                Number::Complex(self.subtract_product(re, bi, ci), self.add_product(im, bi, cr))
            }
            (Number::Real(a), Number::Complex(br, bi), Number::Complex(cr, ci)) => {
                let (re, im) = (self.add_product(a, br, cr), self.graph.mul(br, ci));
                Number::Complex(self.subtract_product(re, bi, ci), self.add_product(im, bi, cr))
            }
        }
    }

    /// |a|, or |re| + |im| for a complex number.
    pub(super) fn magnitude(&mut self, a: Number) -> NodeId {
        let g = &mut self.graph;
        match a {
            Number::Real(a) => g.apply(&rounding::ABS, &[a]),
            Number::Complex(re, im) => {
                let (re, im) = (g.apply(&rounding::ABS, &[re]), g.apply(&rounding::ABS, &[im]));
                g.add(re, im)
            }
        }
    }

    pub(super) fn negative(&mut self, a: Number) -> Number {
        let g = &mut self.graph;
        match a {
            Number::Real(a) => Number::Real(g.neg(a)),
            Number::Complex(re, im) => Number::Complex(g.neg(re), g.neg(im)),
        }
    }

    /// -1/a, or -conj(a)/|a|^2 for a complex number.
    pub(super) fn negative_inverse(&mut self, a: Number) -> Number {
        let one = self.graph.constant(-1.0);
        match a {
            Number::Real(a) => Number::Real(self.graph.div(one, a)),
            Number::Complex(re, im) => {
                let rr = self.graph.mul(re, re);
                let square = self.add_product(rr, im, im);
                let scale = self.graph.div(one, square);
                let conjugate = self.graph.neg(im);
                Number::Complex(self.graph.mul(re, scale), self.graph.mul(conjugate, scale))
            }
        }
    }
}
