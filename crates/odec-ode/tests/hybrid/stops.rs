//! Known times: pulses, doses, delays.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::model::{Log, Model, adaptive, run, sampled};
use crate::dense::{fixed, tolerances};
use odec_ode::hybrid::{Event, HybridCause, HybridError, HybridRunner, Observer, Point, Write};
use odec_ode::{Samples, method};

use crate::share::Share;

/// `x' = -x + 20*(5 < t < 5 + width)`.
fn pulse(width: f64) -> Model {
    Model::new(1, |_, y, now, f| f[0] = -y[0] + if now.holds(0) { 20.0 } else { 0.0 })
        .autonomous()
        .at(&[5.0])
        .at(&[5.0 + width])
        .timed(1, |passed, modes| modes[0] = f64::from(u8::from(passed[0] > passed[1])))
}

#[test]
fn no_pulse_is_missed() {
    let mut share = Share::one_of(4);
    for method in adaptive() {
        for k in (0..=9).filter(|_| share.takes()) {
            let width = 0.1f64.powi(k);
            // errors of low order add up over many steps
            let rtol = [1e-11, 1e-10].get(method.order as usize - 1).copied().unwrap_or(1e-8);
            let made = run(&mut pulse(width), (0.0, 5.0 + width + 0.01), &[0.0], method, &tolerances(rtol, 1e-12));
            let (_, kept) = made.unwrap_or_else(|error| panic!("{}, {width}: {error:?}", method.name));
            // the width in doubles near 5
            let width = (5.0 + width) - 5.0;
            let most = kept.rows.iter().map(|(_, y)| y[0]).fold(0.0, f64::max);
            let exact = -20.0 * (-width).exp_m1();
            assert!((most / exact - 1.0).abs() < 1e-6, "{}, {width}: {most} {exact}", method.name);
        }
    }
}

/// Observer of the evaluations of f in each step.
struct Watch {
    log: Log,
    ends: Vec<f64>,
    first: usize,
    name: &'static str,
}

impl Observer for Watch {
    fn row(&mut self, _: Point<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        let (log, start) = (self.log.borrow(), self.ends[self.ends.len() - 1]);
        // strictly inside: instants at the ends evaluate f too
        let inside = |(at, _): &&(f64, Vec<f64>)| *at > start * (1.0 + 1e-14) && *at < t * (1.0 - 1e-14);
        let mut states = log[self.first..].iter().filter(inside).map(|(_, state)| state);
        if let Some(first) = states.next() {
            assert!(states.all(|state| state == first), "{}: two modes between {start} and {t}", self.name);
        }
        self.first = log.len();
        self.ends.push(t);
        ControlFlow::Continue(())
    }
}

#[test]
fn no_step_passes_a_stop_and_modes_are_constant_in_it() {
    for method in adaptive() {
        for options in [tolerances(1e-6, 1e-9), fixed(0.013)] {
            if options.fixed && ["bdf", "abm"].contains(&method.name) {
                continue;
            }
            // a pulse, a relation, and an event that writes a quantity that f reads
            let mut model = Model::new(1, |_, y, now, f| {
                f[0] = now.discretes[0] - y[0] + if now.holds(1) { 3.0 } else { 0.0 }
                    - if now.holds(0) { 0.5 } else { 0.0 };
            })
            .bounds(&[(0, true, 0.8)])
            .discretes(&[0.1])
            .at(&[1.0, 2.0])
            .at(&[1.1])
            .event(Event::at(0, vec![Write::discrete(0).adding()]), |_, _, _, out| out[0] = 0.7)
            .timed(1, |passed, modes| modes[0] = f64::from(u8::from(passed[0] > 0 && passed[1] == 0)));
            let log = Rc::new(RefCell::new(Vec::new()));
            model.body.log = Some(Rc::clone(&log));
            let mut watch = Watch { log: Rc::clone(&log), ends: vec![0.0], first: 0, name: method.name };
            let problem = odec_ode::Problem { t0: 0.0, t_end: 3.0, y0: vec![0.0] };
            let mut runner = HybridRunner::new(&model, method, &options).unwrap();
            runner.run(&mut model, &problem, &Samples::Steps, &mut watch).unwrap();
            for stop in [1.0, 1.1, 2.0] {
                assert!(watch.ends.contains(&stop), "{}: no step ends at {stop}", method.name);
            }
            // with the state before a stop, nothing was evaluated after it
            for (t, state) in log.borrow().iter() {
                let pulse = (*t > 1.0 && *t < 1.1).then_some(1.0).or((*t < 1.0 || *t > 1.1).then_some(0.0));
                let rounding = 4.0 * f64::EPSILON;
                let near = [1.0, 1.1, 2.0].iter().any(|stop| (t / stop - 1.0).abs() < rounding);
                assert!(near || pulse.is_none_or(|pulse| state[1] == pulse), "{} at {t}: {state:?}", method.name);
                let doses = f64::from(u8::from(*t > 1.0) + u8::from(*t > 2.0));
                assert!(near || (state[2] - 0.1 - 0.7 * doses).abs() < 1e-15, "{} at {t}: {state:?}", method.name);
            }
        }
    }
}

