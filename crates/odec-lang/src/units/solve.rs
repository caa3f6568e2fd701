//! Gaussian elimination over fractions. The equations between units come in the order of the text. Each of them
//! determines one more unit, already holds, or contradicts the earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::rational::Rational;
use super::vector::{Atom, Key, Vector};

/// The result of an equation between two units.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The equation holds, or it determines a unit.
    Holds,
    /// The units differ by this factor, the left one divided by the right one. Up to this factor, the equation holds
    /// or determines a unit.
    Scale(Vector),
    /// The units have different dimensions, and this is their quotient.
    Apart(Vector),
}

/// An equation that determined a unit. The quotient of its sides is 1.
#[derive(Clone, Debug)]
pub struct UnitEquation<S> {
    /// The quotient, as written.
    pub quotient: Vector,
    /// Site of the equation.
    pub site: S,
    /// The variable that it determined.
    pub variable: u32,
}

/// The equations so far.
#[derive(Debug)]
pub struct Solver<S> {
    /// The unit of each variable in terms of others.
    found: Vec<Option<Rc<Vector>>>,
    kept: Vec<UnitEquation<S>>,
    /// For each variable, the position in `kept` of the equation that determined it.
    why: Vec<Option<u32>>,
    /// Number of atoms processed: the cost of the elimination.
    pub work: u64,
}

impl<S> Default for Solver<S> {
    fn default() -> Solver<S> {
        Solver { found: Vec::new(), kept: Vec::new(), why: Vec::new(), work: 0 }
    }
}

/// Largest number of equations through which a contradiction is traced.
const MAX_CHAIN: usize = 2000;

impl<S> Solver<S> {
    /// A new variable, for a unit that is not known yet.
    pub fn variable(&mut self) -> u32 {
        self.found.push(None);
        self.why.push(None);
        self.found.len() as u32 - 1
    }

    /// The equations that determined a variable.
    pub fn kept(&self) -> &[UnitEquation<S>] {
        &self.kept
    }

    /// Substitutes all known variables in a unit.
    pub fn reduced(&mut self, unit: &Vector) -> Vector {
        self.work += 1 + unit.atoms() as u64;
        let mut unit = unit.clone();
        loop {
            let known = unit.iter().take_while(|(key, _)| key.is_open()).find(|(key, _)| self.is_found(*key));
            let Some((key, r)) = known else { return unit };
            let Atom::Variable(v) = key.atom else { return unit };
            self.shorten(v);
            unit = substituted(&unit, key, r, self.found[v as usize].as_deref());
            self.work += unit.atoms() as u64;
        }
    }

    /// Substitutes a variable in the unit of another one that has become known since, so that chains of them become short.
    fn shorten(&mut self, v: u32) {
        let Some(unit) = &self.found[v as usize] else { return };
        let known = unit.iter().take_while(|(key, _)| key.is_open()).find(|(key, _)| self.is_found(*key));
        if let Some((key, r)) = known
            && let Atom::Variable(other) = key.atom
        {
            let shorter = substituted(unit, key, r, self.found[other as usize].as_deref());
            self.work += shorter.atoms() as u64;
            self.found[v as usize] = Some(Rc::new(shorter));
        }
    }

    fn is_found(&self, key: Key) -> bool {
        matches!(key.atom, Atom::Variable(v) if self.found[v as usize].is_some())
    }

    /// A variable is found to be this unit, which holds no variables. No reason is kept. False if the variable was known.
    pub fn determine(&mut self, variable: u32, unit: &Rc<Vector>) -> bool {
        let found = &mut self.found[variable as usize];
        let is_new = found.is_none();
        if is_new {
            *found = Some(Rc::clone(unit));
            self.work += 1;
        }
        is_new
    }

    /// Adds the equation `quotient = 1`.
    pub fn equate(&mut self, quotient: Vector, site: S) -> Outcome {
        let mut rest = self.reduced(&quotient);
        if rest.is_lost() || rest.is_one() {
            return Outcome::Holds;
        }
        if !rest.is_open() {
            return if rest.has_dimension() { Outcome::Apart(rest) } else { Outcome::Scale(rest) };
        }
        let plain = |unit: &Vector| unit.iter().filter(|(key, _)| key.is_open() && key.exponent == 0).last();
        let mut was_stripped = false;
        let pivot = match plain(&rest) {
            Some(pivot) => Some(pivot),
            None => rest.stripped().and_then(|stripped| {
                (rest, was_stripped) = (stripped, true);
                plain(&rest)
            }),
        };
        let Some((key, r)) = pivot else { return Outcome::Holds };
        let Atom::Variable(v) = key.atom else { return Outcome::Holds };
        let mut others = rest.without(key);
        // A scale alone is not the unit of a name. The name is a pure number, or has the unit of the others, and the
        // other side is converted. After an exponent was stripped from both sides, the factor would be wrong.
        let scale = if was_stripped { None } else { others.scale_alone() };
        if let Some(scale) = &scale {
            others = others.quotient(scale);
        }
        // x = x^n determines no value to substitute for x
        if others.iter().any(|(other, _)| other.atom == key.atom) {
            return Outcome::Holds;
        }
        self.found[v as usize] = Some(Rc::new(others.power(-Rational::ONE / r)));
        self.why[v as usize] = Some(self.kept.len() as u32);
        self.kept.push(UnitEquation { quotient, site, variable: v });
        scale.map_or(Outcome::Holds, Outcome::Scale)
    }

