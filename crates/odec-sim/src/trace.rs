//! Curves of a run at the resolution of a picture: additional points between the ends of steps where the curve bends,
//! from the dense output of the method. Memory does not grow with the number of steps.
//!
//! Every step is evaluated at three times inside it, so that no detail of a step is lost. Then intervals are halved
//! until the curve deviates from the line through its points by at most a part of a pixel; second differences estimate
//! the deviation. The scale is that of the values so far: it only gets coarser, so a straight line stays straight.
//!
//! The states are smooth inside a step, but an output can vary faster: `sin(400*t)`, or a pulse. Bounds of the outputs
//! over parts of a step show where one may leave the range of its points (`search`).

mod evaluable;
mod pen;
mod search;

use std::ops::{ControlFlow, Range};

use odec_ode::Runner;
use odec_ode::hybrid::{self, AcceptedStep, Observer};
use odec_ode::problem::{Outcome, Samples, SolveError, Stop};
use odec_ode::runner::{Reached, StepRequest};

use crate::bind::Bound;
use crate::columns::Column;
use crate::hybrid::Located;
use crate::hybrid::drive::{Driver, Hybrid};
use crate::monitor::Monitor;
use crate::reference::Row;
use crate::sample::{CoupledRates, Observations};
use evaluable::{EvaluableStep, SmoothStep, Switched};
use pen::{Pen, Ruler, bulge};
use search::Search;

pub use crate::outline::PixelPoint;

/// Distance in pixels between a curve and the line through its points below which no more points are added.
const STRAIGHT: f64 = 0.08;
/// Positions of the test points inside every step.
const PROBES: [f64; 3] = [0.25, 0.5, 0.75];
/// Largest number of times that an interval is halved: a curve that fills the picture is straight long before.
const HALVINGS: usize = 12;
/// The same at the edge of a region without values.
const HALVINGS_AT_EDGE: usize = 5;
/// Largest number of points in one step.
const MOST_IN_STEP: usize = 1 << 14;
/// Number of points above which a curve is thinned.
const MANY: usize = 1 << 17;
/// Distance in pixels by which thinning may move a curve.
const THINNED: f64 = 0.06;

/// The axis of a quantity.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Its length in pixels.
    pub pixels: f64,
    /// True for a logarithmic axis.
    pub log: bool,
    /// Ends that are known beforehand; `None` for the range of the values.
    pub ends: Option<Range<f64>>,
}

/// The quantities on the axes.
#[derive(Clone, Debug)]
pub struct AxisQuantities {
    /// Columns of the rows: horizontal and vertical.
    pub columns: (usize, usize),
    /// Their axes.
    pub scales: (Scale, Scale),
}

/// Rows at given times.
#[derive(Clone, Debug)]
pub struct TimedRows {
    /// Columns of the rows.
    pub columns: Vec<usize>,
    /// Times, in the order of the run.
    pub times: Vec<f64>,
    /// If the rows stand for intervals of time, such as the cells of a map, the ends of these: one more than rows. If an
    /// event occurs in an interval, its row has the state after the event, which would be lost otherwise.
    pub edges: Vec<f64>,
}

/// The data that a picture requests from a run.
pub struct Request<'a> {
    /// Curves.
    pub curves: &'a [AxisQuantities],
    /// Rows.
    pub grids: &'a [TimedRows],
}

/// The result, which is valid for any end of the run.
pub struct Traced {
    /// The points of each curve, in the order of the run. Points that are not finite interrupt it.
    pub curves: Vec<Vec<PixelPoint>>,
    /// For each curve, true if it varies so fast that its points may miss extrema.
    pub too_fast: Vec<bool>,
    /// For each curve, true if an output has no bounds somewhere, as at a pole.
    pub unbounded: Vec<bool>,
    /// The rows of each grid. A run that ended before the first of them has a row at its end.
    pub rows: Vec<Vec<Row>>,
    /// The time that the run reached.
    pub reached: f64,
    /// How the run ended.
    pub result: Result<Outcome, SolveError>,
    /// The observations of the run.
    pub seen: Observations,
}

