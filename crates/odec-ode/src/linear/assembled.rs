//! Assembled sparse matrices, M and W: values on a fixed pattern, held by sprs.

use crate::linear::Scalar;
use crate::linear::solver::NEGLIGIBLE_RESIDUAL;
use crate::pattern::Pattern;

/// A matrix in compressed-column form.
#[derive(Clone, Debug)]
pub struct Assembled<S = f64>(sprs::CsMatI<S, u32>);

impl<S: Scalar> Assembled<S> {
    /// A zero matrix on a well-formed pattern (`solve` checks the pattern).
    pub(super) fn new(pattern: &Pattern) -> Self {
        Self::with(pattern, vec![S::ZERO; pattern.entries()])
    }

    /// A matrix with these values on a well-formed pattern.
    pub(super) fn with(pattern: &Pattern, values: Vec<S>) -> Self {
        let shape = (pattern.rows as usize, pattern.cols());
        Assembled(sprs::CsMatI::new_csc(shape, pattern.col_ptr.clone(), pattern.row_idx.clone(), values))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// The columns, for loops over entries.
    #[inline]
    pub(super) fn columns(&self) -> Columns<'_, S> {
        Columns { start: self.0.indptr().into_raw_storage(), rows: self.0.indices(), values: self.0.data() }
    }

    /// Values in the order of the pattern.
    pub fn values(&self) -> &[S] {
        self.0.data()
    }

    /// Mutable values in the order of the pattern.
    pub fn values_mut(&mut self) -> &mut [S] {
        self.0.data_mut()
    }

    /// (row, column) of every entry, column after column.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.0.iter().map(|(_, (row, column))| (row as usize, column as usize))
    }

    /// out += factor * A x.
    pub fn multiply_add(&self, factor: S, x: &[S], out: &mut [S]) {
        for (x, column) in x.iter().zip(self.0.outer_iterator()) {
            let scaled = factor * *x;
            for (row, value) in column.iter() {
                out[row] += *value * scaled;
            }
        }
    }

    /// The pattern of the values.
    pub fn pattern(&self) -> Pattern {
        let columns = self.columns();
        Pattern { rows: self.rows() as u32, col_ptr: columns.start.to_vec(), row_idx: columns.rows.to_vec() }
    }

    /// True if the componentwise backward error max_i |b - A x|_i / (|A| |x| + |b|)_i (Oettli & Prager 1964) is at
    /// most `bound`, but for what is negligible; false where x is not finite. `residual` becomes b - A x.
    pub(super) fn solved(&self, x: &[S], b: &[S], bound: f64, residual: &mut [S], scale: &mut [f64]) -> bool {
        residual.copy_from_slice(b);
        self.multiply_add(-S::ONE, x, residual);
        // |A| |x| is needed only if a residual is large compared with the right-hand side.
        let small = |(r, b): (&S, &S)| r.magnitude() <= bound * b.magnitude() + NEGLIGIBLE_RESIDUAL;
        if residual.iter().zip(b).all(small) {
            return true;
        }
        for (s, b) in scale.iter_mut().zip(b) {
            *s = b.magnitude();
        }
        let columns = self.columns();
        for (j, x) in x.iter().enumerate() {
            for k in columns.column(j) {
                scale[columns.rows[k] as usize] += columns.values[k].magnitude() * x.magnitude();
            }
        }
        residual.iter().zip(scale).all(|(r, s)| r.magnitude() <= bound * *s + NEGLIGIBLE_RESIDUAL)
    }

    /// The entries on the diagonal, zero where there is none.
    pub fn diagonal(&self) -> impl Iterator<Item = S> + '_ {
        self.0.diag_iter().map(|value| value.copied().unwrap_or(S::ZERO))
    }
}

/// A matrix in compressed-column form, as three slices.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a, S> {
    pub start: &'a [u32],
    pub rows: &'a [u32],
    pub values: &'a [S],
}

impl<S> Columns<'_, S> {
    /// Number of columns.
    pub fn count(&self) -> usize {
        self.start.len() - 1
    }

    /// Places of the entries of column `j`.
    #[inline]
    pub fn column(&self, j: usize) -> std::ops::Range<usize> {
        self.start[j] as usize..self.start[j + 1] as usize
    }
}
