//! Combines a model, its run block and the caller's choices into a problem for a solver.

use odec_ir::layout::Layout;
use odec_ir::nest::bind::check_arrays;
use odec_ir::switch::Switching;
use odec_ir::{Program, Span};
use odec_lang::balance::Balances;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{ConservedSettings, Expectation, Model, Overrides, Record, Run, Settings, Values};
use odec_lang::program::ModeProgram;
use odec_lang::source::Source;
use odec_ode::method::Structure;
use odec_ode::method::auto::Traits;
use odec_ode::problem::{Options, Problem, Samples};

use crate::choices::{Choices, RecordRule, SampleRule, StepChoice};
use crate::choose::{Choice, choose};
use crate::columns::{Columns, check_columns};
use crate::error;
use crate::executor::{Execution, Executor, KernelCode, UnsuitableProgram};
use crate::hybrid::Located;
use crate::memory::MemoryEstimate;
use crate::quantities::Quantities;
pub use crate::samples::RowSpacing;
use crate::samples::{DEFAULT_SAMPLES, listed_rule, times, with_expectations};
use crate::select::Sub;
use crate::start::Moved;

/// Default relative tolerance.
pub const DEFAULT_RTOL: f64 = 1e-6;
/// Default absolute tolerance.
pub const DEFAULT_ATOL: f64 = 1e-9;

/// Largest number of steps of a run: at a microsecond each, they take three hours.
pub const MAX_STEPS: u64 = 10_000_000_000;

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rows that are written.
    Rows,
    /// Rows from which a picture selects points.
    Picture,
    /// The model's expectations: the run reaches the time of every `expect` and samples there.
    Test,
    /// Properties of one method on the model.
    Method,
    /// Runs of several methods, which evaluate comparisons as written.
    Comparison,
    /// Steps that the host requests one at a time: there may be no end time, and there are no rows.
    Steps,
    /// Steady states: the run does not start from a steady state.
    Equilibria,
}

/// The settings of run block and caller; kernels are lowered with its `overrides`.
pub struct RunPlan {
    /// Parameter set and single values.
    pub overrides: Overrides,
    /// `expect` lines of this run.
    pub expectations: Vec<Expectation>,
    /// `conserve` lines.
    pub conservation: Vec<ConservedSettings>,
    pub(crate) settings: Settings,
    pub(crate) values: Values,
    choices: Choices,
    purpose: Purpose,
}

/// A model ready to run.
pub struct Bound {
    /// The kernels with their parameters. They evaluate comparisons as written, so they are correct at every point.
    pub executor: Executor,
    /// The model with modes, if anything in it switches.
    pub located: Option<Located>,
    /// Start, end, initial values.
    pub problem: Problem,
    /// Tolerances and steps.
    pub options: Options,
    /// Times of the rows.
    pub samples: Samples,
    /// First distance of logarithmic samples from the start.
    pub logarithmic: Option<f64>,
    /// Whether the rows show the whole course of the run.
    pub spread: RowSpacing,
    /// The method and the reason for its choice.
    pub choice: Choice,
    /// The states, by name and by position in y.
    pub states: Quantities,
    /// Values of constants and parameters.
    pub values: Values,
    /// The columns of the rows, time first.
    pub columns: Columns,
    /// `expect` lines of this run.
    pub expectations: Vec<Expectation>,
    /// `conserve` lines.
    pub conservation: Vec<ConservedSettings>,
    /// The derivatives of these quantities along the equations, computed on request.
    pub balances: Balances,
    /// Source locations of the entries of the run block that apply, for messages about refusals.
    pub asked: RunBlockPlaces,
    /// True if the model declares algebraic unknowns.
    pub guesses: bool,
    /// Unknowns whose guesses are read by initial values: their indices in y, and the initial value that reads them.
    pub guesses_read: Vec<(std::ops::Range<usize>, Span)>,
    /// The values that the search for a consistent start changed.
    pub moved: Vec<Moved>,
    /// The initial values that the caller set, by their indices in y.
    pub chosen_starts: Vec<usize>,
    /// True if the run starts from a steady state.
    pub from_steady: bool,
    /// This steady state.
    pub steady: Option<crate::steady::Start>,
}

