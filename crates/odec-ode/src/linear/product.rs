//! Products of dense blocks: loops for small ones, register blocks of C for large ones (Goto & van de Geijn, ACM
//! Trans. Math. Softw. 34 (2008)).

use std::array::from_fn;

use pulp::{Simd, WithSimd, bytemuck};

use crate::linear::Scalar;
use crate::simd::ARCH;

/// Largest number of columns of A in one product.
pub(super) const PANEL: usize = 32;

/// Products with fewer multiplications than this use plain loops.
const LARGE_PRODUCT: usize = 4_000;
/// Registers for a column of a block of C. With four columns, twelve of the sixteen registers of AVX2 hold C, three A, one B.
const VECTORS: usize = 3;
/// Columns of a block of C.
const COLUMNS: usize = 4;
/// Number of rows of A (as doubles) that are copied at a time, so that the copy stays in the cache. It is a multiple
/// of `VECTORS` registers of two, four or eight doubles.
const ROWS: usize = 96;

/// Memory for the copy of a part of A.
#[derive(Clone, Debug)]
pub(super) struct Packed(Vec<f64>);

impl Packed {
    /// Memory for products of this number type.
    pub fn new<S: Scalar>() -> Self {
        Packed(vec![0.0; ROWS * PANEL * S::PARTS])
    }
}

/// C -= A B in columns of length `m`. A is the rows from `to` and the columns `from..to` (at most `PANEL`) of `left`;
/// `right` holds B in its rows `from..to` and C in its rows from `to`.
pub(super) fn update<S: Scalar>(
    left: &[S],
    right: &mut [S],
    m: usize,
    (from, to): (usize, usize),
    packed: &mut Packed,
) {
    let (width, columns) = (to - from, right.len() / m);
    if (m - to) * columns * width >= LARGE_PRODUCT && width <= PANEL {
        let p = S::PARTS;
        let (a, c) = (bytemuck::cast_slice(left), bytemuck::cast_slice_mut(right));
        let product = Product { a, c, m: p * m, from: p * from, to: p * to, complex: p == 2, packed: &mut packed.0 };
        return ARCH.dispatch(product);
    }
    for column in right.chunks_exact_mut(m) {
        let (top, bottom) = column.split_at_mut(to);
        for (u, l) in top[from..].iter().zip(left.chunks_exact(m)) {
            for (x, l) in bottom.iter_mut().zip(&l[to..]) {
                *x -= *u * *l;
            }
        }
    }
}

/// A product of real matrices. A complex number z of A becomes the real 2 x 2 matrix of the multiplication by z:
/// twice the rows and columns. The real and imaginary parts of B are adjacent in memory and serve as rows.
struct Product<'a> {
    a: &'a [f64],
    c: &'a mut [f64],
    m: usize,
    from: usize,
    to: usize,
    complex: bool,
    packed: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Product { a, c, m, from, to, complex, packed } = self;
        let depth = to - from;
        for first in (to..m).step_by(ROWS) {
            let rows = ROWS.min(m - first);
            pack(a, m, first, rows, VECTORS * S::F64_LANES, complex, packed);
            let (packed, _) = S::as_simd_f64s(packed);
            let (packed, _) = packed.as_chunks::<VECTORS>();
            let groups = packed.chunks_exact(depth);
            let mut four = c.chunks_exact_mut(COLUMNS * m);
            for columns in &mut four {
                slab::<S, COLUMNS>(simd, groups.clone(), columns, m, (from, to), (first, rows));
            }
            for column in four.into_remainder().chunks_exact_mut(m) {
                slab::<S, 1>(simd, groups.clone(), column, m, (from, to), (first, rows));
            }
        }
    }
}

