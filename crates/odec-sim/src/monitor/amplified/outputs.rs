//! The errors of outputs: an output may amplify the errors of the states that it reads, as a steep function does, or the
//! difference of large terms, such as the derivative of a stiff state.

use odec_ode::accelerated::Accelerated;

use crate::bind::Bound;
use crate::monitor::Findings;
use crate::monitor::discretes::DiscreteHistory;
use crate::quantities::Quantities;

use super::evaluator::OutputsAlongRun;
use super::second::missed_tolerances;
use super::sizes::Sizes;
use super::stored_run::{At, StoredRow};
use super::tighter::TIGHTER;
use super::writes::WrittenErrors;
use super::{MAX_UNKNOWNS, usual_error};

/// An output that multiplies relative errors of states by more than this may be an error itself, such as the drift of an
/// energy. It is compared at the end of the second run.
const CANCELLATION: f64 = 1e3;
/// Such an output is an error, which has no tolerance of its own, if it becomes smaller than this fraction with the
/// tolerance.
const SHRUNK: f64 = 0.5;
/// Below this part of the tolerance, an error has become smaller than the square root of the part.
const MUCH_TIGHTER: f64 = 0.01;
/// An output that rounding errors of this many units in the last place of the states change by its own size consists of
/// them, such as the residual of a constraint.
const UNITS: f64 = 1e3;
/// Factor by which an error may exceed the estimate that explains it.
const ROUGHLY: f64 = 2.0;
/// Number of evenly spaced rows at which the amplification is determined, and of rows in which outputs are largest.
const PLACES: usize = 16;
/// All rows are examined if that takes at most so many evaluations.
const EVALUATIONS: usize = 2048;

/// The outputs along both runs.
pub struct ComparedOutputs<'a> {
    bound: &'a Bound,
    outputs: OutputsAlongRun<'a>,
    discretes: &'a DiscreteHistory,
    /// The errors of the discretes that events compute from states.
    written: &'a WrittenErrors,
    rows: Vec<StoredRow<'a>>,
    first: Vec<f64>,
    second: Vec<f64>,
    /// The state in the second run.
    state: Vec<f64>,
    /// For each output that is a derivative by a parameter: the output of which it is one, and the size of the parameter.
    derivatives: Vec<Option<(usize, f64)>>,
    /// True for outputs without a finite value in a row, which have a warning of their own.
    not_finite: Vec<bool>,
    /// The sizes of the outputs, and those in the second run.
    sizes: Sizes,
    sizes_of_second: Sizes,
    /// The largest amplification of each output in evenly spaced rows, once it is needed.
    amplification: Vec<Option<Amplification>>,
    /// The first rows in which such outputs miss their tolerance.
    postponed: Vec<Option<OutputMiss>>,
}

/// Effect of errors of states on an output.
#[derive(Clone, Copy, Debug, Default)]
struct Amplification {
    /// The error of the output in its tolerances if all states are off by one tolerance and nothing cancels.
    times: f64,
    /// Its error if they are off by their absolute tolerances.
    of_atol: f64,
}

impl Amplification {
    /// The larger effects, of those that are finite.
    fn max(self, other: Amplification) -> Amplification {
        let larger = |a: f64, b: f64| if b.is_finite() { a.max(b) } else { a };
        Amplification { times: larger(self.times, other.times), of_atol: larger(self.of_atol, other.of_atol) }
    }
}

/// True if rounding errors of the states can change an output by its own size.
fn is_rounding(amplification: f64) -> bool {
    amplification * UNITS * f64::EPSILON > 1.0
}

/// A row in which an output misses its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct OutputMiss {
    /// The time.
    pub t: f64,
    /// The position of the output.
    pub place: usize,
    /// Its error.
    pub error: f64,
    /// The same in tolerances.
    pub times: f64,
    /// The largest error in a later row, in tolerances.
    pub most: f64,
}

