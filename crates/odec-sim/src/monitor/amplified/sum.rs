//! Estimates the error at the end of a run: the errors of some steps are measured and propagated by the linearised
//! equations along the run. If the equations damp errors, only those of the last steps remain; if not, all remain; if
//! they amplify errors, the first ones become the largest.

use odec_ode::method::Method;
use odec_ode::method::auto::METHOD;
use odec_ode::system::{Mass, System};

use crate::bind::Bound;
use crate::monitor::Findings;

use super::MAX_UNKNOWNS;
use super::flow::{self, Flow, join, largest};
use super::growth::{self, LinearisedRun, Slopes};
use super::probe::{self, ErrorEstimate};
use super::shift::Shift;

/// Largest share of the tolerance for a method whose steps are more accurate than its estimates.
const MAX_EXACT_SHARE: f64 = 0.25;
/// Least order of such a method: after a method of lower order, a second run of high order costs little.
const LEAST_EXACT_ORDER: u32 = 4;
/// Fraction of a run after which a second run shows how its errors add up.
const EARLY_FRACTION: f64 = 0.25;
/// Factor by which the error at the end may exceed the extrapolation at the start, and its decrease until the end.
const SAFETY: (f64, f64) = (3.0, 1.5);
/// Fraction of the growth along a run by which the prediction may be too small.
const UNPREDICTED_GROWTH: f64 = 0.5;
/// Least number of steps of an `auto` run for a measurement of errors: in a shorter run, the measurement takes a
/// noticeable time.
const MANY_STEPS: u64 = 500;
/// The same with a large relative tolerance: the errors of explicit methods are close to it, and of one sign.
const MANY_LOOSE_STEPS: u64 = 150;
/// A relative tolerance that is at least this is large.
pub const LOOSE_RTOL: f64 = 1e-4;
/// The same with algebraic equations, for which `auto` uses implicit methods only: their errors are larger, and the
/// energy of a constrained motion is not damped.
const MANY_CONSTRAINED_STEPS: u64 = 200;
/// Number of steps over which errors are propagated for many unknowns, and number of places where this is done: those
/// with the largest errors.
const AHEAD: u32 = 20;
/// See [`AHEAD`].
const PLACES_OF_MANY: usize = 2;
/// Largest number of intervals for the propagation of errors: for few unknowns, and for more.
const MAX_INTERVALS: [usize; 2] = [256, 24];
/// Largest number of unknowns that counts as few.
const FEW_UNKNOWNS_OF_SUM: usize = 8;
/// Up to this amplification, growth is not examined.
const AMPLIFIED: f64 = 50.0;
/// With differentiated constraints, an error of the energy changes all later periods, and the linearised equations do
/// not show it, because they do not contain the projection. Steps for each unit of the amplification.
const STEPS_OF_CONSTRAINED: f64 = 10.0;
/// Fraction of the limit that the sum of errors must reach: other errors may be larger than the measured ones.
const MEASURED_FRACTION: f64 = 0.3;
/// Fraction of the limit that shifts of the solution must reach, after a named method and after `auto`: short runs of
/// `auto` have few measured errors, and those that make the largest shifts need not be among them.
const MEASURED_FRACTION_OF_SHIFT: [f64; 2] = [1.0, 0.2];
/// Usual error of a step of `auto` in tolerances: over 180 runs with jumps and pulses and a tenth of the tolerance, the
/// error of the run was between 1e-4 and 5e-3 of that which errors of one tolerance would make. `auto` uses 0.4 of it.
const SHARE_OF_AUTO: f64 = 1.0 / 750.0;
/// Error of a run from which on shifts by usual errors are measured.
const LARGE_ERROR: f64 = 10.0;
/// Number of places whose estimated errors represent all steps if no errors were measured.
const PLACES: usize = 8;

