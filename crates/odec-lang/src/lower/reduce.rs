//! Reductions: loops of a kernel, or unrolled if the range is literal and short.

use odec_ir::builtin::{logic, rounding};
use odec_ir::nest::{Affine, Loop, LoopId, ReduceOp};
use odec_ir::{Graph, Node, NodeId, Span};

use super::Fallible;
use super::builder::{ContextId, Form, KernelBuilder, Key, Outcome, Progress, ready};
use super::flat::MAX_ELEMENTS;
use super::index::IndexValue;
use super::world::Ends;
use crate::model::evaluator::neutral;
use crate::model::{Reduction, TermId};

/// Largest number of terms for which a reduction over literal ranges is unrolled.
pub const MAX_UNROLLED: i64 = 64;

/// The same for the range of an index set, which may have been chosen larger.
pub const MAX_UNROLLED_SET: i64 = 8;

/// The same for reductions inside of one another: together they have at most so many terms.
const MAX_UNROLLED_NESTED: i64 = 4096;

/// The indices of a reduction: unrolled ones with their ranges, and those of loops.
#[derive(Default)]
struct Ranges {
    written: Vec<(usize, i64, i64)>,
    looped: Vec<(usize, Ends)>,
}

/// A term of a reduction: its condition, unless it is always true, and its key.
type ReducedTerm = (Option<NodeId>, Key);

impl KernelBuilder<'_, '_> {
    pub fn reduce(
        &mut self,
        reduction: Reduction,
        locals: &[usize],
        condition: Option<TermId>,
        body: TermId,
        context: ContextId,
        span: Span,
    ) -> Outcome {
        let model = self.world.model;
        let Ranges { written, looped } = self.ranges(locals, context)?;
        let used = self.loops_in(context);
        let mut inner = self.at(context).clone();
        let mut loops = Vec::new();
        for (local, ends) in looped {
            let l = self.reduction_loop(&model.locals[local].name, ends, model.locals[local].span, &used, &loops);
            loops.push(l);
            inner.locals.retain(|other| other.0 != local);
            inner.locals.push((local, IndexValue::index(l)));
        }
        // Every point of the ranges that are written out, the last index fastest.
        let mut keys = Vec::new();
        let mut missing = Vec::new();
        let mut point: Vec<i64> = written.iter().map(|l| l.1).collect();
        let mut more = written.iter().all(|l| l.1 <= l.2);
        while more {
            let mut here = inner.clone();
            for (&(local, _, _), &at) in written.iter().zip(&point) {
                here.locals.retain(|other| other.0 != local);
                here.locals.push((local, IndexValue::affine(Affine::constant(at))));
            }
            let here = self.context(here);
            match self.reduced_term(condition, body, here) {
                Progress::Done(term) => keys.extend(term),
                Progress::Needs(keys) => missing.extend(keys),
            }
            more = advance(&mut point, &written);
        }
        if !missing.is_empty() {
            return Ok(Progress::Needs(missing));
        }
        let neutral = self.graph.constant(neutral(reduction));
        let mut all: Option<NodeId> = None;
        let mut terms = Vec::with_capacity(keys.len());
        for (condition, body) in keys {
            let body = ready!(self.same(body));
            let term = match condition {
                None => body,
                Some(condition) => self.graph.apply(&logic::IF, &[condition, body, neutral]),
            };
            let how = match reduction {
                Reduction::Sum => ReduceOp::Sum,
                Reduction::Product => ReduceOp::Product,
                Reduction::Min => ReduceOp::Min,
                Reduction::Max => ReduceOp::Max,
            };
            let reduced = loops.iter().rev().fold(term, |term, &l| self.graph.insert(Node::Reduce(how, l, term)));
            terms.push(self.graph.with_span(reduced, span));
        }
        for term in terms {
            all = Some(match all {
                None => term,
                Some(before) => combined(&mut self.graph, reduction, before, term),
            });
        }
        let node = all.unwrap_or(neutral);
        Ok(Progress::Done(self.graph.with_span(node, span)))
    }