/// Source locations of the entries of the run block that the caller did not override.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunBlockPlaces {
    /// `method`
    pub method: Option<Span>,
    /// `step`
    pub step: Option<Span>,
    /// `rtol`
    pub rtol: Option<Span>,
    /// `atol`
    pub atol: Option<Span>,
    /// `samples`
    pub samples: Option<Span>,
    /// `start`
    pub start: Option<Span>,
}

impl RunPlan {
    /// Evaluates the run block; `choices` take precedence.
    pub fn new(model: &Model, choices: &Choices, purpose: Purpose) -> Result<RunPlan, Vec<Diagnostic>> {
        let run = choices.block(model).map_err(|d| vec![d])?;
        let overrides = overrides(run, choices);
        let values = model.values(&overrides)?;
        let settings = run.map(|r| model.settings(r, &values)).transpose()?.unwrap_or_default();
        let expectations = model.expectations(run, &values);
        let conservation = model.conservation(&values);
        Ok(RunPlan { overrides, expectations, conservation, settings, values, choices: choices.clone(), purpose })
    }

    /// Refuses sample times outside the time span of the run, if the span is known.
    pub(crate) fn check_samples(&self, model: &Model) -> Result<(), Diagnostic> {
        let counted = matches!(self.sample_rule().0, SampleRule::Count(_));
        match self.span(model) {
            Ok((t0, t_end)) if !counted => self.asked_samples(t0, t_end).map(|_| ()),
            // the end of this run is given on the command line
            Err(d) if d.code != &codes::E0709 => Err(d),
            _ => Ok(()),
        }
    }

    /// The sample times according to the settings.
    fn asked_samples(&self, t0: f64, t_end: f64) -> Result<Samples, Diagnostic> {
        let (rule, span) = self.sample_rule();
        times(&rule, t0, t_end).map_err(|why| {
            let place = span.map(|s| (s, String::new()));
            error(&codes::E0618, why, place, Some(crate::samples::advice(&rule, t0, t_end)))
        })
    }

    /// Compiles the kernels and determines everything that a solver needs: [`RunPlan::compile`] and [`Ready::bind`].
    pub fn bind(self, model: &Model, source: &Source, program: Program) -> Result<Bound, Vec<Diagnostic>> {
        self.compile(model, program)?.bind(model, source)
    }

    /// Compiles the kernels that the run needs.
    pub fn compile(self, model: &Model, program: Program) -> Result<Ready, Vec<Diagnostic>> {
        let one = |d: Diagnostic| vec![d];
        // before anything that grows with the extents is built
        check_arrays(&program).map_err(|e| one(crate::blame::extents(&e, &program)))?;
        let layout = Layout::of(&program);
        let states = Quantities::states(&program, &layout);
        let outputs = Quantities::outputs(&program, &layout);
        let scales = self.scales(&program, &layout, &layout.inputs(&program));
        let settings = self.settings(model, &states, &scales, program.mass_varies()).map_err(one)?;
        let columns = self.columns(Columns::new(&model.time.name, states.clone(), outputs)).map_err(one)?;
        MemoryEstimate::of_sizes(&layout, &columns).within(self.choices.max_memory).map_err(|d| one(*d))?;
        if self.purpose == Purpose::Rows {
            check_columns(&columns, &settings.samples).map_err(one)?;
        }
        let execution = if self.choices.interpret { Execution::Interpret } else { Execution::Jit };
        // `auto` may never use a method that needs derivatives, and their code is most of the code.
        let ahead = if settings.choice.method.name == odec_ode::method::auto::METHOD.name {
            Structure { jacobian: false, time_derivative: false }
        } else {
            settings.choice.needs
        };
        let code = KernelCode::new(program, execution, ahead)
            .map_err(|e| one(crate::blame::not_compiled(&UnsuitableProgram::Code(e), None)))?;
        Ok(Ready { plan: self, settings, states, columns, code, located: None })
    }