#[test]
fn doses_are_given_at_their_times_and_rows_have_the_right_limit() {
    let doses: Vec<f64> = (0..8).map(|k| 12.0 * f64::from(k)).collect();
    let (ka, ke, v) = (1.2, 0.15, 20.0);
    let amount =
        |t: f64| doses.iter().filter(|dose| **dose <= t).map(|dose| 100.0 * (-ka * (t - dose)).exp()).sum::<f64>();
    for periodic in [false, true] {
        let dose = || Event::at(0, vec![Write::state(0).adding()]);
        let model = Model::new(2, move |_, y, _, f| f.copy_from_slice(&[-ka * y[0], ka * y[0] / v - ke * y[1]]))
            .autonomous()
            .event(dose(), |_, _, _, out| out[0] = 100.0);
        let mut model = if periodic { model.every(0.0, 12.0, 84.0) } else { model.at(&doses) };
        let dopri5 = method::find("dopri5").unwrap();
        let times = Samples::Times(vec![0.0, 6.0, 12.0, 30.0, 36.0, 96.0]);
        let (_, kept) =
            sampled(&mut model, (0.0, 96.0), &[0.0, 0.0], dopri5, &tolerances(1e-10, 1e-12), &times).unwrap();
        assert_eq!(kept.times(0), doses);
        for (t, y) in &kept.rows {
            assert!((y[0] - amount(*t)).abs() < 1e-7, "{t}: {} {}", y[0], amount(*t));
        }
        // superposition of Bateman functions
        assert!((kept.rows.last().unwrap().1[1] - 1.131_616_907_098_798_7).abs() < 1e-8);
        assert_eq!(kept.rows.len(), 6);
    }
}

#[test]
fn delayed_events_write_values_of_their_trigger_unless_they_are_late() {
    // x = t; when x > 1, 0.5 later: y := x, or late
    for late in [false, true] {
        for cancel in [false, true] {
            let event = Event { late, cancel, ..Event::when(vec![Write::state(1)]) };
            let mut model = Model::new(2, |_, _, _, f| f.copy_from_slice(&[1.0, 0.0]))
                .bounds(&[(0, true, 1.0), (0, true, 1.3)])
                .event(event, |_, y, _, out| out[0] = y[0])
                .conditions(move |now, out| out[0] = now.holds(0) && !(cancel && now.holds(1)));
            model.delays = vec![0.5];
            let tsit5 = method::find("tsit5").unwrap();
            let (_, kept) = run(&mut model, (0.0, 3.0), &[0.0, 0.0], tsit5, &tolerances(1e-9, 1e-9)).unwrap();
            let end = &kept.rows.last().unwrap().1;
            let (times, value) = match (late, cancel) {
                (_, true) => (vec![], 0.0),
                (false, false) => (vec![1.5], 1.0),
                (true, false) => (vec![1.5], 1.5),
            };
            assert_eq!(kept.times(0).len(), times.len(), "late {late}, cancel {cancel}");
            assert!(kept.times(0).iter().zip(&times).all(|(a, b)| (a - b).abs() < 1e-12));
            assert!((end[1] - value).abs() < 1e-12, "late {late}, cancel {cancel}: {}", end[1]);
        }
    }
}

#[test]
fn times_within_rounding_are_one_stop() {
    // 0.1*3 and 0.3 are neighbours: both events are one round
    let mut model = Model::new(1, |_, _, _, f| f[0] = 0.0)
        .every(0.0, 0.1, 1.0)
        .at(&[0.3])
        .event(Event::at(0, vec![Write::state(0).adding()]), |_, _, _, out| out[0] = 1.0)
        .event(Event::at(1, vec![Write::state(0).adding()]), |_, _, _, out| out[0] = 100.0);
    let tsit5 = method::find("tsit5").unwrap();
    let (_, kept) = run(&mut model, (0.0, 1.0), &[0.0], tsit5, &tolerances(1e-9, 1e-9)).unwrap();
    assert_eq!(kept.times(0).len(), 11);
    let both: Vec<_> = kept.instants.iter().filter(|instant| instant.events.len() == 2).collect();
    assert!(both.len() == 1 && both[0].events == [(0, 0), (1, 0)] && (both[0].t - 0.3).abs() < 1e-15);
    assert_eq!(kept.rows.last().unwrap().1, [111.0]);
}

