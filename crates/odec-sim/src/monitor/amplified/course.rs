//! Stores some rows and some ends of steps of a run, from which odec later estimates the growth of errors.

/// Largest number of stored rows.
const ROWS: usize = 1024;
/// Largest number of stored ends of steps.
const STEPS: usize = 256;

/// A state along the run.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The time.
    pub t: f64,
    /// All n values of the state.
    pub y: &'a [f64],
}

/// Every k-th element of a sequence. If there are too many, k doubles.
#[derive(Clone, Debug, Default)]
struct Thinned {
    most: usize,
    every: u64,
    next: u64,
    /// Number of values of each stored element, n + 1.
    width: usize,
    kept: Vec<f64>,
}

impl Thinned {
    fn new(most: usize, n: usize) -> Thinned {
        Thinned { most, every: 1, next: 0, width: n + 1, kept: vec![] }
    }

    /// Adds the element with this number.
    #[inline]
    fn offer(&mut self, number: u64, t: f64, y: &[f64]) {
        if number >= self.next {
            self.keep(number, t, y);
        }
    }

    fn keep(&mut self, number: u64, t: f64, y: &[f64]) {
        if self.kept.len() == self.most * self.width {
            for k in 0..self.most / 2 {
                self.kept.copy_within(2 * k * self.width..(2 * k + 1) * self.width, k * self.width);
            }
            self.kept.truncate(self.most / 2 * self.width);
            self.every *= 2;
        }
        self.next = number + self.every;
        self.kept.push(t);
        self.kept.extend_from_slice(y);
    }

    fn list(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.kept.chunks_exact(self.width.max(1)).map(|values| At { t: values[0], y: &values[1..] })
    }
}

/// Some rows and some ends of steps, evenly spaced.
#[derive(Clone, Debug, Default)]
pub struct Course {
    rows: Thinned,
    steps: Thinned,
    count: u64,
}

impl Course {
    /// For a run with n unknowns that odec examines.
    pub fn new(n: usize) -> Course {
        Course { rows: Thinned::new(ROWS, n), steps: Thinned::new(STEPS, n), count: 0 }
    }

    /// True if odec examines the run.
    #[inline]
    pub fn watched(&self) -> bool {
        self.rows.most > 0
    }

    /// Adds a row.
    #[inline]
    pub fn row(&mut self, t: f64, y: &[f64]) {
        if self.watched() {
            self.rows.offer(self.count, t, y);
            self.count += 1;
        }
    }

    /// Adds the end of the step with this number.
    #[inline]
    pub fn step(&mut self, number: u64, t: f64, y: &[f64]) {
        if self.watched() {
            self.steps.offer(number, t, y);
        }
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.rows.list()
    }

    /// The ends of steps.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = At<'_>> {
        self.steps.list()
    }
}
