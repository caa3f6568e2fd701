//! Constant steps that give wrong results without growth: instability that the model bounds, undamped oscillations of
//! the method, damping of growth. The steps themselves show these faults: they differ from the integral of the
//! derivatives at their ends.

use super::mode::{self, Mode};
use super::report::CheckedRun;
use super::{Moment, Pair};
use crate::spectrum::{self, decaying};
use crate::stability::{self, Amplification, C};

/// Fraction of the size of a state by which a step may differ from its length times the mean of the derivatives at
/// its ends.
const MAX_DEVIATION: f64 = 0.05;
/// Factor per step above which the amplification of a decaying eigenvalue counts; excludes rounding at the edge of
/// the stability region.
const AMPLIFICATION: f64 = 1.1;
/// Factor per step above which the errors of steps that should decay remain.
const LITTLE_DAMPING: f64 = 0.9;
/// Growth factor over the whole run of oscillations that each step amplifies slightly.
const TOTAL_AMPLIFICATION: f64 = 2.0;
/// Factor in a step that hardly damps.
const WEAK_DAMPING: f64 = 0.5;
/// Value of h times an eigenvalue below which a step is short enough for the eigenvalue.
const SHORT_STEP: f64 = 0.5;
/// Number of steps within which growth by a factor of e is examined.
const GROWTH_STEPS: f64 = 10.0;
/// Largest number of unknowns for which eigenvalues are computed at several points of a step: at `POINTS` of them, or
/// a quarter of it.
const MAX_DENSE: usize = 150;
/// See [`MAX_DENSE`].
const MAX_FINE: usize = 50;
/// Parts of a step.
const POINTS: usize = 16;
/// Smallest number of steps for a conclusion.
const MIN_STEPS: usize = 2;

/// The faults of constant steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The steps amplify a decaying mode.
    Amplified,
    /// The steps hardly damp a decaying mode: errors at the edge of the stability region remain.
    HardlyDamped,
    /// The steps amplify an oscillation slightly.
    SlowlyAmplified,
    /// The steps do not damp a decaying mode.
    Undamped,
    /// The steps damp a growing mode.
    GrowthDamped,
}

/// A fault.
pub(super) struct ConstantStepFault {
    /// Its kind.
    pub fault: Fault,
    /// Longest step without the fault; 0 if there is none.
    pub step: f64,
    /// The eigenvalue.
    pub mode: Mode,
    /// State at which it was computed.
    pub moment: Moment,
}

/// The fault of the constant steps of a run that has ended or failed.
pub(super) fn found(checked: &CheckedRun<'_>, h: f64) -> Option<ConstantStepFault> {
    let regions = stability::of(checked.bound.choice.method).ok()?;
    deviating(checked, &regions, h).or_else(|| slowly_amplified(checked, &regions, h))
}

/// Steps that do not damp a mode but change its sign.
pub(super) fn ringing(checked: &CheckedRun<'_>, h: f64) -> Option<ConstantStepFault> {
    let moment = checked.findings.alternating.as_ref()?;
    let regions = stability::of(checked.bound.choice.method).ok()?;
    let spectrum = mode::spectrum(checked, moment)?;
    let rings = |lambda: &C| {
        let z = scaled(*lambda, h).filter(|z| z.re < -SHORT_STEP && z.im.abs() < SHORT_STEP * z.norm());
        z.is_some_and(|z| {
            z.norm() > 2.0 && regions.iter().all(|(_, region)| region.defined(z) && region.at(z) > WEAK_DAMPING)
        })
    };
    let lambda = spectrum.values.iter().copied().filter(rings).max_by(|a, b| a.norm().total_cmp(&b.norm()))?;
    // with a shorter step the factor of the trapezoidal rule and its like is positive
    let step = 2.0 / lambda.norm();
    Some(ConstantStepFault {
        fault: Fault::Undamped,
        step,
        mode: mode::mode(checked, &spectrum, lambda, lambda),
        moment: moment.clone(),
    })
}

