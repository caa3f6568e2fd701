//! Finds the formulas that only change by jumps. odec accepts `==` and `!=` with these, because their sides are equal
//! for a while or never.

use std::collections::BTreeSet;

use crate::limits::MAX_ROUNDS;
use crate::math::{Math, Op};
use crate::plan::{Plan, Role};

/// Quantities and functions whose values only change by jumps. What the search does not find in [`MAX_ROUNDS`] rounds
/// counts as continuous.
#[derive(Default)]
pub struct Steady<'p> {
    keys: BTreeSet<&'p str>,
    /// Functions that only change by jumps if their arguments do.
    given: BTreeSet<&'p str>,
    /// Functions that only change by jumps whatever their arguments are.
    always: BTreeSet<&'p str>,
}

/// The arguments of the function that contains a formula, and whether they only change by jumps.
type Arguments<'a> = (&'a [String], bool);

impl<'p> Steady<'p> {
    /// Finds them for a plan.
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

    /// True for a formula that only changes by jumps. Inside a function, this must hold for all arguments.
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
            // a piecewise formula jumps when its condition changes
            Math::Piecewise(pieces, otherwise) => {
                pieces.iter().all(|(value, _)| holds(value)) && otherwise.as_deref().is_none_or(holds)
            }
        }
    }
}
