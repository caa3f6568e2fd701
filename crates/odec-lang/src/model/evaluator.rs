//! The evaluator of checked expressions. An [`Arithmetic`] defines numbers and the names that are data; elements,
//! edges, boundaries, functions and reductions work the same for all. Entered bodies are on an explicit stack,
//! without recursion.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use odec_ir::Op;
use odec_ir::builtin::{arithmetic, logic, rounding};
use odec_ir::nest::Edge;

use super::arrays::{Place, Reduction};
use super::data::{count, position, whole};
use super::inputs::Curve;
use super::walk::{MAX_INLINED_TERMS, operands};
use super::{Body, Model, Symbol, TermId, TermKind, Values};

/// Largest number of nested bodies: the length of a chain of definitions.
const MAX_FRAMES: usize = 1_000_000;
/// Largest number of cached values of bodies. Above it, the evaluator discards all of them.
const MAX_KEPT: usize = 1 << 20;

/// First and last index.
pub(crate) type Range = (i64, i64);

/// The type of values, and the values of names.
pub(crate) trait Arithmetic {
    /// A value.
    type Value: Copy;
    /// The key of a value in the cache of calls.
    type Key: Hash + Eq;

    /// See [`Arithmetic::Key`].
    fn key(value: Self::Value) -> Self::Key;
    /// A literal, or an index.
    fn number(x: f64) -> Self::Value;
    /// The value as a subscript or a condition.
    fn real(value: Self::Value) -> f64;
    /// An operation, but for the choice between two values.
    fn apply(op: Op, operands: &[Self::Value]) -> Self::Value;
    /// The independent variable.
    fn time(&self) -> Self::Value;
    /// The element at a row-by-row index; `None` if its formula must be evaluated: for a definition, or for the
    /// initial value of a state.
    fn element(&self, symbol: Symbol, order: u8, offset: usize) -> Option<Self::Value>;
}

/// The values of indices and arguments.
#[derive(Clone, Debug)]
pub(crate) struct Scope<V> {
    /// Elements of [`Model::locals`] with their values.
    pub locals: Vec<(usize, i64)>,
    /// Arguments of the function whose body this is.
    pub arguments: Vec<V>,
    /// The array whose boundary this is: it has no value beyond an edge of the same array.
    pub bounded: Option<(Symbol, u8)>,
}

impl<V> Scope<V> {
    /// A scope with indices only.
    pub fn of(locals: Vec<(usize, i64)>) -> Scope<V> {
        Scope { locals, arguments: Vec::new(), bounded: None }
    }
}

/// An expression at its use.
#[derive(Clone, Debug)]
pub(crate) struct Formula<V> {
    pub body: Body,
    pub scope: Scope<V>,
}

/// The source of the value of a name.
pub(crate) enum Origin<V> {
    Data(V),
    Formula(Formula<V>),
}

/// The evaluation took more steps than permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// A body with the indices and arguments that its value depends on.
type CacheKey<K> = (TermId, Vec<i64>, Vec<K>);

/// The order in which the terms of a body are evaluated.
struct Order {
    /// Terms that are evaluated once.
    once: Rc<[u32]>,
    /// Terms that a reduction evaluates for each of its points.
    each: HashMap<u32, Rc<[u32]>>,
}

impl Order {
    fn of(model: &Model, body: Body) -> Order {
        let mut changing: HashMap<u32, Vec<u32>> = HashMap::new();
        let reached = reached(model, body);
        for &i in &reached {
            if matches!(model.terms[i as usize].kind, TermKind::Reduce { .. }) {
                changing.insert(i, under(model, i));
            }
        }
        if changing.is_empty() {
            return Order { once: reached.into(), each: HashMap::new() };
        }
        let inside: HashSet<u32> = changing.values().flatten().copied().collect();
        let own = |list: &Vec<u32>| -> Rc<[u32]> {
            let nested: HashSet<u32> = list.iter().filter_map(|t| changing.get(t)).flatten().copied().collect();
            list.iter().copied().filter(|t| !nested.contains(t)).collect()
        };
        let each = changing.iter().map(|(&reduction, list)| (reduction, own(list))).collect();
        Order { once: reached.into_iter().filter(|i| !inside.contains(i)).collect(), each }
    }
}

/// The terms of an expression, ascending. Between them there may be terms of other expressions.
fn reached(model: &Model, body: Body) -> Vec<u32> {
    let mut found = vec![false; body.range().len()];
    let mut open = vec![body.root];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut found[(id.0 - body.start) as usize], true) {
            match &model.term(id).kind {
                TermKind::Apply(op, list) => open.extend(&list[..usize::from(op.0.arity)]),
                kind => operands(kind, |o| open.push(o)),
            }
        }
    }
    (body.start..body.end).filter(|i| found[(i - body.start) as usize]).collect()
}

