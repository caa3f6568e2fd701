//! Tests that a run allocates nothing after its second accepted step.

#[path = "common/dense.rs"]
#[allow(dead_code, reason = "the rest is for `all.rs`")]
mod dense;
#[path = "common/grids.rs"]
#[allow(dead_code, reason = "the rest is for `all.rs`")]
mod grids;
#[path = "hybrid/model.rs"]
#[allow(dead_code, reason = "the rest is for `all.rs`")]
mod model;
#[path = "common/stiff.rs"]
#[allow(dead_code, reason = "the rest is for `all.rs`")]
mod stiff;

use std::ops::ControlFlow;

use dense::{fixed, tolerances};
use odec_ode::hybrid::{Event, Executed, HybridRunner, Observer, Point, Write};
use odec_ode::linear::{LinearSolver, SolverKind};
use odec_ode::method::Family;
use odec_ode::system::System;
use odec_ode::{CorrectedRows, Method, Options, Outcome, Problem, Runner, Samples, Sink, solve};

/// Additional allocations for the correction of rows: an integrator, a matrix and a few vectors. They do not grow
/// with the number of rows or steps.
const CORRECTION: u64 = 3;

/// Counts steps, and ends the run after so many.
struct Until {
    steps: u64,
    last: u64,
}

impl Sink for Until {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, _: f64) -> ControlFlow<()> {
        self.steps += 1;
        if self.steps == self.last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn check(system: &dyn System, y0: &[f64], t_end: f64, method: &'static Method, options: &Options) -> (u64, u64) {
    let problem = Problem { t0: 0.0, t_end, y0: y0.to_vec() };
    let samples = Samples::Times((0..100).map(|i| t_end * f64::from(i) / 100.0).collect());
    let counted = |samples: &Samples, last: u64| {
        let mut sink = Until { steps: 0, last };
        let mut outcome: Option<Outcome> = None;
        let info = allocation_counter::measure(|| {
            outcome = solve(system, &problem, method, options, samples, &mut sink).ok();
        });
        (info.count_total, sink.steps, outcome.expect("the run succeeds").stats)
    };
    // Data that a process determines once for all its runs are determined in the first one.
    counted(&samples, 2);
    // The same run twice, once ended after its second step: the difference is the number of allocations in the rest.
    let ends = Samples::Times(vec![t_end]);
    let (short, two, _) = counted(&ends, 2);
    let (whole, steps, stats) = counted(&ends, u64::MAX);
    assert!(two == 2 && steps > 3, "{}: {steps} steps", method.name);
    assert!(short > 0, "the counter is alive");
    // With rows between steps the number is the same, except for the correction, which is created at the first row
    // that needs it.
    let (sampled, _, with) = counted(&samples, u64::MAX);
    let CorrectedRows { rhs, .. } = with.between;
    let apart = if rhs == 0 { 0 } else { CORRECTION * short };
    assert!(sampled - whole <= apart, "{}: {sampled} and {whole} allocations", method.name);
    assert_eq!(whole, short, "{} allocates while it steps, {:?}", method.name, options.linear);
    (steps, stats.rejected + stats.failed)
}

#[test]
fn no_allocation_after_the_second_step() {
    let mut rejected = 0;
    // Every method on HIRES (from a mild time for the explicit ones), with rejections for the stiff ones.
    let hires = stiff::hires();
    let orego = stiff::orego();
    for method in odec_ode::method::general() {
        let options = tolerances(1e-3, 1e-7);
        rejected += check(&hires, &hires.y0, 2.0, method, &options).1;
        if !["bdf", "abm"].contains(&method.name) {
            check(&hires, &hires.y0, 0.1, method, &fixed(1e-3));
        }
        if method.structure.jacobian && method.order > 1 {
            rejected += check(&orego, &orego.y0, 40.0, method, &options).1;
        }
    }
    // Changes of method in both directions.
    let vdpol = stiff::vdpol();
    for rtol in [1e-5, 1e-9, 1e-11] {
        let auto = odec_ode::method::find("auto").unwrap();
        check(&vdpol, &vdpol.y0, vdpol.t_end, auto, &tolerances(rtol, rtol));
    }
    // All orders of the variable-order formulas, up and down again.
    let bdf = odec_ode::method::find("bdf").unwrap();
    rejected += check(&hires, &hires.y0, hires.t_end, bdf, &tolerances(1e-8, 1e-12)).1;
    assert!(rejected > 20, "{rejected} rejections are too few to show anything");
}

#[test]
fn further_runs_allocate_little_more_than_their_result() {
    /// The end state, the location of a fault, and the legs of `auto`.
    const MOST: u64 = 3;
    let lorenz = dense::Dense::new(
        3,
        |_, y, f| {
            (f[0], f[1], f[2]) = (10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]);
        },
        |_, y, j| j.copy_from_slice(&[-10.0, 10.0, 0.0, 28.0 - y[2], -1.0, -y[0], y[1], y[0], -8.0 / 3.0]),
    );
    for name in ["tsit5", "dopri5", "dop853", "vern7", "vern9"] {
        let method = odec_ode::method::find(name).unwrap();
        let mut runner = Runner::new(&lorenz, method, &tolerances(1e-6, 1e-6)).unwrap();
        let samples = Samples::Times(vec![1.0, 2.0]);
        for x in [1.0, 2.0, 3.0] {
            let problem = Problem { t0: 0.0, t_end: 2.0, y0: vec![x, 1.0, 1.0] };
            let mut sink = Until { steps: 0, last: u64::MAX };
            let info = allocation_counter::measure(|| {
                assert!(runner.run(&lorenz, &problem, &samples, &mut sink).is_ok());
            });
            // the correction of rows is created in the first run
            assert!(x == 1.0 || info.count_total <= MOST, "{name}: {} allocations", info.count_total);
        }
    }
}

