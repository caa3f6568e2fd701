//! The same search in a model with index sets: terms are computed for single elements, on demand, with an explicit stack.

use std::collections::HashMap;

use odec_ir::Span;
use odec_ir::nest::Edge;

use super::{Blame, By, Dual, Fault, Operand, Point, What, apply};
use crate::model::{Body, Dimension, Model, Place, Reduction, Symbol, TermId, TermKind};
use crate::source::Source;

/// Terms that are computed before the search gives up.
const MAX_TERMS: usize = 4_000_000;

/// A range of indices.
type Range = (i64, i64);

/// Where each state and parameter begins when elements are counted in the order of the text, row by row: for a state its
/// elements, then those of its derivatives.
struct Places {
    states: Vec<(usize, Vec<Range>)>,
    parameters: Vec<(usize, Vec<Range>)>,
}

fn elements_of(ranges: &[Range]) -> usize {
    ranges.iter().fold(1, |n, r| n.saturating_mul(usize::try_from(r.1 - r.0 + 1).unwrap_or(0)))
}

/// Row-by-row position of an element; `None` out of range.
fn position(ranges: &[Range], at: &[i64]) -> Option<usize> {
    ranges.iter().zip(at).try_fold(0usize, |position, (r, &i)| {
        (r.0..=r.1).contains(&i).then(|| position * (r.1 - r.0 + 1) as usize + (i - r.0) as usize)
    })
}

fn subscripts(ranges: &[Range], mut position: usize) -> Vec<i64> {
    let mut at: Vec<i64> = Vec::with_capacity(ranges.len());
    for r in ranges.iter().rev() {
        let length = usize::try_from(r.1 - r.0 + 1).unwrap_or(1).max(1);
        at.push(r.0 + (position % length) as i64);
        position /= length;
    }
    at.reverse();
    at
}

/// What indices and arguments stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Scope {
    locals: Vec<(usize, i64)>,
    arguments: Vec<(u64, Option<u64>)>,
    /// The boundary that is being computed.
    bounded: Option<(Symbol, u8)>,
}

type Key = (TermId, u32);

enum Step {
    Done(Dual),
    Needs(Vec<Key>),
}

/// Where the value of a name comes from.
enum Origin {
    Known(Dual),
    Term(Key),
}

struct Elements<'a> {
    model: &'a Model,
    point: Point<'a>,
    by: Option<By>,
    /// In the place of highest derivatives.
    rate: f64,
    start: bool,
    places: Places,
    ranges: HashMap<Symbol, Vec<Range>>,
    scopes: Vec<Scope>,
    scope_ids: HashMap<Scope, u32>,
    known: HashMap<Key, Dual>,
}

