//! From the checked model to the program: arrays, the kernels for f, start values and outputs, the mass matrix.

mod arrays;
mod linear;
mod nodes;
mod solve;
mod switches;

use std::collections::BTreeMap;

use odec_ir::nest::{Axis, Extent};
use odec_ir::{Array, ArrayId, Graph, Kernel, KernelRole, Layout, NodeId, Program, Role, Span, Store, Target, derive};

use crate::balance::{self, Balance};
use crate::diagnostic::Diagnostic;
use crate::model::walk::{MAX_INLINED_TERMS, TooLarge, Walk};
use crate::model::{Level, Model, Overrides, Start, Values};
use crate::report::error;
use crate::start;
use nodes::{Nodes, States, extract};

/// The arrays of a program and where the model's quantities are among them.
struct Arrays {
    list: Vec<Array>,
    parameters: Vec<ArrayId>,
    /// Of each state, that of order 0; the higher ones follow it.
    states: Vec<ArrayId>,
    /// Parameters that stand for start values, in the order of [`Values::opened`].
    opened: Vec<ArrayId>,
}

impl Arrays {
    fn push(&mut self, name: String, role: Role, span: Span) -> &mut Array {
        let index = self.list.len();
        self.list.push(Array {
            name,
            role,
            axes: Vec::new(),
            default: 0.0,
            data: Vec::new(),
            unit: None,
            doc: None,
            span,
        });
        &mut self.list[index]
    }

    fn next(&self) -> ArrayId {
        ArrayId(self.list.len() as u32)
    }

    /// The array of the derivative of this order.
    fn state(&self, state: usize, order: u8) -> ArrayId {
        ArrayId(self.states[state].0 + u32::from(order))
    }

    /// The array of the highest derivative that is part of the solver's state: its row holds the equation.
    fn top(&self, model: &Model, state: usize) -> ArrayId {
        self.state(state, model.states[state].order - 1)
    }
}

/// A program, and what its kernels show that is probably not meant.
pub struct Lowered {
    /// Kernels with derivatives.
    pub program: Program,
    /// Warnings, to be said before the run.
    pub warnings: Vec<Diagnostic>,
    /// What the equations do to each of [`Model::conserved`].
    pub balances: Vec<Balance>,
}

/// What the kernels show before their derivatives are formed.
pub(crate) struct Judged {
    pub warnings: Vec<Diagnostic>,
    pub balances: Vec<Balance>,
}

/// The program of a model, with constants, parameters and start values replaced as asked.
///
/// # Errors
/// Overrides that name nothing or are out of bounds; equations that cannot be solved for their derivatives.
pub fn lower(model: &Model, overrides: &Overrides) -> Result<Program, Vec<Diagnostic>> {
    lower_warned(model, overrides).map(|lowered| lowered.program)
}

/// As [`lower`], with the warnings.
///
/// # Errors
/// As [`lower`].
pub fn lower_warned(model: &Model, overrides: &Overrides) -> Result<Lowered, Vec<Diagnostic>> {
    let draft = draft(model, overrides)?;
    let Judged { warnings, balances } = draft.judge(model)?;
    Ok(Lowered { program: draft.complete(model)?, warnings, balances })
}

/// Most parameters and start values by which derivatives of the states are computed in one run.
pub const MAX_SENSITIVITIES: usize = 100;

/// As [`lower`], with the derivatives of states and outputs by [`Overrides::open`] as further states and outputs, `d(x)/d(k)`: the
/// states of each of these parameters follow those of the model in groups.
///
/// # Errors
/// Also parameters and start values that are arrays, and too many of them.
pub fn lower_sensitivities(model: &Model, overrides: &Overrides) -> Result<Program, Vec<Diagnostic>> {
    lower_sensitivities_warned(model, overrides).map(|lowered| lowered.program)
}

