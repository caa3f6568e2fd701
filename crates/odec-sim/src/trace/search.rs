//! Extrema of outputs inside a step. Interval arithmetic bounds the outputs over a part of the step. If the bounds lie
//! beyond the range of the known points, the part is divided: down to the width of a pixel everywhere, and further only
//! where the bounds are largest, until the points of this pixel have the extrema. So a pulse is found however short it
//! is, and an oscillation keeps its full height. Points at even distances would repeat the phase of an oscillation, so
//! no part is divided in the middle.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use odec_ir::KernelRole;
use odec_ir::interpret::{Inputs, Interpreter};

use super::evaluable::EvaluableStep;
use super::pen::Pen;
use super::{Points, Tracer};
use crate::columns::Column;
use crate::executor::Executor;
use crate::hybrid::interval::{Interval, bounding};

/// Distance in pixels by which an extremum may lie beyond the points.
const NEAR: f64 = 1.0;
/// Largest number of divisions of a part as wide as a pixel, and the least number for narrower ones.
const DIVISIONS: (f64, f64) = (160.0, 4.0);
/// If a part has no bounds after more divisions than this, or than half of the allowed ones, there may be a pole inside.
const DIVISIONS_AT_POLE: usize = 20;
/// Number of such parts in a row that show nothing new, after which the bounds of a curve are taken to be useless: in a
/// difference of large terms they say little.
const MAX_FUTILE: usize = 16;
/// Relative rounding error of states and times.
const ROUNDED: f64 = 16.0 * f64::EPSILON;
/// Largest number of values in all bounds of a run, which take about a second.
const MAX_VALUES: usize = 50_000_000;
/// Largest number of values in one of them.
const MAX_VALUES_AT_ONCE: usize = 20_000;

/// The state of the search.
pub(super) struct Search {
    /// One for each pen.
    curves: Vec<Searched>,
    /// False if no curve needs a search, or if the outputs have no bounds.
    wanted: bool,
    /// Made in the first step, whose program may have modes.
    interpreter: Option<Interpreter>,
    /// Parameters of the present step.
    p: Vec<Interval>,
    out: Vec<Interval>,
    /// Number of values in the bounds of one part.
    values: usize,
    /// Number of values that may still be computed.
    left: usize,
    /// Number of divisions, which determines where the next one is.
    divisions: usize,
}

/// A curve in the search.
#[derive(Clone)]
struct Searched {
    /// True if an output is its horizontal or its vertical axis.
    outputs: (bool, bool),
    /// Number of parts in a row that showed nothing new.
    futile: usize,
    /// True if a part as wide as a pixel had extrema between its points.
    fast: bool,
    /// True if such a part was left before all extrema were found.
    missed: bool,
    /// True if a part remained without bounds.
    unbounded: bool,
}

impl Searched {
    fn is_active(&self) -> bool {
        (self.outputs.0 || self.outputs.1) && self.futile < MAX_FUTILE
    }
}

/// A point of a step.
struct Sample {
    t: f64,
    y: Vec<f64>,
    /// The rates, if outputs read them.
    w: Vec<f64>,
    /// The quantities of the curves.
    values: Vec<f64>,
}

/// A part of a step: its ends, a point inside, and bounds of both axes of each curve.
struct Part {
    ends: (Rc<Sample>, Rc<Sample>),
    inside: Rc<Sample>,
    bounds: Vec<(Interval, Interval)>,
    /// By how many pixels a curve may lie beyond the points that were known when the part was made.
    beyond: f64,
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        let width = |part: &Part| (part.ends.1.t - part.ends.0.t).abs();
        self.beyond.total_cmp(&other.beyond).then(width(self).total_cmp(&width(other)))
    }
}

/// The range of both axes of a curve.
type Range = [(f64, f64); 2];

const NO_VALUES: Range = [(f64::INFINITY, f64::NEG_INFINITY); 2];