    /// The settings of the run block and the caller as numbers. `scales` are the scales of the parameters for
    /// sensitivities.
    pub(crate) fn settings(
        &self,
        model: &Model,
        states: &Quantities,
        scales: &[f64],
        moving_mass: bool,
    ) -> Result<RunSettings, Diagnostic> {
        let (t0, t_end) = self.span(model)?;
        let (rule, _) = self.sample_rule();
        let asked = || self.asked_samples(t0, t_end);
        let samples = match self.purpose {
            Purpose::Steps | Purpose::Equilibria => Samples::Times(vec![]),
            Purpose::Test => asked().map(|_| with_expectations(&self.expectations, t0, t_end))?,
            _ => asked()?,
        };
        let options = self.options(states, scales)?;
        self.countable(&options, t_end - t0)?;
        let choice = self.method(states.len(), &options, moving_mass)?;
        let logarithmic = match rule {
            SampleRule::Log { first, .. } => Some(first),
            _ => None,
        };
        let spread = match (self.purpose, &rule) {
            (Purpose::Rows, SampleRule::Count(n)) => RowSpacing::Even(*n),
            (Purpose::Rows, SampleRule::Log { .. }) => RowSpacing::Logarithmic,
            _ => RowSpacing::Other,
        };
        Ok(RunSettings { t0, t_end, samples, logarithmic, spread, options, choice })
    }

    /// The scale of each parameter of the derivatives, from the values of a parameter buffer; 1 for a parameter that is 0.
    fn scales(&self, program: &Program, layout: &Layout, p: &[f64]) -> Vec<f64> {
        if !self.choices.sensitivities {
            return vec![];
        }
        let parameters = Quantities::parameters(program, layout);
        let size = |name: &String| {
            let value = parameters.find(name).ok().flatten().map(|place| p[place].abs());
            value.filter(|size| *size != 0.0).unwrap_or(1.0)
        };
        self.choices.open.iter().map(size).collect()
    }

    /// Applies the settings and the start of this plan to a bound model whose parameters already have these values.
    /// The caller checks whether the initial values are finite.
    pub(crate) fn settle(self, model: &Model, bound: &mut Bound) -> Result<(), Diagnostic> {
        let executor = &bound.executor;
        let scales = self.scales(executor.program(), executor.layout(), executor.parameters());
        let settings = self.settings(model, &bound.states, &scales, executor.program().mass_varies())?;
        let outputs = Quantities::outputs(executor.program(), executor.layout());
        let columns = self.columns(Columns::new(&model.time.name, bound.states.clone(), outputs))?;
        if self.purpose == Purpose::Rows {
            check_columns(&columns, &settings.samples)?;
        }
        let clock = bound.options.clock;
        bound.asked = self.asked();
        bound.options = Options { eliminator: Some(bound.executor.eliminator()), clock, ..settings.options };
        (bound.problem.t0, bound.problem.t_end) = (settings.t0, settings.t_end);
        (bound.samples, bound.spread, bound.choice) = (settings.samples, settings.spread, settings.choice);
        (bound.columns, bound.logarithmic) = (columns, settings.logarithmic);
        bound.chosen_starts = self.choices.starts(&bound.states);
        bound.from_steady = self.choices.starts_steady(&self.settings, self.purpose);
        (bound.values, bound.conservation) = (self.values, self.conservation);
        Ok(())
    }

    /// The entries of the run block that apply.
    fn asked(&self) -> RunBlockPlaces {
        let (s, c) = (&self.settings, &self.choices);
        RunBlockPlaces {
            method: s.method.as_ref().map(|e| e.span).filter(|_| c.method.is_none()),
            step: s.step.map(|e| e.span).filter(|_| c.step.is_none()),
            rtol: s.rtol.map(|e| e.span).filter(|_| c.rtol.is_none()),
            atol: s.atol.map(|e| e.span).filter(|_| c.atol.is_none()),
            samples: s.samples.as_ref().map(|e| e.span).filter(|_| c.samples.is_none()),
            start: s.steady.map(|e| e.span),
        }
    }

    fn span(&self, model: &Model) -> Result<(f64, f64), Diagnostic> {
        let t0 = self.choices.t0.or(self.settings.t0.map(|s| s.value)).unwrap_or(0.0);
        let mut t_end = self.choices.t_end.or(self.settings.t_end.map(|s| s.value));
        if self.purpose == Purpose::Test {
            for e in &self.expectations {
                if t_end.is_none_or(|end| (e.time - end) * (end - t0) > 0.0) {
                    t_end = Some(e.time);
                }
            }
        }
        if matches!(self.purpose, Purpose::Steps | Purpose::Equilibria) {
            return Ok((t0, t_end.unwrap_or(t0)));
        }
        let Some(t_end) = t_end else {
            let name = &model.time.name;
            let headline = "the end time of the run is missing".to_string();
            let help = format!("add `--t-end 10`, or write `run {{ {name} = 0 .. 10 }}` in the model");
            return Err(error(&codes::E0709, headline, None, Some(help)));
        };
        if t0 == t_end {
            let headline = format!("the run ends at its start, {t0}");
            return Err(error(
                &codes::E0710,
                headline,
                None,
                Some("choose another end, for example `--t-end 10`".to_string()),
            ));
        }
        Ok((t0, t_end))
    }

