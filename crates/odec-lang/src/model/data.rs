//! Numbers of models with indices: extents, elements of constants and parameters, reductions over constant ranges.
//! Every evaluation is bounded, since sizes are the user's.

use std::collections::HashMap;

use super::arrays::{Dimension, Indexed, Reduction, Table};
use super::{Body, Model, Symbol, TermId, TermKind, Values};

/// Most elements of one array; binding has the same limit for all of them together.
pub const MAX_ELEMENTS: u64 = odec_ir::nest::bind::MAX_ELEMENTS;
/// Largest magnitude of an index: within it an f64 holds every whole number.
pub(crate) const MAX_INDEX: f64 = 9_007_199_254_740_992.0;
/// Deepest nesting of definitions and functions that a constant is computed through.
const MAX_DEPTH: usize = 100;
/// Most terms that are computed for one constant: about ten seconds.
const MAX_TERMS: u64 = 2_000_000_000;

/// A whole number that fits.
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

impl Model {
    /// First and last index of a dimension; `None` if they are no whole numbers.
    pub fn bounds_of(&self, dimension: &Dimension, values: &Values) -> Option<(i64, i64)> {
        let (first, last) = self.range_of(dimension)?;
        Some((whole(self.number(first, values))?, whole(self.number(last, values))?))
    }

    /// The ranges of all axes.
    pub fn ranges_of(&self, indexed: &Indexed, values: &Values) -> Option<Vec<(i64, i64)>> {
        indexed.axes.iter().map(|d| self.bounds_of(d, values)).collect()
    }

    /// True if an expression has elements, indices or reductions.
    pub(crate) fn has_elements(&self, body: Body) -> bool {
        let kinds = &self.terms[body.range()];
        kinds.iter().any(|t| matches!(t.kind, TermKind::Element(..) | TermKind::Index(_) | TermKind::Reduce { .. }))
    }

