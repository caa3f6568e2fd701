//! What a hybrid system is: a system whose right-hand side reads modes and discretes, relations that decide the
//! modes, and events that change state and discretes.

use crate::system::{EvalError, System};

/// A comparison of two continuous quantities, `left > right`. Its truth is a mode, which is frozen inside a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// Its truth where both sides are equal: `left >= right`.
    pub or_equal: bool,
}

/// Which change of its condition an event waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// It becomes true.
    #[default]
    Rising,
    /// It becomes false.
    Falling,
    /// It becomes true or false.
    Both,
}

/// What makes an event happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Its condition ([`HybridSystem::conditions`]) changes.
    Condition(Edge),
    /// The times of this list come ([`HybridSystem::times`]).
    Times(usize),
    /// Nothing but the accumulation of another event ([`Event::rest`]).
    Rest,
}

/// What an event does to one quantity. Right-hand sides read the values before the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The quantity.
    pub target: Target,
    /// True: the value is added to it. Else it takes the place of it, which one event alone may ask for in a round.
    pub adds: bool,
}

/// What an event can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The unknown of this row.
    State(usize),
    /// The discrete of this position.
    Discrete(usize),
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// What makes it happen.
    pub trigger: Trigger,
    /// What it changes; [`HybridSystem::values`] has the values in this order.
    pub writes: Vec<Write>,
    /// The condition counts as false before the start of the run.
    pub from_start: bool,
    /// Values are taken when it is executed, and not when it is triggered.
    pub late: bool,
    /// It is dropped where its condition turns false before it is executed.
    pub cancel: bool,
    /// It is executed in a round of its own. Of several at one instant and of one priority chance decides which comes first.
    pub alone: bool,
    /// Among events of equal priority those of the highest rank alone form a round.
    pub rank: u32,
    /// The run ends after the instant at which it is executed.
    pub stops: bool,
    /// The event that is executed where this one accumulates.
    pub rest: Option<usize>,
    /// False: it is not looked at whether it accumulates.
    pub may_accumulate: bool,
}

impl Event {
    /// An event on a condition that becomes true.
    pub fn when(writes: Vec<Write>) -> Self {
        Event {
            trigger: Trigger::Condition(Edge::Rising),
            writes,
            from_start: false,
            late: false,
            cancel: false,
            alone: false,
            rank: 0,
            stops: false,
            rest: None,
            may_accumulate: true,
        }
    }

    /// An event at the times of a list.
    pub fn at(list: usize, writes: Vec<Write>) -> Self {
        Event { trigger: Trigger::Times(list), ..Event::when(writes) }
    }
}

impl Write {
    /// A state takes a value.
    pub fn state(row: usize) -> Self {
        Write { target: Target::State(row), adds: false }
    }

    /// A discrete takes a value.
    pub fn discrete(position: usize) -> Self {
        Write { target: Target::Discrete(position), adds: false }
    }

    /// The value is added.
    pub fn adding(self) -> Self {
        Write { adds: true, ..self }
    }
}

/// Times that are known before a step is made, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times<'a> {
    /// These.
    List(&'a [f64]),
    /// from + k period for k = 0, 1, ..., up to `until`, which is never accumulated.
    Every {
        /// The first.
        from: f64,
        /// Their distance, positive.
        period: f64,
        /// None lies beyond it.
        until: f64,
    },
    /// Those of `offsets`, which ascend and span less than a period, and each of them k periods later, for k = `first`,
    /// `first` + 1, ...
    Comb {
        /// Within a period.
        offsets: &'a [f64],
        /// Whole periods before the first ones.
        first: f64,
        /// Length of a period, positive.
        period: f64,
    },
}

/// Relations whose difference left - right is `sum a_i y_i + b t + c` with a and b that hold for the whole run (c
/// may change with parameters and discretes): their polynomials are had from those of the state, at little cost.
#[derive(Clone, Debug, Default)]
pub struct AffineRows {
    /// Where the terms of a relation begin in `terms`, one entry more than there are relations; empty where no
    /// relation is affine.
    pub starts: Vec<u32>,
    /// (row of the state, a_i).
    pub terms: Vec<(u32, f64)>,
    /// b of each relation.
    pub time: Vec<f64>,
    /// False for relations of another form.
    pub is_affine: Vec<bool>,
}

/// The terms (row of the state, a_i) of an affine relation, and b.
pub type AffineTerms = (Vec<(u32, f64)>, f64);

