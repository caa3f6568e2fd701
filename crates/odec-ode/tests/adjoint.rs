//! Gradients by the adjoint equations against closed forms, and against the sensitivity equations solved as a
//! separate system.

use std::cell::Cell;

use odec_ode::adjoint::{AdjointError, AdjointResult, ByParameters, ROOM, Recording, Request, Weight, gradient};
use odec_ode::method::{self, Method, auto};
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Options, Problem, Runner, Samples, Sink, Stats, solve};

use crate::share::Share;

/// A system by functions that fill full matrices, row by row.
struct Full<F, J, P> {
    n: usize,
    parameters: usize,
    f: F,
    by_state: J,
    by_parameter: P,
    patterns: [Pattern; 2],
}

fn full<F, J, P>(n: usize, parameters: usize, f: F, by_state: J, by_parameter: P) -> Full<F, J, P> {
    let all = |columns: usize| {
        Pattern::from_positions(n, columns, (0..n).flat_map(|row| (0..columns).map(move |col| (row, col))))
    };
    Full { n, parameters, f, by_state, by_parameter, patterns: [all(n), all(parameters)] }
}

fn transposed(rows: usize, columns: usize, matrix: &[f64], values: &mut [f64]) {
    for (k, value) in values.iter_mut().enumerate() {
        *value = matrix[k % rows * columns + k / rows];
    }
}

impl<F: Fn(f64, &[f64], &mut [f64]), J: Fn(f64, &[f64], &mut [f64]), P> System for Full<F, J, P> {
    fn shape(&self) -> Shape {
        Shape { n: self.n, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        (self.f)(t, y, f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.patterns[0])
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let mut matrix = vec![0.0; self.n * self.n];
        (self.by_state)(t, y, &mut matrix);
        transposed(self.n, self.n, &matrix, values);
        Ok(())
    }
}

impl<F, J, P: Fn(f64, &[f64], &mut [f64])> ByParameters for Full<F, J, P> {
    fn pattern(&self) -> &Pattern {
        &self.patterns[1]
    }
    fn values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let mut matrix = vec![0.0; self.n * self.parameters];
        (self.by_parameter)(t, y, &mut matrix);
        transposed(self.n, self.parameters, &matrix, values);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    y0: &'a [f64],
    p: &'a [f64],
    rtol: f64,
    room: usize,
    weights: &'a [Weight],
}

fn ask<S: System + ByParameters>(system: &S, asked: &Asked<'_>) -> AdjointResult {
    let t_end = asked.weights.last().map_or(0.0, |last| last.t);
    let options = Options { rtol: asked.rtol, atol: vec![asked.rtol * 1e-3], ..Options::default() };
    let problem = Problem { t0: 0.0, t_end, y0: asked.y0.to_vec() };
    ask_along(system, asked, &problem, &options, &mut |_| true).1.unwrap()
}

/// The rows and counts of a recorded run.
struct Recorded {
    rows: Vec<Vec<f64>>,
    stats: Stats,
}

/// A recorded run, and the gradient from it.
fn ask_along<S: System + ByParameters>(
    system: &S,
    asked: &Asked<'_>,
    problem: &Problem,
    options: &Options,
    look: &mut dyn FnMut(f64) -> bool,
) -> (Recorded, Result<AdjointResult, AdjointError>) {
    let wanted: Vec<usize> = (0..asked.p.len()).collect();
    let times = Samples::Times(asked.weights.iter().map(|weight| weight.t).collect());
    let (mut rows, mut recording) = (Rows(Vec::new()), Recording::new(asked.room));
    let mut runner = Runner::new(system, &auto::METHOD, options).unwrap();
    let ended = runner.record(system, problem, &times, &mut rows, &mut recording).unwrap();
    let request = Request {
        system,
        by: system,
        values: asked.p,
        wanted: &wanted,
        t0: problem.t0,
        method: &auto::METHOD,
        options,
        weights: asked.weights,
    };
    (Recorded { rows: rows.0, stats: ended.stats }, gradient(&request, recording, look))
}

fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= tolerance * wanted.abs().max(1e-300), "{found:?} instead of {wanted:?}");
    }
}