#[test]
fn methods_on_second_derivatives_do_not_allocate_either() {
    // A chain of masses and springs, one of them hard.
    let n = 6;
    let force = move |y: &[f64], i: usize| {
        let left = if i == 0 { 0.0 } else { y[i - 1] };
        let right = if i + 1 == n { 0.0 } else { y[i + 1] };
        left - 2.0 * y[i] + right - y[i].powi(3)
    };
    let chain = dense::Dense::new(
        2 * n,
        move |_, y, f| {
            for i in 0..n {
                (f[i], f[n + i]) = (y[n + i], force(y, i));
            }
        },
        move |_, y, j| {
            j.fill(0.0);
            for i in 0..n {
                j[i * 2 * n + n + i] = 1.0;
                for k in i.saturating_sub(1)..(i + 2).min(n) {
                    j[(n + i) * 2 * n + k] = if k == i { -2.0 - 3.0 * y[i] * y[i] } else { 1.0 };
                }
            }
        },
    )
    .second(n)
    .entries(move |row, col| if row < n { col == n + row } else { col < n && col.abs_diff(row - n) <= 1 });
    let y0: Vec<f64> = (0..2 * n).map(|i| if i < n { (i as f64).sin() } else { 0.0 }).collect();
    let mut seen = 0;
    for &method in odec_ode::method::table() {
        if matches!(method.family, Family::Splitting(_) | Family::Alpha(_)) {
            check(&chain, &y0, 2.0, method, &fixed(0.01));
            seen += 1;
        }
    }
    assert!(seen >= 5);
}

