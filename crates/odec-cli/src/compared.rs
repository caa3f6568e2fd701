//! The second run in the summary: with a smaller tolerance or half the step, it shows how far the rows of a run are off.

use odec_sim::session::SecondRun;
use serde::Serialize;

use crate::summary::{brief, counted};

/// The run with a smaller tolerance, or with half the step, that the rows were compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The name of its method.
    method: &'static str,
    /// Its constant step.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<f64>,
    /// Its relative tolerance, if it has no constant step.
    rtol: f64,
    /// Its steps, with rejected ones.
    steps: u64,
    /// The time at which it ended.
    t: f64,
    /// The largest difference between the rows of both runs, in tolerances; with constant steps, the largest error of the
    /// first run as a part of the range of its state.
    difference: f64,
}

impl Compared {
    /// The figures of a second run.
    pub fn of(second: &SecondRun) -> Compared {
        let SecondRun { method, step, rtol, steps, t, difference } = *second;
        Compared { method, step, rtol, steps, t, difference }
    }

    /// A line about it; `end` is the end of the run.
    pub fn line(&self, (time, end): (&str, f64)) -> String {
        let until = if self.t == end { String::new() } else { format!(", up to {time} = {}", brief(self.t)) };
        let steps = counted(self.steps as usize, "step", "steps").unwrap_or_else(|| "no step".to_string());
        if let Some(step) = self.step {
            let part = brief(100.0 * self.difference);
            let what = format!("step {}, {steps}{until}", brief(step));
            return format!(
                "with a second run ({what}): the rows are off by up to {part} % of the range of their state"
            );
        }
        let apart = brief(self.difference);
        let what = format!("{}, rtol {}, {steps}{until}", self.method, brief(self.rtol));
        format!("with a second run ({what}): the rows differ by up to {apart} tolerances")
    }
}
