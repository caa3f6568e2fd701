//! A hybrid system has a right-hand side that reads modes and discretes, relations that decide the modes, and events
//! that change states and discretes.

use crate::system::{EvalError, System};

/// A comparison of two continuous quantities, `left > right`. Its truth value is a mode, which is constant inside a
/// step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// The truth value if both sides are equal: true for `left >= right`.
    pub or_equal: bool,
}

/// The change of its condition that triggers an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// The condition becomes true.
    #[default]
    Rising,
    /// The condition becomes false.
    Falling,
    /// The condition becomes true or false.
    Both,
}

/// Trigger of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Its condition ([`HybridEvents::conditions`]) changes.
    Condition(Edge),
    /// A time of this list ([`HybridTimes::times`]) is reached.
    Times(usize),
    /// Only the accumulation of another event ([`Event::rest`]).
    Rest,
}

/// Change of one quantity by an event. Right-hand sides read the values before the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The quantity.
    pub target: WriteTarget,
    /// True if the event adds the value to the quantity. Otherwise it sets the quantity, which only one event in a
    /// round may do.
    pub adds: bool,
}

/// A quantity that an event can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteTarget {
    /// The unknown in this row.
    State(usize),
    /// The discrete at this position.
    Discrete(usize),
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Trigger.
    pub trigger: Trigger,
    /// Changes of quantities, in the order of [`HybridEvents::values`].
    pub writes: Vec<Write>,
    /// The condition counts as false before the start of the run.
    pub from_start: bool,
    /// The values are read when the event is executed, not when it is triggered.
    pub late: bool,
    /// The event is dropped if its condition becomes false before it is executed.
    pub cancel: bool,
    /// The event has a round of its own. If several such events have equal priority at one instant, a random choice
    /// decides which comes first.
    pub alone: bool,
    /// Among events of equal priority, those with the highest rank form a round.
    pub rank: u32,
    /// The run ends after the instant at which the event is executed.
    pub stops: bool,
    /// The event that is executed when this one accumulates.
    pub rest: Option<usize>,
    /// True if the run checks whether the event accumulates.
    pub may_accumulate: bool,
}

impl Event {
    /// An event that is triggered when its condition becomes true.
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
    /// Sets a state.
    pub fn state(row: usize) -> Self {
        Write { target: WriteTarget::State(row), adds: false }
    }

    /// Sets a discrete.
    pub fn discrete(position: usize) -> Self {
        Write { target: WriteTarget::Discrete(position), adds: false }
    }

    /// Adds the value instead.
    pub fn adding(self) -> Self {
        Write { adds: true, ..self }
    }
}

/// Times that are known before a step is taken, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times<'a> {
    /// The times themselves.
    List(&'a [f64]),
    /// from + k period for k = 0, 1, ..., up to `until`, each computed without accumulating rounding errors.
    Every {
        /// The first time.
        from: f64,
        /// The distance between two times, positive.
        period: f64,
        /// No time is later than this.
        until: f64,
    },
    /// The `offsets`, each k periods later, for k = `first`, `first` + 1, ... The offsets ascend and span less than a
    /// period.
    Comb {
        /// Times within a period.
        offsets: &'a [f64],
        /// Number of whole periods before the first times.
        first: f64,
        /// Length of a period, positive.
        period: f64,
    },
}

/// Relations with left - right = `sum a_i y_i + b t + c`, where a and b are constant during the run; c may change with
/// parameters and discretes. The polynomials of such relations follow from those of the states at little cost.
#[derive(Clone, Debug, Default)]
pub struct AffineRows {
    /// Where the terms of each relation begin in `terms`, and one more entry for the end; empty if no relation is
    /// affine.
    pub starts: Vec<u32>,
    /// (row of the state, a_i).
    pub terms: Vec<(u32, f64)>,
    /// b of each relation.
    pub time: Vec<f64>,
    /// False for relations that are not affine.
    pub is_affine: Vec<bool>,
}

/// The terms (row of the state, a_i) of an affine relation, and b.
pub type AffineTerms = (Vec<(u32, f64)>, f64);

impl AffineRows {
    /// Creates the rows from a list with the terms and b of each relation, or `None` for a relation that is not affine.
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

