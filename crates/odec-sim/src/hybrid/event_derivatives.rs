//! Derivatives with respect to parameters of the surfaces, times and writes of events.

use std::sync::PoisonError;

use odec_ir::broken;
use odec_ode::hybrid::{EventDerivatives, HybridEvents};
use odec_ode::system::EvalError;

use super::derived::{CompiledDerivatives, Values};
use super::{Located, Moved};

impl Located {
    fn derivatives(&self) -> &CompiledDerivatives {
        self.code
            .derivatives
            .as_ref()
            .unwrap_or_else(|| broken("a run with sensitivities has no derivatives of events"))
    }

    /// Passes the derivatives of right-hand sides and delays at a point.
    fn with_derivatives<T>(&self, t: f64, y: &[f64], with: impl FnOnce(&Values) -> T) -> T {
        let mut read = self.read_by.lock().unwrap_or_else(PoisonError::into_inner);
        // nothing was written before the first refresh
        if self.written == 0 || read.written != self.written || read.t != t || read.y != y {
            read.values = self.derivatives().values(t, y, self.executor.parameters(), &self.still);
            (read.t, read.written) = (t, self.written);
            read.y.clear();
            read.y.extend_from_slice(y);
        }
        with(&read.values)
    }

    /// Derivative of an event value with respect to a parameter; `time` is the derivative of the time of the event.
    fn value_by(&self, (place, parameter): (usize, usize), t: f64, y: &[f64], time: f64) -> f64 {
        let len = self.code.event_results.values.len();
        self.with_derivatives(t, y, |(by, by_time)| {
            // a value that does not depend on time may have no finite time derivative
            let later = if time == 0.0 { 0.0 } else { by_time[place] * time };
            by[parameter * len + place] + later
        })
    }

    fn exists(&self, event: usize) {
        if event >= self.events().len() {
            broken("an event that does not exist was executed");
        }
    }
}

impl EventDerivatives for Located {
    fn sides_by(&self, parameter: usize, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let by = self.derivatives().sides(parameter, t, y, self.executor.parameters(), &self.still);
        for (k, (out, at)) in out.iter_mut().zip(&self.places.compared).enumerate() {
            let difference = by[at.left] - by[at.right];
            *out = if self.open[k] || difference.is_finite() { difference } else { 0.0 };
        }
        Ok(())
    }

    /// Counters change by integers, so their derivatives are 0.
    fn values_by(
        &self,
        event: usize,
        parameter: usize,
        t: f64,
        y: &[f64],
        time: f64,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        self.exists(event);
        out.fill(0.0);
        if let Some(slots) = self.places.event_table.slots.get(event) {
            let value = |slot: &usize| self.value_by((*slot, parameter), t, y, time);
            out.iter_mut().zip(slots).for_each(|(out, slot)| *out = value(slot));
        }
        Ok(())
    }

    fn delay_by(&self, event: usize, parameter: usize, t: f64, y: &[f64], time: f64) -> f64 {
        self.exists(event);
        match self.places.event_table.delays.get(event) {
            Some(Some(place)) => self.value_by((*place, parameter), t, y, time),
            // an event without a delay, or a counter
            Some(None) | None => 0.0,
        }
    }

    fn time_by(&self, list: usize, number: u64, parameter: usize) -> f64 {
        let moved = self.moved.get(parameter).unwrap_or_else(|| broken("a parameter has no derivatives of times"));
        let by = if let Some(list) = list.checked_sub(self.own_lists()) {
            moved.listed.get(list).and_then(|listed| listed.by(number))
        } else if let Some(curve) = list.checked_sub(self.places.curves()) {
            moved.curves.get(curve).zip(self.curves.get(curve)).and_then(|(by, passed)| passed.time_by(number, *by))
        } else {
            moved.of_mode(list, number)
        };
        by.unwrap_or_else(|| broken("a time at which a step ended is not in its list"))
    }
}

impl Moved {
    /// The derivative of a time at which modes change.
    fn of_mode(&self, list: usize, number: u64) -> Option<f64> {
        match list.checked_sub(1) {
            None => self.once.get(usize::try_from(number).ok()?).copied(),
            Some(k) => self.every.get(k).map(|(at, period)| at + number as f64 * period),
        }
    }
}
