//! Arrays in a plot: colour maps over time and index or over two indices, and curves over an index at given times.

use std::collections::BTreeSet;

use odec_ir::names::{element, plain};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Symbol;
use odec_sim::Simulation;
use odec_sim::blame::number;
use odec_sim::columns::Columns;
use odec_sim::reference::Row;

use super::choose::wrong;
use super::label;
use crate::picture::{Cells, Chart, Curve, MAX_CELLS, Map, extent};

/// Largest number of points of a curve over an index.
const MAX_POINTS: usize = 2000;
/// Up to this ratio, the sides of a map are proportional to their numbers of indices.
const MAX_MAP_RATIO: f64 = 5.0;

/// An index along which drawn elements vary.
#[derive(Clone, Debug)]
struct VaryingIndex {
    name: String,
    /// The index of each drawn element.
    indices: Vec<i64>,
}

/// Elements of one array, thinned to the resolution of a picture.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Columns to keep, row by row.
    pub columns: Vec<usize>,
    along: Vec<VaryingIndex>,
}

impl Part {
    /// From columns that are elements of one array.
    ///
    /// # Errors
    /// Columns of several arrays, or of an array that varies along more than two indices; with `at`, curves are
    /// requested.
    pub fn of(all: &Columns, chosen: &[usize], at: bool) -> Result<Part, Box<Diagnostic>> {
        let many = || {
            let help = "name one array or some of its elements: `u`, `u[1..5]`, `u[*,3]`";
            wrong("these are too many curves for one panel", help)
        };
        let Some((quantity, _)) = chosen.first().and_then(|&k| all.quantity(k)) else { return Err(many()) };
        if quantity.axes.is_empty() {
            let help = "name an array; odec plots other quantities against time";
            return Err(wrong("`--at` plots an array against its index", help));
        }
        let mut sets: Vec<BTreeSet<i64>> = vec![BTreeSet::new(); quantity.axes.len()];
        for &k in chosen {
            let (own, element) = all.quantity(k).ok_or_else(many)?;
            if own.name != quantity.name {
                return Err(many());
            }
            for (set, i) in sets.iter_mut().zip(quantity.indices(element)) {
                set.insert(i);
            }
        }
        let varying: Vec<usize> = (0..sets.len()).filter(|&k| sets[k].len() > 1).collect();
        let most = match (varying.len(), at) {
            (0 | 1, true) => vec![MAX_POINTS],
            (0 | 1, false) => vec![MAX_CELLS.1],
            (2, _) => vec![MAX_CELLS.0, MAX_CELLS.1],
            _ => {
                let help = "fix all indices but two: `u[*,*,3]`";
                return Err(wrong("a picture has two axes, but these elements vary along more indices", help));
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
            all.quantity(k).is_some_and(|(own, element)| {
                own.indices(element).iter().zip(&kept).all(|(i, kept)| kept.binary_search(i).is_ok())
            })
        });
        let columns = columns.collect();
        let shown = if varying.is_empty() { &[0][..] } else { &varying };
        let along = |&k: &usize| VaryingIndex { name: quantity.axes[k].name.clone(), indices: kept[k].clone() };
        let place = |k: usize| if shown.contains(&k) { "*".to_string() } else { kept[k][0].to_string() };
        let places: Vec<String> = (0..kept.len()).map(place).collect();
        let whole = places.iter().all(|p| p == "*");
        let name = if whole { plain(&quantity.name) } else { element(&quantity.name, &places) };
        Ok(Part { name, columns, along: shown.iter().map(along).collect() })
    }

    /// A warning for each index whose coordinates a picture cannot show.
    pub fn warnings(&self, simulation: &Simulation) -> Vec<Diagnostic> {
        self.along.iter().filter_map(|along| along.warning(simulation)).collect()
    }

    /// True if a logarithmic axis cannot show all places along the first index.
    pub fn reaches_zero(&self, simulation: &Simulation) -> bool {
        self.along[0].places(simulation).iter().any(|x| *x <= 0.0)
    }

    /// The label of the axis of the first index.
    pub fn axis_label(&self, simulation: &Simulation) -> String {
        self.along[0].label(simulation)
    }

