//! States that fall below their absolute tolerance and emerge at the wrong time, or never: `x' = r(t)*x` with r < 0
//! and later r > 0. No error estimate sees a value below the tolerance. Steps become long; an implicit method damps a
//! mode that should grow; an explicit one adds errors as large as the tolerance, which grow too early. So the monitor
//! keeps some states of such a run, and at its end integrates the growth of small values along them (Neishtadt,
//! Differential Equations 23, 1987: the delayed loss of stability).

mod growth;

use odec_lang::diagnostic::{Diagnostic, codes};

use self::growth::{Place, Rate, driven, fed, integrated};
use super::report::{CheckedRun, OUTGROWN_TOLERANCES, tolerances_typed};
use super::{Moment, mode};
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::spectrum;
use crate::stability::C;

/// Largest number of stored states per piece of a run.
const MAX_MOMENTS: usize = 64;
/// The next state is stored after this fraction of the time since the first state fell below its tolerance.
const STORING_FRACTION: f64 = 1.0 / 32.0;
/// Largest distance, as a fraction of a piece, between places at which growth is computed.
const MAX_DISTANCE: f64 = 1.0 / 48.0;
/// Largest number of places between two stored states.
const MAX_PLACES_BETWEEN: f64 = 16.0;
/// Least number of examined steps below the tolerance; with fewer, a state only crosses 0.
const MIN_STEPS_BELOW: u64 = 4;
/// Size in tolerances below which a state counts as 0 for the other states.
const NEGLIGIBLE_SIZE: f64 = 100.0;
/// Largest number of operations for eigenvalues.
const MAX_OPERATIONS: f64 = 3e8;
/// Operations for all eigenvalues of a matrix, divided by the third power of its rows.
const OPERATIONS_PER_CUBE: f64 = 25.0;
/// Fraction of a distance between logarithms by which the result may change with half of the places.
const MAX_CHANGE_BY_PLACES: f64 = 0.25;
/// A state has surely grown if this multiple of the same change does not matter.
const CERTAINTY: f64 = 3.0;
/// Fraction of the growth out of the tolerance that the computed rate must explain.
const EXPLAINED_GROWTH: f64 = 0.2;
/// Smallest argument of the logarithm; smaller numbers have lost digits.
const SMALLEST_ARGUMENT: f64 = 1e-290;
/// Largest number of stays for which eigenvalues are computed.
const MAX_STAYS: usize = 4;
/// States that are named.
const MAX_NAMED: usize = 3;
/// A recommended tolerance is at most this fraction of the present one.
const FINER_TOLERANCE: f64 = 0.1;

/// A state that was below its absolute tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BelowTolerance {
    /// Place in y.
    pub place: usize,
    /// Time at which the state fell below its tolerance, and its largest size until then.
    pub from: (f64, f64),
    /// When it came above for the last time, and when it was so large that it mattered; infinite if it was not.
    pub to: (f64, f64),
    examined: u64,
}

/// Piece of a run during which states were below their tolerance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    stays: Vec<BelowTolerance>,
    /// States of the run meanwhile, fewer the longer it took.
    moments: Vec<Moment>,
    /// True if events happened meanwhile: they may set what drives a state.
    jumps: bool,
}

/// Position of a state relative to its tolerance.
#[derive(Clone, Copy, Debug)]
enum DelayLevel {
    /// The state started at 0 and has not exceeded its tolerance yet: other states feed it. The sign that they gave it.
    Start(f64),
    Above,
    BelowTolerance(BelowTolerance),
}

/// Monitor of all states of one run.
#[derive(Debug, Default)]
pub(super) struct DelayMonitor {
    /// Absolute tolerance and position of each state; empty if no state is monitored.
    states: Vec<(f64, DelayLevel)>,
    /// Stays that have not ended.
    open: usize,
    now: Piece,
    longest: Piece,
}

impl DelayMonitor {
    /// Creates a monitor for these absolute tolerances, which are 0 for states that are not monitored.
    pub(super) fn new(atol: &[f64], bound: &Bound) -> DelayMonitor {
        let at = |y: &f64| if *y == 0.0 { DelayLevel::Start(0.0) } else { DelayLevel::Above };
        let y0 = &bound.problem.y0;
        let states = atol.iter().zip(y0).map(|(atol, y)| (*atol, at(y))).collect();
        let mut watch = DelayMonitor { states, ..DelayMonitor::default() };
        watch.observe(bound.problem.t0, y0);
        // for a state that starts below its tolerance, the largest size is the initial one
        for (_, at) in &mut watch.states {
            if let DelayLevel::BelowTolerance(stay) = at {
                stay.from.1 = y0[stay.place].abs();
            }
        }
        watch
    }

