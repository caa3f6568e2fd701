//! Exact fractions for the order conditions of multistep methods.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A reduced fraction with a positive denominator; arithmetic overflow is a failed test, not a wrong number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rational {
    num: i128,
    den: i128,
}

impl Rational {
    pub const ZERO: Rational = Rational { num: 0, den: 1 };

    pub fn new(num: i128, den: i128) -> Rational {
        assert_ne!(den, 0);
        let (mut a, mut b) = (num.abs(), den.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sign = den.signum();
        Rational { num: sign * num / a.max(1), den: sign * den / a.max(1) }
    }

    pub fn int(n: i128) -> Rational {
        Rational::new(n, 1)
    }

    pub fn pow(self, k: usize) -> Rational {
        (0..k).fold(Rational::int(1), |acc, _| acc * self)
    }

    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

fn times(a: i128, b: i128) -> i128 {
    a.checked_mul(b).expect("a fraction of the test overflows")
}

impl Add for Rational {
    type Output = Rational;
    fn add(self, o: Rational) -> Rational {
        Rational::new(times(self.num, o.den) + times(o.num, self.den), times(self.den, o.den))
    }
}
impl Neg for Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        Rational::new(-self.num, self.den)
    }
}
impl Sub for Rational {
    type Output = Rational;
    fn sub(self, o: Rational) -> Rational {
        self + -o
    }
}
impl Mul for Rational {
    type Output = Rational;
    fn mul(self, o: Rational) -> Rational {
        Rational::new(times(self.num, o.num), times(self.den, o.den))
    }
}
impl Div for Rational {
    type Output = Rational;
    fn div(self, o: Rational) -> Rational {
        Rational::new(times(self.num, o.den), times(self.den, o.num))
    }
}