/// Error of a step in tolerances, as a weight in the sum: the 90th percentile of the error of a run, divided by the
/// sum, over 280 runs of 100 problems at rtol 1e-4, 1e-6 and 1e-8. Methods that continue with the more accurate of
/// two solutions estimate the error of the other one.
const SHARES: [(&[&str], f64); 6] = [
    (&["ros2", "sdirk2", "taylor", "abm2"], 0.003),
    (&["vern7", "vern9", "radau5"], 0.03),
    (&["rodas3", "rodas4", "abm3", "abm4"], 0.05),
    (&["bs32", "tsit5", "rodas5p", "bdf", "abm", "kencarp4"], 0.12),
    (&["dopri5", "cash-karp", "dop853"], 0.25),
    (&["rk4", "rkf45", "ssprk33", "tr-bdf2"], 0.6),
];
/// Weight for all other methods, which estimate the error of the solution with which they continue.
const SHARE_OF_OTHERS: f64 = 0.8;

/// True if the steps of a method are more accurate than its estimates.
pub fn is_exact(method: &Method) -> bool {
    share(method) <= MAX_EXACT_SHARE && method.order >= LEAST_EXACT_ORDER
}

/// True if a run of this method with a smaller tolerance shows the errors of a run. Implicit methods up to order 4 make
/// steps of nearly the same length in fast phases, and repeat their errors there.
pub fn is_reference(method: &Method) -> bool {
    is_exact(method) && (method.order > LEAST_EXACT_ORDER || !method.structure.jacobian)
}

/// See [`SHARES`].
fn share(method: &Method) -> f64 {
    SHARES.iter().find(|(names, _)| names.contains(&method.name)).map_or(SHARE_OF_OTHERS, |(_, share)| *share)
}

/// Predicted errors along a run, before a second run.
#[derive(Clone, Debug)]
pub struct PredictedErrors {
    /// Times at equal numbers of steps, and the largest errors up to there in tolerances; empty if they are not
    /// known.
    points: Vec<(f64, f64)>,
    /// True if the course of the sum during the run is not known: the error of a period grows with the square of t.
    rough: bool,
    /// Growth of errors along the run, as a power of e.
    growth: f64,
    /// True if the largest errors may be made at any time, so that small errors up to then do not exclude them.
    late: bool,
}

impl PredictedErrors {
    /// Prediction if all errors have this size and add up.
    fn of_all(bound: &Bound, findings: &Findings, each: f64) -> PredictedErrors {
        let all = growth::places(bound, findings);
        let steps = findings.steps as f64 / (all.len() - 1).max(1) as f64;
        let points = all.iter().enumerate().map(|(k, at)| (at.t, each * steps * k as f64)).collect();
        PredictedErrors { points, rough: true, growth: 0.0, late: false }
    }

    /// The same if the error grows with the square of the number of steps, and is this many times as large at the end.
    fn with_square(mut self, factor: f64) -> PredictedErrors {
        let last = self.points.len().saturating_sub(1).max(1) as f64;
        for (k, (_, error)) in self.points.iter_mut().enumerate() {
            *error *= factor * k as f64 / last;
        }
        self.rough = false;
        self
    }

    /// The same if all errors are this many times as large.
    fn multiplied(mut self, factor: f64) -> PredictedErrors {
        self.points.iter_mut().for_each(|(_, error)| *error *= factor);
        self
    }

    /// The same if errors also grow along the run, by this power of e: the first ones by all of it, the last ones not.
    /// The sum does not follow growth over a period, such as that of the phase of an oscillation.
    fn with_growth(mut self, growth: f64) -> PredictedErrors {
        let last = self.points.len().saturating_sub(1).max(1) as f64;
        for (k, (_, error)) in self.points.iter_mut().enumerate() {
            *error *= 1.0 + 0.5 * growth.exp_m1().max(0.0) * k as f64 / last;
        }
        self
    }

