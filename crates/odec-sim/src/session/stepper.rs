//! A run that its host advances from time to time, possibly with changed values.
//!
//! The solver chooses its own steps, usually beyond the requested time. The state at that time comes from the
//! interpolant, like a row of a run. So the requested times do not change the steps: a run in frames equals a run in
//! one call. Only if the host changes a value does the solver return to that time and restart there.

mod smooth;
mod switched;

use odec_lang::diagnostic::{Class, Diagnostic, codes};
use odec_lang::model::Overrides;
use odec_ode::Stats;
use odec_ode::consistent::Consistent;
use odec_ode::evaluator::Evaluator;
use odec_ode::problem::{Failure, Refusal, SolveError};
use odec_ode::system::{Mass, System};

use super::{Error, Loaded};
use crate::bind::Bound;
use crate::blame;
use crate::choices::Choices;
use crate::hybrid::drive::Driver;
use crate::quantities::{Chosen, Quantities};
use crate::sample::CoupledRates;
use smooth::SmoothRun;
use switched::SwitchedRun;

/// A run whose host requests the steps.
pub struct Stepper {
    loaded: Loaded,
    bound: Bound,
    parameters: Quantities,
    outputs: Quantities,
    discretes: Quantities,
    run: Run,
    at: Position,
}

/// The run of a model with or without modes.
enum Run {
    Smooth(Box<SmoothRun>),
    Switched(Box<SwitchedRun>),
}

/// Where the host is.
struct Position {
    t: f64,
    y: Vec<f64>,
    /// True if a value was set since the last step.
    changed: bool,
}

/// An event that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// Time.
    pub t: f64,
    /// Index of the event in [`odec_lang::model::Model::events`].
    pub event: usize,
    /// Values of its indices.
    pub at: Vec<i64>,
}

/// The position of a value.
enum Place {
    Time,
    State(usize),
    Output(usize),
    Parameter(usize),
    Discrete(usize),
}

impl Stepper {
    pub(super) fn new(loaded: Loaded, bound: Bound) -> Result<Stepper, Error> {
        let executor = &bound.executor;
        let parameters = Quantities::parameters(executor.program(), executor.layout());
        let outputs = Quantities::outputs(executor.program(), executor.layout());
        let located = bound.located.as_ref().map_or(executor, |located| located.executor());
        let discretes = Quantities::discretes(located.program(), located.layout());
        let end = bound.problem.t_end;
        let run = match Driver::new(&bound) {
            Ok(Driver::Smooth(runner)) => Run::Smooth(Box::new(SmoothRun::new(*runner, end))),
            Ok(Driver::Hybrid(hybrid)) => Run::Switched(Box::new(SwitchedRun::new(*hybrid, end))),
            Err(SolveError::Refused(refusal)) => return Err(Error::new(None, vec![blame::refused(&refusal, &bound)])),
            Err(SolveError::Failed(failure)) => {
                return Err(Error::new(None, vec![blame::failed(loaded.model(), loaded.source(), &bound, &failure)]));
            }
        };
        let at = Position { t: bound.problem.t0, y: bound.problem.y0.clone(), changed: false };
        Ok(Stepper { loaded, bound, parameters, outputs, discretes, run, at })
    }

    /// The current time.
    pub fn time(&self) -> f64 {
        self.at.t
    }

    /// The states in the order of the solver; [`Stepper::get`] returns them by name.
    pub fn state(&self) -> &[f64] {
        &self.at.y
    }

    /// The work so far, including steps beyond the current time.
    pub fn stats(&self) -> Stats {
        match &self.run {
            Run::Smooth(run) => run.stats(),
            Run::Switched(run) => run.stats(),
        }
    }

    /// The events that the last call of [`Stepper::advance_to`] executed, in their order.
    pub fn events(&self) -> Vec<Occurrence> {
        match &self.run {
            Run::Smooth(_) => Vec::new(),
            Run::Switched(run) => run.executed(),
        }
    }

    /// The event whose `stop` ended the run, as an index in [`odec_lang::model::Model::events`]. Such a run stays where
    /// it ended.
    pub fn stopped(&self) -> Option<usize> {
        match &self.run {
            Run::Smooth(_) => None,
            Run::Switched(run) => run.stopped().map(|origin| origin.event),
        }
    }

