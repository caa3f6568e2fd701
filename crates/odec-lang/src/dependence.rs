//! Equations that depend on one another: a vanishing combination of the rows of their matrix.

/// Pivots below this fraction of the largest entry of their row count as zero.
const SINGULAR: f64 = 1e-13;
/// Smallest factor of an equation in a combination for which the equation is reported.
pub const BELONGS: f64 = 1e-9;

/// The factors of a vanishing combination of the rows, the largest being 1; `None` if the rows are independent.
/// Elimination with complete pivoting on equilibrated rows.
pub fn dependent_rows(matrix: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = matrix.len();
    let sizes: Vec<f64> = matrix.iter().map(|row| row.iter().fold(0.0f64, |size, x| size.max(x.abs()))).collect();
    let normal =
        |(row, size): (&Vec<f64>, &f64)| row.iter().map(|x| if *size > 0.0 { x / size } else { 0.0 }).collect();
    let mut a: Vec<Vec<f64>> = matrix.iter().zip(&sizes).map(normal).collect();
    let mut combinations: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
    let mut columns: Vec<usize> = (0..n).collect();
    for k in 0..n {
        let entries = (k..n).flat_map(|i| (k..n).map(move |j| (i, j)));
        let (i, j) = entries.max_by(|p, q| a[p.0][columns[p.1]].abs().total_cmp(&a[q.0][columns[q.1]].abs()))?;
        if a[i][columns[j]].abs() <= SINGULAR {
            let row = &combinations[k];
            let scaled: Vec<f64> = row.iter().zip(&sizes).map(|(x, s)| if *s > 0.0 { x / s } else { *x }).collect();
            let largest = scaled.iter().fold(0.0f64, |size, x| size.max(x.abs()));
            return Some(scaled.iter().map(|x| x / largest).collect());
        }
        a.swap(k, i);
        combinations.swap(k, i);
        columns.swap(k, j);
        let c = columns[k];
        for i in k + 1..n {
            let factor = a[i][c] / a[k][c];
            if factor == 0.0 {
                continue;
            }
            for j in 0..n {
                a[i][j] -= factor * a[k][j];
                combinations[i][j] -= factor * combinations[k][j];
            }
        }
    }
    None
}