/// h λ of an eigenvalue that does not grow.
fn scaled(lambda: C, h: f64) -> Option<C> {
    Some(decaying(lambda)? * (lambda.norm() * h))
}

/// Steps of which at least half do not follow the derivatives at their ends, because of the same fault.
fn deviating(checked: &CheckedRun<'_>, regions: &[(String, Amplification)], h: f64) -> Option<ConstantStepFault> {
    let pairs = &checked.findings.pairs;
    let n = checked.bound.problem.y0.len();
    if n > MAX_DENSE || pairs.len() < MIN_STEPS {
        return None;
    }
    let slopes: Vec<(&Pair, Vec<f64>)> =
        pairs.iter().filter_map(|pair| Some((pair, deviating_slope(checked, pair)?))).collect();
    let enough = |count: usize| count >= MIN_STEPS && 2 * count >= pairs.len();
    // if the initial growth is bounded in the end, the last steps decide
    let start = |k: usize| slopes.len().checked_sub(k).and_then(|k| slopes.get(k)).map(|(pair, _)| pair.from.t);
    let late = start(MIN_STEPS) == Some(pairs[pairs.len() - MIN_STEPS].from.t);
    if !late && !enough(slopes.len()) {
        return None;
    }
    for fault in [Fault::Amplified, Fault::HardlyDamped] {
        let worst = |(pair, slope): &(&Pair, Vec<f64>)| amplified(checked, regions, (h, fault), pair, slope);
        let found: Vec<Option<Moment>> = slopes.iter().map(worst).collect();
        let lasts = late && found.iter().rev().take(MIN_STEPS).all(Option::is_some);
        let mut moments: Vec<Moment> = found.into_iter().flatten().collect();
        if !(lasts && fault == Fault::Amplified || enough(moments.len())) {
            continue;
        }
        if !checked.findings.ended {
            // if the run fails because of the growth, the first moment shows its cause
            moments.truncate(1);
        }
        let list: Vec<&Moment> = moments.iter().collect();
        let (step, mode) = mode::limit(checked, regions, &list)?;
        if fault == Fault::Amplified && step >= h {
            return None;
        }
        let moment = moments.iter().find(|moment| moment.t == mode.t)?.clone();
        return Some(ConstantStepFault { fault, step: step.min(h), mode, moment });
    }
    let damped: Vec<((spectrum::Spectrum, C), &Moment)> =
        slopes.iter().filter_map(|(pair, _)| Some((damped(checked, regions, h, &pair.from)?, &pair.from))).collect();
    let ((spectrum, lambda), moment) = damped.first().filter(|_| enough(damped.len()))?;
    let mode = mode::mode(checked, spectrum, *lambda, C::from(1.0));
    Some(ConstantStepFault {
        fault: Fault::GrowthDamped,
        step: 1.0 / (GROWTH_STEPS * lambda.re),
        mode,
        moment: (*moment).clone(),
    })
}

/// The derivatives at the start of a step that does not follow them.
fn deviating_slope(checked: &CheckedRun<'_>, pair: &Pair) -> Option<Vec<f64>> {
    let Pair { from, to } = pair;
    let executor = checked.executor_after(from.t)?;
    let start = spectrum::rates(&*executor, from.t, &from.y)?;
    let end = spectrum::rates(&*executor, to.t, &to.y)?;
    let h = to.t - from.t;
    let rough = (0..start.len()).any(|i| {
        let (a, b) = (from.y[i], to.y[i]);
        (b - a - 0.5 * h * (start[i] + end[i])).abs() > MAX_DEVIATION * a.abs().max(b.abs())
    });
    rough.then_some(start)
}

