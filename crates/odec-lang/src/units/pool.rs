//! Units by number: each distinct unit of a check is kept once. So a copy costs nothing, equal units have equal
//! numbers, and a product that was formed before is looked up.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use super::rational::Rational;
use super::vector::{Atom, Vector};

/// The number of a unit in its [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitId(u32);

impl UnitId {
    /// The number 1.
    pub const ONE: UnitId = UnitId(0);

    /// The variable, if the unit is one variable alone.
    pub fn as_variable(self) -> Option<u32> {
        self.0.checked_sub(VARIABLES)
    }
}

/// Numbers from here on are those of variables.
const VARIABLES: u32 = 1 << 31;

/// A map with a fast hash function, for keys of few words.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<PoolHasher>>;
type Map<K> = QuickMap<K, UnitId>;

/// All units of a check.
#[derive(Debug)]
pub struct Pool {
    units: Vec<Rc<Vector>>,
    /// The units of variables, each of them alone. Most are found before anyone asks for this.
    variables: Vec<OnceCell<Vector>>,
    ids: Map<Rc<Vector>>,
    products: Map<(UnitId, UnitId)>,
    quotients: Map<(UnitId, UnitId)>,
}

impl Default for Pool {
    fn default() -> Pool {
        let one = Rc::new(Vector::default());
        let ids = std::iter::once((Rc::clone(&one), UnitId::ONE)).collect();
        Pool { units: vec![one], variables: Vec::new(), ids, products: Map::default(), quotients: Map::default() }
    }
}

impl std::ops::Index<UnitId> for Pool {
    type Output = Vector;
    fn index(&self, id: UnitId) -> &Vector {
        match id.as_variable() {
            Some(variable) => self.variables[variable as usize].get_or_init(|| Vector::of(Atom::Variable(variable))),
            None => &self.units[id.0 as usize],
        }
    }
}

impl Pool {
    /// The number of a unit.
    pub fn id(&mut self, unit: Vector) -> UnitId {
        if unit.is_one() {
            return UnitId::ONE;
        }
        if let Some(variable) = unit.as_variable() {
            return self.variable(variable);
        }
        if let Some(&id) = self.ids.get(&unit) {
            return id;
        }
        let (id, unit) = (UnitId(self.units.len() as u32), Rc::new(unit));
        self.units.push(Rc::clone(&unit));
        self.ids.insert(unit, id);
        id
    }

    /// The unit of a variable.
    pub fn variable(&mut self, variable: u32) -> UnitId {
        if variable as usize >= self.variables.len() {
            self.variables.resize_with(variable as usize + 1, OnceCell::new);
        }
        UnitId(VARIABLES + variable)
    }

    /// A unit that is not a variable, to be kept elsewhere.
    pub fn shared(&self, id: UnitId) -> Option<Rc<Vector>> {
        self.units.get(id.0 as usize).map(Rc::clone)
    }

    /// The product of two units.
    pub fn product(&mut self, a: UnitId, b: UnitId) -> UnitId {
        if a == UnitId::ONE || b == UnitId::ONE {
            return if a == UnitId::ONE { b } else { a };
        }
        if let Some(&known) = self.products.get(&(a, b)) {
            return known;
        }
        let unit = self[a].product(&self[b]);
        let id = self.id(unit);
        self.products.insert((a, b), id);
        id
    }

    /// The quotient of two units.
    pub fn quotient(&mut self, a: UnitId, b: UnitId) -> UnitId {
        if b == UnitId::ONE {
            return a;
        }
        if let Some(&known) = self.quotients.get(&(a, b)) {
            return known;
        }
        let unit = self[a].quotient(&self[b]);
        let id = self.id(unit);
        self.quotients.insert((a, b), id);
        id
    }

    /// A power of a unit.
    pub fn power(&mut self, unit: UnitId, power: Rational) -> UnitId {
        if power == Rational::ONE || unit == UnitId::ONE {
            return unit;
        }
        let raised = self[unit].power(power);
        self.id(raised)
    }
}

/// Hashes numbers, units and names, which are short: a multiplication for each word.
#[derive(Debug, Default)]
pub struct PoolHasher(u64);

impl PoolHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for PoolHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        // a rest of 1 to 7 bytes is one word, and its length is a part of it
        let length = (rest.len() as u64) << 56;
        match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
            (Some(low), Some(high), _) => {
                let high = u64::from(u32::from_le_bytes(*high)) << 24;
                self.mix(length ^ high ^ u64::from(u32::from_le_bytes(*low)));
            }
            (_, _, [first, .., last]) => {
                let middle = u64::from(rest[rest.len() / 2]);
                self.mix(length | u64::from(*first) | middle << 8 | u64::from(*last) << 16);
            }
            (_, _, [only]) => self.mix(length | u64::from(*only)),
            _ => {}
        }
    }

    /// Strings end with this.
    fn write_u8(&mut self, x: u8) {
        self.mix(u64::from(x));
    }

    fn write_u16(&mut self, x: u16) {
        self.mix(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.mix(u64::from(x));
    }

    fn write_u64(&mut self, x: u64) {
        self.mix(x);
    }

    fn write_i64(&mut self, x: i64) {
        self.mix(x as u64);
    }

    fn write_usize(&mut self, x: usize) {
        self.mix(x as u64);
    }

    fn write_isize(&mut self, x: isize) {
        self.mix(x as u64);
    }

    fn finish(&self) -> u64 {
        // the product is best mixed in its upper bits, and tables take the lower ones
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, UnitId};
    use crate::units::rational::Rational;
    use crate::units::table::find;

    #[test]
    fn equal_units_have_equal_numbers() {
        let mut pool = Pool::default();
        let mut of = |name: &str| pool.id(find(name).expect(name));
        let (volt, ampere, watt, second) = (of("V"), of("A"), of("W"), of("s"));
        assert_eq!(pool.product(volt, ampere), watt);
        assert_eq!(pool.product(volt, ampere), watt);
        assert_eq!(pool.quotient(watt, ampere), volt);
        assert_eq!(pool.quotient(watt, watt), UnitId::ONE);
        assert_eq!(pool.product(UnitId::ONE, volt), volt);
        let hertz = pool.id(find("Hz").expect("Hz"));
        assert_eq!(pool.quotient(UnitId::ONE, second), hertz);
        assert_eq!(pool.power(hertz, Rational::whole(-1)), second);
        assert_eq!(pool[watt], find("J").expect("J").quotient(&find("s").expect("s")));
        assert!(pool.units.len() <= 6);
        let open = pool.variable(2);
        assert_eq!((open.as_variable(), volt.as_variable()), (Some(2), None));
        let squared = pool.product(open, open);
        assert_eq!(pool.power(squared, Rational::new(1, 2)), open);
    }
}
