//! Capabilities of an executor beyond f and its derivatives: fused steps, Taylor coefficients, the pulses of terms of
//! t.

use std::sync::{Arc, PoisonError};

use odec_ir::Program;
use odec_ir::interpret::Inputs;
use odec_ir::nest::BoundProgram;
use odec_ode::accelerated::{Accelerated, Series, TimeFeature, Transition};
use odec_ode::step::{FusedFormula, FusedStep};
use odec_ode::system::EvalError;

use super::Executor;
use crate::timetable::{RapidChanges, Timetable, Transitions};

impl Executor {
    /// Adds results whose pulses steps must not miss.
    pub(crate) fn watch(&mut self, program: &Program, bound: &Arc<BoundProgram>) {
        self.watched = Some(Arc::new((program.clone(), bound.clone())));
    }

    /// The pulses, between two times, of terms that depend only on t, or on states that count time, for the current
    /// parameters and a time and state.
    pub(crate) fn pulses(&self, at: (f64, &[f64]), span: (f64, f64)) -> RapidChanges {
        let table = self.timetable.get_or_init(|| {
            let further = self.watched.as_deref().map(|(program, bound)| (program, &**bound));
            Arc::new(Timetable::of(&self.program, &self.bound, further))
        });
        table.rapid_changes(&self.p, at, span, &mut self.analysed_terms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn listed_transitions(&self) -> Option<&Transitions> {
        self.transitions.get_or_init(|| Transitions::of(&self.program, &self.bound).map(Arc::new)).as_deref()
    }
}

impl Accelerated for Executor {
    fn fused_step(&self, formula: FusedFormula) -> Option<Arc<dyn FusedStep>> {
        self.steps.of(&self.program, self.execution(), formula)
    }

    fn parameters(&self) -> &[f64] {
        &self.p
    }

    fn expects_many_runs(&self) -> bool {
        self.steps.many_runs()
    }

    fn groups(&self) -> usize {
        self.groups
    }

    fn narrow(&self, at: (f64, &[f64]), from: f64, to: f64) -> Vec<TimeFeature> {
        self.pulses(at, (from, to)).narrow
    }

    fn transitions(&self) -> Vec<Transition> {
        self.listed_transitions().map_or_else(Vec::new, |list| list.at(&self.p))
    }

    fn transition_arguments(&self, t: f64, y: &[f64], out: &mut Vec<f64>) {
        if let Some(list) = self.listed_transitions() {
            list.values(t, y, &self.p, &mut Vec::new(), out);
        }
    }

    fn series(&self) -> Option<&dyn Series> {
        Some(self)
    }
}

impl Series for Executor {
    fn prepare(&self, order: usize) -> Result<(), String> {
        self.series.prepare((&self.program, &self.bound), self.execution(), order)
    }

    fn is_smooth(&self) -> bool {
        self.series.is_smooth(&self.program)
    }

    fn may_peak(&self) -> bool {
        self.series.may_peak(&self.program)
    }

    fn is_short(&self, order: usize) -> bool {
        self.scalar && self.series.is_short(&self.program, self.execution(), order)
    }

    fn coefficients(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError> {
        // the kernel reads no direction, but needs a slice of this length
        let inputs = Inputs { t, y, p: &self.p, w: y };
        let found =
            self.series.run(inputs, order, out) || (self.prepare(order).is_ok() && self.series.run(inputs, order, out));
        if found { Ok(()) } else { Err(EvalError::Fatal) }
    }

    fn prepare_step(&self, order: usize) -> bool {
        self.scalar && self.series.prepare_step(&self.program, self.execution(), order)
    }

    fn step(&self, t: f64, order: usize, from: &[f64], to: &mut [f64]) -> Result<(), EvalError> {
        let inputs = Inputs { t, y: from, p: &self.p, w: from };
        if self.series.step(inputs, order, to) { Ok(()) } else { Err(EvalError::Fatal) }
    }
}
