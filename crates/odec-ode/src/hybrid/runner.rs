//! A hybrid run: steps of a method between instants.
//!
//! ```text
//! step     at most to the next stop; if a relation changes within it, it is repeated so that it ends on the surface
//! rows     of the accepted step
//! instant  at a stop or on a surface: modes, rounds of events (`rounds.rs`)
//! ```
//!
//! Modes and discretes are constant during a step. An instant at which nothing changes leaves the run as it was.

mod amplified;
mod bounds;
mod departure;
mod doubtful;
mod edges;
mod flight;
mod free;
mod landing;
mod last;
mod left_limit;
mod negligible;
mod poles;
mod resumable;
mod roots;
mod rows_at;
mod steps;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use amplified::Approach;
use bounds::Bounds;
pub use bounds::Pushes;
use doubtful::DoubtfulCrossings;
use edges::Edge;
use free::FreeRelations;
use left_limit::LeftLimit;
use negligible::Neglected;
use rows_at::rows_at;
use steps::Arrival;

use crate::checks::{bad, in_order};
use crate::control::Tolerances;
use crate::hybrid::accumulation::{Limits, Pending};
use crate::hybrid::chatter::Chatter;
use crate::hybrid::complete;
use crate::hybrid::derived::InstantDerivatives;
use crate::hybrid::locate::Locator;
use crate::hybrid::modes::{Landed, Modes, Place};
use crate::hybrid::outcome::{
    Counts, End, Executed, HybridCause, HybridError, HybridFailure, HybridOutcome, Observer, Point,
};
use crate::hybrid::rounds::{InstantOutcome, InstantStart, Rounds};
use crate::hybrid::stops::{Stops, known};
use crate::hybrid::system::HybridSystem;
use crate::method::Method;
use crate::problem::{Options, Problem, Samples, SolveError, Stop};
use crate::row_times::RowTimes;
use crate::runner::{Reached, Runner, StepRequest};

/// Shortest step to a surface, in units of time resolution.
const SHORTEST: f64 = 4.0;
/// Growth factor of the short constant steps beyond a surface, until they reach their full length.
const GROWING: f64 = 2.0;

/// A method prepared for runs of one hybrid system; see [`Runner`].
pub struct HybridRunner {
    runner: Runner,
    tolerances: Tolerances,
    locator: Locator,
    modes: Modes,
    rounds: Rounds,
    stops: Stops,
    chatter: Chatter,
    derived: InstantDerivatives,
    limits: Limits,
    /// Until this time, the tolerances are a fraction of those requested (`flight.rs`).
    tight: Option<f64>,
    /// True if absolute tolerances are lower than those requested (`roots.rs`).
    lowered: bool,
    /// The last time at which each relation was on its surface.
    met: Vec<f64>,
    /// Number of successive steps that did not reach a surface to which their dense output led.
    crawling: u32,
    on_edge: Edge,
    /// Number of times that the run was moved on from there.
    pushed: u32,
    doubtful: DoubtfulCrossings,
    neglected: Neglected,
    free: FreeRelations,
    /// The motion before the last landing (`amplified.rs`).
    approach: Approach,
    /// Length of the next of the short constant steps beyond a surface, and of the next step to a root (`roots.rs`).
    growing: Option<f64>,
    root_step: Option<f64>,
    /// Time of the last instant, and the number of departures from roots since then.
    departures: (f64, u32),
    /// Relations whose surfaces are reached at once; the way to the surface of one.
    together: Vec<usize>,
    to_surface: Vec<f64>,
    /// True if the method controls its errors.
    adaptive: bool,
    /// Distance in time from the landing to its surface, along the last measured motion.
    shift: Option<f64>,
    bounds: Bounds,
    /// State at the start of the step.
    start: Vec<f64>,
    /// State, at an instant.
    y: Vec<f64>,
    row: Vec<f64>,
    /// Weights of the states, such as a multiple of their tolerances.
    weights: Vec<f64>,
    before: LeftLimit,
    counts: Counts,
    span: (f64, f64),
    /// True if the next step is the first one after a change.
    fresh: bool,
    /// The next time that is known in advance.
    stop: Option<f64>,
    /// The instant at the end of the last step, in a run that its host advances.
    arrival: Option<Arrival>,
    /// End of the last step, once it is executed.
    finished: Option<f64>,
    /// The time that the host has requested.
    requested: Option<f64>,
}

/// A step whose result must still be examined.
struct Attempted {
    /// Time at which it began.
    from: f64,
    request: StepRequest,
    reached: Result<Reached, SolveError>,
    /// True if f had no value in one of the attempts, or if the step approaches a root.
    failed: bool,
    /// True if no relation changes in the step.
    keeps_modes: bool,
}

