//! The hybrid system of a model with modes.

use std::sync::PoisonError;

use odec_ode::hybrid::{
    AffineRows, AffineTerms, Derived, Enclosure, Event, EventDerivatives, HybridEvents, HybridRelations, HybridSystem,
    HybridTimes, Relation, RowBound, Times,
};
use odec_ode::system::{EvalError, System};

use super::events::in_order;
use super::interval::Interval;
use super::pieces::{self, PassedKnots};
use super::places::{At, Sum};
use super::{Located, Moved};
use crate::executor::Executor;

impl Located {
    /// Prepares a run from a state: lists of times, and counters by rounding.
    pub(crate) fn begin(&mut self, span: (f64, f64), y: &[f64]) {
        self.span = span;
        self.locate_all();
        self.modes.fill(0.0);
        self.discretes.fill(0.0);
        let initial = self.initial(span.0);
        self.bounds = self.bounds_of(&initial);
        self.places.event_table.start(&initial, &mut self.discretes);
        self.added_at_start.iter().for_each(|(place, added)| self.discretes[*place] += added);
        let at = (span.0, self.executor.parameters(), &self.still[..]);
        self.code.start_derivatives(at, &self.places, &mut self.discretes);
        self.changed = true;
        self.refresh();
        self.measure();
        if self.places.counted.is_empty() || self.untimed.is_some() {
            return;
        }
        // counters may depend on modes that change at known times
        let passed: Vec<u64> = (0..self.lists()).map(|list| self.times(list).passed(span.0)).collect();
        self.at_stops(&passed);
        self.refresh();
        self.compare(span.0, y);
    }

    /// Takes over the parameters of the bound model during a run, with everything that depends on them.
    pub(crate) fn follow_in_run(&mut self, other: &Located) {
        self.follow(other);
        let initial = self.initial(self.span.0);
        self.bounds = self.bounds_of(&initial);
        self.refresh();
        self.measure();
    }

    /// Sets the modes, and the counters of rounded quantities, by comparison at a point.
    pub(crate) fn compare(&mut self, t: f64, y: &[f64]) {
        let m = self.places.relations.len();
        let (mut left, mut right) = (vec![0.0; m], vec![0.0; m]);
        // modes may depend on counters that depend on modes: each round determines at least one more
        for _ in 0..=m {
            if self.sides(t, y, &mut left, &mut right).is_err() {
                return;
            }
            let before = (self.modes.clone(), self.discretes.clone());
            for (k, relation) in self.places.relations.iter().enumerate() {
                let holds = left[k] > right[k] || (relation.or_equal && left[k] == right[k]);
                self.modes[k] = f64::from(u8::from(holds));
            }
            for counted in &self.places.counted {
                let found = pieces::count(counted, self.executor.parameters(), left[counted.up]);
                for (at, value) in counted.discretes.into_iter().zip(found) {
                    self.discretes[at] = value;
                }
            }
            self.refresh();
            if before == (self.modes.clone(), self.discretes.clone()) {
                return;
            }
        }
    }

    /// The discretes of the model as they are at the start, in the parameters of the executor that compares.
    pub(crate) fn start_discretes(&self, t0: f64, executor: &mut Executor) {
        let initial = self.initial(t0);
        let mut all = vec![0.0; self.places.discretes.len()];
        self.places.event_table.start(&initial, &mut all);
        self.code.start_derivatives((t0, self.executor.parameters(), &self.still), &self.places, &mut all);
        self.put_discretes(&all, executor);
    }

    /// Sets the discretes of the model in the parameters of the executor that compares.
    pub(crate) fn put_discretes(&self, all: &[f64], executor: &mut Executor) {
        let layout = executor.layout();
        let start = layout.p_len() - layout.modes - layout.discretes;
        let of_model = start..start + layout.discretes;
        // discretes of the model come first, then counters, which that executor does not have, then derivatives
        let derivatives = self.places.derived.as_ref().map_or(0, |derived| derived.positions.len());
        let model = of_model.len() - derivatives;
        executor.switch(|p| {
            let (own, by) = p[of_model].split_at_mut(model);
            own.copy_from_slice(&all[..model]);
            by.copy_from_slice(&all[all.len() - derivatives..]);
        });
    }

