//! The loop over the steps of a run: rows from dense output, interrupts, the end.

use std::ops::ControlFlow;

use crate::adjoint::recording::{Recorded, Recording};
use crate::adjoint::stored_solution::Recorder;
use crate::checks::{fits, in_order, measurable, validate};
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::method::Method;
use crate::observer::StepEnd;
use crate::problem::{Cause, Options, Outcome, Problem, Samples, Sink, SolveError, Stop};
use crate::row_times::RowTimes;
use crate::rows::Rows;
use crate::runner::{Reached, Runner, StepRequest};
use crate::system::System;

/// Solves a problem with a method. Rows, including the one at t0, go to the sink as soon as they are known.
pub fn solve(
    system: &dyn System,
    problem: &Problem,
    method: &'static Method,
    options: &Options,
    samples: &Samples,
    sink: &mut dyn Sink,
) -> Result<Outcome, SolveError> {
    fits(system, options)?;
    let tolerances = Tolerances::new(options, system.shape().n);
    validate(problem, system.shape().n, options)?;
    in_order(problem, samples)?;
    if !options.fixed || method.structure.jacobian {
        measurable(problem, &tolerances)?;
    }
    Runner::build(system, method, options, tolerances)?.drive(system, problem, samples, sink, None)
}

impl Runner {
    /// Like [`solve`]. The system is the one of [`Runner::new`], with the same patterns; its parameters may differ.
    pub fn run(
        &mut self,
        system: &dyn System,
        problem: &Problem,
        samples: &Samples,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, SolveError> {
        self.ready(system, problem)?;
        in_order(problem, samples)?;
        self.drive(system, problem, samples, sink, None)
    }

    /// Like [`Runner::run`], bit for bit. It records the solution up to the last row, for
    /// [`crate::adjoint::gradient`]. The recording is complete if the run reaches its end.
    pub fn record(
        &mut self,
        system: &dyn System,
        problem: &Problem,
        samples: &Samples,
        sink: &mut dyn Sink,
        recording: &mut Recording,
    ) -> Result<Outcome, SolveError> {
        self.ready(system, problem)?;
        in_order(problem, samples)?;
        self.drive(system, problem, samples, sink, Some(recording))
    }

    fn drive(
        &mut self,
        system: &dyn System,
        problem: &Problem,
        samples: &Samples,
        sink: &mut dyn Sink,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, SolveError> {
        let mut eval = Evaluator::new(system);
        let mut row = std::mem::take(&mut self.row);
        let recorded = recording.map(|into| Recorded::begin(into, Recorder::new(self.further_rows(system)), problem));
        let end = self.rows(&mut eval, problem, Sampler::new(samples, problem, &mut row), sink, recorded);
        self.row = row;
        match end {
            Ok(stop) => Ok(self.outcome_of(stop, eval.stats)),
            Err(cause) => Err(self.failure(&eval, cause)),
        }
    }

    fn rows(
        &mut self,
        eval: &mut Evaluator<'_>,
        problem: &Problem,
        mut sampler: Sampler<'_>,
        sink: &mut dyn Sink,
        mut recorded: Option<Recorded<'_>>,
    ) -> Result<Stop, Cause> {
        self.put(eval, problem)?;
        if sampler.start(problem.t0, self.integrator.state(), sink).is_break() {
            return Ok(Stop::Interrupted);
        }
        let mut reached = if problem.t_end == problem.t0 { Reached::End } else { Reached::Step };
        while reached != Reached::End {
            reached = self.step(eval, StepRequest { stop: None, sample: sampler.next() })?;
            let Runner { integrator, between, method, .. } = &mut *self;
            let integrator = integrator.as_mut();
            if sampler.after_step(eval, integrator, between, sink).is_break()
                || sink.step_end(&mut StepEnd::new(integrator, method)).is_break()
            {
                return Ok(Stop::Interrupted);
            }
            if let Some(recorded) = &mut recorded {
                recorded.step(self, eval, sampler.is_done());
            }
        }
        Ok(Stop::End)
    }
}

/// Passes rows to the sink.
struct Sampler<'a> {
    wanted: RowTimes<'a>,
    row: &'a mut [f64],
}

impl<'a> Sampler<'a> {
    fn new(samples: &'a Samples, problem: &Problem, row: &'a mut [f64]) -> Self {
        Sampler { wanted: RowTimes::new(samples, problem), row }
    }

    fn start(&mut self, t0: f64, y0: &[f64], sink: &mut dyn Sink) -> ControlFlow<()> {
        if self.wanted.are_steps() {
            return sink.row(t0, y0);
        }
        while let Some(t) = self.wanted.take(t0, true) {
            sink.row(t, y0)?;
        }
        ControlFlow::Continue(())
    }

    /// The next sample.
    fn next(&self) -> Option<f64> {
        self.wanted.time()
    }

    /// True after the last row.
    fn is_done(&self) -> bool {
        !self.wanted.are_steps() && self.next().is_none()
    }

    fn after_step(
        &mut self,
        eval: &mut Evaluator<'_>,
        integrator: &dyn Integrator,
        rows: &mut Rows,
        sink: &mut dyn Sink,
    ) -> ControlFlow<()> {
        let now = integrator.time();
        if self.wanted.are_steps() {
            return sink.row(now, integrator.state());
        }
        while let Some(t) = self.wanted.take(now, true) {
            if t == now {
                sink.row(t, integrator.state())?;
            } else {
                rows.value(eval, integrator, t, self.row);
                sink.row(t, self.row)?;
            }
        }
        ControlFlow::Continue(())
    }
}
