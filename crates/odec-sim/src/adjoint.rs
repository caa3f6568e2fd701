//! The gradient of a function of the rows of a run with respect to any number of parameters and initial values:
//! [`odec_ode::adjoint`] on a model.

use odec_ir::derive::Variable;
use odec_ir::{Span, broken};
use odec_lang::diagnostic::{Class, Diagnostic, codes};
use odec_lang::model::Level;
use odec_ode::adjoint::{self, AdjointError, Recording, Request, Weight};
use odec_ode::pattern::Pattern;
use odec_ode::problem::{Cause, SolveError, Stats};
use odec_ode::system::{EvalError, Mass, System};

use crate::columns::Column;
use crate::executor::{Executor, ParameterMatrix};
use crate::quantities::{Chosen, Quantities, Quantity};
use crate::sample::RecordedSolution;
use crate::session::{Error, Simulation};

/// The gradient with respect to one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Slope {
    /// The name.
    pub name: String,
    /// Extents of a whole array; empty for a single number.
    pub shape: Vec<usize>,
    /// A value for each element.
    pub values: Vec<f64>,
}

/// A gradient.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    /// The slopes, in the order of the names.
    pub slopes: Vec<Slope>,
    /// Work for the polynomials of the solution, in addition to the run.
    pub forward: Stats,
    /// Work for the adjoint equations.
    pub backward: Stats,
    /// Evaluations of df/dp for the integrals along them.
    pub integrand: u64,
    /// Number of parts into which the solution was divided to fit in memory.
    pub parts: usize,
}

/// All rows of a recorded run, with the derivatives of the function with respect to their values.
pub struct RowWeights<'a> {
    /// Times, in the order of the run.
    pub times: &'a [f64],
    /// A value for each column but the time, row by row.
    pub weights: &'a [f64],
}

/// The meaning of a name.
enum Target {
    /// Indices in the parameter buffer.
    Parameters(Vec<usize>),
    /// Indices in y, for initial values.
    Start(Vec<usize>),
}

/// df/dp of an executor.
struct Parameters<'a> {
    executor: &'a Executor,
    matrix: &'a ParameterMatrix,
}

impl adjoint::ByParameters for Parameters<'_> {
    fn pattern(&self) -> &Pattern {
        self.matrix.pattern()
    }

    fn values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.executor.parameter_derivatives(self.matrix, t, y, values);
        Ok(())
    }
}