    /// The initial values of the discretes of the model.
    pub(super) fn initial(&self, t0: f64) -> Vec<f64> {
        let routine = &self.code.event_results.initial;
        let mut initial = vec![0.0; routine.len()];
        routine.run(t0, &self.still, self.executor.parameters(), &self.still, &mut initial);
        initial
    }

    /// Shows modes and discretes of a point, for outputs.
    pub(crate) fn show(&mut self, modes: &[f64], discretes: &[f64]) {
        if self.modes != modes || self.discretes != discretes {
            self.modes.copy_from_slice(modes);
            self.discretes.copy_from_slice(discretes);
            self.write();
        }
    }

    /// Writes modes and discretes to the parameter buffer, and updates dependent values.
    pub(super) fn write(&mut self) {
        self.written += 1;
        let Located { executor, places, modes, discretes, .. } = self;
        executor.switch(|p| {
            p[places.discretes.clone()].copy_from_slice(discretes);
            for (compared, mode) in places.compared.iter().zip(&*modes) {
                if let Some(at) = compared.mode {
                    p[at] = *mode;
                }
            }
            for (timed, mode) in places.timed.iter().zip(&modes[places.compared.len()..]) {
                p[timed.mode] = *mode;
            }
        });
        self.pass_on();
    }

    /// Runs a function with working memory for the results of a routine.
    fn with_room<T>(&self, length: usize, run: impl FnOnce(&mut [f64]) -> T) -> T {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut room[..length])
    }

    /// Number of lists of the times at which modes change.
    pub(super) fn own_lists(&self) -> usize {
        self.places.lists()
    }

    /// Passes the right-hand sides, delays and priorities of all events at a point.
    fn with_values<T>(&self, t: f64, y: &[f64], with: impl FnOnce(&[f64]) -> T) -> T {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let results = &self.code.event_results.values;
        let known = read.values.len() == results.len() && read.written == self.written && read.t == t && read.y == y;
        if !known {
            read.values.resize(results.len(), 0.0);
            self.at(t, y, |executor| results.run(t, y, executor.parameters(), &self.still, &mut read.values));
            (read.t, read.written) = (t, self.written);
            read.y.clear();
            read.y.extend_from_slice(y);
        }
        with(&read.values)
    }

    /// Computes the coefficients of the affine relations. They are constant during a run.
    fn measure(&mut self) {
        if self.places.sums.iter().all(Option::is_none) {
            return;
        }
        let mut facts = vec![0.0; self.code.facts.len()];
        self.code.facts.run(0.0, &self.still, self.executor.parameters(), &self.still, &mut facts);
        let row = |sum: &Sum| {
            let terms = sum.terms.iter().map(|(row, at)| (*row, facts[*at])).collect();
            (terms, sum.time.map_or(0.0, |at| facts[at]))
        };
        let known = |(terms, time): &AffineTerms| time.is_finite() && terms.iter().all(|(_, a)| a.is_finite());
        let rows: Vec<Option<AffineTerms>> =
            self.places.sums.iter().map(|sum| sum.as_ref().map(row).filter(known)).collect();
        self.rows = AffineRows::of(&rows);
    }

    /// Makes the lists of times, which depend on parameters and discretes.
    fn list(&mut self) {
        self.changed = false;
        if self.places.event_table.lists() == 0 && self.places.lists() == 0 {
            return;
        }
        if self.places.event_table.lists() > 0 {
            let code = self.code.clone();
            let mut times = vec![0.0; code.event_results.times.len()];
            code.event_results.times.run(0.0, &self.still, self.executor.parameters(), &self.still, &mut times);
            let bits = |of: &[f64]| of.iter().map(|time| time.to_bits()).collect::<Vec<u64>>();
            if self.places.lists() == 0 && self.listing > 0 && code.derivatives.is_none() && bits(&times) == self.bits {
                return;
            }
            self.bits = bits(&times);
            self.untimed = self.places.event_table.list(&times, &mut self.listed);
            if let Some(derivatives) = &code.derivatives {
                let by = derivatives.times(self.executor.parameters(), &self.still);
                self.moved.resize_with(by.len(), Moved::default);
                for (moved, by) in self.moved.iter_mut().zip(by) {
                    moved.listed = self.places.event_table.derived(&times, &by);
                }
            }
        }
        self.listing += 1;
        if self.places.lists() == 0 {
            return;
        }
        let code = self.code.clone();
        let mut facts = vec![0.0; code.facts.len()];
        code.facts.run(0.0, &self.still, self.executor.parameters(), &self.still, &mut facts);
        self.once.clear();
        self.every.clear();
        for times in &self.places.times {
            match *times {
                At::Once(at) if facts[at].is_finite() => self.once.push(facts[at]),
                At::Once(_) => {}
                At::Every(at, period) => self.every.push(comb(facts[at], facts[period].abs(), self.span.0)),
            }
        }
        self.once.sort_unstable_by(f64::total_cmp);
        self.once.dedup();
        if let Some(derivatives) = &code.derivatives {
            let by = derivatives.facts(self.executor.parameters(), &self.still);
            self.moved.resize_with(by.len(), Moved::default);
            for (moved, by) in self.moved.iter_mut().zip(by) {
                moved.of_modes(&self.places.times, &facts, &by, self.span.0);
                let passing = self.places.passing.iter();
                moved.curves = passing.map(|passing| (by[passing.at_zero], by[passing.slope])).collect();
            }
        }
        let Located { curves, places, executor, span, .. } = self;
        curves.resize_with(places.passing.len(), PassedKnots::default);
        for (passed, passing) in curves.iter_mut().zip(&places.passing) {
            passed.list(passing, executor.parameters(), (facts[passing.at_zero], facts[passing.slope]), span.0);
        }
    }
}

