//! Exact derivatives: from the kernels of a model to the complete program.

mod assume;
mod columns;
mod compare;
mod gradient;
mod magnitude;
mod reductions;
mod sensitivity;
mod tangent;

pub use columns::Columns;
pub use compare::{EntryComparison, MAX_ROWS, MIN_COLUMNS, Variable, compare, dual_column};
pub use gradient::{MAX_DERIVATIVE_TERMS, gradients};
pub use sensitivity::{DerivativeArrays, DerivativeBy, results_by, sensitivities, sensitivities_with};
pub use tangent::call_tangent;

use std::collections::BTreeMap;

use assume::under_guards;
use gradient::gradients_by;
use reductions::Reductions;

use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::invariant::broken;
use crate::layout::Layout;
use crate::nest::{Axis, Element, Extent, Kernel, LoopId, Store, Target, fused};
use crate::program::{Array, ArrayId, KernelRole, Pattern, Program, Role};
use crate::stage::{self, Quotients};

/// [`complete_over`] without index sets.
pub fn complete(arrays: Vec<Array>, kernels: Vec<Kernel>, name: impl Into<String>) -> Program {
    complete_over(arrays, Vec::new(), Vec::new(), kernels, name)
}

/// Adds the derivatives of the given kernels (`Rhs`, `Initial`, `Outputs`, and `Mass` if M is not the identity; the
/// given `Mass` kernels store the product M w by rows, and are replaced by the entries of M):
///
/// - df/dy: one entry loop for every store and distinct read of a state, over the loops of the store and those of the
///   reductions around the read
/// - df/dp in the same form
/// - the tangent and df/dt, which set every row, even if it is zero
/// - d(M w)/dy and d(M w)/dt if M depends on more than parameters
///
/// Then it hoists parameter-only values into `Prepare` kernels.
///
/// A `Jacobian` entry exists where the row depends on the column through operations with a derivative. Nothing here depends
/// on an extent. A matrix of more than [`MAX_DERIVATIVE_TERMS`] products (of one point) is left out: the program then has no
/// kernel of that role. A matrix without entries has one kernel without stores.
pub fn complete_over(
    arrays: Vec<Array>,
    axes: Vec<Axis>,
    extents: Vec<Extent>,
    kernels: Vec<Kernel>,
    name: impl Into<String>,
) -> Program {
    let inverted = |kernel: Kernel| stage::with_reciprocals(kernel, &arrays, Quotients::OutsideLoops);
    let kernels = kernels.into_iter().map(|kernel| inverted(fused(kernel)));
    let (products, mut kernels): (Vec<Kernel>, Vec<Kernel>) = kernels.partition(|k| k.role == KernelRole::Mass);
    let rhs: Vec<Kernel> = kernels.iter().filter(|k| k.role == KernelRole::Rhs).cloned().collect();
    let state = |kernel: &Kernel, node: Node| reads(&arrays, kernel, node, Role::is_state);
    let parameter = |kernel: &Kernel, node: Node| reads(&arrays, kernel, node, |r| r == Role::Parameter);
    let time = |graph: &mut Graph, node| (node == Node::Time).then(|| graph.constant(1.0));
    if !rhs.is_empty() {
        kernels.extend(matrix(&rhs, KernelRole::Jacobian, state));
        kernels.extend(matrix(&rhs, KernelRole::ParameterJacobian, parameter));
    }
    for kernel in &rhs {
        kernels.push(slopes(kernel, KernelRole::Tangent, |graph, node| match node {
            Node::Read(element) if state(kernel, node) => Some(graph.direction(element)),
            _ => None,
        }));
        kernels.push(slopes(kernel, KernelRole::TimeDerivative, time));
    }
    if !products.is_empty() {
        let mass = matrix(&products, KernelRole::Mass, |_, node| matches!(node, Node::Direction(_)));
        if mass.iter().any(|kernel| kernel.varies(&arrays)) {
            kernels.extend(matrix(&products, KernelRole::MassJacobian, state));
            kernels.extend(products.iter().map(|kernel| slopes(kernel, KernelRole::MassTimeDerivative, time)));
        }
        kernels.extend(mass);
    }
    let cheaper = |kernel: Kernel| stage::with_roots(stage::with_reciprocals(kernel, &arrays, Quotients::All));
    let mut kernels: Vec<Kernel> = kernels.into_iter().map(cheaper).collect();
    let adds = |kernel: &Kernel| kernel.stores.iter().any(|s| matches!(s.target, Target::Add(_)));
    kernels.sort_by_key(|kernel| (kernel.role, adds(kernel)));
    let mut program = assemble(name.into(), arrays, axes, extents, kernels);
    in_pattern_order(&mut program);
    stage::hoist(&mut program);
    program
}