    fn sample_rule(&self) -> (SampleRule, Option<Span>) {
        if let Some(rule) = &self.choices.samples {
            return (rule.clone(), None);
        }
        match &self.settings.samples {
            Some(setting) => (listed_rule(&setting.value), Some(setting.span)),
            None if self.step().is_some() => (SampleRule::Steps, None),
            None => (SampleRule::Count(DEFAULT_SAMPLES), None),
        }
    }

    fn step(&self) -> Option<f64> {
        match self.choices.step {
            Some(StepChoice::Auto) => None,
            Some(StepChoice::Fixed(h)) => Some(h),
            None => self.settings.step.map(|s| s.value),
        }
    }

    pub(crate) fn options(&self, states: &Quantities, scales: &[f64]) -> Result<Options, Diagnostic> {
        let setting = |choice: Option<f64>, entry: Option<f64>| choice.or(entry);
        let rtol = setting(self.choices.rtol, self.settings.rtol.map(|s| s.value)).unwrap_or(DEFAULT_RTOL);
        let atol = setting(self.choices.atol, self.settings.atol.map(|s| s.value)).unwrap_or(DEFAULT_ATOL);
        // One number if all states have the same: compile time then does not grow with the states.
        let Settings { atol_for, atol_at, .. } = &self.settings;
        let alike = atol_for.is_empty() && atol_at.is_empty() && self.choices.atol_for.is_empty() && scales.is_empty();
        let mut list = vec![atol; if alike { 1 } else { states.len() }];
        for (k, setting) in &self.settings.atol_for {
            list[states.list()[*k].places()].fill(setting.value);
        }
        for (k, at, setting) in atol_at {
            let subs: Vec<Sub> = at.iter().map(|&(first, last)| Sub::Range(first, last)).collect();
            let quantity = &states.list()[*k];
            // elements that do not exist were refused when the entry was parsed
            for run in quantity.runs(&subs).unwrap_or_default() {
                list[quantity.start + run.start..quantity.start + run.end].fill(setting.value);
            }
        }
        self.chosen_tolerances(states, &mut list)?;
        if !scales.is_empty() {
            // An error in dx/dk counts as much as the error in x caused by a change of k by its own size.
            let own = states.list().len() / (scales.len() + 1);
            for (k, series) in states.list().iter().enumerate().skip(own) {
                let scale = scales[k / own - 1];
                let of = states.list()[k % own].start;
                for i in 0..series.len {
                    list[series.start + i] = list[of + i] / scale;
                }
            }
            self.chosen_tolerances(states, &mut list)?;
        }
        if list.iter().all(|&a| a == atol) {
            list.truncate(1);
        }
        let step = self.step();
        let asked = self.choices.max_steps.map(|n| (n, None));
        let asked = asked.or(self.settings.max_steps.map(|s| (s.value, Some(s.span))));
        if let Some((n, span)) = asked.filter(|(n, _)| *n > MAX_STEPS) {
            let headline = format!("a budget of {n} steps is too large: the limit is {MAX_STEPS}");
            let help =
                "most runs need fewer than 100000 steps; if a run needs far more, try another method".to_string();
            return Err(error(&codes::E0614, headline, span.map(|s| (s, String::new())), Some(help)));
        }
        let defaults = Options::default();
        Ok(Options {
            rtol,
            atol: list,
            step: step.or(self.choices.first_step),
            fixed: step.is_some(),
            linear: self.choices.linear,
            max_step: setting(self.choices.max_step, self.settings.max_step.map(|s| s.value)),
            max_steps: asked.map_or(defaults.max_steps, |(n, _)| n),
            ..defaults
        })
    }

