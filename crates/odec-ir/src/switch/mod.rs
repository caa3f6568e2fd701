//! Switches: comparisons of quantities that change during a run become reads of modes, which the solver sets.
//!
//! [`locate`] takes the kernels of a model before differentiation. It replaces each comparison, `abs`, `min`, `max`
//! and `sign` by a read of a mode, and each `floor`, `ceil`, `round` and `mod` by a read of a discrete. Later passes
//! (derivatives, fused steps, Taylor series) need not know about switches: a mode is a number in the parameter
//! buffer.
//!
//! ```text
//! x' = if x > y then -1 else 1         x' = if mode.0 then -1 else 1
//!                                      left.0 = x      right.0 = y        relation 0
//! z' = 20*(5 < t)                      z' = 20*mode.1
//!                                      value.1 = 5 < t     break.1 = 5    timed mode 1
//! ```
//!
//! The other half is [`Switching`]: it describes how modes are computed, as programs of `Outputs` kernels over the
//! same arrays. Their parameter buffer is that of the model.

mod derivatives;
mod events;
mod keys;
mod linear;
mod locate;
mod reads;
mod rewrite;
mod times;

pub use derivatives::{DerivativeDraft, Derivatives};
pub use events::{ArrayWrite, BoundValues, EventCause, EventDraft, EventGroup, Events};
pub use locate::{LocatedSwitches, locate, switches, without_smooth};

use crate::nest::Affine;
use crate::program::{Array, ArrayId, Program, Role};
use crate::span::Span;

/// A comparison `left > right` of two quantities that change during a run, once for each element of its arrays.
#[derive(Clone, Debug)]
pub struct ArrayRelation {
    /// The mode that it determines; `None` for the two relations of a [`PieceCounter`].
    pub mode: Option<ArrayId>,
    /// The left side, in [`Switching::sides`].
    pub left: ArrayId,
    /// The right side, in [`Switching::sides`].
    pub right: ArrayId,
    /// The derivative of left - right for a change of y by the direction and of t by 1, in [`Switching::rates`].
    pub rate: ArrayId,
    /// 1 at the elements that exist, in [`Switching::facts`]; `None`: all exist.
    pub exists: Option<ArrayId>,
    /// At least one of these is 1 if a kernel reads the mode under the current modes, in [`Switching::reads`];
    /// `None`: always.
    pub reads: Option<Vec<ArrayId>>,
    /// left - right as a linear function, if its coefficients are constant for a run.
    pub linear: Option<Linear>,
    /// The truth value if both sides are equal.
    pub or_equal: bool,
    /// True if dependent quantities have a kink there but no jump: `abs`, `min` and `max`.
    pub bends: bool,
    /// Source location.
    pub span: Span,
}

/// Coefficients of a linear function, in [`Switching::facts`].
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// Derivatives with respect to states.
    pub terms: Vec<(Place, ArrayId)>,
    /// Derivative with respect to time.
    pub time: Option<ArrayId>,
}

/// A state that a relation reads.
#[derive(Clone, Debug)]
pub struct Place {
    /// The array.
    pub array: ArrayId,
    /// The subscripts. Their loops are numbered by the axes of the relation. An element beyond its axis follows a rule for the
    /// edge, which is not here.
    pub subs: Vec<Affine>,
}

/// An integer `n <= u < n + 1` that follows a quantity `u`: `floor(u)`, and functions derived from it. With knots, n
/// is the number of the piece that contains u.
#[derive(Clone, Debug)]
pub struct PieceCounter {
    /// The knots, if there are any.
    pub knots: Option<Knots>,
    /// The discretes: n, and the lower and the upper end of the interval in which n is valid.
    pub discretes: [ArrayId; 3],
    /// Number of the relation `u >= upper end`, whose left side is u.
    pub up: usize,
    /// Number of the relation `lower end > u`.
    pub down: usize,
    /// Source location.
    pub span: Span,
}

/// A value that changes only at known times.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The mode with the value.
    pub mode: ArrayId,
    /// The value as a function of time, in [`Switching::values`]; it is not evaluated close to a time at which it changes.
    pub value: ArrayId,
    /// See [`ArrayRelation::exists`].
    pub exists: Option<ArrayId>,
    /// Times at which it may change.
    pub breaks: Vec<Break>,
    /// Source location.
    pub span: Span,
}

/// The knots of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Knots {
    /// The table of the knots, in ascending order.
    pub table: ArrayId,
    /// Number of knots.
    pub length: usize,
    /// True for a periodic curve.
    pub periodic: bool,
    /// True if the curve jumps at the knots; otherwise only its derivatives do.
    pub jumps: bool,
}

/// Times, in [`Switching::facts`]. A time that is not finite never comes.
#[derive(Clone, Copy, Debug)]
pub enum Break {
    /// The times at which an argument `slope*t + at_zero` reaches the knots of a curve. The value of the mode is the
    /// number of the piece, and NaN outside all pieces.
    Knots {
        /// The knots.
        knots: Knots,
        /// The argument at time 0.
        at_zero: ArrayId,
        /// The derivative of the argument by time.
        slope: ArrayId,
    },
    /// A single time.
    Once(ArrayId),
    /// One of several times, and the period. With a period of 0 there are no times.
    Every(ArrayId, ArrayId),
}

/// The description of the modes of a program.
#[derive(Clone)]
pub struct Switching {
    /// Comparisons that are checked in every step.
    pub relations: Vec<ArrayRelation>,
    /// Integers that follow a quantity.
    pub counters: Vec<PieceCounter>,
    /// Modes that change at known times.
    pub timed: Vec<Timed>,
    /// Both sides of the relations.
    pub sides: Program,
    /// The rates of the relations.
    pub rates: Program,
    /// Values of the timed modes.
    pub values: Program,
    /// The relations that are read, as functions of modes, discretes and parameters.
    pub reads: Program,
    /// Times, and the existence of elements, as functions of parameters and discretes.
    pub facts: Program,
    /// The events of the model.
    pub events: Events,
    /// With sensitivities: derivatives with respect to their parameters.
    pub derivatives: Option<Derivatives>,
}

/// The program of some results: these arrays are its outputs; its inputs have the same positions as in `program`.
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
