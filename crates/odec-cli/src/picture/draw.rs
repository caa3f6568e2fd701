//! Draws lines and texts in pixels, on any backend of the plotting library.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, FontTransform, RGBColor, TextStyle, register_font as register};

use super::axis::Axis;
use super::style::Style;

pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
pub(super) const GREY: RGBColor = RGBColor(95, 95, 95);
pub(super) const GRID: RGBColor = RGBColor(228, 228, 228);

/// Sizes in pixels.
pub(super) const TITLE: i32 = 20;
pub(super) const LABEL: i32 = 16;
pub(super) const TICK: i32 = 14;
pub(super) const MARGIN: i32 = 20;
pub(super) const GAP: i32 = 8;
/// Length of a line in a legend: long enough to show its dashes.
pub(super) const SWATCH: i32 = 34;
pub(super) const LINE: f64 = 2.0;
/// Approximate distance of ticks in pixels, on the horizontal and on a vertical axis.
pub(super) const TICK_SPACE: (i32, i32) = (110, 55);

const FONT: &str = "sans-serif";
/// Texts are measured on a grid finer than pixels.
const FINER: i32 = 8;

/// Registers the font; SVG files name the family, and the viewer chooses the font.
pub fn register_font() {
    // fails only if the font is broken; then the first measured text reports the error
    let _ = register(FONT, FontStyle::Normal, include_bytes!("../../assets/plot-sans.ttf"));
}

pub(super) type Area<'a, B> = DrawingArea<B, Shift>;

pub(super) use odec_sim::outline::PixelPoint;

/// How a backend draws a thick polyline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// As one path.
    Whole,
    /// Segment by segment: the library's bitmap fills the outline of a path, which leaves holes where it crosses itself.
    Segments,
}

/// Width of a text in pixels.
pub(super) fn width(text: &str, size: i32) -> Result<i32, String> {
    let font = (FONT, f64::from(size * FINER)).into_font();
    let (w, _) = font.box_size(text).map_err(|e| e.to_string())?;
    Ok((f64::from(w) / f64::from(FINER)).ceil() as i32)
}

/// Width of the widest label of an axis in pixels.
pub(super) fn widest(axis: &Axis) -> Result<i32, String> {
    axis.ticks.iter().try_fold(0, |w, (_, label)| Ok(w.max(width(label, TICK)?)))
}

/// Breaks a text into at most `lines` lines of this width; the rest is left out.
pub(super) fn wrapped(text: &str, size: i32, room: i32, lines: usize) -> Result<Vec<String>, String> {
    let mut list: Vec<String> = vec![];
    for word in text.split_whitespace() {
        let longer = list.last().map(|line| format!("{line} {word}"));
        match longer {
            Some(longer) if width(&longer, size)? <= room => {
                if let Some(line) = list.last_mut() {
                    *line = longer;
                }
            }
            Some(_) if list.len() == lines => {
                if let Some(line) = list.last_mut() {
                    line.push_str(" …");
                }
                break;
            }
            _ => list.push(word.to_string()),
        }
    }
    Ok(list)
}

/// The rectangle of a panel, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl Frame {
    pub(super) fn x(&self, place: f64) -> f64 {
        f64::from(self.left) + place * f64::from(self.right - self.left)
    }

    pub(super) fn y(&self, place: f64) -> f64 {
        f64::from(self.bottom) - place * f64::from(self.bottom - self.top)
    }

    /// The part of a segment inside (Liang and Barsky, ACM Trans. Graph. 3 (1984) 1-22).
    pub(super) fn clip(&self, a: PixelPoint, b: PixelPoint) -> Option<(PixelPoint, PixelPoint)> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut start, mut end) = (0.0f64, 1.0f64);
        for (towards, room) in [
            (-dx, a.0 - f64::from(self.left)),
            (dx, f64::from(self.right) - a.0),
            (-dy, a.1 - f64::from(self.top)),
            (dy, f64::from(self.bottom) - a.1),
        ] {
            if towards == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if towards < 0.0 {
                start = start.max(room / towards);
            } else {
                end = end.min(room / towards);
            }
        }
        if !(start <= end) {
            return None;
        }
        let at = |s: f64| match s {
            0.0 => a,
            1.0 => b,
            _ => (a.0 + s * dx, a.1 + s * dy),
        };
        Some((at(start), at(end)))
    }

    /// The pieces of a line inside the frame; points that cannot be shown interrupt it.
    pub(super) fn pieces(&self, places: &[Option<PixelPoint>]) -> Vec<Vec<PixelPoint>> {
        let mut pieces: Vec<Vec<PixelPoint>> = vec![];
        let mut end = None;
        for pair in places.windows(2) {
            let inside = pair[0].zip(pair[1]).and_then(|(a, b)| self.clip(a, b));
            match (inside, pieces.last_mut()) {
                (Some((a, b)), Some(piece)) if end == Some(a) => piece.push(b),
                (Some((a, b)), _) => pieces.push(vec![a, b]),
                (None, _) => {}
            }
            end = inside.map(|(_, b)| b);
        }
        pieces
    }
}

/// Draws in pixels on a finer grid.
pub(super) struct Pen<'a, B: DrawingBackend> {
    pub(super) root: &'a Area<'a, B>,
    pub(super) scale: f64,
    pub(super) stroke: Stroke,
}