    /// The end of a step.
    pub(super) fn observe(&mut self, t: f64, y: &[f64]) {
        let mut turn = false;
        for (place, ((atol, at), y)) in self.states.iter_mut().zip(y).enumerate() {
            let size = y.abs();
            match at {
                DelayLevel::Start(_) if size >= *atol => *at = DelayLevel::Above,
                DelayLevel::Start(sign) if *sign * y >= 0.0 => *sign = y.signum() * f64::from(u8::from(*y != 0.0)),
                DelayLevel::Start(_) | DelayLevel::Above if size < *atol => {
                    *at = DelayLevel::BelowTolerance(BelowTolerance {
                        place,
                        from: (t, *atol),
                        to: (f64::INFINITY, f64::INFINITY),
                        examined: 1,
                    });
                    (self.open, turn) = (self.open + 1, true);
                }
                DelayLevel::BelowTolerance(stay) => {
                    stay.examined += 1;
                    if size < *atol {
                        stay.to.0 = f64::INFINITY;
                        continue;
                    }
                    if stay.to.0.is_infinite() {
                        (stay.to.0, turn) = (t, true);
                    }
                    if size > OUTGROWN_TOLERANCES * *atol {
                        if stay.examined >= MIN_STEPS_BELOW {
                            self.now.stays.push(BelowTolerance { to: (stay.to.0, t), ..*stay });
                        }
                        *at = DelayLevel::Above;
                        self.open -= 1;
                    }
                }
                _ => {}
            }
        }
        if self.open > 0 || turn {
            self.now.observe(t, y, turn);
        }
        if self.open == 0 && !self.now.moments.is_empty() {
            let ended = std::mem::take(&mut self.now);
            if !ended.stays.is_empty() && ended.length() > self.longest.length() {
                self.longest = ended;
            }
        }
    }

    /// True if all states are above their tolerance, and have been since they were last below it.
    pub(super) fn is_quiet(&self) -> bool {
        self.states.iter().all(|(_, at)| matches!(at, DelayLevel::Above))
    }

    /// True if a state is below its tolerance.
    pub(super) fn below(&self) -> bool {
        self.open > 0
    }

    /// A state inside the last step: those that are large there were below their tolerance at its start alone.
    pub(super) fn passed(&mut self, y: &[f64]) {
        for (atol, at) in &mut self.states {
            if let DelayLevel::BelowTolerance(stay) = at
                && y[stay.place].abs() > OUTGROWN_TOLERANCES * *atol
            {
                stay.examined = 0;
            }
        }
    }

    /// An event was executed.
    pub(super) fn executed(&mut self) {
        self.now.jumps |= self.open > 0;
    }

    /// Longest piece, and the piece at the end of the run, with the last state if the run reached its end.
    pub(super) fn pieces(mut self, last: Option<(f64, &[f64])>) -> Vec<Piece> {
        let open = self
            .states
            .iter()
            .filter_map(|(_, at)| if let DelayLevel::BelowTolerance(stay) = at { Some(*stay) } else { None });
        self.now.stays.extend(open.filter(|stay| stay.examined >= MIN_STEPS_BELOW));
        if let Some((t, y)) = last
            && self.now.moments.last().is_some_and(|moment| moment.t != t)
        {
            self.now.moments.push(Moment { t, y: y.to_vec() });
        }
        let mut list = vec![self.longest, self.now];
        list.retain(|piece| !piece.stays.is_empty());
        list
    }
}

impl Piece {
    /// Stores a state; `turn` is true if a stay has just begun or ended.
    fn observe(&mut self, t: f64, y: &[f64], turn: bool) {
        let list = &mut self.moments;
        if let (Some(first), Some(last)) = (list.first(), list.last())
            && !turn
            && (t - last.t).abs() < STORING_FRACTION * (t - first.t).abs()
        {
            return;
        }
        if list.len() >= MAX_MOMENTS {
            let mut index = 0;
            list.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        list.push(Moment { t, y: y.to_vec() });
    }

    fn length(&self) -> f64 {
        match (self.moments.first(), self.moments.last()) {
            (Some(first), Some(last)) => (last.t - first.t).abs(),
            _ => 0.0,
        }
    }
}

/// The fault of a stay.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It is large by this time in truth, and not in the run.
    Missed(f64),
    /// It grew at this time in the run, and is smaller in truth.
    Early(f64),
}

