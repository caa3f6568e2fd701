//! From the checked model to the program: arrays, the kernels for f, initial values and outputs, the mass matrix. A
//! model without index sets takes the same path, and gets kernels without loops.

mod builder;
mod cases;
mod conditions;
mod coupling;
mod events;
mod explicit;
mod extents;
mod flat;
mod index;
pub(crate) mod index_reduction;
mod initial;
mod inputs;
mod kernels;
mod linear;
mod quantities;
mod rates;
mod read;
mod reduce;
mod scatter;
mod solve;
mod structure;
pub(crate) mod switches;
mod world;
mod zero_rows;

use std::sync::Arc;

use odec_ir::derive::{DerivativeArrays, DerivativeBy};
use odec_ir::nest::{Axis, Extent};
use odec_ir::switch::{self, EventDraft, LocatedSwitches};
use odec_ir::{
    Array, ArrayId, InvariantStage, Invariants, Kernel, KernelRole, Program, Span, StateElement, derive, repeat,
};

use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, Overrides};
use crate::report::error;
use world::LoweringContext;

pub use flat::MAX_ELEMENTS as MAX_CONSTRAINED_ELEMENTS;

/// The result of lowering, or the reasons why it failed.
pub(crate) type Fallible<T> = Result<T, Vec<Diagnostic>>;

/// A failure with one reason.
pub(crate) fn refuse<T>(report: Diagnostic) -> Fallible<T> {
    Err(vec![report])
}

/// The error for an equation that determines no derivative; `form` shows how to write one.
fn algebraic(equation: Span, form: &str) -> Diagnostic {
    let headline = "this equation has no derivative, and the model declares no `unknown` that it could determine";
    let help = format!(
        "declare the quantity that it determines, `unknown z = 0`, with a guess; or write the derivative of a state \
         with a prime, `{form}`"
    );
    error(&codes::E0503, headline, equation, "this equation contains no derivative").help(help)
}

/// The message if a matrix of derivatives was left out because of its size.
fn too_dense(model: &Model, mass: bool) -> Diagnostic {
    let (states, limit) = (model.states.len(), derive::MAX_DERIVATIVE_TERMS);
    let what = if mass { "the mass matrix" } else { "the equations" };
    let headline = format!("the derivatives of {what} with respect to {states} states need more than {limit} products");
    let report = match model.equations.first() {
        Some(first) => {
            let all = first.span.to(model.equations[model.equations.len() - 1].span);
            Diagnostic::error(&codes::E0508, headline).label(all, "")
        }
        None => Diagnostic::error(&codes::E0508, headline),
    };
    report.help("too many equations depend on too many states for exact derivatives: divide the model")
}

/// A program before its derivatives.
#[derive(Clone)]
pub(crate) struct Draft {
    pub arrays: Vec<Array>,
    pub kernels: Vec<Kernel>,
    pub axes: Vec<Axis>,
    pub extents: Vec<Extent>,
    pub events: EventDraft,
    /// Invariants, if constraints were differentiated.
    pub invariants: Option<InvariantDraft>,
}

/// [`Invariants`] before their derivatives.
#[derive(Clone)]
pub(crate) struct InvariantDraft {
    pub kernels: Vec<Kernel>,
    pub stages: Vec<InvariantStage>,
    pub derived: Vec<InvariantStage>,
    pub unknowns: Vec<StateElement>,
    pub direct: Vec<StateElement>,
    pub constraints: Vec<(Span, u32)>,
}

impl InvariantDraft {
    /// Adds derivatives with respect to parameters: derivatives of invariants are zero too, and determine those of
    /// the states.
    fn differentiate(&mut self, all: &[DerivativeArrays]) {
        derive::sensitivities_with(&mut self.kernels, all);
        let derivative = |by: &DerivativeArrays, of: &StateElement| {
            by.derivative(of.array).map(|array| StateElement { array, ..*of })
        };
        let differentiated =
            |by: &DerivativeArrays, list: &[StateElement]| list.iter().filter_map(|of| derivative(by, of)).collect();
        for by in all {
            let stage = |s: &InvariantStage| InvariantStage {
                rows: differentiated(by, &s.rows),
                columns: differentiated(by, &s.columns),
            };
            self.derived.extend(self.stages.iter().map(stage));
        }
    }
}

