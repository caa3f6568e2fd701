//! The sizes of outputs along a run. A short transient does not count: where an output is small afterwards, its error is
//! measured by its size there.

/// One row of so many may belong to a transient, at each end of the run and in it.
const ROWS_PER_TRANSIENT: usize = 50;
/// With fewer rows, the largest value is the size.
const FEWEST_ROWS: usize = 10;
/// The size outside a transient counts only if the output keeps it: if its median is at least this fraction. A flux that
/// decays during the whole run has no other size than its largest one.
const KEPT: f64 = 0.1;
/// An output has a transient if the size outside it is below this fraction of the largest value.
const LARGE_TRANSIENT: f64 = 0.5;
/// Largest number of stored values; with more, the largest value is the size.
const MAX_STORED: usize = 1 << 20;

/// Sizes of outputs in the rows of a run.
pub(super) struct Sizes {
    /// Number of outputs.
    count: usize,
    /// Their absolute values in each row; empty if only the largest are known.
    values: Vec<f64>,
    /// The largest finite value of each output.
    largest: Vec<f64>,
    /// The largest value outside a transient.
    usual: Vec<f64>,
}

impl Sizes {
    /// The sizes for so many outputs; `rows` is the number of rows that will be added.
    pub fn new(count: usize, rows: usize) -> Sizes {
        let stored = rows >= FEWEST_ROWS && rows.saturating_mul(count) <= MAX_STORED;
        let values = Vec::with_capacity(if stored { rows * count } else { 0 });
        Sizes { count, values, largest: vec![0.0; count], usual: vec![] }
    }

    /// Adds a row.
    pub fn add(&mut self, outputs: &[f64]) {
        let size = |v: &f64| if v.is_finite() { v.abs() } else { 0.0 };
        self.largest.iter_mut().zip(outputs).for_each(|(largest, v)| *largest = largest.max(size(v)));
        if self.values.capacity() > 0 {
            self.values.extend(outputs[..self.count].iter().map(size));
        }
    }

    /// Determines the sizes outside transients, after the last row.
    pub fn finish(&mut self) {
        let left_out = self.left_out();
        let usual = |place: usize| {
            let mut all: Vec<f64> = self.values.iter().skip(place).step_by(self.count).copied().collect();
            all.sort_by(|a, b| b.total_cmp(a));
            let usual = all.get(left_out).copied().filter(|size| *size > 0.0 && all[all.len() / 2] >= KEPT * size);
            usual.unwrap_or(self.largest[place])
        };
        self.usual = (0..self.count).map(usual).collect();
    }

    fn left_out(&self) -> usize {
        (self.values.len() / self.count.max(1)).div_ceil(ROWS_PER_TRANSIENT)
    }

    /// The largest value of an output in all rows.
    pub fn largest(&self, place: usize) -> f64 {
        self.largest[place]
    }

    /// The largest value of an output outside transients.
    pub fn usual(&self, place: usize) -> f64 {
        self.usual[place]
    }

    /// The size of an output in a row: its largest value outside transients, or in this and the rows beside it.
    pub fn near(&self, row: usize, place: usize) -> f64 {
        let beside = self.left_out();
        let (from, to) = (row.saturating_sub(beside), row + beside);
        let values = (from..=to).filter_map(|row| self.values.get(row * self.count + place));
        values.fold(self.usual[place], |most, v| most.max(*v))
    }

    /// True if a transient of the output is clearly larger than the rest.
    pub fn has_transient(&self, place: usize) -> bool {
        self.usual[place] < LARGE_TRANSIENT * self.largest[place]
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    fn sizes(all: &[f64]) -> Sizes {
        let mut sizes = Sizes::new(1, all.len());
        for v in all {
            sizes.add(&[*v]);
        }
        sizes.finish();
        sizes
    }

    #[test]
    fn a_transient_counts_only_beside_it() {
        let mut all = vec![1.0; 100];
        all[0] = 1e5;
        let found = sizes(&all);
        assert_eq!((found.largest(0), found.usual(0), found.has_transient(0)), (1e5, 1.0, true));
        assert_eq!((found.near(1, 0), found.near(50, 0)), (1e5, 1.0));
    }

    #[test]
    fn an_output_that_decays_has_its_largest_size() {
        let all: Vec<f64> = (0..100).map(|k| (-0.1 * f64::from(k)).exp()).collect();
        assert_eq!(sizes(&all).usual(0), 1.0);
    }

    #[test]
    fn the_rows_around_an_extremum_are_no_transient() {
        let all: Vec<f64> = (0..100).map(|k| (0.1 * f64::from(k)).sin()).collect();
        let found = sizes(&all);
        assert!(found.usual(0) < found.largest(0) && !found.has_transient(0));
    }

    #[test]
    fn few_rows_and_single_values_have_the_largest_size() {
        assert!(!sizes(&[5.0, 1.0, 1.0]).has_transient(0));
        let mut all = vec![0.0; 100];
        all[40] = 3.0;
        assert!(!sizes(&all).has_transient(0));
        assert_eq!(sizes(&all).usual(0), 3.0);
    }
}
