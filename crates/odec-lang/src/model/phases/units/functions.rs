//! Functions of the model: each is solved once for general units of its arguments, and instantiated for every call.

use std::rc::Rc;

use super::statements::depth_first;
use super::undecided::MAX_PLACES;
use super::{Checker, Kind, PendingNumber, Site, Value};
use crate::diagnostic::codes;
use crate::report::error;
use crate::syntax::tree::{ExprId, ExprKind};
use crate::units::Mode;
use crate::units::pool::UnitId;
use crate::units::rational::Rational;
use crate::units::vector::{Atom, Exponent, Key, Vector};

/// Named exponents from here on are arguments of functions.
const ARGUMENTS: u32 = 1 << 24;
/// Largest number of constants through which an exponent is followed.
const MAX_CONSTANTS: usize = 16;

/// The named exponent that an argument is.
pub(super) fn named_argument(variable: u32) -> u32 {
    ARGUMENTS + variable
}

/// A function in terms of the units of its arguments.
pub(super) struct Scheme {
    /// Variables of the arguments.
    arguments: Vec<u32>,
    /// Required unit of each argument, in terms of the others; the argument's own variable if it is free.
    units: Vec<UnitId>,
    /// For each of them, whether its unit follows from those of others, or from the function.
    determined: Vec<bool>,
    /// The unit of the value.
    value: Value,
    /// Units next to numbers without a unit, and these numbers: `x^2` in `1 + x^2`.
    pending: Vec<PendingNumber>,
}

/// Argument of a call: the unit that replaces its variable, and its value as an exponent.
struct Substitution {
    variable: u32,
    unit: UnitId,
    exponent: Option<Exponent>,
}

impl<'a> Checker<'a> {
    /// Solves all functions, each after the functions that it calls.
    pub(super) fn visit_functions(&mut self) {
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
        let mut undecided = std::mem::take(&mut self.undecided);
        let pending = undecided.of_function(|unit| self.reduced(unit));
        self.undecided = undecided;
        self.arguments.clear();
        let open: Vec<UnitId> = arguments.iter().map(|&v| self.variable(v)).collect();
        let units: Vec<UnitId> = open.iter().map(|&unit| self.reduced(unit)).collect();
        let determined = units.iter().zip(&open).map(|(unit, open)| unit != open).collect();
        let value = match value {
            Value::Unit(unit) => Value::Unit(self.reduced(unit)),
            other => other,
        };
        self.schemes.insert(index, Rc::new(Scheme { arguments, units, determined, value, pending }));
    }

    /// The unit of a call.
    pub(super) fn called(&mut self, index: usize, arguments: &'a [ExprId]) -> Value {
        // a recursive function has no scheme, and is reported elsewhere
        let Some(scheme) = self.schemes.get(&index).map(Rc::clone) else { return Value::Unit(self.fresh()) };
        let item = &self.names.found.functions[index];
        if scheme.arguments.len() != arguments.len() {
            return Value::Unit(self.fresh());
        }
        let given: Vec<Value> = arguments.iter().map(|&a| self.value_of(a)).collect();
        let mut put: Vec<Substitution> = Vec::with_capacity(given.len());
        for (k, value) in given.iter().enumerate() {
            let (variable, exponent) = (scheme.arguments[k], self.exponent(arguments[k], MAX_CONSTANTS));
            let meets = |j: usize| scheme.determined[j] && mentions(&self.pool[scheme.units[j]], variable);
            let met = (0..given.len()).any(meets);
            let unit = match value {
                // a dimensionless argument of a function is a pure number, like one next to numbers
                Value::Unit(unit) if self.is_scale(*unit) => UnitId::ONE,
                Value::Unit(unit) => *unit,
                Value::Bare if self.units.mode == Mode::Strict => UnitId::ONE,
                // a number in a sum with other arguments takes their unit
                _ if met => self.fresh(),
                _ => UnitId::ONE,
            };
            put.push(Substitution { variable, unit, exponent });
        }
        if self.undecided.count_places(scheme.pending.len()) {
            self.check_pending_numbers(&scheme, &given, &mut put, arguments);
        } else if !std::mem::replace(&mut self.undecided.refused, true) {
            let headline = format!("the functions of the model hold more than {MAX_PLACES} numbers in all their calls");
            let report = error(&codes::E0509, headline, item.name.span, "this function");
            self.reports.say(report.help("nest fewer calls, or give a value that you use twice a name"));
        }
        let before = self.conversions.len();
        for (k, value) in given.iter().enumerate() {
            let unit = if scheme.determined[k] { self.instance(scheme.units[k], &put) } else { put[k].unit };
            if !scheme.determined[k] && !matches!(value, Value::Unit(_)) {
                continue;
            }
            let span = self.span(arguments[k]);
            let kind = Kind::Argument(&item.arguments[k].name, &item.name.name);
            let (right_expr, context) = (Some(arguments[k]), Some(item.body));
            let site = Site { kind, left: item.arguments[k].span, right: span, left_expr: None, right_expr, context };
            self.equate(unit, *value, site);
        }
        self.doubtful_arguments(&scheme, &given, arguments, before);
        match &scheme.value {
            Value::Unit(unit) => {
                let bare = given.iter().all(|v| !matches!(v, Value::Unit(_)));
                let unit = self.instance(*unit, &put);
                if bare && unit == UnitId::ONE { Value::Bare } else { Value::Unit(unit) }
            }
            other => *other,
        }
    }