/// Stay with a wrong result at its end.
struct WrongRegrowth {
    place: usize,
    from: f64,
    fault: Fault,
    /// The logarithm of the smallest size of the exact solution.
    low: f64,
    /// Moment of the largest growth, with the rate and the states of the loop.
    at: Moment,
    rate: f64,
    with: Vec<usize>,
}

/// Reports a state that should have grown again and did not, or that grew too early.
pub(super) fn found(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let mut list: Vec<WrongRegrowth> = vec![];
    for piece in &checked.findings.pieces {
        let Some(places) =
            places(checked, piece).into_iter().map(|at| Place::new(checked, at)).collect::<Option<Vec<Place>>>()
        else {
            continue;
        };
        let stays: Vec<(&BelowTolerance, Vec<&Place>)> =
            piece.stays.iter().map(|stay| (stay, during(checked, stay, &places))).collect();
        let follows = !piece.jumps;
        let doubtful = stays.iter().filter(|(stay, places)| doubtful(checked, stay, places, follows)).take(MAX_STAYS);
        list.extend(doubtful.filter_map(|(stay, places)| wrong(checked, stay, places, follows)));
    }
    // an estimate above the tolerance explains nothing
    list.retain(|wrong| wrong.low < checked.bound.atol(wrong.place).ln());
    let t0 = checked.bound.problem.t0;
    let time = |wrong: &WrongRegrowth| (wrong.from - t0).abs();
    let first = list.into_iter().min_by(|a, b| time(a).total_cmp(&time(b)))?;
    Some(diagnostic(checked, &first))
}

/// The warning.
fn diagnostic(checked: &CheckedRun<'_>, wrong: &WrongRegrowth) -> Diagnostic {
    let (bound, time) = (checked.bound, &checked.model.time.name);
    let name = bound.states.name(wrong.place);
    let (fault, rest) = match wrong.fault {
        Fault::Missed(due) => ("does not grow again", format!("although it should by {time} = {}", number(due))),
        Fault::Early(at) => ("grows again too early", format!("at {time} = {}", number(at))),
    };
    let headline = format!(
        "`{name}` falls below its absolute tolerance of {} at {time} = {}, and {fault}, {rest}",
        number(bound.atol(wrong.place)),
        number(wrong.from)
    );
    let mut d = Diagnostic::warning(&codes::W0606, headline);
    let says =
        format!("this makes it grow: a factor of e in {} at {time} = {}", number(1.0 / wrong.rate), number(wrong.at.t));
    // a state that others drive need not grow by itself
    let grows = Some(wrong).filter(|wrong| wrong.rate > 0.0);
    let labelled = grows.and_then(|wrong| mode::spectrum(checked, &wrong.at)).and_then(|spectrum| {
        let near = |l: &C| (l.re - wrong.rate).abs();
        let lambda = spectrum.values.iter().copied().min_by(|a, b| near(a).total_cmp(&near(b)))?;
        let mode = mode::mode(checked, &spectrum, lambda, C::from(1.0));
        Some(checked.blamed(d.clone(), &mode, &wrong.at, &says))
    });
    d = labelled.unwrap_or(d);
    if let Some(state) = declared(checked.model, &bound.states, wrong.place) {
        let size = match wrong.low {
            low if low < SMALLEST_ARGUMENT.ln() => format!("e^{}", number(low.round())),
            low => number(10f64.powf((low / std::f64::consts::LN_10).round())),
        };
        d = d.label(checked.model.states[state].span, format!("the exact solution falls to about {size}"));
    }
    if let Some(span) = bound.asked.atol {
        d = d.label(span, "");
    }
    if wrong.low < SMALLEST_ARGUMENT.ln() {
        return d.help(format!(
            "this is smaller than any floating-point number: write the model for the logarithm `z` of `{name}`, whose equation is `z' = {name}'/{name}`"
        ));
    }
    let tolerance = (wrong.low.exp() * bound.options.rtol).min(FINER_TOLERANCE * bound.atol(wrong.place));
    let mut names: Vec<&str> = vec![];
    for place in &wrong.with {
        if let Some((series, _)) = bound.states.at(*place)
            && !series.name.starts_with("d(")
            && !names.contains(&series.name.as_str())
        {
            names.push(series.name.as_str());
        }
    }
    let wanted: Vec<(&str, f64)> = names.iter().take(MAX_NAMED).map(|name| (*name, tolerance)).collect();
    d.help(format!(
        "its small values determine when it grows, but they are not accurate: {}",
        tolerances_typed(&wanted)
    ))
}

