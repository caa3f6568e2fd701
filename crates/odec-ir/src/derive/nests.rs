//! Derivatives of nests: streams of matrix entries, tangents and derivatives by time, with loops in the place of loops.

use std::collections::BTreeMap;

use super::assume::under_guards;
use super::folds::Folds;
use super::gradient::gradients_by;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::reciprocal::with_reciprocals;
use crate::nest::{Axis, Extent, LoopId, Nest, Part, Space, Store, Target, shared};
use crate::program::{Array, KernelRole, Pattern, Program, Role};

/// Adds the derivatives of the `Rhs` nests to the given ones (`Rhs`, `Initial`, `Outputs`, and `Mass` if M is not the
/// identity: those store the product M w by rows, and become the entries of M): one stream of Jacobian entries
/// for every store and distinct read of a state, over the loops of the store and those of the folds around the read; the
/// same by parameters; the tangent and df/dt, which set every row, zero or not. Then hoists what depends on parameters
/// alone into `Prepare` nests.
///
/// Nothing here depends on an extent. A matrix of more than [`super::MAX_DERIVATIVE_TERMS`] products (of one point) is left
/// out: the program then has no nest of that role. A matrix without entries has one nest without stores.
pub fn complete_nests(
    arrays: Vec<Array>,
    axes: Vec<Axis>,
    extents: Vec<Extent>,
    nests: Vec<Nest>,
    name: impl Into<String>,
) -> Program {
    let nests: Vec<Nest> = nests.iter().map(shared).collect();
    let (products, others): (Vec<Nest>, Vec<Nest>) = nests.into_iter().partition(|n| n.role == KernelRole::Mass);
    let mut nests = others;
    let rhs: Vec<Nest> = nests.iter().filter(|n| n.role == KernelRole::Rhs).cloned().collect();
    let is_state = |r: Role| matches!(r, Role::Position | Role::Velocity | Role::FirstOrder);
    nests.extend(matrix(&rhs, KernelRole::Jacobian, |nest, node| reads(&arrays, nest, node, is_state)));
    nests.extend(matrix(&rhs, KernelRole::ParameterJacobian, |nest, node| {
        reads(&arrays, nest, node, |r| r == Role::Parameter)
    }));
    for nest in &rhs {
        nests.push(slopes(nest, KernelRole::Tangent, |graph, node| match node {
            Node::Element(a) if reads(&arrays, nest, node, is_state) => Some(graph.insert(Node::DirectionElement(a))),
            _ => None,
        }));
        nests.push(slopes(nest, KernelRole::TimeDerivative, |graph, node| {
            (node == Node::Time).then(|| graph.constant(1.0))
        }));
    }
    if !products.is_empty() {
        let direction = |nest: &Nest, node: Node| match node {
            Node::DirectionElement(a) => is_state(arrays[nest.array(a).0 as usize].role),
            _ => false,
        };
        let mass = matrix(&products, KernelRole::Mass, direction);
        if mass.iter().any(|nest| nest.varies(&arrays)) {
            nests
                .extend(matrix(&products, KernelRole::MassJacobian, |nest, node| reads(&arrays, nest, node, is_state)));
            nests.extend(products.iter().map(|nest| {
                slopes(nest, KernelRole::MassTimeDerivative, |graph, node| {
                    (node == Node::Time).then(|| graph.constant(1.0))
                })
            }));
        }
        nests.extend(mass);
    }
    for nest in &mut nests {
        *nest = with_reciprocals(nest, &arrays);
    }
    let adds = |nest: &Nest| nest.stores.iter().any(|s| matches!(s.target, Target::Add(_)));
    nests.sort_by_key(|nest| (nest.role, adds(nest)));
    let mut program = Program {
        name: name.into(),
        arrays,
        extents,
        axes,
        kernels: Vec::new(),
        nests,
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
    };
    crate::stage::hoist_nests(&mut program);
    program
}

/// True when a node reads an array of such a role.
fn reads(arrays: &[Array], nest: &Nest, node: Node, role: impl Fn(Role) -> bool) -> bool {
    matches!(node, Node::Element(a) if role(arrays[nest.array(a).0 as usize].role))
}