/// System of y and of the derivatives S of y with respect to initial values and parameters, without df/dy.
struct Sensitivities<'a, S>(&'a S, usize);

impl<S: System + ByParameters> System for Sensitivities<'_, S> {
    fn shape(&self) -> Shape {
        let n = self.0.shape().n;
        Shape { n: n * (1 + n + self.1), second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        let n = self.0.shape().n;
        self.0.rhs(t, &y[..n], &mut f[..n])?;
        let mut by = vec![0.0; n * self.1];
        self.0.values(t, &y[..n], &mut by)?;
        for k in 0..n + self.1 {
            let at = n * (1 + k)..n * (2 + k);
            self.0.jacobian_vector(t, &y[..n], &y[at.clone()], &mut f[at.clone()])?;
            if k >= n {
                f[at].iter_mut().zip(&by[(k - n) * n..]).for_each(|(f, by)| *f += by);
            }
        }
        Ok(())
    }
}

struct Rows(Vec<Vec<f64>>);

impl Sink for Rows {
    fn row(&mut self, _: f64, y: &[f64]) -> std::ops::ControlFlow<()> {
        self.0.push(y.to_vec());
        std::ops::ControlFlow::Continue(())
    }
}

/// The gradient by the start and by the parameters, from sensitivities at a tolerance near rounding.
fn by_sensitivities<S: System + ByParameters>(system: &S, asked: &Asked<'_>, method: &str) -> (Vec<f64>, Vec<f64>) {
    let (n, m) = (asked.y0.len(), asked.p.len());
    let mut y0 = asked.y0.to_vec();
    y0.extend((0..n + m).flat_map(|k| (0..n).map(move |i| f64::from(u8::from(i == k)))));
    let times: Vec<f64> = asked.weights.iter().map(|w| w.t).collect();
    let problem = Problem { t0: 0.0, t_end: times[times.len() - 1], y0 };
    let options = Options { rtol: 1e-13, atol: vec![1e-16], ..Options::default() };
    let mut rows = Rows(Vec::new());
    let derived = Sensitivities(system, m);
    solve(&derived, &problem, method::find(method).unwrap(), &options, &Samples::Times(times), &mut rows).unwrap();
    let mut by = vec![0.0; n + m];
    for (row, weight) in rows.0.iter().zip(asked.weights) {
        for (k, by) in by.iter_mut().enumerate() {
            *by += row[n * (1 + k)..n * (2 + k)].iter().zip(&weight.by_state).map(|(s, w)| s * w).sum::<f64>();
        }
    }
    (by[..n].to_vec(), by[n..].to_vec())
}

fn lotka_volterra(p: [f64; 4]) -> impl System + ByParameters {
    full(
        2,
        4,
        move |_, y: &[f64], f: &mut [f64]| {
            f.copy_from_slice(&[y[0] * (p[0] - p[1] * y[1]), y[1] * (p[2] * y[0] - p[3])]);
        },
        move |_, y: &[f64], j: &mut [f64]| {
            j.copy_from_slice(&[p[0] - p[1] * y[1], -p[1] * y[0], p[2] * y[1], p[2] * y[0] - p[3]]);
        },
        |_, y: &[f64], j: &mut [f64]| j.copy_from_slice(&[y[0], -y[0] * y[1], 0.0, 0.0, 0.0, 0.0, y[0] * y[1], -y[1]]),
    )
}

fn weights(times: &[f64], by: &[[f64; 2]]) -> Vec<Weight> {
    times.iter().zip(by).map(|(t, by)| Weight { t: *t, by_state: by.to_vec() }).collect()
}

#[test]
fn it_is_the_gradient_of_sensitivities_at_every_tolerance() {
    let p = [1.1, 0.4, 0.1, 0.4];
    let system = lotka_volterra(p);
    let weights = weights(&[0.0, 3.0, 7.5, 20.0], &[[0.25, 0.0], [1.0, -0.5], [0.0, 2.0], [1.0, 1.0]]);
    for (rtol, within) in [(1e-5, 1e-4), (1e-8, 1e-7), (1e-11, 1e-10)] {
        let asked = Asked { y0: &[10.0, 5.0], p: &p, rtol, room: ROOM, weights: &weights };
        let found = ask(&system, &asked);
        let (by_start, by_parameters) = by_sensitivities(&system, &asked, "vern9");
        close(&found.by_start, &by_start, within);
        close(&found.by_parameters, &by_parameters, within);
        assert_eq!(found.parts, 1);
    }
}