    /// Advances exactly to a time. A model without events, switches and bounds can also run backwards. A run that an
    /// event stops ends there, before the time; see [`Stepper::stopped`]. The first call also executes the events of the
    /// start. The limit on steps applies to each call.
    ///
    /// # Errors
    /// A time that is not finite; a failure of the run. The stepper is then at the last accepted step, and can
    /// continue from there with other values.
    pub fn advance_to(&mut self, t: f64) -> Result<(), Error> {
        if let Run::Switched(run) = &mut self.run {
            run.forget_executed();
        }
        let starts = matches!(&self.run, Run::Switched(run) if run.waits_for_start());
        if t == self.at.t && !starts {
            return Ok(());
        }
        if !t.is_finite() {
            let refusal = Refusal::BadOption(format!("the model cannot step to the time {t:?}"));
            return Err(self.error(blame::refused(&refusal, &self.bound)));
        }
        let reached = match &mut self.run {
            Run::Smooth(run) => run.reach(&self.bound, &mut self.at, t),
            Run::Switched(run) => run.reach(&self.bound, &mut self.at, t),
        };
        reached.map_err(|why| match why {
            SolveError::Refused(refusal) => self.error(blame::refused(&refusal, &self.bound)),
            SolveError::Failed(failure) => {
                self.bound.problem.t_end = t;
                self.error(blame::failed(self.loaded.model(), self.loaded.source(), &self.bound, &failure))
            }
        })
    }

    /// Advances by a time span.
    ///
    /// # Errors
    /// See [`Stepper::advance_to`].
    pub fn advance(&mut self, by: f64) -> Result<(), Error> {
        self.advance_to(self.at.t + by)
    }

    /// The value of a state, output, parameter, discrete or the independent variable: `x`, `x'`, `u[3]`.
    ///
    /// # Errors
    /// The model does not have this name, or it stands for more than one number.
    pub fn get(&self, name: &str) -> Result<f64, Error> {
        match self.place(name)? {
            Place::Time => Ok(self.at.t),
            Place::State(k) => Ok(self.at.y[k]),
            Place::Parameter(k) => Ok(self.bound.executor.parameters()[k]),
            Place::Discrete(k) => Ok(self.discrete(k)),
            Place::Output(k) => {
                let mut out = vec![0.0; self.bound.executor.layout().outputs_len()];
                let rates = CoupledRates::of(&self.bound);
                let mut rates = rates.map_err(|refusal| self.error(blame::refused(&refusal, &self.bound)))?;
                let Position { t, ref y, .. } = self.at;
                match &self.run {
                    Run::Smooth(_) => self.bound.executor.outputs(t, y, rates.at(t, y), &mut out),
                    Run::Switched(run) => {
                        let view = run.view(&self.bound, &self.at);
                        view.executor().outputs(t, y, rates.for_executor(view.executor(), t, y), &mut out);
                    }
                }
                Ok(out[k])
            }
        }
    }

