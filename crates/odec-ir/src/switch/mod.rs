//! Switches: comparisons of quantities that change during a run become reads of modes, which the solver sets.
//!
//! [`locate`] takes the kernels of a model before differentiation. It replaces each comparison, `abs`, `min`, `max`
//! and `sign` by a read of a mode, and each `floor`, `ceil`, `round` and `mod` by a read of a discrete. Later passes
//! (derivatives, fused steps, Taylor series) need no knowledge of switches: a mode is a number in the parameter
//! buffer.
//!
//! ```text
//! x' = if x > y then -1 else 1         x' = if mode.0 then -1 else 1
//!                                      left.0 = x      right.0 = y        relation 0
//! z' = 20*(5 < t)                      z' = 20*mode.1
//!                                      value.1 = 5 < t     break.1 = 5    timed mode 1
//! ```
//!
//! The other half is [`Switching`]: it describes how modes are decided, as programs of `Outputs` kernels over the same
//! arrays. Their parameter buffer is that of the model.

mod derivatives;
mod events;
mod keys;
mod linear;
mod locate;
mod reads;
mod rewrite;
mod times;

pub use derivatives::{DerivativeDraft, Derivatives};
pub use events::{BoundValues, Cause, Event, EventDraft, Events, Write};
pub use locate::{Sketch, locate, switches, without_smooth};

use crate::program::{Array, ArrayId, Program, Role};
use crate::span::Span;

/// A comparison `left > right` of two quantities that change during a run, once for each element of its arrays.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The mode that it decides; none for the two relations of a [`Counter`].
    pub mode: Option<ArrayId>,
    /// The left side, in [`Switching::sides`].
    pub left: ArrayId,
    /// The right side, in [`Switching::sides`].
    pub right: ArrayId,
    /// How fast left - right changes where y changes by the direction and t by 1, in [`Switching::rates`].
    pub rate: ArrayId,
    /// 1 at the elements that there are, in [`Switching::facts`]; `None`: all of them.
    pub exists: Option<ArrayId>,
    /// One of them is 1 where a kernel reads it in the modes as they stand, in [`Switching::reads`]; `None`: always.
    pub reads: Option<Vec<ArrayId>>,
    /// left - right as a sum, where its coefficients hold for a whole run.
    pub linear: Option<Linear>,
    /// True where both sides are equal.
    pub or_equal: bool,
    /// The quantities that depend on it bend there and do not jump: `abs`, `min` and `max`.
    pub bends: bool,
    /// Where it is written.
    pub span: Span,
}

/// Coefficients of a sum, in [`Switching::facts`].
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// Derivatives with respect to states.
    pub terms: Vec<(Place, ArrayId)>,
    /// Derivative with respect to time.
    pub time: Option<ArrayId>,
}

/// A state that a relation reads.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// The only element.
    Scalar(ArrayId),
    /// The element of the same number as that of the relation.
    Own(ArrayId),
}

/// An integer `n <= u < n + 1` that follows a quantity `u`: `floor(u)`, and functions derived from it. With knots it
/// is the number of the piece between them that contains u.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Where the pieces begin and end.
    pub knots: Option<Knots>,
    /// The discretes n, the lower end and the upper end of where it holds.
    pub discretes: [ArrayId; 3],
    /// Number of the relation `u >= upper end`, whose left side is u.
    pub up: usize,
    /// Number of the relation `lower end > u`.
    pub down: usize,
    /// Where it is written.
    pub span: Span,
}

/// A value that changes at known times alone.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The mode that holds it.
    pub mode: ArrayId,
    /// The value at a time, in [`Switching::values`]; not evaluated near a time at which it changes.
    pub value: ArrayId,
    /// As of [`Relation::exists`].
    pub exists: Option<ArrayId>,
    /// When it may change.
    pub breaks: Vec<Break>,
    /// Where it is written.
    pub span: Span,
}

/// The knots of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Knots {
    /// The table that holds them, in ascending order.
    pub table: ArrayId,
    /// How many there are.
    pub length: usize,
    /// The pieces come again before and after.
    pub periodic: bool,
    /// The curve jumps there; else only its derivatives do.
    pub jumps: bool,
}

/// Times, in [`Switching::facts`]. One that is not finite never comes.
#[derive(Clone, Copy, Debug)]
pub enum Break {
    /// Those at which an argument `slope*t + at_zero` is at the knots of a curve. The value is the number of the piece, and NaN
    /// beyond all of them.
    Knots {
        /// Where the pieces begin and end.
        knots: Knots,
        /// The argument at time 0.
        at_zero: ArrayId,
        /// How fast it goes.
        slope: ArrayId,
    },
    /// This time.
    Once(ArrayId),
    /// One of them, and their distance, which is no time at all where it is 0. There is one in each period before and after.
    Every(ArrayId, ArrayId),
}

/// The description of the modes of a program.
#[derive(Clone)]
pub struct Switching {
    /// Comparisons that are checked in every step.
    pub relations: Vec<Relation>,
    /// Whole numbers that follow a quantity.
    pub counters: Vec<Counter>,
    /// Modes that change at known times.
    pub timed: Vec<Timed>,
    /// Both sides of the relations.
    pub sides: Program,
    /// Their rates.
    pub rates: Program,
    /// Values of the timed modes.
    pub values: Program,
    /// Which relations are read: follows from modes, discretes and parameters.
    pub reads: Program,
    /// Times, and which elements there are: follows from parameters and discretes.
    pub facts: Program,
    /// The events of the model.
    pub events: Events,
    /// With sensitivities: derivatives by their parameters.
    pub derivatives: Option<Derivatives>,
}

/// The program of some results: those arrays are its outputs, and its inputs are where they are in `program`.
pub(crate) fn auxiliary(program: &Program, kernels: Vec<crate::Kernel>, results: &[ArrayId]) -> Program {
    let mut arrays: Vec<Array> = program.arrays.clone();
    for array in &mut arrays {
        if matches!(array.role, Role::Output | Role::Conserved | Role::Expected) {
            array.role = Role::Side;
        }
    }
    for result in results {
        arrays[result.0 as usize].role = Role::Output;
    }
    crate::derive::assemble(program.name.clone(), arrays, program.axes.clone(), program.extents.clone(), kernels)
}
