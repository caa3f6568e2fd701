//! The solvers of linear systems agree, are chosen by structure and size, describe themselves, and refuse impossible
//! requests.

use crate::dense;
use crate::grids;

use dense::{fixed, run, tolerances};
use grids::Grid;
use odec_ode::linear::{LinearReport, LinearSolver, SolverKind, UnsuitableSolver};
use odec_ode::{Options, Outcome, Problem, Refusal, Runner, Samples, Sink, SolveError};

use crate::share::Share;

fn solve(system: &Grid, t_end: f64, method: &str, options: &Options) -> Outcome {
    let (outcome, _) = run(system, (0.0, t_end), &system.y0, method, options)
        .unwrap_or_else(|e| panic!("{method} {:?}: {e:?}", options.linear));
    outcome
}

fn report(system: &Grid, method: &str, linear: LinearSolver) -> LinearReport {
    solve(system, 1e-9, method, &Options { linear, ..fixed(1e-9) }).linear.expect("an implicit method")
}

#[test]
fn direct_solvers_give_the_same_runs() {
    for (system, t_end) in [
        (grids::heat_line(60), 0.01),
        (grids::heat_square(9), 0.01),
        (grids::brusselator_line(30), 0.5),
        (grids::brusselator_square(6), 0.2),
        (grids::chain(50), 0.05),
        (grids::lattice(7), 0.05),
    ] {
        for method in ["backward-euler", "rodas4", "radau5", "bdf", "kencarp4"] {
            let options = if method == "bdf" { tolerances(1e-6, 1e-8) } else { fixed(t_end / 20.0) };
            let dense = solve(&system, t_end, method, &Options { linear: LinearSolver::Dense, ..options.clone() });
            assert_eq!(dense.linear.as_ref().map(|l| l.kind), Some(SolverKind::Dense));
            for linear in [LinearSolver::Auto, LinearSolver::Banded, LinearSolver::Sparse] {
                let other = solve(&system, t_end, method, &Options { linear, ..options.clone() });
                assert_eq!(other.stats, dense.stats, "{method} {linear:?}");
                for i in 0..system.y0.len() {
                    let difference = (other.y[i] - dense.y[i]).abs();
                    let scale = 1.0 + dense.y[i].abs();
                    assert!(difference <= 1e-10 * scale, "{method} {linear:?} row {i}: {difference:e}");
                }
            }
        }
    }
}

#[test]
fn the_solver_follows_the_structure() {
    // Two fields stored one after the other are interleaved: blocks of 2.
    let line = report(&grids::brusselator_line(100), "rodas4", LinearSolver::Auto);
    assert_eq!((line.kind, line.n, line.block, line.bandwidth), (SolverKind::BlockTridiagonal, 200, 2, 2));
    assert_eq!(line.entries, 200 + 200 + 2 * 2 * 99);
    assert!(line.to_string().contains("in blocks of 2") && line.to_string().contains("Cuthill"), "{line}");
    // A chain of masses: positions are eliminated, one tridiagonal matrix remains.
    let chain = report(&grids::chain(100), "backward-euler", LinearSolver::Auto);
    assert_eq!((chain.kind, chain.n, chain.block), (SolverKind::BlockTridiagonal, 100, 1));
    let square = report(&grids::heat_square(20), "rodas4", LinearSolver::Auto);
    assert_eq!(square.kind, SolverKind::Sparse);
    assert!(square.fill > square.entries as u64 && square.fill < 20 * square.entries as u64);
    assert_eq!(report(&grids::heat_square(20), "rodas4", LinearSolver::Banded).kind, SolverKind::Banded);
    // In two dimensions methods that iterate anyway solve by iteration from a few thousand unknowns.
    let large = report(&grids::heat_square(64), "bdf2", LinearSolver::Auto);
    assert_eq!((large.kind, large.n, large.fill), (SolverKind::Krylov, 4096, large.entries as u64));
    assert_eq!(report(&grids::heat_square(64), "rodas4", LinearSolver::Auto).kind, SolverKind::Multifrontal);
    assert_eq!(
        report(&grids::brusselator_line(3_000), "kencarp4", LinearSolver::Auto).kind,
        SolverKind::BlockTridiagonal
    );
    assert_eq!(report(&grids::heat_line(10), "rodas4", LinearSolver::Auto).kind, SolverKind::Dense);
    assert_eq!(solve(&grids::heat_line(10), 1e-4, "rk4", &fixed(1e-4)).linear, None);
}

/// Two steps of a Rosenbrock method: their counts, and entries of the factors per unknown.
fn two_steps(system: &Grid) -> (odec_ode::Stats, LinearReport) {
    let outcome = solve(system, 2e-6, "rodas4", &fixed(1e-6));
    (outcome.stats, outcome.linear.expect("an implicit method"))
}

