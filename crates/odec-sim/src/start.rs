//! The state at the start of a run: initial values, and consistent values of algebraic unknowns.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::consistent::Consistent;
use odec_ode::evaluator::Evaluator;
use odec_ode::problem::{Cause, Failure, Stats};

use crate::bind::Bound;
use crate::blame;

/// Why a run has no start.
#[derive(Clone, Debug)]
pub enum NoStart {
    /// An initial value is not finite: where in y.
    NotFinite(usize),
    /// No consistent values were found.
    Inconsistent(Box<Failure>),
}

/// An unknown that was moved to a consistent value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Where in y.
    pub place: usize,
    /// The guess, or the initial value.
    pub from: f64,
    /// The value that the run starts with.
    pub to: f64,
}

impl Bound {
    /// Puts the start of the run for the parameters as they are. A model that declares no unknown, but whose equations do not give
    /// every derivative, starts from what it says where no consistent values are found: a warning has told what is wrong with it.
    ///
    /// # Errors
    /// A value that is not finite; algebraic equations without a solution near the guesses. `problem.y0` then holds the guesses.
    pub fn start(&mut self) -> Result<(), NoStart> {
        let (t0, y0) = (self.problem.t0, &mut self.problem.y0);
        self.executor.start(t0, y0);
        self.moved.clear();
        if let Some(place) = y0.iter().position(|y| !y.is_finite()) {
            return Err(NoStart::NotFinite(place));
        }
        // a method that takes no Jacobian refuses the model by name
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
        Ok(())
    }

    /// How many elements of the state are algebraic unknowns.
    pub fn unknowns(&self, model: &Model) -> usize {
        let algebraic = |name: &str| model.states.iter().any(|state| state.algebraic && state.derivative(0) == name);
        self.states.list().iter().filter(|states| algebraic(&states.name)).map(|states| states.places().len()).sum()
    }

    /// What to say of a run without a start.
    pub fn no_start(&self, model: &Model, source: &Source, why: &NoStart) -> Diagnostic {
        match why {
            NoStart::NotFinite(place) => {
                let value = self.problem.y0[*place];
                blame::start_value(model, source, &self.values, self.problem.t0, &self.states, *place, value)
            }
            NoStart::Inconsistent(failure) => blame::failed(model, source, self, failure),
        }
    }
}

fn failure(cause: Cause, eval: &Evaluator<'_>, t: f64, y: Vec<f64>) -> Failure {
    let at = eval.fault().map(|(t, y)| (t, y.to_vec()));
    Failure { cause, t, y, h: 0.0, at, stats: Stats::default(), course: None, instant: None }
}
