//! Writes a schedule for x86-64 with AVX, four lanes to a register: twice as many as the code generator of the other kernels knows. A straight line needs
//! no more than this: a register is taken from the value that is used last, and operands are read from memory where they are not at hand.
//!
//! Instructions and their encoding: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, sections 2.3 (VEX) and 3 to 5.

use std::collections::HashMap;

use odec_ir::schedule::{Schedule, Step, Value};
use odec_ir::{Lowering, Primitive};

use super::encode::{Code, Instruction, MASK_OF_SIZE, Place, SIGN};

/// Lanes of a register.
pub(super) const WIDTH: usize = 4;
/// Bytes of a register.
const BYTES: i32 = 32;
/// Most registers that a value takes.
const MAX_VECTORS: usize = super::MAX_LANES / WIDTH;

/// Registers that hold values; the last one is for parts of a value on its way.
const REGISTERS: usize = 15;
const SPARE: u8 = 15;
/// An operand that is used again within so many steps is loaded into a register.
const SOON: u32 = 8;

/// Registers that no callee has to keep, one for each lane: addresses.
const LANES: [u8; super::MAX_LANES] = [0, 1, 2, 6, 8, 9, 10, 11];
/// The first argument of a function on all systems but Windows.
const ARGUMENT: u8 = 7;

/// Where `t` and the addresses of y, p, w and out are in the buffers of a caller.
const Y: i32 = 8;
const P: i32 = 16;
const W: i32 = 24;
const OUT: i32 = 32;

/// Used no more.
const NEVER: u32 = u32::MAX;

/// True if this processor can run such code.
pub(super) fn can_run() -> bool {
    cfg!(unix) && std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma")
}

/// The code of a function that is given the address of the addresses of the buffers of each caller; `None` if the schedule calls functions.
pub(super) fn write(schedule: &Schedule, lanes: usize) -> Option<Vec<u8>> {
    if !lanes.is_multiple_of(WIDTH) || lanes > super::MAX_LANES {
        return None;
    }
    let suits = |value: &Value| match value {
        Value::Call(op, _) => op.primitive().is_some_and(|primitive| primitive != Primitive::Hypot),
        _ => true,
    };
    if !schedule.values.iter().all(suits) {
        return None;
    }
    // the frame is known at the end, and so is how far it is
    let mut body = Writer::new(schedule, lanes / WIDTH);
    body.write();
    let (code, places) = (body.code, body.places);
    Some(code.finish(places as i32 * BYTES))
}

/// Who has a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    /// A vector of a value.
    Value(u32, usize),
    /// An intermediate result of this step.
    Step,
}

/// Where a vector of a value is.
#[derive(Clone, Copy, Default)]
struct Home {
    register: Option<u8>,
    /// In the frame.
    place: Option<u32>,
}

struct Writer<'a> {
    schedule: &'a Schedule,
    code: Code,
    vectors: usize,
    /// Steps that use each value, in order, and which of them is next.
    uses: Vec<Vec<u32>>,
    next: Vec<usize>,
    /// Elements of `out` that a value is.
    slots: Vec<Vec<u32>>,
    homes: Vec<[Home; MAX_VECTORS]>,
    /// True of truth values, of which all bits are set or none.
    truths: Vec<bool>,
    owners: [Owner; REGISTERS],
    /// Registers that this step reads and that must stay.
    held: [bool; REGISTERS],
    places: u32,
    free: Vec<u32>,
}

impl<'a> Writer<'a> {
    fn new(schedule: &'a Schedule, vectors: usize) -> Self {
        let count = schedule.values.len();
        let (mut uses, mut slots) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (k, step) in schedule.steps.iter().enumerate() {
            match *step {
                Step::Store { slot, value } => slots[value as usize].push(slot),
                Step::Compute(value) => {
                    if let Value::Call(op, args) = schedule.values[value as usize] {
                        args[..usize::from(op.0.arity)].iter().for_each(|&arg| uses[arg as usize].push(k as u32));
                    }
                }
            }
        }
        Writer {
            schedule,
            code: Code::default(),
            vectors,
            uses,
            next: vec![0; count],
            slots,
            homes: vec![[Home::default(); MAX_VECTORS]; count],
            truths: vec![false; count],
            owners: [Owner::Nobody; REGISTERS],
            held: [false; REGISTERS],
            places: 0,
            free: Vec::new(),
        }
    }

    fn write(&mut self) {
        self.gather();
        self.addresses(OUT);
        for (k, &step) in self.schedule.steps.iter().enumerate() {
            match step {
                Step::Compute(value) => self.compute(value, k as u32),
                // what is computed was stored then
                Step::Store { value, .. } => {
                    if !matches!(self.schedule.values[value as usize], Value::Call(..)) {
                        for vector in 0..self.vectors {
                            let register = self.number(value, vector);
                            self.scatter(value, vector, register);
                            self.end_of_vector();
                        }
                        self.slots[value as usize].clear();
                    }
                }
            }
        }
    }

