//! Initial values, and what replaces them: values that were asked for, and parameters that stand for them.

use odec_ir::NodeId;
use odec_ir::builtin::logic;

use super::builder::{KernelBuilder, Key, Outcome, Phase, Progress, ready};
use super::index::IndexValue;
use crate::model::{Opened, Symbol};

impl KernelBuilder<'_, '_> {
    /// An initial value that was replaced for all elements, but for those that were replaced by themselves.
    pub fn replaced_whole(&mut self, symbol: Symbol, order: u8, subs: &[IndexValue]) -> Option<NodeId> {
        let Symbol::State(i) = symbol else { return None };
        if self.phase != Phase::Start {
            return None;
        }
        let given = self.world.values.initial.iter().rev().find(|g| (g.0, g.1) == (i, order))?.2;
        let node = self.opened(i, order, None).unwrap_or_else(|| self.graph.constant(given));
        Some(self.replaced(node, i, order, subs))
    }

    /// An initial value, with those of single elements that were replaced.
    pub fn initial_element(&mut self, state: usize, order: u8, subs: &[IndexValue], key: Key) -> Outcome {
        let node = ready!(self.same(key));
        let shifted = self.opened(state, order, None).map(|shift| self.graph.add(node, shift));
        Ok(Progress::Done(self.replaced(shifted.unwrap_or(node), state, order, subs)))
    }

    /// The parameter that stands for an initial value, if one does.
    fn opened(&mut self, state: usize, order: u8, at: Option<&[i64]>) -> Option<NodeId> {
        let same = |o: &Opened| (o.state, o.order, o.at.as_deref()) == (state, order, at);
        let found = self.world.values.opened.iter().rposition(same)?;
        let element = self.scalar(self.world.arrays.opened[found]);
        Some(self.graph.read(element))
    }

    /// An initial value where its element was not replaced by itself.
    fn replaced(&mut self, mut node: NodeId, state: usize, order: u8, subs: &[IndexValue]) -> NodeId {
        let values = self.world.values;
        for (_, _, at, value) in values.elements.iter().filter(|e| (e.0, e.1) == (state, order)) {
            let mut conditions = Vec::new();
            for (sub, &at) in subs.iter().zip(at) {
                let (x, y) = (self.number(sub), self.space.guards.constant(at as f64));
                conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
            }
            let Some(condition) = self.all(&conditions) else { continue };
            let condition = self.copied(condition);
            let value = self.opened(state, order, Some(at)).unwrap_or_else(|| self.graph.constant(*value));
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        node
    }
}
