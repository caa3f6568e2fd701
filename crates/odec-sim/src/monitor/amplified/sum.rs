//! Estimates how far the errors of many steps can add up, from the linearised system at some ends of steps, with an error of
//! one tolerance in each step. If the equations damp errors, only those of the last steps remain; otherwise all of them do.

use nalgebra::{DMatrix, DVector};

use odec_ode::method::Method;
use odec_ode::method::auto::METHOD;

use crate::bind::Bound;
use crate::monitor::Findings;

use super::course::At;
use super::growth::{Linearised, Slopes};
use super::probe;

/// Largest share of the tolerance for a method whose steps are more accurate than its estimates.
const EXACT: f64 = 0.25;
/// Least order of such a method: after a method of lower order, a second run of high order costs little.
const HIGH: u32 = 4;
/// Fraction of the limit that the measured errors have to reach, because other steps may have larger errors.
const SURE: f64 = 0.5;
/// The second run shows how its errors add up after this part of the run, given as a divisor.
const EARLY: usize = 4;
/// Up to this amplification, growth is not examined.
const AMPLIFIED: f64 = 50.0;
/// Evaluations of f for the derivatives at the points.
const EVALUATIONS: usize = 120;
/// Operations for linear equations at the points, divided by the third power of the number of unknowns.
const WORK: usize = 400_000;
/// These budgets have to suffice for at least this number of points.
const POINTS: usize = 8;
/// Largest norm of df/dy times a part of an interval for which one step of the formula below is accurate.
const SHORT: f64 = 0.25;
/// Largest number of halvings of an interval. Even faster motions have decayed.
const HALVED: i32 = 5;
/// The pole of the L-stable formula of order 2 that advances errors over a part of an interval, 1 - sqrt(1/2).
const POLE: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;

/// Error of a step in tolerances, as it counts in the sum: the 90th percentile of the error of a run, divided by the sum, of
/// 280 runs of 100 problems at rtol 1e-4, 1e-6 and 1e-8. Methods that continue with the better of two solutions estimate the
/// error of the other one.
const SHARES: [(&[&str], f64); 6] = [
    (&["ros2", "sdirk2", "taylor", "abm2"], 0.003),
    (&["vern7", "vern9", "radau5"], 0.03),
    (&["rodas3", "rodas4", "abm3", "abm4"], 0.05),
    (&["bs32", "tsit5", "rodas5p", "bdf", "abm", "kencarp4"], 0.12),
    (&["dopri5", "cash-karp", "dop853"], 0.25),
    (&["rk4", "rkf45", "ssprk33", "tr-bdf2"], 0.6),
];
/// The same for the other methods, which estimate the error of the solution with which they continue.
const WHOLE: f64 = 0.8;

/// Returns whether the steps of a method are more accurate than its estimates.
pub fn is_exact(method: &Method) -> bool {
    share(method) <= EXACT && method.order >= HIGH
}

/// See [`SHARES`].
fn share(method: &Method) -> f64 {
    SHARES.iter().find(|(names, _)| names.contains(&method.name)).map_or(WHOLE, |(_, share)| *share)
}

/// The errors that add up during a run, as far as they are known before a second run.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// Times, each after as many steps as the one before, and the errors there in tolerances; empty if the whole second run
    /// counts.
    points: Vec<(f64, f64)>,
}

impl Prospect {
    /// The error at the end of the run if it has been this large up to `t`; `None` if it is too early to tell.
    pub fn at_end(&self, t: f64, error: f64) -> Option<f64> {
        let (start, end) = (self.points.first()?.0, self.points.last()?);
        let known = self.points.iter().filter(|point| (point.0 - start).abs() <= (t - start).abs());
        let (number, so_far) = known.fold((0, 0.0f64), |(number, most), point| (number + 1, most.max(point.1)));
        (number * EARLY > self.points.len() && so_far > 0.0).then(|| error * end.1 / so_far)
    }
}

/// The errors of the steps, if they can add up to more than this many tolerances. Some of them are measured.
pub fn beyond(bound: &Bound, findings: &Findings, many: f64) -> Option<Prospect> {
    let share = share(bound.choice.method);
    // no two errors cancel, so the sum is at most their number if the model does not amplify them
    if bound.choice.method.name == METHOD.name || findings.steps as f64 * share * AMPLIFIED < many {
        return None;
    }
    let points = sum(bound, findings)?;
    let sum = points.last()?.1;
    if sum * share < many {
        return None;
    }
    if !is_exact(bound.choice.method) {
        // nearly all of them do, and a second run of high order costs little compared with the first one
        return Some(Prospect { points: vec![] });
    }
    probe::share(bound, findings).is_none_or(|share| sum * share > many * SURE).then_some(Prospect { points })
}

/// The largest errors up to points of the run, in tolerances, if each step has an error of one tolerance and no two of them
/// cancel.
fn sum(bound: &Bound, findings: &Findings) -> Option<Vec<(f64, f64)>> {
    let start = At { t: bound.problem.t0, y: &bound.problem.y0 };
    let all: Vec<At<'_>> = std::iter::once(start).chain(findings.course.steps()).collect();
    let n = start.y.len();
    let most = (EVALUATIONS / (n + 1)).min(WORK / n.pow(3)).max(POINTS).min(all.len());
    if most < 2 {
        return None;
    }
    let slopes = Slopes::new(bound, findings);
    let made = findings.steps as f64 / (most - 1) as f64;
    let mut error = DVector::zeros(n);
    let (mut largest, mut before, mut points) = (0.0f64, None, vec![]);
    for k in 0..most {
        let point = all[k * (all.len() - 1) / (most - 1)];
        let now = slopes.at(point);
        let new = DVector::from_vec(slopes.seed(point)).abs() * made;
        if let (Some((t, earlier)), Some(now)) = (&before, &now) {
            error = pass(earlier, now, point.t - t, &error, new)?;
            largest = error.iter().fold(largest, |most, e| most.max(*e));
        }
        points.push((point.t, largest));
        before = now.map(|now| (point.t, now));
    }
    Some(points)
}

/// Advances the sizes of errors over an interval of this length, and adds the new errors.
pub fn pass(
    from: &Linearised,
    to: &Linearised,
    h: f64,
    error: &DVector<f64>,
    new: DVector<f64>,
) -> Option<DVector<f64>> {
    let n = new.len();
    let matrix = |values: &[f64]| DMatrix::from_row_slice(n, n, values);
    let mut exponent = (matrix(&from.jacobian) + matrix(&to.jacobian)) * (0.5 * h);
    let norm = exponent.row_iter().map(|row| row.abs().sum()).fold(0.0, f64::max);
    if !norm.is_finite() {
        return None;
    }
    let halved = ((norm / SHORT).log2().ceil() as i32).clamp(0, HALVED);
    exponent *= 0.5f64.powi(halved);
    let mass = to.mass.as_deref().map_or_else(|| DMatrix::identity(n, n), matrix);
    let factors = (&mass - &exponent * POLE).lu();
    let formula = |numerator: DMatrix<f64>| factors.solve(&(&mass * factors.solve(&numerator)?));
    let mut over = formula(&mass + &exponent * (1.0 - 2.0 * POLE))?;
    let mut made = (formula(&mass - &exponent * (POLE * POLE))? * new * 0.5f64.powi(halved)).abs();
    for _ in 0..halved {
        made += (&over * &made).abs();
        over = &over * &over;
    }
    let error = (over * error).abs() + made;
    error.iter().all(|e| e.is_finite()).then_some(error)
}