#[test]
fn no_solver_of_linear_systems_allocates_while_it_steps() {
    let mut kinds = Vec::new();
    for (system, t_end) in
        [(grids::brusselator_line(50), 3.0), (grids::brusselator_square(9), 3.0), (grids::lattice(8), 0.05)]
    {
        for name in ["bdf", "kencarp4", "backward-euler", "rodas4", "radau5"] {
            // eliminations are not compiled here: odec-sim does that, and its tests count the allocations of its runs
            let own = LinearSolver::ALL.into_iter().map(|(_, linear)| linear).filter(|l| *l != LinearSolver::Compiled);
            for linear in own {
                let method = odec_ode::method::find(name).unwrap();
                let options = Options { linear, ..tolerances(1e-3, 1e-6) };
                if linear == LinearSolver::Krylov && ["rodas4", "radau5"].contains(&name) {
                    continue;
                }
                check(&system, &system.y0, t_end, method, &options);
                let problem = Problem { t0: 0.0, t_end: 1e-6 * t_end, y0: system.y0.clone() };
                let mut sink = Until { steps: 0, last: 1 };
                let outcome = solve(&system, &problem, method, &options, &Samples::Steps, &mut sink).unwrap();
                kinds.push(outcome.linear.unwrap().kind);
            }
        }
    }
    // Fronts large enough for blocked products, real and complex. At the first one of a process, the library
    // allocates memory for packing, once.
    let square = grids::brusselator_square(20);
    for name in ["rodas4", "radau5"] {
        let method = odec_ode::method::find(name).unwrap();
        let problem = Problem { t0: 0.0, t_end: 1e-3, y0: square.y0.clone() };
        let mut sink = Until { steps: 0, last: 1 };
        let outcome = solve(&square, &problem, method, &fixed(1e-3), &Samples::Steps, &mut sink).unwrap();
        kinds.push(outcome.linear.unwrap().kind);
        check(&square, &square.y0, 0.05, method, &fixed(0.01));
    }
    assert!(kinds.ends_with(&[SolverKind::Multifrontal; 2]));
    for kind in
        [SolverKind::Dense, SolverKind::Banded, SolverKind::BlockTridiagonal, SolverKind::Sparse, SolverKind::Krylov]
    {
        assert!(kinds.contains(&kind), "{kind}");
    }
}

/// Counts events, and stores nothing.
struct Count(u64);

impl Observer for Count {
    fn row(&mut self, _: Point<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn instant(&mut self, _: Point<'_>, _: Point<'_>, events: &[Executed]) {
        self.0 += events.len() as u64;
    }
}

#[test]
fn hybrid_runs_do_not_allocate_in_the_steady_state() {
    // a ball that bounces forever, a dose every 0.3, and relations that never change, one of them curved
    let ball = |curved: bool| {
        let relations = [(0, false, 0.0), (0, true, 1e3), (1, true, 1e3)];
        let model = model::Model::new(2, |_, y, _, f| f.copy_from_slice(&[y[1], -9.81])).discretes(&[0.0]);
        let model = if curved {
            model.relations(1, |_, y, _, left, right| (left[0], right[0]) = (y[0] * y[1], 1e9))
        } else {
            model
                .bounds(&relations)
                .every(0.0, 0.3, 1e9)
                .event(Event::when(vec![Write::state(1)]), |_, y, _, out| out[0] = -y[1])
                .event(Event::at(0, vec![Write::discrete(0).adding()]), |_, _, _, out| out[0] = 1.0)
                .conditions(|now, out| out.copy_from_slice(&[now.holds(0), false]))
        };
        model.autonomous().jacobian(|_, _, _, j| j.copy_from_slice(&[0.0, 0.0, 1.0, 0.0]))
    };
    for curved in [false, true] {
        for name in ["tsit5", "vern7", "dop853", "rodas5p", "radau5", "bdf", "abm", "auto"] {
            let method = odec_ode::method::find(name).unwrap();
            let allocated = |t_end: f64| {
                let mut model = ball(curved);
                let mut count = Count(0);
                let problem = Problem { t0: 0.0, t_end, y0: vec![1.0, 0.0] };
                let info = allocation_counter::measure(|| {
                    let mut runner = HybridRunner::new(&model, method, &tolerances(1e-6, 1e-6)).unwrap();
                    assert!(runner.run(&mut model, &problem, &Samples::Times(vec![t_end]), &mut count).is_ok());
                });
                (info.count_total, count.0)
            };
            allocated(1.0);
            let ((short, few), (long, many)) = (allocated(10.0), allocated(40.0));
            assert!(curved || many > 3 * few, "{name}: {few} and {many} events");
            assert_eq!(short, long, "{name}, curved {curved}: {many} events");
        }
    }
}