    /// Prediction from the shift of the solution by these errors, if it may exceed the tolerance.
    fn of_shift(
        method: &Method,
        shift: Option<&Shift>,
        errors: &[ErrorEstimate<'_>],
        many: f64,
    ) -> Option<PredictedErrors> {
        let points = shift?.of(errors);
        let shifted = PredictedErrors { points, rough: true, growth: 0.0, late: true };
        let sure = MEASURED_FRACTION_OF_SHIFT[usize::from(method.name == METHOD.name)];
        (shifted.end() >= many * sure).then_some(shifted)
    }

    /// True if errors are known.
    pub fn is_known(&self) -> bool {
        !self.points.is_empty()
    }

    /// The error at the end of the run if up to `t` it has been this large.
    pub fn at_end(&self, t: f64, error: f64) -> Option<f64> {
        let so_far = self.points.get(self.passed(t).checked_sub(1)?)?.1;
        (so_far > 0.0).then(|| error * self.end() / so_far)
    }

    /// True if an error of this size up to `t` excludes an error at the end that is too large. The prediction counts
    /// less the later `t` is.
    pub fn excludes(&self, too_large: f64, t: f64, error: f64) -> bool {
        let mut part = self.passed(t) as f64 / self.points.len() as f64;
        let mut steady = part;
        if let (Some((start, _)), Some((end, _))) = (self.points.first(), self.points.last()) {
            // many steps at the start may say little about the rest of the time
            steady = part.min((t - start) / (end - start));
        }
        if self.rough {
            part = steady;
        }
        if self.late {
            return false;
        }
        let Some(at_end) = self.at_end(t, error).filter(|_| part > EARLY_FRACTION) else { return false };
        let weight = (2.0 * part).min(1.0);
        // the course of the errors may differ from the prediction: it extrapolates at least like a constant rate
        let at_end = if self.rough { at_end / part } else { at_end.max(error / steady) };
        // where errors grow, the rest of the run may amplify them more than the prediction says
        let safety = (SAFETY.0 - SAFETY.1 * part) * (UNPREDICTED_GROWTH * self.growth * (1.0 - part)).exp();
        at_end.powf(weight) * self.end().powf(1.0 - weight) * safety < too_large
    }

    /// Points up to this time.
    fn passed(&self, t: f64) -> usize {
        let start = self.points.first().map_or(t, |point| point.0);
        self.points.iter().filter(|point| (point.0 - start).abs() <= (t - start).abs()).count()
    }

    /// The error at the end.
    fn end(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.1)
    }
}

/// Errors on their way through a run.
struct Sum<'a> {
    findings: &'a Findings,
    /// Times at equal numbers of steps.
    times: Vec<f64>,
    /// Propagation from each time to the next one.
    flows: Vec<Option<Flow>>,
}

