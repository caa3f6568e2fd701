//! Writes the steps of a schedule as functions of Cranelift's intermediate form.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    AbiParam, FuncRef, Function, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use odec_ir::schedule::{Schedule, Step, Value as Quantity};
use odec_ir::{Lowering, Op, Primitive};

use crate::ops::{self, Width};
use crate::pieces::{FAR, Pieces};
use crate::{JitError, libm, pairs};

/// Steps after which a number or an element of a buffer is read again rather than kept in a register: keeping it
/// costs a register, and soon a spill, for all that time.
pub(crate) const WINDOW: u32 = 48;

/// Bytes of a double.
pub(crate) const DOUBLE: usize = 8;

/// Makes the functions that a body calls known to it.
pub(crate) trait Imports {
    /// A function of the C library with `arity` doubles.
    fn function(&mut self, func: &mut Function, name: &'static str, signature: Signature) -> Result<FuncRef, JitError>;
    /// The piece of this number of the kernel that is being written.
    fn piece(&mut self, func: &mut Function, piece: usize) -> FuncRef;
}

/// What a target prescribes.
#[derive(Clone, Copy)]
pub(crate) struct Abi {
    /// Type of an address.
    pub(crate) pointer: Type,
    /// How C functions are called.
    pub(crate) convention: CallConv,
}

impl Abi {
    /// `(t, y, p, w, out)`
    pub(crate) fn kernel(self) -> Signature {
        let mut signature = Signature::new(self.convention);
        signature.params.push(AbiParam::new(types::F64));
        signature.params.extend([AbiParam::new(self.pointer); 4]);
        signature
    }

    /// `(t, y, p, w, out, scratch)`
    pub(crate) fn piece(self) -> Signature {
        let mut signature = self.kernel();
        signature.params.push(AbiParam::new(self.pointer));
        signature
    }

    /// `(t, y, p, w, out, frame, kept)`
    pub(crate) fn nest(self) -> Signature {
        let mut signature = self.piece();
        signature.params.push(AbiParam::new(self.pointer));
        signature
    }

    /// A function of the C library with that many doubles.
    pub(crate) fn function(self, arity: usize) -> Signature {
        let mut signature = Signature::new(self.convention);
        signature.params.extend((0..arity).map(|_| AbiParam::new(types::F64)));
        signature.returns.push(AbiParam::new(types::F64));
        signature
    }
}

/// Refuses what code cannot be written for, before any is.
pub(crate) fn check(schedule: &Schedule) -> Result<(), JitError> {
    let calls = schedule.values.iter();
    calls.filter_map(|value| if let Quantity::Call(op, _) = value { Some(*op) } else { None }).try_for_each(callable)
}

/// Refuses a builtin that calls what is not in the table of functions.
pub(crate) fn callable(op: Op) -> Result<(), JitError> {
    let Lowering::Libm(name) = op.0.lowering else { return Ok(()) };
    let function = libm::find(name).ok_or_else(|| JitError::UnknownFunction(name.to_string()))?;
    let (takes, given) = (function.arity(), usize::from(op.0.arity));
    if takes != given {
        return Err(JitError::WrongArity { function: name.to_string(), takes, given });
    }
    Ok(())
}

/// Writes the function that gives the pieces a scratch buffer on its stack and calls one after the other.
pub(crate) fn driver(func: &mut Function, abi: Abi, pieces: &Pieces, imports: &mut dyn Imports) {
    func.signature = abi.kernel();
    let bytes = (pieces.scratch_len.max(1) * DOUBLE) as u32;
    let slot = func.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
    let (mut pos, mut args) = begin(func);
    args.push(pos.ins().stack_addr(abi.pointer, slot, 0));
    for piece in 0..pieces.ranges.len() {
        let function = imports.piece(pos.func, piece);
        pos.ins().call(function, &args);
    }
    pos.ins().return_(&[]);
}

/// An entry block with the parameters of the signature.
pub(crate) fn begin(func: &mut Function) -> (FuncCursor<'_>, Vec<Value>) {
    let types: Vec<Type> = func.signature.params.iter().map(|param| param.value_type).collect();
    let block = func.dfg.make_block();
    let args = types.into_iter().map(|ty| func.dfg.append_block_param(block, ty)).collect();
    let mut pos = FuncCursor::new(func);
    pos.insert_block(block);
    (pos, args)
}

/// What a piece knows of a value.
#[derive(Clone, Copy)]
struct Known {
    /// The piece that knows it.
    piece: u32,
    /// The last step that may use it.
    until: u32,
    /// As a double.
    number: Option<Value>,
    /// As a truth value, 0 or 1 in a byte.
    truth: Option<Value>,
}

/// Writes the pieces of one schedule.
pub(crate) struct Bodies<'a> {
    abi: Abi,
    schedule: &'a Schedule,
    pieces: &'a Pieces,
    /// By position of the value; kept from piece to piece, so that the whole takes linear time.
    known: Vec<Known>,
}

