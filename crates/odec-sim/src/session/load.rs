//! Checks a text, or a model built in Rust, and makes programs and simulations of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use odec_ir::Program;
use odec_lang::diagnostic::{Class, Diagnostic, codes};
use odec_lang::model::{Model, Overrides, Symbol, Values};
use odec_lang::program::{Lowered, ModeProgram, lower_for_run, lower_sensitivities_warned, lower_warned};
use odec_lang::source::Source;
use odec_lang::syntax::tree::Tree;
use odec_lang::{analyse, parse};

use super::parts::Parts;
use super::samples;
use super::tables::{self, Files, NoFiles, Tables};
use super::{Clock, Error, Simulation, Stopwatch, Times};
use crate::bind::{Purpose, RunPlan, overrides, params_of};
use crate::blame;
use crate::choices::{Choices, SampleRule, StepChoice};
use crate::columns::Titles;
use crate::derivatives;
use crate::experiment::Experiment;
use crate::memory::MemoryEstimate;

/// The resources of the host: the files that models name, a clock, and memory.
#[derive(Clone)]
pub struct Session {
    files: Arc<dyn Files>,
    clock: Option<Clock>,
    memory: Option<u64>,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// A session without files, without a clock, and without a limit of memory.
    pub fn new() -> Session {
        Session { files: Arc::new(NoFiles), clock: None, memory: None }
    }

    /// The same session with the files that models name.
    pub fn with_files(self, files: impl Files + 'static) -> Session {
        Session { files: Arc::new(files), ..self }
    }

    /// The same session with a clock, which measures the stages.
    pub fn with_clock(self, clock: Clock) -> Session {
        Session { clock: Some(clock), ..self }
    }

    /// The same session for texts that take at most this many bytes of memory to compile.
    pub fn with_memory(self, memory: Option<u64>) -> Session {
        Session { memory, ..self }
    }

    /// Refuses a text that takes more memory to compile than this session has. [`Session::check`] calls this first.
    ///
    /// # Errors
    /// E0720.
    pub fn fits(&self, source: &Source) -> Result<(), Box<Diagnostic>> {
        MemoryEstimate::of_text(&source.text).within(self.memory)
    }

    /// Parses and checks a text; messages call it `name`.
    ///
    /// # Errors
    /// The text is not a valid model.
    pub fn load(&self, name: &str, text: &str) -> Result<Loaded, Error> {
        self.check(Source::new(name, text)).1
    }

    /// A text with the files that it uses, which the host opens.
    pub fn with_parts(&self, source: Source) -> Source {
        source.with_parts(&Parts(&*self.files))
    }

    /// The same for a text in another language: `used` finds the names of the files that a text uses.
    pub fn with_files_of(&self, source: Source, used: &dyn Fn(&str) -> Vec<String>) -> Source {
        source.with_files(&Parts(&*self.files), used)
    }

    /// Parses and checks a text with its parts. Returns the tree even if the text is not a valid model.
    pub fn check(&self, source: Source) -> (Tree, Result<Loaded, Error>) {
        let mut laps = Stopwatch::new(self.clock);
        let source = self.with_parts(source);
        if let Err(report) = self.fits(&source) {
            return (Tree::default(), Err((*report).into()));
        }
        let (tree, mut diagnostics) = parse(&source);
        let parse = laps.lap();
        let (model, more) = analyse(&tree, &source);
        diagnostics.extend(more);
        let wrong = diagnostics.iter().any(Diagnostic::is_error);
        match &model {
            // an invalid text is checked again for idioms of other languages, and for fixes that work
            _ if wrong => diagnostics = odec_lang::check(&source).diagnostics,
            Some(model) => diagnostics.extend(odec_lang::lint::lint(&tree, &source, model)),
            None => {}
        }
        let diagnostics = odec_lang::of_parts(&source, diagnostics);
        let model = model.filter(|_| !wrong);
        let times = Times { parse, check: laps.lap(), ..Times::default() };
        let source = Arc::new(source);
        let loaded = match model {
            Some(model) => {
                let titles = Titles::default();
                Ok(Loaded {
                    session: self.clone(),
                    source,
                    model: Arc::new(model),
                    warnings: diagnostics,
                    times,
                    titles,
                })
            }
            // errors in a text always have the class of the model
            None => Err(Error { class: Class::Model, ..Error::new(Some(source), diagnostics) }),
        };
        (tree, loaded)
    }

