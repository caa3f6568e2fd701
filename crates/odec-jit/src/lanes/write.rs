//! Writes a schedule as a function over pairs of lanes.

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{FuncRef, Function, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types};
use odec_ir::schedule::{Schedule, Step, Value as Quantity};
use odec_ir::{Lowering, Primitive};

use super::MAX_LANES;
use crate::JitError;
use crate::lower::{self, Abi, DOUBLE, Imports};
use crate::ops::{self, Width};

/// Lanes of a register.
const PAIR: usize = 2;
/// Most registers that a value takes.
const MAX_PAIRS: usize = MAX_LANES / PAIR;
/// Log2 of the bytes of a register.
const ALIGNMENT: u8 = 4;

/// Steps after which a value is read from memory rather than kept in registers.
const FAR: u32 = 16;
/// The same for inputs and numbers.
const WINDOW: u32 = 12;

/// Not in memory.
const NOWHERE: u32 = u32::MAX;

/// Bytes of one caller's `(t, y, p, w, out)`, and where each is.
const TIME: i32 = 0;
const Y: i32 = 8;
const P: i32 = 16;
const W: i32 = 24;
const OUT: i32 = 32;

/// The values of all lanes, or their truth values.
type Pairs = [Option<Value>; MAX_PAIRS];

/// What is known of a value.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The last step that may use it.
    until: u32,
    numbers: Pairs,
    truths: Pairs,
}

/// Writes the function `(callers)`, which is given the addresses of the buffers of each caller.
pub(crate) fn define(
    func: &mut Function,
    abi: Abi,
    schedule: &Schedule,
    lanes: usize,
    imports: &mut dyn Imports,
) -> Result<(), JitError> {
    func.signature = abi.lanes();
    let (mut pos, args) = lower::begin(func);
    let places = Places::of(schedule);
    let bytes = (places.count.max(1) * lanes * DOUBLE) as u32;
    let slot = pos.func.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, ALIGNMENT));
    let memory = pos.ins().stack_addr(abi.pointer, slot, 0);
    let flags = MemFlagsData::trusted().with_readonly();
    let mut callers = Vec::with_capacity(lanes);
    for lane in 0..lanes {
        callers.push(pos.ins().load(abi.pointer, flags, args[0], (lane * DOUBLE) as i32));
    }
    let pairs = lanes / PAIR;
    let known = vec![Known::default(); schedule.values.len()];
    let mut body = Body {
        schedule,
        abi,
        imports,
        pos,
        places,
        memory,
        pairs,
        known,
        functions: Vec::new(),
        outs: Vec::new(),
        step: 0,
    };
    body.gather(&callers);
    for &caller in &callers {
        let out = body.pos.ins().load(abi.pointer, flags, caller, OUT);
        body.outs.push(out);
    }
    for (step, &what) in schedule.steps.iter().enumerate() {
        body.step = step as u32;
        match what {
            Step::Compute(value) => {
                body.compute(value)?;
                body.store(value);
            }
            // what is computed was stored then
            Step::Store { value, .. } => {
                if !matches!(schedule.values[value as usize], Quantity::Call(..)) {
                    body.store(value);
                }
            }
        }
    }
    body.pos.ins().return_(&[]);
    Ok(())
}

/// Where values are kept in memory, and which elements of `out` they are.
struct Places {
    /// By value.
    memory: Vec<u32>,
    count: usize,
    /// By value.
    slots: Vec<Vec<u32>>,
}

impl Places {
    fn of(schedule: &Schedule) -> Places {
        let values = schedule.values.len();
        let mut last = vec![0u32; values];
        let mut slots = vec![Vec::new(); values];
        for (k, step) in schedule.steps.iter().enumerate() {
            match *step {
                Step::Store { slot, value } => slots[value as usize].push(slot),
                Step::Compute(value) => {
                    if let Quantity::Call(op, args) = schedule.values[value as usize] {
                        args[..usize::from(op.0.arity)].iter().for_each(|&arg| last[arg as usize] = k as u32);
                    }
                }
            }
        }
        let (mut memory, mut count) = (vec![NOWHERE; values], 0u32);
        for (value, place) in schedule.values.iter().zip(&mut memory) {
            if !matches!(value, Quantity::Call(..) | Quantity::Constant(_)) {
                *place = count;
                count += 1;
            }
        }
        // places that become free behind a step
        let mut ending: Vec<Vec<u32>> = vec![Vec::new(); schedule.steps.len()];
        let mut free: Vec<u32> = Vec::new();
        for (k, step) in schedule.steps.iter().enumerate() {
            if let Step::Compute(value) = *step
                && last[value as usize] > k as u32 + FAR
            {
                let place = free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                memory[value as usize] = place;
                ending[last[value as usize] as usize].push(place);
            }
            free.append(&mut ending[k]);
        }
        Places { memory, count: count as usize, slots }
    }
}

