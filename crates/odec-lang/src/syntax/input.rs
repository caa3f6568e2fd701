//! One item of an `input` statement.

use super::tree::{ExprId, Ident, Unit};

/// `q(t [s]) = table(...) [unit]`
#[derive(Clone, Debug, PartialEq)]
pub struct InputEntry {
    /// The name.
    pub name: Ident,
    /// Its argument.
    pub argument: Ident,
    /// The unit of the argument, if it is written.
    pub argument_unit: Option<Unit>,
    /// The table.
    pub value: ExprId,
    /// The unit after it.
    pub unit: Option<Unit>,
}
