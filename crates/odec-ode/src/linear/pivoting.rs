//! Sparse LU with partial pivoting, the fallback if fixed pivots fail: left-looking (Gilbert & Peierls, SIAM J. Sci.
//! Stat. Comput. 9 (1988)), with new pivots for every matrix.

use crate::linear::choice::{LinearReport, SolverKind};
use crate::linear::ordering::{Ordering, of_graph};
use crate::linear::sparse::{Pivots, Sparse};
use crate::linear::{Factor, Scalar};
use crate::pattern::Pattern;

/// Rows with more entries than this times the square root of the number of unknowns are left out of A'A, because one
/// full row makes A'A full (as in COLAMD: Davis, Gilbert, Larimore & Ng, ACM Trans. Math. Softw. 30 (2004)).
const DENSE_ROW: f64 = 10.0;
/// Rows with no more entries than this are never left out.
const SHORT_ROW: usize = 16;

/// A factorisation of matrices on this pattern.
pub(super) fn pivoting<S: Scalar>(pattern: &Pattern) -> Box<dyn Factor<S>> {
    let n = pattern.cols();
    let Ordering { order, .. } = of_graph(&columns_that_meet(pattern), u64::MAX, f64::INFINITY)
        .unwrap_or_else(|| Ordering { order: (0..n as u32).collect(), fill: 0 });
    // The graph bounds the fill for any pivots, but too loosely to allocate memory by it.
    let ordering = Ordering { order, fill: n as u64 };
    let report = LinearReport { ordering: "column minimum degree", ..LinearReport::new(SolverKind::Pivoting, pattern) };
    Box::new(Sparse::new(pattern, ordering, u64::MAX).with_pivots(Pivots::Largest, report))
}

