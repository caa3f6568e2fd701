//! Bounds of states once their orders are known: of a state, and by what does not change during a run.

use crate::model::phases::reports::Reports;
use crate::model::{Level, Model};
use crate::report::error;

/// Checks the bounds of all states.
pub(super) fn check(model: &Model, reports: &mut Reports) {
    for state in &model.states {
        for bound in &state.bounds {
            let name = state.derivative(bound.order);
            if bound.order >= state.order {
                let headline = format!("`{name}` follows from the equations and has no bound");
                let report = error("E0553", headline, bound.span, "a bound of what no step can change");
                let help = format!("bound the state itself, `{} >= 0`, or bound the terms of its equation", state.name);
                reports.say(report.help(help));
            } else if let Some(unknown) = model.states.iter().find(|state| state.algebraic) {
                let headline = format!("`{name}` has a bound, in a model with algebraic unknowns");
                let report = error("E0553", headline, bound.span, "not kept in this version");
                let report = report.label(unknown.span, "an algebraic unknown");
                reports.say(report.help("leave the bound out, or write what the unknown is as a definition"));
            } else if model.level(bound.value) > Level::Parameter {
                let headline = format!("the bound of `{name}` changes during the run");
                let report = error("E0553", headline, model.span(bound.value), "known before the run?");
                reports.say(report.help(
                    "a bound is made of numbers, constants and parameters; bound the difference as a state of its own",
                ));
            }
        }
    }
}