/// Places at which a state is small, from the first one on.
fn during<'a>(checked: &CheckedRun<'_>, stay: &BelowTolerance, places: &'a [Place]) -> Vec<&'a Place> {
    let sign = if checked.backwards() { -1.0 } else { 1.0 };
    let inside = |t: f64| sign * t >= sign * stay.from.0 && (stay.to.1.is_infinite() || sign * t <= sign * stay.to.1);
    places.iter().filter(|place| inside(place.at.t)).take_while(|place| place.small.contains(&stay.place)).collect()
}

/// True unless a state is small during the whole run.
fn matters(checked: &CheckedRun<'_>, stay: &BelowTolerance) -> bool {
    checked.findings.largest[stay.place] >= OUTGROWN_TOLERANCES * checked.bound.atol(stay.place)
}

/// Logarithm of the size at the start of a stay.
fn start(stay: &BelowTolerance) -> f64 {
    stay.from.1.max(SMALLEST_ARGUMENT).ln()
}

/// Logarithms of the tolerance of a state, and of its size where it is large.
fn limits(checked: &CheckedRun<'_>, stay: &BelowTolerance) -> (f64, f64) {
    let atol = checked.bound.atol(stay.place);
    (atol.ln(), (OUTGROWN_TOLERANCES * atol).ln())
}

/// True if a cheap test shows that a stay may be wrong: the exact state may have grown, within the bound of the
/// eigenvalues, or has grown in the run. `follows`: no event changed what drives it.
fn doubtful(checked: &CheckedRun<'_>, stay: &BelowTolerance, places: &[&Place], follows: bool) -> bool {
    let driven = |place: &&Place| follows && place.most > 0.0 && place.is_opposite(stay.place);
    if places.iter().any(driven) {
        return true;
    }
    if !matters(checked, stay) {
        return false;
    }
    let rates: Vec<f64> = places.iter().map(|place| place.most).collect();
    let grown = limits(checked, stay).1;
    stay.to.1.is_finite() || integrated(places, &rates, start(stay)).into_iter().any(|size| size >= grown)
}

/// Integrates the growth of a state during its stay; `None` if the result agrees with the run or is uncertain.
fn wrong(checked: &CheckedRun<'_>, stay: &BelowTolerance, places: &[&Place], follows: bool) -> Option<WrongRegrowth> {
    let rows = places.iter().filter_map(|place| place.loops(stay.place)).map(|rows| rows.len()).max()?;
    let every =
        (OPERATIONS_PER_CUBE * (rows as f64).powi(3) * places.len() as f64 / MAX_OPERATIONS).ceil().max(1.0) as usize;
    let last = places.len() - 1;
    let thin = |every: usize| (0..=last).filter(move |k| k % every == 0 || *k == last);
    let places: Vec<&Place> = thin(every).map(|k| places[k]).collect();
    let rates: Vec<Rate> = places.iter().map(|place| place.rate(stay.place)).collect::<Option<_>>()?;
    let values: Vec<f64> = rates.iter().map(|rate| rate.value).collect();
    let sizes = driven(&places, &rates);
    let emerges = |k: &usize| follows && sizes[*k] >= limits(checked, stay).1 && places[*k].is_opposite(stay.place);
    if let Some(due) = (0..sizes.len()).find(emerges) {
        let finite = sizes[1..=due].iter().filter(|size| size.is_finite());
        let low = finite.fold(f64::INFINITY, |low, size| low.min(*size));
        return wrong_regrowth(stay, &places, rates, Fault::Missed(places[due].at.t), due, low);
    }
    if !matters(checked, stay) {
        return None;
    }
    let sizes = integrated(&places, &values, start(stay));
    let (tolerance, grown) = limits(checked, stay);
    // the same integral with half of the places measures its accuracy
    let half = |until: usize| {
        let half: Vec<usize> = (0..=until).filter(|k| k % 2 == 0 || *k == until).collect();
        let places: Vec<&Place> = half.iter().map(|k| places[*k]).collect();
        let values: Vec<f64> = half.iter().map(|k| values[*k]).collect();
        integrated(&places, &values, start(stay))
    };
    let off = |until: usize| (half(until).pop().unwrap_or(f64::NAN) - sizes[until]).abs();
    let due = sizes.iter().position(|size| *size >= grown);
    let (fault, until) = match due {
        Some(due) if off(due) <= MAX_CHANGE_BY_PLACES * (grown - tolerance) => (Fault::Missed(places[due].at.t), due),
        Some(_) => {
            // the growth may be so large that its accuracy does not matter
            let coarse = half(places.len() - 1);
            let surely = |k: &usize| sizes[2 * k] - CERTAINTY * (coarse[*k] - sizes[2 * k]).abs() >= grown;
            let due = 2 * (0..places.len().div_ceil(2)).find(surely)?;
            (Fault::Missed(places[due].at.t), due)
        }
        None => {
            let last = places.len() - 1;
            let size = fed(&places, &rates, start(stay));
            let by_itself =
                values[last] * (stay.to.1 - places[last].at.t).abs() >= EXPLAINED_GROWTH * (grown - tolerance);
            let early = stay.to.1.is_finite() && by_itself && size < tolerance - (grown - tolerance);
            if !early || off(last) > MAX_CHANGE_BY_PLACES * (tolerance - size) {
                return None;
            }
            (Fault::Early(stay.to.0), last)
        }
    };
    let low = sizes[..=until].iter().fold(start(stay), |low, size| low.min(*size));
    wrong_regrowth(stay, &places, rates, fault, until, low)
}

