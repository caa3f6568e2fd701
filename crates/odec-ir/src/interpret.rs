//! The reference interpreter: the semantics of a program. Machine code gives the same bits.

use crate::broken;
use crate::builtin::{Builtin, arithmetic, rounding};
use crate::graph::{Node, NodeId};
use crate::layout::Layout;
use crate::nest::arguments::{ArgumentBlock, Counter, DROPPED, Stride};
use crate::nest::bind::{BoundKernel, BoundMatrix, Words};
use crate::nest::schedule::{Body, LoopReduction, Schedule, Step, is_known};
use crate::nest::{BoundProgram, Element, Kernel, LoopId, ReduceOp, Target};
use crate::number::Number;
use crate::program::{ArrayId, KernelRole, Program, Role};

/// The buffers that a kernel reads. A slice may be shorter than its layout if the kernel does not read the rest.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// Time.
    pub t: T,
    /// State `[q, v, z]`.
    pub y: &'a [T],
    /// Parameters, then staged values.
    pub p: &'a [T],
    /// Direction of a tangent kernel.
    pub w: &'a [T],
}

/// Runs a kernel of a scalar program on f64; `out` has the length [`Layout::out_len`]. Elements without a store
/// become zero. Without a kernel of that role, `out` is unchanged; so are the parameters in `Prepare`.
pub fn run(program: &Program, role: KernelRole, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
    run_on(program, &Layout::of(program), role, Inputs { t, y, p, w }, out);
}

/// [`run`] over any number type, with a given layout. For kernels that run often, [`Interpreter::run_straight`] is
/// faster.
pub fn run_on<T: Number>(program: &Program, layout: &Layout, role: KernelRole, inputs: Inputs<'_, T>, out: &mut [T]) {
    let Some(kernel) = program.kernel(role) else { return };
    scalar(program, layout, (kernel, &Prepared::of(kernel)), inputs, out);
}

/// Runs a kernel without loops.
fn scalar<T: Number>(
    program: &Program,
    layout: &Layout,
    kernel: (&Kernel, &Prepared),
    inputs: Inputs<'_, T>,
    out: &mut [T],
) {
    if kernel.0.role != KernelRole::Prepare {
        out.fill(T::constant(0.0));
    }
    let words = Words { words: &[], tables: &[] };
    Evaluation::new(program, Some(layout), kernel, words, inputs, out).run();
}

/// Bound kernels with the offset tables that their words refer to: from a [`BoundProgram`] or a [`BoundMatrix`].
#[derive(Clone, Copy, Debug)]
pub struct BoundKernels<'a> {
    runs: &'a [BoundKernel],
    tables: &'a [Vec<u32>],
}

impl<'a> From<&'a BoundProgram> for BoundKernels<'a> {
    fn from(bound: &'a BoundProgram) -> BoundKernels<'a> {
        BoundKernels { runs: &bound.runs, tables: &bound.tables }
    }
}

impl<'a> From<&'a BoundMatrix> for BoundKernels<'a> {
    fn from(matrix: &'a BoundMatrix) -> BoundKernels<'a> {
        BoundKernels { runs: &matrix.runs, tables: &matrix.tables }
    }
}

/// A kernel prepared for interpretation.
#[derive(Clone)]
struct Prepared {
    schedule: Schedule,
    arguments: ArgumentBlock,
    /// Nodes whose values are known before the first operation: numbers, time, scalars.
    known: Vec<NodeId>,
}

impl Prepared {
    fn of(kernel: &Kernel) -> Prepared {
        let known = kernel.live().filter(|(_, node)| is_known(*node)).map(|(id, _)| id).collect();
        Prepared { schedule: Schedule::of(kernel), arguments: ArgumentBlock::of(kernel), known }
    }
}

/// A program prepared for interpretation, once for all extents and parameters.
#[derive(Clone)]
pub struct Interpreter {
    kernels: Vec<Prepared>,
    /// Positions of scalars, in a program without index sets.
    layout: Option<Layout>,
}

/// Runs all kernels of a role once. For kernels that run often, [`Interpreter::run`] is faster.
pub fn run_bound<'a, T: Number>(
    program: &Program,
    runs: impl Into<BoundKernels<'a>>,
    role: KernelRole,
    inputs: Inputs<'_, T>,
    out: &mut [T],
) {
    Interpreter::new(program).run(program, runs, role, inputs, out);
}

