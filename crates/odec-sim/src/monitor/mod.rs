//! Monitors the steps and rows of a run for results that are finite but wrong: growth where the model decays, steps
//! limited by stability, states below their tolerance, rows that miss extrema of the steps. It does not evaluate the
//! model, so that runs do not become slower. After the run, [`report`] examines the findings; it may compute
//! eigenvalues.

pub mod amplified;
mod constant;
mod delays;
mod digits;
pub mod dips;
pub mod discretes;
mod divisors;
mod folds;
pub mod mode;
mod poles;
pub mod report;
mod rows;
mod small;
mod track;
mod unbounded;

pub use delays::Piece;
pub use poles::Crossing;
pub use track::Track;

use odec_ode::StepEnd;
use odec_ode::hybrid::{Doubtful, Executed, Point};
use odec_ode::method::auto::{self, stiffness_limits};
use odec_ode::method::{Adaptive, Stability};

use crate::bind::{Bound, RowSpacing};
use crate::columns::Column;

use dips::{Dip, Dips};
use discretes::DiscreteHistory;
use folds::Folds;
use poles::Poles;

/// Largest number of states whose course is followed; of more columns, every second, third, ... one is followed.
pub const MAX_FOLLOWED: usize = 128;
/// All steps are examined up to this number; such a short run takes less time than its compilation.
const DENSE_STEPS: u64 = 1024;
/// After them, the first steps of each period are examined, this many.
const WINDOW: u64 = 32;
/// See [`WINDOW`]; a multiple of [`SURVEY_INTERVAL`].
const PERIOD: u64 = 1024;
/// Later, one step in this number is examined: an extremum that a method resolves takes more steps. A divisor of
/// [`SURVEY_INTERVAL`].
const LATER_INTERVAL: u64 = 16;
/// Like [`LATER_INTERVAL`], for states that have been too small so far, to avoid false warnings. A divisor of
/// [`LATER_INTERVAL`].
const SMALL_STATE_INTERVAL: u64 = 4;
/// Steps between two surveys of all states; at the start, surveys occur at steps 1, 2, 4, ..., because growth by an
/// unstable step can be over in a dozen steps.
const SURVEY_INTERVAL: u64 = 64;
/// Steps between two tests of the stiffness of a step; a multiple of [`SURVEY_INTERVAL`].
const STIFFNESS_INTERVAL: u64 = 128;
/// Growth of the largest state above which a constant step of a method with a bounded stability region is doubtful.
const DOUBTFUL_GROWTH: f64 = 1e6;
/// Growth that causes a warning for all methods: no natural quantity spans so many orders of magnitude.
const IMPLAUSIBLE_GROWTH: f64 = 1e30;
/// Growth from which on the start of growth is recorded; below it, the calm state is updated.
const BEGUN_GROWTH: f64 = 1e3;
/// See [`BEGUN_GROWTH`].
const NO_GROWTH: f64 = 10.0;
/// Number of steps limited by stability before a warning: an implicit method would need fewer in total.
const STEPS_AT_LIMIT: u64 = 2000;
/// This many consecutive ones mark the beginning.
const FIRST_STEPS_AT_LIMIT: u64 = 2 * STIFFNESS_INTERVAL;

/// Largest number of stored constant steps, and of step sizes.
const MAX_STORED: usize = 8;

/// A state during the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// When.
    pub t: f64,
    /// The n values of the state.
    pub y: Vec<f64>,
}

/// Growth of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Moment at which the growth was too large.
    pub at: Moment,
    /// Index in y of the largest state there.
    pub place: usize,
    /// When it began, and the largest state then.
    pub since: (f64, f64),
    /// True for growth beyond all plausible sizes, which is not only doubtful for a constant step.
    pub implausible: bool,
}

/// Steps whose size stability limits.
#[derive(Clone, Debug, PartialEq)]
pub struct StabilityHold {
    /// When that began.
    pub since: f64,
    /// Last moment at which this was seen.
    pub at: Moment,
    /// Length of the steps there.
    pub h: f64,
    /// Number of these steps, as far as they were counted.
    pub count: u64,
}

impl StabilityHold {
    /// True if an implicit method would need fewer steps in total.
    pub fn many(&self) -> bool {
        self.count >= STEPS_AT_LIMIT
    }
}

