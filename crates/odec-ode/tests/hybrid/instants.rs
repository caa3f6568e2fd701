//! Rounds at an instant: simultaneous events, priorities, conflicts, chains.

use super::model::{Model, adaptive, run};
use crate::dense::tolerances;
use odec_ode::hybrid::{Edge, End, Event, HybridCause, HybridError, MAX_ROUNDS, Trigger, Write, WriteTarget};
use odec_ode::method;

fn tsit5() -> &'static odec_ode::Method {
    method::find("tsit5").unwrap()
}

/// Three balls that are dropped from one height hit the floor at one instant, as a stack: each gets the speed of the
/// previous one.
fn stack(order: [usize; 3]) -> Model {
    let mut model = Model::new(6, |_, y, _, f| {
        for i in 0..3 {
            (f[i], f[3 + i]) = (y[3 + i], -9.81);
        }
    })
    .autonomous()
    .bounds(&[(order[0], false, 0.0), (order[1], false, 0.0), (order[2], false, 0.0)])
    .discretes(&[0.0]);
    for ball in order {
        let writes = vec![Write::state(3 + ball), Write::discrete(0).adding()];
        model = model.event(Event::when(writes), move |_, y, _, out| {
            // speeds before the round, all equal
            out.copy_from_slice(&[-0.5 * y[3 + (ball + 1) % 3], 0.1 * (ball + 1) as f64]);
        });
    }
    model.conditions(|now, out| (0..3).for_each(|k| out[k] = now.holds(k)))
}

#[test]
fn three_events_at_one_instant_are_one_round_in_any_order() {
    for method in adaptive() {
        let rtol = if method.order < 3 { 1e-6 } else { 1e-9 };
        let mut kinds = Vec::new();
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let mut model = stack(order);
            let y0 = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
            let made = run(&mut model, (0.0, 0.6), &y0, method, &tolerances(rtol, rtol));
            let (outcome, kept) = made.unwrap_or_else(|error| panic!("{}: {error:?}", method.name));
            assert_eq!(kept.instants.len(), 1, "{}: {:?}", method.name, kept.instants);
            assert_eq!(kept.instants[0].events, [(0, 0), (1, 0), (2, 0)], "{}", method.name);
            kinds.push((kept.rows, model.body.discretes.clone(), outcome.outcome.stats));
        }
        assert!(kinds.windows(2).all(|pair| pair[0] == pair[1]), "{}: the order of the events counts", method.name);
    }
}

