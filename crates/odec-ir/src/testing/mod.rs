//! Random valid programs with inputs, from a seed, for the tests of this crate and of the backends.

pub mod models;
mod nests;
pub mod pad;

pub use nests::{NestCase, NestShape, nest_case, nest_inputs, nest_program};

use crate::builtin::{self, Builtin, Notation, arithmetic, exponential, logic, rounding, trigonometric};
use crate::derive;
use crate::graph::{Graph, Node, NodeId};
use crate::interpret::Inputs;
use crate::layout::Layout;
use crate::nest::{Element, Kernel, Store, Target};
use crate::number::Number;
use crate::program::{Array, ArrayId, KernelRole, Program, Role};
use crate::span::Span;

/// SplitMix64 (Steele, Lea and Flood 2014): small, seeded, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `lo..hi`.
    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..n`; 0 for `n = 0`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform(0.0, 1.0) < probability
    }
}

/// A program with inputs for it.
#[derive(Clone)]
pub struct Case {
    /// With all kernels.
    pub program: Program,
    /// Time.
    pub t: f64,
    /// State.
    pub y: Vec<f64>,
    /// Parameters, then room for the staged values.
    pub p: Vec<f64>,
    /// Direction.
    pub w: Vec<f64>,
}

/// An array with default attributes.
pub fn array(name: impl Into<String>, role: Role) -> Array {
    Array {
        name: name.into(),
        role,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}

/// The options of [`case`].
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Calls in the right-hand side, before simplification.
    pub calls: usize,
    /// Functions that jump, choose or round.
    pub switches: bool,
    /// True to include special functions, whose formulas expand to hundreds of operations.
    pub special: bool,
    /// One input in four is ±0 or subnormal, one case in 25 has an infinity or NaN.
    pub odd_inputs: bool,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { calls: 24, switches: true, special: true, odd_inputs: true }
    }
}

/// The parts that [`case`] completes to a program.
#[derive(Clone)]
pub struct Parts {
    /// Before staging.
    pub arrays: Vec<Array>,
    /// `Rhs`, `Outputs`, `Initial` and sometimes `Mass`.
    pub kernels: Vec<Kernel>,
    /// Time.
    pub t: f64,
    /// State.
    pub y: Vec<f64>,
    /// Parameters.
    pub p: Vec<f64>,
    /// Direction.
    pub w: Vec<f64>,
}

/// A random program with all kinds of states, parameters, outputs and sometimes a mass matrix. Its values are finite
/// and of moderate size at the inputs, before odd inputs are inserted.
pub fn case(seed: u64, shape: Shape) -> Case {
    let Parts { arrays, kernels, t, y, mut p, w } = parts(seed, shape);
    let program = derive::complete(arrays, kernels, format!("random{seed}"));
    p.resize(Layout::of(&program).p_len(), 0.0);
    Case { program, t, y, p, w }
}

/// The kernels of [`case`], as a front end would build them.
pub fn parts(seed: u64, shape: Shape) -> Parts {
    let mut random = Random::new(seed);
    let mut arrays = Vec::new();
    let second = random.below(3);
    for (prime, role) in [("", Role::Position), ("'", Role::Velocity)] {
        arrays.extend((0..second).map(|i| array(format!("x{i}{prime}"), role)));
    }
    let first = 1 + random.below(5);
    arrays.extend((0..first).map(|i| array(format!("z{i}"), Role::FirstOrder)));
    let parameters = random.below(5);
    arrays.extend((0..parameters).map(|i| array(format!("k{i}"), Role::Parameter)));
    let (outputs, conserved, expected) = (random.below(3), random.below(2), random.below(2));
    arrays.extend((0..outputs).map(|i| array(format!("out{i}"), Role::Output)));
    arrays.extend((0..conserved).map(|i| array(format!("kept{i}"), Role::Conserved)));
    arrays.extend((0..expected).map(|i| array(format!("seen{i}"), Role::Expected)));
    // The order of declaration differs from that of the buffers.
    for i in (1..arrays.len()).rev() {
        if arrays[i].role != Role::Position && arrays[i].role != Role::Velocity {
            let j = random.below(i + 1);
            if arrays[j].role != Role::Position && arrays[j].role != Role::Velocity {
                arrays.swap(i, j);
            }
        }
    }

    let layout = Layout::of_arrays(&arrays);
    let mut t = random.uniform(0.0, 3.0);
    let mut y: Vec<f64> = (0..layout.n).map(|_| random.uniform(-2.0, 2.0)).collect();
    let mut p: Vec<f64> = (0..layout.np).map(|_| random.uniform(-2.0, 2.0)).collect();
    let w: Vec<f64> = (0..layout.n).map(|_| random.uniform(-1.0, 1.0)).collect();

    let of = |roles: &[Role]| -> Vec<ArrayId> {
        (0..arrays.len()).filter(|&i| roles.contains(&arrays[i].role)).map(|i| ArrayId(i as u32)).collect()
    };
    let states = of(&[Role::Position, Role::Velocity, Role::FirstOrder]);
    let mut kernels = Vec::new();
    let plan = [
        (KernelRole::Rhs, of(&[Role::Velocity, Role::FirstOrder]), shape.calls, true),
        (KernelRole::Outputs, of(&[Role::Output, Role::Conserved, Role::Expected]), shape.calls / 2, true),
        (KernelRole::Initial, states.clone(), shape.calls / 4, false),
    ];
    for (role, targets, calls, with_states) in plan {
        let mut growing = Growing { graph: Graph::new(), values: Vec::new(), t };
        for (i, a) in arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            match a.role {
                Role::Position | Role::Velocity | Role::FirstOrder if with_states => {
                    growing.leaf(|g| g.read(id), y[layout.state(id)]);
                }
                Role::Parameter => growing.leaf(|g| g.read(id), p[layout.parameter(id)]),
                _ => {}
            }
        }
        growing.leaf(Graph::time, t);
        for _ in 0..calls {
            growing.grow(&mut random, shape);
        }
        let mut stores: Vec<Store> = targets
            .iter()
            .map(|&target| Store { target: Target::set(target), node: growing.late(&mut random) })
            .collect();
        if role == KernelRole::Rhs {
            let velocities = of(&[Role::Velocity]);
            for (position, velocity) in of(&[Role::Position]).into_iter().zip(velocities) {
                let node = growing.graph.read(velocity);
                stores.push(Store { target: Target::set(position), node });
            }
        }
        kernels.push(Kernel::scalar(role, growing.graph, stores));
    }
    if random.chance(0.3) {
        let varying = random.chance(0.5);
        kernels.push(mass(&mut random, &states, &of(&[Role::Parameter]), varying));
    }
    if shape.odd_inputs {
        make_odd(&mut random, &mut t, &mut y, &mut p);
    }
    Parts { arrays, kernels, t, y, p, w }
}

/// M w by rows. `varying`: most entries depend on states and time.
fn mass(random: &mut Random, states: &[ArrayId], parameters: &[ArrayId], varying: bool) -> Kernel {
    let mut graph = Graph::new();
    let mut stores = Vec::new();
    for (i, &row) in states.iter().enumerate() {
        let node = match parameters.get(random.below(2 * parameters.len())) {
            Some(&p) => graph.read(p),
            None => graph.constant(1.0),
        };
        let times = |graph: &mut Graph, random: &mut Random, node, column: ArrayId| {
            let node = if varying && random.chance(0.7) { vary(graph, random, node, states) } else { node };
            let w = graph.direction(column);
            graph.mul(node, w)
        };
        let mut sum = times(&mut graph, random, node, row);
        if i > 0 && random.chance(0.3) {
            let node = graph.constant(0.25);
            let before = times(&mut graph, random, node, states[i - 1]);
            sum = graph.add(before, sum);
        }
        stores.push(Store { target: Target::set(row), node: sum });
    }
    Kernel::scalar(KernelRole::Mass, graph, stores)
}

/// A node that depends on a given node, two states and time.
fn vary(graph: &mut Graph, random: &mut Random, node: NodeId, states: &[ArrayId]) -> NodeId {
    let [a, b] = [0; 2].map(|_| graph.read(states[random.below(states.len())]));
    let t = graph.time();
    let shifted = graph.add(b, t);
    let wave = graph.apply(&trigonometric::SIN, &[shifted]);
    let product = graph.mul(a, wave);
    graph.add(node, product)
}

fn make_odd(random: &mut Random, t: &mut f64, y: &mut [f64], p: &mut [f64]) {
    let everything_else = random.chance(0.04);
    for x in y.iter_mut().chain(p).chain([t]) {
        if random.chance(0.06) {
            *x = [0.0, -0.0, 5e-324, -1e-310][random.below(4)];
        }
        if everything_else && random.chance(0.4) {
            *x = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e-300][random.below(5)];
        }
    }
}

/// A graph under construction, with the values of its nodes at the inputs.
struct Growing {
    graph: Graph,
    values: Vec<f64>,
    t: f64,
}

impl Growing {
    fn leaf(&mut self, make: impl FnOnce(&mut Graph) -> NodeId, value: f64) {
        make(&mut self.graph);
        self.values.resize(self.graph.len(), value);
    }

    /// Evaluates the new nodes.
    fn settle(&mut self) {
        for i in self.values.len()..self.graph.len() {
            let value = match self.graph.nodes()[i] {
                crate::graph::Node::Constant(bits) => f64::from_bits(bits),
                crate::graph::Node::Call(op, args) => {
                    let args = args.map(|a| self.values[a.index()]);
                    f64::call(op.0, &args[..usize::from(op.0.arity)])
                }
                _ => self.t,
            };
            self.values.push(value);
        }
    }

    fn any(&mut self, random: &mut Random) -> NodeId {
        if random.chance(0.15) {
            let small = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -2.0][random.below(8)];
            let x = if random.chance(0.6) { small } else { random.uniform(-3.0, 3.0) };
            let id = self.graph.constant(x);
            self.settle();
            return id;
        }
        let len = self.graph.len();
        let first = if random.chance(0.4) { len.saturating_sub(8) } else { 0 };
        NodeId((first + random.below(len - first)) as u32)
    }

    /// The value that a row stores: a late node plus a product of two others, so that most leaves are used.
    fn late(&mut self, random: &mut Random) -> NodeId {
        let len = self.graph.len();
        let [a, b, c] = [12, len, len].map(|last| NodeId((len - 1 - random.below(last.min(len))) as u32));
        let product = self.graph.mul(b, c);
        let sum = self.graph.add(a, product);
        self.settle();
        sum
    }

    /// Adds a call; a value that is large or not finite is almost always wrapped in a bounded function.
    fn grow(&mut self, random: &mut Random, shape: Shape) {
        let row = if random.chance(0.5) {
            let common: [&'static Builtin; 5] =
                [&arithmetic::ADD, &arithmetic::SUB, &arithmetic::MUL, &arithmetic::DIV, &arithmetic::NEG];
            common[random.below(common.len())]
        } else {
            let table = builtin::table();
            table[random.below(table.len())]
        };
        let composite = matches!(row.lowering, builtin::Lowering::Expand(_));
        if (row.switches && !shape.switches) || (composite && !shape.special) || row.notation == Notation::Internal {
            return;
        }
        let mut args: Vec<NodeId> = (0..row.arity).map(|_| self.any(random)).collect();
        if !random.chance(0.02) {
            args[0] = self.within(args[0], row.domain);
            if std::ptr::eq(row, &raw const arithmetic::POW) && random.chance(0.5) {
                let exponent = [2.0, 3.0, -1.0, -2.0, 0.5, 1.0, 0.0, 17.0, 1.5][random.below(9)];
                args[1] = self.graph.constant(exponent);
            }
            if std::ptr::eq(row, &raw const arithmetic::DIV) || std::ptr::eq(row, &raw const rounding::MOD) {
                let (size, one) = (self.graph.apply(&rounding::ABS, &[args[1]]), self.graph.constant(0.5));
                args[1] = self.graph.add(size, one);
            }
            if std::ptr::eq(row, &raw const logic::IF) {
                let other = self.any(random);
                args[0] = self.graph.apply(&logic::LT, &[args[0], other]);
            }
        }
        let id = self.graph.apply(row, &args);
        self.settle();
        let value = self.values[id.index()];
        let moderate = value.abs() < 1e3;
        if !moderate && !random.chance(0.01) {
            if value.is_finite() {
                self.graph.apply(&trigonometric::ATAN, &[id]);
            } else {
                // The unused call remains: the last nodes are the likeliest to be stored.
                let replacement = self.graph.apply(&trigonometric::SIN, &[args[usize::from(row.arity) - 1]]);
                self.graph.add(replacement, args[0]);
            }
        }
        self.settle();
    }

    /// An argument moved into a domain by a smooth function, with a margin from its ends.
    fn within(&mut self, x: NodeId, (lo, hi): (f64, f64)) -> NodeId {
        let g = &mut self.graph;
        let id = match (lo.is_finite(), hi.is_finite()) {
            (false, _) => x,
            (true, true) if hi - lo <= 2.0 => {
                let (scale, middle) = (g.constant(0.45 * (hi - lo)), g.constant(0.5 * (lo + hi)));
                let sine = g.apply(&trigonometric::SIN, &[x]);
                let scaled = g.mul(scale, sine);
                g.add(middle, scaled)
            }
            (true, _) => {
                let margin = g.constant(lo + 0.3);
                let one = g.constant(1.0);
                let length = g.apply(&exponential::HYPOT, &[x, one]);
                let length = g.sub(length, one);
                g.add(length, margin)
            }
        };
        self.settle();
        id
    }
}

/// A program with about `operations` calls in its right-hand side, 20 for each state, which is coupled only to its
/// neighbours: it scales like a growing model.
pub fn long(operations: usize, seed: u64) -> Program {
    let mut random = Random::new(seed);
    let states = (operations / 20).max(1);
    let mut arrays: Vec<Array> = (0..states).map(|i| array(format!("z{i}"), Role::FirstOrder)).collect();
    arrays.push(array("k", Role::Parameter));
    let mut graph = Graph::new();
    let mut stores = Vec::with_capacity(states);
    for i in 0..states {
        let near = [i.saturating_sub(1), i, (i + 1).min(states - 1), states].map(|j| graph.read(ArrayId(j as u32)));
        let mut sum = near[1];
        for step in 0..10 {
            let (x, y) = (near[random.below(4)], near[random.below(4)]);
            let product = match (step, random.below(3)) {
                (4, _) => graph.apply(&trigonometric::SIN, &[sum]),
                (_, 0) => graph.mul(x, y),
                (_, 1) => graph.sub(x, sum),
                _ => {
                    let c = graph.constant(random.uniform(0.1, 2.0));
                    graph.mul(c, x)
                }
            };
            sum = if step % 2 == 0 { graph.add(sum, product) } else { graph.mul(sum, product) };
        }
        stores.push(Store { target: Target::set(ArrayId(i as u32)), node: sum });
    }
    derive::complete(arrays, vec![Kernel::scalar(KernelRole::Rhs, graph, stores)], format!("long{operations}"))
}

/// The value of every node of a scalar kernel. Elements outside the given slices are NaN.
pub fn evaluate<T: Number>(program: &Program, layout: &Layout, kernel: &Kernel, inputs: Inputs<'_, T>) -> Vec<T> {
    evaluate_graph(&kernel.graph, inputs.t, |node| {
        let value = match node {
            Node::Read(Element::Scalar(array)) => match program.arrays[array.0 as usize].role {
                Role::Parameter | Role::Staged => inputs.p.get(layout.parameter(array)).copied(),
                _ => inputs.y.get(layout.state(array)).copied(),
            },
            Node::Direction(Element::Scalar(array)) => inputs.w.get(layout.state(array)).copied(),
            _ => None,
        };
        value.unwrap_or_else(|| T::constant(f64::NAN))
    })
}

/// The value of every node of a graph, from the values of the reads and directions.
pub fn evaluate_graph<T: Number>(graph: &Graph, t: T, leaf: impl Fn(Node) -> T) -> Vec<T> {
    let mut values: Vec<T> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let value = match node {
            Node::Constant(bits) => T::constant(f64::from_bits(*bits)),
            Node::Time => t,
            Node::Call(op, args) => {
                let args = args.map(|a| values[a.index()]);
                T::call(op.0, &args[..usize::from(op.0.arity)])
            }
            _ => leaf(*node),
        };
        values.push(value);
    }
    values
}