/// Point of a step at which the method amplifies a decaying mode most, or damps it least: between the ends of the step,
/// or along the slope at its start, where the stages lie.
fn amplified(
    checked: &CheckedRun<'_>,
    regions: &[(String, Amplification)],
    (h, fault): (f64, Fault),
    pair: &Pair,
    slope: &[f64],
) -> Option<Moment> {
    let Pair { from, to } = pair;
    let length = to.t - from.t;
    let every = if from.y.len() <= MAX_FINE { 1 } else { 4 };
    let along = (0..=POINTS).step_by(every).filter(|k| 2 * k != POINTS).map(|k| {
        let t = from.t + length * k as f64 / POINTS as f64;
        Moment { t, y: from.y.iter().zip(slope).map(|(y, f)| y + (t - from.t) * f).collect() }
    });
    let middle = Moment { t: from.t + 0.5 * length, y: from.y.iter().zip(&to.y).map(|(a, b)| 0.5 * (a + b)).collect() };
    let factor = |moment: &Moment| {
        let values = mode::spectrum(checked, moment)?.values;
        // the fastest decides but for a few
        let fastest = values.iter().filter_map(|lambda| scaled(*lambda, h)).filter(|z| z.norm() > SHORT_STEP);
        let fastest = fastest.max_by(|a, b| a.norm().total_cmp(&b.norm()))?;
        let least = regions.iter().map(|(_, region)| if region.defined(fastest) { region.at(fastest) } else { 0.0 });
        let least = least.min_by(f64::total_cmp)?;
        let counts = match fault {
            Fault::HardlyDamped => {
                let decays = fastest.re < 0.0 && fastest.im.abs() < SHORT_STEP * fastest.norm();
                decays && least > LITTLE_DAMPING && fastest.re.exp() < WEAK_DAMPING * least
            }
            _ => least > AMPLIFICATION,
        };
        counts.then_some(least)
    };
    let list = std::iter::once(middle).chain(along).filter_map(|moment| Some((factor(&moment)?, moment)));
    list.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, moment)| moment)
}

/// Fastest growth at a moment that a step turns into decay.
fn damped(
    checked: &CheckedRun<'_>,
    regions: &[(String, Amplification)],
    h: f64,
    moment: &Moment,
) -> Option<(spectrum::Spectrum, C)> {
    let spectrum = mode::spectrum(checked, moment)?;
    let lambda = spectrum.values.iter().copied().max_by(|a, b| a.re.total_cmp(&b.re))?;
    let decays = h * lambda.re > 1.0
        && regions.iter().all(|(_, region)| region.defined(lambda * h) && region.at(lambda * h) < 1.0);
    decays.then_some((spectrum, lambda))
}

/// Oscillations that every step amplifies slightly, with a method that is unstable for them at every step size.
fn slowly_amplified(
    checked: &CheckedRun<'_>,
    regions: &[(String, Amplification)],
    h: f64,
) -> Option<ConstantStepFault> {
    let [(_, region)] = regions else { return None };
    let CheckedRun { bound, findings, .. } = checked;
    if findings.pairs.len() < MIN_STEPS || bound.problem.y0.len() > MAX_FINE || region.limit(C::new(0.0, 1.0)) > 0.0 {
        return None;
    }
    let steps = (bound.problem.t_end - bound.problem.t0).abs() / h;
    let mut least: Option<(f64, ConstantStepFault)> = None;
    for pair in &findings.pairs {
        let moment = &pair.from;
        let spectrum = mode::spectrum(checked, moment)?;
        let factors = spectrum.values.iter().filter_map(|lambda| {
            let z = scaled(*lambda, h).filter(|z| region.defined(*z))?;
            Some((steps * region.at(z).ln(), *lambda))
        });
        let (growth, lambda) = factors.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if growth <= TOTAL_AMPLIFICATION.ln() {
            return None;
        }
        if least.as_ref().is_none_or(|(other, _)| growth < *other) {
            let mode = mode::mode(checked, &spectrum, lambda, lambda);
            // a damped oscillation has a stable step, if a short one
            let limit = decaying(lambda).map(|direction| region.limit(direction) / lambda.norm());
            let step = limit.filter(|limit| limit.is_finite()).unwrap_or(0.0);
            let fault = Fault::SlowlyAmplified;
            least = Some((growth, ConstantStepFault { fault, step, mode, moment: moment.clone() }));
        }
    }
    least.map(|(_, case)| case)
}
