//! The points of a sweep: a grid of ranges, or points drawn from them. A point depends only on its number, so that
//! any thread can compute any of them.

/// Largest number of runs in one process.
pub const MAX_RUNS: u64 = 100_000_000;
/// Largest number of runs of a sweep that is divided into parts.
pub const MAX_POINTS: u64 = 1_000_000_000_000;

/// The spacing of the values of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At equal distances.
    Even,
    /// At equal ratios; both ends are positive.
    Logarithmic,
}

/// The range of values of a parameter or an initial value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRange {
    /// Its name.
    pub name: String,
    /// The first value of a grid, or one end of the interval of random values.
    pub low: f64,
    /// The last value, or the other end.
    pub high: f64,
    /// Number of values on a grid. A grid with one value has the first.
    pub count: u64,
    /// The spacing of the values.
    pub spacing: Spacing,
}

impl ValueRange {
    /// The value at a fraction of the range.
    pub(crate) fn at(&self, fraction: f64) -> f64 {
        let (width, ratio, rest) = (self.high - self.low, self.high / self.low, 1.0 - fraction);
        match self.spacing {
            Spacing::Even if width.is_finite() => self.low + width * fraction,
            Spacing::Even => self.low * rest + self.high * fraction,
            Spacing::Logarithmic if ratio.is_finite() => self.low * ratio.powf(fraction),
            Spacing::Logarithmic => self.low.powf(rest) * self.high.powf(fraction),
        }
    }

    /// The value number `k` of the grid; the ends are exact.
    fn value(&self, k: u64) -> f64 {
        match k {
            0 => self.low,
            k if k + 1 == self.count => self.high,
            k => self.at(k as f64 / (self.count - 1) as f64),
        }
    }
}

/// How a sweep chooses its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// All combinations of the values of the ranges, where the last range varies fastest.
    Grid,
    /// Points drawn from the ranges, each coordinate independently: uniformly, or uniformly in the logarithm.
    Random {
        /// Number of points.
        runs: u64,
        /// The seed of the random numbers.
        seed: u64,
    },
}

/// All points of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    ranges: Vec<ValueRange>,
    design: Design,
    /// Number of the first point.
    first: u64,
    len: u64,
    /// Number of points of the whole sweep.
    whole: u64,
    /// Coordinates of the points of a list, point after point; empty for a grid or random points.
    listed: Vec<f64>,
}

impl Points {
    /// The points; `None` if there are more than [`MAX_POINTS`].
    pub fn new(ranges: Vec<ValueRange>, design: Design) -> Option<Points> {
        let len = match design {
            Design::Grid => ranges.iter().try_fold(1u64, |n, range| n.checked_mul(range.count))?,
            Design::Random { runs, .. } => runs,
        };
        (len <= MAX_POINTS).then_some(Points { ranges, design, first: 0, len, whole: len, listed: Vec::new() })
    }

    /// The points of a list: `values` has the coordinates point by point, in the order of `names`. `None` if there
    /// are more than [`MAX_RUNS`] points, or if the last point is incomplete.
    pub fn listed(names: &[String], values: Vec<f64>) -> Option<Points> {
        let each = names.len();
        let len = values.len().checked_div(each)? as u64;
        if !values.len().is_multiple_of(each) || len > MAX_RUNS {
            return None;
        }
        let range = |(k, name): (usize, &String)| {
            let own = values.iter().skip(k).step_by(each);
            let (low, high) = own.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
            ValueRange { name: name.clone(), low, high, count: len, spacing: Spacing::Even }
        };
        let ranges = names.iter().enumerate().map(range).collect();
        Some(Points { ranges, design: Design::Grid, first: 0, len, whole: len, listed: values })
    }

    /// Part `k` (from 0) of `n` parts of nearly equal size. It has the same points and ranges as the whole sweep.
    pub fn part(self, k: u64, n: u64) -> Points {
        // the product of two 64-bit numbers fits
        let border = |k: u64| (u128::from(k) * u128::from(self.len) / u128::from(n.max(1))) as u64;
        let (begin, end) = (border(k), border(k + 1));
        let each = self.ranges.len();
        let listed = self.listed.get(begin as usize * each..end as usize * each).unwrap_or_default().to_vec();
        // a list contains only its own points
        let first = if self.listed.is_empty() { self.first + begin } else { 0 };
        Points { first, len: end - begin, listed, ..self }
    }