impl<'a> Bodies<'a> {
    /// Nothing written yet.
    pub(crate) fn new(abi: Abi, schedule: &'a Schedule, pieces: &'a Pieces) -> Bodies<'a> {
        let known = vec![Known { piece: u32::MAX, until: 0, number: None, truth: None }; schedule.values.len()];
        Bodies { abi, schedule, pieces, known }
    }

    /// Writes a piece. The only piece of a schedule is the kernel itself and has its scratch buffer on its own stack.
    pub(crate) fn write(
        &mut self,
        func: &mut Function,
        piece: usize,
        imports: &mut dyn Imports,
    ) -> Result<(), JitError> {
        func.signature = if self.pieces.ranges.len() > 1 { self.abi.piece() } else { self.abi.kernel() };
        let (mut pos, mut args) = begin(func);
        if self.pieces.ranges.len() <= 1 && self.pieces.scratch_len > 0 {
            let bytes = (self.pieces.scratch_len * DOUBLE) as u32;
            let slot = pos.func.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
            args.push(pos.ins().stack_addr(self.abi.pointer, slot, 0));
        }
        let range = self.pieces.ranges.get(piece).cloned().unwrap_or(0..0);
        let schedule = self.schedule;
        let steps = &schedule.steps[range.clone()];
        let mut body = Body { bodies: self, imports, pos, args, functions: Vec::new(), piece: piece as u32, step: 0 };
        let mut done = 0;
        while let Some(&step) = steps.get(done) {
            body.step = (range.start + done) as u32;
            done += 1;
            let next = steps.get(done).and_then(|&next| pairs::twins(schedule, [step, next]));
            if let Some((primitive, values)) = next {
                body.compute_two(primitive, values);
                done += 1;
                continue;
            }
            match step {
                Step::Compute(value) => body.compute(value)?,
                Step::Store { slot, value } => {
                    let number = body.number(value);
                    body.store(number, OUT, slot);
                }
            }
        }
        body.pos.ins().return_(&[]);
        Ok(())
    }
}

/// Positions of the parameters of a kernel or piece.
pub(crate) const TIME: usize = 0;
pub(crate) const Y: usize = 1;
pub(crate) const P: usize = 2;
pub(crate) const W: usize = 3;
pub(crate) const OUT: usize = 4;
const SCRATCH: usize = 5;

/// One function being written.
struct Body<'b, 'a, 'f> {
    bodies: &'b mut Bodies<'a>,
    imports: &'b mut dyn Imports,
    pos: FuncCursor<'f>,
    args: Vec<Value>,
    functions: Vec<(&'static str, FuncRef)>,
    piece: u32,
    step: u32,
}

