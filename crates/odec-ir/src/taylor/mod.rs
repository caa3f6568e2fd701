//! Taylor coefficients of the solution of y' = f(t, y), by recurrences from order to order (Jorba & Zou 2005, "A software
//! package for the numerical integration of ODEs by means of high-order Taylor methods").
//!
//! Every node of f becomes a power series in the step. Sums, products, quotients, roots and powers have recurrences of
//! their own; any other function c = F(u) has one through the derivative in its row: c' = F'(u) u', so
//! `k c_k = sum over j = 1..=k of j u_j D_(k-j)` with D = F'(u), a node like every other. A condition follows the branch
//! at the expansion point.

mod arrange;
mod lanes;
mod recurrence;

use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::program::{Array, ArrayId, Kernel, KernelRole, Program, Role, Store, Target};
use crate::span::Span;
pub use arrange::MAX_LANES;
pub use lanes::Table;
pub use recurrence::{MAX_NODES, Recurrences, Unsuited};
use recurrence::{Series, coefficient};

/// Most nodes of a kernel of coefficients that is written out for all orders.
pub const MAX_UNROLLED: usize = 20_000;

/// The largest order that is of use in doubles.
pub const MAX_ORDER: usize = 40;

/// The coefficients as a kernel without loops: a program whose inputs are those of `program` and whose `Outputs` kernel
/// stores, for k = 1 ..= order in turn, the n coefficients of h^k. `None` if it would have more than `limit` nodes
/// (usually [`MAX_UNROLLED`]). `fused`: sums of products are rounded once a term, as [`crate::builtin::arithmetic::FMA`], for processors that
/// have the instruction.
pub fn unrolled(
    program: &Program,
    recurrences: &Recurrences,
    order: usize,
    limit: usize,
    fused: bool,
) -> Option<Program> {
    let layout = Layout::of(program);
    if recurrences.has_loops() {
        return None;
    }
    let [part] = recurrences.parts() else {
        return Some(program_of(
            &program.name,
            inputs_of(program).0,
            layout.n,
            order,
            Graph::new(),
            &vec![vec![None; order + 1]; layout.n],
        ));
    };
    let source = &part.graph;
    let mut graph = Graph::new();
    let (inputs, places) = inputs_of(program);
    let nodes = source.len();
    let mut series: Vec<Vec<Option<NodeId>>> = vec![Vec::new(); nodes];
    let mut states: Vec<Vec<Option<NodeId>>> = vec![Vec::new(); layout.n];
    for k in 0..=order {
        for (&i, rule) in &part.rules {
            let value = if k == 0 {
                Some(copy(source, NodeId(i as u32), &series, &places, &mut graph))
            } else {
                let mut algebra =
                    Unroll { graph: &mut graph, series: &series, states: &states, layout: &layout, fused };
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
        let share = graph.constant(1.0 / (k + 1) as f64);
        for &(row, node) in &part.rows {
            let slope = series[node.index()][k].map(|f| graph.mul(f, share));
            states[layout.state(row)].push(slope);
        }
    }
    Some(program_of(&program.name, inputs, layout.n, order, graph, &states))
}

/// The arrays of a model without its outputs, which make room for the coefficients, and where each array went.
fn inputs_of(program: &Program) -> (Vec<Array>, Vec<ArrayId>) {
    let mut inputs: Vec<Array> = Vec::new();
    let mut places: Vec<ArrayId> = Vec::new();
    for array in &program.arrays {
        places.push(ArrayId(inputs.len() as u32));
        if !matches!(array.role, Role::Output | Role::Conserved | Role::Expected) {
            inputs.push(array.clone());
        }
    }
    (inputs, places)
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
    fused: bool,
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

    fn plus(&mut self, sum: NodeId, a: NodeId, b: NodeId) -> NodeId {
        if self.fused {
            return self.graph.apply(&crate::builtin::arithmetic::FMA, &[a, b, sum]);
        }
        let product = self.graph.mul(a, b);
        self.graph.add(sum, product)
    }

    fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.div(a, b)
    }

    fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        self.graph.apply(&crate::builtin::logic::IF, &[condition, a, b])
    }
}