/// The terms under a reduction that change with its indices, ascending.
fn under(model: &Model, reduction: u32) -> Vec<u32> {
    let TermKind::Reduce { locals, condition, body, .. } = &model.terms[reduction as usize].kind else {
        return Vec::new();
    };
    let mut all = BTreeSet::new();
    let mut open: Vec<TermId> = condition.iter().copied().chain([*body]).collect();
    while let Some(id) = open.pop() {
        if all.insert(id.0) {
            operands(&model.term(id).kind, |o| open.push(o));
        }
    }
    let mut changing = BTreeSet::new();
    for &i in &all {
        let kind = &model.terms[i as usize].kind;
        let mut changes = matches!(kind, TermKind::Index(l) if locals.contains(l));
        operands(kind, |o| changes |= changing.contains(&o.0));
        if changes {
            changing.insert(i);
        }
    }
    changing.into_iter().collect()
}

/// A reduction under way.
struct Reducing<V> {
    how: Reduction,
    condition: Option<TermId>,
    body: TermId,
    list: Rc<[u32]>,
    next: usize,
    /// Indices with their ranges.
    ranges: Vec<(usize, Range)>,
    /// The previous values of the indices.
    before: Vec<i64>,
    value: V,
}

/// A body under way.
struct Activation<A: Arithmetic> {
    order: Rc<Order>,
    body: Body,
    values: Vec<A::Value>,
    next: usize,
    reductions: Vec<Reducing<A::Value>>,
    arguments: Vec<A::Value>,
    bounded: Option<(Symbol, u8)>,
    key: Option<CacheKey<A::Key>>,
    /// The previous values of the indices.
    before: Vec<(usize, i64)>,
}

impl<A: Arithmetic> Activation<A> {
    fn value(&self, term: TermId) -> A::Value {
        self.values[(term.0 - self.body.start) as usize]
    }

    /// The term that is computed next.
    fn current(&self) -> Option<u32> {
        match self.reductions.last() {
            Some(reduction) => reduction.list.get(reduction.next).copied(),
            None => self.order.once.get(self.next).copied(),
        }
    }

    /// Sets the value of the current term.
    fn set(&mut self, value: A::Value) {
        if let Some(term) = self.current() {
            self.values[(term - self.body.start) as usize] = value;
        }
        match self.reductions.last_mut() {
            Some(reduction) => reduction.next += 1,
            None => self.next += 1,
        }
    }
}

enum Progress<V> {
    Value(V),
    Enter(Formula<V>),
    Begin(Reducing<V>),
}

/// See the head of this file.
pub(crate) struct Evaluator<'m, A: Arithmetic> {
    model: &'m Model,
    /// The values for the ranges of indices.
    values: &'m Values,
    /// The values of names.
    pub arithmetic: A,
    /// The value of each local.
    indices: Vec<i64>,
    kept: HashMap<CacheKey<A::Key>, A::Value>,
    orders: HashMap<Body, Rc<Order>>,
    ranges: HashMap<Symbol, Option<Rc<[Range]>>>,
    local_ranges: HashMap<usize, Option<Range>>,
    steps_left: u64,
    inlined: u64,
    /// True if inputs have no value at the ends of their data.
    open_ends: bool,
}

