//! Forward sensitivities: adds the equations of the derivatives with respect to some parameters, s' = (df/dy) s +
//! df/dk with s(0) = dy(0)/dk, as states of the same program. The derivatives of the program (Jacobian, df/dt, Taylor
//! coefficients) are then exact for them too, and every method can solve them without changes.
//!
//! The derivatives with respect to a parameter follow the states of the model and those of earlier parameters, each
//! group in the order of the model: df/dy of the whole is block lower triangular with equal diagonal blocks.
//!
//! Discretes have derivatives too, which are discretes themselves. For quantities outside the kernels of a model
//! (sides of relations, times, right-hand sides of events), [`results_by`] makes separate kernels of their
//! derivatives.

use std::sync::Arc;

use super::reductions::Reductions;
use crate::graph::Node;
use crate::nest::{Access, AccessId, Element, Kernel, Store, Target};
use crate::program::{Array, ArrayId, Role};

/// The parameter of a derivative.
#[derive(Clone, Debug)]
pub struct DerivativeBy {
    /// Its name in the names of derivatives: `k`, `q[2]`.
    pub name: String,
    /// The array of the parameter.
    pub array: ArrayId,
    /// The element, counted row by row; `None` if the parameter is a single number.
    pub element: Option<usize>,
}

/// For each array, the array that holds its derivative with respect to one parameter, or to time.
#[derive(Clone, Debug)]
pub struct DerivativeArrays {
    /// The variable of the derivatives, as written in their names.
    by: String,
    source: Source,
    of: Vec<Option<ArrayId>>,
}

/// The variable whose derivative is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// Time; the derivatives of states are then zero.
    Time,
    /// A parameter that is a single number.
    Parameter(ArrayId),
    /// An element of an array, whose derivative is a table: 1 at this element, 0 at all others.
    Element,
}

impl DerivativeArrays {
    /// Derivatives with respect to time, without arrays.
    pub fn by_time() -> DerivativeArrays {
        DerivativeArrays { by: "t".to_owned(), source: Source::Time, of: Vec::new() }
    }

    /// Adds arrays for the derivatives of states, outputs and discretes by each parameter, `d(x)/d(k)`. Discretes in
    /// `steady` get none.
    fn add(arrays: &mut Vec<Array>, by: &[DerivativeBy], steady: &[ArrayId]) -> Vec<DerivativeArrays> {
        let own = arrays.len();
        let mut all = Vec::with_capacity(by.len());
        for DerivativeBy { name, array, element } in by {
            let source = if element.is_some() { Source::Element } else { Source::Parameter(*array) };
            let mut derivatives = DerivativeArrays { by: name.clone(), source, of: vec![None; own] };
            if let Some(element) = *element {
                let count = arrays[array.0 as usize].data.len();
                derivatives.ensure(arrays, *array);
                let Some(table) = arrays.last_mut() else { crate::broken("the table of a derivative was not added") };
                table.role = Role::Table;
                table.data = Arc::new((0..count).map(|k| f64::from(k == element)).collect());
            }
            for i in 0..own {
                let (role, array) = (arrays[i].role, ArrayId(i as u32));
                let discrete = role == Role::Discrete && !steady.contains(&array);
                if role.is_state() || role == Role::Output || discrete {
                    derivatives.ensure(arrays, array);
                }
            }
            all.push(derivatives);
        }
        all
    }

    /// The array that holds the derivative of an array, if there is one.
    pub fn derivative(&self, array: ArrayId) -> Option<ArrayId> {
        self.of.get(array.0 as usize).copied().flatten()
    }

    /// Adds an array for the derivative if there is none.
    fn ensure(&mut self, arrays: &mut Vec<Array>, array: ArrayId) {
        let at = array.0 as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, None);
        }
        if self.of[at].is_none() {
            self.of[at] = Some(ArrayId(arrays.len() as u32));
            let name = format!("d({})/d({})", arrays[at].name, self.by);
            arrays.push(Array { name, unit: None, doc: None, data: Vec::new().into(), ..arrays[at].clone() });
        }
    }
}

