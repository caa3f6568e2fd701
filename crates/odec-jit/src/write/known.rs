//! The values that are available in registers during code generation. Values from a loop are discarded at its end.

use cranelift_codegen::ir::Value;
use odec_ir::NodeId;
use odec_ir::nest::arguments::Counter;

use super::FunctionWriter;

/// The available value of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AvailableValue {
    /// As a double.
    pub(super) number: Option<Value>,
    /// As a truth value in a byte.
    pub(super) truth: Option<Value>,
    /// Doubles of two rounds.
    pub(super) pair: Option<Value>,
    /// As a mask for two rounds.
    pub(super) mask: Option<Value>,
    /// The last step that may use them.
    pub(super) until: u32,
}

impl AvailableValue {
    /// A double, available until the end of the body.
    pub(super) fn number(number: Value) -> AvailableValue {
        AvailableValue { number: Some(number), until: u32::MAX, ..AvailableValue::default() }
    }

    /// Doubles of two rounds, available until the end of the body.
    pub(super) fn pair(pair: Value) -> AvailableValue {
        AvailableValue { pair: Some(pair), until: u32::MAX, ..AvailableValue::default() }
    }
}

/// The state of a walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// Its address in bytes, after the counters in `done` have moved it.
    pub(super) address: Option<Value>,
    pub(super) done: Vec<Counter>,
    /// Its stride in bytes along the innermost loop, if that is not constant.
    pub(super) stride: Option<Value>,
    /// The entries of the offset table for this round and the next.
    pub(super) listed: [Option<Value>; 2],
}

/// A previous state.
pub(super) enum Undo {
    Node(NodeId, AvailableValue),
    Walk(u32, Reached),
}

impl FunctionWriter<'_, '_> {
    pub(super) fn know(&mut self, node: NodeId, known: AvailableValue) {
        self.undo.push(Undo::Node(node, self.known[node.index()]));
        self.known[node.index()] = known;
    }

    pub(super) fn reach(&mut self, walk: u32, reached: Reached) {
        let old = std::mem::replace(&mut self.reached[walk as usize], reached);
        self.undo.push(Undo::Walk(walk, old));
    }

    /// Discards the values since the mark: the code that computes them does not always run before what follows.
    pub(super) fn forget(&mut self, mark: usize) {
        for undo in self.undo.drain(mark..).rev() {
            match undo {
                Undo::Node(node, known) => self.known[node.index()] = known,
                Undo::Walk(walk, reached) => self.reached[walk as usize] = reached,
            }
        }
    }
}
