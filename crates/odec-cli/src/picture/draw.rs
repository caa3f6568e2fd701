//! Draws a picture on any backend of the plotting library.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, FontTransform, RGBColor, TextStyle, register_font as register};

use super::axis::Axis;
use super::{Curve, Picture};

/// Colours that people with any colour vision tell apart (Okabe and Ito 2008), the darker ones first.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 60, 140),
    RGBColor(90, 90, 90),
];
pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
pub(super) const GREY: RGBColor = RGBColor(95, 95, 95);
pub(super) const GRID: RGBColor = RGBColor(228, 228, 228);

/// Sizes in pixels.
pub(super) const TITLE: i32 = 22;
pub(super) const LABEL: i32 = 16;
pub(super) const TICK: i32 = 14;
pub(super) const MARGIN: i32 = 20;
pub(super) const GAP: i32 = 8;
pub(super) const SWATCH: i32 = 24;
pub(super) const LINE: f64 = 2.0;
/// Pixels between ticks, about, on the horizontal and on a vertical axis.
pub(super) const TICK_SPACE: (i32, i32) = (110, 55);
/// Points nearer than this to the last one drawn, in pixels, are left out.
const SAME: f64 = 0.3;

const FONT: &str = "sans-serif";

/// Makes the font known to the library; SVG files name the family and leave the choice to the viewer.
pub fn register_font() {
    // fails only if the font is broken, and then text cannot be measured, which is reported by the first text drawn
    let _ = register(FONT, FontStyle::Normal, include_bytes!("../../assets/plot-sans.ttf"));
}

pub(super) type Area<'a, B> = DrawingArea<B, Shift>;

/// How a backend draws a wide line through many points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// As one path with a width.
    Whole,
    /// Segment by segment: the library's bitmap fills the outline of a path, which leaves holes where it crosses itself.
    Segments,
}

/// Draws; `scale` is the number of units per pixel.
pub fn draw<B: DrawingBackend>(root: &Area<B>, picture: &Picture, scale: u32, stroke: Stroke) -> Result<(), String> {
    let pen = Pen { root, scale: f64::from(scale), stroke };
    pen.root.fill(&WHITE).map_err(|e| e.to_string())?;
    let (width, height) = (picture.size.0 as i32, picture.size.1 as i32);
    let curves = || picture.panels.iter().flatten();

    let mut top = MARGIN;
    if !picture.title.is_empty() {
        top += pen.text(&picture.title, TITLE, INK, (MARGIN, top), HPos::Left, VPos::Top)? + 2 * GAP;
    }
    // a single curve is named by its axis
    let alone = curves().count() == 1 && !picture.y_label.is_empty();
    let legend = {
        let mut widest = 0;
        for c in curves() {
            widest = widest.max(pen.width(&c.name, LABEL)?);
        }
        if alone { 0 } else { (widest + SWATCH + 3 * GAP).min(width / 3) }
    };
    let right = width - MARGIN - legend;
    let panels = picture.panels.len().max(1) as i32;
    let bottom = height - MARGIN - TICK - 2 * GAP - if picture.x_label.is_empty() { 0 } else { LABEL + GAP };
    let between = 2 * GAP + 4;
    let panel_height = ((bottom - top) - between * (panels - 1)) / panels;

    let ys: Vec<Axis> = picture
        .panels
        .iter()
        .map(|panel| {
            let values = panel.iter().flat_map(|c| c.points.iter().map(|p| p.1));
            Axis::new(values, picture.log_y, (panel_height / TICK_SPACE.1).max(3) as usize, 0.04)
        })
        .collect();
    let mut widest = 0;
    for (_, label) in ys.iter().flat_map(|a| &a.ticks) {
        widest = widest.max(pen.width(label, TICK)?);
    }
    let y_label = if picture.y_label.is_empty() { 0 } else { LABEL + GAP };
    let left = MARGIN + y_label + widest + GAP;
    if right - left < 40 || panel_height < 30 {
        return Err("the picture is too small for its labels".to_string());
    }
    // a curve over time fills the width; one that turns back, as an orbit does, needs room
    let turns = |c: &Curve| !c.points.is_sorted_by(|a, b| a.0 <= b.0) && !c.points.is_sorted_by(|a, b| a.0 >= b.0);
    let margin = if curves().any(turns) { 0.04 } else { 0.0 };
    let x_values = curves().flat_map(|c| c.points.iter().map(|p| p.0));
    let x = Axis::new(x_values, picture.log_x, ((right - left) / TICK_SPACE.0).max(2) as usize, margin);

    if y_label > 0 {
        pen.vertical(&picture.y_label, LABEL, GREY, (MARGIN, (top + bottom) / 2))?;
    }
    let mut colour = 0;
    for (k, (panel, y)) in picture.panels.iter().zip(&ys).enumerate() {
        let y0 = top + k as i32 * (panel_height + between);
        let frame = Frame { left, right, top: y0, bottom: y0 + panel_height };
        pen.axes(&frame, &x, y, k as i32 + 1 == panels)?;
        let legend = Legend::of(&frame, panel.len());
        for (c, curve) in panel.iter().enumerate() {
            let ink = COLOURS[colour % COLOURS.len()];
            colour += 1;
            pen.curve(&frame, &x, y, curve, ink)?;
            if alone {
                continue;
            }
            let (start, middle) = (frame.right + 2 * GAP, frame.top + GAP + legend.space * c as i32 + legend.size / 2);
            if c < legend.entries {
                pen.line(&[(start, middle), (start + SWATCH, middle)], ink, LINE * 1.2)?;
                let at = (start + SWATCH + GAP, middle);
                pen.text(&curve.name, legend.size, INK, at, HPos::Left, VPos::Center)?;
            } else if c == legend.entries {
                let more = format!("and {} more", panel.len() - c);
                pen.text(&more, legend.size, GREY, (start, middle), HPos::Left, VPos::Center)?;
            }
        }
    }
    if !picture.x_label.is_empty() {
        let at = ((left + right) / 2, height - MARGIN);
        pen.text(&picture.x_label, LABEL, GREY, at, HPos::Center, VPos::Bottom)?;
    }
    Ok(())
}