impl<B: DrawingBackend> Pen<'_, B> {
    pub(super) fn fine(&self, v: f64) -> i32 {
        (v * self.scale).round() as i32
    }

    fn style(&self, size: i32, colour: RGBColor) -> TextStyle<'static> {
        TextStyle {
            color: colour.to_backend_color(),
            ..TextStyle::from((FONT, f64::from(size) * self.scale).into_font())
        }
    }

    /// Draws a text and returns its height.
    pub(super) fn text(
        &self,
        text: &str,
        size: i32,
        colour: RGBColor,
        at: (i32, i32),
        h: HPos,
        v: VPos,
    ) -> Result<i32, String> {
        let style = self.style(size, colour).pos(Pos::new(h, v));
        // the library centres the line including space for accents; digits and most letters are lower
        let lower = if matches!(v, VPos::Center) { 0.1 * f64::from(size) } else { 0.0 };
        let at = (self.fine(f64::from(at.0)), self.fine(f64::from(at.1) + lower));
        self.root.draw_text(text, &style, at).map_err(|e| e.to_string())?;
        Ok(size)
    }

    /// Draws a text upwards.
    pub(super) fn vertical(&self, text: &str, size: i32, colour: RGBColor, at: (i32, i32)) -> Result<(), String> {
        let style = self.style(size, colour).transform(FontTransform::Rotate270).pos(Pos::new(HPos::Center, VPos::Top));
        let at = (self.fine(f64::from(at.0)), self.fine(f64::from(at.1)));
        self.root.draw_text(text, &style, at).map_err(|e| e.to_string())
    }

    pub(super) fn line(&self, points: &[(i32, i32)], colour: RGBColor, width: f64) -> Result<(), String> {
        let points: Vec<_> = points.iter().map(|p| (self.fine(f64::from(p.0)), self.fine(f64::from(p.1)))).collect();
        self.path(points, colour, width)
    }

    pub(super) fn path(&self, points: Vec<(i32, i32)>, colour: RGBColor, width: f64) -> Result<(), String> {
        let width = (width * self.scale).round().max(1.0) as u32;
        if self.stroke == Stroke::Whole || points.len() == 2 {
            return self.root.draw(&PathElement::new(points, colour.stroke_width(width))).map_err(|e| e.to_string());
        }
        for ends in points.windows(2) {
            let segment = PathElement::new(ends.to_vec(), colour.stroke_width(width));
            self.root.draw(&segment).map_err(|e| e.to_string())?;
            let joint = Circle::new(ends[1], width / 2, colour.filled());
            self.root.draw(&joint).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// A line through points in pixels, whole or in dashes.
    pub(super) fn styled(&self, points: &[PixelPoint], style: Style, width: f64) -> Result<(), String> {
        let draw = |part: &[PixelPoint]| {
            let mut fine: Vec<(i32, i32)> = part.iter().map(|p| (self.fine(p.0), self.fine(p.1))).collect();
            fine.dedup();
            if fine.len() < 2 { Ok(()) } else { self.path(fine, style.colour, width) }
        };
        if style.dashes.is_empty() {
            draw(points)
        } else {
            dashes(points, style.dashes).iter().try_for_each(|d| draw(d))
        }
    }

    pub(super) fn axes(&self, frame: &Frame, x: &Axis, y: &Axis, labelled: bool) -> Result<(), String> {
        for (v, label) in &x.ticks {
            let Some(place) = x.position(*v) else { continue };
            let at = frame.x(place).round() as i32;
            self.line(&[(at, frame.top), (at, frame.bottom)], GRID, 1.0)?;
            if labelled {
                self.text(label, TICK, GREY, (at, frame.bottom + GAP), HPos::Center, VPos::Top)?;
            }
        }
        for (v, label) in &y.ticks {
            let Some(place) = y.position(*v) else { continue };
            let at = frame.y(place).round() as i32;
            self.line(&[(frame.left, at), (frame.right, at)], GRID, 1.0)?;
            self.text(label, TICK, GREY, (frame.left - GAP, at), HPos::Right, VPos::Center)?;
        }
        self.line(&[(frame.left, frame.bottom), (frame.right, frame.bottom)], GREY, 1.0)
    }
}

/// The dashes of a line.
fn dashes(points: &[PixelPoint], pattern: &[f64]) -> Vec<Vec<PixelPoint>> {
    let Some(first) = points.first() else { return vec![] };
    let (mut k, mut left) = (0, pattern[0]);
    let mut dash = vec![*first];
    let mut list = vec![];
    for pair in points.windows(2) {
        let (mut a, b) = (pair[0], pair[1]);
        loop {
            let length = (b.0 - a.0).hypot(b.1 - a.1);
            if length < left {
                left -= length;
                dash.push(b);
                break;
            }
            let s = left / length;
            a = (a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1));
            dash.push(a);
            let whole = std::mem::replace(&mut dash, vec![a]);
            if k % 2 == 0 {
                list.push(whole);
            }
            k = (k + 1) % pattern.len();
            left = pattern[k];
        }
    }
    if k % 2 == 0 {
        list.push(dash);
    }
    list
}
