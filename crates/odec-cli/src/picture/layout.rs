//! The positions of panels: rows with aligned frames, and panels side by side in a row.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::draw::{Area, Frame, GAP, GREY, INK, LABEL, MARGIN, Pen, Stroke, TICK, TITLE, widest, width, wrapped};
use super::encode::Drawing;
use super::{Panel, Picture};

/// Default width of a picture.
pub const WIDTH: i32 = 1200;
/// Default height, unless its rows need more.
const HEIGHT: i32 = 750;
/// Height of a row if there are many.
const ROW: i32 = 210;
/// Largest height of a row with panels of a given shape.
const TALL: i32 = 600;
/// Space below a row for ticks and a label.
const FEET: i32 = TICK + 2 * GAP + LABEL + 2 * GAP;
/// Smallest ratio of width to height of a panel without a given shape next to other panels.
const OPEN: f64 = 1.2;
/// Space between rows that share the labels below.
const TIGHT: i32 = 2 * GAP + 4;
/// Largest number of lines of a title, and the width of a picture below which they are not broken further.
const TITLE_LINES: usize = 3;
const NARROW: i32 = 560;
/// Smallest frame in pixels.
const SMALLEST: (i32, i32) = (40, 30);

/// A label that fits into this length: a long name is cut, but its unit stays.
fn shortened(label: &str, size: i32, room: i32) -> Result<String, String> {
    let (name, unit) = label.rfind(" [").map_or((label, ""), |at| label.split_at(at));
    let mut text = label.to_owned();
    let mut kept = name.chars().count();
    while width(&text, size)? > room && kept > 1 {
        kept -= 1;
        text = name.chars().take(kept).collect::<String>() + "..." + unit;
    }
    Ok(text)
}

/// The default height of a picture with this many rows, approximately.
pub fn height_of(rows: usize) -> i32 {
    HEIGHT.max(rows as i32 * ROW)
}

/// A picture with positioned panels.
pub struct Placed<'a> {
    picture: &'a Picture,
    size: (i32, i32),
    title: Vec<String>,
    /// For each row, the frames of its panels, and true for panels with labels below.
    frames: Vec<Vec<(Frame, bool)>>,
}

impl Panel {
    fn y_label(&self) -> &str {
        match self {
            Panel::Chart(chart) => &chart.y_label,
            Panel::Map(map) => &map.y.label,
        }
    }

    fn x_label(&self) -> (&str, bool) {
        match self {
            Panel::Chart(chart) => (&chart.x_label, chart.log_x),
            Panel::Map(map) => (&map.x.label, map.x.log),
        }
    }

    /// True if the panel has the same horizontal axis as the one below, so that they can share its labels.
    fn over(&self, below: &Panel) -> bool {
        let time = |panel: &Panel| match panel {
            Panel::Chart(chart) => chart.curves.iter().all(|c| c.advancing),
            Panel::Map(_) => true,
        };
        self.ratio().is_none()
            && below.ratio().is_none()
            && self.x_label() == below.x_label()
            && time(self)
            && time(below)
    }

    /// Ratio of width to height, if that is fixed.
    fn ratio(&self) -> Option<f64> {
        match self {
            Panel::Chart(chart) => chart.ratio(),
            Panel::Map(map) => map.ratio(),
        }
    }

    /// Space in pixels on the left and on the right of a frame of this height.
    fn sides(&self, height: i32) -> Result<(i32, i32), String> {
        let (axis, right) = match self {
            Panel::Chart(chart) => (chart.axes((WIDTH, height)).1, chart.legend(height)?.width),
            Panel::Map(map) => (map.y_axis(height), map.bar_width(height)?),
        };
        let label = if self.y_label().is_empty() { 0 } else { LABEL + GAP };
        Ok((label + widest(&axis)? + GAP, right.max(2 * GAP).max(self.overhang()?)))
    }

    /// The width by which the label of the rightmost tick may extend beyond the frame.
    fn overhang(&self) -> Result<i32, String> {
        let axis = match self {
            Panel::Chart(chart) => chart.axes((WIDTH, HEIGHT)).0,
            Panel::Map(map) => map.x_axis(WIDTH),
        };
        Ok(widest(&axis)? / 2 - MARGIN / 2)
    }

    /// The smallest height.
    fn least(&self) -> i32 {
        match self {
            Panel::Chart(chart) => chart.names_height(),
            Panel::Map(_) => 0,
        }
    }

    fn heading(&self) -> i32 {
        match self {
            Panel::Map(map) if !map.heading.is_empty() => TICK + 6,
            _ => 0,
        }
    }
}

