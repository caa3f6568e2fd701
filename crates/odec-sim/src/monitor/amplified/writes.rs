//! The values that events compute from states. An event may amplify the errors of the states that it reads, and the
//! equations between the events do not show this.

use odec_ode::hybrid::{Executed, HybridEvents, Point, Write, WriteTarget};

use super::{GROWTH_BY_EVENTS, MAX_UNKNOWNS};
use crate::bind::Bound;
use crate::hybrid::Located;
use crate::monitor::Findings;

/// Largest number of stored instants.
const MAX_INSTANTS: usize = 256;
/// Number of times that each event is stored in addition, and the largest number of such instants: an event that happens
/// rarely may be at none of the other instants.
const FIRST_TIMES: (u32, usize) = (2, 64);
/// Largest number of values of a stored instant: unknowns, discretes and modes.
const MAX_VALUES: usize = 1024;
/// Relative change of a value by its last digits.
const LAST_DIGITS: f64 = 8.0 * f64::EPSILON;
/// Evaluations of all events after a run.
const EVALUATIONS: usize = 1024;

/// An instant at which events were executed, as it was before them.
#[derive(Clone, Debug)]
struct StoredInstant {
    t: f64,
    y: Vec<f64>,
    discretes: Vec<f64>,
    modes: Vec<f64>,
    events: Vec<usize>,
}

impl StoredInstant {
    fn new(before: Point<'_>, events: &[Executed]) -> StoredInstant {
        let Point { t, y, discretes, modes, .. } = before;
        // later rounds read what the first one has written
        let first = events.first().map_or(0, |first| first.round);
        let events = events.iter().filter(|executed| executed.round == first).map(|executed| executed.event);
        let (y, discretes, modes) = (y.to_vec(), discretes.to_vec(), modes.to_vec());
        StoredInstant { t, y, discretes, modes, events: events.collect() }
    }
}

/// Some instants of a run, evenly spaced among all.
#[derive(Clone, Debug, Default)]
pub struct StoredInstants {
    list: Vec<StoredInstant>,
    /// The first instants of each event.
    first: Vec<StoredInstant>,
    /// How often each event is in `first`.
    times: Vec<u32>,
    count: u64,
    /// Every instant whose number is a multiple of 2 to this power is stored.
    doublings: u32,
}

impl StoredInstants {
    /// Adds an instant.
    pub fn add(&mut self, before: Point<'_>, events: &[Executed]) {
        let Point { y, discretes, modes, .. } = before;
        if y.len() > MAX_UNKNOWNS || y.len() + discretes.len() + modes.len() > MAX_VALUES {
            return;
        }
        let number = self.count;
        self.count += 1;
        if self.list.len() == MAX_INSTANTS && number.is_multiple_of(1 << self.doublings) {
            let mut index = 0;
            self.list.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.doublings += 1;
        }
        let known = |event: usize| self.times.get(event).copied().unwrap_or(0);
        let new = events.iter().any(|executed| known(executed.event) < FIRST_TIMES.0);
        if new && self.first.len() < FIRST_TIMES.1 {
            for executed in events {
                if self.times.len() <= executed.event {
                    self.times.resize(executed.event + 1, 0);
                }
                self.times[executed.event] += 1;
            }
            self.first.push(StoredInstant::new(before, events));
        }
        if number.is_multiple_of(1 << self.doublings) {
            self.list.push(StoredInstant::new(before, events));
        }
    }
}

/// Errors of a value that an event computes if all states that it reads are off by one tolerance and nothing cancels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WrittenError {
    /// The error.
    pub error: f64,
    /// Its part that absolute tolerances cause.
    pub of_atol: f64,
}

/// The largest errors of the values that events computed in a run.
#[derive(Debug, Default)]
pub struct WrittenErrors {
    /// For each discrete whose value events compute from states.
    pub discretes: Vec<(usize, WrittenError)>,
    /// The largest error of a state that an event writes, in its tolerances.
    pub states: f64,
    /// Factor, as a power of e, by which the events together multiply errors, as if nothing happened between them.
    pub growth: f64,
    /// The states that events write, with their sizes.
    written_states: Vec<(usize, f64)>,
    /// The same for discretes.
    written_discretes: Vec<(usize, f64)>,
}

/// Errors of all states in their tolerances, and behind them those of the discretes relative to `rtol`, as events lead them
/// from one instant to the next.
struct CarriedErrors {
    /// Number of states.
    n: usize,
    errors: Vec<f64>,
    growth: f64,
    largest: f64,
}

