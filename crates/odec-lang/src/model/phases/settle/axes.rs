//! Checks that coordinates are known before a run: they may depend on numbers, constants, parameters and their index.

use crate::diagnostic::codes;
use crate::model::phases::reports::Reports;
use crate::model::{Level, Model, Symbol};
use crate::report::error;

/// Refuses coordinates that change during a run, or that are defined in parts.
pub(super) fn check(model: &Model, reports: &mut Reports) {
    for axis in &model.axes {
        let Symbol::Definition(i) = axis.array else { continue };
        let definition = &model.definitions[i];
        let name = &definition.name;
        if model.definition_levels[i] > Level::Parameter {
            let headline = format!("the coordinate `{name}` changes during the run");
            reports.say(
                error(&codes::E0540, headline, model.span(definition.value), "it depends on states or time")
                    .label(axis.span, "the coordinate of an index")
                    .help("compute it from numbers, constants, parameters and the index, or record it with `output`"),
            );
        } else if model.pieces.iter().any(|piece| piece.definition == i) {
            let headline = format!("the coordinate `{name}` has several parts");
            reports.say(
                error(&codes::E0540, headline, axis.span, "it needs a single formula")
                    .help("choose between the parts with `if`: `axis x[i] = if i < 5 then ... else ...`"),
            );
        }
    }
}
