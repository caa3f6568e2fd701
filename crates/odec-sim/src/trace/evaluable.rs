//! Steps whose inside a picture evaluates.

use odec_ode::Runner;
use odec_ode::hybrid::AcceptedStep;

use crate::executor::Executor;
use crate::hybrid::Located;

/// A step that can be evaluated: states inside it, and outputs at any state.
pub(super) trait EvaluableStep {
    /// Writes the state at a time of the step; the end of the step if there is none.
    fn state(&mut self, t: f64, y: &mut [f64]);
    /// The executor of the outputs.
    fn executor(&self) -> &Executor;
}

/// A step of a run without modes.
pub(super) struct SmoothStep<'a> {
    pub executor: &'a Executor,
    /// `None` if the state has been set already.
    pub runner: Option<&'a mut Runner>,
}

impl EvaluableStep for SmoothStep<'_> {
    fn state(&mut self, t: f64, y: &mut [f64]) {
        match &mut self.runner {
            Some(runner) if t == runner.time() => y.copy_from_slice(runner.state()),
            Some(runner) => runner.value(self.executor, t, y),
            None => {}
        }
    }

    fn executor(&self) -> &Executor {
        self.executor
    }
}

/// A step of a run with the modes of the step.
pub(super) struct Switched<'a, 'b> {
    pub made: &'a mut AcceptedStep<'b>,
    pub view: &'a Located,
}

impl EvaluableStep for Switched<'_, '_> {
    fn state(&mut self, t: f64, y: &mut [f64]) {
        if t == self.made.time() {
            y.copy_from_slice(self.made.state());
        } else {
            self.made.value(t, y);
        }
    }

    fn executor(&self) -> &Executor {
        self.view.executor()
    }
}
