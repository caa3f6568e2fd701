//! Samples as a curve of pieces, each a polynomial of the distance from its start.

use odec_ir::builtin::lookup;

use super::spline::{monotone_slopes, spline_slopes};
use super::{Interpolation, Outside};

/// Largest number of samples of an input.
pub const MAX_SAMPLES: usize = 4_000_000;
/// Smallest distance of two times, in units of rounding of the larger one: a run treats closer times as equal.
pub const MIN_SPACING: f64 = 16.0;

/// Distance from an end of the data within which a run counts as stopped by that end.
const NEAR: f64 = 1e-12;

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The starts of the pieces, and the end of the last one, ascending. Those of a clamped curve extend to infinity.
    pub knots: Vec<f64>,
    /// For each power and piece: the coefficient of the distance from the origin of the piece.
    pub coefficients: Vec<Vec<f64>>,
    /// The origin of each piece; empty if pieces are constant.
    pub origins: Vec<f64>,
    /// First and last time of the samples.
    pub span: (f64, f64),
    /// Between two samples.
    pub between: Interpolation,
    /// The value outside all pieces.
    pub outside: Outside,
}

/// Why samples do not define a curve, with the number of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveError {
    /// Too few samples.
    TooFew(usize),
    /// Too many samples.
    TooMany(usize),
    /// A time is not a finite number.
    Time(usize),
    /// A value is not a finite number.
    Value(usize),
    /// A time is not later than the previous one.
    Order(usize),
    /// A time is equal to the previous one.
    Twice(usize),
    /// A time is equal to the previous one up to rounding.
    Close(usize),
    /// The last value differs from the first one.
    Period(usize),
    /// The slope of a piece exceeds the range of numbers.
    Steep(usize),
}

impl CurveError {
    /// The index of the sample, from 0; `None` if the number of samples is wrong.
    pub fn at(self) -> Option<usize> {
        match self {
            CurveError::TooFew(_) | CurveError::TooMany(_) => None,
            CurveError::Time(k)
            | CurveError::Value(k)
            | CurveError::Order(k)
            | CurveError::Twice(k)
            | CurveError::Close(k)
            | CurveError::Period(k)
            | CurveError::Steep(k) => Some(k),
        }
    }

    /// A description, given the times.
    pub fn says(self, times: &[f64]) -> String {
        let time = |k: usize| times.get(k).copied().unwrap_or(f64::NAN);
        match self {
            CurveError::TooFew(1) => "there is only 1 sample; a curve needs 2".to_owned(),
            CurveError::TooFew(n) => format!("there are only {n} samples; a curve needs 2"),
            CurveError::TooMany(n) => format!("{n} samples exceed the limit of {MAX_SAMPLES}"),
            CurveError::Time(_) => "a time is not a finite number".to_owned(),
            CurveError::Value(k) => format!("the value at {} is not a finite number", time(k)),
            CurveError::Order(k) => format!("the time {} comes after {}", time(k), time(k - 1)),
            CurveError::Twice(k) => format!("the time {} occurs twice", time(k)),
            CurveError::Close(k) => format!("the times {} and {} differ only by rounding", time(k - 1), time(k)),
            CurveError::Period(_) => "the curve is periodic, but its last value differs from its first one".to_owned(),
            CurveError::Steep(k) => format!("the slope of the curve at {} overflows", time(k)),
        }
    }

    /// Advice to the user.
    pub fn help(self) -> &'static str {
        match self {
            CurveError::TooFew(_) => "write a constant as a `param`",
            CurveError::TooMany(_) => "remove redundant samples",
            CurveError::Time(_) | CurveError::Value(_) => "remove the sample: odec interpolates between its neighbours",
            CurveError::Order(_) => "sort the samples by time",
            CurveError::Twice(_) | CurveError::Close(_) => "keep one of the two samples; for a jump, use `hold`",
            CurveError::Period(_) => {
                "the last sample is the first one of the next period: give it the same value, or add such a sample"
            }
            CurveError::Steep(_) => "check the units of the times and values",
        }
    }
}

