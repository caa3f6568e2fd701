//! A colour map of a quantity over a rectangle, with a colour bar.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::draw::{Frame, GAP, GREY, LABEL, Pen, TICK, TICK_SPACE, widest};

/// The cells along one axis.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Label of the axis.
    pub label: String,
    /// The edges of the cells, ascending or descending: one more than there are cells.
    pub edges: Vec<f64>,
    /// True for a logarithmic axis.
    pub log: bool,
}

/// Values on a grid.
#[derive(Clone, Debug)]
pub struct Map {
    /// The heading of this panel.
    pub heading: String,
    /// Label of the colour bar.
    pub label: String,
    /// Horizontal cells.
    pub x: Cells,
    /// Vertical cells.
    pub y: Cells,
    /// Row by row, starting with the first row of `y`; values that are not finite remain white.
    pub values: Vec<f64>,
    /// The smallest and the largest value of all maps with this scale of colours; NaN if none is finite.
    pub extent: [f64; 2],
    /// True if both axes have the same scale.
    pub equal: bool,
}

/// Largest number of cells on each axis: more are not visible, and make large files.
pub const MAX_CELLS: (usize, usize) = (200, 150);
/// Number of distinguishable shades; odd, so that there is a middle one.
const SHADES: usize = 97;
/// Width of the bar of colours in pixels.
const BAR: i32 = 22;
/// A field is signed if its smaller side is at least this fraction of the larger one; a smaller value is overshoot or
/// rounding.
const SIGNED: f64 = 0.02;

/// Colours with even steps in brightness, for any colour vision and for print: nine colours of viridis (Smith and van
/// der Walt 2015).
const SEQUENTIAL: [(f64, f64, f64); 9] = [
    (68.0, 1.0, 84.0),
    (71.0, 45.0, 123.0),
    (59.0, 82.0, 139.0),
    (44.0, 114.0, 142.0),
    (33.0, 145.0, 140.0),
    (40.0, 174.0, 128.0),
    (94.0, 201.0, 98.0),
    (173.0, 220.0, 48.0),
    (253.0, 231.0, 37.0),
];

/// From blue over white to red, equally dark on both sides, for any colour vision: RdBu of ColorBrewer (Harrower and
/// Brewer 2003), reversed.
const DIVERGING: [(f64, f64, f64); 11] = [
    (5.0, 48.0, 97.0),
    (33.0, 102.0, 172.0),
    (67.0, 147.0, 195.0),
    (146.0, 197.0, 222.0),
    (209.0, 229.0, 240.0),
    (247.0, 247.0, 247.0),
    (253.0, 219.0, 199.0),
    (244.0, 165.0, 130.0),
    (214.0, 96.0, 77.0),
    (178.0, 24.0, 43.0),
    (103.0, 0.0, 31.0),
];

/// The smallest and the largest finite value.
pub fn extent(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.filter(|v| v.is_finite()).fold([f64::NAN; 2], |[low, high], v| [low.min(v), high.max(v)])
}