    /// The same points as a part of a sweep of `whole` points, over ranges with these ends.
    pub fn of_whole(mut self, whole: u64, ends: &[(f64, f64)]) -> Points {
        for (range, (low, high)) in self.ranges.iter_mut().zip(ends) {
            (range.low, range.high) = (*low, *high);
        }
        Points { whole, ..self }
    }

    /// Number of the first point in the whole sweep.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of points of the whole sweep.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Number of points.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The quantities that vary, with their ranges.
    pub fn ranges(&self) -> &[ValueRange] {
        &self.ranges
    }

    /// The names of the quantities that vary.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ranges.iter().map(|range| range.name.as_str())
    }

    /// Everything that determines the points of the whole sweep, the same for each part.
    pub fn described(&self) -> String {
        format!("{:?} {:?} {:?}", self.ranges, self.design, self.listed)
    }

    /// The coordinates of point `k`, one for each range.
    pub fn fill(&self, k: u64, point: &mut [f64]) {
        if !self.listed.is_empty() {
            let each = self.ranges.len();
            point.copy_from_slice(&self.listed[k as usize * each..][..each]);
            return;
        }
        let k = self.first + k;
        match self.design {
            Design::Grid => {
                let mut rest = k;
                for (range, x) in self.ranges.iter().zip(point.iter_mut()).rev() {
                    *x = range.value(rest % range.count.max(1));
                    rest /= range.count.max(1);
                }
            }
            Design::Random { seed, .. } => {
                let each = self.ranges.len() as u64;
                for (j, (range, x)) in self.ranges.iter().zip(point).enumerate() {
                    *x = range.at(uniform(seed, k.wrapping_mul(each).wrapping_add(j as u64)));
                }
            }
        }
    }
}

/// Number `k` of a sequence of uniform numbers in [0, 1): SplitMix64 (Steele, Lea and Flood 2014) with a scrambled
/// seed. Its k-th state can be computed directly.
pub(crate) fn uniform(seed: u64, k: u64) -> f64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let state = scrambled(seed).wrapping_add(GOLDEN.wrapping_mul(k.wrapping_add(1)));
    (scrambled(state) >> 11) as f64 / (1u64 << 53) as f64
}

