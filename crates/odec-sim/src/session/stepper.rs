//! A run that its host advances from time to time, possibly with changed values.
//!
//! The solver chooses its own steps, usually beyond the requested time. The state at that time comes from the
//! interpolant, like a row of a run. So the requested times do not change the steps: a run in frames equals a run in
//! one call. Only if the host changes a value does the solver return to that time and restart there.

use odec_lang::diagnostic::{Class, Diagnostic, codes};
use odec_lang::model::Overrides;
use odec_ode::consistent::Consistent;
use odec_ode::evaluator::Evaluator;
use odec_ode::problem::{Failure, Problem, Refusal, SolveError};
use odec_ode::runner::StepRequest;
use odec_ode::system::{Mass, System};
use odec_ode::{Runner, Stats};

use super::{Error, Loaded};
use crate::bind::Bound;
use crate::blame;
use crate::choices::Choices;
use crate::quantities::{Chosen, Quantities};
use crate::sample::CoupledRates;

/// A run whose host requests the steps.
pub struct Stepper {
    loaded: Loaded,
    bound: Bound,
    parameters: Quantities,
    outputs: Quantities,
    runner: Runner,
    /// The end of the run according to the model or the host; the start if neither gives an end.
    end: f64,
    /// The target of the runner's current run; `None` before the first step, and if the run must restart.
    heading: Option<Target>,
    /// True if a value was set since the last step.
    changed: bool,
    t: f64,
    y: Vec<f64>,
    /// Counts of the runs before the current one.
    before: Stats,
}

/// The target of a run.
#[derive(Clone, Copy)]
struct Target {
    t_end: f64,
    forward: bool,
}

/// The position of a value.
enum Place {
    Time,
    State(usize),
    Output(usize),
    Parameter(usize),
}

impl Stepper {
    pub(super) fn new(loaded: Loaded, bound: Bound) -> Result<Stepper, Error> {
        let executor = &bound.executor;
        let parameters = Quantities::parameters(executor.program(), executor.layout());
        let outputs = Quantities::outputs(executor.program(), executor.layout());
        let runner = match Runner::new(executor, bound.choice.method, &bound.options) {
            Ok(runner) => runner,
            Err(refusal) => {
                return Err(Error::new(None, vec![blame::refused(&refusal, &bound)]));
            }
        };
        let Problem { t0, t_end: end, ref y0 } = bound.problem;
        let (t, y) = (t0, y0.clone());
        Ok(Stepper {
            loaded,
            bound,
            parameters,
            outputs,
            runner,
            end,
            heading: None,
            changed: false,
            t,
            y,
            before: Stats::default(),
        })
    }

    /// The current time.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// The states in the order of the solver; [`Stepper::get`] returns them by name.
    pub fn state(&self) -> &[f64] {
        &self.y
    }

    /// The work so far, including steps beyond the current time.
    pub fn stats(&self) -> Stats {
        let mut stats = self.before;
        stats.add(self.runner.stats());
        stats
    }

    /// Advances exactly to a time, forwards or backwards. The limit on steps applies to each call.
    ///
    /// # Errors
    /// A time that is not finite; a failure of the run. The stepper is then at the last accepted step, and can
    /// continue from there with other values.
    pub fn advance_to(&mut self, t: f64) -> Result<(), Error> {
        if t == self.t {
            return Ok(());
        }
        if !t.is_finite() {
            let refusal = Refusal::BadOption(format!("the model cannot step to the time {t:?}"));
            return Err(self.error(blame::refused(&refusal, &self.bound)));
        }
        self.reach(t).map_err(|why| match why {
            SolveError::Refused(refusal) => self.error(blame::refused(&refusal, &self.bound)),
            SolveError::Failed(failure) => {
                self.bound.problem.t_end = t;
                self.error(blame::failed(self.loaded.model(), self.loaded.source(), &self.bound, &failure))
            }
        })
    }

