//! The transformation T^-1 A^-1 T = diag(gamma, [alpha, -beta; beta, alpha]) that splits the stages of Radau IIA of order 5 into a real
//! and a complex system (Hairer & Wanner II, section IV.8).

use nalgebra::Matrix3;

use crate::method::radau::radau5::A;

/// T, from the eigenvectors of A^-1.
#[rustfmt::skip]
const T: [f64; 9] = [
    9.123_239_487_089_294_279_2e-2, -0.141_255_295_020_954_208_43, -3.002_919_410_514_742_449_2e-2,
    0.241_717_932_707_107_018_96,    0.204_129_352_293_799_931_99,  0.382_942_112_757_261_937_79,
    0.966_048_182_615_092_936_19,    1.0,                           0.0,
];

/// The transformation with its inverse, and A^-1 with its eigenvalues.
pub struct Transformation {
    /// T.
    pub t: Matrix3<f64>,
    /// T^-1.
    pub inverse: Matrix3<f64>,
    /// A^-1.
    pub inverse_a: Matrix3<f64>,
    /// The real eigenvalue of A^-1.
    pub gamma: f64,
    /// Real part of the complex eigenvalues.
    pub alpha: f64,
    /// Imaginary part of one of the complex eigenvalues.
    pub beta: f64,
}

impl Transformation {
    /// The transformation of Radau IIA. (Both inverses exist; if one did not, the identity would replace it, and the
    /// tests would fail.)
    pub fn new() -> Self {
        let t = Matrix3::from_row_slice(&T);
        let a = Matrix3::from_fn(|i, j| A[i][j]);
        let root = 9f64.cbrt();
        let real = (6.0 + root * (root - 1.0)) / 30.0;
        let (re, im) = ((12.0 - root * (root - 1.0)) / 60.0, root * (root + 1.0) * 3f64.sqrt() / 60.0);
        let square = re * re + im * im;
        Transformation {
            inverse: t.try_inverse().unwrap_or_else(Matrix3::identity),
            inverse_a: a.try_inverse().unwrap_or_else(Matrix3::identity),
            t,
            gamma: 1.0 / real,
            alpha: re / square,
            beta: im / square,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transformation_splits_the_inverse() {
        let s = Transformation::new();
        let split = s.inverse * s.inverse_a * s.t;
        let expected = Matrix3::new(s.gamma, 0.0, 0.0, 0.0, s.alpha, -s.beta, 0.0, s.beta, s.alpha);
        assert!((split - expected).amax() < 1e-13, "{split}");
        let eigenvalues = s.inverse_a.complex_eigenvalues();
        assert!(eigenvalues.iter().any(|e| (e.re - s.gamma).abs() + e.im.abs() < 1e-12));
        assert!(eigenvalues.iter().any(|e| (e.re - s.alpha).abs() + (e.im - s.beta).abs() < 1e-12));
    }
}