    /// Accepts a model that was built elsewhere. `source` is the text of its source locations. For a model that was
    /// built from parts, it is the `source` that the builder returns, so that messages list the labels of the parts.
    pub fn adopt(&self, source: Source, model: Model) -> Loaded {
        let (source, model) = (Arc::new(source), Arc::new(model));
        let (warnings, times, titles) = (vec![], Times::default(), Titles::default());
        Loaded { session: self.clone(), source, model, warnings, times, titles }
    }
}

/// A checked model.
#[derive(Clone)]
pub struct Loaded {
    session: Session,
    source: Arc<Source>,
    model: Arc<Model>,
    warnings: Vec<Diagnostic>,
    times: Times,
    titles: Titles,
}

impl Loaded {
    /// Its text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The checked model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Warnings and notes about the text. Those that need the equations together belong to a [`Simulation`].
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The same model with these titles of columns instead of the names of the quantities.
    pub fn with_titles(self, titles: Titles) -> Loaded {
        Loaded { titles, ..self }
    }

    /// The program with the values of `choices`, and warnings, for `emit` and `dump`.
    ///
    /// # Errors
    /// Invalid values, unreadable tables, or equations that cannot be solved for their derivatives.
    pub fn program(&self, choices: &Choices) -> Result<Lowered, Error> {
        let (choices, doubtful) = self.with_tables(self.in_units_of_model(choices)?, None)?;
        let overrides = overrides(None, &choices);
        let mut lowered = lower_warned(&self.model, &overrides).map_err(|list| self.error(&choices, list))?;
        lowered.warnings.extend(doubtful);
        Ok(lowered)
    }

    /// The values of the parameters and the initial values, and the names of those that `choices` and the unnamed run
    /// set.
    ///
    /// # Errors
    /// See [`Loaded::program`].
    pub fn values(&self, choices: &Choices) -> Result<(Values, BTreeSet<String>), Error> {
        let (choices, _) = self.with_tables(self.in_units_of_model(choices)?, None)?;
        let run = self.model.runs.iter().find(|run| run.name.is_none());
        let overrides = overrides(run, &choices);
        let values = self.model.values(&overrides).map_err(|list| self.error(&choices, list))?;
        let sets = self.model.param_sets.iter().filter(|set| Some(&set.name) == overrides.params.as_ref());
        let of_set = sets.flat_map(|set| &set.entries).filter_map(|entry| match entry.symbol {
            Symbol::Parameter(k) => Some(self.model.parameters[k].name.clone()),
            _ => None,
        });
        Ok((values, of_set.chain(overrides.values.iter().map(|(name, _)| name.clone())).collect()))
    }

    /// The program with modes instead of comparisons, and the description of the modes, for emitting a model with
    /// events.
    ///
    /// # Errors
    /// The errors of [`Loaded::program`], and a refusal of bounds, because the steps of another program do not enforce
    /// them.
    pub fn located(&self, choices: &Choices) -> Result<(Lowered, Option<ModeProgram>), Error> {
        blame::without_bounds(&self.model).map_err(|list| self.error(choices, list))?;
        let (choices, doubtful) = self.with_tables(self.in_units_of_model(choices)?, None)?;
        let overrides = overrides(None, &choices);
        let mut lowered = lower_for_run(&self.model, &overrides, false).map_err(|list| self.error(&choices, list))?;
        lowered.warnings.extend(doubtful);
        let located = lowered.located.take();
        Ok((lowered, located))
    }

    /// An error about this model that the host has found.
    pub fn refuse(&self, diagnostic: Diagnostic) -> Error {
        self.error(&Choices::default(), vec![diagnostic])
    }

    /// Refuses a model with events, for operations that do not execute them.
    ///
    /// # Errors
    /// The model has events.
    pub fn without_events(&self) -> Result<(), Error> {
        blame::without_events(&self.model).map_err(|list| self.error(&Choices::default(), list))
    }

