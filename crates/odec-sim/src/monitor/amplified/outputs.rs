//! The errors of outputs: an output may amplify the errors of the states that it reads, as a steep function does.

use crate::bind::Bound;
use crate::sample::CoupledRates;

use super::stored_run::At;

/// An output that multiplies relative errors of states by more than this is a small difference of large terms, such as
/// the drift of an energy. It shows errors, and is not judged by its own size.
const CANCELLATION: f64 = 1e3;
/// Number of rows at which this is determined.
const PLACES: usize = 16;

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
    /// The tolerances of the states.
    units: Vec<f64>,
    /// True for an output that is a small difference of large terms, once that is known.
    cancels: Vec<Option<bool>>,
}

impl<'a> ComparedOutputs<'a> {
    /// Prepares the comparison; `None` if there are no outputs, or if they depend on modes or discretes, which are not
    /// stored.
    pub fn new(bound: &'a Bound, rows: Vec<At<'a>>, sizes: &[f64]) -> Option<ComparedOutputs<'a>> {
        let layout = bound.executor.layout();
        if !bound.columns.has_outputs() || bound.located.is_some() {
            return None;
        }
        let units = sizes.iter().enumerate().map(|(k, size)| bound.atol(k) + bound.options.rtol * size).collect();
        let mut compared = ComparedOutputs {
            bound,
            rates: CoupledRates::of(bound).ok()?,
            rows,
            first: vec![0.0; layout.outputs_len()],
            second: vec![0.0; layout.outputs_len()],
            state: vec![0.0; layout.n],
            sizes: vec![0.0; layout.outputs],
            units,
            cancels: vec![None; layout.outputs],
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
            let error = (self.first[place] - self.second[place]).abs();
            let times = error / (self.bound.options.rtol * self.sizes[place]);
            let more = largest.is_none_or(|known| times > known.0);
            if times.is_finite() && more && !self.is_difference(place, times) {
                largest = Some((times, error, place));
            }
        }
        largest
    }

    /// The size of an output.
    pub fn size(&self, place: usize) -> f64 {
        self.sizes[place]
    }

    /// True if the output is a small difference of large terms; determined for an error that matters.
    fn is_difference(&mut self, place: usize, times: f64) -> bool {
        if times <= 1.0 {
            return false;
        }
        if self.cancels[place].is_none() {
            let last = self.rows.len().saturating_sub(1);
            let small = (0..PLACES).all(|k| self.amplification(place, k * last / (PLACES - 1)) <= CANCELLATION);
            self.cancels[place] = Some(!small);
        }
        self.cancels[place] == Some(true)
    }

    /// The error of an output in its tolerances if all states are off by one tolerance and nothing cancels.
    fn amplification(&mut self, place: usize, row: usize) -> f64 {
        let At { t, y } = self.rows[row];
        let (executor, mut moved) = (&self.bound.executor, y.to_vec());
        let mut there = vec![0.0; self.first.len()];
        executor.outputs(t, y, self.rates.at(t, y), &mut there);
        let (value, mut sum) = (there[place], 0.0);
        for (k, unit) in self.units.iter().enumerate() {
            moved[k] += unit;
            executor.outputs(t, &moved, self.rates.at(t, &moved), &mut there);
            moved[k] = y[k];
            sum += (there[place] - value).abs();
        }
        sum / (self.bound.options.rtol * self.sizes[place])
    }
}
