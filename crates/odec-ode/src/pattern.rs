//! The sparse pattern of a matrix: compressed columns, the one format of this crate's interface.

/// A sparse pattern in compressed columns, rows ascending within a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Number of rows.
    pub rows: u32,
    /// `col_ptr[j]..col_ptr[j+1]` are the entries of column `j`; one more than there are columns.
    pub col_ptr: Vec<u32>,
    /// Row of each entry.
    pub row_idx: Vec<u32>,
}