impl CarriedErrors {
    fn new(n: usize, discretes: usize) -> CarriedErrors {
        CarriedErrors { n, errors: vec![1.0; n + discretes], growth: 0.0, largest: 0.0 }
    }

    /// The place of what a write changes.
    fn place(&self, write: &Write) -> usize {
        match write.target {
            WriteTarget::State(row) => row,
            WriteTarget::Discrete(place) => self.n + place,
        }
    }

    /// Applies writes whose values have these errors, by position and place, in tolerances.
    fn lead(&mut self, writes: &[Write], error: impl Fn(usize, usize) -> f64) {
        let places: Vec<usize> = writes.iter().map(|write| self.place(write)).collect();
        writes.iter().zip(&places).filter(|(write, _)| !write.adds).for_each(|(_, place)| self.errors[*place] = 0.0);
        for (at, place) in places.into_iter().enumerate() {
            self.errors[place] += error(at, place);
        }
    }

    /// The errors after an instant; they are scaled to 1, and their growth is kept.
    fn scale(&mut self) {
        let norm = self.errors.iter().fold(0.0, |norm: f64, error| norm.max(error.abs()));
        if norm > 0.0 && norm.is_finite() {
            self.growth += norm.ln();
            self.largest = self.largest.max(self.growth);
            self.errors.iter_mut().for_each(|error| *error /= norm);
        } else {
            // all states have new values, without the errors of the old ones
            self.errors.fill(1.0);
            self.growth = 0.0;
        }
    }
}

impl WrittenErrors {
    /// The errors in a run; empty if events compute nothing from states.
    pub fn of(bound: &Bound, findings: &Findings) -> WrittenErrors {
        let instants = &findings.stored_instants.list;
        let (Some(located), false) = (&bound.located, instants.is_empty()) else { return WrittenErrors::default() };
        let mut located = located.fork();
        let n = bound.problem.y0.len();
        let scales = scales_of_discretes(bound, instants);
        let most = (EVALUATIONS / (n + scales.len() + 1)).clamp(1, instants.len());
        let mut all = WrittenErrors::default();
        let mut carried = CarriedErrors::new(n, scales.len());
        for k in 0..most {
            let instant = &instants[k * (instants.len() - 1) / (most - 1).max(1)];
            located.show(&instant.modes, &instant.discretes);
            all.add((bound, findings, &scales), (&mut located, instant), &mut carried);
            carried.scale();
        }
        let largest = carried.largest;
        for instant in &findings.stored_instants.first {
            // single instants: errors are not led from one to the next
            let mut alone = CarriedErrors::new(n, scales.len());
            located.show(&instant.modes, &instant.discretes);
            all.add((bound, findings, &scales), (&mut located, instant), &mut alone);
        }
        all.growth = largest * findings.stored_instants.count as f64 / most as f64;
        all
    }

