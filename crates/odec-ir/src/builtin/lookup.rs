//! Lookups in tables of the parameter buffer: the piece of a curve for an argument, and the coefficients of that piece.
//!
//! A call has three operands: a read of the first element of the table, the argument, and the number of elements, a
//! constant. The first operand gives the position of the table; its value is not used. So `Builtin::value` cannot
//! compute the call: executors apply [`piece`], [`cycle`] and [`item`] to the elements of the table.

use super::{Builtin, Lowering, Notation, Op, ROW};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Element;

/// The kinds of lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// [`piece`]
    Piece,
    /// [`cycle`]
    Cycle,
    /// [`item`]
    Item,
}

/// The row that the others extend.
const LOOKUP: Builtin = Builtin {
    notation: Notation::Internal,
    arity: 3,
    value: |_| f64::NAN,
    lowering: Lowering::Lookup(Lookup::Piece),
    switches: true,
    doc: "Number of the piece of a curve that an argument lies in.",
    ..ROW
};

/// The number of the piece between two knots: see [`piece`].
pub static PIECE: Builtin = Builtin { name: "piece", ..LOOKUP };

/// The same for a periodic curve: see [`cycle`].
pub static CYCLE: Builtin = Builtin { name: "cycle", lowering: Lowering::Lookup(Lookup::Cycle), ..LOOKUP };

/// Like [`PIECE`], for a curve that jumps at its knots.
pub static STEP: Builtin = Builtin { name: "step", ..LOOKUP };

/// Like [`CYCLE`], for a curve that jumps at its knots.
pub static STEP_CYCLE: Builtin = Builtin { name: "step_cycle", lowering: Lowering::Lookup(Lookup::Cycle), ..LOOKUP };

/// An element of a table: see [`item`].
pub static ITEM: Builtin = Builtin {
    name: "item",
    lowering: Lowering::Lookup(Lookup::Item),
    switches: false,
    doc: "Element of a table.",
    ..LOOKUP
};

/// The rows of this file. The table of builtins does not list them, because they do not compute their value from
/// their operands.
pub static ROWS: &[&Builtin] = &[&PIECE, &CYCLE, &STEP, &STEP_CYCLE, &ITEM];

/// The number k of the piece with `knots[k] <= u < knots[k + 1]`, for ascending knots; the last piece includes its
/// end. NaN outside all knots. The number of steps is the number of binary digits of the number of knots.
pub fn piece(knots: &[f64], u: f64) -> f64 {
    Lookup::Piece.value(knots.len(), |k| knots[k], u)
}

/// Like [`piece`], for a periodic curve with p pieces: p times the number of the period is added to the number of the
/// piece.
pub fn cycle(knots: &[f64], u: f64) -> f64 {
    Lookup::Cycle.value(knots.len(), |k| knots[k], u)
}

/// The element with this index; NaN if there is none.
pub fn item(list: &[f64], k: f64) -> f64 {
    Lookup::Item.value(list.len(), |k| list[k], k)
}

impl Lookup {
    /// The value, for the given elements of the table.
    pub fn value(self, length: usize, at: impl Fn(usize) -> f64, argument: f64) -> f64 {
        if length == 0 || (length == 1 && self != Lookup::Item) {
            return f64::NAN;
        }
        let last = length - 1;
        match self {
            Lookup::Piece if at(0) <= argument && argument <= at(last) => last_below(last, at, argument) as f64,
            Lookup::Piece => f64::NAN,
            Lookup::Cycle => {
                let period = at(last) - at(0);
                let periods = ((argument - at(0)) / period).floor();
                let within = argument - periods * period;
                periods * last as f64 + last_below(last, at, within) as f64
            }
            Lookup::Item if 0.0 <= argument && argument <= last as f64 => at(argument as usize),
            Lookup::Item => f64::NAN,
        }
    }
}

/// The last piece that does not begin after u; the first piece if all do. Machine code takes the same steps.
fn last_below(pieces: usize, at: impl Fn(usize) -> f64, u: f64) -> usize {
    let mut k = 0;
    for step in steps(pieces) {
        let next = (k + step).min(pieces - 1);
        if at(next) <= u {
            k = next;
        }
    }
    k
}

/// The step lengths of a binary search among `pieces` pieces.
pub fn steps(pieces: usize) -> impl Iterator<Item = usize> {
    let first = pieces.saturating_sub(1).checked_ilog2().map_or(0, |digits| digits + 1);
    (0..first).rev().map(|digit| 1 << digit)
}

impl Op {
    /// The kind of lookup, if this builtin is one.
    pub fn lookup(self) -> Option<Lookup> {
        match self.0.lowering {
            Lowering::Lookup(lookup) => Some(lookup),
            _ => None,
        }
    }

    /// True for the lookup of a piece in a curve that jumps at its knots.
    pub fn is_step(self) -> bool {
        self == Op(&STEP) || self == Op(&STEP_CYCLE)
    }
}

impl Graph {
    /// The kind of a lookup, the start of its table, its argument, and its number of elements; `None` for another
    /// node or a malformed call.
    pub fn lookup(&self, id: NodeId) -> Option<(Lookup, Element, NodeId, usize)> {
        let Node::Call(op, [first, argument, length]) = self.node(id) else { return None };
        let lookup = op.lookup()?;
        let Node::Read(element) = self.node(first) else { return None };
        let length = self.as_constant(length)?;
        (length >= 1.0 && length.fract() == 0.0).then_some((lookup, element, argument, length as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::{cycle, item, piece};

    #[test]
    fn pieces_have_their_left_ends() {
        let knots = [0.0, 1.0, 4.0];
        let found = [-0.5, 0.0, 0.5, 1.0, 3.9, 4.0].map(|u| piece(&knots, u));
        assert!(found[0].is_nan());
        assert_eq!(found[1..], [0.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(piece(&knots, 4.1).is_nan() && piece(&knots, f64::NAN).is_nan());
        // a piece of length zero at the end holds only the end, and knots may be infinite
        assert_eq!([0.9, 1.0].map(|u| piece(&[0.0, 1.0, 1.0], u)), [0.0, 1.0]);
        let open = [f64::NEG_INFINITY, 0.0, f64::INFINITY];
        assert_eq!([-1e300, 0.0, 1e300].map(|u| piece(&open, u)), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn pieces_of_a_period_count_on() {
        let knots = [1.0, 2.0, 4.0];
        let found = [-2.0, -1.0, 1.0, 2.0, 3.9, 4.0, 5.0, 7.0].map(|u| cycle(&knots, u));
        assert_eq!(found, [-2.0, -1.0, 0.0, 1.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(cycle(&knots, f64::NAN).is_nan());
    }

    #[test]
    fn items_exist_or_have_no_value() {
        assert_eq!([0.0, 1.0].map(|k| item(&[5.0, 6.0], k)), [5.0, 6.0]);
        assert!([-1.0, 2.0, f64::INFINITY, f64::NAN].iter().all(|k| item(&[5.0, 6.0], *k).is_nan()));
    }
}
