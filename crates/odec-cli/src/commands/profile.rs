//! Pictures of arrays: colours over time and index or over two indices, and curves over an index at some times.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::Simulation;
use odec_sim::columns::Columns;
use odec_sim::sample::Keep;

use super::plot::label;
use crate::input::error;
use crate::picture::{Curve, MAX_CELLS, Map, Picture, Range};

/// More curves than this are no picture.
pub const MAX_CURVES: usize = 24;
/// Most points of a curve over an index.
const MAX_POINTS: usize = 2000;
/// The longer side is drawn as long as its number of indices says up to this ratio.
const SLIM: f64 = 5.0;

/// An index that varies among the elements that are drawn.
#[derive(Clone, Debug)]
struct Along {
    name: String,
    /// Index of each place that is drawn.
    indices: Vec<i64>,
    /// Ends before thinning.
    low: i64,
    high: i64,
}

/// Elements of one array, thinned to what a picture can show.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called.
    name: String,
    /// Columns to keep, row by row.
    pub columns: Vec<usize>,
    along: Vec<Along>,
}

impl Part {
    /// From columns that are elements of one array.
    ///
    /// # Errors
    /// Columns of several arrays, or of an array that varies along more than two indices; `at` says that curves are wanted.
    pub fn of(all: &Columns, chosen: &[usize], at: bool) -> Result<Part, Box<Diagnostic>> {
        let wrong =
            |headline: &str, help: &str| Box::new(error(&codes::E0715, headline.to_string(), Some(help.to_string())));
        let many = || {
            wrong(
                "these are too many curves for one picture",
                "name one array, or some of its elements: `u`, `u[1..5]`, `u[*,3]`",
            )
        };
        let Some((series, _)) = chosen.first().and_then(|&k| all.series(k)) else { return Err(many()) };
        if series.axes.is_empty() {
            let help = "name an array; others are drawn against time";
            return Err(wrong("`--at` draws an array against its index at some times", help));
        }
        let mut sets: Vec<std::collections::BTreeSet<i64>> = vec![Default::default(); series.axes.len()];
        for &k in chosen {
            let (own, element) = all.series(k).ok_or_else(many)?;
            if own.name != series.name {
                return Err(many());
            }
            for (set, i) in sets.iter_mut().zip(series.indices(element)) {
                set.insert(i);
            }
        }
        let varying: Vec<usize> = (0..sets.len()).filter(|&k| sets[k].len() > 1).collect();
        let most = match (varying.len(), at) {
            (0 | 1, true) => vec![MAX_POINTS],
            (0 | 1, false) => vec![MAX_CELLS.1],
            (2, _) => vec![MAX_CELLS.0, MAX_CELLS.1],
            _ => {
                let help = "hold all but two: `u[*,*,3]`";
                return Err(wrong("a picture has two axes, and these elements vary along more indices", help));
            }
        };
        let kept: Vec<Vec<i64>> = (0..sets.len())
            .map(|k| {
                let indices: Vec<i64> = sets[k].iter().copied().collect();
                let limit = varying.iter().position(|&v| v == k).map_or(1, |rank| most[rank]);
                thin(&indices, limit)
            })
            .collect();
        let columns = chosen.iter().copied().filter(|&k| {
            all.series(k).is_some_and(|(own, element)| {
                own.indices(element).iter().zip(&kept).all(|(i, kept)| kept.binary_search(i).is_ok())
            })
        });
        let columns = columns.collect();
        let mut along: Vec<Along> = varying
            .iter()
            .map(|&k| {
                let ends = (sets[k].first().copied().unwrap_or(0), sets[k].last().copied().unwrap_or(0));
                Along { name: series.axes[k].name.clone(), indices: kept[k].clone(), low: ends.0, high: ends.1 }
            })
            .collect();
        if along.is_empty() {
            along.push(Along {
                name: series.axes[0].name.clone(),
                indices: kept[0].clone(),
                low: kept[0][0],
                high: kept[0][0],
            });
        }
        Ok(Part { name: series.name.clone(), columns, along })
    }

    /// True if colours are over two indices, at one time.
    pub fn is_plane(&self) -> bool {
        self.along.len() == 2
    }

