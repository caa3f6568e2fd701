//! The declarations of states by their names, for the messages about thousands of equations.

use std::collections::HashMap;

use super::Resolver;
use crate::syntax::tree::Declared;

impl<'a> Resolver<'a> {
    /// The first declaration of a state, and the order of its highest derivative with an initial value.
    pub(super) fn declared_state(&mut self, name: &str) -> Option<(&'a Declared, u8)> {
        let names = self.names;
        let known = self.declared_states.get_or_insert_with(|| {
            let mut known: HashMap<&str, (&Declared, u8)> = HashMap::new();
            for item in &names.found.states {
                let entry = known.entry(item.target.name.name.as_str()).or_insert((item, 0));
                entry.1 = entry.1.max(item.target.primes);
            }
            known
        });
        known.get(name).copied()
    }
}