/// Copies `rows` rows of A, starting with `first`, in the order in which they are read: groups of `group` rows, each
/// column by column, filled up with zeros.
#[inline(always)]
fn pack(a: &[f64], m: usize, first: usize, rows: usize, group: usize, complex: bool, packed: &mut [f64]) {
    let mut room = packed.chunks_exact_mut(group);
    for row in (first..first + rows).step_by(group) {
        let height = group.min(first + rows - row);
        for column in a.chunks_exact(m) {
            let part = &column[row..row + height];
            let to = room.next().expect("the buffer has room for all rows");
            to[..height].copy_from_slice(part);
            to[height..].fill(0.0);
            if complex {
                let to = room.next().expect("the buffer has room for all rows");
                for (to, at) in to.iter_mut().zip(row..row + height) {
                    // re + i im becomes -im + i re, even if a group ends between the two parts
                    *to = if at % 2 == 0 { -column[at + 1] } else { column[at - 1] };
                }
                to[height..].fill(0.0);
            }
        }
    }
}

/// Subtracts the product of a copied part of A with `N` columns of B from C.
#[inline(always)]
fn slab<'a, S: Simd, const N: usize>(
    simd: S,
    groups: impl Iterator<Item = &'a [[S::f64s; VECTORS]]>,
    columns: &mut [f64],
    m: usize,
    (from, to): (usize, usize),
    (first, rows): (usize, usize),
) {
    let group = VECTORS * S::F64_LANES;
    for (row, a) in (first..first + rows).step_by(group).zip(groups) {
        let mut sums = [[simd.splat_f64s(0.0); VECTORS]; N];
        // slices of equal length, so that the loop needs no bounds checks
        let depth = a.len();
        let b: [&[f64]; N] = from_fn(|n| &columns[n * m + from..n * m + to][..depth]);
        // a counter below all lengths removes the bounds checks
        for k in 0..depth {
            for (sums, b) in sums.iter_mut().zip(&b) {
                let b = simd.splat_f64s(b[k]);
                for (sum, a) in sums.iter_mut().zip(&a[k]) {
                    *sum = simd.mul_add_e_f64s(*a, b, *sum);
                }
            }
        }
        let height = group.min(first + rows - row);
        for (column, sums) in columns.chunks_exact_mut(m).zip(&sums) {
            let c = &mut column[row..row + height];
            if height == group {
                let (c, _) = S::as_mut_simd_f64s(c);
                for (c, sum) in c.iter_mut().zip(sums) {
                    *c = simd.sub_f64s(*c, *sum);
                }
            } else {
                for (c, sum) in c.chunks_mut(S::F64_LANES).zip(sums) {
                    let difference = simd.sub_f64s(simd.partial_load_f64s(c), *sum);
                    simd.partial_store_f64s(c, difference);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::Complex;

    /// Random number between -1 and 1.
    fn draw(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Compares with sums computed one by one, for all remainders of rows and columns.
    fn check<S: Scalar>(mut draw: impl FnMut() -> S) {
        let mut packed = Packed::new::<S>();
        let mut large = 0;
        for (below, columns) in (1..=30).map(|k| (7 * k % 113 + k, 1 + 11 * k % 37)) {
            for (from, width) in [(0, 1), (3, 5), (0, PANEL), (2, 31), (1, PANEL + 1)] {
                let to = from + width;
                let m = to + below;
                large += usize::from(below * columns * width >= LARGE_PRODUCT);
                let left: Vec<S> = (0..m * width).map(|_| draw()).collect();
                let before: Vec<S> = (0..m * columns).map(|_| draw()).collect();
                let mut right = before.clone();
                update(&left, &mut right, m, (from, to), &mut packed);
                for (at, (now, then)) in right.iter().zip(&before).enumerate() {
                    let (i, j) = (at % m, at / m);
                    let mut expected = *then;
                    for k in (0..width).filter(|_| i >= to) {
                        expected -= left[k * m + i] * before[j * m + from + k];
                    }
                    let error = (*now - expected).magnitude();
                    assert!(error <= 1e-13, "{below} x {columns} x {width}, ({i}, {j}): {error:e}");
                }
            }
        }
        assert!(large > 50, "{large} large products");
    }

    #[test]
    fn products_are_those_of_sums_made_one_by_one() {
        let mut seed = 1;
        check(|| draw(&mut seed));
        check(|| Complex::new(draw(&mut seed), draw(&mut seed)));
    }
}
