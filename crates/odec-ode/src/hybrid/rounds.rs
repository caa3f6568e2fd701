//! An instant: rounds of events, until no event is due.
//!
//! ```text
//! loop  every condition that has changed queues its event for t + delay, with its values unless it is late
//!       due: the events queued for t; if there are none, the instant is over
//!       the due events with the highest (priority, rank) form a round: all values are read before one is written
//! ```
//!
//! An `alone` event has a round of its own. If several events are due, a generator with a fixed seed selects one. The
//! order of the other events never matters: two events of a round that set the same quantity are an error, and
//! additions are summed in the order of size.

mod endless;
mod returns;
mod triggers;

use std::collections::VecDeque;

use crate::hybrid::accumulation::{Accumulation, Limit};
use crate::hybrid::derived::InstantDerivatives;
use crate::hybrid::locate::Locator;
use crate::hybrid::modes::{Decided, Landed, Modes, Place};
use crate::hybrid::motion::{EventWrites, Moved};
use crate::hybrid::outcome::{Executed, HybridCause};
use crate::hybrid::stops::{Stops, apart, same, timed};
use crate::hybrid::system::{Event, HybridSystem, Trigger, WriteTarget};
use returns::Returning;

/// Largest number of rounds of an instant in which no event is executed for the first time.
pub const MAX_ROUNDS: u32 = 1_000;

/// An event that waits to be executed.
#[derive(Clone, Debug)]
struct Queued {
    event: usize,
    t: f64,
    /// `None` if the values are read when the event is executed.
    values: Option<Vec<f64>>,
    /// Derivatives of the values with respect to each parameter; those of the time.
    derivatives: Vec<f64>,
    times: Vec<f64>,
}

/// Random numbers, the same in every run: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug, Default)]
struct SplitMix64(u64);

impl SplitMix64 {
    /// A uniform random number in `0..n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// A pool of vectors.
#[derive(Debug, Default)]
struct VectorPool(Vec<Vec<f64>>);

impl VectorPool {
    fn take(&mut self, n: usize) -> Vec<f64> {
        let mut values = self.0.pop().unwrap_or_default();
        values.clear();
        values.resize(n, 0.0);
        values
    }
}

/// A change of a quantity.
#[derive(Clone, Copy, Debug)]
struct Change {
    target: WriteTarget,
    adds: bool,
    value: f64,
    event: usize,
    /// Position of the derivative with respect to the first parameter, and the stride to the next parameter.
    derivative: (usize, usize),
}

/// The outcome of an instant.
#[derive(Debug, Default)]
pub(super) struct InstantOutcome {
    /// A mode, a discrete or the state has changed.
    pub changed: bool,
    /// Event that ends the run; if there are several, the one with the lowest index.
    pub ends: Option<usize>,
    /// Events that accumulate.
    pub limits: Vec<(usize, Limit)>,
}

/// Start of an instant.
pub(super) enum InstantStart {
    /// The start of the run.
    Run,
    /// Time has reached a stop or the surface of a relation.
    Time(Option<Landed>),
    /// Events have accumulated, and their `rest` events are executed instead.
    Rest(Vec<(usize, usize)>),
}

/// The conditions, the queue and the accumulations of a run.
pub(super) struct Rounds {
    was: Vec<bool>,
    /// The conditions at the start of the run.
    held: Vec<bool>,
    now: Vec<bool>,
    /// Pairs of a list of times and its event, in ascending order.
    timed: Vec<(usize, usize)>,
    /// The events that the present instant may trigger.
    candidates: Vec<usize>,
    /// The crossings that have triggered their events at the present instant.
    crossed: Vec<usize>,
    returning: Returning,
    /// Queued events in the order of time, so that due events come first.
    queue: VecDeque<Queued>,
    /// Marks events while the queue is searched.
    is_due: Vec<bool>,
    /// True until the conditions at the start of the run are known.
    begins: bool,
    /// Entries removed from the queue, and due entries that return to it.
    taken: Vec<Queued>,
    left: Vec<Queued>,
    pool: VectorPool,
    accumulations: Vec<Accumulation>,
    changes: Vec<Change>,
    derivatives: Vec<f64>,
    due: Vec<(f64, u32, usize)>,
    chance: SplitMix64,
    /// The events of the instant.
    pub executed: Vec<Executed>,
}

impl Rounds {
    pub fn new(model: &dyn HybridSystem) -> Self {
        let events = model.events().len();
        let list = |(event, of): (usize, &Event)| match of.trigger {
            Trigger::Times(list) => Some((list, event)),
            Trigger::Condition(_) | Trigger::Rest => None,
        };
        let mut timed: Vec<(usize, usize)> = model.events().iter().enumerate().filter_map(list).collect();
        timed.sort_unstable();
        Rounds {
            timed,
            candidates: Vec::with_capacity(events),
            crossed: Vec::new(),
            was: vec![false; events],
            held: vec![],
            now: vec![false; events],
            queue: VecDeque::new(),
            is_due: vec![false; events],
            begins: false,
            taken: Vec::new(),
            left: Vec::new(),
            pool: VectorPool::default(),
            returning: Returning::default(),
            accumulations: vec![Accumulation::default(); events],
            changes: Vec::new(),
            derivatives: Vec::new(),
            due: Vec::new(),
            chance: SplitMix64::default(),
            executed: Vec::new(),
        }
    }