/// The colour for a position between 0 and 1.
fn colour(list: &[(f64, f64, f64)], place: f64) -> RGBColor {
    let at = place * (list.len() - 1) as f64;
    let k = (at as usize).min(list.len() - 2);
    let (a, b, part) = (list[k], list[k + 1], at - k as f64);
    let mix = |a: f64, b: f64| (a + part * (b - a)).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// The mapping from values to colours.
struct Colours {
    low: f64,
    high: f64,
    list: &'static [(f64, f64, f64)],
    /// The axis of the bar.
    axis: Axis,
}

impl Colours {
    fn of(values: &[f64], height: i32) -> Colours {
        let axis = Axis::new(values.iter().copied(), false, (height / TICK_SPACE.1).max(2) as usize, 0.0);
        let (low, high) = axis.ends();
        if low < 0.0 && high > 0.0 && (-low).min(high) >= SIGNED * (-low).max(high) {
            let end = (-low).max(high);
            return Colours { low: -end, high: end, list: &DIVERGING, axis };
        }
        Colours { low, high, list: &SEQUENTIAL, axis }
    }

    fn shade(&self, v: f64) -> Option<usize> {
        let place = (v - self.low) / (self.high - self.low);
        place.is_finite().then(|| ((place * SHADES as f64) as usize).min(SHADES - 1))
    }

    fn colour(&self, shade: usize) -> RGBColor {
        colour(self.list, shade as f64 / (SHADES - 1) as f64)
    }
}

impl Cells {
    fn axis(&self, wanted: usize) -> Axis {
        Axis::new(self.edges.iter().copied(), self.log, wanted.max(2), 0.0)
    }

    /// Number of cells.
    fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// Length in the units of the axis.
    fn length(&self) -> f64 {
        self.axis(2).length()
    }
}

impl Map {
    /// Ratio of width to height, if both axes have the same scale.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.equal.then(|| self.x.length() / self.y.length())
    }

    /// The vertical axis for a frame of this height.
    pub(super) fn y_axis(&self, height: i32) -> Axis {
        self.y.axis((height / TICK_SPACE.1) as usize)
    }

    /// The horizontal axis for a frame of this width.
    pub(super) fn x_axis(&self, width: i32) -> Axis {
        self.x.axis((width / TICK_SPACE.0) as usize)
    }

    /// Width in pixels of the bar with its labels, next to a frame of this height.
    pub(super) fn bar_width(&self, height: i32) -> Result<i32, String> {
        let colours = Colours::of(&self.extent, height);
        Ok(2 * GAP + BAR + GAP + widest(&colours.axis)? + GAP + LABEL)
    }

    /// Draws cells, ticks and bar.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        pen: &Pen<'_, B>,
        frame: &Frame,
        labelled: bool,
    ) -> Result<(), String> {
        let x = self.x_axis(frame.right - frame.left);
        let y = self.y_axis(frame.bottom - frame.top);
        let colours = Colours::of(&self.extent, frame.bottom - frame.top);
        self.cells(pen, frame, (&x, &y), &colours)?;
        for (v, label) in &x.ticks {
            let Some(at) = x.position(*v).map(|p| frame.x(p).round() as i32) else { continue };
            pen.line(&[(at, frame.bottom), (at, frame.bottom + 5)], GREY, 1.0)?;
            if labelled {
                pen.text(label, TICK, GREY, (at, frame.bottom + GAP), HPos::Center, VPos::Top)?;
            }
        }
        for (v, label) in &y.ticks {
            let Some(at) = y.position(*v).map(|p| frame.y(p).round() as i32) else { continue };
            pen.line(&[(frame.left - 5, at), (frame.left, at)], GREY, 1.0)?;
            pen.text(label, TICK, GREY, (frame.left - GAP, at), HPos::Right, VPos::Center)?;
        }
        if !self.heading.is_empty() {
            pen.text(&self.heading, TICK, GREY, (frame.left, frame.top - 4), HPos::Left, VPos::Bottom)?;
        }
        self.bar(pen, frame, &colours)
    }

    fn cells<B: DrawingBackend>(
        &self,
        pen: &Pen<'_, B>,
        frame: &Frame,
        (x, y): (&Axis, &Axis),
        colours: &Colours,
    ) -> Result<(), String> {
        let across: Vec<Option<f64>> = self.x.edges.iter().map(|e| x.place(*e).map(|p| frame.x(p))).collect();
        let up: Vec<Option<f64>> = self.y.edges.iter().map(|e| y.place(*e).map(|p| frame.y(p))).collect();
        for (row, edges) in self.values.chunks(self.x.len().max(1)).zip(up.windows(2)) {
            let Some((a, b)) = edges[0].zip(edges[1]) else { continue };
            let mut start = 0;
            while start < row.len() {
                let mine = colours.shade(row[start]);
                let end = (start..row.len()).find(|&k| colours.shade(row[k]) != mine).unwrap_or(row.len());
                if let (Some(shade), Some((left, right))) = (mine, across[start].zip(across[end])) {
                    fill(pen, frame, (left.min(right), a.min(b)), (left.max(right), a.max(b)), colours.colour(shade))?;
                }
                start = end;
            }
        }
        Ok(())
    }

    fn bar<B: DrawingBackend>(&self, pen: &Pen<'_, B>, frame: &Frame, colours: &Colours) -> Result<(), String> {
        let bar = Frame { left: frame.right + 2 * GAP, right: frame.right + 2 * GAP + BAR, ..*frame };
        let width = (colours.high - colours.low) / SHADES as f64;
        for shade in 0..SHADES {
            let low = colours.low + shade as f64 * width;
            let (Some(a), Some(b)) = (colours.axis.place(low), colours.axis.place(low + width)) else { continue };
            let (a, b) = (a.clamp(0.0, 1.0), b.clamp(0.0, 1.0));
            if a < b {
                let corners = ((f64::from(bar.left), bar.y(b)), (f64::from(bar.right), bar.y(a)));
                fill(pen, &bar, corners.0, corners.1, colours.colour(shade))?;
            }
        }
        for (v, label) in &colours.axis.ticks {
            let Some(at) = colours.axis.position(*v).map(|p| bar.y(p).round() as i32) else { continue };
            pen.text(label, TICK, GREY, (bar.right + GAP, at), HPos::Left, VPos::Center)?;
        }
        let middle = (frame.top + frame.bottom) / 2;
        pen.vertical(&self.label, LABEL, GREY, (bar.right + 2 * GAP + widest(&colours.axis)?, middle))
    }
}

