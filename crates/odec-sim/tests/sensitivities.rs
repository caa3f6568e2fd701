//! Derivatives of solutions with respect to parameters and initial values: against closed forms, against central
//! differences of accurate runs, for every family of methods; and one factorisation serves all of them.

use std::ops::ControlFlow;

use odec_lang::Model;
use odec_lang::source::Source;
use odec_ode::linear::{LinearSolver, SolverKind};
use odec_ode::method;
use odec_ode::problem::{Options, Outcome, Problem, Samples};
use odec_ode::{Sink, solve};
use odec_sim::Session;
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;

fn model(text: &str) -> (Model, Source) {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    (model.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

fn bind(text: &str, by: &[&str], set: &[(&str, f64)]) -> Bound {
    let (model, source) = model(text);
    let choices = Choices {
        open: by.iter().map(ToString::to_string).collect(),
        sensitivities: !by.is_empty(),
        set: set.iter().map(|(name, x)| (name.to_string(), *x)).collect(),
        ..Choices::default()
    };
    let plan = RunPlan::new(&model, &choices, Purpose::Rows).unwrap();
    let lower = if by.is_empty() { odec_lang::lower } else { odec_lang::lower_sensitivities };
    let program = lower(&model, &plan.overrides).unwrap();
    plan.bind(&model, &source, program).unwrap()
}

struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn run(bound: &Bound, method: &str, options: &Options) -> Outcome {
    let method = method::find(method).unwrap();
    let Problem { t0, t_end, ref y0 } = bound.problem;
    let problem = Problem { t0, t_end, y0: y0.clone() };
    solve(&bound.executor, &problem, method, options, &Samples::Times(vec![t_end]), &mut Nothing)
        .unwrap_or_else(|e| panic!("{}: {e:?}", method.name))
}

fn tight(bound: &Bound, rtol: f64, atol: f64) -> Options {
    // tolerances of derivatives are in the proportion that the plan chose
    let scale = |k: usize| bound.options.atol.get(k).or(bound.options.atol.first()).copied().unwrap_or(1e-9) / 1e-9;
    let atol = (0..bound.executor.layout().n).map(|k| atol * scale(k)).collect();
    Options { rtol, atol, max_steps: 1_000_000, ..bound.options.clone() }
}

fn value(bound: &Bound, outcome: &Outcome, name: &str) -> f64 {
    let place = bound.states.find(name).unwrap().unwrap_or_else(|| panic!("{name} is not there"));
    outcome.y[place]
}

/// One method of each family, and more if methods of a family differ.
const METHODS: [&str; 14] = [
    "dopri5",
    "vern7",
    "dop853",
    "taylor",
    "abm",
    "rodas4",
    "rodas5p",
    "kencarp4",
    "tr-bdf2",
    "radau5",
    "bdf",
    "trapezoidal",
    "implicit-midpoint",
    "auto",
];

/// Model, names of the derivatives, and the values at its end.
type Case<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, f64)]);