/// Knots of a forcing that is linear between them, at 0, 1, 2, ...
const KNOTS: [f64; 11] = [0.3, 1.4, -0.8, 0.1, 2.0, 1.9, -1.0, 0.0, 0.7, 0.7, -0.2];

/// x' = -x + q(t) from x = 0, with q through the knots.
fn forced(kinks: bool) -> Model {
    let times: Vec<f64> = (1..10).map(f64::from).collect();
    let mut model = Model::new(1, |t, y, now, f| {
        let k = now.modes[0];
        let (a, b) = (KNOTS[k as usize], KNOTS[k as usize + 1]);
        f[0] = -y[0] + a + (b - a) * (t - k);
    })
    .at(&times)
    .timed(1, |passed, modes| modes[0] = passed[0] as f64);
    model.kinks = kinks;
    model
}

#[test]
fn a_run_continues_without_restart_at_knots_of_a_continuous_forcing() {
    // on each piece x = a - b + b s + (x_k - a + b) exp(-s)
    let exact = (0..10).fold(0.0, |x, k| {
        let (a, b) = (KNOTS[k], KNOTS[k + 1] - KNOTS[k]);
        a + (x - a + b) * (-1f64).exp()
    });
    let (mut gains, mut counts) = (Vec::new(), Vec::new());
    for method in adaptive().into_iter().filter(|method| method.order >= 3) {
        let made = [false, true].map(|kinks| {
            let (outcome, kept) =
                run(&mut forced(kinks), (0.0, 10.0), &[0.0], method, &tolerances(1e-7, 1e-7)).unwrap();
            let error = (outcome.outcome.y[0] - exact).abs();
            assert!(error < 1e-5, "{}, kinks {kinks}: {error:e}", method.name);
            for knot in 1..10 {
                assert!(kept.steps.contains(&f64::from(knot)), "{}: no step ends at {knot}", method.name);
            }
            assert_eq!(outcome.instants, 9, "{}", method.name);
            outcome.outcome.stats
        });
        let [restarted, kinks] = made.map(|stats| stats.rhs as f64);
        counts.push(format!("{} {restarted} {kinks}", method.name));
        gains.push((method.name, kinks / restarted));
    }
    // if steps are short compared with the distance of the knots, a restart is a small part of the work
    let of = |name: &str| gains.iter().find(|gain| gain.0 == name).map_or(f64::NAN, |gain| gain.1);
    assert!(gains.iter().all(|gain| gain.1 < 1.1) && of("dop853") < 0.9 && of("vern7") < 0.9, "{counts:#?}");
}

#[test]
fn a_period_below_rounding_error_is_ignored() {
    for period in [1e-20, 1e-17, 0.0, f64::NAN] {
        let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0)
            .every(0.0, period, f64::INFINITY)
            .event(Event::at(0, vec![Write::state(0).adding()]), |_, _, _, out| out[0] = 1.0);
        let made = run(&mut model, (1.0, 2.0), &[0.0], method::find("tsit5").unwrap(), &tolerances(1e-6, 1e-9));
        let Err(HybridError::Hybrid(failure)) = made else { panic!("{period}: no failure") };
        assert_eq!(failure.cause, HybridCause::NoTime { event: 0 }, "{period}");
    }
}

#[test]
fn an_instant_evaluates_only_lists_that_are_due() {
    // a list of one time for each event
    let most = |count: usize| {
        let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0).discretes(&[0.0]);
        for k in 0..count {
            model = model.at(&[(k + 1) as f64 / count as f64]);
            model = model.event(Event::at(k, vec![Write::discrete(0).adding()]), |_, _, _, out| out[0] = 1.0);
        }
        let tsit5 = method::find("tsit5").unwrap();
        let (outcome, kept) = run(&mut model, (0.0, 2.0), &[0.0], tsit5, &tolerances(1e-6, 1e-9)).unwrap();
        assert!(outcome.executed == count as u64 && kept.instants.len() == count);
        model.asked.get() as f64 / count as f64
    };
    let (few, many) = (most(50), most(400));
    assert!(many <= 1.2 * few, "{few} calls for each event of 50, {many} of 400");
}
