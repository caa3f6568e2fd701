//! Surfaces that the motion is about to leave, or only touches: rates that are zero, or zero except for the error of
//! the landing.

use super::model::{Model, adaptive, run};
use crate::dense::tolerances;
use odec_ode::hybrid::{Edge, Event, Trigger, Write};
use odec_ode::method;

use crate::share::Share;

const LIMIT: f64 = 0.5;

/// Forces on the block: an oscillating force, and a spring.
fn pull(t: f64, x: f64) -> f64 {
    0.9 * (1.1 * t).sin() - 0.4 * x
}

/// Block with dry friction: its mode is a discrete, 0 if it sticks, otherwise the direction of sliding.
fn block() -> Model {
    let sets = |value: f64| {
        let event = Event::when(vec![Write::discrete(0)]);
        (event, move |_: f64, _: &[f64], _: &[f64], out: &mut [f64]| out[0] = value)
    };
    let stops = |side: f64| {
        let event = Event::when(vec![Write::state(1), Write::discrete(0)]);
        (event, move |t: f64, y: &[f64], _: &[f64], out: &mut [f64]| {
            let other = -side * pull(t, y[0]) > LIMIT;
            out.copy_from_slice(&[0.0, if other { -side } else { 0.0 }]);
        })
    };
    let model = Model::new(2, |t, y, now, f| {
        let slips = now.discretes[0];
        f.copy_from_slice(&[y[1], if slips == 0.0 { 0.0 } else { pull(t, y[0]) - LIMIT * slips }]);
    })
    .relations(4, |t, y, _, left, right| {
        left.copy_from_slice(&[pull(t, y[0]), -LIMIT, 0.0, y[1]]);
        right.copy_from_slice(&[LIMIT, pull(t, y[0]), y[1], 0.0]);
    })
    .discretes(&[0.0])
    .conditions(|now, out| {
        let slips = now.discretes[0];
        let all = [slips == 0.0, slips == 0.0, slips == 1.0, slips == -1.0];
        for (relation, (out, mode)) in out.iter_mut().zip(all).enumerate() {
            *out = mode && now.holds(relation);
        }
    });
    let ((a, of_a), (b, of_b), (c, of_c), (d, of_d)) = (sets(1.0), sets(-1.0), stops(1.0), stops(-1.0));
    model.event(a, of_a).event(b, of_b).event(c, of_c).event(d, of_d)
}

#[test]
fn dry_friction_sticks_and_slips() {
    // when the block starts to slide, the force minus friction is zero except for the error of the landing, so it
    // does not determine the direction; x(40) comes from an eighth-order method that lands on the same surfaces, at
    // 1e-13
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-4 } else { 1e-7 };
        let (_, kept) = run(&mut block(), (0.0, 40.0), &[0.0, 0.0], method, &tolerances(rtol, rtol)).unwrap();
        let executed: usize = kept.instants.iter().map(|instant| instant.events.len()).sum();
        assert_eq!(executed, 15, "{}: {:?}", method.name, kept.instants);
        let x = kept.rows.last().unwrap().1[0];
        assert!((x + 0.476_606).abs() < 1e-6 + 100.0 * rtol, "{}: {x}", method.name);
    }
}

/// y' = f(t, y) from 0, and the number of times that y0 becomes positive or, with `below`, negative.
fn from_zero(n: usize, rates: fn(f64, &[f64], &mut [f64]), below: bool) -> Model {
    Model::new(n, move |t, y, _, f| rates(t, y, f))
        .bounds(&[(0, !below, 0.0)])
        .event(Event { trigger: Trigger::Condition(Edge::Rising), ..Event::when(vec![]) }, |_, _, _, _| {})
        .event(Event { trigger: Trigger::Condition(Edge::Falling), ..Event::when(vec![]) }, |_, _, _, _| {})
        .conditions(|now, out| out.fill(now.holds(0)))
}