/// A step is a fixed number of evaluations, factorisations and solutions, and each of these passes a fixed number of
/// times over the entries of the factors, so the entries per unknown determine the cost of a step per unknown.
#[test]
fn a_step_on_a_line_costs_as_much_for_each_unknown_up_to_a_million() {
    for system in [grids::heat_line as fn(usize) -> Grid, |n| grids::brusselator_line(n / 2), |n| grids::chain(n / 2)] {
        let (steps, short) = two_steps(&system(1_000));
        let (as_many, long) = two_steps(&system(1_000_000));
        assert_eq!(steps, as_many);
        assert_eq!((short.kind, short.block), (long.kind, long.block));
        let of = |report: &LinearReport| report.fill as f64 / report.n as f64;
        assert!((of(&short) - of(&long)).abs() < 0.01 * of(&short) && of(&long) <= 12.0, "{short}; {long}");
    }
}

#[test]
fn a_step_in_two_dimensions_costs_the_fill_of_a_good_order() {
    // n log n, as nested dissection gives; the couplings of each unknown determine the factor
    for (system, factor) in
        [(grids::heat_square as fn(usize) -> Grid, 4.0), (grids::lattice, 4.0), (grids::cloth, 12.0)]
    {
        let of = |side: usize| {
            let (stats, report) = two_steps(&system(side));
            let n = report.n as f64;
            (stats, report.fill as f64 / (n * n.log2()))
        };
        let ((steps, small), (as_many, large)) = (of(70), of(140));
        assert_eq!(steps, as_many);
        assert!(small < factor && large < 1.2 * small, "{small} {large}");
    }
}

#[test]
fn an_iteration_in_two_dimensions_keeps_the_entries_of_the_matrix_and_slows_down_with_the_side_at_most() {
    for system in [grids::heat_square as fn(usize) -> Grid, grids::brusselator_square] {
        let of = |side: usize| {
            let outcome = solve(&system(side), 0.05, "bdf", &tolerances(1e-4, 1e-4));
            let report = outcome.linear.expect("an implicit method");
            assert_eq!((report.kind, report.fill), (SolverKind::Krylov, report.entries as u64));
            report.iterations as f64 / outcome.stats.newton as f64
        };
        let (small, large) = (of(50), of(100));
        assert!(large < 2.0 * small, "{small} {large}");
    }
}

#[test]
fn impossible_requests_are_refused_with_their_reason() {
    let line = grids::heat_line(10_000);
    let refused = |system: &Grid, method: &str, linear| match run(
        system,
        (0.0, 1e-6),
        &system.y0,
        method,
        &Options { linear, ..tolerances(1e-4, 1e-6) },
    ) {
        Err(SolveError::Refused(Refusal::Linear(misfit))) => misfit,
        other => panic!("{method} {linear:?}: {:?}", other.map(|(outcome, _)| outcome.linear)),
    };
    assert_eq!(refused(&line, "rodas4", LinearSolver::Dense), UnsuitableSolver::DenseTooLarge { n: 10_000 });
    for method in ["rodas4", "ros2", "radau5"] {
        assert_eq!(
            refused(&grids::heat_line(50), method, LinearSolver::Krylov),
            UnsuitableSolver::NeedsExactSolutions { method: method.to_string() }
        );
    }
}

