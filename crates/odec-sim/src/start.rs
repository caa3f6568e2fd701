//! The initial state of a run: initial values, and consistent values of algebraic unknowns.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::consistent::Consistent;
use odec_ode::evaluator::Evaluator;
use odec_ode::invariants::{self, Deviation, Projection, SystemInvariants};
use odec_ode::problem::{Cause, Failure, Stats};
use odec_ode::system::System;

use crate::bind::Bound;
use crate::blame::{self, number};
use crate::executor::Executor;
use crate::steady::{NoSteady, Search, Start};

/// The reason why a run has no start.
#[derive(Clone, Debug)]
pub enum NoStart {
    /// An initial value is not finite: its index in y.
    NotFinite(usize),
    /// No consistent values were found.
    Inconsistent(Box<Failure>),
    /// The initial values do not satisfy the constraints: the states that would have to change, and their new values.
    NotKept(Vec<Moved>),
    /// An initial value reads the guess of an unknown that starts with another value: the unknown, and the source
    /// location of the initial value.
    ReadsGuess(Moved, Span),
    /// The run should start from a steady state, but none was found.
    NotSteady(NoSteady),
}

/// An unknown that was moved to a consistent value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Index in y.
    pub place: usize,
    /// The guess, or the initial value.
    pub from: f64,
    /// The value that the run starts with.
    pub to: f64,
}

impl Bound {
    /// Computes the initial state for the current parameters. If a model declares no unknown, but its equations do
    /// not determine all derivatives, and no consistent values are found, the run starts from the given values; a
    /// warning has explained the fault.
    ///
    /// # Errors
    /// A value that is not finite; algebraic equations without a solution near the guesses (`problem.y0` then holds
    /// the guesses); no steady state to start from.
    pub fn start(&mut self) -> Result<(), NoStart> {
        self.steady = None;
        self.put_start()?;
        if !self.from_steady {
            return Ok(());
        }
        let search = Search::new(self).map_err(NoStart::NotSteady)?;
        let (conserves, steady) = (!search.conserved().is_empty(), search.start().map_err(NoStart::NotSteady)?);
        let given = std::mem::replace(&mut self.problem.y0, steady.y.clone());
        self.moved.clear();
        self.steady = Some(Start { steady, given, conserves });
        Ok(())
    }

    /// Refuses initial values outside the bounds of their states.
    ///
    /// # Errors
    /// The first such value.
    pub(crate) fn start_within_bounds(&self, model: &Model) -> Result<(), Vec<Diagnostic>> {
        let Some(located) = &self.located else { return Ok(()) };
        let beyond = |(k, b): (usize, &odec_ode::hybrid::RowBound)| {
            let value = self.problem.y0[b.row as usize];
            (!(b.beyond(value) <= 0.0)).then_some((k, value, b.value))
        };
        let wrong = located.bounds_at(self.problem.t0).iter().enumerate().find_map(beyond);
        wrong.map_or(Ok(()), |wrong| Err(vec![blame::bounds::start(model, located, &self.states, wrong)]))
    }

    /// Sets the initial values, and solves for consistent values of algebraic unknowns.
    fn put_start(&mut self) -> Result<(), NoStart> {
        if let Some(located) = self.located.as_ref().filter(|_| self.executor.layout().discretes > 0) {
            // they may depend on the parameters, and initial values may depend on them
            located.start_discretes(self.problem.t0, &mut self.executor);
        }
        let (t0, y0) = (self.problem.t0, &mut self.problem.y0);
        self.executor.start(t0, y0);
        self.moved.clear();
        if let Some(place) = y0.iter().position(|y| !y.is_finite()) {
            return Err(NoStart::NotFinite(place));
        }
        let given = y0.clone();
        match onto_constraints(&self.executor, t0, y0) {
            Ok(moved) => self.moved.extend(moved),
            Err(why) => {
                y0.copy_from_slice(&given);
                return Err(why);
            }
        }
        // a method that needs no Jacobian refuses the model itself
        let Ok(Some(mut consistent)) = Consistent::of(&self.executor, &self.options) else { return Ok(()) };
        let mut eval = Evaluator::new(&self.executor);
        let guess = y0.clone();
        if let Err(cause) = consistent.find(&mut eval, t0, y0) {
            if !self.guesses {
                return Ok(());
            }
            return Err(NoStart::Inconsistent(Box::new(failure(cause, &eval, t0, guess))));
        }
        let pairs = guess.iter().zip(y0.iter()).enumerate();
        let moved = pairs.filter(|(_, (from, to))| from != to);
        self.moved.extend(moved.map(|(place, (from, to))| Moved { place, from: *from, to: *to }));
        let far = |m: &Moved| (m.to - m.from).abs() > self.options.rtol * m.to.abs() + self.atol(m.place);
        for (unknowns, span) in &self.guesses_read {
            if let Some(moved) = self.moved.iter().find(|m| unknowns.contains(&m.place) && far(m)) {
                return Err(NoStart::ReadsGuess(*moved, *span));
            }
        }
        Ok(())
    }

