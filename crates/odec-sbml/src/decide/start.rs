//! Known values of quantities at the start, and the quantities that a formula reads. This is needed for events whose
//! order, or whose state at the start, would differ between odec and SBML.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;

use crate::math::{Math, Op};
use crate::model::Function;
use crate::plan::{Quantity, Role};

/// Largest length of a chain of definitions, and depth of a formula.
pub const MAX_CHAIN: usize = 60;

/// An equation is satisfied at the start if its sides differ by at most this.
const CONSISTENT: f64 = 1e-12;

/// Largest size of a function body that is evaluated.
const MAX_BODY: usize = 1000;

/// Quantities by key.
pub struct Start<'q> {
    roles: BTreeMap<&'q str, &'q Role>,
    /// The keys in the equations of algebraic rules; every algebraic unknown may depend on them.
    tied: BTreeSet<&'q str>,
    functions: BTreeMap<&'q str, &'q Function>,
    /// True if algebraic unknowns have the value of their initial guess.
    guessed: bool,
}

/// An initial value, and whether it varies by itself.
type InitialValue = (f64, bool);

impl<'q> Start<'q> {
    /// From the quantities of a plan, its algebraic equations and its functions.
    pub fn of(quantities: &'q [Quantity], equations: &'q [(Math, Span)], functions: &'q [Function]) -> Start<'q> {
        let mut tied = BTreeSet::new();
        for (math, _) in equations {
            names(math, &mut |key| _ = tied.insert(key));
        }
        Start {
            roles: quantities.iter().map(|q| (q.key.as_str(), &q.role)).collect(),
            tied,
            functions: functions.iter().map(|f| (f.base.id.as_str(), f)).collect(),
            guessed: false,
        }
    }

    /// The value of a formula at time 0, if it is simple enough to compute. A condition is 1 or 0.
    pub fn value(&self, math: &Math, chain: usize) -> Option<InitialValue> {
        let chain = chain.checked_sub(1)?;
        match math {
            Math::Number(v) => Some((*v, false)),
            Math::Bool(b) => Some((f64::from(*b), false)),
            Math::Time(_) => Some((0.0, true)),
            Math::Name(key, _) => match self.roles.get(key.as_str())? {
                Role::Parameter(v) => Some((*v, false)),
                Role::Defined(math) => self.value(math, chain),
                Role::Discrete(start) => self.value(start, chain).map(|(v, _)| (v, false)),
                Role::State(start, _) => self.value(start, chain).map(|(v, _)| (v, true)),
                Role::Unknown(start) if self.guessed => self.value(start, chain),
                Role::Unknown(_) => None,
            },
            Math::Call(f, list, _) => {
                let function = self.functions.get(f.as_str())?;
                let body = function.body.clone().map(&mut |m| match m {
                    Math::Name(id, _) => {
                        function.arguments.iter().position(|a| a == id).and_then(|k| list.get(k)).cloned()
                    }
                    _ => None,
                });
                (body.size() <= MAX_BODY).then(|| self.value(&body, chain))?
            }
            Math::Piecewise(pieces, otherwise) => {
                let mut moves = false;
                for (value, condition) in pieces {
                    let (holds, changes) = self.value(condition, chain)?;
                    moves |= changes;
                    if holds != 0.0 {
                        return self.value(value, chain).map(|(v, m)| (v, m || moves));
                    }
                }
                self.value(otherwise.as_deref()?, chain).map(|(v, m)| (v, m || moves))
            }
            Math::Apply(op, list) => {
                let known: Option<Vec<InitialValue>> = list.iter().map(|m| self.value(m, chain)).collect();
                let known = known?;
                let values: Vec<f64> = known.iter().map(|k| k.0).collect();
                applied(*op, &values).map(|value| (value, known.iter().any(|k| k.1)))
            }
            Math::RateOf(..) | Math::Delay(..) => None,
        }
    }

    /// Keys of states and discrete quantities whose initial values depend on an algebraic unknown that the file does
    /// not determine consistently. odec would compute them from the initial guess.
    pub fn unsettled(mut self, equations: &[(Math, Span)]) -> Vec<&'q str> {
        self.guessed = true;
        let holds = |math: &Math| self.value(math, MAX_CHAIN).is_some_and(|(v, _)| v.abs() <= CONSISTENT);
        if equations.iter().all(|(math, _)| holds(math)) {
            return vec![];
        }
        let unknown = |key: &&str| matches!(self.roles[*key], Role::Unknown(_));
        let found = self.roles.iter().filter(|(_, role)| match role {
            Role::State(start, _) | Role::Discrete(start) => self.reads(start).iter().any(&unknown),
            _ => false,
        });
        found.map(|(key, _)| *key).collect()
    }

