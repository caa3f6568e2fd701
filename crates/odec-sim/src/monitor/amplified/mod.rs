//! Errors that the model amplifies, as in chaos or near an equilibrium that repels: the tolerance bounds the error of a step,
//! and rows can miss it by any factor. Where eigenvalues with a positive real part make that possible, a second run with a
//! smaller tolerance follows the first one, and the difference of their rows is the error. It is bounded: growth that
//! matters shows early in a long run.

mod course;
mod growth;
mod second;

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::accelerated::Accelerated;

use super::report::{self, Judged, power_below, typed};
use crate::bind::Bound;
use crate::blame::{declared, number};

pub use course::Course;
use second::{GROWN, MISSED, Miss};

/// Most unknowns of a run that is looked at: the work for growth increases with the third power.
const MOST: usize = 40;
/// Growth of an error, as a power of e, from which a second run is made: a factor of 50.
const GROWTH: f64 = 4.0;
/// Smallest tolerance that a run can meet.
const TIGHTEST: f64 = 1e-13;

/// What is kept of a run, if it is looked at.
pub(super) fn course(bound: &Bound) -> Course {
    let (n, sensitivities) = (bound.problem.y0.len(), bound.executor.groups() > 1);
    let watched = !bound.options.fixed && !sensitivities && n <= MOST && bound.options.rtol > 10.0 * TIGHTEST;
    if watched { Course::new(n) } else { Course::default() }
}

/// The warning about rows that miss their tolerance because errors grow. `stop` ends the second run.
pub fn found(judged: &Judged<'_>, stop: &dyn Fn() -> bool) -> Option<Diagnostic> {
    let Judged { bound, findings, .. } = judged;
    if !findings.ended || findings.course.rows().len() < 2 {
        return None;
    }
    let grown = growth::growth(bound, findings)?;
    if grown < GROWTH {
        return None;
    }
    let miss = second::compared(bound, findings, stop)?;
    // an absolute tolerance that was too large is a cause to mend
    report::outgrown(judged).is_none().then(|| told(judged, &miss))
}

fn told(judged: &Judged<'_>, miss: &Miss) -> Diagnostic {
    let Judged { bound, model, .. } = judged;
    let two = |x: f64| number(format!("{x:.1e}").parse().unwrap_or(x));
    let time = &model.time.name;
    let name = bound.states.name(miss.place);
    let headline = format!(
        "errors of the steps grow: from {time} = {} on, rows are off by more than {} times the tolerance",
        number(miss.since),
        number(MISSED)
    );
    let mut d = Diagnostic::warning(&codes::W0622, headline);
    // the place that stays the same from run to run is the first, so that a comment there can turn the warning off
    if let Some(span) = bound.asked.rtol {
        d = d.label(span, "each step keeps to this");
    }
    if let Some(state) = declared(model, &bound.states, miss.place) {
        let says = format!(
            "`{name}` is off by about {} at {time} = {}, {} times its tolerance",
            two(miss.error),
            number(miss.at),
            two(miss.times)
        );
        d = d.label(model.states[state].span, says);
    }
    let help = match better(bound, miss) {
        _ if miss.error > GROWN * miss.size => format!(
            "smaller tolerances only delay this: end the run near {time} = {}, or use results that do not depend on \
             single errors, such as averages over a long time",
            number(miss.since)
        ),
        Some(tolerance) => {
            let rtol = typed("rtol", &number(tolerance), bound.asked.rtol.is_some());
            let atol = match bound.options.atol[..] {
                [atol] => {
                    let part = two(atol * tolerance / bound.options.rtol);
                    format!(" and {}", typed("atol", &part, bound.asked.atol.is_some()))
                }
                _ => String::new(),
            };
            format!("the tolerance bounds the error of each step, and the model amplifies it: set {rtol}{atol}")
        }
        None => format!(
            "the tolerance bounds the error of each step, and the model amplifies it; a tolerance that is {} times \
             smaller is less than rounding errors: count on the digits that remain, or end the run near {time} = {}",
            number(power_above(miss.times)),
            number(miss.since)
        ),
    };
    d.help(help)
}

/// The tolerance with which rows would be as right as this run was asked to make them; none that rounding errors exceed.
fn better(bound: &Bound, miss: &Miss) -> Option<f64> {
    let tolerance = power_below(bound.options.rtol / miss.times);
    (tolerance >= TIGHTEST).then_some(tolerance)
}

/// The power of ten that is not below `x`.
fn power_above(x: f64) -> f64 {
    1.0 / power_below(1.0 / x)
}