impl<'a> Elements<'a> {
    fn new(model: &'a Model, point: Point<'a>, by: Option<By>, start: bool) -> Elements<'a> {
        let mut elements = Elements {
            model,
            point,
            by,
            rate: 0.0,
            start,
            places: Places { states: Vec::new(), parameters: Vec::new() },
            ranges: HashMap::new(),
            scopes: Vec::new(),
            scope_ids: HashMap::new(),
            known: HashMap::new(),
        };
        let mut at = 0;
        for state in &model.states {
            let ranges = elements.all(&state.indexed.axes);
            let count = elements_of(&ranges).saturating_mul(usize::from(state.order));
            elements.places.states.push((at, ranges));
            at += count;
        }
        at = 0;
        for parameter in &model.parameters {
            let ranges = elements.all(&parameter.indexed.axes);
            let count = elements_of(&ranges);
            elements.places.parameters.push((at, ranges));
            at += count;
        }
        for symbol in (0..model.constants.len()).map(Symbol::Constant) {
            elements.add(symbol);
        }
        for symbol in (0..model.definitions.len()).map(Symbol::Definition) {
            elements.add(symbol);
        }
        elements
    }

    fn add(&mut self, symbol: Symbol) {
        let ranges = self.model.indexed(symbol).map(|x| self.all(&x.axes)).unwrap_or_default();
        self.ranges.insert(symbol, ranges);
    }

    fn number(&self, body: Body) -> i64 {
        self.model.number(body, self.point.values) as i64
    }

    fn range(&self, dimension: &Dimension) -> Range {
        self.model.range_of(dimension).map_or((1, 0), |(first, last)| (self.number(first), self.number(last)))
    }

    fn all(&self, axes: &[Dimension]) -> Vec<Range> {
        axes.iter().map(|d| self.range(d)).collect()
    }

    fn ranges_of(&self, symbol: Symbol) -> &[Range] {
        match symbol {
            Symbol::State(i) => &self.places.states[i].1,
            Symbol::Parameter(i) => &self.places.parameters[i].1,
            _ => self.ranges.get(&symbol).map_or(&[], Vec::as_slice),
        }
    }

    fn scope(&mut self, mut scope: Scope) -> u32 {
        scope.locals.sort_unstable();
        if let Some(&id) = self.scope_ids.get(&scope) {
            return id;
        }
        let id = self.scopes.len() as u32;
        self.scopes.push(scope.clone());
        self.scope_ids.insert(scope, id);
        id
    }

    /// The value of a term; `None` if it takes too long.
    fn value(&mut self, key: Key) -> Option<Dual> {
        let mut stack = vec![key];
        while let Some(&top) = stack.last() {
            if self.known.contains_key(&top) {
                stack.pop();
                continue;
            }
            if self.known.len() > MAX_TERMS || stack.len() > MAX_TERMS {
                return None;
            }
            match self.step(top) {
                Step::Done(value) => {
                    self.known.insert(top, value);
                    stack.pop();
                }
                Step::Needs(keys) => stack.extend(keys),
            }
        }
        self.known.get(&key).copied()
    }

    fn values(&self, keys: &[Key]) -> Result<Vec<Dual>, Step> {
        let missing: Vec<Key> = keys.iter().copied().filter(|k| !self.known.contains_key(k)).collect();
        if missing.is_empty() { Ok(keys.iter().map(|k| self.known[k]).collect()) } else { Err(Step::Needs(missing)) }
    }

    fn same(&self, key: Key) -> Step {
        self.known.get(&key).map_or_else(|| Step::Needs(vec![key]), |&value| Step::Done(value))
    }

    fn step(&mut self, (id, scope): Key) -> Step {
        let model = self.model;
        match &model.term(id).kind {
            TermKind::Number(x) => Step::Done(Dual::plain(*x)),
            TermKind::Time => {
                let slope = (self.by == Some(By::Time)).then_some(1.0);
                Step::Done(Dual { value: self.point.t, slope })
            }
            TermKind::Argument(i) => {
                let argument = self.scopes[scope as usize].arguments.get(*i);
                let dual = argument.map(|a| Dual { value: f64::from_bits(a.0), slope: a.1.map(f64::from_bits) });
                Step::Done(dual.unwrap_or(Dual::plain(f64::NAN)))
            }
            TermKind::Index(l) => Step::Done(Dual::plain(self.local(*l, scope) as f64)),
            TermKind::Apply(op, [c, a, b]) if op.0.name == "if" => match self.values(&[(*c, scope)]) {
                Err(step) => step,
                Ok(c) => self.same((if c[0].value != 0.0 { *a } else { *b }, scope)),
            },
            TermKind::Apply(op, operands) => {
                let keys: Vec<Key> = operands[..usize::from(op.0.arity)].iter().map(|&o| (o, scope)).collect();
                match self.values(&keys) {
                    Err(step) => step,
                    Ok(operands) => Step::Done(apply(*op, &operands)),
                }
            }
            TermKind::Call(f, operands) => {
                let keys: Vec<Key> = operands.iter().map(|&o| (o, scope)).collect();
                match self.values(&keys) {
                    Err(step) => step,
                    Ok(arguments) => {
                        let inner = self.call(&arguments);
                        self.same((model.functions[*f].value.root, inner))
                    }
                }
            }
            TermKind::Reduce { fold, locals, condition, body } => self.reduce(*fold, locals, *condition, *body, scope),
            _ => match self.origin(id, scope) {
                Err(step) => step,
                Ok(Origin::Known(value)) => Step::Done(value),
                Ok(Origin::Term(key)) => self.same(key),
            },
        }
    }

    fn local(&self, local: usize, scope: u32) -> i64 {
        self.scopes[scope as usize].locals.iter().find(|l| l.0 == local).map_or(0, |l| l.1)
    }

    fn call(&mut self, arguments: &[Dual]) -> u32 {
        let arguments = arguments.iter().map(|d| (d.value.to_bits(), d.slope.map(f64::to_bits))).collect();
        self.scope(Scope { arguments, ..Scope::default() })
    }

    /// The points of a reduction, or what is needed to know which they are.
    fn points(&mut self, locals: &[usize], condition: Option<TermId>, scope: u32) -> Result<Vec<u32>, Step> {
        let ranges: Vec<Range> = locals.iter().map(|&l| self.range(&self.model.locals[l].range)).collect();
        let count = elements_of(&ranges);
        let mut points = Vec::new();
        let mut missing = Vec::new();
        for k in 0..count.min(MAX_TERMS) {
            let mut inner = self.scopes[scope as usize].clone();
            for (&local, at) in locals.iter().zip(subscripts(&ranges, k)) {
                inner.locals.retain(|l| l.0 != local);
                inner.locals.push((local, at));
            }
            let inner = self.scope(inner);
            match condition.map(|c| self.values(&[(c, inner)])) {
                None => points.push(inner),
                Some(Ok(c)) if c[0].value != 0.0 => points.push(inner),
                Some(Ok(_)) => {}
                Some(Err(Step::Needs(keys))) => missing.extend(keys),
                Some(Err(Step::Done(_))) => {}
            }
        }
        if missing.is_empty() { Ok(points) } else { Err(Step::Needs(missing)) }
    }

    fn reduce(
        &mut self,
        fold: Reduction,
        locals: &[usize],
        condition: Option<TermId>,
        body: TermId,
        scope: u32,
    ) -> Step {
        let points = match self.points(locals, condition, scope) {
            Err(step) => return step,
            Ok(points) => points,
        };
        let keys: Vec<Key> = points.into_iter().map(|p| (body, p)).collect();
        let terms = match self.values(&keys) {
            Err(step) => return step,
            Ok(terms) => terms,
        };
        let (row, neutral) = match fold {
            Reduction::Sum => ("add", 0.0),
            Reduction::Product => ("mul", 1.0),
            Reduction::Min => ("min", f64::INFINITY),
            Reduction::Max => ("max", f64::NEG_INFINITY),
        };
        let Some(op) = odec_ir::builtin::find(row) else { return Step::Done(Dual::plain(f64::NAN)) };
        let mut terms = terms.into_iter();
        let first = terms.next().unwrap_or(Dual::plain(neutral));
        let combine = |a: Dual, b: Dual| match (fold, a.slope, b.slope) {
            (Reduction::Sum, a_slope, b_slope) => {
                let slope = match (a_slope, b_slope) {
                    (Some(x), Some(y)) => Some(x + y),
                    (x, y) => x.or(y),
                };
                Dual { value: a.value + b.value, slope }
            }
            (_, None, None) => Dual::plain((op.0.value)(&[a.value, b.value])),
            _ => apply(op, &[a, b]),
        };
        Step::Done(terms.fold(first, combine))
    }

    /// Where the value of a name or an element comes from.
    fn origin(&mut self, id: TermId, scope: u32) -> Result<Origin, Step> {
        let model = self.model;
        let (symbol, order, at) = match &model.term(id).kind {
            TermKind::Parameter(i) => (Symbol::Parameter(*i), 0, Vec::new()),
            TermKind::Constant(i) => (Symbol::Constant(*i), 0, Vec::new()),
            TermKind::Definition(i) => (Symbol::Definition(*i), 0, Vec::new()),
            TermKind::State(i, k) => (Symbol::State(*i), *k, Vec::new()),
            TermKind::Element(symbol, order, subs) => {
                let keys: Vec<Key> = subs.iter().map(|&s| (s, scope)).collect();
                let at = self.values(&keys)?;
                (*symbol, *order, at.into_iter().map(|x| x.value as i64).collect())
            }
            _ => return Ok(Origin::Known(Dual::plain(f64::NAN))),
        };
        let bounded = self.scopes[scope as usize].bounded;
        Ok(self.element(symbol, order, at, bounded))
    }

    fn element(&mut self, symbol: Symbol, order: u8, mut at: Vec<i64>, bounded: Option<(Symbol, u8)>) -> Origin {
        let model = self.model;
        let ranges = self.ranges_of(symbol).to_vec();
        let axes = model.indexed(symbol).map(|x| x.axes.clone()).unwrap_or_default();
        for ((i, range), axis) in at.iter_mut().zip(&ranges).zip(&axes) {
            let set = axis.index.filter(|_| axis.range.is_none());
            let rule = set.and_then(|set| model.edges.iter().find(|e| e.index == set));
            let length = range.1 - range.0 + 1;
            match rule.map(|r| r.edge) {
                Some(Edge::Periodic) if length > 0 => *i = range.0 + (*i - range.0).rem_euclid(length),
                Some(Edge::Clamp) if length > 0 => *i = (*i).clamp(range.0, range.1),
                _ => {}
            }
        }
        let from = |list: Option<&[f64]>, i: usize| list.and_then(|l| l.get(i)).copied().unwrap_or(f64::NAN);
        let Some(offset) = position(&ranges, &at) else {
            return match self.boundary(symbol, order, &at).filter(|_| bounded != Some((symbol, order))) {
                Some(key) => Origin::Term(key),
                None => Origin::Known(Dual::plain(f64::NAN)),
            };
        };
        let values = self.point.values;
        match symbol {
            Symbol::Time => Origin::Known(Dual::plain(self.point.t)),
            Symbol::Index(_) => Origin::Known(Dual::plain(f64::NAN)),
            Symbol::Constant(i) if ranges.is_empty() => Origin::Known(Dual::plain(from(Some(&values.constants), i))),
            Symbol::Constant(i) => {
                Origin::Known(Dual::plain(from(values.constant_data.get(i).map(Vec::as_slice), offset)))
            }
            Symbol::Parameter(i) => {
                let value = if ranges.is_empty() {
                    from(Some(&values.parameters), i)
                } else {
                    from(values.parameter_data.get(i).map(Vec::as_slice), offset)
                };
                let rank = self.places.parameters[i].0 + offset;
                Origin::Known(Dual { value, slope: (self.by == Some(By::Parameter(rank))).then_some(1.0) })
            }
            Symbol::Definition(i) => {
                let definition = &model.definitions[i];
                let locals = definition.indexed.locals.iter().copied().zip(at).collect();
                let inner = self.scope(Scope { locals, ..Scope::default() });
                Origin::Term((definition.value.root, inner))
            }
            Symbol::State(i) if order >= model.states[i].order => Origin::Known(Dual::plain(self.rate)),
            Symbol::State(i) if self.start => {
                let state = &model.states[i];
                let locals = state.indexed.locals.iter().copied().zip(at).collect();
                let inner = self.scope(Scope { locals, ..Scope::default() });
                Origin::Term((state.initial[usize::from(order)].root, inner))
            }
            Symbol::State(i) => {
                let rank = self.rank(i, order, offset);
                let value = from(Some(self.point.y), rank);
                Origin::Known(Dual { value, slope: (self.by == Some(By::State(rank))).then_some(1.0) })
            }
        }
    }

    fn rank(&self, state: usize, order: u8, offset: usize) -> usize {
        let (start, ranges) = &self.places.states[state];
        start + usize::from(order) * elements_of(ranges) + offset
    }

    /// The value outside of a range.
    fn boundary(&mut self, symbol: Symbol, order: u8, at: &[i64]) -> Option<Key> {
        let model = self.model;
        let b = model.boundaries.iter().find(|b| {
            (b.array, b.order) == (symbol, order)
                && b.place.iter().zip(at).all(|(place, &i)| match place {
                    Place::At(body) => self.number(*body) == i,
                    Place::Each(local) => {
                        let range = self.range(&model.locals[*local].range);
                        (range.0..=range.1).contains(&i)
                    }
                })
        })?;
        let locals = b.place.iter().zip(at).filter_map(|(place, &i)| match place {
            Place::Each(local) => Some((*local, i)),
            Place::At(_) => None,
        });
        let locals = locals.collect();
        let inner = self.scope(Scope { locals, bounded: Some((symbol, order)), ..Scope::default() });
        Some((b.value.root, inner))
    }

    /// The state, the order and the subscripts of a rank.
    fn state_at(&self, rank: usize) -> Option<(usize, u8, Vec<i64>)> {
        let i = self.places.states.iter().rposition(|(start, _)| *start <= rank)?;
        let (start, ranges) = &self.places.states[i];
        let count = elements_of(ranges).max(1);
        let order = (rank - start) / count;
        let at = subscripts(ranges, (rank - start) % count);
        (order < usize::from(self.model.states[i].order)).then_some((i, order as u8, at))
    }
}

