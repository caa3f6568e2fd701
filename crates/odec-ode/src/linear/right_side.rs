//! Right-hand sides of triangular systems, a few rows at a time: vectors, and sums that are computed when they are read.

use crate::linear::krylov::Real;

/// Four rows.
#[inline(always)]
pub(super) fn group<T: Real>(a: &[T], start: usize) -> Group<T> {
    let mut rows = [T::ZERO; GROUP];
    rows.copy_from_slice(&a[start..start + GROUP]);
    rows
}

/// sum -= values * known.
#[inline(always)]
pub(super) fn take<T: Real>(sum: &mut Group<T>, values: Group<T>, known: Group<T>) {
    for l in 0..GROUP {
        sum[l] -= values[l] * known[l];
    }
}

/// Number of rows that are solved at a time.
pub(super) const GROUP: usize = 4;
pub(super) type Group<T> = [T; GROUP];

/// A right-hand side that is computed on demand.
pub(super) trait Start<T> {
    /// Rows `first..first + len`.
    fn of(&self, first: usize, len: usize) -> impl Row<T>;
}

/// Rows of a right-hand side.
pub(super) trait Row<T>: Sized {
    /// The first `len` rows; the compiler then knows the length.
    fn rows(self, len: usize) -> Self;
    fn at(&self, r: usize) -> T;
    /// Four rows.
    fn group(&self, start: usize) -> Group<T>;
}

impl<T: Real> Row<T> for &[T] {
    #[inline(always)]
    fn rows(self, len: usize) -> Self {
        &self[..len]
    }

    #[inline(always)]
    fn at(&self, r: usize) -> T {
        self[r]
    }

    #[inline(always)]
    fn group(&self, start: usize) -> Group<T> {
        group(self, start)
    }
}

impl<T: Real> Start<T> for &[T] {
    #[inline(always)]
    fn of(&self, first: usize, len: usize) -> impl Row<T> {
        &self[first..first + len]
    }
}

/// v + d z.
pub(super) struct Sum<'a, T> {
    pub v: &'a [T],
    pub d: &'a [T],
    pub z: &'a [T],
}

impl<T: Real> Row<T> for Sum<'_, T> {
    #[inline(always)]
    fn rows(self, len: usize) -> Self {
        Sum { v: &self.v[..len], d: &self.d[..len], z: &self.z[..len] }
    }

    #[inline(always)]
    fn at(&self, r: usize) -> T {
        self.v[r] + self.d[r] * self.z[r]
    }

    #[inline(always)]
    fn group(&self, start: usize) -> Group<T> {
        let (v, d, z) = (group(self.v, start), group(self.d, start), group(self.z, start));
        std::array::from_fn(|l| v[l] + d[l] * z[l])
    }
}

impl<T: Real> Start<T> for Sum<'_, T> {
    #[inline(always)]
    fn of(&self, first: usize, len: usize) -> impl Row<T> {
        let rows = first..first + len;
        Sum { v: &self.v[rows.clone()], d: &self.d[rows.clone()], z: &self.z[rows] }
    }
}