impl Interpreter {
    /// Prepares the kernels of a program.
    pub fn new(program: &Program) -> Interpreter {
        Interpreter {
            kernels: program.kernels.iter().map(Prepared::of).collect(),
            layout: program.is_scalar().then(|| Layout::of(program)),
        }
    }

    /// Runs all kernels of a role, in their order. Values of a matrix start at zero, and so does any other `out` in a
    /// program without index sets; with index sets, the elements that the role stores are set and the others remain
    /// unchanged. `Prepare` reads `inputs.p` and stores to `out`, both parameter buffers.
    ///
    /// # Panics
    /// A slice ends before an element that the kernel reads or stores.
    pub fn run<'a, T: Number>(
        &self,
        program: &Program,
        runs: impl Into<BoundKernels<'a>>,
        role: KernelRole,
        inputs: Inputs<'_, T>,
        out: &mut [T],
    ) {
        if self.layout.is_some() {
            return self.run_straight(program, role, inputs, out);
        }
        let BoundKernels { runs, tables } = runs.into();
        if role.is_matrix() {
            out.fill(T::constant(0.0));
        }
        for run in runs.iter().filter(|run| program.kernels[run.kernel].role == role && run.points > 0) {
            let kernel = (&program.kernels[run.kernel], &self.kernels[run.kernel]);
            let words = Words { words: &run.words, tables };
            Evaluation::new(program, None, kernel, words, inputs, out).run();
        }
    }

    /// [`Interpreter::run`] for a program without index sets, which needs no binding.
    ///
    /// # Panics
    /// The program has index sets, or as [`Interpreter::run`].
    pub fn run_straight<T: Number>(&self, program: &Program, role: KernelRole, inputs: Inputs<'_, T>, out: &mut [T]) {
        let Some(layout) = &self.layout else { broken("a program with index sets is not bound") };
        let kernel = program.kernels.iter().zip(&self.kernels).find(|(kernel, _)| kernel.role == role);
        if let Some(kernel) = kernel {
            scalar(program, layout, kernel, inputs, out);
        }
    }
}

/// A buffer that an access reads.
#[derive(Clone, Copy)]
enum Buffer {
    State,
    Parameter,
}

/// The position of an element, with the words of the argument block resolved.
struct Position<'a> {
    base: i64,
    table: Option<&'a [u32]>,
    strides: Vec<(usize, i64)>,
}

/// The positions of the matrix entries of a store.
struct EntryTable<'a> {
    table: &'a [u32],
    strides: Vec<(usize, i64)>,
}

/// A running kernel.
struct Evaluation<'a, 'b, T> {
    program: &'a Program,
    /// Positions of scalars; `None` for a kernel with an argument block.
    layout: Option<&'a Layout>,
    kernel: &'a Kernel,
    prepared: &'a Prepared,
    words: Words<'a>,
    inputs: Inputs<'a, T>,
    out: &'b mut [T],
    positions: Vec<Option<Position<'a>>>,
    /// For each store of matrix entries.
    entries: Vec<Option<EntryTable<'a>>>,
    /// Last value of each node.
    values: Vec<T>,
    /// Current round of each loop; the round of the points comes last.
    rounds: Vec<i64>,
}

impl<'a, 'b, T: Number> Evaluation<'a, 'b, T> {
    fn new(
        program: &'a Program,
        layout: Option<&'a Layout>,
        (kernel, prepared): (&'a Kernel, &'a Prepared),
        words: Words<'a>,
        inputs: Inputs<'a, T>,
        out: &'b mut [T],
    ) -> Evaluation<'a, 'b, T> {
        let rounds = vec![0; kernel.space.loops().len() + 1];
        let by_counter = |strides: &[(Counter, Stride)]| -> Vec<(usize, i64)> {
            strides.iter().map(|&(counter, stride)| (row(counter, rounds.len()), words.stride(stride))).collect()
        };
        let arguments = &prepared.arguments;
        let positions = arguments.addresses.iter().map(|place| {
            let place = place.as_ref()?;
            let table = place.table.map(|word| words.table(word));
            Some(Position { base: words.integer(place.base), table, strides: by_counter(&place.strides) })
        });
        let entries = arguments.entries.iter().map(|entries| {
            let entries = entries.as_ref()?;
            Some(EntryTable { table: words.table(entries.table), strides: by_counter(&entries.strides) })
        });
        let mut evaluation = Evaluation {
            positions: positions.collect(),
            entries: entries.collect(),
            // each value is set before it is read
            values: vec![T::constant(f64::NAN); kernel.graph.len()],
            program,
            layout,
            kernel,
            prepared,
            words,
            inputs,
            out,
            rounds,
        };
        for &id in &prepared.known {
            evaluation.values[id.index()] = evaluation.compute(id);
        }
        evaluation
    }