impl Body<'_, '_, '_> {
    fn load(&mut self, buffer: usize, element: u32) -> Value {
        // Nothing that a kernel reads is written while it runs, except scratch.
        let flags = match buffer {
            SCRATCH => MemFlagsData::trusted(),
            _ => MemFlagsData::trusted().with_readonly().with_can_move(),
        };
        self.pos.ins().load(types::F64, flags, self.args[buffer], (element as usize * DOUBLE) as i32)
    }

    fn store(&mut self, number: Value, buffer: usize, element: u32) {
        let flags = MemFlagsData::trusted();
        self.pos.ins().store(flags, number, self.args[buffer], (element as usize * DOUBLE) as i32);
    }

    /// What may be used of a value at this step.
    fn known(&self, value: u32) -> Option<Known> {
        let known = self.bodies.known[value as usize];
        (known.piece == self.piece && self.step <= known.until).then_some(known)
    }

    /// A value as a double.
    fn number(&mut self, value: u32) -> Value {
        let known = self.known(value);
        if let Some(number) = known.and_then(|known| known.number) {
            return number;
        }
        if let Some(truth) = known.and_then(|known| known.truth) {
            let number = Width::One.number_of(&mut self.pos, truth);
            self.bodies.known[value as usize].number = Some(number);
            return number;
        }
        let number = match self.bodies.schedule.values[value as usize] {
            Quantity::Constant(number) => Width::One.constant(&mut self.pos, number),
            Quantity::Time => return self.args[TIME],
            Quantity::State(element) => self.load(Y, element),
            Quantity::Parameter(element) => self.load(P, element),
            Quantity::Direction(element) => self.load(W, element),
            // Computed by an earlier piece, or long ago.
            Quantity::Call(..) => {
                let element = self.bodies.pieces.scratch(value).unwrap_or_default();
                self.load(SCRATCH, element)
            }
        };
        let until = self.step + WINDOW;
        self.bodies.known[value as usize] = Known { piece: self.piece, until, number: Some(number), truth: None };
        number
    }

    /// Whether a value is not zero (NaN is not), as a byte.
    fn truth(&mut self, value: u32) -> Value {
        if let Some(truth) = self.known(value).and_then(|known| known.truth) {
            return truth;
        }
        let number = self.number(value);
        let truth = Width::One.truth_of(&mut self.pos, number);
        // A number that is read again later has its truth computed again with it.
        if let Some(known) = self.known(value) {
            self.bodies.known[value as usize] = Known { truth: Some(truth), ..known };
        }
        truth
    }

    fn compute(&mut self, value: u32) -> Result<(), JitError> {
        let Quantity::Call(op, args) = self.bodies.schedule.values[value as usize] else { return Ok(()) };
        let (mut number, mut truth) = (None, None);
        match op.0.lowering {
            Lowering::Primitive(primitive) => match self.logic(primitive, args) {
                Some(computed) => truth = Some(computed),
                None => number = Some(self.arithmetic(primitive, args)),
            },
            Lowering::Libm(name) => {
                let args: Vec<Value> = args[..usize::from(op.0.arity)].iter().map(|&arg| self.number(arg)).collect();
                let function = self.function(name, args.len())?;
                let call = self.pos.ins().call(function, &args);
                number = self.pos.func.dfg.inst_results(call).first().copied();
            }
            Lowering::Expand(_) => return Err(JitError::Malformed(op.0.name.to_string())),
        }
        self.keep(value, number, truth);
        Ok(())
    }

    /// Takes in what was computed at this step.
    fn keep(&mut self, value: u32, number: Option<Value>, truth: Option<Value>) {
        let scratch = self.bodies.pieces.scratch(value);
        let until = if scratch.is_some() { self.step + FAR as u32 } else { u32::MAX };
        self.bodies.known[value as usize] = Known { piece: self.piece, until, number, truth };
        if let Some(element) = scratch {
            let number = self.number(value);
            self.store(number, SCRATCH, element);
        }
    }

    /// The same operation of this step and the next, in the lanes of a register.
    fn compute_two(&mut self, primitive: Primitive, values: [u32; 2]) {
        let operands = values.map(|value| match self.bodies.schedule.values[value as usize] {
            Quantity::Call(_, [a, b, _]) if primitive != Primitive::Sqrt => [a, b],
            Quantity::Call(_, [a, ..]) => [a, a],
            _ => [value, value],
        });
        let [x, y] = [0, 1].map(|k| {
            let numbers = operands.map(|of| self.number(of[k]));
            let low = self.pos.ins().scalar_to_vector(types::F64X2, numbers[0]);
            self.pos.ins().insertlane(low, numbers[1], 1)
        });
        let both = Width::Two.arithmetic(&mut self.pos, primitive, x, y);
        for (lane, value) in values.into_iter().enumerate() {
            let number = self.pos.ins().extractlane(both, lane as u8);
            self.keep(value, Some(number), None);
            self.step += 1;
        }
    }

    fn function(&mut self, name: &'static str, arity: usize) -> Result<FuncRef, JitError> {
        if let Some(&(_, function)) = self.functions.iter().find(|known| known.0 == name) {
            return Ok(function);
        }
        let signature = self.bodies.abi.function(arity);
        let function = self.imports.function(self.pos.func, name, signature)?;
        self.functions.push((name, function));
        Ok(function)
    }

    /// The operations whose result is 0 or 1; `None` for the others.
    fn logic(&mut self, primitive: Primitive, [a, b, _]: [u32; 3]) -> Option<Value> {
        if let Some(condition) = ops::comparison(primitive) {
            let (a, b) = (self.number(a), self.number(b));
            return Some(self.pos.ins().fcmp(condition, a, b));
        }
        match primitive {
            Primitive::And => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some(self.pos.ins().band(a, b))
            }
            Primitive::Or => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some(self.pos.ins().bor(a, b))
            }
            Primitive::Not => {
                let a = self.truth(a);
                Some(Width::One.not(&mut self.pos, a))
            }
            _ => None,
        }
    }

    fn arithmetic(&mut self, primitive: Primitive, [a, b, c]: [u32; 3]) -> Value {
        if primitive == Primitive::Select {
            let (condition, b, c) = (self.truth(a), self.number(b), self.number(c));
            return Width::One.select(&mut self.pos, condition, b, c);
        }
        let (x, y) = (self.number(a), self.number(b));
        if primitive == Primitive::Fma {
            let z = self.number(c);
            return self.pos.ins().fma(x, y, z);
        }
        Width::One.arithmetic(&mut self.pos, primitive, x, y)
    }
}
