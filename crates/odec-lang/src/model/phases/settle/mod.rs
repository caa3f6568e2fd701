//! The last phases: from a model whose expressions are terms to a model that can run. They use only the model, so
//! they work for all front ends.

mod axes;
mod bounds;
mod conditions;
mod cycles;
pub(crate) mod events;
mod orders;
mod owners;
pub(crate) mod runs;

use odec_ir::Span;

use super::reports::Reports;
use crate::diagnostic::Diagnostic;
use crate::model::{Body, Model};
use crate::source::Source;
pub(crate) use orders::two_equations;

/// An initial value as it is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialValue {
    /// An element of [`Model::states`].
    pub state: usize,
    /// The order of the derivative.
    pub order: u8,
    /// The value, if there is one.
    pub value: Option<Body>,
    /// The declaration.
    pub span: Span,
    /// The empty location after the declaration.
    pub end: Span,
}

/// Finds the order of each state with its initial values, the orders of evaluation, and the owner of each equation.
/// After an error the model is incomplete.
pub(crate) fn order(model: Model, starts: &[InitialValue], source: &Source) -> (Model, Vec<Diagnostic>) {
    let mut reports = Reports::default();
    let mut model = orders::find(model, starts, source, &mut reports);
    if reports.has_no_errors() {
        model = cycles::find(model, &mut reports);
    }
    if reports.has_no_errors() {
        model = owners::find(model, &mut reports);
        axes::check(&model, &mut reports);
        events::check(&mut model, &mut reports);
        bounds::check(&model, &mut reports);
    }
    (model, reports.into_list())
}
