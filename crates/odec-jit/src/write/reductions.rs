//! Reductions. The state of a sum or product is its four partial results, starting with the one for the next term; by
//! symmetry, the result does not depend on the rotation. The state of an extremum is its value, and its index if
//! needed.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use odec_ir::Primitive;
use odec_ir::nest::schedule::{Body, LoopReduction};
use odec_ir::nest::{LoopId, ReduceOp};

use super::FunctionWriter;
use super::known::AvailableValue;
use crate::JitError;
use crate::ops::Width;

/// Number of values in the state of a reduction, for rounds one by one or in pairs.
fn length(reduction: ReduceOp, width: Width) -> usize {
    match (reduction, width) {
        (ReduceOp::Sum | ReduceOp::Product, Width::One) => 4,
        (ReduceOp::Sum | ReduceOp::Product, Width::Two) | (ReduceOp::ArgMin | ReduceOp::ArgMax, _) => 2,
        (ReduceOp::Min | ReduceOp::Max, _) => 1,
    }
}

/// The reductions of a body, each with its part of the state.
fn shares<'a>(
    body: &'a Body,
    width: Width,
    state: &'a [Value],
) -> impl Iterator<Item = (&'a LoopReduction, &'a [Value])> + 'a {
    let mut rest = state;
    body.reductions.iter().map(move |reduction| {
        let (mine, more) = rest.split_at(length(reduction.reduction, width));
        rest = more;
        (reduction, mine)
    })
}

/// The operation that combines two partial results of a sum or product.
fn join(reduction: ReduceOp) -> Primitive {
    if reduction == ReduceOp::Sum { Primitive::Add } else { Primitive::Mul }
}

impl FunctionWriter<'_, '_> {
    pub(super) fn reduction_start(&mut self, body: &Body) -> Vec<Value> {
        let mut state = Vec::new();
        for &LoopReduction { reduction, over, .. } in &body.reductions {
            let start = match reduction {
                ReduceOp::Sum => 0.0,
                ReduceOp::Product => 1.0,
                ReduceOp::Min | ReduceOp::ArgMin => f64::INFINITY,
                ReduceOp::Max | ReduceOp::ArgMax => f64::NEG_INFINITY,
            };
            let start = Width::One.constant(&mut self.pos, start);
            match reduction {
                ReduceOp::Sum | ReduceOp::Product => state.extend([start; 4]),
                ReduceOp::Min | ReduceOp::Max => state.push(start),
                ReduceOp::ArgMin | ReduceOp::ArgMax => {
                    let first = self.word(self.routine.arguments.index[over.0 as usize].first);
                    let before = self.pos.ins().iadd_imm_s(first, -1);
                    let before = self.pos.ins().fcvt_from_sint(types::F64, before);
                    state.extend([start, before]);
                }
            }
        }
        state
    }

    /// The state for pairs of rounds, from the state of single rounds.
    pub(super) fn paired(&mut self, body: &Body, state: &[Value]) -> Vec<Value> {
        let mut paired = Vec::new();
        for (_, mine) in shares(body, Width::One, state) {
            match *mine {
                [a, b, c, d] => paired.extend([self.join(a, b), self.join(c, d)]),
                _ => paired.extend_from_slice(mine),
            }
        }
        paired
    }

    /// The state of single rounds, from the state for pairs.
    pub(super) fn unpaired(&mut self, body: &Body, state: &[Value]) -> Vec<Value> {
        let mut single = Vec::new();
        for (reduction, mine) in shares(body, Width::Two, state) {
            if matches!(reduction.reduction, ReduceOp::Sum | ReduceOp::Product) {
                for &pair in mine {
                    single.push(self.pos.ins().extractlane(pair, 0));
                    single.push(self.pos.ins().extractlane(pair, 1));
                }
            } else {
                single.extend_from_slice(mine);
            }
        }
        single
    }

    /// Combines the terms of a round, or of two.
    pub(super) fn reduction_round(&mut self, body: &Body, state: &[Value], k: Value) -> Result<Vec<Value>, JitError> {
        let width = self.width;
        let mut next = Vec::new();
        for (&LoopReduction { reduction, over, term, .. }, mine) in shares(body, width, state) {
            let term = self.number(term)?;
            match reduction {
                ReduceOp::Sum | ReduceOp::Product => {
                    let first = width.arithmetic(&mut self.pos, join(reduction), mine[0], term);
                    next.extend_from_slice(&mine[1..]);
                    next.push(first);
                }
                ReduceOp::Min | ReduceOp::Max => {
                    let combine = if reduction == ReduceOp::Min { Primitive::Min } else { Primitive::Max };
                    let mut extremum = mine[0];
                    for term in self.lanes(width, term) {
                        extremum = Width::One.arithmetic(&mut self.pos, combine, extremum, term);
                    }
                    next.push(extremum);
                }
                ReduceOp::ArgMin | ReduceOp::ArgMax => {
                    let least = reduction == ReduceOp::ArgMin;
                    let stays = if least { FloatCC::LessThanOrEqual } else { FloatCC::GreaterThanOrEqual };
                    let [mut extremum, mut index] = [mine[0], mine[1]];
                    for (ahead, term) in self.lanes(width, term).into_iter().enumerate() {
                        (extremum, index) = self.attain(stays, [extremum, index], term, (over, k, ahead));
                    }
                    next.extend([extremum, index]);
                }
            }
        }
        Ok(next)
    }

    fn lanes(&mut self, width: Width, number: Value) -> Vec<Value> {
        match width {
            Width::One => vec![number],
            Width::Two => (0..2u8).map(|lane| self.pos.ins().extractlane(number, lane)).collect(),
        }
    }

    /// The first term that is less than all earlier terms or NaN, and its index.
    fn attain(
        &mut self,
        stays: FloatCC,
        [extremum, index]: [Value; 2],
        term: Value,
        (l, k, ahead): (LoopId, Value, usize),
    ) -> (Value, Value) {
        let stays = self.pos.ins().fcmp(stays, extremum, term);
        let nan = self.pos.ins().fcmp(FloatCC::Unordered, extremum, extremum);
        let stays = self.pos.ins().bor(stays, nan);
        let start = self.word(self.routine.arguments.index[l.0 as usize].first);
        let here = self.pos.ins().iadd(start, k);
        let here = self.pos.ins().iadd_imm_u(here, ahead as i64);
        let here = self.pos.ins().fcvt_from_sint(types::F64, here);
        (self.pos.ins().select(stays, extremum, term), self.pos.ins().select(stays, index, here))
    }

    pub(super) fn reduction_end(&mut self, body: &Body, state: &[Value]) {
        for (reduction, mine) in shares(body, Width::One, state) {
            let number = match *mine {
                [a, b, c, d] => {
                    let even = Width::One.arithmetic(&mut self.pos, join(reduction.reduction), a, c);
                    let odd = Width::One.arithmetic(&mut self.pos, join(reduction.reduction), b, d);
                    Width::One.arithmetic(&mut self.pos, join(reduction.reduction), even, odd)
                }
                // The last one is the index, if requested.
                _ => mine[mine.len() - 1],
            };
            self.know(reduction.node, AvailableValue::number(number));
        }
    }
}
