//! Translates the selection of a plot into a request for a run, and the run into panels.

use odec_ode::problem::Samples;
use odec_sim::Simulation;
use odec_sim::reference::Row;
use odec_sim::samples::DEFAULT_SAMPLES;
use odec_sim::trace::{AxisQuantities, Scale, TimedRows, Traced, first_sample};

use super::choose::{Choice, Group, Item, MAX_CURVES};
use super::label;
use super::part::Part;
use super::poles::{axis_ends, clipped};
use crate::picture::{Cells, Chart, Curve, MAX_CELLS, Panel, STYLES, WIDTH, by_size, extent, height_of};

/// Start of a logarithmic time axis, as a fraction of its end, if neither logarithmic samples nor a list of times
/// determine it. Evenly spaced samples say nothing about the first, fast motion that such an axis is to show.
const FIRST: f64 = 1e-5;

/// A run that reaches less than this part of its time span ended early.
const EARLY: f64 = 0.9;

/// The data that the run must provide.
pub struct PanelPlan {
    /// The curves of all items, in order.
    pub curves: Vec<AxisQuantities>,
    /// The grids of all other items.
    pub grids: Vec<TimedRows>,
    /// Edges of the time cells in maps.
    edges: Vec<f64>,
    log: (bool, bool),
    /// True if the user requested a logarithmic horizontal axis: it also applies to phase planes and profiles.
    asked: bool,
    /// Columns that keep their value and are left out.
    constant: Vec<usize>,
}

/// The time axis: its ends, and true if it is logarithmic.
fn time_axis(simulation: &Simulation, log: bool) -> (std::ops::Range<f64>, bool) {
    let bound = simulation.bound();
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    if !log || t_end <= 0.0 || t0 > t_end {
        return (t0..t_end, false);
    }
    if t0 > 0.0 {
        return (t0..t_end, true);
    }
    let listed = || first_sample(bound).filter(|_| matches!(bound.samples, Samples::Times(_)));
    let first = bound.logarithmic.or_else(listed).filter(|t| *t > 0.0);
    (first.unwrap_or(FIRST * t_end)..t_end, true)
}

impl PanelPlan {
    /// The plan for these items, with or without logarithmic axes.
    pub fn of(
        simulation: &Simulation,
        choice: &Choice,
        log: (bool, bool),
        asked: bool,
        size: Option<(u32, u32)>,
    ) -> PanelPlan {
        let (ends, log_time) = time_axis(simulation, log.0);
        let wide = size.map_or(f64::from(WIDTH), |s| f64::from(s.0));
        let high = size.map_or(f64::from(height_of(1)), |s| f64::from(s.1));
        let (mut curves, mut grids) = (vec![], vec![]);
        let edges = edges(&ends, log_time);
        for item in &choice.items {
            let times = || choice.times.clone().unwrap_or_else(|| vec![simulation.bound().problem.t_end]);
            match item {
                Item::Curves(group) => curves.extend(group.pairs.iter().map(|&columns| {
                    let x = match columns.0 {
                        0 => Scale { pixels: wide, log: log_time, ends: Some(ends.clone()) },
                        _ => Scale { pixels: wide, log: asked && log.0, ends: None },
                    };
                    AxisQuantities { columns, scales: (x, Scale { pixels: high, log: log.1, ends: None }) }
                })),
                Item::OverTime(part) => {
                    let times = middles(&edges, log_time);
                    grids.push(TimedRows { columns: part.columns.clone(), times, edges: edges.clone() });
                }
                Item::Plane(part) | Item::Profiles(part) => {
                    grids.push(TimedRows { columns: part.columns.clone(), times: times(), edges: vec![] });
                }
            }
        }
        PanelPlan { curves, grids, edges, log: (log_time, log.1), asked: asked && log.0, constant: Vec::new() }
    }

    /// Leaves out the outputs over time that keep their value, such as the parameters of an imported model; returns
    /// their names. States are always drawn.
    pub fn leave_out_constants(&mut self, simulation: &Simulation, traced: &Traced) -> Vec<String> {
        let (columns, states) = (&simulation.bound().columns, simulation.bound().states.list());
        let is_output = |y: usize| {
            columns.quantity(y).is_some_and(|(quantity, _)| states.iter().all(|state| state.name != quantity.name))
        };
        let keeps = |points: &[(f64, f64)]| points.len() > 1 && points.iter().all(|point| point.1 == points[0].1);
        let curves = self.curves.iter().zip(&traced.curves);
        let found =
            curves.filter(|(curve, points)| curve.columns.0 == 0 && keeps(points) && is_output(curve.columns.1));
        let found: Vec<usize> = found.map(|(curve, _)| curve.columns.1).collect();
        if found.len() == self.curves.len() && self.grids.is_empty() {
            return Vec::new();
        }
        self.constant = found;
        self.constant.iter().map(|y| columns.name(*y)).collect()
    }

