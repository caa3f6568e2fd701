//! Tests the choice of methods during a run: the method of each step, the time of a switch, and the accuracy of a switch.

use crate::dense;
use crate::stiff;

use dense::{Dense, Rows, method, run, tolerances};
use odec_ode::method::auto::{ChoiceReason, Traits, method_pair, working_options};
use odec_ode::system::System;
use odec_ode::{Method, Options, Outcome, Problem, Samples, Stats, solve};

use crate::share::Share;

/// Makes a run to its end and stores every step.
fn automatic(system: &dyn System, t_end: f64, y0: &[f64], options: &Options) -> (Outcome, dense::Table) {
    run(system, (0.0, t_end), y0, "auto", options).expect("the run succeeds")
}

fn switches(outcome: &Outcome) -> u64 {
    outcome.history.as_ref().expect("auto says what it did").switches
}

fn line(outcome: &Outcome) -> String {
    outcome.history.as_ref().expect("auto says what it did").line("t")
}

/// x'' = -x - x^3 as first-order pair.
fn spring() -> Dense {
    Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (y[1], -y[0] - y[0].powi(3)),
        |_, y, j| j.copy_from_slice(&[0.0, 1.0, -1.0 - 3.0 * y[0] * y[0], 0.0]),
    )
    .second(1)
}

/// y' = -rate(t) (y - cos t) - sin t, whose solution from 1 is cos t.
fn pulled(rate: fn(f64) -> f64) -> Dense {
    Dense::new(1, move |t, y, f| f[0] = -rate(t) * (y[0] - t.cos()) - t.sin(), move |t, _, j| j[0] = -rate(t)).time(
        move |t, y, out| {
            let d = 1e-6;
            let change = (rate(t + d) - rate(t - d)) / (2.0 * d);
            out[0] = -change * (y[0] - t.cos()) - rate(t) * t.sin() - t.cos();
        },
    )
}

#[test]
fn nonstiff_problems_use_the_explicit_method() {
    for rtol in [1e-3, 1e-5, 1e-7, 1e-9, 1e-11] {
        let options = tolerances(rtol, rtol);
        let (outcome, rows) = automatic(&spring(), 20.0, &[1.0, 0.0], &options);
        assert_eq!(switches(&outcome), 0, "{rtol}: {}", line(&outcome));
        let name =
            method_pair(&Traits { n: 2, fixed: false, rtol, moving_mass: false, series: false }).explicit.unwrap().name;
        assert_eq!(line(&outcome), format!("{name} throughout: the problem is not stiff"));
        // the first step is chosen before the method is known
        let options = Options { step: Some(rows[1].0), ..working_options(&options, method(name)) };
        let (_, alone) = run(&spring(), (0.0, 20.0), &[1.0, 0.0], name, &options).unwrap();
        assert_eq!(rows, alone, "the same steps with the same bits");
    }
}

#[test]
fn problems_stiff_from_the_start_begin_with_the_implicit_method() {
    let problem = stiff::pollu();
    let (outcome, _) = automatic(&problem, problem.t_end, &problem.y0, &tolerances(1e-6, 1e-6 * problem.ratio));
    let history = outcome.history.as_ref().unwrap();
    assert_eq!(
        (history.legs[0].method, history.legs[0].why),
        ("rodas5p", ChoiceReason::StiffAtStart),
        "{}",
        line(&outcome)
    );
    assert!(problem.error(&outcome.y) < 1e-4);
}

#[test]
fn the_phases_of_a_relaxation_oscillator_have_their_methods() {
    let problem = stiff::vdpol();
    for rtol in [1e-4, 1e-6, 1e-8] {
        let options = tolerances(rtol, rtol * problem.ratio);
        let (outcome, _) = automatic(&problem, problem.t_end, &problem.y0, &options);
        let history = outcome.history.as_ref().unwrap();
        // Slow branch, jump, slow branch, jump, slow branch.
        assert!((4..=12).contains(&history.switches), "{}", line(&outcome));
        assert!(history.steps[0] > 50 && history.steps[1] > 50, "{}", line(&outcome));
        assert!(problem.error(&outcome.y) < 300.0 * rtol, "{rtol}: {}", problem.error(&outcome.y));
        assert_eq!(outcome.stats.accepted, history.steps[0] + history.steps[1]);
    }
}

#[test]
fn both_ends_of_stiffness_are_found() {
    type Rate = fn(f64) -> f64;
    let cases: [(&str, Rate); 2] =
        [("vern7", |t| 1.0 + 1e5 / (1.0 + (10.0 - t).exp())), ("rodas5p", |t| 1.0 + 1e5 / (1.0 + (t - 10.0).exp()))];
    for (first, rate) in cases {
        let (outcome, rows) = automatic(&pulled(rate), 40.0, &[1.0], &tolerances(1e-6, 1e-6));
        let history = outcome.history.as_ref().unwrap();
        assert_eq!(history.legs[0].method, first, "{}", line(&outcome));
        assert!((1..=3).contains(&history.switches), "{}", line(&outcome));
        let [explicit, implicit] = history.steps;
        assert!(explicit > 10 && implicit > 10, "{}", line(&outcome));
        for (t, y) in rows {
            assert!((y[0] - t.cos()).abs() < 2e-5, "at {t}: {}", y[0] - t.cos());
        }
    }
}

