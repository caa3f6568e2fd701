//! From the checked model to the program: arrays, the kernels for f, initial values and outputs, the mass matrix. A
//! model without index sets takes the same path, and gets kernels without loops.

mod builder;
mod cases;
mod conditions;
mod coupling;
mod events;
mod extents;
mod flat;
mod index;
mod initial;
mod inputs;
mod kernels;
mod linear;
mod quantities;
mod rates;
mod read;
mod reduce;
mod reduction;
mod scatter;
mod solve;
mod structure;
mod switches;
mod world;
mod zero_rows;

use std::sync::Arc;

use odec_ir::derive::{DerivativeArrays, DerivativeBy};
use odec_ir::nest::{Axis, Extent};
use odec_ir::switch::{self, EventDraft, LocatedSwitches, Switching};
use odec_ir::{
    Array, ArrayId, InvariantStage, Invariants, Kernel, KernelRole, Program, Role, Span, StateElement, derive, repeat,
};

use crate::balance::{self, Balances};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Indexed, Model, Overrides, Values, parts_of};
use crate::report::error;
use crate::start;
use world::LoweringContext;

pub use flat::MAX_ELEMENTS as MAX_CONSTRAINED_ELEMENTS;

/// The result of lowering, or the reasons why it failed.
type Fallible<T> = Result<T, Vec<Diagnostic>>;