/// Runs the model and follows the curves. `stop` ends the run.
pub fn trace(bound: &Bound, request: &Request<'_>, stop: &dyn Fn() -> bool) -> Traced {
    let mut tracer = match Tracer::new(bound, request) {
        Ok(tracer) => tracer,
        Err(why) => {
            let (curves, rows) = (vec![vec![]; request.curves.len()], vec![vec![]; request.grids.len()]);
            let (too_fast, unbounded) = (vec![false; curves.len()], vec![false; curves.len()]);
            return Traced {
                curves,
                too_fast,
                unbounded,
                rows,
                reached: bound.problem.t0,
                result: Err(why),
                seen: Observations::of(bound),
            };
        }
    };
    let problem = &bound.problem;
    let mut view = None;
    let result = match Driver::new(bound) {
        Ok(Driver::Smooth(mut runner)) => tracer.run(&mut runner, stop),
        Ok(Driver::Hybrid(hybrid)) => {
            let mut hybrid = *hybrid;
            let result = tracer.run_located(&mut hybrid, stop);
            view = Some(hybrid.view);
            result
        }
        Err(why) => Err(why),
    };
    let (reached, y) = match &result {
        Ok(outcome) => (outcome.t, &outcome.y),
        Err(SolveError::Failed(failure)) => (failure.t, &failure.y),
        Err(SolveError::Refused(_)) => (problem.t0, &problem.y0),
    };
    tracer.y.copy_from_slice(y);
    let executor = view.as_ref().map_or(&bound.executor, Located::executor);
    for k in 0..tracer.rows.len() {
        if tracer.rows[k].is_empty() {
            tracer.row(&mut SmoothStep { executor, runner: None }, k, reached);
        }
    }
    let curves = tracer.pens.into_iter().map(|pen| pen.points).collect();
    let end = result.as_ref().ok().filter(|outcome| outcome.stop == Stop::End);
    let findings = tracer.monitor.finish(end.map(|outcome| (outcome.t, outcome.y.as_slice())));
    let (too_fast, unbounded) = (tracer.search.too_fast(), tracer.search.unbounded());
    let seen = Observations { findings, ..tracer.seen };
    Traced { curves, too_fast, unbounded, rows: tracer.rows, reached, result, seen }
}

/// The first sample of a run after its start, where logarithmic time axes begin.
pub fn first_sample(bound: &Bound) -> Option<f64> {
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    (0..).map_while(|k| bound.samples.time(k, t0, t_end)).find(|t| *t != t0)
}

/// Points inside a step, in the order of the run.
#[derive(Default)]
struct Points {
    times: Vec<f64>,
    /// The quantities of each point, one after another.
    values: Vec<f64>,
}

/// Watches a run with modes.
struct Watch<'t, 'a> {
    tracer: &'t mut Tracer<'a>,
    view: &'t mut Located,
    /// The last point; `None` before the first step, whose modes are the initial ones.
    before: Option<(f64, Vec<f64>)>,
    stop: &'t dyn Fn() -> bool,
}

