//! Diagrams: filled regions, lines, arrows and marks over a pair of axes, with a legend and a few lines of text.

use std::collections::BTreeSet;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use odec_sim::outline;

use super::axis::Axis;
use super::draw::{
    Area, Frame, GAP, GREY, INK, LABEL, LINE, MARGIN, Pen, PixelPoint, SWATCH, Stroke, TICK, TICK_SPACE, TITLE, widest,
    width, wrapped,
};
use super::style::{COLOURS, Style, style};

/// Colours by their purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The colour of a series.
    Series(usize),
    /// The colour of a series, as light as a background.
    Pale(usize),
    /// The colour of text.
    Dark,
    /// A background colour.
    Faint,
}

impl Ink {
    fn colour(self) -> RGBColor {
        match self {
            Ink::Series(k) => style(k).colour,
            Ink::Pale(k) => {
                let RGBColor(r, g, b) = COLOURS[k % COLOURS.len()];
                let pale = |v: u8| 255 - ((255 - u16::from(v)) / 5) as u8;
                RGBColor(pale(r), pale(g), pale(b))
            }
            Ink::Dark => INK,
            Ink::Faint => RGBColor(175, 175, 175),
        }
    }

    /// The style of a line, solid by default.
    fn style(self) -> Style {
        match self {
            Ink::Series(k) => style(k),
            other => Style { colour: other.colour(), dashes: &[] },
        }
    }

    fn dashed(self) -> Style {
        Style { colour: self.colour(), dashes: DASHES }
    }
}

/// The form of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Filled.
    Dot,
    /// Filled, twice as wide.
    Disk,
    /// A disk that is white inside.
    Ring,
    /// A cross in a white disk.
    Cross,
}

/// A shape, in the units of the axes.
#[derive(Clone, Debug)]
pub enum Shape {
    /// The region to the left of closed curves.
    Region(Vec<Vec<(f64, f64)>>, Ink),
    /// A line of this width in pixels; points that are not finite interrupt it.
    Line(Vec<(f64, f64)>, Ink, f64),
    /// The same in dashes.
    Dashes(Vec<(f64, f64)>, Ink, f64),
    /// An arrow of this length in pixels, through a point in a direction.
    Arrow((f64, f64), (f64, f64), Ink, f64),
    /// A triangle that shows the direction of a curve at a point.
    Head((f64, f64), (f64, f64), Ink),
    /// Marks; marks outside the frame are left out.
    Marks(Vec<(f64, f64)>, Ink, Mark),
}

/// The style of a legend entry.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// A line.
    Line(Ink),
    /// A dashed line.
    Dashes(Ink),
    /// A filled box.
    Region(Ink),
    /// A mark.
    Mark(Ink, Mark),
    /// A line with marks.
    Marked(Ink, Mark),
    /// Only text.
    Text,
}

/// Ends of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// True for a logarithmic axis.
    pub log: bool,
}