    /// Ends the axes of curves with poles at their usual values. True if there are such curves: they need another run,
    /// because their points were chosen for another axis.
    pub fn end_at_poles(&mut self, _: &Simulation, traced: &Traced) -> bool {
        let curves = self.curves.iter_mut().zip(&traced.curves).zip(&traced.unbounded);
        let mut found = false;
        for ((curve, points), _) in curves.filter(|(_, unbounded)| **unbounded) {
            if curve.columns.0 == 0 && !curve.scales.1.log {
                curve.scales.1.ends = axis_ends(points);
                found |= curve.scales.1.ends.is_some();
            }
        }
        found
    }

    /// Ends the time axis where the run ended, if an event or a failure ended it well before its time. True if it did:
    /// the points were chosen for a longer axis.
    pub fn end_early(&mut self, simulation: &Simulation, traced: &Traced) -> bool {
        let (t0, t_end) = (simulation.bound().problem.t0, simulation.bound().problem.t_end);
        let (from, reached) = (self.edges[0], traced.reached);
        let part = (reached - t0) / (t_end - t0);
        if !(part > 0.0 && part < EARLY) || (reached - from) * (t_end - t0) <= 0.0 {
            return false;
        }
        self.edges = edges(&(from..reached), self.log.0);
        for curve in self.curves.iter_mut().filter(|curve| curve.columns.0 == 0) {
            curve.scales.0.ends = Some(from..reached);
        }
        for grid in self.grids.iter_mut().filter(|grid| !grid.edges.is_empty()) {
            (grid.times, grid.edges) = (middles(&self.edges, self.log.0), self.edges.clone());
        }
        true
    }

    /// What the picture does not show of its curves.
    pub fn notes(&self, simulation: &Simulation, traced: &Traced) -> Vec<String> {
        let names = |which: &dyn Fn(usize) -> bool| -> Option<String> {
            let list = self.curves.iter().enumerate().filter(|(k, _)| which(*k));
            let list: Vec<String> =
                list.map(|(_, curve)| format!("`{}`", simulation.bound().columns.name(curve.columns.1))).collect();
            (!list.is_empty()).then(|| list.join(", "))
        };
        let mut notes = vec![];
        if let Some(names) = names(&|k| traced.too_fast[k] && self.curves[k].scales.1.ends.is_none()) {
            notes.push(format!(
                "{names}: varies too fast for this picture, which may lack extrema; plot a shorter time: `--t 0..1`\n"
            ));
        }
        if let Some(names) = names(&|k| self.curves[k].scales.1.ends.is_some()) {
            notes.push(format!("{names}: the axis ends at a few times the usual values, because of poles\n"));
        }
        let shown = |k: usize| traced.curves[k].iter().any(|p| p.1 > 0.0);
        if let Some(names) = names(&|k| self.curves[k].scales.1.log && !shown(k)) {
            notes.push(format!("{names}: no line, because a logarithmic axis shows positive values only\n"));
        }
        let negative = |k: usize| traced.curves[k].iter().any(|p| p.1 < 0.0);
        if let Some(names) = names(&|k| self.curves[k].scales.1.log && shown(k) && negative(k)) {
            notes.push(format!("{names}: negative values are not drawn, because the axis is logarithmic\n"));
        }
        notes
    }

