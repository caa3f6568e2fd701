//! The stepping loop: exact ends, no drift, backward runs, samples that do not change the steps.

use crate::dense;

use dense::{Dense, Rows, fixed, method, run, tolerances};
use odec_ode::{CorrectedRows, Options, Problem, Samples, Stats, solve};

/// y' = -y + sin t in both directions; y = c exp(-t) + (sin t - cos t)/2.
fn forced() -> Dense {
    Dense::new(1, |t, y, f| f[0] = -y[0] + t.sin(), |_, _, j| j[0] = -1.0).time(|t, _, ft| ft[0] = t.cos())
}

fn exact(t: f64) -> f64 {
    1.5 * (-t).exp() + 0.5 * (t.sin() - t.cos())
}

fn adaptive() -> impl Iterator<Item = (&'static str, Options)> {
    odec_ode::method::general().map(|m| {
        let rtol = if m.order < 3 { 1e-4 } else { 1e-7 };
        (m.name, tolerances(rtol, rtol))
    })
}

#[test]
fn fixed_steps_end_exactly_and_do_not_drift() {
    for name in odec_ode::method::general().map(|m| m.name).filter(|name| !["bdf", "abm"].contains(name)) {
        // 0.1 is not a binary number; nevertheless 1000 of them are 100.
        let (outcome, rows) = run(&forced(), (0.0, 100.0), &[1.0], name, &fixed(0.1)).unwrap();
        assert_eq!((outcome.t, outcome.stats.accepted), (100.0, 1000), "{name}");
        for (i, (t, _)) in rows.iter().enumerate() {
            assert_eq!(*t, if i == 1000 { 100.0 } else { i as f64 * 0.1 });
        }
        // The last step is shortened if the interval is not a multiple.
        let (outcome, rows) = run(&forced(), (0.0, 1.05), &[1.0], name, &fixed(0.1)).unwrap();
        assert_eq!((outcome.t, rows.len()), (1.05, 12), "{name}");
        assert!((outcome.y[0] - exact(1.05)).abs() < 0.05, "{name}: {}", outcome.y[0] - exact(1.05));
        // A step longer than the interval is one step.
        let (outcome, rows) = run(&forced(), (0.0, 0.05), &[1.0], name, &fixed(0.1)).unwrap();
        assert_eq!((outcome.t, rows.len()), (0.05, 2), "{name}");
    }
}

/// One long step and two short ones amplify a decay by the same factor at h*lambda = -8 in order 2, and their difference
/// says nothing about the error there.
#[test]
fn step_doubling_sees_decays_that_both_steps_amplify() {
    let lambda = 2000.0;
    let stiff = Dense::new(
        2,
        move |t, y, f| (f[0], f[1]) = (-lambda * (y[0] - t.cos()) - t.sin(), -2.0 * y[1]),
        move |_, _, j| j.copy_from_slice(&[-lambda, 0.0, 0.0, -2.0]),
    )
    .time(move |t, _, ft| (ft[0], ft[1]) = (-lambda * t.sin() - t.cos(), 0.0));
    for name in ["midpoint", "heun", "ralston", "ssprk33", "rk4"] {
        for rtol in [1e-4, 1e-6] {
            let options = Options { max_steps: 1_000_000, ..tolerances(rtol, 1e-3 * rtol) };
            let (_, rows) = run(&stiff, (0.0, 60.0), &[1.0, 1.0], name, &options).unwrap();
            let off = |row: &(f64, Vec<f64>)| (row.1[0] - row.0.cos()).abs() / rtol;
            let most = rows.iter().map(off).fold(0.0, f64::max);
            assert!(most < 10.0, "{name} {rtol:e}: {most}");
        }
    }
}

#[test]
fn a_run_that_starts_at_a_large_time_takes_its_first_step() {
    // the tolerance requires a first step of 1e-13, and numbers near 1e6 are 1.2e-10 apart
    for start in [1e6, -1e6] {
        let wave = Dense::new(1, move |t, _, f| f[0] = (t - start).cos(), |_, _, j| j[0] = 0.0)
            .time(move |t, _, ft| ft[0] = -(t - start).sin());
        for name in odec_ode::method::general().filter(|m| m.order >= 3).map(|m| m.name) {
            let options = Options { rtol: 1e-8, atol: vec![1e-11], ..Options::default() };
            let (outcome, _) =
                run(&wave, (start, start + 20.0), &[0.0], name, &options).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            // each of the steps rounds its end by up to 6e-11
            let bound = 1e-6 + 6e-11 * outcome.stats.accepted as f64;
            let error = outcome.y[0] - 20f64.sin();
            assert!(error.abs() < bound, "{name}: {error:e} after {} steps", outcome.stats.accepted);
        }
        // a span of a few spacings is one step
        let spacing = 1e6f64.next_up() - 1e6;
        let (outcome, _) =
            run(&wave, (start, start + 4.0 * spacing), &[0.0], "tsit5", &tolerances(1e-8, 1e-11)).unwrap();
        assert_eq!(outcome.stats.accepted, 1);
        assert_eq!(outcome.t, start + 4.0 * spacing);
    }
}