/// A diagram.
#[derive(Clone, Debug)]
pub struct Diagram {
    /// Headline.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Horizontal axis.
    pub x: Range,
    /// Vertical axis.
    pub y: Range,
    /// True if both axes have the same scale.
    pub equal: bool,
    /// From back to front. The grid is drawn over regions and under everything else.
    pub shapes: Vec<Shape>,
    /// Legend, from top to bottom.
    pub legend: Vec<(String, Key)>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// Lengths of dashes and gaps in pixels.
const DASHES: &[f64] = &[7.0, 5.0];
/// Smallest height of a line of the legend in pixels.
const SMALLEST: i32 = 12;
/// Distance in pixels by which a line may move when points are left out.
const THINNED: f64 = 0.06;
/// Radius of a dot in pixels.
const DOT: f64 = 2.6;

/// Draws; `scale` is the number of units per pixel.
pub fn draw<B: DrawingBackend>(root: &Area<B>, diagram: &Diagram, scale: u32, stroke: Stroke) -> Result<(), String> {
    let pen = Pen { root, scale: f64::from(scale), stroke };
    root.fill(&WHITE).map_err(|e| e.to_string())?;
    let mut top = MARGIN;
    for line in wrapped(&diagram.title, TITLE, diagram.size.0 as i32 - 2 * MARGIN, 2)? {
        top += pen.text(&line, TITLE, INK, (MARGIN, top), HPos::Left, VPos::Top)? + GAP;
    }
    let (frame, x, y) = place(diagram, top + GAP)?;
    let board = PlotArea { pen: &pen, frame: &frame, x: &x, y: &y };
    for shape in diagram.shapes.iter().filter(|s| matches!(s, Shape::Region(..))) {
        board.shape(shape)?;
    }
    pen.axes(&frame, &x, &y, true)?;
    for shape in diagram.shapes.iter().filter(|s| !matches!(s, Shape::Region(..))) {
        board.shape(shape)?;
    }
    board.legend(&diagram.legend)?;
    if !diagram.x_label.is_empty() {
        let at = ((frame.left + frame.right) / 2, frame.bottom + TICK + 2 * GAP + LABEL + GAP);
        pen.text(&diagram.x_label, LABEL, GREY, at, HPos::Center, VPos::Bottom)?;
    }
    if !diagram.y_label.is_empty() {
        pen.vertical(&diagram.y_label, LABEL, GREY, (MARGIN, (frame.top + frame.bottom) / 2))?;
    }
    Ok(())
}

/// The frame below `top`, with its axes.
fn place(diagram: &Diagram, top: i32) -> Result<(Frame, Axis, Axis), String> {
    let (picture_width, height) = (diagram.size.0 as i32, diagram.size.1 as i32);
    let mut legend = 0;
    for (text, _) in &diagram.legend {
        legend = legend.max(width(text, LABEL)? + SWATCH + 4 * GAP);
    }
    let legend = legend.min(picture_width * 2 / 5);
    let bottom = height - MARGIN - TICK - 2 * GAP - if diagram.x_label.is_empty() { 0 } else { LABEL + GAP };
    let axis = |range: &Range, wanted: i32| {
        Axis::new([range.low, range.high].into_iter(), range.log, wanted.max(2) as usize, 0.0)
    };
    let y = axis(&diagram.y, (bottom - top) / TICK_SPACE.1);
    let left = MARGIN + if diagram.y_label.is_empty() { 0 } else { LABEL + GAP } + widest(&y)? + GAP;
    let mut frame = Frame { left, right: picture_width - MARGIN - legend, top, bottom };
    if frame.right - frame.left < 40 || frame.bottom - frame.top < 30 {
        return Err("the picture is too small for its labels".to_string());
    }
    if diagram.equal {
        let unit = f64::from(frame.right - frame.left) / (diagram.x.high - diagram.x.low);
        let unit = unit.min(f64::from(frame.bottom - frame.top) / (diagram.y.high - diagram.y.low));
        frame.right = frame.left + (unit * (diagram.x.high - diagram.x.low)).round() as i32;
        frame.bottom = frame.top + (unit * (diagram.y.high - diagram.y.low)).round() as i32;
    }
    let x = axis(&diagram.x, (frame.right - frame.left) / TICK_SPACE.0);
    Ok((frame, x, y))
}

/// A frame with its axes, and a pen.
struct PlotArea<'a, B: DrawingBackend> {
    pen: &'a Pen<'a, B>,
    frame: &'a Frame,
    x: &'a Axis,
    y: &'a Axis,
}