impl<'m, A: Arithmetic> Evaluator<'m, A> {
    /// Chooses whether inputs have a value at the ends of their data, up to rounding.
    pub fn with_open_ends(self, open_ends: bool) -> Evaluator<'m, A> {
        Evaluator { open_ends, ..self }
    }

    /// An empty evaluator that evaluates at most this many terms.
    pub fn new(model: &'m Model, values: &'m Values, arithmetic: A, most: u64) -> Evaluator<'m, A> {
        Evaluator {
            model,
            values,
            arithmetic,
            indices: vec![0; model.locals.len()],
            kept: HashMap::new(),
            orders: HashMap::new(),
            ranges: HashMap::new(),
            local_ranges: HashMap::new(),
            steps_left: most,
            inlined: 0,
            open_ends: false,
        }
    }

    /// The value of an expression, with the indices as [`Evaluator::fix`] set them.
    pub fn value(&mut self, body: Body) -> Result<A::Value, Exhausted> {
        let values = self.values(&Formula { body, scope: Scope::of(Vec::new()) })?;
        Ok(values[body.root.index() - body.start as usize])
    }

    /// The value of an element.
    pub fn at(&mut self, symbol: Symbol, at: &[i64]) -> Result<A::Value, Exhausted> {
        match self.element(symbol, 0, at.to_vec(), None) {
            Origin::Data(value) => Ok(value),
            Origin::Formula(formula) => {
                let values = self.values(&formula)?;
                Ok(values[formula.body.root.index() - formula.body.start as usize])
            }
        }
    }

    /// The values of all terms of an expression. A term inside a reduction has the value at the last point.
    pub fn values(&mut self, formula: &Formula<A::Value>) -> Result<Vec<A::Value>, Exhausted> {
        self.inlined = 0;
        let Formula { body, scope } = formula;
        let formula = Formula { body: *body, scope: scope.clone() };
        self.run(formula)
    }

    /// Sets the value of an index for the next evaluations.
    pub fn fix(&mut self, local: usize, at: i64) {
        self.indices[local] = at;
    }

    /// Discards the cache: names have new values now.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    /// The range of an index; `None` if its ends are not integers.
    pub fn local_range(&mut self, local: usize) -> Option<Range> {
        let (model, values) = (self.model, self.values);
        *self.local_ranges.entry(local).or_insert_with(|| model.bounds_of(&model.locals[local].range, values))
    }

    /// The axes of a symbol.
    pub fn ranges(&mut self, symbol: Symbol) -> Option<Rc<[Range]>> {
        let (model, values) = (self.model, self.values);
        let find = || Some(model.ranges_of(model.indexed(symbol)?, values)?.into());
        self.ranges.entry(symbol).or_insert_with(find).clone()
    }

    fn run(&mut self, formula: Formula<A::Value>) -> Result<Vec<A::Value>, Exhausted> {
        let mut callers: Vec<Activation<A>> = Vec::new();
        let mut top = self.activation(formula, None);
        loop {
            let Some(term) = top.current() else {
                if !top.reductions.is_empty() {
                    self.end_of_point(&mut top);
                    continue;
                }
                for (local, at) in top.before.drain(..).rev() {
                    self.indices[local] = at;
                }
                let Some(mut caller) = callers.pop() else { return Ok(top.values) };
                let value = top.value(top.body.root);
                if let Some(key) = top.key.take() {
                    self.keep(key, value);
                }
                caller.set(value);
                top = caller;
                continue;
            };
            self.inlined += u64::from(!top.arguments.is_empty());
            if self.steps_left == 0 || self.inlined > MAX_INLINED_TERMS || callers.len() > MAX_FRAMES {
                return Err(Exhausted);
            }
            self.steps_left -= 1;
            match self.term(&top, term) {
                Progress::Value(value) => top.set(value),
                Progress::Begin(reduction) => self.begin(&mut top, reduction)?,
                Progress::Enter(formula) => {
                    let key = remembered::<A>(&formula);
                    if let Some(&value) = self.kept.get(&key) {
                        top.set(value);
                    } else {
                        let callee = self.activation(formula, Some(key));
                        callers.push(std::mem::replace(&mut top, callee));
                    }
                }
            }
        }
    }

    fn keep(&mut self, key: CacheKey<A::Key>, value: A::Value) {
        if self.kept.len() >= MAX_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, value);
    }

    fn activation(&mut self, formula: Formula<A::Value>, key: Option<CacheKey<A::Key>>) -> Activation<A> {
        let Formula { body, scope } = formula;
        let model = self.model;
        let order = self.orders.entry(body).or_insert_with(|| Rc::new(Order::of(model, body))).clone();
        let mut before = Vec::with_capacity(scope.locals.len());
        for &(local, at) in &scope.locals {
            before.push((local, std::mem::replace(&mut self.indices[local], at)));
        }
        Activation {
            order,
            body,
            values: vec![A::number(f64::NAN); body.range().len()],
            next: 0,
            reductions: Vec::new(),
            arguments: scope.arguments,
            bounded: scope.bounded,
            key,
            before,
        }
    }

    fn term(&mut self, activation: &Activation<A>, id: u32) -> Progress<A::Value> {
        let model = self.model;
        let kind = &model.terms[id as usize].kind;
        Progress::Value(match kind {
            TermKind::Number(x) => A::number(*x),
            TermKind::Index(local) => A::number(self.indices[*local] as f64),
            TermKind::Argument(i) => activation.arguments[*i],
            TermKind::Time => self.arithmetic.time(),
            TermKind::Apply(op, [condition, then, other]) if *op == Op(&logic::IF) => {
                let holds = A::real(activation.value(*condition)) != 0.0;
                activation.value(if holds { *then } else { *other })
            }
            TermKind::Apply(op, operands) => {
                let values = operands.map(|o| activation.value(o));
                A::apply(*op, &values[..usize::from(op.0.arity)])
            }
            TermKind::Call(function, operands) => {
                let arguments = operands.iter().map(|&o| activation.value(o)).collect();
                return Progress::Enter(self.call(*function, arguments));
            }
            TermKind::Input(input, argument) => {
                let curve = self.values.inputs.get(*input).and_then(Option::as_deref);
                let argument = activation.value(*argument);
                let curve = curve.filter(|curve| !(self.open_ends && curve.ends_at(A::real(argument))));
                curve.map_or(A::number(f64::NAN), |curve| along::<A>(curve, argument))
            }
            TermKind::Reduce { reduction, locals, condition, body } => {
                let mut ranges = Vec::with_capacity(locals.len());
                for &local in locals {
                    match self.local_range(local) {
                        Some(range) => ranges.push((local, range)),
                        None => return Progress::Value(A::number(f64::NAN)),
                    }
                }
                let value = A::number(neutral(*reduction));
                if ranges.iter().all(|(_, range)| range.0 <= range.1) {
                    let list = activation.order.each[&id].clone();
                    let (how, condition, body, before) = (*reduction, *condition, *body, Vec::new());
                    return Progress::Begin(Reducing { how, condition, body, list, next: 0, ranges, before, value });
                }
                value
            }
            name => match self.origin(name, &|s| activation.value(s), activation.bounded) {
                Origin::Data(value) => value,
                Origin::Formula(formula) => return Progress::Enter(formula),
            },
        })
    }

    /// The body of a function with these arguments.
    pub fn call(&self, function: usize, arguments: Vec<A::Value>) -> Formula<A::Value> {
        let scope = Scope { locals: Vec::new(), arguments, bounded: None };
        Formula { body: self.model.functions[function].value, scope }
    }

    fn begin(&mut self, activation: &mut Activation<A>, mut reduction: Reducing<A::Value>) -> Result<(), Exhausted> {
        let ranges: Vec<Range> = reduction.ranges.iter().map(|r| r.1).collect();
        if count(&ranges).is_none_or(|points| points > self.steps_left) {
            return Err(Exhausted);
        }
        for &(local, range) in &reduction.ranges {
            reduction.before.push(std::mem::replace(&mut self.indices[local], range.0));
        }
        activation.reductions.push(reduction);
        Ok(())
    }

    /// Ends a point of a reduction: continues with the next point, or sets the value of the reduction.
    fn end_of_point(&mut self, activation: &mut Activation<A>) {
        let Some(mut reduction) = activation.reductions.pop() else { return };
        self.inlined = 0;
        self.steps_left = self.steps_left.saturating_sub(1);
        if reduction.condition.is_none_or(|c| A::real(activation.value(c)) != 0.0) {
            let row = match reduction.how {
                Reduction::Sum => &arithmetic::ADD,
                Reduction::Product => &arithmetic::MUL,
                Reduction::Min => &rounding::MIN,
                Reduction::Max => &rounding::MAX,
            };
            reduction.value = A::apply(Op(row), &[reduction.value, activation.value(reduction.body)]);
        }
        for &(local, (first, last)) in reduction.ranges.iter().rev() {
            if self.indices[local] < last {
                self.indices[local] += 1;
                reduction.next = 0;
                activation.reductions.push(reduction);
                return;
            }
            self.indices[local] = first;
        }
        for (&(local, _), &at) in reduction.ranges.iter().zip(&reduction.before) {
            self.indices[local] = at;
        }
        activation.set(reduction.value);
    }

    /// The source of the value of a name or an element. `of` gives the values of its subscripts.
    pub fn origin(
        &mut self,
        kind: &TermKind,
        of: &dyn Fn(TermId) -> A::Value,
        bounded: Option<(Symbol, u8)>,
    ) -> Origin<A::Value> {
        let (symbol, order, subscripts): (Symbol, u8, &[TermId]) = match kind {
            TermKind::Parameter(i) => (Symbol::Parameter(*i), 0, &[]),
            TermKind::Constant(i) => (Symbol::Constant(*i), 0, &[]),
            TermKind::Definition(i) => (Symbol::Definition(*i), 0, &[]),
            TermKind::Discrete(i) => (Symbol::Discrete(*i), 0, &[]),
            TermKind::State(i, k) => (Symbol::State(*i), *k, &[]),
            TermKind::Element(symbol, order, subscripts) => (*symbol, *order, subscripts),
            _ => return Origin::Data(A::number(f64::NAN)),
        };
        let at: Option<Vec<i64>> = subscripts.iter().map(|&s| whole(A::real(of(s)))).collect();
        match at {
            Some(at) => self.element(symbol, order, at, bounded),
            None => Origin::Data(A::number(f64::NAN)),
        }
    }

    fn element(
        &mut self,
        symbol: Symbol,
        order: u8,
        mut at: Vec<i64>,
        bounded: Option<(Symbol, u8)>,
    ) -> Origin<A::Value> {
        let model = self.model;
        let mut offset = 0;
        if !at.is_empty() {
            let Some(ranges) = self.ranges(symbol) else { return Origin::Data(A::number(f64::NAN)) };
            let axes = model.indexed(symbol).map(|x| x.axes.as_slice()).unwrap_or_default();
            for ((i, &(first, last)), axis) in at.iter_mut().zip(ranges.iter()).zip(axes) {
                match model.edge_of(axis) {
                    Some(Edge::Periodic) if first <= last => *i = first + (*i - first).rem_euclid(last - first + 1),
                    Some(Edge::Clamp) if first <= last => *i = (*i).clamp(first, last),
                    _ => {}
                }
            }
            let Some(found) = position(&ranges, &at) else {
                let formula = if bounded == Some((symbol, order)) { None } else { self.boundary(symbol, order, &at) };
                return formula.map_or(Origin::Data(A::number(f64::NAN)), Origin::Formula);
            };
            offset = found;
        }
        if let Some(value) = self.arithmetic.element(symbol, order, offset) {
            return Origin::Data(value);
        }
        let (body, locals) = match symbol {
            Symbol::Definition(i) => (model.definitions[i].value, &model.definitions[i].indexed.locals),
            Symbol::State(i) => (model.states[i].initial[usize::from(order)], &model.states[i].indexed.locals),
            _ => return Origin::Data(A::number(f64::NAN)),
        };
        Origin::Formula(Formula { body, scope: Scope::of(locals.iter().copied().zip(at).collect()) })
    }

    /// The boundary value of an element beyond an edge.
    fn boundary(&mut self, symbol: Symbol, order: u8, at: &[i64]) -> Option<Formula<A::Value>> {
        let model = self.model;
        for b in model.boundaries.iter().filter(|b| (b.array, b.order) == (symbol, order)) {
            if let Some(locals) = self.place(&b.place, at) {
                let scope = Scope { locals, arguments: Vec::new(), bounded: Some((symbol, order)) };
                return Some(Formula { body: b.value, scope });
            }
        }
        None
    }

    /// The indices of a place if an element belongs to it.
    pub fn place(&mut self, place: &[Place], at: &[i64]) -> Option<Vec<(usize, i64)>> {
        let mut locals = Vec::new();
        for (place, &i) in place.iter().zip(at) {
            match *place {
                Place::At(body) => {
                    if whole(self.model.number(body, self.values)) != Some(i) {
                        return None;
                    }
                }
                Place::Each(local) => {
                    let (first, last) = self.local_range(local)?;
                    if i < first || i > last {
                        return None;
                    }
                    locals.push((local, i));
                }
            }
        }
        Some(locals)
    }
}

