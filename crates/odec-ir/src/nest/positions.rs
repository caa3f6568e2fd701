//! Positions of the elements that a nest accesses: strides if the access is affine, offset tables otherwise.

use super::arguments::Counter;
use super::bind::BindError;
use super::domain::{Domain, Range};
use super::{AccessId, Affine, Axis, Edge, Element, Kernel, Space, Sub, Subscript};
use crate::broken;
use crate::graph::{Node, NodeId};
use crate::layout::{Layout, elements};
use crate::number::Number;
use crate::program::{Program, Role};

/// A subscript whose magnitude may exceed this counts as out of range and is not computed, so that nothing overflows.
const MAX_SUBSCRIPT: i128 = 1 << 62;

/// Positions of an access in the buffer of its array.
pub(super) struct Strides {
    /// Position in the first round of every loop.
    pub base: i64,
    /// Stride for each counter of the access.
    pub strides: Vec<i64>,
}

/// Evaluates the accesses of one nest.
#[derive(Clone, Copy)]
pub(super) struct Positions<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub nest: &'a Kernel,
    /// Index of the nest in the program.
    pub number: usize,
    pub domain: &'a Domain,
}

impl Positions<'_> {
    /// The rounds of a counter.
    pub fn rounds(&self, counter: Counter) -> u64 {
        match counter {
            Counter::Points => self.domain.points,
            Counter::Loop(l) => self.domain.run[l.0 as usize].count,
        }
    }

    /// The product of the numbers of rounds of all counters of an access.
    pub fn length(&self, access: AccessId) -> u64 {
        let counts = self.nest.counters_of(access).into_iter().map(|c| self.rounds(c));
        if counts.clone().any(|c| c == 0) { 0 } else { counts.fold(1, u64::saturating_mul) }
    }

    /// Base and strides of an access that is not listed.
    ///
    /// # Errors
    /// The access leaves an axis.
    pub fn strides(&self, id: AccessId) -> Result<Strides, BindError> {
        let access = self.nest.space.access(id);
        let counters = self.nest.counters_of(id);
        let mut found = Strides { base: 0, strides: vec![0; counters.len()] };
        if self.domain.points == 0 || counters.iter().any(|&c| self.rounds(c) == 0) {
            return Ok(found);
        }
        let axes = axes(self.program, id, &self.nest.space);
        let mut place = 0i64;
        for (position, (sub, (axis, step))) in access.subs.iter().zip(axes).enumerate() {
            let Sub::Affine(affine) = &sub.sub else { continue };
            let (least, most) = ends(affine, self.program, &self.domain.run);
            if least < i128::from(axis.first) || most > i128::from(axis.last()) {
                let below = least < i128::from(axis.first);
                let at = corner(affine, &self.domain.run, below);
                let value = if below { least } else { most };
                return Err(self.out_of_range(id, position, clamped(value), axis, |l| at[l]));
            }
            // It is in range at every point, so also at the first: no overflow below.
            let mut start = constant(affine, self.program);
            for &(l, c) in &affine.loops {
                start = start.saturating_add(i128::from(c) * i128::from(self.domain.run[l.0 as usize].first));
                if let Some(k) = counters.iter().position(|&counter| counter == Counter::Loop(l)) {
                    found.strides[k] = found.strides[k].wrapping_add(c.wrapping_mul(step));
                }
            }
            place += clamped(start - i128::from(axis.first)) * step;
        }
        found.base = place + self.layout.start(access.array) as i64;
        Ok(found)
    }

    /// Positions from the start of the array of a listed access, row by row over its counters; `absent` if its guard
    /// is zero.
    ///
    /// # Errors
    /// It leaves an axis somewhere, or a table of subscripts does not hold whole numbers.
    pub fn table(&self, id: AccessId, absent: u32) -> Result<Vec<u32>, BindError> {
        let counters = self.nest.counters_of(id);
        let length = self.length(id);
        if self.domain.points == 0 || length == 0 {
            return Ok(Vec::new());
        }
        let mut table = Vec::with_capacity(length as usize);
        let mut element = self.element(id, &self.nest.space)?;
        let mut at: Vec<i64> = self.domain.run.iter().map(|r| r.first).collect();
        let counts: Vec<u64> = counters.iter().map(|&c| self.rounds(c)).collect();
        let mut round = vec![0u64; counters.len()];
        loop {
            for (&counter, &round) in counters.iter().zip(&round) {
                self.set(&mut at, counter, round);
            }
            let inner = counters.last().copied();
            for k in 0..counts.last().copied().unwrap_or(1) {
                if let Some(inner) = inner {
                    self.set(&mut at, inner, k);
                }
                table.push(match element.place(self.program, &at) {
                    Ok(Some(place)) => place as u32,
                    Ok(None) => absent,
                    Err((position, stop)) => return Err(self.error(id, position, stop, &at)),
                });
            }
            let outer = counters.len().saturating_sub(1);
            let Some(k) = (0..outer).rev().find(|&k| round[k] + 1 < counts[k]) else { return Ok(table) };
            round[k] += 1;
            round[k + 1..].fill(0);
        }
    }

    /// Sets the indices for a round of a counter.
    fn set(&self, at: &mut [i64], counter: Counter, round: u64) {
        match (counter, &self.domain.boundary) {
            (Counter::Points, Some(boundary)) => {
                for (l, offsets) in self.nest.iterates.iter().zip(boundary) {
                    let l = l.0 as usize;
                    at[l] = self.domain.full[l].first.wrapping_add(i64::from(offsets[round as usize]));
                }
            }
            (Counter::Points, None) => {}
            (Counter::Loop(l), _) => {
                let l = l.0 as usize;
                at[l] = self.domain.run[l].first.wrapping_add(round as i64);
            }
        }
    }

    fn element(&self, id: AccessId, space: &Space) -> Result<Located, BindError> {
        let access = space.access(id);
        let mut subs = Vec::with_capacity(access.subs.len());
        for (position, (sub, (range, stride))) in access.subs.iter().zip(axes(self.program, id, space)).enumerate() {
            let along = AxisSubscript::new(sub, range, stride, self.program, &self.domain.full);
            subs.push(along.map_err(|stop| {
                let at: Vec<i64> = self.domain.full.iter().map(|r| r.first).collect();
                self.error(id, position, stop, &at)
            })?);
        }
        let condition = access.guard.map(|guard| self.condition(guard)).transpose()?;
        Ok(Located { subs, condition })
    }

    fn condition(&self, guard: NodeId) -> Result<Condition, BindError> {
        let graph = &self.nest.space.guards;
        let live = graph.reachable([guard]);
        let mut place = vec![0; graph.len()];
        let mut terms = Vec::new();
        for (i, node) in graph.nodes().iter().enumerate().filter(|(i, _)| live[*i]) {
            place[i] = terms.len();
            terms.push(match *node {
                Node::Constant(bits) => Term::Number(f64::from_bits(bits)),
                Node::Index(l) => Term::Index(l.0 as usize),
                Node::Read(Element::At(a)) => {
                    let array = self.nest.space.access(a).array.0 as usize;
                    Term::Element(array, self.element(a, &self.nest.space)?)
                }
                Node::Call(op, args) => Term::Call(op, args.map(|a| place[a.index()])),
                other => broken(&format!("a guard computes {other:?}")),
            });
        }
        let values = vec![0.0; terms.len()];
        Ok(Condition { terms, values })
    }

    fn error(&self, access: AccessId, position: usize, stop: Stop, at: &[i64]) -> BindError {
        match stop {
            Stop::OutOfRange(value, range) => self.out_of_range(access, position, value, range, |l| at[l]),
            Stop::NotWhole { array, element, value } => BindError::NotWhole { array, element, value },
        }
    }

    fn out_of_range(
        &self,
        access: AccessId,
        position: usize,
        value: i64,
        range: Range,
        index: impl Fn(usize) -> i64,
    ) -> BindError {
        let space = &self.nest.space;
        let name = |l: super::LoopId| (space.loops()[l.0 as usize].name.clone(), index(l.0 as usize));
        BindError::OutOfRange {
            nest: self.number,
            access,
            position,
            value,
            range: (range.first, range.last()),
            at: space.loops_of(access).into_iter().map(name).collect(),
        }
    }
}