    /// True for a colour map over two indices.
    pub fn is_plane(&self) -> bool {
        self.along.len() == 2
    }

    /// A colour map over time and index: one row in the middle of each time cell; `times` gives the edges.
    pub fn over_time(&self, simulation: &Simulation, rows: &[Row], times: Cells) -> Map {
        let values: Vec<f64> = (0..self.columns.len()).flat_map(|e| rows.iter().map(move |(_, row)| row[e])).collect();
        Map {
            extent: extent(values.iter().copied()),
            heading: String::new(),
            label: self.label(simulation),
            x: times,
            y: self.along[0].cells(simulation),
            values,
            equal: false,
        }
    }

    /// Colour maps over two indices, one for each row. They share one scale of colours, so that they can be compared.
    pub fn over_planes(&self, simulation: &Simulation, rows: &[Row]) -> Vec<Map> {
        let shared = extent(rows.iter().flat_map(|(_, row)| row.iter().copied()));
        rows.iter().map(|row| self.over_plane(simulation, row, shared)).collect()
    }

    fn over_plane(&self, simulation: &Simulation, (t, row): &Row, extent: [f64; 2]) -> Map {
        let (across, up) = (self.along[0].cells(simulation), self.along[1].cells(simulation));
        let (columns, rows) = (self.along[0].indices.len(), self.along[1].indices.len());
        let value = |r: usize, c: usize| row.get(c * rows + r).copied().unwrap_or(f64::NAN);
        let values = (0..rows).flat_map(|r| (0..columns).map(move |c| value(r, c))).collect();
        let length = |cells: &Cells| cells.edges.last().zip(cells.edges.first()).map_or(1.0, |(a, b)| (a - b).abs());
        let ratio = length(&across) / length(&up);
        let same = self.along[0].unit(simulation) == self.along[1].unit(simulation);
        Map {
            heading: at_time(simulation, *t),
            label: self.label(simulation),
            x: across,
            y: up,
            values,
            extent,
            equal: same && (1.0 / MAX_MAP_RATIO..MAX_MAP_RATIO).contains(&ratio),
        }
    }

    /// Curves over the index, one for each row; `first` is the number of the first curve, which determines the colours.
    pub fn profiles(&self, simulation: &Simulation, rows: &[Row], first: usize, log: (bool, bool)) -> Chart {
        let along = &self.along[0];
        let places = along.places(simulation);
        let curves = rows.iter().map(|(t, row)| Curve {
            name: at_time(simulation, *t),
            points: places.iter().copied().zip(row.iter().copied()).collect(),
            advancing: places.is_sorted(),
        });
        Chart {
            span_x: Vec::new(),
            x_label: along.label(simulation),
            y_label: self.label(simulation),
            curves: curves.collect(),
            first,
            log_x: log.0,
            log_y: log.1,
            equal: None,
        }
    }

    fn label(&self, simulation: &Simulation) -> String {
        let unit = self.columns.first().and_then(|&k| label::unit_in_header(simulation, k));
        label::with_unit(&self.name, unit)
    }
}

/// Coordinates of the indices from an `axis` statement.
struct Coordinates {
    name: String,
    unit: Option<String>,
    places: Vec<f64>,
}

impl VaryingIndex {
    /// A warning if the model gives coordinates that the picture does not show.
    fn warning(&self, simulation: &Simulation) -> Option<Diagnostic> {
        let model = simulation.model();
        let (array, list) = model.coordinates(&self.name, &simulation.bound().values)?;
        if self.coordinates(simulation).is_some() {
            return None;
        }
        let axis = model.axes.iter().find(|axis| axis.array == array)?;
        let pairs = list.windows(2);
        let (first, name) = (list.first()?, &self.name);
        let up = list.get(1).is_some_and(|second| second.1 > first.1);
        let turn = pairs.map(|p| (p[0], p[1])).find(|(a, b)| if up { !(b.1 > a.1) } else { !(b.1 < a.1) });
        let place = |(i, x): (i64, f64)| format!("{} at {name} = {i}", number(x));
        let what = match turn {
            Some((a, b)) => format!("it goes from {} to {}", place(a), place(b)),
            None => format!("it is {}", list.iter().find(|p| !p.1.is_finite()).map_or(place(*first), |p| place(*p))),
        };
        let headline = format!("the axis of `{name}` is not monotonic: the picture shows `{name}` itself");
        let d = Diagnostic::warning(&codes::W0610, headline).label(axis.span, what);
        Some(d.help("give coordinates that increase from each point to the next, or remove `axis`"))
    }

