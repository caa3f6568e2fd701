//! The unit of each expression of the tree, operands before their users.

use super::{Checker, Kind, PendingNumber, Quantity, Site, Value};
use crate::model::Symbol;
use crate::syntax::tree::{Binary, ExprId, ExprKind, Ident, Reference};
use crate::units::pool::UnitId;
use crate::units::rational::Rational;
use crate::units::table;
use crate::units::vector::Exponent;
use crate::words::MATHEMATICAL;

/// Functions whose arguments and value have one unit.
const ALIKE: &[&str] = &["min", "max", "mod", "hypot"];
/// Functions whose value has the unit of their first argument.
const KEEPING: &[&str] = &["abs", "norm", "smooth"];
/// Functions that only use the sign of their argument.
const SIGN: &[&str] = &["sign"];
/// Largest number of constants through which an exponent is followed.
const MAX_CONSTANTS: usize = 16;

impl<'a> Checker<'a> {
    /// The unit of an expression.
    pub(super) fn value(&mut self, expr: ExprId) -> Value {
        match self.tree_nodes.first(expr) {
            Some(first) => (first..=expr.0).for_each(|id| self.visit(ExprId(id))),
            None => self.input.nodes_of(expr).into_iter().for_each(|id| self.visit(id)),
        }
        self.value_of(expr)
    }

    /// Determines the unit of one expression, whose operands were visited.
    fn visit(&mut self, id: ExprId) {
        let value = self.node(id);
        self.values[id.0 as usize] = Some(value);
    }

    /// The unit of a visited expression.
    pub(super) fn value_of(&self, expr: ExprId) -> Value {
        self.values[expr.0 as usize].unwrap_or(Value::Any)
    }