#[test]
fn the_course_in_many_parts_gives_the_same() {
    let p = [1.1, 0.4, 0.1, 0.4];
    let system = lotka_volterra(p);
    let weights = weights(&[3.0, 20.0], &[[1.0, -0.5], [1.0, 1.0]]);
    let problem = Problem { t0: 0.0, t_end: 20.0, y0: vec![10.0, 5.0] };
    let options = Options { rtol: 1e-11, atol: vec![1e-14], ..Options::default() };
    let in_parts = |room| {
        let asked = Asked { y0: &problem.y0, p: &p, rtol: 1e-11, room, weights: &weights };
        let (run, found) = ask_along(&system, &asked, &problem, &options, &mut |_| true);
        (run.stats, found.unwrap())
    };
    let ((run, found), (_, whole)) = (in_parts(2_000), in_parts(ROOM));
    assert!(found.parts > 5, "{}", found.parts);
    // each part but the last is solved again, in few more steps than it has
    assert_eq!(whole.forward.accepted, 0);
    assert!(found.forward.accepted < 2 * run.accepted);
    close(&found.by_start, &whole.by_start, 1e-9);
    close(&found.by_parameters, &whole.by_parameters, 1e-9);
}

#[test]
fn stiff_systems_too() {
    // Robertson: the units of the states differ by five orders of magnitude, those of the parameters by more
    let p = [0.04, 3e7, 1e4];
    let system = full(
        3,
        3,
        move |_, y: &[f64], f: &mut [f64]| {
            let (a, b, c) = (p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]);
            f.copy_from_slice(&[c - a, a - b - c, b]);
        },
        move |_, y: &[f64], j: &mut [f64]| {
            let (a, b, c, d) = (p[0], 2.0 * p[1] * y[1], p[2] * y[2], p[2] * y[1]);
            j.copy_from_slice(&[-a, c, d, a, -b - c, -d, 0.0, b, 0.0]);
        },
        |_, y: &[f64], j: &mut [f64]| {
            let (a, b, c) = (y[0], y[1] * y[1], y[1] * y[2]);
            j.copy_from_slice(&[-a, 0.0, c, a, -b, -c, 0.0, b, 0.0]);
        },
    );
    let weight = |t: f64, by: [f64; 3]| Weight { t, by_state: by.to_vec() };
    let weights = [weight(0.4, [0.0, 1e5, 0.0]), weight(40.0, [1.0, 0.0, 0.5])];
    let mut share = Share::one_of(3);
    for (rtol, within) in [(1e-9, 1e-8), (1e-6, 1e-5), (1e-11, 1e-9)].into_iter().filter(|_| share.takes()) {
        let asked = Asked { y0: &[1.0, 0.0, 0.0], p: &p, rtol, room: 20_000, weights: &weights };
        let found = ask(&system, &asked);
        let (by_start, by_parameters) = by_sensitivities(&system, &asked, "vern9");
        close(&found.by_start, &by_start, within);
        close(&found.by_parameters, &by_parameters, within);
    }
}

#[test]
fn a_gradient_at_parameter_0_resolves_a_fast_oscillation() {
    // y = p*(1 - cos(50 t))/50: at p = 0 the solution is constant, and its steps pass over many periods
    let system = full(
        1,
        1,
        |_, _: &[f64], f: &mut [f64]| f[0] = 0.0,
        |_, _: &[f64], j: &mut [f64]| j[0] = 0.0,
        |t: f64, _: &[f64], j: &mut [f64]| j[0] = (50.0 * t).sin(),
    );
    let weights = [Weight { t: 10.0, by_state: vec![1.0] }];
    let found = ask(&system, &Asked { y0: &[1.0], p: &[0.0], rtol: 1e-9, room: ROOM, weights: &weights });
    close(&found.by_parameters, &[(1.0 - 500f64.cos()) / 50.0], 1e-7);
    assert_eq!(found.by_start, [1.0]);
}

