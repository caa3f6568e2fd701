//! A run that its host steps: on to a time, values set from outside, on to the next time.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Overrides;
use odec_ode::problem::{Problem, Samples, Sink, SolveError};
use odec_ode::{Runner, Stats};

use super::{Error, Loaded};
use crate::bind::Bound;
use crate::blame;
use crate::quantities::{Chosen, Quantities};
use crate::sample::Derivatives;

/// A run in the hands of its host.
pub struct Stepper {
    loaded: Loaded,
    bound: Bound,
    parameters: Quantities,
    outputs: Quantities,
    runner: Runner,
    t: f64,
    y: Vec<f64>,
    stats: Stats,
}

/// A step that is taken leaves nothing but the state.
struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

/// Where a value is.
enum Place {
    Time,
    State(usize),
    Output(usize),
    Parameter(usize),
}

impl Stepper {
    pub(super) fn new(loaded: Loaded, bound: Bound) -> Result<Stepper, Error> {
        let machine = &bound.machine;
        let parameters = Quantities::parameters(machine.program(), machine.layout());
        let outputs = Quantities::outputs(machine.program(), machine.layout());
        let runner = match Runner::new(machine, bound.choice.method, &bound.options) {
            Ok(runner) => runner,
            Err(refusal) => {
                return Err(Error::new(None, vec![blame::refused(&refusal, &bound)]));
            }
        };
        let Problem { t0, ref y0, .. } = bound.problem;
        let (t, y) = (t0, y0.clone());
        Ok(Stepper { loaded, bound, parameters, outputs, runner, t, y, stats: Stats::default() })
    }

    /// The time that is reached.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// The states in the solver's order; [`Stepper::get`] has them by name.
    pub fn state(&self) -> &[f64] {
        &self.y
    }

    /// What it cost so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Goes on to a time, exactly.
    ///
    /// # Errors
    /// A run that fails. It stands at the last accepted step then, and may go on from there with other values.
    pub fn advance_to(&mut self, t: f64) -> Result<(), Error> {
        if t == self.t {
            return Ok(());
        }
        let problem = Problem { t0: self.t, t_end: t, y0: self.y.clone() };
        let samples = Samples::Times(vec![]);
        match self.runner.run(&self.bound.machine, &problem, &samples, &mut Nothing) {
            Ok(outcome) => {
                (self.t, self.y) = (outcome.t, outcome.y);
                self.stats.add(&outcome.stats);
                Ok(())
            }
            Err(SolveError::Refused(refusal)) => Err(self.error(blame::refused(&refusal, &self.bound))),
            Err(SolveError::Failed(failure)) => {
                self.bound.problem.t_end = t;
                let d = blame::failed(self.loaded.model(), self.loaded.source(), &self.bound, &failure);
                (self.t, self.y) = (failure.t, failure.y);
                self.stats.add(&failure.stats);
                Err(self.error(d))
            }
        }
    }

    /// Goes on by a time.
    ///
    /// # Errors
    /// As of [`Stepper::advance_to`].
    pub fn advance(&mut self, by: f64) -> Result<(), Error> {
        self.advance_to(self.t + by)
    }

    /// The value of a state, output, parameter or the independent variable: `x`, `x'`, `u[3]`.
    ///
    /// # Errors
    /// A name that the model does not have, or that stands for more than one number.
    pub fn get(&self, name: &str) -> Result<f64, Error> {
        match self.place(name)? {
            Place::Time => Ok(self.t),
            Place::State(k) => Ok(self.y[k]),
            Place::Parameter(k) => Ok(self.bound.machine.parameters()[k]),
            Place::Output(k) => {
                let mut out = vec![0.0; self.bound.machine.layout().outputs_len()];
                let rates = Derivatives::of(&self.bound);
                let mut rates = rates.map_err(|refusal| self.error(blame::refused(&refusal, &self.bound)))?;
                self.bound.machine.outputs(self.t, &self.y, rates.at(self.t, &self.y), &mut out);
                Ok(out[k])
            }
        }
    }

    /// Gives a parameter or a state another value from here on.
    ///
    /// # Errors
    /// A name that is neither, a value that is not finite or out of the bounds that the model gives.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            let headline = format!("`{name}` cannot be {value}: a finite number is needed");
            return Err(self.error(Diagnostic::error(&codes::E0705, headline)));
        }
        match self.place(name)? {
            Place::State(k) => {
                self.y[k] = value;
                Ok(())
            }
            Place::Parameter(k) => {
                self.check_bounds(name, value)?;
                let changed = self.bound.machine.change(|p| p[k] = value);
                changed.map_err(|unfit| self.error(blame::not_compiled(&unfit, Some(self.bound.machine.program()))))
            }
            Place::Time | Place::Output(_) => {
                let headline = format!("`{name}` follows from other values and cannot be set");
                Err(self.error(Diagnostic::error(&codes::E0408, headline)))
            }
        }
    }

    /// Bounds of the parameter, if it has some.
    fn check_bounds(&self, name: &str, value: f64) -> Result<(), Error> {
        let model = self.loaded.model();
        if model.parameters.iter().all(|given| given.bounds.is_none()) {
            return Ok(());
        }
        let overrides = Overrides { values: vec![(name.to_string(), value)], ..Overrides::default() };
        let result = model.values(&overrides).map(drop);
        result.map_err(|list| Error { class: odec_lang::diagnostic::Class::Usage, ..self.errors(list) })
    }

    fn place(&self, name: &str) -> Result<Place, Error> {
        if name == self.loaded.model().time.name {
            return Ok(Place::Time);
        }
        for (list, make) in [
            (&self.bound.states, Place::State as fn(usize) -> Place),
            (&self.outputs, Place::Output),
            (&self.parameters, Place::Parameter),
        ] {
            let chosen = list.select(name).map_err(|why| self.error(blame::misnamed(name, "", &why)))?;
            match chosen.as_slice() {
                [] => {}
                [Chosen { series, runs }] if runs.len() == 1 && runs[0].len() == 1 => {
                    return Ok(make(list.series()[*series].start + runs[0].start));
                }
                _ => {
                    let headline = format!("`{name}` is more than one number");
                    let d =
                        Diagnostic::error(&codes::E0706, headline).help(format!("name one element, as `{name}[1]`"));
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
        self.loaded.error(&crate::choices::Choices::default(), list)
    }
}
