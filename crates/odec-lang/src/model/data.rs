//! Numbers that are known before a run: values of expressions, extents, elements of constants and parameters. Every
//! evaluation has a limit, since users choose the sizes.

use std::collections::HashMap;

use odec_ir::Op;

use super::arrays::{Dimension, Indexed, Table};
use super::evaluator::{Arithmetic, Evaluator, Exhausted};
use super::{Body, Model, Symbol, TermId, TermKind, Values};

/// Largest number of elements of one array; binding has the same limit for all arrays together.
pub const MAX_ELEMENTS: u64 = odec_ir::nest::bind::MAX_ELEMENTS;
/// Largest magnitude of an index: below it, an f64 represents every integer.
pub(crate) const MAX_INDEX: f64 = 9_007_199_254_740_992.0;
/// Largest number of terms that are evaluated for one constant, or for all elements of one array: about ten seconds.
pub(crate) const MAX_STEPS: u64 = 2_000_000_000;

/// The integer value, if it is one within the limit.
pub(crate) fn whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < MAX_INDEX).then_some(x as i64)
}

/// Position of an element in an array with these ranges, row by row.
pub(crate) fn position(ranges: &[(i64, i64)], at: &[i64]) -> Option<usize> {
    let mut position = 0usize;
    for (&(first, last), &i) in ranges.iter().zip(at) {
        if i < first || i > last {
            return None;
        }
        let width = usize::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?;
        position = position.checked_mul(width)?.checked_add(usize::try_from(i - first).ok()?)?;
    }
    Some(position)
}

/// Number of elements with these ranges; `None` if it does not fit.
pub(crate) fn count(ranges: &[(i64, i64)]) -> Option<u64> {
    ranges.iter().try_fold(1u64, |n, &(first, last)| {
        let width = u64::try_from(last.checked_sub(first)?.checked_add(1)?.max(0)).ok()?;
        n.checked_mul(width)
    })
}

/// Plain numbers, of constants and parameters.
pub(crate) struct Numbers<'m> {
    model: &'m Model,
    values: &'m Values,
}

impl Arithmetic for Numbers<'_> {
    type Value = f64;
    type Key = u64;

    fn key(value: f64) -> u64 {
        value.to_bits()
    }

    fn number(x: f64) -> f64 {
        x
    }

    fn real(value: f64) -> f64 {
        value
    }

    fn apply(op: Op, operands: &[f64]) -> f64 {
        (op.0.value)(operands)
    }

    fn time(&self) -> f64 {
        f64::NAN
    }

    fn element(&self, symbol: Symbol, _: u8, offset: usize) -> Option<f64> {
        match symbol {
            // A definition that was not computed in advance has a formula.
            Symbol::Definition(i) if self.model.definitions[i].indexed.is_scalar() => {
                self.values.definitions.get(i).copied().filter(|x| !x.is_nan())
            }
            Symbol::Definition(_) => None,
            _ => Some(self.values.element(self.model, symbol, offset)),
        }
    }
}

impl Values {
    /// The element of a constant, parameter or discrete at a row-by-row position; NaN if its table was not read, and
    /// for other symbols.
    pub(crate) fn element(&self, model: &Model, symbol: Symbol, offset: usize) -> f64 {
        let value = match symbol {
            Symbol::Constant(i) if model.constants[i].indexed.is_scalar() => self.constants.get(i),
            Symbol::Constant(i) => self.constant_data.get(i).and_then(|data| data.get(offset)),
            Symbol::Parameter(i) if model.parameters[i].indexed.is_scalar() => self.parameters.get(i),
            Symbol::Parameter(i) => self.parameter_data.get(i).and_then(|data| data.get(offset)),
            Symbol::Discrete(i) => self.discrete_data.get(i).and_then(|data| data.get(offset)),
            _ => None,
        };
        value.copied().unwrap_or(f64::NAN)
    }
}

impl Model {
    /// First and last index of a dimension; `None` if they are not integers.
    pub fn bounds_of(&self, dimension: &Dimension, values: &Values) -> Option<(i64, i64)> {
        let (first, last) = self.range_of(dimension)?;
        Some((whole(self.number(first, values))?, whole(self.number(last, values))?))
    }

    /// The ends of the ranges of all states that are not written as numbers, with their values: `N` and 100.
    pub fn sizes_of_states(&self, values: &Values) -> Vec<(String, i64)> {
        let mut sizes: Vec<(String, i64)> = Vec::new();
        for axis in self.states.iter().flat_map(|state| &state.indexed.axes) {
            let Some((first, last)) = self.range_of(axis) else { continue };
            for end in [first, last] {
                let text = self.expression(end);
                let Some(value) = whole(self.number(end, values)) else { continue };
                if text != value.to_string() && sizes.iter().all(|size| size.0 != text) {
                    sizes.push((text, value));
                }
            }
        }
        sizes
    }

    /// The ranges of all axes.
    pub fn ranges_of(&self, indexed: &Indexed, values: &Values) -> Option<Vec<(i64, i64)>> {
        indexed.axes.iter().map(|d| self.bounds_of(d, values)).collect()
    }

