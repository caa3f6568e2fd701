//! Exact derivatives: from the kernels of a model to the complete program.

mod assume;
mod compare;
mod folds;
mod gradient;
mod mass;
mod nests;
mod sensitivity;
mod tangent;

pub use compare::{EntryComparison, MAX_ROWS, MIN_COLUMNS, Variable, compare, compare_bound, dual_column};
pub use gradient::{MAX_DERIVATIVE_TERMS, gradients};
pub use nests::complete_nests;
pub use sensitivity::{nest_sensitivities, sensitivities};
pub use tangent::{call_tangent, tangent};

use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::program::{Array, ArrayId, Kernel, KernelRole, Pattern, Program, Role, Store, Target};
use crate::stage;

/// Adds Jacobian, tangent, df/dt and df/dp kernels to the given ones (`Rhs`, `Initial`, `Outputs`, and `Mass` if M is
/// not the identity), d(M w)/dy and d(M w)/dt if M depends on more than parameters, and hoists what depends on parameters
/// alone into the `Prepare` kernel.
///
/// A `Jacobian` entry exists where the row depends on the column through operations with a derivative; `Tangent` and
/// `TimeDerivative` store every row, zero or not. A matrix of more than [`MAX_DERIVATIVE_TERMS`] products is left out:
/// the program then has no kernel of that role.
pub fn complete(mut arrays: Vec<Array>, kernels: Vec<Kernel>, name: impl Into<String>) -> Program {
    let layout = Layout::of_arrays(&arrays);
    let mut derived = Vec::new();
    let inverted = |kernel: Kernel| match kernel.role {
        // What is recorded is the number that the model says.
        KernelRole::Initial | KernelRole::Outputs | KernelRole::Mass => kernel,
        _ => stage::with_reciprocals(kernel, &arrays),
    };
    let mut kernels: Vec<Kernel> = kernels.into_iter().map(inverted).collect();
    if let Some(rhs) = kernels.iter().find(|k| k.role == KernelRole::Rhs) {
        let states: Vec<ArrayId> = ids(&arrays, |r| matches!(r, Role::Position | Role::Velocity | Role::FirstOrder));
        let parameters = ids(&arrays, |r| r == Role::Parameter);
        derived.extend(matrix(rhs, KernelRole::Jacobian, &states, &layout));
        derived.push(tangent(rhs, &states));
        derived.extend(time_derivative(rhs, KernelRole::TimeDerivative));
        derived.extend(matrix(rhs, KernelRole::ParameterJacobian, &parameters, &layout));
    }
    if let Some(mass) = kernels.iter().find(|k| k.role == KernelRole::Mass)
        && mass.varies(&arrays)
    {
        let states: Vec<ArrayId> = ids(&arrays, |r| matches!(r, Role::Position | Role::Velocity | Role::FirstOrder));
        let product = mass::product(mass, &states, &layout);
        derived.extend(matrix(&product, KernelRole::MassJacobian, &states, &layout));
        derived.extend(time_derivative(&product, KernelRole::MassTimeDerivative));
    }
    kernels.extend(derived.into_iter().map(inverted));
    let rooted = |kernel: Kernel| match kernel.role {
        KernelRole::Initial | KernelRole::Outputs | KernelRole::Mass => kernel,
        _ => stage::with_roots(kernel),
    };
    let mut kernels: Vec<Kernel> = kernels.into_iter().map(rooted).collect();
    stage::hoist(&mut arrays, &mut kernels);
    kernels.sort_by_key(|k| k.role);
    assemble(name.into(), arrays, kernels)
}