thread_local! {
    static DRAFTS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Number of drafts that this thread has made. Tests use it to check that a model is lowered once.
#[doc(hidden)]
pub fn drafts_made() -> u64 {
    DRAFTS.get()
}

/// The draft of a model.
pub(crate) fn draft(model: &Model, overrides: &Overrides) -> Fallible<Draft> {
    DRAFTS.set(DRAFTS.get() + 1);
    let values = model.values(overrides)?;
    let wrong = model.check_sizes(&values);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut coupled = coupling::coupled(model);
    loop {
        let mut world = LoweringContext::new(model, &values, coupled.clone())?;
        let kernels = kernels::kernels(&mut world)?;
        let events = events::draft(&mut world)?;
        let LoweringContext { arrays, extents, wanted, invariants, .. } = world;
        if wanted.is_empty() {
            let (axes, extents) = (extents.axes, extents.list);
            return Ok(Draft { arrays: arrays.list, kernels, axes, extents, events, invariants });
        }
        // States whose derivatives are used beyond an edge become coupled; there are finitely many.
        coupled.extend(wanted);
    }
}

impl Draft {
    /// The draft with modes instead of comparisons, if there are any.
    pub fn located(&self) -> Option<(Draft, LocatedSwitches)> {
        if !switch::switches(&self.arrays, &self.kernels) && self.events.is_empty() {
            return None;
        }
        let mut draft = self.clone();
        let Draft { arrays, axes, kernels, events, invariants, .. } = &mut draft;
        // the invariants switch together with the equations
        let own = kernels.len();
        if let Some(kept) = invariants.as_mut() {
            kernels.append(&mut kept.kernels);
        }
        let sketch = switch::locate(arrays, axes, kernels, events);
        let rest = kernels.split_off(own);
        if let Some(kept) = invariants {
            kept.kernels = rest;
        }
        let sketch = sketch?;
        Some((draft, sketch))
    }

    /// Derivatives by these parameters as further states and outputs.
    pub fn with_sensitivities(mut self, by: &[DerivativeBy]) -> Draft {
        self.add_sensitivities(by, &[]);
        self
    }

    /// Adds sensitivities, and returns the arrays of the derivatives; discretes in `steady` get none.
    pub fn add_sensitivities(&mut self, by: &[DerivativeBy], steady: &[ArrayId]) -> Vec<DerivativeArrays> {
        let all = derive::sensitivities(&mut self.arrays, &mut self.kernels, by, steady);
        if let Some(draft) = &mut self.invariants {
            draft.differentiate(&all);
        }
        all
    }

    /// Repeated expressions as loops ([`repeat::looped`]), unless something switches or is differentiated: the
    /// programs of events and invariants share the arrays of this one, and have no loops.
    pub fn looped(mut self) -> Draft {
        let plain = self.events.is_empty() && self.invariants.is_none();
        if plain && !switch::switches(&self.arrays, &self.kernels) {
            self.kernels = repeat::looped(&mut self.arrays, &mut self.axes, self.kernels);
        }
        self
    }

    /// The program, with derivatives.
    pub fn complete(mut self, model: &Model) -> Result<Program, Vec<Diagnostic>> {
        switch::without_smooth(&mut self.kernels);
        let name = model.name.clone();
        let invariants = self.invariants.take().map(|draft| {
            let InvariantDraft { mut kernels, stages, derived, unknowns, direct, constraints } = draft;
            switch::without_smooth(&mut kernels);
            let (arrays, axes, extents) = (self.arrays.clone(), self.axes.clone(), self.extents.clone());
            let program = derive::complete_over(arrays, axes, extents, kernels, name.clone());
            Arc::new(Invariants { program, stages, derived, unknowns, direct, constraints })
        });
        let mut program = derive::complete_over(self.arrays, self.axes, self.extents, self.kernels, name);
        program.invariants = invariants;
        let mass = program.mass_varies() && !program.has(KernelRole::MassJacobian);
        if mass || (program.has(KernelRole::Rhs) && !program.has(KernelRole::Jacobian)) {
            return Err(vec![too_dense(model, mass)]);
        }
        Ok(program)
    }
}
