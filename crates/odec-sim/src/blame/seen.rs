//! Messages about failed runs whose cause earlier steps had shown.

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_ode::problem::{Cause, Failure};

use super::{failed, number};
use crate::monitor::report::{self, CheckedRun};

/// Like [`failed`], but with the cause that the monitor saw instead of a guess. For a warning in `said`, which was
/// already given, only the code is named.
pub fn failed_seen(checked: &CheckedRun<'_>, failure: &Failure, said: &[&'static Code]) -> Diagnostic {
    let d = failed(checked.model, checked.source, checked.bound, failure);
    let explains = |warning: &Diagnostic| {
        let code = warning.code;
        match failure.cause {
            Cause::TooManySteps { .. } => true,
            Cause::NonFiniteState { .. } | Cause::NonFiniteRhs { .. } | Cause::NonFiniteJacobian { .. } => {
                code == &codes::W0603 || code == &codes::W0605
            }
            _ => code == &codes::W0605,
        }
    };
    let seen = report::during_run(checked).into_iter().find(explains);
    let overflows = matches!(failure.cause, Cause::NonFiniteState { .. } | Cause::NonFiniteRhs { .. });
    let seen = seen.or_else(|| report::in_the_end(checked).filter(explains));
    let Some(warning) = seen.or_else(|| report::at_overflow(checked).filter(|_| overflows)) else {
        return match report::grown_beyond_tolerance(checked) {
            Some(warning) => with_tolerance(d, warning),
            None => d,
        };
    };
    if said.contains(&warning.code) {
        with_code(d, &warning, failure, checked)
    } else {
        with_cause(d, warning, failure, checked)
    }
}

/// Adds the growth of an error beyond its tolerance: the failure may not belong to a solution of the model.
fn with_tolerance(mut d: Diagnostic, warning: Diagnostic) -> Diagnostic {
    let state = shown_state(d.help.take());
    let lines = [Some(format!("before that, {}", warning.headline)), warning.help, state];
    d.help = Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    d
}

/// The last line of the help, which shows the state.
fn shown_state(help: Option<String>) -> Option<String> {
    help.and_then(|help| help.rsplit_once('\n').map(|(_, state)| state.to_string()))
}

/// True if a state grew until it overflowed: then the first term that is not finite is not the cause.
fn has_overflowed(warning: &Diagnostic, failure: &Failure) -> bool {
    !matches!(failure.cause, Cause::TooManySteps { .. }) && warning.code == &codes::W0605
}

/// Replaces the guess by the code of a warning that was already given.
fn with_code(mut d: Diagnostic, warning: &Diagnostic, failure: &Failure, checked: &CheckedRun<'_>) -> Diagnostic {
    if has_overflowed(warning, failure) {
        let time = &checked.model.time.name;
        d.headline = format!("the run overflowed at {time} = {}", number(failure.t));
        d.labels.clear();
    }
    let lines = [Some(format!("see the warning {} above", warning.code)), shown_state(d.help.take())];
    d.help = Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    d
}

/// Replaces the guess by the observed cause; keeps the last line of the help, which shows the state.
fn with_cause(mut d: Diagnostic, warning: Diagnostic, failure: &Failure, checked: &CheckedRun<'_>) -> Diagnostic {
    let time = &checked.model.time.name;
    let state = shown_state(d.help.take());
    if has_overflowed(&warning, failure) {
        d.headline = format!("{}, and overflowed at {time} = {}", warning.headline, number(failure.t));
        d.labels.clear();
    } else {
        d.headline = format!("{}; {}", d.headline, warning.headline);
        d.labels.retain(|_| !matches!(failure.cause, Cause::TooManySteps { .. } | Cause::NonFiniteState { .. }));
    }
    let mut labels = warning.labels;
    labels.extend(d.labels);
    d.labels = labels;
    let lines = [warning.help, state];
    d.help = Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    d
}