/// By how much outputs of the run amplify errors of states, if rows may miss their tolerance for this reason: the error
/// of an output in its tolerances if the states are off by one tolerance.
pub fn amplification(bound: &Bound, findings: &Findings, written: &WrittenErrors) -> Option<f64> {
    let rows: Vec<StoredRow<'_>> = findings.stored_run.full_rows().collect();
    if rows.is_empty() || bound.problem.y0.len() > MAX_UNKNOWNS {
        return None;
    }
    let largest = ComparedOutputs::new(bound, findings, rows, written)?.largest_amplification();
    (largest * usual_error(bound) >= missed_tolerances(bound)).then_some(largest)
}

/// The tolerance of a second run that shows the error of an output with this amplification, as a part of that of the
/// first. If large terms cancel, a run with a tenth of the tolerance may take the same steps, and has errors as large
/// as the output.
pub fn tolerance_for(amplification: f64) -> f64 {
    if amplification > CANCELLATION { TIGHTER / amplification } else { TIGHTER }
}

/// For each output that is a derivative, the place of that of which it is one, and the size of the parameter; 1 for one
/// that is 0. Empty in a run without sensitivities.
fn derivatives(bound: &Bound) -> Vec<Option<(usize, f64)>> {
    let executor = &bound.executor;
    if executor.groups() == 1 {
        return vec![];
    }
    let (program, layout) = (executor.program(), executor.layout());
    let (outputs, parameters) = (Quantities::outputs(program, layout), Quantities::parameters(program, layout));
    let of = |place: usize| {
        let (quantity, element) = outputs.at(place)?;
        let own = outputs.list().iter().find(|own| Some(own.name.as_str()) == quantity.differentiated())?;
        let by = quantity.name.rsplit_once(")/d(")?.1.strip_suffix(')')?;
        let value = parameters.find(by).ok().flatten().map(|place| executor.parameters()[place].abs());
        Some((own.start + element, value.filter(|size| *size != 0.0).unwrap_or(1.0)))
    };
    (0..layout.outputs).map(of).collect()
}

