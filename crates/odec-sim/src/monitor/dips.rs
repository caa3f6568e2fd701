//! States that fall below their absolute tolerance and grow again by themselves: `y' = r(t)*y` amplifies the error of
//! the smallest value by the same factor as the value itself, and error estimates do not detect it.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::system::{Mass, System};

use super::delays::{DelayMonitor, Piece};
use super::report::{
    CheckedRun, MAX_DENSE, OUTGROWN_TOLERANCES, TAKES_PART, above, compared, nearness, tolerances_typed,
};
use super::{Moment, amplified, mode};
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::spectrum;
use crate::stability::C;

/// Least number of examined steps below the tolerance; with fewer, a state only crosses 0.
const MIN_STEPS_BELOW: u64 = 3;
/// Relative error of a long step from which on a state has no correct digits; see [`resolved`].
const LOST_DIGITS: f64 = 1e-2;
/// The same in relative tolerances, for small tolerances: rows miss their tolerance by this factor later.
const LOST_TOLERANCES: f64 = 1e4;
/// Largest size of a small state, in absolute tolerances.
const MAX_SIZE_OF_SMALL: f64 = 1e3;
/// A state matters once it exceeds the limit for small states by this factor.
const RELEVANT_FACTOR: f64 = 10.0;
/// Largest number of stored dips.
const MAX_STORED: usize = 8;
/// Fraction of the growth out of a dip that an eigenvalue must explain.
const EXPLAINED_GROWTH: f64 = 0.3;
/// Size in tolerances of the other states that take part in the growth, if the state oscillates.
const NEGLIGIBLE_SIZE: f64 = 10.0;
/// Smallest tolerance that a message recommends.
const SMALLEST_ATOL: f64 = 1e-290;

/// A state that was below its tolerance and has grown to matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Dip {
    /// Place in y.
    pub place: usize,
    /// When it was smallest, and its size then.
    pub low: (f64, f64),
    /// Moment at which it was seen above its tolerance again.
    pub left: Moment,
    /// It went through 0 meanwhile.
    swings: bool,
}

/// A state below its tolerance.
#[derive(Clone, Copy, Debug)]
struct Open {
    place: usize,
    examined: u64,
    /// The last value.
    last: f64,
    low: (f64, f64),
    /// A step changed it by more than the method can follow.
    lost: bool,
    swings: bool,
}

/// Position of a state relative to its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DipLevel {
    /// The state started at 0 and has not exceeded its tolerance yet: other states feed it.
    Start,
    Below,
    Above,
}

/// Monitor of all states of one run.
#[derive(Debug, Default)]
pub(super) struct Dips {
    /// Absolute tolerances; empty if no state is monitored.
    atol: Vec<f64>,
    /// So many of them are small.
    near: f64,
    /// Relative error of a step from which on a small state is lost.
    lost: f64,
    at: Vec<DipLevel>,
    open: Vec<Open>,
    /// Dips of states that have exceeded their tolerance, but do not matter yet.
    leaving: Vec<Dip>,
    found: Vec<Dip>,
    /// States that should grow later or earlier.
    watch: DelayMonitor,
    /// Sizes below which something happens to a state.
    limits: Vec<f64>,
    /// True if all states were above these sizes when they were last examined.
    quiet: bool,
    /// Order of a method, and the largest change in a step, as a power of e, that it can follow.
    followed: (u32, f64),
}

impl Dips {
    /// Creates the monitor for a run of a bound model.
    pub(super) fn new(bound: &Bound) -> Dips {
        let y0 = &bound.problem.y0;
        if bound.options.fixed || y0.len() > MAX_DENSE {
            return Dips::default();
        }
        let mut atol: Vec<f64> = (0..y0.len()).map(|place| bound.atol(place)).collect();
        for series in bound.states.list().iter().filter(|series| series.name.starts_with("d(")) {
            atol[series.places()].fill(0.0);
        }
        let watch = DelayMonitor::new(&atol, bound);
        let near = nearness(bound).min(MAX_SIZE_OF_SMALL);
        let lost = LOST_DIGITS.min(1.0 / near).min(LOST_TOLERANCES * bound.options.rtol);
        let limits = atol.iter().map(|atol| near.max(1.0) * atol).collect();
        let at = vec![DipLevel::Above; atol.len()];
        let mut dips = Dips { atol, near, lost, at, watch, limits, ..Dips::default() };
        for (place, y) in y0.iter().enumerate() {
            if *y == 0.0 {
                dips.at[place] = DipLevel::Start;
            }
        }
        dips.changes(bound.problem.t0, y0);
        dips
    }

