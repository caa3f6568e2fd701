//! Work-precision curves: one point per tolerance, and the time to reach an error, interpolated between points.

/// Errors at which times are compared.
pub const ERRORS: [f64; 7] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];

/// Neighbours at tighter tolerances that a point is held against: an error that is smaller than theirs is luck.
const NEIGHBOURS: usize = 2;

/// Point of one tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Relative tolerance.
    pub rtol: f64,
    /// Largest error at the end, relative with a floor.
    pub error: f64,
    /// Milliseconds of the fastest run.
    pub minimum: f64,
    /// Milliseconds of the median run.
    pub median: f64,
    /// Number of runs.
    pub runs: usize,
    /// Number of steps of one run.
    pub steps: u64,
    /// Number of evaluations of f in one run.
    pub f: u64,
}

/// Points of one method of one peer, from loose to tight tolerances.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name of the peer.
    pub peer: &'static str,
    /// Method of the peer.
    pub method: String,
    /// Measured points.
    pub points: Vec<Point>,
    /// Why points are missing.
    pub missing: Option<String>,
}

impl Curve {
    /// Milliseconds to reach `error`; `None` if no tolerance reaches it. For a curve that starts below `error`, the
    /// time of its first point.
    pub fn time(&self, error: f64) -> Option<f64> {
        time(&self.points, error)
    }

    /// Keeps the faster run of each tolerance, of this measurement and another of the same method.
    pub fn keep_faster(&mut self, other: &Curve) {
        for point in &other.points {
            match self.points.iter_mut().find(|p| p.rtol == point.rtol) {
                Some(own) if own.minimum <= point.minimum => own.runs += point.runs,
                Some(own) => *own = Point { runs: own.runs + point.runs, ..*point },
                None => self.points.push(*point),
            }
        }
        self.points.sort_by(|a, b| b.rtol.total_cmp(&a.rtol));
    }

    /// `peer method`
    pub fn label(&self) -> String {
        format!("{} {}", self.peer, self.method)
    }
}

/// Replaces each error by the largest error of the next tighter tolerances, so that a lucky small error does not count.
fn sober(points: &[Point]) -> Vec<(f64, f64)> {
    (0..points.len())
        .map(|k| {
            let end = (k + 1 + NEIGHBOURS).min(points.len());
            let error = points[k..end].iter().map(|p| p.error).fold(0.0, f64::max);
            (error, points[k].minimum)
        })
        .collect()
}

/// Least time at which the curve crosses `error`, interpolated between two points in logarithms.
fn time(points: &[Point], error: f64) -> Option<f64> {
    let points = sober(points);
    let (first, _) = points.first()?;
    if *first <= error {
        return points.first().map(|p| p.1);
    }
    let crossing = |pair: &[(f64, f64)]| {
        let [(e0, t0), (e1, t1)] = pair else { return None };
        if !(*e0 > error && *e1 <= error) {
            return None;
        }
        let part = (e0.ln() - error.ln()) / (e0.ln() - e1.max(f64::MIN_POSITIVE).ln());
        Some((t0.ln() + part * (t1.ln() - t0.ln())).exp())
    };
    points.windows(2).filter_map(crossing).reduce(f64::min)
}

/// Curve with the least time at `error`, and the time.
pub fn best<'a>(curves: impl IntoIterator<Item = &'a Curve>, error: f64) -> Option<(f64, &'a Curve)> {
    let times = curves.into_iter().filter_map(|c| c.time(error).map(|t| (t, c)));
    times.min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::{Curve, Point, best};

    fn curve(points: &[(f64, f64)]) -> Curve {
        let point = |(k, &(error, ms)): (usize, &(f64, f64))| Point {
            rtol: 10f64.powi(-(k as i32)),
            error,
            minimum: ms,
            median: ms,
            runs: 1,
            steps: 1,
            f: 1,
        };
        let points = points.iter().enumerate().map(point).collect();
        Curve { peer: "p", method: "m".into(), points, missing: None }
    }

    #[test]
    fn times_lie_on_the_line_between_points_in_logarithms() {
        let c = curve(&[(1e-2, 1.0), (1e-4, 4.0), (1e-6, 16.0)]);
        assert!((c.time(1e-3).expect("crossed") - 2.0).abs() < 1e-12);
        assert!((c.time(1e-4).expect("crossed") - 4.0).abs() < 1e-12);
        assert!((c.time(1e-5).expect("crossed") - 8.0).abs() < 1e-12);
    }

    #[test]
    fn an_error_beyond_the_last_point_has_no_time() {
        assert_eq!(curve(&[(1e-2, 1.0), (1e-4, 4.0)]).time(1e-5), None);
        assert_eq!(curve(&[]).time(1e-5), None);
    }

    #[test]
    fn an_error_above_the_first_point_costs_what_that_costs() {
        assert_eq!(curve(&[(1e-4, 1.0), (1e-6, 4.0)]).time(1e-3), Some(1.0));
    }

    #[test]
    fn an_accidentally_small_error_is_not_trusted() {
        let lucky = curve(&[(1e-2, 1.0), (1e-9, 2.0), (1e-4, 4.0), (1e-5, 8.0)]);
        let time = lucky.time(1e-4).expect("crossed");
        assert!((2.0..=4.0).contains(&time), "{time}");
        assert_eq!(lucky.time(1e-8), None);
    }

    #[test]
    fn the_faster_run_of_two_measurements_counts() {
        let mut c = curve(&[(1e-2, 1.0), (1e-4, 4.0)]);
        c.keep_faster(&curve(&[(1e-2, 2.0), (1e-4, 3.0), (1e-6, 9.0)]));
        let kept: Vec<_> = c.points.iter().map(|p| (p.error, p.minimum, p.runs)).collect();
        assert_eq!(kept, [(1e-2, 1.0, 2), (1e-4, 3.0, 2), (1e-6, 9.0, 1)]);
    }

    #[test]
    fn the_best_curve_may_differ_from_error_to_error() {
        let (low, high) = (curve(&[(1e-2, 1.0), (1e-4, 100.0)]), curve(&[(1e-2, 4.0), (1e-4, 8.0)]));
        let at = |e| best([&low, &high], e).expect("reached").0;
        assert!((at(1e-2) - 1.0).abs() < 1e-12 && (at(1e-4) - 8.0).abs() < 1e-12);
    }
}