    /// Terms and b of a relation; `None` if it is not affine.
    #[inline]
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
pub struct RowBound {
    /// Row of the unknown.
    pub row: u32,
    /// The bound, which is finite or never reached.
    pub value: f64,
    /// True for an upper bound, false for a lower bound.
    pub upper: bool,
}

impl RowBound {
    /// Distance of a value beyond the bound; not positive inside.
    pub fn beyond(&self, y: f64) -> f64 {
        if self.upper { y - self.value } else { self.value - y }
    }
}

/// Unknowns that are derivatives of other unknowns with respect to parameters, and that therefore change at an instant
/// by their own formula (`derived.rs`). Relations and events read only the other unknowns.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// Rows of the unknowns that are not derivatives.
    pub states: Vec<u32>,
    /// Rows of their derivatives, for the first parameter, then for the next.
    pub rows: Vec<u32>,
    /// Positions of the discretes that have derivatives. To other discretes, an event must not write values that
    /// depend on a parameter.
    pub discretes: Vec<u32>,
    /// Positions of their derivatives, in the order of `rows`.
    pub positions: Vec<u32>,
    /// True for relations across which y' is continuous and that trigger no event; empty if there are none.
    pub bends: Vec<bool>,
}

impl Derived {
    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.rows.len() / self.states.len().max(1)
    }

    /// Rows of the derivatives with respect to a parameter.
    pub fn of(&self, parameter: usize) -> &[u32] {
        &self.rows[parameter * self.states.len()..][..self.states.len()]
    }
}

/// Derivatives with respect to parameters of what determines an instant and of what its events write. The derivatives
/// of the state are in `y`.
pub trait EventDerivatives {
    /// Computes d(left - right)/dp of every relation at a fixed time: the direct effect of the parameter, and its
    /// effect through the derivatives of the state.
    ///
    /// # Errors
    /// The sides have no value there.
    fn sides_by(&self, parameter: usize, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError>;
    /// Computes the derivatives of [`HybridEvents::values`] with respect to a parameter. `time` is the derivative of
    /// the time of the instant.
    ///
    /// # Errors
    /// The values do not exist there.
    fn values_by(
        &self,
        event: usize,
        parameter: usize,
        t: f64,
        y: &[f64],
        time: f64,
        out: &mut [f64],
    ) -> Result<(), EvalError>;
    /// The derivative of [`HybridEvents::delay`] with respect to a parameter, with the arguments of
    /// [`EventDerivatives::values_by`].
    fn delay_by(&self, event: usize, parameter: usize, t: f64, y: &[f64], time: f64) -> f64;
    /// The derivative of time number `number` of a list with respect to a parameter.
    fn time_by(&self, list: usize, number: u64, parameter: usize) -> f64;
}

/// Bounds of left - right of a relation over a box, and of the sizes of both sides together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosure {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The largest |left| + |right|.
    pub size: f64,
}

impl Enclosure {
    /// Nothing is known.
    pub const UNKNOWN: Enclosure = Enclosure { low: f64::NEG_INFINITY, high: f64::INFINITY, size: f64::INFINITY };
}

/// A system with relations and events. Between two instants, modes and discretes are constant and f is smooth. Only
/// the driver writes modes and discretes, and it then calls [`HybridSystem::refresh`]; the modes that depend on time
/// alone follow from [`HybridTimes::at_stops`] and [`HybridTimes::at_time`], which it calls too.
///
/// The mode of a relation has the same index as the relation. Modes beyond the last relation depend on time alone
/// ([`HybridTimes::at_stops`]). A slice of states has n values; a slice of relations has one value for each of
/// [`HybridRelations::relations`].
pub trait HybridSystem: HybridRelations + HybridEvents + HybridTimes {
    /// The right-hand side with the current modes and discretes.
    fn system(&self) -> &dyn System;
    /// The modes: 1 if a relation holds, 0 if it does not.
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
    /// Updates everything that depends on modes or discretes, after they have changed.
    fn refresh(&mut self) {}
    /// The unknowns that are derivatives with respect to parameters, and what their jumps at events need.
    fn derived(&self) -> Option<(&Derived, &dyn EventDerivatives)> {
        None
    }
    /// Bounds of unknowns, for a run. The system evaluates a state beyond its bound as if it were on the bound.
    fn bounds(&self) -> &[RowBound] {
        &[]
    }
}

