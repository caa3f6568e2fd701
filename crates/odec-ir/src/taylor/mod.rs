//! Taylor coefficients of the solution of y' = f(t, y), by recurrences from order to order (Jorba & Zou 2005, "A software
//! package for the numerical integration of ODEs by means of high-order Taylor methods").
//!
//! Every node of f becomes a power series in the step. Sums, products, quotients, roots and powers have their own
//! recurrences. Any other function c = F(u) has one through its derivative: c' = F'(u) u', so `k c_k = sum over j =
//! 1..=k of j u_j D_(k-j)` with D = F'(u), which is a node like any other. A condition follows the branch at the
//! expansion point.

mod arrange;
mod forms;
mod lanes;
mod powers;
mod recurrence;
pub mod step;

use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::nest::{Element, Kernel, Store, Target};
use crate::program::{Array, ArrayId, KernelRole, Program, Role};
use crate::span::Span;
pub use arrange::MAX_LANES;
use forms::Forms;
pub use lanes::SeriesTable;
use recurrence::Rule;
pub use recurrence::{MAX_NODES, Recurrences, Unsuited};

/// Largest number of nodes of an unrolled kernel of coefficients.
pub const MAX_UNROLLED: usize = 20_000;

/// The largest useful order in doubles.
pub const MAX_ORDER: usize = 40;

/// The coefficients as a kernel without loops: a program whose inputs are those of `program` and whose `Outputs`
/// kernel stores, for k = 1 ..= order, the n coefficients of h^k. `None` if it would have more than `limit` nodes
/// (usually [`MAX_UNROLLED`]). With `fused`, sums of products are rounded once per term, as
/// [`crate::builtin::arithmetic::FMA`], for processors that have the instruction.
pub fn unrolled(
    program: &Program,
    recurrences: &Recurrences,
    order: usize,
    limit: usize,
    fused: bool,
) -> Option<Program> {
    let (inputs, places) = inputs_of(program);
    let mut graph = Graph::new();
    let layout = Layout::of(program);
    let mut start = vec![NodeId(0); layout.n];
    for (id, _) in states_of(program) {
        start[layout.state(id)] = graph.read(places[id.0 as usize]);
    }
    let model = Model { program, recurrences, layout: &layout, places: &places };
    let series = model.write(&mut graph, &start, order, limit, fused)?;
    let coefficients = series.iter().map(|series| &series[1..]);
    let stores = by_order(coefficients, order, &mut graph);
    Some(program_of(&program.name, inputs, graph, &stores))
}

/// The states of a program.
fn states_of(program: &Program) -> impl Iterator<Item = (ArrayId, &Array)> {
    program.arrays.iter().enumerate().filter(|(_, a)| a.role.is_state()).map(|(i, a)| (ArrayId(i as u32), a))
}

/// The inputs of the coefficients.
struct Model<'a> {
    program: &'a Program,
    recurrences: &'a Recurrences,
    layout: &'a Layout,
    /// New position of each array of the model.
    places: &'a [ArrayId],
}

impl Model<'_> {
    /// The nonzero coefficients of order 0 ..= `order` of each state, with the expansion point `start`.
    /// `None`: more than `limit` nodes, or a program with loops.
    fn write(
        &self,
        graph: &mut Graph,
        start: &[NodeId],
        order: usize,
        limit: usize,
        fused: bool,
    ) -> Option<Vec<Vec<Option<NodeId>>>> {
        let Model { program, recurrences, layout, places } = *self;
        if !recurrences.is_scalar() {
            return None;
        }
        let given = graph.len();
        let mut states: Vec<Vec<Option<NodeId>>> = start.iter().map(|&node| vec![Some(node)]).collect();
        let [part] = recurrences.parts() else {
            for series in &mut states {
                series.resize(order + 1, None);
            }
            return Some(states);
        };
        let source = &part.graph;
        let mut read: Vec<Option<NodeId>> = vec![None; program.arrays.len()];
        for (id, _) in states_of(program) {
            read[id.0 as usize] = Some(start[layout.state(id)]);
        }
        let mut zeroth: Vec<Option<NodeId>> = vec![None; source.len()];
        for &i in part.rules.keys() {
            zeroth[i] = Some(copy(source, NodeId(i as u32), &zeroth, (&read, places), graph));
        }
        let rows = part.rows.iter().map(|(_, node)| node.index());
        let mut forms = Forms::new(graph, &part.rules, (zeroth, given), rows, layout.n, fused);
        for k in 0..order {
            if k > 0 {
                let newest = |rule: &Rule| match *rule {
                    Rule::State(Element::Scalar(array)) => states[layout.state(array)][k],
                    _ => None,
                };
                forms.order(k, newest);
            }
            // y_(k+1) = f_k/(k+1)
            for &(row, node) in &part.rows {
                let next = forms.scaled(node.index(), k, 1.0 / (k + 1) as f64);
                states[layout.state(row)].push(next);
            }
            if forms.graph.len() > limit {
                return None;
            }
        }
        for series in &mut states {
            series.resize(order + 1, None);
        }
        Some(states)
    }
}

/// The coefficients of the states in storage order: all of h, all of h^2, ...
fn by_order<'a>(states: impl Iterator<Item = &'a [Option<NodeId>]>, order: usize, graph: &mut Graph) -> Vec<NodeId> {
    let states: Vec<&[Option<NodeId>]> = states.collect();
    let mut stores = Vec::with_capacity(states.len() * order);
    for k in 0..order {
        stores.extend(states.iter().map(|series| series[k].unwrap_or_else(|| graph.constant(0.0))));
    }
    stores
}

/// The arrays of a model without its outputs, which the coefficients replace, and the new position of each array.
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

/// The program of a kernel: the inputs of the model, then one output for each node.
fn program_of(name: &str, mut arrays: Vec<Array>, graph: Graph, nodes: &[NodeId]) -> Program {
    let mut stores = Vec::with_capacity(nodes.len());
    for (i, &node) in nodes.iter().enumerate() {
        stores.push(Store { target: Target::set(ArrayId(arrays.len() as u32)), node });
        arrays.push(scalar(format!("result.{i}"), Role::Output));
    }
    let kernel = Kernel::scalar(KernelRole::Outputs, graph, stores);
    crate::derive::assemble(name.to_owned(), arrays, Vec::new(), Vec::new(), vec![kernel])
}

/// A number that does not belong to a model.
fn scalar(name: String, role: Role) -> Array {
    let span = Span::default();
    Array { name, role, axes: Vec::new(), default: 0.0, data: Vec::new().into(), unit: None, doc: None, span }
}

/// Copies a node of order 0 whose operands were copied; `read` are the nodes of states, `places` the new positions of
/// other arrays.
fn copy(
    from: &Graph,
    id: NodeId,
    zeroth: &[Option<NodeId>],
    (read, places): (&[Option<NodeId>], &[ArrayId]),
    into: &mut Graph,
) -> NodeId {
    match from.node(id) {
        Node::Call(op, _) => {
            let node = from.node(id);
            let operands: Vec<NodeId> = node.operands().iter().map(|a| zeroth[a.index()].unwrap_or(*a)).collect();
            into.call(op, &operands)
        }
        Node::Read(Element::Scalar(array)) => {
            read[array.0 as usize].unwrap_or_else(|| into.read(places[array.0 as usize]))
        }
        leaf => into.insert(leaf),
    }
}
