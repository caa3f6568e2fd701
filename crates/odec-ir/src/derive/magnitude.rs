//! Numbers with the sum of the magnitudes of the terms of their derivative: how much a derivative can lose by
//! cancellation.

use crate::builtin::Builtin;
use crate::number::Number;

/// A value, and the sum of the magnitudes of the terms that the chain rule gives for its derivative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Magnitude {
    value: f64,
    pub(super) terms: f64,
}

impl Magnitude {
    /// The variable of the derivative if `on`, otherwise a value that does not depend on it.
    pub(super) fn seed(value: f64, on: bool) -> Magnitude {
        Magnitude { value, terms: if on { 1.0 } else { 0.0 } }
    }
}

impl Number for Magnitude {
    fn constant(x: f64) -> Magnitude {
        Magnitude::seed(x, false)
    }
    fn value(self) -> f64 {
        self.value
    }
    fn call(row: &'static Builtin, args: &[Magnitude]) -> Magnitude {
        let mut values = [0.0; 3];
        for (value, x) in values.iter_mut().zip(args) {
            *value = x.value;
        }
        let value = (row.value)(&values[..args.len()]);
        let mut terms = 0.0;
        for (i, x) in args.iter().enumerate().filter(|(_, x)| x.terms > 0.0) {
            let slope = row.slope(&values[..args.len()], i).abs();
            // a slope that is not finite says nothing about cancellation
            if slope.is_finite() {
                terms += slope * x.terms;
            }
        }
        Magnitude { value, terms }
    }
}