    /// Time span and tolerances of the unnamed run, for callers that solve a program of this model themselves.
    ///
    /// # Errors
    /// Invalid values and settings.
    pub fn experiment(&self, choices: &Choices, program: &Program) -> Result<Experiment, Error> {
        let (choices, _) = self.with_tables(self.in_units_of_model(choices)?, None)?;
        let mut model = self.model.clone();
        if model.run(None).is_err() {
            // only the unnamed run counts
            Arc::make_mut(&mut model).runs.clear();
        }
        let plan = RunPlan::new(&model, &choices, Purpose::Steps);
        let experiment = plan.and_then(|plan| plan.experiment(program).map_err(|d| vec![d]));
        experiment.map_err(|list| self.error(&choices, list))
    }

    /// The parameter set that the run block without a name, or the only one, applies.
    pub fn default_params(&self) -> Option<String> {
        self.model.run(None).ok().flatten().and_then(params_of)
    }

    /// Checks all run blocks with the values of `choices`, without compiling.
    ///
    /// # Errors
    /// Invalid values and settings, sample times outside their run.
    pub fn check_runs(&self, choices: &Choices) -> Result<(), Error> {
        let choices = &self.in_units_of_model(choices)?;
        let blocks = self.model.runs.iter().map(Some);
        // without a block, there is a run with the defaults
        for run in blocks.chain(self.model.runs.is_empty().then_some(None)) {
            let choices = Choices { run: run.and_then(|run| run.name.clone()), ..choices.clone() };
            let (choices, _) = self.with_tables(choices.clone(), Some(overrides(run, &choices)))?;
            let plan = RunPlan::new(&self.model, &choices, Purpose::Rows);
            let checked = plan.and_then(|plan| plan.check(&self.model).map_err(|d| vec![d]));
            checked.map_err(|list| self.error(&choices, list))?;
        }
        Ok(())
    }

    /// Compares the symbolic derivatives of a program of this model with dual numbers and with differences.
    ///
    /// # Errors
    /// Extents and tables that do not fit.
    pub fn compare_derivatives(&self, program: &Program) -> Result<Vec<derivatives::DerivativeTable>, Error> {
        derivatives::compare(program, &self.model.time.name)
            .map_err(|error| self.error(&Choices::default(), vec![blame::extents(&error, program)]))
    }

    /// Compiles the model and binds it to its values and settings; `choices` take precedence.
    ///
    /// # Errors
    /// The errors of [`Loaded::program`], and invalid settings of the run.
    pub fn simulate(&self, choices: &Choices, purpose: Purpose) -> Result<Simulation, Error> {
        let choices = &self.in_units_of_model(choices)?;
        let run = choices.block(&self.model).map_err(|d| self.error(choices, vec![d]))?;
        let (choices, doubtful) = self.with_tables(choices.clone(), Some(overrides(run, choices)))?;
        let wrong = |list| self.error(&choices, list);
        let mut model = self.model.clone();
        if purpose != Purpose::Test && !model.expects.is_empty() {
            // expectations refer to the original sizes: with other sizes their elements may not exist
            Arc::make_mut(&mut model).expects.clear();
        }
        if choices.only_f && model.states.iter().any(|state| !state.bounds.is_empty()) {
            Arc::make_mut(&mut model).states.iter_mut().for_each(|state| state.bounds.clear());
        }
        let mut laps = Stopwatch::new(self.session.clock);
        let dropped = if model.expects.is_empty() {
            Vec::new()
        } else {
            Arc::make_mut(&mut model).drop_missing_expects(&overrides(run, &choices))
        };
        let plan = RunPlan::new(&model, &choices, purpose).map_err(wrong)?;
        let unlocated = matches!(purpose, Purpose::Method | Purpose::Comparison);
        let runs = !(unlocated || choices.only_f && purpose == Purpose::Steps);
        let lower = match (runs, choices.sensitivities) {
            (true, sensitivities) => lower_for_run(&model, &plan.overrides, sensitivities),
            (false, true) => lower_sensitivities_warned(&model, &plan.overrides),
            (false, false) => lower_warned(&model, &plan.overrides),
        };
        if !runs {
            blame::without_events(&model).map_err(wrong)?;
        }
        let Lowered { program, mut warnings, balances, unlocated_warning, located } = lower.map_err(wrong)?;
        warnings.retain(|warning| unlocated_warning.is_none() || warning.code != &codes::W0301);
        warnings.extend(unlocated_warning);
        warnings.extend(dropped);
        warnings.extend(doubtful);
        let derive = laps.lap();
        let mut ready = plan.compile(&model, program).map_err(wrong)?;
        if let Some(located) = located {
            ready = ready.locating(located).map_err(wrong)?;
        }
        let compile = laps.lap();
        let mut bound = ready.bind(&model, &self.source).map_err(wrong)?;
        let times = Times { derive, compile, bind: laps.lap(), ..self.times };
        bound.options.clock = self.session.clock;
        bound.balances = balances;
        bound.columns = bound.columns.titled(self.titles.clone());
        let loaded = Loaded { model, warnings, ..self.clone() };
        Ok(Simulation::new(loaded, bound, choices, purpose, times))
    }

