//! The declarations of states by their names, for the messages about thousands of equations.

use std::collections::HashMap;

use super::Resolver;
use crate::syntax::tree::{Declared, StatementKind};

impl<'a> Resolver<'a> {
    /// The first declaration of a state, and the order of its highest derivative with an initial value.
    pub(super) fn declared_state(&mut self, name: &str) -> Option<(&'a Declared, u8)> {
        let (names, tree) = (self.names, self.input.tree);
        let known = self.declared_states.get_or_insert_with(|| {
            let mut known: HashMap<&str, (&Declared, u8)> = HashMap::new();
            for item in &names.found.states {
                known.entry(item.target.name.name.as_str()).or_insert((item, 0));
            }
            // the initial values of derivatives are items of their own
            for statement in &tree.statements {
                let StatementKind::State(items) = &statement.kind else { continue };
                for item in items {
                    if let Some((_, order)) = known.get_mut(item.target.name.name.as_str()) {
                        *order = item.target.primes.max(*order);
                    }
                }
            }
            known
        });
        known.get(name).copied()
    }
}