    fn run(&mut self) {
        self.steps(&self.prepared.schedule.steps);
    }

    fn buffer(&self, array: ArrayId) -> Buffer {
        match self.program.arrays[array.0 as usize].role {
            Role::Parameter | Role::Staged | Role::Size | Role::Table | Role::Discrete | Role::Mode => {
                Buffer::Parameter
            }
            Role::Position | Role::Velocity | Role::FirstOrder => Buffer::State,
            Role::Output | Role::Conserved | Role::Expected | Role::Side => broken("a result is read"),
        }
    }

    fn offset(&self, strides: &[(usize, i64)]) -> i64 {
        strides.iter().map(|&(counter, stride)| self.rounds[counter] * stride).sum()
    }

    /// The element of an offset table in the current round.
    fn listed(&self, table: &[u32], strides: &[(usize, i64)]) -> u32 {
        table[usize::try_from(self.offset(strides)).unwrap_or(usize::MAX)]
    }

    /// Position of an element in its buffer.
    fn position(&self, element: Element) -> usize {
        let access = match (element, self.layout) {
            (Element::At(access), _) => access,
            (Element::Scalar(array), Some(layout)) => return layout.start(array),
            (Element::Scalar(_), None) => broken("with index sets a kernel reads through its accesses"),
        };
        let Some(Position { base, table, strides }) = &self.positions[access.0 as usize] else {
            broken("an element has no place");
        };
        let offset = match table {
            Some(table) => i64::from(self.listed(table, strides)),
            None => self.offset(strides),
        };
        usize::try_from(base + offset).unwrap_or(usize::MAX)
    }

    /// The value of a loop's index.
    fn index(&self, l: LoopId) -> T {
        let place = self.prepared.arguments.index[l.0 as usize];
        let round = match place.table {
            Some(word) => i64::from(self.words.table(word)[self.rounds[self.rounds.len() - 1] as usize]),
            None => self.rounds[l.0 as usize],
        };
        T::constant((self.words.integer(place.first) + round) as f64)
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Compute(id) => self.values[id.index()] = self.compute(*id),
                Step::Store(k) => self.store(*k as usize),
                Step::Loop(body) => self.repeat(body),
            }
        }
    }

    fn compute(&self, id: NodeId) -> T {
        match self.kernel.graph.node(id) {
            Node::Constant(bits) => T::constant(f64::from_bits(bits)),
            Node::Time => self.inputs.t,
            Node::Index(l) => self.index(l),
            Node::Read(element) => match self.buffer(self.kernel.array(element)) {
                Buffer::Parameter => self.inputs.p[self.position(element)],
                Buffer::State => self.inputs.y[self.position(element)],
            },
            Node::Direction(element) => self.inputs.w[self.position(element)],
            Node::Call(op, _) if op.lookup().is_some() => self.look_up(id),
            Node::Call(op, [x, y, _]) if x == y && op.0.name == arithmetic::MUL.name => self.values[x.index()].square(),
            Node::Call(op, args) => {
                let args = args.map(|a| self.values[a.index()]);
                T::call(op.0, &args[..usize::from(op.0.arity)])
            }
            Node::Reduce(..) => broken("a reduction is computed outside of its loop"),
        }
    }

    /// A lookup; its value is constant for small changes of its argument.
    fn look_up(&self, id: NodeId) -> T {
        let Some((lookup, table, argument, length)) = self.kernel.graph.lookup(id) else {
            broken("a lookup has no table");
        };
        let first = self.position(table);
        let at = |k: usize| self.inputs.p[first + k].value();
        let argument = self.values[argument.index()];
        T::looked_up(lookup.value(length, at, argument.value()), argument, first)
    }

    fn store(&mut self, k: usize) {
        let store = self.kernel.stores[k];
        let value = self.values[store.node.index()];
        let (position, adds) = match store.target {
            Target::Set(a) => (self.position(a), false),
            Target::Add(a) => (self.position(a), true),
            Target::Entry(Element::Scalar(_), _) => {
                let entry = self.layout.and_then(|l| l.position(self.program, self.kernel.role, store.target));
                (entry.unwrap_or_else(|| broken("an entry is not in its pattern")), false)
            }
            Target::Entry(Element::At(_), _) => {
                let Some(EntryTable { table, strides }) = &self.entries[k] else { broken("an entry has no positions") };
                match self.listed(table, strides) {
                    DROPPED => return,
                    entry => (entry as usize, true),
                }
            }
        };
        let out = &mut self.out[position];
        *out = if adds { T::call(&arithmetic::ADD, &[*out, value]) } else { value };
    }

    fn repeat(&mut self, body: &Body) {
        let rounds = self.words.integer(self.prepared.arguments.rounds(body.counter));
        let counter = row(body.counter, self.rounds.len());
        let mut partials: Vec<Partial<T>> = body.reductions.iter().map(|f| self.begin(f)).collect();
        for k in 0..rounds {
            self.rounds[counter] = k;
            self.steps(&body.steps);
            for partial in &mut partials {
                let term = self.values[partial.term.index()];
                partial.take(term, k);
            }
        }
        for (partial, reduction) in partials.into_iter().zip(&body.reductions) {
            self.values[reduction.node.index()] = partial.end();
        }
    }

    fn begin(&self, &LoopReduction { reduction, over, term, .. }: &LoopReduction) -> Partial<T> {
        let first = self.words.integer(self.prepared.arguments.index[over.0 as usize].first);
        let neutral = match reduction {
            ReduceOp::Sum => 0.0,
            ReduceOp::Product => 1.0,
            ReduceOp::Min | ReduceOp::ArgMin => f64::INFINITY,
            ReduceOp::Max | ReduceOp::ArgMax => f64::NEG_INFINITY,
        };
        Partial { reduction, term, acc: [T::constant(neutral); 4], first, at: first - 1 }
    }
}