    /// True if a state is below its tolerance, or has just exceeded it.
    pub(super) fn any(&self) -> bool {
        !(self.open.is_empty() && self.leaving.is_empty())
    }

    /// True if a state is below its tolerance.
    pub(super) fn below(&self) -> bool {
        !self.open.is_empty() || self.watch.below()
    }

    /// A state inside the last step: those that are large there were below their tolerance at its start alone.
    pub(super) fn passed(&mut self, y: &[f64]) {
        for open in
            self.open.iter_mut().filter(|open| y[open.place].abs() > OUTGROWN_TOLERANCES * self.atol[open.place])
        {
            open.examined = 0;
        }
        self.watch.passed(y);
    }

    /// An event was executed.
    pub(super) fn executed(&mut self) {
        self.watch.executed();
    }

    /// True if no state is monitored.
    pub(super) fn none(&self) -> bool {
        self.atol.is_empty()
    }

    /// The findings, and the pieces of the run with states below their tolerance; `last` is the state at its end, if
    /// the run reached it.
    pub(super) fn finish(self, last: Option<(f64, &[f64])>) -> (Vec<Dip>, Vec<Piece>) {
        (self.found, self.watch.pieces(last))
    }

    /// Examines the end of a step, `stride` steps after the previous call, by a method of this order.
    pub(super) fn observe(&mut self, t: f64, y: &[f64], stride: u64, order: u32) {
        // without branches, because this is the usual case at each step
        let small = y.iter().zip(&self.limits).fold(false, |small, (y, limit)| small | (y.abs() < *limit));
        if self.quiet && !small {
            return;
        }
        if self.any() {
            if self.followed.0 != order {
                self.followed = (order, resolved(order, self.lost));
            }
            self.inside(t, y, (self.followed.1 * stride as f64).exp());
        }
        self.changes(t, y);
        self.watch.observe(t, y);
        self.quiet = !small && !self.any() && self.at.iter().all(|at| *at == DipLevel::Above) && self.watch.is_quiet();
    }

    /// Updates the states that are below their tolerance and those that have exceeded it.
    fn inside(&mut self, t: f64, y: &[f64], most: f64) {
        for open in &mut self.open {
            let (old, new) = (open.last, y[open.place]);
            let (before, now) = (old.abs(), new.abs());
            open.examined += 1;
            open.swings |= old * new < 0.0;
            open.lost |= open.swings || now > most * before || before > most * now;
            if now < open.low.1 {
                open.low = (t, now);
            }
            open.last = new;
        }
        let Dips { atol, found, near, .. } = self;
        let enough = OUTGROWN_TOLERANCES.max(RELEVANT_FACTOR * *near);
        self.leaving.retain(|dip| {
            let grown = y[dip.place].abs() > enough * atol[dip.place];
            if grown {
                match found.iter().position(|other| other.place == dip.place) {
                    Some(k) if found[k].low.1 > dip.low.1 => found[k] = dip.clone(),
                    None if found.len() < MAX_STORED => found.push(dip.clone()),
                    _ => {}
                }
            }
            !grown
        });
    }

