//! What is kept of a run, so that it can be judged whether errors grew: some rows, and some ends of steps.

/// Rows that are kept at most.
const ROWS: usize = 1024;
/// Ends of steps that are kept at most.
const STEPS: usize = 256;

/// A state on the way.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// When.
    pub t: f64,
    /// All of it, n values.
    pub y: &'a [f64],
}

/// Every k-th of a sequence: k is twice as large whenever there are too many.
#[derive(Clone, Debug, Default)]
struct Thinned {
    most: usize,
    every: u64,
    next: u64,
    /// n + 1, and so many values for each that is kept.
    width: usize,
    kept: Vec<f64>,
}

impl Thinned {
    fn new(most: usize, n: usize) -> Thinned {
        Thinned { most, every: 1, next: 0, width: n + 1, kept: vec![] }
    }

    /// The element of this number.
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
    /// Of a run of this many unknowns that is looked at.
    pub fn new(n: usize) -> Course {
        Course { rows: Thinned::new(ROWS, n), steps: Thinned::new(STEPS, n), count: 0 }
    }

    /// The run is looked at.
    #[inline]
    pub fn watched(&self) -> bool {
        self.rows.most > 0
    }

    /// A row.
    #[inline]
    pub fn row(&mut self, t: f64, y: &[f64]) {
        if self.watched() {
            self.rows.offer(self.count, t, y);
            self.count += 1;
        }
    }

    /// The end of the step of this number.
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