    /// Refuses too many constant steps before the first one.
    fn countable(&self, options: &Options, span: f64) -> Result<(), Diagnostic> {
        let Some(h) = options.step.filter(|h| options.fixed && *h > 0.0) else { return Ok(()) };
        let most = options.max_steps;
        let count = (span.abs() / h * (1.0 - 1e-9)).ceil();
        if !(count > most as f64) {
            return Ok(());
        }
        let number = crate::blame::number;
        let headline = format!("{} steps of {} exceed the {most} that `max_steps` permits", number(count), number(h));
        let place = self.settings.step.as_ref().filter(|_| self.choices.step.is_none()).map(|s| s.span);
        let least = crate::monitor::report::above(span.abs() / most as f64);
        let more = if count <= MAX_STEPS as f64 { format!(", or `max_steps = {count}`") } else { String::new() };
        let help = format!("use steps of at least {least}{more}, or leave out `step` and let the error control choose");
        Err(error(
            &codes::E0607,
            headline,
            place.map(|s| (s, format!("the run has length {}", number(span.abs())))),
            Some(help),
        ))
    }

    /// Applies absolute tolerances that the caller chose for single states.
    fn chosen_tolerances(&self, states: &Quantities, list: &mut [f64]) -> Result<(), Diagnostic> {
        for (name, value) in &self.choices.atol_for {
            let chosen = states.select(name).map_err(|why| crate::blame::misnamed(name, "--atol", &why))?;
            if chosen.is_empty() {
                let known: Vec<&str> = states.names().collect();
                return Err(crate::blame::unknown_state(name, "--atol", &known));
            }
            for c in &chosen {
                let start = states.list()[c.quantity].start;
                for run in &c.runs {
                    list[start + run.start..start + run.end].fill(*value);
                }
            }
        }
        Ok(())
    }

    fn method(&self, n: usize, options: &Options, moving_mass: bool) -> Result<Choice, Diagnostic> {
        let (name, span) = match (&self.choices.method, &self.settings.method) {
            (Some(name), _) => (Some(name.as_str()), None),
            (None, Some(setting)) => (Some(setting.value.as_str()), Some(setting.span)),
            (None, None) => (None, None),
        };
        let traits = Traits { n, fixed: options.fixed, rtol: options.rtol, moving_mass, series: false };
        choose(name, &traits, self.purpose == Purpose::Method)
            .map_err(|refusal| crate::blame::unknown_method(&refusal, span))
    }

    fn columns(&self, mut columns: Columns) -> Result<Columns, Diagnostic> {
        let (rule, flag) = match (&self.choices.record, &self.settings.record) {
            (Some(rule), _) => (rule.clone(), "--record"),
            (None, None) => (RecordRule::All, ""),
            (None, Some(setting)) => match &setting.value {
                Record::All => (RecordRule::All, ""),
                Record::States => (RecordRule::States, ""),
                Record::Outputs => (RecordRule::Outputs, ""),
                Record::Names(list) => (RecordRule::Names(list.clone()), "record ="),
            },
        };
        match rule {
            RecordRule::All => {
                columns.add_states();
                // a state that is also an output becomes one column
                columns.add_outputs(false);
            }
            RecordRule::States => columns.add_states(),
            RecordRule::Outputs => {
                columns.add_outputs(true);
                if !columns.has_outputs() {
                    let place = self.settings.record.as_ref().filter(|_| self.choices.record.is_none());
                    let help = "declare an output, for example `output total = ...`, or record everything".to_string();
                    let headline = "the run records outputs only, and the model has none".to_string();
                    return Err(error(&codes::E0706, headline, place.map(|s| (s.span, String::new())), Some(help)));
                }
            }
            RecordRule::Names(list) => {
                let place = self.settings.record.as_ref().filter(|_| self.choices.record.is_none()).map(|s| s.span);
                if let Some(name) =
                    list.iter().enumerate().find_map(|(k, name)| list[..k].contains(name).then_some(name))
                {
                    let headline = format!("`{name}` is recorded twice");
                    let place = place.map(|span| (span, String::new()));
                    return Err(error(&codes::E0402, headline, place, Some("name each column once".to_string())));
                }
                let derivatives = self.choices.open.iter().filter(|_| self.choices.sensitivities);
                let derivatives = derivatives.flat_map(|by| {
                    let own = list.iter().filter(|name| !name.starts_with("d("));
                    own.map(move |name| format!("d({name})/d({by})"))
                });
                for name in list.iter().cloned().chain(derivatives) {
                    columns.add(&name, flag).map_err(|d| match place {
                        Some(span) => d.label(span, ""),
                        None => d,
                    })?;
                }
            }
        }
        Ok(columns)
    }
}

