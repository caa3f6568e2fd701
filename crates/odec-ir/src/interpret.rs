//! The reference interpreter: the semantics of a program. Machine code gives the same bits.

use crate::builtin::{Builtin, arithmetic, rounding};
use crate::graph::{Node, NodeId};
use crate::layout::Layout;
use crate::nest::bind::{BoundKernel, BoundMatrix, ListId, Word};
use crate::nest::frame::{Counter, DROPPED, Frame, Place, Slots, Stride};
use crate::nest::schedule::{Body, Schedule, Step};
use crate::nest::{BoundProgram, Element, Fold, Kernel, LoopId, Target};
use crate::number::Number;
use crate::program::{ArrayId, KernelRole, Program, Role};

/// The buffers that a kernel reads. Slices may be shorter than the layout where the kernel reads nothing of them.
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

/// Runs a kernel of a straight program on f64; `out` has the length that [`Layout::out_len`] says. Elements
/// without a store are zero. Without a kernel of that role `out` is left as it is, and so are the parameters by `Prepare`.
pub fn run(program: &Program, role: KernelRole, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
    run_on(program, &Layout::of(program), role, Inputs { t, y, p, w }, out);
}

/// [`run`] over any number type, with the layout at hand.
pub fn run_on<T: Number>(program: &Program, layout: &Layout, role: KernelRole, inputs: Inputs<'_, T>, out: &mut [T]) {
    let Some(kernel) = program.kernel(role) else { return };
    if role != KernelRole::Prepare {
        out.fill(T::constant(0.0));
    }
    let (schedule, frame) = (Schedule::of(kernel), Frame::default());
    let words = Words { frame: &frame, words: &[], lists: &[] };
    Evaluation::new(program, Some(layout), kernel, words, inputs, out).steps(&schedule.steps);
}

/// Kernels with their frames: those of a [`BoundProgram`] or of a [`BoundMatrix`].
#[derive(Clone, Copy, Debug)]
pub struct BoundKernels<'a> {
    runs: &'a [BoundKernel],
    lists: &'a [Vec<u32>],
}

impl<'a> From<&'a BoundProgram> for BoundKernels<'a> {
    fn from(bound: &'a BoundProgram) -> BoundKernels<'a> {
        BoundKernels { runs: &bound.runs, lists: &bound.lists }
    }
}

impl<'a> From<&'a BoundMatrix> for BoundKernels<'a> {
    fn from(matrix: &'a BoundMatrix) -> BoundKernels<'a> {
        BoundKernels { runs: &matrix.runs, lists: &matrix.lists }
    }
}

/// A program with index sets made ready for interpretation, once for all extents and parameters.
#[derive(Clone)]
pub struct Interpreter {
    kernels: Vec<(Schedule, Frame)>,
}

/// Runs all kernels of a role once, as [`Interpreter::run`], which serves better where they run often.
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
    /// Schedules the kernels of a program.
    pub fn new(program: &Program) -> Interpreter {
        Interpreter {
            kernels: program.kernels.iter().map(|kernel| (Schedule::of(kernel), Frame::of(kernel))).collect(),
        }
    }

    /// Runs all kernels of a role, in their order. The values of a matrix begin at zero; of another `out` all elements that
    /// the role stores are set, the others stay as they are. `Prepare` reads `inputs.p` and stores to `out`, both
    /// parameter buffers. What lies outside a given slice is NaN.
    pub fn run<'a, T: Number>(
        &self,
        program: &Program,
        runs: impl Into<BoundKernels<'a>>,
        role: KernelRole,
        inputs: Inputs<'_, T>,
        out: &mut [T],
    ) {
        let BoundKernels { runs, lists } = runs.into();
        if role.is_matrix() {
            out.fill(T::constant(0.0));
        }
        for run in runs {
            let kernel = &program.kernels[run.kernel];
            if kernel.role == role && run.points > 0 {
                let (schedule, frame) = &self.kernels[run.kernel];
                let words = Words { frame, words: &run.words, lists };
                Evaluation::new(program, None, kernel, words, inputs, out).steps(&schedule.steps);
            }
        }
    }
}

/// A buffer that an access reads.
#[derive(Clone, Copy)]
enum Buffer {
    State,
    Parameter,
}

/// An element's position with the words of the frame looked up.
struct Position<'a> {
    base: i64,
    list: Option<&'a [u32]>,
    strides: Vec<(usize, i64)>,
}

/// Where a store finds the slot of a matrix entry.
struct EntrySlots<'a> {
    list: &'a [u32],
    strides: Vec<(usize, i64)>,
}

/// A frame with its words.
#[derive(Clone, Copy)]
struct Words<'a> {
    frame: &'a Frame,
    words: &'a [Word],
    lists: &'a [Vec<u32>],
}