    /// Number of elements of the state that are algebraic unknowns.
    pub fn unknowns(&self, model: &Model) -> usize {
        let algebraic = |name: &str| model.states.iter().any(|state| state.algebraic && state.derivative(0) == name);
        self.states.list().iter().filter(|states| algebraic(&states.name)).map(|states| states.places().len()).sum()
    }

    /// The message for a run without a consistent start.
    pub fn no_start(&self, model: &Model, source: &Source, why: &NoStart) -> Diagnostic {
        match why {
            NoStart::NotFinite(place) => {
                let value = self.problem.y0[*place];
                blame::start_value(model, source, &self.values, self.problem.t0, &self.states, *place, value)
            }
            NoStart::Inconsistent(failure) => blame::failed(model, source, self, failure),
            NoStart::NotKept(moved) => blame::constraints::not_kept(model, self, moved),
            NoStart::ReadsGuess(moved, span) => self.reads_guess(*moved, *span),
            NoStart::NotSteady(why) => blame::steady::none(model, self, why, 0),
        }
    }
}

impl Bound {
    /// Records which initial values read the guesses of unknowns.
    pub(crate) fn note_guesses(&mut self, model: &Model) {
        let places = |unknown: usize| {
            let name = model.states[unknown].derivative(0);
            self.states.list().iter().find(|states| states.name == name).map(crate::quantities::Quantity::places)
        };
        let read = model.guesses_read().into_iter();
        self.guesses_read = read.filter_map(|(unknown, span)| Some((places(unknown)?, span))).collect();
    }

    /// The message for an initial value that was computed from a guess.
    fn reads_guess(&self, moved: Moved, span: Span) -> Diagnostic {
        let (name, from, to) = (self.states.name(moved.place), number(moved.from), shortest(moved.to));
        let headline =
            format!("this initial value uses the guess `{name} = {from}`, but `{name}` starts at {}", number(moved.to));
        Diagnostic::error(&codes::E0642, headline)
            .label(span, format!("computed with `{name} = {from}`"))
            .help(format!("write the guess `{name} = {to}`, or an initial value that does not read `{name}`"))
    }
}

/// The shortest decimal form of a number.
fn shortest(v: f64) -> String {
    let text = format!("{v:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Projects an initial state onto differentiated constraints; returns the states that moved.
fn onto_constraints(executor: &Executor, t0: f64, y0: &mut [f64]) -> Result<Vec<Moved>, NoStart> {
    let (Some(mut projection), Some(kept)) = (Projection::of(executor), executor.invariants()) else {
        return Ok(Vec::new());
    };
    let SystemInvariants { residual, stages, derived, .. } = kept;
    let given = y0.to_vec();
    let projected = projection.project(executor, t0, y0).and_then(|_| projection.check(executor, t0, y0));
    if let Err(cause) = projected {
        let failure = failure(cause, &Evaluator::new(executor), t0, given);
        return Err(NoStart::Inconsistent(Box::new(failure)));
    }
    let (mut moved, mut far) = (Vec::new(), false);
    for stage in stages {
        let (off, is_far) = invariants::moved(residual, stage, &given, y0);
        // derivatives of a consistent start follow from the projection, those of another start do not
        far |= is_far || !derived.is_empty() && !off.is_empty();
        moved.extend(off.into_iter().map(|Deviation { place, from, to }| Moved { place, from, to }));
    }
    if far { Err(NoStart::NotKept(moved)) } else { Ok(moved) }
}

fn failure(cause: Cause, eval: &Evaluator<'_>, t: f64, y: Vec<f64>) -> Failure {
    let at = eval.fault().map(|(t, y)| (t, y.to_vec()));
    Failure { cause, t, y, h: 0.0, at, stats: Stats::default(), history: None, instant: None, discretes: Vec::new() }
}