    /// True if nothing changes the value of a formula.
    pub fn is_fixed(&self, math: &Math) -> bool {
        let mut fixed = true;
        math.visit(&mut |m| fixed &= !matches!(m, Math::Time(_) | Math::RateOf(..) | Math::Call(..)));
        fixed && self.reads(math).iter().all(|key| matches!(self.roles[key], Role::Parameter(_) | Role::Defined(_)))
    }

    /// True for a condition that holds at the start, but perhaps only there: both sides of a comparison in it are
    /// equal at the start and may then diverge.
    pub fn holds_on_an_edge(&self, trigger: &Math) -> bool {
        let mut edge = false;
        trigger.visit(&mut |m| {
            let Math::Apply(Op::Compare(_), list) = m else { return };
            edge |= list.windows(2).any(|pair| {
                let sides = self.value(&pair[0], MAX_CHAIN).zip(self.value(&pair[1], MAX_CHAIN));
                sides.is_some_and(|(a, b)| a.0 == b.0 && (a.1 || b.1))
            });
        });
        edge && self.value(trigger, MAX_CHAIN).is_some_and(|(value, _)| value != 0.0)
    }

    /// The keys that a formula reads, through definitions. A formula that reads an algebraic unknown reads every key
    /// in the rules.
    pub fn reads(&self, math: &Math) -> BTreeSet<&'q str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = vec![];
        names(math, &mut |key| open.push(key));
        while let Some(key) = open.pop() {
            let Some((key, role)) = self.roles.get_key_value(key) else { continue };
            if found.insert(*key) {
                match role {
                    Role::Defined(math) => names(math, &mut |key| open.push(key)),
                    Role::Unknown(_) => open.extend(&self.tied),
                    _ => {}
                }
            }
        }
        found
    }
}

fn names<'m>(math: &'m Math, see: &mut impl FnMut(&'m str)) {
    math.visit(&mut |m| {
        if let Math::Name(key, _) = m {
            see(key);
        }
    });
}

/// The value of an operator, if it is simple enough to compute.
fn applied(op: Op, values: &[f64]) -> Option<f64> {
    let truth = |v: &f64| *v != 0.0;
    Some(match (op, values) {
        (Op::Plus, list) => list.iter().sum(),
        (Op::Times, list) => list.iter().product(),
        (Op::Minus, [a]) => -a,
        (Op::Minus, [a, b]) => a - b,
        (Op::Divide, [a, b]) => a / b,
        (Op::Power, [a, b]) => a.powf(*b),
        (Op::Root, [n, x]) => x.powf(1.0 / n),
        (Op::Log, [b, x]) => x.ln() / b.ln(),
        (Op::Extreme("max"), [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.max(*b)),
        (Op::Extreme("min"), [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.min(*b)),
        (Op::Quotient, [a, b]) => (a / b).trunc(),
        (Op::Rem, [a, b]) => a - b * (a / b).trunc(),
        (Op::Builtin(name), [x]) => builtin(name, *x)?,
        (Op::Reciprocal(name), [x]) => 1.0 / builtin(name, *x)?,
        (Op::OfReciprocal(name), [x]) => builtin(name, 1.0 / x)?,
        (Op::Compare(sign), [_, _, ..]) => f64::from(values.windows(2).all(|p| match sign {
            "<" => p[0] < p[1],
            "<=" => p[0] <= p[1],
            ">" => p[0] > p[1],
            ">=" => p[0] >= p[1],
            "==" => p[0] == p[1],
            _ => p[0] != p[1],
        })),
        (Op::And, list) => f64::from(list.iter().all(truth)),
        (Op::Or, list) => f64::from(list.iter().any(truth)),
        (Op::Xor, list) => f64::from(list.iter().filter(|v| truth(v)).count() % 2 == 1),
        (Op::Not, [a]) => f64::from(!truth(a)),
        (Op::Implies, [a, b]) => f64::from(!truth(a) || truth(b)),
        _ => return None,
    })
}

/// The value of a function of odec.
fn builtin(name: &str, x: f64) -> Option<f64> {
    Some(match name {
        "exp" => x.exp(),
        "ln" => x.ln(),
        "abs" => x.abs(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        _ => return None,
    })
}
