//! Surfaces: pairs of roots, curved and grazing surfaces, events that never occur, sliding, edges of the domain.

use super::model::{Model, adaptive, run, sampled};
use crate::dense::{Rows, fixed, tolerances};
use odec_ode::hybrid::{AffineRows, Event, HybridCause, HybridError, Write};
use odec_ode::{Method, Options, Samples, method, solve};

use crate::share::Share;

fn count() -> Event {
    Event::when(vec![Write::discrete(0).adding()])
}

/// y = x^2 with x' = 1, which is below its bound for a duration of `width`.
fn dip(width: f64, affine: bool) -> Model {
    let depth = 0.25 * width * width;
    let model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[2.0 * y[1], 1.0]))
        .bounds(&[(0, false, depth)])
        .discretes(&[0.0])
        .event(count(), |_, _, _, out| out[0] = 1.0)
        .conditions(|now, out| out[0] = now.holds(0));
    if affine { model } else { model.not_affine() }
}

#[test]
fn pairs_of_roots_are_found() {
    // y = (t - c)^2 and t - c from y = c^2, -c: steps of 1, and pairs down to a tenth of a millionth of a step,
    // where y dips by 2.5e-15
    let c = 1.234_567;
    for method in method::general().filter(|m| m.order >= 2 && m.dense_order >= 2) {
        // they take no constant steps: see the next test
        if ["bdf", "abm"].contains(&method.name) {
            continue;
        }
        for affine in [true, false] {
            for width in [1e-1, 1e-2, 1e-4, 1e-6, 1e-7] {
                // rounding puts the end of a step of dop853 up to 3e-15 beside: more than this dip
                if width < 1e-6 && method.name == "dop853" {
                    continue;
                }
                // in the other form, the noise of Chebyshev coefficients is 64 units: a dip of 1e-14
                if !affine && width < 1e-6 {
                    continue;
                }
                let mut model = dip(width, affine);
                let made = run(&mut model, (0.0, 3.0), &[c * c, -c], method, &fixed(1.0));
                let (_, kept) = made.unwrap_or_else(|error| panic!("{}, {width}: {error:?}", method.name));
                let times = kept.times(0);
                assert_eq!(times.len(), 1, "{}, {width}, affine {affine}: {times:?}", method.name);
                assert!((times[0] - (c - 0.5 * width)).abs() < 1e-7, "{}, {width}: {}", method.name, times[0]);
            }
        }
    }
}

/// The step in which the run of [`dip`] turns, without a surface: its length, the time at which its polynomial is
/// smallest, and its value there.
fn turn(c: f64, method: &'static Method, options: &Options) -> (f64, f64, f64) {
    let run_with = |samples: &Samples| {
        let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[2.0 * y[1], 1.0])).bounds(&[(0, true, 1e300)]);
        sampled(&mut model, (0.0, c + 6.0), &[c * c, -c], method, options, samples).unwrap().1.rows
    };
    let steps = run_with(&Samples::Steps);
    let after = steps.iter().position(|row| row.0 > c).unwrap();
    let [from, to] = [&steps[after - 1], &steps[after]];
    let half = 0.5 * (to.0 - from.0);
    let middle = run_with(&Samples::Times(vec![from.0 + half]))[0].1[0];
    let (rise, bend) = (0.5 * (to.1[0] - from.1[0]), 0.5 * (to.1[0] + from.1[0]) - middle);
    (2.0 * half, from.0 + half * (1.0 - 0.5 * rise / bend), middle - 0.25 * rise * rise / bend)
}

/// True if the run finds a pair of roots this far apart around the turn of its polynomial.
fn finds(c: f64, of: &(f64, f64, f64), width: f64, method: &'static Method, options: &Options) -> bool {
    let (length, at, least) = *of;
    let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[2.0 * y[1], 1.0]))
        .bounds(&[(0, false, least + 0.25 * width * width)])
        .discretes(&[0.0])
        .event(count(), |_, _, _, out| out[0] = 1.0)
        .conditions(|now, out| out[0] = now.holds(0));
    let (_, kept) = run(&mut model, (0.0, c + 6.0), &[c * c, -c], method, options).unwrap();
    matches!(kept.times(0)[..], [t] if (t - at).abs() < 2.0 * width + 1e-8 * length)
}

