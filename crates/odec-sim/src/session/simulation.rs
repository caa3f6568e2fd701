//! A model compiled and bound to values: its runs and their reports.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use odec_lang::diagnostic::{Code, Diagnostic};
use odec_lang::model::{Model, Symbol};
use odec_lang::source::Source;
use odec_ode::problem::{Failure, Outcome, Refusal, SolveError};

use super::{Error, Loaded, Solution, Stepper, Times};
use crate::bind::{Bound, Purpose, RunPlan};
use crate::blame;
use crate::choices::Choices;
use crate::expectations::{self, Expectation};
use crate::hybrid::bounds::BoundCounts;
use crate::hybrid::step_ends::StepEnd;
use crate::monitor::amplified::SecondRun;
use crate::monitor::report::CheckedRun;
use crate::monitor::{self, Findings};
use crate::points::Points;
use crate::quantities::Quantities;
use crate::sample::{self, Observations, RecordedSolution, Recorder};
use crate::sweep::Job;
use crate::trace;

/// Indices in the parameter buffer that get one value.
type Places = (Range<usize>, f64);

/// A model compiled and bound to values. It is immutable, so threads can share it. Simulations made from it by
/// [`Simulation::with`] share its machine code.
pub struct Simulation {
    loaded: Loaded,
    bound: Bound,
    choices: Choices,
    purpose: Purpose,
    times: Times,
    /// The parameters by name, listed on first use.
    parameters: OnceLock<Arc<Quantities>>,
}

/// The result of a run with its observations.
#[derive(Debug)]
pub struct Solved {
    /// How the run ended. Rows that the recorder received before are valid in any case.
    pub result: Result<Outcome, SolveError>,
    /// The observations of the run.
    pub seen: Observations,
}

/// The warnings after a run.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The warnings.
    pub warnings: Vec<Diagnostic>,
    /// The run with a smaller tolerance that the rows were compared with, if there was one.
    pub second_run: Option<SecondRun>,
}

impl Simulation {
    pub(super) fn new(loaded: Loaded, bound: Bound, choices: Choices, purpose: Purpose, times: Times) -> Simulation {
        Simulation { loaded, bound, choices, purpose, times, parameters: OnceLock::new() }
    }

    /// The parameters by name and by their positions in the parameter buffer.
    pub(crate) fn parameters(&self) -> &Quantities {
        let executor = &self.bound.executor;
        let list = || Arc::new(Quantities::parameters(executor.program(), executor.layout()));
        self.parameters.get_or_init(list)
    }

    /// The model's text.
    pub fn source(&self) -> &Source {
        self.loaded.source()
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.loaded.model()
    }

    /// Warnings about the equations for these values.
    pub fn remarks(&self) -> &[Diagnostic] {
        self.loaded.warnings()
    }

    /// Code, values and settings.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The corrections that kept states within the bounds of the model.
    pub fn bounds(&self, seen: &Observations) -> Vec<BoundCounts> {
        match (&self.bound.located, &seen.pushes) {
            (Some(located), Some(pushes)) => located.counts(pushes, (self.model(), self.source()), &self.bound),
            _ => Vec::new(),
        }
    }

    /// The values that override those of the model, including tables.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Duration of each stage.
    pub fn times(&self) -> Times {
        self.times
    }

    /// The same simulation with other values of parameters, constants or initial values. Other values of parameters share
    /// the machine code; other constants and initial values need a new program.
    ///
    /// # Errors
    /// Unknown names, and values outside their bounds.
    pub fn with(&self, values: &[(&str, f64)]) -> Result<Simulation, Error> {
        let mut choices = self.choices.clone();
        choices.set.extend(values.iter().map(|(name, value)| (name.to_string(), *value)));
        let given = values.iter().map(|(name, value)| (*name, *value));
        let (places, others) = self.places(given);
        if self.choices.sensitivities || !others.is_empty() {
            return self.loaded.simulate(&choices, self.purpose);
        }
        let plan =
            RunPlan::new(self.model(), &choices, self.purpose).map_err(|list| self.loaded.error(&choices, list))?;
        self.moved(choices, plan, &places)
    }

    /// The same simulation with other settings of the run (times, rows, columns, tolerances, method) and other values
    /// of parameters and of quantities in [`Choices::open`]. `choices` contain all requested changes of the model.
    /// The machine code is shared, unless the choices change the program.
    ///
    /// # Errors
    /// See [`Loaded::simulate`].
    pub fn again(&self, choices: &Choices) -> Result<Simulation, Error> {
        let mut choices = choices.clone();
        if choices.tables.is_empty() {
            choices.tables.clone_from(&self.choices.tables);
        }
        if choices.inputs.is_empty() {
            choices.inputs.clone_from(&self.choices.inputs);
        }
        let own = &self.choices;
        let (now, before) = (choices.set.clone(), own.set.clone());
        let (places, others) = self.places(now.iter().map(|(name, value)| (name.as_str(), *value)));
        let (_, fixed) = self.places(before.iter().map(|(name, value)| (name.as_str(), *value)));
        // a value of a parameter must not outlive its choice
        let covered = before.iter().all(|(name, _)| now.iter().any(|(other, _)| other == name));
        let same = (&choices.run, &choices.params, &choices.open, &choices.data, choices.interpret)
            == (&own.run, &own.params, &own.open, &own.data, own.interpret)
            && choices.sensitivities == own.sensitivities
            && choices.tables == own.tables
            && choices.inputs == own.inputs;
        let shared = same
            && covered
            && others == fixed
            && !choices.has_units()
            && !own.has_units()
            && self.as_open(&now, &before);
        if !shared {
            return self.loaded.simulate(&choices, self.purpose);
        }
        let plan =
            RunPlan::new(self.model(), &choices, self.purpose).map_err(|list| self.loaded.error(&choices, list))?;
        self.moved(choices, plan, &places)
    }

