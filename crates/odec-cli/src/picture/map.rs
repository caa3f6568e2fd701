//! A quantity over a rectangle as colours, with a bar that says what they mean.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::diagram::Range;
use super::draw::{Area, Frame, GAP, GREY, INK, LABEL, MARGIN, Pen, Stroke, TICK, TICK_SPACE, TITLE};
use super::encode::Drawing;

/// Values on a grid.
#[derive(Clone, Debug)]
pub struct Map {
    /// Headline.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Label of the colours.
    pub label: String,
    /// Horizontal axis, from edge to edge.
    pub x: Range,
    /// Vertical axis.
    pub y: Range,
    /// Cells along the horizontal axis.
    pub columns: usize,
    /// Row by row, the lowest first; those that are not finite are left white.
    pub values: Vec<f64>,
    /// A unit is as long on both axes.
    pub equal: bool,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// Most cells on each axis: more are not seen, and would make large files.
pub const MAX_CELLS: (usize, usize) = (200, 150);
/// Shades that are told apart.
const SHADES: usize = 64;
/// Width of the bar of colours in pixels.
const BAR: i32 = 22;

/// Colours of even steps in brightness, for any colour vision and in print: those of viridis (Smith and van der Walt
/// 2015) at nine places.
const COLOURS: [(f64, f64, f64); 9] = [
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

fn colour(shade: usize) -> RGBColor {
    let at = shade as f64 / (SHADES - 1) as f64 * (COLOURS.len() - 1) as f64;
    let k = (at as usize).min(COLOURS.len() - 2);
    let (a, b, part) = (COLOURS[k], COLOURS[k + 1], at - k as f64);
    let mix = |a: f64, b: f64| (a + part * (b - a)).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

impl Drawing for Map {
    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn draw<B: DrawingBackend>(&self, root: &Area<B>, scale: u32, stroke: Stroke) -> Result<(), String> {
        let pen = Pen { root, scale: f64::from(scale), stroke };
        root.fill(&WHITE).map_err(|e| e.to_string())?;
        let (width, height) = (self.size.0 as i32, self.size.1 as i32);
        let mut top = MARGIN;
        if !self.title.is_empty() {
            top += pen.text(&self.title, TITLE, INK, (MARGIN, top), HPos::Left, VPos::Top)? + 2 * GAP;
        }
        let bottom = height - MARGIN - TICK - 2 * GAP - LABEL - GAP;
        let z = Axis::new(self.values.iter().copied(), false, ((bottom - top) / TICK_SPACE.1).max(2) as usize, 0.0);
        let y = Axis::new(
            [self.y.low, self.y.high].into_iter(),
            self.y.log,
            ((bottom - top) / TICK_SPACE.1).max(2) as usize,
            0.0,
        );
        let widest = |axis: &Axis| -> Result<i32, String> {
            axis.ticks.iter().try_fold(0, |w, (_, label)| Ok(w.max(pen.width(label, TICK)?)))
        };
        let left = MARGIN + LABEL + GAP + widest(&y)? + GAP;
        let legend = 2 * GAP + BAR + GAP + widest(&z)? + GAP + LABEL;
        let mut frame = Frame { left, right: width - MARGIN - legend, top, bottom };
        if frame.right - frame.left < 40 || frame.bottom - frame.top < 30 {
            return Err("the picture is too small for its labels".to_string());
        }
        if self.equal {
            let (w, h) = (self.x.high - self.x.low, self.y.high - self.y.low);
            let unit = (f64::from(frame.right - frame.left) / w).min(f64::from(frame.bottom - frame.top) / h);
            frame.right = frame.left + (unit * w).round() as i32;
            frame.bottom = frame.top + (unit * h).round() as i32;
        }
        let x = Axis::new(
            [self.x.low, self.x.high].into_iter(),
            self.x.log,
            ((frame.right - frame.left) / TICK_SPACE.0).max(2) as usize,
            0.0,
        );
        let shade = |v: f64| z.place(v).map(|p| ((p * SHADES as f64) as usize).min(SHADES - 1));
        let rows = self.values.len() / self.columns.max(1);
        let fill = |(x0, y0): (f64, f64), (x1, y1): (f64, f64), shade: usize| {
            let corners = [(pen.fine(x0), pen.fine(y0)), (pen.fine(x1), pen.fine(y1))];
            root.draw(&Rectangle::new(corners, colour(shade).filled())).map_err(|e| e.to_string())
        };
        // cells reach a little under their neighbours, so that no seam shows
        let under = 0.6;
        for (r, row) in self.values.chunks(self.columns.max(1)).enumerate() {
            let (low, high) = (frame.y(r as f64 / rows as f64), frame.y((r + 1) as f64 / rows as f64));
            let mut start = 0;
            while start < row.len() {
                let mine = shade(row[start]);
                let end = (start..row.len()).find(|&k| shade(row[k]) != mine).unwrap_or(row.len());
                if let Some(shade) = mine {
                    let at = |k: usize| frame.x(k as f64 / self.columns as f64);
                    let right = (at(end) + under).min(f64::from(frame.right));
                    fill((at(start), high), (right, (low + under).min(f64::from(frame.bottom))), shade)?;
                }
                start = end;
            }
        }
        for (v, label) in &x.ticks {
            let Some(at) = x.position(*v).map(|p| frame.x(p).round() as i32) else { continue };
            pen.line(&[(at, frame.bottom), (at, frame.bottom + 5)], GREY, 1.0)?;
            pen.text(label, TICK, GREY, (at, frame.bottom + GAP), HPos::Center, VPos::Top)?;
        }
        for (v, label) in &y.ticks {
            let Some(at) = y.position(*v).map(|p| frame.y(p).round() as i32) else { continue };
            pen.line(&[(frame.left - 5, at), (frame.left, at)], GREY, 1.0)?;
            pen.text(label, TICK, GREY, (frame.left - GAP, at), HPos::Right, VPos::Center)?;
        }
        let bar = Frame { left: frame.right + 2 * GAP, right: frame.right + 2 * GAP + BAR, ..frame };
        for shade in 0..SHADES {
            let at = |k: usize| bar.y(k as f64 / SHADES as f64);
            let low = (at(shade) + under).min(f64::from(bar.bottom));
            fill((f64::from(bar.left), at(shade + 1)), (f64::from(bar.right), low), shade)?;
        }
        for (v, label) in &z.ticks {
            let Some(at) = z.position(*v).map(|p| bar.y(p).round() as i32) else { continue };
            pen.text(label, TICK, GREY, (bar.right + GAP, at), HPos::Left, VPos::Center)?;
        }
        let middle = (frame.top + frame.bottom) / 2;
        pen.vertical(&self.label, LABEL, GREY, (bar.right + 2 * GAP + widest(&z)?, middle))?;
        let at = ((frame.left + frame.right) / 2, frame.bottom + TICK + 2 * GAP + LABEL + GAP);
        pen.text(&self.x_label, LABEL, GREY, at, HPos::Center, VPos::Bottom)?;
        pen.vertical(&self.y_label, LABEL, GREY, (MARGIN, middle))
    }
}
