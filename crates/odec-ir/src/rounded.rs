//! Numbers with a bound on their rounding error, to distinguish a sum that is zero from one that is small.

use crate::builtin::Builtin;
use crate::number::Number;

/// A value and a bound on its rounding error: first-order running error analysis (N. Higham, Accuracy and Stability
/// of Numerical Algorithms, section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct Rounded {
    /// The result of f64 arithmetic.
    pub value: f64,
    /// Bound on the difference to exact arithmetic.
    pub error: f64,
}

/// A value counts as zero if its magnitude is within this many bounds: library functions round by more than half a unit.
const SLACK: f64 = 4.0;

impl Rounded {
    /// A number without error.
    pub fn exact(value: f64) -> Rounded {
        Rounded { value, error: 0.0 }
    }

    /// True if value and bound are finite.
    pub fn is_finite(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }

    /// True if exact arithmetic may give zero.
    pub fn may_be_zero(self) -> bool {
        self.value.abs() <= SLACK * self.error
    }

    /// The approximate size of the terms whose sum is the value.
    pub fn size(self) -> f64 {
        self.error / f64::EPSILON
    }
}

impl Number for Rounded {
    fn constant(x: f64) -> Rounded {
        Rounded::exact(x)
    }

    fn value(self) -> f64 {
        self.value
    }

    fn call(row: &'static Builtin, args: &[Rounded]) -> Rounded {
        let mut values = [0.0; 3];
        for (value, x) in values.iter_mut().zip(args) {
            *value = x.value;
        }
        let value = (row.value)(&values[..args.len()]);
        let mut error = f64::EPSILON * value.abs();
        for (i, x) in args.iter().enumerate().filter(|(_, x)| x.error != 0.0) {
            error += row.slope(&values[..args.len()], i).abs() * x.error;
        }
        Rounded { value, error }
    }
}
