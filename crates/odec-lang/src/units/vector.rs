//! Units as vectors: exponents of dimensions, of prime factors of the scale, and of the unknown units of names.

use std::cmp::Ordering;

use super::rational::Rational;

/// A factor of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A unit that is not known yet.
    Variable(u32),
    /// A dimension: the seven of the SI, then those of the table and of the model.
    Dimension(u16),
    /// A prime factor of the scale.
    Prime(u64),
    /// The number pi in the scale.
    Pi,
}

/// An atom, raised to a named exponent unless `exponent` is 0: in `x^n`, the unit of x counts n times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The atom.
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
    /// True if its unit is not known yet.
    pub fn is_open(self) -> bool {
        matches!(self.atom, Atom::Variable(_))
    }
}

/// A unit: the nonzero exponents of its atoms, sorted by atom. The empty vector is the number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vector(Vec<(Key, Rational)>);

/// An exponent, as far as it is known: a number plus multiples of named values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exponent {
    /// The number.
    pub number: Option<Rational>,
    /// Positions of names, with their coefficients.
    pub names: Vec<(u32, Rational)>,
}

impl Vector {
    /// A single atom as a unit.
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

    /// True for the number 1: no dimension and no scale.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// True if an exponent is out of range, so that nothing is known about the unit.
    pub fn is_lost(&self) -> bool {
        self.0.iter().any(|(_, r)| r.is_lost())
    }

    /// True if it contains a unit that is not known yet.
    pub fn is_open(&self) -> bool {
        // open atoms are sorted first
        self.0.first().is_some_and(|(key, _)| key.is_open())
    }

    /// The variable, if the unit is one variable alone.
    pub fn as_variable(&self) -> Option<u32> {
        match self.0[..] {
            [(Key { atom: Atom::Variable(v), exponent: 0 }, r)] if r == Rational::ONE => Some(v),
            _ => None,
        }
    }

    /// True if it has a dimension, or an unknown power of one.
    pub fn has_dimension(&self) -> bool {
        self.0.iter().any(|(key, _)| matches!(key.atom, Atom::Dimension(_)))
    }

    /// True if it contains a power with a named exponent.
    pub fn has_named_exponent(&self) -> bool {
        self.0.iter().any(|(key, _)| key.exponent != 0)
    }

    /// The scale, if the known part of the unit is a scale other than 1 without a dimension.
    pub fn scale_alone(&self) -> Option<Vector> {
        let known: Vec<(Key, Rational)> = self.0.iter().copied().filter(|(key, _)| !key.is_open()).collect();
        let plain = |(key, r): &(Key, Rational)| {
            matches!(key.atom, Atom::Prime(_) | Atom::Pi) && key.exponent == 0 && !r.is_lost()
        };
        (!known.is_empty() && known.iter().all(plain)).then_some(Vector(known))
    }

    /// True for a number other than 1: a scale without a dimension, such as `%`, or `[uM]` divided by `[mM]`.
    pub fn is_scale(&self) -> bool {
        !self.is_one() && !self.is_open() && !self.has_dimension() && !self.is_lost()
    }

    /// Its dimensions, without the scale.
    pub fn dimensions(&self) -> Vector {
        Vector(self.0.iter().copied().filter(|(key, _)| matches!(key.atom, Atom::Dimension(_))).collect())
    }

    /// The exponent of an atom.
    pub fn get(&self, key: Key) -> Rational {
        self.0.binary_search_by_key(&key, |e| e.0).map_or(Rational::ZERO, |i| self.0[i].1)
    }

    /// The product of the unit and a power of another.
    pub fn times(&self, other: &Vector, power: Rational) -> Vector {
        if other.0.is_empty() {
            return self.clone();
        }
        Vector(merged(&self.0, &other.0, power, None))
    }

    /// The unit with one of its atoms replaced by a power of `value`.
    pub fn replaced(&self, key: Key, value: &Vector, power: Rational) -> Vector {
        Vector(merged(&self.0, &value.0, power, Some(key)))
    }

    /// The product of two units.
    pub fn product(&self, other: &Vector) -> Vector {
        self.times(other, Rational::ONE)
    }

    /// The quotient of two units.
    pub fn quotient(&self, other: &Vector) -> Vector {
        self.times(other, Rational::whole(-1))
    }

    /// A power of the unit.
    pub fn power(&self, power: Rational) -> Vector {
        Vector::default().times(self, power)
    }

    /// The unit without one of its atoms.
    pub fn without(&self, key: Key) -> Vector {
        Vector(self.0.iter().copied().filter(|e| e.0 != key).collect())
    }

    /// The unit raised to an exponent that may contain names. A named exponent of a named exponent is lost.
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

    /// Removes a named exponent that all atoms share: `K^n = x^n` becomes `K = x`.
    pub fn stripped(&self) -> Option<Vector> {
        let exponent = self.0.first()?.0.exponent;
        if exponent == 0 || self.0.iter().any(|(key, _)| key.exponent != exponent) {
            return None;
        }
        let mut list: Vec<(Key, Rational)> = self.0.iter().map(|&(key, r)| (key.atom.into(), r)).collect();
        list.sort_by_key(|e| e.0);
        Some(Vector(list))
    }

    /// The numerical value of the scale, without dimensions.
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
        // numerator and denominator of an ordinary factor are exact doubles, so the quotient is rounded once
        decimal(top, bottom).unwrap_or(top as f64 / bottom as f64) * rest
    }
}

/// The sum of two sorted lists of exponents: the first one without the key `gone`, the second one times `power`. An
/// exponent of 0 is left out.
fn merged(a: &[(Key, Rational)], b: &[(Key, Rational)], power: Rational, gone: Option<Key>) -> Vec<(Key, Rational)> {
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && Some(a[i].0) == gone {
            i += 1;
            continue;
        }
        let order = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.0.cmp(&y.0),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let (key, value) = match order {
            Ordering::Less => a[i],
            Ordering::Equal => (a[i].0, a[i].1 + b[j].1 * power),
            Ordering::Greater => (b[j].0, b[j].1 * power),
        };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        if !value.is_zero() {
            sum.push((key, value));
        }
    }
    sum
}

/// A quotient with a finite decimal expansion, parsed from its digits. So it is rounded once, however many digits it
/// has.
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