/// The graph of A'A without its diagonal: columns are adjacent if they share a row. For any choice of pivots, the
/// factors are contained in the Cholesky factor of A'A (George & Ng, SIAM J. Sci. Stat. Comput. 6 (1985)).
fn columns_that_meet(pattern: &Pattern) -> Pattern {
    let n = pattern.cols();
    let mut start = vec![0usize; n + 1];
    for row in &pattern.row_idx {
        start[*row as usize + 1] += 1;
    }
    for i in 0..n {
        start[i + 1] += start[i];
    }
    let mut next = start.clone();
    let mut columns = vec![0u32; pattern.entries()];
    for (i, j) in pattern.positions() {
        columns[next[i]] = j as u32;
        next[i] += 1;
    }
    let longest = SHORT_ROW.max((DENSE_ROW * (n as f64).sqrt()) as usize);
    let mut met = vec![u32::MAX; n];
    let mut graph = Pattern { rows: n as u32, col_ptr: vec![0], row_idx: Vec::new() };
    for j in 0..n {
        let from = graph.row_idx.len();
        met[j] = j as u32;
        for row in &pattern.row_idx[pattern.column(j)] {
            let row = &columns[start[*row as usize]..start[*row as usize + 1]];
            for other in row.iter().filter(|_| row.len() <= longest) {
                if std::mem::replace(&mut met[*other as usize], j as u32) != j as u32 {
                    graph.row_idx.push(*other);
                }
            }
        }
        graph.row_idx[from..].sort_unstable();
        graph.col_ptr.push(graph.row_idx.len() as u32);
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::random::Random;
    use crate::linear::{Assembled, Complex, Dense};

    /// A pattern with a transversal off the diagonal and some full rows.
    fn scattered(random: &mut Random, n: usize) -> Pattern {
        let shift = random.below(n);
        let extra: Vec<_> = (0..2 * n).map(|_| (random.below(n), random.below(n))).collect();
        let full = random.below(n);
        let row = (0..n).filter(|_| n > 150).map(|j| (full, j));
        Pattern::from_positions(n, n, (0..n).map(|i| ((i + shift) % n, i)).chain(extra).chain(row))
    }

    /// Solves with dense LU and with this factorisation.
    fn compare<S: Scalar>(random: &mut Random, n: usize, mut draw: impl FnMut(&mut Random) -> S) -> bool {
        let pattern = scattered(random, n);
        let values: Vec<S> = (0..pattern.entries()).map(|_| draw(random)).collect();
        let matrix = Assembled::with(&pattern, values);
        let (mut full, mut sparse) = (Dense::new(&pattern), pivoting(&pattern));
        if full.factor(&matrix).is_err() || full.health().pivot_ratio < 1e-5 {
            return false;
        }
        let mut x: Vec<S> = (0..n).map(|_| draw(random)).collect();
        let mut y = x.clone();
        full.solve(&mut x);
        sparse.factor(&matrix).unwrap_or_else(|c| panic!("no pivot in column {c} of {n}"));
        sparse.solve(&mut y);
        let size = x.iter().map(|x| x.magnitude()).fold(0.0, f64::max);
        let worst = x.iter().zip(&y).map(|(x, y)| (*x - *y).magnitude()).fold(0.0, f64::max);
        assert!(worst <= 1e-8 * size, "{n} unknowns: {worst:e} beside {size:e}");
        true
    }

    #[test]
    fn random_matrices_are_solved_as_by_the_dense_factorisation() {
        let mut random = Random(31);
        let mut solved = 0;
        for case in 0..150 {
            let n = if case % 30 == 0 { 200 } else { 2 + random.below(60) };
            solved += u32::from(compare(&mut random, n, |r| r.next() - 0.5));
            solved += u32::from(compare(&mut random, n, |r| Complex::new(r.next() - 0.5, r.next() - 0.5)));
        }
        assert!(solved > 200, "{solved}");
    }

    #[test]
    fn a_column_that_depends_on_others_is_reported() {
        let mut random = Random(5);
        for case in 0..60 {
            let n = 4 + random.below(40);
            let pattern = scattered(&mut random, n);
            // Integers, so that the difference of equal columns is exactly zero; column `broken` has only zeros.
            let broken = random.below(n);
            let value =
                |(_, j): (usize, usize), r: &mut Random| if j == broken { 0.0 } else { 1.0 + r.below(9) as f64 };
            let values: Vec<f64> = pattern.positions().map(|at| value(at, &mut random)).collect();
            let error = pivoting(&pattern).factor(&Assembled::with(&pattern, values));
            assert!(error.is_err(), "case {case}");
        }
        // Columns 0 and 2 are equal: the later one has no pivot.
        let pattern = Pattern::from_positions(3, 3, [(0, 0), (1, 0), (1, 1), (2, 1), (0, 2), (1, 2)]);
        let mut lu = pivoting(&pattern);
        let error = lu.factor(&Assembled::with(&pattern, vec![1.0, 2.0, 3.0, 1.0, 1.0, 2.0]));
        assert!(matches!(error, Err(0 | 2)), "{error:?}");
        // Afterwards, the same factorisation accepts a regular matrix.
        lu.factor(&Assembled::with(&pattern, vec![1.0, 2.0, 3.0, 1.0, 1.0, 4.0])).expect("pivots in all columns");
        let diagonal = Pattern::from_positions(2, 2, [(0, 0), (1, 1)]);
        let error = pivoting(&diagonal).factor(&Assembled::with(&diagonal, vec![1.0, 0.0]));
        assert_eq!(error, Err(1));
    }

    #[test]
    fn the_largest_entry_is_the_pivot_for_every_matrix_anew() {
        // Fixed pivots work for the first matrix, but lose all digits of the second.
        let pattern = Pattern::from_positions(2, 2, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        let mut lu = pivoting(&pattern);
        for small in [1.0, 1e-18] {
            lu.factor(&Assembled::with(&pattern, vec![small, 1.0, 1.0, 2.0])).expect("regular");
            let mut b = [1.0, 0.0];
            lu.solve(&mut b);
            // [s 1; 1 2] x = [1; 0]
            let det = 2.0 * small - 1.0;
            assert!((b[0] - 2.0 / det).abs() < 1e-15 && (b[1] + 1.0 / det).abs() < 1e-15, "{small}: {b:?}");
        }
    }

    #[test]
    fn the_graph_is_that_of_the_product_of_transpose_and_matrix() {
        let mut random = Random(9);
        for _ in 0..40 {
            let n = 2 + random.below(30);
            let pattern = scattered(&mut random, n);
            let full = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| {
                i != j && (0..n).any(|k| pattern.find(k, *i).is_some() && pattern.find(k, *j).is_some())
            });
            assert_eq!(columns_that_meet(&pattern), Pattern::from_positions(n, n, full));
        }
    }
}