/// The streams of all nests; none if one nest has too many products.
fn matrix(rhs: &[Nest], role: KernelRole, variable: impl Fn(&Nest, Node) -> bool) -> Vec<Nest> {
    let mut all = Vec::new();
    for nest in rhs {
        match streams(nest, role, |node| variable(nest, node)) {
            Some(streams) => all.extend(streams),
            None => return Vec::new(),
        }
    }
    if all.is_empty() {
        all.push(Nest {
            role,
            space: Space::new(),
            iterates: Vec::new(),
            part: Part::Whole,
            margins: Vec::new(),
            graph: Graph::new(),
            stores: Vec::new(),
        });
    }
    all
}

/// The streams of a nest, in one nest for each set of loops of folds that they run over.
fn streams(nest: &Nest, role: KernelRole, variable: impl Fn(Node) -> bool) -> Option<Vec<Nest>> {
    let mut graph = nest.graph.clone();
    let mut folds = Folds::new(nest.space.clone());
    let roots: Vec<NodeId> = nest.stores.iter().map(|s| s.node).collect();
    let column = |node| match node {
        Node::Element(a) | Node::DirectionElement(a) if variable(node) => Some(a.0),
        _ => None,
    };
    let rows = gradients_by(&mut graph, &roots, column, &mut folds)?;
    let mut groups: BTreeMap<Vec<LoopId>, Vec<Store>> = BTreeMap::new();
    for (store, gradient) in nest.stores.iter().zip(rows) {
        let (Target::Set(row) | Target::Add(row)) = store.target else { continue };
        for (column, node) in gradient {
            let (access, loops) = folds.column(column);
            groups.entry(loops).or_default().push(Store { target: Target::Entry(row, access), node });
        }
    }
    let group = |(loops, stores): (Vec<LoopId>, Vec<Store>)| {
        let over = loops.into_iter().map(|l| folds.stream(l)).collect::<Vec<_>>();
        let iterates = [&nest.iterates[..], &over].concat();
        (iterates, under_guards(&mut graph, &folds.space, stores))
    };
    let groups: Vec<_> = groups.into_iter().map(group).collect();
    let with = |(iterates, stores)| {
        shared(&Nest {
            role,
            space: folds.space.clone(),
            iterates,
            part: nest.part,
            margins: nest.margins.clone(),
            graph: graph.clone(),
            stores,
        })
    };
    Some(groups.into_iter().map(with).collect())
}

/// The derivative of every store along a direction, given that of the leaves: one forward pass.
fn slopes(nest: &Nest, role: KernelRole, leaf: impl Fn(&mut Graph, Node) -> Option<NodeId>) -> Nest {
    let mut graph = nest.graph.clone();
    let mut folds = Folds::new(nest.space.clone());
    let live = graph.reachable(nest.stores.iter().map(|s| s.node));
    let mut slopes: Vec<Option<NodeId>> = vec![None; live.len()];
    for i in (0..live.len()).filter(|&i| live[i]) {
        let id = NodeId(i as u32);
        let node = graph.node(id);
        slopes[i] = match node {
            Node::Call(..) => super::tangent::call_tangent(&mut graph, id, node, &slopes),
            Node::Fold(_, over, term) => slopes[term.index()]
                .and_then(|slope| folds.change(&mut graph, id, slope))
                .map(|change| graph.insert(Node::Fold(crate::nest::Fold::Sum, over, change))),
            _ => leaf(&mut graph, node),
        };
    }
    let mut stores = Vec::with_capacity(nest.stores.len());
    for store in &nest.stores {
        match (slopes[store.node.index()], store.target) {
            (Some(node), target) => stores.push(Store { target, node }),
            (None, target @ Target::Set(_)) => stores.push(Store { target, node: graph.constant(0.0) }),
            (None, Target::Add(_) | Target::Entry(..)) => {}
        }
    }
    shared(&Nest { role, space: folds.space, graph, stores, ..nest.clone() })
}