    /// Detects states that have fallen below their tolerance or exceeded it.
    fn changes(&mut self, t: f64, y: &[f64]) {
        let near = self.near;
        for (place, (y_now, (atol, at))) in y.iter().zip(self.atol.iter().zip(&mut self.at)).enumerate() {
            let below = y_now.abs() < near * *atol;
            if below == (*at != DipLevel::Above) {
                continue;
            }
            if below {
                *at = DipLevel::Below;
                self.leaving.retain(|dip| dip.place != place);
                let low = (t, y_now.abs());
                self.open.push(Open { place, examined: 1, last: *y_now, low, lost: false, swings: false });
                continue;
            }
            *at = DipLevel::Above;
            let Some(k) = self.open.iter().position(|open| open.place == place) else { continue };
            let Open { examined, low, lost, swings, .. } = self.open.swap_remove(k);
            if examined > MIN_STEPS_BELOW && lost && self.leaving.len() < MAX_STORED {
                self.leaving.push(Dip { place, low, left: Moment { t, y: y.to_vec() }, swings });
            }
        }
    }
}

/// Largest change of `y' = y` in a step, as a power of e, for which the relative error of a method of this order is
/// at most `error`: the error is the first omitted term, `x^(p+1)/(p+1)!`.
fn resolved(order: u32, error: f64) -> f64 {
    let factorial: f64 = (1..=order + 1).map(f64::from).product();
    (error * factorial).powf(1.0 / f64::from(order + 1))
}

/// A state that fell below its tolerance and grew again by itself.
pub(super) fn grown_again(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let mut dips: Vec<&Dip> = checked.findings.dips.iter().filter(|dip| !checked.is_unknown(dip.place)).collect();
    dips.sort_by(|a, b| (a.low.1 / checked.bound.atol(a.place)).total_cmp(&(b.low.1 / checked.bound.atol(b.place))));
    dips.into_iter().find_map(|dip| diagnostic(checked, dip))
}

/// Cheap test before the eigenvalues: true if larger states feed a small one so strongly that its small values do not
/// matter. With a rate c from the others, x' = lambda*x + c gives x = (x0 + c/lambda)*e^(lambda*t) - c/lambda, so x0 is
/// small compared with c/lambda, and no lambda exceeds the norm of df/dy.
pub(super) fn is_fed(checked: &CheckedRun<'_>, moment: &Moment, place: usize) -> bool {
    let (bound, Moment { t, y }) = (checked.bound, moment);
    let mut without = y.clone();
    for (k, y) in without.iter_mut().enumerate() {
        if k == place || y.abs() < NEGLIGIBLE_SIZE * bound.atol(k) {
            *y = 0.0;
        }
    }
    let Some(executor) = checked.executor_before(*t) else { return false };
    let system = &*executor;
    if !matches!(system.mass(), Mass::Identity) {
        return false;
    }
    let rates = spectrum::rates(system, *t, &without);
    let (Some(rates), Some(norm)) = (rates, spectrum::norm(system, *t, &without)) else { return false };
    let enough = OUTGROWN_TOLERANCES.max(RELEVANT_FACTOR * nearness(bound).min(MAX_SIZE_OF_SMALL)) * bound.atol(place);
    rates[place].abs() > norm * enough
}