    /// Sets the conditions at the start of a run, from modes found by comparison.
    pub fn begin(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) {
        self.queue.clear();
        self.chance = SplitMix64::default();
        self.accumulations.fill(Accumulation::default());
        self.begins = true;
        model.conditions(t, y, &mut self.was);
        for (was, event) in self.was.iter_mut().zip(model.events()) {
            *was &= !event.from_start;
        }
        self.held.clone_from(&self.was);
    }

    /// For each event, true if its condition held at the start of the run already.
    pub fn held(&self) -> &[bool] {
        &self.held
    }

    /// The time of the next queued event.
    pub fn next(&self) -> Option<f64> {
        self.queue.front().map(|queued| queued.t)
    }

    /// Executes the instant at `t`. `y` becomes its right limit.
    pub fn instant(
        &mut self,
        model: &mut dyn HybridSystem,
        parts: (&mut Modes, &Locator, &mut Stops, &mut InstantDerivatives),
        (t, y, scale): (f64, &mut [f64], f64),
        begins: &InstantStart,
    ) -> Result<InstantOutcome, HybridCause> {
        let (modes, locator, stops, derived) = parts;
        let mut happened = InstantOutcome::default();
        self.executed.clear();
        self.crossed.clear();
        let (mut round, mut most) = (0, MAX_ROUNDS);
        let mut entered = false;
        if let InstantStart::Rest(events) = begins {
            // this must happen before any evaluation at a point beyond the limit
            self.clear();
            // a crossing that has come to rest is not crossed by it
            self.crossed.extend(events.iter().map(|(accumulated, _)| *accumulated));
            modes.evaluate_sides(model, t, y)?;
            for (accumulated, event) in events.iter().copied() {
                if !derived.are_none() {
                    return Err(HybridCause::NoDerivative { event });
                }
                self.accumulations[accumulated] = Accumulation::default();
                self.execute(model, derived, event, None, (t, y))?;
                self.note(event, round, model, &mut happened);
            }
            self.apply(model, (stops, derived), t, y)?;
            modes.written(model, t, y)?;
            happened.changed = true;
            round = 1;
        }
        loop {
            let place = Place { t, y, scale };
            let decided = match begins {
                InstantStart::Time(landed) if !entered => modes.enter(model, locator, place, *landed)?,
                _ if !entered => modes.enter(model, locator, place, None)?,
                _ => modes.follow(model, locator, place, false)?,
            };
            let parts = (&mut *modes, locator, &mut *derived);
            let decided = agree(model, parts, (t, y, scale), decided, round > 0)?;
            let parts = (&mut *modes, locator, &mut *derived);
            let decided = self.keep(model, parts, (t, y, scale), decided, round > 0)?;
            happened.changed |= decided.changed;
            if !entered {
                derived.meet(model, t)?;
            }
            self.trigger(model, (stops, derived), (t, y), !entered)?;
            entered = true;
            if !self.take_due(model, derived, (t, y))? {
                return decided.unsettled.map_or(Ok(happened), Err);
            }
            if round == most {
                most = self.most_rounds();
                if round >= most {
                    return Err(self.chain(round));
                }
            }
            for k in 0..self.due.len() {
                let event = self.due[k].2;
                self.note(event, round, model, &mut happened);
                if model.events()[event].may_accumulate
                    && let Trigger::Condition(_) = model.events()[event].trigger
                    && let Some(limit) = self.accumulations[event].note(t)
                {
                    happened.limits.push((event, limit));
                }
            }
            self.apply(model, (stops, derived), t, y)?;
            happened.changed |= !self.changes.is_empty();
            round += 1;
        }
    }

