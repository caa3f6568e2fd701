//! Chooses the method, the tolerances and the limit of steps of a second run.

use odec_ode::method::auto::{METHOD, TIGHTEST_EXPLICIT, uses_series};
use odec_ode::method::explicit::{vern7, vern9};
use odec_ode::method::radau::radau5;
use odec_ode::method::{Family, Method};
use odec_ode::system::{Mass, System};

use super::TIGHTEST_RTOL;
use super::sum;
use crate::bind::Bound;
use crate::columns::Columns;
use crate::monitor::Findings;

/// Tolerance of the second run relative to the first.
pub const TIGHTER: f64 = 0.1;
/// The same for a series, which takes nearly the same steps with a tenth of the tolerance, and repeats its errors; and for
/// `auto` with a large tolerance: with a tenth of it, `auto` takes a method of order 7 instead of 5, whose errors may be as
/// large.
const TIGHTER_SERIES: f64 = 0.01;
/// A large relative tolerance for `auto`.
const LOOSE_RTOL: f64 = 3e-4;
/// Largest number of steps of the second run, relative to the first: at a tenth of the tolerance, methods of order 4
/// take 1.8 times the steps. A run that takes more than twice the steps has overlooked an oscillation, as with one step
/// for each period, and its errors may be of one sign.
pub const MAX_STEP_RATIO: u64 = 4;
/// Additional steps of the second run: a short run may need them for the smaller tolerance, at which `auto` may choose
/// other methods. For many unknowns, there are fewer, because each takes longer: this number divided by the number of unknowns,
/// but at least the second number.
pub const ADDITIONAL_STEPS: [u64; 2] = [100_000, 200];
/// Method of the second run: the same method if a smaller tolerance reduces its errors for little more work,
/// otherwise one of high order that needs no code beyond that of the first run.
fn method(bound: &Bound, rtol: f64, grows: bool) -> &'static Method {
    let own = bound.choice.method;
    // several steps share the errors of the energy of a constrained motion: they hardly become smaller with the tolerance
    let constrained = matches!(own.family, Family::Multistep) && bound.executor.invariants().is_some();
    // the steps of Adams methods share their errors in the same way
    let constrained = constrained || matches!(own.name, "abm");
    let exact = !constrained && if grows { sum::is_reference(own) } else { sum::is_exact(own) };
    if own.name == METHOD.name || exact { own } else { other_method(bound, rtol) }
}

/// A method of high order and of one step that needs no code beyond that of the first run.
pub fn other_method(bound: &Bound, rtol: f64) -> &'static Method {
    if bound.choice.method.structure.jacobian || !matches!(bound.executor.mass(), Mass::Identity) {
        &radau5::METHOD
    } else if rtol < TIGHTEST_EXPLICIT {
        &vern9::METHOD
    } else {
        &vern7::METHOD
    }
}

/// True if a series made the steps of a run.
pub fn is_series(bound: &Bound, findings: &Findings) -> bool {
    let method = bound.choice.method;
    let chosen = method.name == METHOD.name && !findings.implicit;
    matches!(method.family, Family::Taylor) || chosen && uses_series(&bound.executor, &bound.options)
}

/// The run with this part of the tolerance, which records the states.
pub fn tighter(bound: &Bound, findings: &Findings, grows: bool, part: f64) -> Bound {
    let mut other = bound.fork();
    let loose = bound.choice.method.name == METHOD.name && bound.options.rtol >= LOOSE_RTOL;
    let part = if is_series(bound, findings) || loose { part.min(TIGHTER_SERIES) } else { part };
    let part = part.max(TIGHTEST_RTOL / bound.options.rtol);
    let options = &mut other.options;
    // `auto` takes a series for smaller tolerances than the other methods, and compiling it takes longer than most runs,
    // so the second run has one only if the first run has compiled it
    options.series = bound.choice.method.name == METHOD.name && uses_series(&bound.executor, &bound.options);
    options.rtol *= part;
    options.atol.iter_mut().for_each(|atol| *atol *= part);
    other.choice.method = method(bound, options.rtol, grows);
    record_states(&mut other);
    other
}

/// Lets a second run record its states.
pub fn record_states(other: &mut Bound) {
    // for so few steps, compiling more code is not worthwhile
    (other.options.fused_steps, other.options.eliminator) = (false, None);
    other.columns = Columns::new("", other.states.clone(), other.states.clone());
    other.columns.add_states();
}

/// Limit of the steps of a second run, if the first took so many.
pub fn step_limit(bound: &Bound, steps: u64) -> u64 {
    let [all, least] = ADDITIONAL_STEPS;
    MAX_STEP_RATIO * steps + (all / bound.problem.y0.len().max(1) as u64).max(least)
}
