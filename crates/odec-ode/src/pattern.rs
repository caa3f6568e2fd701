//! The sparse pattern of a matrix: compressed columns, the one format of this crate's interface.

/// A sparse pattern in compressed columns, rows ascending within a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Number of rows.
    pub rows: u32,
    /// `col_ptr[j]..col_ptr[j+1]` are the entries of column `j`; its length is the number of columns plus one.
    pub col_ptr: Vec<u32>,
    /// Row of each entry.
    pub row_idx: Vec<u32>,
}

impl Pattern {
    /// Positions of the entries of column `j` in `row_idx`.
    pub fn column(&self, j: usize) -> std::ops::Range<usize> {
        self.col_ptr[j] as usize..self.col_ptr[j + 1] as usize
    }

    /// True for a square pattern of size `n` with ascending pointers and, in each column, ascending valid rows.
    pub fn is_square(&self, n: usize) -> bool {
        self.rows as usize == n
            && self.cols() == n
            && self.col_ptr.first() == Some(&0)
            && self.col_ptr.last().is_some_and(|end| *end as usize == self.row_idx.len())
            && self.col_ptr.windows(2).all(|w| w[0] <= w[1])
            && (0..n).all(|j| {
                let rows = &self.row_idx[self.column(j)];
                rows.windows(2).all(|w| w[0] < w[1]) && rows.last().is_none_or(|row| (*row as usize) < n)
            })
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.col_ptr.len().saturating_sub(1)
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.row_idx.len()
    }

    /// The pattern of these (row, column) positions; duplicates count once.
    pub fn from_positions(rows: usize, cols: usize, positions: impl IntoIterator<Item = (usize, usize)>) -> Pattern {
        let positions: Vec<(u32, u32)> = positions.into_iter().map(|(r, c)| (r as u32, c as u32)).collect();
        let mut col_ptr = vec![0u32; cols + 1];
        for (_, c) in &positions {
            col_ptr[*c as usize + 1] += 1;
        }
        for j in 0..cols {
            col_ptr[j + 1] += col_ptr[j];
        }
        let mut next = col_ptr.clone();
        let mut row_idx = vec![0u32; positions.len()];
        for (r, c) in &positions {
            let at = &mut next[*c as usize];
            row_idx[*at as usize] = *r;
            *at += 1;
        }
        // Sorts each column, removes its duplicates, and closes the gap to the column before.
        let mut end = 0;
        for j in 0..cols {
            let (from, to) = (col_ptr[j] as usize, col_ptr[j + 1] as usize);
            row_idx[from..to].sort_unstable();
            col_ptr[j] = end as u32;
            for k in from..to {
                if k == from || row_idx[k] != row_idx[end - 1] {
                    row_idx[end] = row_idx[k];
                    end += 1;
                }
            }
        }
        col_ptr[cols] = end as u32;
        row_idx.truncate(end);
        Pattern { rows: rows as u32, col_ptr, row_idx }
    }

    /// Every position, column after column.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.cols()).flat_map(move |j| self.column(j).map(move |k| (self.row_idx[k] as usize, j)))
    }

    /// Index of the entry (row, col), if it is in the pattern.
    pub fn find(&self, row: usize, col: usize) -> Option<usize> {
        let range = self.column(col);
        self.row_idx[range.clone()].binary_search(&(row as u32)).ok().map(|k| range.start + k)
    }

    /// The entry at a position that is in the pattern.
    #[track_caller]
    pub(crate) fn entry(&self, row: usize, col: usize) -> u32 {
        match self.find(row, col) {
            Some(entry) => entry as u32,
            None => panic!("({row}, {col}) is not in the pattern that was made of it"),
        }
    }
}
