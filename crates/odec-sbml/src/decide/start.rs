//! What is known of quantities at the start, and which quantities a formula reads: for events that odec would order or begin in
//! another way than SBML does.

use std::collections::{BTreeMap, BTreeSet};

use crate::math::{Math, Op};
use crate::model::Event;
use crate::plan::{Happening, Quantity, Role};

/// Longest chain of definitions that is followed.
const MAX_CHAIN: usize = 30;

/// Quantities by key.
pub struct Start<'q> {
    roles: BTreeMap<&'q str, &'q Role>,
}

/// A value at the start, and whether it changes by itself.
type Known = (f64, bool);

impl<'q> Start<'q> {
    /// Of the quantities of a plan.
    pub fn of(quantities: &'q [Quantity]) -> Start<'q> {
        Start { roles: quantities.iter().map(|q| (q.key.as_str(), &q.role)).collect() }
    }

    /// The value of a formula at the time 0, where it is simple enough to say.
    fn value(&self, math: &Math, chain: usize) -> Option<Known> {
        if chain == 0 {
            return None;
        }
        match math {
            Math::Number(v) => Some((*v, false)),
            Math::Time(_) => Some((0.0, true)),
            Math::Name(key, _) => match self.roles.get(key.as_str())? {
                Role::Parameter(v) => Some((*v, false)),
                Role::Defined(math) => self.value(math, chain - 1),
                Role::Discrete(start) => self.value(start, chain - 1).map(|(v, _)| (v, false)),
                Role::State(start, _) => self.value(start, chain - 1).map(|(v, _)| (v, true)),
                Role::Unknown(_) => None,
            },
            Math::Apply(op, list) => {
                let known: Option<Vec<Known>> = list.iter().map(|m| self.value(m, chain - 1)).collect();
                let known = known?;
                let moves = known.iter().any(|k| k.1);
                let values: Vec<f64> = known.iter().map(|k| k.0).collect();
                let value = match (op, values.as_slice()) {
                    (Op::Plus, list) => list.iter().sum(),
                    (Op::Times, list) => list.iter().product(),
                    (Op::Minus, [a]) => -a,
                    (Op::Minus, [a, b]) => a - b,
                    (Op::Divide, [a, b]) => a / b,
                    _ => return None,
                };
                Some((value, moves))
            }
            _ => None,
        }
    }

    /// True for a condition that holds at the start by equality, of quantities that move apart.
    pub fn on_an_edge(&self, trigger: &Math) -> bool {
        let mut negated = false;
        trigger.visit(&mut |m| negated |= matches!(m, Math::Apply(Op::Not | Op::Xor | Op::Implies, _)));
        let mut found = false;
        trigger.visit(&mut |m| {
            let Math::Apply(Op::Compare(sign), list) = m else { return };
            if matches!(*sign, "<=" | ">=" | "==" | "!=") || negated {
                found |= list.windows(2).any(|pair| {
                    let sides = self.value(&pair[0], MAX_CHAIN).zip(self.value(&pair[1], MAX_CHAIN));
                    sides.is_some_and(|(a, b)| a.0 == b.0 && (a.1 || b.1))
                });
            }
        });
        found
    }

    /// Keys that a formula reads, through definitions.
    fn reads(&self, math: &Math) -> BTreeSet<&'q str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = vec![];
        names(math, &mut |key| open.push(key));
        while let Some(key) = open.pop() {
            let Some((key, role)) = self.roles.get_key_value(key) else { continue };
            if found.insert(*key)
                && let Role::Defined(math) = role
            {
                names(math, &mut |key| open.push(key));
            }
        }
        found
    }

    /// Events without persistence that can cancel each other in a circle. odec executes events of one priority together; SBML
    /// executes one of them, and its choice cancels the others.
    pub fn competing<'e>(&self, events: &[(&'e Event, Happening)]) -> Vec<&'e Event> {
        let open: Vec<usize> = (0..events.len()).filter(|k| events[*k].1.cancel).collect();
        let mut readers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &k in &open {
            for key in self.reads(&events[k].1.trigger) {
                readers.entry(key).or_default().push(k);
            }
        }
        let rank = |k: usize| events[k].1.priority.as_ref().map(|p| self.value(p, MAX_CHAIN).filter(|known| !known.1));
        let may_tie = |a: usize, b: usize| match (rank(a), rank(b)) {
            (Some(Some(a)), Some(Some(b))) => a.0 == b.0,
            _ => true,
        };
        let mut cancels: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &a in &open {
            for (key, _) in &events[a].1.actions {
                for &b in readers.get(key.as_str()).into_iter().flatten() {
                    if a != b && may_tie(a, b) {
                        cancels.entry(a).or_default().insert(b);
                    }
                }
            }
        }
        // an event that cancels none of those that are left is in no circle
        loop {
            let free: Vec<usize> = cancels.iter().filter(|(_, list)| list.is_empty()).map(|(k, _)| *k).collect();
            let known: BTreeSet<usize> = cancels.keys().copied().collect();
            let mut changed = !free.is_empty();
            for k in free {
                cancels.remove(&k);
            }
            for list in cancels.values_mut() {
                let before = list.len();
                list.retain(|k| known.contains(k));
                changed |= list.len() != before;
            }
            if !changed {
                return cancels.keys().map(|k| events[*k].0).collect();
            }
        }
    }
}

fn names<'m>(math: &'m Math, see: &mut impl FnMut(&'m str)) {
    math.visit(&mut |m| {
        if let Math::Name(key, _) = m {
            see(key);
        }
    });
}
