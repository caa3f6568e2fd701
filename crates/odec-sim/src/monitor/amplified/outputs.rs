//! The errors of outputs: an output may amplify the errors of the states that it reads, as a steep function does, or the
//! difference of large terms, such as the derivative of a stiff state.

use odec_ode::method::auto::METHOD;

use crate::bind::Bound;
use crate::monitor::Findings;
use crate::sample::CoupledRates;

use super::MAX_UNKNOWNS;
use super::second::missed_tolerances;
use super::stored_run::At;

/// An output that multiplies relative errors of states by more than this may be an error itself, such as the drift of an
/// energy. It is judged at the end of the second run.
const CANCELLATION: f64 = 1e3;
/// Such an output is an error, which has no tolerance of its own, if it becomes smaller than this fraction with the
/// tolerance.
const SHRUNK: f64 = 0.5;
/// An output that rounding errors of this many units in the last place of the states change by its own size consists of
/// them, such as the residual of a constraint.
const UNITS: f64 = 1e3;
/// Number of evenly spaced rows at which the amplification is determined, and of rows in which outputs are largest.
const PLACES: usize = 16;
/// Error of a state in a row that is usual for `auto`, in tolerances.
const USUAL_ERROR_OF_AUTO: f64 = 0.5;

/// The outputs along both runs.
pub struct ComparedOutputs<'a> {
    bound: &'a Bound,
    rates: CoupledRates<'a>,
    rows: Vec<At<'a>>,
    first: Vec<f64>,
    second: Vec<f64>,
    /// The state in the second run.
    state: Vec<f64>,
    /// The largest size of each output.
    sizes: Vec<f64>,
    /// The largest size of each output in the second run.
    sizes_of_second: Vec<f64>,
    /// The largest amplification of each output in evenly spaced rows, once it is needed.
    amplification: Vec<Option<f64>>,
    /// The first rows in which such outputs miss their tolerance.
    postponed: Vec<Option<OutputMiss>>,
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

/// True if outputs of the run amplify errors of states so much that rows may miss their tolerance.
pub fn amplify_errors(bound: &Bound, findings: &Findings) -> bool {
    let rows: Vec<At<'_>> = findings.stored_run.rows().collect();
    if rows.is_empty() || bound.problem.y0.len() > MAX_UNKNOWNS {
        return false;
    }
    let usual = if bound.choice.method.name == METHOD.name { USUAL_ERROR_OF_AUTO } else { 1.0 };
    let Some(mut outputs) = ComparedOutputs::new(bound, rows) else { return false };
    outputs.largest_amplification() * usual >= missed_tolerances(bound)
}