/// How the names of a panel's curves are set, in pixels.
struct Legend {
    space: i32,
    size: i32,
    entries: usize,
}

impl Legend {
    /// As large as the height permits.
    fn of(frame: &Frame, curves: usize) -> Legend {
        let height = frame.bottom - frame.top;
        let space = (height / curves.max(1) as i32).clamp(LABEL, LABEL * 3 / 2);
        let fitting = (height / space) as usize;
        let entries = if curves <= fitting { curves } else { fitting.saturating_sub(1) };
        Legend { space, size: (space - 3).min(LABEL), entries }
    }
}

/// Where a panel lies, in pixels.
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

    pub(super) fn width(&self, text: &str, size: i32) -> Result<i32, String> {
        let (w, _) = self.root.estimate_text_size(text, &self.style(size, INK)).map_err(|e| e.to_string())?;
        Ok((f64::from(w) / self.scale).ceil() as i32)
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
        // the library centres the line, which has room for accents; digits and most letters sit lower
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

    pub(super) fn axes(&self, frame: &Frame, x: &Axis, y: &Axis, last: bool) -> Result<(), String> {
        for (v, label) in &x.ticks {
            let Some(place) = x.position(*v) else { continue };
            let at = frame.x(place).round() as i32;
            self.line(&[(at, frame.top), (at, frame.bottom)], GRID, 1.0)?;
            if last {
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

    fn curve(&self, frame: &Frame, x: &Axis, y: &Axis, curve: &Curve, colour: RGBColor) -> Result<(), String> {
        let mut piece: Vec<(f64, f64)> = vec![];
        let mut skipped = None;
        for &(a, b) in &curve.points {
            match (x.place(a), y.place(b)) {
                (Some(a), Some(b)) => {
                    let point = (frame.x(a), frame.y(b));
                    match piece.last() {
                        Some(last) if (last.0 - point.0).abs() < SAME && (last.1 - point.1).abs() < SAME => {
                            skipped = Some(point);
                        }
                        _ => {
                            piece.push(point);
                            skipped = None;
                        }
                    }
                }
                _ => {
                    self.stroke(std::mem::take(&mut piece), skipped.take(), colour)?;
                }
            }
        }
        self.stroke(piece, skipped, colour)
    }

    fn stroke(&self, mut piece: Vec<(f64, f64)>, end: Option<(f64, f64)>, colour: RGBColor) -> Result<(), String> {
        piece.extend(end);
        if piece.len() < 2 {
            return Ok(());
        }
        let points = piece.into_iter().map(|(a, b)| (self.fine(a), self.fine(b))).collect();
        self.path(points, colour, LINE)
    }
}