#[test]
fn the_first_derivative_that_is_not_zero_decides() {
    // t^3/3, -t^3/3, t^4/24 and t^5/60: away from zero at once, and never back
    type Rates = fn(f64, &[f64], &mut [f64]);
    let cases: [(usize, Rates, bool); 4] = [
        (1, |t, _, f| f[0] = t * t, true),
        (1, |t, _, f| f[0] = -t * t, false),
        (2, |t, y, f| f.copy_from_slice(&[y[1], 0.5 * t * t]), true),
        (3, |t, y, f| f.copy_from_slice(&[y[1], y[2], t * t]), true),
    ];
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-4 } else { 1e-7 };
        for (case, (n, rates, above)) in cases.into_iter().enumerate() {
            for below in [false, true] {
                let mut model = from_zero(n, rates, below);
                let made = run(&mut model, (0.0, 2.0), &vec![0.0; n], method, &tolerances(rtol, rtol));
                let (_, kept) = made.unwrap_or_else(|error| panic!("{}, {case}, {below}: {error:?}", method.name));
                let expected: &[f64] = if above == below { &[] } else { &[0.0] };
                assert_eq!(kept.times(0), expected, "{}, {case}, {below}", method.name);
                assert_eq!(kept.times(1), [0.0; 0], "{}, {case}, {below}", method.name);
            }
        }
    }
}

#[test]
fn a_surface_that_is_met_and_not_crossed_stays_uncrossed_at_its_inflection() {
    // (t - 1)^3/3 + 1/3 passes 1/3 with two zero derivatives: once
    for name in ["auto", "tsit5", "vern7", "dop853", "rodas4", "rodas5p", "radau5", "kencarp4", "bdf"] {
        let mut model = Model::new(1, |t, _, _, f| f[0] = (t - 1.0) * (t - 1.0))
            .bounds(&[(0, true, 1.0 / 3.0)])
            .event(Event { trigger: Trigger::Condition(Edge::Both), ..Event::when(vec![]) }, |_, _, _, _| {})
            .conditions(|now, out| out[0] = now.holds(0));
        let method = method::find(name).unwrap();
        let (_, kept) = run(&mut model, (0.0, 3.0), &[0.0], method, &tolerances(1e-8, 1e-8)).unwrap();
        let times = kept.times(0);
        assert!(times.len() == 1 && (times[0] - 1.0).abs() < 1e-2, "{name}: {times:?}");
    }
}

/// The law c' = -K c, p' = K c - p/2, where K c has a kink at c = 0 unless `slope` is 1, with an event where p is 1/2: the
/// largest error of p in tolerances, the times of the event, and the number of rejected steps.
fn relaxation(name: &str, slope: f64, rtol: f64) -> (f64, Vec<f64>, u64) {
    let mut model = Model::new(2, move |_, y, now, f| {
        let flow = K * if now.holds(0) { y[0] } else { slope * y[0] };
        f.copy_from_slice(&[-flow, flow - 0.5 * y[1]]);
    })
    .autonomous()
    .bounds(&[(0, true, 0.0), (1, false, 0.5)])
    .event(Event::when(vec![]), |_, _, _, _| {})
    .conditions(|now, out| out[0] = now.holds(1));
    let (method, options) = (method::find(name).unwrap(), tolerances(rtol, 1e-9));
    let (made, kept) = run(&mut model, (0.0, 30.0), &[1.0, 0.0], method, &options).unwrap();
    let exact = |t: f64| K / (K - 0.5) * ((-0.5 * t).exp() - (-K * t).exp());
    let error = |(t, y): &(f64, Vec<f64>)| (y[1] - exact(*t)).abs() / (1e-9 + rtol * exact(*t));
    (kept.rows.iter().map(error).fold(0.0, f64::max), kept.times(0), made.outcome.stats.rejected)
}

const K: f64 = 1e4;

#[test]
fn a_fast_state_that_relaxes_to_a_kink_ends_no_step() {
    let mut share = Share::one_of(3);
    // p falls to 1/2
    let at = 2.0 * (2.0 * K / (K - 0.5)).ln();
    for (name, most) in [("auto", 100), ("rodas4", 40), ("rodas5p", 40), ("radau5", 40), ("kencarp4", 400), ("bdf", 80)]
    {
        for rtol in [1e-3, 1e-4, 1e-6].into_iter().filter(|_| share.takes()) {
            let (without, ..) = relaxation(name, 1.0, rtol);
            for slope in [0.0, 0.5] {
                let (error, times, rejected) = relaxation(name, slope, rtol);
                assert!(error < 2.0 * without + 1.0, "{name}, {slope}, {rtol}: {error} tolerances, not {without}");
                assert!(times.len() == 1 && (times[0] - at).abs() < 10.0 * rtol, "{name}, {slope}, {rtol}: {times:?}");
                assert!(rejected < most, "{name}, {slope}, {rtol}: {rejected} rejected steps");
            }
        }
    }
}
