//! Bounds of states: no accepted state and no row lies beyond one.
//!
//! If a step ends beyond a bound by more than the tolerance of the state, it is repeated with half the length. A
//! smaller excess is an error of the method: the state is set to its bound, and the run counts the correction. It is
//! not an error if the equation leads out of the bound there, by more than the tolerance until the end of the run.
//! Then the solution itself leaves the bound, and the run ends. For stages beyond a bound, the system evaluates f with
//! the state on the bound (Shampine, Thompson, Kierzenka & Byrne, Applied Mathematics and Computation 170 (2005)
//! 556-569, discuss both).

use super::{HybridRunner, SHORTEST};
use crate::control::Tolerances;
use crate::hybrid::modes::Landed;
use crate::hybrid::outcome::{HybridCause, HybridError};
use crate::hybrid::stops::resolution;
use crate::hybrid::system::{HybridSystem, RowBound};
use crate::runner::StepRequest;

/// The corrections that kept the states of a run within their bounds.
#[derive(Clone, Debug, Default)]
pub struct Pushes {
    /// Number of corrections for each bound; empty if there are no bounds.
    pub counts: Vec<u64>,
    /// The largest correction for each bound.
    pub most: Vec<f64>,
    /// Number of corrected values in rows between steps.
    pub rows: u64,
    /// The largest correction relative to its tolerance: the bound, and time and state at the start of the step.
    pub worst: Option<(usize, f64, Vec<f64>)>,
    /// Its size relative to the tolerance.
    part: f64,
}

/// The bounds of a run.
#[derive(Default)]
pub(super) struct Bounds {
    list: Vec<RowBound>,
    slope: Vec<f64>,
    pub pushes: Pushes,
}

impl Bounds {
    /// Prepares for a run.
    pub fn begin(&mut self, model: &dyn HybridSystem) {
        self.list = model.bounds().to_vec();
        let n = self.list.len();
        self.pushes = Pushes { counts: vec![0; n], most: vec![0.0; n], ..Pushes::default() };
        self.slope.resize(if n > 0 { model.system().shape().n } else { 0 }, 0.0);
    }

    /// Takes over bounds that depend on parameters, during a run.
    pub fn renew(&mut self, model: &dyn HybridSystem) {
        self.list.copy_from_slice(model.bounds());
    }

    pub fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// True if any state lies beyond a bound.
    pub fn are_outside(&self, y: &[f64]) -> bool {
        self.list.iter().any(|bound| bound.beyond(y[bound.row as usize]) > 0.0)
    }

    /// The bound that is exceeded by the largest multiple of the tolerance, if that is more than 1.
    fn broken(&self, y: &[f64], tolerances: &Tolerances) -> Option<usize> {
        let parts = self.list.iter().enumerate().map(|(k, bound)| {
            let row = bound.row as usize;
            (k, bound.beyond(y[row]) / tolerances.scale(row, bound.value.abs()))
        });
        let (worst, part) = parts.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (part > 1.0).then_some(worst)
    }

    /// Corrects a row between two steps.
    pub fn put_back(&mut self, row: &mut [f64]) {
        for bound in &self.list {
            let y = &mut row[bound.row as usize];
            if bound.beyond(*y) > 0.0 {
                *y = bound.value;
                self.pushes.rows += 1;
            }
        }
    }

    /// Corrects the states beyond their bounds, and counts the corrections.
    fn push(&mut self, y: &mut [f64], (t, start): (f64, &[f64]), tolerances: &Tolerances) {
        for (k, bound) in self.list.iter().enumerate() {
            let row = bound.row as usize;
            let beyond = bound.beyond(y[row]);
            if beyond > 0.0 {
                y[row] = bound.value;
                self.pushes.counts[k] += 1;
                self.pushes.most[k] = self.pushes.most[k].max(beyond);
                let part = beyond / tolerances.scale(row, bound.value.abs());
                if part > self.pushes.part || self.pushes.worst.is_none() {
                    self.pushes.part = part;
                    self.pushes.worst = Some((k, t, start.to_vec()));
                }
            }
        }
    }
}

