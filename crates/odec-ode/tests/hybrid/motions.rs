//! Crossings of Kepler's orbit and of the pendulum at tight tolerances, against closed forms.

use std::f64::consts::PI;

use super::model::{Model, run};
use crate::dense::tolerances;
use odec_ode::hybrid::{Edge, Event, Trigger};
use odec_ode::method;

fn mark(edge: Edge) -> Event {
    Event { trigger: Trigger::Condition(edge), ..Event::when(vec![]) }
}

/// Kepler's orbit of excentricity 0.5 and period 2 pi from its pericentre, and the crossing of the axis at the
/// apocentre.
fn kepler() -> Model {
    Model::new(4, |_, y, _, f| {
        let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
        f.copy_from_slice(&[y[2], y[3], -y[0] / r3, -y[1] / r3]);
    })
    .autonomous()
    .bounds(&[(1, true, 0.0)])
    .event(mark(Edge::Falling), |_, _, _, _| {})
    .conditions(|now, out| out[0] = now.holds(0))
}

/// x'' = -sin x from rest at x = 1: through the bottom after a quarter of a period.
fn pendulum() -> Model {
    Model::new(2, |_, y, _, f| f.copy_from_slice(&[y[1], -y[0].sin()]))
        .autonomous()
        .bounds(&[(0, true, 0.0)])
        .event(mark(Edge::Both), |_, _, _, _| {})
        .conditions(|now, out| out[0] = now.holds(0))
}

/// pi/(2 agm(1, cos(1/2))).
fn quarter() -> f64 {
    let (mut a, mut b) = (1.0, 0.5f64.cos());
    for _ in 0..8 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    0.5 * PI / a
}

fn errors(name: &str, rtol: f64) -> [f64; 2] {
    let method = method::find(name).unwrap();
    let start = [0.5, 0.0, 0.0, 3f64.sqrt()];
    let (_, kept) = run(&mut kepler(), (0.0, 4.0), &start, method, &tolerances(rtol, rtol)).unwrap();
    let times = kept.times(0);
    assert_eq!(times.len(), 1, "{name}, {rtol}: {times:?}");
    let first = (times[0] - PI).abs();
    let (_, kept) = run(&mut pendulum(), (0.0, 3.0), &[1.0, 0.0], method, &tolerances(rtol, rtol)).unwrap();
    let times = kept.times(0);
    assert_eq!(times.len(), 1, "{name}, {rtol}: {times:?}");
    [first, (times[0] - quarter()).abs()]
}

#[test]
fn crossings_are_right_to_the_tolerance() {
    // dop853 itself is off by 1.5e-11 at 1e-12
    for (name, rtol) in [("vern7", 1e-12), ("vern9", 1e-12), ("dop853", 3e-14)] {
        let errors = errors(name, rtol);
        assert!(errors.iter().all(|error| *error < 1e-12), "{name}: {errors:?}");
    }
}

#[test]
fn errors_of_crossings_fall_with_the_tolerance() {
    for name in ["tsit5", "dopri5", "rkf45", "cash-karp", "bs32", "abm", "rodas4", "rodas5p", "radau5", "bdf", "auto"] {
        let at = [1e-5, 1e-7, 1e-9].map(|rtol| errors(name, rtol));
        let [first, second, third] = at;
        for ((a, b), c) in first.into_iter().zip(second).zip(third) {
            assert!(c < a.max(1e-8) && b < 1e4 * 1e-7 && c < 1e4 * 1e-9, "{name}: {a:e} {b:e} {c:e}");
        }
    }
}