/// The program of complete kernels: its patterns are the entries that they store.
pub(crate) fn assemble(name: String, arrays: Vec<Array>, kernels: Vec<Kernel>) -> Program {
    let layout = Layout::of_arrays(&arrays);
    let pattern = |role: KernelRole, columns: usize| {
        let stores = kernels.iter().find(|k| k.role == role).map(|k| &k.stores);
        let entries = stores.into_iter().flatten().filter_map(|s| match s.target {
            Target::Entry(row, column) => Some((layout.state(row), layout.state(column))),
            Target::Element(_) => None,
        });
        Pattern::of(layout.n, columns, entries)
    };
    let jacobian = pattern(KernelRole::Jacobian, layout.n);
    let parameter_jacobian = pattern(KernelRole::ParameterJacobian, layout.np);
    let has_mass = kernels.iter().any(|k| k.role == KernelRole::Mass);
    let mass = has_mass.then(|| pattern(KernelRole::Mass, layout.n));
    let mass_jacobian = pattern(KernelRole::MassJacobian, layout.n);
    Program {
        name,
        arrays,
        extents: Vec::new(),
        axes: Vec::new(),
        kernels,
        nests: Vec::new(),
        jacobian,
        parameter_jacobian,
        mass,
        mass_jacobian,
    }
}

fn ids(arrays: &[Array], wanted: impl Fn(Role) -> bool) -> Vec<ArrayId> {
    (0..arrays.len()).filter(|&i| wanted(arrays[i].role)).map(|i| ArrayId(i as u32)).collect()
}

/// The partial derivatives of every row by the given arrays, one store per structural entry, in pattern order.
fn matrix(kernel: &Kernel, role: KernelRole, columns: &[ArrayId], layout: &Layout) -> Option<Kernel> {
    let mut graph = kernel.graph.clone();
    let mut column_of = vec![None; columns.iter().map(|c| c.0 as usize + 1).max().unwrap_or(0)];
    for (j, c) in columns.iter().enumerate() {
        column_of[c.0 as usize] = Some(j as u32);
    }
    let roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
    let rows = gradients(&mut graph, &roots, |node| match node {
        Node::Read(array) => column_of.get(array.0 as usize).copied().flatten(),
        _ => None,
    })?;
    let mut stores = Vec::new();
    for (store, row) in kernel.stores.iter().zip(rows) {
        if let Target::Element(array) = store.target {
            for (j, node) in row {
                stores.push(Store { target: Target::Entry(array, columns[j as usize]), node });
            }
        }
    }
    stores.sort_by_key(|s| match s.target {
        Target::Entry(row, column) => (layout.state(column), layout.state(row)),
        Target::Element(row) => (0, layout.state(row)),
    });
    Some(Kernel { role, graph, stores })
}

fn time_derivative(kernel: &Kernel, role: KernelRole) -> Option<Kernel> {
    let mut graph = kernel.graph.clone();
    let roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
    let rows = gradients(&mut graph, &roots, |node| (node == Node::Time).then_some(0))?;
    let stores = row_stores(kernel, &mut graph, rows.into_iter().map(|row| row.first().map(|&(_, node)| node)));
    Some(Kernel { role, graph, stores })
}

/// One store per row of the kernel: the derivative, or zero where there is none.
fn row_stores(kernel: &Kernel, graph: &mut Graph, nodes: impl Iterator<Item = Option<NodeId>>) -> Vec<Store> {
    let stores = kernel.stores.iter().zip(nodes);
    stores
        .map(|(store, node)| Store { target: store.target, node: node.unwrap_or_else(|| graph.constant(0.0)) })
        .collect()
}

/// The derivative of a formula of one argument at a node, operation by operation: for rows whose derivative has no row
/// of its own. `None` if the formula does not vary.
pub fn of_formula(
    graph: &mut Graph,
    formula: impl FnOnce(&mut Graph, NodeId) -> NodeId,
    argument: NodeId,
) -> Option<NodeId> {
    let mut own = Graph::new();
    let x = own.read(ArrayId(0));
    let value = formula(&mut own, x);
    let gradient = gradients(&mut own, &[value], |node| matches!(node, Node::Read(_)).then_some(0))?;
    let root = gradient.first()?.first()?.1;
    let live = own.reachable([root]);
    let mut map = vec![None; own.len()];
    for i in 0..own.len() {
        if live[i] {
            let id = NodeId(i as u32);
            map[i] = Some(if id == x { argument } else { stage::copy(&own, id, &map, graph) });
        }
    }
    map[root.index()]
}
