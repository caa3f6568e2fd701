//! Detects instants that follow each other so closely that a run makes no progress, or whose times converge.

use crate::hybrid::outcome::HybridCause;
use crate::hybrid::runner::Changes;
use crate::hybrid::stops::resolution;

/// After this number of instants, the progress of the run is checked.
const INSTANTS: u64 = 1_000;
/// The progress must be at least this fraction of the run, or this number of units of time resolution.
const MIN_PROGRESS: f64 = 1e-9;
const UNITS: f64 = 1e6;
/// The message names the events and relations of this number of instants.
const NAMED: u64 = 10;
/// The times of the instants converge, like the zeros of `sin(1/t)`, if the time in which their number doubles falls to
/// this fraction
const CONVERGES: f64 = 0.7;
/// so many times in a row, and there are at least so many instants.
const FALLS: u32 = 6;
const MANY: u64 = 4096;

/// Counts the instants of a run.
#[derive(Debug, Default)]
pub(super) struct Chatter {
    count: u64,
    since: f64,
    events: Vec<usize>,
    relations: Vec<usize>,
    /// The number of all instants; the time at which it was a power of two, and the time that its last doubling took.
    all: u64,
    doubled: (f64, f64),
    /// The number of doublings in a row that were faster than the one before.
    falls: u32,
}

impl Chatter {
    /// Records that an instant at `t` has changed something.
    pub fn note(&mut self, t: f64, span: (f64, f64), changes: &Changes<'_>) -> Result<(), HybridCause> {
        if self.count == 0 {
            self.since = t;
        }
        self.count += 1;
        self.all += 1;
        let converges = self.all.is_power_of_two() && self.converge(t);
        if converges || self.count + NAMED > INSTANTS {
            self.events.extend(changes.executed.iter().map(|executed| executed.event));
            let changed = changes.before.iter().zip(changes.modes).enumerate().filter(|(_, (a, b))| a != b);
            self.relations.extend(changed.map(|(relation, _)| relation));
        }
        if self.count < INSTANTS && !converges {
            return Ok(());
        }
        self.count = 0;
        if converges || t - self.since < (MIN_PROGRESS * (span.1 - span.0)).min(UNITS * resolution(t)) {
            let [events, relations] = [&mut self.events, &mut self.relations].map(|list| {
                let mut list = std::mem::take(list);
                list.sort_unstable();
                list.dedup();
                list
            });
            return Err(HybridCause::Chatter { events, relations });
        }
        self.events.clear();
        self.relations.clear();
        Ok(())
    }

    /// True if the times of the instants converge; their number has doubled at `t`.
    fn converge(&mut self, t: f64) -> bool {
        let (since, last) = self.doubled;
        self.doubled = (t, t - since);
        self.falls = if t - since <= CONVERGES * last { self.falls + 1 } else { 0 };
        self.falls >= FALLS && self.all >= MANY
    }
}