impl<B: DrawingBackend> PlotArea<'_, B> {
    /// The position in pixels, if it can be shown.
    fn place(&self, (x, y): PixelPoint) -> Option<PixelPoint> {
        Some((self.frame.x(self.x.place(x)?), self.frame.y(self.y.place(y)?)))
    }

    fn inside(&self, (x, y): PixelPoint) -> bool {
        const EDGE: f64 = 1.0;
        x >= f64::from(self.frame.left) - EDGE
            && x <= f64::from(self.frame.right) + EDGE
            && y >= f64::from(self.frame.top) - EDGE
            && y <= f64::from(self.frame.bottom) + EDGE
    }

    fn fine(&self, (x, y): PixelPoint) -> (i32, i32) {
        (self.pen.fine(x), self.pen.fine(y))
    }

    /// The names next to the frame, each with its style.
    fn legend(&self, entries: &[(String, Key)]) -> Result<(), String> {
        let frame = self.frame;
        let space = ((frame.bottom - frame.top) / entries.len().max(1) as i32).clamp(SMALLEST, LABEL * 3 / 2);
        let font = (space - 2).min(LABEL);
        for (k, (text, key)) in entries.iter().enumerate() {
            let (start, middle) = (frame.right + 2 * GAP, frame.top + GAP + space * k as i32 + font / 2);
            let at = if matches!(key, Key::Text) { start } else { start + SWATCH + GAP };
            self.swatch(*key, (f64::from(start), f64::from(start + SWATCH)), f64::from(middle))?;
            let ink = if matches!(key, Key::Text) { GREY } else { INK };
            self.pen.text(text, font, ink, (at, middle), HPos::Left, VPos::Center)?;
        }
        Ok(())
    }

    /// Draws the sample of an entry from `a` to `b` at a height.
    fn swatch(&self, key: Key, (a, b): PixelPoint, level: f64) -> Result<(), String> {
        let line = [(a, level), (b, level)];
        match key {
            Key::Line(ink) => self.pen.styled(&line, ink.style(), LINE * 1.2),
            Key::Dashes(ink) => self.pen.styled(&line, ink.dashed(), LINE),
            Key::Region(ink) => {
                let corners = [(a, level - 6.0), (b, level - 6.0), (b, level + 6.0), (a, level + 6.0)];
                self.fill(&corners, ink.colour())
            }
            Key::Mark(ink, mark) => self.mark((0.5 * (a + b), level), ink, mark),
            Key::Marked(ink, mark) => {
                self.pen.styled(&line, ink.style(), LINE * 0.8)?;
                self.mark((0.5 * (a + b), level), ink, mark)
            }
            Key::Text => Ok(()),
        }
    }

    fn shape(&self, shape: &Shape) -> Result<(), String> {
        match shape {
            Shape::Region(curves, ink) => {
                // larger ones first: a curve in the opposite direction is a hole in them
                let area = odec_sim::contour::area;
                let mut order: Vec<&Vec<PixelPoint>> = curves.iter().collect();
                order.sort_by(|a, b| area(b).abs().total_cmp(&area(a).abs()));
                for curve in order {
                    let corners: Vec<PixelPoint> = curve.iter().filter_map(|p| self.place(*p)).collect();
                    self.fill(&corners, if area(curve) > 0.0 { ink.colour() } else { WHITE })?;
                }
                Ok(())
            }
            Shape::Line(points, ink, width) => self.line(points, ink.style(), *width),
            Shape::Dashes(points, ink, width) => self.line(points, ink.dashed(), *width),
            Shape::Arrow(at, direction, ink, length) => {
                let Some(((x, y), (dx, dy))) = self.heading(*at, *direction) else { return Ok(()) };
                let half = 0.5 * length;
                let tip = (x + half * dx, y + half * dy);
                self.pen.styled(&[(x - half * dx, y - half * dy), tip], ink.style(), 1.2)?;
                self.head(tip, (dx, dy), *ink, 4.5)
            }
            Shape::Head(at, direction, ink) => match self.heading(*at, *direction) {
                Some(((x, y), d)) => self.head((x + 5.0 * d.0, y + 5.0 * d.1), d, *ink, 10.0),
                None => Ok(()),
            },
            Shape::Marks(points, ink, mark) => {
                // draw marks at the same pixel only once
                let mut seen = BTreeSet::new();
                for at in points.iter().filter_map(|p| self.place(*p)).filter(|p| self.inside(*p)) {
                    if seen.insert((at.0.round() as i32, at.1.round() as i32)) {
                        self.mark(at, *ink, *mark)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// A point and a unit vector in pixels; `None` outside the frame or without a direction.
    fn heading(&self, at: PixelPoint, direction: PixelPoint) -> Option<(PixelPoint, PixelPoint)> {
        const SMALL: f64 = 1e-3;
        let here = self.place(at).filter(|p| self.inside(*p))?;
        let size = direction.0.abs() / (self.x.length()) + direction.1.abs() / self.y.length();
        let there = self.place((at.0 + SMALL * direction.0 / size, at.1 + SMALL * direction.1 / size))?;
        let (dx, dy) = (there.0 - here.0, there.1 - here.1);
        let length = dx.hypot(dy);
        (length > 0.0 && length.is_finite()).then_some((here, (dx / length, dy / length)))
    }

    /// Draws a triangle with its tip at this point.
    fn head(&self, tip: PixelPoint, (dx, dy): PixelPoint, ink: Ink, size: f64) -> Result<(), String> {
        let back = (tip.0 - size * dx, tip.1 - size * dy);
        let half = 0.38 * size;
        self.fill(
            &[tip, (back.0 - half * dy, back.1 + half * dx), (back.0 + half * dy, back.1 - half * dx)],
            ink.colour(),
        )
    }

    fn mark(&self, at: PixelPoint, ink: Ink, mark: Mark) -> Result<(), String> {
        let disk = |radius: f64, colour: RGBColor| {
            let corners: Vec<PixelPoint> = (0..32)
                .map(|k| {
                    let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 32.0).sin_cos();
                    (at.0 + radius * cos, at.1 + radius * sin)
                })
                .collect();
            self.fill(&corners, colour)
        };
        match mark {
            Mark::Dot => disk(DOT, ink.colour()),
            Mark::Disk => {
                disk(DOT * 2.0 + 1.5, WHITE)?;
                disk(DOT * 2.0, ink.colour())
            }
            Mark::Ring => {
                disk(DOT * 2.0, ink.colour())?;
                disk(DOT * 2.0 - 2.0, WHITE)
            }
            Mark::Cross => {
                disk(DOT * 2.0 + 1.5, WHITE)?;
                let r = DOT * 1.8;
                self.pen.styled(
                    &[(at.0 - r, at.1 - r), (at.0 + r, at.1 + r)],
                    Style { dashes: &[], ..ink.style() },
                    2.2,
                )?;
                self.pen.styled(
                    &[(at.0 - r, at.1 + r), (at.0 + r, at.1 - r)],
                    Style { dashes: &[], ..ink.style() },
                    2.2,
                )
            }
        }
    }

    fn fill(&self, corners: &[PixelPoint], colour: RGBColor) -> Result<(), String> {
        if corners.len() < 3 {
            return Ok(());
        }
        let corners: Vec<(i32, i32)> = corners.iter().map(|p| self.fine(*p)).collect();
        self.pen.root.draw(&Polygon::new(corners, colour.filled())).map_err(|e| e.to_string())
    }

    /// The part of a line inside the frame.
    fn line(&self, points: &[PixelPoint], style: Style, width: f64) -> Result<(), String> {
        let places: Vec<Option<PixelPoint>> = points.iter().map(|p| self.place(*p)).collect();
        for piece in self.frame.pieces(&places) {
            let kept: Vec<PixelPoint> = outline::kept(&piece, false, THINNED).into_iter().map(|k| piece[k]).collect();
            self.pen.styled(&kept, style, width)?;
        }
        Ok(())
    }
}
