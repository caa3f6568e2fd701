//! An axis: its range, round ticks, and the position of a value.

use crate::rows::shortest;

/// A linear or logarithmic axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Ends, in the units of the axis (exponents of ten if logarithmic).
    low: f64,
    high: f64,
    log: bool,
    /// Labelled positions.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis for these values, with about `wanted` ticks. Values that a logarithmic axis cannot show are ignored.
    /// `margin` widens the range on both sides by this fraction.
    pub fn new(values: impl Iterator<Item = f64>, log: bool, wanted: usize, margin: f64) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values {
            let v = if log { v.log10() } else { v };
            if v.is_finite() {
                low = low.min(v);
                high = high.max(v);
            }
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // a value that is constant up to rounding gets a range in which it looks constant
        let size = low.abs().max(high.abs());
        if high - low <= 1e-9 * size || high == low {
            let half = if log || size == 0.0 { 0.5 } else { 0.05 * size };
            (low, high) = (low - half, high + half);
        }
        let pad = margin * (high - low);
        let (low, high) = (low - pad, high + pad);
        let ticks = if log { decades(low, high, wanted) } else { round(low, high, wanted) };
        Axis { low, high, log, ticks }
    }

    /// The position of a value, 0 at the low end and 1 at the high end; `None` if it cannot be shown.
    pub fn place(&self, v: f64) -> Option<f64> {
        let v = if self.log { v.log10() } else { v };
        self.position(v)
    }

    /// Both ends, in the units of the axis.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Length of the range, in the units of the axis.
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    /// The position of a tick.
    pub fn position(&self, v: f64) -> Option<f64> {
        let place = (v - self.low) / (self.high - self.low);
        place.is_finite().then_some(place)
    }
}

/// Numbers of ticks that a linear axis should have at least, if there is room for their labels.
const MIN_TICKS: [i64; 2] = [3, 2];
/// Largest number of ticks, relative to the wanted number: more labels would overlap.
const MOST: i64 = 3;

/// Multiples of 1, 2 or 5 times a power of ten.
fn round(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    let ends = |step: f64| ((low / step).ceil() as i64, (high / step).floor() as i64);
    let wide = steps.iter().position(|s| *s >= rough).unwrap_or(steps.len() - 1);
    let count = |step: &f64| ends(*step).1.saturating_sub(ends(*step).0).saturating_add(1);
    let most = MOST.saturating_mul(wanted.max(1) as i64);
    let step = MIN_TICKS.iter().find_map(|fewest| {
        let fits = |step: &f64| (*fewest..=most).contains(&count(step));
        steps[..=wide].iter().rev().copied().find(fits)
    });
    let step = step.unwrap_or(steps[wide]);
    let (first, last) = ends(step);
    if !step.is_finite() || step <= 0.0 || last - first > 10 * wanted as i64 {
        return vec![];
    }
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let largest = low.abs().max(high.abs());
    let scientific = !(1e-3..1e6).contains(&largest);
    (first..=last)
        .map(|k| {
            let v = k as f64 * step;
            let label = if k == 0 {
                "0".to_string()
            } else if scientific {
                power_of_ten(v, step)
            } else {
                minus(&format!("{v:.digits$}"))
            };
            (v, label)
        })
        .collect()
}

/// Whole powers of ten, or multiples of them within one decade.
fn decades(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let (first, last) = (low.ceil() as i64, high.floor() as i64);
    if last - first < 1 {
        let ticks = (low.floor() as i64..=last.max(first)).flat_map(|k| [1.0, 2.0, 5.0].map(|m: f64| (m, k)));
        return ticks
            .map(|(m, k)| (k as f64 + m.log10(), shortest(format!("{m}e{k}").parse().unwrap_or(0.0))))
            .filter(|(v, _)| *v >= low && *v <= high)
            .collect();
    }
    let every = ((last - first) as usize / wanted.max(1) + 1) as i64;
    (first..=last)
        .filter(|k| k.rem_euclid(every) == 0)
        .map(|k| {
            let label = match k {
                0 => "1".to_string(),
                1 => "10".to_string(),
                _ => format!("10{}", superscript(k)),
            };
            (k as f64, label)
        })
        .collect()
}

/// `2·10⁻⁵`.
fn power_of_ten(v: f64, step: f64) -> String {
    let exponent = v.abs().log10().floor() as i64;
    let mantissa = v / 10f64.powi(exponent as i32);
    let digits = (exponent as f64 - step.log10().floor()).max(0.0) as usize;
    let text = format!("{mantissa:.digits$}");
    match text.as_str() {
        "1" => format!("10{}", superscript(exponent)),
        "-1" => format!("−10{}", superscript(exponent)),
        _ => format!("{}·10{}", minus(&text), superscript(exponent)),
    }
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

fn superscript(n: i64) -> String {
    n.to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            '9' => '⁹',
            _ => '⁰',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn labels_of_a_low_axis_do_not_overlap() {
        let labels = |low: f64, high: f64, wanted: usize| -> Vec<String> {
            round(low, high, wanted).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(-5.4, 4.9, 1), ["−5", "0"]);
        assert_eq!(labels(-1.8, 2.1, 1), ["0", "2"]);
        // with room, at least three
        assert_eq!(labels(-5.4, 4.9, 3), ["−4", "−2", "0", "2", "4"]);
        assert_eq!(labels(0.0, 1.0, 2), ["0", "0.5", "1.0"]);
    }
}
