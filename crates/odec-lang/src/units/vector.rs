//! Units as vectors: exponents of dimensions, of prime factors of the scale, and of the units of names that have none.

use super::rational::Rational;

/// What a unit is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// The unit of something whose unit is to be found.
    Variable(u32),
    /// A dimension: the seven of the SI, then those of the model.
    Dimension(u16),
    /// A prime factor of the scale.
    Prime(u64),
    /// The number pi in the scale.
    Pi,
}

/// An atom, to the power of a named exponent if `exponent` is not 0: in `x^n` the unit of x counts n times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What.
    pub atom: Atom,
    /// The named exponent, or 0 for none.
    pub exponent: u32,
}

impl From<Atom> for Key {
    fn from(atom: Atom) -> Key {
        Key { atom, exponent: 0 }
    }
}

impl Key {
    /// Its unit is still to be found.
    pub fn is_open(self) -> bool {
        matches!(self.atom, Atom::Variable(_))
    }
}

/// A unit: the exponents of its atoms, sorted by atom, none of them 0. The vector without entries is the number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vector(Vec<(Key, Rational)>);

/// An exponent as far as it is known: a number plus multiples of named values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exponent {
    /// The number.
    pub number: Option<Rational>,
    /// Names by their positions, and how often they count.
    pub names: Vec<(u32, Rational)>,
}

impl Vector {
    /// The unit that one atom is.
    pub fn of(atom: Atom) -> Vector {
        Vector(vec![(atom.into(), Rational::ONE)])
    }

