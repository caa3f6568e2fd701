//! Number types that the interpreter runs on: f64, and num-dual's dual numbers for exact directional derivatives.

use num_dual::Dual64;

use crate::builtin::{Builtin, arithmetic};

/// A number type for the builtins.
pub trait Number: Copy {
    /// A constant: no derivative.
    fn constant(x: f64) -> Self;
    /// The value.
    fn value(self) -> f64;
    /// Applies a builtin to its arguments.
    fn call(row: &'static Builtin, args: &[Self]) -> Self;
    /// A number times itself, which is never negative.
    fn square(self) -> Self {
        Self::call(&arithmetic::MUL, &[self, self])
    }
    /// The value of a lookup with this argument in the table at a position of the parameter buffer. It is constant
    /// for small changes of the argument.
    fn looked_up(value: f64, argument: Self, table: usize) -> Self {
        let _ = (argument, table);
        Self::constant(value)
    }
}

impl Number for f64 {
    fn constant(x: f64) -> f64 {
        x
    }
    fn value(self) -> f64 {
        self
    }
    fn call(row: &'static Builtin, args: &[f64]) -> f64 {
        (row.value)(args)
    }
}

/// The derivative part follows the `dual` field of the row, the real part its `value` field. A call whose arguments
/// have no derivative part has none (no 0 * inf from a factor that is constant).
impl Number for Dual64 {
    fn constant(x: f64) -> Dual64 {
        Dual64::from_re(x)
    }
    fn value(self) -> f64 {
        self.re
    }
    fn call(row: &'static Builtin, args: &[Dual64]) -> Dual64 {
        let mut re = [0.0; 3];
        for (re, x) in re.iter_mut().zip(args) {
            *re = x.re;
        }
        let re = (row.value)(&re[..args.len()]);
        let eps = if args.iter().all(|x| x.eps == 0.0) { 0.0 } else { (row.dual)(args).eps };
        Dual64::new(re, eps)
    }
}