impl Moved {
    /// Computes derivatives of the times at which modes change, from the derivatives of the facts.
    fn of_modes(&mut self, times: &[At], facts: &[f64], by: &[f64], t0: f64) {
        self.every.clear();
        let mut once = Vec::new();
        for times in times {
            match *times {
                At::Once(at) => once.push((facts[at], by[at])),
                At::Every(at, period) => {
                    let (size, change) = (facts[period].abs(), by[period] * facts[period].signum());
                    let before = whole_periods(facts[at], size, t0);
                    self.every.push((by[at] + before * change, change));
                }
            }
        }
        let mut once = in_order(once);
        once.dedup_by(|a, b| a.0 == b.0);
        self.once = once.into_iter().map(|pair| pair.1).collect();
    }
}

/// Number of whole periods from `at` to the second-last time before `t0`.
fn whole_periods(at: f64, period: f64, t0: f64) -> f64 {
    ((t0 - at) / period).floor() - 1.0
}

/// First time and period of the times `at + k*period`, from the last one before `t0` on.
fn comb(at: f64, period: f64, t0: f64) -> Option<(f64, f64)> {
    if !(at.is_finite() && period.is_finite() && period > 0.0) {
        return None;
    }
    let from = at + whole_periods(at, period, t0) * period;
    from.is_finite().then_some((from, period))
}

impl HybridSystem for Located {
    fn system(&self) -> &dyn System {
        if self.bounds.is_empty() && self.free.is_none() { &self.executor } else { self }
    }

    fn bounds(&self) -> &[RowBound] {
        &self.bounds
    }

    fn modes(&self) -> &[f64] {
        &self.modes
    }

    fn modes_mut(&mut self) -> &mut [f64] {
        &mut self.modes
    }

    fn discretes(&self) -> &[f64] {
        &self.discretes
    }

    fn discretes_mut(&mut self) -> &mut [f64] {
        self.changed |= self.code.are_times_switched;
        &mut self.discretes
    }

    fn refresh(&mut self) {
        self.write();
        self.update_reads();
        if self.changed {
            self.list();
        }
    }

    fn derived(&self) -> Option<(&Derived, &dyn EventDerivatives)> {
        self.places.derived.as_ref().map(|derived| (derived, self as &dyn EventDerivatives))
    }
}

impl HybridRelations for Located {
    fn relations(&self) -> &[Relation] {
        &self.places.relations
    }

