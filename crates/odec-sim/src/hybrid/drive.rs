//! Runs a model, with or without modes, and prepares the parts common to all runs.

use odec_ode::Runner;
use odec_ode::hybrid::HybridRunner;
use odec_ode::problem::SolveError;

use super::Located;
use crate::bind::Bound;

/// Method that is prepared for runs of a model.
pub enum Driver {
    /// Without modes.
    Smooth(Box<Runner>),
    /// Run of a model with modes.
    Hybrid(Box<Hybrid>),
}

/// A run with modes.
pub struct Hybrid {
    /// The run.
    pub(crate) runner: HybridRunner,
    /// The model that runs.
    pub(crate) model: Located,
    /// The model that is evaluated at rows.
    pub(crate) view: Located,
}

impl Driver {
    /// Prepares runs of a bound model.
    ///
    /// # Errors
    /// A method that does not support the model.
    pub fn new(bound: &Bound) -> Result<Driver, SolveError> {
        let Some(located) = &bound.located else {
            return Ok(Driver::Smooth(Box::new(Runner::new(&bound.executor, bound.choice.method, &bound.options)?)));
        };
        let (mut model, view) = (located.fork(), located.fork());
        // the lists of times are counted
        model.begin((bound.problem.t0, bound.problem.t_end), &bound.problem.y0);
        let runner = HybridRunner::new(&model, bound.choice.method, &bound.options)?;
        Ok(Driver::Hybrid(Box::new(Hybrid { runner, model, view })))
    }
}

impl Hybrid {
    /// Prepares a run with the current parameters of the bound model.
    ///
    /// # Errors
    /// A method that does not support the model.
    pub(crate) fn begin(&mut self, bound: &Bound) -> Result<(), SolveError> {
        let Some(located) = &bound.located else { return Ok(()) };
        self.model.follow(located);
        self.view.follow(located);
        let before = self.model.coefficients();
        self.model.begin((bound.problem.t0, bound.problem.t_end), &bound.problem.y0);
        if self.model.coefficients() != before {
            // the options were read when the run was prepared
            self.runner = HybridRunner::new(&self.model, bound.choice.method, &bound.options)?;
        }
        Ok(())
    }
}
