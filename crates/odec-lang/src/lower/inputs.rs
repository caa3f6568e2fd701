//! Inputs as nodes: the piece of the curve that contains the argument, and a polynomial with the coefficients of that
//! piece.

use std::sync::Arc;

use odec_ir::builtin::{lookup, rounding};
use odec_ir::{ArrayId, Builtin, NodeId, Op, Role, Span};

use super::builder::KernelBuilder;
use super::quantities::Arrays;
use crate::model::inputs::{Curve, Input, Interpolation, Outside};

/// The tables of an input.
pub(super) struct CurveTables {
    knots: ArrayId,
    length: usize,
    /// The start of each piece.
    origins: Option<ArrayId>,
    /// The coefficients, for each power.
    coefficients: Vec<ArrayId>,
    /// Number of pieces.
    pieces: usize,
    /// Length of a period.
    period: Option<f64>,
    /// The curve jumps at its knots.
    jumps: bool,
}

/// Declares the tables of an input. An input without its file has no value anywhere.
pub(super) fn declare(arrays: &mut Arrays, input: &Input, curve: Option<&Curve>) -> CurveTables {
    let unread = Curve::unread();
    let curve = curve.unwrap_or(&unread);
    let mut table = |tail: &str, data: &[f64]| {
        let id = arrays.next();
        let array = arrays.push(format!("{}.{tail}", input.name), Role::Table, input.span);
        array.data = Arc::new(data.to_vec());
        array.unit.clone_from(&input.unit);
        id
    };
    let knots = table("knots", &curve.knots);
    let origins = (!curve.origins.is_empty()).then(|| table("origins", &curve.origins));
    let coefficients = curve.coefficients.iter().enumerate();
    CurveTables {
        knots,
        length: curve.knots.len(),
        origins,
        coefficients: coefficients.map(|(power, list)| table(&format!("c{power}"), list)).collect(),
        pieces: curve.coefficients[0].len(),
        period: (curve.outside == Outside::Periodic).then(|| curve.period()),
        jumps: curve.between == Interpolation::Hold,
    }
}

impl KernelBuilder<'_, '_> {
    /// The value of an input at an argument.
    pub(super) fn input(&mut self, input: usize, argument: NodeId, span: Span) -> NodeId {
        let CurveTables { knots, length, origins, pieces, period, jumps, .. } = self.world.curves[input];
        let search: &'static Builtin = match (period, jumps) {
            (None, false) => &lookup::PIECE,
            (None, true) => &lookup::STEP,
            (Some(_), false) => &lookup::CYCLE,
            (Some(_), true) => &lookup::STEP_CYCLE,
        };
        let found = self.look_up(search, knots, length, argument);
        let found = self.graph.with_span(found, span);
        let (piece, shift) = match period {
            None => (found, None),
            Some(period) => {
                // pieces count on from period to period
                let (all, period) = (self.graph.constant(pieces as f64), self.graph.constant(period));
                let periods = self.graph.div(found, all);
                let periods = self.graph.apply(&rounding::FLOOR, &[periods]);
                let before = self.graph.mul(periods, all);
                (self.graph.sub(found, before), Some(self.graph.mul(periods, period)))
            }
        };
        let coefficients = self.world.curves[input].coefficients.clone();
        let distance = origins.map(|origins| {
            let origin = self.look_up(&lookup::ITEM, origins, pieces, piece);
            let origin = shift.map_or(origin, |shift| self.graph.add(origin, shift));
            self.graph.sub(argument, origin)
        });
        let mut sum: Option<NodeId> = None;
        for table in coefficients.into_iter().rev() {
            let coefficient = self.look_up(&lookup::ITEM, table, pieces, piece);
            sum = Some(match (sum, distance) {
                (Some(sum), Some(distance)) => {
                    let product = self.graph.mul(distance, sum);
                    self.graph.add(coefficient, product)
                }
                _ => coefficient,
            });
        }
        let value = sum.unwrap_or(found);
        self.graph.with_span(value, span)
    }

    fn look_up(&mut self, row: &'static Builtin, table: ArrayId, length: usize, argument: NodeId) -> NodeId {
        let first = self.scalar(table);
        let (first, length) = (self.graph.read(first), self.graph.constant(length as f64));
        self.graph.call(Op(row), &[first, argument, length])
    }
}
