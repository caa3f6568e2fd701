//! Curves with poles, such as a quotient whose divisor passes zero. An axis that showed their values would show nothing
//! else, so it ends at a few times the values that the curve usually has, and the curve is interrupted there.

use std::ops::Range;

/// Fractions of the time between which a curve has its usual values.
const USUAL: (f64, f64) = (0.05, 0.95);
/// A pole exceeds the range of the usual values by this factor.
const EXCESS: f64 = 1e4;

/// The ends of the vertical axis, if the points of a curve over time exceed their usual range as at a pole.
pub fn axis_ends(points: &[(f64, f64)]) -> Option<Range<f64>> {
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.1), high.max(p.1)));
    // values between two points, with the time between them
    let mut parts: Vec<(f64, f64)> =
        points.windows(2).map(|pair| (f64::midpoint(pair[0].1, pair[1].1), (pair[1].0 - pair[0].0).abs())).collect();
    parts.retain(|(value, time)| value.is_finite() && time.is_finite());
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = parts.iter().map(|part| part.1).sum();
    let quantile = |fraction: f64| {
        let mut left = fraction * total;
        parts.iter().find(|part| (left -= part.1, left <= 0.0).1).map(|part| part.0)
    };
    let (from, to) = (quantile(USUAL.0)?, quantile(USUAL.1)?);
    let range = to - from;
    let exceeds = range > 0.0 && (high - to).max(from - low) > EXCESS * range;
    exceeds.then_some(from - range..to + range)
}

/// The parts of a curve within these ends.
pub fn clipped(points: &[(f64, f64)], ends: &Range<f64>) -> Vec<(f64, f64)> {
    let is_inside = |p: &(f64, f64)| (ends.start..=ends.end).contains(&p.1);
    let mut kept = vec![];
    for (k, &p) in points.iter().enumerate() {
        let before = k.checked_sub(1).map(|k| points[k]);
        match before.map(|before| (before, is_inside(&before), is_inside(&p))) {
            Some((before, true, false)) => kept.extend([edge(before, p, ends), (p.0, f64::NAN)]),
            Some((before, false, true)) => kept.extend([edge(p, before, ends), p]),
            Some((_, true, true)) => kept.push(p),
            None if is_inside(&p) => kept.push(p),
            _ => {}
        }
    }
    kept
}

/// The point at the end of the axis between a point inside and one outside.
fn edge(inside: (f64, f64), outside: (f64, f64), ends: &Range<f64>) -> (f64, f64) {
    let end = if outside.1 > ends.end { ends.end } else { ends.start };
    let s = (end - inside.1) / (outside.1 - inside.1);
    if s.is_finite() { (inside.0 + s * (outside.0 - inside.0), end) } else { inside }
}

#[cfg(test)]
mod tests {
    use super::{axis_ends, clipped};

    fn curve(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=5000).map(|k| f64::from(k) * 0.01).map(|t| (t, f(t))).collect()
    }

    #[test]
    fn an_axis_ends_at_poles_and_shows_pulses() {
        let mut poles = curve(f64::tan);
        poles.push((50.0, 1e9));
        let ends = axis_ends(&poles).expect("ends");
        assert!(ends.start < -6.0 && ends.start > -40.0 && ends.end > 6.0 && ends.end < 40.0, "{ends:?}");
        // a pulse is shown whole
        assert!(axis_ends(&curve(|t| (-(t - 20.0).powi(2) / 0.01).exp() + 0.01 * t.sin())).is_none());
        let kept = clipped(&poles, &ends);
        assert!(kept.iter().all(|p| p.1.is_nan() || (ends.start..=ends.end).contains(&p.1)));
        // one interruption for each pole, and the last point
        let breaks = kept.iter().filter(|p| p.1.is_nan()).count();
        assert_eq!(breaks, 17);
        let reaches = |end: f64| kept.iter().filter(|p| p.1 == end).count();
        assert_eq!((reaches(ends.end), reaches(ends.start)), (17, 16));
    }
}
