//! Taylor coefficients of the solution of y' = f(t, y), by recurrences from order to order (Jorba & Zou 2005, "A software
//! package for the numerical integration of ODEs by means of high-order Taylor methods").
//!
//! Every node of f becomes a power series in the step. Sums, products, quotients, roots and powers have recurrences of
//! their own; any other function c = F(u) has one through the derivative in its row: c' = F'(u) u', so
//! `k c_k = sum over j = 1..=k of j u_j D_(k-j)` with D = F'(u), a node like every other. A condition follows the branch
//! at the expansion point.

mod recurrence;

use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::program::{Array, ArrayId, Kernel, KernelRole, Program, Role, Store, Target};
use crate::span::Span;
pub use recurrence::{MAX_NODES, Recurrences, Unsuited};
use recurrence::{Series, coefficient};

/// Most nodes of a kernel of coefficients that is written out for all orders.
pub const MAX_UNROLLED: usize = 20_000;

/// The largest order that is of use in doubles.
pub const MAX_ORDER: usize = 40;

/// The coefficients as a kernel without loops: a program whose inputs are those of `program` and whose `Outputs` kernel
/// stores, for k = 1 ..= order in turn, the n coefficients of h^k. `None` if it would have more than `limit` nodes
/// (usually [`MAX_UNROLLED`]).
pub fn unrolled(program: &Program, recurrences: &Recurrences, order: usize, limit: usize) -> Option<Program> {
    let layout = Layout::of(program);
    let source = recurrences.graph();
    let mut graph = Graph::new();
    // the model's own outputs make room for the coefficients
    let mut inputs: Vec<Array> = Vec::new();
    let mut places: Vec<ArrayId> = Vec::new();
    for array in &program.arrays {
        places.push(ArrayId(inputs.len() as u32));
        if !matches!(array.role, Role::Output | Role::Conserved | Role::Expected) {
            inputs.push(array.clone());
        }
    }
    let nodes = source.len();
    let mut series: Vec<Vec<Option<NodeId>>> = vec![Vec::new(); nodes];
    let mut states: Vec<Vec<Option<NodeId>>> = vec![Vec::new(); layout.n];
    for k in 0..=order {
        for (i, rule) in recurrences.rules() {
            let value = if k == 0 {
                Some(copy(source, NodeId(i as u32), &series, &places, &mut graph))
            } else {
                let mut algebra = Unroll { graph: &mut graph, series: &series, states: &states, layout: &layout };
                coefficient(&mut algebra, i, rule, k)
            };
            series[i].push(value);
            if graph.len() > limit {
                return None;
            }
        }
        if k == 0 {
            for (id, array) in program.arrays.iter().enumerate() {
                if matches!(array.role, Role::Position | Role::Velocity | Role::FirstOrder) {
                    let id = ArrayId(id as u32);
                    states[layout.state(id)].push(Some(graph.read(places[id.0 as usize])));
                }
            }
        }
        // y_(k+1) = f_k/(k+1)
        let divisor = graph.constant((k + 1) as f64);
        for &(row, node) in recurrences.rows() {
            let slope = series[node.index()][k].map(|f| graph.div(f, divisor));
            states[layout.state(row)].push(slope);
        }
    }
    Some(program_of(&program.name, inputs, layout.n, order, graph, &states))
}

/// The program of the coefficients: the inputs of the model, then one output for each.
fn program_of(
    name: &str,
    mut arrays: Vec<Array>,
    n: usize,
    order: usize,
    mut graph: Graph,
    states: &[Vec<Option<NodeId>>],
) -> Program {
    let mut stores = Vec::with_capacity(n * order);
    for k in 1..=order {
        for (i, series) in states.iter().enumerate() {
            let node = series[k].unwrap_or_else(|| graph.constant(0.0));
            stores.push(Store { target: Target::Element(ArrayId(arrays.len() as u32)), node });
            arrays.push(Array {
                name: format!("coefficient.{k}.{i}"),
                role: Role::Output,
                axes: Vec::new(),
                default: 0.0,
                data: Vec::new(),
                unit: None,
                doc: None,
                span: Span::default(),
            });
        }
    }
    let kernel = Kernel { role: KernelRole::Outputs, graph, stores };
    crate::derive::assemble(name.to_owned(), arrays, vec![kernel])
}