#[test]
fn rows_between_steps_are_right_over_a_change() {
    let system = pulled(|t| 1.0 + 3e3 / (1.0 + (4.0 * (3.0 - t)).exp()));
    let times: Vec<f64> = (0..=4000).map(|i| f64::from(i) * 2.5e-3).collect();
    let problem = Problem { t0: 0.0, t_end: 10.0, y0: vec![1.0] };
    let worst = |name: &str| {
        let mut rows = Rows::new();
        let samples = Samples::Times(times.clone());
        let outcome = solve(&system, &problem, method(name), &tolerances(1e-7, 1e-7), &samples, &mut rows).unwrap();
        assert_eq!(rows.rows.iter().map(|r| r.0).collect::<Vec<_>>(), times);
        (outcome, rows.rows.iter().map(|(t, y)| (y[0] - t.cos()).abs()).fold(0.0, f64::max))
    };
    let (outcome, own) = worst("auto");
    assert!(switches(&outcome) > 0, "{}", line(&outcome));
    let alone = worst("rodas4").1;
    assert!(own <= 1.5 * alone && alone < 1e-5, "{own:e} and {alone:e} with one method");
}

#[test]
fn it_runs_backwards_too() {
    // Backwards in time a decaying mode grows: the slow part is relevant.
    let system = Dense::new(1, |t, y, f| f[0] = 1e4 * (y[0] - t.cos()) - t.sin(), |_, _, j| j[0] = 1e4)
        .time(|t, _, out| out[0] = 1e4 * t.sin() - t.cos());
    let (outcome, rows) = run(&system, (10.0, 0.0), &[10f64.cos()], "auto", &tolerances(1e-6, 1e-6)).unwrap();
    assert!(outcome.history.as_ref().unwrap().steps[1] > 0, "{}", line(&outcome));
    for (t, y) in rows {
        assert!((y[0] - t.cos()).abs() < 1e-5, "at {t}");
    }
}

#[test]
fn equations_without_derivatives_need_the_implicit_method() {
    // y' = -y, 0 = z - y^2.
    let system = Dense::new(
        2,
        |_, y, f| (f[0], f[1]) = (-y[0], y[1] - y[0] * y[0]),
        |_, y, j| j.copy_from_slice(&[-1.0, 0.0, -2.0 * y[0], 1.0]),
    )
    .mass(&[1.0, 0.0, 0.0, 0.0]);
    let (outcome, _) = automatic(&system, 2.0, &[1.0, 1.0], &tolerances(1e-6, 1e-8));
    assert_eq!(line(&outcome), "rodas5p throughout: not every equation determines a derivative");
    assert!((outcome.y[1] - (-4f64).exp()).abs() < 1e-5);
}

#[test]
fn a_mass_matrix_that_becomes_singular_is_left_to_the_implicit_method() {
    // m(t) y' = m(t) cos t - (1 - m) (y - sin t) with m falling to exactly 0 at t = 2.
    let m = |t: f64| (1.0 - t / 2.0).max(0.0).powi(2);
    let system = Dense::new(
        1,
        move |t, y, f| f[0] = m(t) * t.cos() - (1.0 - m(t)) * (y[0] - t.sin()),
        move |t, _, j| j[0] = -(1.0 - m(t)),
    )
    .time(move |t, y, out| {
        let dm = if t < 2.0 { -(1.0 - t / 2.0) } else { 0.0 };
        out[0] = dm * (t.cos() + y[0] - t.sin()) - m(t) * t.sin() + (1.0 - m(t)) * t.cos();
    })
    .moving_mass(move |t, _, rows| rows[0] = m(t), |_, _, _, rows| rows[0] = 0.0);
    let (outcome, rows) = automatic(&system, 4.0, &[0.0], &tolerances(1e-6, 1e-8));
    let history = outcome.history.as_ref().unwrap();
    assert_eq!(history.legs[0].method, "vern7", "{}", line(&outcome));
    assert_eq!(history.legs.last().unwrap().method, "radau5", "{}", line(&outcome));
    for (t, y) in rows {
        assert!((y[0] - t.sin()).abs() < 1e-4, "at {t}: {}", y[0] - t.sin());
    }
}

