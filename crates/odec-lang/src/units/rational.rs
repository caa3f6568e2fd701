//! Exact fractions, used as exponents of dimensions and scales.

use std::fmt::{self, Display, Formatter};

/// A fraction in lowest terms with a positive denominator. A result that does not fit is [`Rational::LOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: i64,
    denominator: i64,
}

/// Largest denominator of an exponent in decimal notation.
const MAX_DENOMINATOR: i64 = 1_000_000;

/// Greatest common divisor, not negative.
pub fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

impl Rational {
    /// 0
    pub const ZERO: Rational = Rational::whole(0);
    /// 1
    pub const ONE: Rational = Rational::whole(1);
    /// A result outside the range of 64-bit fractions; further results are lost too.
    pub const LOST: Rational = Rational { numerator: 0, denominator: 0 };

    /// An integer.
    pub const fn whole(n: i64) -> Rational {
        Rational { numerator: n, denominator: 1 }
    }

    /// a/b in lowest terms.
    pub fn new(a: i64, b: i64) -> Rational {
        Rational::reduced(i128::from(a), i128::from(b))
    }

    fn reduced(a: i128, b: i128) -> Rational {
        let divisor = gcd(a, b);
        if b == 0 || divisor == 0 {
            return Rational::LOST;
        }
        let sign = if b < 0 { -1 } else { 1 };
        match (i64::try_from(sign * a / divisor), i64::try_from(sign * b / divisor)) {
            (Ok(numerator), Ok(denominator)) => Rational { numerator, denominator },
            _ => Rational::LOST,
        }
    }

    /// The fraction that a decimal number means: 0.5, 2.7; `None` if it has too many digits for an exponent.
    pub fn of_number(x: f64) -> Option<Rational> {
        if !x.is_finite() || x.abs() > 1e9 {
            return None;
        }
        let mut denominator = 1i64;
        while denominator <= MAX_DENOMINATOR {
            let numerator = (x * denominator as f64).round();
            if numerator / denominator as f64 == x {
                return Some(Rational::new(numerator as i64, denominator));
            }
            denominator *= 10;
        }
        // quotients such as 1/3
        (1..=999i64).find_map(|d| {
            let numerator = (x * d as f64).round();
            (numerator / d as f64 == x).then(|| Rational::new(numerator as i64, d))
        })
    }

    /// True if the result did not fit.
    pub fn is_lost(self) -> bool {
        self.denominator == 0
    }

    /// True for 0.
    pub fn is_zero(self) -> bool {
        self.numerator == 0 && self.denominator != 0
    }

    /// True for a number below 0.
    pub fn is_negative(self) -> bool {
        self.numerator < 0
    }

    /// The integer, if it is one.
    pub fn as_whole(self) -> Option<i64> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl std::ops::Add for Rational {
    type Output = Rational;
    fn add(self, other: Rational) -> Rational {
        if self.denominator == 1 && other.denominator == 1 {
            let sum = self.numerator.checked_add(other.numerator);
            return sum.map_or(Rational::LOST, Rational::whole);
        }
        let (a, b) = (i128::from(self.numerator), i128::from(self.denominator));
        let (c, d) = (i128::from(other.numerator), i128::from(other.denominator));
        Rational::reduced(a * d + c * b, b * d)
    }
}

impl std::ops::Mul for Rational {
    type Output = Rational;
    fn mul(self, other: Rational) -> Rational {
        // most exponents are integers, and 128-bit divisions are slow
        if self.denominator == 1 && other.denominator == 1 {
            let product = self.numerator.checked_mul(other.numerator);
            return product.map_or(Rational::LOST, Rational::whole);
        }
        let (a, b) = (i128::from(self.numerator), i128::from(self.denominator));
        let (c, d) = (i128::from(other.numerator), i128::from(other.denominator));
        Rational::reduced(a * c, b * d)
    }
}

impl std::ops::Div for Rational {
    type Output = Rational;
    fn div(self, other: Rational) -> Rational {
        if other == Rational::ONE {
            return self;
        }
        let (a, b) = (i128::from(self.numerator), i128::from(self.denominator));
        let (c, d) = (i128::from(other.numerator), i128::from(other.denominator));
        Rational::reduced(a * d, b * c)
    }
}

impl std::ops::Neg for Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        match self.numerator.checked_neg() {
            Some(numerator) => Rational { numerator, ..self },
            None => Rational::LOST,
        }
    }
}

impl Display for Rational {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            _ => write!(f, "({}/{})", self.numerator, self.denominator),
        }
    }
}
