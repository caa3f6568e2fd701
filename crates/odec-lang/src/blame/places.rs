//! The numbering of states and parameters, element by element.

use crate::model::data::{count, position};
use crate::model::evaluator::Range;
use crate::model::{Indexed, Model, Values};

/// Number of elements with these ranges.
pub(super) fn elements_of(ranges: &[Range]) -> usize {
    count(ranges).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
}

/// The indices of a row-by-row position.
pub(super) fn subscripts(ranges: &[Range], mut position: usize) -> Vec<i64> {
    let mut at: Vec<i64> = Vec::with_capacity(ranges.len());
    for &(first, last) in ranges.iter().rev() {
        let length = usize::try_from(last - first + 1).unwrap_or(1).max(1);
        at.push(first + (position % length) as i64);
        position /= length;
    }
    at.reverse();
    at
}

/// The start index and the axes of each state and parameter. The elements of a state come before those of its derivatives.
pub(super) struct Places {
    states: Vec<(usize, Vec<Range>)>,
    parameters: Vec<usize>,
}

impl Places {
    pub fn of(model: &Model, values: &Values) -> Places {
        let ranges = |indexed: &Indexed| model.ranges_of(indexed, values).unwrap_or_else(|| vec![(1, 0)]);
        let mut places = Places { states: Vec::new(), parameters: Vec::new() };
        let mut at = 0usize;
        for state in &model.states {
            let ranges = ranges(&state.indexed);
            let elements = elements_of(&ranges).saturating_mul(usize::from(state.order));
            places.states.push((at, ranges));
            at = at.saturating_add(elements);
        }
        at = 0;
        for parameter in &model.parameters {
            places.parameters.push(at);
            at = at.saturating_add(elements_of(&ranges(&parameter.indexed)));
        }
        places
    }

    /// The number of an element of the derivative of this order.
    pub fn state(&self, state: usize, order: u8, offset: usize) -> usize {
        let (start, ranges) = &self.states[state];
        start + usize::from(order) * elements_of(ranges) + offset
    }

    /// The number of an element of a parameter.
    pub fn parameter(&self, parameter: usize, offset: usize) -> usize {
        self.parameters[parameter] + offset
    }

    /// The row-by-row position of an element of a state.
    pub fn offset(&self, state: usize, at: &[i64]) -> Option<usize> {
        position(&self.states[state].1, at)
    }

    /// The state, the order and the subscripts of a number.
    pub fn state_at(&self, model: &Model, number: usize) -> Option<(usize, u8, Vec<i64>)> {
        let i = self.states.iter().rposition(|(start, _)| *start <= number)?;
        let (start, ranges) = &self.states[i];
        let elements = elements_of(ranges).max(1);
        let order = u8::try_from((number - start) / elements).ok()?;
        let at = subscripts(ranges, (number - start) % elements);
        (order < model.states[i].order).then_some((i, order, at))
    }
}
