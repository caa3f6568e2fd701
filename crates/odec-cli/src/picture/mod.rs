//! Pictures as SVG or PNG, drawn by the same code: panels of curves and colour maps in rows, round ticks, legends.

mod axis;
mod chart;
mod diagram;
mod draw;
mod encode;
mod layout;
mod map;
mod style;

use std::collections::HashMap;
use std::path::Path;

pub use chart::{Chart, Curve};
pub use diagram::{Diagram, Ink, Key, Mark, Range, Shape};
pub use encode::{Drawing, PictureFormat, encode};
pub use layout::{WIDTH, height_of};
pub use map::{Cells, MAX_CELLS, Map, extent};
pub use style::STYLES;

/// The contents of a picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Headline.
    pub title: String,
    /// Rows of panels.
    pub rows: Vec<Vec<Panel>>,
    /// Width and height in pixels; `None`: as large as the panels need.
    pub size: Option<(u32, u32)>,
}

/// Curves or colours over a pair of axes.
#[derive(Clone, Debug)]
pub enum Panel {
    /// Curves.
    Chart(Chart),
    /// A colour map.
    Map(Map),
}

/// A curve that is this many times smaller than another gets a separate panel, because it would be a flat line.
const TOO_SMALL: f64 = 12.0;
/// Largest number of panels for curves of one kind but different sizes.
const MAX_SIZES: usize = 8;

/// Groups curves by size. Groups and the curves in them stay in the order of the first curves. Curves of one family,
/// such as the components of a vector, stay together.
pub fn by_size<T: Clone>(curves: Vec<(Curve, T)>, family: impl Fn(&T) -> String) -> Vec<Vec<(Curve, T)>> {
    let extent = |(c, _): &(Curve, T)| {
        let finite = c.points.iter().map(|p| p.1).filter(|v| v.is_finite());
        finite.fold(0.0f64, |m, v| m.max(v.abs()))
    };
    let mut families: HashMap<String, f64> = HashMap::new();
    for curve in &curves {
        let size = families.entry(family(&curve.1)).or_default();
        *size = size.max(extent(curve));
    }
    let size = |curve: &(Curve, T)| families[&family(&curve.1)];
    let mut order: Vec<(usize, f64)> = curves.iter().map(size).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut group_of = vec![0; curves.len()];
    let (mut group, mut top) = (0, order.first().map_or(0.0, |o| o.1));
    for (k, size) in order {
        // a curve that is zero throughout fits any group: the last one
        if size > 0.0 && size < top / TOO_SMALL && group + 1 < MAX_SIZES {
            group += 1;
            top = size;
        }
        group_of[k] = group;
    }
    let mut groups: Vec<(usize, Vec<_>)> = vec![(usize::MAX, vec![]); group + 1];
    for (k, (curve, group)) in curves.into_iter().zip(group_of).enumerate() {
        let (first, list) = &mut groups[group];
        *first = k.min(*first);
        list.push(curve);
    }
    groups.sort_by_key(|(first, _)| *first);
    groups.into_iter().map(|(_, list)| list).collect()
}

/// The format for the extension of a file name.
pub fn format_of(path: &Path) -> Option<PictureFormat> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(PictureFormat::Svg),
        "png" => Some(PictureFormat::Png),
        _ => None,
    }
}