    /// Converts numbers with units to the units of the model.
    pub(crate) fn in_units_of_model(&self, choices: &Choices) -> Result<Choices, Error> {
        let mut converted = choices.clone();
        let (units, time) = (&self.model.units, &self.model.time.name);
        let wrong = |diagnostic| self.error(choices, vec![diagnostic]);
        for (k, unit) in converted.set_units.drain(..) {
            let Some((name, value)) = converted.set.get_mut(k) else { continue };
            *value = units.number_in(*value, &unit, name, time).map_err(wrong)?;
        }
        for (k, unit) in converted.atol_units.drain(..) {
            let Some((name, value)) = converted.atol_for.get_mut(k) else { continue };
            *value = units.number_in(*value, &unit, name, time).map_err(wrong)?;
        }
        let steps = match &mut converted.step {
            Some(StepChoice::Fixed(step)) => Some(step),
            _ => None,
        };
        for (value, unit) in
            [steps, converted.max_step.as_mut()].into_iter().zip(std::mem::take(&mut converted.step_units))
        {
            if let (Some(value), Some(unit)) = (value, unit) {
                *value = units.number_in(*value, &unit, time, time).map_err(wrong)?;
            }
        }
        let [start, end] = std::mem::take(&mut converted.time_units);
        for (value, unit) in [(&mut converted.t0, start), (&mut converted.t_end, end)] {
            if let (Some(value), Some(unit)) = (value, unit) {
                *value = units.number_in(*value, &unit, time, time).map_err(wrong)?;
            }
        }
        if let Some(SampleRule::Times(times)) = &mut converted.samples {
            for (k, unit) in converted.sample_units.drain(..) {
                let Some(value) = times.get_mut(k) else { continue };
                *value = units.number_in(*value, &unit, time, time).map_err(wrong)?;
            }
        }
        Ok(converted)
    }

    /// Adds the tables and samples of the model, unless they exist, and warnings about them.
    fn with_tables(
        &self,
        mut choices: Choices,
        beside: Option<Overrides>,
    ) -> Result<(Choices, Vec<Diagnostic>), Error> {
        let mut doubtful = Vec::new();
        if choices.inputs.is_empty() {
            let read = samples::read(&self.model, &choices.data, &*self.session.files, &mut doubtful);
            choices.inputs = read.map_err(|list| self.error(&choices, list))?;
        }
        if choices.tables.is_empty() {
            let plain =
                Overrides { values: choices.set.clone(), params: choices.params.clone(), ..Overrides::default() };
            let mut known = beside.unwrap_or(plain);
            known.inputs.clone_from(&choices.inputs);
            let read: Result<Tables, _> = tables::read(&self.model, &known, &*self.session.files, &mut doubtful);
            choices.tables = read.map_err(|list| self.error(&choices, list))?;
        }
        Ok((choices, doubtful))
    }

    /// The diagnostics, and their class. If a value of the caller violates bounds in the model, the message points to
    /// the model, but the class is that of the caller.
    pub(super) fn error(&self, choices: &Choices, list: Vec<Diagnostic>) -> Error {
        let out_of_bounds = list.first().is_some_and(|d| d.code == &codes::E0407);
        let asked = out_of_bounds && !choices.set.is_empty() && self.model.values(&Overrides::default()).is_ok();
        let error = Error::new(Some(self.source.clone()), odec_lang::of_parts(&self.source, list));
        if asked { Error { class: Class::Usage, ..error } } else { error }
    }
}
