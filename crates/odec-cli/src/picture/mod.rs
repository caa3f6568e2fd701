//! Curves as SVG or PNG, drawn by the same code: panels over a common horizontal axis, round ticks, a legend.

mod axis;
mod diagram;
mod draw;
mod encode;
mod map;

use std::path::Path;

pub use diagram::{Diagram, Ink, Key, Mark, Range, Shape};
pub use encode::{Drawing, Format, encode};
pub use map::{MAX_CELLS, Map};

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points; those that are not finite interrupt it.
    pub points: Vec<(f64, f64)>,
}

/// What to draw.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Headline.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis, empty if the legend says it all.
    pub y_label: String,
    /// Groups of curves, each with a vertical axis of its own, from top to bottom.
    pub panels: Vec<Vec<Curve>>,
    /// The horizontal axis is logarithmic.
    pub log_x: bool,
    /// The vertical axes are logarithmic.
    pub log_y: bool,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// A curve that is this many times smaller than another is drawn in a panel of its own: it would be a flat line.
const TOO_SMALL: f64 = 40.0;
/// Most panels.
const MAX_PANELS: usize = 4;

/// Groups curves by size, the larger ones first; within a panel they keep their order.
pub fn panels(curves: Vec<Curve>) -> Vec<Vec<Curve>> {
    let extent = |c: &Curve| {
        let finite = c.points.iter().map(|p| p.1).filter(|v| v.is_finite());
        finite.fold(0.0f64, |m, v| m.max(v.abs()))
    };
    let mut order: Vec<(usize, f64)> = curves.iter().map(extent).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut panel_of = vec![0; curves.len()];
    let (mut panel, mut top) = (0, order.first().map_or(0.0, |o| o.1));
    for (k, size) in order {
        // a curve that is zero throughout lies well in any panel
        if size > 0.0 && size < top / TOO_SMALL && panel + 1 < MAX_PANELS {
            panel += 1;
            top = size;
        }
        panel_of[k] = if size == 0.0 { 0 } else { panel };
    }
    let mut panels = vec![vec![]; panel + 1];
    for (curve, panel) in curves.into_iter().zip(panel_of) {
        panels[panel].push(curve);
    }
    panels
}

/// The format that a file name asks for.
pub fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(Format::Svg),
        "png" => Some(Format::Png),
        _ => None,
    }
}