#[test]
fn pairs_of_roots_of_multistep_methods_are_found() {
    // these methods begin with order 1, whose error shifts the parabola by a part of the tolerance: the surface lies
    // relative to the polynomial of the step
    for name in ["bdf", "abm"] {
        let (method, options) = (method::find(name).unwrap(), tolerances(1e-12, 1e-12));
        for k in 0..10 {
            let c = 1.234_567 + 0.377 * f64::from(k);
            let of = turn(c, method, &options);
            for part in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
                assert!(finds(c, &of, part * of.0, method, &options), "{name}, {c}, {part}");
            }
        }
    }
}

#[test]
fn dips_as_deep_as_the_tolerance_are_found() {
    // a real step lands on the surface, and differs from the polynomial by a part of the tolerance: dips that are
    // less deep can be lost
    for method in adaptive().into_iter().filter(|m| m.order >= 2 && m.dense_order >= 2) {
        for tolerance in [1e-4, 1e-6, 1e-8] {
            if method.order < 3 && tolerance < 1e-6 {
                continue;
            }
            let options = tolerances(tolerance, tolerance);
            for k in 0..5 {
                let c = 1.234_567 + 0.377 * f64::from(k);
                let of = turn(c, method, &options);
                let width = 2.0 * (tolerance * (1.0 + of.2.abs())).sqrt();
                assert!(finds(c, &of, width, method, &options), "{}, {tolerance:e}, {c}", method.name);
            }
        }
    }
}

#[test]
fn curved_surfaces_are_met() {
    // a circular motion, and the product of its coordinates
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-5 } else { 1e-9 };
        let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[y[1], -y[0]]))
            .autonomous()
            .relations(2, |_, y, _, left, right| {
                (left[0], right[0]) = (y[0] * y[1], 0.2);
                (left[1], right[1]) = ((3.0 * y[0]).sin(), 0.7 + y[1]);
            })
            .discretes(&[0.0])
            .event(count(), |_, _, _, out| out[0] = 1.0)
            .event(Event::when(vec![]), |_, _, _, _| {})
            .conditions(|now, out| out.copy_from_slice(&[now.holds(0), now.holds(1)]));
        let (_, kept) = run(&mut model, (0.0, 6.0), &[0.0, 1.0], method, &tolerances(rtol, rtol)).unwrap();
        // sin t cos t = 0.2
        let first = 0.5 * 0.4f64.asin();
        let times = kept.times(0);
        assert_eq!(times.len(), 2, "{}: {times:?}", method.name);
        for (t, exact) in times.iter().zip([first, first + std::f64::consts::PI]) {
            assert!((t - exact).abs() < 1e3 * rtol, "{}: {:e}", method.name, t - exact);
        }
        // sin(3 sin t) - 0.7 - cos t by bisection between close points
        let g = |t: f64| (3.0 * t.sin()).sin() - 0.7 - t.cos();
        let mut exact = Vec::new();
        for k in 0..6_000 {
            let (mut a, mut b) = (f64::from(k) * 1e-3, f64::from(k + 1) * 1e-3);
            if g(a) <= 0.0 && g(b) > 0.0 {
                for _ in 0..60 {
                    let middle = 0.5 * (a + b);
                    if g(middle) > 0.0 { b = middle } else { a = middle }
                }
                exact.push(a);
            }
        }
        let times = kept.times(1);
        assert_eq!(times.len(), exact.len(), "{}: {times:?} {exact:?}", method.name);
        assert!(
            times.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e4 * rtol),
            "{}: {times:?} {exact:?}",
            method.name
        );
    }
}

