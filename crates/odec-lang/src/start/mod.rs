//! Problems at the start of a valid model: derivatives that the equations do not determine there, and solutions that
//! are not unique.

mod rank;
mod unique;

use odec_ir::{Array, Kernel, KernelRole, Layout, Node, NodeId, Span, Store, Target};

use crate::diagnostic::Diagnostic;
use crate::lower::Draft;
use crate::model::Model;
use crate::trial::Trial;

/// The model at its start.
struct Start<'a> {
    model: &'a Model,
    draft: &'a Draft,
    trial: Trial,
    t: f64,
    y: Vec<f64>,
}

/// Warnings about the start of the default run.
pub(crate) fn warnings(model: &Model, draft: &Draft) -> Vec<Diagnostic> {
    let factors = draft.kernels.iter().any(|kernel| kernel.role == KernelRole::Mass) || rank::divides(model, draft);
    let roots = unique::has_roots(draft);
    if !factors && !roots {
        return Vec::new();
    }
    let Ok(trial) = Trial::of(draft, Vec::new()) else { return Vec::new() };
    let (t, _) = model.span_of_run();
    let y = trial.initial(t);
    if !y.iter().all(|x| x.is_finite()) {
        return Vec::new();
    }
    let start = Start { model, draft, trial, t, y };
    let found = if factors { rank::warnings(&start) } else { Vec::new() };
    if found.is_empty() && roots { unique::warnings(&start) } else { found }
}

impl Start<'_> {
    /// The rows that the stores of a kernel give with other nodes, which `node` chooses; stores without one are left
    /// out, and rows that no store sets are zero.
    fn rows_with(&self, kernel: &Kernel, node: impl Fn(&Store) -> Option<NodeId>) -> Option<Vec<f64>> {
        let stores = kernel.stores.iter().filter_map(|store| Some(Store { node: node(store)?, ..*store }));
        let kernel = Kernel { stores: stores.collect(), ..kernel.clone() };
        Some(self.trial.with_rhs(vec![kernel])?.slopes(self.t, &self.y))
    }

    /// The state whose derivative is in each row of f, and the order of that derivative.
    fn rows(&self) -> Vec<(usize, u8)> {
        let layout = self.trial.layout();
        let mut rows = vec![(0, 0); self.trial.len()];
        for (i, k, array) in states(self.model, &self.draft.arrays) {
            rows[layout.start(array)..][..layout.len(array)].fill((i, k + 1));
        }
        rows
    }

    /// The name of a row's unknown: `x`, `u[3]`.
    fn unknown(&self, row: usize) -> String {
        self.trial.unknown(row).unwrap_or_default()
    }

    /// The equation that determines the highest derivative of a state.
    fn equation(&self, state: usize) -> Option<Span> {
        let model = self.model;
        let own = model.equations.iter().find(|e| e.target.or(e.owner) == Some(state));
        own.map(|e| e.span)
    }
}

/// The arrays of the states: state, order of the derivative, array.
fn states<'a>(model: &'a Model, arrays: &'a [Array]) -> impl Iterator<Item = (usize, u8, odec_ir::ArrayId)> + 'a {
    let ids = (0..arrays.len()).filter(|&i| arrays[i].role.is_state()).map(|i| odec_ir::ArrayId(i as u32));
    let orders = model.states.iter().enumerate().flat_map(|(i, s)| (0..s.order).map(move |k| (i, k)));
    orders.zip(ids).map(|((i, k), id)| (i, k, id))
}

/// The row that a store sets.
fn row_of(kernel: &Kernel, target: Target, layout: &Layout) -> Option<usize> {
    match target {
        Target::Set(element) | Target::Add(element) => Some(layout.start(kernel.array(element))),
        Target::Entry(..) => None,
    }
}

/// The operation of a node and its operands.
fn call(kernel: &Kernel, id: NodeId) -> Option<(&'static str, [NodeId; 3])> {
    match kernel.graph.node(id) {
        Node::Call(op, args) => Some((op.0.name, args)),
        _ => None,
    }
}
