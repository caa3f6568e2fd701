//! Fused steps: a whole step of a method as one kernel without loops. The kernel contains f and its derivatives at
//! every stage, so that a step of a small system is one call, its values stay in registers, and its coefficients are
//! constants.
//!
//! A kernel has the usual signature `(t, y, p, w, out)`. `t` is the time at the start of the step and `p` the
//! parameter buffer of the model. `y` holds the memory of the method between steps, `w` the inputs from the driver
//! (step size, tolerances). The method defines the layout of `out`.

pub mod explicit;
pub mod rosenbrock;

use crate::builtin::{arithmetic, logic, rounding};
use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::layout::Layout;
use crate::nest::{Element, Kernel, Store, Target};
use crate::program::{Array, ArrayId, KernelRole, Malformed, Program, Role};
use crate::span::Span;
use crate::stage;

/// Largest number of nodes of a fused step; compiling takes about a millisecond per thousand nodes.
pub const MAX_NODES: usize = 3_000;

/// A fused step under construction.
pub struct StepBuilder<'a> {
    program: &'a Program,
    layout: Layout,
    /// The expressions.
    pub graph: Graph,
    /// Arrays of the step: elements of `y`, parameters, staged values.
    arrays: Vec<Array>,
    /// New positions of the parameters and staged values of the model.
    places: Vec<Option<ArrayId>>,
    fused: bool,
}

impl<'a> StepBuilder<'a> {
    /// An empty step of a model. `kept` and `given` are the lengths of `y` and `w`. With `fused`, sums of products
    /// that are not part of the model are rounded once per term, as [`arithmetic::FMA`], for processors that have the
    /// instruction. `None` for a program with loops.
    pub fn new(program: &'a Program, kept: usize, given: usize, fused: bool) -> Option<Self> {
        let layout = Layout::of(program);
        if !program.is_scalar() {
            return None;
        }
        let mut arrays: Vec<Array> = (0..kept.max(given)).map(|i| scalar(format!("y.{i}"), Role::FirstOrder)).collect();
        let mut place = |array: &Array| {
            let is_parameter =
                matches!(array.role, Role::Parameter | Role::Staged | Role::Table | Role::Discrete | Role::Mode);
            is_parameter.then(|| {
                arrays.push(array.clone());
                ArrayId(arrays.len() as u32 - 1)
            })
        };
        let places = program.arrays.iter().map(&mut place).collect();
        Some(StepBuilder { program, layout, graph: Graph::new(), arrays, places, fused })
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.layout.n
    }

