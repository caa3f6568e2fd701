//! Checks reads under conditions on indices: point by point if there are few points, else at the ends of the ranges and
//! where a comparison or a subscript passes its limit.

use std::collections::BTreeSet;

use odec_ir::Op;
use odec_ir::builtin::logic;

use super::{Bounds, SizeCheck};
use crate::model::data::{count, each_point, position, whole};
use crate::model::{Body, Place, Symbol, TermId, TermKind, walk};

/// Largest number of terms that are evaluated in a whole model: checking must not take longer for larger sizes.
pub(super) const MAX_TERMS: u64 = 20_000;
/// Number of points of an expression that are checked if there are more in the model.
const POINTS_NEAR_ENDS: usize = 256;

/// A condition, and its value.
type Condition = (TermId, bool);

impl SizeCheck<'_> {
    /// Checks the reads of an expression under conditions that hold for some index. All its indices run over their
    /// whole ranges.
    pub(super) fn guarded(&mut self, body: Body) {
        let model = self.model;
        let mut open: Vec<(TermId, Vec<Condition>)> = vec![(body.root, Vec::new())];
        while let Some((id, conditions)) = open.pop() {
            match &model.term(id).kind {
                TermKind::Apply(op, [c, a, b]) if *op == Op(&logic::IF) && model.index_only(*c) => {
                    open.extend(
                        [(*a, true), (*b, false)]
                            .map(|(branch, holds)| (branch, conditions.iter().copied().chain([(*c, holds)]).collect())),
                    );
                    open.push((*c, conditions));
                }
                TermKind::Reduce { condition: Some(c), body, .. } => {
                    let own = self.index_guards(*c).into_iter().map(|guard| (guard, true));
                    open.push((*body, conditions.iter().copied().chain(own).collect()));
                    open.push((*c, conditions));
                }
                kind => {
                    if let (TermKind::Element(symbol, order, subscripts), false) = (kind, conditions.is_empty()) {
                        self.guarded_access((*symbol, *order), subscripts, id, &conditions);
                    }
                    walk::operands(kind, |o| open.push((o, conditions.clone())));
                }
            }
        }
    }

    /// The parts of the condition of a reduction that depend on indices only, and must all hold.
    pub(super) fn index_guards(&self, condition: TermId) -> Vec<TermId> {
        let mut guards = Vec::new();
        let mut open = vec![condition];
        while let Some(id) = open.pop() {
            match &self.model.term(id).kind {
                _ if self.model.index_only(id) => guards.push(id),
                TermKind::Apply(op, [a, b, _]) if *op == Op(&logic::AND) => open.extend([*a, *b]),
                // `and` whose first part decides whether the second one is read
                TermKind::Apply(op, [a, b, c]) if *op == Op(&logic::IF) && a == c => open.extend([*a, *b]),
                _ => {}
            }
        }
        guards
    }

    fn guarded_access(
        &mut self,
        (symbol, order): (Symbol, u8),
        subscripts: &[TermId],
        id: TermId,
        conditions: &[Condition],
    ) {
        let model = self.model;
        let Some(indexed) = model.indexed(symbol) else { return };
        let Some(ranges) = model.ranges_of(indexed, self.values) else { return };
        if !subscripts.iter().all(|&s| model.index_only(s)) || self.always_inside(symbol, subscripts, &ranges) {
            return;
        }
        let (outer, tests) = (subscripts, conditions);
        let roots = || (outer, tests);
        let locals = self.locals_in(outer.iter().copied().chain(tests.iter().map(|c| c.0)));
        let bounds = locals.iter().map(|&l| model.bounds_of(&model.locals[l].range, self.values));
        let Some(points) = bounds.collect::<Option<Bounds>>() else { return };
        let mut numbers = model.numbers(self.values);
        let conditions: Vec<(Body, bool)> = conditions.iter().map(|&(c, holds)| (model.subtree(c), holds)).collect();
        let written = subscripts;
        let subscripts: Vec<Body> = subscripts.iter().map(|&s| model.subtree(s)).collect();
        let terms = |bodies: &mut dyn Iterator<Item = &Body>| bodies.map(|b| b.range().len() as u64).sum::<u64>();
        let each = terms(&mut conditions.iter().map(|c| &c.0)) + terms(&mut subscripts.iter());
        let few = count(&points).and_then(|n| self.terms_left.checked_sub(n.checked_mul(each)?));
        let choices: Vec<Vec<i64>> = match few {
            Some(left) => {
                self.terms_left = left;
                points.iter().map(|&(first, last)| (first..=last).collect()).collect()
            }
            None => self.near_ends(&locals, &points, roots(), &ranges),
        };
        let places: Bounds = choices.iter().map(|own| (0, own.len() as i64 - 1)).collect();
        let mut missing: Option<Bounds> = None;
        each_point(&places, |at| {
            if missing.is_some() {
                return;
            }
            for ((&local, own), &place) in locals.iter().zip(&choices).zip(at) {
                numbers.fix(local, own[place as usize]);
            }
            let mut value = |body: Body| numbers.value(body).ok();
            let taken = conditions.iter().all(|&(c, holds)| value(c).is_some_and(|x| (x != 0.0) == holds));
            let element: Option<Vec<i64>> =
                if taken { subscripts.iter().map(|&s| value(s).and_then(whole)).collect() } else { None };
            if let Some(element) = element.filter(|element| !self.is_given(symbol, order, &ranges, element)) {
                missing = Some(element.into_iter().map(|i| (i, i)).collect());
            }
        });
        if let Some(missing) = missing {
            let corners = model.boundaries.iter().any(|b| b.array == symbol);
            self.outside((symbol, order), indexed, (&ranges, written), &missing, model.term(id).span, corners);
        }
    }

    /// For each index: its values near the ends of its range, and near those at which a comparison changes or a subscript
    /// passes an end of the array.
    fn near_ends(
        &self,
        locals: &[usize],
        points: &Bounds,
        (subscripts, conditions): (&[TermId], &[Condition]),
        ranges: &Bounds,
    ) -> Vec<Vec<i64>> {
        let each = (POINTS_NEAR_ENDS as f64).powf(1.0 / locals.len().max(1) as f64) as i64;
        let half = (each / 2).max(2);
        // linear forms, and the value at which something changes
        let mut limits: Vec<(super::Linear, f64)> = Vec::new();
        for (&subscript, &(first, last)) in subscripts.iter().zip(ranges) {
            let linear = || self.linear(subscript);
            limits.extend([first, last].iter().filter_map(|end| Some((linear()?, *end as f64))));
        }
        let mut open: Vec<TermId> = conditions.iter().map(|c| c.0).collect();
        while let Some(id) = open.pop() {
            let kind = &self.model.term(id).kind;
            if let TermKind::Apply(_, [a, b, _]) = kind
                && let (Some(a), Some(b)) = (self.linear(*a), self.linear(*b))
            {
                limits.push((a.plus(&b, -1.0), 0.0));
            }
            walk::operands(kind, |o| open.push(o));
        }
        let of = |(&local, &(first, last)): (&usize, &(i64, i64))| {
            let mut found = BTreeSet::new();
            found.extend(first..=last.min(first.saturating_add(half)));
            found.extend(first.max(last.saturating_sub(half))..=last);
            for (linear, limit) in &limits {
                let (Some(factor), 1) = (linear.factors.get(&local), linear.factors.len()) else { continue };
                let at = (limit - linear.constant) / factor;
                if at >= first as f64 && at <= last as f64 {
                    let at = at as i64;
                    found.extend((at - 2).max(first)..=(at + 2).min(last));
                }
            }
            found.into_iter().collect()
        };
        locals.iter().zip(points).map(of).collect()
    }

    /// True if the element exists for all indices in their ranges, without a condition.
    fn always_inside(&self, symbol: Symbol, subscripts: &[TermId], ranges: &Bounds) -> bool {
        let model = self.model;
        let Some(indexed) = model.indexed(symbol) else { return false };
        subscripts.iter().zip(ranges).zip(&indexed.axes).all(|((&s, &(first, last)), axis)| {
            if model.edge_of(axis).is_some() {
                return true;
            }
            let Some(linear) = self.linear(s) else { return false };
            let (mut low, mut high) = (linear.constant, linear.constant);
            for (&local, &c) in &linear.factors {
                let Some((a, b)) = model.bounds_of(&model.locals[local].range, self.values) else { return false };
                let (a, b) = (c * a as f64, c * b as f64);
                low += a.min(b);
                high += a.max(b);
            }
            matches!((whole(low), whole(high)), (Some(low), Some(high)) if low >= first && high <= last)
        })
    }

    /// The indices that terms mention.
    fn locals_in(&self, roots: impl Iterator<Item = TermId>) -> Vec<usize> {
        let mut found = BTreeSet::new();
        let mut open: Vec<TermId> = roots.collect();
        while let Some(id) = open.pop() {
            let kind = &self.model.term(id).kind;
            if let TermKind::Index(local) = kind {
                found.insert(*local);
            }
            walk::operands(kind, |o| open.push(o));
        }
        found.into_iter().collect()
    }

    /// True if the element exists, or an edge rule or a boundary gives its value.
    fn is_given(&self, symbol: Symbol, order: u8, ranges: &Bounds, element: &[i64]) -> bool {
        let model = self.model;
        let Some(indexed) = model.indexed(symbol) else { return true };
        let mut inside = element.to_vec();
        for ((i, &(first, last)), axis) in inside.iter_mut().zip(ranges).zip(&indexed.axes) {
            if model.edge_of(axis).is_some() {
                *i = (*i).clamp(first, last.max(first));
            }
        }
        if position(ranges, &inside).is_some() {
            return true;
        }
        let concerns = |place: &[Place]| {
            let part = self.place(place).unwrap_or_default();
            part.len() == inside.len() && part.iter().zip(&inside).all(|(&(first, last), i)| (first..=last).contains(i))
        };
        let own =
            |b: &&crate::model::Boundary| b.array == symbol && (b.order == order || model.follows(b, symbol, order));
        model.boundaries.iter().filter(own).any(|b| concerns(&b.place))
    }
}