    /// Makes dimensionless values next to numbers in a function, such as `s/K` in `1 + s/K`, pure numbers: an
    /// argument is converted so that the scale of the value is 1.
    fn check_pending_numbers(
        &mut self,
        scheme: &Scheme,
        given: &[Value],
        put: &mut [Substitution],
        arguments: &[ExprId],
    ) {
        let scale_of = |checker: &mut Self, unit: UnitId, put: &[Substitution]| {
            let unit = checker.instance(unit, put);
            let unit = checker.reduced(unit);
            if checker.pool[unit].is_scale() { Some(unit) } else { None }
        };
        for place in &scheme.pending {
            let unit = self.plain(place.unit);
            let Some(scale) = scale_of(self, unit, put) else { continue };
            let times = |checker: &Self, k: usize| checker.pool[unit].get(Atom::Variable(scheme.arguments[k]).into());
            let free =
                |k: &usize| !times(self, *k).is_zero() && !scheme.determined[*k] && matches!(given[*k], Value::Unit(_));
            if let Some(k) = (0..put.len()).find(free) {
                let r = times(self, k);
                let converted = self.pool[put[k].unit].times(&self.pool[scale], -Rational::ONE / r);
                put[k].unit = self.pool.id(converted);
            }
        }
        for &PendingNumber { unit, number, is_exponent, .. } in &scheme.pending {
            let of_call = self.instance(unit, put);
            let of_call = self.reduced(of_call);
            let plain = self.plain(unit);
            if scale_of(self, plain, put).is_some() || self.pool[of_call].is_scale() {
                let of_number = |k: &usize| mentions(&self.pool[plain], scheme.arguments[*k]);
                let other = (0..arguments.len()).find(of_number).map_or(number, |k| arguments[k]);
                self.undecided_number(number, self.span(other), Value::Any);
            } else if self.pool[of_call].is_open() {
                // the function that contains this call handles the number
                let other = self.span(number);
                self.undecided.note(PendingNumber { unit: of_call, number, is_exponent, other });
            } else if !is_exponent {
                self.is_beside(number, of_call);
            }
        }
    }

    /// An argument was converted that meets numbers without a unit: in the call, or in the function.
    fn doubtful_arguments(&mut self, scheme: &Scheme, given: &[Value], arguments: &[ExprId], before: usize) {
        if self.units.mode == Mode::Strict {
            return;
        }
        let converted: Vec<ExprId> =
            self.conversions[before..].iter().filter(|c| c.has_dimension).filter_map(|c| c.site.right_expr).collect();
        let together = |checker: &Self, a: UnitId, b: UnitId| {
            let b = &checker.pool[b];
            checker.pool[a].iter().any(|(key, _)| key.is_open() && mentions_atom(b, key.atom))
        };
        for k in (0..given.len()).filter(|&k| scheme.determined[k] && converted.contains(&arguments[k])) {
            let bare = (0..given.len())
                .find(|&j| given[j] == Value::Bare && together(self, scheme.units[j], scheme.units[k]))
                .map(|j| arguments[j]);
            let inside = scheme.pending.iter().find(|b| !b.is_exponent && b.unit == scheme.units[k]).map(|b| b.number);
            if let Some(number) = bare.or(inside) {
                self.undecided_number(number, self.span(arguments[k]), given[k]);
            }
        }
    }

    /// A unit without a named exponent that all of it has.
    fn plain(&mut self, unit: UnitId) -> UnitId {
        match self.pool[unit].stripped() {
            Some(stripped) => self.pool.id(stripped),
            None => unit,
        }
    }

    /// Unit of a scheme, with the arguments of a call in place of its variables.
    fn instance(&mut self, unit: UnitId, put: &[Substitution]) -> UnitId {
        let of = |v: u32| put.iter().find(|p| p.variable == v);
        let pool = &self.pool;
        if let Some(given) = unit.as_variable().and_then(of) {
            return given.unit;
        }
        let is_kept = |key: Key| !key.is_open() && key.exponent == 0;
        if pool[unit].iter().all(|(key, _)| is_kept(key)) {
            return unit;
        }
        let mut out = Vector::default();
        for (Key { atom, exponent }, r) in pool[unit].iter() {
            let base = match atom {
                Atom::Variable(v) => of(v).map_or_else(|| Vector::of(atom), |p| pool[p.unit].clone()),
                _ => Vector::of(atom),
            };
            if exponent == 0 {
                out = out.times(&base, r);
                continue;
            }
            let actual = match exponent.checked_sub(ARGUMENTS).and_then(of) {
                Some(Substitution { exponent: Some(actual), .. }) => actual.clone(),
                // the exponent varies: the base must be a pure number, or the unit is unknown
                Some(Substitution { exponent: None, .. }) => {
                    Exponent { number: Some(Rational::LOST), names: Vec::new() }
                }
                None => Exponent { number: None, names: vec![(exponent, Rational::ONE)] },
            };
            out = out.times(&base.raised(&actual), r);
        }
        self.pool.id(out)
    }
}

fn mentions_atom(unit: &Vector, atom: Atom) -> bool {
    unit.iter().any(|(key, _)| key.atom == atom)
}

/// A variable occurs in a unit.
fn mentions(unit: &Vector, variable: u32) -> bool {
    mentions_atom(unit, Atom::Variable(variable))
}
