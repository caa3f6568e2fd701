//! Switches inside switches: values that jump onto a surface or off it with another switch, against sums of functions.

use odec_ode::method::{self, Adaptive};
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Session, Solution};

fn solve(text: &str, choices: &Choices) -> Solution {
    let loaded = Session::new().load("model.ode", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let simulation = loaded.simulate(choices, Purpose::Rows).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulation.solve().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn end(solution: &Solution, name: &str) -> f64 {
    solution.column(name).and_then(Iterator::last).expect("a row")
}

/// Expects last values of columns.
fn ends(text: &str, choices: &Choices, expected: &[(&str, f64)], tolerance: f64) {
    let solution = solve(text, choices);
    for (name, exact) in expected {
        let found = end(&solution, name);
        assert!((found - exact).abs() <= tolerance, "{name}: {found:?}, exactly {exact:?}\n{text}\n{choices:?}");
    }
}

fn tight() -> Choices {
    Choices { rtol: Some(1e-9), atol: Some(1e-12), ..Choices::default() }
}

/// A value that is zero for a while, and thus on its surface, jumps off it with another switch.
#[test]
fn a_jump_takes_a_quantity_off_its_surface() {
    let model = |start: f64| {
        format!(
            "state x = {start}, y = 0, z = 0, q = 0, f = 0, g = 0, s = 0\nx' = 1\n\
             inflow = if x > {start} + 1 then 2 - 0.5*(x - {start}) else 0\n\
             y' = max(inflow, 0)\nz' = if inflow > 0 then 1 else 0\nq' = abs(inflow)\nf' = floor(inflow)\n\
             g' = min(inflow, 0)\ns' = sign(inflow)\nrun {{ t = 0 .. 3 }}"
        )
    };
    // 3/2 falling to 1/2 between t = 1 and 3: floor is 1 until t = 2
    let expected = [("y", 2.0), ("z", 2.0), ("q", 2.0), ("f", 1.0), ("g", 0.0), ("s", 2.0)];
    let auto = method::find("auto").expect("a method");
    for method in method::general().filter(|method| method.adaptive != Adaptive::FixedStep).chain([auto]) {
        let choices = Choices { method: Some(method.name.to_string()), rtol: Some(1e-8), ..tight() };
        for start in [0.0, 0.3] {
            ends(&model(start), &choices, &expected, if method.order == 1 { 5e-4 } else { 1e-6 });
        }
    }
    let array = "index i = 1..3\nstate x[i] = 0, y[i] = 0, z[i] = 0\nx[i]' = 1\n\
                 inflow[i] = if x[i] > i/2 then 2 - 0.5*x[i] else 0\ny[i]' = max(inflow[i], 0)\n\
                 z[i]' = if inflow[i] > 0 then 1 else 0\nrun { t = 0 .. 3 }";
    let exact = |i: f64| 2.0 * (3.0 - i / 2.0) - 0.25 * (9.0 - i * i / 4.0);
    let expected: Vec<(String, f64)> = [1.0, 2.0, 3.0]
        .iter()
        .flat_map(|i| [(format!("y[{i}]"), exact(*i)), (format!("z[{i}]"), 3.0 - i / 2.0)])
        .collect();
    let expected: Vec<(&str, f64)> = expected.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    ends(array, &tight(), &expected, 1e-8);
}

/// Like the previous test, with the other switch on its surface at the start.
#[test]
fn a_jump_at_the_start_takes_a_quantity_off_its_surface() {
    let text = "state x = 0, y = 0, q = 0, n = 0\nx' = 1\ninflow = if x > 0 then 2 - 0.5*x else 0\ny' = max(inflow, 0)\n\
                q' = abs(inflow)\nn' = floor(3.7 - x)*(x > 0)\nrun { t = 0 .. 2 }";
    ends(text, &tight(), &[("y", 3.0), ("q", 3.0), ("n", 3.0 * 0.7 + 2.0 + 0.3)], 1e-8);
    let falling = "state s = 0, x = 0\ns' = 1\nx' = floor((3.7 - s)*(s > 1))\nrun { t = 0 .. 3 }";
    ends(falling, &tight(), &[("x", 2.0 * 0.7 + 1.0)], 1e-8);
}

/// A value that jumps exactly onto its surface is compared there.
#[test]
fn a_jump_may_end_on_a_surface() {
    let text = "state x = 0, y = 0, z = 0\nx' = 1\nlevel = if x > 1 then 0 else 2\ny' = if level > 0 then 1 else 0\n\
                z' = if level >= 0 then 1 else 0\nrun { t = 0 .. 3 }";
    ends(text, &tight(), &[("y", 1.0), ("z", 3.0)], 1e-8);
    // and continues from there by its motion
    let text =
        "state x = 0, y = 0\nx' = 1\nlevel = if x > 1 then x - 1 else -5\ny' = max(level, 0)\nrun { t = 0 .. 3 }";
    ends(text, &tight(), &[("y", 2.0)], 1e-8);
}

/// A quantity reaches its surface where a stop moves it off again: it crosses neither side.
#[test]
fn a_stop_takes_a_quantity_off_its_surface() {
    // the inner remainder rises to 0 and falls back to -0.9: the outer one is 2.3 above it
    let text = "state x = 0, y = 0\nx' = mod(mod(t, -0.9), 2.3)\ny' = if mod(t, -0.9) < 0 then 1 else 3\n\
                run { t = -1.3 .. 4.1 }";
    // in periods from -0.9 on: mean -0.45; at -1.3 it is -0.4
    let inner = -0.4 * 0.2 - 0.45 * 4.5 + (0.4f64.powi(2) - 0.9f64.powi(2)) / 2.0;
    ends(text, &tight(), &[("x", 5.4 * 2.3 + inner), ("y", 5.4)], 1e-8);
}

/// A value that reaches its surface and stays exactly there is compared.
#[test]
fn a_relation_that_stays_on_its_surface_is_compared() {
    for v in ["t", "s"] {
        let text = format!(
            "state s = -1, x = 0, y = 0\ns' = 1\nx' = if abs({v}) > {v} then 1 else 3\ny' = if max({v}, 0) <= 0 then 1 else 3\n\
             run {{ t = -1 .. 1 }}"
        );
        ends(&text, &tight(), &[("x", 4.0), ("y", 4.0)], 1e-8);
    }
    // but if the motion leads back, it keeps its side
    for rest in
        ["if x < 0 then 0 else -1", "if x <= 0 then 0 else -1", "if x > 0 then -1 else 0", "if x >= 0 then -1 else 0"]
    {
        let text = format!("state x = 1, n = 0\nx' = {rest}\nevery 0.25 {{ n += 1 }}\nrun {{ t = 0 .. 3 }}\nn' = 0");
        ends(&text, &tight(), &[("x", 0.0), ("n", 13.0)], 1e-8);
    }
}

/// A condition on time that contains other switches has no times known in advance that include all its jumps.
#[test]
fn conditions_of_time_with_switches_in_them_miss_no_jump() {
    let text = "state x = 0, z = 0, w = 0, u = 0\nx' = if t + 10*(t > 3) < 5 then 1 else 0\n\
                tau = if t > 10 then t - 10 else t\nz' = if tau < 5 then 1 else 0\n\
                w' = if t + 10*sign(t - 3) < 5 then 1 else 0\nu' = floor(t + 0.5*(t > 1))\nrun { t = 0 .. 20 }";
    // u: 0, 1 from 1 to 1.5, 2 to 2.5, ..., 20 from 19.5
    let floors: f64 = 0.5 + (2..20).map(f64::from).sum::<f64>() + 0.5 * 20.0;
    ends(text, &tight(), &[("x", 3.0), ("z", 10.0), ("w", 3.0), ("u", floors)], 1e-8);
    let events = "discrete n = 0\nstate x = 0\nx' = 0\ntau = if t > 10 then t - 10 else t\nwhen tau > 5 { n += 1 }\noutput n\n\
                  run { t = 0 .. 20 }";
    ends(events, &tight(), &[("n", 2.0)], 0.0);
}

/// Counters start from conditions on time.
#[test]
fn counters_start_with_the_modes_of_the_start() {
    let text = "state x = 0.2, z = 0, w = 0\nx' = 1\nz' = floor(x + 5*(t < 2))\nw' = mod(x + 5.5*(t < 2), 2)\n\
                run { t = 0 .. 3 }";
    // 5, 6 from 0.8 to 1.8, 7 to 2, 2 to 2.8, 3
    let floors = 5.0 * 0.8 + 6.0 + 7.0 * 0.2 + 2.0 * 0.8 + 3.0 * 0.2;
    let mods = (2.0f64.powi(2) - 1.7f64.powi(2)) / 2.0 + 1.7f64.powi(2) / 2.0 + (1.2f64.powi(2) - 0.2f64.powi(2)) / 2.0;
    ends(text, &tight(), &[("z", floors), ("w", mods)], 1e-8);
}

/// Two kernels may read one switch under different conditions: it is followed under both.
#[test]
fn a_switch_is_followed_wherever_it_is_read() {
    let text = "state a = 1, x = 0, q = 0\na' = -0.2\nx' = 1\n\
                q' = if a > 0 then 3 else (if x > 2 then 1 else 2)\noutput big = if x > 2 then 1 else 0\n\
                run { t = 0 .. 4; samples = 8 }";
    let solution = solve(text, &tight());
    let big: Vec<f64> = solution.column("big").expect("an output").collect();
    assert_eq!(big[5..], [1.0; 4], "{big:?}");
    assert_eq!(big[..4], [0.0; 4], "{big:?}");
    let counted = "state x = 0, c = 0\ndiscrete on = 1\nx' = 1 + floor(x)\nc' = 1\n\
                   when (if on == 1 then c > 1.3 else floor(x) > 2) { on := 1 - on }\nrun { t = 0 .. 3 }";
    // x is 1 at t = 1, then grows by 2, 3, ...: at the time 1 + 1/2 + ... + 1/6 it is 6, at 3 it grows by 11
    let times: Vec<f64> = (1..=11)
        .scan(0.0, |t, n| {
            *t += 1.0 / f64::from(n);
            Some(*t)
        })
        .collect();
    let whole = times.iter().filter(|t| **t <= 3.0).count();
    let exact = whole as f64 + (3.0 - times[whole - 1]) * (whole as f64 + 1.0);
    ends(counted, &tight(), &[("x", exact)], 1e-8);
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// Number with two digits after the point that is never a multiple of a half.
    fn number(&mut self) -> f64 {
        let hundredths = self.below(400) as i64 - 200;
        (if hundredths % 50 == 0 { hundredths + 1 } else { hundredths }) as f64 / 100.0
    }
}

/// Function of one variable: its text, and its value.
type Function = (String, Box<dyn Fn(f64) -> f64>);

fn quantity(random: &mut Random, v: &'static str, depth: u32) -> Function {
    if depth == 0 || random.below(7) == 0 {
        let number = random.number();
        return if random.below(2) == 0 {
            (v.into(), Box::new(|t| t))
        } else {
            (format!("({number})"), Box::new(move |_| number))
        };
    }
    let kind = random.below(13);
    let (a, f) = quantity(random, v, depth - 1);
    match kind {
        0 => {
            let (p, q) = (random.number(), random.number());
            (format!("({p}*{a} + ({q}))"), Box::new(move |t| p * f(t) + q))
        }
        1 => (format!("floor({a})"), Box::new(move |t| f(t).floor())),
        2 => (format!("ceil({a})"), Box::new(move |t| f(t).ceil())),
        3 => (format!("round({a})"), Box::new(move |t| f(t).round())),
        4 => {
            let period = [0.7, 1.1, -0.9, 2.3][random.below(4) as usize];
            (format!("mod({a}, {period})"), Box::new(move |t| f(t) - period * (f(t) / period).floor()))
        }
        5 => (format!("abs({a})"), Box::new(move |t| f(t).abs())),
        6 => (format!("sign({a})"), Box::new(move |t| if f(t) == 0.0 { 0.0 } else { f(t).signum() })),
        7 => (format!("sin({a})"), Box::new(move |t| f(t).sin())),
        8..=10 => {
            let (b, g) = quantity(random, v, depth - 1);
            match kind {
                8 => (format!("({a} - {b})"), Box::new(move |t| f(t) - g(t))),
                9 => (format!("min({a}, {b})"), Box::new(move |t| f(t).min(g(t)))),
                _ => (format!("max({a}, {b})"), Box::new(move |t| f(t).max(g(t)))),
            }
        }
        11 => {
            let (c, holds) = condition(random, v, depth - 1);
            (format!("({a}*({c}))"), Box::new(move |t| f(t) * holds(t)))
        }
        _ => {
            let (c, holds) = condition(random, v, depth - 1);
            let (b, g) = quantity(random, v, depth - 1);
            (format!("(if {c} then {a} else {b})"), Box::new(move |t| if holds(t) == 0.0 { g(t) } else { f(t) }))
        }
    }
}

fn condition(random: &mut Random, v: &'static str, depth: u32) -> Function {
    let kind = if depth == 0 { 9 } else { random.below(10) };
    if kind < 3 {
        let (a, f) = condition(random, v, depth - 1);
        if kind == 0 {
            return (format!("(not {a})"), Box::new(move |t| 1.0 - f(t)));
        }
        let (b, g) = condition(random, v, depth - 1);
        return match kind {
            1 => (format!("({a} and {b})"), Box::new(move |t| f(t) * g(t))),
            _ => (format!("({a} or {b})"), Box::new(move |t| f(t).max(g(t)))),
        };
    }
    let (a, f) = quantity(random, v, depth);
    let (b, g) = quantity(random, v, 0);
    (format!("({a} > {b})"), Box::new(move |t| f64::from(f(t) > g(t))))
}

/// Nested functions of time, and of a state that is the time, against their sums, and outputs against their values.
#[test]
fn random_nested_functions_are_summed() {
    const START: f64 = -1.3;
    const END: f64 = 4.1;
    const PARTS: u32 = 27_000;
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // `sin(s) > s` touches its surface at 0 to third order: next to another switch there the run may end with E0623,
    // but not with a wrong number
    let mut refused = 0;
    for round in 0..120 {
        let v = if round % 2 == 0 { "t" } else { "s" };
        let mut sum_of = || {
            let (text, f) = quantity(&mut random, v, 4);
            let h = (END - START) / f64::from(PARTS);
            let sum: f64 = (0..PARTS).map(|k| f(START + (f64::from(k) + 0.5) * h) * h).sum();
            (text, sum, f)
        };
        let [x, y] = [sum_of(), sum_of()];
        let text = format!(
            "state x = 0, y = 0, s = {START}\ns' = 1\nx' = {}\ny' = {}\noutput o = {}\n\
             run {{ t = {START} .. {END}; samples = 7; rtol = 1e-8; atol = 1e-10 }}",
            x.0, y.0, x.0
        );
        let loaded = Session::new().load("model.ode", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let simulation = loaded.simulate(&Choices::default(), Purpose::Rows);
        let solution = match simulation.unwrap_or_else(|error| panic!("{error}\n{text}")).solve() {
            Ok(solution) => solution,
            Err(error) => {
                assert!(error.to_string().contains("E0623") && text.contains("sin(s)"), "{error}\n{text}");
                refused += 1;
                continue;
            }
        };
        for (name, exact) in [("x", x.1), ("y", y.1)] {
            let found = end(&solution, name);
            assert!((found - exact).abs() <= 3e-3 * (1.0 + exact.abs()), "{round}, {name}: {found} {exact}\n{text}");
        }
        let times = solution.column("t").expect("times");
        for (t, found) in times.zip(solution.column("o").expect("an output")).skip(1) {
            let around = (-3..=3).map(|k| x.2(t + 1e-6 * f64::from(k)));
            let (low, high) = around.fold((f64::INFINITY, -f64::INFINITY), |(low, high), o| (low.min(o), high.max(o)));
            assert!(
                low - 1e-4 <= found && found <= high + 1e-4,
                "{round}, t = {t}: {found} in {low} .. {high}\n{text}"
            );
        }
    }
    assert!(refused <= 1, "{refused} runs");
}

/// At sunset, `sin(pi*t)` is 0 up to rounding errors, and the power of a negative number has no value.
#[test]
fn powers_and_roots_of_daylight_have_values_at_sunset() {
    // the integral of sin(pi*t)^p over a day is Gamma((p + 1)/2)/(sqrt(pi)*Gamma(p/2 + 1))
    let laws = [
        ("max(sin(pi*t), 0)^0.5", 0.7627597635018133),
        ("sqrt(max(sin(pi*t), 0))", 0.7627597635018133),
        ("if sin(pi*t) > 0 then sin(pi*t)^0.7 else 0", 0.7043154582422715),
        ("max(sin(pi*t), 0)^1.3", 0.5848262856684765),
        ("(0.5*max(0, -sin(pi*t)))^1.3*2^1.3", 0.5848262856684765),
        ("if sin(pi*t) <= 0 then 0 else if t > 3.5 then exp(0.7*ln(sin(pi*t))) else sin(pi*t)^0.7", 0.7043154582422715),
    ];
    for (law, each) in laws {
        let text = format!("state x = 0\nx' = {law}\nrun {{ t = 0 .. 40 }}");
        for method in ["auto", "tsit5", "vern7", "bdf", "rodas5p", "radau5", "kencarp4"] {
            let choices =
                Choices { method: Some(method.to_string()), rtol: Some(1e-8), atol: Some(1e-11), ..Choices::default() };
            ends(&text, &choices, &[("x", 20.0 * each)], 1e-4);
        }
    }
}