#[test]
fn an_event_that_never_fires_changes_no_bit() {
    let oscillator = |n: usize| {
        Model::new(2, |t, y, _, f| f.copy_from_slice(&[y[1], -4.0 * y[0] + (3.0 * t).sin()])).bounds(&vec![
            (
                0, true, 1e300
            );
            n
        ])
    };
    let times = Samples::Times((0..=300).map(|k| f64::from(k) * 0.05).collect());
    let mut share = Share::one_of(5);
    for method in adaptive() {
        for options in [tolerances(1e-7, 1e-9), fixed(0.01)] {
            if options.fixed && ["bdf", "abm"].contains(&method.name) || !share.takes() {
                continue;
            }
            let problem = odec_ode::Problem { t0: 0.0, t_end: 15.0, y0: vec![1.0, 0.0] };
            let mut rows = Rows::new();
            let plain = solve(&oscillator(0).body, &problem, method, &options, &times, &mut rows).unwrap();
            for n in [0, 1, 100] {
                let mut model = oscillator(n);
                let (outcome, kept) = sampled(&mut model, (0.0, 15.0), &[1.0, 0.0], method, &options, &times).unwrap();
                assert_eq!(kept.rows, rows.rows, "{} with {n}", method.name);
                assert_eq!(outcome.outcome.stats.accepted, plain.stats.accepted, "{}", method.name);
                assert_eq!((outcome.instants, kept.steps.len() as u64), (0, plain.stats.accepted));
                // only the start and the end of the relations were evaluated
                assert!(model.looks.get() <= 5, "{} with {n}: {} looks", method.name, model.looks.get());
            }
        }
    }
}

#[test]
fn samples_change_no_step() {
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-5 } else { 1e-8 };
        // the ball is at rest then
        let end = 3.0;
        let run_with = |samples: &Samples| {
            let mut model = super::balls::ball(0.7, true);
            sampled(&mut model, (0.0, end), &[1.0, 0.0], method, &tolerances(rtol, rtol), samples).unwrap().1
        };
        let steps = run_with(&Samples::Steps);
        for n in [10, 1_000] {
            let times = (0..=n).map(|k| end * f64::from(k) / f64::from(n)).collect();
            let kept = run_with(&Samples::Times(times));
            assert_eq!((&kept.steps, &kept.instants), (&steps.steps, &steps.instants), "{}, {n}", method.name);
            assert_eq!(kept.rows.len(), n as usize + 1);
        }
    }
}

fn hybrid(made: Result<impl Sized, HybridError>, method: &Method) -> (HybridCause, f64) {
    match made {
        Err(HybridError::Hybrid(failure)) => (failure.cause.clone(), failure.t),
        Err(other) => panic!("{}: {other:?}", method.name),
        Ok(_) => panic!("{}: no failure", method.name),
    }
}

#[test]
fn an_oscillation_with_many_periods_in_a_step_is_followed() {
    // sin(w x) > 0 with x' = 1: one Euler step contains all of its changes
    let w = 3_000.0f64;
    let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0)
        .relations(1, move |_, y, _, left, right| (left[0], right[0]) = ((w * y[0]).sin(), 0.0))
        .discretes(&[0.0])
        .event(
            Event { trigger: odec_ode::hybrid::Trigger::Condition(odec_ode::hybrid::Edge::Both), ..count() },
            |_, _, _, out| out[0] = 1.0,
        )
        .conditions(|now, out| out[0] = now.holds(0));
    let (_, kept) = run(&mut model, (0.0, 1.0), &[1e-5], method::find("euler").unwrap(), &fixed(1.0)).unwrap();
    let times = kept.times(0);
    assert_eq!(times.len(), (w / std::f64::consts::PI) as usize);
    for (k, t) in times.iter().enumerate() {
        let exact = (k + 1) as f64 * std::f64::consts::PI / w - 1e-5;
        assert!((t - exact).abs() < 1e-12, "{k}: {t}, not {exact}");
    }
    // each change is found in the first part of the step that contains few: halvings down to it, not of all parts
    assert!(model.looks.get() < 1000 * times.len() as u64, "{} looks for {} changes", model.looks.get(), times.len());
}

