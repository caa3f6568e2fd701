//! Small dense matrices: by columns, without allocations for each operation.

/// A square matrix by columns.
#[derive(Clone, Debug)]
pub struct Square {
    n: usize,
    values: Vec<f64>,
}

/// y += a x.
fn add(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

impl Square {
    /// Matrix with these entries, by row and column.
    pub fn of(n: usize, entry: impl Fn(usize, usize) -> f64) -> Square {
        Square { n, values: (0..n * n).map(|k| entry(k % n, k / n)).collect() }
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.n..(j + 1) * self.n]
    }

    /// The product with a vector.
    pub fn times(&self, x: &[f64], out: &mut [f64]) {
        let n = self.n;
        out.fill(0.0);
        // four columns at a time, so that the result is read and written less often
        let (fours, rest) = x.as_chunks::<4>();
        for ([a, b, c, d], columns) in fours.iter().zip(self.values.chunks_exact(4 * n)) {
            let (first, second) = columns.split_at(2 * n);
            let (one, two) = first.split_at(n);
            let (three, four) = second.split_at(n);
            for ((((out, one), two), three), four) in out.iter_mut().zip(one).zip(two).zip(three).zip(four) {
                *out += a * one + b * two + (c * three + d * four);
            }
        }
        for (x, column) in rest.iter().zip(self.values.chunks_exact(n).skip(x.len() - rest.len())) {
            add(*x, column, out);
        }
    }

    /// The product with itself.
    pub fn squared(&self) -> Square {
        let mut out = Square { n: self.n, values: vec![0.0; self.n * self.n] };
        for (x, column) in self.values.chunks_exact(self.n).zip(out.values.chunks_exact_mut(self.n)) {
            self.times(x, column);
        }
        out
    }

    /// Applies a function to each column.
    pub fn map_columns(&mut self, mut to: impl FnMut(&mut [f64])) {
        self.values.chunks_exact_mut(self.n).for_each(&mut to);
    }

    /// L and U with row pivots; `None` if the matrix is singular.
    pub fn factors(mut self) -> Option<Factors> {
        let n = self.n;
        let mut pivots = Vec::with_capacity(n);
        for k in 0..n {
            let size = |i: &usize| self.values[k * n + i].abs();
            let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
            pivots.push(pivot);
            let own = self.values[k * n + pivot];
            if own == 0.0 || !own.is_finite() {
                return None;
            }
            if pivot != k {
                (0..n).for_each(|j| self.values.swap(j * n + k, j * n + pivot));
            }
            let (left, right) = self.values.split_at_mut((k + 1) * n);
            let lower = &mut left[k * n + k + 1..];
            for v in lower.iter_mut() {
                *v /= own;
            }
            for column in right.chunks_exact_mut(n).filter(|column| column[k] != 0.0) {
                add(-column[k], lower, &mut column[k + 1..]);
            }
        }
        Some(Factors { matrix: self, pivots })
    }
}

/// A matrix as the product of L and U.
#[derive(Clone, Debug)]
pub struct Factors {
    matrix: Square,
    pivots: Vec<usize>,
}

impl Factors {
    /// Solves a system in place.
    pub fn solve(&self, x: &mut [f64]) {
        let n = x.len();
        // L contains all row interchanges, also those after its column
        self.pivots.iter().enumerate().for_each(|(k, pivot)| x.swap(k, *pivot));
        for k in 0..n {
            let (known, rest) = x.split_at_mut(k + 1);
            if known[k] != 0.0 {
                add(-known[k], &self.matrix.column(k)[k + 1..], rest);
            }
        }
        for k in (0..n).rev() {
            let (rest, known) = x.split_at_mut(k);
            known[0] /= self.matrix.column(k)[k];
            if known[0] != 0.0 {
                add(-known[0], &self.matrix.column(k)[..k], rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Square;

    #[test]
    fn factors_solve_with_pivots_of_other_rows() {
        let entry = |i: usize, j: usize| [[0.0, 2.0, -1.0], [3.0, 1.0, 4.0], [-6.0, 0.5, 0.25]][i][j];
        let matrix = Square::of(3, entry);
        let mut x = [0.0; 3];
        matrix.times(&[1.0, -2.0, 3.0], &mut x);
        assert_eq!(x, [-7.0, 13.0, -6.25]);
        matrix.clone().factors().expect("it is regular").solve(&mut x);
        x.iter().zip([1.0, -2.0, 3.0]).for_each(|(x, exact)| assert!((x - exact).abs() < 1e-14, "{x} {exact}"));
        let squared = matrix.squared();
        let of = |i: usize, j: usize| (0..3).map(|k| entry(i, k) * entry(k, j)).sum::<f64>();
        assert!((0..9).all(|k| (squared.values[k] - of(k % 3, k / 3)).abs() < 1e-14));
        assert!(Square::of(2, |i, j| (i + 1) as f64 * (j + 1) as f64).factors().is_none());
    }
}