/// The value of a curve.
fn along<A: Arithmetic>(curve: &Curve, argument: A::Value) -> A::Value {
    let Some((k, moved)) = curve.piece(A::real(argument)) else { return A::number(f64::NAN) };
    let distance =
        curve.origins.get(k).map(|origin| A::apply(Op(&arithmetic::SUB), &[argument, A::number(origin + moved)]));
    let mut sum: Option<A::Value> = None;
    for list in curve.coefficients.iter().rev() {
        let coefficient = A::number(list[k]);
        sum = Some(match (sum, distance) {
            (Some(sum), Some(distance)) => {
                let product = A::apply(Op(&arithmetic::MUL), &[distance, sum]);
                A::apply(Op(&arithmetic::ADD), &[coefficient, product])
            }
            _ => coefficient,
        });
    }
    sum.unwrap_or(A::number(f64::NAN))
}

fn remembered<A: Arithmetic>(formula: &Formula<A::Value>) -> CacheKey<A::Key> {
    let Scope { locals, arguments, .. } = &formula.scope;
    let indices = locals.iter().map(|l| l.1).collect();
    (formula.body.root, indices, arguments.iter().map(|&v| A::key(v)).collect())
}

/// The value of a reduction without terms.
pub(crate) fn neutral(reduction: Reduction) -> f64 {
    match reduction {
        Reduction::Sum => 0.0,
        Reduction::Product => 1.0,
        Reduction::Min => f64::INFINITY,
        Reduction::Max => f64::NEG_INFINITY,
    }
}
