//! Thins a curve that has more points than pixels.

/// A point in pixels.
pub type PixelPoint = (f64, f64);

/// Width in pixels of a column of a curve over time. Four points represent each column: the first, the smallest, the
/// largest and the last (Jugel, Jerzak, Hackenbroich and Markl, Proc. VLDB 7 (2014) 797-808).
const COLUMN: f64 = 0.12;

/// Selects the points of a line through `places` to keep, so that the line moves by at most about `within` pixels.
/// Along a horizontal axis on which the points advance, it also moves by at most `COLUMN`. The ends of pieces and the
/// non-finite points that separate them are kept. Returns the positions of the kept points.
pub fn kept(places: &[PixelPoint], advancing: bool, within: f64) -> Vec<usize> {
    let mut kept = vec![];
    let finite = |k: usize| places[k].0.is_finite() && places[k].1.is_finite();
    let mut k = 0;
    while k < places.len() {
        if !finite(k) {
            // one separator is enough
            if kept.last().is_none_or(|last: &usize| finite(*last)) {
                kept.push(k);
            }
            k += 1;
            continue;
        }
        let end = (k..places.len()).find(|&j| !finite(j)).unwrap_or(places.len());
        let piece: Vec<usize> = if advancing { columns(places, k..end) } else { (k..end).collect() };
        scalar(places, &piece, within, &mut kept);
        k = end;
    }
    kept
}

/// For each column of the picture, the first, the smallest, the largest and the last point.
fn columns(places: &[PixelPoint], piece: std::ops::Range<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = vec![];
    let mut k = piece.start;
    while k < piece.end {
        let column = (places[k].0 / COLUMN).floor();
        let end = (k..piece.end).find(|&j| (places[j].0 / COLUMN).floor() != column).unwrap_or(piece.end);
        let by = |a: &usize, b: &usize| places[*a].1.total_cmp(&places[*b].1);
        let mut four = [k, (k..end).min_by(by).unwrap_or(k), (k..end).max_by(by).unwrap_or(k), end - 1];
        four.sort_unstable();
        for j in four {
            if kept.last() != Some(&j) {
                kept.push(j);
            }
        }
        k = end;
    }
    kept
}

/// Drops points between a kept point and a later one (Williams, Comput. Graph. Image Process. 8 (1978) 286-293): the
/// directions in which all of them are within tolerance form a wedge, which narrows from point to point. A line that
/// turns back keeps the turning point.
fn scalar(places: &[PixelPoint], piece: &[usize], within: f64, kept: &mut Vec<usize>) {
    let Some((&first, rest)) = piece.split_first() else { return };
    kept.push(first);
    let mut from = places[first];
    let mut last = first;
    let mut wedge: Option<Wedge> = None;
    let mut far = 0.0;
    for &k in rest {
        let p = places[k];
        let (dx, dy) = (p.0 - from.0, p.1 - from.1);
        let distance = dx.hypot(dy);
        let ahead = distance <= within || wedge.as_ref().is_none_or(|w| w.holds(dx, dy));
        let reach = ahead && distance >= far - 0.5 * within;
        if reach {
            narrow(&mut wedge, dx, dy, within);
            far = distance.max(far);
        } else {
            kept.push(last);
            from = places[last];
            wedge = None;
            let (dx, dy) = (p.0 - from.0, p.1 - from.1);
            narrow(&mut wedge, dx, dy, within);
            far = dx.hypot(dy);
        }
        last = k;
    }
    if last != first {
        kept.push(last);
    }
}

/// A wedge of directions: its middle and half width in radians.
struct Wedge {
    low: f64,
    high: f64,
    /// Angles are relative to this one.
    base: f64,
}

impl Wedge {
    fn holds(&self, dx: f64, dy: f64) -> bool {
        let angle = turn(dy.atan2(dx) - self.base);
        (self.low..=self.high).contains(&angle)
    }
}

/// Restricts the wedge by a point; a point close to the start restricts nothing.
fn narrow(wedge: &mut Option<Wedge>, dx: f64, dy: f64, within: f64) {
    let distance = dx.hypot(dy);
    if distance <= within {
        return;
    }
    let half = (within / distance).asin();
    let angle = dy.atan2(dx);
    match wedge {
        None => *wedge = Some(Wedge { low: -half, high: half, base: angle }),
        Some(w) => {
            let angle = turn(angle - w.base);
            (w.low, w.high) = (w.low.max(angle - half), w.high.min(angle + half));
        }
    }
}

/// An angle between -pi and pi.
fn turn(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    let turned = (angle + PI).rem_euclid(TAU) - PI;
    if turned.is_finite() { turned } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance of a point from the nearest segment of a line.
    fn from_line(p: PixelPoint, line: &[PixelPoint]) -> f64 {
        let from_segment = |s: &[PixelPoint]| {
            let ((ax, ay), (bx, by)) = (s[0], s[1]);
            let (dx, dy) = (bx - ax, by - ay);
            let s = (((p.0 - ax) * dx + (p.1 - ay) * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
            (p.0 - ax - s * dx).hypot(p.1 - ay - s * dy)
        };
        line.windows(2).map(from_segment).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_thinned_line_stays_where_it_was() {
        let spiral: Vec<PixelPoint> = (0..20_000)
            .map(|k| {
                let a = f64::from(k) * 1e-3;
                (500.0 + 20.0 * a * a.cos(), 300.0 + 20.0 * a * a.sin())
            })
            .collect();
        let kept = kept(&spiral, false, 0.06);
        assert!(kept.len() < 1500, "{}", kept.len());
        let line: Vec<PixelPoint> = kept.iter().map(|k| spiral[*k]).collect();
        let worst = spiral.iter().map(|p| from_line(*p, &line)).fold(0.0, f64::max);
        assert!(worst < 0.13, "{worst}");
    }

    #[test]
    fn turning_points_and_the_extremes_of_a_column_are_kept() {
        let back: Vec<PixelPoint> = [0.0, 10.0, 250.0, 100.0, 20.0, 60.0].map(|y| (3.0, y)).to_vec();
        assert_eq!(kept(&back, false, 0.06), [0, 2, 4, 5]);
        // 100 oscillations within one pixel
        let dense: Vec<PixelPoint> =
            (0..10_000).map(|k| (f64::from(k) * 1e-4, 100.0 * (f64::from(k) * 0.0628).sin())).collect();
        let kept = kept(&dense, true, 0.06);
        assert!(kept.len() <= 40, "{}", kept.len());
        let ends = |list: &mut dyn Iterator<Item = f64>| list.fold((0.0f64, 0.0f64), |(a, b), y| (a.min(y), b.max(y)));
        assert_eq!(ends(&mut dense.iter().map(|p| p.1)), ends(&mut kept.iter().map(|k| dense[*k].1)));
    }

    #[test]
    fn pieces_end_where_values_are_missing() {
        let gap = [(0.0, 0.0), (1.0, 0.0), (2.0, f64::NAN), (3.0, f64::NAN), (4.0, 0.0), (5.0, 0.0)];
        assert_eq!(kept(&gap, true, 0.06), [0, 1, 2, 4, 5]);
    }
}