/// Warning about a dip; `None` if other states feed the state.
fn diagnostic(checked: &CheckedRun<'_>, dip: &Dip) -> Option<Diagnostic> {
    let (bound, left) = (checked.bound, &dip.left);
    if is_fed(checked, left, dip.place) {
        return None;
    }
    let (place, time) = (dip.place, &checked.model.time.name);
    let (low, atol) = (dip.low.1.max(SMALLEST_ATOL), bound.atol(place));
    let rate = (left.y[place].abs() / low).ln() / (left.t - dip.low.0).abs();
    let spectrum = mode::spectrum(checked, left)?;
    let mut growing: Vec<C> =
        spectrum.values.iter().copied().filter(|l| l.re >= EXPLAINED_GROWTH * rate && l.re > 0.0).collect();
    growing.sort_by(|a, b| b.re.total_cmp(&a.re));
    let own = |lambda: &C| {
        let asked = if checked.backwards() { -*lambda } else { *lambda };
        let shares = checked
            .executor_before(spectrum.t)
            .map_or(vec![], |executor| spectrum::participation(&*executor, &spectrum, asked));
        let small =
            |(k, share): (usize, &f64)| *share <= TAKES_PART || left.y[k].abs() < NEGLIGIBLE_SIZE * bound.atol(k);
        shares.get(place).is_some_and(|share| *share > TAKES_PART)
            && (!dip.swings || shares.iter().enumerate().all(small))
    };
    let lambda = growing.into_iter().find(own)?;
    let (t0, near) = (bound.problem.t0, nearness(bound).min(MAX_SIZE_OF_SMALL));
    let before = |t: f64| (t - t0).abs() <= (left.t - t0).abs();
    let is_small = |y: &[f64]| y[place].abs() < near * atol;
    let start = amplified::At { t: t0, y: &bound.problem.y0 };
    let steps = std::iter::once(start).chain(checked.findings.stored_run.steps());
    let small = steps.filter(|at| before(at.t) && is_small(at.y)).last();
    if small.is_some_and(|small| amplified::is_harmless(checked, small, &[place])) {
        return None;
    }
    let name = bound.states.name(place);
    let headline = format!(
        "`{name}` falls to {} at {time} = {}, {} its absolute tolerance of {}, and then grows again, \
         together with its error",
        number(dip.low.1),
        number(dip.low.0),
        compared(dip.low.1, atol),
        number(atol)
    );
    let mode = mode::mode(checked, &spectrum, lambda, C::from(1.0));
    let says =
        format!("this makes it grow by a factor of e in {} at {time} = {}", number(1.0 / lambda.re), number(left.t));
    let mut d = checked.blamed(Diagnostic::warning(&codes::W0606, headline), &mode, left, &says);
    if let Some(state) = declared(checked.model, &bound.states, place) {
        let largest = number(checked.findings.largest[place]);
        let says = if dip.low.1 < atol {
            format!("grows to {largest}: none of its digits is reliable after that")
        } else {
            format!("grows to {largest}, with a relative error of up to {} in each step there", above(atol / dip.low.1))
        };
        d = d.label(checked.model.states[state].span, says);
    }
    if let Some(span) = bound.asked.atol {
        d = d.label(span, "");
    }
    let series = bound.states.at(place).map_or(name.as_str(), |(series, _)| series.name.as_str());
    let typed = tolerances_typed(&[(series, low * bound.options.rtol)]);
    Some(d.help(format!(
        "odec does not control its relative error while it is small, so the time at which it grows is not \
         accurate: {typed}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dips of one state with atol = 1e-9, after each step by a method of order 5.
    fn of(values: impl Iterator<Item = f64>) -> Vec<Dip> {
        let mut dips = Dips {
            atol: vec![1e-9],
            at: vec![DipLevel::Above],
            near: 1.0,
            lost: LOST_DIGITS,
            limits: vec![1e-9],
            ..Dips::default()
        };
        for (k, y) in values.enumerate() {
            dips.observe(k as f64, &[y], 1, 5);
        }
        dips.found
    }

    #[test]
    fn a_method_follows_the_longer_steps_the_higher_its_order() {
        // x^2/2 and x^6/720
        assert!(
            (resolved(1, LOST_DIGITS) - 0.02f64.sqrt()).abs() < 1e-12
                && (resolved(5, LOST_DIGITS) - 7.2f64.powf(1.0 / 6.0)).abs() < 1e-12
        );
    }

    #[test]
    fn steep_dips_that_grow_again_are_kept_and_others_are_not() {
        let dip =
            |each: f64, back: f64| (0..120).map(move |k| (-each * (60.0 - (f64::from(k) - 60.0).abs() * back)).exp());
        let found = of(dip(2.0, 1.0));
        assert!(found.len() == 1 && found[0].low == (60.0, (-120.0f64).exp()), "{found:?}");
        // steps that a method of order 5 follows
        assert_eq!(of((0..120).map(|k| (-(60.0 - (f64::from(k) - 60.0).abs())).exp())), []);
        // the state stays small
        assert_eq!(of((0..120).map(|k| (-2.0 * f64::from(k)).exp())), []);
        // passes through 0
        assert_eq!(of((0..120).map(|k| f64::from(k - 60))), []);
    }
}
