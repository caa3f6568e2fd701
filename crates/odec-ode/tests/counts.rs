//! Exact work of a handful of runs: a change of these numbers is a change of behaviour and must be meant.

use crate::dense;
use crate::stiff;

use dense::{Dense, fixed, run, tolerances};
use odec_ode::Stats;
use stiff::Stiff;

fn stiff_run(problem: &Stiff, name: &str, rtol: f64) -> Stats {
    run(problem, (0.0, problem.t_end), &problem.y0, name, &tolerances(rtol, rtol * problem.ratio)).unwrap().0.stats
}

/// accepted, rejected, failed, f, J, LU, solves, Newton iterations.
fn counts(s: Stats) -> [u64; 8] {
    [s.accepted, s.rejected, s.failed, s.rhs, s.jacobians, s.factorisations, s.solves, s.newton]
}

#[test]
fn adaptive_runs() {
    let got = [
        counts(stiff_run(&stiff::robertson_40(), "rodas4", 1e-6)),
        counts(stiff_run(&stiff::hires(), "rodas4", 1e-6)),
        counts(stiff_run(&stiff::pollu(), "rodas4", 1e-6)),
        counts(stiff_run(&stiff::robertson_40(), "backward-euler", 1e-3)),
        counts(stiff_run(&stiff::robertson_40(), "linearised-backward-euler", 1e-3)),
        counts(stiff_run(&stiff::hires(), "trapezoidal", 1e-4)),
        counts(stiff_run(&stiff::hires(), "dopri5", 1e-6)),
    ];
    let expected: [[u64; 8]; 7] = [
        [101, 1, 0, 614, 101, 102, 612, 0],
        [366, 1, 0, 2204, 366, 367, 2202, 0],
        [138, 1, 0, 836, 138, 139, 834, 0],
        [105, 2, 0, 872, 82, 82, 870, 870],
        [102, 3, 0, 213, 315, 315, 315, 0],
        [117, 7, 9, 1891, 149, 149, 1640, 1640],
        [10596, 1, 0, 63585, 0, 0, 0, 0],
    ];
    assert_eq!(got, expected);
}

#[test]
fn fixed_steps() {
    let pendulum = || {
        Dense::new(
            2,
            |_, y, f| (f[0], f[1]) = (y[1], -y[0].sin()),
            |_, y, j| j.copy_from_slice(&[0.0, 1.0, -y[0].cos(), 0.0]),
        )
        .second(1)
    };
    let work = |name: &str| counts(run(&pendulum(), (0.0, 10.0), &[1.0, 0.0], name, &fixed(0.1)).unwrap().0.stats);
    // k f-evaluations per step and one at the start (k: stages; the last stage of dopri5 is the first of the next step).
    assert_eq!(work("euler"), [100, 0, 0, 101, 0, 0, 0, 0]);
    assert_eq!(work("midpoint"), [100, 0, 0, 201, 0, 0, 0, 0]);
    assert_eq!(work("rk4"), [100, 0, 0, 401, 0, 0, 0, 0]);
    assert_eq!(work("dopri5"), [100, 0, 0, 601, 0, 0, 0, 0]);
    assert_eq!(work("linearised-backward-euler"), [100, 0, 0, 101, 100, 100, 100, 0]);
    assert_eq!(work("rodas4"), [100, 0, 0, 601, 100, 100, 600, 0]);
    // Backward Euler: the Jacobian is reused while Newton's iteration contracts.
    let [accepted, _, failed, f, jacobians, factorisations, solves, newton] = work("backward-euler");
    assert_eq!((accepted, failed, jacobians, f, solves), (100, 0, factorisations, newton, newton));
    assert!(jacobians < 60 && newton < 700, "{jacobians} {newton}");
}