/// The innermost term of `what` that is not finite.
pub(super) fn search(model: &Model, source: &Source, what: What, point: Point<'_>) -> Option<Blame> {
    let by = match what {
        What::Slope(_, by) => Some(by),
        _ => None,
    };
    let start = matches!(what, What::Start(_));
    let mut search = Search { source, elements: Elements::new(model, point, by, start) };
    let nowhere = Scope::default();
    match what {
        What::Output(at) => {
            let mut first = 0;
            for o in &model.outputs {
                let ranges = search.elements.all(&o.indexed.axes);
                let count = elements_of(&ranges);
                if at < first + count {
                    let subs = subscripts(&ranges, at - first);
                    let locals = o.indexed.locals.iter().copied().zip(subs).collect();
                    return search.body(o.value.root, Scope { locals, ..nowhere });
                }
                first += count;
            }
            None
        }
        What::Conserved(i) => search.body(model.conserved.get(i)?.value.root, nowhere),
        What::Expected(i) => search.body(model.expects.get(i)?.quantity.root, nowhere),
        What::Start(rank) => {
            let (i, order, at) = search.elements.state_at(rank)?;
            let state = &model.states[i];
            let locals = state.indexed.locals.iter().copied().zip(at).collect();
            search.body(state.initial.get(usize::from(order))?.root, Scope { locals, ..nowhere })
        }
        What::Row(rank) | What::Slope(rank, _) => {
            let (i, order, at) = search.elements.state_at(rank)?;
            let state = &model.states[i];
            if order + 1 < state.order {
                let offset = position(&search.elements.places.states[i].1, &at)?;
                let value = point.y.get(search.elements.rank(i, order + 1, offset)).copied().unwrap_or(f64::NAN);
                return (!value.is_finite()).then(|| Blame {
                    fault: Fault::Value,
                    span: state.span,
                    text: model.element_name(i, order + 1, &at),
                    value,
                    operands: Vec::new(),
                    through: Vec::new(),
                });
            }
            search.equations(i, at)
        }
    }
}

