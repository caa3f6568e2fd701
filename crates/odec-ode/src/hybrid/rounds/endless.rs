//! The number of rounds of an instant, and the events that trigger each other without end.

use std::collections::HashSet;

use super::{MAX_ROUNDS, Rounds};
use crate::hybrid::outcome::HybridCause;

/// The message about a chain names the events of this number of rounds.
const NAMED: u32 = 50;

impl Rounds {
    /// The number of rounds that may have been executed so far: many events that are `alone` need as many rounds.
    pub(super) fn most_rounds(&self) -> u32 {
        let mut seen = HashSet::new();
        let new = self.executed.iter().filter(|executed| seen.insert(executed.event));
        let mut rounds: Vec<u32> = new.map(|executed| executed.round).collect();
        rounds.dedup();
        MAX_ROUNDS.saturating_add(rounds.len() as u32)
    }

    /// The events of the last rounds, each once.
    pub(super) fn chain(&self, round: u32) -> HybridCause {
        let late = self.executed.iter().filter(|executed| executed.round + NAMED >= round);
        let mut events: Vec<usize> = late.map(|executed| executed.event).collect();
        events.sort_unstable();
        events.dedup();
        HybridCause::Chain { events }
    }
}
