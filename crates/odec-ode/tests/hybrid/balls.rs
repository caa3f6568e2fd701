//! The bouncing ball: impacts, accumulation, rest.

use super::model::{Model, adaptive, run};
use crate::dense::{fixed, tolerances};
use odec_ode::hybrid::{End, Event, Trigger, Write};
use odec_ode::{Method, method};

const G: f64 = 9.81;

/// A ball of height y[0] and speed y[1] that falls on a floor at 0: `when h < 0 { h' := -e*h' } rest { h := 0; h' :=
/// 0; resting := 1 }`.
pub fn ball(e: f64, rest: bool) -> Model {
    let bounce = Event { rest: rest.then_some(1), ..Event::when(vec![Write::state(1), Write::discrete(0).adding()]) };
    let writes = vec![Write::state(0), Write::state(1), Write::discrete(1)];
    Model::new(2, |_, y, now, f| {
        f.copy_from_slice(if now.discretes[1] == 0.0 { &[0.0, -G] } else { &[0.0, 0.0] });
        f[0] = y[1];
    })
    .autonomous()
    .bounds(&[(0, false, 0.0)])
    .discretes(&[0.0, 0.0])
    .event(bounce, move |_, y, _, out| out.copy_from_slice(&[-e * y[1], 1.0]))
    .event(Event { trigger: Trigger::Rest, ..Event::when(writes) }, |_, _, _, out| {
        out.copy_from_slice(&[0.0, 0.0, 1.0]);
    })
    .conditions(|now, out| out.copy_from_slice(&[now.holds(0), false]))
}

/// Time of the impact of this number of a ball dropped from a height of 1.
fn impact(e: f64, k: usize) -> f64 {
    let fall = (2.0 / G).sqrt();
    // sum of the flights, in the closed form of the geometric series
    fall * (1.0 + 2.0 * e * (1.0 - e.powi(k as i32)) / (1.0 - e))
}

#[test]
fn impacts_are_exact_and_accumulate() {
    for e in [0.3, 0.8, 0.99] {
        for name in ["tsit5", "vern7", "rodas5p", "radau5", "auto"] {
            let t_inf = (2.0 / G).sqrt() * (1.0 + e) / (1.0 - e);
            let mut model = ball(e, true);
            let t_end = t_inf + 1.0;
            let made =
                run(&mut model, (0.0, t_end), &[1.0, 0.0], method::find(name).unwrap(), &tolerances(1e-10, 1e-12));
            let (outcome, kept) = made.unwrap_or_else(|error| panic!("{name}, {e}: {error:?}"));
            let times = kept.times(0);
            for (k, t) in times.iter().enumerate() {
                assert!(
                    (t - impact(e, k)).abs() < 1e-10 * t.max(1.0),
                    "{name}, {e}, impact {k}: {:e}",
                    t - impact(e, k)
                );
            }
            let rest = kept.times(1);
            assert!(rest.len() == 1 && (rest[0] - t_inf).abs() < 1e-9, "{name}, {e}: {rest:?} {t_inf}");
            assert_eq!((outcome.end, outcome.outcome.t, &outcome.outcome.y[..]), (End::Time, t_end, &[0.0, 0.0][..]));
            let lowest = kept.rows.iter().map(|(_, y)| y[0]).fold(0.0, f64::min);
            assert!(lowest > -1e-9, "{name}, {e}: {lowest:e}");
            assert_eq!((model.body.discretes[0] as usize, model.body.discretes[1]), (times.len(), 1.0));
        }
    }
}

#[test]
fn every_method_bounces() {
    let e = 0.9;
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-6 } else { 1e-9 };
        let mut model = ball(e, false);
        let made = run(&mut model, (0.0, 3.0), &[1.0, 0.0], method, &tolerances(rtol, rtol));
        let (_, kept) = made.unwrap_or_else(|error| panic!("{}: {error:?}", method.name));
        let times = kept.times(0);
        assert!(times.len() == (0..100).take_while(|k| impact(e, *k) < 3.0).count(), "{}: {times:?}", method.name);
        for (k, t) in times.iter().enumerate() {
            let error = (t - impact(e, k)).abs();
            let bound = if method.order == 1 { 1e4 } else { 1e3 };
            assert!(error < bound * rtol, "{}, impact {k}: {error:e}", method.name);
        }
        for instant in &kept.instants {
            // the step ends on the floor, and the event reads the state before it
            assert!(instant.before[0].abs() < 1e-2 * rtol, "{}: {:e}", method.name, instant.before[0]);
            assert_eq!(instant.after[1], -e * instant.before[1], "{}", method.name);
        }
    }
}

