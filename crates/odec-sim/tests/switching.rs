//! Models whose equations switch, from their text: known instants, located surfaces, and the guarantees of a run
//! about them.

use odec_ode::method::{Adaptive, Method};
use odec_ode::{method, problem::Samples};
use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, SampleRule, StepChoice};
use odec_sim::{Loaded, Session, Simulation, Solution};

use crate::monitor::warnings;
use crate::share::Share;

fn load(text: &str) -> Loaded {
    Session::new().load("model.ode", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn simulation(text: &str, choices: &Choices) -> Simulation {
    load(text).simulate(choices, Purpose::Rows).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn solve(text: &str, choices: &Choices) -> Solution {
    simulation(text, choices).solve().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn tight() -> Choices {
    Choices { rtol: Some(1e-10), atol: Some(1e-12), ..Choices::default() }
}

fn with_method(method: &Method, rtol: f64) -> Choices {
    Choices { method: Some(method.name.to_string()), rtol: Some(rtol), atol: Some(1e-12), ..Choices::default() }
}

/// Methods that choose their steps.
fn adaptive() -> impl Iterator<Item = &'static Method> {
    let auto = method::find("auto").expect("a method");
    method::general().filter(|method| method.adaptive != Adaptive::FixedStep).chain([auto])
}

/// The last value of a column.
fn end(solution: &Solution, name: &str) -> f64 {
    solution.column(name).and_then(Iterator::last).expect("a row")
}

fn close(found: f64, exact: f64, tolerance: f64, what: &str) {
    assert!((found - exact).abs() <= tolerance, "{what}: {found:?}, exactly {exact:?}, off by {:e}", found - exact);
}

#[test]
fn no_pulse_is_missed() {
    let mut share = Share::one_of(4);
    for k in 0..=9 {
        let width = 0.1f64.powi(k);
        let text = format!(
            "param w = {width:e}\nstate x = 0\nx' = -x + 20*(5 < t < 5 + w)\nrun {{ t = 0 .. 7; samples = steps }}"
        );
        // the width in doubles near 5
        let exact = -20.0 * (-((5.0 + width) - 5.0)).exp_m1();
        for method in adaptive().filter(|_| share.takes()) {
            // errors of low order add up over many steps
            let rtol = [1e-11, 1e-10].get(method.order as usize - 1).copied().unwrap_or(1e-8);
            let solution = solve(&text, &with_method(method, rtol));
            let most = solution.column("x").expect("a state").fold(0.0, f64::max);
            assert!((most / exact - 1.0).abs() < 1e-6, "{}, width {width}: {most} {exact}", method.name);
        }
    }
}

#[test]
fn repeated_doses_are_exact() {
    let text = "param k = 0.1\nstate gut = 0\ngut' = -k*gut + 10000*(mod(t, 12) < 0.01)\nrun { t = 0 .. 100 }";
    let mut exact: f64 = 0.0;
    for dose in 0..9 {
        let rest: f64 = if dose < 8 { 12.0 } else { 4.0 } - 0.01;
        exact = (1e5 + (exact - 1e5) * (-0.001f64).exp()) * (-0.1 * rest).exp();
    }
    for name in ["auto", "tsit5", "vern9", "dop853", "taylor", "rodas5p", "radau5", "bdf"] {
        let solution = solve(text, &Choices { method: Some(name.into()), ..tight() });
        close(end(&solution, "gut") / exact, 1.0, 1e-7, name);
    }
}

/// Each function of time with jumps, against the sum of its values between the jumps.
#[test]
fn functions_of_time_are_summed_between_their_jumps() {
    let integral = |f: &dyn Fn(f64) -> f64, end: f64| {
        // jumps lie at multiples of 1/600; the functions are linear in between
        let n = (end * 600.0).round() as u64;
        (0..n).map(|i| f((i as f64 + 0.5) / 600.0) / 600.0).sum::<f64>()
    };
    type Function = fn(f64) -> f64;
    let cases: [(&str, Function); 12] = [
        ("floor(t/0.7)", |t| (t / 0.7).floor()),
        ("ceil(3 - 2*t)", |t| (3.0 - 2.0 * t).ceil()),
        ("round(t)", f64::round),
        ("sign(t - 1.25)", |t| (t - 1.25).signum()),
        ("abs(t - 1.25)", |t| (t - 1.25).abs()),
        ("mod(t, 0.6)", |t| t.rem_euclid(0.6)),
        ("mod(2 - t, 0.5)", |t| (2.0 - t).rem_euclid(0.5)),
        ("min(t, 1.5) + max(2*t, 3 - t)", |t| t.min(1.5) + (2.0 * t).max(3.0 - t)),
        ("sin(2*pi*t) > 0", |t| f64::from((std::f64::consts::TAU * t).sin() > 0.0)),
        ("cos(pi*t) < 0.5", |t| f64::from((std::f64::consts::PI * t).cos() < 0.5)),
        ("if mod(floor(t/0.5), 2) == 1 then 1 else 3", |t| if (t / 0.5).floor() % 2.0 == 1.0 { 1.0 } else { 3.0 }),
        ("(t > 0.5 and not t > 0.75) or 3 <= t", |t| f64::from((t > 0.5 && t <= 0.75) || t >= 3.0)),
    ];
    for (text, function) in cases {
        let model = format!("state x = 0\nx' = {text}\nrun {{ t = 0 .. 4.2 }}");
        close(end(&solve(&model, &tight()), "x"), integral(&function, 4.2), 2e-9, text);
        // the same for a state equal to the time: surfaces, and no known times
        let of_state = text.replace('t', "s").replace("asin", "").replace("ros", "rot");
        let of_state = ["floor", "ceil", "round", "sign", "mod", "min", "max", "sin", "cos", "not", "abs"]
            .iter()
            .fold(of_state, |text, name| text.replace(&name.replace('t', "s"), name));
        let of_state = of_state.replace("shen", "then");
        let model = format!("state x = 0, s = 0\ns' = 1\nx' = {of_state}\nrun {{ t = 0 .. 4.2 }}");
        close(end(&solve(&model, &tight()), "x"), integral(&function, 4.2), 2e-9, &of_state);
    }
}

#[test]
fn surfaces_are_met_by_every_method() {
    // x falls at 1, and at 2 below 0.5: at t = 0.5 + 0.5/2
    let text = "state x = 1, y = 0\nx' = if x > 0.5 then -1 else -2\ny' = max(x, 0.25) - abs(x)\nrun { t = 0 .. 1 }";
    // max is 1/4 from t = 0.625 on, and x is 0 at 0.75
    let exact = 0.25 * 0.375 - (0.125 * 0.125 + 0.25 * 0.25);
    for method in adaptive() {
        let solution = solve(text, &with_method(method, 1e-9));
        close(end(&solution, "x"), -0.5, 1e-9, method.name);
        let tolerance = if method.order == 1 { 2e-6 } else { 1e-7 };
        close(end(&solution, "y"), exact, tolerance, method.name);
    }
    for name in ["rk4", "heun", "implicit-midpoint", "trapezoidal"] {
        let choices = Choices { method: Some(name.into()), step: Some(StepChoice::Fixed(0.07)), ..Choices::default() };
        close(end(&solve(text, &choices), "x"), -0.5, 1e-12, name);
    }
}

#[test]
fn each_element_of_an_array_switches_alone() {
    let text = "const N = 20\nindex i = 1..N\nstate q[i] = 0, near[i] = 0\nq[i]' = if q[i] < 1 then i else 0
near[i]' = sum(k in 1..N: max(q[i] - q[k], 0)) + (t > i/10) + (if i > 1 then (q[i-1] > 0.5) else 0)
run { t = 0 .. 2 }";
    let solution = solve(text, &tight());
    for i in 1..=20 {
        close(end(&solution, &format!("q[{i}]")), 1.0, 1e-9, "q");
        // max(q_i - q_k, 0) while both rise, and until k is full
        let (n, mut exact) = (f64::from(i), 2.0 - f64::from(i) / 10.0);
        for k in 1..i {
            let k = f64::from(k);
            // 1/n - 1/(n) ... : the area between both curves
            exact += 0.5 / k - 0.5 / n;
        }
        if i > 1 {
            exact += 2.0 - 0.5 / f64::from(i - 1);
        }
        close(end(&solution, &format!("near[{i}]")), exact, 1e-8, &format!("near[{i}]"));
    }
}

const MIXED: &str = "param limit = 0.3
state x = 1, v = 0, y = 0
x' = v
v' = -x - 0.2*sign(x - 0.1*cos(t)) + (if x > limit then -0.5 else 0) + 0.7*(mod(t, 2) < 0.3)
y' = abs(x) + floor(4*x) - min(v, 0)
output hit = if x > limit then 1 else 0
run { t = 0 .. 12; samples = 40 }";

#[test]
fn code_and_interpreter_give_the_same_bits() {
    for name in ["auto", "tsit5", "rodas5p", "bdf", "taylor"] {
        let choices = Choices { method: Some(name.into()), ..Choices::default() };
        let [code, read] = [false, true].map(|interpret| {
            let solution = solve(MIXED, &Choices { interpret, ..choices.clone() });
            solution.rows().map(<[f64]>::to_vec).collect::<Vec<_>>()
        });
        assert_eq!(code, read, "{name}");
    }
}

#[test]
fn rows_change_no_step() {
    for name in ["auto", "tsit5", "vern7", "bdf", "radau5"] {
        let ends: Vec<(f64, u64)> = [3, 400, 10_000]
            .map(|count| {
                let samples = Some(SampleRule::Count(count));
                let solution = solve(MIXED, &Choices { method: Some(name.into()), samples, ..Choices::default() });
                (end(&solution, "y"), solution.stats.accepted)
            })
            .into();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {ends:?}");
    }
}

#[test]
fn the_order_of_the_text_changes_no_bit() {
    let lines: Vec<&str> = MIXED.lines().collect();
    let turned: Vec<&str> = [0, 1, 4, 3, 2, 5, 6].map(|k| lines[k]).into();
    let [a, b] = [MIXED.to_string(), turned.join("\n")].map(|text| {
        let solution = solve(&text, &Choices::default());
        ["x", "v", "y"].map(|name| end(&solution, name))
    });
    assert_eq!(a, b);
}

/// Conditions that never change leave the steps unchanged.
#[test]
fn a_relation_that_never_changes_changes_no_bit() {
    let with = |term: &str| format!("state x = 1, v = 0\nx' = v\nv' = -x - 0.1*v{term}\nrun {{ t = 0 .. 20 }}");
    for name in ["tsit5", "vern7", "rodas5p", "bdf", "taylor"] {
        let choices = Choices { method: Some(name.into()), ..Choices::default() };
        let [plain, guarded] = ["", " + (if x > 1e3 then 1 else 0)"].map(|term| {
            let solution = solve(&with(term), &choices);
            (end(&solution, "x"), end(&solution, "v"), solution.stats.accepted)
        });
        assert_eq!(plain.2, guarded.2, "{name}");
        assert!((plain.0 - guarded.0).abs() < 1e-14 && (plain.1 - guarded.1).abs() < 1e-14, "{name}");
    }
}

#[test]
fn other_values_of_parameters_move_the_times() {
    let text = "param on = 1, off = 2\nstate x = 0\nx' = on < t < off\nrun { t = 0 .. 5 }";
    let first = simulation(text, &Choices { open: vec!["on".into(), "off".into()], ..tight() });
    close(end(&first.solve().expect("a run"), "x"), 1.0, 1e-12, "as written");
    let second = first.with(&[("on", 0.25), ("off", 4.0)]).expect("a simulation");
    close(end(&second.solve().expect("a run"), "x"), 3.75, 1e-12, "with other values");
    let never = first.with(&[("on", 3.0), ("off", 2.5)]).expect("a simulation");
    assert_eq!(end(&never.solve().expect("a run"), "x"), 0.0);
}

#[test]
fn rows_hold_the_value_after_the_jump() {
    let text =
        "state x = 0\nx' = t >= 1\noutput on = if t >= 1 then 5 else 0\nrun { t = 0 .. 2; samples = [0.5, 1, 1.5] }";
    let simulation = simulation(text, &Choices::default());
    assert!(matches!(simulation.bound().samples, Samples::Times(_)));
    let solution = simulation.solve().expect("a run");
    assert_eq!(solution.column("on").expect("an output").collect::<Vec<_>>(), [0.0, 5.0, 5.0]);
}

#[test]
fn derivatives_across_a_bend_are_right() {
    let by = |name: &str| Choices { open: vec![name.into()], sensitivities: true, ..tight() };
    let pulse = "param on = 1, k = 2\nstate x = 0\nx' = k*(on < t < 2)\nrun { t = 0 .. 3 }";
    close(end(&solve(pulse, &by("k")), "d(x)/d(k)"), 1.0, 1e-9, "a pulse at fixed times");
    // x = 1 - t, and y' = |x - k|: y(2) = ((1-k)^2 + (1+k)^2)/2
    let bend = "param k = 0.25\nstate x = 1, y = 0\nx' = -1\ny' = abs(x - k)\nrun { t = 0 .. 2 }";
    close(end(&solve(bend, &by("k")), "d(y)/d(k)"), 0.5, 1e-8, "a bend");
}

/// Behind a surface at the end of a run, f may have no value by a rounding error: no step begins there.
#[test]
fn a_run_ends_on_a_surface_behind_which_f_has_no_value() {
    // the integral of |sin(pi t)|^1.5 over a period
    let whole = 0.5564178;
    let text = "state x = 0\nx' = abs(sin(pi*t))^1.5\nrun { t = 0 .. 5; samples = 5 }";
    for method in adaptive() {
        let solution = solve(text, &Choices { method: Some(method.name.into()), ..Choices::default() });
        close(end(&solution, "x"), 5.0 * whole, 2e-3, method.name);
    }
}

#[test]
fn a_run_backward_is_refused() {
    let text = "state x = 1\nx' = if x > 0.5 then -1 else -2\nrun { t = 1 .. 0 }";
    let error = simulation(text, &Choices::default()).solve().expect_err("a refusal");
    assert_eq!(error.diagnostics[0].code.code, "E0614", "{error}");
}

/// A comparison in a branch that is not taken may have no value, and no step lands on it.
#[test]
fn a_branch_not_taken_needs_no_value() {
    let text = "state h = 1\nh' = if h > 0.1 then -max(sqrt(h - 0.05), 0.01) else -1\nrun { t = 0 .. 3 }";
    // sqrt(h - 0.05) falls by half of the time
    let turn = 2.0 * (0.95f64.sqrt() - 0.05f64.sqrt());
    for name in ["auto", "tsit5", "vern9", "bdf", "rodas5p"] {
        let solution = solve(text, &Choices { method: Some(name.into()), ..tight() });
        close(end(&solution, "h"), 0.1 - (3.0 - turn), 1e-8, name);
    }
    // the inner comparison changes eight times, and is read until the outer one holds
    let text = |inner: &str| format!("state x = 0\nx' = if x > 0.5 then 1 else 1 + 0*({inner})\nrun {{ t = 0 .. 8 }}");
    let [read, plain] = [text("sin(6*x) > 0.2"), text("0")].map(|text| solve(&text, &tight()));
    assert!(read.stats.accepted < plain.stats.accepted + 60, "{} {}", read.stats.accepted, plain.stats.accepted);
}

/// Relations that are sums with coefficients in parameters are treated as affine, also for other values.
#[test]
fn sums_are_found_with_the_parameters_of_the_run() {
    let text = "param a = 2, b = 0.5, c = 1\nstate x = 0, y = 0\nx' = 1\ny' = if a*x - b*t > c then 1 else 0
run { t = 0 .. 4 }";
    let first = simulation(text, &Choices { open: vec!["a".into(), "b".into(), "c".into()], ..tight() });
    close(end(&first.solve().expect("a run"), "y"), 4.0 - 1.0 / 1.5, 1e-10, "as written");
    for (a, b, c) in [(1.0, 0.25, 1.5), (-1.0, -2.0, 0.5), (0.0, -1.0, 3.0), (3.0, 1.0, 7.9)] {
        let other = first.with(&[("a", a), ("b", b), ("c", c)]).expect("a simulation");
        close(end(&other.solve().expect("a run"), "y"), 4.0 - c / (a - b), 1e-10, "with other values");
    }
}

#[test]
fn a_step_past_the_domain_of_a_comparison_misses_no_change() {
    // a square root is undefined below 0, where a long step would lead
    let text = "state x = 1, y = 0\nx' = if sqrt(x) > 0.1 then -1 else -0.5\ny' = if sqrt(x) > 0.1 then 0 else 1
run { t = 0 .. 1 }";
    for name in ["tsit5", "vern7", "dop853", "bdf", "radau5"] {
        let solution = solve(text, &Choices { method: Some(name.into()), rtol: Some(1e-3), ..Choices::default() });
        close(end(&solution, "x"), 0.005, 1e-9, name);
        close(end(&solution, "y"), 0.01, 1e-9, name);
    }
}

/// `smooth` keeps comparisons: no step ends where they change.
#[test]
fn smooth_takes_comparisons_out_of_location() {
    let text = |term: &str| format!("state x = 1\nx' = -{term}\nrun {{ t = 0 .. 3 }}");
    let stops = |term: &str| simulation(&text(term), &Choices::default()).stops().len();
    assert_eq!((stops("max(x - 0.5, 0)"), stops("smooth(max(x - 0.5, 0))")), (1, 0));
    assert_eq!((stops("(if t < 1 then x else 2*x)"), stops("(if smooth(t < 1) then x else 2*x)")), (1, 0));
    // one of two comparisons is located
    assert_eq!(stops("(if smooth(t < 1) and x > 0.1 then x else 2*x)"), 1);
    for method in adaptive() {
        let rtol = if method.order == 1 { 1e-7 } else { 1e-8 };
        let ends = ["(if t < 1 then x else 2*x)", "(if smooth(t < 1) then x else 2*x)"]
            .map(|term| end(&solve(&text(term), &with_method(method, rtol)), "x"));
        close(ends[1], ends[0], 1e-3 * ends[0], method.name);
    }
    // a pulse from rest is missed if no step ends at it
    let pulse = |from: &str| {
        let text = format!("state x = 0\nx' = -x + 20*{from}\nrun {{ t = 0 .. 100; samples = steps }}");
        let choices = Choices { method: Some("dopri5".to_string()), ..Choices::default() };
        solve(&text, &choices).column("x").expect("a state").fold(0.0, f64::max)
    };
    assert!(pulse("(80 < t < 80.0001)") > 1e-3 && pulse("smooth(80 < t < 80.0001)") == 0.0);
    let event = "state x = 1\nx' = -1\nlow = smooth(x < 0)\nwhen low or x > 9 { x := 1 }\nrun { t = 0 .. 3 }";
    let loaded = Session::new().load("model.ode", event).err().expect("a condition that is not located");
    assert_eq!(loaded.diagnostics[0].code, "E0507", "{loaded}");
    // inside of a side it is not a condition
    let side = "state x = 1\nx' = -1\nwhen smooth(max(x, -1)) < 0 { x := 1 }\nrun { t = 0 .. 3 }";
    assert_eq!(simulation(side, &Choices::default()).stops().len(), 2);
}

/// A quantity equals its limited value while it lies within the limits: odec locates the changes as of inequalities.
#[test]
fn a_quantity_and_its_limited_value_may_be_equal_for_a_while() {
    let model = |held: &str| {
        format!(
            "state x = 0, i = 0\ne = 1 - x\nu = 2*e + i\nus = min(max(u, -0.4), 0.7)\nx' = us - 0.2*x\n\
             i' = if {held} then 1.5*e else -0.1*i\nrun {{ t = 0 .. 10; samples = 50 }}\n"
        )
    };
    let inside = solve(&model("-0.4 <= u and u <= 0.7"), &tight());
    for held in ["u == us", "us == u", "not (u != us)"] {
        let solution = solve(&model(held), &tight());
        for name in ["x", "i"] {
            let rows = |solution: &Solution| solution.column(name).expect("a state").collect::<Vec<f64>>();
            for (found, exact) in rows(&solution).into_iter().zip(rows(&inside)) {
                close(found, exact, 1e-9, held);
            }
        }
    }
    let other = Session::new().load("model.ode", &model("u == min(x, 1)"));
    assert!(other.and_then(|loaded| loaded.simulate(&tight(), Purpose::Rows)).is_err());
}

/// x falls to 2e-22, and the steps of a run leave 1e-13 of it: the event is due, and does not happen.
#[test]
fn an_event_that_waits_for_a_value_below_the_tolerance_is_reported() {
    let decay = "discrete on = 0\nstate x = 1, y = 0\nx' = -x\ny' = on - 0.1*y\nwhen x < LIMIT { on := 1 }\n\
                 run { t = 0 .. 50; method = dopri5; rtol = 1e-6; atol = 1e-9 }\n";
    let list = warnings(&decay.replace("LIMIT", "1e-20"));
    assert!(list.iter().any(|d| d.code == "W0621" && d.headline.contains("`x < 1e-20`")), "{list:?}");
    // these have values that the solution clearly passes, or clearly does not reach
    for text in [
        decay.replace("LIMIT", "1e-3"),
        decay.replace("x < LIMIT", "x < 0"),
        decay.replace("x < LIMIT", "x <= 0 or x > 2"),
        decay.replace("x < LIMIT", "y > 5"),
    ] {
        let list = warnings(&text);
        assert!(list.iter().all(|d| d.code != "W0621"), "{text}: {list:?}");
    }
}

/// A cart from rest with turbulent drag: its speed starts like t^3, at the kink of `abs(v)^0.75`, where the equations of
/// one sign have no value a rounding error beyond it.
#[test]
fn a_state_that_rests_on_a_kink_leaves_it() {
    let text = "state u = 0, F = 0, v = 0\nu' = 1 - u\nF' = 5*(u - F)\nv' = F - 0.3*abs(v)^0.75*v\n\
                run { t = 0 .. 5; samples = 5 }\n";
    let solution = simulation(text, &Choices::default()).solve().unwrap_or_else(|error| panic!("{error}"));
    let last = solution.column("v").and_then(Iterator::last).expect("v");
    assert!((last - 1.85076943).abs() < 5e-6, "{last}");
}
