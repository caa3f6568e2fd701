//! Runs that fail because errors of their steps brought the solution to a place where the equations have no value: the
//! energy of a numerical orbit decays until it meets the centre. A second run with a smaller tolerance passes that time,
//! or shows that the rows before it are wrong.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::problem::{self, Failure};

use super::second::{self, Checked};
use super::tighter::TIGHTER;
use super::{GrowthCause, SecondRun, TIGHTEST_RTOL, WrittenErrors, diagnostic, power_below, set};
use crate::blame::number;
use crate::monitor::report::CheckedRun;

/// The second run must pass the time of the failure by this fraction of the run: its singularity, if it has one, is at a
/// slightly different time.
const PASSED_FRACTION: f64 = 0.01;

/// If it does not pass it, rows are compared until this fraction of the run before the failure.
const COMPARED_UNTIL: f64 = 1e-3;

/// The warning about the rows before a failure that errors of the steps have caused, and the second run, if there was
/// one.
pub fn found_before(checked: &CheckedRun<'_>, failure: &Failure) -> (Option<Diagnostic>, Option<SecondRun>) {
    let CheckedRun { bound, model, findings, .. } = checked;
    let at_singularity = matches!(
        failure.cause,
        problem::Cause::StepCollapsed { .. }
            | problem::Cause::NonFiniteRhs { .. }
            | problem::Cause::NewtonFailed { .. }
    );
    if !at_singularity || !super::is_watched(checked) {
        return (None, None);
    }
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    let beyond = failure.t + PASSED_FRACTION * (failure.t - t0);
    let mut until = bound.fork();
    until.problem.t_end = if (beyond - t_end) * (t_end - t0) > 0.0 { t_end } else { beyond };
    let (passes, mut made) = second::reaches_end(&until, findings, checked.stop);
    let written = WrittenErrors::of(bound, findings);
    if !passes {
        // the solution itself ends there; its time may be wrong, and with it the rows before
        until.problem.t_end = failure.t - COMPARED_UNTIL * (failure.t - t0);
        let (seen, another) = second::compared(checked, (&until, findings.steps, TIGHTER), None, &written);
        let Checked::Missed(miss) = seen else { return (None, None) };
        made.add(another);
        return (Some(diagnostic(checked, GrowthCause::Growth, &miss)), Some(made));
    }
    let (method, time, t) = (bound.choice.method.name, &model.time.name, number(failure.t));
    let tolerance = power_below(0.1 * bound.options.rtol).max(TIGHTEST_RTOL);
    let help = format!("with {}, the run passes {time} = {t}", set(checked, tolerance, true));
    until.problem.t_end = failure.t;
    let (seen, another) = second::compared(checked, (&until, findings.steps, TIGHTER), None, &written);
    made.add(another);
    if let Checked::Missed(miss) = seen {
        let d = diagnostic(checked, GrowthCause::Growth, &miss).help(format!(
            "the tolerance bounds the error of each step, and not their sum, which brought the solution to the place of \
             the failure: {help}"
        ));
        return (Some(d), Some(made));
    }
    let headline = format!("errors of {} steps of `{method}` have caused the failure", findings.steps);
    let mut d = Diagnostic::warning(&codes::W0622, headline);
    if let Some(span) = bound.asked.rtol {
        d = d.label(span, "this bounds the error of each step");
    }
    (Some(d.help(help)), Some(made))
}
