//! A long straight-line kernel without machine code: a list of its operations, interpreted one by one, with the same
//! bits as machine code. It is used until compiling pays: an operation takes about a nanosecond to interpret and a
//! thousand times as long to compile.

use std::sync::{LazyLock, Mutex, TryLockError};

use odec_ir::nest::Element;
use odec_ir::nest::schedule::{Schedule, Step, is_known};
use odec_ir::{KernelRole, Layout, Lowering, Malformed, Node, Op, Primitive, Program, Role, broken, expand};
use pulp::{Arch, Simd, WithSimd};

/// The features of the processor: with a fused multiply-add instruction, the list takes a fraction of the time.
static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// An operation on three registers.
#[derive(Clone, Copy)]
enum Action {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Abs,
    /// The first register plus a sequence of products: the range of [`Replay::products`] from the second number to the
    /// third.
    Sum,
    /// The builtin with this index in [`Replay::others`]; the registers are its arguments.
    Other(u16),
}

/// An operation; its result goes to the register after that of the previous operation.
#[derive(Clone, Copy)]
struct Operation {
    action: Action,
    from: [u32; 3],
}

/// A kernel as a list of operations.
pub(crate) struct Bytecode {
    /// `y`, `p`, constants, results.
    registers: Vec<f64>,
    spare: Mutex<Vec<f64>>,
    n: usize,
    p_len: usize,
    first: usize,
    operations: Vec<Operation>,
    /// Registers of the factors of the products that are added to sums.
    products: Vec<[u32; 2]>,
    others: Vec<Op>,
    /// Element of `out`, register.
    stores: Vec<(u32, u32)>,
}

impl Bytecode {
    /// The outputs kernel of a program, which reads neither time nor directions.
    ///
    /// # Errors
    /// The program is malformed.
    pub(crate) fn of(program: &Program) -> Result<Bytecode, Malformed> {
        let layout = Layout::of(program);
        let Some(kernel) = program.kernel(KernelRole::Outputs) else {
            return Err(Malformed::NoElement(KernelRole::Outputs));
        };
        let kernel = expand::expanded(kernel);
        let steps = Schedule::of(&kernel).steps;
        let (n, p_len) = (layout.n, layout.p_len());
        let mut registers = vec![0.0; n + p_len];
        let mut place = vec![0u32; kernel.graph.len()];
        for (id, node) in kernel.live().filter(|(_, node)| is_known(*node)) {
            place[id.index()] = match node {
                Node::Constant(bits) => {
                    registers.push(f64::from_bits(bits));
                    registers.len() as u32 - 1
                }
                Node::Read(Element::Scalar(array)) => match program.arrays[array.0 as usize].role {
                    Role::Position | Role::Velocity | Role::FirstOrder => layout.state(array) as u32,
                    _ => (n + layout.parameter(array)) as u32,
                },
                _ => return Err(Malformed::NotReadable("t".to_string())),
            };
        }
        let first = registers.len();
        let mut bytecode = Bytecode {
            registers,
            spare: Mutex::default(),
            n,
            p_len,
            first,
            operations: Vec::new(),
            products: Vec::new(),
            others: Vec::new(),
            stores: Vec::new(),
        };
        let mut uses = vec![0u32; kernel.graph.len()];
        for (_, node) in kernel.live() {
            node.operands().iter().for_each(|a| uses[a.index()] += 1);
        }
        kernel.stores.iter().for_each(|store| uses[store.node.index()] += 1);
        // the last operation, if only an adding operation may need its value
        let mut open = None;
        for step in &steps {
            match *step {
                Step::Store(k) => {
                    let store = kernel.stores[k as usize];
                    let position = layout.position(program, KernelRole::Outputs, store.target);
                    let position = position.ok_or(Malformed::NoElement(KernelRole::Outputs))?;
                    bytecode.stores.push((position as u32, place[store.node.index()]));
                }
                Step::Compute(id) => {
                    let Node::Call(op, args) = kernel.graph.node(id) else { broken("a kernel without loops has one") };
                    let from = args.map(|arg| place[arg.index()]);
                    bytecode.append(op, from, open == Some(args[2]))?;
                    place[id.index()] = (first + bytecode.operations.len() - 1) as u32;
                    open = (uses[id.index()] == 1).then_some(id);
                }
                Step::Loop(_) => broken("a kernel without loops has one"),
            }
        }
        bytecode.registers.resize(first + bytecode.operations.len(), 0.0);
        bytecode.spare = Mutex::new(bytecode.registers.clone());
        Ok(bytecode)
    }

