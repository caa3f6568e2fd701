//! Chooses a row for the diagonal of every column: a transversal of entries that are large within their columns (Duff,
//! ACM Trans. Math. Softw. 7 (1981), on the entries above a threshold that falls until all columns are matched).

use crate::linear::assembled::Columns;
use crate::linear::{Assembled, Scalar};

/// The choice of rows for the diagonal.
pub(super) enum Matching {
    /// Each row keeps its own diagonal entry.
    Same,
    /// The row chosen for each column.
    Exchanged(Vec<u32>),
    /// No choice of rows fills the diagonal: the matrix is singular for all values.
    None,
}

/// The thresholds: fractions of the largest entry of the column, in this order.
const BOUNDS: [f64; 5] = [0.1, 1e-3, 1e-6, 1e-12, 0.0];
const NONE: u32 = u32::MAX;

/// Chooses new rows if some diagonal entry is smaller than `weak` times the largest entry of its column.
pub(super) fn match_rows<S: Scalar>(matrix: &Assembled<S>, weak: f64) -> Matching {
    let columns = matrix.columns();
    let n = columns.count();
    let largest: Vec<f64> =
        (0..n).map(|j| columns.values[columns.column(j)].iter().map(|v| v.magnitude()).fold(0.0, f64::max)).collect();
    let strong = |j: usize| {
        let own = columns.column(j).find(|k| columns.rows[*k] as usize == j);
        own.is_some_and(|k| columns.values[k].magnitude() > weak * largest[j])
    };
    if (0..n).all(strong) {
        return Matching::Same;
    }
    let mut search = Search { columns, largest, row: vec![NONE; n], column: vec![NONE; n], seen: vec![NONE; n] };
    // Start with large diagonal entries, so that few rows are exchanged.
    for j in 0..n {
        let own = columns.column(j).find(|k| columns.rows[*k] as usize == j);
        if own
            .is_some_and(|k| columns.values[k].magnitude() >= BOUNDS[0] * search.largest[j] && search.largest[j] > 0.0)
        {
            (search.row[j], search.column[j]) = (j as u32, j as u32);
        }
    }
    let mut stamp = 0;
    for bound in BOUNDS {
        let mut complete = true;
        for j in 0..n {
            if search.row[j] == NONE {
                complete &= search.augment(j, bound, stamp);
                stamp += 1;
            }
        }
        if complete {
            return Matching::Exchanged(search.row);
        }
    }
    Matching::None
}

/// A partial matching.
struct Search<'a, S> {
    columns: Columns<'a, S>,
    largest: Vec<f64>,
    /// Row of each column, and column of each row.
    row: Vec<u32>,
    column: Vec<u32>,
    /// Number of the last search that visited each row.
    seen: Vec<u32>,
}

impl<S: Scalar> Search<'_, S> {
    /// Finds a row for column `root`; may assign other rows to other columns.
    fn augment(&mut self, root: usize, bound: f64, stamp: u32) -> bool {
        // Columns on the path, each with its next entry to examine.
        let mut path = vec![(root, self.columns.column(root).start)];
        while let Some((j, next)) = path.last_mut() {
            let range = self.columns.column(*j);
            let Some(k) = (*next..range.end).find(|k| {
                let size = self.columns.values[*k].magnitude();
                size > 0.0 && size >= bound * self.largest[*j] && self.seen[self.columns.rows[*k] as usize] != stamp
            }) else {
                path.pop();
                continue;
            };
            *next = k + 1;
            let row = self.columns.rows[k] as usize;
            self.seen[row] = stamp;
            if self.column[row] != NONE {
                let other = self.column[row] as usize;
                path.push((other, self.columns.column(other).start));
                continue;
            }
            // Every column of the path takes the row that it found last.
            for (j, next) in &path {
                let row = self.columns.rows[next - 1];
                (self.row[*j], self.column[row as usize]) = (row, *j as u32);
            }
            return true;
        }
        false
    }
}