    /// The same simulation with this part of the tolerances.
    pub(crate) fn with_part_of_tolerances(mut self, part: f64) -> Simulation {
        let options = &mut self.bound.options;
        options.rtol *= part;
        options.atol.iter_mut().for_each(|atol| *atol *= part);
        self
    }

    /// True if both lists contain the same initial values that vary: the program uses a given value as it is, and
    /// adds the offset of another one to the value in the text.
    fn as_open(&self, now: &[(String, f64)], before: &[(String, f64)]) -> bool {
        let model = self.model();
        let of_state = |name: &str| {
            let stem = name.split('[').next().unwrap_or(name).trim_end_matches('\'');
            !matches!(model.symbols.get(stem), Some(Symbol::Parameter(_)))
        };
        let gives = |list: &[(String, f64)], name: &str| list.iter().any(|(given, _)| given == name);
        self.choices.open.iter().filter(|name| of_state(name)).all(|name| gives(now, name) == gives(before, name))
    }

    /// The indices in the parameter buffer for these values, and the values that are not parameters of the program.
    fn places<'v>(&self, given: impl Iterator<Item = (&'v str, f64)>) -> (Vec<Places>, Vec<(&'v str, f64)>) {
        let parameters = self.parameters();
        let (mut places, mut others) = (vec![], vec![]);
        for (name, value) in given {
            match parameters.select(name) {
                Ok(chosen) if !chosen.is_empty() => {
                    let runs = chosen.iter().flat_map(|c| {
                        let start = parameters.list()[c.quantity].start;
                        c.runs.iter().map(move |run| start + run.start..start + run.end)
                    });
                    places.extend(runs.map(|run| (run, value)));
                }
                _ => others.push((name, value)),
            }
        }
        (places, others)
    }

    /// A copy with these values at these indices of the parameter buffer, and the settings of `plan`.
    fn moved(&self, choices: Choices, plan: RunPlan, places: &[Places]) -> Result<Simulation, Error> {
        let wrong = |list: Vec<Diagnostic>| self.loaded.error(&choices, list);
        let mut bound = self.bound.fork();
        let changed = bound.change(|p| {
            for (run, value) in places {
                p[run.clone()].fill(*value);
            }
        });
        changed.map_err(|unfit| wrong(vec![blame::not_compiled(&unfit, Some(self.bound.executor.program()))]))?;
        plan.settle(self.model(), &mut bound).map_err(|d| wrong(vec![d]))?;
        if let Err(why) = bound.start() {
            let d = bound.no_start(self.model(), self.source(), &why);
            return Err(self.loaded.error(&choices, vec![d]));
        }
        bound.start_within_bounds(self.model()).map_err(wrong)?;
        let (loaded, parameters) = (self.loaded.clone(), self.parameters.clone());
        Ok(Simulation { loaded, bound, choices, purpose: self.purpose, times: self.times, parameters })
    }

    /// Everything that ends a step of a run, except rows; empty for a model that does not switch.
    pub fn stops(&self) -> Vec<StepEnd> {
        let Some(located) = &self.bound.located else { return Vec::new() };
        located.fork().found(self.bound.problem.t0, &self.bound.problem.y0)
    }

    /// Runs the model. The recorder receives each row as soon as it is known, and may stop the run.
    pub fn run(&self, recorder: &mut dyn Recorder) -> Solved {
        let (result, seen) = sample::solve(&self.bound, recorder);
        Solved { result, seen }
    }

    /// Like [`Simulation::run`], bit for bit. It records the solution for [`Simulation::gradient`], if the run reaches
    /// its end.
    ///
    /// # Errors
    /// A model without a gradient by the adjoint equations.
    pub fn record(&self, recorder: &mut dyn Recorder) -> Result<(Solved, RecordedSolution), Error> {
        self.has_gradient()?;
        let (result, seen, recorded) = sample::record(&self.bound, recorder);
        Ok((Solved { result, seen }, recorded))
    }

    /// Runs the model and stores all rows.
    ///
    /// # Errors
    /// The run is refused or fails. [`Simulation::run`] keeps the rows of a run that fails.
    pub fn solve(&self) -> Result<Solution, Error> {
        Solution::of(self)
    }

    /// Runs the model and follows curves between the ends of its steps with the resolution of a picture. `stop` ends
    /// the run.
    pub fn trace(&self, request: &trace::Request<'_>, stop: &dyn Fn() -> bool) -> trace::Traced {
        trace::trace(&self.bound, request, stop)
    }

    /// A stepper at the start of the run, for a host that requests the steps.
    ///
    /// # Errors
    /// The method cannot solve this model.
    pub fn stepper(&self) -> Result<Stepper, Error> {
        Stepper::new(self.loaded.clone(), self.bound.fork())
    }

    /// Refuses a model with events, for operations that do not execute them.
    ///
    /// # Errors
    /// The model has events.
    pub fn without_events(&self) -> Result<(), Error> {
        blame::without_events(self.model()).map_err(|list| self.error(list))
    }

    /// A sweep over points. The quantities that vary must be among [`Choices::open`].
    pub fn sweep<'a>(
        &'a self,
        points: &'a Points,
        stop: &'a (dyn Fn() -> bool + Sync),
        clock: &'a (dyn Fn() -> f64 + Sync),
    ) -> Job<'a> {
        let (model, source, bound, choices) = (self.model(), self.source(), &self.bound, &self.choices);
        Job { model, source, bound, choices, points, stop, clock, second_runs: true }
    }

    /// The expectations of the model, with the results of a run. The purpose of the simulation is [`Purpose::Test`].
    pub fn expectations(&self, seen: &Observations) -> Vec<Expectation> {
        expectations::of(self.model(), &self.bound, seen)
    }

    /// The warnings after a run that need no second run with a smaller tolerance: all but W0622. `stop` ends a run that
    /// confirms one.
    pub fn warnings(&self, seen: &Observations, stop: &dyn Fn() -> bool) -> Vec<Diagnostic> {
        blame::warnings(self.model(), self.source(), &self.bound, seen, stop)
    }

    /// The warnings after a run whose rows are results: those of [`Simulation::warnings`], and a warning if errors grew. If
    /// that is possible, a second run determines it, which may take longer than the run itself; `stop` ends it.
    pub fn warnings_of_rows(&self, seen: &Observations, stop: &dyn Fn() -> bool) -> Judgement {
        let mut list = self.warnings(seen, stop);
        let mut second_run = None;
        let (model, source, bound, findings) = (self.model(), self.source(), &self.bound, &seen.findings);
        // wrong rows already have a warning with another reason
        if !monitor::amplified::tells_all(&list, findings) {
            let (warning, made) = monitor::amplified::found(&CheckedRun { model, source, bound, findings, stop });
            list.extend(warning);
            second_run = made;
        }
        Judgement { warnings: list, second_run }
    }

    /// The same for a run that failed: a second run shows whether errors of the steps have caused the failure.
    pub fn warnings_before_failure(
        &self,
        failure: &Failure,
        seen: &Observations,
        stop: &dyn Fn() -> bool,
    ) -> Judgement {
        let mut list = self.warnings(seen, stop);
        let mut second_run = None;
        let (model, source, bound, findings) = (self.model(), self.source(), &self.bound, &seen.findings);
        if !monitor::amplified::tells_all(&list, findings) {
            let checked = CheckedRun { model, source, bound, findings, stop };
            let (warning, made) = monitor::amplified::found_before(&checked, failure);
            list.extend(warning);
            second_run = made;
        }
        Judgement { warnings: list, second_run }
    }

    /// The warnings during a run, after [`Recorder::alarm`].
    pub fn warnings_during_run(&self, findings: &Findings) -> Vec<Diagnostic> {
        let (model, source, bound) = (self.model(), self.source(), &self.bound);
        monitor::report::during_run(&CheckedRun { model, source, bound, findings, stop: &|| true })
    }

    /// Like [`Simulation::explain`], with the observations of the run before it failed, which may show the cause.
    /// `said` are the warnings that were already printed; they are not repeated.
    pub fn explain_seen(&self, why: &SolveError, seen: &Observations, said: &[&'static Code]) -> Error {
        let SolveError::Failed(failure) = why else { return self.explain(why) };
        let (model, source, bound, findings) = (self.model(), self.source(), &self.bound, &seen.findings);
        self.error(vec![blame::failed_seen(
            &CheckedRun { model, source, bound, findings, stop: &|| true },
            failure,
            said,
        )])
    }

    /// Explains why a run failed, in terms of the model.
    pub fn explain(&self, why: &SolveError) -> Error {
        let d = match why {
            SolveError::Refused(refusal) => blame::refused(refusal, &self.bound),
            SolveError::Failed(failure) => blame::failed(self.model(), self.source(), &self.bound, failure),
        };
        self.error(vec![d])
    }

    /// Explains why the solver refuses the run.
    pub fn refused(&self, refusal: &Refusal) -> Error {
        self.error(vec![blame::refused(refusal, &self.bound)])
    }

    /// Diagnostics about this simulation as an error.
    pub fn error(&self, list: Vec<Diagnostic>) -> Error {
        self.loaded.error(&self.choices, list)
    }
}