/// Copies a node of order 0 whose operands were copied; `inputs` says where each array went.
fn copy(from: &Graph, id: NodeId, series: &[Vec<Option<NodeId>>], inputs: &[ArrayId], into: &mut Graph) -> NodeId {
    match from.node(id) {
        Node::Call(op, _) => {
            let node = from.node(id);
            let operands: Vec<NodeId> =
                node.operands().iter().map(|a| series[a.index()].first().copied().flatten().unwrap_or(*a)).collect();
            into.call(op, &operands)
        }
        Node::Read(array) => into.read(inputs[array.0 as usize]),
        leaf => into.insert(leaf),
    }
}

/// Coefficients as nodes.
struct Unroll<'a> {
    graph: &'a mut Graph,
    series: &'a [Vec<Option<NodeId>>],
    states: &'a [Vec<Option<NodeId>>],
    layout: &'a Layout,
}

impl Series for Unroll<'_> {
    type Number = NodeId;

    fn get(&self, node: usize, k: usize) -> Option<NodeId> {
        self.series[node].get(k).copied().flatten()
    }

    fn state(&self, array: ArrayId, k: usize) -> Option<NodeId> {
        self.states[self.layout.state(array)].get(k).copied().flatten()
    }

    fn number(&mut self, x: f64) -> NodeId {
        self.graph.constant(x)
    }

    fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(a, b)
    }

    fn sub(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.sub(a, b)
    }

    fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.mul(a, b)
    }

    fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.div(a, b)
    }

    fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        self.graph.apply(&crate::builtin::logic::IF, &[condition, a, b])
    }
}

/// Coefficients as numbers, order by order: for systems too large to be written out.
#[derive(Clone, Debug, Default)]
pub struct Jets {
    values: Vec<f64>,
    states: Vec<f64>,
    stride: usize,
    slots: Vec<usize>,
}

impl Jets {
    /// The coefficients of h^1 ..= h^order at (t, y), n for each, as the kernel of [`unrolled`] gives them (to rounding:
    /// sums of structural zeros are not left out here).
    pub fn evaluate(
        &mut self,
        program: &Program,
        layout: &Layout,
        recurrences: &Recurrences,
        inputs: crate::interpret::Inputs<'_, f64>,
        order: usize,
        out: &mut [f64],
    ) {
        let graph = recurrences.graph();
        self.stride = order + 1;
        self.values.clear();
        self.values.resize(graph.len() * self.stride, 0.0);
        self.states.clear();
        self.states.resize(layout.n * (order + 2), 0.0);
        self.slots = (0..program.arrays.len()).map(|i| layout.start(ArrayId(i as u32))).collect();
        let zeroth = crate::interpret::evaluate_graph(graph, inputs.t, |node| match node {
            Node::Read(array) => match program.arrays[array.0 as usize].role {
                Role::Position | Role::Velocity | Role::FirstOrder => inputs.y[layout.state(array)],
                _ => inputs.p[layout.parameter(array)],
            },
            _ => f64::NAN,
        });
        for (i, &y) in inputs.y.iter().enumerate() {
            self.states[i * (order + 2)] = y;
        }
        for k in 0..=order {
            for (i, rule) in recurrences.rules() {
                let value = if k == 0 { zeroth[i] } else { coefficient(self, i, rule, k).unwrap_or(0.0) };
                self.values[i * self.stride + k] = value;
            }
            for &(row, node) in recurrences.rows() {
                let slope = self.values[node.index() * self.stride + k] / (k + 1) as f64;
                self.states[layout.state(row) * (order + 2) + k + 1] = slope;
            }
        }
        for k in 1..=order {
            for i in 0..layout.n {
                out[(k - 1) * layout.n + i] = self.states[i * (order + 2) + k];
            }
        }
    }
}

impl Series for Jets {
    type Number = f64;

    fn get(&self, node: usize, k: usize) -> Option<f64> {
        Some(self.values[node * self.stride + k])
    }

    fn state(&self, array: ArrayId, k: usize) -> Option<f64> {
        Some(self.states[self.slots[array.0 as usize] * (self.stride + 1) + k])
    }

    fn number(&mut self, x: f64) -> f64 {
        x
    }

    fn add(&mut self, a: f64, b: f64) -> f64 {
        a + b
    }

    fn sub(&mut self, a: f64, b: f64) -> f64 {
        a - b
    }

    fn mul(&mut self, a: f64, b: f64) -> f64 {
        a * b
    }

    fn div(&mut self, a: f64, b: f64) -> f64 {
        a / b
    }

    fn select(&mut self, condition: f64, a: f64, b: f64) -> f64 {
        if condition != 0.0 { a } else { b }
    }
}