#[test]
fn an_iteration_takes_as_many_steps_as_exact_solutions_do() {
    let (mut seen, mut share) = (0, Share::one_of(2));
    for (name, system, t_end) in [
        ("heat", grids::heat_square(20), 0.05),
        ("brusselator", grids::brusselator_square(16), 4.0),
        ("lattice", grids::lattice(12), 0.3),
        ("line", grids::brusselator_line(60), 3.0),
    ] {
        let reference = solve(&system, t_end, "radau5", &tolerances(1e-9, 1e-9));
        for method in ["bdf", "bdf2", "sdirk2", "tr-bdf2", "kencarp4", "backward-euler", "trapezoidal"] {
            if !share.takes() {
                continue;
            }
            let rtols: &[f64] = if method == "backward-euler" { &[1e-2] } else { &[1e-3, 1e-5] };
            let mut ratio = 1.0;
            for rtol in rtols {
                let end = |linear| solve(&system, t_end, method, &Options { linear, ..tolerances(*rtol, *rtol) });
                let (krylov, direct) = (end(LinearSolver::Krylov), end(LinearSolver::Sparse));
                let report = krylov.linear.expect("an implicit method");
                assert!(report.kind == SolverKind::Krylov && report.iterations > 0, "{name} {method}: {report}");
                let steps = |o: &odec_ode::Stats| o.accepted + o.rejected + o.failed;
                let (own, other) = (steps(&krylov.stats), steps(&direct.stats));
                assert!(own as f64 <= 1.05 * other as f64 + 1.0, "{name} {method} {rtol:e}: {own} steps, not {other}");
                // The run is as accurate as the exact one.
                let error = |y: &[f64]| {
                    let of = |i: usize| (y[i] - reference.y[i]).abs() / (1.0 + reference.y[i].abs());
                    (0..y.len()).map(of).fold(0.0, f64::max)
                };
                let (own, other) = (error(&krylov.y), error(&direct.y));
                // bdf makes one iteration of Newton's method in most steps, so the error of the linear solver counts:
                // single runs have up to 2.3 times the error (the lattice at 1e-3), on the mean of the tolerances no
                // more than other methods.
                let bound = if method == "bdf" { 2.5 * (other + rtol) } else { 1.5 * other + rtol };
                assert!(own <= bound, "{name} {method} {rtol:e}: error {own:e}, not {other:e}");
                ratio *= (own / (other + rtol)).powf(1.0 / rtols.len() as f64);
                seen += 1;
            }
            assert!(ratio <= 1.5, "{name} {method}: errors are {ratio} times those of exact solutions");
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn a_jacobian_that_is_not_stored_is_replaced_by_products() {
    for (name, make, t_end) in [
        ("heat", (|| grids::heat_square(12)) as fn() -> Grid, 0.05),
        ("brusselator", || grids::brusselator_square(10), 1.0),
        ("chain", || grids::chain(40), 0.05),
    ] {
        let (free, held) = (make().without_jacobian(), make());
        for method in ["bdf", "kencarp4", "bdf3", "backward-euler", "trapezoidal"] {
            let options = tolerances(1e-4, 1e-4);
            let direct = solve(&held, t_end, method, &options);
            for reduce in [true, false] {
                let own = solve(&free, t_end, method, &Options { reduce, ..options.clone() });
                let report = own.linear.expect("an implicit method");
                assert!(report.kind == SolverKind::MatrixFree && report.iterations > 0, "{name} {method}: {report}");
                assert_eq!(report.n, if reduce { held.y0.len() - held.shape.second } else { held.y0.len() });
                assert!(own.stats.jacobians == 0 && own.stats.accepted <= direct.stats.accepted * 11 / 10 + 1);
                for i in 0..held.y0.len() {
                    let difference = (own.y[i] - direct.y[i]).abs();
                    assert!(difference <= 1e-2 * (1.0 + direct.y[i].abs()), "{name} {method} row {i}: {difference:e}");
                }
            }
        }
        for (method, linear) in
            [("rodas4", LinearSolver::Auto), ("radau5", LinearSolver::Auto), ("bdf", LinearSolver::Sparse)]
        {
            match run(&free, (0.0, 1e-3), &free.y0, method, &Options { linear, ..tolerances(1e-3, 1e-3) }) {
                Err(SolveError::Refused(Refusal::Linear(misfit))) => {
                    assert_eq!(misfit, UnsuitableSolver::JacobianNotHeld { n: free.y0.len() });
                }
                other => panic!("{:?}", other.map(|(outcome, _)| outcome.linear)),
            }
        }
        assert!(solve(&free, 1e-4, "rk4", &fixed(1e-5)).linear.is_none());
    }
}

#[test]
fn the_automatic_choice_goes_with_an_iteration() {
    let (free, held) = (grids::heat_line(30).without_jacobian(), grids::heat_line(30));
    for options in [tolerances(1e-4, 1e-6), tolerances(1e-11, 1e-12), fixed(1e-3)] {
        let krylov = Options { linear: LinearSolver::Krylov, ..options.clone() };
        let exact = solve(&held, 0.1, "radau5", &tolerances(1e-9, 1e-12));
        for (system, options) in [(&free, &options), (&held, &krylov)] {
            let own = solve(system, 0.1, "auto", options);
            let error = (0..30).map(|i| (own.y[i] - exact.y[i]).abs()).fold(0.0, f64::max);
            assert!(error < 1e-3, "{error:e}");
        }
    }
}

/// A run leaves no data that affect the next run of the same runner, including incomplete factors and units of the
/// iteration.
#[test]
fn further_runs_with_an_iteration_are_those_of_a_new_solver() {
    let system = grids::brusselator_square(30);
    let method = odec_ode::method::find("bdf").unwrap();
    let options = Options { linear: LinearSolver::Krylov, ..tolerances(1e-4, 1e-4) };
    let mut runner = Runner::new(&system, method, &options).unwrap();
    let samples = Samples::Times(vec![]);
    for (t_end, shift) in [(0.5, 0.0), (0.1, 1.0), (0.5, 0.0)] {
        let y0: Vec<f64> = system.y0.iter().map(|y| y + shift).collect();
        let alone = run(&system, (0.0, t_end), &y0, "bdf", &options).unwrap().0;
        let again = runner.run(&system, &Problem { t0: 0.0, t_end, y0 }, &samples, &mut Nothing).unwrap();
        assert_eq!((&again.y, again.stats, &again.linear), (&alone.y, alone.stats, &alone.linear));
        assert!(again.linear.is_some_and(|report| report.iterations > 0));
    }
}

struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}
