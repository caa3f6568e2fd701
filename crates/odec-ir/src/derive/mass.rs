//! The product of the mass matrix with a direction, of which the derivatives of M are taken.

use std::collections::BTreeMap;

use crate::layout::Layout;
use crate::program::{ArrayId, Kernel, KernelRole, Store, Target};

/// The rows of M w, each a sum over its entries by columns, with one store for every state: zero where M has no entry. Its
/// role says what it is differentiated for.
pub(super) fn product(mass: &Kernel, states: &[ArrayId], layout: &Layout) -> Kernel {
    let mut graph = mass.graph.clone();
    let mut rows: BTreeMap<usize, Vec<(usize, ArrayId, crate::NodeId)>> = BTreeMap::new();
    for store in &mass.stores {
        if let Target::Entry(row, column) = store.target {
            rows.entry(layout.state(row)).or_default().push((layout.state(column), column, store.node));
        }
    }
    let mut stores = Vec::with_capacity(states.len());
    for &state in states {
        let mut entries = rows.remove(&layout.state(state)).unwrap_or_default();
        entries.sort_by_key(|e| e.0);
        let mut sum = None;
        for (_, column, entry) in entries {
            let w = graph.direction(column);
            let term = graph.mul(entry, w);
            sum = Some(match sum {
                None => term,
                Some(sum) => graph.add(sum, term),
            });
        }
        let node = sum.unwrap_or_else(|| graph.constant(0.0));
        stores.push(Store { target: Target::Element(state), node });
    }
    Kernel { role: KernelRole::MassJacobian, graph, stores }
}
