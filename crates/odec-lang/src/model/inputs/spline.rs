//! Slopes at samples: of the monotone piecewise cubic, and of the spline with two continuous derivatives.

/// Slopes of the monotone piecewise cubic: F. Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5 (1984) 300-304,
/// with the weights of the widths; at the ends the three-point formula, limited. `widths` and `chords` belong to the
/// pieces.
pub(super) fn monotone_slopes(widths: &[f64], chords: &[f64], periodic: bool) -> Vec<f64> {
    let pieces = widths.len();
    let mut slopes = Vec::with_capacity(pieces + 1);
    for k in 0..=pieces {
        slopes.push(match (k, pieces) {
            (0 | 1, 1) if !periodic => chords[0],
            (0, _) if !periodic => at_end([widths[0], widths[1]], [chords[0], chords[1]]),
            (k, n) if k == n && !periodic => at_end([widths[n - 1], widths[n - 2]], [chords[n - 1], chords[n - 2]]),
            _ => {
                let (before, behind) = ((k + pieces - 1) % pieces, k % pieces);
                between([widths[before], widths[behind]], [chords[before], chords[behind]])
            }
        });
    }
    slopes
}

/// Between two pieces: the weighted harmonic mean of their chords; zero at an extremum.
fn between([h0, h1]: [f64; 2], [d0, d1]: [f64; 2]) -> f64 {
    if d0 == 0.0 || d1 == 0.0 || (d0 > 0.0) != (d1 > 0.0) {
        return 0.0;
    }
    let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
    (w0 + w1) / (w0 / d0 + w1 / d1)
}

/// At an end, from the two pieces next to it, the nearer one first.
fn at_end([h0, h1]: [f64; 2], [d0, d1]: [f64; 2]) -> f64 {
    let slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if d0 == 0.0 || (slope > 0.0) != (d0 > 0.0) {
        0.0
    } else if (d0 > 0.0) != (d1 > 0.0) && slope.abs() > 3.0 * d0.abs() {
        3.0 * d0
    } else {
        slope
    }
}

/// Slopes of the cubic spline: natural or periodic (C. de Boor, A Practical Guide to Splines, chapter IV).
pub(super) fn spline_slopes(widths: &[f64], chords: &[f64], periodic: bool) -> Vec<f64> {
    let n = widths.len();
    if n == 1 {
        return vec![chords[0]; 2];
    }
    if periodic {
        return periodic_slopes(widths, chords);
    }
    // rows: the second derivative is continuous inside, and zero at the ends
    let (mut lower, mut diagonal, mut upper, mut right) =
        (vec![0.0; n + 1], vec![2.0; n + 1], vec![0.0; n + 1], vec![0.0; n + 1]);
    (upper[0], right[0]) = (1.0, 3.0 * chords[0]);
    (lower[n], right[n]) = (1.0, 3.0 * chords[n - 1]);
    for k in 1..n {
        let (h0, h1) = (widths[k - 1], widths[k]);
        let share = h1 / (h0 + h1);
        (lower[k], diagonal[k], upper[k]) = (share, 2.0, 1.0 - share);
        right[k] = 3.0 * (share * chords[k - 1] + (1.0 - share) * chords[k]);
    }
    tridiagonal(&lower, &diagonal, &upper, &mut right);
    right
}

/// The row of the first sample joins both ends: the matrix is cyclic, a tridiagonal one plus a product of two vectors.
fn periodic_slopes(widths: &[f64], chords: &[f64]) -> Vec<f64> {
    let n = widths.len();
    let (mut lower, mut diagonal, mut upper, mut right) = (vec![0.0; n], vec![2.0; n], vec![0.0; n], vec![0.0; n]);
    for k in 0..n {
        let before = (k + n - 1) % n;
        let share = widths[k] / (widths[before] + widths[k]);
        (lower[k], upper[k]) = (share, 1.0 - share);
        right[k] = 3.0 * (share * chords[before] + (1.0 - share) * chords[k]);
    }
    if n == 2 {
        // both neighbours of a sample are the other sample
        let determinant = 4.0 - (lower[0] + upper[0]) * (lower[1] + upper[1]);
        let [a, b] = [right[0], right[1]];
        let first = (2.0 * a - (lower[0] + upper[0]) * b) / determinant;
        let second = (2.0 * b - (lower[1] + upper[1]) * a) / determinant;
        return vec![first, second, first];
    }
    let (corner, other) = (lower[0], upper[n - 1]);
    let gamma = -diagonal[0];
    diagonal[0] -= gamma;
    diagonal[n - 1] -= corner * other / gamma;
    let mut along = vec![0.0; n];
    (along[0], along[n - 1]) = (gamma, other);
    tridiagonal(&lower, &diagonal, &upper, &mut right);
    tridiagonal(&lower, &diagonal, &upper, &mut along);
    let part = corner / gamma;
    let factor = (right[0] + part * right[n - 1]) / (1.0 + along[0] + part * along[n - 1]);
    let mut slopes: Vec<f64> = right.iter().zip(&along).map(|(x, z)| x - factor * z).collect();
    slopes.push(slopes[0]);
    slopes
}

/// Elimination without interchanges: the rows are diagonally dominant.
fn tridiagonal(lower: &[f64], diagonal: &[f64], upper: &[f64], right: &mut [f64]) {
    let n = right.len();
    let mut pivots = diagonal.to_vec();
    for k in 1..n {
        let factor = lower[k] / pivots[k - 1];
        pivots[k] -= factor * upper[k - 1];
        right[k] -= factor * right[k - 1];
    }
    for k in (0..n).rev() {
        let after = if k + 1 < n { upper[k] * right[k + 1] } else { 0.0 };
        right[k] = (right[k] - after) / pivots[k];
    }
}