impl<'a> ComparedOutputs<'a> {
    /// Prepares the comparison; `None` if there are no outputs, or if they may depend on discretes, which are not stored
    /// with the rows.
    pub fn new(bound: &'a Bound, rows: Vec<At<'a>>) -> Option<ComparedOutputs<'a>> {
        let layout = bound.executor.layout();
        if !bound.columns.has_outputs() || layout.discretes > 0 {
            return None;
        }
        let mut compared = ComparedOutputs {
            bound,
            rates: CoupledRates::of(bound).ok()?,
            rows,
            first: vec![0.0; layout.outputs_len()],
            second: vec![0.0; layout.outputs_len()],
            state: vec![0.0; layout.n],
            sizes: vec![0.0; layout.outputs],
            sizes_of_second: vec![0.0; layout.outputs],
            amplification: vec![None; layout.outputs],
            postponed: vec![None; layout.outputs],
        };
        for k in 0..compared.rows.len() {
            let At { t, y } = compared.rows[k];
            bound.executor.outputs(t, y, compared.rates.at(t, y), &mut compared.first);
            for (size, v) in compared.sizes.iter_mut().zip(&compared.first).filter(|(_, v)| v.is_finite()) {
                *size = size.max(v.abs());
            }
        }
        Some(compared)
    }

    /// The largest error of an output in a row, in tolerances, with its size and its position; `state` has the values of
    /// the second run there.
    pub fn largest(&mut self, row: At<'_>, state: impl Iterator<Item = (usize, f64)>) -> Option<(f64, f64, usize)> {
        state.for_each(|(place, v)| self.state[place] = v);
        let executor = &self.bound.executor;
        executor.outputs(row.t, row.y, self.rates.at(row.t, row.y), &mut self.first);
        executor.outputs(row.t, &self.state, self.rates.at(row.t, &self.state), &mut self.second);
        let mut largest: Option<(f64, f64, usize)> = None;
        for place in 0..self.sizes.len() {
            let size = self.second[place].abs();
            if size.is_finite() {
                self.sizes_of_second[place] = self.sizes_of_second[place].max(size);
            }
            let error = (self.first[place] - self.second[place]).abs();
            let times = error / (self.bound.options.rtol * self.sizes[place]);
            if !times.is_finite() {
                continue;
            }
            let amplification = if times > 1.0 { self.amplification(place) } else { 0.0 };
            if is_rounding(amplification) {
                continue;
            }
            if amplification > CANCELLATION {
                self.postpone(OutputMiss { t: row.t, place, error, times, most: times });
            } else if largest.is_none_or(|known| times > known.0) {
                largest = Some((times, error, place));
            }
        }
        largest
    }

    /// The output that was furthest off, of those that may be errors themselves and are not. The second run must have
    /// reached its end.
    pub fn postponed(&self) -> Option<OutputMiss> {
        let is_error = |place: usize| self.sizes_of_second[place] <= SHRUNK * self.sizes[place];
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

    /// The size of an output.
    pub fn size(&self, place: usize) -> f64 {
        self.sizes[place]
    }

    /// The largest amplification of an output in evenly spaced rows.
    fn amplification(&mut self, place: usize) -> f64 {
        if self.amplification[place].is_none() {
            let last = self.rows.len().saturating_sub(1);
            let all = (0..PLACES).map(|k| self.amplifications(k * last / (PLACES - 1))[place]);
            let largest = all.filter(|times| times.is_finite()).fold(0.0, f64::max);
            self.amplification[place] = Some(largest);
        }
        self.amplification[place].unwrap_or_default()
    }

    /// The largest amplification of an output, in evenly spaced rows and in those in which outputs are largest.
    fn largest_amplification(&mut self) -> f64 {
        let last = self.rows.len().saturating_sub(1);
        let mut chosen: Vec<usize> = (0..PLACES).map(|k| k * last / (PLACES - 1)).collect();
        for place in 0..self.sizes.len().min(PLACES) {
            let size = self.sizes[place];
            chosen.extend((0..=last).find(|row| {
                let At { t, y } = self.rows[*row];
                self.bound.executor.outputs(t, y, self.rates.at(t, y), &mut self.first);
                self.first[place].abs() == size
            }));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let mut largest = vec![0.0f64; self.sizes.len()];
        for row in chosen {
            let all = self.amplifications(row);
            largest.iter_mut().zip(all).filter(|(_, times)| times.is_finite()).for_each(|(l, times)| *l = l.max(times));
        }
        largest.into_iter().filter(|times| !is_rounding(*times)).fold(0.0, f64::max)
    }

    /// The error of each output in its tolerances if all states are off by one tolerance and nothing cancels.
    fn amplifications(&mut self, row: usize) -> Vec<f64> {
        let At { t, y } = self.rows[row];
        let (Bound { executor, options, .. }, mut moved) = (self.bound, y.to_vec());
        let (mut here, mut there) = (vec![0.0; self.first.len()], vec![0.0; self.first.len()]);
        executor.outputs(t, y, self.rates.at(t, y), &mut here);
        let mut sums = vec![0.0; self.sizes.len()];
        for k in 0..y.len() {
            moved[k] += self.bound.atol(k) + options.rtol * y[k].abs();
            executor.outputs(t, &moved, self.rates.at(t, &moved), &mut there);
            moved[k] = y[k];
            let changes = there.iter().zip(&here).map(|(there, here)| (there - here).abs());
            sums.iter_mut().zip(changes).for_each(|(sum, change)| *sum += change);
        }
        sums.iter_mut().zip(&self.sizes).for_each(|(sum, size)| *sum /= options.rtol * size);
        sums
    }
}
