//! The states that the sides of relations read: their kernels run on sets of states instead of numbers.

use odec_ir::builtin::Builtin;
use odec_ir::number::Number;

/// Larger sets count as unknown: differentiating a relation by all states costs no more then.
const MOST: usize = 15;
/// The length of a set that is larger.
const LARGER: u8 = MOST as u8 + 1;

/// The rows of the states that a value depends on, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StateSet {
    rows: [u32; MOST],
    len: u8,
    /// The value of a constant: knots and lengths of tables.
    constant: f64,
}

impl StateSet {
    const EMPTY: StateSet = StateSet { rows: [0; MOST], len: 0, constant: 0.0 };

    /// The set of one state.
    pub fn of(row: usize) -> StateSet {
        let mut one = StateSet { len: 1, ..StateSet::EMPTY };
        one.rows[0] = row as u32;
        one
    }

    /// The rows; `None` if they are many.
    pub fn rows(&self) -> Option<&[u32]> {
        self.rows.get(..usize::from(self.len))
    }

    /// The states of two sets.
    pub fn and(self, other: StateSet) -> StateSet {
        let (Some(a), Some(b)) = (self.rows(), other.rows()) else {
            return StateSet { len: LARGER, ..StateSet::EMPTY };
        };
        if b.is_empty() || a == b {
            return self;
        }
        let mut all = StateSet::EMPTY;
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let next = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => *x.min(y),
                (Some(x), None) | (None, Some(x)) => *x,
                (None, None) => break,
            };
            i += usize::from(a.get(i) == Some(&next));
            j += usize::from(b.get(j) == Some(&next));
            let Some(place) = all.rows.get_mut(usize::from(all.len)) else {
                return StateSet { len: LARGER, ..StateSet::EMPTY };
            };
            *place = next;
            all.len += 1;
        }
        all
    }
}

impl Number for StateSet {
    fn constant(x: f64) -> StateSet {
        StateSet { constant: x, ..StateSet::EMPTY }
    }

    fn value(self) -> f64 {
        self.constant
    }

    fn call(_: &'static Builtin, args: &[StateSet]) -> StateSet {
        args.iter().fold(StateSet::EMPTY, |all, of| all.and(*of))
    }

    fn looked_up(_: f64, argument: StateSet, _: usize) -> StateSet {
        argument
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, StateSet};

    #[test]
    fn sets_hold_the_states_of_both() {
        let set = |rows: &[usize]| rows.iter().fold(StateSet::EMPTY, |all, row| all.and(StateSet::of(*row)));
        assert_eq!(set(&[7, 2]).and(set(&[9, 2, 4])).rows(), Some(&[2, 4, 7, 9][..]));
        assert_eq!(StateSet::EMPTY.and(StateSet::EMPTY).rows(), Some(&[][..]));
        let many: Vec<usize> = (0..MOST).collect();
        assert_eq!(set(&many).rows().map(<[u32]>::len), Some(MOST));
        assert_eq!(set(&many).and(set(&[3])), set(&many));
        assert_eq!(set(&many).and(set(&[MOST])).rows(), None);
        assert_eq!(set(&many).and(set(&[MOST])).and(set(&[1])).rows(), None);
    }
}
