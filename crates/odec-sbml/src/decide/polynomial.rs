//! Expands a formula into a polynomial in some quantities, if it is one. All other quantities must be numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::start::MAX_CHAIN;
use crate::math::{Math, Op};
use crate::model::Function;
use crate::plan::{Quantity, Role};

/// Largest number of terms.
const MAX_TERMS: usize = 100;

/// The terms: factors, repeated according to their powers, and their coefficients.
pub struct Polynomial(BTreeMap<Vec<String>, f64>);

impl Polynomial {
    fn constant(v: f64) -> Polynomial {
        Polynomial(BTreeMap::from([(vec![], v)]))
    }

    /// The nonzero terms.
    pub fn terms(&self) -> impl Iterator<Item = (&Vec<String>, f64)> {
        self.0.iter().map(|(key, v)| (key, *v)).filter(|(_, v)| *v != 0.0)
    }

    /// Its value, if it is a number.
    fn number(&self) -> Option<f64> {
        if self.0.keys().all(Vec::is_empty) { Some(self.0.values().sum()) } else { None }
    }

    fn plus(mut self, other: Polynomial, factor: f64) -> Polynomial {
        for (key, v) in other.0 {
            *self.0.entry(key).or_default() += factor * v;
        }
        self
    }

    fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut product: BTreeMap<Vec<String>, f64> = BTreeMap::new();
        for (a, v) in &self.0 {
            for (b, w) in &other.0 {
                let mut key = [a.as_slice(), b.as_slice()].concat();
                key.sort();
                *product.entry(key).or_default() += v * w;
            }
        }
        (product.len() <= MAX_TERMS).then_some(Polynomial(product))
    }
}

/// The values of quantities that do not vary.
pub struct Values<'q> {
    roles: BTreeMap<&'q str, &'q Role>,
    functions: BTreeMap<&'q str, &'q Function>,
}

impl<'q> Values<'q> {
    /// Finds these values among the quantities of a plan.
    pub fn of(quantities: &'q [Quantity], functions: &'q [Function]) -> Values<'q> {
        Values {
            roles: quantities.iter().map(|q| (q.key.as_str(), &q.role)).collect(),
            functions: functions.iter().map(|f| (f.base.id.as_str(), f)).collect(),
        }
    }

    /// The value of a formula that only names such quantities.
    pub fn number(&self, math: &Math) -> Option<f64> {
        self.polynomial(math, &BTreeSet::new()).ok()?.number()
    }

    /// Expands a formula in `keys`, or says why it is not a polynomial.
    pub fn polynomial(&self, math: &Math, keys: &BTreeSet<&str>) -> Result<Polynomial, String> {
        self.form(math, keys, MAX_CHAIN)
    }

    fn form(&self, math: &Math, keys: &BTreeSet<&str>, chain: usize) -> Result<Polynomial, String> {
        let other = || "its kinetic law is not a polynomial of the amounts that it changes".to_string();
        let chain = chain.checked_sub(1).ok_or_else(other)?;
        let form = |math: &Math| self.form(math, keys, chain);
        match math {
            Math::Number(v) if v.is_finite() => Ok(Polynomial::constant(*v)),
            Math::Name(key, _) if keys.contains(key.as_str()) => {
                Ok(Polynomial(BTreeMap::from([(vec![key.clone()], 1.0)])))
            }
            Math::Name(key, _) => match self.roles.get(key.as_str()) {
                Some(Role::Parameter(v)) if v.is_finite() => Ok(Polynomial::constant(*v)),
                Some(Role::Defined(math)) => form(math),
                _ => Err(format!("its kinetic law depends on `{}`, which varies", key.trim_matches(['#', '[', ']']))),
            },
            Math::Call(f, list, _) => {
                let function = self.functions.get(f.as_str()).ok_or_else(other)?;
                let body = function.body.clone().map(&mut |m| match m {
                    Math::Name(id, _) => {
                        function.arguments.iter().position(|a| a == id).and_then(|k| list.get(k)).cloned()
                    }
                    _ => None,
                });
                if body.size() > 10 * MAX_TERMS { Err(other()) } else { form(&body) }
            }
            Math::Apply(op, list) => match (op, list.as_slice()) {
                (Op::Plus, list) => {
                    list.iter().try_fold(Polynomial::constant(0.0), |sum, m| Ok(sum.plus(form(m)?, 1.0)))
                }
                (Op::Minus, [a]) => Ok(Polynomial::constant(0.0).plus(form(a)?, -1.0)),
                (Op::Minus, [a, b]) => Ok(form(a)?.plus(form(b)?, -1.0)),
                (Op::Times, list) => list
                    .iter()
                    .try_fold(Polynomial::constant(1.0), |product, m| product.times(&form(m)?).ok_or_else(other)),
                (Op::Divide, [a, b]) => {
                    let by = form(b)?.number().filter(|v| *v != 0.0).ok_or_else(other)?;
                    form(a)?.times(&Polynomial::constant(1.0 / by)).ok_or_else(other)
                }
                (Op::Power, [a, b]) => {
                    let (base, power) = (form(a)?, form(b)?.number().ok_or_else(other)?);
                    match (base.number(), power) {
                        (Some(v), power) => Ok(Polynomial::constant(v.powf(power))),
                        (None, 1.0) => Ok(base),
                        (None, 2.0) => base.times(&base).ok_or_else(other),
                        _ => Err(other()),
                    }
                }
                _ => Err(other()),
            },
            _ => Err(other()),
        }
    }
}