    /// Sets a parameter, a state or a discrete from the current time on. Setting the current value changes nothing. If
    /// the condition of an event becomes true, the event is executed when the run continues.
    /// Algebraic unknowns are solved for when the run continues; a value given to one of them is a guess.
    ///
    /// # Errors
    /// The name is neither, or the value is not finite or outside the bounds of the model.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            let headline = format!("`{name}` cannot be {value}: it needs a finite number");
            return Err(self.error(Diagnostic::error(&codes::E0705, headline)));
        }
        match self.place(name)? {
            Place::State(k) => {
                self.at.changed |= self.at.y[k] != value;
                self.at.y[k] = value;
                Ok(())
            }
            Place::Discrete(k) if matches!(self.run, Run::Switched(_)) => {
                if let Run::Switched(run) = &mut self.run {
                    self.at.changed |= run.set_discrete(k, value);
                }
                Ok(())
            }
            // no event changes a discrete of a model without modes
            Place::Parameter(k) | Place::Discrete(k) => {
                self.check_bounds(name, value)?;
                if self.bound.executor.parameters()[k] == value {
                    return Ok(());
                }
                let before = constant_mass(&self.bound);
                let changed = self.bound.change(|p| p[k] = value);
                self.at.changed = true;
                if before != constant_mass(&self.bound) {
                    // solvers read a constant mass matrix only once
                    match &mut self.run {
                        Run::Smooth(run) => run.restart(),
                        Run::Switched(run) => run.restart(),
                    }
                }
                changed.map_err(|unfit| self.error(blame::not_compiled(&unfit, Some(self.bound.executor.program()))))
            }
            Place::Time | Place::Output(_) => {
                let headline = format!("`{name}` depends on other values, so you cannot set it");
                Err(self.error(Diagnostic::error(&codes::E0408, headline)))
            }
        }
    }

    /// Checks the bounds of the parameter, if it has any.
    fn check_bounds(&self, name: &str, value: f64) -> Result<(), Error> {
        let model = self.loaded.model();
        if model.parameters.iter().all(|given| given.bounds.is_none()) {
            return Ok(());
        }
        let overrides = Overrides { values: vec![(name.to_string(), value)], ..Overrides::default() };
        let result = model.values(&overrides).map(drop);
        result.map_err(|list| Error { class: Class::Usage, ..self.errors(list) })
    }

    /// The value of the discrete at a place of the parameter buffer of the run.
    fn discrete(&self, place: usize) -> f64 {
        match &self.run {
            Run::Smooth(_) => self.bound.executor.parameters()[place],
            Run::Switched(run) => run.discrete(place),
        }
    }

    fn place(&self, name: &str) -> Result<Place, Error> {
        if name == self.loaded.model().time.name {
            return Ok(Place::Time);
        }
        for (quantities, make) in [
            (&self.bound.states, Place::State as fn(usize) -> Place),
            (&self.outputs, Place::Output),
            (&self.parameters, Place::Parameter),
            (&self.discretes, Place::Discrete),
        ] {
            let chosen = quantities.select(name).map_err(|why| self.error(blame::misnamed(name, "", &why)))?;
            match chosen.as_slice() {
                [] => {}
                [Chosen { quantity, runs }] if runs.len() == 1 && runs[0].len() == 1 => {
                    return Ok(make(quantities.list()[*quantity].start + runs[0].start));
                }
                _ => {
                    let headline = format!("`{name}` is more than one number");
                    let d = Diagnostic::error(&codes::E0706, headline).help(format!(
                        "name one element, for example \
                                                                                 `{name}[1]`"
                    ));
                    return Err(self.error(d));
                }
            }
        }
        let lists = [&self.bound.states, &self.outputs, &self.parameters, &self.discretes];
        let known: Vec<&str> = lists.iter().flat_map(|list| list.names()).collect();
        Err(self.error(blame::unknown_name(name, "", &known)))
    }

    fn error(&self, d: Diagnostic) -> Error {
        self.errors(vec![d])
    }

    fn errors(&self, list: Vec<Diagnostic>) -> Error {
        self.loaded.error(&Choices::default(), list)
    }
}

/// The values of a constant mass matrix.
fn constant_mass(bound: &Bound) -> Option<Vec<f64>> {
    match bound.executor.mass() {
        Mass::Constant(_, values) => Some(values.to_vec()),
        Mass::Identity | Mass::StateDependent { .. } => None,
    }
}

/// Solves for algebraic unknowns with the values that the host has set. `stats` are the counts so far.
fn settle(bound: &Bound, at: &mut Position, stats: Stats) -> Result<(), SolveError> {
    let executor = &bound.executor;
    let Ok(Some(mut consistent)) = Consistent::of(executor, &bound.options) else { return Ok(()) };
    let mut eval = Evaluator::new(executor);
    let found = consistent.find(&mut eval, at.t, &mut at.y);
    found.map_err(|cause| {
        let fault = eval.fault().map(|(t, y)| (t, y.to_vec()));
        SolveError::Failed(Box::new(Failure {
            cause,
            t: at.t,
            y: at.y.clone(),
            h: 0.0,
            at: fault,
            stats,
            history: None,
            instant: None,
            discretes: Vec::new(),
        }))
    })
}