/// A constant step.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its start.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
}

/// The findings during a run.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// State before any growth.
    pub before_growth: Moment,
    /// Growth that makes a constant step doubtful, and growth beyond all plausible sizes.
    pub grown: Vec<Growth>,
    /// Moment at which a state alternated from step to step.
    pub alternating: Option<Moment>,
    /// Steps whose size stability limits.
    pub held: Option<StabilityHold>,
    /// Steps of a method that does not report its stiffness, with their mean length, at steps whose numbers double
    /// each time.
    pub paced: Vec<StabilityHold>,
    /// Constant steps that begin at the last of the steps 1, 2, 3, 4, 6, 8, 12, ...
    pub pairs: Vec<Pair>,
    /// Largest size of each state seen.
    pub largest: Vec<f64>,
    /// Course of some states.
    pub tracks: Vec<Track>,
    /// States that were below their absolute tolerance and have grown again.
    pub dips: Vec<Dip>,
    /// Pieces of the run during which states were below their absolute tolerance.
    pub pieces: Vec<Piece>,
    /// Stored rows, ends of steps and stretches.
    pub stored_run: amplified::StoredRun,
    /// Constant steps in which an algebraic unknown changed most, each by more than the previous one.
    pub jumps: Vec<Pair>,
    /// The discretes along the run.
    pub discretes: DiscreteHistory,
    /// Some instants at which events were executed.
    pub stored_instants: amplified::StoredInstants,
    /// Number of times at which events were executed.
    pub instants: u64,
    /// Divisors that changed their sign between steps.
    pub crossings: Vec<Crossing>,
    /// Rows.
    pub rows: u64,
    /// Steps, to about `SURVEY_INTERVAL`.
    pub steps: u64,
    /// True if the run reached its end.
    pub ended: bool,
    /// True if an implicit or Rosenbrock method made an examined step.
    pub implicit: bool,
    /// The first comparison that errors decide.
    pub doubtful: Option<Doubtful>,
    /// A comparison in the condition of an event that did not occur, which values below their tolerance decide.
    pub undecided: Option<usize>,
    /// Instants whose times follow from states.
    pub landings: u64,
    /// Those at which errors within the tolerance become visible errors, among the first few.
    pub amplified: u64,
}

/// Monitor of one run.
pub struct Monitor {
    /// Steps until the next examination, and since the last one.
    until: u64,
    stride: u64,
    surveyed: u64,
    /// Number of steps and time at the last stiffness test.
    tested: (u64, f64),
    /// True if the course of states is followed.
    follows: bool,
    /// Steps are constant.
    fixed: bool,
    /// True if steps are constant and the method is unstable for large steps.
    doubtful: bool,
    /// State at the start of a constant step to store.
    opened: Option<Moment>,
    /// Indices of states that have been too small so far, and the size that ends this.
    small_states: Vec<(usize, f64)>,
    /// States that are below their absolute tolerance, and those that have exceeded it again.
    dips: Dips,
    /// The end of the last examined step, and room for a state; empty unless steps end at switches.
    middle: (f64, Vec<f64>),
    /// The algebraic unknowns of constant steps.
    folds: Folds,
    /// The divisors of the equations.
    poles: Poles,
    /// Value of h times spectral radius above which stability limits the steps.
    stiff_above: Option<f64>,
    /// The largest state of the first steps.
    scale: f64,
    /// Growth to detect, and the time at which it began.
    limit: f64,
    begun: Option<(f64, f64)>,
    /// The events so far.
    happened: amplified::Happened,
    findings: Findings,
}