    /// The terms that a term is made of, as an expression of their own.
    pub(crate) fn subtree(&self, root: TermId) -> Body {
        let mut start = root.0;
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            start = start.min(id.0);
            match &self.term(id).kind {
                TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                TermKind::Call(_, operands) | TermKind::Element(_, _, operands) => open.extend(operands),
                TermKind::Reduce { condition, body, .. } => {
                    open.extend(condition);
                    open.push(*body);
                }
                _ => {}
            }
        }
        Body { start, end: root.0 + 1, root }
    }

    /// The value of an expression with elements.
    pub(crate) fn number_with_elements(&self, body: Body, values: &Values) -> f64 {
        Evaluator::new(self, values).body(body, 0)
    }

    /// The elements of a constant or parameter with axes, row by row; empty if they cannot be computed: its extents
    /// or its table do not fit, or the file was not read.
    pub(crate) fn data_of(&self, symbol: Symbol, values: &Values, tables: &HashMap<String, Vec<f64>>) -> Vec<f64> {
        let given = match symbol {
            Symbol::Constant(i) => &self.constants[i],
            Symbol::Parameter(i) => &self.parameters[i],
            _ => return Vec::new(),
        };
        let Some(ranges) = self.ranges_of(&given.indexed, values) else { return Vec::new() };
        let Some(n) = count(&ranges).filter(|&n| n <= MAX_ELEMENTS) else { return Vec::new() };
        match &given.table {
            Some(Table::Csv { .. }) => {
                let data = tables.get(&given.name).cloned().unwrap_or_default();
                if data.len() as u64 == n { data } else { Vec::new() }
            }
            Some(Table::Values { entries, .. }) => {
                if entries.len() as u64 != n {
                    return Vec::new();
                }
                entries.iter().map(|&e| self.number(e, values)).collect()
            }
            None => {
                let mut evaluator = Evaluator::new(self, values);
                let mut data = Vec::with_capacity(n as usize);
                each_point(&ranges, |at| {
                    for (&local, &i) in given.indexed.locals.iter().zip(at) {
                        evaluator.at[local] = i;
                    }
                    data.push(evaluator.body(given.value, 0));
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

/// Computes terms in numbers. Terms of a body come operands first, so that a body needs no recursion but for what it
/// calls.
struct Evaluator<'a> {
    model: &'a Model,
    values: &'a Values,
    /// The value of each local.
    at: Vec<i64>,
    arguments: Vec<f64>,
    budget: u64,
    /// The terms that a reduction computes again for each of its points.
    inner: HashMap<u32, Vec<u32>>,
}

impl<'a> Evaluator<'a> {
    fn new(model: &'a Model, values: &'a Values) -> Evaluator<'a> {
        let at = vec![0; model.locals.len()];
        Evaluator { model, values, at, arguments: Vec::new(), budget: MAX_TERMS, inner: HashMap::new() }
    }

    fn body(&mut self, body: Body, depth: usize) -> f64 {
        if depth > MAX_DEPTH {
            return f64::NAN;
        }
        let inside = self.inside_reductions(body);
        let mut known = vec![f64::NAN; body.range().len()];
        for i in body.start..body.end {
            if !inside.contains(&i) {
                known[(i - body.start) as usize] = self.one(i, body.start, &mut known, depth);
            }
        }
        known[body.root.index() - body.start as usize]
    }

    /// Terms that only reductions need.
    fn inside_reductions(&mut self, body: Body) -> std::collections::HashSet<u32> {
        let mut inside = std::collections::HashSet::new();
        for i in body.start..body.end {
            if matches!(self.model.terms[i as usize].kind, TermKind::Reduce { .. }) {
                inside.extend(self.inner_of(i).iter().copied());
            }
        }
        inside
    }

    /// The terms under a reduction that change with its locals, ascending.
    fn inner_of(&mut self, reduce: u32) -> Vec<u32> {
        if let Some(list) = self.inner.get(&reduce) {
            return list.clone();
        }
        let TermKind::Reduce { locals, condition, body, .. } = &self.model.terms[reduce as usize].kind else {
            return Vec::new();
        };
        let mut under = std::collections::BTreeSet::new();
        let mut open: Vec<TermId> = condition.iter().copied().chain([*body]).collect();
        while let Some(id) = open.pop() {
            if under.insert(id.0) {
                super::walk::operands(&self.model.term(id).kind, |o| open.push(o));
            }
        }
        let mut changing: std::collections::BTreeSet<u32> = std::collections::BTreeSet::new();
        for &i in &under {
            let kind = &self.model.terms[i as usize].kind;
            let mut changes = matches!(kind, TermKind::Index(l) if locals.contains(l));
            super::walk::operands(kind, |o| changes |= changing.contains(&o.0));
            if changes {
                changing.insert(i);
            }
        }
        let list: Vec<u32> = changing.into_iter().collect();
        self.inner.insert(reduce, list.clone());
        list
    }

    fn one(&mut self, i: u32, start: u32, known: &mut [f64], depth: usize) -> f64 {
        if self.budget == 0 {
            return f64::NAN;
        }
        self.budget -= 1;
        let model = self.model;
        let of = |known: &[f64], o: TermId| known[(o.0 - start) as usize];
        let from = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(f64::NAN);
        match &model.terms[i as usize].kind {
            TermKind::Number(x) => *x,
            TermKind::Index(local) => self.at[*local] as f64,
            TermKind::Constant(i) => from(&self.values.constants, *i),
            TermKind::Parameter(i) => from(&self.values.parameters, *i),
            TermKind::Definition(i) => match from(&self.values.definitions, *i) {
                known if !known.is_nan() => known,
                _ => self.body(model.definitions[*i].value, depth + 1),
            },
            TermKind::Argument(i) => from(&self.arguments, *i),
            TermKind::Time | TermKind::State(..) => f64::NAN,
            TermKind::Apply(op, operands) => {
                let values = operands.map(|o| of(known, o));
                (op.0.value)(&values[..usize::from(op.0.arity)])
            }
            TermKind::Call(function, operands) => {
                let arguments: Vec<f64> = operands.iter().map(|&o| of(known, o)).collect();
                let before = std::mem::replace(&mut self.arguments, arguments);
                let value = self.body(model.functions[*function].value, depth + 1);
                self.arguments = before;
                value
            }
            TermKind::Element(symbol, _, subscripts) => {
                let at: Option<Vec<i64>> = subscripts.iter().map(|&s| whole(of(known, s))).collect();
                match at {
                    Some(at) => self.element(*symbol, &at, depth),
                    None => f64::NAN,
                }
            }
            TermKind::Reduce { .. } => self.reduce(i, start, known, depth),
        }
    }

    fn reduce(&mut self, i: u32, start: u32, known: &mut [f64], depth: usize) -> f64 {
        let model = self.model;
        let TermKind::Reduce { fold, locals, condition, body } = &model.terms[i as usize].kind else { return f64::NAN };
        let of = |known: &[f64], o: TermId| known[(o.0 - start) as usize];
        let ranges = locals.iter().map(|&l| model.bounds_of(&model.locals[l].range, self.values));
        let Some(ranges) = ranges.collect::<Option<Vec<_>>>() else { return f64::NAN };
        if count(&ranges).is_none_or(|n| n > self.budget) {
            self.budget = 0;
            return f64::NAN;
        }
        let inner = self.inner_of(i);
        let nested: std::collections::HashSet<u32> = inner
            .iter()
            .filter(|&&t| matches!(model.terms[t as usize].kind, TermKind::Reduce { .. }))
            .flat_map(|&t| self.inner_of(t))
            .collect();
        let mut value = match fold {
            Reduction::Sum => 0.0,
            Reduction::Product => 1.0,
            Reduction::Min => f64::INFINITY,
            Reduction::Max => f64::NEG_INFINITY,
        };
        each_point(&ranges, |at| {
            if self.budget == 0 {
                return;
            }
            self.budget = self.budget.saturating_sub(1);
            for (&local, &i) in locals.iter().zip(at) {
                self.at[local] = i;
            }
            for &t in inner.iter().filter(|t| !nested.contains(t)) {
                known[(t - start) as usize] = self.one(t, start, known, depth);
            }
            if condition.is_some_and(|c| of(known, c) == 0.0) {
                return;
            }
            let term = of(known, *body);
            value = match fold {
                Reduction::Sum => value + term,
                Reduction::Product => value * term,
                Reduction::Min | Reduction::Max if term.is_nan() || value.is_nan() => f64::NAN,
                Reduction::Min => value.min(term),
                Reduction::Max => value.max(term),
            };
        });
        if self.budget == 0 { f64::NAN } else { value }
    }

    fn element(&mut self, symbol: Symbol, at: &[i64], depth: usize) -> f64 {
        let model = self.model;
        let Some(indexed) = model.indexed(symbol) else { return f64::NAN };
        let Some(ranges) = model.ranges_of(indexed, self.values) else { return f64::NAN };
        let Some(position) = position(&ranges, at) else { return f64::NAN };
        let data = match symbol {
            Symbol::Constant(i) => &self.values.constant_data[i],
            Symbol::Parameter(i) => &self.values.parameter_data[i],
            Symbol::Definition(i) => {
                let before = self.at.clone();
                for (&local, &i) in indexed.locals.iter().zip(at) {
                    self.at[local] = i;
                }
                let value = self.body(model.definitions[i].value, depth + 1);
                self.at = before;
                return value;
            }
            _ => return f64::NAN,
        };
        data.get(position).copied().unwrap_or(f64::NAN)
    }
}
