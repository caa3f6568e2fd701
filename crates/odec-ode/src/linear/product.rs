//! Products of dense blocks: loops where they are small, faer's where they are large.

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};

use crate::linear::Scalar;

/// Products of more multiplications than this are left to the library.
const LARGE_PRODUCT: usize = 4_000;

/// As [`Scalar::update`].
pub(super) fn update<S: Scalar + ComplexField>(left: &[S], right: &mut [S], m: usize, from: usize, to: usize) {
    let (width, columns) = (to - from, right.len() / m);
    if (m - to) * columns * width < LARGE_PRODUCT {
        for column in right.chunks_exact_mut(m) {
            let (top, bottom) = column.split_at_mut(to);
            for (u, l) in top[from..].iter().zip(left.chunks_exact(m)) {
                for (x, l) in bottom.iter_mut().zip(&l[to..]) {
                    *x -= *u * *l;
                }
            }
        }
        return;
    }
    let left = MatRef::from_column_major_slice(left, m, width);
    let right = MatMut::from_column_major_slice_mut(right, m, columns);
    let (top, bottom) = right.split_at_row_mut(to);
    let (a, b) = (left.subrows(to, m - to), top.as_ref().subrows(from, width));
    matmul(bottom, Accum::Add, a, b, -S::ONE, Par::Seq);
}
