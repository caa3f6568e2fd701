//! Checks of reactions that need the whole model: the elements that they change, and the contents of compartments.

use super::{Allowed, Resolver};
use crate::syntax::tree::Matter;

impl<'a> Resolver<'a> {
    pub(super) fn resolve_matter(&mut self, matter: &'a Matter) {
        match matter {
            Matter::Elements(value) => {
                let (start, value) = self.within_scope(None, |b| b.value(*value, Allowed::Anywhere));
                let bodies = self.split(start, value);
                self.model.changed.extend(bodies);
            }
            Matter::Sum(_) => {}
            // a compartment with a state in it is used
            Matter::Inside(inside) => {
                if let Some(&symbol) = self.model.symbols.get(&inside.compartment.name.name) {
                    self.uses.mark(symbol);
                }
            }
        }
    }
}
