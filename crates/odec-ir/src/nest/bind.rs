//! Binding: from a program with loops and the values of its extents to layouts, positions and patterns. Linear in the number of
//! points; compiling does not wait for it.

use super::AccessId;
use crate::layout::Layout;
use crate::program::{KernelRole, Pattern, Program};

/// Position of a list in [`Bound::lists`] or [`Matrix::lists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListId(pub u32);

/// One word of a [`super::frame::Frame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A base, stride, count or first index.
    Integer(i64),
    /// Where a list begins.
    List(ListId),
}

/// A nest with its frame filled in.
#[derive(Clone, Debug)]
pub struct Run {
    /// Position in [`Program::nests`].
    pub nest: usize,
    /// As [`super::frame::Frame::of`] the nest says.
    pub words: Vec<Word>,
    /// Points of the iteration loops; with none there is nothing to run.
    pub points: u64,
}

/// A program at values of its extents: everything but the matrices.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Where each array begins.
    pub layout: Layout,
    /// The nests that do not store matrices, in their order.
    pub runs: Vec<Run>,
    /// Positions and indices that the runs refer to.
    pub lists: Vec<Vec<u32>>,
}

/// A matrix of a program at values of its extents.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Rows and columns of the entries.
    pub pattern: Pattern,
    /// The nests that store it.
    pub runs: Vec<Run>,
    /// Positions, indices and slots that the runs refer to.
    pub lists: Vec<Vec<u32>>,
}

/// Most elements of all states, parameters and outputs together.
pub const MAX_ELEMENTS: u64 = 1 << 28;

/// Most entries (before equal positions are merged) of a matrix that is bound unasked.
pub const MAX_ENTRIES: u64 = 1 << 26;

/// Why a program cannot be bound.
#[derive(Clone, Debug, PartialEq)]
pub enum BindError {
    /// An index set has no index.
    Empty {
        /// Position in [`Program::axes`].
        axis: usize,
        /// Its first and last index.
        range: (i64, i64),
    },
    /// More than [`MAX_ELEMENTS`].
    TooManyElements {
        /// The array that was too much.
        array: usize,
        /// Elements so far; `None` if it does not fit into 64 bits.
        elements: Option<u64>,
    },
    /// More than [`MAX_ENTRIES`].
    TooManyEntries {
        /// Which matrix.
        role: KernelRole,
        /// How many.
        entries: u64,
    },
    /// A subscript leaves its axis where no boundary says what is there.
    OutOfRange {
        /// Position in [`Program::nests`].
        nest: usize,
        /// The access.
        access: AccessId,
        /// Which subscript.
        position: usize,
        /// Its value.
        value: i64,
        /// First and last index of the axis.
        range: (i64, i64),
        /// The loop indices there: name and value.
        at: Vec<(String, i64)>,
    },
    /// A table that is used as a subscript holds something that is not a whole number.
    NotWhole {
        /// The table.
        array: usize,
        /// Element, counted row by row from 0.
        element: usize,
        /// Its value.
        value: f64,
    },
}

impl Bound {
    /// Lays out the arrays and finds every position that the nests without matrices need.
    ///
    /// # Errors
    /// [`BindError`]: the extents or tables do not fit the model.
    pub fn of(program: &Program) -> Result<Bound, BindError> {
        let _ = program;
        todo!("ir-derive")
    }

    /// Finds rows and columns of a matrix, merges equal ones, and gives each entry its slot.
    ///
    /// # Errors
    /// [`BindError::TooManyEntries`] beyond `limit` (usually [`MAX_ENTRIES`]), and as [`Bound::of`].
    pub fn matrix(&self, program: &Program, role: KernelRole, limit: u64) -> Result<Matrix, BindError> {
        let _ = (program, role, limit);
        todo!("ir-derive")
    }
}
