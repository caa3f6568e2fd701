//! The integrator without the loop: state and time are set and read, history is discarded, objects can be boxed.

use crate::dense;

use dense::{Dense, tolerances};
use odec_ode::evaluator::Evaluator;
use odec_ode::integrator::{Attempt, Integrator};
use odec_ode::method::{Setup, general};

/// A pendulum with a drive.
fn pendulum() -> Dense {
    Dense::new(
        2,
        |t, y, f| (f[0], f[1]) = (y[1], -y[0].sin() + 0.1 * t),
        |_, y, j| j.copy_from_slice(&[0.0, 1.0, -y[0].cos(), 0.0]),
    )
    .time(|_, _, ft| (ft[0], ft[1]) = (0.0, 0.1))
    .second(1)
}

/// Accepted states of some steps from the current state of the integrator.
fn steps(integrator: &mut dyn Integrator, eval: &mut Evaluator<'_>, count: usize) -> Vec<(f64, Vec<f64>)> {
    let mut states = Vec::new();
    let mut h = 1e-4;
    while states.len() < count {
        match integrator.attempt(eval, h, integrator.time() + h) {
            Attempt::Accepted { next } => {
                states.push((integrator.time(), integrator.state().to_vec()));
                h = next;
            }
            Attempt::Rejected { next, error, row } => {
                assert!(row < 2 && if error > 1.0 { next < h } else { next > h }, "{error} {row} {next} {h}");
                h = next;
            }
            Attempt::Failed { cause, .. } => panic!("{cause:?}"),
        }
    }
    states
}

#[test]
fn setting_the_state_forgets_the_history() {
    let system = pendulum();
    let options = tolerances(1e-4, 1e-6);
    for method in general() {
        let mut integrator = (method.build)(&Setup { system: &system, method, options: &options }).unwrap();
        let mut eval = Evaluator::new(&system);
        assert_eq!(integrator.dimension(), 2);
        integrator.set(&mut eval, 0.0, &[1.0, 0.0]).unwrap();
        assert_eq!((integrator.time(), integrator.state()), (0.0, &[1.0, 0.0][..]));
        let first = steps(integrator.as_mut(), &mut eval, 12);
        // Elsewhere and back: the same bits.
        integrator.set(&mut eval, 5.0, &[-2.0, 1.0]).unwrap();
        steps(integrator.as_mut(), &mut eval, 5);
        integrator.set(&mut eval, 0.0, &[1.0, 0.0]).unwrap();
        assert_eq!(steps(integrator.as_mut(), &mut eval, 12), first, "{}", method.name);
    }
}

#[test]
fn dense_output_meets_the_ends_of_the_step() {
    let system = pendulum();
    let options = tolerances(1e-4, 1e-6);
    for method in general() {
        let mut integrator = (method.build)(&Setup { system: &system, method, options: &options }).unwrap();
        let mut eval = Evaluator::new(&system);
        integrator.set(&mut eval, 0.0, &[1.0, 0.0]).unwrap();
        let states = steps(integrator.as_mut(), &mut eval, 20);
        let mut y = [0.0; 2];
        for (t, expected) in &states[18..] {
            integrator.interpolate(*t, &mut y);
            let difference = (y[0] - expected[0]).abs().max((y[1] - expected[1]).abs());
            assert!(difference < 1e-13, "{} at {t}: {difference:e}", method.name);
        }
    }
}