#[test]
fn closed_forms() {
    let decay = "model decay\nparam k = 0.7\nparam a = 3\nstate x = a\nx' = -k*x\nrun { t = 0 .. 2 }\n";
    let oscillator = "model o\nparam w = 3\nstate x = 1, x' = 0\nx'' = -w^2*x\nrun { t = 0 .. 2 }\n";
    let logistic = "model l\nparam r = 1.5\nparam K = 4\nstate x = 0.5\nx' = r*x*(1 - x/K)\nrun { t = 0 .. 2 }\n";
    let driven = "model d\nparam k = 2\nparam w = 3\nstate x = 0\nx' = -k*x + sin(w*t)\nrun { t = 0 .. 2 }\n";
    let t = 2.0f64;
    let e = (-0.7 * t).exp();
    let d = 1.0 + 7.0 * (-1.5 * t).exp();
    let (k, w) = (2.0f64, 3.0f64);
    // x = (k sin wt - w cos wt + w e^-kt)/(k^2 + w^2)
    let (n, q) = (k * (w * t).sin() - w * (w * t).cos() + w * (-k * t).exp(), k * k + w * w);
    let by_k = ((w * t).sin() - w * t * (-k * t).exp()) / q - 2.0 * k * n / (q * q);
    let by_w =
        (k * t * (w * t).cos() - (w * t).cos() + w * t * (w * t).sin() + (-k * t).exp()) / q - 2.0 * w * n / (q * q);
    let cases: [Case<'_>; 4] = [
        (decay, &["k", "a", "x"], &[("d(x)/d(k)", -3.0 * t * e), ("d(x)/d(a)", e), ("d(x)/d(x)", e), ("x", 3.0 * e)]),
        (
            oscillator,
            &["w", "x'"],
            &[
                ("d(x)/d(w)", -t * (w * t).sin()),
                ("d(x')/d(w)", -(w * t).sin() - w * t * (w * t).cos()),
                ("d(x)/d(x')", (w * t).sin() / w),
                ("d(x')/d(x')", (w * t).cos()),
            ],
        ),
        (
            logistic,
            &["K", "r"],
            &[
                ("d(x)/d(r)", 4.0 * 7.0 * t * (-1.5 * t).exp() / (d * d)),
                ("d(x)/d(K)", 1.0 / d - 4.0 * (-1.5 * t).exp() / (0.5 * d * d)),
            ],
        ),
        (driven, &["k", "w"], &[("d(x)/d(k)", by_k), ("d(x)/d(w)", by_w)]),
    ];
    for (text, by, wanted) in cases {
        let bound = bind(text, by, &[]);
        for method in METHODS {
            let outcome = run(&bound, method, &tight(&bound, 1e-9, 1e-10));
            for (name, exact) in wanted {
                let found = value(&bound, &outcome, name);
                assert!((found - exact).abs() < 2e-6 * (1.0 + exact.abs()), "{method}: {name} = {found}, not {exact}");
            }
        }
    }
}

/// The numbers that SUNDIALS prints for its example cvsRoberts_FSA_dns (Hindmarsh and Serban, Example programs for CVODES), five
/// digits each, at t = 0.4 and t = 4.
#[test]
fn robertson_as_others_have_it() {
    let text = |end: &str| {
        format!(
            "model r\nparam p1 = 0.04\nparam p2 = 1e4\nparam p3 = 3e7\nstate A = 1\nstate B, C = 0\n\
             A' = -p1*A + p2*B*C\nB' = p1*A - p2*B*C - p3*B^2\nC' = p3*B^2\nrun {{ t = 0 .. {end} }}\n"
        )
    };
    let printed = [
        (
            "0.4",
            [
                [-3.5595e-1, 3.9025e-4, 3.5556e-1],
                [9.5431e-8, -2.1309e-10, -9.5218e-8],
                [-1.5833e-11, -5.2900e-13, 1.6362e-11],
            ],
        ),
        (
            "4",
            [
                [-1.8761, 1.7922e-4, 1.8759],
                [2.9614e-6, -5.8305e-10, -2.9608e-6],
                [-4.9334e-10, -2.7626e-13, 4.9362e-10],
            ],
        ),
    ];
    for (end, printed) in printed {
        let bound = bind(&text(end), &["p1", "p2", "p3"], &[]);
        for method in ["rodas4", "rodas5p", "kencarp4", "radau5", "bdf", "auto"] {
            let outcome = run(&bound, method, &tight(&bound, 1e-8, 1e-12));
            for (by, row) in ["p1", "p2", "p3"].iter().zip(&printed) {
                for (state, exact) in ["A", "B", "C"].iter().zip(row) {
                    let found = value(&bound, &outcome, &format!("d({state})/d({by})"));
                    // their digits, and their tolerance of 1e-4
                    assert!(
                        (found / exact - 1.0).abs() < 1e-3,
                        "{method}, t = {end}: d({state})/d({by}) = {found}, {exact}"
                    );
                }
            }
        }
    }
}

const ROD: &str = "\
model rod
const N = 6
index i, j = 1..N
param D = 0.3, c = 2, w = 1.5
dx = 1/(N + 1)
state u[i] = sin(pi*i*dx) + c*i*dx
state m = c
u[i]' = D*(u[i-1] - 2*u[i] + u[i+1])/dx^2 - c*u[i]^2 + m*sin(w*t)
m' = -m*max(j: u[j])/(c + sum(j: u[j]^2))
boundary u[0] = c
boundary u[N+1] = u[N]
output flux[i] = D*(u[i+1] - u[i])/dx
run { t = 0 .. 0.3 }
";