/// The program of complete kernels. If positions are known, its patterns are the entries that the kernels store.
pub(crate) fn assemble(
    name: String,
    arrays: Vec<Array>,
    axes: Vec<Axis>,
    extents: Vec<Extent>,
    kernels: Vec<Kernel>,
) -> Program {
    let mut program = Program {
        name,
        arrays,
        extents,
        axes,
        kernels,
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    };
    if program.is_scalar() {
        let layout = Layout::of(&program);
        let pattern = |role: KernelRole, columns: usize| {
            let stores = program.kernels_of(role).flat_map(|k| &k.stores);
            let entries = stores.filter_map(|s| match s.target {
                Target::Entry(Element::Scalar(row), Element::Scalar(column)) => {
                    Some((layout.state(row), layout.start(column)))
                }
                _ => None,
            });
            // The check of the kernels rejects larger indices of a text form.
            Pattern::of(layout.n, columns, entries.filter(|&(row, column)| row < layout.n && column < columns))
        };
        let jacobian = pattern(KernelRole::Jacobian, layout.n);
        let parameter_jacobian = pattern(KernelRole::ParameterJacobian, layout.np);
        let mass = program.has(KernelRole::Mass).then(|| pattern(KernelRole::Mass, layout.n));
        let mass_jacobian = pattern(KernelRole::MassJacobian, layout.n);
        program = Program { jacobian, parameter_jacobian, mass, mass_jacobian, ..program };
    }
    program
}

/// Sorts the stores of entries in the order of the pattern, if positions are known.
fn in_pattern_order(program: &mut Program) {
    if program.is_scalar() {
        let layout = Layout::of(program);
        for kernel in program.kernels.iter_mut().filter(|k| k.role.is_matrix()) {
            let start = |element: Element| element.scalar().map(|array| layout.start(array));
            kernel.stores.sort_by_key(|s| match s.target {
                Target::Entry(row, column) => (start(column), start(row)),
                Target::Set(row) | Target::Add(row) => (None, start(row)),
            });
        }
    }
}

/// True if a node reads an array of such a role.
fn reads(arrays: &[Array], kernel: &Kernel, node: Node, role: impl Fn(Role) -> bool) -> bool {
    matches!(node, Node::Read(element) if role(arrays[kernel.array(element).0 as usize].role))
}

/// The entry loops of all kernels; empty if one kernel has too many products.
fn matrix(kernels: &[Kernel], role: KernelRole, variable: impl Fn(&Kernel, Node) -> bool) -> Vec<Kernel> {
    let mut all = Vec::new();
    for kernel in kernels {
        match entry_loops(kernel, role, |node| variable(kernel, node)) {
            Some(entry_loops) => all.extend(entry_loops),
            None => return Vec::new(),
        }
    }
    if all.is_empty() {
        all.push(Kernel::scalar(role, Graph::new(), Vec::new()));
    }
    all
}