#[test]
fn integration_runs_backwards() {
    for (name, options) in adaptive() {
        let (outcome, rows) = run(&forced(), (2.0, 0.0), &[exact(2.0)], name, &options).unwrap();
        let bound = 1e3 * options.rtol;
        assert_eq!(outcome.t, 0.0);
        assert!((outcome.y[0] - 1.0).abs() < bound, "{name}: {:e}", outcome.y[0] - 1.0);
        assert!(rows.windows(2).all(|w| w[1].0 < w[0].0));
    }
    let (outcome, _) = run(&forced(), (2.0, 0.0), &[exact(2.0)], "rk4", &fixed(0.01)).unwrap();
    assert!((outcome.y[0] - 1.0).abs() < 1e-9);
}

#[test]
fn samples_do_not_change_the_steps() {
    for (name, options) in adaptive() {
        let problem = Problem { t0: 0.0, t_end: 3.0, y0: vec![1.0] };
        let times: Vec<f64> = (0..=300).map(|i| 3.0 * f64::from(i) / 300.0).collect();
        let mut sampled = Rows::new();
        let with =
            solve(&forced(), &problem, method(name), &options, &Samples::Times(times.clone()), &mut sampled).unwrap();
        let (without, _) = run(&forced(), (0.0, 3.0), &[1.0], name, &options).unwrap();
        assert_eq!(with.y, without.y, "{name}");
        // Dense output only costs additional evaluations; its corrections are counted separately.
        assert!(with.stats.rhs >= without.stats.rhs, "{name}");
        let alike = |stats: Stats| Stats { rhs: 0, between: CorrectedRows::default(), ..stats };
        assert_eq!(alike(with.stats), alike(without.stats), "{name}");
        if !["dopri5", "tsit5", "vern7", "vern9", "dop853"].contains(&name) {
            assert_eq!(with.stats.rhs, without.stats.rhs, "{name}");
        }
        assert_eq!(sampled.rows.iter().map(|(t, _)| *t).collect::<Vec<_>>(), times);
        let worst = sampled.rows.iter().map(|(t, y)| (y[0] - exact(*t)).abs()).fold(0.0, f64::max);
        assert!(worst < 1e3 * options.rtol, "{name}: {worst:e}");
    }
}

#[test]
fn the_first_step_is_taken_as_asked() {
    for (name, options) in adaptive() {
        let options = Options { step: Some(1e-6), ..options };
        let (_, rows) = run(&forced(), (0.0, 1.0), &[1.0], name, &options).unwrap();
        assert!(rows[1].0 <= 1.0000001e-6, "{name}: {}", rows[1].0);
    }
}

#[test]
fn the_largest_step_is_kept() {
    for (name, options) in adaptive() {
        let options = Options { max_step: Some(0.01), rtol: 0.1, ..options };
        let (_, rows) = run(&forced(), (0.0, 1.0), &[1.0], name, &options).unwrap();
        assert!(rows.windows(2).all(|w| w[1].0 - w[0].0 <= 0.010101), "{name}");
    }
}

#[test]
fn the_unit_of_time_does_not_matter() {
    // Powers of two scale every number exactly, so the bits of the states agree.
    for (name, options) in adaptive() {
        for y0 in [1.0, 0.0] {
            let (outcome, rows) = run(&forced(), (0.0, 3.0), &[y0], name, &options).unwrap();
            for exponent in [-400, -60, 60, 400] {
                let k = 2.0f64.powi(exponent);
                let fast = Dense::new(1, move |t, y, f| f[0] = k * ((k * t).sin() - y[0]), move |_, _, j| j[0] = -k)
                    .time(move |t, _, ft| ft[0] = k * k * (k * t).cos());
                let (scaled, scaled_rows) = run(&fast, (0.0, 3.0 / k), &[y0], name, &options).unwrap();
                assert_eq!((scaled.stats, scaled.y), (outcome.stats, outcome.y.clone()), "{name}, 2^{exponent}");
                let same = rows.iter().zip(&scaled_rows).all(|((t, y), (s, z))| *t == s * k && y == z);
                assert!(same, "{name}, 2^{exponent}");
            }
        }
    }
}

#[test]
fn no_step_passes_a_day_after_a_night() {
    // At night nothing moves at all, as in the chemistry of the upper atmosphere.
    let sun = |t: f64| if t.sin() > 0.0 { (-1.0 / t.sin()).exp() } else { 0.0 };
    let slope = |t: f64| if t.sin() > 0.0 { (-1.0 / t.sin()).exp() * t.cos() / t.sin().powi(2) } else { 0.0 };
    let days =
        || Dense::new(1, move |t, _, f| f[0] = sun(t), |_, _, j| j[0] = 0.0).time(move |t, _, ft| ft[0] = slope(t));
    let end = 9.0 * std::f64::consts::PI;
    let (exact, _) = run(&days(), (0.0, end), &[1.0], "rk4", &fixed(1e-3)).unwrap();
    for (name, options) in adaptive() {
        let (outcome, _) = run(&days(), (0.0, end), &[1.0], name, &options).unwrap();
        let error = (outcome.y[0] / exact.y[0] - 1.0).abs();
        assert!(error < 1e3 * options.rtol, "{name}: {error:e}");
    }
}
