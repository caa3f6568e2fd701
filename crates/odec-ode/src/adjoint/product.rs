//! Products of the columns of a sparse matrix with a vector.

use crate::pattern::Pattern;

/// Some columns of a pattern.
pub struct Columns<'a> {
    runs: Vec<Run<'a>>,
}

/// Consecutive columns with the same number of entries, so that a loop over them has a fixed length.
struct Run<'a> {
    columns: usize,
    /// Number of entries in each column.
    length: usize,
    /// Index of the first entry.
    start: usize,
    rows: &'a [u32],
}

impl<'a> Columns<'a> {
    /// The columns at these indices.
    pub fn new(pattern: &'a Pattern, wanted: impl Iterator<Item = usize>) -> Columns<'a> {
        let mut runs: Vec<Run<'a>> = Vec::new();
        for column in wanted {
            let range = pattern.column(column);
            match runs.last_mut() {
                Some(run) if run.length == range.len() && run.start + run.rows.len() == range.start => {
                    run.columns += 1;
                    run.rows = &pattern.row_idx[run.start..range.end];
                }
                _ => runs.push(Run {
                    columns: 1,
                    length: range.len(),
                    start: range.start,
                    rows: &pattern.row_idx[range],
                }),
            }
        }
        Columns { runs }
    }

    /// Multiplies each column of the matrix with these entries by `v`.
    pub fn multiply(&self, entries: &[f64], v: &[f64], mut out: &mut [f64]) {
        for run in &self.runs {
            let (of_run, rest) = out.split_at_mut(run.columns);
            let entries = &entries[run.start..run.start + run.rows.len()];
            match run.length {
                0 => of_run.fill(0.0),
                1 => short::<1>(entries, run.rows, v, of_run),
                2 => short::<2>(entries, run.rows, v, of_run),
                3 => short::<3>(entries, run.rows, v, of_run),
                4 => short::<4>(entries, run.rows, v, of_run),
                length => {
                    let columns = entries.chunks_exact(length).zip(run.rows.chunks_exact(length));
                    for (out, (entries, rows)) in of_run.iter_mut().zip(columns) {
                        *out = long(entries, rows, v);
                    }
                }
            }
            out = rest;
        }
    }
}

/// Columns of `L` entries.
fn short<const L: usize>(entries: &[f64], rows: &[u32], v: &[f64], out: &mut [f64]) {
    let (entries, rows) = (entries.as_chunks::<L>().0, rows.as_chunks::<L>().0);
    for (out, (entries, rows)) in out.iter_mut().zip(entries.iter().zip(rows)) {
        let mut sum = 0.0;
        for i in 0..L {
            sum += entries[i] * v[rows[i] as usize];
        }
        *out = sum;
    }
}

/// A column with four sums: a single one would wait for each addition.
fn long(entries: &[f64], rows: &[u32], v: &[f64]) -> f64 {
    let ((entries, rest), (rows, last)) = (entries.as_chunks::<4>(), rows.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (entries, rows) in entries.iter().zip(rows) {
        for i in 0..4 {
            sums[i] += entries[i] * v[rows[i] as usize];
        }
    }
    let rest: f64 = rest.iter().zip(last).map(|(entry, row)| entry * v[*row as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::pattern::Pattern;

    #[test]
    fn columns_of_every_length_are_multiplied() {
        // column j has j % 7 entries, in pairs of columns with the same number
        let rows = 9;
        let length = |column: usize| column / 2 % 7;
        let positions = (0..16).flat_map(|column| (0..length(column)).map(move |k| ((2 * k + column) % rows, column)));
        let pattern = Pattern::from_positions(rows, 16, positions);
        let entries: Vec<f64> = (0..pattern.entries()).map(|k| 1.0 + k as f64).collect();
        let v: Vec<f64> = (0..rows).map(|row| (row * row) as f64 - 3.0).collect();
        for wanted in [(0..16).collect::<Vec<_>>(), vec![1, 2, 3, 9, 12, 13, 15], vec![]] {
            let mut found = vec![f64::NAN; wanted.len()];
            Columns::new(&pattern, wanted.iter().copied()).multiply(&entries, &v, &mut found);
            let product = |column: &usize| -> f64 {
                pattern.column(*column).map(|k| entries[k] * v[pattern.row_idx[k] as usize]).sum()
            };
            assert_eq!(found, wanted.iter().map(product).collect::<Vec<_>>());
        }
    }
}