type Flow = ControlFlow<()>;

impl HybridRunner {
    /// Prepares runs of a method on a hybrid system with these options.
    ///
    /// # Errors
    /// A system, method or options that the run does not support; a system that lacks what its events need.
    pub fn new(model: &dyn HybridSystem, method: &'static Method, options: &Options) -> Result<Self, HybridError> {
        let mut runner = Runner::new(model.system(), method, options)?;
        let n = model.system().shape().n;
        complete::check(model)?;
        if !is_smooth(model) {
            runner.allow_retreat();
            runner.watch();
        }
        let tolerances = Tolerances::new(options, n);
        Ok(HybridRunner {
            runner,
            locator: Locator::new(model, tolerances.clone()),
            tolerances,
            modes: Modes::new(model, options)?,
            rounds: Rounds::new(model),
            stops: Stops::default(),
            chatter: Chatter::default(),
            derived: InstantDerivatives::new(model),
            limits: Limits::default(),
            tight: None,
            lowered: false,
            met: vec![f64::NEG_INFINITY; model.relations().len()],
            crawling: 0,
            on_edge: Edge::None,
            pushed: 0,
            doubtful: DoubtfulCrossings::default(),
            neglected: Neglected::default(),
            free: FreeRelations::new(method, options),
            approach: Approach::default(),
            growing: None,
            root_step: None,
            departures: (f64::NAN, 0),
            together: Vec::new(),
            to_surface: Vec::new(),
            adaptive: !options.fixed,
            shift: None,
            bounds: Bounds::default(),
            start: vec![0.0; n],
            y: vec![0.0; n],
            row: vec![0.0; n],
            weights: vec![0.0; n],
            before: LeftLimit::default(),
            counts: Counts::default(),
            span: (0.0, 0.0),
            fresh: true,
            stop: None,
            arrival: None,
            finished: None,
            requested: None,
        })
    }

    /// Executes a run of the model for which this runner was made. Modes and conditions are determined again.
    ///
    /// # Errors
    /// A problem that the method does not support; a step, event or mode that fails. Rows written before stay valid.
    pub fn run(
        &mut self,
        model: &mut dyn HybridSystem,
        problem: &Problem,
        samples: &Samples,
        observer: &mut dyn Observer,
    ) -> Result<HybridOutcome, HybridError> {
        in_order(problem, samples)?;
        let mut wanted = RowTimes::new(samples, problem);
        let end = self.begin(model, problem, &mut wanted, observer)?;
        let end = match end {
            Some(end) => end,
            None => self.steps(model, &mut wanted, observer)?,
        };
        let stop = if end == End::Interrupted { Stop::Interrupted } else { Stop::End };
        let mut outcome = self.runner.outcome(stop);
        outcome.stats.rhs += self.modes.evaluations();
        let pushes = std::mem::take(&mut self.bounds.pushes);
        Ok(HybridOutcome {
            end,
            outcome,
            instants: self.counts.instants,
            landings: self.counts.landings,
            amplified: self.counts.amplified,
            executed: self.counts.executed,
            held: self.rounds.held().to_vec(),
            pushes,
            doubtful: self.doubtful_crossing(model, end),
        })
    }

    /// The runner of the method.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// The end of the run. A run without an end counts as twice as long as it is at `t`, and reaches at least the time
    /// that the host has requested.
    fn supposed_end(&self, t: f64) -> f64 {
        let known = Some(self.span.1).filter(|end| end.is_finite());
        known.unwrap_or_else(|| self.requested.unwrap_or(t).max(2.0 * t - self.span.0))
    }

    /// Forgets the last run.
    fn reset(&mut self, model: &mut dyn HybridSystem, problem: &Problem) -> Result<(), HybridError> {
        if problem.t_end < problem.t0 && !is_smooth(model) {
            return Err(bad("a run with events, switches or bounds must go forward in time".to_string()).into());
        }
        if problem.y0.len() != self.y.len() {
            return Err(bad(format!("{} initial values for {} unknowns", problem.y0.len(), self.y.len())).into());
        }
        self.counts = Counts::default();
        self.span = (problem.t0, problem.t_end);
        self.locate_all(model);
        self.chatter = Chatter::default();
        self.limits.clear();
        (self.crawling, self.growing, self.root_step) = (0, None, None);
        (self.arrival, self.finished, self.requested) = (None, None, None);
        self.doubtful = DoubtfulCrossings::default();
        self.neglected = Neglected::default();
        self.met.fill(f64::NEG_INFINITY);
        self.relax();
        self.restore_tolerances();
        Ok(())
    }

