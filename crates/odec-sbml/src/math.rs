//! Formulas, from MathML or from the text formulas of Level 1.

use odec_ir::Span;

/// What an operator of MathML does. Most take any number of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sum; of nothing it is 0.
    Plus,
    /// Difference, or the negative of one operand.
    Minus,
    /// Product; of nothing it is 1.
    Times,
    /// Quotient.
    Divide,
    /// Power.
    Power,
    /// The root of the second operand, whose degree is the first.
    Root,
    /// The logarithm of the second operand, whose base is the first.
    Log,
    /// The quotient without its fraction.
    Quotient,
    /// What remains of the quotient without its fraction; it has the sign of the first operand.
    Rem,
    /// n!
    Factorial,
    /// A function that odec has under this name.
    Builtin(&'static str),
    /// 1 over a function of odec: the secant is that of `cos`.
    Reciprocal(&'static str),
    /// A function of odec at 1 over the operand: the arc secant is that of `acos`.
    OfReciprocal(&'static str),
    /// The smallest or largest of several.
    Extreme(&'static str),
    /// A comparison, as odec writes it.
    Compare(&'static str),
    /// Logical and.
    And,
    /// Logical or.
    Or,
    /// True if an odd number of operands is.
    Xor,
    /// Logical not.
    Not,
    /// False only if the first is true and the second is false.
    Implies,
}

impl Op {
    /// True where the result is true or false.
    pub fn is_logical(self) -> bool {
        matches!(self, Op::Compare(_) | Op::And | Op::Or | Op::Xor | Op::Not | Op::Implies)
    }
}

/// A formula. Names stand for ids of the file; after `decide` for keys of the plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Math {
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A quantity.
    Name(String, Span),
    /// The time.
    Time(Span),
    /// The derivative of a quantity by time.
    RateOf(String, Span),
    /// The value of a formula some time ago; the second formula says how long.
    Delay(Box<[Math; 2]>, Span),
    /// A function that the file defines.
    Call(String, Vec<Math>, Span),
    /// An operator with its operands.
    Apply(Op, Vec<Math>),
    /// Values with their conditions, and the value otherwise.
    Piecewise(Vec<(Math, Math)>, Option<Box<Math>>),
}

impl Math {
    /// A name without a place in the file.
    pub fn name(key: impl Into<String>) -> Math {
        Math::Name(key.into(), Span::default())
    }

    /// The product, without factors of 1.
    pub fn times(self, other: Math) -> Math {
        match (self, other) {
            (Math::Number(1.0), b) => b,
            (a, Math::Number(1.0)) => a,
            (a, b) => Math::Apply(Op::Times, vec![a, b]),
        }
    }

    /// The quotient.
    pub fn over(self, other: Math) -> Math {
        if other == Math::Number(1.0) { self } else { Math::Apply(Op::Divide, vec![self, other]) }
    }

    /// The difference.
    pub fn minus(self, other: Math) -> Math {
        if other == Math::Number(0.0) { self } else { Math::Apply(Op::Minus, vec![self, other]) }
    }

    /// The operands.
    pub fn parts(&self) -> Vec<&Math> {
        match self {
            Math::Call(_, list, _) | Math::Apply(_, list) => list.iter().collect(),
            Math::Delay(both, _) => both.iter().collect(),
            Math::Piecewise(pieces, otherwise) => {
                pieces.iter().flat_map(|(a, b)| [a, b]).chain(otherwise.as_deref()).collect()
            }
            _ => vec![],
        }
    }

    /// Calls `see` with this and all parts of it.
    pub fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Math)) {
        see(self);
        for part in self.parts() {
            part.visit(see);
        }
    }

    /// Number of its parts, itself counted.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }

    /// The same with each name, rate, time and call put through `change`, which returns `None` to keep it. Operands of calls are
    /// changed first.
    pub fn map(self, change: &mut impl FnMut(&Math) -> Option<Math>) -> Math {
        let all = |list: Vec<Math>, change: &mut _| list.into_iter().map(|m| m.map(change)).collect();
        let changed = match self {
            Math::Call(f, list, span) => Math::Call(f, all(list, change), span),
            Math::Apply(op, list) => Math::Apply(op, all(list, change)),
            Math::Delay(both, span) => Math::Delay(Box::new(both.map(|m| m.map(change))), span),
            Math::Piecewise(pieces, otherwise) => {
                let pieces = pieces.into_iter().map(|(a, b)| (a.map(change), b.map(change))).collect();
                Math::Piecewise(pieces, otherwise.map(|m| Box::new(m.map(change))))
            }
            leaf => leaf,
        };
        change(&changed).unwrap_or(changed)
    }

    /// True if the value is true or false.
    pub fn is_logical(&self) -> bool {
        match self {
            Math::Bool(_) => true,
            Math::Apply(op, _) => op.is_logical(),
            _ => false,
        }
    }
}

/// The formula with conditions that are known left out.
pub fn simplified(math: Math) -> Math {
    math.map(&mut |m| match m {
        Math::Apply(Op::Not, list) => match list.as_slice() {
            [Math::Bool(b)] => Some(Math::Bool(!b)),
            _ => None,
        },
        Math::Apply(op @ (Op::And | Op::Or), list) => {
            let neutral = *op == Op::And;
            if list.contains(&Math::Bool(!neutral)) {
                return Some(Math::Bool(!neutral));
            }
            let mut rest: Vec<Math> = list.iter().filter(|m| **m != Math::Bool(neutral)).cloned().collect();
            match rest.len() {
                0 => Some(Math::Bool(neutral)),
                1 if rest[0].is_logical() => rest.pop(),
                _ => Some(Math::Apply(*op, rest)),
            }
        }
        Math::Apply(Op::Xor, list) if list.iter().all(|m| matches!(m, Math::Bool(_))) => {
            Some(Math::Bool(list.iter().filter(|m| **m == Math::Bool(true)).count() % 2 == 1))
        }
        Math::Apply(Op::Implies, list) => match list.as_slice() {
            [Math::Bool(false), _] | [_, Math::Bool(true)] => Some(Math::Bool(true)),
            [Math::Bool(true), b] if b.is_logical() => Some(b.clone()),
            [a, Math::Bool(false)] => Some(Math::Apply(Op::Not, vec![a.clone()])),
            _ => None,
        },
        Math::Piecewise(pieces, otherwise) => {
            let mut kept = vec![];
            for (value, condition) in pieces {
                match condition {
                    Math::Bool(false) => {}
                    Math::Bool(true) if kept.is_empty() => return Some(value.clone()),
                    Math::Bool(true) => return Some(Math::Piecewise(kept, Some(Box::new(value.clone())))),
                    _ => kept.push((value.clone(), condition.clone())),
                }
            }
            match (kept.is_empty(), otherwise) {
                (true, Some(value)) => Some((**value).clone()),
                (true, None) => Some(Math::Number(f64::NAN)),
                _ => Some(Math::Piecewise(kept, otherwise.clone())),
            }
        }
        _ => None,
    })
}