/// A model compiled for a run, not yet bound to extents and parameters.
pub struct Ready {
    plan: RunPlan,
    settings: RunSettings,
    states: Quantities,
    columns: Columns,
    code: KernelCode,
    located: Option<(KernelCode, Switching)>,
}

/// The settings of a run that are needed for binding.
pub(crate) struct RunSettings {
    pub t0: f64,
    pub t_end: f64,
    pub samples: Samples,
    pub logarithmic: Option<f64>,
    pub spread: RowSpacing,
    pub options: Options,
    pub choice: Choice,
}

impl Ready {
    /// Compiles the program with modes as well, which runs use.
    pub(crate) fn locating(self, located: ModeProgram) -> Result<Ready, Vec<Diagnostic>> {
        let ModeProgram { program, switching } = located;
        let execution = if self.plan.choices.interpret { Execution::Interpret } else { Execution::Jit };
        let automatic = self.settings.choice.method.name == odec_ode::method::auto::METHOD.name;
        let ahead =
            if automatic { Structure { jacobian: false, time_derivative: false } } else { self.settings.choice.needs };
        let code = KernelCode::new(program, execution, ahead)
            .map_err(|e| vec![crate::blame::not_compiled(&UnsuitableProgram::Code(e), None)])?;
        Ok(Ready { located: Some((code, switching)), ..self })
    }

    /// Computes positions and patterns at the extents of the model, and the initial state.
    pub fn bind(self, model: &Model, source: &Source) -> Result<Bound, Vec<Diagnostic>> {
        let Ready { plan, settings, states, columns, code, located } = self;
        if located.is_none() {
            // no run without its events
            crate::blame::without_events(model)?;
        }
        let RunSettings { t0, t_end, samples, logarithmic, spread, mut options, choice } = settings;
        let program = code.program().clone();
        let needs = choice.needs.jacobian;
        let mut executor =
            Executor::bind(code, needs).map_err(|unfit| vec![crate::blame::not_compiled(&unfit, Some(&program))])?;
        if plan.choices.sensitivities {
            executor.set_groups(1 + plan.choices.open.len());
        }
        let located = located.map(|(code, switching)| {
            let mut located = Located::bind(code, switching, needs)?;
            if plan.choices.sensitivities {
                located.machine_mut().set_groups(1 + plan.choices.open.len());
            }
            Ok(located)
        });
        let located = located.transpose().map_err(|unfit| vec![crate::blame::not_compiled(&unfit, Some(&program))])?;
        options.eliminator = Some(executor.eliminator());
        let (asked, from_steady) = (plan.asked(), plan.choices.starts_steady(&plan.settings, plan.purpose));
        let (budget, chosen_starts) = (plan.choices.max_memory, plan.choices.starts(&states));
        let mut bound = Bound {
            problem: Problem { t0, t_end, y0: vec![0.0; executor.layout().n] },
            executor,
            located,
            options,
            samples,
            logarithmic,
            spread,
            choice,
            states,
            values: plan.values,
            columns,
            expectations: plan.expectations,
            conservation: plan.conservation,
            balances: Balances::default(),
            asked,
            guesses: model.states.iter().any(|state| state.algebraic),
            guesses_read: Vec::new(),
            moved: Vec::new(),
            chosen_starts,
            from_steady,
            steady: None,
        };
        bound.note_guesses(model);
        MemoryEstimate::of_run(&bound).within(budget).map_err(|d| vec![*d])?;
        bound.start().map_err(|why| vec![bound.no_start(model, source, &why)])?;
        bound.start_within_bounds(model)?;
        Ok(bound)
    }
}

/// The values that replace those of the model.
pub(crate) fn overrides(run: Option<&Run>, choices: &Choices) -> Overrides {
    Overrides {
        values: choices.set.clone(),
        params: choices.params.clone().or_else(|| run.and_then(params_of)),
        tables: choices.tables.clone(),
        inputs: choices.inputs.clone(),
        open: choices.open.clone(),
    }
}

/// The parameter set that a run block names.
pub(crate) fn params_of(run: &Run) -> Option<String> {
    run.entries.iter().find(|e| e.key == "params").and_then(|e| match &e.value {
        odec_lang::model::EntryValue::Word(word) => Some(word.clone()),
        _ => None,
    })
}
