//! Measured inputs: runs at knots, between them and beyond them, and messages about files that do not give a curve.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use odec_lang::model::inputs::{Curve, Interpolation, Outside};
use odec_ode::method::{self, Adaptive, Method};
use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, SampleRule};
use odec_sim::hybrid::step_ends::StepEndKind;
use odec_sim::session::Files;
use odec_sim::{Error, Loaded, Session, Simulation, Solution};

use crate::share::Share;

fn files(list: &[(&str, &str)]) -> HashMap<String, Vec<u8>> {
    list.iter().map(|(name, text)| ((*name).to_string(), text.as_bytes().to_vec())).collect()
}

pub fn load(text: &str, list: &[(&str, &str)]) -> Loaded {
    let session = Session::new().with_files(files(list));
    session.load("model.ode", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn simulation(text: &str, choices: &Choices) -> Simulation {
    load(text, &[]).simulate(choices, Purpose::Rows).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn solve(text: &str, choices: &Choices) -> Solution {
    simulation(text, choices).solve().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Why a model with this file does not run.
fn refusal(text: &str, csv: &str) -> Error {
    let loaded = load(text, &[("q.csv", csv)]);
    match loaded.simulate(&Choices::default(), Purpose::Rows) {
        Ok(_) => panic!("accepted: {csv}"),
        Err(error) => error,
    }
}

fn with_method(method: &Method, rtol: f64) -> Choices {
    Choices { method: Some(method.name.to_string()), rtol: Some(rtol), atol: Some(1e-12), ..Choices::default() }
}

pub fn tight() -> Choices {
    Choices { rtol: Some(1e-10), atol: Some(1e-13), ..Choices::default() }
}

fn adaptive() -> impl Iterator<Item = &'static Method> {
    let auto = method::find("auto").expect("a method");
    method::general().filter(|method| method.adaptive != Adaptive::FixedStep).chain([auto])
}

pub fn end(solution: &Solution, name: &str) -> f64 {
    solution.column(name).and_then(Iterator::last).expect("a row")
}

fn column(solution: &Solution, name: &str) -> Vec<f64> {
    solution.column(name).expect("a column").collect()
}

pub fn close(found: f64, exact: f64, tolerance: f64, what: &str) {
    assert!((found - exact).abs() <= tolerance, "{what}: {found:?}, exactly {exact:?}, off by {:e}", found - exact);
}

fn list(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers.iter().map(|x| format!("{x:?}")).collect();
    format!("[{}]", texts.join(", "))
}

/// The integral of a curve from its first time to `t`, piece by piece.
fn integral(curve: &Curve, t: f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..curve.coefficients[0].len() {
        let (from, to) = (curve.knots[k], curve.knots[k + 1].min(t));
        if to > from {
            let h = to - from;
            sum += (0u8..)
                .zip(&curve.coefficients)
                .map(|(power, list)| list[k] * h.powi(i32::from(power) + 1) / (f64::from(power) + 1.0))
                .sum::<f64>();
        }
    }
    sum
}

const TIMES: [f64; 6] = [0.0, 0.3, 1.0, 1.05, 4.0, 5.0];
const VALUES: [f64; 6] = [2.0, -1.0, 7.0, 0.5, 3.0, 3.0];

#[test]
fn every_method_integrates_the_curve() {
    let mut share = Share::one_of(3);
    for between in [Interpolation::Hold, Interpolation::Linear, Interpolation::Cubic, Interpolation::Spline] {
        let curve = Curve::of(&TIMES, &VALUES, between, Outside::Nothing).expect("a curve");
        let exact = integral(&curve, 4.5);
        let word = between.word();
        let text = format!(
            "input q(t) = table({}, {}, {word})\nstate x = 0\nx' = q(t)\nrun {{ t = 0 .. 4.5 }}",
            list(&TIMES),
            list(&VALUES)
        );
        for method in adaptive().filter(|_| share.takes()) {
            let solution = solve(&text, &with_method(method, 1e-9));
            let loose = [5e-3, 1e-5, 1e-5].get(method.order as usize - 1).copied().unwrap_or(3e-8);
            close(end(&solution, "x"), exact, loose * exact.abs().max(1.0), &format!("{} {word}", method.name));
        }
    }
}

#[test]
fn no_pulse_of_the_data_is_missed() {
    let mut share = Share::one_of(4);
    for k in 0..=9 {
        let width = 0.1f64.powi(k);
        let text = format!(
            "input q(t) = table([0, 5, {:?}, 7], [0, 20, 0, 0], hold)\nstate x = 0\nx' = -x + q(t)\n\
             run {{ t = 0 .. 7; samples = steps }}",
            5.0 + width
        );
        let exact = -20.0 * (-((5.0 + width) - 5.0)).exp_m1();
        for method in adaptive().filter(|_| share.takes()) {
            let rtol = [1e-11, 1e-10].get(method.order as usize - 1).copied().unwrap_or(1e-8);
            let most = column(&solve(&text, &with_method(method, rtol)), "x").into_iter().fold(0.0, f64::max);
            assert!((most / exact - 1.0).abs() < 1e-6, "{}, width {width}: {most} {exact}", method.name);
        }
    }
}

/// Knots at the start and at the end of a run; rows at knots have the right limit.
#[test]
fn rows_at_knots_hold_right_limits() {
    let run = |between: &str, samples: &str| {
        let text = format!(
            "input q(t) = table([0, 1, 2, 4], [5, 6, 8, 3], {between})\nstate x = 0\nx' = q(t)\noutput seen = q(t)\n\
             run {{ t = 0 .. 4; samples = {samples} }}"
        );
        solve(&text, &tight())
    };
    let held = run("hold", "4");
    assert_eq!(column(&held, "seen"), [5.0, 6.0, 8.0, 8.0, 3.0]);
    for (found, exact) in column(&held, "x").into_iter().zip([0.0, 5.0, 11.0, 19.0, 27.0]) {
        close(found, exact, 1e-12, "held");
    }
    let straight = run("linear", "4");
    for (found, exact) in column(&straight, "seen").into_iter().zip([5.0, 6.0, 8.0, 5.5, 3.0]) {
        close(found, exact, 1e-14, "linear");
    }
    close(end(&straight, "x"), 5.5 + 7.0 + 11.0, 1e-12, "linear");
    // with every step recorded a jump has two rows
    let both = run("hold", "steps");
    let at_one: Vec<f64> =
        column(&both, "t").into_iter().zip(column(&both, "seen")).filter(|row| row.0 == 1.0).map(|row| row.1).collect();
    assert_eq!(at_one, [5.0, 6.0]);
}

#[test]
fn a_run_may_begin_and_end_inside_the_data() {
    let text = "input q(t) = table([0, 1, 2, 4], [5, 6, 8, 3], linear)\nstate x = 0\nx' = q(t)\nrun { t = 0.5 .. 3 }";
    close(end(&solve(text, &tight()), "x"), 0.5 * 5.75 + 7.0 + 6.75, 1e-12, "inside");
    // from a knot to the next one
    let choices = Choices { t0: Some(1.0), t_end: Some(2.0), ..tight() };
    close(end(&solve(text, &choices), "x"), 7.0, 1e-12, "one piece");
}

/// 300 periods of 0.7 with knots at uneven distances; the run ends within a period.
#[test]
fn periods_count_on_without_drift() {
    let (times, values) = ([0.0, 0.2, 0.3, 0.7], [1.0, 4.0, -2.0, 1.0]);
    for (between, whole, part) in
        [("hold", 0.2 + 0.4 - 0.8, 0.05), ("linear", 0.5 + 0.1 - 0.2, 0.05 + 0.5 * 0.05 * 0.75)]
    {
        for (shift, argument) in [(0.0, "t"), (0.0, "(t + 7*0.7)"), (3.0, "(t - 3)")] {
            let text = format!(
                "input q(t) = table({}, {}, {between}, periodic)\nstate x = 0\nx' = q{}\nrun {{ t = {shift} .. {:?} }}",
                list(&times),
                list(&values),
                if argument == "t" { "(t)" } else { argument },
                shift + 300.0 * 0.7 + 0.05
            );
            let solution = solve(&text, &tight());
            close(end(&solution, "x"), 300.0 * whole + part, 2e-9, &format!("{between} {argument}"));
        }
    }
}

/// The argument runs backward, is delayed, and is compressed.
#[test]
fn arguments_move_the_knots() {
    let table = "input q(t) = table([0, 1, 2, 4], [5, 6, 8, 3], hold)";
    let run = |argument: &str, span: &str| {
        let text = format!(
            "param lag = 1.5\n{table}\nstate x = 0\nx' = q({argument})\noutput seen = q({argument})\n\
             run {{ t = {span}; samples = 4 }}"
        );
        let solution = solve(&text, &tight());
        (end(&solution, "x"), column(&solution, "seen"))
    };
    let (x, _) = run("t - lag", "1.5 .. 5.5");
    close(x, 27.0, 1e-12, "delayed");
    let (x, seen) = run("4 - t", "0 .. 4");
    close(x, 27.0, 1e-12, "backward");
    // values from each time on: towards smaller arguments
    assert_eq!(seen[1..4], [8.0, 6.0, 5.0]);
    let (x, _) = run("2*t", "0 .. 2");
    close(x, 13.5, 1e-12, "compressed");
}

#[test]
fn inputs_with_common_knots_are_one_instant() {
    let text = "
        input a(t) = table([0, 1, 2, 3], [1, 2, 3, 4], hold)
        input b(t) = table([0, 0.5, 1, 2, 3], [0, 1, 0, 5, 5], linear)
        state x = 0, y = 0
        x' = a(t) + b(t)
        y' = a(t - 1) + b(t - 0.5)
        run { t = 1 .. 3 }";
    let solution = solve(text, &tight());
    close(end(&solution, "x"), 5.0 + 2.5 + 5.0, 1e-12, "x");
    // a from 0 to 2, b from 0.5 to 2.5
    close(end(&solution, "y"), 3.0 + 0.25 + 2.5 + 2.5, 1e-12, "y");
}

#[test]
fn late_and_dense_samples_are_met() {
    let times: Vec<f64> = (0..50).map(|k| 1e9 + f64::from(k) * 0.25).collect();
    let values: Vec<f64> = (0..50).map(|k| f64::from(k % 3)).collect();
    let text = |times: &[f64], between: &str| {
        format!(
            "input q(t) = table({}, {}, {between})\nstate x = 0\nx' = q(t)\nrun {{ t = {:?} .. {:?} }}",
            list(times),
            list(&values),
            times[0],
            times[49]
        )
    };
    let sum: f64 = values[..49].iter().sum();
    close(end(&solve(&text(&times, "hold"), &tight()), "x"), sum * 0.25, 1e-6, "late");
    let times: Vec<f64> = (0..50).map(|k| f64::from(k) * 1e-9).collect();
    close(end(&solve(&text(&times, "hold"), &tight()), "x") * 1e9, sum, 1e-9, "dense");
    let exact = sum + 0.5 * (values[49] - values[0]);
    close(end(&solve(&text(&times, "linear"), &tight()), "x") * 1e9, exact, 1e-9, "dense and linear");
}

/// x' = q(x): growth on the first piece, decay to the knot between the other two.
#[test]
fn an_input_of_a_state_is_located_and_differentiated() {
    let text = "
        input q(t) = table([0, 1, 3], [1, 2, 0], linear)
        state x = 0
        x' = q(x)
        run { t = 0 .. 2 }";
    // x = e^t - 1 up to 1, then x = 3 - 2 e^(-(t - ln 2))
    let exact = 3.0 - 2.0 * (-(2.0 - 2.0f64.ln())).exp();
    for method in adaptive() {
        let rtol = if method.order <= 2 { 1e-10 } else { 1e-9 };
        let solution = solve(text, &with_method(method, rtol));
        close(end(&solution, "x"), exact, if method.order == 1 { 2e-5 } else { 2e-7 }, method.name);
    }
    let held = "
        input q(t) = table([0, 1, 2, 5], [1, 4, 0.5, 0], hold)
        state x = 0
        x' = q(x)
        run { t = 0 .. 3 }";
    // 1 s to 1, a quarter to 2, then at a half
    close(end(&solve(held, &tight()), "x"), 2.0 + 0.5 * (3.0 - 1.25), 1e-10, "held");
    let back =
        held.replace("x' = q(x)", "x' = -q(x)").replace("state x = 0", "state x = 3").replace("0.5, 0", "0.5, 0.5");
    close(end(&solve(&back, &tight()), "x"), 1.0 - (3.0 - 2.25), 1e-10, "held, going down");
    for text in [text, held] {
        let loaded = load(text, &[]);
        let program = loaded.program(&Choices::default()).unwrap_or_else(|e| panic!("{e}")).program;
        let tables = loaded.compare_derivatives(&program).unwrap_or_else(|e| panic!("{e}"));
        assert!(tables.iter().all(odec_sim::derivatives::DerivativeTable::passes));
    }
}

/// A state on a periodic curve passes many periods.
#[test]
fn a_periodic_input_of_a_state_repeats() {
    let text = "
        input q(t) = table([0, 0.2, 0.7], [1, 2, 1], hold, periodic)
        state x = 0
        x' = q(x)
        run { t = 0 .. 45 }";
    // 0.2 at 1 and 0.5 at 2: a period takes 0.45
    close(end(&solve(text, &tight()), "x"), 70.0, 1e-8, "rounds");
}

#[test]
fn arrays_pass_the_knots_each_at_its_time() {
    let text = "
        const N = 3
        index i = 1..N
        param lag[i] = 0.25*i
        input q(t) = table([0, 1, 2, 4], [5, 6, 8, 3], hold, clamp)
        state x[i] = 0
        x[i]' = q(t - lag[i])
        run { t = 0 .. 4 }";
    let solution = solve(text, &tight());
    for i in 1..=3 {
        let lag = 0.25 * f64::from(i);
        let exact = 5.0 * (1.0 + lag) + 6.0 + 8.0 * (2.0 - lag);
        close(end(&solution, &format!("x[{i}]")), exact, 1e-12, &format!("element {i}"));
    }
}

#[test]
fn an_argument_that_comes_again_needs_no_period() {
    let text = "
        input day(t) = table([0, 6, 12, 24], [1, 3, 2, 9], hold)
        state x = 0
        x' = day(mod(t, 24))
        run { t = 0 .. 60 }";
    close(end(&solve(text, &tight()), "x"), 2.0 * (6.0 + 18.0 + 24.0) + 6.0 + 18.0, 1e-8, "days");
}

/// The condition under which an input is read also applies to its knots; a branch that is not taken may have no data.
#[test]
fn a_branch_not_taken_needs_no_data() {
    let text = "
        input q(t) = table([0, 1, 2], [5, 6, 8], linear)
        state x = 0
        x' = if t < 2 then q(t) else -1
        run { t = 0 .. 3 }";
    close(end(&solve(text, &tight()), "x"), 12.5 - 1.0, 1e-10, "branch");
}

#[test]
fn beyond_the_data_a_run_fails_at_their_end() {
    let text =
        "input q(t) = table([0, 1, 2], [5, 6, 8], hold)\nstate x = 0\nx' = q(t)\nrun { t = 0 .. 3; samples = 6 }";
    for method in ["auto", "dopri5", "bdf", "rodas4", "taylor", "vern7"] {
        for between in ["hold", "linear", "cubic", "spline"] {
            let text = text.replace("hold", between);
            let choices = Choices { method: Some(method.to_string()), ..Choices::default() };
            let simulation = simulation(&text, &choices);
            let error = simulation.solve().expect_err("no data");
            let first = &error.diagnostics[0];
            assert_eq!(first.code, "E0630", "{method} {between}: {error}");
            assert!(first.headline.contains("end at 2"), "{}", first.headline);
            let place = first.labels[0].span;
            assert_eq!(&text[place.range()], "q(t)");
        }
    }
    // before the first sample, and at an argument that leaves the data during the run
    let early = Choices { t0: Some(-1.0), ..Choices::default() };
    let error = simulation(text, &early).solve().expect_err("no data");
    assert!(error.diagnostics[0].code == "E0630" && error.diagnostics[0].headline.contains("begin at 0"), "{error}");
    let state = "input q(t) = table([0, 1, 2], [5, 6, 8], linear)\nstate x = 0\nx' = q(x)\nrun { t = 0 .. 3 }";
    let error = simulation(state, &Choices::default()).solve().expect_err("no data");
    assert_eq!(error.diagnostics[0].code, "E0630", "{error}");
    let clamped = text.replace("hold)", "hold, clamp)");
    close(end(&solve(&clamped, &Choices { t0: Some(-1.0), ..tight() }), "x"), 5.0 + 11.0 + 8.0, 1e-10, "clamped");
}

#[test]
fn rows_before_the_end_of_the_data_are_kept() {
    let text =
        "input q(t) = table([0, 1, 2], [5, 6, 8], linear)\nstate x = 0\nx' = q(t)\nrun { t = 0 .. 3; samples = 6 }";
    let simulation = simulation(text, &tight());
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let solved = simulation.run(&mut Rows(&mut rows));
    assert!(solved.result.is_err());
    assert!(rows.len() >= 4, "{rows:?}");
    close(rows[3][1], 5.5 + 0.5 * (6.0 + 0.5), 1e-10, "the row at 1.5");
}

struct Rows<'a>(&'a mut Vec<Vec<f64>>);

impl odec_sim::sample::Recorder for Rows<'_> {
    fn row(&mut self, row: &[f64]) -> std::ops::ControlFlow<()> {
        self.0.push(row.to_vec());
        std::ops::ControlFlow::Continue(())
    }
}

const WIDE: &str = "
    input q(t) = table([0, 0.5, 1.25, 3, 8], [1, 4, 2, 3, 1], spline)
    input r(t) = table([0, 1, 2.5], [2, 1, 2], linear, periodic)
    input s(t) = table([0, 0.4, 2], [1, 3, 2], cubic, clamp)
    state x = 1, v = 0
    x' = v
    v' = q(t)*s(x) - r(t - 0.1)*x
    output seen = q(t) + s(x)
    run { t = 0 .. 8; samples = 40 }";

#[test]
fn interpreter_and_machine_code_have_the_same_bits() {
    for method in ["auto", "dopri5", "bdf", "rodas5p", "vern7", "abm", "radau5"] {
        let run = |interpret: bool| {
            let choices = Choices { method: Some(method.to_string()), interpret, ..Choices::default() };
            let solution = solve(WIDE, &choices);
            ["x", "v", "seen"].map(|name| column(&solution, name).iter().map(|x| x.to_bits()).collect::<Vec<u64>>())
        };
        assert_eq!(run(true), run(false), "{method}");
    }
}

#[test]
fn rows_change_no_step() {
    let ends = [10, 1000].map(|count| {
        let choices = Choices { samples: Some(SampleRule::Count(count)), ..Choices::default() };
        end(&solve(WIDE, &choices), "x").to_bits()
    });
    assert_eq!(ends[0], ends[1]);
}

/// One step for each piece that a method solves exactly, and no restart at kinks.
#[test]
fn kinks_cost_no_restart() {
    let times: Vec<f64> = (0..=100).map(f64::from).collect();
    let values: Vec<f64> = (0..=100).map(|k| f64::from(k * 37 % 11)).collect();
    let evaluations = |between: &str| {
        let text = format!(
            "input q(t) = table({}, {}, {between})\nstate x = 0\nx' = q(t)\nrun {{ t = 0 .. 100 }}",
            list(&times),
            list(&values)
        );
        let choices = Choices { method: Some("dopri5".to_string()), rtol: Some(1e-8), ..Choices::default() };
        let solved = simulation(&text, &choices).run(&mut Rows(&mut Vec::new()));
        let outcome = solved.result.expect("a run");
        (outcome.stats.accepted, outcome.stats.rhs)
    };
    let (steps, f) = evaluations("linear");
    // the first ones grow from the start; dense output takes two evaluations in each step with rows
    assert!((100..=140).contains(&steps) && f <= 11 * steps, "{steps} steps, {f} f");
}

/// Counts the number of times that a file is opened.
struct Counting(Arc<AtomicUsize>);

impl Files for Counting {
    fn open(&self, name: &str) -> Result<odec_sim::session::Opened, odec_sim::session::Unreadable> {
        self.0.fetch_add(1, Ordering::Relaxed);
        files(&[("q.csv", "t,flow [m]\n0,1\n1,3\n2,0\n")]).open(name)
    }
}

#[test]
fn a_file_is_read_once_and_swapped_by_name() {
    let opened = Arc::new(AtomicUsize::new(0));
    let text = "param k = 2\ninput q(t) = table(\"q.csv\", \"flow\", linear) [m]\nstate x = 0\nx' = k*q(t)\nrun { t = 0 .. 2 }";
    let loaded = Session::new().with_files(Counting(opened.clone())).load("model.ode", text).expect("a model");
    let simulation = loaded.simulate(&tight(), Purpose::Rows).expect("a simulation");
    close(end(&simulation.solve().expect("a run"), "x"), 2.0 * 3.5, 1e-12, "from the file");
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    let list = [("q.csv", "t,flow\n0,1\n1,3\n2,0\n"), ("other.csv", "t,flow\n0,10\n2,10\n")];
    let choices = Choices { data: vec![("q".to_string(), "other.csv".to_string())], ..tight() };
    let simulation = load(text, &list).simulate(&choices, Purpose::Rows).unwrap_or_else(|e| panic!("{e}"));
    close(end(&simulation.solve().expect("a run"), "x"), 40.0, 1e-12, "swapped");
    let wrong = Choices { data: vec![("p".to_string(), "other.csv".to_string())], ..tight() };
    let error = load(text, &list).simulate(&wrong, Purpose::Rows).err().expect("no such input");
    assert_eq!(error.diagnostics[0].code, "E0705", "{error}");
}

/// Messages about faults name the file, the row and the column.
#[test]
fn files_that_make_no_curve_are_refused() {
    let text = "input q(t) = table(\"q.csv\", \"flow\", linear)\nstate x = 0\nx' = q(t)\nrun { t = 0 .. 2 }";
    for (csv, parts) in [
        ("t,flow\n0,1\n2,3\n1,0\n", &["line 4", "1 comes after 2"][..]),
        ("t,flow\n0,1\n1,3\n1,0\n", &["line 4", "1 occurs twice"]),
        ("t,flow\n0,1\n1,\n2,0\n", &["line 3", "`flow` is empty"]),
        ("t,flow\n0,1\n1,NaN\n2,0\n", &["line 3", "`flow`", "`NaN` is not a finite number"]),
        ("t,flow\n0,1\n1,inf\n2,0\n", &["line 3", "`inf` is not a finite number"]),
        ("t,flow\n0,1\n2020-01-01,3\n2,0\n", &["line 3", "column `t`", "`2020-01-01`"]),
        ("t,flow\n0,1,7\n1,3\n", &["line 2", "3 columns, but the lines above have 2"]),
        ("t,flow\n0,1\n1,3\n2", &["is truncated", "line 4, is incomplete"]),
        ("t,flow\n0,1\n1,3\n2,", &["is truncated", "line 4, is incomplete"]),
        ("t,flow\n0,1\n1,3\n2,4e", &["is truncated", "line 4, is incomplete"]),
        ("t,flow\n0,1\n", &["only 1 sample; a curve needs 2"]),
        ("t,flow\n", &["contains no samples"]),
        ("", &["contains no samples"]),
        ("0,1\n1,3\n", &["no header line", "column `flow`"]),
        ("t,level\n0,1\n1,3\n", &["no column `flow`"]),
        ("flow,t\n0,1\n1,3\n", &["`flow` is the first column"]),
        ("t,flow,flow\n0,1,1\n1,3,3\n", &["2 columns `flow`"]),
        ("t;flow\n0;1\n1;3\n", &["not separated by commas"]),
        ("t,flow\n0,1\n1,1.0000000000000002e400\n", &["line 3"]),
        ("t,flow\n1,1\n1.0000000000000004,3\n", &["line 3", "only by rounding"]),
    ] {
        let error = refusal(text, csv);
        let first = &error.diagnostics[0];
        let said = format!("{} {}", first.headline, first.help.clone().unwrap_or_default());
        assert_eq!(first.code, "E0714", "{csv:?}: {said}");
        assert!(said.contains("`q.csv`"), "{csv:?}: {said}");
        for part in parts {
            assert!(first.headline.contains(part), "{csv:?}: {said}");
        }
        assert!(first.help.is_some() || first.headline.contains("sample"), "{csv:?}: {said}");
    }
    let periodic = text.replace("linear)", "linear, periodic)");
    let error = refusal(&periodic, "t,flow\n0,1\n1,3\n2,2\n");
    assert!(error.diagnostics[0].headline.contains("line 4"), "{error}");
    let metres = text.replace("linear)", "linear) [m^3/s]");
    let error = refusal(&metres, "t,flow [kg/s]\n0,1\n1,3\n");
    assert!(error.diagnostics[0].headline.contains("in [kg/s]"), "{error}");
    let hours = format!("time t [h]\n{text}");
    let error = refusal(&hours, "t [m],flow\n0,1\n1,3\n");
    assert!(error.diagnostics[0].headline.contains("in [m]"), "{error}");
    load(&metres, &[("q.csv", "t,flow [m^3 /s]\n0,1\n2,3\n")]).simulate(&tight(), Purpose::Rows).expect("one unit");
}

#[test]
fn a_last_line_without_a_line_end_gives_a_warning() {
    let text = "input q(t) = table(\"q.csv\", linear)\nstate x = 0\nx' = q(t)\nrun { t = 0 .. 1 }";
    let remarks = |csv: &str| {
        let loaded = load(text, &[("q.csv", csv)]);
        let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}"));
        simulation.remarks().iter().map(|d| d.code.code).collect::<Vec<_>>()
    };
    assert_eq!(remarks("0,1\n1,2"), ["W0513"]);
    assert!(remarks("0,1\n1,2\n").is_empty());
    assert!(remarks("# measured\r\nt,q\r\n0,1\r\n1,2\r\n").is_empty());
}