impl Picture {
    /// Places the panels.
    ///
    /// # Errors
    /// A picture that is too small for its labels.
    pub fn placed(&self) -> Result<Placed<'_>, String> {
        super::draw::register_font();
        let across = self.size.map_or(WIDTH, |s| s.0 as i32);
        let (mut placed, right) = self.place(across, across - 2 * MARGIN)?;
        if self.size.is_none() {
            // leave no empty space beside or below; the title becomes as wide as the panels
            let room = (right - MARGIN).max(NARROW);
            placed = self.place(across, room)?.0;
            let bottom = placed.frames.iter().flatten().map(|(f, _)| f.bottom).max().unwrap_or(0);
            let title = placed.title.iter().try_fold(0, |w, line| Ok::<i32, String>(w.max(width(line, TITLE)?)))?;
            let high =
                if placed.frames.iter().all(|row| row.len() == 1) && right == across - MARGIN { HEIGHT } else { 0 };
            placed.size = (across.min(right.max(title + MARGIN) + MARGIN), high.max(bottom + FEET - GAP + MARGIN));
        } else {
            placed.centre(right);
        }
        let frames = || placed.frames.iter().flatten().map(|(f, _)| f);
        if frames().any(|f| f.right - f.left < SMALLEST.0 || f.bottom - f.top < SMALLEST.1) {
            return Err("the picture is too small for its labels".to_string());
        }
        Ok(placed)
    }

    /// Positions title and panels; also returns the right end of the panels.
    fn place(&self, across: i32, room: i32) -> Result<(Placed<'_>, i32), String> {
        let title = wrapped(&self.title, TITLE, room, TITLE_LINES)?;
        let top = MARGIN + title.len() as i32 * (TITLE + GAP) + GAP;
        let heights = self.heights(self.size.map_or(HEIGHT, |s| s.1 as i32), top)?;
        let columns = self.columns(TALL)?;
        // align the frames of all rows with a single panel
        let mut sides = (0, 0);
        for (row, height) in self.rows.iter().zip(&heights) {
            if let [panel] = row.as_slice()
                && panel.ratio().is_none()
            {
                let (left, right) = panel.sides(*height)?;
                sides = (sides.0.max(left), sides.1.max(right));
            }
        }
        let (mut y, mut right) = (top, 0);
        let mut list = vec![];
        for (k, (row, height)) in self.rows.iter().zip(heights).enumerate() {
            y += row.iter().map(Panel::heading).max().unwrap_or(0);
            let frames = row_frames(row, (y, height), across, sides, &columns);
            let labelled = !self.shares(k);
            y += height + if labelled { FEET } else { TIGHT };
            right = right.max(frames.iter().map(|(_, end)| *end).max().unwrap_or(0));
            list.push(frames.into_iter().map(|(frame, _)| (frame, labelled)).collect());
        }
        let size = self.size.map_or((WIDTH, HEIGHT), |(w, h)| (w as i32, h as i32));
        Ok((Placed { picture: self, size, title, frames: list }, right))
    }

    /// True if a row shows no labels below, because the next row has the same.
    fn shares(&self, k: usize) -> bool {
        match (self.rows.get(k).map(Vec::as_slice), self.rows.get(k + 1).map(Vec::as_slice)) {
            (Some([one]), Some([below])) => one.over(below),
            _ => false,
        }
    }

    /// The heights of the frames of the rows.
    fn heights(&self, height: i32, top: i32) -> Result<Vec<i32>, String> {
        let count = self.rows.len() as i32;
        let below = |k: usize| if self.shares(k) { TIGHT } else { FEET };
        let headings: i32 = self.rows.iter().map(|row| row.iter().map(Panel::heading).max().unwrap_or(0)).sum();
        let between: i32 = (0..self.rows.len()).map(below).sum::<i32>() + headings;
        let asked = self.size.is_some();
        let total = if asked { height } else { HEIGHT.max(top + between + count * (ROW - 2 * GAP)) };
        let each = (total - top - between - MARGIN + GAP) / count.max(1);
        let mut list = vec![];
        for row in &self.rows {
            let least = row.iter().map(Panel::least).max().unwrap_or(0);
            let wanted = if asked { each } else { each.max(least) };
            list.push(if row.iter().any(|p| p.ratio().is_some()) {
                self.shaped(row, if asked { each } else { TALL })?
            } else {
                wanted
            });
        }
        // planes have the same size in all rows
        let shaped = |row: &[Panel]| row.iter().any(|p| p.ratio().is_some());
        let smallest = self.rows.iter().zip(&list).filter(|(row, _)| shaped(row)).map(|(_, h)| *h).min();
        for (row, height) in self.rows.iter().zip(&mut list) {
            *height = smallest.filter(|_| shaped(row)).unwrap_or(*height);
        }
        // panels without a fixed shape share the remaining height
        let free: i32 = total - top - between - MARGIN + GAP - list.iter().sum::<i32>();
        let others: Vec<usize> =
            (0..list.len()).filter(|&k| self.rows[k].iter().all(|p| p.ratio().is_none())).collect();
        if asked && free > 0 && !others.is_empty() {
            for k in &others {
                list[*k] += free / others.len() as i32;
            }
        }
        Ok(list)
    }

    /// The space next to panels that share rows with others, column by column; `height` is that of a frame.
    fn columns(&self, height: i32) -> Result<Vec<(i32, i32)>, String> {
        let mut columns: Vec<(i32, i32)> = vec![];
        for row in self.rows.iter().filter(|row| row.len() > 1 || row.iter().any(|p| p.ratio().is_some())) {
            for (k, panel) in row.iter().enumerate() {
                let (left, right) = panel.sides(height)?;
                match columns.get_mut(k) {
                    Some(column) => *column = (column.0.max(left), column.1.max(right)),
                    None => columns.push((left, right)),
                }
            }
        }
        Ok(columns)
    }

    /// The height at which panels of a given shape fit side by side.
    fn shaped(&self, row: &[Panel], most: i32) -> Result<i32, String> {
        let across = self.size.map_or(WIDTH, |s| s.0 as i32) - 2 * MARGIN - (row.len() as i32 - 1) * 2 * GAP;
        let sides: i32 = self.columns(most)?.iter().take(row.len()).map(|(left, right)| left + right).sum();
        let ratios: f64 = row.iter().map(|panel| panel.ratio().unwrap_or(OPEN)).sum();
        Ok(most.min((f64::from((across - sides).max(0)) / ratios) as i32))
    }
}