/// A filled box that extends slightly under its neighbours below and to the right, so that no seam is visible.
fn fill<B: DrawingBackend>(
    pen: &Pen<'_, B>,
    frame: &Frame,
    (left, top): (f64, f64),
    (right, bottom): (f64, f64),
    colour: RGBColor,
) -> Result<(), String> {
    const UNDER: f64 = 0.6;
    let right = (right + UNDER).min(f64::from(frame.right));
    let bottom = (bottom + UNDER).min(f64::from(frame.bottom));
    let corners = [(pen.fine(left), pen.fine(top)), (pen.fine(right), pen.fine(bottom))];
    pen.root.draw(&Rectangle::new(corners, colour.filled())).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_of_a_signed_field_is_neutral() {
        let colours = Colours::of(&[-0.3, 0.0, 1.0], 400);
        let RGBColor(r, g, b) = colours.colour(colours.shade(0.0).expect("a shade"));
        assert!(r == g && g == b && r > 240, "{r} {g} {b}");
        let side = |v: f64| {
            let RGBColor(r, _, b) = colours.colour(colours.shade(v).expect("a shade"));
            i32::from(r) - i32::from(b)
        };
        // equal distances from zero give equal contrast
        assert!(side(0.3) > 40 && side(-0.3) < -40, "{} {}", side(0.3), side(-0.3));
        // the bar shows only existing values
        assert_eq!(colours.axis.ends(), (-0.3, 1.0));
    }

    #[test]
    fn an_extent_has_the_finite_values() {
        assert_eq!(extent([2.0, f64::NAN, -1.0, f64::INFINITY].into_iter()), [-1.0, 2.0]);
        assert!(extent([f64::NAN].into_iter()).iter().all(|v| v.is_nan()));
    }

    #[test]
    fn a_field_of_one_sign_has_colours_of_growing_brightness() {
        for values in [[0.0, 0.5, 1.0], [-1e-9, 0.5, 1.0], [-3.0, -2.0, -1.0]] {
            let colours = Colours::of(&values, 400);
            let grey = |shade: usize| {
                let RGBColor(r, g, b) = colours.colour(shade);
                0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
            };
            assert!((1..SHADES).all(|k| grey(k) > grey(k - 1)), "{values:?}");
        }
    }
}
