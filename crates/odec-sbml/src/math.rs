//! Formulas, from MathML or from the text of Level 1 formulas.

use odec_ir::Span;

/// An operator of MathML. Most of them take any number of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sum; 0 without operands.
    Plus,
    /// Difference, or negation of one operand.
    Minus,
    /// Product; 1 without operands.
    Times,
    /// Quotient.
    Divide,
    /// Power.
    Power,
    /// The root of the second operand; the first one is the degree.
    Root,
    /// The logarithm of the second operand; the first one is the base.
    Log,
    /// The quotient, truncated to an integer.
    Quotient,
    /// The remainder of the truncated quotient; it has the sign of the first operand.
    Rem,
    /// n!
    Factorial,
    /// A function that has this name in odec.
    Builtin(&'static str),
    /// The reciprocal of a function of odec: the secant is that of `cos`.
    Reciprocal(&'static str),
    /// A function of odec, applied to the reciprocal of the operand: the arcsecant is that of `acos`.
    OfReciprocal(&'static str),
    /// The smallest or largest of several operands.
    Extreme(&'static str),
    /// A comparison, in the notation of odec.
    Compare(&'static str),
    /// Logical and.
    And,
    /// Logical or.
    Or,
    /// True if an odd number of operands is true.
    Xor,
    /// Logical not.
    Not,
    /// Implication: false only if the first operand is true and the second is false.
    Implies,
}

impl Op {
    /// True for an operator whose value is a truth value.
    pub fn is_logical(self) -> bool {
        matches!(self, Op::Compare(_) | Op::And | Op::Or | Op::Xor | Op::Not | Op::Implies)
    }
}

/// A formula. Names are ids of the file, or keys of the plan after `decide`.
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
    /// The time derivative of a quantity.
    RateOf(String, Span),
    /// The delayed value of a formula; the second formula is the delay.
    Delay(Box<[Math; 2]>, Span),
    /// A call of a function that the file defines.
    Call(String, Vec<Math>, Span),
    /// An operator with its operands.
    Apply(Op, Vec<Math>),
    /// Values with their conditions, and the value if no condition holds.
    Piecewise(Vec<(Math, Math)>, Option<Box<Math>>),
}

impl Math {
    /// A name without a location in the file.
    pub fn name(key: impl Into<String>) -> Math {
        Math::Name(key.into(), Span::default())
    }

    /// The product; factors of 1 are left out.
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

    /// Calls `see` for this formula and all of its nodes.
    pub fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Math)) {
        see(self);
        for part in self.parts() {
            part.visit(see);
        }
    }

    /// Number of its nodes, including itself.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }

    /// Applies `change` to each name, rate, time and call; `None` keeps it. Operands of a call are changed before the
    /// call.
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

    /// True if the value is a truth value.
    pub fn is_logical(&self) -> bool {
        match self {
            Math::Bool(_) => true,
            Math::Apply(op, _) => op.is_logical(),
            _ => false,
        }
    }
}

/// The formula without the branches of conditions whose value is known.
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