/// The finding, with the moment of the largest growth.
fn wrong_regrowth(
    stay: &BelowTolerance,
    places: &[&Place],
    rates: Vec<Rate>,
    fault: Fault,
    until: usize,
    low: f64,
) -> Option<WrongRegrowth> {
    let fastest = (0..=until).max_by(|a, b| rates[*a].value.total_cmp(&rates[*b].value))?;
    let Rate { value: rate, with, .. } = rates.into_iter().nth(fastest)?;
    Some(WrongRegrowth { place: stay.place, from: stay.from.0, fault, low, at: places[fastest].at.clone(), rate, with })
}

/// Stored states, and interpolated states where those are far apart.
fn places(checked: &CheckedRun<'_>, piece: &Piece) -> Vec<Moment> {
    let span = piece.length();
    let slopes = |moment: &Moment| {
        let executor = checked.executor_before(moment.t)?;
        spectrum::rates(&*executor, moment.t, &moment.y)
    };
    let mut list: Vec<Moment> = vec![];
    let mut before: Option<Vec<f64>> = None;
    for moment in &piece.moments {
        let after = slopes(moment);
        if let Some(last) = list.last().cloned() {
            let parts = ((moment.t - last.t).abs() / (MAX_DISTANCE * span)).ceil().clamp(1.0, MAX_PLACES_BETWEEN);
            for k in 1..parts as usize {
                list.push(between(&last, moment, [before.as_deref(), after.as_deref()], k as f64 / parts));
            }
        }
        list.push(moment.clone());
        before = after;
    }
    list
}

/// A state at a part of the way between two others: a cubic, whose slopes at the ends are those of the equations as
/// far as it is monotone (Fritsch & Carlson, SIAM J. Numer. Anal. 17, 1980), or a straight line without slopes.
fn between(a: &Moment, b: &Moment, slopes: [Option<&[f64]>; 2], part: f64) -> Moment {
    let h = b.t - a.t;
    let slope = |end: usize, k: usize| {
        let secant = b.y[k] - a.y[k];
        let own = slopes[end].map_or(secant, |slopes| h * slopes[k]);
        if secant == 0.0 || own.is_nan() { 0.0 } else { secant * (own / secant).clamp(0.0, 3.0) }
    };
    let value = |k: usize| {
        let (secant, left, right) = (b.y[k] - a.y[k], slope(0, k), slope(1, k));
        let bend = (1.0 - part) * (left - secant) - part * (right - secant);
        a.y[k] + part * (secant + (1.0 - part) * bend)
    };
    Moment { t: a.t + part * h, y: (0..a.y.len()).map(value).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_keeps_few_states_over_all_of_a_run() {
        let mut piece = Piece::default();
        for k in 0..100_000 {
            piece.observe(f64::from(k), &[1.0], false);
        }
        let list = &piece.moments;
        assert!(list.len() <= MAX_MOMENTS && list.len() > 20, "{}", list.len());
        let apart = list.windows(2).map(|pair| (pair[1].t - pair[0].t) / pair[1].t).fold(0.0, f64::max);
        assert!(apart <= 1.0 && list.windows(2).all(|pair| pair[1].t > pair[0].t), "{apart}");
    }

    #[test]
    fn a_state_that_flickers_about_its_tolerance_stays_until_it_is_large() {
        let mut watch = DelayMonitor { states: vec![(1.0, DelayLevel::Above)], ..DelayMonitor::default() };
        let sizes = [9.0, 0.5, 2.0, 0.5, 3.0, 0.9, 20.0, 1e4, 2e4];
        sizes.iter().enumerate().for_each(|(t, y)| watch.observe(t as f64, &[*y]));
        let pieces = watch.pieces(None);
        let [piece] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert_eq!(piece.stays, [BelowTolerance { place: 0, from: (1.0, 1.0), to: (6.0, 7.0), examined: 7 }]);
    }
}