/// The entry loops of a kernel: one kernel for each set of reduction loops that they run over.
fn entry_loops(kernel: &Kernel, role: KernelRole, variable: impl Fn(Node) -> bool) -> Option<Vec<Kernel>> {
    let mut graph = kernel.graph.clone();
    let mut reductions = Reductions::new(kernel.space.clone());
    let roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
    let column = |node| match node {
        Node::Read(element) | Node::Direction(element) if variable(node) => Some(Reductions::column_of(element)),
        _ => None,
    };
    let rows = gradients_by(&mut graph, &roots, column, &mut reductions)?;
    let scalar = kernel.is_scalar();
    let mut groups: BTreeMap<Vec<LoopId>, Vec<Store>> = BTreeMap::new();
    for (store, gradient) in kernel.stores.iter().zip(rows) {
        let (Target::Set(row) | Target::Add(row)) = store.target else {
            broken("the entries of a matrix are differentiated as if they were rows")
        };
        for (column, node) in gradient {
            let (element, loops) =
                if scalar { (Element::Scalar(ArrayId(column)), Vec::new()) } else { reductions.column(column) };
            groups.entry(loops).or_default().push(Store { target: Target::Entry(row, element), node });
        }
    }
    let group = |(loops, stores): (Vec<LoopId>, Vec<Store>)| {
        let over = loops.into_iter().map(|l| reductions.entry_loop(l)).collect::<Vec<_>>();
        let iterates = [&kernel.iterates[..], &over].concat();
        (iterates, under_guards(&mut graph, &reductions.space, stores))
    };
    let groups: Vec<_> = groups.into_iter().map(group).collect();
    let mut entry_loops = Vec::with_capacity(groups.len());
    let mut left = groups.len();
    for (iterates, stores) in groups {
        left -= 1;
        // The last kernel needs no copy.
        let graph = if left == 0 { std::mem::take(&mut graph) } else { graph.clone() };
        let (space, margins) = (reductions.space.clone(), kernel.margins.clone());
        entry_loops.push(fused(Kernel { role, space, iterates, region: kernel.region, margins, graph, stores }));
    }
    Some(entry_loops)
}

/// The kernel of the derivatives of a kernel's results along a solution: d/dt of each, with y' as the direction w.
/// Nodes that already read a direction count as constant.
pub fn along_solution(kernel: &Kernel, arrays: &[Array]) -> Kernel {
    slopes(kernel, kernel.role, |graph, node| match node {
        Node::Time => Some(graph.constant(1.0)),
        Node::Read(element) if reads(arrays, kernel, node, Role::is_state) => Some(graph.direction(element)),
        _ => None,
    })
}

/// The derivative of every store along a direction, from the derivatives of the leaves: one forward pass.
fn slopes(kernel: &Kernel, role: KernelRole, leaf: impl Fn(&mut Graph, Node) -> Option<NodeId>) -> Kernel {
    let mut graph = kernel.graph.clone();
    let mut reductions = Reductions::new(kernel.space.clone());
    let slopes = reductions.slopes(&mut graph, kernel.stores.iter().map(|s| s.node), leaf);
    let mut stores = Vec::with_capacity(kernel.stores.len());
    for store in &kernel.stores {
        match (slopes[store.node.index()], store.target) {
            (Some(node), target) => stores.push(Store { target, node }),
            (None, target @ Target::Set(_)) => stores.push(Store { target, node: graph.constant(0.0) }),
            (None, Target::Add(_) | Target::Entry(..)) => {}
        }
    }
    let (iterates, margins) = (kernel.iterates.clone(), kernel.margins.clone());
    fused(Kernel { role, space: reductions.space, iterates, region: kernel.region, margins, graph, stores })
}

/// The derivative of a formula of one argument at a node, operation by operation, for builtins without a row for
/// their derivative. `None` if the formula is constant.
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
    let mut map = NodeMap::new(own.len());
    for (id, _) in own.live([root]) {
        map.set(id, if id == x { argument } else { stage::copy(&own, id, &map, graph) });
    }
    Some(map[root])
}