/// Adds the derivatives of states, outputs and discretes with respect to parameters (single numbers) to kernels
/// without derivatives. Rows of a mass matrix, which are still products with y', are differentiated like all others:
/// if the matrix depends on a parameter or on the state, the rows of the derivatives get entries for y'. Discretes in
/// `steady` get no derivatives. Returns the arrays of each parameter.
pub fn sensitivities(
    arrays: &mut Vec<Array>,
    kernels: &mut [Kernel],
    by: &[DerivativeBy],
    steady: &[ArrayId],
) -> Vec<DerivativeArrays> {
    let all = DerivativeArrays::add(arrays, by, steady);
    sensitivities_with(kernels, &all);
    all
}

/// The same for further kernels, with existing arrays.
pub fn sensitivities_with(kernels: &mut [Kernel], all: &[DerivativeArrays]) {
    for kernel in kernels {
        let own = kernel.stores.len();
        for derivatives in all {
            differentiate(kernel, own, derivatives);
        }
    }
}

/// Kernels for the derivatives of results, with new arrays in `all`; `wanted` selects the results.
pub fn results_by(
    arrays: &mut Vec<Array>,
    kernels: &[Kernel],
    all: &mut [DerivativeArrays],
    wanted: impl Fn(ArrayId) -> bool,
) -> Vec<Kernel> {
    let mut made = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        let mut kernel = kernel.clone();
        let stored = |store: &Store| match store.target {
            Target::Set(element) => Some(kernel.array(element)),
            Target::Add(_) | Target::Entry(..) => None,
        };
        let results: Vec<ArrayId> = kernel.stores.iter().filter_map(stored).filter(|&array| wanted(array)).collect();
        for derivatives in &mut *all {
            for &result in &results {
                derivatives.ensure(arrays, result);
            }
        }
        let own = kernel.stores.len();
        for derivatives in all.iter() {
            differentiate(&mut kernel, own, derivatives);
        }
        kernel.stores.drain(..own);
        if !kernel.stores.is_empty() {
            made.push(kernel.rewritten(|_, _, _, _| None));
        }
    }
    made
}

/// Adds the derivatives of the first `own` stores of a kernel that have an array.
fn differentiate(kernel: &mut Kernel, own: usize, derivatives: &DerivativeArrays) {
    let accesses = kernel.space.accesses().to_vec();
    let mut of: Vec<Option<AccessId>> = Vec::with_capacity(accesses.len());
    for access in &accesses {
        let derivative = derivatives.derivative(access.array).map(|array| Access { array, ..access.clone() });
        of.push(derivative.map(|access| kernel.space.intern(access)));
    }
    let derivative = |element: Element| match element {
        Element::Scalar(array) => derivatives.derivative(array).map(Element::Scalar),
        Element::At(access) => of.get(access.0 as usize).copied().flatten().map(Element::At),
    };
    let is_parameter = |element: Element| match element {
        Element::Scalar(array) => Source::Parameter(array) == derivatives.source,
        Element::At(access) => {
            accesses.get(access.0 as usize).is_some_and(|a| Source::Parameter(a.array) == derivatives.source)
        }
    };
    let mut reductions = Reductions::new(std::mem::take(&mut kernel.space));
    let roots = kernel.stores[..own].iter().map(|s| s.node);
    let slopes = reductions.slopes(&mut kernel.graph, roots, |graph, node| match node {
        Node::Time if derivatives.source == Source::Time => Some(graph.constant(1.0)),
        Node::Read(element) if is_parameter(element) => Some(graph.constant(1.0)),
        Node::Read(element) => derivative(element).map(|derivative| graph.read(derivative)),
        Node::Direction(element) => derivative(element).map(|derivative| graph.direction(derivative)),
        _ => None,
    });
    kernel.space = reductions.space;
    for k in 0..own {
        let Store { target, node } = kernel.stores[k];
        let slope = slopes[node.index()];
        let target = match target {
            Target::Set(element) => derivative(element).map(Target::Set),
            Target::Add(element) if slope.is_some() => derivative(element).map(Target::Add),
            Target::Add(_) | Target::Entry(..) => None,
        };
        if let Some(target) = target {
            let node = slope.unwrap_or_else(|| kernel.graph.constant(0.0));
            kernel.stores.push(Store { target, node });
        }
    }
}
