//! A curve under construction: its axes in pixels, and its points, thinned if there are too many.

use super::{PixelPoint, Scale};
use crate::hybrid::interval::Interval;
use crate::outline;

/// A range below this fraction of the values is drawn with this width, so that rounding errors are not magnified.
const FLAT: f64 = 1e-9;
/// The same in the search for extrema: the errors of a step in a constant output are none.
const LEVEL: f64 = 1e-5;
/// Bounds of zero that underflow has widened are below this value.
const NOTHING: f64 = 1e-290;

/// The distance of a curve with this second derivative from its chord between two points at a time distance of
/// `time`: sideways, or beyond its ends if the curve turns there.
pub(super) fn bulge(second: PixelPoint, time: f64, from: PixelPoint, to: PixelPoint) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let (x, y) = (second.0 * time * time, second.1 * time * time);
    if length == 0.0 {
        return x.hypot(y) / 8.0;
    }
    let beside = (x * dy - y * dx).abs() / length / 8.0;
    // along the chord, a parabola is length*s + along*s*(1 - s)
    let along = (x * dx + y * dy).abs() / length / 2.0;
    let beyond = if along > length { (along - length).powi(2) / (4.0 * along) } else { 0.0 };
    beside.max(beyond)
}

/// An axis with the range of its values.
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Rounding errors of the values are below this.
    pub(super) rounding: f64,
}

impl Ruler {
    pub(super) fn new(scale: &Scale) -> Ruler {
        let mut ruler = Ruler { scale: scale.clone(), low: f64::INFINITY, high: f64::NEG_INFINITY, rounding: 0.0 };
        if let Some(ends) = &scale.ends {
            (ruler.low, ruler.high) = (ruler.unit(ends.start), ruler.unit(ends.end));
        }
        ruler
    }

    pub(super) fn unit(&self, v: f64) -> f64 {
        if self.scale.log { v.log10() } else { v }
    }

    pub(super) fn pixels(&self) -> f64 {
        self.scale.pixels
    }

    pub(super) fn see(&mut self, v: f64) {
        let v = self.unit(v);
        if self.scale.ends.is_none() && v.is_finite() {
            (self.low, self.high) = (self.low.min(v), self.high.max(v));
        }
    }

    /// By how many pixels values within `bounds` may lie beyond the values `seen`; infinite if the axis has no length
    /// yet.
    pub(super) fn beyond(&self, seen: (f64, f64), bounds: Interval) -> f64 {
        if !(seen.0 <= seen.1) {
            return 0.0;
        }
        let over = (self.unit(bounds.high) - self.unit(seen.1)).max(self.unit(seen.0) - self.unit(bounds.low));
        let floor = LEVEL * self.low.abs().max(self.high.abs());
        let range = (self.high - self.low).abs().max(floor);
        let rounded = if self.scale.log { 0.0 } else { self.rounding };
        if over.is_nan() || over <= NOTHING.max(rounded) {
            0.0
        } else if range > NOTHING {
            over / range * self.scale.pixels
        } else {
            f64::INFINITY
        }
    }

    /// Position in pixels; not finite if the value cannot be drawn.
    pub(super) fn place(&self, v: f64) -> f64 {
        let floor = FLAT * self.low.abs().max(self.high.abs());
        let range = (self.high - self.low).abs().max(floor);
        if range > 0.0 { (self.unit(v) - self.low) / range * self.scale.pixels } else { self.unit(v) - self.low }
    }
}

/// A curve under construction.
pub(super) struct Pen {
    /// Indices of its quantities among the values of a point.
    pub(super) at: (usize, usize),
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    /// True if its horizontal axis is time.
    pub(super) over_time: bool,
    pub(super) points: Vec<PixelPoint>,
    pub(super) many: usize,
    pub(super) thinned: f64,
}

impl Pen {
    pub(super) fn point(&self, values: &[f64]) -> PixelPoint {
        (values[self.at.0], values[self.at.1])
    }

    pub(super) fn place(&self, p: PixelPoint) -> PixelPoint {
        (self.x.place(p.0), self.y.place(p.1))
    }

    pub(super) fn push(&mut self, p: PixelPoint) {
        self.points.push(p);
        if self.points.len() < self.many {
            return;
        }
        let places: Vec<PixelPoint> = self.points.iter().map(|p| self.place(*p)).collect();
        let kept = outline::kept(&places, self.over_time, self.thinned);
        self.points = kept.into_iter().map(|k| self.points[k]).collect();
        if self.points.len() > self.many / 2 {
            // an orbit that fills its plane needs less accuracy because it is dense
            self.thinned *= 2.0;
        }
    }
}
