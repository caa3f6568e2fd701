//! Forward sensitivities: beside the equations of a model those of its derivatives by some parameters,
//! s' = (df/dy) s + df/dk with s(0) = dy(0)/dk, as states of the same program. What is derived from a program (Jacobian, df/dt,
//! Taylor coefficients) is then exact for them too, and every method of the solvers takes them as they are.
//!
//! The states of a parameter follow those of the model and those of the parameters before it, each group in the order of the
//! model: df/dy of the whole is block lower triangular, with the same block all along its diagonal.

use super::folds::Folds;
use super::tangent::call_tangent;
use crate::graph::{Node, NodeId};
use crate::nest::{self, Access, AccessId, Fold, Nest};
use crate::program::{Array, ArrayId, Kernel, Role, Store, Target};

/// Of each array that which holds its derivative by one parameter.
struct Twins {
    by: ArrayId,
    of: Vec<Option<ArrayId>>,
}

impl Twins {
    /// Adds arrays for the derivatives of states and outputs by each parameter, `d(x)/d(k)`.
    fn add(arrays: &mut Vec<Array>, by: &[ArrayId]) -> Vec<Twins> {
        let own = arrays.len();
        let mut all = Vec::with_capacity(by.len());
        for &by in by {
            let parameter = arrays[by.0 as usize].name.clone();
            let mut of = vec![None; own];
            for (i, twin) in of.iter_mut().enumerate() {
                if is_state(arrays[i].role) || arrays[i].role == Role::Output {
                    *twin = Some(ArrayId(arrays.len() as u32));
                    let name = format!("d({})/d({parameter})", arrays[i].name);
                    arrays.push(Array { name, unit: None, doc: None, data: Vec::new(), ..arrays[i].clone() });
                }
            }
            all.push(Twins { by, of });
        }
        all
    }

    fn twin(&self, array: ArrayId) -> Option<ArrayId> {
        self.of.get(array.0 as usize).copied().flatten()
    }
}

fn is_state(role: Role) -> bool {
    matches!(role, Role::Position | Role::Velocity | Role::FirstOrder)
}

/// Adds the derivatives of states and outputs by parameters (scalars) to kernels without derivatives. Where the mass matrix
/// depends on a parameter or on the state, it gets entries for y' in the rows of the derivatives.
pub fn sensitivities(arrays: &mut Vec<Array>, kernels: &mut [Kernel], by: &[ArrayId]) {
    let all = Twins::add(arrays, by);
    for kernel in kernels {
        let (len, own) = (kernel.graph.len(), kernel.stores.len());
        for twins in &all {
            let mut slopes: Vec<Option<NodeId>> = Vec::with_capacity(len);
            for i in 0..len {
                let id = NodeId(i as u32);
                let node = kernel.graph.node(id);
                slopes.push(match node {
                    Node::Read(array) if array == twins.by => Some(kernel.graph.constant(1.0)),
                    Node::Read(array) => twins.twin(array).map(|twin| kernel.graph.read(twin)),
                    Node::Direction(array) => twins.twin(array).map(|twin| kernel.graph.direction(twin)),
                    node @ Node::Call(..) if node.operands().iter().any(|a| slopes[a.index()].is_some()) => {
                        call_tangent(&mut kernel.graph, id, node, &slopes)
                    }
                    _ => None,
                });
            }
            for k in 0..own {
                let Store { target, node } = kernel.stores[k];
                match target {
                    Target::Element(array) => {
                        let Some(twin) = twins.twin(array) else { continue };
                        let slope = slopes[node.index()].unwrap_or_else(|| kernel.graph.constant(0.0));
                        kernel.stores.push(Store { target: Target::Element(twin), node: slope });
                    }
                    Target::Entry(row, column) => {
                        // d(M y')/dk = M s' + (dM/dk) y'
                        let (Some(row), Some(twin)) = (twins.twin(row), twins.twin(column)) else { continue };
                        kernel.stores.push(Store { target: Target::Entry(row, twin), node });
                        if let Some(node) = slopes[node.index()] {
                            kernel.stores.push(Store { target: Target::Entry(row, column), node });
                        }
                    }
                }
            }
        }
    }
}

/// The same for nests. The rows of a mass matrix, which are still products with the derivatives, are differentiated like all
/// others: where the matrix depends on a parameter or on the state, it gets entries for y' in the rows of the derivatives.
pub fn nest_sensitivities(arrays: &mut Vec<Array>, nests: &mut [Nest], by: &[ArrayId]) {
    let all = Twins::add(arrays, by);
    for nest in nests {
        let (len, own) = (nest.graph.len(), nest.stores.len());
        let accesses = nest.space.accesses().to_vec();
        for twins in &all {
            let of: Vec<Option<AccessId>> = accesses
                .iter()
                .map(|access| {
                    let array = twins.twin(access.array)?;
                    Some(nest.space.intern(Access { array, ..access.clone() }))
                })
                .collect();
            let twin = |access: AccessId| of.get(access.0 as usize).copied().flatten();
            let is_parameter =
                |access: AccessId| accesses.get(access.0 as usize).is_some_and(|access| access.array == twins.by);
            let mut folds = Folds::new(nest.space.clone());
            let live = nest.graph.reachable(nest.stores[..own].iter().map(|s| s.node));
            let mut slopes: Vec<Option<NodeId>> = vec![None; len];
            for i in (0..len).filter(|&i| live[i]) {
                let id = NodeId(i as u32);
                let graph = &mut nest.graph;
                let node = graph.node(id);
                slopes[i] = match node {
                    Node::Element(access) if is_parameter(access) => Some(graph.constant(1.0)),
                    Node::Element(access) => twin(access).map(|twin| graph.insert(Node::Element(twin))),
                    Node::DirectionElement(access) => {
                        twin(access).map(|twin| graph.insert(Node::DirectionElement(twin)))
                    }
                    Node::Call(..) => call_tangent(graph, id, node, &slopes),
                    Node::Fold(_, over, term) => slopes[term.index()]
                        .and_then(|slope| folds.change(graph, id, slope))
                        .map(|change| graph.insert(Node::Fold(Fold::Sum, over, change))),
                    _ => None,
                };
            }
            nest.space = folds.space;
            for k in 0..own {
                let nest::Store { target, node } = nest.stores[k];
                let slope = slopes[node.index()];
                let target = match target {
                    nest::Target::Set(access) => twin(access).map(nest::Target::Set),
                    nest::Target::Add(access) if slope.is_some() => twin(access).map(nest::Target::Add),
                    nest::Target::Add(_) | nest::Target::Entry(..) => None,
                };
                if let Some(target) = target {
                    let node = slope.unwrap_or_else(|| nest.graph.constant(0.0));
                    nest.stores.push(nest::Store { target, node });
                }
            }
        }
    }
}