impl Monitor {
    /// Creates the monitor for a run of a bound model.
    pub fn new(bound: &Bound) -> Monitor {
        let (options, method) = (&bound.options, bound.choice.method);
        let limited = method.stability == Stability::Bounded;
        let doubtful = options.fixed && limited;
        let adaptive = !options.fixed && limited && method.adaptive != Adaptive::FixedStep;
        let n = bound.executor.layout().n;
        let follows = options.fixed
            || match bound.spread {
                RowSpacing::Even(count) => count >= rows::MIN_ROWS,
                RowSpacing::Logarithmic => true,
                RowSpacing::Other => false,
            };
        let tracks = if follows { followed(bound) } else { vec![] };
        let (t0, y0) = (bound.problem.t0, &bound.problem.y0);
        let mut monitor = Monitor {
            until: 1,
            stride: 1,
            surveyed: 0,
            tested: (0, t0),
            follows: follows && !tracks.is_empty(),
            fixed: options.fixed,
            doubtful,
            opened: None,
            small_states: if options.fixed { vec![] } else { small_states(bound) },
            dips: Dips::new(bound),
            middle: (t0, if bound.located.is_some() { y0.clone() } else { vec![] }),
            folds: Folds::new(bound),
            poles: Poles::new(bound),
            stiff_above: stiffness_limits(method, options.rtol, n).filter(|_| adaptive).map(|limits| limits.0),
            scale: 0.0,
            limit: f64::INFINITY,
            begun: None,
            happened: amplified::Happened::default(),
            findings: Findings {
                before_growth: Moment { t: t0, y: y0.clone() },
                largest: vec![0.0; n],
                stored_run: amplified::stored_run(bound),
                tracks,
                ..Findings::default()
            },
        };
        monitor.measure(y0);
        for track in &mut monitor.findings.tracks {
            track.start(t0, y0);
        }
        monitor
    }

    /// Examines an accepted step; true if a finding should be reported at once.
    #[inline]
    pub fn step(&mut self, end: &mut StepEnd<'_>) -> bool {
        self.until -= 1;
        self.until == 0 && self.observe(end)
    }

    /// A row.
    #[inline]
    pub fn row(&mut self, t: f64, y: &[f64]) {
        self.findings.rows += 1;
        self.findings.stored_run.row(t, y, self.happened, self.findings.discretes.count());
        if !self.small_states.is_empty() {
            self.follow_small_states(y);
        }
        if self.follows {
            let first = self.findings.steps == 0;
            for track in &mut self.findings.tracks {
                if first {
                    track.event_at_start(t, y);
                }
                track.row(y);
            }
        }
    }

    /// The end of a step, if the run has no rows but is drawn.
    pub fn drawn(&mut self, t: f64, y: &[f64]) {
        self.findings.stored_run.row(t, y, self.happened, self.findings.discretes.count());
    }

    /// The state and the discretes after events.
    pub fn instant(&mut self, before: Point<'_>, after: Point<'_>, events: &[Executed]) {
        let Point { t, y, discretes, .. } = after;
        self.findings.instants += 1;
        if self.findings.stored_run.watched() {
            self.findings.stored_instants.add(before, events);
        }
        self.findings.discretes.add(t, discretes);
        self.findings.stored_run.changed();
        // a step that follows does not begin where the last one ended
        self.opened = None;
        self.folds.restart(t, y);
        if self.follows {
            for track in &mut self.findings.tracks {
                track.jump(t, y, self.stride == 1);
            }
        }
    }

    /// An event that was executed, by its index.
    pub fn executed(&mut self, event: usize) {
        self.happened.add(event);
        self.poles.restart();
        self.dips.executed();
    }

    /// Findings so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The findings; `last` is the state at the end of a run that reached its end.
    pub fn finish(mut self, last: Option<(f64, &[f64])>) -> Findings {
        if let Some((_, y)) = last {
            self.measure(y);
            self.findings.ended = true;
        }
        if let Some((t, y)) = last.filter(|_| !self.poles.none()) {
            self.poles.observe_end(t, y);
        }
        self.findings.crossings = self.poles.kept();
        (self.findings.dips, self.findings.pieces) = self.dips.finish(last);
        self.findings.jumps = self.folds.kept().to_vec();
        self.findings
    }

