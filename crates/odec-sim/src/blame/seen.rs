//! A run that failed for a reason that its steps had shown before.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::problem::{Cause, Failure};

use super::{failed, number};
use crate::monitor::report::{self, Judged};

/// As [`failed`], with the cause that was seen on the way in the place of a guess.
pub fn failed_seen(judged: &Judged<'_>, failure: &Failure) -> Diagnostic {
    let d = failed(judged.model, judged.source, judged.bound, failure);
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
    let seen = report::urgent(judged).into_iter().find(explains);
    let Some(warning) = seen.or_else(|| report::in_the_end(judged).filter(explains)) else { return d };
    with_cause(d, warning, failure, judged)
}

/// Puts what was seen where the guess stands; the last lines of the help, which show the state, stay.
fn with_cause(mut d: Diagnostic, warning: Diagnostic, failure: &Failure, judged: &Judged<'_>) -> Diagnostic {
    let time = &judged.model.time.name;
    let state = d.help.take().and_then(|help| help.rsplit_once('\n').map(|(_, state)| state.to_string()));
    if !matches!(failure.cause, Cause::TooManySteps { .. }) && warning.code == &codes::W0605 {
        // a number beyond the range is not the fault of the term that met it first
        d.headline = format!("{}, and left the range of numbers at {time} = {}", warning.headline, number(failure.t));
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