/// u_t = u_xx on (0, 1) in n inner points, u = 0 at the ends.
fn heat(n: usize) -> Dense {
    let h2 = ((n + 1) as f64).powi(2);
    Dense::new(
        n,
        move |_, u, f| {
            for i in 0..n {
                let left = if i == 0 { 0.0 } else { u[i - 1] };
                let right = if i + 1 == n { 0.0 } else { u[i + 1] };
                f[i] = h2 * (left - 2.0 * u[i] + right);
            }
        },
        move |_, _, j| {
            j.fill(0.0);
            for i in 0..n {
                for k in i.saturating_sub(1)..(i + 2).min(n) {
                    j[i * n + k] = if i == k { -2.0 * h2 } else { h2 };
                }
            }
        },
    )
    .entries(|i, j| i.abs_diff(j) <= 1)
}

#[test]
fn a_large_problem_with_fast_decay_takes_no_explicit_step() {
    let n = 400;
    let y0: Vec<f64> = (1..=n).map(|i| (std::f64::consts::PI * i as f64 / (n + 1) as f64).sin()).collect();
    let (outcome, _) = automatic(&heat(n), 0.1, &y0, &tolerances(1e-6, 1e-9));
    assert_eq!(outcome.history.as_ref().unwrap().steps[0], 0, "{}", line(&outcome));
    assert_eq!(line(&outcome), "bdf throughout: stiff from the start");
}

#[test]
fn decay_that_lasts_needs_little_evidence() {
    // The fast unknown reaches its balance after some 12 to 30 steps, and would require more than 10,000 stable ones
    // from then on.
    let problem = stiff::robertson_40();
    for (rtol, most) in [(1e-3, 20), (1e-4, 24), (1e-6, 38)] {
        let (outcome, _) = automatic(&problem, problem.t_end, &problem.y0, &tolerances(rtol, rtol * problem.ratio));
        let history = outcome.history.as_ref().unwrap();
        assert_eq!(history.switches, 1, "{}", line(&outcome));
        assert!(history.steps[0] <= most, "{rtol:e}: {:?}", history.steps);
        assert!(problem.error(&outcome.y) < 300.0 * rtol, "{rtol:e}: {}", problem.error(&outcome.y));
    }
    // The stiff modes of 60 unknowns would require 2,000 stable steps, or 20.
    let n = 60;
    let y0: Vec<f64> = (1..=n).map(|i| (std::f64::consts::PI * i as f64 / (n + 1) as f64).sin()).collect();
    for (t_end, history) in
        [(0.5, "rodas5p throughout: stiff from the start"), (0.005, "vern7 throughout: the problem is not stiff")]
    {
        let (outcome, _) = automatic(&heat(n), t_end, &y0, &tolerances(1e-4, 1e-7));
        assert_eq!(line(&outcome), history);
    }
}

/// Work in evaluations of f; matrices and solves have their costs in a small model.
fn work(s: &Stats) -> f64 {
    s.rhs as f64 + s.jacobians as f64 + 4.0 * s.factorisations as f64 + 1.5 * s.solves as f64
}