/// The output function of SplitMix64.
fn scrambled(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Design, MAX_POINTS, Points, Spacing, ValueRange};

    fn range(low: f64, high: f64, count: u64, spacing: Spacing) -> ValueRange {
        ValueRange { name: "k".into(), low, high, count, spacing }
    }

    fn list(points: &Points) -> Vec<Vec<f64>> {
        (0..points.len())
            .map(|k| {
                let mut point = vec![f64::NAN; points.ranges().len()];
                points.fill(k, &mut point);
                point
            })
            .collect()
    }

    #[test]
    fn ranges_as_wide_as_numbers_go_have_finite_points() {
        let ends = [(-f64::MAX, f64::MAX, Spacing::Even), (f64::MIN_POSITIVE, f64::MAX, Spacing::Logarithmic)];
        for (low, high, spacing) in ends {
            let points = Points::new(vec![range(low, high, 5, spacing)], Design::Grid).expect("few");
            let found: Vec<f64> = list(&points).concat();
            assert!(found.is_sorted() && found.iter().all(|x| x.is_finite()), "{found:?}");
            let middle = if spacing == Spacing::Even { 0.0 } else { 2.0 };
            assert!((found[2] - middle).abs() <= 1e-9, "{found:?}");
        }
    }

    #[test]
    fn parts_have_the_points_of_the_whole() {
        let ranges = || vec![range(1.0, 100.0, 7, Spacing::Logarithmic), range(0.1, 0.3, 3, Spacing::Even)];
        let drawn = Design::Random { runs: 10, seed: 7 };
        let names = ["a".to_owned(), "b".to_owned()];
        let wholes = [
            Points::new(ranges(), Design::Grid).expect("few"),
            Points::new(ranges(), drawn).expect("few"),
            Points::listed(&names, (0..26).map(f64::from).collect()).expect("few"),
        ];
        for whole in wholes {
            for n in [1, 2, 3, 5, 40] {
                let parts: Vec<Points> = (0..n).map(|k| whole.clone().part(k, n)).collect();
                let found: Vec<Vec<f64>> = parts.iter().flat_map(list).collect();
                assert_eq!(found, list(&whole), "{n} parts");
                assert!(parts.iter().all(|part| part.ranges() == whole.ranges() && part.whole() == whole.len()));
                let sizes: Vec<u64> = parts.iter().map(Points::len).collect();
                assert!(sizes.iter().max().unwrap_or(&0) - sizes.iter().min().unwrap_or(&0) <= 1, "{sizes:?}");
            }
        }
    }

    #[test]
    fn a_grid_has_every_combination_and_exact_ends() {
        let ranges = vec![range(1.0, 100.0, 3, Spacing::Logarithmic), range(0.1, 0.3, 2, Spacing::Even)];
        let points = Points::new(ranges, Design::Grid).expect("few");
        let found = list(&points);
        assert_eq!(found.len(), 6);
        assert_eq!(found[0], [1.0, 0.1]);
        assert_eq!(found[1], [1.0, 0.3]);
        assert!((found[2][0] - 10.0).abs() < 1e-14);
        assert_eq!(found[5], [100.0, 0.3]);
        let one = Points::new(vec![range(2.0, 7.0, 1, Spacing::Even)], Design::Grid).expect("one");
        assert_eq!(list(&one), [[2.0]]);
    }

    #[test]
    fn drawn_points_fill_their_ranges_evenly_and_follow_the_seed() {
        let ranges = || vec![range(-1.0, 3.0, 1, Spacing::Even), range(1e-4, 1e4, 1, Spacing::Logarithmic)];
        let drawn = |seed| list(&Points::new(ranges(), Design::Random { runs: 4000, seed }).expect("few"));
        let first = drawn(1);
        assert_eq!(first, drawn(1));
        assert_ne!(first, drawn(2));
        for (j, unit) in [|p: &[f64]| (p[0] + 1.0) / 4.0, |p: &[f64]| (p[1].log10() + 4.0) / 8.0].iter().enumerate() {
            let values: Vec<f64> = first.iter().map(|p| unit(p)).collect();
            assert!(values.iter().all(|u| (0.0..1.0).contains(u)), "{j}");
            let mean = values.iter().sum::<f64>() / 4000.0;
            // the mean of 4000 uniform numbers has a standard deviation of 0.0046
            assert!((mean - 0.5).abs() < 0.02, "{j}: {mean}");
            for tenth in 0..10 {
                let here = values.iter().filter(|u| (**u * 10.0) as usize == tenth).count();
                assert!((300..500).contains(&here), "{j}: {here} of 4000 in tenth {tenth}");
            }
        }
    }

    #[test]
    fn listed_points_come_back_in_their_order() {
        let names = ["k".to_string(), "x".to_string()];
        let points = Points::listed(&names, vec![1.0, 9.0, 5.0, -2.0, 3.0, 4.0]).expect("three points");
        assert_eq!(list(&points), [[1.0, 9.0], [5.0, -2.0], [3.0, 4.0]]);
        let ends: Vec<_> = points.ranges().iter().map(|r| (r.name.as_str(), r.low, r.high)).collect();
        assert_eq!(ends, [("k", 1.0, 5.0), ("x", -2.0, 9.0)]);
        assert!(Points::listed(&names, vec![1.0, 2.0, 3.0]).is_none());
        assert!(Points::listed(&[], vec![]).is_none());
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let of = |count| Points::new(vec![range(0.0, 1.0, count, Spacing::Even)], Design::Grid);
        assert!(of(MAX_POINTS).is_some());
        assert!(of(MAX_POINTS + 1).is_none());
        // the parts of a long sweep are its points, up to the last one
        let parts = 12_345;
        let last = of(MAX_POINTS).map(|points| points.part(parts - 1, parts)).expect("a part");
        let (mut end, mut before) = ([0.0], [0.0]);
        last.fill(last.len() - 1, &mut end);
        last.fill(last.len() - 2, &mut before);
        assert_eq!((last.first() + last.len(), end[0]), (MAX_POINTS, 1.0));
        assert!(before[0] < 1.0 && 1.0 - before[0] < 2.0 / MAX_POINTS as f64);
        let wide = vec![range(0.0, 1.0, u64::MAX, Spacing::Even), range(0.0, 1.0, 3, Spacing::Even)];
        assert!(Points::new(wide, Design::Grid).is_none());
    }
}