#[test]
fn backwards_in_time_and_without_weights() {
    let p = [0.5];
    let system = full(
        1,
        1,
        move |_, y: &[f64], f: &mut [f64]| f[0] = -p[0] * y[0],
        move |_, _: &[f64], j: &mut [f64]| j[0] = -p[0],
        |_, y: &[f64], j: &mut [f64]| j[0] = -y[0],
    );
    let weights = [Weight { t: -2.0, by_state: vec![3.0] }];
    let asked = Asked { y0: &[1.5], p: &p, rtol: 1e-10, room: ROOM, weights: &weights };
    let found = ask(&system, &asked);
    close(&found.by_start, &[3.0 * 1f64.exp()], 1e-9);
    close(&found.by_parameters, &[3.0 * 1.5 * 2.0 * 1f64.exp()], 1e-9);
    let nothing = [Weight { t: 2.0, by_state: vec![0.0] }];
    let found = ask(&system, &Asked { weights: &nothing, ..asked });
    assert_eq!((found.by_start, found.by_parameters), (vec![0.0], vec![0.0]));
}

#[test]
fn the_caller_stops_it() {
    let p = [1.1, 0.4, 0.1, 0.4];
    let system = lotka_volterra(p);
    let weights = weights(&[20.0], &[[1.0, -0.5]]);
    let problem = Problem { t0: 0.0, t_end: 20.0, y0: vec![10.0, 5.0] };
    for most in [1, 10, 60] {
        let options = Options { rtol: 1e-9, ..Options::default() };
        let asked = Asked { y0: &problem.y0, p: &p, rtol: 1e-9, room: 2_000, weights: &weights };
        let mut calls = 0;
        let stopped = ask_along(&system, &asked, &problem, &options, &mut |_| {
            calls += 1;
            calls < most
        });
        assert!(matches!(stopped.1, Err(AdjointError::Stopped)), "{most}");
        assert_eq!(calls, most);
    }
}

/// A system that counts evaluations of f.
struct Counted<S>(S, Cell<u64>);

impl<S: System> System for Counted<S> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.1.set(self.1.get() + 1);
        self.0.rhs(t, y, f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        self.0.jacobian()
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.jacobian_values(t, y, values)
    }
}

impl<S: ByParameters> ByParameters for Counted<S> {
    fn pattern(&self) -> &Pattern {
        self.0.pattern()
    }
    fn values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.values(t, y, values)
    }
}

#[test]
fn rows_and_gradient_take_one_run() {
    let p = [1.1, 0.4, 0.1, 0.4];
    let system = Counted(lotka_volterra(p), Cell::new(0));
    let weights = weights(&[0.0, 3.0, 7.5, 20.0], &[[0.25, 0.0], [1.0, -0.5], [0.0, 2.0], [1.0, 1.0]]);
    let problem = Problem { t0: 0.0, t_end: 20.0, y0: vec![10.0, 5.0] };
    for rtol in [1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
        let options = Options { rtol, atol: vec![rtol * 1e-3], ..Options::default() };
        let (times, mut rows) = (Samples::Times(weights.iter().map(|w| w.t).collect()), Rows(Vec::new()));
        system.1.set(0);
        let plain = solve(&system, &problem, &auto::METHOD, &options, &times, &mut rows).unwrap();
        let of_run = system.1.replace(0);
        let asked = Asked { y0: &problem.y0, p: &p, rtol, room: ROOM, weights: &weights };
        let (recorded, found) = ask_along(&system, &asked, &problem, &options, &mut |_| true);
        let found = found.unwrap();
        // the polynomials cost a part of a run, and the adjoint equations need no f
        let of_gradient = system.1.get();
        assert!(of_gradient < 9 * of_run / 5, "{rtol}: {of_gradient} and {of_run}");
        assert_eq!((recorded.rows, recorded.stats), (rows.0, plain.stats), "{rtol}");
        let Stats { accepted, rhs, between, .. } = found.forward;
        assert_eq!((accepted, rhs + between.rhs), (0, of_gradient - of_run), "{rtol}");
    }
}