impl Search {
    pub(super) fn of(pens: &[Pen], quantities: &[Column], executor: &Executor) -> Search {
        let is_output = |k: usize| matches!(quantities[k], Column::Output(_));
        let searched = |pen: &Pen| Searched {
            outputs: (!pen.over_time && is_output(pen.at.0), is_output(pen.at.1)),
            futile: 0,
            fast: false,
            missed: false,
            unbounded: false,
        };
        let curves: Vec<Searched> = pens.iter().map(searched).collect();
        let program = executor.program();
        let kernels = program.kernels.iter().filter(|kernel| kernel.role == KernelRole::Outputs);
        let nodes: usize = kernels.map(|kernel| kernel.live().count()).sum();
        let layout = executor.layout();
        let values = nodes.max(layout.outputs_len()) + layout.n + executor.parameters().len();
        let wanted = curves.iter().any(Searched::is_active) && values <= MAX_VALUES_AT_ONCE;
        Search {
            curves,
            wanted,
            interpreter: None,
            p: vec![],
            out: vec![Interval::ALL; layout.outputs_len()],
            values,
            left: MAX_VALUES,
            divisions: 0,
        }
    }

    /// For each curve, true if the search ended before it had all extrema.
    pub(super) fn too_fast(&self) -> Vec<bool> {
        let ended = self.left == 0;
        self.curves.iter().map(|curve| curve.missed || ended && curve.fast && curve.is_active()).collect()
    }

    /// For each curve, true if it has no bounds somewhere.
    pub(super) fn unbounded(&self) -> Vec<bool> {
        self.curves.iter().map(|curve| curve.unbounded).collect()
    }

    /// A position between 0 and 1: not in the middle, and never at the same place twice.
    fn position(&mut self) -> f64 {
        self.divisions += 1;
        let golden = 0.618_033_988_749_894_9;
        0.35 + 0.3 * (self.divisions as f64 * golden).fract()
    }
}

/// Bounds of a smooth function from its values at three points; `s` is the position of the second one.
fn bounds(a: f64, p: f64, b: f64, s: f64) -> Interval {
    let bent = (p - a - s * (b - a)).abs();
    Interval::new(a.min(p).min(b) - bent, a.max(p).max(b) + bent)
}