    fn add(
        &mut self,
        (bound, findings, scales): (&Bound, &Findings, &[f64]),
        (located, instant): (&mut Located, &StoredInstant),
        carried: &mut CarriedErrors,
    ) {
        let StoredInstant { t, y, events, .. } = instant;
        // counters count, and have no errors
        let events: Vec<usize> = events.iter().copied().filter(|event| located.origin(*event).is_some()).collect();
        let writes: Vec<Write> = events.iter().flat_map(|event| located.writes(*event)).copied().collect();
        let (mut values, mut others) = (vec![0.0; writes.len()], vec![0.0; writes.len()]);
        let (mut moved, rtol) = (y.clone(), bound.options.rtol);
        let error = |k: usize| bound.atol(k) + rtol * y[k].abs();
        if !computed(located, &events, (*t, y), &mut values) {
            return;
        }
        let tolerance = |place: usize| match place.checked_sub(y.len()) {
            None => bound.atol(place) + rtol * findings.largest[place],
            Some(discrete) => scales[discrete],
        };
        let mut led = vec![0.0; writes.len()];
        let mut errors = vec![WrittenError::default(); writes.len()];
        moved.iter_mut().enumerate().for_each(|(k, v)| *v += error(k));
        let by_states = computed(located, &events, (*t, &moved), &mut others) && values != others;
        moved.copy_from_slice(y);
        for k in (0..y.len()).filter(|_| by_states) {
            moved[k] += error(k);
            let known = computed(located, &events, (*t, &moved), &mut others);
            moved[k] = y[k];
            for (sum, (value, other)) in errors.iter_mut().zip(values.iter().zip(&others)).filter(|_| known) {
                let change = (other - value).abs();
                sum.error += change;
                sum.of_atol += if change > 0.0 { change * bound.atol(k) / error(k) } else { 0.0 };
            }
            let slopes = values.iter().zip(&others).map(|(value, other)| (other - value) / (moved_by(y[k], error(k))));
            for (led, slope) in led.iter_mut().zip(slopes).filter(|_| known) {
                *led += slope * carried.errors[k] * tolerance(k);
            }
        }
        Self::add_discretes((*t, y), instant, (located, &events, &values), (scales, carried, &mut led));
        carried.lead(&writes, |at, place| if tolerance(place) > 0.0 { led[at] / tolerance(place) } else { 0.0 });
        for (write, made) in writes.iter().zip(errors).filter(|(_, made)| made.error > 0.0 && made.error.is_finite()) {
            match write.target {
                WriteTarget::State(row) => {
                    self.states = self.states.max(made.error / tolerance(row));
                }
                WriteTarget::Discrete(place) => match self.discretes.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, known)) => {
                        known.error = known.error.max(made.error);
                        known.of_atol = known.of_atol.max(made.of_atol);
                    }
                    None => self.discretes.push((place, made)),
                },
            }
        }
        for write in writes {
            let (list, place, size) = match write.target {
                WriteTarget::State(row) => (&mut self.written_states, row, findings.largest[row]),
                WriteTarget::Discrete(place) => (&mut self.written_discretes, place, scales[place] / rtol),
            };
            if size > 0.0 && !list.iter().any(|(known, _)| *known == place) {
                list.push((place, size));
            }
        }
    }

    /// Adds the errors of values that events compute from discretes.
    fn add_discretes(
        (t, y): (f64, &[f64]),
        instant: &StoredInstant,
        (located, events, values): (&mut Located, &[usize], &[f64]),
        (scales, carried, led): (&[f64], &CarriedErrors, &mut [f64]),
    ) {
        let mut discretes = instant.discretes.clone();
        let mut others = vec![0.0; values.len()];
        for (place, scale) in scales.iter().enumerate().filter(|(_, scale)| **scale > 0.0) {
            let before = discretes[place];
            discretes[place] += scale;
            located.show(&instant.modes, &discretes);
            let known = computed(located, events, (t, y), &mut others);
            let change = moved_by(before, *scale);
            discretes[place] = before;
            for (led, (value, other)) in led.iter_mut().zip(values.iter().zip(&others)).filter(|_| known) {
                *led += (other - value) / change * carried.errors[y.len() + place] * scale;
            }
        }
        located.show(&instant.modes, &instant.discretes);
    }

    /// True if events multiply errors.
    pub fn multiplies(&self) -> bool {
        self.growth >= GROWTH_BY_EVENTS.ln()
    }

    /// Changes what events compute in a run by its last digits at the start. Two runs that make no errors between the
    /// events would otherwise repeat the same rounding errors, however much the events amplify them.
    pub fn change_last_digits(&self, other: &mut Bound) {
        if !self.multiplies() {
            return;
        }
        for (row, size) in &self.written_states {
            other.problem.y0[*row] += LAST_DIGITS * size;
        }
        if let Some(located) = &mut other.located {
            located.add_at_start(
                self.written_discretes.iter().map(|(place, size)| (*place, LAST_DIGITS * size)).collect(),
            );
        }
    }
}

/// For each discrete, `rtol` times its largest size; 0 for one that only has whole numbers, as a counter has, and is exact.
fn scales_of_discretes(bound: &Bound, instants: &[StoredInstant]) -> Vec<f64> {
    let count = instants.first().map_or(0, |instant| instant.discretes.len());
    let of = |place: usize| {
        let values = || instants.iter().map(|instant| instant.discretes[place]);
        let largest = values().fold(0.0f64, |most, v| most.max(v.abs()));
        if values().all(|v| v.fract() == 0.0) || !largest.is_finite() { 0.0 } else { bound.options.rtol * largest }
    };
    (0..count).map(of).collect()
}

/// The change of a value by this error in floating-point numbers.
fn moved_by(value: f64, error: f64) -> f64 {
    (value + error) - value
}

/// Computes the values of these events; false if they have none.
fn computed(located: &Located, events: &[usize], (t, y): (f64, &[f64]), values: &mut [f64]) -> bool {
    let mut rest = values;
    for event in events {
        let (own, others) = rest.split_at_mut(located.writes(*event).len());
        if located.values(*event, t, y, own).is_err() {
            return false;
        }
        rest = others;
    }
    true
}
