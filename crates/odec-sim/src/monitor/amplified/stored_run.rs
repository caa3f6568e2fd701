//! Data of a run that are stored to see whether errors grew: some rows, some ends of steps, and both ends of some
//! short stretches, whose errors can be measured.

/// Largest number of stored rows.
const ROWS: usize = 1024;
/// Largest number of stored ends of steps.
const STEPS: usize = 256;
/// Largest number of stored stretches.
const MAX_GROUPS: usize = 16;
/// Steps per stretch: few, because they are integrated again, but more than one, because errors of single steps may
/// alternate.
pub const GROUP_STEPS: u64 = 2;

/// A state along the run.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The time.
    pub t: f64,
    /// The n values of the state.
    pub y: &'a [f64],
}

impl At<'_> {
    fn of(values: &[f64]) -> At<'_> {
        At { t: values[0], y: &values[1..] }
    }
}

/// The events that happened up to some time, in any order: two runs are in the same phase if they are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Happened {
    count: f64,
    /// The sum of their indices.
    sum: f64,
}

impl Happened {
    /// Adds an event by its index.
    pub fn add(&mut self, event: usize) {
        self.count += 1.0;
        self.sum += event as f64;
    }
}

/// A stored row.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    /// The state.
    pub at: At<'a>,
    /// The events before it.
    pub happened: Happened,
    /// The number of changes of discretes before it: the time of a row may be a rounding error before that of the event
    /// whose result it has. `None` if it is not known.
    pub changes: Option<usize>,
}

/// A few steps of a run.
#[derive(Clone, Copy, Debug)]
pub struct StepGroup<'a> {
    /// The step before the first of them.
    pub number: u64,
    /// Before them.
    pub from: At<'a>,
    /// After them.
    pub to: At<'a>,
}

/// Every k-th element of a sequence; k doubles when the memory is full.
#[derive(Clone, Debug, Default)]
struct Decimated {
    most: usize,
    every: u64,
    next: u64,
    /// Number of values per stored element.
    width: usize,
    kept: Vec<f64>,
}

impl Decimated {
    fn new(most: usize, width: usize) -> Decimated {
        Decimated { most, every: 1, next: 0, width, kept: vec![] }
    }

    /// Adds the element with this number.
    #[inline]
    fn offer(&mut self, number: u64, t: f64, y: &[f64]) {
        if number >= self.next {
            self.make_space(number);
            self.kept.push(t);
            self.kept.extend_from_slice(y);
        }
    }

    /// Makes space for the element with this number.
    fn make_space(&mut self, number: u64) {
        if self.kept.len() == self.most * self.width {
            for k in 0..self.most / 2 {
                self.kept.copy_within(2 * k * self.width..(2 * k + 1) * self.width, k * self.width);
            }
            self.kept.truncate(self.most / 2 * self.width);
            self.every *= 2;
        }
        self.next = number + self.every;
    }

    fn list(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.kept.chunks_exact(self.width.max(1)).map(At::of)
    }
}

/// Stored rows, ends of steps and stretches, evenly spaced.
#[derive(Clone, Debug, Default)]
pub struct StoredRun {
    rows: Decimated,
    /// The events and the changes of discretes before each stored row.
    events: Decimated,
    steps: Decimated,
    /// The number of the step before each, and both its ends.
    stretches: Decimated,
    /// The stretch that has begun: the number of the step before it, and its start.
    begun: Option<u64>,
    start: Vec<f64>,
    count: u64,
}

impl StoredRun {
    /// Creates the data for a run with n unknowns that odec examines.
    pub fn new(n: usize) -> StoredRun {
        StoredRun {
            rows: Decimated::new(ROWS, n + 1),
            events: Decimated::new(ROWS, 3),
            steps: Decimated::new(STEPS, n + 1),
            stretches: Decimated::new(MAX_GROUPS, 2 * (n + 1) + 1),
            ..StoredRun::default()
        }
    }

    /// True if odec examines the run.
    #[inline]
    pub fn watched(&self) -> bool {
        self.rows.most > 0
    }

    /// Adds a row, before which these events happened and discretes changed so many times, if that is known.
    #[inline]
    pub fn row(&mut self, t: f64, y: &[f64], events: Happened, changes: Option<usize>) {
        if self.watched() {
            self.rows.offer(self.count, t, y);
            let changes = changes.map_or(f64::NAN, |changes| changes as f64);
            self.events.offer(self.count, events.count, &[events.sum, changes]);
            self.count += 1;
        }
    }

    /// Adds the end of the step with this number. Returns the number of steps until the next call if a stretch ends there.
    #[inline]
    pub fn step(&mut self, number: u64, t: f64, y: &[f64]) -> Option<u64> {
        if !self.watched() {
            return None;
        }
        self.steps.offer(number, t, y);
        if let Some(begun) = self.begun.filter(|begun| number >= begun + GROUP_STEPS) {
            self.begun = None;
            // a call that came too late gives no stretch
            if number == begun + GROUP_STEPS {
                self.stretches.make_space(begun);
                self.stretches.kept.push(begun as f64);
                self.stretches.kept.extend_from_slice(&self.start);
                self.stretches.kept.push(t);
                self.stretches.kept.extend_from_slice(y);
            }
        }
        if self.begun.is_none() && number >= self.stretches.next {
            self.begun = Some(number);
            self.start.clear();
            self.start.push(t);
            self.start.extend_from_slice(y);
        }
        self.begun.map(|begun| begun + GROUP_STEPS - number)
    }

    /// An event may have changed the state: the stretch that has begun does not end as its steps do.
    pub fn changed(&mut self) {
        self.begun = None;
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.rows.list()
    }

    /// The rows with what happened before them.
    pub fn full_rows(&self) -> impl Iterator<Item = StoredRow<'_>> {
        self.rows().zip(self.events.list()).map(|(at, events)| StoredRow {
            at,
            happened: Happened { count: events.t, sum: events.y[0] },
            changes: (!events.y[1].is_nan()).then_some(events.y[1] as usize),
        })
    }

    /// The ends of steps.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.steps.list()
    }

    /// The stretches.
    pub fn step_groups(&self) -> impl ExactSizeIterator<Item = StepGroup<'_>> {
        self.stretches.kept.chunks_exact(self.stretches.width.max(1)).map(|values| {
            let (from, to) = values[1..].split_at(values.len() / 2);
            StepGroup { number: values[0] as u64, from: At::of(from), to: At::of(to) }
        })
    }
}
