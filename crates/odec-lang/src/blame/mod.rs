//! Which term of the source gave a value, or a derivative, that is not finite: found by computing the unsimplified
//! expressions once more, from the top down to the term whose operands are all fine.

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

/// By what a derivative is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A state.
    State(usize),
    /// The independent variable.
    Time,
    /// An element of [`Model::parameters`].
    Parameter(usize),
}

/// Where it is not finite.
#[derive(Clone, Copy, Debug)]
pub struct StateAt<'a> {
    /// The independent variable.
    pub t: f64,
    /// States in the order of the text, element by element, row by row: for each state its elements, then those of its
    /// derivatives. Without arrays these are [`Model::state_names`].
    pub y: &'a [f64],
    /// Constants and parameters.
    pub values: &'a Values,
}

/// How a term fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its value is not finite.
    Value,
    /// Its value is finite, its derivative is not.
    Slope,
    /// Its coefficient is zero, but the equation has to be solved for it.
    ZeroFactor,
}

/// An operand of the failing term.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
    /// Its value.
    pub value: f64,
}

/// The innermost term that is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// How it fails.
    pub fault: Fault,
    /// Where it is written.
    pub span: Span,
    /// As written.
    pub text: String,
    /// Its value, or that of its derivative if that is at fault.
    pub value: f64,
    /// Its operands, numbers left out.
    pub operands: Vec<Operand>,
    /// Definitions and functions that lead to it, from the outside, with the place of their use.
    pub through: Vec<(String, Span)>,
    /// The element of [`Model::inputs`] that it is the value of.
    pub input: Option<usize>,
}

/// The innermost term of `what` that is not finite at a point; `None` if every term is, or if the search takes too
/// long.
pub fn blame(model: &Model, source: &Source, what: FailedQuantity, point: StateAt<'_>) -> Option<Blame> {
    search::search(model, source, what, point, false)
}

/// Like [`blame`], for a run that continues to the end of the data of an input, where the input has no value either.
pub fn blame_beyond(model: &Model, source: &Source, what: FailedQuantity, point: StateAt<'_>) -> Option<Blame> {
    search::search(model, source, what, point, true)
}