impl AffineRows {
    /// From a list: for each relation its terms and b, or `None` where it is of another form.
    pub fn of(relations: &[Option<AffineTerms>]) -> Self {
        let mut rows = AffineRows { starts: vec![0], ..AffineRows::default() };
        for relation in relations {
            let (terms, time) = relation.as_ref().map_or((&[][..], 0.0), |(terms, time)| (&terms[..], *time));
            rows.terms.extend_from_slice(terms);
            rows.starts.push(rows.terms.len() as u32);
            rows.time.push(time);
            rows.is_affine.push(relation.is_some());
        }
        rows
    }

    /// Terms and b of a relation; `None` where it is of another form.
    pub fn row(&self, relation: usize) -> Option<(&[(u32, f64)], f64)> {
        if !self.is_affine.get(relation).copied().unwrap_or(false) {
            return None;
        }
        let terms = &self.terms[self.starts[relation] as usize..self.starts[relation + 1] as usize];
        Some((terms, self.time[relation]))
    }
}

/// A bound of an unknown: no accepted state and no row lies beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Row of the unknown.
    pub row: u32,
    /// The bound, which is finite or never met.
    pub value: f64,
    /// No state lies above it; else none lies below.
    pub upper: bool,
}

impl Bound {
    /// How far a value lies beyond it; not positive inside.
    pub fn beyond(&self, y: f64) -> f64 {
        if self.upper { y - self.value } else { self.value - y }
    }
}

/// Unknowns that are derivatives of other unknowns by parameters, so that they change at an instant as the formula for
/// that says (`derived.rs`). Relations and events read the others alone.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// Rows of the unknowns that are no derivatives.
    pub states: Vec<u32>,
    /// Rows of their derivatives: as many for the first parameter, then as many for the next.
    pub rows: Vec<u32>,
    /// Positions of the discretes that have derivatives. An event may not write another one what depends on a parameter.
    pub discretes: Vec<u32>,
    /// Positions of their derivatives, in the order of `rows`.
    pub positions: Vec<u32>,
    /// True of relations across which y' is continuous and that no event waits for; empty where there is none.
    pub bends: Vec<bool>,
}

impl Derived {
    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.rows.len() / self.states.len().max(1)
    }

    /// Rows of the derivatives by a parameter.
    pub fn of(&self, parameter: usize) -> &[u32] {
        &self.rows[parameter * self.states.len()..][..self.states.len()]
    }
}