    /// Starts a run. The start is an instant.
    fn begin(
        &mut self,
        model: &mut dyn HybridSystem,
        problem: &Problem,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<End>, HybridError> {
        self.reset(model, problem)?;
        self.y.copy_from_slice(&problem.y0);
        let smooth = is_smooth(model);
        self.bounds.begin(model);
        if self.bounds.are_outside(&self.y) {
            return Err(bad("an initial value is beyond its bound".to_string()).into());
        }
        if !smooth {
            known(model, problem, self.runner.budget()).map_err(|cause| self.failure(cause, problem.t0))?;
            self.stops.begin(model, problem.t_end, problem.t0);
            let compared = self.modes.compare(model, problem.t0, &self.y);
            compared.map_err(|cause| self.failure(cause, problem.t0))?;
            // the conditions before the start follow from comparisons, even for modes that depend only on time
            model.at_time(problem.t0);
            model.refresh();
            self.rounds.begin(model, problem.t0, &self.y);
            self.stops.settle(model);
            model.refresh();
        }
        if let Err(error) = self.runner.begin(model.system(), problem) {
            self.begin_later(model, problem, error)?;
        }
        if wanted.are_steps() && observer.row(point(model, problem.t0, &self.y)).is_break() {
            return Ok(Some(End::Interrupted));
        }
        if smooth {
            return Ok(rows_at(point(model, problem.t0, &self.y), wanted, observer)
                .is_break()
                .then_some(End::Interrupted));
        }
        self.renew(model, problem.t0);
        let scale = problem.t_end - problem.t0;
        self.instant(model, &InstantStart::Run, scale, wanted, observer)
    }

    /// Executes the instant at the current time. Returns the reason if it ends the run.
    fn instant(
        &mut self,
        model: &mut dyn HybridSystem,
        begins: &InstantStart,
        scale: f64,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<End>, HybridError> {
        let t = self.runner.time();
        self.departures = (t, 0);
        self.before.take(model, &self.y);
        let at = (t, scale);
        self.record_approach(model, begins, at);
        self.derive_before(model, begins, at).map_err(|cause| self.failure(cause, t))?;
        self.modes.stopped = self.before.modes != model.modes();
        if self.modes.stopped {
            model.refresh();
        }
        let mut happened = self.rounds(model, begins, at)?;
        let kinks = self.stops.are_kinks(model);
        self.stops.pass();
        self.modes.leave(model);
        happened.changed |= self.before.modes != model.modes();
        if !happened.changed {
            self.y.copy_from_slice(&self.before.y);
        } else if !self.derived.are_none() {
            let made = self.derived.arrive(model, &mut self.modes, &self.locator, (t, &mut self.y, scale));
            made.map_err(|cause| self.failure(cause, t))?;
        }
        if happened.changed {
            self.check_written(t)?;
        }
        self.record_doubtful_landing(model, t);
        if !self.rounds.executed.is_empty() && happened.ends.is_none() && happened.limits.is_empty() {
            let (at, parts) = (Place { t, y: &self.y, scale }, (&mut self.modes, &self.locator));
            let returns = self.rounds.returns(model, parts, at);
            returns.map_err(|cause| self.failure(cause, t))?;
        }
        let executed = std::mem::take(&mut self.rounds.executed);
        if !executed.is_empty() {
            observer.instant(self.before.point(t), point(model, t, &self.y), &executed);
            self.counts.executed += executed.len() as u64;
        }
        let relations = model.relations().len();
        let moved = self.before.y != self.y || self.before.modes[..relations] != model.modes()[..relations];
        if kinks && !moved && executed.is_empty() {
            self.counts.instants += u64::from(happened.changed);
            self.runner.kink(model.system())?;
            self.renew(model, t);
            happened.changed = false;
        }
        // a step onto a surface may be too short to continue from
        let landed = matches!(begins, InstantStart::Time(Some(_)));
        if happened.changed || landed {
            self.counts.instants += u64::from(happened.changed);
            self.count_landing(model, t, happened.changed && landed);
            (self.fresh, self.on_edge) = (true, if landed { Edge::Surface } else { Edge::Stop(t) });
            let crossed = self.cross_surface(model, t)?;
            if let Err(error) = self.runner.resume(model.system(), &self.y) {
                self.begin_freely(model, t, error)?;
            }
            self.runner.shorten_for_pulse(model.system(), kind_of(&model.modes()[..relations], &executed));
            for (event, limit) in happened.limits.drain(..) {
                self.limits.add(Pending { event, limit, relations: self.modes.met_here.clone() });
            }
            self.renew(model, t);
            if crossed {
                self.begin_past_surface(t);
            }
            self.resolve(model, t, scale);
            let changes = Changes { before: &self.before.modes, modes: model.modes(), executed: &executed };
            if let Err(cause) = self.chatter.note(t, self.span, &changes) {
                self.free_after_chatter(model, cause, t)?;
            }
            if wanted.are_steps() && observer.row(point(model, t, &self.y)).is_break() {
                return Ok(Some(End::Interrupted));
            }
        }
        self.rounds.executed = executed;
        let mut end = happened.ends.map(End::Event);
        let rows = wanted.next;
        let mut stopped = rows_at(point(model, t, &self.y), wanted, observer).is_break();
        if end.is_some() && !wanted.are_steps() && wanted.next == rows && !stopped {
            // a run that an event ends has its last row there
            stopped = observer.row(point(model, t, &self.y)).is_break();
        }
        if stopped {
            end = Some(End::Interrupted);
        }
        Ok(end)
    }

    /// Decides modes and executes events at an instant.
    fn rounds(
        &mut self,
        model: &mut dyn HybridSystem,
        begins: &InstantStart,
        (t, scale): (f64, f64),
    ) -> Result<InstantOutcome, HybridError> {
        let parts = (&mut self.modes, &self.locator, &mut self.stops, &mut self.derived);
        let happened = self.rounds.instant(model, parts, (t, &mut self.y, scale), begins);
        let Err(cause) = happened else { return happened.map_err(|cause| self.failure(cause, t)) };
        self.free_at_instant(model, cause, t)?;
        let parts = (&mut self.modes, &self.locator, &mut self.stops, &mut self.derived);
        let happened = self.rounds.instant(model, parts, (t, &mut self.y, scale), begins);
        happened.map(|happened| InstantOutcome { changed: true, ..happened }).map_err(|cause| self.failure(cause, t))
    }

    /// Prepares the derivatives with respect to parameters before an instant, and counts the stops that are due.
    fn derive_before(
        &mut self,
        model: &mut dyn HybridSystem,
        begins: &InstantStart,
        (t, scale): (f64, f64),
    ) -> Result<(), HybridCause> {
        if matches!(begins, InstantStart::Run) {
            return self.derived.start(model, &self.stops, (t, &self.y));
        }
        let at = Place { t, y: &self.y, scale };
        self.derived.leave(model, &mut self.modes, &self.locator, at)?;
        if let (InstantStart::Time(Some(Landed { relation, .. })), false) = (begins, self.derived.are_none()) {
            let weight = |i: usize| self.tolerances.scale(i, self.y[i].abs());
            let tolerance = self.locator.gradient(model, (t, &self.y), *relation, weight);
            self.derived.crosses(model, &mut self.modes, &self.locator, (*relation, tolerance), at)?;
        }
        self.stops.reach(model, t);
        if self.derived.are_none() {
            return Ok(());
        }
        self.derived.at_stops(model, &self.stops)?;
        for (event, times) in self.rounds.awaited(t) {
            self.derived.at_queued(event, times)?;
        }
        if let InstantStart::Time(Some(landed)) = begins {
            self.derived.on_surface(landed.relation)?;
        }
        self.derived.carry(&mut self.y);
        Ok(())
    }

    /// Passes the current state, modes and discretes to the locator.
    fn renew(&mut self, model: &dyn HybridSystem, t: f64) {
        let Modes { left, right, offsets, .. } = &self.modes;
        let sign = |relation| match model.modes()[relation] {
            _ if !model.is_read(relation) || self.limits.cover(relation) => 0.0,
            0.0 => -1.0,
            _ => 1.0,
        };
        self.locator.renew((t, &self.y), (left, right), offsets, sign);
    }

    fn failure(&self, cause: HybridCause, t: f64) -> HybridError {
        let (y, stats) = (self.y.clone(), *self.runner.stats());
        let history = self.runner.integrator.method_history();
        HybridError::Hybrid(Box::new(HybridFailure { cause, t, y, stats, history }))
    }
}

/// Changes at an instant.
pub(super) struct Changes<'a> {
    pub before: &'a [f64],
    pub modes: &'a [f64],
    pub executed: &'a [Executed],
}

fn point<'a>(model: &'a dyn HybridSystem, t: f64, y: &'a [f64]) -> Point<'a> {
    Point { t, wanted: t, y, discretes: model.discretes(), modes: model.modes(), free: model.free() }
}

/// True for a model without relations, events, stops and bounds; [`Runner`] alone can run it.
fn is_smooth(model: &dyn HybridSystem) -> bool {
    model.bounds().is_empty() && model.relations().is_empty() && model.events().is_empty() && model.lists() == 0
}

/// A number for an instant that executed these events, and after which the relations have these modes.
fn kind_of(modes: &[f64], executed: &[Executed]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for mode in modes {
        mode.to_bits().hash(&mut hasher);
    }
    for Executed { event, .. } in executed {
        event.hash(&mut hasher);
    }
    hasher.finish()
}
