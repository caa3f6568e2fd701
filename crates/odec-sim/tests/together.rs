//! Runs that take turns and make their steps together are bit by bit what they are alone.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use odec_lang::source::Source;
use odec_ode::problem::{Options, Problem, Samples};
use odec_ode::{Runner, Sink, method};
use odec_sim::bind::{Bound, Plan, Purpose};
use odec_sim::choices::Choices;
use odec_sim::points::{Design, Points, Range, Spacing};
use odec_sim::sweep::{Collector, Done, Job};
use odec_sim::together::{LANES, Lane, together};

/// A branch, powers, functions of the C library, time, second order.
const DRIVEN: &str = "model driven\nparam k = 1.5, a = 0.3\nx'' = -k*x - 0.1*x' + a*sin(2*t)\nu' = if x > 0 and t < 3 then -u + t else -2*u + max(x, 0.1)\nstate x = 1\nstate x' = 0\nstate u = 0.5\nrun { t = 0 .. 6 }\n";
/// It ends at t = 1/x(0), for some starts before the end of the run.
const ESCAPE: &str = "model escape\nparam k = 1, a = 0\nx' = k*x^2 + a*0.01\nstate x = 1\nrun { t = 0 .. 0.9 }\n";
/// There is no root of a negative number, to which some starts lead.
const ROOT: &str =
    "model root\nparam k = 1, a = 0.5\nx' = -k*sqrt(x) - a\ny' = x - y\nstate x = 1\nstate y = 0\nrun { t = 0 .. 1 }\n";

fn bind(text: &str, choices: &Choices) -> (Source, odec_lang::model::Model, Bound) {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    let mut model = model.unwrap_or_else(|| panic!("{text}\n{diagnostics:?}"));
    model.expects.clear();
    let plan = Plan::new(&model, choices, Purpose::Rows).unwrap();
    let program = odec_lang::lower(&model, &plan.overrides).unwrap();
    let bound = plan.bind(&model, &source, program).unwrap();
    (source, model, bound)
}