impl Curve {
    /// The curve through samples.
    ///
    /// # Errors
    /// Times do not increase, a number is not finite, or there are too few or too many samples.
    pub fn of(times: &[f64], values: &[f64], between: Interpolation, outside: Outside) -> Result<Curve, CurveError> {
        check(times, values, outside)?;
        let pieces = times.len() - 1;
        let (widths, chords) = chords(times, values);
        let slopes = match between {
            Interpolation::Hold => Vec::new(),
            Interpolation::Linear => chords.clone(),
            Interpolation::Cubic => monotone_slopes(&widths, &chords, outside == Outside::Periodic),
            Interpolation::Spline => spline_slopes(&widths, &chords, outside == Outside::Periodic),
        };
        let mut coefficients = vec![values[..pieces].to_vec()];
        match between {
            Interpolation::Hold => {}
            Interpolation::Linear => coefficients.push(slopes),
            Interpolation::Cubic | Interpolation::Spline => {
                let by_piece = |of: &dyn Fn(f64, f64, f64, f64) -> f64| {
                    (0..pieces).map(|k| of(widths[k], chords[k], slopes[k], slopes[k + 1])).collect::<Vec<f64>>()
                };
                coefficients.push(slopes[..pieces].to_vec());
                coefficients.push(by_piece(&|h, chord, a, b| (3.0 * chord - 2.0 * a - b) / h));
                coefficients.push(by_piece(&|h, chord, a, b| (a + b - 2.0 * chord) / (h * h)));
            }
        }
        let steep = |list: &Vec<f64>| list.iter().position(|x| !x.is_finite());
        if let Some(k) = coefficients.iter().find_map(steep) {
            return Err(CurveError::Steep(k));
        }
        let mut curve = Curve {
            knots: times.to_vec(),
            coefficients,
            origins: if between == Interpolation::Hold { Vec::new() } else { times[..pieces].to_vec() },
            span: (times[0], times[pieces]),
            between,
            outside,
        };
        curve.end(values);
        Ok(curve)
    }

    /// The curve of an input whose file was not read: it has no value anywhere.
    pub(crate) fn unread() -> Curve {
        Curve {
            knots: vec![f64::NEG_INFINITY, f64::INFINITY],
            coefficients: vec![vec![f64::NAN]],
            origins: Vec::new(),
            span: (f64::NEG_INFINITY, f64::INFINITY),
            between: Interpolation::Hold,
            outside: Outside::Clamp,
        }
    }

    /// Adds the pieces outside the samples.
    fn end(&mut self, values: &[f64]) {
        let (first, last) = (values[0], values[values.len() - 1]);
        match self.outside {
            Outside::Periodic => {}
            // the last value applies only to the last time
            Outside::Nothing if self.between == Interpolation::Hold => {
                self.knots.push(self.span.1);
                self.coefficients[0].push(last);
            }
            Outside::Nothing => {}
            Outside::Clamp => {
                self.knots.insert(0, f64::NEG_INFINITY);
                self.knots.push(f64::INFINITY);
                for (power, list) in self.coefficients.iter_mut().enumerate() {
                    list.insert(0, if power == 0 { first } else { 0.0 });
                    list.push(if power == 0 { last } else { 0.0 });
                }
                if !self.origins.is_empty() {
                    self.origins.insert(0, self.span.0);
                    self.origins.push(self.span.1);
                }
            }
        }
    }

    /// The piece at an argument, and the shift by whole periods; `None` outside all pieces.
    pub fn piece(&self, u: f64) -> Option<(usize, f64)> {
        let pieces = self.coefficients[0].len();
        if self.outside == Outside::Periodic {
            let number = lookup::cycle(&self.knots, u);
            let periods = (number / pieces as f64).floor();
            let k = number - periods * pieces as f64;
            return k.is_finite().then_some((k as usize, periods * self.period()));
        }
        let k = lookup::piece(&self.knots, u);
        k.is_finite().then_some((k as usize, 0.0))
    }

    /// True at an end of the data (up to rounding) beyond which there is no value.
    pub fn ends_at(&self, u: f64) -> bool {
        let near = |end: f64| (u - end).abs() <= NEAR * (end.abs() + self.period());
        self.outside == Outside::Nothing && (near(self.span.0) || near(self.span.1))
    }

    /// Length of a period.
    pub fn period(&self) -> f64 {
        self.span.1 - self.span.0
    }
}

/// The first mistake.
fn check(times: &[f64], values: &[f64], outside: Outside) -> Result<(), CurveError> {
    let n = times.len();
    if n < 2 {
        return Err(CurveError::TooFew(n));
    }
    if n > MAX_SAMPLES {
        return Err(CurveError::TooMany(n));
    }
    for k in 0..n {
        if !times[k].is_finite() {
            return Err(CurveError::Time(k));
        }
        if !values[k].is_finite() {
            return Err(CurveError::Value(k));
        }
        let Some(before) = k.checked_sub(1).map(|before| times[before]) else { continue };
        let size = times[k].abs().max(before.abs());
        if times[k] < before {
            return Err(CurveError::Order(k));
        } else if times[k] == before {
            return Err(CurveError::Twice(k));
        } else if times[k] - before < MIN_SPACING * (size.next_up() - size) {
            return Err(CurveError::Close(k));
        }
    }
    if outside == Outside::Periodic && values[0] != values[n - 1] {
        return Err(CurveError::Period(n - 1));
    }
    Ok(())
}

