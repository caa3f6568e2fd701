//! The times of the rows.

use odec_lang::model::{Expectation, Sampling};
use odec_ode::problem::Samples;

use crate::choices::SampleRule;

/// Whether the rows show the whole course of the run. A list of times, each step or only the end is an explicit
/// request, and pictures and expectations have their own rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowSpacing {
    /// This many evenly spaced times after the start.
    Even(u64),
    /// Logarithmically spaced times.
    Logarithmic,
    /// Other times.
    #[default]
    Other,
}

/// Default number of rows of an adaptive run after the first one.
pub const DEFAULT_SAMPLES: u64 = 200;
/// Largest number of evenly spaced samples, which take no memory.
pub const MAX_EVEN_SAMPLES: u64 = 1_000_000_000;
/// Largest number of other sample times: they are stored in memory, 8 bytes each.
pub const MAX_SAMPLES: u64 = 20_000_000;

/// The times of `rule` on `t0..t_end` (in either direction), including the start; the last one is exactly the end.
/// The error is a sentence about times that lie outside or are not in order.
pub fn times(rule: &SampleRule, t0: f64, t_end: f64) -> Result<Samples, String> {
    let span = t_end - t0;
    let many = |n: u64, limit: u64| format!("{n} sample times exceed the limit of {limit}");
    match rule {
        SampleRule::Steps => Ok(Samples::Steps),
        SampleRule::End => Ok(Samples::Times(vec![t_end])),
        SampleRule::Count(0) => Err("the run needs at least one sample".to_string()),
        SampleRule::Count(n) if *n > MAX_EVEN_SAMPLES => Err(many(*n, MAX_EVEN_SAMPLES)),
        SampleRule::Count(n) => Ok(Samples::Even(*n)),
        SampleRule::Log { count: 0, .. } => Err("the run needs at least one sample".to_string()),
        SampleRule::Log { count, .. } if *count > MAX_SAMPLES => Err(many(*count, MAX_SAMPLES)),
        SampleRule::Log { first, .. } if !(*first > 0.0 && *first < span.abs()) => Err(format!(
            "the first logarithmic sample, {first}, must lie between 0 and the length of the run, {}",
            span.abs()
        )),
        SampleRule::Log { count, first } => {
            let ratio = (span.abs() / first).ln();
            let mut list = vec![t0];
            list.extend((0..count - 1).map(|i| {
                let offset = first * (ratio * i as f64 / (count - 1) as f64).exp();
                t0 + offset.copysign(span)
            }));
            list.push(t_end);
            Ok(Samples::Times(list))
        }
        SampleRule::Times(list) => listed(list, t0, t_end).map(Samples::Times),
    }
}

/// The rule of an entry `samples`.
pub(crate) fn listed_rule(entry: &Sampling) -> SampleRule {
    match entry {
        Sampling::Count(n) => SampleRule::Count(*n as u64),
        Sampling::Log { count, first } => SampleRule::Log { count: *count as u64, first: *first },
        Sampling::Steps => SampleRule::Steps,
        Sampling::List(list) => SampleRule::Times(list.clone()),
    }
}

/// The times of the `expect` lines, merged with evenly spaced ones for conserved quantities.
pub(crate) fn with_expectations(expectations: &[Expectation], t0: f64, t_end: f64) -> Samples {
    let even = Samples::Even(DEFAULT_SAMPLES);
    let mut list: Vec<f64> = (0..=DEFAULT_SAMPLES).filter_map(|k| even.time(k, t0, t_end)).collect();
    let inside = |t: &f64| (t - t0) * (t_end - t) >= 0.0;
    list.extend(expectations.iter().map(|e| e.time).filter(inside));
    list.sort_by(|a, b| if t_end > t0 { a.total_cmp(b) } else { b.total_cmp(a) });
    list.dedup();
    Samples::Times(list)
}

/// How to correct sample times that [`times`] refuses.
pub(crate) fn advice(rule: &SampleRule, t0: f64, t_end: f64) -> String {
    let SampleRule::Times(list) = rule else { return "for example `samples = 200`".to_string() };
    let outside = |t: &&f64| (**t - t0) * (t_end - **t) < 0.0;
    match list.iter().find(outside) {
        Some(t) if (t - t_end).abs() < (t - t0).abs() => {
            format!("choose times up to {t_end}, or another end: `--t-end {t}`")
        }
        Some(_) => format!("choose times from {t0} on, or another start of the run"),
        None => "sort the times".to_string(),
    }
}

fn listed(list: &[f64], t0: f64, t_end: f64) -> Result<Vec<f64>, String> {
    let direction = if t_end < t0 { -1.0 } else { 1.0 };
    let mut previous = t0;
    for &t in list {
        if !((t - t0) * direction >= 0.0 && (t_end - t) * direction >= 0.0) {
            return Err(format!("the sample time {t} lies outside the run, {t0} .. {t_end}"));
        }
        if (t - previous) * direction < 0.0 {
            return Err(format!("the sample times are out of order: {t} follows {previous}"));
        }
        previous = t;
    }
    Ok(list.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rule: &SampleRule, t0: f64, t_end: f64) -> Vec<f64> {
        match times(rule, t0, t_end) {
            Ok(samples) => (0..).map_while(|k| samples.time(k, t0, t_end)).collect(),
            _ => panic!("{rule:?} gives no times"),
        }
    }

    #[test]
    fn even_times_include_both_ends_in_either_direction() {
        assert_eq!(list(&SampleRule::Count(4), 1.0, 3.0), [1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(list(&SampleRule::Count(2), 3.0, 1.0), [3.0, 2.0, 1.0]);
        // the last time is the end itself, not a sum of steps
        assert_eq!(list(&SampleRule::Count(7), 0.0, 0.7).last(), Some(&0.7));
    }

    #[test]
    fn logarithmic_times_begin_at_the_first_distance() {
        let times = list(&SampleRule::Log { count: 3, first: 0.01 }, 0.0, 100.0);
        assert_eq!(times.len(), 4);
        assert_eq!((times[0], times[1], times[3]), (0.0, 0.01, 100.0));
        assert!((times[2] - 1.0).abs() < 1e-12);
        let backwards = list(&SampleRule::Log { count: 2, first: 0.5 }, 10.0, 0.0);
        assert_eq!(backwards, [10.0, 9.5, 0.0]);
        assert_eq!(list(&SampleRule::Log { count: 1, first: 0.5 }, 0.0, 8.0), [0.0, 8.0]);
    }

    #[test]
    fn listed_times_are_checked() {
        assert_eq!(list(&SampleRule::Times(vec![0.0, 1.0, 1.0, 2.0]), 0.0, 2.0), [0.0, 1.0, 1.0, 2.0]);
        for bad in [vec![1.0, 0.5], vec![-0.1], vec![2.5], vec![f64::NAN]] {
            assert!(times(&SampleRule::Times(bad.clone()), 0.0, 2.0).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_hold_on_either_side() {
        assert!(times(&SampleRule::Count(MAX_EVEN_SAMPLES + 1), 0.0, 1.0).is_err());
        assert!(times(&SampleRule::Count(0), 0.0, 1.0).is_err());
        assert!(times(&SampleRule::Log { count: 5, first: 1.0 }, 0.0, 1.0).is_err());
        assert!(times(&SampleRule::Log { count: 5, first: 0.0 }, 0.0, 1.0).is_err());
    }
}
