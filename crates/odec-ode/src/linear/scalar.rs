//! The number types of matrices: real, and complex for the complex eigenvalue pairs of fully implicit methods.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use pulp::bytemuck::Pod;

/// Complex numbers.
pub type Complex = nalgebra::Complex<f64>;

/// A real or complex number.
pub trait Scalar:
    Pod
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
    /// A measure of size for the choice of pivots; it is zero only for zero.
    fn magnitude(self) -> f64;
    /// Number of doubles.
    const PARTS: usize;
    /// Views numbers as doubles; copies them to `buffer` if they are not stored as doubles.
    fn parts<'a>(values: &'a [Self], buffer: &'a mut [f64]) -> &'a [f64];
    /// Converts doubles to numbers.
    fn from_parts(parts: &[f64], values: &mut [Self]);
    /// Lets `write` fill numbers as doubles, through `buffer` if they are not stored as doubles.
    fn fill_parts(values: &mut [Self], buffer: &mut [f64], write: impl FnOnce(&mut [f64]));
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    #[inline]
    fn magnitude(self) -> f64 {
        self.abs()
    }
    const PARTS: usize = 1;
    #[inline]
    fn parts<'a>(values: &'a [f64], _buffer: &'a mut [f64]) -> &'a [f64] {
        values
    }
    fn from_parts(parts: &[f64], values: &mut [f64]) {
        values.copy_from_slice(parts);
    }
    #[inline]
    fn fill_parts(values: &mut [f64], _buffer: &mut [f64], write: impl FnOnce(&mut [f64])) {
        write(values);
    }
}

impl Scalar for Complex {
    const ZERO: Complex = Complex::new(0.0, 0.0);
    const ONE: Complex = Complex::new(1.0, 0.0);
    #[inline]
    fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
    const PARTS: usize = 2;
    fn parts<'a>(values: &'a [Complex], buffer: &'a mut [f64]) -> &'a [f64] {
        for (pair, z) in buffer.chunks_exact_mut(2).zip(values) {
            (pair[0], pair[1]) = (z.re, z.im);
        }
        buffer
    }
    fn from_parts(parts: &[f64], values: &mut [Complex]) {
        for (pair, z) in parts.chunks_exact(2).zip(values) {
            *z = Complex::new(pair[0], pair[1]);
        }
    }
    #[inline]
    fn fill_parts(values: &mut [Complex], buffer: &mut [f64], write: impl FnOnce(&mut [f64])) {
        write(buffer);
        Self::from_parts(buffer, values);
    }
}