#[test]
fn relations_that_all_change_in_a_step_are_examined_together() {
    // x' = 1 passes one bound after the other, all within the attempted step
    let most = |count: usize| {
        let bounds: Vec<_> = (0..count).map(|k| (0, true, (k + 1) as f64 / (count + 1) as f64)).collect();
        let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0).bounds(&bounds).discretes(&[0.0]);
        for _ in 0..count {
            model = model.event(self::count(), |_, _, _, out| out[0] = 1.0);
        }
        let mut model = model.conditions(move |now, out| {
            for (k, out) in out.iter_mut().enumerate() {
                *out = now.holds(k);
            }
        });
        let euler = method::find("euler").unwrap();
        let (outcome, _) = run(&mut model, (0.0, 1.0), &[0.0], euler, &fixed(1.0)).unwrap();
        assert_eq!(outcome.executed, count as u64);
        model.looks.get() as f64 / count as f64
    };
    let (few, many) = (most(20), most(200));
    assert!(many <= 1.2 * few, "{few} evaluations of the sides for each of 20 changes, {many} of 200");
}

#[test]
fn sliding_is_detected_immediately() {
    // a relay x' = -sign x, and dry friction that holds a mass
    for method in adaptive() {
        let mut relay =
            Model::new(1, |_, _, now, f| f[0] = if now.holds(0) { -1.0 } else { 2.0 }).bounds(&[(0, true, 0.0)]);
        let made = run(&mut relay, (0.0, 5.0), &[1.0], method, &tolerances(1e-6, 1e-9));
        let (cause, t) = hybrid(made, method);
        assert_eq!(cause, HybridCause::Sliding { relation: 0, rates: [2.0, -1.0] }, "{}", method.name);
        assert!((t - 1.0).abs() < 1e-8, "{}: {t}", method.name);
        let mut friction = Model::new(2, |_, y, now, f| {
            f.copy_from_slice(&[y[1], -y[0] - if now.holds(0) { 0.5 } else { -0.5 }]);
        })
        .autonomous()
        .bounds(&[(1, true, 0.0)]);
        let rtol = if method.order < 3 { 1e-6 } else { 1e-9 };
        let made = run(&mut friction, (0.0, 20.0), &[1.2, 0.0], method, &tolerances(rtol, rtol));
        let (cause, t) = hybrid(made, method);
        // the first half-cycle ends at x = -0.2, where friction holds
        assert!((t - std::f64::consts::PI).abs() < 1e3 * rtol, "{}: {t}", method.name);
        let HybridCause::Sliding { relation: 0, rates: [below, above] } = cause else { panic!("{cause:?}") };
        assert!((below - 0.7).abs() < 1e-2 && (above + 0.3).abs() < 1e-2, "{}: {below} {above}", method.name);
    }
}

#[test]
fn a_weir_is_left_where_its_flow_has_no_derivative() {
    // a' = 1 - (if a > 1/2 then sqrt(a - 1/2) else 0): with s = sqrt(a - 1/2), t = 1/2 - 2 s - 2 ln(1 - s)
    for method in adaptive().into_iter().filter(|method| method.order >= 3) {
        let mut weir = Model::new(1, |_, y, now, f| f[0] = 1.0 - if now.holds(0) { (y[0] - 0.5).sqrt() } else { 0.0 })
            .jacobian(|_, y, now, j| j[0] = if now.holds(0) { -0.5 / (y[0] - 0.5).sqrt() } else { 0.0 })
            .autonomous()
            .bounds(&[(0, true, 0.5)]);
        for rtol in [1e-4, 1e-6, 1e-9] {
            let made = run(&mut weir, (0.0, 2.0), &[0.0], method, &tolerances(rtol, rtol));
            let (outcome, _) = made.unwrap_or_else(|error| panic!("{}, {rtol:e}: {error:?}", method.name));
            let s = (outcome.outcome.y[0] - 0.5).sqrt();
            let error = (0.5 - 2.0 * s - 2.0 * (1.0 - s).ln() - 2.0).abs();
            assert!(error < 3e3 * rtol, "{}, {rtol:e}: {error:e}", method.name);
        }
    }
}