#[test]
fn equal_steps_bounce_and_keep_their_grid() {
    for method in method::general().filter(|m| m.order >= 2 && !["bdf", "abm"].contains(&m.name)) {
        let mut model = ball(0.9, false);
        let made = run(&mut model, (0.0, 2.0), &[1.0, 0.0], method, &fixed(0.01));
        let (_, kept) = made.unwrap_or_else(|error| panic!("{}: {error:?}", method.name));
        let times = kept.times(0);
        let all = (0..100).take_while(|k| impact(0.9, *k) < 2.0).count();
        assert_eq!(times.len(), all, "{}: {times:?}", method.name);
        for (k, t) in times.iter().enumerate() {
            // order 2 is exact on a parabola, but not through the start of multistep methods
            assert!((t - impact(0.9, k)).abs() < 1e-3, "{}: {:e}", method.name, t - impact(0.9, k));
        }
        for k in 0..=200 {
            let t = f64::from(k) * 0.01;
            assert!(kept.rows.iter().any(|(row, _)| (row - t).abs() < 1e-12), "{}: no row at {t}", method.name);
        }
    }
}

#[test]
fn without_rest_the_run_ends_at_the_limit() {
    let mut model = ball(0.5, false);
    let tsit5 = method::find("tsit5").unwrap();
    let (outcome, kept) = run(&mut model, (0.0, 9.0), &[1.0, 0.0], tsit5, &tolerances(1e-8, 1e-10)).unwrap();
    let End::Accumulation { event: 0, ratio } = outcome.end else { panic!("{:?}", outcome.end) };
    assert!((ratio - 0.5).abs() < 1e-4);
    let t_inf = (2.0 / G).sqrt() * 3.0;
    assert!((outcome.outcome.t - t_inf).abs() < 1e-9, "{:e}", outcome.outcome.t - t_inf);
    assert!((kept.rows.last().unwrap().0 - t_inf).abs() < 1e-9);
}

/// Tolerances for runs of some hundred steps, by the order of a method.
fn rough(method: &Method) -> &'static [f64] {
    match method.order {
        0..3 => &[1e-3, 1e-4],
        3..5 => &[1e-3, 1e-6],
        _ => &[1e-3, 1e-4, 1e-6, 1e-8],
    }
}

#[test]
fn no_method_falls_through_the_floor_at_small_bounces() {
    for e in [0.3, 0.5, 0.7] {
        let t_inf = (2.0 / G).sqrt() * (1.0 + e) / (1.0 - e);
        for method in adaptive() {
            for rtol in rough(method) {
                for atol in [1.0, 1e-3] {
                    let mut model = ball(e, true);
                    let asked = tolerances(*rtol, atol * rtol);
                    let made = run(&mut model, (0.0, t_inf + 1.0), &[1.0, 0.0], method, &asked);
                    let of = format!("{}, {e}, {rtol:e}, {atol:e}", method.name);
                    let (outcome, kept) = made.unwrap_or_else(|error| panic!("{of}: {error:?}"));
                    let rest = kept.times(1);
                    let bound = if method.order == 1 { 20.0 * rtol.sqrt() } else { 1e3 * rtol };
                    assert!(rest.len() == 1 && (rest[0] - t_inf).abs() < bound, "{of}: {rest:?} {t_inf}");
                    assert_eq!((outcome.end, &outcome.outcome.y[..]), (End::Time, &[0.0, 0.0][..]), "{of}");
                    let lowest = kept.rows.iter().map(|(_, y)| y[0]).fold(0.0, f64::min);
                    assert!(lowest > -1e-9, "{of}: {lowest:e}");
                    let bounces = kept.times(0).len() as u64;
                    assert!(outcome.outcome.stats.accepted < 500 * bounces, "{of}: {:?}", outcome.outcome.stats);
                }
            }
        }
    }
}