    /// The ranges of all axes, to find or to name an element. Empty if an end is not a whole number, because the check of
    /// index sets reports that.
    pub(crate) fn reported_ranges(&self, indexed: &Indexed, values: &Values) -> Vec<(i64, i64)> {
        self.ranges_of(indexed, values).unwrap_or_default()
    }

    /// The coordinates of an index set: the quantity that the `axis` statement names, and its value at each index.
    /// `None` if there is no such statement.
    pub fn coordinates(&self, index: &str, values: &Values) -> Option<(Symbol, Vec<(i64, f64)>)> {
        let axis = self.axes.iter().find(|axis| self.index_sets[axis.index].name == index)?;
        let ranges = self.ranges_of(self.indexed(axis.array)?, values)?;
        count(&ranges).filter(|&n| n <= MAX_ELEMENTS)?;
        let mut evaluator = self.numbers(values);
        let mut list = Vec::new();
        each_point(&ranges, |at| list.push((at[0], evaluator.at(axis.array, at).unwrap_or(f64::NAN))));
        Some((axis.array, list))
    }

    /// True if an expression has elements, indices or reductions.
    pub(crate) fn has_elements(&self, body: Body) -> bool {
        let kinds = &self.terms[body.range()];
        kinds.iter().any(|t| matches!(t.kind, TermKind::Element(..) | TermKind::Index(_) | TermKind::Reduce { .. }))
    }

    /// The term and the terms that it contains, as a separate expression.
    pub(crate) fn subtree(&self, root: TermId) -> Body {
        let mut start = root.0;
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            start = start.min(id.0);
            match &self.term(id).kind {
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Call(_, operands) | TermKind::Element(_, _, operands) => open.extend(operands),
                TermKind::Input(_, argument) => open.push(*argument),
                TermKind::Reduce { condition, body, .. } => {
                    open.extend(condition);
                    open.push(*body);
                }
                _ => {}
            }
        }
        Body { start, end: root.0 + 1, root }
    }

    /// The value of an expression that depends only on constants and parameters; otherwise NaN, and also if it takes
    /// too many terms.
    pub fn number(&self, body: Body, values: &Values) -> f64 {
        self.computed(body, values).unwrap_or(f64::NAN)
    }

    /// Like [`Model::number`], with an error if the value takes too many terms.
    pub(crate) fn computed(&self, body: Body, values: &Values) -> Result<f64, Exhausted> {
        self.numbers(values).value(body)
    }

    /// An evaluator for expressions that depend only on constants and parameters.
    pub(crate) fn numbers<'m>(&'m self, values: &'m Values) -> Evaluator<'m, Numbers<'m>> {
        Evaluator::new(self, values, Numbers { model: self, values }, MAX_STEPS)
    }

    /// The elements of a constant or parameter with axes, row by row; empty if they cannot be computed: its extents
    /// or its table do not fit, or the file was not read.
    ///
    /// # Errors
    /// The expression that takes too many terms.
    pub(crate) fn data_of(
        &self,
        symbol: Symbol,
        values: &Values,
        tables: &HashMap<String, Vec<f64>>,
    ) -> Result<Vec<f64>, Body> {
        let given = match symbol {
            Symbol::Constant(i) => &self.constants[i],
            Symbol::Parameter(i) => &self.parameters[i],
            _ => return Ok(Vec::new()),
        };
        let Some(ranges) = self.ranges_of(&given.indexed, values) else { return Ok(Vec::new()) };
        let Some(n) = count(&ranges).filter(|&n| n <= MAX_ELEMENTS) else { return Ok(Vec::new()) };
        match &given.table {
            Some(Table::Csv { .. }) => {
                let data = tables.get(&given.name).cloned().unwrap_or_default();
                Ok(if data.len() as u64 == n { data } else { Vec::new() })
            }
            Some(Table::Values { entries, .. }) => {
                if entries.len() as u64 != n {
                    return Ok(Vec::new());
                }
                entries.iter().map(|&e| self.computed(e, values).map_err(|Exhausted| e)).collect()
            }
            None => {
                let mut evaluator = self.numbers(values);
                let mut data = Ok(Vec::with_capacity(n as usize));
                each_point(&ranges, |at| {
                    let Ok(known) = &mut data else { return };
                    for (&local, &i) in given.indexed.locals.iter().zip(at) {
                        evaluator.fix(local, i);
                    }
                    match evaluator.value(given.value) {
                        Ok(value) => known.push(value),
                        Err(Exhausted) => data = Err(given.value),
                    }
                });
                data
            }
        }
    }
}

/// Visits the points of a box, the last index fastest.
pub(crate) fn each_point(ranges: &[(i64, i64)], mut visit: impl FnMut(&[i64])) {
    if ranges.iter().any(|r| r.1 < r.0) {
        return;
    }
    let mut at: Vec<i64> = ranges.iter().map(|r| r.0).collect();
    loop {
        visit(&at);
        let mut axis = ranges.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            if at[axis] < ranges[axis].1 {
                at[axis] += 1;
                break;
            }
            at[axis] = ranges[axis].0;
        }
    }
}