    /// The events executed at `t` that accumulate, if their next executions are within rounding of each other.
    pub fn at_rounding(&self, t: f64) -> impl Iterator<Item = (usize, Limit)> {
        let all = self.accumulations.iter().enumerate();
        all.filter_map(move |(event, accumulation)| Some((event, accumulation.at_rounding(t)?)))
    }

    /// Removes the accumulation of an event that has come to rest together with another one.
    pub fn forget(&mut self, event: usize) {
        self.accumulations[event] = Accumulation::default();
    }

    fn note(&mut self, event: usize, round: u32, model: &dyn HybridSystem, happened: &mut InstantOutcome) {
        self.executed.push(Executed { event, round });
        if model.events()[event].stops {
            happened.ends = Some(happened.ends.map_or(event, |ends| ends.min(event)));
        }
    }

    /// Selects the due events with the highest priority and rank, each once, into `due`, and adds their changes. False
    /// if no event is due.
    fn take_due(
        &mut self,
        model: &dyn HybridSystem,
        derived: &InstantDerivatives,
        (t, y): (f64, &[f64]),
    ) -> Result<bool, HybridCause> {
        self.due.clear();
        self.clear();
        for queued in self.queue.iter().take_while(|queued| is_due(queued, t)) {
            let event = queued.event;
            if std::mem::replace(&mut self.is_due[event], true) {
                continue;
            }
            let priority = model.priority(event, t, y);
            if priority.is_nan() {
                self.is_due.fill(false);
                return Err(HybridCause::NoValue { event, write: None });
            }
            self.due.push((priority, model.events()[event].rank, event));
        }
        for due in &self.due {
            self.is_due[due.2] = false;
        }
        let by = |a: &(f64, u32, usize), b: &(f64, u32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let Some(highest) = self.due.iter().copied().max_by(by) else { return Ok(false) };
        self.due.retain(|due| by(due, &highest).is_eq());
        self.due.sort_unstable_by_key(|due| due.2);
        self.pick(model);
        self.take_queued(t);
        let mut taken = std::mem::take(&mut self.taken);
        for queued in taken.drain(..) {
            let known = queued.values.map(|values| (values, queued.derivatives));
            self.execute(model, derived, queued.event, known, (t, y))?;
        }
        self.taken = taken;
        Ok(true)
    }

    /// Moves the queue entries of the events in `due` to `taken`, one for each event, in the order of the events.
    fn take_queued(&mut self, t: f64) {
        for due in &self.due {
            self.is_due[due.2] = true;
        }
        let many = self.queue.iter().take_while(|queued| is_due(queued, t)).count();
        for queued in self.queue.drain(..many) {
            let list = if std::mem::take(&mut self.is_due[queued.event]) { &mut self.taken } else { &mut self.left };
            list.push(queued);
        }
        while let Some(queued) = self.left.pop() {
            self.queue.push_front(queued);
        }
        self.taken.sort_unstable_by_key(|queued| queued.event);
    }

    /// If a due event is `alone`, selects one such event, or all events that are not `alone`.
    fn pick(&mut self, model: &dyn HybridSystem) {
        let is_alone = |event: usize| model.events()[event].alone;
        if self.due.len() < 2 || !self.due.iter().any(|due| is_alone(due.2)) {
            return;
        }
        let picked = self.due[self.chance.below(self.due.len())].2;
        if is_alone(picked) {
            self.due.retain(|due| due.2 == picked);
        } else {
            self.due.retain(|due| !is_alone(due.2));
        }
    }

    /// Discards all changes.
    fn clear(&mut self) {
        self.changes.clear();
        self.derivatives.clear();
    }

    /// The events that are queued for this instant, with the derivatives of their times.
    pub fn awaited(&self, t: f64) -> impl Iterator<Item = (usize, &[f64])> {
        let due = self.queue.iter().take_while(move |queued| is_due(queued, t));
        due.map(|queued| (queued.event, &queued.times[..]))
    }

    /// Adds the changes of an event.
    fn execute(
        &mut self,
        model: &dyn HybridSystem,
        derived: &InstantDerivatives,
        event: usize,
        known: Option<(Vec<f64>, Vec<f64>)>,
        (t, y): (f64, &[f64]),
    ) -> Result<(), HybridCause> {
        let writes = &model.events()[event].writes;
        let first = self.derivatives.len();
        let values = match known {
            Some((values, derivatives)) => {
                self.derivatives.extend(derivatives);
                values
            }
            None => {
                self.derivatives.resize(first + derived.parameters() * writes.len(), 0.0);
                derived.values(model, event, (t, y), &mut self.derivatives[first..])?;
                self.pool.values(model, event, t, y)?
            }
        };
        let changes = writes.iter().zip(values.iter().copied()).enumerate();
        self.changes.extend(changes.map(|(k, (write, value))| Change {
            target: write.target,
            adds: write.adds,
            value,
            event,
            derivative: (first + k, writes.len()),
        }));
        self.pool.0.push(values);
        Ok(())
    }

    /// Applies the derivatives of a group of changes to one quantity.
    fn derive(
        &self,
        model: &mut dyn HybridSystem,
        derived: &InstantDerivatives,
        group: &[Change],
        y: &mut [f64],
    ) -> Result<(), HybridCause> {
        for parameter in 0..derived.parameters() {
            let by = |change: &Change| self.derivatives[change.derivative.0 + parameter * change.derivative.1];
            let sum: f64 = group.iter().map(by).sum();
            let sets = !group[0].adds;
            match derived.place(group[0].target, parameter) {
                Some(WriteTarget::State(row)) => y[row] = if sets { sum } else { y[row] + sum },
                Some(WriteTarget::Discrete(position)) => {
                    let place = &mut model.discretes_mut()[position];
                    *place = if sets { sum } else { *place + sum };
                }
                None if sum == 0.0 => {}
                None => return Err(HybridCause::NoDerivative { event: group[0].event }),
            }
        }
        Ok(())
    }

    /// Applies the changes of a round.
    fn apply(
        &mut self,
        model: &mut dyn HybridSystem,
        (stops, derived): (&mut Stops, &InstantDerivatives),
        t: f64,
        y: &mut [f64],
    ) -> Result<(), HybridCause> {
        self.changes.sort_unstable_by(|a, b| {
            let by = a.target.cmp(&b.target).then(a.adds.cmp(&b.adds));
            by.then(a.value.total_cmp(&b.value)).then(a.event.cmp(&b.event))
        });
        for pair in self.changes.windows(2) {
            if pair[0].target == pair[1].target && !pair[0].adds && !pair[1].adds {
                let (a, b) = (pair[0].event, pair[1].event);
                return Err(HybridCause::Conflict { target: pair[0].target, events: [a.min(b), a.max(b)] });
            }
        }
        let mut discretes = false;
        for group in self.changes.chunk_by(|a, b| a.target == b.target) {
            let target = group[0].target;
            self.derive(model, derived, group, y)?;
            let mut value = match target {
                _ if !group[0].adds => group[0].value,
                WriteTarget::State(row) => y[row],
                WriteTarget::Discrete(position) => model.discretes()[position],
            };
            let added: f64 = group.iter().filter(|change| change.adds).map(|change| change.value).sum();
            if group.iter().any(|change| change.adds) {
                value += added;
            }
            match target {
                WriteTarget::State(row) => y[row] = value,
                WriteTarget::Discrete(position) => {
                    model.discretes_mut()[position] = value;
                    discretes = true;
                }
            }
        }
        if discretes {
            // lists of times may depend on the quantities that were written
            let before = model.listing();
            model.refresh();
            if before.is_none() || before != model.listing() {
                timed(model, stops.t_end)?;
                apart(model, (t.next_up(), stops.t_end))?;
                if stops.recount(model, t) {
                    model.refresh();
                }
            }
        }
        Ok(())
    }

    /// The quantities that the last round wrote, with its events.
    fn wrote(&self) -> EventWrites {
        let mut wrote = EventWrites::default();
        for change in &self.changes {
            if let WriteTarget::State(row) = change.target {
                wrote.moves = true;
                if !change.adds {
                    wrote.set.push(row);
                }
            }
            if !wrote.events.contains(&change.event) {
                wrote.events.push(change.event);
            }
        }
        wrote
    }

    /// Projects the state onto the constraints and decides the modes again, until they agree.
    fn keep(
        &self,
        model: &mut dyn HybridSystem,
        (modes, locator, derived): (&mut Modes, &Locator, &mut InstantDerivatives),
        (t, y, scale): (f64, &mut [f64], f64),
        mut decided: Decided,
        written: bool,
    ) -> Result<Decided, HybridCause> {
        if !modes.motion.has_constraints() || !(written || decided.changed || modes.stopped) {
            return Ok(decided);
        }
        let wrote = if written { self.wrote() } else { EventWrites::default() };
        let mut before = model.modes().to_vec();
        for _ in 0..=model.relations().len() {
            match modes.motion.keep(model, (t, y), &wrote) {
                Ok(true) => {}
                Ok(false) => return Ok(decided),
                // an event at this instant may still take the state to a point that satisfies the switched constraints
                Err(cause) if wrote.events.is_empty() => return Ok(Decided { unsettled: Some(cause), ..decided }),
                Err(cause) => return Err(cause),
            }
            before.copy_from_slice(model.modes());
            // without a write, the projection only removes rounding errors: a relation on its surface stays there
            let followed = modes.follow(model, locator, Place { t, y, scale }, !wrote.moves)?;
            let followed = agree(model, (modes, locator, derived), (t, y, scale), followed, written)?;
            decided = Decided { changed: decided.changed || followed.changed, unsettled: followed.unsettled };
            if before == model.modes() {
                return Ok(decided);
            }
        }
        Err(inconsistent(model, &before))
    }
}

/// Solves for algebraic unknowns and decides modes in turns until the unknowns stay the same: relations may read
/// unknowns, which depend on modes.
fn agree(
    model: &mut dyn HybridSystem,
    (modes, locator, derived): (&mut Modes, &Locator, &mut InstantDerivatives),
    (t, y, scale): (f64, &mut [f64], f64),
    mut decided: Decided,
    written: bool,
) -> Result<Decided, HybridCause> {
    if !modes.motion.has_unknowns() {
        return Ok(decided);
    }
    let mut before = model.modes().to_vec();
    for _ in 0..2 * model.relations().len() + 2 {
        let moved = derived.settle(model, &mut modes.motion, (t, y), written)?;
        if moved == Moved::Not {
            return Ok(decided);
        }
        before.copy_from_slice(model.modes());
        let followed = modes.follow(model, locator, Place { t, y, scale }, false)?;
        let changed = before != model.modes();
        decided = Decided { changed: decided.changed || changed || moved == Moved::Far, unsettled: followed.unsettled };
        if moved == Moved::Little && !changed {
            return Ok(decided);
        }
    }
    Err(inconsistent(model, &before))
}

/// The failure with the relations whose modes still change.
fn inconsistent(model: &dyn HybridSystem, before: &[f64]) -> HybridCause {
    let changes = |relation: &usize| before[*relation] != model.modes()[*relation];
    HybridCause::Inconsistent { relations: (0..model.relations().len()).filter(changes).collect() }
}

fn is_due(queued: &Queued, t: f64) -> bool {
    queued.t <= t || same(queued.t, t)
}

impl VectorPool {
    /// The values that an event writes.
    fn values(&mut self, model: &dyn HybridSystem, event: usize, t: f64, y: &[f64]) -> Result<Vec<f64>, HybridCause> {
        let mut values = self.take(model.events()[event].writes.len());
        if model.values(event, t, y, &mut values).is_err() {
            return Err(HybridCause::NoValue { event, write: None });
        }
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            write => Err(HybridCause::NoValue { event, write }),
        }
    }
}
