//! The contents of a picture of a vector field: the run, a window around it, and evenly spaced integral curves.

use crate::bind::Bound;
use crate::contour::even;
use crate::field::{PixelPoint, Plane, PlaneWindow};
use crate::reference::{Row, Unfinished, even_times, ordinary};

/// Number of rows of the run that are drawn.
const ROWS: usize = 1000;
/// Number of cells, each with at most one integral curve, and length of a curve in sides of the window.
const CELLS: (usize, usize) = (20, 15);
const LENGTH: f64 = 2.5;
/// Shorter pieces of curves are not drawn.
const SHORT: f64 = 0.1;
/// Margin around the run, as a fraction of its extent.
const ROOM: f64 = 0.3;
/// Margin below zero for a state that stays nonnegative.
const POSITIVE: f64 = 0.08;

/// The run, with rows at the start and at the time of the field.
///
/// # Errors
/// No method reaches the end, or the caller stops.
pub fn run(bound: &Bound, at: Option<f64>, stop: &dyn Fn() -> bool) -> Result<Vec<Row>, Unfinished> {
    let mut times = even_times(bound, ROWS);
    times.extend(at);
    let forward = bound.problem.t_end > bound.problem.t0;
    times.sort_by(|a, b| if forward { a.total_cmp(b) } else { b.total_cmp(a) });
    times.dedup();
    let mut rows = vec![(bound.problem.t0, bound.problem.y0.clone())];
    rows.extend(ordinary(bound, &times, stop)?);
    Ok(rows)
}

/// A range with a margin around these values.
pub fn about(values: impl Iterator<Item = f64>) -> PixelPoint {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for v in values {
        (low, high) = (low.min(v), high.max(v));
    }
    let size = low.abs().max(high.abs());
    let extent = if high - low > 1e-9 * size { high - low } else { size.max(1.0) };
    // a quantity that cannot be negative gets a small margin below zero
    let positive = low >= 0.0 && low < ROOM * extent;
    (if positive { -POSITIVE * extent } else { low - ROOM * extent }, high + ROOM * extent)
}

impl Plane<'_> {
    /// True if the field can be evaluated somewhere.
    pub fn seen(&self, window: &PlaneWindow) -> bool {
        let (xs, ys) = (even(window.x.0, window.x.1, 9), even(window.y.0, window.y.1, 9));
        xs.iter().any(|x| ys.iter().any(|y| self.at((*x, *y)).is_some()))
    }

    /// Evenly spaced integral curves: each starts in a cell that no other curve has touched, and ends where it meets
    /// another.
    pub fn curves(&self, window: &PlaneWindow, stop: &dyn Fn() -> bool) -> Vec<Vec<PixelPoint>> {
        let (columns, rows) = CELLS;
        let (w, h) = window.size();
        let cell = |p: &PixelPoint| {
            let place = |v: f64, low: f64, extent: f64, count: usize| {
                let at = ((v - low) / extent * count as f64).floor();
                (at >= 0.0 && at < count as f64).then_some(at as usize)
            };
            Some(place(p.1, window.y.0, h, rows)? * columns + place(p.0, window.x.0, w, columns)?)
        };
        let mut taken = vec![false; columns * rows];
        let mut curves = vec![];
        // a stride without a common factor visits all cells, and neighbours at very different times
        let count = columns * rows;
        let stride = (count as f64 * 0.618) as usize | 1;
        for k in 0..count {
            let at = (count / 2 + k * stride) % count;
            if taken[at] || stop() {
                continue;
            }
            let through = (
                window.x.0 + w * ((at % columns) as f64 + 0.5) / columns as f64,
                window.y.0 + h * ((at / columns) as f64 + 0.5) / rows as f64,
            );
            let (whole, middle) = self.curve(through, window, LENGTH);
            let free = |p: &&PixelPoint| cell(p).is_some_and(|c| !taken[c]);
            let before = whole[..middle].iter().rev().take_while(free).count();
            let after = whole[middle..].iter().take_while(free).count();
            let piece = &whole[middle - before..middle + after];
            let length: f64 = piece.windows(2).map(|p| ((p[1].0 - p[0].0) / w).hypot((p[1].1 - p[0].1) / h)).sum();
            if length < SHORT {
                continue;
            }
            for c in piece.iter().filter_map(cell) {
                taken[c] = true;
            }
            curves.push(piece.to_vec());
        }
        curves
    }
}