struct Body<'a, 'i, 'f> {
    schedule: &'a Schedule,
    abi: Abi,
    imports: &'i mut dyn Imports,
    pos: FuncCursor<'f>,
    places: Places,
    /// Address of the values that are kept in memory.
    memory: Value,
    pairs: usize,
    known: Vec<Known>,
    functions: Vec<(&'static str, FuncRef)>,
    /// Address of `out` of each lane.
    outs: Vec<Value>,
    step: u32,
}

impl Body<'_, '_, '_> {
    /// Reads all inputs, and keeps those of all lanes side by side.
    fn gather(&mut self, callers: &[Value]) {
        let flags = MemFlagsData::trusted().with_readonly();
        for (buffer, offset) in [(TIME, None), (Y, Some(Y)), (P, Some(P)), (W, Some(W))] {
            let mut bases: Vec<Value> = Vec::new();
            for value in 0..self.schedule.values.len() {
                let element = match (self.schedule.values[value], buffer) {
                    (Quantity::Time, TIME) => 0,
                    (Quantity::State(element), Y)
                    | (Quantity::Parameter(element), P)
                    | (Quantity::Direction(element), W) => element,
                    _ => continue,
                };
                if bases.is_empty() {
                    for &caller in callers {
                        bases.push(match offset {
                            Some(offset) => self.pos.ins().load(self.abi.pointer, flags, caller, offset),
                            None => caller,
                        });
                    }
                }
                for pair in 0..self.pairs {
                    let [first, second] = [0, 1].map(|lane| {
                        let base = bases[PAIR * pair + lane];
                        self.pos.ins().load(types::F64, flags, base, element as i32 * DOUBLE as i32)
                    });
                    let both = self.join(first, second);
                    self.keep(self.places.memory[value], pair, both);
                }
            }
        }
    }

    fn join(&mut self, first: Value, second: Value) -> Value {
        let pair = self.pos.ins().scalar_to_vector(types::F64X2, first);
        self.pos.ins().insertlane(pair, second, 1)
    }

    fn offset(&self, place: u32, pair: usize) -> i32 {
        ((place as usize * self.pairs + pair) * PAIR * DOUBLE) as i32
    }

    fn keep(&mut self, place: u32, pair: usize, value: Value) {
        let offset = self.offset(place, pair);
        self.pos.ins().store(MemFlagsData::trusted(), value, self.memory, offset);
    }

    fn numbers(&mut self, value: u32) -> Pairs {
        let known = self.known[value as usize];
        let fresh = self.step <= known.until;
        if fresh && known.numbers[0].is_some() {
            return known.numbers;
        }
        let mut numbers = Pairs::default();
        if fresh && known.truths[0].is_some() {
            for (number, truth) in numbers.iter_mut().zip(known.truths) {
                *number = truth.map(|truth| Width::Two.number_of(&mut self.pos, truth));
            }
            self.known[value as usize].numbers = numbers;
            return numbers;
        }
        if let Quantity::Constant(number) = self.schedule.values[value as usize] {
            let constant = Width::Two.constant(&mut self.pos, number);
            numbers[..self.pairs].fill(Some(constant));
        } else {
            for (pair, number) in numbers[..self.pairs].iter_mut().enumerate() {
                let offset = self.offset(self.places.memory[value as usize], pair);
                *number = Some(self.pos.ins().load(types::F64X2, MemFlagsData::trusted(), self.memory, offset));
            }
        }
        self.known[value as usize] = Known { until: self.step + WINDOW, numbers, truths: Pairs::default() };
        numbers
    }

    fn truths(&mut self, value: u32) -> Pairs {
        let known = self.known[value as usize];
        if self.step <= known.until && known.truths[0].is_some() {
            return known.truths;
        }
        let mut truths = self.numbers(value);
        for truth in truths.iter_mut().flatten() {
            *truth = Width::Two.truth_of(&mut self.pos, *truth);
        }
        self.known[value as usize].truths = truths;
        truths
    }

    fn compute(&mut self, value: u32) -> Result<(), JitError> {
        let Quantity::Call(op, args) = self.schedule.values[value as usize] else { return Ok(()) };
        let place = self.places.memory[value as usize];
        let until = if place == NOWHERE { u32::MAX } else { self.step + FAR };
        let mut known = Known { until, ..Known::default() };
        match op.0.lowering {
            Lowering::Primitive(primitive) => {
                known.truths = self.logic(primitive, args);
                if known.truths[0].is_none() {
                    known.numbers = self.arithmetic(primitive, args);
                }
            }
            Lowering::Libm(name) => known.numbers = self.called(name, &args[..usize::from(op.0.arity)])?,
            Lowering::Expand(_) => return Err(JitError::Malformed(op.0.name.to_string())),
        }
        self.known[value as usize] = known;
        if place != NOWHERE {
            for (pair, number) in self.numbers(value).into_iter().flatten().enumerate() {
                self.keep(place, pair, number);
            }
        }
        Ok(())
    }

    /// Writes a value to the elements of `out` that it is.
    fn store(&mut self, value: u32) {
        let slots = std::mem::take(&mut self.places.slots[value as usize]);
        if slots.is_empty() {
            return;
        }
        let numbers = self.numbers(value);
        for (pair, number) in numbers.into_iter().flatten().enumerate() {
            for lane in 0..PAIR {
                let single = self.pos.ins().extractlane(number, lane as u8);
                for &slot in &slots {
                    let out = self.outs[PAIR * pair + lane];
                    let offset = slot as i32 * DOUBLE as i32;
                    self.pos.ins().store(MemFlagsData::trusted(), single, out, offset);
                }
            }
        }
    }

    /// A function of the C library, lane by lane.
    fn called(&mut self, name: &'static str, args: &[u32]) -> Result<Pairs, JitError> {
        let function = match self.functions.iter().find(|known| known.0 == name) {
            Some(&(_, function)) => function,
            None => {
                let signature = self.abi.function(args.len());
                let function = self.imports.function(self.pos.func, name, signature)?;
                self.functions.push((name, function));
                function
            }
        };
        let args: Vec<Pairs> = args.iter().map(|&arg| self.numbers(arg)).collect();
        let mut results = Pairs::default();
        for (pair, result) in results[..self.pairs].iter_mut().enumerate() {
            let mut both = [None; PAIR];
            for (lane, single) in both.iter_mut().enumerate() {
                let args: Vec<Value> = args
                    .iter()
                    .filter_map(|arg| arg[pair])
                    .map(|arg| self.pos.ins().extractlane(arg, lane as u8))
                    .collect();
                let call = self.pos.ins().call(function, &args);
                *single = self.pos.func.dfg.inst_results(call).first().copied();
            }
            let [Some(first), Some(second)] = both else { return Err(JitError::Malformed(name.to_string())) };
            *result = Some(self.join(first, second));
        }
        Ok(results)
    }

    /// The operations whose result is 0 or 1; none for the others.
    fn logic(&mut self, primitive: Primitive, [a, b, _]: [u32; 3]) -> Pairs {
        let pos = |body: &mut Self, a: Pairs, b: Pairs, make: &dyn Fn(&mut FuncCursor<'_>, Value, Value) -> Value| {
            let mut results = Pairs::default();
            for (result, (a, b)) in results.iter_mut().zip(a.into_iter().zip(b)) {
                *result = a.zip(b).map(|(a, b)| make(&mut body.pos, a, b));
            }
            results
        };
        if let Some(condition) = ops::comparison(primitive) {
            let (a, b) = (self.numbers(a), self.numbers(b));
            return pos(self, a, b, &|pos, a, b| Width::Two.compare(pos, condition, a, b));
        }
        match primitive {
            Primitive::And => {
                let (a, b) = (self.truths(a), self.truths(b));
                pos(self, a, b, &|pos, a, b| pos.ins().band(a, b))
            }
            Primitive::Or => {
                let (a, b) = (self.truths(a), self.truths(b));
                pos(self, a, b, &|pos, a, b| pos.ins().bor(a, b))
            }
            Primitive::Not => {
                let a = self.truths(a);
                pos(self, a, a, &|pos, a, _| Width::Two.not(pos, a))
            }
            _ => Pairs::default(),
        }
    }

    fn arithmetic(&mut self, primitive: Primitive, [a, b, c]: [u32; 3]) -> Pairs {
        let mut results = Pairs::default();
        if primitive == Primitive::Select {
            let (conditions, b, c) = (self.truths(a), self.numbers(b), self.numbers(c));
            for (pair, result) in results.iter_mut().enumerate() {
                if let (Some(condition), Some(b), Some(c)) = (conditions[pair], b[pair], c[pair]) {
                    *result = Some(Width::Two.select(&mut self.pos, condition, b, c));
                }
            }
            return results;
        }
        let (x, y) = (self.numbers(a), self.numbers(b));
        let z = if primitive == Primitive::Fma { self.numbers(c) } else { Pairs::default() };
        for (pair, result) in results.iter_mut().enumerate() {
            if let (Some(x), Some(y)) = (x[pair], y[pair]) {
                *result = Some(match z[pair] {
                    Some(z) => self.pos.ins().fma(x, y, z),
                    None => Width::Two.arithmetic(&mut self.pos, primitive, x, y),
                });
            }
        }
        results
    }
}