/// A kernel that is running.
struct Evaluation<'a, 'b, T> {
    program: &'a Program,
    /// Where scalars are; kernels with frames have none.
    layout: Option<&'a Layout>,
    kernel: &'a Kernel,
    words: Words<'a>,
    inputs: Inputs<'a, T>,
    out: &'b mut [T],
    positions: Vec<Option<Position<'a>>>,
    /// By store, for those of matrix entries.
    slots: Vec<Option<EntrySlots<'a>>>,
    /// Value of each node when last computed.
    values: Vec<T>,
    /// Round of each loop, then of the points.
    rounds: Vec<i64>,
}

impl<'a, 'b, T: Number> Evaluation<'a, 'b, T> {
    fn new(
        program: &'a Program,
        layout: Option<&'a Layout>,
        kernel: &'a Kernel,
        words: Words<'a>,
        inputs: Inputs<'a, T>,
        out: &'b mut [T],
    ) -> Evaluation<'a, 'b, T> {
        let constant = |node: &Node| match node {
            Node::Constant(bits) => T::constant(f64::from_bits(*bits)),
            _ => T::constant(f64::NAN),
        };
        let mut evaluation = Evaluation {
            program,
            layout,
            kernel,
            words,
            inputs,
            out,
            positions: Vec::new(),
            slots: Vec::new(),
            values: kernel.graph.nodes().iter().map(constant).collect(),
            rounds: vec![0; kernel.space.loops().len() + 1],
        };
        let position = |place: &Option<Place>| {
            let place = place.as_ref()?;
            let list = place.list.map(|word| evaluation.list(word));
            let strides = evaluation.strides(&place.strides);
            Some(Position { base: evaluation.integer(place.base), list, strides })
        };
        let positions = words.frame.places.iter().map(position).collect();
        let slots = |s: &Slots| EntrySlots { list: evaluation.list(s.list), strides: evaluation.strides(&s.strides) };
        evaluation.slots = words.frame.slots.iter().map(|s| s.as_ref().map(slots)).collect();
        evaluation.positions = positions;
        evaluation
    }

    fn buffer(&self, array: ArrayId) -> Buffer {
        match self.program.arrays[array.0 as usize].role {
            Role::Parameter | Role::Staged | Role::Size | Role::Table => Buffer::Parameter,
            _ => Buffer::State,
        }
    }

    fn integer(&self, word: u32) -> i64 {
        match self.words.words.get(word as usize) {
            Some(Word::Integer(x)) => *x,
            _ => 0,
        }
    }