/// A system with relations and events. Between two instants modes and discretes stay as they are, and f is smooth;
/// the driver alone writes them, and calls [`HybridSystem::refresh`] then.
///
/// Relations are numbered as their modes are; modes beyond the last relation depend on time alone
/// ([`HybridSystem::at_stops`]). Slices of states have n values, of relations as many as
/// [`HybridSystem::relations`].
pub trait HybridSystem {
    /// The right-hand side, with modes and discretes as they stand.
    fn system(&self) -> &dyn System;
    /// The relations.
    fn relations(&self) -> &[Relation] {
        &[]
    }
    /// The events.
    fn events(&self) -> &[Event] {
        &[]
    }
    /// The modes: 1 where a relation holds, 0 where it does not.
    fn modes(&self) -> &[f64] {
        &[]
    }
    /// See [`HybridSystem::modes`].
    fn modes_mut(&mut self) -> &mut [f64] {
        &mut []
    }
    /// The discretes.
    fn discretes(&self) -> &[f64] {
        &[]
    }
    /// See [`HybridSystem::discretes`].
    fn discretes_mut(&mut self) -> &mut [f64] {
        &mut []
    }
    /// Modes or discretes have changed: what depends on them is computed anew.
    fn refresh(&mut self) {}
    /// Both sides of every relation at a point.
    ///
    /// # Errors
    /// They have no value there.
    fn sides(&self, _t: f64, _y: &[f64], _left: &mut [f64], _right: &mut [f64]) -> Result<(), EvalError> {
        Ok(())
    }
    /// How fast left - right of every relation changes where t grows by 1 and y by `w`. By default a quotient of
    /// differences, for which it takes memory.
    ///
    /// # Errors
    /// They have no value there.
    fn rates(&self, t: f64, y: &[f64], w: &[f64], rates: &mut [f64]) -> Result<(), EvalError> {
        let most = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let (size, speed) = (most(y).max(f64::MIN_POSITIVE), most(w));
        let apart = f64::EPSILON.cbrt() * if speed > 0.0 { size / speed } else { t.abs().max(1.0) };
        let (mut left, mut right) = (vec![0.0; rates.len()], vec![0.0; rates.len()]);
        rates.fill(0.0);
        for sign in [1.0, -1.0] {
            let near: Vec<f64> = y.iter().zip(w).map(|(y, w)| y + sign * apart * w).collect();
            self.sides(t + sign * apart, &near, &mut left, &mut right)?;
            for (rate, (left, right)) in rates.iter_mut().zip(left.iter().zip(&right)) {
                *rate += sign * (left - right) / (2.0 * apart);
            }
        }
        Ok(())
    }
    /// Relations that are affine.
    fn affine(&self) -> Option<&AffineRows> {
        None
    }
    /// False where nothing reads a relation in the modes as they stand: no step lands on it.
    fn is_read(&self, _relation: usize) -> bool {
        true
    }
    /// The conditions of all events from modes and discretes; those of events with another trigger are not read.
    fn conditions(&self, _t: f64, _y: &[f64], _conditions: &mut [bool]) {}
    /// The values that an event writes, in the order of [`Event::writes`].
    ///
    /// # Errors
    /// They have no value there.
    fn values(&self, _event: usize, _t: f64, _y: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Ok(())
    }
    /// Time from the trigger of an event to its execution.
    fn delay(&self, _event: usize, _t: f64, _y: &[f64]) -> f64 {
        0.0
    }
    /// Among events that are due at one instant those of the highest priority form a round.
    fn priority(&self, _event: usize, _t: f64, _y: &[f64]) -> f64 {
        0.0
    }
    /// Unknowns that are derivatives by parameters; the methods below belong to them.
    fn derived(&self) -> Option<&Derived> {
        None
    }
    /// d(left - right)/dp of every relation at a fixed time: what the parameter itself does, and what it does by the
    /// derivatives of the state that stand in `y`.
    ///
    /// # Errors
    /// They have no value there.
    fn sides_by(&self, _parameter: usize, _t: f64, _y: &[f64], _out: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Derivatives of [`HybridSystem::values`] by a parameter where the time of the instant has the derivative `time`
    /// by it, and the state those that stand in `y`.
    ///
    /// # Errors
    /// They have no value there.
    fn values_by(
        &self,
        _event: usize,
        _parameter: usize,
        _t: f64,
        _y: &[f64],
        _time: f64,
        _out: &mut [f64],
    ) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// The derivative of [`HybridSystem::delay`] by a parameter, as of [`HybridSystem::values_by`].
    fn delay_by(&self, _event: usize, _parameter: usize, _t: f64, _y: &[f64], _time: f64) -> f64 {
        0.0
    }
    /// The derivative by a parameter of the time of this number in a list.
    fn time_by(&self, _list: usize, _number: u64, _parameter: usize) -> f64 {
        0.0
    }
    /// Bounds of unknowns, for a run: the system sees states beyond as if they were on them.
    fn bounds(&self) -> &[Bound] {
        &[]
    }
    /// True where f and what events read are continuous at the times of a list, and only derivatives of f jump there, as
    /// at the knots of a piecewise linear forcing. A run goes on behind them without a restart.
    fn is_kink(&self, _list: usize) -> bool {
        false
    }
    /// Number of lists of times. Every time is the end of a step.
    fn lists(&self) -> usize {
        0
    }
    /// The times of a list, which may depend on discretes.
    fn times(&self, _list: usize) -> Times<'_> {
        Times::List(&[])
    }
    /// A number that is another one once lists have changed; `None` where that is not known.
    fn listing(&self) -> Option<u64> {
        None
    }
    /// An event whose times have no value, now that discretes have changed: a period that is not positive.
    fn untimed(&self) -> Option<usize> {
        None
    }
    /// Sets the modes that depend on time alone, given how many times of each list have come.
    fn at_stops(&mut self, _passed: &[u64]) {}
    /// Sets them as they are at a time itself, where one may change: comparisons of the time with itself are false.
    fn at_time(&mut self, _t: f64) {}
}

/// A system without relations and events.
pub struct Smooth<'a>(pub &'a dyn System);

impl HybridSystem for Smooth<'_> {
    fn system(&self) -> &dyn System {
        self.0
    }
}
