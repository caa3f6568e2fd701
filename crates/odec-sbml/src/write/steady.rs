//! Which formulas change by jumps only: odec accepts `==` and `!=` of these, because they are equal for a while or never.

use std::collections::BTreeSet;

use crate::limits::MAX_ROUNDS;
use crate::math::{Math, Op};
use crate::plan::{Plan, Role};

/// Quantities and functions whose values change by jumps only. What is not found in [`MAX_ROUNDS`] rounds counts as continuous.
#[derive(Default)]
pub struct Steady<'p> {
    keys: BTreeSet<&'p str>,
    /// Functions that do so if their arguments do.
    given: BTreeSet<&'p str>,
    /// Functions that do so whatever their arguments are.
    always: BTreeSet<&'p str>,
}

/// The arguments of the function that a formula stands in, and whether they change by jumps only.
type Arguments<'a> = (&'a [String], bool);

impl<'p> Steady<'p> {
    /// Of a plan.
    pub fn of(plan: &'p Plan) -> Steady<'p> {
        let mut steady = Steady::default();
        for _ in 0..MAX_ROUNDS {
            let known = steady.known();
            for function in &plan.functions {
                if steady.check(&function.body, (&function.arguments, true)) {
                    steady.given.insert(&function.base.id);
                }
                if steady.check(&function.body, (&function.arguments, false)) {
                    steady.always.insert(&function.base.id);
                }
            }
            for quantity in &plan.quantities {
                let holds = match &quantity.role {
                    Role::Parameter(_) | Role::Discrete(_) => true,
                    Role::Defined(math) => steady.holds(math, &[]),
                    Role::State(..) | Role::Unknown(_) => false,
                };
                if holds {
                    steady.keys.insert(&quantity.key);
                }
            }
            if steady.known() == known {
                break;
            }
        }
        steady
    }

    fn known(&self) -> usize {
        self.keys.len() + self.given.len() + self.always.len()
    }

    /// True for a formula that changes by jumps only; inside of a function, whatever its arguments are.
    pub fn holds(&self, math: &Math, arguments: &[String]) -> bool {
        self.check(math, (arguments, false))
    }

    fn check(&self, math: &Math, arguments: Arguments<'_>) -> bool {
        let holds = |m: &Math| self.check(m, arguments);
        match math {
            Math::Number(_) | Math::Bool(_) => true,
            Math::Name(id, _) if arguments.0.contains(id) => arguments.1,
            Math::Name(key, _) => self.keys.contains(key.as_str()),
            Math::Time(_) | Math::RateOf(..) | Math::Delay(..) => false,
            Math::Call(f, list, _) => {
                let f = f.as_str();
                self.always.contains(f) || self.given.contains(f) && list.iter().all(holds)
            }
            Math::Apply(Op::Builtin("floor" | "ceil") | Op::Quotient, _) => true,
            Math::Apply(op, list) => op.is_logical() || list.iter().all(holds),
            // a choice jumps where its condition turns
            Math::Piecewise(pieces, otherwise) => {
                pieces.iter().all(|(value, _)| holds(value)) && otherwise.as_deref().is_none_or(holds)
            }
        }
    }
}
