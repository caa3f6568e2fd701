//! Forward sensitivities: beside the equations of a model those of its derivatives by some parameters,
//! s' = (df/dy) s + df/dk with s(0) = dy(0)/dk, as states of the same program. What is derived from a program (Jacobian, df/dt,
//! Taylor coefficients) is then exact for them too, and every method of the solvers takes them as they are.
//!
//! The states of a parameter follow those of the model and those of the parameters before it, each group in the order of the
//! model: df/dy of the whole is block lower triangular, with the same block all along its diagonal.

use super::is_state;
use super::reductions::Reductions;
use crate::graph::Node;
use crate::nest::{Access, AccessId, Element, Kernel, Store, Target};
use crate::program::{Array, ArrayId, Role};

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

/// Adds the derivatives of states and outputs by parameters (scalars) to kernels without derivatives. The rows of a mass
/// matrix, which are still products with the derivatives, are differentiated like all others: where the matrix depends on a
/// parameter or on the state, it gets entries for y' in the rows of the derivatives.
pub fn sensitivities(arrays: &mut Vec<Array>, kernels: &mut [Kernel], by: &[ArrayId]) {
    let all = Twins::add(arrays, by);
    for kernel in kernels {
        let own = kernel.stores.len();
        let accesses = kernel.space.accesses().to_vec();
        for twins in &all {
            let of: Vec<Option<AccessId>> = accesses
                .iter()
                .map(|access| {
                    let array = twins.twin(access.array)?;
                    Some(kernel.space.intern(Access { array, ..access.clone() }))
                })
                .collect();
            let twin = |element: Element| match element {
                Element::Scalar(array) => twins.twin(array).map(Element::Scalar),
                Element::At(access) => of.get(access.0 as usize).copied().flatten().map(Element::At),
            };
            let is_parameter = |element: Element| match element {
                Element::Scalar(array) => array == twins.by,
                Element::At(access) => accesses.get(access.0 as usize).is_some_and(|a| a.array == twins.by),
            };
            let mut reductions = Reductions::new(std::mem::take(&mut kernel.space));
            let roots = kernel.stores[..own].iter().map(|s| s.node);
            let slopes = reductions.slopes(&mut kernel.graph, roots, |graph, node| match node {
                Node::Read(element) if is_parameter(element) => Some(graph.constant(1.0)),
                Node::Read(element) => twin(element).map(|twin| graph.read(twin)),
                Node::Direction(element) => twin(element).map(|twin| graph.direction(twin)),
                _ => None,
            });
            kernel.space = reductions.space;
            for k in 0..own {
                let Store { target, node } = kernel.stores[k];
                let slope = slopes[node.index()];
                let target = match target {
                    Target::Set(element) => twin(element).map(Target::Set),
                    Target::Add(element) if slope.is_some() => twin(element).map(Target::Add),
                    Target::Add(_) | Target::Entry(..) => None,
                };
                if let Some(target) = target {
                    let node = slope.unwrap_or_else(|| kernel.graph.constant(0.0));
                    kernel.stores.push(Store { target, node });
                }
            }
        }
    }
}