/// Range and stride of every axis of the array of an access. The subscript of a scalar is the distance from it in the
/// buffer, through the arrays of its role.
fn axes(program: &Program, id: AccessId, space: &Space) -> Vec<(Range, i64)> {
    let access = space.access(id);
    let array = &program.arrays[access.array.0 as usize];
    if array.axes.is_empty() && !access.subs.is_empty() {
        let alike = program.arrays[access.array.0 as usize..].iter().filter(|other| other.role == array.role);
        let count = alike.map(|other| elements(other, &program.axes, &program.extents) as u64);
        return vec![(Range { first: 0, count: count.fold(0, u64::saturating_add) }, 1)];
    }
    let mut step = 1i64;
    let mut axes: Vec<(Range, i64)> = array
        .axes
        .iter()
        .rev()
        .map(|axis| {
            let range = range(&program.axes[axis.0 as usize], program);
            let stride = step;
            step = step.saturating_mul(range.count as i64);
            (range, stride)
        })
        .collect();
    axes.reverse();
    axes
}

/// The indices of an axis; empty if they do not fit.
pub(super) fn range(axis: &Axis, program: &Program) -> Range {
    let range = Range::of(axis.first.value(&program.extents), axis.last.value(&program.extents));
    range.unwrap_or(Range { first: 0, count: 0 })
}