const CHAIN: &str = "\
model chain
param k = 40, g = 9.81, d = 0.3
state x = 1, x' = 0
state y = 0.5*k/40, y' = 0
state heat = 0
x'' = -k*x + 8*(y - x)^3 - d*x'
y'' = -g*y - d*(y' - x')*heat
heat' = d*x'^2
run { t = 0 .. 1.5 }
";

const COUPLED: &str = "\
model coupled
param k = 3
state x = 1, y = 0, z = k/2
2*x' + y' = -k*x + z
x' + 3*y' = -y*z
z' = -z + x*k
run { t = 0 .. 1 }
";

/// A mass matrix with a parameter in it.
const MASSIVE: &str = "\
model massive
param k = 3
state x = 1, y = 0
2*x' + y'/k = -k*x
x' + k^2*y' = -y*x
run { t = 0 .. 1 }
";

/// d/dp of every state at the end, by central differences of accurate runs.
fn differences(text: &str, by: &str, at: f64) -> Vec<f64> {
    let h = 1e-4 * at;
    let end = |x: f64| {
        let bound = bind(text, &[], &[(by, x)]);
        run(&bound, "radau5", &Options { rtol: 1e-12, atol: vec![1e-13], ..bound.options.clone() }).y
    };
    let (low, high) = (end(at - h), end(at + h));
    low.iter().zip(&high).map(|(a, b)| (b - a) / (2.0 * h)).collect()
}

#[test]
fn differences_of_accurate_runs_are_exact_enough() {
    for (text, by) in [
        (ROD, &[("D", 0.3), ("c", 2.0), ("w", 1.5)][..]),
        (CHAIN, &[("k", 40.0), ("g", 9.81), ("d", 0.3)]),
        (COUPLED, &[("k", 3.0)]),
        (MASSIVE, &[("k", 3.0)]),
    ] {
        let names: Vec<&str> = by.iter().map(|(name, _)| *name).collect();
        let bound = bind(text, &names, &[]);
        let plain = bind(text, &[], &[]);
        let wanted: Vec<Vec<f64>> = by.iter().map(|(name, at)| differences(text, name, *at)).collect();
        for method in METHODS {
            // arrays and mass matrices have no series; the midpoint rule does not damp the fast modes of diffusion
            if (method == "taylor" && text != CHAIN) || (method == "implicit-midpoint" && text == ROD) {
                continue;
            }
            let outcome = run(&bound, method, &tight(&bound, 1e-8, 1e-10));
            for (name, wanted) in names.iter().zip(&wanted) {
                for (place, exact) in wanted.iter().enumerate() {
                    let state = plain.states.name(place);
                    let found = value(&bound, &outcome, &format!("d({state})/d({name})"));
                    let close = (found - exact).abs() < 1e-5 * (1.0 + exact.abs());
                    assert!(close, "{method}: d({state})/d({name}) = {found}, differences give {exact}");
                }
            }
        }
    }
}

/// The systems of all groups are solved with the factors of one, with the same results as for the whole matrix.
#[test]
fn one_factorisation_serves_all() {
    for (text, by) in [(ROD, &["D", "c"][..]), (CHAIN, &["k", "g", "d"]), (COUPLED, &["k"])] {
        let mut bound = bind(text, by, &[]);
        let n = bind(text, &[], &[]).executor.layout().n;
        for method in ["rodas4", "kencarp4", "radau5", "bdf"] {
            for linear in [LinearSolver::Auto, LinearSolver::Dense, LinearSolver::Sparse] {
                bound.executor.set_groups(1 + by.len());
                let options = Options { linear, ..tight(&bound, 1e-6, 1e-9) };
                let staggered = run(&bound, method, &options);
                let second = bound.executor.layout().second / (1 + by.len());
                // Positions are eliminated in advance, except if code for the whole of W includes them.
                let report = staggered.linear.clone().unwrap();
                let group = if report.kind == SolverKind::Compiled { n } else { n - second };
                assert_eq!(report.n, group, "{method}: the size of one group");
                bound.executor.set_groups(1);
                let whole = run(&bound, method, &options);
                assert_eq!(staggered.stats.accepted, whole.stats.accepted, "{method}, {linear:?}");
                for (a, b) in staggered.y.iter().zip(&whole.y) {
                    assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{method}, {linear:?}: {a} and {b}");
                }
            }
        }
    }
}

