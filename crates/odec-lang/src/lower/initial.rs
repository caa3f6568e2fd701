//! Initial values and their replacements: values from the caller, and parameters that represent initial values.

use odec_ir::NodeId;
use odec_ir::builtin::logic;

use super::builder::{KernelBuilder, Key, Outcome, Phase, Progress, ready};
use super::index::IndexValue;
use crate::model::{Opened, Symbol};

impl KernelBuilder<'_, '_> {
    /// An initial value that was replaced for all elements, except for elements with their own replacement.
    pub fn replaced_whole(&mut self, symbol: Symbol, order: u8, subs: &[IndexValue]) -> Option<NodeId> {
        if self.phase != Phase::Start {
            return None;
        }
        if let Symbol::Discrete(i) = symbol {
            let given = self.world.values.discretes.iter().rev().find(|given| given.0 == i)?.1;
            let node = self.graph.constant(given);
            return Some(self.replaced_discrete(node, i, subs));
        }
        let Symbol::State(i) = symbol else { return None };
        let given = self.world.values.initial.iter().rev().find(|g| (g.0, g.1) == (i, order))?.2;
        let node = self.opened(i, order, None).unwrap_or_else(|| self.graph.constant(given));
        Some(self.replaced(node, i, order, subs))
    }

    /// An initial value, including replacements for single elements.
    pub fn initial_element(&mut self, state: usize, order: u8, subs: &[IndexValue], key: Key) -> Outcome {
        let node = ready!(self.same(key));
        let shifted = self.opened(state, order, None).map(|shift| self.graph.add(node, shift));
        Ok(Progress::Done(self.replaced(shifted.unwrap_or(node), state, order, subs)))
    }

    /// The initial value of a discrete, including replacements for single elements.
    pub fn initial_discrete(&mut self, discrete: usize, subs: &[IndexValue], key: Key) -> Outcome {
        let node = ready!(self.same(key));
        Ok(Progress::Done(self.replaced_discrete(node, discrete, subs)))
    }

    fn replaced_discrete(&mut self, mut node: NodeId, discrete: usize, subs: &[IndexValue]) -> NodeId {
        let values = self.world.values;
        for (_, at, value) in values.discrete_elements.iter().filter(|given| given.0 == discrete) {
            let Some(condition) = self.is_at(subs, at) else { continue };
            let value = self.graph.constant(*value);
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        node
    }

    /// The condition that these subscripts select an element.
    fn is_at(&mut self, subs: &[IndexValue], at: &[i64]) -> Option<NodeId> {
        let mut conditions = Vec::new();
        for (sub, &at) in subs.iter().zip(at) {
            let (x, y) = (self.number(sub), self.space.guards.constant(at as f64));
            conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
        }
        let condition = self.all(&conditions)?;
        Some(self.copied(condition))
    }

    /// The parameter that represents an initial value, if there is one.
    fn opened(&mut self, state: usize, order: u8, at: Option<&[i64]>) -> Option<NodeId> {
        let same = |o: &Opened| (o.state, o.order, o.at.as_deref()) == (state, order, at);
        let found = self.world.values.opened.iter().rposition(same)?;
        let element = self.scalar(self.world.arrays.opened[found]);
        Some(self.graph.read(element))
    }

    /// An initial value, with the elements that the caller replaced.
    fn replaced(&mut self, mut node: NodeId, state: usize, order: u8, subs: &[IndexValue]) -> NodeId {
        let values = self.world.values;
        for (_, _, at, value) in values.elements.iter().filter(|e| (e.0, e.1) == (state, order)) {
            let Some(condition) = self.is_at(subs, at) else { continue };
            let value = self.opened(state, order, Some(at)).unwrap_or_else(|| self.graph.constant(*value));
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        // an element that varies without a given value starts from the value in the text
        for opened in values.opened.iter().filter(|o| (o.state, o.order) == (state, order) && o.given.is_none()) {
            let Some(at) = &opened.at else { continue };
            let (Some(condition), Some(shift)) = (self.is_at(subs, at), self.opened(state, order, Some(at))) else {
                continue;
            };
            let shifted = self.graph.add(node, shift);
            node = self.graph.apply(&logic::IF, &[condition, shifted, node]);
        }
        node
    }
}