/// Widths and slopes of the straight lines between samples.
fn chords(times: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let widths: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let chords = values.windows(2).zip(&widths).map(|(pair, h)| (pair[1] - pair[0]) / h).collect();
    (widths, chords)
}

#[cfg(test)]
mod tests {
    use super::{Curve, CurveError, Interpolation, Outside};

    /// The value at a time, piece by piece from the definition.
    fn value(curve: &Curve, t: f64) -> f64 {
        let k = curve.knots.partition_point(|knot| *knot <= t).clamp(1, curve.knots.len() - 1) - 1;
        let dx = curve.origins.get(k).map_or(0.0, |origin| t - origin);
        curve.coefficients.iter().rev().fold(0.0, |sum, list| sum * dx + list[k])
    }

    #[test]
    fn every_curve_goes_through_its_samples() {
        let (times, values) = ([0.0, 1.0, 3.0, 3.5, 7.0], [2.0, -1.0, 4.0, 4.0, 2.0]);
        for between in [Interpolation::Hold, Interpolation::Linear, Interpolation::Cubic, Interpolation::Spline] {
            for outside in [Outside::Nothing, Outside::Clamp, Outside::Periodic] {
                let curve = Curve::of(&times, &values, between, outside).unwrap();
                for (k, t) in times.iter().enumerate().take(4) {
                    assert!((value(&curve, *t) - values[k]).abs() < 1e-12, "{between:?} {outside:?} {t}");
                    if between != Interpolation::Hold && k > 0 {
                        assert!((value(&curve, t.next_down()) - values[k]).abs() < 1e-12, "{between:?} {t}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_cubic_stays_between_its_samples() {
        let (times, values) = ([0.0, 1.0, 1.1, 5.0, 6.0], [0.0, 0.0, 10.0, 10.0, 3.0]);
        let curve = Curve::of(&times, &values, Interpolation::Cubic, Outside::Nothing).unwrap();
        for k in 0..=600 {
            let x = value(&curve, f64::from(k) * 0.01);
            assert!((-1e-12..=10.0 + 1e-12).contains(&x), "{x}");
        }
        let spline = Curve::of(&times, &values, Interpolation::Spline, Outside::Nothing).unwrap();
        assert!((0..=600).any(|k| value(&spline, f64::from(k) * 0.01) > 10.5));
    }

    /// A natural spline through samples of a line is the line, and a periodic one has continuous derivatives at the seam.
    #[test]
    fn splines_are_smooth() {
        let times: Vec<f64> = (0..9).map(|k| f64::from(k) + 0.1 * f64::from(k % 2)).collect();
        let line: Vec<f64> = times.iter().map(|t| 3.0 - 2.0 * t).collect();
        let curve = Curve::of(&times, &line, Interpolation::Spline, Outside::Nothing).unwrap();
        assert!((value(&curve, 4.4) - (3.0 - 8.8)).abs() < 1e-12);
        let period = times[8];
        let turn: Vec<f64> = times.iter().map(|t| (t / period * std::f64::consts::TAU).cos()).collect();
        let mut turn = turn;
        turn[8] = turn[0];
        let curve = Curve::of(&times, &turn, Interpolation::Spline, Outside::Periodic).unwrap();
        let c = &curve.coefficients;
        let h = times[8] - times[7];
        let slope = c[1][7] + h * (2.0 * c[2][7] + 3.0 * h * c[3][7]);
        let bend = 2.0 * c[2][7] + 6.0 * h * c[3][7];
        assert!((slope - c[1][0]).abs() < 1e-12 && (bend - 2.0 * c[2][0]).abs() < 1e-12, "{slope} {bend}");
    }

    #[test]
    fn mistakes_of_a_curve_are_found() {
        let curve = |times: &[f64], values: &[f64], outside| {
            Curve::of(times, values, Interpolation::Linear, outside).unwrap_err()
        };
        let none = Outside::Nothing;
        assert_eq!(curve(&[1.0], &[1.0], none), CurveError::TooFew(1));
        assert_eq!(curve(&[0.0, 2.0, 1.0], &[0.0; 3], none), CurveError::Order(2));
        assert_eq!(curve(&[0.0, 1.0, 1.0], &[0.0; 3], none), CurveError::Twice(2));
        assert_eq!(curve(&[1.0, 1.0 + 4.0 * f64::EPSILON], &[0.0; 2], none), CurveError::Close(1));
        assert_eq!(curve(&[0.0, f64::NAN], &[0.0; 2], none), CurveError::Time(1));
        assert_eq!(curve(&[0.0, 1.0], &[0.0, f64::INFINITY], none), CurveError::Value(1));
        assert_eq!(curve(&[0.0, 1.0], &[0.0, 1.0], Outside::Periodic), CurveError::Period(1));
        assert_eq!(curve(&[0.0, 1e-300], &[0.0, 1e300], none), CurveError::Steep(0));
    }
}