    /// Colours over time and index. Rows begin with the time.
    pub fn over_time(&self, simulation: &Simulation, keep: &Keep, size: (u32, u32)) -> Map {
        let rows: Vec<&[f64]> = keep.rows().collect();
        let log = simulation.bound().logarithmic.is_some();
        let place = |t: f64| if log { (t - simulation.bound().problem.t0).abs().log10() } else { t };
        let shown: Vec<(f64, &[f64])> = rows.iter().map(|r| (place(r[0]), *r)).filter(|(p, _)| p.is_finite()).collect();
        let (low, high) = match (shown.first(), shown.last()) {
            (Some((a, _)), Some((b, _))) => (a.min(*b), a.max(*b)),
            _ => (0.0, 1.0),
        };
        let columns = shown.len().clamp(1, MAX_CELLS.0);
        let width = (high - low) / columns as f64;
        // of each column of cells the row next to its middle
        let nearest: Vec<Option<&[f64]>> = (0..columns)
            .map(|c| {
                let middle = low + (c as f64 + 0.5) * width;
                let best = shown.iter().min_by(|a, b| (a.0 - middle).abs().total_cmp(&(b.0 - middle).abs()));
                best.map(|(_, row)| *row)
            })
            .collect();
        let values = (0..self.columns.len())
            .flat_map(|e| nearest.iter().map(move |row| row.map_or(f64::NAN, |row| row[e + 1])))
            .collect();
        let along = &self.along[0];
        let t = |p: f64| if log { 10f64.powf(p) } else { p };
        Map {
            title: simulation.model().name.clone(),
            x_label: label(simulation, 0),
            y_label: along.name.clone(),
            label: self.label(simulation),
            x: Range { low: t(low), high: t(high), log },
            y: Range { low: along.low as f64 - 0.5, high: along.high as f64 + 0.5, log: false },
            columns,
            values,
            equal: false,
            size,
        }
    }

    /// Colours over two indices, of the last row.
    pub fn over_plane(&self, simulation: &Simulation, keep: &Keep, size: (u32, u32)) -> Map {
        let (across, up) = (&self.along[0], &self.along[1]);
        let (columns, rows) = (across.indices.len(), up.indices.len());
        let row = keep.rows().last().unwrap_or(&[]);
        let value = |r: usize, c: usize| row.get(1 + c * rows + r).copied().unwrap_or(f64::NAN);
        let values = (0..rows).flat_map(|r| (0..columns).map(move |c| value(r, c))).collect();
        let range = |a: &Along| Range { low: a.low as f64 - 0.5, high: a.high as f64 + 0.5, log: false };
        let ratio = (across.high - across.low + 1) as f64 / (up.high - up.low + 1) as f64;
        let time = &simulation.model().time.name;
        let when = row.first().map_or(String::new(), |t| format!(", {time} = {}", odec_sim::blame::number(*t)));
        Map {
            title: format!("{}{when}", simulation.model().name),
            x_label: across.name.clone(),
            y_label: up.name.clone(),
            label: self.label(simulation),
            x: range(across),
            y: range(up),
            columns,
            values,
            equal: (1.0 / SLIM..SLIM).contains(&ratio),
            size,
        }
    }

    /// Curves over the index, one for each row.
    pub fn profiles(&self, simulation: &Simulation, keep: &Keep, size: (u32, u32), log_y: bool) -> Picture {
        let along = &self.along[0];
        let time = &simulation.model().time.name;
        let curves = keep.rows().map(|row| Curve {
            name: format!("{time} = {}", odec_sim::blame::number(row[0])),
            points: along.indices.iter().zip(&row[1..]).map(|(i, v)| (*i as f64, *v)).collect(),
        });
        Picture {
            title: simulation.model().name.clone(),
            x_label: along.name.clone(),
            y_label: self.label(simulation),
            panels: vec![curves.collect()],
            log_x: false,
            log_y,
            size,
        }
    }

    fn label(&self, simulation: &Simulation) -> String {
        let unit =
            self.columns.first().and_then(|&k| simulation.bound().columns.series(k)).and_then(|(s, _)| s.unit.clone());
        match unit {
            Some(unit) => format!("{} [{unit}]", self.name),
            None => self.name.clone(),
        }
    }
}

/// At most so many of them, evenly chosen, the ends among them.
fn thin(indices: &[i64], most: usize) -> Vec<i64> {
    if indices.len() <= most || most < 2 {
        return indices.to_vec();
    }
    let last = indices.len() - 1;
    let mut kept: Vec<i64> = (0..most).map(|k| indices[(k * last + (most - 1) / 2) / (most - 1)]).collect();
    kept.dedup();
    kept
}