    /// Determines the unrolled indices: those with short ranges of literal numbers.
    fn ranges(&mut self, locals: &[usize], context: ContextId) -> Fallible<Ranges> {
        let outer = self.unrolled_around(context)?;
        let mut ranges = Ranges::default();
        let mut written = 1i64;
        for &local in locals {
            let (first, last) = self.world.range_of(local)?;
            let own = self.world.model.locals[local].range.range.is_some();
            let most = match &self.world.flat {
                Some(_) => MAX_ELEMENTS as i64,
                None if own => MAX_UNROLLED,
                None => MAX_UNROLLED_SET,
            };
            let count = literal_count(&(first.clone(), last.clone())).unwrap_or(i64::MAX);
            let nested = if self.world.flat.is_some() { i64::MAX } else { MAX_UNROLLED_NESTED };
            let all = written.saturating_mul(count);
            if count <= most && all <= most && all.saturating_mul(outer) <= nested {
                written *= count;
                ranges.written.push((local, first.constant, last.constant));
            } else {
                ranges.looped.push((local, (first, last)));
            }
        }
        Ok(ranges)
    }

    /// Number of points of the unrolled indices that have a value in a context.
    fn unrolled_around(&mut self, context: ContextId) -> Fallible<i64> {
        let constant =
            |value: &IndexValue| value.as_affine().is_some_and(|a| a.loops.is_empty() && a.extents.is_empty());
        let locals: Vec<usize> =
            self.at(context).locals.iter().filter(|(_, value)| constant(value)).map(|(local, _)| *local).collect();
        let mut points = 1i64;
        for local in locals {
            let count = literal_count(&self.world.range_of(local)?);
            points = points.saturating_mul(count.unwrap_or(1).max(1));
        }
        Ok(points)
    }

    /// One term of a reduction; `None` if its condition is never true.
    fn reduced_term(
        &mut self,
        condition: Option<TermId>,
        body: TermId,
        here: ContextId,
    ) -> Progress<Option<ReducedTerm>> {
        let needed = |s: &Self, context: ContextId, guard: Option<NodeId>| {
            let key = (Form::Value, body, context);
            match s.same(key) {
                Progress::Done(_) => Progress::Done(Some((guard, key))),
                Progress::Needs(keys) => Progress::Needs(keys),
            }
        };
        let Some(condition) = condition else { return needed(self, here, None) };
        if !self.world.guards(condition) {
            let both = [(Form::Value, condition, here), (Form::Value, body, here)];
            return match self.nodes(&both) {
                Progress::Done(nodes) => Progress::Done(Some((Some(nodes[0]), both[1]))),
                Progress::Needs(keys) => Progress::Needs(keys),
            };
        }
        let guard = match self.same((Form::Guard, condition, here)) {
            Progress::Done(guard) => guard,
            Progress::Needs(keys) => return Progress::Needs(keys),
        };
        let settled = self.space.guards.as_constant(guard).map(|x| x != 0.0);
        match settled.or_else(|| self.settled_inside(guard)) {
            Some(false) => Progress::Done(None),
            Some(true) => needed(self, here, None),
            None => {
                let inside = self.under(here, guard);
                match needed(self, inside, None) {
                    Progress::Done(Some((_, key))) => Progress::Done(Some((Some(self.copied(guard)), key))),
                    other => other,
                }
            }
        }
    }

    /// The loop of a reduction, which all reductions over the same range share unless they are nested. Loops are
    /// always nested in the order in which they were made.
    fn reduction_loop(
        &mut self,
        name: &str,
        (first, last): Ends,
        span: Span,
        used: &[LoopId],
        taken: &[LoopId],
    ) -> LoopId {
        let outer = used.iter().chain(taken).filter(|l| !self.iterates.contains(l)).max();
        let fits = |l: &LoopId| {
            let other = &self.space.loops()[l.0 as usize];
            other.first == first && other.last == last && outer.is_none_or(|o| o < l)
        };
        if let Some(l) = self.reduction_loops.iter().copied().find(fits) {
            return l;
        }
        let l = self.space.push_loop(Loop { name: name.to_owned(), first, last, span });
        self.reduction_loops.push(l);
        l
    }
}

/// Number of indices of a range of literal numbers.
fn literal_count((first, last): &Ends) -> Option<i64> {
    let literal = first.extents.is_empty() && last.extents.is_empty();
    literal.then(|| (last.constant - first.constant).saturating_add(1).max(0))
}

/// Combines two terms of a reduction.
fn combined(graph: &mut Graph, reduction: Reduction, a: NodeId, b: NodeId) -> NodeId {
    match reduction {
        Reduction::Sum => graph.add(a, b),
        Reduction::Product => graph.mul(a, b),
        Reduction::Min => graph.apply(&rounding::MIN, &[a, b]),
        Reduction::Max => graph.apply(&rounding::MAX, &[a, b]),
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
