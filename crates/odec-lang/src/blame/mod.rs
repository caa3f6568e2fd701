//! Finds the term of the source that gave a value, or a derivative, that is not finite: evaluates the unsimplified
//! expressions again, from the top down to the innermost term whose operands are finite.

mod duals;
mod places;
mod search;
mod summands;

pub use summands::{Summand, summands};

use odec_ir::Span;

use crate::model::{Model, Values};
use crate::source::Source;

/// The quantity that is not finite. States are numbered element by element as in [`StateAt::y`], and so are outputs
/// and parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedQuantity {
    /// The right side of the row of a state.
    Row(usize),
    /// Its derivative.
    Slope(usize, By),
    /// The initial value of a state.
    Start(usize),
    /// An element of [`Model::outputs`].
    Output(usize),
    /// An element of [`Model::conserved`].
    Conserved(usize),
    /// The quantity of an element of [`Model::expects`].
    Expected(usize),
}

/// The variable of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A state.
    State(usize),
    /// The independent variable.
    Time,
    /// An element of [`Model::parameters`].
    Parameter(usize),
}

/// The point of the failure.
#[derive(Clone, Copy, Debug)]
pub struct StateAt<'a> {
    /// The independent variable.
    pub t: f64,
    /// States in the order of the text: for each state its elements, row by row, then the elements of its
    /// derivatives. Without arrays these are [`Model::state_names`].
    pub y: &'a [f64],
    /// Constants and parameters.
    pub values: &'a Values,
}

/// The kind of a failure of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its value is not finite.
    Value,
    /// Its value is finite, its derivative is not.
    Slope,
    /// The coefficient is zero, but the equation must be solved for the derivative.
    ZeroFactor,
}

/// The reason why a term has no finite value, as far as its operation says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// A divisor is 0, or the base of a negative power.
    ZeroDivisor,
    /// The base of a power is negative.
    NegativeBase,
    /// Another one.
    #[default]
    Other,
}

/// An operand of the failing term.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The text as written.
    pub text: String,
    /// Source location.
    pub span: Span,
    /// Its value.
    pub value: f64,
}

/// The innermost term that is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// The kind of its failure.
    pub fault: Fault,
    /// Why its value is not finite.
    pub cause: Cause,
    /// Source location.
    pub span: Span,
    /// The text as written.
    pub text: String,
    /// Its value, or the value of its derivative if that failed.
    pub value: f64,
    /// Its operands, except numbers.
    pub operands: Vec<Operand>,
    /// Definitions and functions that contain it, outermost first, with the source locations of their uses.
    pub through: Vec<(String, Span)>,
    /// The element of [`Model::inputs`] that it is the value of.
    pub input: Option<usize>,
}

/// The innermost term of `what` that is not finite at a point; `None` if all are finite, or if the search takes too
/// long.
pub fn blame(model: &Model, source: &Source, what: FailedQuantity, point: StateAt<'_>) -> Option<Blame> {
    search::search(model, source, what, point, false)
}

/// Like [`blame`], for a run that reaches the end of the data of an input, where the input has no value either.
pub fn blame_beyond(model: &Model, source: &Source, what: FailedQuantity, point: StateAt<'_>) -> Option<Blame> {
    search::search(model, source, what, point, true)
}