/// A failure with one reason.
fn refuse<T>(report: Diagnostic) -> Fallible<T> {
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

/// A program, with warnings about kernels that are probably a mistake.
pub struct Lowered {
    /// Kernels with derivatives.
    pub program: Program,
    /// Warnings to print before the run.
    pub warnings: Vec<Diagnostic>,
    /// The effect of the equations on each of [`Model::conserved`], on request.
    pub balances: Balances,
    /// The warning for runs with `program`, which evaluates comparisons at each call, so that steps do not end at its
    /// switches.
    pub unlocated_warning: Option<Diagnostic>,
    /// The program with modes instead of comparisons, for runs. Present after [`lower_for_run`] if something in the
    /// equations switches.
    pub located: Option<ModeProgram>,
}

/// A program with modes: its right-hand side is that of the model as long as its modes belong to the point.
pub struct ModeProgram {
    /// Kernels with derivatives.
    pub program: Program,
    /// The description of the modes.
    pub switching: Switching,
}

/// The findings in the kernels before differentiation.
pub(crate) struct DraftFindings {
    pub warnings: Vec<Diagnostic>,
    pub balances: Balances,
    /// The draft with modes, and the located switches.
    pub located: Option<(Draft, LocatedSwitches)>,
}

/// The program of a model, with replaced constants, parameters and initial values.
///
/// # Errors
/// Overrides that name nothing or are out of bounds; equations that cannot be solved for their derivatives.
pub fn lower(model: &Model, overrides: &Overrides) -> Result<Program, Vec<Diagnostic>> {
    lower_warned(model, overrides).map(|lowered| lowered.program)
}

/// Like [`lower`], with the warnings.
///
/// # Errors
/// See [`lower`].
pub fn lower_warned(model: &Model, overrides: &Overrides) -> Result<Lowered, Vec<Diagnostic>> {
    let draft = draft(model, overrides)?;
    let unlocated_warning = switches::unlocated_in_host_steps(&draft);
    let DraftFindings { warnings, balances, .. } = draft.check(model)?;
    Ok(Lowered { program: draft.looped().complete(model)?, warnings, balances, unlocated_warning, located: None })
}

/// Like [`lower_warned`], or with `sensitivities` like [`lower_sensitivities_warned`], and with the program for runs.
///
/// # Errors
/// The errors of these, and unknown derivatives across a jump.
pub fn lower_for_run(model: &Model, overrides: &Overrides, sensitivities: bool) -> Result<Lowered, Vec<Diagnostic>> {
    // unknown names are reported first
    let values = if sensitivities { Some(model.values(overrides)?) } else { None };
    if let Some(values) = &values {
        check_sensitivities(model, &overrides.open, values)?;
    }
    let draft = draft(model, overrides)?;
    let DraftFindings { warnings, balances, located } = draft.check(model)?;
    let mut by = Vec::new();
    if let Some(values) = &values {
        reduction::without_sensitivities(&draft, model)?;
        by = parameters(model, &draft.arrays, &overrides.open, values);
    }
    if let (true, Some((draft, _))) = (sensitivities, &located) {
        switches::differentiable(draft)?;
    }
    let located = located.filter(|(draft, sketch)| !sketch.is_empty() || !draft.events.is_empty());
    let located = located.map(|(mut draft, sketch)| {
        let events = std::mem::take(&mut draft.events);
        let derivative_arrays = draft.add_sensitivities(&by, &sketch.steady());
        let derivatives = sensitivities.then(|| sketch.derivatives(&mut draft.arrays, derivative_arrays, &events));
        let program = draft.complete(model)?;
        let switching = sketch.finish(&program, events, derivatives);
        Ok::<_, Vec<Diagnostic>>(ModeProgram { program, switching })
    });
    let located = located.transpose()?;
    let program = draft.with_sensitivities(&by).looped().complete(model)?;
    Ok(Lowered { program, warnings, balances, unlocated_warning: None, located })
}

/// The parameters, and elements of arrays of them, with these names.
fn parameters(model: &Model, arrays: &[Array], names: &[String], values: &Values) -> Vec<DerivativeBy> {
    let array = |name: &str| arrays.iter().position(|a| a.role == Role::Parameter && a.name == name);
    let variable = |name: &String| {
        if let Some(k) = array(name).filter(|&k| arrays[k].axes.is_empty()) {
            return Some(DerivativeBy { name: name.clone(), array: ArrayId(k as u32), element: None });
        }
        let (parameter, position) = model.parameter_element(name, values)?;
        let k = array(&model.parameters[parameter].name)?;
        Some(DerivativeBy { name: name.clone(), array: ArrayId(k as u32), element: Some(position?) })
    };
    names.iter().filter_map(variable).collect()
}

/// Largest number of parameters and initial values with respect to which one run computes derivatives.
pub const MAX_SENSITIVITIES: usize = 100;

/// Like [`lower`], with the derivatives of states and outputs with respect to [`Overrides::open`] as further states
/// and outputs, `d(x)/d(k)`: the derivatives by each parameter follow the states of the model as a group.
///
/// # Errors
/// Also whole arrays of parameters or initial values, elements that do not exist, and too many of them.
pub fn lower_sensitivities(model: &Model, overrides: &Overrides) -> Result<Program, Vec<Diagnostic>> {
    lower_sensitivities_warned(model, overrides).map(|lowered| lowered.program)
}

/// Like [`lower_sensitivities`], with the warnings.
///
/// # Errors
/// See [`lower_sensitivities`].
pub fn lower_sensitivities_warned(model: &Model, overrides: &Overrides) -> Result<Lowered, Vec<Diagnostic>> {
    // unknown names are reported first
    let values = model.values(overrides)?;
    check_sensitivities(model, &overrides.open, &values)?;
    let draft = draft(model, overrides)?;
    let DraftFindings { warnings, balances, .. } = draft.check(model)?;
    reduction::without_sensitivities(&draft, model)?;
    let by = parameters(model, &draft.arrays, &overrides.open, &values);
    let unlocated_warning = switches::unlocated_in_host_steps(&draft);
    let program = draft.with_sensitivities(&by).looped().complete(model)?;
    Ok(Lowered { program, warnings, balances, unlocated_warning, located: None })
}

/// Checks the parameters and initial values with respect to which derivatives are computed.
fn check_sensitivities(model: &Model, names: &[String], values: &Values) -> Fallible<()> {
    if names.len() > MAX_SENSITIVITIES {
        let headline =
            format!("derivatives with respect to {} values exceed the limit of {MAX_SENSITIVITIES}", names.len());
        return refuse(Diagnostic::error(&codes::E0718, headline).help("divide them between several runs"));
    }
    // `u[1]` and `u[ 1]` are the same
    let parts: Vec<_> = names.iter().map(|name| parts_of(name)).collect();
    if let Some((_, name)) = names.iter().enumerate().find(|(k, _)| parts[..*k].contains(&parts[*k])) {
        let headline = format!("`{name}` occurs twice in the list");
        return refuse(Diagnostic::error(&codes::E0718, headline).help("name each parameter once"));
    }
    for name in names {
        if let Some((parameter, position)) = model.parameter_element(name, values) {
            // an invalid value for it has its own message
            if position.is_some() {
                continue;
            }
            let given = &model.parameters[parameter];
            return refuse(no_element(model, name, &given.indexed, values, given.span));
        }
        // whether it is a scalar, and where it is declared
        let parameter = model.parameters.iter().find(|p| p.name == *name).map(|p| (&p.indexed, None, p.span));
        let opened = values.opened.iter().find(|o| o.name == *name).map(|o| {
            let state = &model.states[o.state];
            (&state.indexed, o.at.as_deref(), state.span)
        });
        let Some((indexed, at, span)) = parameter.or(opened) else { continue };
        match at {
            Some(at) => {
                let ranges = model.reported_ranges(indexed, values);
                let inside = at.len() == ranges.len() && ranges.iter().zip(at).all(|(r, i)| r.0 <= *i && *i <= r.1);
                if !inside {
                    return refuse(no_element(model, name, indexed, values, span));
                }
            }
            None if indexed.is_scalar() => {}
            None => {
                let headline = format!("odec does not compute derivatives with respect to `{name}`: it is an array");
                let ranges = model.reported_ranges(indexed, values);
                let first: Vec<String> = ranges.iter().map(|r| r.0.to_string()).collect();
                let element = odec_ir::names::element(name, &first);
                let report = error(&codes::E0718, headline, span, "declared here");
                return refuse(report.help(format!("name its elements: `{element}`")));
            }
        }
    }
    Ok(())
}

/// An array has no element of this name.
fn no_element(model: &Model, name: &str, indexed: &Indexed, values: &Values, span: Span) -> Diagnostic {
    let ranges = model.reported_ranges(indexed, values);
    let ranges: Vec<String> = ranges.iter().map(|r| format!("{}..{}", r.0, r.1)).collect();
    let help = if ranges.is_empty() {
        "it is a single value without indices".to_owned()
    } else {
        format!("its indices are {}", ranges.join(", "))
    };
    error(&codes::E0408, format!("`{name}` does not exist"), span, "declared here").help(help)
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
    /// The warnings; its errors instead, if it has any.
    pub(crate) fn check(&self, model: &Model) -> Result<DraftFindings, Vec<Diagnostic>> {
        if let Some(wrong) = switches::equalities(self, model).or_else(|| switches::discrete_masses(self)) {
            return Err(vec![wrong]);
        }
        let located = self.located();
        let mut warnings = Vec::from_iter(located.as_ref().and_then(|(_, sketch)| switches::unlocated(sketch)));
        let (changes, balances) = balance::check(model, self);
        warnings.extend(changes);
        warnings.extend(start::warnings(model, self));
        Ok(DraftFindings { warnings, balances, located })
    }

    /// The draft with modes instead of comparisons, if there are any.
    fn located(&self) -> Option<(Draft, LocatedSwitches)> {
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
    fn with_sensitivities(mut self, by: &[DerivativeBy]) -> Draft {
        self.add_sensitivities(by, &[]);
        self
    }

    /// Adds sensitivities, and returns the arrays of the derivatives; discretes in `steady` get none.
    fn add_sensitivities(&mut self, by: &[DerivativeBy], steady: &[ArrayId]) -> Vec<DerivativeArrays> {
        let all = derive::sensitivities(&mut self.arrays, &mut self.kernels, by, steady);
        if let Some(draft) = &mut self.invariants {
            draft.differentiate(&all);
        }
        all
    }

    /// Repeated expressions as loops ([`repeat::looped`]), unless something switches or is differentiated: the
    /// programs of events and invariants share the arrays of this one, and have no loops.
    fn looped(mut self) -> Draft {
        let plain = self.events.is_empty() && self.invariants.is_none();
        if plain && !switch::switches(&self.arrays, &self.kernels) {
            self.kernels = repeat::looped(&mut self.arrays, &mut self.axes, self.kernels);
        }
        self
    }

    /// The program, with derivatives.
    fn complete(mut self, model: &Model) -> Result<Program, Vec<Diagnostic>> {
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