#[test]
fn sensitivities_see_the_input() {
    let text = "param k = 2\ninput q(t) = table([0, 1, 2], [1, 3, 0], linear)\nstate x = 0\nx' = k*q(t) - x\nrun { t = 0 .. 2 }";
    let run = |k: f64| {
        let choices = Choices { set: vec![("k".to_string(), k)], ..tight() };
        end(&solve(text, &choices), "x")
    };
    let choices = Choices { open: vec!["k".to_string()], sensitivities: true, ..tight() };
    let found = end(&solve(text, &choices), "d(x)/d(k)");
    close(found, run(2.0) / 2.0, 1e-8, "linear in k");
    // the derivative by a lag: a shift of the curve
    let lagged = text
        .replace("q(t)", "q(t - 0.1*k)")
        .replace("input q(t - 0.1*k)", "input q(t)")
        .replace("linear", "linear, clamp");
    let choices = Choices { open: vec!["k".to_string()], sensitivities: true, ..tight() };
    let by = end(&solve(&lagged, &choices), "d(x)/d(k)");
    let at = |k: f64| end(&solve(&lagged, &Choices { set: vec![("k".to_string(), k)], ..tight() }), "x");
    close(by, (at(2.0 + 1e-4) - at(2.0 - 1e-4)) / 2e-4, 1e-5, "by the lag");
    // if the curve jumps, the time of the jump matters
    let held = lagged.replace("linear", "hold");
    let by = end(&solve(&held, &choices), "d(x)/d(k)");
    let at = |k: f64| end(&solve(&held, &Choices { set: vec![("k".to_string(), k)], ..tight() }), "x");
    close(by, (at(2.0 + 1e-4) - at(2.0 - 1e-4)) / 2e-4, 1e-5, "by the lag of jumps");
}