#[test]
fn machine_code_gives_the_bits_of_the_interpreter() {
    for (text, by) in [(ROD, &["D", "c"][..]), (CHAIN, &["k", "x'"]), (COUPLED, &["k"])] {
        let (model, source) = model(text);
        let run = |interpret: bool| {
            let open = by.iter().map(ToString::to_string).collect();
            let choices = Choices { open, sensitivities: true, interpret, ..Choices::default() };
            let plan = RunPlan::new(&model, &choices, Purpose::Rows).unwrap();
            let program = odec_lang::lower_sensitivities(&model, &plan.overrides).unwrap();
            let bound = plan.bind(&model, &source, program).unwrap();
            ["rodas4", "tsit5"]
                .map(|method| run(&bound, method, &bound.options).y.iter().map(|y| y.to_bits()).collect::<Vec<_>>())
        };
        assert_eq!(run(false), run(true));
    }
}

/// Machine code for an initial value in the text is not used for one that the caller gives, and vice versa.
#[test]
fn a_reused_simulation_starts_from_the_given_values() {
    let text = "param k = 2\nstate x = 1, v = 3*k\nx' = -k*x\nv' = -v\nrun { t = 0 .. 1 }\n";
    let loaded = Session::new().load("test.ode", text).unwrap();
    let choices = |set: &[(&str, f64)]| Choices {
        open: vec!["k".into(), "x".into(), "v".into()],
        sensitivities: true,
        set: set.iter().map(|(name, x)| (name.to_string(), *x)).collect(),
        ..Choices::default()
    };
    let lists: [&[(&str, f64)]; 5] =
        [&[], &[("x", 0.5)], &[("k", 5.0)], &[("v", 7.0), ("k", 4.0)], &[("x", 0.25), ("v", 8.0)]];
    for first in lists {
        let base = loaded.simulate(&choices(first), Purpose::Rows).unwrap();
        for then in lists {
            let again = base.again(&choices(then)).unwrap();
            let fresh = loaded.simulate(&choices(then), Purpose::Rows).unwrap();
            assert_eq!(again.bound().problem.y0, fresh.bound().problem.y0, "{first:?}, then {then:?}");
        }
    }
}

/// A model with switches gets other values without lowering, and then equals a new one.
#[test]
fn a_model_with_events_again_is_the_same_as_a_fresh_one() {
    let text = "param p = 1, big = 1e6\nstate x = p + d, y = 1\ndiscrete d = 2*p\nx' = -x\ny' = -1e-6*big*y\n\
                when x < 1 { x := p + 1; d += p }\noutput d\nrun { t = 0 .. 3; samples = 6 }\n";
    let loaded = Session::new().load("test.ode", text).unwrap();
    for sensitivities in [false, true] {
        let choices = |set: &[(&str, f64)]| Choices {
            open: if sensitivities { vec!["p".into(), "big".into()] } else { Vec::new() },
            sensitivities,
            set: set.iter().map(|(name, x)| (name.to_string(), *x)).collect(),
            t0: set.iter().any(|(name, _)| *name == "big").then_some(0.5),
            ..Choices::default()
        };
        let lists: [&[(&str, f64)]; 4] = [&[("p", 1.0)], &[("p", 3.0)], &[("p", 0.7), ("big", 2e6)], &[("p", 5.0)]];
        for first in lists {
            let base = loaded.simulate(&choices(first), Purpose::Rows).unwrap();
            for then in lists.iter().filter(|then| then.len() >= first.len()) {
                let before = odec_lang::lower::drafts_made();
                let again = base.again(&choices(then)).unwrap();
                assert_eq!(odec_lang::lower::drafts_made(), before, "{first:?}, then {then:?}");
                let fresh = loaded.simulate(&choices(then), Purpose::Rows).unwrap();
                let bounds = [again.bound(), fresh.bound()];
                assert_eq!(bounds[0].problem.y0, bounds[1].problem.y0, "{first:?}, then {then:?}");
                assert_eq!(bounds[0].options.atol, bounds[1].options.atol, "{first:?}, then {then:?}");
                let bits = |s: &odec_sim::Simulation| {
                    s.solve().unwrap().rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>()
                };
                assert_eq!(bits(&again), bits(&fresh), "{first:?}, then {then:?}");
            }
        }
    }
}