#[test]
fn priorities_make_rounds() {
    // at t = 1 three events: y := y + 1, y := 10 y, y := y - 3, by priority 2, 3, 1
    let mut model = Model::new(1, |_, _, _, f| f[0] = 0.0)
        .at(&[1.0])
        .event(Event::at(0, vec![Write::state(0)]), |_, y, _, out| out[0] = y[0] + 1.0)
        .event(Event { late: true, ..Event::at(0, vec![Write::state(0)]) }, |_, y, _, out| out[0] = 10.0 * y[0])
        .event(Event { late: true, ..Event::at(0, vec![Write::state(0)]) }, |_, y, _, out| out[0] = y[0] - 3.0);
    model.priorities = vec![3.0, 2.0, 1.0];
    let (_, kept) = run(&mut model, (0.0, 2.0), &[1.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
    assert_eq!(kept.instants[0].events, [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(kept.rows.last().unwrap().1, [17.0]);
    // by rank only, in the opposite order
    model.priorities.clear();
    for (rank, event) in model.events.iter_mut().enumerate() {
        (event.rank, event.late) = (rank as u32, true);
    }
    let (_, kept) = run(&mut model, (0.0, 2.0), &[1.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
    assert_eq!(kept.instants[0].events, [(2, 0), (1, 1), (0, 2)]);
    assert_eq!(kept.rows.last().unwrap().1, [-19.0]);
}

#[test]
fn two_that_write_one_quantity_are_an_error() {
    let set = || Event::at(0, vec![Write::state(1)]);
    let add = || Event::at(0, vec![Write::state(1).adding()]);
    let model = |first: Event, second: Event| {
        Model::new(2, |_, _, _, f| f.fill(0.0))
            .at(&[1.0])
            .event(first, |_, _, _, out| out[0] = 2.0)
            .event(second, |_, _, _, out| out[0] = 3.0)
    };
    let made = run(&mut model(set(), set()), (0.0, 2.0), &[0.0, 0.0], tsit5(), &tolerances(1e-6, 1e-9));
    let Err(HybridError::Hybrid(failure)) = made.map(|_| ()) else { panic!("no conflict") };
    assert_eq!(failure.cause, HybridCause::Conflict { target: WriteTarget::State(1), events: [0, 1] });
    assert_eq!(failure.t, 1.0);
    // one event that sets and one that adds, in any order, and two that add
    for (first, second, end) in [(set(), add(), 5.0), (add(), set(), 5.0), (add(), add(), 6.0)] {
        let (_, kept) =
            run(&mut model(first, second), (0.0, 2.0), &[0.0, 1.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
        assert_eq!(kept.rows.last().unwrap().1[1], end);
    }
}

#[test]
fn sums_are_bitwise_independent_of_order() {
    let parts = [0.1, 1e16, -1e16, 0.3, 1e-9];
    let sum = |order: [usize; 5]| {
        let mut model = Model::new(1, |_, _, _, f| f[0] = 0.0).at(&[1.0]);
        for k in order {
            let value = parts[k];
            model = model.event(Event::at(0, vec![Write::state(0).adding()]), move |_, _, _, out| out[0] = value);
        }
        run(&mut model, (0.0, 2.0), &[0.7], tsit5(), &tolerances(1e-6, 1e-9)).unwrap().0.outcome.y[0]
    };
    assert!([[1, 0, 2, 4, 3], [4, 3, 2, 1, 0], [2, 1, 0, 3, 4]].map(sum).iter().all(|y| *y == sum([0, 1, 2, 3, 4])));
}

#[test]
fn one_event_triggers_the_next_and_for_ever_is_an_error() {
    // x > 1 sets a, a sets b; each reads the values written by the previous round
    let when = |writes| Event::when(writes);
    let base = || Model::new(1, |_, _, _, f| f[0] = 1.0).bounds(&[(0, true, 1.0)]).discretes(&[0.0, 0.0, 0.0]);
    let mut chain = base()
        .event(when(vec![Write::discrete(0)]), |_, _, _, out| out[0] = 1.0)
        .event(when(vec![Write::discrete(1)]), |_, _, d, out| out[0] = d[0] + 1.0)
        .event(Event { stops: true, ..when(vec![]) }, |_, _, _, _| {})
        .conditions(|now, out| out.copy_from_slice(&[now.holds(0), now.discretes[0] == 1.0, now.discretes[1] == 2.0]));
    let (outcome, kept) = run(&mut chain, (0.0, 2.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
    assert_eq!(kept.instants[0].events, [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(outcome.end, End::Event(2));
    assert!((outcome.outcome.t - 1.0).abs() < 1e-14);
    // a and b in turn
    let mut endless = base()
        .event(when(vec![Write::discrete(0)]), |_, _, d, out| out[0] = d[0] + 1.0)
        .event(when(vec![Write::discrete(0)]), |_, _, d, out| out[0] = d[0] + 1.0)
        .event(
            Event { trigger: Trigger::Condition(Edge::Falling), ..when(vec![Write::discrete(0)]) },
            |_, _, d, out| {
                out[0] = d[0] + 1.0;
            },
        )
        .conditions(|now, out| {
            let odd = now.discretes[0] % 2.0 == 1.0;
            out.copy_from_slice(&[now.holds(0), odd, odd]);
        });
    let made = run(&mut endless, (0.0, 2.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9));
    let Err(HybridError::Hybrid(failure)) = made.map(|_| ()) else { panic!("it ends") };
    assert_eq!(failure.cause, HybridCause::Chain { events: vec![1, 2] });
    // the first rounds of the three events do not count
    assert_eq!(endless.body.discretes[0], f64::from(MAX_ROUNDS + 3));
}

#[test]
fn conditions_true_at_the_start_fire_only_with_from_start() {
    for from_start in [false, true] {
        let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0)
            .bounds(&[(0, true, -1.0)])
            .discretes(&[0.0])
            .event(Event { from_start, ..Event::when(vec![Write::discrete(0).adding()]) }, |_, _, _, out| out[0] = 1.0)
            .conditions(|now, out| out[0] = now.holds(0));
        let (_, kept) = run(&mut model, (0.0, 1.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
        assert_eq!(kept.times(0), if from_start { vec![0.0] } else { vec![] });
    }
    // on the surface, and about to cross it
    let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0)
        .bounds(&[(0, true, 0.0)])
        .event(Event::when(vec![]), |_, _, _, _| {})
        .conditions(|now, out| out[0] = now.holds(0));
    let (_, kept) = run(&mut model, (0.0, 1.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9)).unwrap();
    assert_eq!(kept.times(0), [0.0]);
}

#[test]
fn bad_delays_and_values_are_named() {
    for (delay, value, want) in [
        (-1.0, 0.0, HybridCause::Delay { event: 0, delay: -1.0 }),
        (0.0, f64::NAN, HybridCause::NoValue { event: 0, write: Some(0) }),
        (0.0, f64::INFINITY, HybridCause::NoValue { event: 0, write: Some(0) }),
    ] {
        let mut model = Model::new(1, |_, _, _, f| f[0] = 1.0)
            .at(&[0.5])
            .event(Event::at(0, vec![Write::state(0)]), move |_, _, _, out| out[0] = value);
        model.delays = vec![delay];
        let made = run(&mut model, (0.0, 1.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9));
        let Err(HybridError::Hybrid(failure)) = made.map(|_| ()) else { panic!("no failure") };
        assert_eq!((failure.cause, failure.t), (want, 0.5));
    }
    let mut backwards = Model::new(1, |_, _, _, f| f[0] = 1.0).at(&[0.5]);
    assert!(run(&mut backwards, (1.0, 0.0), &[0.0], tsit5(), &tolerances(1e-6, 1e-9)).is_err());
}