/// The value of an affine subscript if all loop indices are 0.
pub(super) fn constant(affine: &Affine, program: &Program) -> i128 {
    affine.extents.iter().fold(i128::from(affine.constant), |sum, &(extent, c)| {
        let value = program.extents[extent.0 as usize].value;
        sum.saturating_add(i128::from(value) * i128::from(c))
    })
}

/// Smallest and largest value of an affine subscript over loops that are not empty.
fn ends(affine: &Affine, program: &Program, loops: &[Range]) -> (i128, i128) {
    let start = constant(affine, program);
    affine.loops.iter().fold((start, start), |(least, most), &(l, c)| {
        let range = loops[l.0 as usize];
        let [a, b] = [range.first, range.last()].map(|x| i128::from(x) * i128::from(c));
        (least.saturating_add(a.min(b)), most.saturating_add(a.max(b)))
    })
}

/// The loop indices at which an affine subscript is smallest or largest.
fn corner(affine: &Affine, loops: &[Range], least: bool) -> Vec<i64> {
    let mut at: Vec<i64> = loops.iter().map(|r| r.first).collect();
    for &(l, c) in &affine.loops {
        if (c < 0) == least {
            at[l.0 as usize] = loops[l.0 as usize].last();
        }
    }
    at
}

fn clamped(x: i128) -> i64 {
    x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// An access prepared for evaluation at many points.
struct Located {
    subs: Vec<AxisSubscript>,
    condition: Option<Condition>,
}

/// A subscript along an axis.
struct AxisSubscript {
    value: SubscriptValue,
    range: Range,
    stride: i64,
    edge: Edge,
}

enum SubscriptValue {
    /// A number plus multiples of loop indices.
    Affine(i64, Vec<(usize, i64)>),
    Lookup {
        table: usize,
        subs: Vec<AxisSubscript>,
        shift: i64,
    },
}

/// A guard: its nodes, operands first, and memory for their values.
struct Condition {
    terms: Vec<Term>,
    values: Vec<f64>,
}

enum Term {
    Number(f64),
    Index(usize),
    /// An element of this array.
    Element(usize, Located),
    Call(crate::builtin::Op, [usize; 3]),
}

/// The reason why there is no such element.
#[derive(Clone, Copy)]
enum Stop {
    OutOfRange(i64, Range),
    NotWhole { array: usize, element: usize, value: f64 },
}

impl Located {
    /// Position in the array; `None` if the guard is zero.
    fn place(&mut self, program: &Program, at: &[i64]) -> Result<Option<i64>, (usize, Stop)> {
        if let Some(condition) = &mut self.condition
            && !condition.holds(program, at)?
        {
            return Ok(None);
        }
        let mut place = 0;
        for (position, along) in self.subs.iter().enumerate() {
            place += along.offset(program, at).map_err(|stop| (position, stop))?;
        }
        Ok(Some(place))
    }
}

/// An element of a table; an index beyond its data is an error.
fn element_of(program: &Program, array: usize, place: i64) -> Result<f64, Stop> {
    let element = place as usize;
    program.arrays[array].data.get(element).copied().ok_or(Stop::NotWhole { array, element, value: f64::NAN })
}

impl Condition {
    fn holds(&mut self, program: &Program, at: &[i64]) -> Result<bool, (usize, Stop)> {
        for k in 0..self.terms.len() {
            self.values[k] = match &mut self.terms[k] {
                Term::Number(x) => *x,
                Term::Index(l) => at[*l] as f64,
                Term::Element(array, element) => {
                    let (number, place) = (*array, element.place(program, at)?);
                    match (program.arrays[number].role, place) {
                        (Role::Size, _) => program.arrays[number].default,
                        (_, Some(place)) => element_of(program, number, place).map_err(|stop| (0, stop))?,
                        // a missing element satisfies no condition
                        (_, None) => f64::NAN,
                    }
                }
                Term::Call(op, args) => {
                    let args = args.map(|a| self.values[a]);
                    f64::call(op.0, &args[..usize::from(op.0.arity)])
                }
            };
        }
        Ok(self.values.last().is_some_and(|&x| x != 0.0))
    }
}

impl AxisSubscript {
    fn new(
        sub: &Subscript,
        range: Range,
        stride: i64,
        program: &Program,
        loops: &[Range],
    ) -> Result<AxisSubscript, Stop> {
        let value = match &sub.sub {
            Sub::Affine(affine) => {
                let start = constant(affine, program);
                let reach = affine.loops.iter().fold(start.saturating_abs(), |sum, &(l, c)| {
                    let range = loops[l.0 as usize];
                    let size = i128::from(range.first).abs().max(i128::from(range.last()).abs());
                    sum.saturating_add(size * i128::from(c).abs())
                });
                if reach > MAX_SUBSCRIPT {
                    return Err(Stop::OutOfRange(clamped(start.saturating_add(reach)), range));
                }
                SubscriptValue::Affine(clamped(start), affine.loops.iter().map(|&(l, c)| (l.0 as usize, c)).collect())
            }
            Sub::Lookup { table, subs, shift } => {
                let array = &program.arrays[table.0 as usize];
                let mut step = 1i64;
                let mut along = Vec::with_capacity(subs.len());
                for (sub, axis) in subs.iter().zip(&array.axes).rev() {
                    let range = self::range(&program.axes[axis.0 as usize], program);
                    along.push(AxisSubscript::new(sub, range, step, program, loops)?);
                    step = step.saturating_mul(range.count as i64);
                }
                SubscriptValue::Lookup { table: table.0 as usize, subs: along, shift: *shift }
            }
        };
        Ok(AxisSubscript { value, range, stride, edge: sub.edge })
    }

    /// Offset in the array, from the first index of this axis.
    fn offset(&self, program: &Program, at: &[i64]) -> Result<i64, Stop> {
        let value = match &self.value {
            SubscriptValue::Affine(start, loops) => loops.iter().fold(*start, |sum, &(l, c)| sum + c * at[l]),
            SubscriptValue::Lookup { table, subs, shift } => {
                let mut place = 0;
                for along in subs {
                    place += along.offset(program, at)?;
                }
                let value = element_of(program, *table, place)?;
                let whole = value as i64;
                if whole as f64 != value {
                    return Err(Stop::NotWhole { array: *table, element: place as usize, value });
                }
                whole.saturating_add(*shift)
            }
        };
        let (first, last) = (self.range.first, self.range.last());
        let offset = if (first..=last).contains(&value) {
            value - first
        } else {
            match self.edge {
                Edge::Periodic if self.range.count > 0 => {
                    let turn = (i128::from(value) - i128::from(first)).rem_euclid(i128::from(self.range.count));
                    turn as i64
                }
                Edge::Clamp if self.range.count > 0 => value.clamp(first, last) - first,
                _ => return Err(Stop::OutOfRange(value, self.range)),
            }
        };
        Ok(offset * self.stride)
    }
}