impl Tracer<'_> {
    /// Adds the points to a step that its outputs need.
    pub(super) fn search(&mut self, step: &mut dyn EvaluableStep, points: &mut Points) {
        if !self.search.wanted || self.search.left == 0 || points.times.len() < 2 {
            return;
        }
        if self.search.interpreter.is_none() {
            self.search.interpreter = bounding(step.executor().program());
            self.search.wanted = self.search.interpreter.is_some();
        }
        self.search.p = step.executor().parameters().iter().map(|p| Interval { low: *p, high: *p }).collect();
        let known: Vec<Rc<Sample>> = points.times.iter().map(|t| Rc::new(self.sample(step, *t))).collect();
        self.rounding(step, &known[known.len() - 1]);
        let mut found: Vec<Rc<Sample>> = known.clone();
        let mut wide: Vec<Part> = vec![];
        for ends in known.windows(2) {
            wide.extend(self.part(step, &ends[0], &ends[1]));
        }
        while let Some(part) = wide.pop() {
            let mut range = self.range(&[&part.ends.0, &part.ends.1]);
            let new = self.extend(&mut range, &part.inside);
            if self.beyond(&part.bounds, &range).0 <= NEAR || self.search.left == 0 {
                if new.contains(&true) {
                    found.push(part.inside);
                }
                continue;
            }
            let pixels = self.pixels(part.ends.0.t, part.ends.1.t);
            if pixels <= 1.0 {
                self.pixel(step, part, range, pixels, &mut found);
                continue;
            }
            wide.extend(self.part(step, &part.ends.0, &part.inside));
            wide.extend(self.part(step, &part.inside, &part.ends.1));
            found.push(part.inside);
        }
        if found.len() > known.len() {
            let order = if points.times[0] < points.times[points.times.len() - 1] { 1.0 } else { -1.0 };
            found.sort_by(|a, b| (order * a.t).total_cmp(&(order * b.t)));
            found.dedup_by(|a, b| a.t == b.t);
            points.times = found.iter().map(|sample| sample.t).collect();
            points.values = found.iter().flat_map(|sample| sample.values.iter().copied()).collect();
        }
    }

    /// Looks for the extrema in a part that is at most as wide as a pixel, the largest possible ones first.
    fn pixel(
        &mut self,
        step: &mut dyn EvaluableStep,
        part: Part,
        mut range: Vec<Range>,
        pixels: f64,
        found: &mut Vec<Rc<Sample>>,
    ) {
        let most = (DIVISIONS.0 * pixels).max(DIVISIONS.1) as usize;
        let (mut divisions, mut latest) = (0, vec![None; range.len()]);
        found.push(part.inside.clone());
        let mut parts = BinaryHeap::from([part]);
        while let Some(part) = parts.pop() {
            if self.beyond(&part.bounds, &range).0 <= NEAR {
                continue;
            }
            if divisions == most || self.search.left == 0 {
                parts.push(part);
                break;
            }
            divisions += 1;
            if divisions > DIVISIONS_AT_POLE.min(most / 2) {
                let beyond = self.beyond(&part.bounds, &range).1;
                let curves = self.search.curves.iter_mut().zip(beyond);
                curves.for_each(|(curve, beyond)| curve.unbounded |= beyond == f64::INFINITY);
            }
            for (a, b) in [(&part.ends.0, &part.inside), (&part.inside, &part.ends.1)] {
                let Some(mut half) = self.part(step, a, b) else { continue };
                let new = self.extend(&mut range, &half.inside);
                for (latest, _) in latest.iter_mut().zip(&new).filter(|(_, new)| **new) {
                    *latest = Some(divisions);
                }
                if new.contains(&true) {
                    found.push(half.inside.clone());
                }
                half.beyond = self.beyond(&half.bounds, &range).0;
                parts.push(half);
            }
        }
        let open = parts.iter().map(|part| self.beyond(&part.bounds, &range).1);
        let open = open.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect()).unwrap_or_default();
        for (k, curve) in self.search.curves.iter_mut().enumerate() {
            curve.fast |= latest[k].is_some();
            if open.get(k).is_none_or(|beyond| *beyond <= NEAR) {
                continue;
            }
            // extrema that kept growing until the end are not the last ones
            curve.missed |= latest[k].is_some_and(|latest| 2 * latest > most);
            curve.futile = if latest[k].is_some() { 0 } else { curve.futile + 1 };
        }
    }

    /// A part of the step, with a point inside; `None` if there is no number between its ends.
    fn part(&mut self, step: &mut dyn EvaluableStep, a: &Rc<Sample>, b: &Rc<Sample>) -> Option<Part> {
        let at = self.search.position();
        let t = self.between(a.t, b.t, at);
        if t == a.t || t == b.t {
            return None;
        }
        let inside = self.sample(step, t);
        let s = (t - a.t) / (b.t - a.t);
        let hull = |a: &[f64], p: &[f64], b: &[f64]| -> Vec<Interval> {
            (0..a.len()).map(|k| bounds(a[k], p[k], b[k], s)).collect()
        };
        let (y, w) = (hull(&a.y, &inside.y, &b.y), hull(&a.w, &inside.w, &b.w));
        let t = Interval::new(a.t.min(b.t), a.t.max(b.t));
        let bounds = self.enclose(step, t, &y, &w)?;
        Some(Part { ends: (a.clone(), b.clone()), inside: Rc::new(inside), bounds, beyond: f64::INFINITY })
    }

    /// Bounds of both axes of each curve for times, states and rates in a box.
    fn enclose(
        &mut self,
        step: &dyn EvaluableStep,
        t: Interval,
        y: &[Interval],
        w: &[Interval],
    ) -> Option<Vec<(Interval, Interval)>> {
        let search = &mut self.search;
        search.left = search.left.saturating_sub(search.values);
        search.out.fill(Interval::ALL);
        let inputs = Inputs { t, y, p: &search.p, w };
        step.executor().outputs_over(search.interpreter.as_ref()?, inputs, &mut search.out);
        let bounds = |k: usize| match self.quantities[k] {
            Column::Time => t,
            Column::State(place) => y[place],
            Column::Output(place) => self.search.out[place],
        };
        Some(self.pens.iter().map(|pen| (bounds(pen.at.0), bounds(pen.at.1))).collect())
    }

    /// Tells the axes how large the rounding errors of outputs are: by how much they change in the smallest box.
    fn rounding(&mut self, step: &dyn EvaluableStep, sample: &Sample) {
        let near = |x: f64| Interval::new(x - ROUNDED * x.abs(), x + ROUNDED * x.abs());
        let (y, w): (Vec<_>, Vec<_>) =
            (sample.y.iter().map(|x| near(*x)).collect(), sample.w.iter().map(|x| near(*x)).collect());
        let Some(bounds) = self.enclose(step, near(sample.t), &y, &w) else { return };
        let width = |bounds: Interval| Some(bounds.high - bounds.low).filter(|width| width.is_finite());
        for (pen, bounds) in self.pens.iter_mut().zip(bounds) {
            pen.x.rounding = width(bounds.0).unwrap_or(0.0);
            pen.y.rounding = width(bounds.1).unwrap_or(0.0);
        }
    }

    /// A point; the axes see it.
    fn sample(&mut self, step: &mut dyn EvaluableStep, t: f64) -> Sample {
        step.state(t, &mut self.y);
        let values = self.values(step, t);
        for pen in &mut self.pens {
            let p = pen.point(&values);
            pen.x.see(p.0);
            pen.y.see(p.1);
        }
        let reads_rates = step.executor().program().outputs_read_rates();
        let w = if reads_rates { self.rates.for_executor(step.executor(), t, &self.y).to_vec() } else { vec![] };
        Sample { t, y: self.y.clone(), w, values }
    }

    /// Width of a part in pixels of the widest picture.
    fn pixels(&self, a: f64, b: f64) -> f64 {
        let even = |t: f64| if self.log_from.is_some() && t > 0.0 { t.ln() } else { t };
        let over_time = self.request.curves.iter().find(|curve| curve.columns.0 == 0);
        let ends = over_time.and_then(|curve| curve.scales.0.ends.as_ref());
        let end = ends.map_or(self.bound.problem.t_end, |ends| ends.end);
        let start = self.log_from.unwrap_or(self.bound.problem.t0);
        let part = (even(b) - even(a)) / (even(end) - even(start));
        let wide = self.pens.iter().map(|pen| pen.x.pixels()).fold(1.0, f64::max);
        part.abs() * wide
    }

    /// The ranges of the curves at these points.
    fn range(&self, samples: &[&Rc<Sample>]) -> Vec<Range> {
        let mut range = vec![NO_VALUES; self.pens.len()];
        for sample in samples {
            self.extend(&mut range, sample);
        }
        range
    }

    /// Extends ranges by a point; returns for each curve whether it lies beyond by more than a pixel.
    fn extend(&self, range: &mut [Range], sample: &Sample) -> Vec<bool> {
        let mut new = vec![];
        for ((pen, range), curve) in self.pens.iter().zip(range).zip(&self.search.curves) {
            let p = pen.point(&sample.values);
            let mut is_new = false;
            for (axis, v, ruler, counts) in [(0, p.0, &pen.x, curve.outputs.0), (1, p.1, &pen.y, curve.outputs.1)] {
                if v.is_finite() {
                    is_new |= counts && ruler.beyond(range[axis], Interval { low: v, high: v }) > NEAR;
                    range[axis] = (range[axis].0.min(v), range[axis].1.max(v));
                }
            }
            new.push(is_new);
        }
        new
    }

    /// By how many pixels curves may lie beyond these ranges: the most, and for each curve.
    fn beyond(&self, bounds: &[(Interval, Interval)], range: &[Range]) -> (f64, Vec<f64>) {
        let each = self.pens.iter().zip(bounds).zip(range).zip(&self.search.curves);
        let each: Vec<f64> = each
            .map(|(((pen, bounds), range), curve)| {
                if !curve.is_active() {
                    return 0.0;
                }
                let x = if curve.outputs.0 { pen.x.beyond(range[0], bounds.0) } else { 0.0 };
                let y = if curve.outputs.1 { pen.y.beyond(range[1], bounds.1) } else { 0.0 };
                x.max(y)
            })
            .collect();
        (each.iter().copied().fold(0.0, f64::max), each)
    }
}