#[test]
fn balls_come_to_rest_together() {
    // equal ones, and others slightly later: a pending bounce of one ball hides no bounce of another
    for heights in [[1.0, 1.0, 1.0], [1.0, 1.0 + 1e-12, 1.0 + 1e-9], [1.0, 0.5, 2.0]] {
        for name in ["tsit5", "vern7", "rodas5p", "radau5", "bdf", "auto"] {
            let mut model = Model::new(6, |_, y, now, f| {
                for ball in 0..3 {
                    f[2 * ball] = y[2 * ball + 1];
                    f[2 * ball + 1] = if now.discretes[ball] == 0.0 { -G } else { 0.0 };
                }
            })
            .autonomous()
            .bounds(&[(0, false, 0.0), (2, false, 0.0), (4, false, 0.0)])
            .discretes(&[0.0; 3])
            .conditions(|now, out| {
                out.fill(false);
                (0..3).for_each(|ball| out[ball] = now.holds(ball));
            });
            for ball in 0..3 {
                let bounce = Event { rest: Some(3 + ball), ..Event::when(vec![Write::state(2 * ball + 1)]) };
                model = model.event(bounce, move |_, y, _, out| out[0] = -0.5 * y[2 * ball + 1]);
            }
            for ball in 0..3 {
                let writes = vec![Write::state(2 * ball), Write::state(2 * ball + 1), Write::discrete(ball)];
                let rest = Event { trigger: Trigger::Rest, ..Event::when(writes) };
                model = model.event(rest, |_, _, _, out| out.copy_from_slice(&[0.0, 0.0, 1.0]));
            }
            let y0: Vec<f64> = heights.iter().flat_map(|height| [*height, 0.0]).collect();
            let method = method::find(name).unwrap();
            let made = run(&mut model, (0.0, 3.0), &y0, method, &tolerances(1e-9, 1e-10));
            let (outcome, kept) = made.unwrap_or_else(|error| panic!("{name}, {heights:?}: {error:?}"));
            assert_eq!(outcome.outcome.y, [0.0; 6], "{name}, {heights:?}");
            for (ball, height) in heights.iter().enumerate() {
                let (rest, exact) = (kept.times(3 + ball), 3.0 * (2.0 * height / G).sqrt());
                let bound = if name == "bdf" { 1e-4 } else { 1e-8 };
                assert!(rest.len() == 1 && (rest[0] - exact).abs() < bound, "{name}, {heights:?}: {rest:?} {exact}");
            }
            let lowest = kept.rows.iter().flat_map(|(_, y)| [y[0], y[2], y[4]]).fold(0.0, f64::min);
            assert!(lowest > -1e-9, "{name}, {heights:?}: {lowest:e}");
        }
    }
}

#[test]
fn bounces_on_a_moving_table_accumulate() {
    // a surface that is not a sum of states and time: bounces are lost in its rounding before the interval is 1e-8
    for method in adaptive().into_iter().filter(|method| method.order >= 4) {
        let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[y[1], -G]))
            .autonomous()
            .relations(1, |t, y, _, left, right| (left[0], right[0]) = (0.05 * (20.0 * t).sin(), y[0]))
            .event(Event::when(vec![Write::state(1)]), |t, y, _, out| {
                let table = (20.0 * t).cos();
                out[0] = table - 0.5 * (y[1] - table);
            })
            .conditions(|now, out| out[0] = now.holds(0));
        let options = odec_ode::Options { max_steps: 20_000, ..tolerances(1e-8, 1e-8) };
        let made = run(&mut model, (0.0, 10.0), &[1.0, 0.0], method, &options);
        let (outcome, kept) = made.unwrap_or_else(|error| panic!("{}: {error:?}", method.name));
        let End::Accumulation { event: 0, ratio } = outcome.end else { panic!("{}: {:?}", method.name, outcome.end) };
        // vern7, dopri5, tsit5, rodas5p and radau5 agree on these digits
        let t = outcome.outcome.t;
        assert!((t - 3.428_019_12).abs() < 1e-4 && (ratio - 0.5).abs() < 0.01, "{}: {t} {ratio}", method.name);
        assert!(kept.times(0).len() > 20, "{}", method.name);
    }
}

#[test]
fn a_rest_that_does_not_last_ends_the_run() {
    // height and speed are zero, but the ball still falls
    let writes = vec![Write::state(0), Write::state(1)];
    let bounce = Event { rest: Some(1), ..Event::when(vec![Write::state(1)]) };
    let mut model = Model::new(2, |_, y, _, f| f.copy_from_slice(&[y[1], -G]))
        .autonomous()
        .bounds(&[(0, false, 0.0)])
        .event(bounce, |_, y, _, out| out[0] = -0.5 * y[1])
        .event(Event { trigger: Trigger::Rest, ..Event::when(writes) }, |_, _, _, out| out.fill(0.0))
        .conditions(|now, out| out.copy_from_slice(&[now.holds(0), false]));
    for name in ["tsit5", "rodas5p"] {
        let method = method::find(name).unwrap();
        let (outcome, _) = run(&mut model, (0.0, 20.0), &[1.0, 0.0], method, &tolerances(1e-8, 1e-10)).unwrap();
        assert!(matches!(outcome.end, End::Accumulation { event: 0, .. }), "{name}: {:?}", outcome.end);
        let t_inf = (2.0 / G).sqrt() * 3.0;
        assert!((outcome.outcome.t - t_inf).abs() < 1e-7, "{name}: {:e}", outcome.outcome.t - t_inf);
    }
    // other methods end there too, or fail: none continues below the floor
    for name in ["bdf", "auto", "radau5", "dop853", "bs32", "kencarp4", "abm"] {
        let method = method::find(name).unwrap();
        let ran = run(&mut model, (0.0, 20.0), &[1.0, 0.0], method, &tolerances(1e-8, 1e-10));
        let ended = ran.as_ref().map_or(true, |(outcome, _)| matches!(outcome.end, End::Accumulation { .. }));
        assert!(ended, "{name}: {:?}", ran.map(|(outcome, _)| outcome));
    }
}
