//! Functions of the model: each is solved once, general in its arguments, and put in for every call.

use std::rc::Rc;

use super::statements::depth_first;
use super::{Checker, Kind, Site, Value};
use crate::syntax::tree::{ExprId, ExprKind};
use crate::units::rational::Rational;
use crate::units::vector::{Atom, Exponent, Key, Vector};

/// Named exponents from here on are arguments of functions.
const ARGUMENTS: u32 = 1 << 24;
/// Most constants that an exponent is followed through.
const MAX_CONSTANTS: usize = 16;

/// The named exponent that an argument is.
pub(super) fn named_argument(variable: u32) -> u32 {
    ARGUMENTS + variable
}

/// A function in terms of the units of its arguments.
pub(super) struct Scheme {
    /// Variables of the arguments.
    arguments: Vec<u32>,
    /// What each of them must be, in terms of the others; itself if it is free.
    units: Vec<Vector>,
    /// The unit of the value.
    value: Value,
}

impl<'a> Checker<'a> {
    /// Solves all functions, each after those that it calls.
    pub(super) fn look_at_functions(&mut self) {
        let functions = &self.names.found.functions;
        let order = depth_first(functions.len(), |k, uses| {
            for id in self.input.nodes_of(functions[k].body) {
                if let ExprKind::Call(name, _) = &self.input.tree.exprs[id.0 as usize].kind {
                    uses.extend(self.names.functions.get(&name.name));
                }
            }
        });
        for index in order {
            self.solve(index);
        }
    }

    fn solve(&mut self, index: usize) {
        let item = &self.names.found.functions[index];
        let arguments: Vec<u32> = item.arguments.iter().map(|_| self.solver.variable()).collect();
        self.arguments = item.arguments.iter().map(|a| a.name.as_str()).zip(arguments.iter().copied()).collect();
        let value = self.value(item.body);
        self.arguments.clear();
        let units = arguments.iter().map(|&v| self.solver.reduced(&Vector::of(Atom::Variable(v)))).collect();
        let value = match value {
            Value::Unit(unit) => Value::Unit(self.solver.reduced(&unit)),
            other => other,
        };
        self.schemes.insert(index, Rc::new(Scheme { arguments, units, value }));
    }

    /// The unit of a call.
    pub(super) fn called(&mut self, index: usize, arguments: &'a [ExprId]) -> Value {
        // one that calls itself has no scheme, and is answered elsewhere
        let Some(scheme) = self.schemes.get(&index).map(Rc::clone) else { return Value::Unit(self.fresh()) };
        let item = &self.names.found.functions[index];
        if scheme.arguments.len() != arguments.len() {
            return Value::Unit(self.fresh());
        }
        let given: Vec<Value> = arguments.iter().map(|&a| self.value_of(a)).collect();
        let determined = |k: usize| scheme.units[k] != Vector::of(Atom::Variable(scheme.arguments[k]));
        let mut put: Vec<(u32, Vector, Option<Exponent>)> = Vec::with_capacity(given.len());
        for (k, value) in given.iter().enumerate() {
            let exponent = self.exponent(arguments[k], MAX_CONSTANTS);
            let unit = match value {
                Value::Unit(unit) => unit.clone(),
                // a number that meets other arguments in a sum takes their unit
                _ if (0..given.len()).any(|j| determined(j) && mentions(&scheme.units[j], scheme.arguments[k])) => {
                    self.fresh()
                }
                _ => Vector::default(),
            };
            put.push((scheme.arguments[k], unit, exponent));
        }
        for (k, value) in given.iter().enumerate() {
            if !determined(k) {
                continue;
            }
            let unit = instance(&scheme.units[k], &put);
            let span = self.span(arguments[k]);
            let kind = Kind::Argument(&item.arguments[k].name, &item.name.name);
            let (right_expr, beside) = (Some(arguments[k]), Some(item.body));
            let site = Site { kind, left: item.arguments[k].span, right: span, left_expr: None, right_expr, beside };
            self.equate(&unit, value, site);
        }
        match &scheme.value {
            Value::Unit(unit) => {
                let bare = given.iter().all(|v| !matches!(v, Value::Unit(_)));
                let unit = instance(unit, &put);
                if bare && unit.is_one() { Value::Bare } else { Value::Unit(unit) }
            }
            other => other.clone(),
        }
    }
}

/// A variable occurs in a unit.
fn mentions(unit: &Vector, variable: u32) -> bool {
    unit.iter().any(|(key, _)| key.atom == Atom::Variable(variable))
}

/// A unit of a scheme with the arguments of a call put in.
fn instance(unit: &Vector, put: &[(u32, Vector, Option<Exponent>)]) -> Vector {
    let mut out = Vector::default();
    for (Key { atom, exponent }, r) in unit.iter() {
        let of = |v: u32| put.iter().find(|p| p.0 == v);
        let base = match atom {
            Atom::Variable(v) => of(v).map_or_else(|| Vector::of(atom), |p| p.1.clone()),
            _ => Vector::of(atom),
        };
        if exponent == 0 {
            out = out.times(&base, r);
            continue;
        }
        let actual = match exponent.checked_sub(ARGUMENTS).and_then(of) {
            Some((_, _, Some(actual))) => actual.clone(),
            // an exponent that varies: the base was asked to be a pure number, or nothing can be said
            Some((_, _, None)) => Exponent { number: Some(Rational::LOST), names: Vec::new() },
            None => Exponent { number: None, names: vec![(exponent, Rational::ONE)] },
        };
        out = out.times(&base.raised(&actual), r);
    }
    out
}