/// A fast unknown follows a slow one, so that dense output of stiff methods is corrected.
fn fast_and_slow(p: [f64; 2]) -> impl System + ByParameters {
    full(
        2,
        2,
        move |_, y: &[f64], f: &mut [f64]| f.copy_from_slice(&[-p[0] * y[0], p[1] * (y[0].cos() - y[1])]),
        move |_, y: &[f64], j: &mut [f64]| j.copy_from_slice(&[-p[0], 0.0, -p[1] * y[0].sin(), -p[1]]),
        |_, y: &[f64], j: &mut [f64]| j.copy_from_slice(&[-y[0], 0.0, 0.0, y[0].cos() - y[1]]),
    )
}

#[test]
fn recording_changes_no_bit() {
    let system = fast_and_slow([1.0, 1e5]);
    let problem = Problem { t0: 0.0, t_end: 2.0, y0: vec![2.0, 1.0] };
    let times = Samples::Times((0..=37).map(|k| f64::from(k) * 0.05).collect());
    let names = ["auto", "tsit5", "dop853", "vern9", "rodas4", "rodas5p", "radau5", "bdf", "kencarp4", "abm"];
    for method in names.map(|name| -> &'static Method { method::find(name).unwrap() }) {
        let fast = if matches!(method.name, "tsit5" | "dop853" | "vern9" | "abm") { 50.0 } else { 1e5 };
        let system = if fast == 1e5 { &system } else { &fast_and_slow([1.0, fast]) };
        for room in [ROOM, 5_000] {
            let options = Options { rtol: 1e-5, atol: vec![1e-8], ..Options::default() };
            let (mut plain, mut rows) = (Rows(Vec::new()), Rows(Vec::new()));
            let ended = solve(system, &problem, method, &options, &times, &mut plain).unwrap();
            let mut recording = Recording::new(room);
            let mut runner = Runner::new(system, method, &options).unwrap();
            let recorded = runner.record(system, &problem, &times, &mut rows, &mut recording).unwrap();
            let bits = |rows: &Rows| rows.0.iter().flatten().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&rows), bits(&plain), "{}", method.name);
            assert_eq!((recorded.y, recorded.stats), (ended.y, ended.stats), "{}", method.name);
        }
    }
}

#[test]
fn the_run_may_go_on_behind_the_last_weight() {
    let p = [1.1, 0.4, 0.1, 0.4];
    let system = lotka_volterra(p);
    let weights = weights(&[3.0, 7.0], &[[1.0, -0.5], [1.0, 1.0]]);
    let options = Options { rtol: 1e-11, atol: vec![1e-14], ..Options::default() };
    for room in [ROOM, 2_000] {
        let asked = Asked { y0: &[10.0, 5.0], p: &p, rtol: 1e-11, room, weights: &weights };
        let problem = Problem { t0: 0.0, t_end: 20.0, y0: asked.y0.to_vec() };
        // a row without a weight
        let mut all = weights.clone();
        all.push(Weight { t: 16.0, by_state: vec![0.0; 2] });
        let found = ask_along(&system, &Asked { weights: &all, ..asked }, &problem, &options, &mut |_| true).1.unwrap();
        let (by_start, by_parameters) = by_sensitivities(&system, &asked, "vern9");
        close(&found.by_start, &by_start, 1e-9);
        close(&found.by_parameters, &by_parameters, 1e-9);
    }
    // a weight behind the recording
    let asked = Asked { y0: &[10.0, 5.0], p: &p, rtol: 1e-11, room: ROOM, weights: &weights };
    let problem = Problem { t0: 0.0, t_end: 20.0, y0: asked.y0.to_vec() };
    let mut recording = Recording::new(ROOM);
    let mut runner = Runner::new(&system, &auto::METHOD, &options).unwrap();
    runner.record(&system, &problem, &Samples::Times(vec![2.0]), &mut Rows(Vec::new()), &mut recording).unwrap();
    let (by, method, wanted, values) = (&system, &auto::METHOD, &[0usize][..], &p[..]);
    let request =
        Request { system: &system, by, values, wanted, t0: 0.0, method, options: &options, weights: &weights };
    assert!(matches!(gradient(&request, recording, &mut |_| true), Err(AdjointError::Solution(_))));
    assert!(matches!(gradient(&request, Recording::new(ROOM), &mut |_| true), Err(AdjointError::Solution(_))));
}
