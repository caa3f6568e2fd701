//! Linear algebra modulo the prime of residues.

use odec_ir::residue::{PRIME, invert, multiply, subtract};

/// The vectors w of length n with w^T a = 0 for each column a, with as many zeros as elimination gives. An element
/// that is `None` in all columns gets the coefficient 0.
pub fn left_null_space(columns: &[Vec<Option<u64>>], n: usize) -> Vec<Vec<u64>> {
    let known: Vec<usize> = (0..n).filter(|i| columns.iter().all(|column| column[*i].is_some())).collect();
    let mut rows: Vec<Vec<u64>> =
        columns.iter().map(|column| known.iter().map(|i| column[*i].unwrap_or(0)).collect()).collect();
    // Gauss-Jordan elimination of the rows a^T
    let mut pivots = Vec::new();
    for col in 0..known.len() {
        let done = pivots.len();
        let Some(at) = (done..rows.len()).find(|row| rows[*row][col] != 0) else { continue };
        rows.swap(done, at);
        let Some(scale) = invert(rows[done][col]) else { continue };
        rows[done].iter_mut().skip(col).for_each(|x| *x = multiply(*x, scale));
        let pivot = rows[done].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(k, row)| *k != done && row[col] != 0) {
            let factor = row[col];
            row.iter_mut().zip(&pivot).skip(col).for_each(|(x, p)| *x = subtract(*x, multiply(factor, *p)));
        }
        pivots.push(col);
    }
    let free = (0..known.len()).filter(|col| !pivots.contains(col));
    let vector = |col: usize| {
        let mut w = vec![0; n];
        w[known[col]] = 1;
        for (row, pivot) in pivots.iter().enumerate() {
            w[known[*pivot]] = subtract(0, rows[row][col]);
        }
        w
    };
    free.map(vector).collect()
}

/// w^T a, where `None` counts as 0.
pub fn product(w: &[u64], a: &[Option<u64>]) -> u64 {
    w.iter().zip(a).fold(0, |sum, (w, a)| (sum + multiply(*w, a.unwrap_or(0))) % PRIME)
}