impl Observer for Watch<'_, '_> {
    fn row(&mut self, _: hybrid::Point<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn instant(&mut self, before: hybrid::Point<'_>, after: hybrid::Point<'_>, executed: &[hybrid::Executed]) {
        self.view.show(after.modes, after.discretes);
        self.view.show_free(after.free, after.t, after.y);
        self.tracer.monitor.instant(before, after, executed);
        for executed in executed {
            self.tracer.monitor.executed(executed.event);
        }
        let step = &mut SmoothStep { executor: self.view.executor(), runner: None };
        if self.before.is_none() {
            self.tracer.start(step);
        }
        self.before = Some(self.tracer.jump(step, after.t, after.y));
    }

    fn examines_steps(&self) -> bool {
        true
    }

    fn made(&mut self, made: &mut AcceptedStep<'_>) -> ControlFlow<()> {
        self.view.show(made.modes(), made.discretes());
        self.view.show_free(made.free(), made.time(), made.state());
        let mut end = made.end();
        self.tracer.monitor.step(&mut end);
        self.tracer.monitor.drawn(end.t, end.state());
        let now = made.time();
        let step = &mut Switched { made, view: self.view };
        let before = match self.before.take() {
            Some(before) => before,
            None => self.tracer.start(step),
        };
        self.tracer.rows_until(step, now);
        self.before = Some(self.tracer.step(step, before, now));
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct Tracer<'a> {
    bound: &'a Bound,
    request: &'a Request<'a>,
    rates: CoupledRates<'a>,
    /// The quantities of the curves.
    quantities: Vec<Column>,
    pens: Vec<Pen>,
    search: Search,
    /// For each grid, its columns, the number of its next row, and its rows.
    grids: Vec<Vec<Column>>,
    next: Vec<usize>,
    rows: Vec<Vec<Row>>,
    /// For each grid, the number and the values of a row that an event has set before its time.
    set: Vec<Option<(usize, Vec<f64>)>>,
    /// With a logarithmic time axis: the first time drawn.
    log_from: Option<f64>,
    outputs: Vec<f64>,
    y: Vec<f64>,
    seen: Observations,
    monitor: Monitor,
}

impl<'a> Tracer<'a> {
    fn new(bound: &'a Bound, request: &'a Request<'a>) -> Result<Tracer<'a>, SolveError> {
        let executor = &bound.executor;
        let rates = CoupledRates::of(bound)?;
        let mut quantities: Vec<Column> = vec![];
        let mut place = |k: usize| {
            let column = bound.columns.at(k).unwrap_or(Column::Time);
            quantities.iter().position(|q| *q == column).unwrap_or_else(|| {
                quantities.push(column);
                quantities.len() - 1
            })
        };
        let pens = request.curves.iter().map(|wanted| Pen {
            at: (place(wanted.columns.0), place(wanted.columns.1)),
            x: Ruler::new(&wanted.scales.0),
            y: Ruler::new(&wanted.scales.1),
            over_time: wanted.columns.0 == 0,
            points: vec![],
            many: MANY,
            thinned: THINNED,
        });
        let pens: Vec<Pen> = pens.collect();
        let log = |wanted: &&AxisQuantities| wanted.columns.0 == 0 && wanted.scales.0.log;
        let log_from = request.curves.iter().find(log).and_then(|w| w.scales.0.ends.as_ref()).map(|ends| ends.start);
        let columns = |grid: &TimedRows| grid.columns.iter().filter_map(|&k| bound.columns.at(k)).collect();
        let grids: Vec<Vec<Column>> = request.grids.iter().map(columns).collect();
        let (next, rows, set) = (vec![0; grids.len()], vec![vec![]; grids.len()], vec![None; grids.len()]);
        let outputs = vec![0.0; executor.layout().outputs_len()];
        let y = vec![0.0; executor.layout().n];
        let (seen, monitor) = (Observations::of(bound), Monitor::new(bound));
        let search = Search::of(&pens, &quantities, executor);
        let tracer = Tracer {
            bound,
            request,
            rates,
            quantities,
            pens,
            search,
            grids,
            next,
            rows,
            set,
            log_from,
            outputs,
            y,
            seen,
            monitor,
        };
        Ok(tracer)
    }

    fn run(&mut self, runner: &mut Runner, stop: &dyn Fn() -> bool) -> Result<Outcome, SolveError> {
        let (executor, problem) = (&self.bound.executor, &self.bound.problem);
        runner.begin(executor, problem)?;
        let mut before = self.start(&mut SmoothStep { executor, runner: None });
        loop {
            // values inside the step will be requested
            let inside = if problem.t_end > problem.t0 { before.0.next_up() } else { before.0.next_down() };
            let reached = runner.advance(executor, StepRequest { stop: None, sample: Some(inside) })?;
            let now = runner.time();
            let mut end = runner.step_end();
            self.monitor.step(&mut end);
            self.monitor.drawn(end.t, end.state());
            let step = &mut SmoothStep { executor, runner: Some(runner) };
            self.rows_until(step, now);
            before = self.step(step, before, now);
            if stop() {
                return Ok(runner.outcome(Stop::Interrupted));
            }
            if reached == Reached::End {
                return Ok(runner.outcome(Stop::End));
            }
        }
    }

    /// Runs a model with modes.
    fn run_located(&mut self, hybrid: &mut Hybrid, stop: &dyn Fn() -> bool) -> Result<Outcome, SolveError> {
        let bound = self.bound;
        hybrid.begin(bound)?;
        let Hybrid { runner, model, view } = hybrid;
        let mut watch = Watch { tracer: self, view, before: None, stop };
        let made = runner.run(model, &bound.problem, &Samples::Times(vec![]), &mut watch);
        made.map_err(SolveError::from).and_then(crate::sample::outcome)
    }

    /// Records the first point.
    fn start(&mut self, step: &mut dyn EvaluableStep) -> (f64, Vec<f64>) {
        let problem = &self.bound.problem;
        self.y.copy_from_slice(&problem.y0);
        for k in 0..self.grids.len() {
            while self.request.grids[k].times.get(self.next[k]).is_some_and(|t| *t == problem.t0) {
                self.row(step, k, problem.t0);
            }
        }
        let first = self.values(step, problem.t0);
        self.draw(&first);
        (problem.t0, first)
    }

    /// Records the state after an event: rows at its time contain it, and curves continue from it.
    fn jump(&mut self, step: &mut dyn EvaluableStep, t: f64, y: &[f64]) -> (f64, Vec<f64>) {
        self.y.copy_from_slice(y);
        for k in 0..self.grids.len() {
            if self.rows[k].pop_if(|row| row.0 == t).is_some() {
                self.next[k] -= 1;
                self.row(step, k, t);
            }
            self.set_row(step, k, t);
        }
        let values = self.values(step, t);
        self.draw(&values);
        (t, values)
    }

    /// The row of the interval with an event contains the current state.
    fn set_row(&mut self, step: &mut dyn EvaluableStep, k: usize, t: f64) {
        let TimedRows { times, edges, .. } = &self.request.grids[k];
        let forward = self.bound.problem.t_end > self.bound.problem.t0;
        let Some(number) = edges.partition_point(|edge| *edge == t || (*edge < t) == forward).checked_sub(1) else {
            return;
        };
        if number >= times.len() {
            return;
        }
        self.observe(step, t);
        let values: Vec<f64> = self.grids[k].iter().map(|column| self.value(*column, t)).collect();
        match self.rows[k].get_mut(number) {
            Some(row) => row.1 = values,
            None => self.set[k] = Some((number, values)),
        }
    }

    /// The rows up to the end of the last step.
    fn rows_until(&mut self, step: &mut dyn EvaluableStep, now: f64) {
        let request = self.request;
        let forward = self.bound.problem.t_end > self.bound.problem.t0;
        for (k, grid) in request.grids.iter().enumerate() {
            while let Some(&t) = grid.times.get(self.next[k]).filter(|t| **t == now || (**t < now) == forward) {
                step.state(t, &mut self.y);
                self.row(step, k, t);
            }
        }
    }

    /// Records the current state as a row of a grid.
    fn row(&mut self, step: &mut dyn EvaluableStep, k: usize, t: f64) {
        self.observe(step, t);
        let own = self.set[k].take_if(|set| set.0 <= self.next[k]).filter(|set| set.0 == self.next[k]);
        let values = match own {
            Some((_, values)) => values,
            None => self.grids[k].iter().map(|column| self.value(*column, t)).collect(),
        };
        self.rows[k].push((t, values));
        self.next[k] += 1;
    }

    /// Computes outputs at the current state.
    fn observe(&mut self, step: &mut dyn EvaluableStep, t: f64) {
        if !self.outputs.is_empty() {
            let rates = self.rates.for_executor(step.executor(), t, &self.y);
            step.executor().outputs(t, &self.y, rates, &mut self.outputs);
            self.seen.watch(self.bound, t, &self.y, &self.outputs);
        }
    }

    fn value(&self, column: Column, t: f64) -> f64 {
        match column {
            Column::Time => t,
            Column::State(place) => self.y[place],
            Column::Output(place) => self.outputs[place],
        }
    }

    /// The quantities at the current state.
    fn values(&mut self, step: &mut dyn EvaluableStep, t: f64) -> Vec<f64> {
        self.observe(step, t);
        self.quantities.iter().map(|column| self.value(*column, t)).collect()
    }

    fn draw(&mut self, values: &[f64]) {
        for pen in &mut self.pens {
            let p = pen.point(values);
            pen.x.see(p.0);
            pen.y.see(p.1);
            pen.push(p);
        }
    }

    /// Follows the curves over the last step, starting from the previous point.
    fn step(&mut self, step: &mut dyn EvaluableStep, before: (f64, Vec<f64>), now: f64) -> (f64, Vec<f64>) {
        if self.pens.is_empty() {
            return (now, before.1);
        }
        let mut start = before.0;
        let mut points = Points { times: vec![start], values: before.1 };
        if let Some(from) = self.log_from.filter(|from| start < *from) {
            // the left end of a logarithmic axis
            if now < from {
                return (now, points.values);
            }
            step.state(from, &mut self.y);
            points = Points { times: vec![from], values: self.values(step, from) };
            start = from;
            self.draw(&points.values);
            if start == now {
                return (now, points.values);
            }
        }
        let width = self.quantities.len();
        // the rows of such a run are the ends of its steps, with nothing between them
        let joined = self.bound.options.fixed && matches!(self.bound.samples, Samples::Steps);
        for s in PROBES.iter().filter(|_| !joined) {
            self.add(step, &mut points, self.between(start, now, *s));
        }
        self.add(step, &mut points, now);
        for row in points.values.chunks_exact(width) {
            for pen in &mut self.pens {
                let p = pen.point(row);
                pen.x.see(p.0);
                pen.y.see(p.1);
            }
        }
        if !joined {
            self.search(step, &mut points);
        }
        for level in 0..if joined { 0 } else { HALVINGS } {
            let bent = self.bent(&points, level);
            if points.times.len() > MOST_IN_STEP || !bent.contains(&true) {
                break;
            }
            points = self.halved(step, &points, &bent);
        }
        let last = points.values.len() - width;
        for row in points.values[width..].chunks_exact(width) {
            for pen in &mut self.pens {
                pen.push(pen.point(row));
            }
        }
        (now, points.values[last..].to_vec())
    }

    /// A time between two times: evenly spaced on the time axis.
    fn between(&self, a: f64, b: f64, s: f64) -> f64 {
        let t = match self.log_from {
            Some(_) if a > 0.0 && b > 0.0 => a * (b / a).powf(s),
            _ => a + s * (b - a),
        };
        if (t - a) * (b - t) >= 0.0 { t } else { a }
    }

    fn add(&mut self, step: &mut dyn EvaluableStep, points: &mut Points, t: f64) {
        step.state(t, &mut self.y);
        points.times.push(t);
        let values = self.values(step, t);
        points.values.extend(values);
    }

    /// Marks the intervals in which some curve is not straight.
    fn bent(&self, points: &Points, level: usize) -> Vec<bool> {
        let (n, width) = (points.times.len(), self.quantities.len());
        let mut bent = vec![false; n.saturating_sub(1)];
        let finite = |p: PixelPoint| p.0.is_finite() && p.1.is_finite();
        // in the coordinate of the time axis, where midpoints are evenly spaced
        let even = |t: &f64| if self.log_from.is_some() && *t > 0.0 { t.ln() } else { *t };
        let times: Vec<f64> = points.times.iter().map(even).collect();
        for pen in &self.pens {
            let places: Vec<PixelPoint> =
                points.values.chunks_exact(width).map(|row| pen.place(pen.point(row))).collect();
            for k in 1..n.saturating_sub(1) {
                let [a, p, b] = [places[k - 1], places[k], places[k + 1]];
                match [a, p, b].map(finite) {
                    [true, true, true] => {
                        let (before, after) = (times[k] - times[k - 1], times[k + 1] - times[k]);
                        let second =
                            |a: f64, p: f64, b: f64| 2.0 * ((b - p) / after - (p - a) / before) / (before + after);
                        let curved = (second(a.0, p.0, b.0), second(a.1, p.1, b.1));
                        bent[k - 1] |= bulge(curved, before, a, p) > STRAIGHT;
                        bent[k] |= bulge(curved, after, p, b) > STRAIGHT;
                    }
                    [false, false, false] => {}
                    _ if level < HALVINGS_AT_EDGE => (bent[k - 1], bent[k]) = (true, true),
                    _ => {}
                }
            }
        }
        bent
    }

    /// The points, with midpoints inserted in these intervals.
    fn halved(&mut self, step: &mut dyn EvaluableStep, points: &Points, bent: &[bool]) -> Points {
        let width = self.quantities.len();
        let mut finer = Points::default();
        for (k, &t) in points.times.iter().enumerate() {
            finer.times.push(t);
            finer.values.extend(&points.values[k * width..(k + 1) * width]);
            let Some(&next) = points.times.get(k + 1).filter(|_| bent[k]) else { continue };
            let middle = self.between(t, next, 0.5);
            if middle == t || middle == next {
                continue;
            }
            self.add(step, &mut finer, middle);
            let row = &finer.values[finer.values.len() - width..];
            for pen in &mut self.pens {
                let p = (row[pen.at.0], row[pen.at.1]);
                pen.x.see(p.0);
                pen.y.see(p.1);
            }
        }
        finer
    }
}