/// `odec check --stops` lists the ends of steps, from the text alone.
#[test]
fn times_that_end_steps_are_listed_with_their_place() {
    let text = "param lag = 1
input q(t) = table([0, 1, 2, 4], [5, 6, 8, 3], linear, clamp)
input day(t) = table([0, 6, 24], [1, 3, 1], hold, periodic)
discrete n = 0
state x = 0
x' = q(t - lag) + day(t)*(2 < t < 2.5) - q(x) + (mod(t, 12) < 0.5)
when x > 3 { n += 1 }
at [7, 3] { x += n }
every 12 from 6 until 48 { n := 0 }
run { t = 0 .. 30 }";
    let found: Vec<(&str, StepEndKind)> =
        simulation(text, &Choices::default()).stops().into_iter().map(|f| (&text[f.place.range()], f.kind)).collect();
    let expected = [
        ("q(t - lag)", StepEndKind::Knots { times: vec![1.0, 2.0, 3.0, 5.0], period: None }),
        ("day(t)", StepEndKind::Knots { times: vec![0.0, 6.0], period: Some(24.0) }),
        ("2 < t", StepEndKind::Times(vec![2.0])),
        ("t < 2.5", StepEndKind::Times(vec![2.5])),
        ("q(x)", StepEndKind::Surface(1)),
        ("mod(t, 12) < 0.5", StepEndKind::Every { at: 0.0, period: 12.0 }),
        ("mod(t, 12) < 0.5", StepEndKind::Every { at: 0.5, period: 12.0 }),
        ("when x > 3", StepEndKind::Condition(1)),
        ("x > 3", StepEndKind::Surface(1)),
        ("at [7, 3]", StepEndKind::Event(vec![3.0, 7.0])),
        ("every 12 from 6 until 48", StepEndKind::Repeated { from: 6.0, period: 12.0, until: 48.0 }),
    ];
    for (place, kind) in &expected {
        let there = found.iter().any(|(text, found)| text == place && same(found, kind));
        assert!(there, "{place}: {kind:?} is not among\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

fn same(a: &StepEndKind, b: &StepEndKind) -> bool {
    match (a, b) {
        (StepEndKind::Repeated { from, period, until }, StepEndKind::Repeated { from: f, period: p, until: u }) => {
            // an end is left out even within rounding
            from == f && period == p && (until - u).abs() < 1e-12
        }
        (StepEndKind::Knots { times, period }, StepEndKind::Knots { times: t, period: p }) => {
            period == p && times.len() == t.len() && times.iter().zip(t).all(|(a, b)| (a - b).abs() < 1e-12)
        }
        _ => a == b,
    }
}