    fn observe(&mut self, end: &mut StepEnd<'_>) -> bool {
        let t = end.t;
        let steps = self.findings.steps + self.stride;
        self.findings.steps = steps;
        let mut found = false;
        let method = end.last_method();
        self.findings.implicit |= method.structure.jacobian && method.name != auto::METHOD.name;
        let soon = self.findings.stored_run.step(steps, t, end.state());
        if !self.small_states.is_empty() {
            self.follow_small_states(end.state());
        }
        if !self.folds.none() {
            self.folds.observe(t, end.state());
        }
        if !self.poles.none() {
            self.poles.observe(t, end.state());
        }
        if !self.dips.none() {
            self.follow_inside(end);
            self.dips.observe(t, end.state(), self.stride, method.order);
        }
        if self.follows && (self.stride == 1 || steps.is_multiple_of(LATER_INTERVAL)) {
            found = self.follow(t, end.state());
        }
        if self.fixed {
            self.pair(t, end.state(), steps);
        }
        if steps < SURVEY_INTERVAL && steps.is_power_of_two() || steps - self.surveyed >= SURVEY_INTERVAL {
            found |= self.survey(end, steps);
        }
        let small_states = self.dips.any() || (1..=MAX_FOLLOWED).contains(&self.small_states.len());
        let beyond = |each: u64| each - steps % each;
        self.stride = match steps {
            _ if !self.folds.none() => 1,
            _ if self.follows && (steps < DENSE_STEPS || steps % PERIOD < WINDOW) => 1,
            _ if steps < DENSE_STEPS && (small_states || !self.dips.none() || self.findings.stored_run.watched()) => 1,
            _ if small_states => beyond(SMALL_STATE_INTERVAL),
            _ if self.follows => beyond(LATER_INTERVAL),
            _ if steps < SURVEY_INTERVAL => steps,
            _ => beyond(SURVEY_INTERVAL),
        };
        self.stride = soon.map_or(self.stride, |soon| soon.min(self.stride));
        self.until = self.stride;
        found
    }

    /// Finds states that are below their tolerance at both ends of a step, and not inside it: a switch may be where they
    /// are 0.
    fn follow_inside(&mut self, end: &StepEnd<'_>) {
        let (start, middle) = &mut self.middle;
        if self.stride == 1 && !middle.is_empty() && self.dips.below() {
            end.interpolate(f64::midpoint(*start, end.t), middle);
            self.dips.passed(middle);
        }
        *start = end.t;
    }

    /// Examines the states that are followed; true if one starts to alternate from step to step.
    fn follow(&mut self, t: f64, y: &[f64]) -> bool {
        let joined = self.stride == 1;
        let mut alternates = false;
        if self.fixed && self.findings.alternating.is_none() {
            for track in &mut self.findings.tracks {
                alternates |= track.alternates(y, joined);
            }
        }
        for track in &mut self.findings.tracks {
            track.observe(t, y, joined);
        }
        if alternates {
            self.findings.alternating = Some(Moment { t, y: y.to_vec() });
        }
        alternates
    }

    /// Stores the constant steps that start at steps 1, 2, 3, 4, 6, 8, 12, ..., while all steps are examined.
    fn pair(&mut self, t: f64, y: &[f64], steps: u64) {
        if let Some(from) = self.opened.take().filter(|_| self.stride == 1) {
            let pairs = &mut self.findings.pairs;
            if pairs.len() == MAX_STORED {
                pairs.remove(0);
            }
            pairs.push(Pair { from, to: Moment { t, y: y.to_vec() } });
        }
        if steps.is_power_of_two() || steps.is_multiple_of(3) && (steps / 3).is_power_of_two() {
            self.opened = Some(Moment { t, y: y.to_vec() });
        }
    }

    /// Removes states that are large enough from the small ones.
    fn follow_small_states(&mut self, y: &[f64]) {
        let largest = &mut self.findings.largest;
        self.small_states.retain(|&(place, enough)| {
            let size = y[place].abs().max(largest[place]);
            largest[place] = size;
            size < enough
        });
    }

    /// Updates the sizes of all states; returns the largest size and its index.
    fn measure(&mut self, y: &[f64]) -> (f64, usize) {
        let (mut most, mut place) = (0.0, 0);
        for (i, (y, largest)) in y.iter().zip(&mut self.findings.largest).enumerate() {
            let size = y.abs();
            if size > *largest {
                *largest = size;
            }
            if size > most {
                (most, place) = (size, i);
            }
        }
        if self.findings.steps <= 1 || self.scale == 0.0 {
            self.scale = self.scale.max(most);
            self.limit = if self.doubtful { DOUBTFUL_GROWTH * self.scale } else { self.implausible() };
        }
        (most, place)
    }

    /// Growth to here is called out.
    fn implausible(&self) -> f64 {
        IMPLAUSIBLE_GROWTH * self.scale.max(1.0)
    }