    /// The panels, row by row: items over time in separate rows, items over two indices side by side.
    pub fn rows(&self, simulation: &Simulation, choice: &Choice, traced: Traced) -> Vec<Vec<Panel>> {
        let Traced { curves, rows, reached, .. } = traced;
        let drawn = curves.into_iter().zip(&self.curves).map(|(points, curve)| match &curve.scales.1.ends {
            Some(ends) => clipped(&points, ends),
            None => points,
        });
        let (mut curves, mut grids) = (drawn, rows.into_iter());
        let (mut wide, mut shaped) = (vec![], vec![]);
        for item in &choice.items {
            match item {
                Item::Curves(group) => {
                    let points: Vec<_> = curves.by_ref().take(group.pairs.len()).collect();
                    let both = group.pairs.iter().copied().zip(points);
                    let drawn = both.filter(|((_, y), _)| !self.constant.contains(y));
                    let (pairs, points): (Vec<_>, Vec<_>) = drawn.unzip();
                    if pairs.is_empty() {
                        continue;
                    }
                    let group = Group { pairs, ..group.clone() };
                    wide.extend(self.charts(simulation, &group, points).into_iter().map(Panel::Chart));
                }
                Item::OverTime(part) => {
                    let rows = grids.next().unwrap_or_default();
                    wide.push(Panel::Map(self.over_time(simulation, part, &rows, reached)));
                }
                Item::Plane(part) => {
                    let rows = grids.next().unwrap_or_default();
                    shaped.extend(part.over_planes(simulation, &rows).into_iter().map(Panel::Map));
                }
                Item::Profiles(part) => {
                    let rows = grids.next().unwrap_or_default();
                    wide.push(Panel::Chart(part.profiles(simulation, &rows, 0, (self.asked, self.log.1))));
                }
            }
        }
        share_times(&mut wide);
        let mut wide = numbered(wide);
        let mut list = vec![];
        let across = match shaped.len() {
            0..=3 => shaped.len().max(1),
            4 => 2,
            5 | 6 => 3,
            _ => 4,
        };
        while !shaped.is_empty() {
            let mut row: Vec<Panel> = shaped.drain(..across.min(shaped.len())).collect();
            // place curves next to a single plane, to leave no gap
            if row.len() < across.max(2) && !wide.is_empty() {
                row.push(wide.remove(0));
            }
            list.push(row);
        }
        list.extend(wide.into_iter().map(|panel| vec![panel]));
        list
    }

    /// Charts of the curves of one group: one panel, or several by size and number.
    fn charts(&self, simulation: &Simulation, group: &Group, points: Vec<Vec<(f64, f64)>>) -> Vec<Chart> {
        let names = &simulation.bound().columns;
        let over_time = group.pairs.iter().all(|p| p.0 == 0);
        let alike = group.pairs.iter().all(|p| p.0 == group.pairs[0].0);
        let name = |&(x, y): &(usize, usize)| if alike { names.name(y) } else { orbit(&names.name(x), &names.name(y)) };
        let mut curves: Vec<(Curve, (usize, usize))> = vec![];
        for (pair, points) in group.pairs.iter().zip(points) {
            let points =
                points.into_iter().filter(|p| p.0.is_finite() && !(self.log.0 && over_time && p.0 < self.edges[0]));
            let mut points: Vec<(f64, f64)> = points.collect();
            if over_time && self.log == (false, true) {
                without_rise(&mut points, simulation);
            }
            curves.push((Curve { name: name(pair), points, advancing: over_time }, *pair));
        }
        // components of a vector are compared with one another
        let family = |(_, y): &(usize, usize)| match names.quantity(*y) {
            Some((quantity, _)) if quantity.name.contains('.') => quantity.stem().to_string(),
            _ => names.name(*y),
        };
        let panels = if self.log.1 || !over_time || group.array { vec![curves] } else { by_size(curves, family) };
        let panels =
            panels.into_iter().flat_map(|panel| panel.chunks(MAX_CURVES).map(<[_]>::to_vec).collect::<Vec<_>>());
        panels
            .map(|panel| {
                let (curves, pairs): (Vec<Curve>, Vec<(usize, usize)>) = panel.into_iter().unzip();
                let few = if over_time { 0 } else { 3 };
                let (xs, ys): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
                let times = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0));
                Chart {
                    span_x: if over_time { extent(times).to_vec() } else { Vec::new() },
                    x_label: label::axis(simulation, &xs, few),
                    y_label: label::axis(simulation, &ys, few),
                    curves,
                    first: 0,
                    log_x: if over_time { self.log.0 } else { self.asked },
                    log_y: self.log.1,
                    equal: group.equal,
                }
            })
            .collect()
    }

    /// A map of the time span that the run reached.
    fn over_time(&self, simulation: &Simulation, part: &Part, rows: &[Row], reached: f64) -> crate::picture::Map {
        let mut edges = self.edges[..=rows.len().min(self.edges.len() - 1)].to_vec();
        if let Some(last) = edges.last_mut() {
            *last = reached;
        }
        let times = Cells { label: label::axis(simulation, &[0], 0), edges, log: self.log.0 };
        part.over_time(simulation, rows, times)
    }
}

