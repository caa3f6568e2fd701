//! Checks bounds of states once their orders are known: they apply to states, and are constant during a run.

use crate::diagnostic::codes;
use crate::model::phases::reports::Reports;
use crate::model::{Level, Model};
use crate::report::error;

/// Checks the bounds of all states.
pub(super) fn check(model: &Model, reports: &mut Reports) {
    for state in &model.states {
        for bound in &state.bounds {
            let name = state.derivative(bound.order);
            if bound.order >= state.order {
                let headline = format!("the equations determine `{name}`, so it has no bound");
                let report = error(&codes::E0553, headline, bound.span, "no step can change this");
                let help =
                    format!("bound the state instead, `{} >= 0`, or bound the terms of its equation", state.name);
                reports.say(report.help(help));
            } else if let Some(unknown) = model.states.iter().find(|state| state.algebraic) {
                let headline = format!("odec does not support bounds in a model with algebraic unknowns: `{name}`");
                let report = error(&codes::E0553, headline, bound.span, "this bound");
                let report = report.label(unknown.span, "an algebraic unknown");
                reports.say(report.help("remove the bound, or write the unknown as a definition"));
            } else if model.level(bound.value) > Level::Parameter {
                let headline = format!("the bound of `{name}` changes during the run");
                let report =
                    error(&codes::E0553, headline, model.span(bound.value), "this is not known before the run");
                reports.say(report.help(
                    "compute the bound from numbers, constants and parameters; or write the difference as another \
                     state and bound that",
                ));
            }
        }
    }
}