    /// True if the model has a kernel of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.program.kernel(role).is_some()
    }

    /// Element of `y`.
    pub fn kept(&mut self, i: usize) -> NodeId {
        self.graph.read(ArrayId(i as u32))
    }

    /// Element of `w`.
    pub fn given(&mut self, i: usize) -> NodeId {
        self.graph.direction(ArrayId(i as u32))
    }

    /// A kernel of the model at a time and a state: the values that it would store in `out`, and zeros elsewhere. The
    /// operations are those of the kernel, so the values have the same bits. Existing equal expressions are shared.
    ///
    /// # Errors
    /// A store has no position in `out`, which lowering never produces.
    pub fn inline(&mut self, role: KernelRole, t: NodeId, y: &[NodeId]) -> Result<Vec<NodeId>, Malformed> {
        let zero = self.graph.constant(0.0);
        let mut out = vec![zero; self.layout.out_len(self.program, role)];
        let Some(kernel) = self.program.kernel(role) else { return Ok(out) };
        let source = &kernel.graph;
        let live = source.reachable(kernel.stores.iter().map(|store| store.node));
        let mut map = NodeMap::new(source.len());
        for i in (0..source.len()).filter(|&i| live[i]) {
            let id = NodeId(i as u32);
            let new = match source.node(id) {
                Node::Time => t,
                Node::Read(Element::Scalar(array)) => match self.places[array.0 as usize] {
                    Some(place) => self.graph.read(place),
                    None => *y.get(self.layout.state(array)).ok_or(Malformed::NoElement(role))?,
                },
                Node::Direction(_) => return Err(Malformed::NoElement(role)),
                _ => stage::copy(source, id, &map, &mut self.graph),
            };
            map.set(id, new);
        }
        for store in &kernel.stores {
            let position = self.layout.position(self.program, role, store.target);
            let position = position.and_then(|position| out.get_mut(position)).ok_or(Malformed::NoElement(role))?;
            *position = map[store.node];
        }
        Ok(out)
    }

    /// a + b*c.
    pub fn add_product(&mut self, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        if self.fused {
            return self.graph.apply(&arithmetic::FMA, &[b, c, a]);
        }
        let product = self.graph.mul(b, c);
        self.graph.add(a, product)
    }

    /// The sum of products, from the first to the last; `None` without products.
    pub fn sum_of_products(&mut self, products: impl IntoIterator<Item = (NodeId, NodeId)>) -> Option<NodeId> {
        let mut sum = None;
        for (a, b) in products {
            sum = Some(match sum {
                None => self.graph.mul(a, b),
                Some(sum) => self.add_product(sum, a, b),
            });
        }
        sum
    }

    /// The sum of some nodes as a tree of four strands, see [`StepBuilder::norm`].
    pub fn sum(&mut self, terms: &[NodeId]) -> NodeId {
        let mut strands: [Option<NodeId>; 4] = [None; 4];
        for (i, &term) in terms.iter().enumerate() {
            let strand = &mut strands[i % 4];
            *strand = Some(strand.map_or(term, |sum| self.graph.add(sum, term)));
        }
        self.joined(strands)
    }

    fn joined(&mut self, [a, b, c, d]: [Option<NodeId>; 4]) -> NodeId {
        let even = self.plus(a, c);
        let odd = self.plus(b, d);
        self.plus(even, odd).unwrap_or_else(|| self.graph.constant(0.0))
    }

    fn plus(&mut self, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.graph.add(a, b)),
            (one, other) => one.or(other),
        }
    }

    /// |a|.
    pub fn abs(&mut self, a: NodeId) -> NodeId {
        self.graph.apply(&rounding::ABS, &[a])
    }

    /// The larger of two numbers; the second one if either is NaN. This is the maximum instruction of the processor.
    pub fn larger(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let first = self.graph.apply(&logic::LT, &[b, a]);
        self.graph.apply(&logic::IF, &[first, a, b])
    }

    /// The error scale of each unknown for a step from `a` to `b`: atol + rtol max(|a|, |b|), never zero.
    pub fn scales(&mut self, rtol: NodeId, atol: &[NodeId], a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
        let least = self.graph.constant(f64::MIN_POSITIVE);
        let mut scales = Vec::with_capacity(a.len());
        for ((&atol, &a), &b) in atol.iter().zip(a).zip(b) {
            let (a, b) = (self.abs(a), self.abs(b));
            let size = self.larger(a, b);
            let scale = self.add_product(atol, rtol, size);
            scales.push(self.larger(scale, least));
        }
        scales
    }

    /// sqrt(mean((e_i / scale_i)^2)), summed in four strands: unknown i goes to strand i mod 4.
    pub fn norm(&mut self, e: &[NodeId], scales: &[NodeId]) -> NodeId {
        let sum = self.squares(e, scales);
        let n = self.graph.constant(e.len().max(1) as f64);
        let mean = self.graph.div(sum, n);
        self.graph.apply(&crate::builtin::exponential::SQRT, &[mean])
    }

    /// The square of [`StepBuilder::norm`] up to rounding, without a root and a quotient.
    pub fn mean_square(&mut self, e: &[NodeId], scales: &[NodeId]) -> NodeId {
        let sum = self.squares(e, scales);
        let share = self.graph.constant(1.0 / e.len().max(1) as f64);
        self.graph.mul(sum, share)
    }

    fn squares(&mut self, e: &[NodeId], scales: &[NodeId]) -> NodeId {
        let mut strands: [Option<NodeId>; 4] = [None; 4];
        for (i, (&e, &scale)) in e.iter().zip(scales).enumerate() {
            let q = self.graph.div(e, scale);
            strands[i % 4] = Some(match strands[i % 4] {
                None => self.graph.mul(q, q),
                Some(sum) => self.add_product(sum, q, q),
            });
        }
        self.joined(strands)
    }

    /// Zero if all values and their sum are finite, otherwise NaN.
    pub fn nan_unless_finite(&mut self, values: &[NodeId]) -> NodeId {
        let sum = self.sum(values);
        let zero = self.graph.constant(0.0);
        self.graph.mul(sum, zero)
    }

    /// The step as the `Outputs` kernel of a program that stores these nodes in order; `None` if it needs more than
    /// `limit` nodes.
    pub fn finish(self, out: &[NodeId], limit: usize) -> Option<Program> {
        let StepBuilder { program, graph, mut arrays, .. } = self;
        if graph.live(out.iter().copied()).count() > limit {
            return None;
        }
        let mut stores = Vec::with_capacity(out.len());
        for (i, &node) in out.iter().enumerate() {
            stores.push(Store { target: Target::set(ArrayId(arrays.len() as u32)), node });
            arrays.push(scalar(format!("out.{i}"), Role::Output));
        }
        let kernel = Kernel::scalar(KernelRole::Outputs, graph, stores);
        Some(crate::derive::assemble(program.name.clone(), arrays, Vec::new(), Vec::new(), vec![kernel]))
    }
}

fn scalar(name: String, role: Role) -> Array {
    Array {
        name,
        role,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}
