//! Folds of nests. The state of a sum or product is its four partial results, that of the next term first: by symmetry the
//! result does not depend on which one that is. An extremum has itself, and its index where that is asked for.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use odec_ir::nest::schedule::Body;
use odec_ir::nest::{Fold, LoopId};
use odec_ir::{Node, NodeId, Primitive};

use super::write::{Known, Writer};
use crate::ops::Width;

impl Writer<'_, '_> {
    pub(super) fn folds(&self, body: &Body) -> Vec<(Fold, LoopId, NodeId)> {
        let of = |&fold: &NodeId| match self.plan.nest.graph.node(fold) {
            Node::Fold(fold, l, term) => Some((fold, l, term)),
            _ => None,
        };
        body.folds.iter().filter_map(of).collect()
    }

    pub(super) fn fold_start(&mut self, body: &Body) -> Vec<Value> {
        let mut state = Vec::new();
        for (fold, l, _) in self.folds(body) {
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
                    let first = self.word(self.plan.frame.index[l.0 as usize].first);
                    let before = self.pos.ins().iadd_imm_s(first, -1);
                    let before = self.pos.ins().fcvt_from_sint(types::F64, before);
                    state.extend([start, before]);
                }
            }
        }
        state
    }

    /// The state of two rounds at a time.
    pub(super) fn paired(&mut self, body: &Body, state: Vec<Value>) -> Vec<Value> {
        let mut rest = state.as_slice();
        let mut paired = Vec::new();
        for (fold, ..) in self.folds(body) {
            match (fold, rest) {
                (Fold::Sum | Fold::Product, [a, b, c, d, more @ ..]) => {
                    paired.extend([self.join(*a, *b), self.join(*c, *d)]);
                    rest = more;
                }
                (Fold::Min | Fold::Max, [a, more @ ..]) => {
                    paired.push(*a);
                    rest = more;
                }
                (_, [a, b, more @ ..]) => {
                    paired.extend([*a, *b]);
                    rest = more;
                }
                _ => {}
            }
        }
        paired
    }

    /// The state of single rounds, from that of two at a time.
    pub(super) fn unpaired(&mut self, body: &Body, state: Vec<Value>) -> Vec<Value> {
        let mut rest = state.as_slice();
        let mut single = Vec::new();
        for (fold, ..) in self.folds(body) {
            match (fold, rest) {
                (Fold::Sum | Fold::Product, [a, b, more @ ..]) => {
                    for pair in [*a, *b] {
                        single.push(self.pos.ins().extractlane(pair, 0));
                        single.push(self.pos.ins().extractlane(pair, 1));
                    }
                    rest = more;
                }
                (Fold::Min | Fold::Max, [a, more @ ..]) => {
                    single.push(*a);
                    rest = more;
                }
                (_, [a, b, more @ ..]) => {
                    single.extend([*a, *b]);
                    rest = more;
                }
                _ => {}
            }
        }
        single
    }

    /// Takes in the terms of a round, or of two.
    pub(super) fn fold_round(&mut self, body: &Body, state: &[Value], k: Value) -> Vec<Value> {
        let mut rest = state;
        let mut next = Vec::new();
        for (fold, l, term) in self.folds(body) {
            let term = self.number(term);
            let combine = if fold == Fold::Sum { Primitive::Add } else { Primitive::Mul };
            match (fold, self.width) {
                (Fold::Sum | Fold::Product, width) => {
                    let (mine, more) = rest.split_at(if width == Width::One { 4 } else { 2 });
                    let first = width.arithmetic(&mut self.pos, combine, mine[0], term);
                    next.extend_from_slice(&mine[1..]);
                    next.push(first);
                    rest = more;
                }
                (Fold::Min | Fold::Max, width) => {
                    let combine = if fold == Fold::Min { Primitive::Min } else { Primitive::Max };
                    let mut extremum = rest[0];
                    for term in self.lanes(width, term) {
                        extremum = Width::One.arithmetic(&mut self.pos, combine, extremum, term);
                    }
                    next.push(extremum);
                    rest = &rest[1..];
                }
                (Fold::ArgMin | Fold::ArgMax, width) => {
                    let stays =
                        if fold == Fold::ArgMin { FloatCC::LessThanOrEqual } else { FloatCC::GreaterThanOrEqual };
                    let [mut extremum, mut index] = [rest[0], rest[1]];
                    for (ahead, term) in self.lanes(width, term).into_iter().enumerate() {
                        (extremum, index) = self.attain(stays, [extremum, index], term, (l, k, ahead));
                    }
                    next.extend([extremum, index]);
                    rest = &rest[2..];
                }
            }
        }
        next
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
        let start = self.word(self.plan.frame.index[l.0 as usize].first);
        let here = self.pos.ins().iadd(start, k);
        let here = self.pos.ins().iadd_imm_u(here, ahead as i64);
        let here = self.pos.ins().fcvt_from_sint(types::F64, here);
        (self.pos.ins().select(stays, extremum, term), self.pos.ins().select(stays, index, here))
    }

    pub(super) fn fold_end(&mut self, body: &Body, state: &[Value]) {
        let mut rest = state;
        for (&id, (fold, ..)) in body.folds.iter().zip(self.folds(body)) {
            let number = match fold {
                Fold::Sum | Fold::Product => {
                    let combine = if fold == Fold::Sum { Primitive::Add } else { Primitive::Mul };
                    let (mine, more) = rest.split_at(4);
                    rest = more;
                    let even = Width::One.arithmetic(&mut self.pos, combine, mine[0], mine[2]);
                    let odd = Width::One.arithmetic(&mut self.pos, combine, mine[1], mine[3]);
                    Width::One.arithmetic(&mut self.pos, combine, even, odd)
                }
                Fold::Min | Fold::Max => {
                    let number = rest[0];
                    rest = &rest[1..];
                    number
                }
                Fold::ArgMin | Fold::ArgMax => {
                    let number = rest[1];
                    rest = &rest[2..];
                    number
                }
            };
            self.know(id, Known::number(number));
        }
    }
}
