//! Instants that follow each other so closely that a run makes no progress.

use crate::hybrid::outcome::HybridCause;
use crate::hybrid::runner::Changes;
use crate::hybrid::stops::resolution;

/// Instants that are counted before the time they took is looked at.
const INSTANTS: u64 = 1_000;
/// They have to come on by this part of the run, or by so many units of what times are told apart by.
const CRAWL: f64 = 1e-9;
const UNITS: f64 = 1e6;
/// Of so many of them the events and relations are named.
const NAMED: u64 = 10;

/// Counts instants.
#[derive(Debug, Default)]
pub(super) struct Chatter {
    count: u64,
    since: f64,
    events: Vec<usize>,
    relations: Vec<usize>,
}

impl Chatter {
    /// An instant at `t` has changed something.
    pub fn note(&mut self, t: f64, span: (f64, f64), changes: &Changes<'_>) -> Result<(), HybridCause> {
        if self.count == 0 {
            self.since = t;
        }
        self.count += 1;
        if self.count + NAMED > INSTANTS {
            self.events.extend(changes.executed.iter().map(|executed| executed.event));
            let changed = changes.before.iter().zip(changes.modes).enumerate().filter(|(_, (a, b))| a != b);
            self.relations.extend(changed.map(|(relation, _)| relation));
        }
        if self.count < INSTANTS {
            return Ok(());
        }
        self.count = 0;
        if t - self.since < (CRAWL * (span.1 - span.0)).min(UNITS * resolution(t)) {
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
}