    /// Reads an address from the buffers of each lane.
    fn addresses(&mut self, offset: i32) {
        for (lane, &register) in LANES[..WIDTH * self.vectors].iter().enumerate() {
            self.code.load_address(register, ARGUMENT, 8 * lane as i32);
            if offset > 0 {
                self.code.load_address(register, register, offset);
            }
        }
    }

    /// Reads all inputs, and keeps those of all lanes side by side.
    fn gather(&mut self) {
        for buffer in [0, Y, P, W] {
            let mut known = false;
            for value in 0..self.schedule.values.len() {
                let element = match (self.schedule.values[value], buffer) {
                    (Value::Time, 0) => 0,
                    (Value::State(element), Y) | (Value::Parameter(element), P) | (Value::Direction(element), W) => {
                        element as i32
                    }
                    _ => continue,
                };
                if !known {
                    self.addresses(buffer);
                    known = true;
                }
                for vector in 0..self.vectors {
                    let lane = |l: usize| Place::At(LANES[WIDTH * vector + l], 8 * element);
                    self.code.put(Instruction::LOAD_LOW, 0, 0, lane(0));
                    self.code.put(Instruction::LOAD_HIGH, 0, 0, lane(1));
                    self.code.put(Instruction::LOAD_LOW, 1, 0, lane(2));
                    self.code.put(Instruction::LOAD_HIGH, 1, 1, lane(3));
                    self.code.put_with(Instruction::INSERT, 0, 0, Place::Register(1), 1);
                    let place = self.place();
                    self.code.put(Instruction::STORE, 0, 0, Place::Frame(place as i32 * BYTES));
                    self.homes[value][vector].place = Some(place);
                }
            }
        }
    }

