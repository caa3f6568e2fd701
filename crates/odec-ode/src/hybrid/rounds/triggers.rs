//! Triggers: the events that an instant queues.
//!
//! An instant examines the events whose conditions have changed and those whose times have come. So its cost does not
//! grow with the other events.

use super::{Queued, Rounds};
use crate::hybrid::derived::InstantDerivatives;
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::stops::Stops;
use crate::hybrid::system::{Edge, Event, HybridSystem, Trigger};

/// Conditions are compared with the previous ones in blocks of this number.
const BLOCK: usize = 64;

impl Rounds {
    /// Queues events whose conditions have changed, or whose times have come.
    pub(super) fn trigger(
        &mut self,
        model: &dyn HybridSystem,
        (stops, derived): (&mut Stops, &InstantDerivatives),
        (t, y): (f64, &[f64]),
        first: bool,
    ) -> Result<(), HybridCause> {
        model.conditions(t, y, &mut self.now);
        let Rounds { was, now, queue, begins, .. } = self;
        if std::mem::take(begins) {
            // a run that begins on a surface does not cross it
            let both = |event: &Event| event.trigger == Trigger::Condition(Edge::Both);
            let crossings = was.iter_mut().zip(&*now).zip(model.events()).filter(|(_, event)| both(event));
            crossings.for_each(|((was, now), _)| *was = *now);
        }
        queue.retain(|Queued { event, .. }| !(model.events()[*event].cancel && was[*event] && !now[*event]));
        self.find_candidates(stops, first);
        for k in 0..self.candidates.len() {
            let event = self.candidates[k];
            let of = &model.events()[event];
            let (was, now) = (self.was[event], self.now[event]);
            let fires = match of.trigger {
                Trigger::Condition(Edge::Rising) => now && !was,
                Trigger::Condition(Edge::Falling) => was && !now,
                // after its event, the motion may lead back from the surface: that is the same crossing
                Trigger::Condition(Edge::Both) => was != now && !self.crossed.contains(&event),
                Trigger::Times(list) => first && stops.is_due_now(list),
                Trigger::Rest => false,
            };
            if fires {
                if of.trigger == Trigger::Condition(Edge::Both) {
                    self.crossed.push(event);
                }
                let delay = model.delay(event, t, y);
                if !(delay >= 0.0 && delay.is_finite()) {
                    return Err(HybridCause::Delay { event, delay });
                }
                let values = if of.late { None } else { Some(self.pool.values(model, event, t, y)?) };
                let (mut derivatives, mut times) = (Vec::new(), Vec::new());
                if let Some((_, by)) = model.derived() {
                    derivatives.resize(derived.parameters() * of.writes.len(), 0.0);
                    if !of.late {
                        derived.values(model, event, (t, y), &mut derivatives)?;
                    }
                    let later = |(k, time): (usize, &f64)| time + by.delay_by(event, k, t, y, *time);
                    times.extend(derived.times.iter().enumerate().map(later));
                }
                let (t, later) = (t + delay, self.queue.partition_point(|queued| queued.t <= t + delay));
                self.queue.insert(later, Queued { event, t, values, derivatives, times });
            }
        }
        std::mem::swap(&mut self.was, &mut self.now);
        Ok(())
    }

    /// Puts the events whose conditions differ between `was` and `now` or whose times have come into `candidates`, in
    /// ascending order. The other events cannot be triggered, and nothing else examines them.
    fn find_candidates(&mut self, stops: &Stops, first: bool) {
        let events = &mut self.candidates;
        events.clear();
        for (block, (was, now)) in self.was.chunks(BLOCK).zip(self.now.chunks(BLOCK)).enumerate() {
            if was != now {
                let changes = was.iter().zip(now).enumerate().filter(|(_, (was, now))| was != now);
                events.extend(changes.map(|(k, _)| block * BLOCK + k));
            }
        }
        if first {
            for list in stops.due() {
                let begins = self.timed.partition_point(|(of, _)| of < list);
                events.extend(self.timed[begins..].iter().take_while(|(of, _)| of == list).map(|(_, event)| *event));
            }
            events.sort_unstable();
            events.dedup();
        }
    }
}
