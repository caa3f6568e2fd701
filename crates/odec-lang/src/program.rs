//! From a model to its program: the draft, what is found in it, and its derivatives.

use odec_ir::derive::DerivativeBy;
use odec_ir::switch::{LocatedSwitches, Switching};
use odec_ir::{Array, ArrayId, Program, Role, Span};

use crate::balance::{self, Balances};
use crate::diagnostic::{Diagnostic, codes};
use crate::lower::{Draft, Fallible, draft, index_reduction, refuse, switches};
use crate::model::{Indexed, Model, Overrides, Values, parts_of};
use crate::report::error;
use crate::start;

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
    let DraftFindings { warnings, balances, .. } = check(&draft, model)?;
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
    let DraftFindings { warnings, balances, located } = check(&draft, model)?;
    let mut by = Vec::new();
    if let Some(values) = &values {
        index_reduction::without_sensitivities(&draft, model)?;
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
    let DraftFindings { warnings, balances, .. } = check(&draft, model)?;
    index_reduction::without_sensitivities(&draft, model)?;
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

/// The findings in a draft; its errors instead, if it has any.
pub(crate) fn check(draft: &Draft, model: &Model) -> Result<DraftFindings, Vec<Diagnostic>> {
    let mut wrong = switches::equalities(draft, model);
    if wrong.is_empty() {
        wrong.extend(switches::discrete_masses(draft));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let located = draft.located();
    let mut warnings = Vec::from_iter(located.as_ref().and_then(|(_, sketch)| switches::unlocated(sketch)));
    let (changes, balances) = balance::check(model, draft);
    warnings.extend(changes);
    warnings.extend(start::warnings(model, draft));
    Ok(DraftFindings { warnings, balances, located })
}