    fn sides(&self, t: f64, y: &[f64], left: &mut [f64], right: &mut [f64]) -> Result<(), EvalError> {
        self.with_room(self.code.sides.len(), |out| {
            self.at(t, y, |executor| self.code.sides.run(t, y, executor.parameters(), &self.still, out));
            for (k, at) in self.places.compared.iter().enumerate() {
                (left[k], right[k]) = (out[at.left], out[at.right]);
                // a quantity in a branch that is not taken may have no value
                if (!self.open[k] || self.free.is_some()) && !(left[k] - right[k]).is_finite() {
                    (left[k], right[k]) = (1.0, 0.0);
                }
            }
        });
        Ok(())
    }

    fn enclose(&self, t: (f64, f64), (low, high): (&[f64], &[f64]), enclosures: &mut [Enclosure]) -> bool {
        if self.free.is_some() {
            return false;
        }
        let y: Vec<Interval> = low.iter().zip(high).map(|(low, high)| Interval::new(*low, *high)).collect();
        let mut out = Vec::new();
        if !self.code.sides.enclose(Interval::new(t.0, t.1), &y, self.executor.parameters(), &mut out) {
            return false;
        }
        for (enclosure, at) in enclosures.iter_mut().zip(&self.places.compared) {
            let (left, right) = (out[at.left], out[at.right]);
            let most = |x: Interval| x.low.abs().max(x.high.abs());
            *enclosure =
                Enclosure { low: left.low - right.high, high: left.high - right.low, size: most(left) + most(right) };
        }
        true
    }

    fn rates(&self, t: f64, y: &[f64], w: &[f64], rates: &mut [f64]) -> Result<(), EvalError> {
        self.with_room(self.code.rates.len(), |out| {
            self.at(t, y, |executor| self.code.rates.run(t, y, executor.parameters(), w, out));
            for (k, (rate, at)) in rates.iter_mut().zip(&self.places.compared).enumerate() {
                *rate =
                    if (self.open[k] && self.free.is_none()) || out[at.rate].is_finite() { out[at.rate] } else { 0.0 };
            }
        });
        Ok(())
    }

    fn is_read(&self, relation: usize) -> bool {
        self.open[relation]
    }

    fn free(&self) -> &[bool] {
        self.free.as_ref().map_or(&[], |free| &free.relations)
    }

    fn may_be_free(&self, relation: usize) -> bool {
        self.may_free(relation)
    }

    fn set_free(&mut self, free: &[bool]) -> bool {
        self.free_only(free);
        self.refresh();
        true
    }

    fn free_modes(&self, t: f64, y: &[f64], modes: &mut [f64]) {
        self.modes_at(t, y, modes);
    }

    fn states_read(&self, relation: usize) -> Option<&[u32]> {
        self.places.states_read(&self.code, (self.still.len(), self.executor.parameters()), relation)
    }

    fn affine(&self) -> Option<&AffineRows> {
        Some(&self.rows)
    }
}

impl HybridEvents for Located {
    fn events(&self) -> &[Event] {
        &self.places.events
    }

    fn conditions(&self, t: f64, y: &[f64], conditions: &mut [bool]) {
        let results = &self.code.event_results.conditions;
        if results.len() > 0 {
            let mut out = vec![0.0; results.len()];
            results.run(t, y, self.executor.parameters(), &self.still, &mut out);
            for (condition, place) in conditions.iter_mut().zip(&self.places.event_table.conditions) {
                *condition = place.is_some_and(|place| out[place] != 0.0);
            }
        }
        let counters = &mut conditions[self.places.event_table.events.len()..];
        for (k, counted) in self.places.counted.iter().enumerate() {
            counters[2 * k] = self.modes[counted.up] != 0.0;
            counters[2 * k + 1] = self.modes[counted.down] != 0.0;
        }
    }