    pub(super) fn site(&self, kind: Kind<'a>, left: ExprId, right: ExprId) -> Site<'a> {
        let (a, b) = (self.span(left), self.span(right));
        Site { kind, left: a, right: b, left_expr: Some(left), right_expr: Some(right), context: None }
    }

    fn node(&mut self, id: ExprId) -> Value {
        let tree = self.input.tree;
        match &tree.exprs[id.0 as usize].kind {
            ExprKind::Number(x) if *x == 0.0 || x.is_infinite() => Value::Any,
            ExprKind::Number(_) => Value::Bare,
            ExprKind::Quantity(inner, unit) => {
                let unit_read = self.read(unit);
                if let value @ Value::Unit(_) = self.value_of(*inner) {
                    let site = Site { left: unit.span, left_expr: None, ..self.site(Kind::Bracket, id, *inner) };
                    self.equate(unit_read, value, site);
                }
                Value::Unit(unit_read)
            }
            ExprKind::Name(reference) => self.name(id, reference),
            ExprKind::Neg(a) => self.value_of(*a),
            ExprKind::Not(_) | ExprKind::Text(_) => Value::Bare,
            ExprKind::Binary(op, _, a, b) => self.binary(*op, *a, *b),
            ExprKind::Comparison(list, _) => {
                self.alike(Kind::Comparison, list);
                Value::Bare
            }
            ExprKind::If(_, a, b) => self.alike(Kind::Branches, &[*a, *b]),
            ExprKind::Call(name, arguments) => self.call(name, arguments),
            ExprKind::Reduce(word, _, _, body) if word.name == "prod" => {
                self.pure(Kind::Pure("prod"), *body);
                self.value_of(*body)
            }
            ExprKind::Reduce(_, _, _, body) => self.value_of(*body),
            ExprKind::Tuple(list) => self.alike(Kind::Alike("the components of a vector"), list),
            ExprKind::Table(list) => self.alike(Kind::Alike("the entries of a table"), list),
        }
    }

    fn name(&mut self, id: ExprId, reference: &'a Reference) -> Value {
        let name = reference.name.name.as_str();
        if let Some(&(_, v)) = self.arguments.iter().find(|a| a.0 == name) {
            return Value::Unit(self.variable(v));
        }
        if let Some(at) = self.named[id.0 as usize] {
            if self.counts.get(at as usize) == Some(&true) {
                return Value::Bare;
            }
            let unit = self.unit_in_use(at as usize);
            return Value::Unit(self.derivative(unit, reference.primes));
        }
        if let Some((_, x)) = MATHEMATICAL.iter().find(|m| m.0 == name) {
            return if x.is_infinite() { Value::Any } else { Value::Bare };
        }
        match self.names.symbols.get(name) {
            None | Some(Symbol::Index(_)) => Value::Bare,
            Some(_) => Value::Unit(self.fresh()),
        }
    }

    /// The unit of a quantity as its uses take it.
    fn unit_in_use(&mut self, at: usize) -> UnitId {
        let Quantity { unit, known, .. } = self.quantities[at];
        if self.traced {
            return unit;
        }
        let known = self.reduced(known);
        self.quantities[at].known = known;
        known
    }

    /// The unit of the derivative of this order.
    pub(super) fn derivative(&mut self, unit: UnitId, primes: u8) -> UnitId {
        (0..primes).fold(unit, |unit, _| self.pool.quotient(unit, self.time))
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> Value {
        let (left, right) = (self.value_of(a), self.value_of(b));
        match op {
            Binary::Add | Binary::Sub => self.alike(Kind::Sum, &[a, b]),
            // 0 times any value is 0
            Binary::Mul if left == Value::Any || right == Value::Any => Value::Any,
            Binary::Div if left == Value::Any => Value::Any,
            Binary::Mul => self.product(left, right),
            Binary::Div => self.quotient(left, right),
            Binary::Pow => self.power(a, b),
            Binary::And | Binary::Or => Value::Bare,
        }
    }

    /// Unit of values that must agree: the unit of the first one that has a unit; the others are converted to it.
    pub(super) fn alike(&mut self, kind: Kind<'a>, list: &[ExprId]) -> Value {
        let has_unit = |id: &&ExprId| matches!(self.values[id.0 as usize], Some(Value::Unit(_)));
        let Some(&first) = list.iter().find(has_unit) else {
            let all_any = list.iter().all(|id| self.values[id.0 as usize] == Some(Value::Any));
            return if all_any { Value::Any } else { Value::Bare };
        };
        let Value::Unit(unit) = self.value_of(first) else { return Value::Any };
        let bare = list.iter().copied().find(|id| self.values[id.0 as usize] == Some(Value::Bare));
        if let Some(bare) = bare {
            self.beside_rescaled(bare, list);
        }
        if let Some(bare) = bare.filter(|_| self.is_scale(unit)) {
            return self.next_to_number(kind, bare, list);
        }
        for &other in list.iter().filter(|&&id| id != first) {
            let value = self.value_of(other);
            let site = self.site(kind, first, other);
            self.equate(unit, value, site);
            self.large_value(first, other);
        }
        Value::Unit(unit)
    }

    /// A number next to a definition that an `output` line converts: it may be meant in the unit of the formula.
    fn beside_rescaled(&mut self, number: ExprId, list: &[ExprId]) {
        let rescaled = |id: &ExprId| self.named[id.0 as usize].is_some_and(|at| self.quantities[at as usize].rescaled);
        let Some(other) = list.iter().copied().find(rescaled) else { return };
        if self.units.mode != crate::units::Mode::Strict && !self.ignores_units {
            let of = self.value_of(other);
            self.undecided_number(number, self.span(other), of);
        }
    }

    /// Dimensionless quantities next to a number, as in `1 + s/K`: the number is a pure number, so all values are.
    fn next_to_number(&mut self, kind: Kind<'a>, bare: ExprId, list: &[ExprId]) -> Value {
        self.is_beside(bare, UnitId::ONE);
        for &other in list.iter().filter(|&&id| id != bare) {
            let value = self.value_of(other);
            let site = self.site(kind, bare, other);
            self.large_number(bare, other);
            self.equate(UnitId::ONE, value, site);
        }
        Value::Unit(UnitId::ONE)
    }

    /// A value that must be a pure number.
    fn pure(&mut self, kind: Kind<'a>, expr: ExprId) {
        let value = self.value_of(expr);
        let site = Site { left_expr: None, ..self.site(kind, expr, expr) };
        self.equate(UnitId::ONE, value, site);
    }

    fn power(&mut self, base: ExprId, by_expr: ExprId) -> Value {
        let (of, by) = (self.value_of(base), self.value_of(by_expr));
        self.pure(Kind::Exponent, by_expr);
        let Value::Unit(unit) = of else {
            return if matches!(by, Value::Unit(_)) { Value::Unit(UnitId::ONE) } else { of };
        };
        let scaled = matches!(by, Value::Unit(unit) if self.is_scale(unit));
        // the factor of a power with a named exponent would depend on the exponent, so dimensionless values are
        // converted first
        let exponent = self.exponent(by_expr, MAX_CONSTANTS).filter(|_| !scaled);
        let known = self.reduced(unit);
        let named = exponent.as_ref().is_some_and(|e| !e.names.is_empty());
        if named && self.pool[known].is_open() {
            let other = self.span(base);
            self.undecided.note(PendingNumber { unit: known, number: by_expr, is_exponent: true, other });
        }
        if let Some(exponent) = exponent.filter(|_| !(named && self.pool[known].is_scale())) {
            let raised = self.pool[unit].raised(&exponent);
            return Value::Unit(self.pool.id(raised));
        }
        self.pure(Kind::Base, base);
        Value::Unit(UnitId::ONE)
    }

    /// Exponent as a number plus multiples of parameters; `None` if it varies during a run.
    pub(super) fn exponent(&self, expr: ExprId, depth: usize) -> Option<Exponent> {
        let depth = depth.checked_sub(1)?;
        let number = |r: Rational| Exponent { number: Some(r), names: Vec::new() };
        match &self.input.tree.exprs[expr.0 as usize].kind {
            ExprKind::Number(x) => Rational::of_number(*x).map(number),
            ExprKind::Neg(a) => Some(scaled(&self.exponent(*a, depth)?, Rational::whole(-1))),
            ExprKind::Name(r) if r.indices.is_empty() && r.primes == 0 => {
                let name = r.name.name.as_str();
                if let Some((_, v)) = self.arguments.iter().find(|a| a.0 == name) {
                    return Some(Exponent {
                        number: None,
                        names: vec![(super::functions::named_argument(*v), Rational::ONE)],
                    });
                }
                let at = *self.by_name.get(name)?;
                // 50 [%] is 0.5
                if self.pool[self.quantities[at].unit].is_scale() {
                    return None;
                }
                match self.quantities[at].symbol {
                    Symbol::Constant(i) => {
                        let value = self.names.found.constants.get(i)?.value?;
                        self.exponent(value, depth)
                    }
                    Symbol::Parameter(_) => {
                        Some(Exponent { number: None, names: vec![(at as u32 + 1, Rational::ONE)] })
                    }
                    _ => None,
                }
            }
            ExprKind::Binary(op, _, a, b) => {
                let (a, b) = (self.exponent(*a, depth)?, self.exponent(*b, depth)?);
                match op {
                    Binary::Add => Some(sum(a, &b)),
                    Binary::Sub => Some(sum(a, &scaled(&b, Rational::whole(-1)))),
                    Binary::Mul if b.names.is_empty() => Some(scaled(&a, b.number?)),
                    Binary::Mul if a.names.is_empty() => Some(scaled(&b, a.number?)),
                    Binary::Div if b.names.is_empty() => Some(scaled(&a, Rational::ONE / b.number?)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn product(&mut self, left: Value, right: Value) -> Value {
        match (left, right) {
            (Value::Unit(a), Value::Unit(b)) => Value::Unit(self.pool.product(a, b)),
            (Value::Unit(unit), _) | (_, Value::Unit(unit)) => Value::Unit(unit),
            (Value::Any, Value::Any | Value::Bare) => Value::Any,
            _ => Value::Bare,
        }
    }

    fn quotient(&mut self, left: Value, right: Value) -> Value {
        match right {
            Value::Unit(b) => {
                let a = if let Value::Unit(a) = left { a } else { UnitId::ONE };
                Value::Unit(self.pool.quotient(a, b))
            }
            Value::Any | Value::Bare => self.product(left, right),
        }
    }

    fn root(&mut self, value: Value, degree: i64) -> Value {
        match value {
            Value::Unit(unit) => Value::Unit(self.pool.power(unit, Rational::new(1, degree))),
            other => other,
        }
    }

    fn call(&mut self, name: &'a Ident, arguments: &'a [ExprId]) -> Value {
        let word = name.name.as_str();
        if let Some(&index) = self.names.inputs.get(word) {
            let names = self.names;
            self.arguments_of(&names.found.inputs[index], arguments);
            return self.quantity(word).map_or(Value::Any, |input| Value::Unit(input.unit));
        }
        if let Some(&index) = self.names.functions.get(word) {
            return self.called(index, arguments);
        }
        let first = arguments.first().map_or(Value::Any, |&a| self.value_of(a));
        match word {
            _ if ALIKE.contains(&word) => self.alike(Kind::Alike(word), arguments),
            _ if KEEPING.contains(&word) => first,
            _ if SIGN.contains(&word) => Value::Bare,
            "sqrt" => self.root(first, 2),
            "cbrt" => self.root(first, 3),
            "dot" | "cross" => {
                let second = arguments.get(1).map_or(Value::Any, |&a| self.value_of(a));
                self.product(first, second)
            }
            "celsius" => {
                for &argument in arguments {
                    self.pure(Kind::Pure("celsius"), argument);
                }
                match table::find("K").filter(|_| !self.ignores_units) {
                    Some(kelvin) => Value::Unit(self.pool.id(kelvin)),
                    None => Value::Unit(self.fresh()),
                }
            }
            "atan2" => {
                self.alike(Kind::Alike("atan2"), arguments);
                Value::Unit(UnitId::ONE)
            }
            "csv" | "table" => Value::Any,
            // a function that does not exist
            _ if crate::words::builtin(word).is_none() => Value::Unit(self.fresh()),
            _ => {
                for &argument in arguments {
                    self.pure(Kind::Pure(word), argument);
                }
                let bare = arguments.iter().all(|&a| !matches!(self.value_of(a), Value::Unit(_)));
                if bare { Value::Bare } else { Value::Unit(UnitId::ONE) }
            }
        }
    }
}

fn scaled(exponent: &Exponent, by: Rational) -> Exponent {
    let names = exponent.names.iter().map(|&(name, r)| (name, r * by)).collect();
    Exponent { number: exponent.number.map(|n| n * by), names }
}

fn sum(mut a: Exponent, b: &Exponent) -> Exponent {
    a.number = match (a.number, b.number) {
        (Some(x), Some(y)) => Some(x + y),
        (x, y) => x.or(y),
    };
    a.names.extend(&b.names);
    a
}