    /// A place in the frame.
    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        })
    }

    /// The next step that uses a value.
    fn next_use(&self, value: u32) -> u32 {
        self.uses[value as usize].get(self.next[value as usize]).copied().unwrap_or(NEVER)
    }

    /// A register, taken from the value that is used last.
    fn take(&mut self, owner: Owner) -> u8 {
        let mut best = (0, 0);
        debug_assert!(self.held.contains(&false), "no instruction holds all registers");
        for (register, &owner) in self.owners.iter().enumerate() {
            let wait = match owner {
                _ if self.held[register] => continue,
                Owner::Nobody => NEVER,
                Owner::Value(value, _) => self.next_use(value).min(NEVER - 1),
                Owner::Step => continue,
            };
            if wait >= best.0 {
                best = (wait, register);
            }
        }
        let register = best.1;
        if let Owner::Value(value, vector) = self.owners[register] {
            let home = self.homes[value as usize][vector];
            let is_number = matches!(self.schedule.values[value as usize], Value::Constant(_));
            if home.place.is_none() && !is_number && self.next_use(value) != NEVER {
                let place = self.place();
                self.code.put(Instruction::STORE, register as u8, 0, Place::Frame(place as i32 * BYTES));
                self.homes[value as usize][vector].place = Some(place);
            }
            self.homes[value as usize][vector].register = None;
        }
        self.owners[register] = owner;
        self.held[register] = true;
        register as u8
    }

    /// Where a vector is: in a register, or in memory.
    fn found(&mut self, value: u32, vector: usize) -> Place {
        let home = self.homes[value as usize][vector];
        if let Some(register) = home.register {
            self.held[register as usize] = true;
            return Place::Register(register);
        }
        match (self.schedule.values[value as usize], home.place) {
            (Value::Constant(number), _) => self.code.number(number.to_bits()),
            (_, place) => Place::Frame(place.unwrap_or_default() as i32 * BYTES),
        }
    }

    /// A vector as it is, in a register.
    fn loaded(&mut self, value: u32, vector: usize) -> u8 {
        match self.found(value, vector) {
            Place::Register(register) => register,
            place => {
                let register = self.take(Owner::Value(value, vector));
                self.code.put(Instruction::LOAD, register, 0, place);
                self.homes[value as usize][vector].register = Some(register);
                register
            }
        }
    }

    /// A vector of numbers in a register.
    fn number(&mut self, value: u32, vector: usize) -> u8 {
        let register = self.loaded(value, vector);
        if !self.truths[value as usize] {
            return register;
        }
        let one = self.code.number(1.0f64.to_bits());
        let number = self.take(Owner::Step);
        self.code.put(Instruction::AND, number, register, one);
        number
    }

    /// A vector of numbers, in memory unless it is in a register or soon needed there.
    fn operand(&mut self, value: u32, vector: usize, step: u32) -> Place {
        let uses = &self.uses[value as usize];
        let again = uses[self.next[value as usize]..].iter().find(|&&at| at > step);
        if self.truths[value as usize] || again.is_some_and(|&at| at <= step + SOON) {
            return Place::Register(self.number(value, vector));
        }
        self.found(value, vector)
    }

    /// Lets the result of one instruction take the register of an operand that this step is the last to use.
    fn release(&mut self, value: u32, vector: usize, step: u32) {
        let uses = &self.uses[value as usize];
        let over = uses[self.next[value as usize]..].iter().all(|&at| at <= step);
        let home = &mut self.homes[value as usize][vector];
        if over
            && let Value::Call(..) = self.schedule.values[value as usize]
            && let Some(register) = home.register.take()
        {
            self.owners[register as usize] = Owner::Nobody;
            self.held[register as usize] = false;
        }
    }

    /// A vector of truth values in a register.
    fn truth(&mut self, value: u32, vector: usize) -> u8 {
        let register = self.loaded(value, vector);
        if self.truths[value as usize] {
            return register;
        }
        let zero = self.code.number(0);
        let truth = self.take(Owner::Step);
        self.code.put_with(Instruction::COMPARE, truth, register, zero, UNEQUAL);
        truth
    }

    fn compute(&mut self, value: u32, step: u32) {
        let Value::Call(op, args) = self.schedule.values[value as usize] else { return };
        let Lowering::Primitive(primitive) = op.0.lowering else { return };
        let operands = &args[..usize::from(op.0.arity)];
        self.truths[value as usize] = matches!(
            primitive,
            Primitive::Lt
                | Primitive::Le
                | Primitive::Eq
                | Primitive::Ne
                | Primitive::And
                | Primitive::Or
                | Primitive::Not
        );
        for vector in 0..self.vectors {
            let result = self.apply(primitive, args, vector, step);
            self.owners[result as usize] = Owner::Value(value, vector);
            self.homes[value as usize][vector].register = Some(result);
            if !self.slots[value as usize].is_empty() {
                let number = self.number(value, vector);
                self.scatter(value, vector, number);
            }
            self.end_of_vector();
        }
        for &operand in operands {
            let next = &mut self.next[operand as usize];
            while self.uses[operand as usize].get(*next).is_some_and(|&at| at <= step) {
                *next += 1;
            }
        }
        for &value in operands.iter().chain([&value]) {
            if self.next_use(value) == NEVER {
                self.forget(value);
            }
        }
    }

    /// Gives back what a value has that is used no more.
    fn forget(&mut self, value: u32) {
        for vector in 0..self.vectors {
            let home = std::mem::take(&mut self.homes[value as usize][vector]);
            if let Some(register) = home.register {
                self.owners[register as usize] = Owner::Nobody;
            }
            // an input may be stored yet, and is read no other way
            match self.schedule.values[value as usize] {
                Value::Call(..) => self.free.extend(home.place),
                _ => self.homes[value as usize][vector].place = home.place,
            }
        }
    }

    fn end_of_vector(&mut self) {
        self.held = [false; REGISTERS];
        for owner in &mut self.owners {
            if *owner == Owner::Step {
                *owner = Owner::Nobody;
            }
        }
    }

    /// Writes a vector to the elements of `out` that the value is.
    fn scatter(&mut self, value: u32, vector: usize, register: u8) {
        let slots = &self.slots[value as usize];
        self.code.put_with(Instruction::EXTRACT, register, 0, Place::Register(SPARE), 1);
        for &slot in slots {
            for (half, register) in [register, SPARE].into_iter().enumerate() {
                let lane = WIDTH * vector + 2 * half;
                self.code.put(Instruction::STORE_LOW, register, 0, Place::At(LANES[lane], 8 * slot as i32));
                self.code.put(Instruction::STORE_HIGH, register, 0, Place::At(LANES[lane + 1], 8 * slot as i32));
            }
        }
    }

    /// Computes a vector, and gives the register that it is in; nobody else has it.
    fn apply(&mut self, primitive: Primitive, [a, b, c]: [u32; 3], vector: usize, step: u32) -> u8 {
        let plain = match primitive {
            Primitive::Add => Some((Instruction::ADD, true)),
            Primitive::Mul => Some((Instruction::MUL, true)),
            Primitive::Sub => Some((Instruction::SUB, false)),
            Primitive::Div => Some((Instruction::DIV, false)),
            _ => None,
        };
        if let Some((instruction, commutes)) = plain {
            let in_register = |writer: &Self, value: u32| writer.homes[value as usize][vector].register.is_some();
            let (a, b) = if commutes && !in_register(self, a) && in_register(self, b) { (b, a) } else { (a, b) };
            let x = self.number(a, vector);
            let y = self.operand(b, vector, step);
            self.release(a, vector, step);
            self.release(b, vector, step);
            let result = self.take(Owner::Step);
            self.code.put(instruction, result, x, y);
            return result;
        }
        match primitive {
            Primitive::Neg | Primitive::Abs => {
                let x = self.number(a, vector);
                let result = self.take(Owner::Step);
                let (instruction, bits) = match primitive {
                    Primitive::Neg => (Instruction::XOR, SIGN),
                    _ => (Instruction::AND, MASK_OF_SIZE),
                };
                let bits = self.code.number(bits);
                self.code.put(instruction, result, x, bits);
                result
            }
            Primitive::Sqrt => {
                let x = self.operand(a, vector, step);
                let result = self.take(Owner::Step);
                self.code.put(Instruction::SQRT, result, 0, x);
                result
            }
            Primitive::Floor | Primitive::Ceil => {
                let x = self.operand(a, vector, step);
                let result = self.take(Owner::Step);
                let direction = if primitive == Primitive::Floor { DOWN } else { UP };
                self.code.put_with(Instruction::ROUND, result, 0, x, direction);
                result
            }
            Primitive::Copysign => {
                let (x, y) = (self.number(a, vector), self.number(b, vector));
                let (size, sign) = (self.take(Owner::Step), self.take(Owner::Step));
                let (mask, bit) = (self.code.number(MASK_OF_SIZE), self.code.number(SIGN));
                self.code.put(Instruction::AND, size, x, mask);
                self.code.put(Instruction::AND, sign, y, bit);
                self.code.put(Instruction::OR, sign, sign, Place::Register(size));
                sign
            }
            Primitive::Min | Primitive::Max => {
                // the second one where it is beyond the first one or is not a number
                let (x, y) = (self.number(a, vector), self.number(b, vector));
                let (beyond, result) = (self.take(Owner::Step), self.take(Owner::Step));
                let ends = if primitive == Primitive::Min { (y, x) } else { (x, y) };
                self.code.put_with(Instruction::COMPARE, beyond, ends.0, Place::Register(ends.1), LESS);
                self.code.put_with(Instruction::COMPARE, result, y, Place::Register(y), UNORDERED);
                self.code.put(Instruction::OR, beyond, beyond, Place::Register(result));
                self.code.put_with(Instruction::BLEND, result, x, Place::Register(y), beyond << 4);
                result
            }
            Primitive::Lt | Primitive::Le | Primitive::Eq | Primitive::Ne => {
                let x = self.number(a, vector);
                let y = self.operand(b, vector, step);
                let result = self.take(Owner::Step);
                let condition = match primitive {
                    Primitive::Lt => LESS,
                    Primitive::Le => LESS_OR_EQUAL,
                    Primitive::Eq => EQUAL,
                    _ => UNEQUAL,
                };
                self.code.put_with(Instruction::COMPARE, result, x, y, condition);
                result
            }
            Primitive::And | Primitive::Or => {
                let (x, y) = (self.truth(a, vector), self.truth(b, vector));
                let result = self.take(Owner::Step);
                let instruction = if primitive == Primitive::And { Instruction::AND } else { Instruction::OR };
                self.code.put(instruction, result, x, Place::Register(y));
                result
            }
            Primitive::Not => {
                let x = self.truth(a, vector);
                let result = self.take(Owner::Step);
                let all = self.code.number(u64::MAX);
                self.code.put(Instruction::XOR, result, x, all);
                result
            }
            Primitive::Select => {
                let condition = self.truth(a, vector);
                let other = self.number(c, vector);
                let first = self.operand(b, vector, step);
                let result = self.take(Owner::Step);
                self.code.put_with(Instruction::BLEND, result, other, first, condition << 4);
                result
            }
            // the last one; those that are not named here were refused or done above
            _ => {
                let (x, z) = (self.number(a, vector), self.number(c, vector));
                let y = self.operand(b, vector, step);
                let result = self.take(Owner::Step);
                self.code.put(Instruction::LOAD, result, 0, Place::Register(z));
                self.code.put(Instruction::FMA, result, x, y);
                result
            }
        }
    }
}

/// Predicates of comparisons, none of which signals: less, less or equal, equal, not equal or not ordered, not ordered.
const LESS: u8 = 0x11;
const LESS_OR_EQUAL: u8 = 0x12;
const EQUAL: u8 = 0x00;
const UNEQUAL: u8 = 0x04;
const UNORDERED: u8 = 0x03;

/// Directions of rounding, without a report that it was inexact.
const DOWN: u8 = 0x09;
const UP: u8 = 0x0a;

/// By their bits, so that each is once in memory.
pub(super) type Numbers = HashMap<u64, usize>;