fn file(name: &str) -> String {
    let path = format!("{}/../../models/{name}.ode", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Keeps every row, bit by bit, and stops after some.
struct Rows {
    bits: Vec<u64>,
    left: u64,
}

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.bits.extend(std::iter::once(t).chain(y.iter().copied()).map(f64::to_bits));
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Everything that a run of this number gives, with parameters, start, end and tolerance of its own.
fn one(k: usize, bound: &mut Bound, lane: &Lane<'_>, runner: &mut Option<Runner>, name: &str) -> (Vec<u64>, String) {
    let part = 0.5 + 0.01 * (k as f64 * 37.0 % 101.0);
    let count = bound.machine.program().arrays.iter().filter(|a| a.role == odec_ir::Role::Parameter).count();
    let given = bound.machine.parameters()[..count].to_vec();
    bound
        .machine
        .change(|p| {
            if k % 3 == 1 {
                p[0] *= part;
            }
        })
        .unwrap();
    let mut y0 = bound.problem.y0.clone();
    y0[0] *= part;
    let Problem { t0, t_end, .. } = bound.problem;
    let t_end = if k % 4 == 3 { t0 + part * (t_end - t0) } else { t_end };
    let problem = Problem { t0, t_end, y0 };
    let samples = if k % 5 == 2 {
        Samples::Steps
    } else {
        Samples::Times((0..=20).map(|i| t0 + (t_end - t0) * f64::from(i) / 20.0).collect())
    };
    let options = Options { rtol: if k % 7 == 6 { 1e-5 } else { 1e-6 }, ..bound.options.clone() };
    let system = lane.system(&bound.machine);
    // a runner is for the same options
    let mut own = None;
    let runner = if options.rtol == 1e-6 { runner } else { &mut own };
    let method = method::find(name).unwrap();
    let runner = runner.get_or_insert_with(|| Runner::new(&system, method, &options).unwrap());
    let mut rows = Rows { bits: vec![], left: if k % 11 == 10 { 7 } else { u64::MAX } };
    let outcome = runner.run(&system, &problem, &samples, &mut rows);
    let told = match outcome {
        Ok(outcome) => format!("{:?} {:?} {:?}", outcome.stop, outcome.stats, outcome.course),
        Err(failure) => format!("{failure:?}"),
    };
    bound.machine.change(|p| p[..count].copy_from_slice(&given)).unwrap();
    (rows.bits, told)
}

/// All runs by so many strands, and how many steps were made together.
fn all(bound: &Bound, strands: usize, runs: usize, name: &str) -> (Vec<(Vec<u64>, String)>, u64) {
    let made: Vec<RefCell<(Vec<u64>, String)>> = (0..runs).map(|_| RefCell::default()).collect();
    let next = Cell::new(0);
    let count = together(strands, &|_, lane| {
        let (mut bound, mut runner) = (bound.fork(), None);
        while next.get() < runs {
            let k = next.replace(next.get() + 1);
            let result = one(k, &mut bound, lane, &mut runner, name);
            *made[k].borrow_mut() = result;
        }
    });
    (made.into_iter().map(RefCell::into_inner).collect(), count)
}

#[test]
fn runs_that_take_turns_have_the_bits_of_runs_alone() {
    let cases = [
        ("lorenz", file("lorenz"), 4.0),
        ("lotka_volterra", file("lotka_volterra"), 6.0),
        ("robertson", file("robertson"), 40.0),
        ("orego", file("orego"), 30.0),
        ("driven", DRIVEN.to_string(), 6.0),
        ("escape", ESCAPE.to_string(), 0.9),
        ("root", ROOT.to_string(), 1.0),
    ];
    for (model, text, t_end) in cases {
        for name in ["auto", "vern7", "dopri5", "dop853", "taylor", "rodas4", "rodas5p"] {
            // explicit methods take long on stiff equations
            if ["robertson", "orego"].contains(&model) && ["vern7", "dopri5", "dop853", "taylor"].contains(&name) {
                continue;
            }
            let choices = Choices {
                method: Some(name.into()),
                t0: Some(0.0),
                t_end: Some(t_end),
                step: None,
                rtol: Some(1e-6),
                ..Choices::default()
            };
            let (_, _, mut bound) = bind(&text, &choices);
            bound.options.fixed = false;
            bound.options.step = None;
            bound.machine.expect_many_runs();
            assert_eq!(bound.machine.lanes(), LANES);
            let runs = 400;
            let (alone, count) = all(&bound, 1, runs, name);
            assert_eq!(count, 0);
            let failed = alone.iter().filter(|(_, told)| told.contains("cause")).count();
            assert_eq!(failed > 0, ["escape", "root"].contains(&model), "{model}: {failed} fail");
            let (turns, count) = all(&bound, LANES, runs, name);
            assert!(count > 1000, "{model} by {name}: {count} steps together");
            for (k, (alone, turns)) in alone.iter().zip(&turns).enumerate() {
                assert_eq!(alone.1, turns.1, "{model} by {name}, run {k}");
                assert!(alone.0 == turns.0, "{model} by {name}: bits of run {k}");
            }
        }
    }
}

#[derive(Default)]
struct All {
    rows: Vec<u64>,
    told: Vec<String>,
    seconds: f64,
    until: Option<u64>,
}

impl Collector for All {
    fn run(&mut self, k: u64, point: &[f64], rows: &[f64], done: &Done) -> ControlFlow<()> {
        self.rows.extend(point.iter().chain(rows).map(|x| x.to_bits()));
        self.told.push(format!("{k} {:?} {:?}", done.stats, done.trouble));
        self.seconds += done.seconds;
        if self.until == Some(k) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A sweep of so many runs over the start of the first state by threads.
fn swept(text: &str, range: Range, runs: u64, threads: usize, until: Option<u64>) -> (All, bool) {
    let choices = Choices {
        method: Some("auto".into()),
        set: vec![(range.name.clone(), range.low)],
        open: vec![range.name.clone()],
        ..Choices::default()
    };
    let (source, model, bound) = bind(text, &choices);
    let points = Points::new(vec![range], Design::Random { runs, seed: 1 }).unwrap();
    let ticks = std::sync::atomic::AtomicU32::new(0);
    let clock = || f64::from(ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let job = Job {
        model: &model,
        source: &source,
        bound: &bound,
        choices: &choices,
        points: &points,
        stop: &|| false,
        clock: &clock,
    };
    let mut all = All { until, ..All::default() };
    let ended = job.run(threads, &mut all);
    (all, ended)
}

/// As few runs for each thread as in the first sweep are made one after the other.
#[test]
fn a_sweep_has_the_same_rows_in_the_same_order_whether_runs_take_turns() {
    for (text, name, low, high) in [(DRIVEN, "x", 0.5, 1.5), (ESCAPE, "x", 0.5, 1.5), (ROOT, "k", 0.1, 2.0)] {
        let range = || Range { name: name.to_string(), low, high, count: 2, spacing: Spacing::Even };
        let (alone, ended) = swept(text, range(), 300, 8, None);
        assert!(!ended && alone.told.len() == 300);
        for threads in [1, 2] {
            let (turns, ended) = swept(text, range(), 300, threads, None);
            assert!(!ended);
            assert_eq!(alone.told, turns.told);
            assert!(alone.rows == turns.rows, "{threads} threads");
            assert!(turns.seconds > 0.0 && turns.seconds.is_finite());
        }
        let (part, ended) = swept(text, range(), 300, 1, Some(100));
        assert!(ended);
        assert_eq!(part.told[..], alone.told[..101]);
    }
}
