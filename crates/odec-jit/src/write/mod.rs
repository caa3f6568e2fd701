//! Writes a routine as functions `(t, y, p, w, out, arguments, buffer)` of Cranelift's intermediate form.
//!
//! Address computations are hoisted out of loops: before a loop, the position of a walk is computed from the outer
//! loops; inside it, the addressing mode adds the counter of the loop. An innermost loop over adjacent elements runs
//! two rounds at a time in vector registers, and the remaining round alone. Contributions of several rounds to one
//! element of a result are added in the order of the rounds, so that the bits are those of the interpreter.
//!
//! Without loops there are no walks: elements have constant positions, and are read again instead of kept in registers
//! for long. A long kernel is split into parts that a driver calls one after another.

mod known;
mod lookups;
mod loops;
mod memory;
mod reductions;
mod stores;
mod values;

use cranelift_codegen::Context;
use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{FuncRef, Function, InstBuilder, Signature, StackSlotData, StackSlotKind, Value, types};
use odec_ir::nest::arguments::Counter;
use odec_ir::nest::schedule::Step;

use crate::JitError;
use crate::abi::{self, Abi, BUFFER, DOUBLE, Imports};
use crate::ops::Width;
use crate::routine::{Routine, pair};
use known::{AvailableValue, Reached, Undo};

/// Number of steps after which a constant or an element of a buffer is read again instead of kept in a register:
/// keeping it occupies a register, and soon causes a spill.
const WINDOW: u32 = 48;

/// The loop under construction.
#[derive(Clone, Copy)]
struct Round {
    counter: Counter,
    /// Number of finished rounds; in a vectorised loop, of the first of two rounds.
    k: Value,
}

/// Writes the functions of a routine one after another into a context: the functions of its parts, then the function
/// with this signature that callers use. After each, `done` takes the context; its argument is the number of the
/// part.
pub(crate) fn functions<I: Imports>(
    routine: &Routine,
    (abi, signature): (Abi, Signature),
    imports: &mut I,
    context: &mut Context,
    mut done: impl FnMut(&mut I, &mut Context, Option<usize>) -> Result<(), JitError>,
) -> Result<(), JitError> {
    if abi.pointer != types::I64 {
        return Err(JitError::UnsupportedHost("addresses do not have 64 bits".to_string()));
    }
    // For each node; reused for all parts, so that the total time is linear.
    let mut known = vec![AvailableValue::default(); routine.kernel.graph.len()];
    let steps = &routine.schedule.steps;
    let parts = routine.scalar.as_ref().map(|scalar| &scalar.parts).filter(|parts| parts.ranges.len() > 1);
    let Some(parts) = parts else {
        context.func.signature = signature;
        write(&mut context.func, (abi, routine), steps, true, &mut known, imports)?;
        return done(imports, context, None);
    };
    for (part, range) in parts.ranges.iter().enumerate() {
        context.func.signature = abi.kernel();
        write(&mut context.func, (abi, routine), &steps[range.clone()], false, &mut known, imports)?;
        done(imports, context, Some(part))?;
    }
    context.func.signature = signature;
    driver(&mut context.func, abi, (parts.ranges.len(), parts.scratch_len), imports);
    done(imports, context, None)
}

/// Writes the function that gives the parts a scratch buffer on its stack and calls them one after another.
fn driver(func: &mut Function, abi: Abi, (parts, scratch): (usize, usize), imports: &mut dyn Imports) {
    let (mut pos, mut args) = abi::begin(func);
    args.truncate(abi::ARGUMENTS);
    let arguments = pos.ins().iconst(abi.pointer, 0);
    args.push(arguments);
    args.push(scratch_buffer(&mut pos, abi, scratch));
    for part in 0..parts {
        let function = imports.part(pos.func, part);
        pos.ins().call(function, &args);
    }
    pos.ins().return_(&[]);
}

/// A buffer of this many doubles on the stack.
fn scratch_buffer(pos: &mut FuncCursor<'_>, abi: Abi, length: usize) -> Value {
    let bytes = (length.max(1) * DOUBLE) as u32;
    let slot = pos.func.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
    pos.ins().stack_addr(abi.pointer, slot, 0)
}

/// Writes one function; `whole`: it contains the whole routine.
fn write(
    func: &mut Function,
    (abi, routine): (Abi, &Routine),
    steps: &[Step],
    whole: bool,
    known: &mut Vec<AvailableValue>,
    imports: &mut dyn Imports,
) -> Result<(), JitError> {
    let (mut pos, args) = abi::begin(func);
    // If a routine has a single part, its scratch buffer is on its own stack.
    let own = routine.scalar.as_ref().map_or(0, |scalar| scalar.parts.scratch_len);
    let buffer = if whole && own > 0 { Some(scratch_buffer(&mut pos, abi, own)) } else { args.get(BUFFER).copied() };
    let mut writer = FunctionWriter {
        routine,
        abi,
        imports,
        pos,
        args,
        buffer,
        functions: Vec::new(),
        known: std::mem::take(known),
        reached: vec![Reached::default(); routine.walks.all.len()],
        undo: Vec::new(),
        rounds: Vec::new(),
        width: Width::One,
        delayed: Vec::new(),
        step: 0,
        kept: Vec::new(),
        keeps: true,
    };
    writer.place_kept()?;
    let (first, rest) = steps.split_at(routine.first.min(steps.len()));
    writer.steps(first)?;
    writer.keeps = false;
    writer.steps(rest)?;
    writer.pos.ins().return_(&[]);
    writer.forget(0);
    *known = writer.known;
    Ok(())
}

/// A function under construction.
struct FunctionWriter<'a, 'f> {
    routine: &'a Routine,
    abi: Abi,
    imports: &'a mut dyn Imports,
    pos: FuncCursor<'f>,
    args: Vec<Value>,
    /// The address of the buffer for hoisted values.
    buffer: Option<Value>,
    functions: Vec<(&'static str, FuncRef)>,
    /// For each node.
    known: Vec<AvailableValue>,
    /// For each walk.
    reached: Vec<Reached>,
    undo: Vec<Undo>,
    /// The enclosing loops, outermost first.
    rounds: Vec<Round>,
    width: Width,
    /// In a vectorised loop: stores that must happen round by round.
    delayed: Vec<(u32, Value)>,
    step: u32,
    /// The start of each hoisted value in the buffer.
    kept: Vec<Value>,
    /// True while they are computed.
    keeps: bool,
}

impl FunctionWriter<'_, '_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), JitError> {
        let mut rest = steps;
        while let [step, more @ ..] = rest {
            self.step += 1;
            rest = more;
            if let (Some(_), [next, after @ ..]) = (&self.routine.scalar, more)
                && let Some((primitive, nodes)) = pair(&self.routine.kernel.graph, step, next)
            {
                self.compute_two(primitive, nodes)?;
                rest = after;
                continue;
            }
            match step {
                Step::Compute(node) => self.compute(*node)?,
                Step::Store(store) => self.store(*store)?,
                Step::Loop(body) => self.run(body)?,
            }
        }
        Ok(())
    }
}

/// A violated invariant of planning: a bug in odec, not a fault of the model.
fn broken(what: &str) -> JitError {
    JitError::Malformed(what.to_string())
}