/// The relations of a [`HybridSystem`]. A slice of relations has one value for each of [`HybridRelations::relations`].
pub trait HybridRelations {
    /// The relations.
    fn relations(&self) -> &[Relation] {
        &[]
    }
    /// Computes both sides of every relation at a point. A system with relations has its own.
    ///
    /// # Errors
    /// The sides have no value there.
    fn sides(&self, _t: f64, _y: &[f64], left: &mut [f64], _right: &mut [f64]) -> Result<(), EvalError> {
        if left.is_empty() { Ok(()) } else { Err(EvalError::Fatal) }
    }
    /// Computes the rate of left - right of every relation if t changes at rate 1 and y at rate `w`. The default is a
    /// difference quotient, which allocates memory.
    ///
    /// # Errors
    /// The sides have no value there.
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
    /// The rows of the states that the sides of a relation may read, in ascending order; `None` if they are not known,
    /// or many.
    fn states_read(&self, _relation: usize) -> Option<&[u32]> {
        None
    }
    /// The affine relations.
    fn affine(&self) -> Option<&AffineRows> {
        None
    }
    /// Bounds left - right of every relation for the times of a span and the states of a box, in the present modes. The
    /// bounds are infinite where none are known. False if the system knows no bounds at all.
    fn enclose(&self, _t: (f64, f64), _y: (&[f64], &[f64]), _enclosures: &mut [Enclosure]) -> bool {
        false
    }
    /// False if nothing reads a relation in the current modes; then no step lands on it.
    fn is_read(&self, _relation: usize) -> bool {
        true
    }
    /// True of relations that are free; empty if none is. No step ends on the surface of a free relation. Wherever the
    /// system evaluates anything, it compares the sides of a free relation at that point, so f is what the text of the
    /// model says.
    fn free(&self) -> &[bool] {
        &[]
    }
    /// True if [`HybridRelations::set_free`] may free a relation: no event depends on its mode.
    fn may_be_free(&self, _relation: usize) -> bool {
        false
    }
    /// Frees these relations, and no others. False if the system does not support it.
    fn set_free(&mut self, _free: &[bool]) -> bool {
        false
    }
    /// Computes the modes of the free relations at a point by comparison; the other modes stay unset.
    fn free_modes(&self, _t: f64, _y: &[f64], _modes: &mut [f64]) {}
}

/// The events of a [`HybridSystem`].
pub trait HybridEvents {
    /// The events.
    fn events(&self) -> &[Event] {
        &[]
    }
    /// Computes the conditions of all events from modes and discretes. Those of events with another trigger are not
    /// used. A system with events that have a condition has its own.
    fn conditions(&self, _t: f64, _y: &[f64], _conditions: &mut [bool]) {}
    /// Computes the values that an event writes, in the order of [`Event::writes`]. A system with such events has its
    /// own.
    ///
    /// # Errors
    /// The values do not exist there.
    fn values(&self, _event: usize, _t: f64, _y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        if values.is_empty() { Ok(()) } else { Err(EvalError::Fatal) }
    }
    /// Time from the trigger of an event to its execution.
    fn delay(&self, _event: usize, _t: f64, _y: &[f64]) -> f64 {
        0.0
    }
    /// Among the events that are due at one instant, those with the highest priority form a round.
    fn priority(&self, _event: usize, _t: f64, _y: &[f64]) -> f64 {
        0.0
    }
}

/// The times of a [`HybridSystem`] that are known before a step is taken.
pub trait HybridTimes {
    /// True if f, and everything that events read, is continuous at the times of a list, and only derivatives of f
    /// jump there, as at the knots of a piecewise linear forcing. The run continues without a restart there.
    fn is_kink(&self, _list: usize) -> bool {
        false
    }
    /// Number of lists of times. Every time is the end of a step.
    fn lists(&self) -> usize {
        0
    }
    /// The times of a list. They may depend on discretes.
    fn times(&self, _list: usize) -> Times<'_> {
        Times::List(&[])
    }
    /// True if no list changes during a run.
    fn are_times_fixed(&self) -> bool {
        false
    }
    /// A number that changes whenever lists change; `None` if this is not known.
    fn listing(&self) -> Option<u64> {
        None
    }
    /// An event whose times have become invalid because discretes have changed, for example because a period is not
    /// positive.
    fn untimed(&self) -> Option<usize> {
        None
    }
    /// Sets the modes that depend only on time, from the number of times of each list that have passed.
    fn at_stops(&mut self, _passed: &[u64]) {}
    /// Sets these modes for exactly a time at which one may change: a strict comparison of the time with itself is
    /// false.
    fn at_time(&mut self, _t: f64) {}
}

/// A system without relations and events.
pub struct Smooth<'a>(pub &'a dyn System);

impl HybridSystem for Smooth<'_> {
    fn system(&self) -> &dyn System {
        self.0
    }
}

impl HybridRelations for Smooth<'_> {}

impl HybridEvents for Smooth<'_> {}

impl HybridTimes for Smooth<'_> {}
