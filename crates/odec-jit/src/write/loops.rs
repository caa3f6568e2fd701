//! Loops: one round at a time, or two rounds at a time in vector registers.

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value, types};
use odec_ir::NodeId;
use odec_ir::nest::arguments::Stride;
use odec_ir::nest::schedule::{Body, Step};

use super::known::{AvailableValue, Reached};
use super::{FunctionWriter, Round};
use crate::JitError;
use crate::ops::Width;
use crate::routine::Routine;

/// Largest number of values that stay in registers throughout an innermost loop.
const MAX_KEPT: usize = 12;

fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}

/// The rounds of a loop that one version of its body covers.
#[derive(Clone, Copy)]
struct Rounds {
    /// The first.
    from: Value,
    /// One past the last.
    end: Value,
    /// Number of rounds at a time.
    at_a_time: i64,
}

impl FunctionWriter<'_, '_> {
    /// Writes a loop.
    pub(super) fn run(&mut self, body: &Body) -> Result<(), JitError> {
        let routine = self.routine;
        let mark = self.undo.len();
        let [direct, nested] = routine.walks_of(&body.steps);
        for &walk in direct.iter().chain(&nested) {
            self.start(walk);
        }
        let innermost = !body.steps.iter().any(|step| matches!(step, Step::Loop(_)));
        if innermost {
            for &walk in &direct {
                for &(counter, stride) in &routine.walks.all[walk as usize].strides {
                    if let (true, Stride::Word(word)) = (counter == body.counter, stride) {
                        let stride = Some(self.stride(walk, word));
                        let reached = Reached { stride, ..self.reached[walk as usize].clone() };
                        self.reach(walk, reached);
                    }
                }
            }
        }
        let end = self.word(routine.arguments.rounds(body.counter));
        let mut state = self.reduction_start(body);
        let from = self.pos.ins().iconst(types::I64, 0);
        let mut rounds = Rounds { from, end, at_a_time: 1 };
        if innermost && routine.pairs(body) {
            (rounds.from, state) = self.run_pairs(body, end, &state)?;
        } else if innermost {
            self.keep(body)?;
        }
        let state = self.run_rounds(body, rounds, &state, &nested)?;
        self.forget(mark);
        self.reduction_end(body, &state);
        Ok(())
    }

    /// Writes the rounds in pairs; returns the next round and the state of the reductions before it.
    fn run_pairs(&mut self, body: &Body, end: Value, state: &[Value]) -> Result<(Value, Vec<Value>), JitError> {
        let outside = self.undo.len();
        self.width = Width::Two;
        self.keep(body)?;
        let state = self.paired(body, state);
        let end = self.pos.ins().band_imm_s(end, -2);
        let from = self.pos.ins().iconst(types::I64, 0);
        let state = self.run_rounds(body, Rounds { from, end, at_a_time: 2 }, &state, &[])?;
        self.width = Width::One;
        self.forget(outside);
        Ok((end, self.unpaired(body, &state)))
    }

    /// Writes some rounds; returns the state of the reductions at the end.
    fn run_rounds(
        &mut self,
        body: &Body,
        rounds: Rounds,
        state: &[Value],
        nested: &[u32],
    ) -> Result<Vec<Value>, JitError> {
        let routine = self.routine;
        let types: Vec<Type> = state.iter().map(|&value| self.pos.func.dfg.value_type(value)).collect();
        let (inside, after) = (self.block(&[&[types::I64], &types[..]].concat()), self.block(&types));
        let Rounds { from, end, at_a_time } = rounds;
        let any = self.pos.ins().icmp(IntCC::SignedLessThan, from, end);
        self.pos.ins().brif(any, inside, &arguments(&[&[from], state].concat()), after, &arguments(state));
        let parameters = self.enter(inside);
        let mark = self.undo.len();
        let k = parameters[0];
        self.rounds.push(Round { counter: body.counter, k });
        // Walks of inner loops move with this loop too.
        for &walk in nested {
            if routine.walks.all[walk as usize].moves(body.counter) {
                let (address, _) = self.address(walk, 0);
                let mut reached = self.reached[walk as usize].clone();
                reached.address = Some(address);
                reached.done.push(body.counter);
                self.reach(walk, reached);
            }
        }
        self.steps(&body.steps)?;
        self.store_delayed()?;
        let state = self.reduction_round(body, &parameters[1..], k)?;
        self.rounds.pop();
        let next = self.pos.ins().iadd_imm_u(k, at_a_time);
        let again = self.pos.ins().icmp(IntCC::SignedLessThan, next, end);
        self.pos.ins().brif(again, inside, &arguments(&[&[next], &state[..]].concat()), after, &arguments(&state));
        self.forget(mark);
        Ok(self.enter(after))
    }

    fn block(&mut self, parameters: &[Type]) -> Block {
        let block = self.pos.func.dfg.make_block();
        for &ty in parameters {
            self.pos.func.dfg.append_block_param(block, ty);
        }
        block
    }

    /// Continues in a block; returns its parameters.
    fn enter(&mut self, block: Block) -> Vec<Value> {
        self.pos.insert_block(block);
        self.pos.func.dfg.block_params(block).to_vec()
    }

    /// Computes the values that an innermost loop uses, but does not compute, before the loop.
    fn keep(&mut self, body: &Body) -> Result<(), JitError> {
        let routine = self.routine;
        let computed = Routine::computed(body);
        let mut used: Vec<NodeId> = Vec::new();
        for step in &body.steps {
            match step {
                Step::Compute(node) => used.extend(routine.kernel.graph.node(*node).operands()),
                Step::Store(store) => used.push(routine.result(*store)),
                Step::Loop(_) => {}
            }
        }
        used.extend(body.reductions.iter().map(|reduction| reduction.term));
        let mut kept = 0;
        for node in used {
            let constant = routine.kernel.graph.as_constant(node).is_some();
            let late = if constant { kept >= MAX_KEPT } else { self.width == Width::One };
            if computed.contains(&node) || late {
                continue;
            }
            kept += usize::from(constant);
            self.number(node)?;
            let known = AvailableValue { until: u32::MAX, ..self.known[node.index()] };
            self.know(node, known);
        }
        Ok(())
    }
}