impl HybridRunner {
    /// Makes the last step end within the bounds and, if `locate` is set, on the first surface in it.
    pub(super) fn within(
        &mut self,
        model: &mut dyn HybridSystem,
        (start, request): (f64, StepRequest),
        mut landed: Option<Landed>,
        locate: bool,
    ) -> Result<Option<Landed>, HybridError> {
        loop {
            self.neglected.turns = false;
            if self.contain(model, start, request)? {
                landed = None;
            }
            if landed.is_none() && locate {
                landed = self.cross(model, start, request)?;
            }
            // a step that ends before a bound is shorter each time
            if self.bounds.broken(self.runner.state(), &self.tolerances).is_none() {
                return Ok(landed);
            }
        }
    }

    /// Shortens the last step until it ends within the tolerances of all bounds. True if it had to.
    fn contain(&mut self, model: &dyn HybridSystem, start: f64, request: StepRequest) -> Result<bool, HybridError> {
        let mut shorter = false;
        while let Some(bound) = self.bounds.broken(self.runner.state(), &self.tolerances) {
            let end = self.runner.time();
            let stop = start + 0.5 * (end - start);
            let least = start + SHORTEST * resolution(start);
            if !(stop > least) || !self.runner.retreat() {
                self.y.copy_from_slice(self.runner.state());
                let (of, y) = (self.bounds.list[bound], self.runner.state());
                let beyond = of.beyond(y[of.row as usize]);
                return Err(self.failure(HybridCause::Bound { bound, beyond, rate: None }, end));
            }
            self.runner.advance(model.system(), StepRequest { stop: Some(stop), ..request })?;
            shorter = true;
        }
        Ok(shorter)
    }

    /// Sets states that the last step left slightly beyond a bound to the bound. The step began at `start`, with the
    /// state stored there. True if any state was set. If the step ends at an instant, the motion after it is not known
    /// yet; later steps show whether it leads out.
    pub(super) fn push(
        &mut self,
        model: &mut dyn HybridSystem,
        start: f64,
        at_instant: bool,
    ) -> Result<bool, HybridError> {
        if !self.bounds.are_outside(self.runner.state()) {
            return Ok(false);
        }
        let t = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        self.bounds.push(&mut self.y, (start, &self.start), &self.tolerances);
        let left = self.supposed_end(t) - t;
        if !at_instant && self.modes.motion.slope(model, t, &self.y, &mut self.bounds.slope) {
            for bound in 0..self.bounds.list.len() {
                let of = self.bounds.list[bound];
                let (row, rate) = (of.row as usize, self.bounds.slope[of.row as usize]);
                let out = if of.upper { rate } else { -rate };
                let there = self.y[row] == of.value && self.bounds.pushes.counts[bound] > 0;
                if there && out * left > self.tolerances.scale(row, of.value.abs()) {
                    return Err(self.failure(HybridCause::Bound { bound, beyond: 0.0, rate: Some(rate) }, t));
                }
            }
        }
        self.runner.put_back(model.system(), &self.y)?;
        if !model.relations().is_empty() {
            let evaluated = self.modes.evaluate_sides(model, t, &self.y);
            evaluated.map_err(|cause| self.failure(cause, t))?;
            self.renew(model, t);
        }
        Ok(true)
    }

    /// Checks that what events have written lies within the bounds, apart from small errors.
    pub(super) fn check_written(&mut self, t: f64) -> Result<(), HybridError> {
        if let Some(bound) = self.bounds.broken(&self.y, &self.tolerances) {
            let of = self.bounds.list[bound];
            let beyond = of.beyond(self.y[of.row as usize]);
            return Err(self.failure(HybridCause::Bound { bound, beyond, rate: None }, t));
        }
        if self.bounds.are_outside(&self.y) {
            let before = std::mem::take(&mut self.before.y);
            self.bounds.push(&mut self.y, (t, &before), &self.tolerances);
            self.before.y = before;
        }
        Ok(())
    }
}
