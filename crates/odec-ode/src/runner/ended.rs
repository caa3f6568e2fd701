//! How a run ended, and the details of a failure.

use super::Runner;
use crate::evaluator::{Evaluator, Paused};
use crate::problem::{Cause, Failure, Outcome, SolveError, Stats, Stop};
use crate::system::System;

impl Runner {
    /// The outcome of the run.
    pub fn outcome(&self, stop: Stop) -> Outcome {
        self.outcome_of(stop, self.paused.stats)
    }

    pub(crate) fn outcome_of(&self, stop: Stop, stats: Stats) -> Outcome {
        let integrator = &self.integrator;
        Outcome {
            stop,
            t: integrator.time(),
            y: integrator.state().to_vec(),
            stats,
            linear: integrator.linear(),
            history: integrator.method_history(),
        }
    }

    /// The error for a caller whose own computation along the run fails for this cause.
    pub(crate) fn fails(&self, system: &dyn System, cause: Cause) -> SolveError {
        self.failure(&Evaluator::resume(system, Paused::default()), cause)
    }

    pub(crate) fn failure(&self, eval: &Evaluator<'_>, cause: Cause) -> SolveError {
        let evaluation = matches!(
            cause,
            Cause::NonFiniteRhs { .. }
                | Cause::Refused
                | Cause::NoSeries { .. }
                | Cause::NonFiniteJacobian { .. }
                | Cause::NonFiniteTimeDerivative { .. }
                | Cause::NonFiniteMass { .. }
                | Cause::SingularMass { .. }
                | Cause::Fatal
        );
        let at = if evaluation { eval.fault().map(|(t, y)| (t, y.to_vec())) } else { None };
        let (t, y) = (self.integrator.time(), self.integrator.state().to_vec());
        let (stats, history) = (eval.stats, self.integrator.method_history());
        let h = self.run.tried;
        SolveError::Failed(Box::new(Failure {
            cause,
            t,
            y,
            h,
            at,
            stats,
            history,
            instant: None,
            discretes: Vec::new(),
        }))
    }
}