impl<'a> Sum<'a> {
    fn new(findings: &'a Findings, way: &LinearisedRun) -> Sum<'a> {
        let few = findings.largest.len() <= FEW_UNKNOWNS_OF_SUM;
        let every = (way.points.len() - 1).div_ceil(MAX_INTERVALS[usize::from(!few)]);
        // the points must include the end of the run; the first ones may be left out
        let points: Vec<_> = way.points.iter().rev().step_by(every).rev().collect();
        let flow = |pair: &[&(f64, _)]| match pair {
            [(t, Some(from)), (now, Some(to))] => Flow::new(from, to, now - t),
            _ => None,
        };
        Sum {
            findings,
            times: points.iter().map(|point| point.0).collect(),
            flows: points.windows(2).map(flow).collect(),
        }
    }

    /// Sum of the errors if all steps have the error of the closest measured step.
    fn carried(&self, errors: &[ErrorEstimate<'_>]) -> PredictedErrors {
        let steps = self.findings.steps as f64 / self.flows.len() as f64;
        let mut carried: Vec<Option<Vec<f64>>> = vec![None; errors.len()];
        let mut most = 0.0f64;
        let mut points = vec![(self.times[0], 0.0)];
        for (k, flow) in self.flows.iter().enumerate() {
            let middle = (k as f64 + 0.5) * steps;
            let distance = |error: &ErrorEstimate<'_>| (error.number as f64 - middle).abs();
            let closest = (0..errors.len()).min_by(|a, b| distance(&errors[*a]).total_cmp(&distance(&errors[*b])));
            let new = closest.map(|closest| errors[closest].made.iter().map(|v| v * steps).collect::<Vec<_>>());
            let (Some(closest), Some(new)) = (closest, new) else { break };
            // if the equations have no finite values, errors stay constant
            let made = flow.as_ref().map_or_else(|| new.clone(), |flow| flow.made(&new));
            if let Some(flow) = flow {
                carried.iter_mut().flatten().for_each(|error| flow.pass(error));
            }
            match &mut carried[closest] {
                Some(error) => join(error, &made),
                empty => *empty = Some(made),
            }
            let of = |place: usize| carried.iter().flatten().map(|error| error[place].abs()).sum::<f64>();
            most = (0..new.len()).map(of).fold(most, |most, v| if v.is_nan() { f64::INFINITY } else { most.max(v) });
            points.push((self.times[k + 1], most));
        }
        PredictedErrors { points, rough: false, growth: 0.0, late: false }
    }
}

/// Errors of steps that are usual for the method.
fn usual<'a>(slopes: &Slopes<'a>, findings: &'a Findings) -> Vec<ErrorEstimate<'a>> {
    let all = growth::places(slopes.bound, findings);
    let share = share(slopes.bound.choice.method);
    let steps = findings.steps as f64 / all.len() as f64;
    let error = |k: usize| {
        let place = (2 * k + 1) * all.len() / (2 * PLACES);
        let (from, next) = (all[place], all[(place + 1).min(all.len() - 1)]);
        let made: Vec<f64> = slopes.seed(from, 0).iter().map(|v| share * v).collect();
        let along = largest(&made);
        ErrorEstimate { number: (place as f64 * steps) as u64, made, along, h: (next.t - from.t) / steps, from }
    };
    (0..PLACES).map(error).collect()
}

/// The errors of the steps if they can add up to more than so many tolerances.
pub fn beyond(
    slopes: &Slopes<'_>,
    findings: &Findings,
    (way, shift): (&LinearisedRun, Option<&Shift>),
    many: f64,
) -> Option<PredictedErrors> {
    let method = slopes.bound.choice.method;
    if !can_add_up(slopes.bound, findings.steps, many) && shift.is_none() {
        return None;
    }
    let enough = many * MEASURED_FRACTION;
    let exact = method.name == METHOD.name || is_exact(method);
    let errors = if exact { probe::errors(slopes, findings) } else { vec![] };
    if errors.is_empty() {
        let usual = Sum::new(findings, way).carried(&usual(slopes, findings));
        if exact {
            return (usual.end() >= many).then_some(PredictedErrors { growth: way.growth, ..usual });
        }
        // after a method of low order, a second run of high order costs little compared with the first run
        return (usual.end() >= enough).then(|| PredictedErrors {
            points: vec![],
            rough: true,
            growth: 0.0,
            late: false,
        });
    }
    let all = PredictedErrors::of_all(slopes.bound, findings, mean(&errors));
    let shifted = PredictedErrors::of_shift(method, shift, &errors, many);
    let constrained = slopes.bound.executor.invariants().is_some();
    let steps = if constrained { findings.steps as f64 / STEPS_OF_CONSTRAINED } else { 0.0 };
    let amplified = AMPLIFIED.max(steps);
    if all.end() * amplified < enough {
        return shifted;
    }
    if constrained {
        return Some(all.with_square(amplified));
    }
    // explicit steps follow oscillations, and intervals of many steps do not resolve them
    let measured = if way.coarse || way.unknown && !findings.implicit {
        // how much later errors are than those of the steps, such as those of the phase, is not known
        all.multiplied(amplified)
    } else {
        Sum::new(findings, way).carried(&errors).with_growth(way.growth)
    };
    let measured = (measured.end() >= enough).then_some(PredictedErrors { growth: way.growth, ..measured });
    larger(measured, shifted)
}

/// Like the sum above, for too many unknowns for matrices along the whole run: propagates errors over some steps at a
/// few places.
pub fn beyond_of_many(
    slopes: &Slopes<'_>,
    findings: &Findings,
    shift: Option<&Shift>,
    many: f64,
) -> Option<PredictedErrors> {
    let method = slopes.bound.choice.method;
    if !can_add_up(slopes.bound, findings.steps, many) && shift.is_none() {
        return None;
    }
    let mut errors = probe::errors(slopes, findings);
    if errors.is_empty() {
        errors = usual(slopes, findings);
    }
    let of = |error: &ErrorEstimate<'_>| {
        let [soon, later] = flow::after(&slopes.at(error.from)?, error.h, &error.made, AHEAD)?;
        let decay = (soon / later).ln() / f64::from(AHEAD);
        let steps = if decay > 0.0 { (1.0 / decay).min(findings.steps as f64) } else { findings.steps as f64 };
        Some(largest(&error.made) * f64::from(AHEAD) + soon.max(later) * steps)
    };
    let shifted = PredictedErrors::of_shift(method, shift, &errors, many);
    if slopes.unit.len() > MAX_UNKNOWNS {
        return shifted;
    }
    errors.sort_by(|a, b| largest(&b.made).total_cmp(&largest(&a.made)));
    let sums = errors.iter().take(PLACES_OF_MANY).filter_map(of);
    let sum = sums.filter(|sum| sum.is_finite()).fold(0.0, f64::max);
    let all = PredictedErrors::of_all(slopes.bound, findings, mean(&errors));
    // over a few steps, an oscillation of many unknowns looks like a decay
    let undamped = method.name == METHOD.name && all.end() >= many;
    larger((undamped || sum >= many * MEASURED_FRACTION).then_some(all), shifted)
}

/// The errors of the steps of a run among many if they shift the solution by more than so many tolerances.
pub fn shifted(slopes: &Slopes<'_>, findings: &Findings, shift: &Shift, many: f64) -> Option<PredictedErrors> {
    let errors = probe::errors(slopes, findings);
    PredictedErrors::of_shift(slopes.bound.choice.method, Some(shift), &errors, many)
}

/// True if errors can add up. The sum without cancellation is at most their number if the model does not amplify them.
fn can_add_up(bound: &Bound, steps: u64, many: f64) -> bool {
    let method = bound.choice.method;
    let algebraic = !matches!(bound.executor.mass(), Mass::Identity);
    if method.name == METHOD.name {
        let enough = if bound.options.rtol >= LOOSE_RTOL { MANY_LOOSE_STEPS } else { MANY_STEPS };
        steps >= if algebraic { enough.min(MANY_CONSTRAINED_STEPS) } else { enough }
    } else {
        steps as f64 * share(method) * AMPLIFIED >= many
    }
}

/// The larger of two predictions.
fn larger(one: Option<PredictedErrors>, other: Option<PredictedErrors>) -> Option<PredictedErrors> {
    match (one, other) {
        (Some(one), Some(other)) if other.end() > one.end() => Some(other),
        (one, other) => one.or(other),
    }
}

/// True if shifts of the solution by errors that are usual for the method may become large.
pub fn is_large(method: &Method, shift: &Shift) -> bool {
    let usual = if method.name == METHOD.name { SHARE_OF_AUTO } else { share(method) };
    usual * shift.of_equal() >= LARGE_ERROR && shift.lasts()
}

/// The mean size of errors.
fn mean(errors: &[ErrorEstimate<'_>]) -> f64 {
    errors.iter().map(|error| largest(&error.made)).sum::<f64>() / errors.len().max(1) as f64
}