/// A counter n with the ends of its interval, as `floor` has them: x' = 0.5 - floor(x).
fn counter() -> Model {
    Model::new(1, |_, _, now, f| f[0] = 0.5 - now.discretes[0])
        .autonomous()
        .relations(2, |_, y, d, left, right| {
            (left[0], right[0]) = (y[0], d[2]);
            (left[1], right[1]) = (d[1], y[0]);
        })
        .with_rows(AffineRows::of(&[Some((vec![(0, 1.0)], 0.0)), Some((vec![(0, -1.0)], 0.0))]))
        .discretes(&[0.0, 0.0, 1.0])
        .event(Event::when((0..3).map(Write::discrete).collect()), |_, y, d, out| {
            out.copy_from_slice(&[d[0] + 1.0, y[0], d[0] + 2.0]);
        })
        .event(Event::when((0..3).map(Write::discrete).collect()), |_, y, d, out| {
            out.copy_from_slice(&[d[0] - 1.0, d[0] - 1.0, y[0]]);
        })
        .conditions(|now, out| out.copy_from_slice(&[now.holds(0), now.holds(1)]))
}

#[test]
fn a_counter_that_slides_ends_the_run_soon() {
    for method in adaptive() {
        let made = run(&mut counter(), (0.0, 20.0), &[0.2], method, &tolerances(1e-6, 1e-9));
        let Err(HybridError::Hybrid(failure)) = made else { panic!("{}: {:?}", method.name, made.map(|made| made.0)) };
        assert!(matches!(failure.cause, HybridCause::Chatter { .. }), "{}: {:?}", method.name, failure.cause);
        assert!((failure.t - 1.6).abs() < 1e-3 && failure.stats.accepted < 10_000, "{}: {failure:?}", method.name);
    }
}

#[test]
fn a_tank_drains_to_where_its_root_ends() {
    // h' = if h > 0 then -c sqrt(h) else 0, whose root is undefined beyond the surface
    let (c, h0) = (0.5, 2.0f64);
    for name in ["tsit5", "dopri5", "vern7", "rkf45", "dop853", "abm", "rodas5p", "radau5", "bdf", "auto"] {
        let method = method::find(name).unwrap();
        let mut tank = Model::new(1, move |_, y, now, f| f[0] = if now.holds(0) { -c * y[0].sqrt() } else { 0.0 })
            .jacobian(move |_, y, now, j| j[0] = if now.holds(0) { -0.5 * c / y[0].sqrt() } else { 0.0 })
            .autonomous()
            .bounds(&[(0, true, 0.0)])
            .discretes(&[0.0])
            .event(
                Event { trigger: odec_ode::hybrid::Trigger::Condition(odec_ode::hybrid::Edge::Falling), ..count() },
                |_, _, _, out| out[0] = 1.0,
            )
            .conditions(|now, out| out[0] = now.holds(0));
        let made = run(&mut tank, (0.0, 10.0), &[h0], method, &tolerances(1e-6, 1e-9));
        let (outcome, kept) = made.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let times = kept.times(0);
        let exact = 2.0 * h0.sqrt() / c;
        assert!(times.len() == 1 && (times[0] - exact).abs() < 1e-4, "{name}: {times:?} {exact}");
        assert!(outcome.outcome.t == 10.0 && outcome.outcome.y[0].abs() < 1e-9, "{name}: {:?}", outcome.outcome.y);
    }
}

#[test]
fn touching_a_surface_from_above_fires_nothing_twice() {
    // a bottom that is on the bound itself, to rounding
    let c = 1.1;
    for shift in [-4e-16, 0.0, 4e-16] {
        let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[2.0 * y[1], 1.0]))
            .bounds(&[(0, false, shift)])
            .discretes(&[0.0])
            .event(count(), |_, _, _, out| out[0] = 1.0)
            .conditions(|now, out| out[0] = now.holds(0));
        let tsit5 = method::find("tsit5").unwrap();
        let (outcome, kept) = run(&mut model, (0.0, 3.0), &[c * c, -c], tsit5, &tolerances(1e-8, 1e-10)).unwrap();
        assert!(kept.times(0).len() <= 1 && outcome.instants < 10, "{shift}: {:?}", kept.instants);
        assert!((outcome.outcome.y[0] - 1.9f64.powi(2)).abs() < 1e-8);
    }
}