/// The frames of a row, each with the right end of the space next to it. `sides` is this space in rows with one
/// panel, `columns` in other rows.
fn row_frames(
    row: &[Panel],
    (top, height): (i32, i32),
    across: i32,
    sides: (i32, i32),
    columns: &[(i32, i32)],
) -> Vec<(Frame, i32)> {
    let bottom = top + height;
    if let [panel] = row
        && panel.ratio().is_none()
    {
        let frame = Frame { left: MARGIN + sides.0, right: across - MARGIN - sides.1, top, bottom };
        return vec![(frame, across - MARGIN)];
    }
    let columns = &columns[..row.len().min(columns.len())];
    let fixed = |panel: &Panel| panel.ratio().map(|r| (r * f64::from(height)).round() as i32);
    let taken: i32 = row.iter().filter_map(fixed).sum::<i32>() + columns.iter().map(|s| s.0 + s.1).sum::<i32>();
    let free = across - 2 * MARGIN - (row.len() as i32 - 1) * 2 * GAP - taken;
    let open = row.iter().filter(|p| p.ratio().is_none()).count().max(1) as i32;
    let mut at = MARGIN;
    let mut list = vec![];
    for (panel, (left, right)) in row.iter().zip(columns) {
        let frame = Frame { left: at + left, right: at + left + fixed(panel).unwrap_or(free / open), top, bottom };
        at = frame.right + right;
        list.push((frame, at));
        at += 2 * GAP;
    }
    list
}

impl Placed<'_> {
    /// Centres the contents in a picture of a given size.
    fn centre(&mut self, right: i32) {
        let by = (self.size.0 - MARGIN - right).max(0) / 2;
        for (frame, _) in self.frames.iter_mut().flatten() {
            (frame.left, frame.right) = (frame.left + by, frame.right + by);
        }
    }
}

impl Drawing for Placed<'_> {
    fn size(&self) -> (u32, u32) {
        (self.size.0.max(1) as u32, self.size.1.max(1) as u32)
    }

    fn draw<B: DrawingBackend>(&self, root: &Area<B>, scale: u32, stroke: Stroke) -> Result<(), String> {
        let pen = Pen { root, scale: f64::from(scale), stroke };
        root.fill(&WHITE).map_err(|e| e.to_string())?;
        let mut top = MARGIN;
        for line in &self.title {
            top += pen.text(line, TITLE, INK, (MARGIN, top), HPos::Left, VPos::Top)? + GAP;
        }
        for (row, frames) in self.picture.rows.iter().zip(&self.frames) {
            // align the labels of panels below each other
            for (panel, (frame, labelled)) in row.iter().zip(frames) {
                match panel {
                    Panel::Chart(chart) => chart.draw(&pen, frame, *labelled)?,
                    Panel::Map(map) => map.draw(&pen, frame, *labelled)?,
                }
                let middle = (frame.top + frame.bottom) / 2;
                if !panel.y_label().is_empty() {
                    let (left, _) = panel.sides(frame.bottom - frame.top)?;
                    let left = if row.len() == 1 && panel.ratio().is_none() { MARGIN } else { frame.left - left };
                    let room = frame.bottom - frame.top + FEET;
                    pen.vertical(&shortened(panel.y_label(), LABEL, room)?, LABEL, GREY, (left, middle))?;
                }
                let (label, _) = panel.x_label();
                if *labelled && !label.is_empty() {
                    let at = ((frame.left + frame.right) / 2, frame.bottom + TICK + 2 * GAP + LABEL + GAP);
                    pen.text(label, LABEL, GREY, at, HPos::Center, VPos::Bottom)?;
                }
            }
        }
        Ok(())
    }
}