/// As [`lower_sensitivities`], with the warnings.
///
/// # Errors
/// As [`lower_sensitivities`].
pub fn lower_sensitivities_warned(model: &Model, overrides: &Overrides) -> Result<Lowered, Vec<Diagnostic>> {
    // what does not exist is said first
    let values = model.values(overrides)?;
    let names = &overrides.open;
    if names.len() > MAX_SENSITIVITIES {
        let headline = format!("derivatives by {} values are more than {MAX_SENSITIVITIES}", names.len());
        return Err(vec![Diagnostic::error("E0718", headline).help("take them in several runs")]);
    }
    if let Some((k, name)) = names.iter().enumerate().find(|(k, name)| names[..*k].contains(name)) {
        let headline = format!("`{name}` is named twice, as number {} too", k + 1);
        return Err(vec![Diagnostic::error("E0718", headline).help("name each parameter once")]);
    }
    let parameter = |name: &str| model.parameters.iter().find(|p| p.name == name);
    let wide = |name: &&String| {
        let given = parameter(name).map(|p| (p.indexed.is_scalar(), p.span));
        let opened = values.opened.iter().find(|o| o.name == **name);
        let opened =
            opened.map(|o| (o.at.is_none() && model.states[o.state].indexed.is_scalar(), model.states[o.state].span));
        match given.or(opened) {
            Some((scalar, span)) => (!scalar).then_some(Some(span)),
            // an element of an array
            None => Some(None),
        }
    };
    if let Some((name, span)) = names.iter().find_map(|name| Some((name, wide(&name)?))) {
        let headline = format!("derivatives by `{name}` are not computed: it belongs to an array");
        let report = match span {
            Some(span) => error("E0718", headline, span, "declared here"),
            None => Diagnostic::error("E0718", headline),
        };
        return Err(vec![
            report.help("parameters and start values of one number can be named; let one be a factor of the others"),
        ]);
    }
    let by = |arrays: &[Array]| -> Vec<ArrayId> {
        let position = |name: &String| arrays.iter().position(|a| a.role == Role::Parameter && a.name == *name);
        names.iter().filter_map(position).map(|k| ArrayId(k as u32)).collect()
    };
    let draft = draft(model, overrides)?;
    let Judged { warnings, balances } = draft.judge(model)?;
    let by = by(&draft.arrays);
    Ok(Lowered { program: draft.with_sensitivities(&by).complete(model)?, warnings, balances })
}

/// A matrix of derivatives was left out for its size.
fn too_dense(model: &Model, mass: bool) -> Diagnostic {
    let (states, limit) = (model.states.len(), derive::MAX_DERIVATIVE_TERMS);
    let what = if mass { "the mass matrix" } else { "the equations" };
    let headline = format!("the derivatives of {what} by {states} states need more than {limit} products");
    let report = match model.equations.first() {
        Some(first) => {
            let all = first.span.to(model.equations[model.equations.len() - 1].span);
            Diagnostic::error("E0508", headline).label(all, "")
        }
        None => Diagnostic::error("E0508", headline),
    };
    report
        .help("too many equations depend on too many states: this is the limit of exact derivatives; divide the model")
}

/// A program before its derivatives.
pub(crate) struct Draft {
    pub arrays: Vec<Array>,
    pub kernels: Vec<Kernel>,
    pub axes: Vec<Axis>,
    pub extents: Vec<Extent>,
}

