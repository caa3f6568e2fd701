//! The reference interpreter: the semantics of a program. Machine code gives the same bits.

mod nests;

pub use nests::{Interpreter, Runs, run_bound};

use crate::graph::{Graph, Node};
use crate::layout::Layout;
use crate::number::Number;
use crate::program::{ArrayId, Kernel, KernelRole, Program, Role};

/// The buffers that a kernel reads. Slices may be shorter than the layout where the kernel reads nothing of them.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// Time.
    pub t: T,
    /// State `[q, v, z]`.
    pub y: &'a [T],
    /// Parameters, then staged values.
    pub p: &'a [T],
    /// Direction of a tangent kernel.
    pub w: &'a [T],
}

/// Runs a kernel of a program on f64; `out` has the length that [`Layout::out_len`] says. Elements
/// without a store are zero. Without a kernel of that role `out` is left as it is, and so are the parameters by `Prepare`.
pub fn run(program: &Program, role: KernelRole, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
    run_on(program, &Layout::of(program), role, Inputs { t, y, p, w }, out);
}

/// [`run`] over any number type, with the layout at hand.
pub fn run_on<T: Number>(program: &Program, layout: &Layout, role: KernelRole, inputs: Inputs<'_, T>, out: &mut [T]) {
    let Some(kernel) = program.kernel(role) else { return };
    let values = evaluate(program, layout, kernel, inputs);
    if role != KernelRole::Prepare {
        out.fill(T::constant(0.0));
    }
    for store in &kernel.stores {
        if let Some(slot) = layout.slot(program, role, store.target)
            && let Some(out) = out.get_mut(slot)
        {
            *out = values[store.node.index()];
        }
    }
}

/// The value of every node of a kernel. An element outside the given slices is NaN.
pub fn evaluate<T: Number>(program: &Program, layout: &Layout, kernel: &Kernel, inputs: Inputs<'_, T>) -> Vec<T> {
    let state = |buffer: &[T], array: ArrayId| buffer.get(layout.state(array)).copied();
    evaluate_graph(&kernel.graph, inputs.t, |node| {
        let value = match node {
            Node::Read(array) => match program.arrays[array.0 as usize].role {
                Role::Parameter | Role::Staged => inputs.p.get(layout.parameter(array)).copied(),
                _ => state(inputs.y, array),
            },
            Node::Direction(array) => state(inputs.w, array),
            _ => None,
        };
        value.unwrap_or_else(|| T::constant(f64::NAN))
    })
}

/// The value of every node of a graph, given that of the reads and directions.
pub fn evaluate_graph<T: Number>(graph: &Graph, t: T, leaf: impl Fn(Node) -> T) -> Vec<T> {
    let mut values: Vec<T> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let value = match node {
            Node::Constant(bits) => T::constant(f64::from_bits(*bits)),
            Node::Time => t,
            Node::Call(op, args) => {
                let args = args.map(|a| values[a.index()]);
                T::call(op.0, &args[..usize::from(op.0.arity)])
            }
            _ => leaf(*node),
        };
        values.push(value);
    }
    values
}