struct Search<'a> {
    source: &'a Source,
    elements: Elements<'a>,
}

impl Search<'_> {
    /// The equation of an element, and those of the derivatives that it uses.
    fn equations(&mut self, state: usize, at: Vec<i64>) -> Option<Blame> {
        let model = self.elements.model;
        let mut open = vec![(state, at)];
        let mut seen = std::collections::HashSet::new();
        while let Some((i, at)) = open.pop() {
            if !seen.insert((i, at.clone())) || seen.len() > MAX_TERMS {
                continue;
            }
            for equation in model.equations.iter().filter(|e| e.target.or(e.owner) == Some(i)) {
                let mut locals = Vec::new();
                let here = equation.place.iter().zip(&at).all(|(place, &k)| match place {
                    Place::At(body) => self.elements.number(*body) == k,
                    Place::Each(local) => {
                        locals.push((*local, k));
                        let range = self.elements.range(&model.locals[*local].range);
                        (range.0..=range.1).contains(&k)
                    }
                });
                if !here {
                    continue;
                }
                let scope = Scope { locals, ..Scope::default() };
                for body in [equation.rhs, equation.lhs] {
                    if let Some(blame) = self.body(body.root, scope.clone()) {
                        return Some(blame);
                    }
                }
                if equation.target.is_none()
                    && let Some(blame) = self.zero_factor(equation.lhs, equation.rhs, &scope, i, &at)
                {
                    return Some(blame);
                }
                let inner = self.elements.scope(scope);
                for body in [equation.lhs, equation.rhs] {
                    for index in body.range() {
                        let term = &model.terms[index];
                        if let TermKind::Element(Symbol::State(j), k, subs) = &term.kind
                            && *k >= model.states[*j].order
                        {
                            let at: Option<Vec<i64>> =
                                subs.iter().map(|&s| self.elements.value((s, inner)).map(|d| d.value as i64)).collect();
                            open.extend(at.map(|at| (*j, at)));
                        }
                        if let TermKind::State(j, k) = term.kind
                            && k >= model.states[j].order
                        {
                            open.push((j, Vec::new()));
                        }
                    }
                }
            }
        }
        None
    }

    /// The derivative has no factor: the equation is the same whatever it is.
    fn zero_factor(&mut self, lhs: Body, rhs: Body, scope: &Scope, state: usize, at: &[i64]) -> Option<Blame> {
        let inner = self.elements.scope(scope.clone());
        let mut difference = |rate: f64| -> Option<f64> {
            self.elements.rate = rate;
            self.elements.known.clear();
            Some(self.elements.value((lhs.root, inner))?.value - self.elements.value((rhs.root, inner))?.value)
        };
        let (with, without) = (difference(1.0)?, difference(0.0)?);
        let model = self.elements.model;
        (with == without).then(|| Blame {
            fault: Fault::ZeroFactor,
            span: model.span(lhs),
            text: model.element_name(state, model.states[state].order, at),
            value: 0.0,
            operands: Vec::new(),
            through: Vec::new(),
        })
    }

    /// From the root of an expression down to the term that is at fault.
    fn body(&mut self, root: TermId, scope: Scope) -> Option<Blame> {
        let model = self.elements.model;
        let mut key = (root, self.elements.scope(scope));
        let mut through: Vec<(String, Span)> = Vec::new();
        if self.elements.value(key)?.is_fine() {
            return None;
        }
        loop {
            let (id, scope) = key;
            let term = model.term(id);
            let operands: Vec<Key> = match &term.kind {
                TermKind::Apply(op, [c, a, b]) if op.0.name == "if" => {
                    let c = (*c, scope);
                    vec![c, (if self.elements.value(c)?.value != 0.0 { *a } else { *b }, scope)]
                }
                TermKind::Apply(op, operands) => {
                    operands[..usize::from(op.0.arity)].iter().map(|&o| (o, scope)).collect()
                }
                TermKind::Call(_, operands) => operands.iter().map(|&o| (o, scope)).collect(),
                TermKind::Reduce { locals, condition, body, .. } => {
                    let points = loop {
                        match self.elements.points(locals, *condition, scope) {
                            Ok(points) => break points,
                            Err(Step::Needs(keys)) => {
                                for key in keys {
                                    self.elements.value(key)?;
                                }
                            }
                            Err(Step::Done(_)) => return None,
                        }
                    };
                    points.into_iter().map(|p| (*body, p)).collect()
                }
                _ => Vec::new(),
            };
            let mut bad = None;
            for &o in &operands {
                if !self.elements.value(o)?.is_fine() {
                    bad = Some(o);
                    break;
                }
            }
            if let Some(next) = bad {
                key = next;
                continue;
            }
            match &term.kind {
                TermKind::Call(f, _) => {
                    through.push((model.functions[*f].name.clone(), term.span));
                    let mut arguments = Vec::new();
                    for &o in &operands {
                        arguments.push(self.elements.value(o)?);
                    }
                    key = (model.functions[*f].value.root, self.elements.call(&arguments));
                    continue;
                }
                TermKind::Definition(_) | TermKind::Element(..) | TermKind::State(..) => {
                    let name = self.name(id, scope)?;
                    if let Ok(Origin::Term(next)) = self.elements.origin(id, scope) {
                        through.push((name, term.span));
                        key = next;
                        continue;
                    }
                }
                _ => {}
            }
            let found = self.elements.value(key)?;
            let slope = found.value.is_finite();
            // Of a reduction the terms are too many to be shown.
            let shown = if matches!(term.kind, TermKind::Reduce { .. }) { &[][..] } else { &operands };
            let mut list = Vec::new();
            for &(o, scope) in shown {
                if !matches!(model.term(o).kind, TermKind::Number(_)) {
                    let value = self.elements.value((o, scope))?.value;
                    let span = model.term(o).span;
                    list.push(Operand { text: self.name(o, scope)?, span, value });
                }
            }
            return Some(Blame {
                fault: if slope { Fault::Slope } else { Fault::Value },
                span: term.span,
                text: self.name(id, scope)?,
                value: if slope { found.slope.unwrap_or(f64::NAN) } else { found.value },
                operands: list,
                through,
            });
        }
    }

    /// A term as written; of an element its subscripts as numbers.
    fn name(&mut self, id: TermId, scope: u32) -> Option<String> {
        let model = self.elements.model;
        let term = model.term(id);
        if let TermKind::Element(symbol, order, subs) = &term.kind {
            let mut at = Vec::with_capacity(subs.len());
            for &s in subs {
                at.push(self.elements.value((s, scope))?.value as i64);
            }
            return Some(match *symbol {
                Symbol::State(i) => model.element_name(i, *order, &at),
                other => crate::model::arrays::element_name(
                    model.name_of(other),
                    *order,
                    &at,
                    model.name_of(other).rsplit_once('.').and_then(|(_, c)| c.chars().next()),
                ),
            });
        }
        let text = self.source.text.get(term.span.range()).unwrap_or_default();
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
