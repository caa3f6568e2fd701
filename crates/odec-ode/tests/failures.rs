//! Tests every end of a run: each refusal and each failure, with its place. No run hangs.

use crate::dense;

use std::ops::ControlFlow;

use dense::{Dense, Rows, failure, fixed, method, run, tolerances};
use odec_ode::method::Adaptive;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape};
use odec_ode::{Cause, Options, Problem, Refusal, Samples, Sink, SolveError, Stop, System, solve};

fn decay() -> Dense {
    Dense::new(1, |_, y, f| f[0] = -y[0], |_, _, j| j[0] = -1.0)
}

fn names() -> impl Iterator<Item = &'static str> {
    odec_ode::method::general().map(|m| m.name)
}

#[test]
fn senseless_options_are_refused() {
    let ok = Options::default();
    let cases: Vec<(&str, Options)> = vec![
        ("rtol", Options { rtol: 0.0, ..ok.clone() }),
        ("rtol", Options { rtol: -1.0, ..ok.clone() }),
        ("rtol", Options { rtol: f64::NAN, ..ok.clone() }),
        ("rtol", Options { rtol: f64::INFINITY, ..ok.clone() }),
        ("precision", Options { rtol: 1e-16, ..ok.clone() }),
        ("absolute", Options { atol: vec![-1e-9], ..ok.clone() }),
        ("absolute", Options { atol: vec![f64::NAN], ..ok.clone() }),
        ("absolute", Options { atol: vec![1e-9, 1e-9], ..ok.clone() }),
        ("absolute", Options { atol: vec![], ..ok.clone() }),
        ("step", Options { step: Some(0.0), ..ok.clone() }),
        ("step", Options { step: Some(-0.1), ..ok.clone() }),
        ("step", Options { step: Some(f64::NAN), ..ok.clone() }),
        ("step", Options { step: Some(f64::INFINITY), fixed: true, ..ok.clone() }),
        ("step", Options { fixed: true, ..ok.clone() }),
        ("rounding", Options { step: Some(1e-17), fixed: true, ..ok.clone() }),
        ("largest step", Options { max_step: Some(0.0), ..ok.clone() }),
    ];
    for name in names() {
        for (word, options) in &cases {
            match run(&decay(), (0.0, 1.0), &[1.0], name, options) {
                Err(SolveError::Refused(Refusal::BadOption(text))) => assert!(text.contains(word), "{text}"),
                other => panic!("{name} {options:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn senseless_problems_are_refused() {
    let refused = |span: (f64, f64), y0: &[f64]| match run(&decay(), span, y0, "rodas4", &Options::default()) {
        Err(SolveError::Refused(Refusal::BadOption(text))) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused((0.0, f64::NAN), &[1.0]).contains("finite"));
    assert!(refused((0.0, f64::INFINITY), &[1.0]).contains("finite"));
    assert!(refused((f64::NAN, 1.0), &[1.0]).contains("finite"));
    assert!(refused((-1e308, 1e308), &[1.0]).contains("finite"));
    assert!(refused((0.0, 1.0), &[1.0, 2.0]).contains("initial values"));
    assert!(refused((0.0, 1.0), &[]).contains("initial values"));
    assert!(refused((0.0, 1.0), &[f64::NAN]).contains("unknown 0"));
    for times in [vec![0.5, 2.0], vec![-0.5], vec![0.6, 0.5], vec![f64::NAN]] {
        let problem = Problem { t0: 0.0, t_end: 1.0, y0: vec![1.0] };
        let samples = Samples::Times(times);
        let result = solve(&decay(), &problem, method("rk4"), &Options::default(), &samples, &mut Rows::new());
        assert!(matches!(result, Err(SolveError::Refused(Refusal::BadOption(_)))), "{result:?}");
    }
    assert_eq!(odec_ode::method::find("rk45").unwrap().name, "dopri5");
    assert_eq!(odec_ode::method::find("bdf7").unwrap_err(), Refusal::NotZeroStable(7));
    assert_eq!(odec_ode::method::find("bdf0").unwrap_err(), Refusal::UnknownMethod("bdf0".to_string()));
    assert_eq!(odec_ode::method::find("nosuch").unwrap_err(), Refusal::UnknownMethod("nosuch".to_string()));
}

/// The failure does not blame a row whose value is finite.
#[test]
fn a_system_that_refuses_an_evaluation_with_finite_values_has_its_own_failure() {
    struct Until(Dense);
    impl System for Until {
        fn shape(&self) -> Shape {
            self.0.shape()
        }
        fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
            self.0.rhs(t, y, f)?;
            if t > 0.5 { Err(EvalError::Recoverable) } else { Ok(()) }
        }
        fn jacobian(&self) -> Jacobian<'_> {
            self.0.jacobian()
        }
        fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
            self.0.jacobian_values(t, y, values)
        }
    }
    for name in names() {
        let options = if odec_ode::method::find(name).unwrap().adaptive == Adaptive::FixedStep {
            fixed(0.01)
        } else {
            tolerances(1e-6, 1e-9)
        };
        let failure = failure(&Until(decay()), (0.0, 1.0), &[1.0], name, &options);
        assert!(matches!(failure.cause, Cause::Refused), "{name}: {:?}", failure.cause);
        assert!(failure.t <= 0.5 + 1e-12, "{name}: {}", failure.t);
    }
}

#[test]
fn a_system_that_contradicts_itself_is_refused() {
    let refused = |system: &Dense| match run(system, (0.0, 1.0), &[1.0], "rodas4", &Options::default()) {
        Err(SolveError::Refused(Refusal::BadOption(text))) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused(&decay().second(1)).contains("second-order"));
    assert!(refused(&decay().mass(&[f64::NAN])).contains("mass matrix"));
    let pattern =
        |rows, col_ptr: &[u32], row_idx: &[u32]| Pattern { rows, col_ptr: col_ptr.to_vec(), row_idx: row_idx.to_vec() };
    assert!(pattern(2, &[0, 1, 3], &[1, 0, 1]).is_square(2));
    assert!(pattern(2, &[0, 0, 0], &[]).is_square(2));
    for (rows, col_ptr, row_idx) in [
        (3, &[0, 1, 2][..], &[0, 1][..]),
        (2, &[0, 1], &[0]),
        (2, &[], &[]),
        (2, &[1, 1, 2], &[0, 1]),
        (2, &[0, 2, 1], &[0]),
        (2, &[0, 1, 3], &[0, 1]),
        (2, &[0, 2, 3], &[1, 0, 1]),
        (2, &[0, 2, 3], &[0, 0, 1]),
        (2, &[0, 1, 2], &[0, 2]),
    ] {
        assert!(!pattern(rows, col_ptr, row_idx).is_square(2), "{col_ptr:?} {row_idx:?}");
    }
}

#[test]
fn a_zero_without_absolute_tolerance_is_refused() {
    let options = Options { atol: vec![0.0], ..Options::default() };
    for name in names() {
        match run(&decay(), (0.0, 1.0), &[0.0], name, &options) {
            Err(SolveError::Refused(refusal)) => assert_eq!(refusal, Refusal::NoTolerance { row: 0 }, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        // Away from zero a relative tolerance alone is sufficient.
        assert!(run(&decay(), (0.0, 1.0), &[1.0], name, &options).is_ok(), "{name}");
    }
}

#[test]
fn extreme_scales_are_solved() {
    for scale in [1e-200, 1e-30, 1e30, 1e200] {
        for name in names() {
            let options = Options { rtol: 1e-4, atol: vec![1e-4 * scale], ..Options::default() };
            let (outcome, _) = run(&decay(), (0.0, 1.0), &[scale], name, &options).unwrap();
            assert!((outcome.y[0] / scale - (-1f64).exp()).abs() < 1e-2, "{name} at {scale:e}");
        }
    }
    // Fast and slow clocks.
    for rate in [1e-15, 1e15] {
        for method in odec_ode::method::general() {
            let system = Dense::new(1, move |_, y, f| f[0] = -rate * y[0], move |_, _, j| j[0] = -rate);
            let (outcome, _) = run(&system, (0.0, 1.0 / rate), &[1.0], method.name, &tolerances(1e-4, 1e-4)).unwrap();
            assert!((outcome.y[0] - (-1f64).exp()).abs() < 1e-2, "{} at {rate:e}", method.name);
        }
    }
}

#[test]
fn an_empty_interval_is_done_at_once() {
    for name in names() {
        let (outcome, rows) = run(&decay(), (2.0, 2.0), &[1.0], name, &Options::default()).unwrap();
        assert_eq!((outcome.stop, outcome.t, outcome.y), (Stop::End, 2.0, vec![1.0]));
        assert_eq!(rows, vec![(2.0, vec![1.0])]);
    }
}

#[test]
fn a_start_outside_the_domain_fails_immediately() {
    let system = Dense::new(1, |_, y, f| f[0] = y[0].sqrt(), |_, y, j| j[0] = 0.5 / y[0].sqrt());
    for name in names() {
        let failed = failure(&system, (0.0, 1.0), &[-1.0], name, &Options::default());
        assert_eq!(failed.cause, Cause::NonFiniteRhs { row: 0 }, "{name}");
        assert_eq!((failed.t, &failed.y[..]), (0.0, &[-1.0][..]));
        assert_eq!(failed.at, Some((0.0, vec![-1.0])));
        assert!(failed.stats.rhs <= 2);
    }
}

#[test]
fn leaving_the_domain_is_reported_near_the_border() {
    // y' = -1/(2 sqrt(y)) - ... decreases to 0 at t = 1, and log(y) is undefined beyond: y' = -exp(-log(y)) = -1/y,
    // y^2 = 1 - 2t.
    let system =
        Dense::new(2, |_, y, f| (f[0], f[1]) = (1.0, -(-y[1].ln()).exp()), |_, y, j| j[3] = 1.0 / (y[1] * y[1]));
    for name in names() {
        let options = Options { max_steps: 200_000, ..tolerances(1e-5, 1e-7) };
        let failed = failure(&system, (0.0, 2.0), &[0.0, 1.0], name, &options);
        assert!((failed.t - 0.5).abs() < 1e-2, "{name}: {} {:?}", failed.t, failed.cause);
        match failed.cause {
            Cause::NonFiniteRhs { row } | Cause::StepCollapsed { row, .. } | Cause::NewtonFailed { row } => {
                assert_eq!(row, 1, "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_jump_to_nan_in_time_is_found() {
    let system = Dense::new(1, |t, y, f| f[0] = if t > 0.7 { f64::NAN } else { -y[0] }, |_, _, j| j[0] = -1.0)
        .time(|_, _, ft| ft[0] = 0.0);
    for name in names() {
        let failed = failure(&system, (0.0, 1.0), &[1.0], name, &Options::default());
        assert_eq!(failed.cause, Cause::NonFiniteRhs { row: 0 }, "{name}");
        assert!(failed.t <= 0.7 && failed.t > 0.69, "{name}: {}", failed.t);
        assert!((failed.y[0] - (-failed.t).exp()).abs() < 1e-3, "{name}");
        let (t, _) = failed.at.unwrap();
        assert!(t > 0.7 && t < 0.71, "{name}: {t}");
    }
}

#[test]
fn derivatives_that_are_not_finite_are_named() {
    let entry =
        Dense::new(2, |_, y, f| f.copy_from_slice(y), |_, _, j| j.copy_from_slice(&[1.0, f64::INFINITY, 0.0, 1.0]));
    let in_time = Dense::new(2, |_, y, f| f.copy_from_slice(y), |_, _, j| j.copy_from_slice(&[1.0, 0.0, 0.0, 1.0]))
        .time(|_, _, ft| (ft[0], ft[1]) = (0.0, f64::INFINITY));
    for method in odec_ode::method::general() {
        if method.structure.jacobian {
            let failed = failure(&entry, (0.0, 1.0), &[1.0, 1.0], method.name, &Options::default());
            assert_eq!(failed.cause, Cause::NonFiniteJacobian { row: 0, col: 1 }, "{}", method.name);
            assert!(failed.at.is_some());
        }
        if method.structure.time_derivative {
            let failed = failure(&in_time, (0.0, 1.0), &[1.0, 1.0], method.name, &Options::default());
            assert_eq!(failed.cause, Cause::NonFiniteTimeDerivative { row: 1 }, "{}", method.name);
        }
    }
}

#[test]
fn blow_up_in_finite_time_collapses_the_step() {
    // y' = y^3, y = (1 - 2t)^(-1/2). (y' = y^2 would not do: RODAS3 solves it exactly, and steps over its pole.)
    let system = Dense::new(1, |_, y, f| f[0] = y[0].powi(3), |_, y, j| j[0] = 3.0 * y[0] * y[0]);
    for name in names() {
        let options = Options { max_steps: 300_000, ..tolerances(1e-4, 1e-6) };
        let failed = failure(&system, (0.0, 2.0), &[1.0], name, &options);
        assert!((failed.t - 0.5).abs() < 1e-2, "{name}: {:?} at {}", failed.cause, failed.t);
    }
}

#[test]
fn an_unstable_fixed_step_runs_until_numbers_end() {
    let system = Dense::new(1, |_, y, f| f[0] = -1000.0 * y[0], |_, _, j| j[0] = -1000.0);
    for name in ["euler", "midpoint", "rk4", "dopri5"] {
        let failed = failure(&system, (0.0, 1000.0), &[1.0], name, &fixed(1.0));
        assert!(matches!(failed.cause, Cause::NonFiniteRhs { row: 0 } | Cause::NonFiniteState { row: 0 }), "{name}");
        assert!(
            failed.t > 10.0 && failed.t < 200.0 && failed.y[0].is_finite() && failed.h == 1.0,
            "{name}: {}",
            failed.t
        );
    }
}

#[test]
fn a_singular_matrix_is_reported_with_its_column() {
    // 0 = z^2 has no regular solution: W is singular at z = 0, and y2 never occurs in the equations.
    let system =
        Dense::new(2, |_, y, f| (f[0], f[1]) = (-y[0], -y[0]), |_, _, j| j.copy_from_slice(&[-1.0, 0.0, -1.0, 0.0]))
            .mass(&[1.0, 0.0, 0.0, 0.0]);
    for method in odec_ode::method::general().filter(|m| m.structure.jacobian) {
        let failed = failure(&system, (0.0, 1.0), &[1.0, 1.0], method.name, &Options::default());
        assert_eq!(failed.cause, Cause::Singular { col: 1 }, "{}", method.name);
    }
}

#[test]
fn newton_without_a_root_fails_with_its_row() {
    // The algebraic equation 0 = 1 + z^2 has no real solution.
    let system = Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (-y[0], 1.0 + y[1] * y[1]),
        |_, y, j| j.copy_from_slice(&[-1.0, 0.0, 0.0, 2.0 * y[1]]),
    )
    .mass(&[1.0, 0.0, 0.0, 0.0]);
    for name in ["backward-euler", "trapezoidal", "bdf", "bdf2"] {
        let failed = failure(&system, (0.0, 1.0), &[1.0, 0.3], name, &Options::default());
        assert!(
            matches!(
                failed.cause,
                Cause::NewtonFailed { row: 1 } | Cause::Singular { col: 1 } | Cause::StepCollapsed { row: 1, .. }
            ),
            "{name}: {:?}",
            failed.cause
        );
        assert_eq!(failed.t, 0.0);
    }
}

#[test]
fn the_budget_of_steps_holds() {
    for name in names() {
        let options = Options { max_steps: 7, max_step: Some(0.01), ..Options::default() };
        let failed = failure(&decay(), (0.0, 1.0), &[1.0], name, &options);
        assert_eq!(failed.cause, Cause::TooManySteps { budget: 7 }, "{name}");
        assert_eq!(failed.stats.accepted + failed.stats.rejected + failed.stats.failed, 7, "{name}");
    }
}

#[test]
fn a_sink_that_stops_is_an_outcome() {
    struct StopAt(f64);
    impl Sink for StopAt {
        fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn step(&mut self, t: f64) -> ControlFlow<()> {
            if t > self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    for name in names() {
        let problem = Problem { t0: 0.0, t_end: 10.0, y0: vec![1.0] };
        let options = Options { max_step: Some(0.1), ..Options::default() };
        let outcome = solve(&decay(), &problem, method(name), &options, &Samples::Steps, &mut StopAt(2.0)).unwrap();
        assert_eq!(outcome.stop, Stop::Interrupted, "{name}");
        assert!(outcome.t > 2.0 && outcome.t < 2.2, "{name}");
        let mut three = Rows { limit: 3, ..Rows::new() };
        let outcome = solve(&decay(), &problem, method(name), &options, &Samples::Steps, &mut three).unwrap();
        assert_eq!((outcome.stop, three.rows.len()), (Stop::Interrupted, 3));
    }
}
