//! A panel of curves with their legend.

use odec_sim::outline;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::draw::{Frame, GAP, INK, LABEL, LINE, Pen, PixelPoint, SWATCH, TICK_SPACE, width};
use super::style::in_panel;

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points; points that are not finite interrupt it.
    pub points: Vec<PixelPoint>,
    /// True if its points advance along the horizontal axis, as over time.
    pub advancing: bool,
}

/// Curves over a pair of axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis, empty if the legend says it all.
    pub y_label: String,
    /// The curves.
    pub curves: Vec<Curve>,
    /// The number of the first curve, which determines the colours.
    pub first: usize,
    /// Times that the horizontal axis contains in any case: those of all panels. Empty for other axes.
    pub span_x: Vec<f64>,
    /// True for a logarithmic horizontal axis.
    pub log_x: bool,
    /// True for a logarithmic vertical axis.
    pub log_y: bool,
    /// The largest ratio of its sides at which both axes have the same scale; `None` if their scales are independent.
    pub equal: Option<f64>,
}

/// Distance in pixels by which a curve may move when points are left out.
const THINNED: f64 = 0.06;
/// Margin around curves, as a fraction of their range.
const ROOM: f64 = 0.04;
/// Font sizes and line heights of a legend in pixels, the most legible first.
const SIZES: [(i32, i32); 4] = [(16, 24), (16, 20), (14, 17), (12, 15)];

/// The layout of the names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Legend {
    size: i32,
    space: i32,
    rows: usize,
    /// Width of a column in pixels.
    column: i32,
    /// Total width; zero without names.
    pub(super) width: i32,
}

impl Chart {
    /// True for a single curve, which the axis names.
    fn alone(&self) -> bool {
        self.curves.len() == 1 && !self.y_label.is_empty()
    }

    /// The smallest height of the names in pixels.
    pub(super) fn names_height(&self) -> i32 {
        if self.alone() { 0 } else { SIZES[2].1 * self.curves.len() as i32 }
    }

    /// The legend in a frame of this height: one column, or several if the frame is not high enough.
    pub(super) fn legend(&self, height: i32) -> Result<Legend, String> {
        let count = self.curves.len() as i32;
        let fits = SIZES.iter().find(|(_, space)| space * count <= height);
        let &(size, space) = fits.unwrap_or(&SIZES[SIZES.len() - 1]);
        let rows = (height / space).max(1);
        if self.alone() || count == 0 {
            return Ok(Legend { size, space, rows: 1, column: 0, width: 0 });
        }
        let mut widest = 0;
        for c in &self.curves {
            widest = widest.max(width(&c.name, size)?);
        }
        let column = SWATCH + GAP + widest + 2 * GAP;
        let columns = (count + rows - 1) / rows;
        Ok(Legend { size, space, rows: rows as usize, column, width: 2 * GAP + columns * column - 2 * GAP })
    }

    /// The axes for a frame of this size.
    pub(super) fn axes(&self, (across, up): (i32, i32)) -> (Axis, Axis) {
        let shown = |p: &&PixelPoint| !self.log_x || p.0 > 0.0;
        let points = || self.curves.iter().flat_map(|c| c.points.iter()).filter(shown);
        // a curve over time fills the width; others, such as orbits, need a margin
        let room = if self.curves.iter().all(|c| c.advancing) { 0.0 } else { ROOM };
        let wanted = |pixels: i32, space: i32, least: i32| (pixels / space).max(least) as usize;
        let spanned = self.span_x.iter().copied();
        let x = Axis::new(points().map(|p| p.0).chain(spanned), self.log_x, wanted(across, TICK_SPACE.0, 2), room);
        let y = Axis::new(points().map(|p| p.1), self.log_y, wanted(up, TICK_SPACE.1, 3), ROOM);
        (x, y)
    }

    /// Ratio of width to height, if both axes have the same scale.
    pub(super) fn ratio(&self) -> Option<f64> {
        let (x, y) = self.axes((1000, 1000));
        let most = self.equal?;
        Some(x.length() / y.length()).filter(|r| (1.0 / most..=most).contains(r))
    }

    /// Draws curves and legend.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        pen: &Pen<'_, B>,
        frame: &Frame,
        labelled: bool,
    ) -> Result<(), String> {
        let (x, y) = self.axes((frame.right - frame.left, frame.bottom - frame.top));
        pen.axes(frame, &x, &y, labelled)?;
        let legend = self.legend(frame.bottom - frame.top)?;
        for (k, curve) in self.curves.iter().enumerate() {
            let look = in_panel(self.first, k);
            let place = |p: &PixelPoint| Some((frame.x(x.place(p.0)?), frame.y(y.place(p.1)?)));
            let places: Vec<Option<PixelPoint>> = curve.points.iter().map(place).collect();
            for piece in frame.pieces(&places) {
                let kept = outline::kept(&piece, curve.advancing, THINNED);
                let kept: Vec<PixelPoint> = kept.into_iter().map(|k| piece[k]).collect();
                pen.styled(&kept, look, LINE)?;
            }
            if self.alone() {
                continue;
            }
            let (column, row) = (k / legend.rows, k % legend.rows);
            let start = frame.right + 2 * GAP + column as i32 * legend.column;
            let middle = frame.top + legend.space * row as i32 + LABEL / 2;
            let level = f64::from(middle);
            let line = [(f64::from(start), level), (f64::from(start + SWATCH), level)];
            pen.styled(&line, look, LINE * 1.2)?;
            let at = (start + SWATCH + GAP, middle);
            pen.text(&curve.name, legend.size, INK, at, HPos::Left, VPos::Center)?;
        }
        Ok(())
    }
}
