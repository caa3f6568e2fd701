//! Puts roots and quotients that do not wait for each other side by side, so that one instruction on two lanes does both: the divider takes
//! as long for two numbers as for one, and code full of distances or of rate laws waits for nothing else.

use std::collections::HashMap;

use odec_ir::schedule::{Schedule, Step, Value};
use odec_ir::{Lowering, Primitive};

/// Most steps between two operations that are put side by side: what the second one needs is computed earlier by so many, and waits in registers.
const REACH: usize = 64;
/// Most cycles between the moments at which their operands are there, if nothing but latencies counts.
const WAIT: u32 = 8;

/// Whether an operation is one that is done in pairs.
fn pairs(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::Div | Primitive::Sqrt | Primitive::Hypot)
}

/// The operation of two successive steps that one instruction can do.
pub(crate) fn twins(schedule: &Schedule, steps: [Step; 2]) -> Option<(Primitive, [u32; 2])> {
    let [Step::Compute(first), Step::Compute(second)] = steps else { return None };
    let (one, other) = (primitive_of(schedule, first)?, primitive_of(schedule, second)?);
    let waits = operands(schedule, second).contains(&first);
    (one == other && pairs(one) && !waits).then_some((one, [first, second]))
}

fn primitive_of(schedule: &Schedule, value: u32) -> Option<Primitive> {
    let Value::Call(op, _) = schedule.values[value as usize] else { return None };
    if let Lowering::Primitive(primitive) = op.0.lowering { Some(primitive) } else { None }
}

fn operands(schedule: &Schedule, value: u32) -> &[u32] {
    match &schedule.values[value as usize] {
        Value::Call(op, args) => &args[..usize::from(op.0.arity)],
        _ => &[],
    }
}

/// Cycles from operands to result, as on a processor of these years.
fn latency(schedule: &Schedule, value: u32) -> u32 {
    match primitive_of(schedule, value) {
        Some(Primitive::Div) => 13,
        Some(Primitive::Sqrt) => 20,
        Some(Primitive::Hypot) => 30,
        Some(_) => 4,
        // a function
        None => 60,
    }
}

/// Reorders the steps of a schedule. Each operation is still behind its operands, and results are the same.
pub(crate) fn beside(schedule: &mut Schedule) {
    let partners = partners(schedule);
    if partners.is_empty() {
        return;
    }
    let mut order = Order { schedule, partners, written: vec![false; schedule.values.len()], steps: Vec::new() };
    for step in &schedule.steps {
        match *step {
            Step::Compute(value) => order.compute(value),
            Step::Store { .. } => order.steps.push(*step),
        }
    }
    schedule.steps = order.steps;
}

/// Who is done with whom. The two of a pair have equally many operations of this kind before them on the longest way from the inputs: so neither is needed for
/// the other, nor for anything that a pair with fewer needs.
fn partners(schedule: &Schedule) -> HashMap<u32, u32> {
    let count = schedule.values.len();
    let (mut depth, mut ready) = (vec![0u32; count], vec![0u32; count]);
    // the last one without a partner, of each kind and depth: its value, its step, the moment at which it may begin
    let mut alone: HashMap<(u8, u32), (u32, usize, u32)> = HashMap::new();
    let mut partners = HashMap::new();
    for (k, step) in schedule.steps.iter().enumerate() {
        let &Step::Compute(value) = step else { continue };
        let (mut before, mut begin) = (0, 0);
        for &operand in operands(schedule, value) {
            before = before.max(depth[operand as usize]);
            begin = begin.max(ready[operand as usize]);
        }
        ready[value as usize] = begin + latency(schedule, value);
        depth[value as usize] = before;
        let Some(primitive) = primitive_of(schedule, value).filter(|&primitive| pairs(primitive)) else { continue };
        depth[value as usize] += 1;
        let key = (primitive as u8, before);
        match alone.get(&key) {
            Some(&(other, at, moment)) if k - at <= REACH && begin.abs_diff(moment) <= WAIT => {
                alone.remove(&key);
                partners.insert(other, value);
                partners.insert(value, other);
            }
            _ => drop(alone.insert(key, (value, k, begin))),
        }
    }
    partners
}

/// Steps in their new order.
struct Order<'a> {
    schedule: &'a Schedule,
    partners: HashMap<u32, u32>,
    /// By value.
    written: Vec<bool>,
    steps: Vec<Step>,
}

impl Order<'_> {
    /// Appends what a value needs that is not there yet, then the value, with its partner if it has one.
    fn compute(&mut self, root: u32) {
        let mut stack = vec![root];
        while let Some(&value) = stack.last() {
            if self.written[value as usize] {
                stack.pop();
                continue;
            }
            let group = [Some(value), self.partners.get(&value).copied()];
            let known = stack.len();
            for member in group.into_iter().flatten() {
                let missing = operands(self.schedule, member).iter().filter(|&&operand| {
                    !self.written[operand as usize] && matches!(self.schedule.values[operand as usize], Value::Call(..))
                });
                stack.extend(missing);
            }
            if stack.len() > known {
                continue;
            }
            for member in group.into_iter().flatten() {
                self.written[member as usize] = true;
                self.steps.push(Step::Compute(member));
            }
            stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ir::testing::{self, Shape};
    use odec_ir::{Layout, expand};

    #[test]
    fn every_step_comes_once_and_behind_what_it_needs() {
        let mut pairs = 0;
        for seed in 0..300 {
            let case = testing::case(seed, Shape { special: false, ..Shape::default() });
            let layout = Layout::of(&case.program);
            for kernel in &case.program.kernels {
                let before = Schedule::of(&case.program, &layout, &expand::expanded(kernel)).unwrap();
                let mut after = before.clone();
                beside(&mut after);
                let mut written = vec![false; after.values.len()];
                let mut stores = after.steps.clone();
                for step in &after.steps {
                    let needed = match step {
                        Step::Compute(value) => operands(&after, *value).to_vec(),
                        Step::Store { value, .. } => vec![*value],
                    };
                    for value in needed {
                        let call = matches!(after.values[value as usize], Value::Call(..));
                        assert!(!call || written[value as usize], "seed {seed}");
                    }
                    if let Step::Compute(value) = step {
                        assert!(!std::mem::replace(&mut written[*value as usize], true), "seed {seed}");
                    }
                }
                assert_eq!(after.steps.len(), before.steps.len());
                stores.retain(|step| matches!(step, Step::Store { .. }));
                assert!(before.steps.iter().filter(|step| matches!(step, Step::Store { .. })).eq(&stores));
                pairs += after.steps.windows(2).filter(|two| twins(&after, [two[0], two[1]]).is_some()).count();
            }
        }
        assert!(pairs > 100, "{pairs}");
    }
}
