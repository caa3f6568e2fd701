//! A hybrid system from closures, and an observer that records its notifications.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

use odec_ode::hybrid::{
    AffineRows, Event, Executed, HybridError, HybridEvents, HybridOutcome, HybridRelations, HybridRunner, HybridSystem,
    HybridTimes, Observer, Point, Relation, Times,
};
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Method, Options, Problem, Samples};

/// Modes and discretes.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub modes: &'a [f64],
    pub discretes: &'a [f64],
}

impl Now<'_> {
    pub fn holds(&self, mode: usize) -> bool {
        self.modes[mode] != 0.0
    }
}

type Rhs = Box<dyn Fn(f64, &[f64], Now<'_>, &mut [f64])>;
type Sides = Box<dyn Fn(f64, &[f64], &[f64], &mut [f64], &mut [f64])>;
type Conditions = Box<dyn Fn(Now<'_>, &mut [bool])>;
type Values = Box<dyn Fn(usize, f64, &[f64], &[f64], &mut [f64])>;
type AtStops = Box<dyn Fn(&[u64], &mut [f64])>;

/// Evaluations of f: time, and the modes and discretes then.
pub type Log = Rc<RefCell<Vec<(f64, Vec<f64>)>>>;

/// System of a model: f reads modes and discretes.
pub struct Body {
    n: usize,
    rhs: Rhs,
    pub modes: Vec<f64>,
    pub discretes: Vec<f64>,
    pattern: Pattern,
    autonomous: bool,
    jacobian: Option<Rhs>,
    pub log: Option<Log>,
}

impl Body {
    fn now(&self) -> Now<'_> {
        Now { modes: &self.modes, discretes: &self.discretes }
    }
}

impl System for Body {
    fn shape(&self) -> Shape {
        Shape { n: self.n, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        if let Some(log) = &self.log {
            log.borrow_mut().push((t, [&self.modes[..], &self.discretes].concat()));
        }
        (self.rhs)(t, y, self.now(), f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        if let Some(jacobian) = &self.jacobian {
            jacobian(t, y, self.now(), values);
            return Ok(());
        }
        // central differences: exact to rounding if f is affine
        let n = self.n;
        let (mut near, mut above, mut below) = (y.to_vec(), vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            let apart = 1e-6 * y[j].abs().max(1e-3);
            near[j] = y[j] + apart;
            (self.rhs)(t, &near, self.now(), &mut above);
            let (high, mut low) = (near[j], y[j] - apart);
            near[j] = low;
            (self.rhs)(t, &near, self.now(), &mut below);
            low = high - low;
            near[j] = y[j];
            for i in 0..n {
                values[j * n + i] = (above[i] - below[i]) / low;
            }
        }
        Ok(())
    }
    fn autonomous(&self) -> bool {
        self.autonomous
    }
}

/// A hybrid system from closures.
pub struct Model {
    pub body: Body,
    relations: Vec<Relation>,
    pub events: Vec<Event>,
    sides: Sides,
    affine: Option<AffineRows>,
    /// The states that each relation reads; empty if they are not known.
    pub states_read: Vec<Vec<u32>>,
    conditions: Conditions,
    values: Values,
    /// Times of each list, or `[from, period, until]`.
    lists: Vec<(bool, Vec<f64>)>,
    at_stops: AtStops,
    pub delays: Vec<f64>,
    pub priorities: Vec<f64>,
    /// True if f is continuous at all times of the lists.
    pub kinks: bool,
    /// Evaluations of the sides.
    pub looks: Cell<u64>,
    /// Calls for the times of a list.
    pub asked: Cell<u64>,
}

impl Model {
    /// n unknowns and f, without relations and events.
    pub fn new(n: usize, rhs: impl Fn(f64, &[f64], Now<'_>, &mut [f64]) + 'static) -> Self {
        let positions = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        Model {
            body: Body {
                n,
                rhs: Box::new(rhs),
                modes: Vec::new(),
                discretes: Vec::new(),
                pattern: Pattern::from_positions(n, n, positions),
                autonomous: false,
                jacobian: None,
                log: None,
            },
            relations: Vec::new(),
            events: Vec::new(),
            sides: Box::new(|_, _, _, _, _| {}),
            affine: None,
            states_read: Vec::new(),
            conditions: Box::new(|_, _| {}),
            values: Box::new(|_, _, _, _, _| {}),
            lists: Vec::new(),
            at_stops: Box::new(|_, _| {}),
            delays: Vec::new(),
            priorities: Vec::new(),
            kinks: false,
            looks: Cell::new(0),
            asked: Cell::new(0),
        }
    }

    /// So many relations, and their sides from (t, y, discretes).
    pub fn relations(
        mut self,
        count: usize,
        sides: impl Fn(f64, &[f64], &[f64], &mut [f64], &mut [f64]) + 'static,
    ) -> Self {
        self.relations = vec![Relation::default(); count];
        self.body.modes.resize(count, 0.0);
        self.sides = Box::new(sides);
        self
    }

    /// Relations `y[row] > bound`, `false`: `y[row] < bound`.
    pub fn bounds(self, bounds: &[(usize, bool, f64)]) -> Self {
        let list = bounds.to_vec();
        let sign = |above: bool| if above { 1.0 } else { -1.0 };
        let rows: Vec<_> = list.iter().map(|(row, above, _)| Some((vec![(*row as u32, sign(*above))], 0.0))).collect();
        let mut model = self.relations(list.len(), move |_, y, _, left, right| {
            for (k, (row, above, bound)) in list.iter().enumerate() {
                (left[k], right[k]) = if *above { (y[*row], *bound) } else { (*bound, y[*row]) };
            }
        });
        model.affine = Some(AffineRows::of(&rows));
        model
    }

    /// Sets the rows of affine relations.
    pub fn with_rows(mut self, rows: AffineRows) -> Self {
        self.affine = Some(rows);
        self
    }

    /// Removes the rows of the relations.
    pub fn not_affine(mut self) -> Self {
        self.affine = None;
        self
    }

    /// Discretes with their start.
    pub fn discretes(mut self, discretes: &[f64]) -> Self {
        self.body.discretes = discretes.to_vec();
        self
    }

    /// Adds an event, whose values come from (t, y, discretes).
    pub fn event(mut self, event: Event, values: impl Fn(f64, &[f64], &[f64], &mut [f64]) + 'static) -> Self {
        let (number, before) = (self.events.len(), std::mem::replace(&mut self.values, Box::new(|_, _, _, _, _| {})));
        self.values =
            Box::new(
                move |event, t, y, discretes, out| {
                    if event == number { values(t, y, discretes, out) } else { before(event, t, y, discretes, out) }
                },
            );
        self.events.push(event);
        self
    }

    /// Sets the conditions of all events.
    pub fn conditions(mut self, conditions: impl Fn(Now<'_>, &mut [bool]) + 'static) -> Self {
        self.conditions = Box::new(conditions);
        self
    }

    /// A list of times.
    pub fn at(mut self, times: &[f64]) -> Self {
        self.lists.push((true, times.to_vec()));
        self
    }

    /// A periodic list.
    pub fn every(mut self, from: f64, period: f64, until: f64) -> Self {
        self.lists.push((false, vec![from, period, until]));
        self
    }

    /// Adds modes that depend only on time.
    pub fn timed(mut self, modes: usize, at_stops: impl Fn(&[u64], &mut [f64]) + 'static) -> Self {
        self.body.modes.resize(self.relations.len() + modes, 0.0);
        self.at_stops = Box::new(at_stops);
        self
    }

    /// Sets df/dy, column by column; otherwise it comes from differences.
    pub fn jacobian(mut self, jacobian: impl Fn(f64, &[f64], Now<'_>, &mut [f64]) + 'static) -> Self {
        self.body.jacobian = Some(Box::new(jacobian));
        self
    }

    /// f does not depend on t.
    pub fn autonomous(mut self) -> Self {
        self.body.autonomous = true;
        self
    }
}

impl HybridSystem for Model {
    fn system(&self) -> &dyn System {
        &self.body
    }

    fn modes(&self) -> &[f64] {
        &self.body.modes
    }

    fn modes_mut(&mut self) -> &mut [f64] {
        &mut self.body.modes
    }

    fn discretes(&self) -> &[f64] {
        &self.body.discretes
    }

    fn discretes_mut(&mut self) -> &mut [f64] {
        &mut self.body.discretes
    }
}

impl HybridRelations for Model {
    fn relations(&self) -> &[Relation] {
        &self.relations
    }

    fn sides(&self, t: f64, y: &[f64], left: &mut [f64], right: &mut [f64]) -> Result<(), EvalError> {
        self.looks.set(self.looks.get() + 1);
        (self.sides)(t, y, &self.body.discretes, left, right);
        Ok(())
    }

    fn affine(&self) -> Option<&AffineRows> {
        self.affine.as_ref()
    }

    fn states_read(&self, relation: usize) -> Option<&[u32]> {
        self.states_read.get(relation).map(|rows| &rows[..])
    }
}

impl HybridEvents for Model {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn conditions(&self, _: f64, _: &[f64], conditions: &mut [bool]) {
        (self.conditions)(self.body.now(), conditions);
    }

    fn values(&self, event: usize, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        (self.values)(event, t, y, &self.body.discretes, values);
        Ok(())
    }

    fn delay(&self, event: usize, _: f64, _: &[f64]) -> f64 {
        self.delays.get(event).copied().unwrap_or(0.0)
    }

    fn priority(&self, event: usize, _: f64, _: &[f64]) -> f64 {
        self.priorities.get(event).copied().unwrap_or(0.0)
    }
}

impl HybridTimes for Model {
    fn lists(&self) -> usize {
        self.lists.len()
    }

    fn times(&self, list: usize) -> Times<'_> {
        self.asked.set(self.asked.get() + 1);
        match &self.lists[list] {
            (true, times) => Times::List(times),
            (false, of) => Times::Every { from: of[0], period: of[1], until: of[2] },
        }
    }

    fn listing(&self) -> Option<u64> {
        Some(0)
    }

    fn is_kink(&self, _: usize) -> bool {
        self.kinks
    }

    fn at_stops(&mut self, passed: &[u64]) {
        let relations = self.relations.len();
        (self.at_stops)(passed, &mut self.body.modes[relations..]);
    }
}

/// An instant of the log: time, state before and after, (event, round).
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    pub t: f64,
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    pub events: Vec<(usize, u32)>,
}

/// Records rows, steps and instants.
#[derive(Default)]
pub struct Recorded {
    pub rows: Vec<(f64, Vec<f64>)>,
    pub steps: Vec<f64>,
    pub instants: Vec<Instant>,
}

impl Recorded {
    /// Times at which an event was executed.
    pub fn times(&self, event: usize) -> Vec<f64> {
        let all = self.instants.iter();
        all.filter(|instant| instant.events.iter().any(|(e, _)| *e == event)).map(|instant| instant.t).collect()
    }
}

impl Observer for Recorded {
    fn row(&mut self, point: Point<'_>) -> ControlFlow<()> {
        self.rows.push((point.t, point.y.to_vec()));
        ControlFlow::Continue(())
    }
    fn instant(&mut self, before: Point<'_>, after: Point<'_>, events: &[Executed]) {
        self.instants.push(Instant {
            t: before.t,
            before: before.y.to_vec(),
            after: after.y.to_vec(),
            events: events.iter().map(|executed| (executed.event, executed.round)).collect(),
        });
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.steps.push(t);
        ControlFlow::Continue(())
    }
}

/// Makes a run with the rows of all steps.
pub fn run(
    model: &mut Model,
    (t0, t_end): (f64, f64),
    y0: &[f64],
    method: &'static Method,
    options: &Options,
) -> Result<(HybridOutcome, Recorded), HybridError> {
    sampled(model, (t0, t_end), y0, method, options, &Samples::Steps)
}

/// A run.
pub fn sampled(
    model: &mut Model,
    (t0, t_end): (f64, f64),
    y0: &[f64],
    method: &'static Method,
    options: &Options,
    samples: &Samples,
) -> Result<(HybridOutcome, Recorded), HybridError> {
    let mut kept = Recorded::default();
    let problem = Problem { t0, t_end, y0: y0.to_vec() };
    let outcome = HybridRunner::new(model, method, options)?.run(model, &problem, samples, &mut kept)?;
    Ok((outcome, kept))
}

/// Every method that chooses its steps, `auto` included.
pub fn adaptive() -> Vec<&'static Method> {
    let auto = odec_ode::method::find("auto").unwrap();
    odec_ode::method::general().filter(|m| m.adaptive != odec_ode::method::Adaptive::FixedStep).chain([auto]).collect()
}
