//! The numbers that matrices are made of: real, and complex for the complex pairs of fully implicit methods.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Complex numbers.
pub type Complex = nalgebra::Complex<f64>;

/// A real or complex number.
pub trait Scalar:
    Copy
    + PartialEq
    + Send
    + Sync
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// A size that is zero for zero alone, for the choice of pivots.
    fn magnitude(self) -> f64;
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    #[inline]
    fn magnitude(self) -> f64 {
        self.abs()
    }
}

impl Scalar for Complex {
    const ZERO: Complex = Complex::new(0.0, 0.0);
    const ONE: Complex = Complex::new(1.0, 0.0);
    #[inline]
    fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}