    /// Examines all states, and the stiffness of the step.
    fn survey(&mut self, end: &mut StepEnd<'_>, steps: u64) -> bool {
        let t = end.t;
        let (most, place) = self.measure(end.state());
        if most <= NO_GROWTH * self.scale {
            self.findings.before_growth.t = t;
            self.findings.before_growth.y.copy_from_slice(end.state());
        }
        if most > BEGUN_GROWTH * self.scale && self.scale > 0.0 {
            self.begun.get_or_insert((t, most));
        }
        let mut found = false;
        if most > self.limit && self.limit > 0.0 {
            found = true;
            let since = self.begun.unwrap_or((t, most));
            let (at, implausible) = (Moment { t, y: end.state().to_vec() }, most > self.implausible());
            self.findings.grown.push(Growth { at, place, since, implausible });
            self.limit = if implausible { f64::INFINITY } else { self.implausible() };
        }
        self.surveyed = steps;
        if steps - self.tested.0 >= STIFFNESS_INTERVAL {
            found |= self.test(end, steps);
            self.tested = (steps, t);
        }
        found
    }

    /// Tests whether stability limits the steps, and counts them; true once they are many.
    fn test(&mut self, end: &mut StepEnd<'_>, steps: u64) -> bool {
        let held = self.findings.held.as_ref();
        let Some(limit) = self.stiff_above.filter(|_| !held.is_some_and(StabilityHold::many)) else { return false };
        let Some((stiffness, real)) = end.stiffness() else { return self.pace(end, steps) };
        let stiff = stiffness > limit && real < -0.5 * stiffness;
        if !stiff {
            // a piece as short as this may be stiff by chance
            if held.is_some_and(|held| held.count < FIRST_STEPS_AT_LIMIT) {
                self.findings.held = None;
            }
            return false;
        }
        let (before, since) = self.tested;
        let held = self.findings.held.get_or_insert_with(|| StabilityHold {
            since,
            at: Moment { t: end.t, y: end.state().to_vec() },
            h: 0.0,
            count: 0,
        });
        held.count += steps - before;
        held.h = (end.t - since) / (steps - before) as f64;
        held.at.t = end.t;
        held.at.y.copy_from_slice(end.state());
        held.many()
    }

    /// Keeps the mean length of the last steps of a method that does not estimate stiffness, after twice as many each time;
    /// true once they are many.
    fn pace(&mut self, end: &mut StepEnd<'_>, steps: u64) -> bool {
        let (before, since) = self.tested;
        let paced = &mut self.findings.paced;
        if paced.last().is_some_and(|last| steps < 2 * last.count) {
            return false;
        }
        if paced.len() == MAX_STORED {
            paced.remove(0);
        }
        let h = (end.t - since) / (steps - before) as f64;
        paced.push(StabilityHold { since, at: Moment { t: end.t, y: end.state().to_vec() }, h, count: steps });
        steps >= STEPS_AT_LIMIT
    }
}

/// States that start so small that a warning about them is possible.
fn small_states(bound: &Bound) -> Vec<(usize, f64)> {
    let y0 = bound.problem.y0.iter().enumerate();
    y0.map(|(place, y)| (place, y.abs(), report::FEW_DIGITS * bound.atol(place)))
        .filter_map(|(place, size, enough)| (size < enough).then_some((place, enough)))
        .collect()
}

/// Tracks of the recorded states, or of some of them; if a run records none, of the first states.
fn followed(bound: &Bound) -> Vec<Track> {
    let columns = &bound.columns;
    let every = columns.len().div_ceil(MAX_FOLLOWED).max(1);
    let states = (1..columns.len()).step_by(every).filter_map(|k| match columns.at(k) {
        Some(Column::State(place)) => Some(place),
        _ => None,
    });
    let track = |place| Track::new(place, [bound.options.rtol, bound.atol(place)]);
    let mut tracks: Vec<Track> = states.map(track).collect();
    if tracks.is_empty() && bound.options.fixed {
        let n = bound.executor.layout().n;
        tracks = (0..n).step_by(n.div_ceil(MAX_FOLLOWED).max(1)).map(track).collect();
    }
    tracks
}