    /// The coordinates of the index, if the model gives monotonic ones.
    fn coordinates(&self, simulation: &Simulation) -> Option<Coordinates> {
        let model = simulation.model();
        let (array, list) = model.coordinates(&self.name, &simulation.bound().values)?;
        let (name, unit) = match array {
            Symbol::Parameter(k) => (&model.parameters[k].name, &model.parameters[k].unit),
            Symbol::Constant(k) => (&model.constants[k].name, &model.constants[k].unit),
            Symbol::Definition(k) => (&model.definitions[k].name, &model.definitions[k].unit),
            _ => return None,
        };
        let place = |i: &i64| list.binary_search_by_key(i, |p| p.0).ok().map(|k| list[k].1);
        let places: Vec<f64> = self.indices.iter().map(place).collect::<Option<_>>()?;
        let up = places.is_sorted_by(|a, b| a < b);
        let down = places.is_sorted_by(|a, b| a > b);
        let finite = places.iter().all(|p| p.is_finite());
        // as written, or as derived from the equations
        let unit = unit.clone().or_else(|| model.units.text_of(name, &model.time.name));
        (finite && (up || down)).then(|| Coordinates { name: name.clone(), unit, places })
    }

    /// The label of the axis.
    fn label(&self, simulation: &Simulation) -> String {
        let coordinates = self.coordinates(simulation);
        coordinates.map_or(self.name.clone(), |c| label::with_unit(&c.name, c.unit))
    }

    fn unit(&self, simulation: &Simulation) -> Option<String> {
        self.coordinates(simulation).and_then(|c| c.unit)
    }

    /// The positions of the indices.
    fn places(&self, simulation: &Simulation) -> Vec<f64> {
        let coordinates = self.coordinates(simulation).map(|c| c.places);
        coordinates.unwrap_or_else(|| self.indices.iter().map(|i| *i as f64).collect())
    }

    /// A cell around each position, up to the midpoints between neighbours.
    fn cells(&self, simulation: &Simulation) -> Cells {
        let places = self.places(simulation);
        let mut edges: Vec<f64> = places.windows(2).map(|p| 0.5 * (p[0] + p[1])).collect();
        // at the ends, half the distance of two neighbouring indices, even if the next ones are not drawn
        let half = |a: usize, b: usize| match self.indices.get(b) {
            Some(i) => 0.5 * (places[a] - places[b]) / (self.indices[a] - i).abs() as f64,
            None => 0.5,
        };
        if let (Some(first), Some(last)) = (places.first(), places.last()) {
            edges.insert(0, first + if places.len() > 1 { half(0, 1) } else { -0.5 });
            let end = places.len() - 1;
            edges.push(last + if places.len() > 1 { half(end, end - 1) } else { 0.5 });
        }
        Cells { label: self.label(simulation), edges, log: false }
    }
}

/// At most `most` evenly chosen indices, including the ends.
fn thin(indices: &[i64], most: usize) -> Vec<i64> {
    if indices.len() <= most || most < 2 {
        return indices.to_vec();
    }
    let last = indices.len() - 1;
    let mut kept: Vec<i64> = (0..most).map(|k| indices[(k * last + (most - 1) / 2) / (most - 1)]).collect();
    kept.dedup();
    kept
}

/// `t = 60 h`
fn at_time(simulation: &Simulation, t: f64) -> String {
    let unit = super::label::unit_in_header(simulation, 0).map(|unit| format!(" {unit}")).unwrap_or_default();
    format!("{} = {}{unit}", simulation.model().time.name, number(t))
}