    /// Atoms and their exponents.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Rational)> + '_ {
        self.0.iter().copied()
    }

    /// Number of atoms.
    pub fn atoms(&self) -> usize {
        self.0.len()
    }

    /// The number 1: no dimension, and no scale.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// An exponent left the range of fractions: nothing can be said of the unit.
    pub fn is_lost(&self) -> bool {
        self.0.iter().any(|(_, r)| r.is_lost())
    }

    /// It holds something whose unit is still to be found.
    pub fn is_open(&self) -> bool {
        // open atoms are sorted first
        self.0.first().is_some_and(|(key, _)| key.is_open())
    }

    /// It has a dimension, or an unknown power of one.
    pub fn has_dimension(&self) -> bool {
        self.0.iter().any(|(key, _)| matches!(key.atom, Atom::Dimension(_)))
    }

    /// The scale holds a power with a named exponent.
    pub fn has_named_exponent(&self) -> bool {
        self.0.iter().any(|(key, _)| key.exponent != 0)
    }

    /// The scale, if what is known of the unit is a scale other than 1 and no dimension: all but the units that are to be
    /// found.
    pub fn scale_alone(&self) -> Option<Vector> {
        let known: Vec<(Key, Rational)> = self.0.iter().copied().filter(|(key, _)| !key.is_open()).collect();
        let plain = |(key, r): &(Key, Rational)| {
            matches!(key.atom, Atom::Prime(_) | Atom::Pi) && key.exponent == 0 && !r.is_lost()
        };
        (!known.is_empty() && known.iter().all(plain)).then_some(Vector(known))
    }

    /// A number other than 1: a known scale without a dimension, such as that of `%`, or of `[uM]` divided by `[mM]`.
    pub fn is_scale(&self) -> bool {
        !self.is_one() && !self.is_open() && !self.has_dimension() && !self.is_lost()
    }

    /// Its dimensions alone.
    pub fn dimensions(&self) -> Vector {
        Vector(self.0.iter().copied().filter(|(key, _)| matches!(key.atom, Atom::Dimension(_))).collect())
    }

    /// The exponent of an atom.
    pub fn get(&self, key: Key) -> Rational {
        self.0.binary_search_by_key(&key, |e| e.0).map_or(Rational::ZERO, |i| self.0[i].1)
    }

    /// The unit times another to a power.
    pub fn times(&self, other: &Vector, power: Rational) -> Vector {
        if other.0.is_empty() {
            return self.clone();
        }
        let mut sum = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(x), Some(y)) => x.0.cmp(&y.0),
            };
            let left = if order.is_le() { a.next() } else { None };
            let right = if order.is_ge() { b.next() } else { None };
            let (key, value) = match (left, right) {
                (Some(x), Some(y)) => (x.0, x.1 + y.1 * power),
                (Some(x), None) => *x,
                (None, Some(y)) => (y.0, y.1 * power),
                (None, None) => break,
            };
            if !value.is_zero() {
                sum.push((key, value));
            }
        }
        Vector(sum)
    }

    /// The product of two units.
    pub fn product(&self, other: &Vector) -> Vector {
        self.times(other, Rational::ONE)
    }

    /// The quotient of two units.
    pub fn quotient(&self, other: &Vector) -> Vector {
        self.times(other, Rational::whole(-1))
    }

    /// The unit to a power.
    pub fn power(&self, power: Rational) -> Vector {
        Vector::default().times(self, power)
    }

    /// The unit without one of its atoms.
    pub fn without(&self, key: Key) -> Vector {
        Vector(self.0.iter().copied().filter(|e| e.0 != key).collect())
    }

    /// The unit to an exponent that may hold names. A named exponent of a named exponent is lost.
    pub fn raised(&self, exponent: &Exponent) -> Vector {
        let mut out = exponent.number.map_or_else(Vector::default, |n| self.power(n));
        for &(name, times) in &exponent.names {
            let mut raised: Vec<(Key, Rational)> = Vec::with_capacity(self.0.len());
            for &(key, r) in &self.0 {
                let r = if key.exponent == 0 { r } else { Rational::LOST };
                raised.push((Key { exponent: name, ..key }, r));
            }
            raised.sort_by_key(|e| e.0);
            out = out.times(&Vector(raised), times);
        }
        out
    }

    /// The exponent that all atoms carry is taken away: what is left of `K^n = x^n` is `K = x`.
    pub fn stripped(&self) -> Option<Vector> {
        let exponent = self.0.first()?.0.exponent;
        if exponent == 0 || self.0.iter().any(|(key, _)| key.exponent != exponent) {
            return None;
        }
        let mut list: Vec<(Key, Rational)> = self.0.iter().map(|&(key, r)| (key.atom.into(), r)).collect();
        list.sort_by_key(|e| e.0);
        Some(Vector(list))
    }

    /// The number that the scale is, if it is one: dimensions are left out.
    pub fn scale(&self) -> f64 {
        let (mut top, mut bottom, mut rest) = (1u128, 1u128, 1.0f64);
        for &(key, r) in &self.0 {
            let base = match key.atom {
                Atom::Prime(p) => p,
                Atom::Pi => {
                    rest *= std::f64::consts::PI.powf(r.to_f64());
                    continue;
                }
                _ => continue,
            };
            let exact = r.as_whole().and_then(|n| {
                let power = u128::from(base).checked_pow(u32::try_from(n.unsigned_abs()).ok()?)?;
                let side = if n > 0 { &mut top } else { &mut bottom };
                *side = side.checked_mul(power).filter(|&x| x < 1 << 100)?;
                Some(())
            });
            if exact.is_none() {
                rest *= (base as f64).powf(r.to_f64());
            }
        }
        // both sides of an ordinary factor are exact doubles, so that the quotient is rounded once
        decimal(top, bottom).unwrap_or(top as f64 / bottom as f64) * rest
    }
}

/// A quotient that has a finite decimal expansion, as its digits are read: rounded once, however many they are.
fn decimal(top: u128, bottom: u128) -> Option<f64> {
    let (mut left, mut twos, mut fives) = (bottom, 0u32, 0u32);
    while left.is_multiple_of(2) {
        (left, twos) = (left / 2, twos + 1);
    }
    while left.is_multiple_of(5) {
        (left, fives) = (left / 5, fives + 1);
    }
    if left != 1 {
        return None;
    }
    let tens = twos.max(fives);
    let digits = top.checked_mul(2u128.checked_pow(tens - twos)?)?.checked_mul(5u128.checked_pow(tens - fives)?)?;
    format!("{digits}e-{tens}").parse().ok()
}