impl Simulation {
    /// The gradient of a function of the rows with respect to parameters and initial values, from the solution that
    /// [`Simulation::record`] recorded with these rows. Initial values of scalar states must be among
    /// [`crate::choices::Choices::open`]. `look` receives the time after each step; if it
    /// returns `false`, the work stops, and the result is `None`.
    ///
    /// # Errors
    /// A model without such a gradient, unknown names, and runs that fail.
    pub fn gradient(
        &self,
        names: &[String],
        recorded: RecordedSolution,
        rows: &RowWeights<'_>,
        look: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Gradient>, Error> {
        self.has_gradient()?;
        let executor = &self.bound().executor;
        let target = |name: &String| self.target(name, self.parameters());
        let targets: Vec<(Slope, Target)> = names.iter().map(target).collect::<Result<_, _>>()?;
        let mut wanted: Vec<usize> = Vec::new();
        for (_, target) in &targets {
            if let Target::Parameters(places) = target {
                wanted.extend(places);
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let states = recorded.states.as_deref().unwrap_or_default();
        let (weights, mut direct) = self.weights(rows, states, &wanted)?;
        let matrix = executor.kept_by_parameters().ok_or_else(|| self.no_matrix())?;
        let by = Parameters { executor, matrix };
        let bound = self.bound();
        let request = Request {
            system: executor,
            by: &by,
            values: executor.parameters(),
            wanted: &wanted,
            t0: bound.problem.t0,
            method: bound.choice.method,
            options: &bound.options,
            weights: &weights,
        };
        let polynomials = recorded.polynomials.unwrap_or_else(|| Recording::new(0));
        let found = match adjoint::gradient(&request, polynomials, look) {
            Ok(found) => found,
            Err(AdjointError::Stopped) => return Ok(None),
            Err(AdjointError::Solution(why)) => return Err(self.explain(&why)),
            Err(AdjointError::Adjoint(why)) => return Err(self.unsolved(&why)),
            Err(AdjointError::NoJacobian) => return Err(self.no_matrix()),
        };
        let derivatives = executor.derivatives();
        let depends = derivatives.start_depends();
        for (k, (direct, by_f)) in direct.iter_mut().zip(&found.by_parameters).enumerate() {
            *direct += by_f;
            if depends && found.by_start.iter().any(|l| *l != 0.0) {
                let start = derivatives.start(wanted[k], bound.problem.t0, executor.parameters());
                *direct += start.iter().zip(&found.by_start).map(|(start, l)| start * l).sum::<f64>();
            }
        }
        let value = |place: &usize| match wanted.binary_search(place) {
            Ok(k) => direct[k],
            Err(_) => broken("a slope is asked for by a parameter without a derivative"),
        };
        let slopes = targets.into_iter().map(|(slope, target)| {
            let values = match target {
                Target::Parameters(places) => places.iter().map(value).collect(),
                Target::Start(places) => places.iter().map(|place| found.by_start[*place]).collect(),
            };
            Slope { values, ..slope }
        });
        let slopes: Vec<Slope> = slopes.collect();
        if let Some(wrong) = slopes.iter().find(|slope| !slope.values.iter().all(|value| value.is_finite())) {
            return Err(self.overflow(&wrong.name));
        }
        let adjoint::AdjointResult { forward, backward, integrand, parts, .. } = found;
        Ok(Some(Gradient { slopes, forward, backward, integrand, parts }))
    }

    /// Refuses a model whose solution jumps, or does not solve y' = f(t, y) from given values.
    pub(crate) fn has_gradient(&self) -> Result<(), Error> {
        let (model, bound) = (self.model(), self.bound());
        let refuse = |what: &str, place: Option<(Span, &str)>| {
            let headline = format!("odec does not compute the gradient of a model with {what}");
            let report = Diagnostic::error(&codes::E0718, headline);
            let report = match place {
                Some((span, text)) => report.label(span, text),
                None => report,
            };
            Err(self.error(vec![report.help("sensitivities give these derivatives: `run(..., sens=[...])`")]))
        };
        if let Some(event) = model.events.first() {
            return refuse("events", Some((event.head, "the model has an event here")));
        }
        if let Some(limit) = model.states.iter().flat_map(|state| &state.bounds).next() {
            return refuse("bounds", Some((limit.span, "the model has a bound here")));
        }
        if let Some(unknown) = model.states.iter().find(|state| state.algebraic) {
            return refuse("algebraic unknowns", Some((unknown.span, "declared here")));
        }
        if bound.located.is_some() {
            return match model.inputs.first() {
                Some(input) => {
                    refuse("kinks or jumps, which a table may have", Some((input.span, "the model reads a table here")))
                }
                None => refuse("comparisons, such as in `if`, `min` or `abs`", None),
            };
        }
        if !matches!(bound.executor.mass(), Mass::Identity) || bound.executor.invariants().is_some() {
            return refuse("equations that are coupled in their derivatives, or algebraic", None);
        }
        if bound.options.fixed {
            let headline = "odec does not compute the gradient of a run with constant steps: the adjoint equations do \
                            not contain the errors of such steps";
            let help = "let the error control choose the steps: `--step auto`; sensitivities are the derivatives of \
                        the steps: `run(..., sens=[...])`";
            let report = Diagnostic::error(&codes::E0718, headline).help(help);
            return Err(self.error(vec![match bound.asked.step {
                Some(span) => report.label(span, ""),
                None => report,
            }]));
        }
        if bound.from_steady {
            return refuse("a run that starts from a steady state", bound.asked.start.map(|span| (span, "")));
        }
        Ok(())
    }

    fn target(&self, name: &str, parameters: &Quantities) -> Result<(Slope, Target), Error> {
        let of = |list: &Quantities| {
            let chosen = list.select(name).unwrap_or_default();
            let of_component = |c: &Chosen| {
                let start = list.list()[c.quantity].start;
                c.runs.iter().cloned().flatten().map(move |k| start + k).collect::<Vec<_>>()
            };
            let components: Vec<Vec<usize>> = chosen.iter().map(of_component).collect();
            let count = components.first().map_or(0, Vec::len);
            let mut shape: Vec<usize> = match chosen.first() {
                Some(one) if whole(&list.list()[one.quantity], one) => {
                    list.list()[one.quantity].axes.iter().map(|axis| axis.len).collect()
                }
                // a selection of elements of an array is a list
                _ if count > 1 => vec![count],
                _ => Vec::new(),
            };
            // the components of a vector come last
            if components.len() > 1 {
                shape.push(components.len());
            }
            let places: Vec<usize> =
                (0..count).flat_map(|k| components.iter().filter_map(move |c| c.get(k).copied())).collect();
            (places, shape)
        };
        let slope = |shape| Slope { name: name.to_owned(), shape, values: Vec::new() };
        if let Some(place) = parameters.single(name) {
            return Ok((slope(Vec::new()), Target::Parameters(vec![place])));
        }
        let (places, shape) = of(parameters);
        if !places.is_empty() {
            return Ok((slope(shape), Target::Parameters(places)));
        }
        let (places, shape) = of(&self.bound().states);
        let model = self.model();
        if places.is_empty() {
            let known = odec_lang::suggest::list(parameters.names().chain(self.bound().states.names()));
            let headline = format!("`{name}` is neither a parameter nor a state of this model");
            let report = Diagnostic::error(&codes::E0706, headline).help(format!("it has {known}"));
            return Err(self.error(vec![report]));
        }
        // only dependences of initial values on parameters are known
        let reads = |state: &&odec_lang::model::State| state.initial.iter().any(|v| model.level(*v) >= Level::State);
        if let Some(other) = model.states.iter().find(reads) {
            let headline =
                format!("odec does not compute the gradient with respect to `{name}`: an initial value reads states");
            let report = Diagnostic::error(&codes::E0718, headline).label(other.span, "this one");
            return Err(self.error(vec![report.help("declare what both read as a parameter")]));
        }
        Ok((slope(shape), Target::Start(places)))
    }

    /// The weights of the states at each time, and the direct derivatives with respect to the wanted parameters.
    /// `states` has the states at all rows, if rows contain outputs.
    fn weights(
        &self,
        rows: &RowWeights<'_>,
        states: &[f64],
        wanted: &[usize],
    ) -> Result<(Vec<Weight>, Vec<f64>), Error> {
        let bound = self.bound();
        let (executor, columns) = (&bound.executor, &bound.columns);
        let (n, width) = (executor.layout().n, columns.len() - 1);
        let places: Vec<Option<Column>> = (1..columns.len()).map(|k| columns.at(k)).collect();
        let derivatives = executor.derivatives();
        let mut direct = vec![0.0; wanted.len()];
        let mut made = Vec::with_capacity(rows.times.len());
        let mut by_output: Vec<(usize, Vec<(usize, f64)>)> = Vec::new();
        for (k, (t, row)) in rows.times.iter().zip(rows.weights.chunks_exact(width.max(1))).enumerate() {
            let mut by_state = vec![0.0; n];
            let mut outputs = Vec::new();
            for (place, weight) in places.iter().zip(row).filter(|(_, weight)| **weight != 0.0) {
                match place {
                    Some(Column::State(i)) => by_state[*i] += weight,
                    Some(Column::Output(i)) => outputs.push((*i, *weight)),
                    _ => broken("a weight belongs to a column that is neither a state nor an output"),
                }
            }
            if !outputs.is_empty() {
                by_output.push((k, outputs));
            }
            made.push(Weight { t: *t, by_state });
        }
        if by_output.is_empty() {
            return Ok((made, direct));
        }
        if executor.program().outputs_read_rates() {
            let headline = "odec does not compute the gradient of outputs that read derivatives of states";
            return Err(self.error(vec![Diagnostic::error(&codes::E0718, headline)]));
        }
        for (k, outputs) in &by_output {
            let y = states.get(k * n..(k + 1) * n).ok_or_else(|| {
                let headline = format!("the recording has no state for row {k}");
                self.error(vec![Diagnostic::error(&codes::E0718, headline)])
            })?;
            let (t, p) = (rows.times[*k], executor.parameters());
            let sum = |variable| {
                let column = derivatives.outputs(variable, t, y, p);
                outputs.iter().map(|(i, weight)| column[*i] * weight).sum::<f64>()
            };
            for (i, weight) in made[*k].by_state.iter_mut().enumerate() {
                *weight += sum(Variable::State(i));
            }
            for (direct, place) in direct.iter_mut().zip(wanted) {
                *direct += sum(Variable::Parameter(*place));
            }
        }
        Ok((made, direct))
    }

    fn no_matrix(&self) -> Error {
        let headline = "this model is too large for its gradient: it has no matrix of derivatives";
        self.error(vec![Diagnostic::error(&codes::E0718, headline)])
    }

    /// The message for a failure of the adjoint equations, whose unknowns are not those of the model.
    fn unsolved(&self, why: &SolveError) -> Error {
        let time = &self.model().time.name;
        let (at, cause) = match why {
            SolveError::Failed(failure) => (format!(" at {time} = {}", failure.t), Some(failure.cause)),
            SolveError::Refused(_) => (String::new(), None),
        };
        let (code, what) = match cause {
            Some(Cause::TooManySteps { .. }) => (&codes::E0607, "take too many steps"),
            Some(Cause::NonFiniteState { .. }) => (&codes::E0608, "overflow: the solution is too sensitive"),
            _ => (&codes::E0604, "cannot be solved"),
        };
        let report = Diagnostic::error(code, format!("the adjoint equations {what}{at}"));
        let report =
            report.help("a shorter time or a smaller `rtol` may help; `run(..., sens=[...])` does without them");
        Error { class: Class::Run, ..self.error(vec![report]) }
    }

    fn overflow(&self, name: &str) -> Error {
        let report = Diagnostic::error(&codes::E0608, format!("the derivative with respect to `{name}` is not finite"));
        Error { class: Class::Run, ..self.error(vec![report]) }
    }
}

/// True for all elements of an array, or a single number.
fn whole(quantity: &Quantity, chosen: &Chosen) -> bool {
    chosen.runs.iter().map(std::ops::Range::len).sum::<usize>() == quantity.len
}
