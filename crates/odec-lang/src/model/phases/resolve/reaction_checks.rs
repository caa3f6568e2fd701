//! Checks of reactions that need the whole model: the elements that they change, and the contents of compartments.

use super::{Allowed, Resolver};
use crate::syntax::tree::ReactionCheck;

impl<'a> Resolver<'a> {
    pub(super) fn resolve_reaction_check(&mut self, check: &'a ReactionCheck) {
        match check {
            ReactionCheck::Elements(value) => {
                let (start, value) = self.within_scope(None, |b| b.value(*value, Allowed::Anywhere));
                let bodies = self.split(start, value);
                self.model.changed.extend(bodies);
            }
            ReactionCheck::Sum(_) => {}
            // a compartment with a state in it is used
            ReactionCheck::Inside(inside) => {
                let own = self.model.symbols.get(&inside.compartment.name.name).copied();
                if let Some(symbol) = own {
                    self.uses.mark(symbol);
                }
                let state =
                    inside.volume.as_ref().and_then(|volume| self.model.symbols.get(&volume.name.name).copied());
                if let Some(volume) = state.or(own).filter(|volume| !self.model.volumes.contains(volume)) {
                    self.model.volumes.push(volume);
                }
            }
        }
    }
}