    /// Appends an operation; `onwards` if its third argument is the result of the previous one, which nothing else
    /// needs.
    fn append(&mut self, op: Op, from: [u32; 3], onwards: bool) -> Result<(), Malformed> {
        let Lowering::Primitive(Primitive::Fma) = op.0.lowering else {
            let action = match op.0.lowering {
                Lowering::Primitive(Primitive::Add) => Action::Add,
                Lowering::Primitive(Primitive::Sub) => Action::Sub,
                Lowering::Primitive(Primitive::Mul) => Action::Mul,
                Lowering::Primitive(Primitive::Div) => Action::Div,
                Lowering::Primitive(Primitive::Neg) => Action::Neg,
                Lowering::Primitive(Primitive::Abs) => Action::Abs,
                _ => {
                    let known = self.others.iter().position(|other| *other == op).unwrap_or_else(|| {
                        self.others.push(op);
                        self.others.len() - 1
                    });
                    Action::Other(u16::try_from(known).map_err(|_| Malformed::NotReadable(op.0.name.to_string()))?)
                }
            };
            self.operations.push(Operation { action, from });
            return Ok(());
        };
        let [a, b, c] = from;
        self.products.push([a, b]);
        let end = self.products.len() as u32;
        match self.operations.last_mut() {
            Some(Operation { action: Action::Sum, from: [.., last] }) if onwards => *last = end,
            _ => self.operations.push(Operation { action: Action::Sum, from: [c, end - 1, end] }),
        }
        Ok(())
    }

    /// Runs the kernel.
    pub(crate) fn run(&self, y: &[f64], p: &[f64], out: &mut [f64]) {
        match self.spare.try_lock() {
            Ok(mut registers) => self.run_on(&mut registers, y, p, out),
            Err(TryLockError::Poisoned(poisoned)) => self.run_on(&mut poisoned.into_inner(), y, p, out),
            // another thread is using the registers
            Err(TryLockError::WouldBlock) => self.run_on(&mut self.registers.clone(), y, p, out),
        }
    }

    fn run_on(&self, registers: &mut [f64], y: &[f64], p: &[f64], out: &mut [f64]) {
        registers[..self.n].copy_from_slice(&y[..self.n]);
        registers[self.n..self.n + self.p_len].copy_from_slice(&p[..self.p_len]);
        ARCH.dispatch(Pass { bytecode: self, registers });
        for &(position, register) in &self.stores {
            out[position as usize] = registers[register as usize];
        }
    }
}

/// One pass through the list, compiled for this processor.
struct Pass<'a> {
    bytecode: &'a Bytecode,
    registers: &'a mut [f64],
}

impl WithSimd for Pass<'_> {
    type Output = ();

    // a function that is not inlined would be compiled for any processor, where a fused multiply-add is a call
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Pass { bytecode, registers } = self;
        for (k, operation) in bytecode.operations.iter().enumerate() {
            let [a, b, c] = operation.from;
            let x = registers[a as usize];
            let value = match operation.action {
                Action::Sum => {
                    let mut sum = x;
                    for &[a, b] in &bytecode.products[b as usize..c as usize] {
                        sum = registers[a as usize].mul_add(registers[b as usize], sum);
                    }
                    sum
                }
                Action::Mul => x * registers[b as usize],
                Action::Add => x + registers[b as usize],
                Action::Sub => x - registers[b as usize],
                Action::Div => x / registers[b as usize],
                Action::Neg => -x,
                Action::Abs => x.abs(),
                Action::Other(number) => {
                    let op = bytecode.others[usize::from(number)];
                    let arguments = [a, b, c].map(|register| registers[register as usize]);
                    (op.0.value)(&arguments[..usize::from(op.0.arity)])
                }
            };
            registers[bytecode.first + k] = value;
        }
    }
}