    fn list(&self, word: u32) -> &'a [u32] {
        match self.words.words.get(word as usize) {
            Some(Word::List(ListId(id))) => self.words.lists.get(*id as usize).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    fn counter(&self, counter: Counter) -> usize {
        match counter {
            Counter::Points => self.rounds.len() - 1,
            Counter::Loop(l) => l.0 as usize,
        }
    }

    fn strides(&self, strides: &[(Counter, Stride)]) -> Vec<(usize, i64)> {
        let step = |stride| match stride {
            Stride::One => 1,
            Stride::Word(word) => self.integer(word),
        };
        strides.iter().map(|&(counter, stride)| (self.counter(counter), step(stride))).collect()
    }

    fn offset(&self, strides: &[(usize, i64)]) -> i64 {
        strides.iter().map(|&(counter, stride)| self.rounds[counter] * stride).sum()
    }

    /// Position of an element in its buffer; out of every buffer if the frame has none.
    fn position(&self, element: Element) -> usize {
        let access = match element {
            Element::Scalar(array) => return self.layout.map_or(usize::MAX, |layout| layout.start(array)),
            Element::At(access) => access,
        };
        let Some(position) = &self.positions[access.0 as usize] else { return usize::MAX };
        let offset = self.offset(&position.strides);
        let offset = match position.list {
            Some(list) => usize::try_from(offset).ok().and_then(|k| list.get(k)).map_or(-1, |&x| i64::from(x)),
            None => offset,
        };
        usize::try_from(position.base + offset).unwrap_or(usize::MAX)
    }

    /// The value of a loop's index.
    fn index(&self, l: LoopId) -> T {
        let place = self.words.frame.index[l.0 as usize];
        let round = match place.list {
            Some(word) => self.list(word).get(self.rounds[self.rounds.len() - 1] as usize).map_or(0, |&x| i64::from(x)),
            None => self.rounds[l.0 as usize],
        };
        T::constant((self.integer(place.first) + round) as f64)
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Compute(id) => self.values[id.index()] = self.compute(self.kernel.graph.node(*id)),
                Step::Store(k) => self.store(*k as usize),
                Step::Loop(body) => self.run(body),
            }
        }
    }

    fn compute(&self, node: Node) -> T {
        let at = |buffer: &[T], element| buffer.get(self.position(element)).copied();
        let value = match node {
            Node::Time => Some(self.inputs.t),
            Node::Index(l) => Some(self.index(l)),
            Node::Read(element) => match self.buffer(self.kernel.array(element)) {
                Buffer::Parameter => at(self.inputs.p, element),
                Buffer::State => at(self.inputs.y, element),
            },
            Node::Direction(element) => at(self.inputs.w, element),
            Node::Call(op, args) => {
                let args = args.map(|a| self.values[a.index()]);
                Some(T::call(op.0, &args[..usize::from(op.0.arity)]))
            }
            Node::Constant(_) | Node::Fold(..) => None,
        };
        value.unwrap_or_else(|| T::constant(f64::NAN))
    }

    fn store(&mut self, k: usize) {
        let store = self.kernel.stores[k];
        let value = self.values[store.node.index()];
        let (position, adds) = match store.target {
            Target::Set(a) => (self.position(a), false),
            Target::Add(a) => (self.position(a), true),
            Target::Entry(Element::Scalar(_), _) => {
                let slot = self.layout.and_then(|l| l.slot(self.program, self.kernel.role, store.target));
                (slot.unwrap_or(usize::MAX), false)
            }
            Target::Entry(Element::At(_), _) => {
                let Some(EntrySlots { list, strides }) = &self.slots[k] else { return };
                match usize::try_from(self.offset(strides)).ok().and_then(|k| list.get(k)) {
                    None | Some(&DROPPED) => return,
                    Some(&slot) => (slot as usize, true),
                }
            }
        };
        if let Some(out) = self.out.get_mut(position) {
            *out = if adds { T::call(&arithmetic::ADD, &[*out, value]) } else { value };
        }
    }

    fn run(&mut self, body: &Body) {
        let rounds = match (body.counter, self.words.frame.points) {
            (Counter::Points, Some(word)) => self.integer(word),
            (Counter::Points, None) => 0,
            (Counter::Loop(l), _) => self.integer(self.words.frame.count[l.0 as usize]),
        };
        let counter = self.counter(body.counter);
        let mut partials: Vec<Partial<T>> = body.folds.iter().map(|&f| self.begin(f)).collect();
        for k in 0..rounds {
            self.rounds[counter] = k;
            self.steps(&body.steps);
            for partial in &mut partials {
                let term = self.values[partial.term.index()];
                partial.take(term, k);
            }
        }
        for (partial, fold) in partials.into_iter().zip(&body.folds) {
            self.values[fold.index()] = partial.end();
        }
    }

    fn begin(&self, fold: NodeId) -> Partial<T> {
        let (kind, over, term) = match self.kernel.graph.node(fold) {
            Node::Fold(kind, over, term) => (kind, over, term),
            // Schedules list folds only.
            _ => (Fold::Sum, LoopId(0), fold),
        };
        let first = self.integer(self.words.frame.index[over.0 as usize].first);
        let neutral = match kind {
            Fold::Sum => 0.0,
            Fold::Product => 1.0,
            Fold::Min | Fold::ArgMin => f64::INFINITY,
            Fold::Max | Fold::ArgMax => f64::NEG_INFINITY,
        };
        Partial { kind, term, acc: [T::constant(neutral); 4], first, at: first - 1 }
    }
}

/// A fold in progress.
struct Partial<T> {
    kind: Fold,
    term: NodeId,
    /// Partial results of sums and products; otherwise the first is the best so far.
    acc: [T; 4],
    /// First index of the loop.
    first: i64,
    /// Index of the best so far.
    at: i64,
}

impl<T: Number> Partial<T> {
    fn take(&mut self, term: T, k: i64) {
        let with = |row: &'static Builtin, acc: T| T::call(row, &[acc, term]);
        let lane = &mut self.acc[(k & 3) as usize];
        match self.kind {
            Fold::Sum => *lane = with(&arithmetic::ADD, *lane),
            Fold::Product => *lane = with(&arithmetic::MUL, *lane),
            Fold::Min => self.acc[0] = with(&rounding::MIN, self.acc[0]),
            Fold::Max => self.acc[0] = with(&rounding::MAX, self.acc[0]),
            Fold::ArgMin | Fold::ArgMax => {
                let (best, new) = (self.acc[0].value(), term.value());
                let stays = if self.kind == Fold::ArgMin { best <= new } else { best >= new };
                if !(stays || best.is_nan()) {
                    (self.acc[0], self.at) = (term, self.first + k);
                }
            }
        }
    }

    fn end(self) -> T {
        let [a, b, c, d] = self.acc;
        let both = |row: &'static Builtin, x: T, y: T| T::call(row, &[x, y]);
        match self.kind {
            Fold::Sum => both(&arithmetic::ADD, both(&arithmetic::ADD, a, c), both(&arithmetic::ADD, b, d)),
            Fold::Product => both(&arithmetic::MUL, both(&arithmetic::MUL, a, c), both(&arithmetic::MUL, b, d)),
            Fold::Min | Fold::Max => a,
            Fold::ArgMin | Fold::ArgMax => T::constant(self.at as f64),
        }
    }
}
