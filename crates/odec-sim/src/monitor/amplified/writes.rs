//! The values that events compute from states. An event may amplify the errors of the states that it reads, and the
//! equations between the events do not show this.

use odec_ode::hybrid::{Executed, HybridEvents, Point, Write, WriteTarget};

use super::MAX_UNKNOWNS;
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
    /// Factor, as a power of e, by which the events together multiply errors of states, as if nothing happened between
    /// them.
    pub growth: f64,
}

/// Errors of all states in their tolerances, as events lead them from one instant to the next.
struct CarriedErrors {
    errors: Vec<f64>,
    growth: f64,
    largest: f64,
}

impl CarriedErrors {
    /// Applies writes whose values have these errors, by position and row, in tolerances of the row.
    fn lead(&mut self, writes: &[Write], error: impl Fn(usize, usize) -> f64) {
        let row = |write: &Write| match write.target {
            WriteTarget::State(row) => Some(row),
            WriteTarget::Discrete(_) => None,
        };
        writes.iter().filter(|write| !write.adds).filter_map(row).for_each(|row| self.errors[row] = 0.0);
        for (at, row) in writes.iter().enumerate().filter_map(|(at, write)| Some((at, row(write)?))) {
            self.errors[row] += error(at, row);
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
        let most = (EVALUATIONS / (bound.problem.y0.len() + 1)).clamp(1, instants.len());
        let mut all = WrittenErrors::default();
        let mut carried = CarriedErrors { errors: vec![1.0; bound.problem.y0.len()], growth: 0.0, largest: 0.0 };
        for k in 0..most {
            let instant = &instants[k * (instants.len() - 1) / (most - 1).max(1)];
            located.show(&instant.modes, &instant.discretes);
            all.add(bound, findings, (&located, instant), &mut carried);
            carried.scale();
        }
        let largest = carried.largest;
        for instant in &findings.stored_instants.first {
            // single instants: errors are not led from one to the next
            let mut alone = CarriedErrors { errors: vec![1.0; bound.problem.y0.len()], growth: 0.0, largest: 0.0 };
            located.show(&instant.modes, &instant.discretes);
            all.add(bound, findings, (&located, instant), &mut alone);
        }
        all.growth = largest * findings.stored_instants.count as f64 / most as f64;
        all
    }

    fn add(
        &mut self,
        bound: &Bound,
        findings: &Findings,
        (located, instant): (&Located, &StoredInstant),
        carried: &mut CarriedErrors,
    ) {
        let StoredInstant { t, y, events, .. } = instant;
        // counters count, and have no errors
        let events: Vec<usize> = events.iter().copied().filter(|event| located.origin(*event).is_some()).collect();
        let writes: Vec<Write> = events.iter().flat_map(|event| located.writes(*event)).copied().collect();
        let (mut values, mut others) = (vec![0.0; writes.len()], vec![0.0; writes.len()]);
        let (mut moved, rtol) = (y.clone(), bound.options.rtol);
        let error = |k: usize| bound.atol(k) + rtol * y[k].abs();
        moved.iter_mut().enumerate().for_each(|(k, v)| *v += error(k));
        if !computed(located, &events, (*t, y), &mut values) || !computed(located, &events, (*t, &moved), &mut others) {
            return;
        }
        if values == others {
            carried.lead(&writes, |_, _| 0.0);
            return;
        }
        let tolerance = |row: usize| bound.atol(row) + rtol * findings.largest[row];
        let mut errors = vec![WrittenError::default(); writes.len()];
        let mut led = vec![0.0; writes.len()];
        moved.copy_from_slice(y);
        for k in 0..y.len() {
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
        carried.lead(&writes, |at, row| led[at] / tolerance(row));
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
    }
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
