//! Reductions: loops of a nest, or sums that are written out where the range is literal and short.

use odec_ir::builtin::logic;
use odec_ir::nest::{Affine, Fold, Loop, LoopId};
use odec_ir::{Graph, Node, NodeId, Span};

use super::index::IndexValue;
use super::scribe::{ContextId, Key, Kind, Known, Outcome, Scribe, Step};
use crate::model::{Reduction, TermId};

/// Most terms of a reduction over literal ranges that is written out instead of looped over.
pub const MAX_UNROLLED: i64 = 64;

/// Likewise where the range is that of an index set: those may have been chosen larger.
pub const MAX_UNROLLED_SET: i64 = 8;

impl Scribe<'_, '_> {
    pub fn reduce(
        &mut self,
        fold: Reduction,
        locals: &[usize],
        condition: Option<TermId>,
        body: TermId,
        context: ContextId,
        span: Span,
    ) -> Outcome {
        let model = self.world.model;
        let mut written = 1i64;
        let mut literal: Vec<(usize, i64, i64)> = Vec::new();
        let mut looped: Vec<(usize, Affine, Affine)> = Vec::new();
        for &local in locals {
            let dimension = &model.locals[local].range;
            let world = &mut *self.world;
            let (first, last) = world.sizes.range(&mut world.arrays, dimension)?;
            let most = if dimension.range.is_some() { MAX_UNROLLED } else { MAX_UNROLLED_SET };
            let count = match first.extents.is_empty() && last.extents.is_empty() {
                true => (last.constant - first.constant).saturating_add(1).max(0),
                false => i64::MAX,
            };
            if count <= most && written.saturating_mul(count) <= most {
                written *= count;
                literal.push((local, first.constant, last.constant));
            } else {
                looped.push((local, first, last));
            }
        }
        let used = self.loops_in(context);
        let mut inner = self.at(context).clone();
        let mut loops = Vec::new();
        for (local, first, last) in looped {
            let l = self.fold_loop(&model.locals[local].name, first, last, model.locals[local].span, &used, &loops);
            loops.push(l);
            inner.locals.retain(|other| other.0 != local);
            inner.locals.push((local, IndexValue::index(l)));
        }
        let neutral = match fold {
            Reduction::Sum => 0.0,
            Reduction::Product => 1.0,
            Reduction::Min => f64::INFINITY,
            Reduction::Max => f64::NEG_INFINITY,
        };
        // Every point of the literal ranges, the last index fastest.
        let mut keys = Vec::new();
        let mut missing = Vec::new();
        let mut point: Vec<i64> = literal.iter().map(|l| l.1).collect();
        let mut more = literal.iter().all(|l| l.1 <= l.2);
        while more {
            let mut here = inner.clone();
            for (&(local, _, _), &at) in literal.iter().zip(&point) {
                here.locals.retain(|other| other.0 != local);
                here.locals.push((local, IndexValue::affine(Affine::constant(at))));
            }
            let here = self.context(here);
            self.term_keys(condition, body, here, &mut keys, &mut missing);
            more = advance(&mut point, &literal);
        }
        if !missing.is_empty() {
            return Ok(Step::Needs(missing));
        }
        let neutral_node = self.graph.constant(neutral);
        let mut terms = Vec::new();
        for (condition, body) in keys {
            let body = match self.nodes(&[body]) {
                Err(step) => return Ok(step),
                Ok(nodes) => nodes[0],
            };
            let term = match condition {
                None => body,
                Some(condition) => self.graph.apply(&logic::IF, &[condition, body, neutral_node]),
            };
            let how = match fold {
                Reduction::Sum => Fold::Sum,
                Reduction::Product => Fold::Product,
                Reduction::Min => Fold::Min,
                Reduction::Max => Fold::Max,
            };
            let folded = loops.iter().rev().fold(term, |term, &l| self.graph.insert(Node::Fold(how, l, term)));
            terms.push(self.graph.with_span(folded, span));
        }
        let combine = |g: &mut Graph, a, b| match fold {
            Reduction::Sum => g.add(a, b),
            Reduction::Product => g.mul(a, b),
            Reduction::Min => g.apply(&odec_ir::builtin::rounding::MIN, &[a, b]),
            Reduction::Max => g.apply(&odec_ir::builtin::rounding::MAX, &[a, b]),
        };
        let mut all = terms.into_iter();
        let node = match all.next() {
            None => neutral_node,
            Some(first) => all.fold(first, |a, b| combine(&mut self.graph, a, b)),
        };
        Ok(Step::Done(Known::Node(self.graph.with_span(node, span))))
    }

    /// The condition (a node, if there is one that is not always true) and the key of one term of a reduction.
    fn term_keys(
        &mut self,
        condition: Option<TermId>,
        body: TermId,
        here: ContextId,
        keys: &mut Vec<(Option<NodeId>, Key)>,
        missing: &mut Vec<Key>,
    ) {
        let Some(condition) = condition else {
            let key = (Kind::Value, body, here);
            if !self.known.contains_key(&key) {
                missing.push(key);
            }
            keys.push((None, key));
            return;
        };
        if !self.world.guards(condition) {
            let both = [(Kind::Value, condition, here), (Kind::Value, body, here)];
            match self.nodes(&both) {
                Ok(nodes) => keys.push((Some(nodes[0]), both[1])),
                Err(Step::Needs(more)) => missing.extend(more),
                Err(Step::Done(_)) => {}
            }
            return;
        }
        let guard = match self.nodes(&[(Kind::Guard, condition, here)]) {
            Ok(nodes) => nodes[0],
            Err(Step::Needs(more)) => return missing.extend(more),
            Err(Step::Done(_)) => return,
        };
        let constant = self.space.guards.as_constant(guard);
        let constant = constant.or_else(|| self.settled_inside(guard).map(|holds| f64::from(u8::from(holds))));
        if constant == Some(0.0) {
            return;
        }
        let inside = if constant.is_some() { here } else { self.under(here, guard) };
        let key = (Kind::Value, body, inside);
        if !self.known.contains_key(&key) {
            missing.push(key);
            return;
        }
        let node = if constant.is_some() { None } else { Some(self.copied(guard)) };
        keys.push((node, key));
    }

    /// A loop of a reduction: one for all reductions over the same range that are not inside one another. Loops are
    /// always nested in the order in which they were made.
    fn fold_loop(
        &mut self,
        name: &str,
        first: Affine,
        last: Affine,
        span: Span,
        used: &[LoopId],
        taken: &[LoopId],
    ) -> LoopId {
        let outer = used.iter().chain(taken).filter(|l| !self.iterates.contains(l)).max();
        let fits = |l: &LoopId| {
            let other = &self.space.loops()[l.0 as usize];
            other.first == first && other.last == last && outer.is_none_or(|o| o < l)
        };
        if let Some(l) = self.fold_loops.iter().copied().find(fits) {
            return l;
        }
        let l = self.space.push_loop(Loop { name: name.to_owned(), first, last, span });
        self.fold_loops.push(l);
        l
    }
}

/// The next point of literal ranges, the last index fastest; false after the last one.
fn advance(point: &mut [i64], ranges: &[(usize, i64, i64)]) -> bool {
    for (at, &(_, first, last)) in point.iter_mut().zip(ranges).rev() {
        if *at < last {
            *at += 1;
            return true;
        }
        *at = first;
    }
    false
}