    /// Advances to a finite time other than the current one.
    fn reach(&mut self, t: f64) -> Result<(), SolveError> {
        let forward = t > self.t;
        self.runner.renew_budget();
        if self.changed {
            self.settle()?;
        }
        match self.heading {
            Some(Target { t_end, forward: same }) if same == forward => {
                if self.changed {
                    self.runner.resume_at(&self.bound.executor, self.t, &self.y)?;
                }
                if (t > t_end) == forward && t != t_end {
                    let t_end = f64::INFINITY.copysign(t - self.t);
                    self.runner.extend(t_end)?;
                    self.heading = Some(Target { t_end, forward });
                }
            }
            _ => self.begin(t)?,
        }
        self.changed = false;
        let ahead = StepRequest { stop: None, sample: Some(t) };
        while self.runner.time() != t && (self.runner.time() < t) == forward {
            if let Err(why) = self.runner.advance(&self.bound.executor, ahead) {
                self.t = self.runner.time();
                self.y.copy_from_slice(self.runner.state());
                // the step size has collapsed: with other values it must be chosen again
                self.heading = None;
                return Err(why);
            }
        }
        self.runner.value(&self.bound.executor, t, &mut self.y);
        self.t = t;
        Ok(())
    }

    /// Solves for algebraic unknowns with the values that the host has set.
    fn settle(&mut self) -> Result<(), SolveError> {
        let executor = &self.bound.executor;
        let Ok(Some(mut consistent)) = Consistent::of(executor, &self.bound.options) else { return Ok(()) };
        let mut eval = Evaluator::new(executor);
        let found = consistent.find(&mut eval, self.t, &mut self.y);
        found.map_err(|cause| {
            let at = eval.fault().map(|(t, y)| (t, y.to_vec()));
            let (y, stats) = (self.y.clone(), *self.runner.stats());
            SolveError::Failed(Box::new(Failure {
                cause,
                t: self.t,
                y,
                h: 0.0,
                at,
                stats,
                course: None,
                instant: None,
                discretes: Vec::new(),
            }))
        })
    }

    /// Starts a run at the current time and state, towards a time: to the known end, or without an end.
    fn begin(&mut self, t: f64) -> Result<(), SolveError> {
        let inside = (self.end - t) * (t - self.t) >= 0.0;
        let t_end = if inside { self.end } else { f64::INFINITY.copysign(t - self.t) };
        let problem = Problem { t0: self.t, t_end, y0: self.y.clone() };
        let stats = self.stats();
        self.heading = None;
        let begun = self.runner.begin(&self.bound.executor, &problem);
        if !matches!(begun, Err(SolveError::Refused(_))) {
            self.before = stats;
        }
        begun?;
        self.heading = Some(Target { t_end, forward: t > self.t });
        Ok(())
    }

    /// Advances by a time span.
    ///
    /// # Errors
    /// See [`Stepper::advance_to`].
    pub fn advance(&mut self, by: f64) -> Result<(), Error> {
        self.advance_to(self.t + by)
    }

    /// The value of a state, output, parameter or the independent variable: `x`, `x'`, `u[3]`.
    ///
    /// # Errors
    /// The model does not have this name, or it stands for more than one number.
    pub fn get(&self, name: &str) -> Result<f64, Error> {
        match self.place(name)? {
            Place::Time => Ok(self.t),
            Place::State(k) => Ok(self.y[k]),
            Place::Parameter(k) => Ok(self.bound.executor.parameters()[k]),
            Place::Output(k) => {
                let mut out = vec![0.0; self.bound.executor.layout().outputs_len()];
                let rates = CoupledRates::of(&self.bound);
                let mut rates = rates.map_err(|refusal| self.error(blame::refused(&refusal, &self.bound)))?;
                self.bound.executor.outputs(self.t, &self.y, rates.at(self.t, &self.y), &mut out);
                Ok(out[k])
            }
        }
    }

    /// Sets a parameter or a state from the current time on. Setting the current value changes nothing.
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
                self.changed |= self.y[k] != value;
                self.y[k] = value;
                Ok(())
            }
            Place::Parameter(k) => {
                self.check_bounds(name, value)?;
                if self.bound.executor.parameters()[k] == value {
                    return Ok(());
                }
                let before = constant_mass(&self.bound);
                let changed = self.bound.executor.change(|p| p[k] = value);
                self.changed = true;
                if before != constant_mass(&self.bound) {
                    // solvers read a constant mass matrix only once
                    self.heading = None;
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

    fn place(&self, name: &str) -> Result<Place, Error> {
        if name == self.loaded.model().time.name {
            return Ok(Place::Time);
        }
        for (quantities, make) in [
            (&self.bound.states, Place::State as fn(usize) -> Place),
            (&self.outputs, Place::Output),
            (&self.parameters, Place::Parameter),
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
        let lists = [&self.bound.states, &self.outputs, &self.parameters];
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