    /// A counter changes by at least one integer. The passed end moves to the quantity, because the location may have
    /// stopped one rounding error before it.
    fn values(&self, event: usize, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let Some(event) = event.checked_sub(self.places.event_table.events.len()) else {
            let slots = &self.places.event_table.slots[event];
            self.with_values(t, y, |all| values.iter_mut().zip(slots).for_each(|(value, slot)| *value = all[*slot]));
            return Ok(());
        };
        let counted = self.places.counted[event / 2];
        let m = self.places.relations.len();
        let (mut left, mut right) = (vec![0.0; m], vec![0.0; m]);
        self.sides(t, y, &mut left, &mut right)?;
        let (u, n) = (left[counted.up], self.discretes[counted.discretes[0]]);
        if counted.knots.is_some() {
            values.copy_from_slice(&pieces::recount(&counted, self.executor.parameters(), u, n, event % 2 == 0));
        } else if event % 2 == 0 {
            let n = u.floor().max(n + 1.0);
            values.copy_from_slice(&[n, n.min(u), n + 1.0]);
        } else {
            let n = u.floor().min(n - 1.0);
            values.copy_from_slice(&[n, n, (n + 1.0).max(u.next_up())]);
        }
        Ok(())
    }

    fn delay(&self, event: usize, t: f64, y: &[f64]) -> f64 {
        let place = self.places.event_table.delays.get(event).copied().flatten();
        place.map_or(0.0, |place| self.with_values(t, y, |all| all[place]))
    }

    /// Counters follow their quantities before events are executed.
    fn priority(&self, event: usize, t: f64, y: &[f64]) -> f64 {
        match self.places.event_table.priorities.get(event) {
            None => f64::MAX,
            Some(place) => place.map_or(0.0, |place| self.with_values(t, y, |all| all[place])),
        }
    }
}

impl HybridTimes for Located {
    fn are_times_fixed(&self) -> bool {
        !self.code.are_times_switched
    }

    fn lists(&self) -> usize {
        self.own_lists() + self.places.event_table.lists()
    }

    fn is_kink(&self, list: usize) -> bool {
        let curve = list.checked_sub(self.places.curves()).and_then(|curve| self.curves.get(curve));
        curve.is_some_and(|passed| !passed.jumps())
    }

    fn listing(&self) -> Option<u64> {
        Some(self.listing)
    }

    fn untimed(&self) -> Option<usize> {
        self.untimed
    }

    fn times(&self, list: usize) -> Times<'_> {
        if let Some(list) = list.checked_sub(self.own_lists()) {
            return self.listed[list].times();
        }
        if let Some(curve) = list.checked_sub(self.places.curves()) {
            return self.curves[curve].times();
        }
        match list.checked_sub(1).map(|k| self.every[k]) {
            None => Times::List(&self.once),
            Some(None) => Times::List(&[]),
            // the next time behind the end of the run determines the middle
            Some(Some((from, period))) => Times::Every { from, period, until: f64::INFINITY },
        }
    }

    /// No mode changes between two consecutive times of all lists of modes: the middle between the last time and the
    /// next is far from both.
    fn at_stops(&mut self, passed: &[u64]) {
        if self.places.timed.is_empty() {
            return;
        }
        let passed = &passed[..self.own_lists().min(passed.len())];
        let (mut last, mut next) = (f64::NEG_INFINITY, f64::INFINITY);
        for (list, passed) in passed.iter().enumerate() {
            let times = self.times(list);
            last = passed.checked_sub(1).and_then(|k| times.get(k)).map_or(last, |t| last.max(t));
            next = times.get(*passed).map_or(next, |t| next.min(t));
        }
        let t = match (last.is_finite(), next.is_finite()) {
            (true, true) => last + 0.5 * (next - last),
            (true, false) => last + last.abs().max(1.0),
            (false, true) => next - next.abs().max(1.0),
            (false, false) => self.span.0,
        };
        let curves = self.places.curves();
        for (passed, count) in self.curves.iter_mut().zip(passed.get(curves..).unwrap_or(&[])) {
            passed.pass(*count, self.span.1);
        }
        self.at_time(t);
    }

    fn at_time(&mut self, t: f64) {
        let mut room = std::mem::take(self.room.get_mut().unwrap_or_else(PoisonError::into_inner));
        let out = &mut room[..self.code.values.len()];
        self.code.values.run(t, &self.still, self.executor.parameters(), &self.still, out);
        let first = self.places.compared.len();
        for (mode, timed) in self.modes[first..].iter_mut().zip(&self.places.timed) {
            *mode = timed.piece.map_or(out[timed.value], |curve| self.curves[curve].piece());
        }
        *self.room.get_mut().unwrap_or_else(PoisonError::into_inner) = room;
    }
}
