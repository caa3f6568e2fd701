//! Folds. The state of a sum or product is its four partial results, that of the next term first: by symmetry the result
//! does not depend on which one that is. An extremum has itself, and its index where that is asked for.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use odec_ir::Primitive;
use odec_ir::nest::schedule::{Body, LoopFold};
use odec_ir::nest::{Fold, LoopId};

use super::Writer;
use super::known::Known;
use crate::JitError;
use crate::ops::Width;

/// How many values the state of a fold is, where rounds are run one by one or two at a time.
fn length(fold: Fold, width: Width) -> usize {
    match (fold, width) {
        (Fold::Sum | Fold::Product, Width::One) => 4,
        (Fold::Sum | Fold::Product, Width::Two) | (Fold::ArgMin | Fold::ArgMax, _) => 2,
        (Fold::Min | Fold::Max, _) => 1,
    }
}

/// The folds of a body, each with its part of their state.
fn shares<'a>(
    body: &'a Body,
    width: Width,
    state: &'a [Value],
) -> impl Iterator<Item = (&'a LoopFold, &'a [Value])> + 'a {
    let mut rest = state;
    body.folds.iter().map(move |fold| {
        let (mine, more) = rest.split_at(length(fold.fold, width));
        rest = more;
        (fold, mine)
    })
}

/// What joins two partial results of a sum or product.
fn join(fold: Fold) -> Primitive {
    if fold == Fold::Sum { Primitive::Add } else { Primitive::Mul }
}

impl Writer<'_, '_> {
    pub(super) fn fold_start(&mut self, body: &Body) -> Vec<Value> {
        let mut state = Vec::new();
        for &LoopFold { fold, over, .. } in &body.folds {
            let start = match fold {
                Fold::Sum => 0.0,
                Fold::Product => 1.0,
                Fold::Min | Fold::ArgMin => f64::INFINITY,
                Fold::Max | Fold::ArgMax => f64::NEG_INFINITY,
            };
            let start = Width::One.constant(&mut self.pos, start);
            match fold {
                Fold::Sum | Fold::Product => state.extend([start; 4]),
                Fold::Min | Fold::Max => state.push(start),
                Fold::ArgMin | Fold::ArgMax => {
                    let first = self.word(self.routine.frame.index[over.0 as usize].first);
                    let before = self.pos.ins().iadd_imm_s(first, -1);
                    let before = self.pos.ins().fcvt_from_sint(types::F64, before);
                    state.extend([start, before]);
                }
            }
        }
        state
    }

    /// The state of two rounds at a time.
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

    /// The state of single rounds, from that of two at a time.
    pub(super) fn unpaired(&mut self, body: &Body, state: &[Value]) -> Vec<Value> {
        let mut single = Vec::new();
        for (fold, mine) in shares(body, Width::Two, state) {
            if matches!(fold.fold, Fold::Sum | Fold::Product) {
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

    /// Takes in the terms of a round, or of two.
    pub(super) fn fold_round(&mut self, body: &Body, state: &[Value], k: Value) -> Result<Vec<Value>, JitError> {
        let width = self.width;
        let mut next = Vec::new();
        for (&LoopFold { fold, over, term, .. }, mine) in shares(body, width, state) {
            let term = self.number(term)?;
            match fold {
                Fold::Sum | Fold::Product => {
                    let first = width.arithmetic(&mut self.pos, join(fold), mine[0], term);
                    next.extend_from_slice(&mine[1..]);
                    next.push(first);
                }
                Fold::Min | Fold::Max => {
                    let combine = if fold == Fold::Min { Primitive::Min } else { Primitive::Max };
                    let mut extremum = mine[0];
                    for term in self.lanes(width, term) {
                        extremum = Width::One.arithmetic(&mut self.pos, combine, extremum, term);
                    }
                    next.push(extremum);
                }
                Fold::ArgMin | Fold::ArgMax => {
                    let least = fold == Fold::ArgMin;
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

    /// The first term that is less than all before it or NaN, and its index.
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
        let start = self.word(self.routine.frame.index[l.0 as usize].first);
        let here = self.pos.ins().iadd(start, k);
        let here = self.pos.ins().iadd_imm_u(here, ahead as i64);
        let here = self.pos.ins().fcvt_from_sint(types::F64, here);
        (self.pos.ins().select(stays, extremum, term), self.pos.ins().select(stays, index, here))
    }

    pub(super) fn fold_end(&mut self, body: &Body, state: &[Value]) {
        for (fold, mine) in shares(body, Width::One, state) {
            let number = match *mine {
                [a, b, c, d] => {
                    let even = Width::One.arithmetic(&mut self.pos, join(fold.fold), a, c);
                    let odd = Width::One.arithmetic(&mut self.pos, join(fold.fold), b, d);
                    Width::One.arithmetic(&mut self.pos, join(fold.fold), even, odd)
                }
                // The last one is the index, where that is asked for.
                _ => mine[mine.len() - 1],
            };
            self.know(fold.node, Known::number(number));
        }
    }
}