thread_local! {
    static DRAFTS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many drafts this thread has made so far: what tests count to see that a model is lowered once.
#[doc(hidden)]
pub fn drafts_made() -> u64 {
    DRAFTS.get()
}

/// The draft of a model.
pub(crate) fn draft(model: &Model, overrides: &Overrides) -> Result<Draft, Vec<Diagnostic>> {
    DRAFTS.set(DRAFTS.get() + 1);
    if model.has_arrays() {
        let (parts, kernels) = arrays::nests(model, overrides)?;
        return Ok(Draft { arrays: parts.arrays, kernels, axes: parts.axes, extents: parts.extents });
    }
    let (arrays, kernels) = kernels(model, overrides)?;
    Ok(Draft { arrays, kernels, axes: Vec::new(), extents: Vec::new() })
}

impl Draft {
    /// The warnings; its errors instead, if it has any.
    pub(crate) fn judge(&self, model: &Model) -> Result<Judged, Vec<Diagnostic>> {
        let mut warnings = switches::judge(self);
        if warnings.iter().any(Diagnostic::is_error) {
            return Err(warnings);
        }
        let balances = balance::of(model, self);
        warnings.extend(balance::warnings(model, &balances));
        warnings.extend(start::warnings(model, self));
        Ok(Judged { warnings, balances })
    }

    /// Derivatives by these parameters as further states and outputs.
    fn with_sensitivities(mut self, by: &[ArrayId]) -> Draft {
        derive::sensitivities(&mut self.arrays, &mut self.kernels, by);
        self
    }

    /// The program, with derivatives.
    fn complete(self, model: &Model) -> Result<Program, Vec<Diagnostic>> {
        let name = model.name.clone();
        let program = derive::complete_over(self.arrays, self.axes, self.extents, self.kernels, name);
        let mass = program.mass_varies() && !program.has(KernelRole::MassJacobian);
        if mass || (program.has(KernelRole::Rhs) && !program.has(KernelRole::Jacobian)) {
            return Err(vec![too_dense(model, mass)]);
        }
        Ok(program)
    }
}

/// Arrays and the kernels that are not derivatives of others.
pub(crate) fn kernels(model: &Model, overrides: &Overrides) -> Result<(Vec<Array>, Vec<Kernel>), Vec<Diagnostic>> {
    let values = model.values(overrides)?;
    let arrays = arrays(model, &values);
    let mut walk = Walk::new(Nodes {
        graph: Graph::new(),
        constants: &values.constants,
        parameters: arrays.parameters.clone(),
        orders: model.states.iter().map(|s| s.order).collect(),
        states: States::default(),
        definitions: vec![None; model.definitions.len()],
    });
    let too_large = |t: TooLarge| vec![expanded(model, t)];

    // States read their arrays; a highest derivative is a leaf of its own until the equations are solved.
    for (i, state) in model.states.iter().enumerate() {
        for k in 0..state.order {
            let node = walk.domain.graph.read(arrays.state(i, k));
            walk.domain.states.values.insert((i, k), node);
        }
        let node = walk.domain.graph.direction(arrays.top(model, i));
        walk.domain.states.rates.insert(i, node);
    }
    for &i in &model.definition_order {
        let node = walk.value(model, model.definitions[i].value).map_err(too_large)?;
        walk.domain.definitions[i] = Some(node);
    }
    let mut sides = Vec::with_capacity(model.equations.len());
    for equation in &model.equations {
        let lhs = walk.value(model, equation.lhs).map_err(too_large)?;
        let rhs = walk.value(model, equation.rhs).map_err(too_large)?;
        sides.push((lhs, rhs));
    }
    let solved = solve::solve(model, &mut walk.domain.graph, &arrays, &sides, &values.parameters)?;

    let mut kernels = Vec::new();
    kernels.push(rhs_kernel(model, &walk.domain.graph, &arrays, &solved));
    if !solved.mass.is_empty() {
        kernels.push(mass_kernel(model, &mut walk.domain.graph, &arrays, &solved));
    }

    // Now the derivatives are known, also where definitions and outputs use them.
    // Those that the mass matrix gives are put in by whoever evaluates the outputs.
    for (i, rate) in solved.rates.iter().enumerate() {
        let node = rate.unwrap_or_else(|| walk.domain.graph.direction(arrays.top(model, i)));
        walk.domain.states.rates.insert(i, node);
    }
    for &i in &model.definition_order {
        if model.definition_levels[i] == Level::Rate {
            let node = walk.value(model, model.definitions[i].value).map_err(too_large)?;
            walk.domain.definitions[i] = Some(node);
        }
    }
    let mut arrays = arrays;
    if let Some(kernel) = outputs_kernel(model, &mut walk, &mut arrays).map_err(too_large)? {
        kernels.push(kernel);
    }
    kernels.push(initial_kernel(model, &mut walk, &arrays, &values).map_err(too_large)?);
    Ok((arrays.list, kernels))
}

fn expanded(model: &Model, t: TooLarge) -> Diagnostic {
    let headline = format!("the functions expand to more than {MAX_INLINED_TERMS} operations");
    let report = match t.function.map(|f| &model.functions[f]) {
        Some(f) => error("E0509", headline, f.span, format!("while `{}` was inlined", f.name)),
        None => Diagnostic::error("E0509", headline),
    };
    report.help("a function is inlined at every call: let functions that call functions take their common part as an argument, or use definitions")
}

fn arrays(model: &Model, values: &Values) -> Arrays {
    let mut arrays = Arrays { list: Vec::new(), parameters: Vec::new(), states: Vec::new(), opened: Vec::new() };
    for (given, &default) in model.parameters.iter().zip(&values.parameters) {
        let id = arrays.next();
        let array = arrays.push(given.name.clone(), Role::Parameter, given.span);
        array.default = default;
        array.unit.clone_from(&given.unit);
        array.doc.clone_from(&given.doc);
        arrays.parameters.push(id);
    }
    for opened in &values.opened {
        let id = arrays.next();
        arrays.push(opened.name.clone(), Role::Parameter, model.states[opened.state].span).default =
            opened.given.unwrap_or(0.0);
        arrays.opened.push(id);
    }
    for state in &model.states {
        let id = arrays.next();
        for k in 0..state.order {
            // Second order keeps its pair, for the solver's reduced system; higher orders are chains of first order.
            let role = match (state.order, k) {
                (2, 0) => Role::Position,
                (2, _) => Role::Velocity,
                _ => Role::FirstOrder,
            };
            let array = arrays.push(state.derivative(k), role, state.span);
            array.doc.clone_from(&state.doc);
            if k == 0 {
                array.unit.clone_from(&state.unit);
            }
        }
        arrays.states.push(id);
    }
    arrays
}

fn kernel(role: KernelRole, graph: &Graph, stores: &[(Target, NodeId)]) -> Kernel {
    let roots: Vec<NodeId> = stores.iter().map(|s| s.1).collect();
    let (graph, roots) = extract(graph, &roots);
    let stores = stores.iter().zip(roots).map(|(s, node)| Store { target: s.0, node }).collect();
    Kernel::straight(role, graph, stores)
}

fn rhs_kernel(model: &Model, graph: &Graph, arrays: &Arrays, solved: &solve::Solved) -> Kernel {
    let mut graph = graph.clone();
    let mut stores = Vec::new();
    for (i, state) in model.states.iter().enumerate() {
        for k in 0..state.order - 1 {
            let node = graph.read(arrays.state(i, k + 1));
            stores.push((Target::set(arrays.state(i, k)), node));
        }
        stores.push((Target::set(arrays.top(model, i)), solved.rows[i]));
    }
    kernel(KernelRole::Rhs, &graph, &stores)
}

/// M y' by rows: those of coupled equations as they are solved for, and the derivative itself everywhere else. The
/// terms of a row stand in the order of the states in y.
fn mass_kernel(model: &Model, graph: &mut Graph, arrays: &Arrays, solved: &solve::Solved) -> Kernel {
    let layout = Layout::of_arrays(&arrays.list);
    let mut stores = Vec::new();
    for (i, state) in model.states.iter().enumerate() {
        for k in 0..state.order - 1 {
            let array = arrays.state(i, k);
            stores.push((Target::set(array), graph.direction(array)));
        }
        let top = arrays.top(model, i);
        let node = match solved.mass.get(&i) {
            None => graph.direction(top),
            Some(row) => {
                let mut terms: Vec<(ArrayId, NodeId)> =
                    row.iter().map(|&(j, node)| (arrays.top(model, j), node)).collect();
                terms.sort_by_key(|&(column, _)| layout.state(column));
                let product = |(column, entry): (ArrayId, NodeId)| {
                    let rate = graph.direction(column);
                    graph.mul(entry, rate)
                };
                let products: Vec<NodeId> = terms.into_iter().map(product).collect();
                let sum = products.into_iter().reduce(|sum, term| graph.add(sum, term));
                sum.unwrap_or_else(|| graph.constant(0.0))
            }
        };
        stores.push((Target::set(top), node));
    }
    kernel(KernelRole::Mass, graph, &stores)
}

fn outputs_kernel(model: &Model, walk: &mut Walk<Nodes<'_>>, arrays: &mut Arrays) -> Result<Option<Kernel>, TooLarge> {
    let mut stores = Vec::new();
    for o in &model.outputs {
        let node = walk.value(model, o.value)?;
        let id = arrays.next();
        let array = arrays.push(o.name.clone(), Role::Output, o.span);
        array.unit.clone_from(&o.unit);
        array.doc.clone_from(&o.doc);
        stores.push((Target::set(id), node));
    }
    let conserved = model.conserved.iter().map(|c| (&c.name, Role::Conserved, c.value, c.span));
    let expected = model.expects.iter().map(|e| (&e.name, Role::Expected, e.quantity, e.span));
    for (name, role, body, span) in conserved.chain(expected) {
        let node = walk.value(model, body)?;
        let id = arrays.next();
        arrays.push(name.clone(), role, span);
        stores.push((Target::set(id), node));
    }
    Ok((!stores.is_empty()).then(|| kernel(KernelRole::Outputs, &walk.domain.graph, &stores)))
}

/// In a start value a state stands for its own start value, and so it does in the definitions that a start value uses.
fn initial_kernel(
    model: &Model,
    walk: &mut Walk<Nodes<'_>>,
    arrays: &Arrays,
    values: &Values,
) -> Result<Kernel, TooLarge> {
    let mut start: BTreeMap<(usize, u8), NodeId> = BTreeMap::new();
    walk.domain.states = States::default();
    for step in &model.start_order {
        match *step {
            Start::Definition(i) => {
                let node = walk.value(model, model.definitions[i].value)?;
                walk.domain.definitions[i] = Some(node);
            }
            Start::State(i, k) => {
                let given = values.initial.iter().rev().find(|g| (g.0, g.1) == (i, k));
                let opened = values.opened.iter().rposition(|o| (o.state, o.order) == (i, k));
                let opened = opened.map(|o| walk.domain.graph.read(arrays.opened[o]));
                let node = match (given, opened) {
                    (Some(_), Some(parameter)) => parameter,
                    (Some(&(_, _, value)), None) => walk.domain.graph.constant(value),
                    (None, parameter) => {
                        let own = walk.value(model, model.states[i].initial[usize::from(k)])?;
                        parameter.map_or(own, |parameter| walk.domain.graph.add(own, parameter))
                    }
                };
                walk.domain.states.values.insert((i, k), node);
                start.insert((i, k), node);
            }
        }
    }
    let stores: Vec<(Target, NodeId)> =
        start.into_iter().map(|((i, k), node)| (Target::set(arrays.state(i, k)), node)).collect();
    Ok(kernel(KernelRole::Initial, &walk.domain.graph, &stores))
}