/// The index of a counter in a list of rounds: loops in order, the points last.
fn row(counter: Counter, counters: usize) -> usize {
    match counter {
        Counter::Points => counters - 1,
        Counter::Loop(l) => l.0 as usize,
    }
}

/// A reduction in progress.
struct Partial<T> {
    reduction: ReduceOp,
    term: NodeId,
    /// Partial results of sums and products; for minimum and maximum, the first one is the best so far.
    acc: [T; 4],
    /// First index of the loop.
    first: i64,
    /// Index of the best value so far.
    at: i64,
}

impl<T: Number> Partial<T> {
    fn take(&mut self, term: T, k: i64) {
        let with = |row: &'static Builtin, acc: T| T::call(row, &[acc, term]);
        let lane = &mut self.acc[(k & 3) as usize];
        match self.reduction {
            ReduceOp::Sum => *lane = with(&arithmetic::ADD, *lane),
            ReduceOp::Product => *lane = with(&arithmetic::MUL, *lane),
            ReduceOp::Min => self.acc[0] = with(&rounding::MIN, self.acc[0]),
            ReduceOp::Max => self.acc[0] = with(&rounding::MAX, self.acc[0]),
            ReduceOp::ArgMin | ReduceOp::ArgMax => {
                let (best, new) = (self.acc[0].value(), term.value());
                let stays = if self.reduction == ReduceOp::ArgMin { best <= new } else { best >= new };
                if !(stays || best.is_nan()) {
                    (self.acc[0], self.at) = (term, self.first + k);
                }
            }
        }
    }

    fn end(self) -> T {
        let [a, b, c, d] = self.acc;
        let both = |row: &'static Builtin, x: T, y: T| T::call(row, &[x, y]);
        match self.reduction {
            ReduceOp::Sum => both(&arithmetic::ADD, both(&arithmetic::ADD, a, c), both(&arithmetic::ADD, b, d)),
            ReduceOp::Product => both(&arithmetic::MUL, both(&arithmetic::MUL, a, c), both(&arithmetic::MUL, b, d)),
            ReduceOp::Min | ReduceOp::Max => a,
            ReduceOp::ArgMin | ReduceOp::ArgMax => T::constant(self.at as f64),
        }
    }
}