#[test]
fn it_never_costs_much_more_than_the_better_of_its_two_methods() {
    /// Work of the test at the start, and of the steps until stiffness is certain.
    const ONCE: f64 = 30.0;
    let lorenz = Dense::new(
        3,
        |_, y, f| {
            (f[0], f[1], f[2]) = (10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]);
        },
        |_, y, j| j.copy_from_slice(&[-10.0, 10.0, 0.0, 28.0 - y[2], -1.0, -y[0], y[1], y[0], -8.0 / 3.0]),
    );
    let spring = spring();
    let problems = stiff::all();
    type Case<'a> = (&'a str, &'a dyn System, f64, &'a [f64], f64);
    let mut cases: Vec<Case> =
        vec![("Lorenz", &lorenz, 10.0, &[1.0, 1.0, 1.0], 1.0), ("spring", &spring, 30.0, &[1.0, 0.0], 1.0)];
    cases.extend(problems.iter().map(|p| (p.name, p as &dyn System, p.t_end, p.y0.as_slice(), p.ratio)));
    let (mut wrong, mut share) = (Vec::new(), Share::one_of(3));
    for (name, system, t_end, y0, ratio) in cases {
        for rtol in [1e-3, 1e-4, 1e-5, 1e-6, 5e-7, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11].into_iter().filter(|_| share.takes())
        {
            let options = Options { max_steps: 20_000, ..tolerances(rtol, rtol * ratio) };
            let (outcome, _) =
                run(system, (0.0, t_end), y0, "auto", &options).unwrap_or_else(|e| panic!("{name} at {rtol:e}: {e:?}"));
            let cost = |method: &Method| {
                run(system, (0.0, t_end), y0, method.name, &working_options(&options, method))
                    .map(|(outcome, _)| outcome)
            };
            let pair = method_pair(&Traits { n: y0.len(), fixed: false, rtol, moving_mass: false, series: false });
            let best = [pair.explicit.unwrap(), pair.implicit]
                .iter()
                .filter_map(|method| cost(method).ok())
                .map(|outcome| work(&outcome.stats))
                .fold(f64::INFINITY, f64::min);
            let own = work(&outcome.stats);
            if own > 1.15 * best + ONCE {
                wrong.push(format!("{name} at {rtol:e}: {own} and not {best}, {}", line(&outcome)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// E5 of STIFF DETEST (Enright, Hull & Lindberg 1975), whose unknowns are concentrations that decay far below any
/// absolute tolerance that a user would choose.
fn decaying_chemistry() -> Dense {
    const A: f64 = 7.89e-10;
    const B: f64 = 1.1e7;
    const C: f64 = 1.13e3;
    const MC: f64 = 1e6 * C;
    Dense::new(
        4,
        |_, y, f| {
            let (first, second, third, back) = (A * y[0], B * y[0] * y[2], MC * y[1] * y[2], C * y[3]);
            f.copy_from_slice(&[-first - second, first - third, first - second - third + back, second - back]);
        },
        |_, y, j| {
            j.copy_from_slice(&[
                -A - B * y[2],
                0.0,
                -B * y[0],
                0.0,
                A,
                -MC * y[2],
                -MC * y[1],
                0.0,
                A - B * y[2],
                -MC * y[2],
                -B * y[0] - MC * y[1],
                C,
                B * y[2],
                0.0,
                B * y[0],
                -C,
            ]);
        },
    )
}

#[test]
fn an_unknown_that_errors_alone_make_negative_keeps_its_sign() {
    for rtol in [1e-6, 1e-8] {
        let options = tolerances(rtol, 1e-3 * rtol);
        let (outcome, _) = automatic(&decaying_chemistry(), 1e13, &[0.00176, 0.0, 0.0, 0.0], &options);
        // the product of a concentration and a negative value makes both grow without bound
        assert!(outcome.y.iter().all(|y| y.abs() <= rtol), "{rtol}: {:?}", outcome.y);
        assert!(outcome.stats.failed > 0, "{rtol}: no step was taken back, so that this shows nothing");
    }
}

#[test]
fn an_unknown_that_crosses_zero_rejects_no_step() {
    let (outcome, _) = automatic(&spring(), 20.0, &[1.0, 0.0], &tolerances(1e-6, 1e-6));
    assert_eq!(outcome.stats.failed, 0);
}

/// The largest error of `auto` over rows in tolerances, the largest value of the unknown being 1, and its evaluations of f.
fn growth(rate: fn(f64) -> (f64, f64), y0: f64, t_end: f64, rtol: f64) -> (f64, u64) {
    let system = Dense::new(1, move |_, y, f| f[0] = rate(y[0]).0, move |_, y, j| j[0] = rate(y[0]).1);
    let times: Vec<f64> = (0..=500).map(|k| t_end * f64::from(k) / 500.0).collect();
    let rows = |name: &str, options: &Options| {
        let problem = Problem { t0: 0.0, t_end, y0: vec![y0] };
        let mut sink = Rows { rows: vec![], limit: usize::MAX };
        let samples = Samples::Times(times.clone());
        let outcome = solve(&system, &problem, method(name), options, &samples, &mut sink).expect("the run succeeds");
        (sink.rows, outcome.stats.rhs)
    };
    let (known, _) = rows("radau5", &tolerances(1e-13, 1e-22));
    let (found, work) = rows("auto", &tolerances(rtol, 1e-3 * rtol));
    let off = known.iter().zip(&found).map(|((_, a), (_, b))| (a[0] - b[0]).abs()).fold(0.0, f64::max);
    (off / (1.001 * rtol), work)
}

#[test]
fn a_state_that_grows_from_a_small_value_keeps_its_digits() {
    // a flame, a population, and a departure from an unstable rest
    let flame = |y: f64| (y * y * (1.0 - y), y * (2.0 - 3.0 * y));
    let logistic = |y: f64| (y * (1.0 - y), 1.0 - 2.0 * y);
    let saddle = |y: f64| (y - y.powi(3), 1.0 - 3.0 * y * y);
    // the largest errors without tolerances that follow growth are 4.3, 150 and 91
    for (rate, y0, t_end, most) in [
        (flame as fn(f64) -> (f64, f64), 1e-4, 2e4, 2.0),
        (flame, 1e-5, 2e5, 20.0),
        (saddle, 1e-9, 50.0, 5.0),
        (logistic, 1e-6, 40.0, 1.0),
    ] {
        for rtol in [1e-4, 1e-6] {
            let (error, work) = growth(rate, y0, t_end, rtol);
            assert!(error <= most, "from {y0:e} at {rtol:e}: {error:.2} tolerances, {work} evaluations");
        }
    }
}