impl<'a> ComparedOutputs<'a> {
    /// Prepares the comparison; `None` if there are no outputs.
    pub fn new(
        bound: &'a Bound,
        findings: &'a Findings,
        mut rows: Vec<StoredRow<'a>>,
        written: &'a WrittenErrors,
    ) -> Option<ComparedOutputs<'a>> {
        if !bound.columns.has_outputs() {
            return None;
        }
        let (layout, discretes) = (bound.executor.layout(), &findings.discretes);
        let mut outputs = OutputsAlongRun::new(bound, discretes)?;
        let mut first = vec![0.0; layout.outputs_len()];
        let mut sizes = Sizes::new(layout.outputs, rows.len());
        let mut not_finite = vec![false; layout.outputs];
        rows.retain(|row| {
            let known = outputs.at(row, row.at.y, &mut first);
            if known {
                sizes.add(&first);
                not_finite.iter_mut().zip(&first).for_each(|(not, value)| *not |= !value.is_finite());
            }
            known
        });
        sizes.finish();
        Some(ComparedOutputs {
            bound,
            outputs,
            discretes,
            written,
            derivatives: derivatives(bound),
            second: first.clone(),
            first,
            state: vec![0.0; layout.n],
            sizes_of_second: Sizes::new(layout.outputs, rows.len()),
            rows,
            not_finite,
            sizes,
            amplification: vec![None; layout.outputs],
            postponed: vec![None; layout.outputs],
        })
    }

    /// The largest error of an output in a row, in tolerances, with its size and its position; `state` and `discretes`
    /// have the values of the second run there.
    pub fn largest(
        &mut self,
        row: StoredRow<'_>,
        state: impl Iterator<Item = (usize, f64)>,
        discretes: &[f64],
    ) -> Option<(f64, f64, usize)> {
        state.for_each(|(place, v)| self.state[place] = v);
        if !self.outputs.at(&row, row.at.y, &mut self.first) {
            return None;
        }
        let t = row.at.t;
        self.outputs.with(discretes, (t, &self.state), &mut self.second);
        self.sizes_of_second.add(&self.second);
        let at = self.rows.partition_point(|other| (other.at.t - self.start()).abs() < (t - self.start()).abs());
        let mut largest: Option<(f64, f64, usize)> = None;
        for place in 0..self.amplification.len() {
            let error = (self.first[place] - self.second[place]).abs();
            let mut tolerance = self.bound.options.rtol * self.size_near(at, place);
            if !(error / tolerance).is_finite() || self.not_finite[place] {
                continue;
            }
            let amplification = if error > tolerance { self.amplification(place) } else { Amplification::default() };
            if is_rounding(amplification.times) {
                continue;
            }
            if self.sizes.has_transient(place) {
                // such an output may decay until the absolute tolerances of the states are larger
                tolerance += amplification.of_atol;
            }
            let times = error / tolerance;
            if amplification.times > CANCELLATION {
                self.postpone(OutputMiss { t, place, error, times, most: times });
            } else if largest.is_none_or(|known| times > known.0) {
                largest = Some((times, error, place));
            }
        }
        largest
    }

    fn start(&self) -> f64 {
        self.rows.first().map_or(0.0, |row| row.at.t)
    }

    /// The output that was furthest off, of those that may be errors themselves and are not. The second run must have
    /// reached its end; it has this part of the tolerance. An error shrinks nearly like the tolerance. A difference of
    /// large terms shrinks to its true size only.
    pub fn postponed(&mut self, part: f64) -> Option<OutputMiss> {
        self.sizes_of_second.finish();
        // errors of opposite signs may make the drift of an energy shrink by little more than half
        let shrunk = if part < MUCH_TIGHTER { part.sqrt() } else { SHRUNK };
        let is_error = |place: usize| {
            self.sizes_of_second.largest(place) <= shrunk * self.sizes.largest(place)
                || self.sizes_of_second.usual(place) <= shrunk * self.sizes.usual(place)
        };
        let all = self.postponed.iter().flatten().filter(|miss| !is_error(miss.place));
        all.max_by(|a, b| a.most.total_cmp(&b.most)).copied()
    }

    fn postpone(&mut self, miss: OutputMiss) {
        match &mut self.postponed[miss.place] {
            Some(known) => known.most = known.most.max(miss.times),
            empty if miss.times > missed_tolerances(self.bound) => *empty = Some(miss),
            _ => {}
        }
    }

    /// The size of an output in a row, which its error may not exceed by more than the relative tolerance. The error of a
    /// derivative by a parameter may also be that which changes the output itself by this tolerance, if the parameter
    /// changes by its own size.
    fn size_near(&self, row: usize, place: usize) -> f64 {
        let of_own = self.derivatives.get(place).copied().flatten();
        self.sizes.near(row, place) + of_own.map_or(0.0, |(own, scale)| self.sizes.usual(own) / scale)
    }

    /// The size of an output.
    pub fn size(&self, place: usize) -> f64 {
        self.sizes.usual(place)
    }

    /// The largest amplification of an output in evenly spaced rows.
    fn amplification(&mut self, place: usize) -> Amplification {
        if self.amplification[place].is_none()
            && let Some(last) = self.rows.len().checked_sub(1)
        {
            let all = (0..PLACES).map(|k| self.amplifications(k * last / (PLACES - 1))[place]);
            let largest = all.fold(Amplification::default(), Amplification::max);
            self.amplification[place] = Some(largest);
        }
        self.amplification[place].unwrap_or_default()
    }

    /// The largest amplification of an output, in all rows if they are few; otherwise in evenly spaced rows, and in those in
    /// which outputs are largest or which lie inside their largest changes.
    fn largest_amplification(&mut self) -> f64 {
        let Some(last) = self.rows.len().checked_sub(1) else { return 0.0 };
        let few = self.rows.len() * (self.state.len() + 1) <= EVALUATIONS;
        let mut chosen: Vec<usize> =
            if few { (0..=last).collect() } else { (0..PLACES).map(|k| k * last / (PLACES - 1)).collect() };
        if !few {
            chosen.extend(self.steepest());
        }
        for place in 0..if few { 0 } else { self.amplification.len().min(PLACES) } {
            let size = self.sizes.largest(place);
            chosen.extend((0..self.rows.len()).find(|row| {
                let row = self.rows[*row];
                self.outputs.at(&row, row.at.y, &mut self.first) && self.first[place].abs() == size
            }));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let mut largest = vec![Amplification::default(); self.amplification.len()];
        for row in chosen {
            let all = self.amplifications(row);
            largest.iter_mut().zip(all).for_each(|(l, other)| *l = l.max(other));
        }
        let times = largest.into_iter().map(|all| all.times);
        times.filter(|times| !is_rounding(*times)).fold(0.0, f64::max)
    }

    /// For each output, of the first of them, the row inside its largest change: it differs from both of its neighbours.
    fn steepest(&mut self) -> Vec<usize> {
        let count = self.amplification.len().min(PLACES);
        let mut largest = vec![(0.0, 0); count];
        // the value in the row before, and the change from the one before that
        let mut before = vec![(f64::NAN, f64::NAN); count];
        for k in 0..self.rows.len() {
            let row = self.rows[k];
            if !self.outputs.at(&row, row.at.y, &mut self.first) {
                continue;
            }
            for (place, (last, change)) in before.iter_mut().enumerate() {
                let now = (self.first[place] - *last).abs();
                // false if one of them is not a number
                if now > largest[place].0 && *change > largest[place].0 {
                    largest[place] = (now.min(*change), k - 1);
                }
                (*last, *change) = (self.first[place], now);
            }
        }
        largest.into_iter().filter(|(change, _)| *change > 0.0).map(|(_, k)| k).collect()
    }

    /// True if errors of states by so many tolerances explain an error of an output in the row at this time.
    pub fn explains(&mut self, t: f64, states: f64, (place, times): (usize, f64)) -> bool {
        let row = self.rows.iter().position(|row| row.at.t == t);
        row.is_some_and(|row| ROUGHLY * self.amplifications(row)[place].times * states.max(1.0) >= times)
    }

    /// True if the discretes of the second run explain most of an error of an output in the row at this time. If both runs
    /// executed the same events, their discretes differ by errors only, such as that of the time that an event stores.
    pub fn explained_by(&mut self, discretes: &[f64], t: f64, (place, times): (usize, f64)) -> bool {
        let Some(at) = self.rows.iter().position(|row| row.at.t == t) else { return false };
        let row = self.rows[at];
        if !self.outputs.at(&row, row.at.y, &mut self.first) {
            return false;
        }
        self.outputs.with(discretes, (t, row.at.y), &mut self.second);
        let tolerance = self.bound.options.rtol * self.size_near(at, place);
        ROUGHLY * (self.first[place] - self.second[place]).abs() >= times * tolerance
    }

    /// The amplification of each output in a row.
    fn amplifications(&mut self, row: usize) -> Vec<Amplification> {
        let stored = self.rows[row];
        let At { t, y } = stored.at;
        let (rtol, mut moved) = (self.bound.options.rtol, y.to_vec());
        let (mut here, mut there) = (vec![0.0; self.first.len()], vec![0.0; self.first.len()]);
        self.outputs.at(&stored, y, &mut here);
        let mut sums = vec![Amplification::default(); self.amplification.len()];
        for k in 0..y.len() {
            let atol = self.bound.atol(k);
            let error = atol + rtol * y[k].abs();
            moved[k] += error;
            self.outputs.at(&stored, &moved, &mut there);
            moved[k] = y[k];
            for (sum, (there, here)) in sums.iter_mut().zip(there.iter().zip(&here)) {
                let change = (there - here).abs();
                sum.times += change;
                // a state that is 0 without an absolute tolerance has no error
                sum.of_atol += if error > 0.0 { change * atol / error } else { 0.0 };
            }
        }
        for (place, made) in &self.written.discretes {
            // before the first event, discretes have no error
            let mut moved = self.discretes.after_changes(stored.changes.unwrap_or_default()).to_vec();
            let Some(v) = moved.get_mut(*place) else { continue };
            *v += made.error;
            self.outputs.with(&moved, (t, y), &mut there);
            for (sum, (there, here)) in sums.iter_mut().zip(there.iter().zip(&here)) {
                let change = (there - here).abs();
                sum.times += change;
                sum.of_atol += change * made.of_atol / made.error;
            }
        }
        for (place, sum) in sums.iter_mut().enumerate() {
            let floor = if self.sizes.has_transient(place) { sum.of_atol } else { 0.0 };
            sum.times /= rtol * self.size_near(row, place) + floor;
        }
        sums
    }
}