    /// The positions of the earlier equations that together contradict this one. All of them are needed, so each is a
    /// link of the chain. Empty if none is needed, or if the chain is too long to trace.
    pub fn chain(&self, quotient: &Vector) -> Vec<usize> {
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        let mut open = vec![quotient];
        while let Some(unit) = open.pop() {
            for (key, _) in unit.iter() {
                let Atom::Variable(v) = key.atom else { continue };
                if let Some(k) = self.why[v as usize].map(|k| k as usize)
                    && needed.insert(k)
                {
                    open.push(&self.kept[k].quotient);
                }
            }
            if needed.len() > MAX_CHAIN {
                return Vec::new();
            }
        }
        // The rows are linearly independent, so the combination that gives the contradiction is unique.
        let mut rows: BTreeMap<u32, (Vector, BTreeMap<usize, Rational>)> = BTreeMap::new();
        for &k in &needed {
            let kept = &self.kept[k];
            let (rest, mut parts) = eliminated(&kept.quotient, &rows);
            let key = Key::from(Atom::Variable(kept.variable));
            let r = rest.get(key);
            if r.is_zero() || r.is_lost() {
                continue;
            }
            *parts.entry(k).or_insert(Rational::ZERO) = Rational::ONE;
            let scale = Rational::ONE / r;
            let unit = rest.without(key).power(-scale);
            for part in parts.values_mut() {
                *part = *part * scale;
            }
            rows.insert(kept.variable, (unit, parts));
        }
        let (_, parts) = eliminated(quotient, &rows);
        parts.into_iter().filter(|(_, r)| !r.is_zero()).map(|(k, _)| k).collect()
    }
}

/// `unit` with one of its atoms replaced by `value`.
fn substituted(unit: &Vector, key: Key, r: Rational, value: Option<&Vector>) -> Vector {
    let Some(value) = value else { return unit.clone() };
    if key.exponent == 0 {
        return unit.replaced(key, value, r);
    }
    let named = super::vector::Exponent { number: None, names: vec![(key.exponent, Rational::ONE)] };
    unit.replaced(key, &value.raised(&named), r)
}

/// Substitutes the rows in a unit. Also returns how often each equation was used.
fn eliminated(
    unit: &Vector,
    rows: &BTreeMap<u32, (Vector, BTreeMap<usize, Rational>)>,
) -> (Vector, BTreeMap<usize, Rational>) {
    let mut rest = unit.clone();
    let mut parts: BTreeMap<usize, Rational> = BTreeMap::new();
    loop {
        let next = rest.iter().find_map(|(key, r)| match key.atom {
            Atom::Variable(v) => rows.get(&v).map(|row| (key, r, row)),
            _ => None,
        });
        let Some((key, r, (value, used))) = next else { return (rest, parts) };
        rest = substituted(&rest, key, r, Some(value));
        for (&k, &part) in used {
            let sum = parts.entry(k).or_insert(Rational::ZERO);
            *sum = *sum + -(part * r);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Solver};
    use crate::units::rational::Rational;
    use crate::units::vector::{Atom, Vector};

    fn base(d: u16) -> Vector {
        Vector::of(Atom::Dimension(d))
    }

    #[test]
    fn a_contradiction_names_the_equations_that_it_needs_and_no_other() {
        let mut solver: Solver<&str> = Solver::default();
        let of: Vec<Vector> = (0..4).map(|_| Vector::of(Atom::Variable(solver.variable()))).collect();
        assert_eq!(solver.equate(of[0].quotient(&base(0)), "a is in kg"), Outcome::Holds);
        assert_eq!(solver.equate(of[3].quotient(&base(2)), "d is in s"), Outcome::Holds);
        assert_eq!(solver.equate(of[1].quotient(&of[0].power(Rational::whole(2))), "b is a^2"), Outcome::Holds);
        assert_eq!(
            solver.equate(of[2].power(Rational::whole(2)).quotient(&of[1]), "c is the root of b"),
            Outcome::Holds
        );
        assert_eq!(solver.equate(of[2].quotient(&base(0)), "c is in kg"), Outcome::Holds);
        let wrong = of[2].quotient(&base(1));
        assert!(matches!(solver.equate(wrong.clone(), "c is in m"), Outcome::Apart(_)));
        let said: Vec<&str> = solver.chain(&wrong).into_iter().map(|k| solver.kept()[k].site).collect();
        assert_eq!(said, ["a is in kg", "b is a^2", "c is the root of b"]);
    }

    #[test]
    fn a_long_chain_of_names_costs_no_more_than_its_length() {
        let cost = |n: usize| {
            let mut solver: Solver<()> = Solver::default();
            let of: Vec<Vector> = (0..n).map(|_| Vector::of(Atom::Variable(solver.variable()))).collect();
            for pair in of.windows(2) {
                solver.equate(pair[1].quotient(&pair[0]), ());
            }
            solver.equate(of[n - 1].quotient(&base(0)), ());
            assert_eq!(solver.reduced(&of[n / 2]), base(0));
            solver.work
        };
        assert!(cost(2000) <= 2 * cost(1000) + 8, "{} {}", cost(1000), cost(2000));
    }
}
