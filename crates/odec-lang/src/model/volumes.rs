//! The volumes of compartments at the start of a run: concentrations in a volume of 0 or less have no meaning.

use odec_ir::Span;

use super::{Level, Model, Symbol, Values};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;

impl Model {
    /// One message for each volume that is not positive at these values. Volumes with a formula for each element are
    /// not examined.
    pub(super) fn empty_volumes(&self, values: &Values) -> Vec<Diagnostic> {
        self.volumes.iter().filter_map(|&volume| self.empty_volume(volume, values)).collect()
    }

    fn empty_volume(&self, volume: Symbol, values: &Values) -> Option<Diagnostic> {
        let (found, span): (f64, Span) = match volume {
            Symbol::Parameter(i) if self.parameters[i].indexed.is_scalar() => {
                (values.parameters[i], self.parameters[i].span)
            }
            Symbol::Parameter(i) => {
                let least = values.parameter_data[i].iter().copied().fold(f64::INFINITY, f64::min);
                (least, self.parameters[i].span)
            }
            Symbol::Definition(i) => (values.definitions[i], self.definitions[i].span),
            Symbol::State(i) if self.states[i].indexed.is_scalar() => {
                let state = &self.states[i];
                let given = values.initial.iter().find(|(of, order, _)| (*of, *order) == (i, 0)).map(|(.., x)| *x);
                let body = *state.initial.first()?;
                let known = || (self.level(body) <= Level::Parameter).then(|| self.number(body, values));
                (given.or_else(known)?, state.span)
            }
            _ => return None,
        };
        // a value that is not known before the run is NaN
        if !(found <= 0.0) {
            return None;
        }
        let name = odec_ir::names::plain(self.name_of(volume));
        let headline = format!("the volume of a compartment must be positive, but `{name}` is {found} at the start");
        let report = error(&codes::E0591, headline, span, "the volume of a compartment");
        Some(report.help("choose a positive volume: the concentrations of its species are amounts divided by it"))
    }
}
