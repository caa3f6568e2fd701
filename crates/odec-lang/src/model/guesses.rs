//! Initial values that read the guess of an algebraic unknown.

use odec_ir::Span;

use super::{Body, Model, Symbol, TermKind};

impl Model {
    /// Unknowns whose guesses are read by initial values of states and discretes, directly or by definitions: the
    /// unknown as an element of [`Model::states`], and the initial value.
    pub fn guesses_read(&self) -> Vec<(usize, Span)> {
        let states = self.states.iter().filter(|state| !state.algebraic).flat_map(|state| &state.initial);
        let starts = states.chain(self.discretes.iter().map(|discrete| &discrete.initial));
        let mut found = Vec::new();
        for start in starts {
            let mut unknowns = self.unknowns_read(*start);
            unknowns.sort_unstable();
            unknowns.dedup();
            found.extend(unknowns.into_iter().map(|unknown| (unknown, self.span(*start))));
        }
        found
    }

    fn unknowns_read(&self, body: Body) -> Vec<usize> {
        let (mut open, mut found) = (vec![body], Vec::new());
        let mut seen = vec![false; self.definitions.len()];
        while let Some(body) = open.pop() {
            for term in &self.terms[body.range()] {
                match &term.kind {
                    TermKind::State(i, _) | TermKind::Element(Symbol::State(i), ..) if self.states[*i].algebraic => {
                        found.push(*i);
                    }
                    TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..)
                        if !std::mem::replace(&mut seen[*i], true) =>
                    {
                        open.push(self.definitions[*i].value);
                    }
                    _ => {}
                }
            }
        }
        found
    }
}