/// Removes the rise of a curve from 0 or below, which would fill a logarithmic axis with its first instants: the curve
/// begins at the first row of a run with the usual number of rows.
fn without_rise(points: &mut Vec<(f64, f64)>, simulation: &Simulation) {
    let problem = &simulation.bound().problem;
    let lead = (problem.t_end - problem.t0).abs() / DEFAULT_SAMPLES as f64;
    // events at the start may lift it, as a dose does
    let first = points.iter().take_while(|point| point.0 == problem.t0).last();
    if first.is_some_and(|first| first.1 <= 0.0) {
        points.retain(|point| (point.0 - problem.t0).abs() >= lead);
    }
}

/// Gives all panels over time the same ends of the time axis, which only the lowest one labels.
fn share_times(panels: &mut [Panel]) {
    let mut times: Vec<f64> = Vec::new();
    for panel in panels.iter() {
        match panel {
            Panel::Chart(chart) => times.extend(&chart.span_x),
            Panel::Map(map) => times.extend(&map.x.edges),
        }
    }
    let ends = extent(times.into_iter());
    for panel in panels.iter_mut() {
        match panel {
            Panel::Chart(chart) if !chart.span_x.is_empty() => chart.span_x = ends.to_vec(),
            _ => {}
        }
    }
}

/// The name of a curve of two quantities: `p[1]` for two components of one vector.
fn orbit(x: &str, y: &str) -> String {
    match (x.rsplit_once('.'), y.rsplit_once('.')) {
        (Some((a, _)), Some((b, _))) if a == b => a.to_string(),
        _ => format!("{x} : {y}"),
    }
}

/// Edges of the time cells of a map.
fn edges(ends: &std::ops::Range<f64>, log: bool) -> Vec<f64> {
    let (a, b, n) = (ends.start, ends.end, MAX_CELLS.0);
    (0..=n).map(|k| between(a, b, k as f64 / n as f64, log)).collect()
}

/// The time of each cell: its middle, but the start for the first one, so that the map and its colours contain the
/// initial values.
fn middles(edges: &[f64], log: bool) -> Vec<f64> {
    edges.windows(2).enumerate().map(|(k, e)| if k == 0 { e[0] } else { between(e[0], e[1], 0.5, log) }).collect()
}

fn between(a: f64, b: f64, s: f64, log: bool) -> f64 {
    match s {
        0.0 => a,
        1.0 => b,
        _ if log => a * (b / a).powf(s),
        _ => a + s * (b - a),
    }
}

/// Gives curves of different panels different colours, as far as there are enough.
fn numbered(mut panels: Vec<Panel>) -> Vec<Panel> {
    let count = |panel: &Panel| match panel {
        Panel::Chart(chart) => chart.curves.len(),
        Panel::Map(_) => 0,
    };
    if panels.iter().map(count).sum::<usize>() > STYLES {
        return panels;
    }
    let mut next = 0;
    for panel in &mut panels {
        if let Panel::Chart(chart) = panel {
            chart.first = next;
            next += chart.curves.len();
        }
    }
    panels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_over_time_have_the_same_ends() {
        let chart = |span_x: &[f64]| {
            Panel::Chart(Chart {
                x_label: "t".to_owned(),
                y_label: "A".to_owned(),
                curves: Vec::new(),
                first: 0,
                span_x: span_x.to_vec(),
                log_x: false,
                log_y: true,
                equal: None,
            })
        };
        // a curve from 0 begins later on a logarithmic axis; profiles are not over time
        let mut panels = [chart(&[0.36, 72.0]), chart(&[0.0, 72.0]), chart(&[])];
        share_times(&mut panels);
        let spans = panels.iter().map(|panel| match panel {
            Panel::Chart(chart) => chart.span_x.clone(),
            Panel::Map(_) => Vec::new(),
        });
        assert_eq!(spans.collect::<Vec<_>>(), [vec![0.0, 72.0], vec![0.0, 72.0], vec![]]);
    }

    #[test]
    fn a_map_begins_with_the_initial_values() {
        assert_eq!(middles(&[0.0, 2.0, 4.0], false), [0.0, 3.0]);
    }
}
