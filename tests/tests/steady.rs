//! `odec steady` and `start = steady` on models with known steady states, and on models without any.

use odec_tests::command::{run_in, scratch};

/// A steady state as it is printed.
#[derive(Debug)]
struct Printed {
    kind: String,
    reached: bool,
    values: Vec<(String, f64)>,
}

impl Printed {
    #[track_caller]
    fn value(&self, name: &str) -> f64 {
        self.values.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name} in {self:?}")).1
    }
}

fn parse(text: &str) -> Vec<Printed> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for pair in lines.windows(2) {
        let Some((number, kind)) = pair[0].split_once("  ") else { continue };
        if number.parse::<u32>().is_err() {
            continue;
        }
        let (kind, reached) = kind.split_once(',').map_or((kind, false), |(kind, _)| (kind, true));
        let value = |part: &str| {
            let (name, value) = part.split_once(" = ").expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        };
        let values = pair[1].trim().split(", ").map(value).collect();
        found.push(Printed { kind: kind.to_owned(), reached, values });
    }
    found
}

/// Output of the command, exit code, and messages.
fn command(name: &str, text: &str, arguments: &[&str]) -> (String, Option<i32>, String) {
    let folder = scratch(&format!("steady-{name}"));
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let ran = run_in(&folder, arguments, b"").orderly();
    (ran.text(), ran.code, ran.err)
}

#[track_caller]
fn steady(name: &str, text: &str, more: &[&str]) -> Vec<Printed> {
    let arguments: Vec<&str> = ["steady", "m.ode"].iter().chain(more).copied().collect();
    let (out, code, err) = command(name, text, &arguments);
    assert_eq!(code, Some(0), "{name}: {err}");
    parse(&out)
}

/// Checks that exactly these are found, each with its type, in any order: values in the order of the text.
#[track_caller]
fn expect(name: &str, text: &str, more: &[&str], expected: &[(&str, &[f64])]) {
    let found = steady(name, text, more);
    assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
    for (kind, values) in expected {
        let near = |printed: &&Printed| {
            let pairs = printed.values.iter().zip(*values);
            pairs.clone().count() == values.len()
                && pairs.into_iter().all(|((_, a), b)| (a - b).abs() <= 1e-9 * b.abs().max(1e-3))
        };
        let one = found.iter().find(near).unwrap_or_else(|| panic!("{name}: no {values:?} in {found:?}"));
        assert_eq!(one.kind, *kind, "{name}: {one:?}");
    }
}

/// Checks that none is found, with `odec steady` and at the start of a run.
#[track_caller]
fn none(name: &str, text: &str) {
    let (out, code, err) = command(name, text, &["steady", "m.ode", "--starts", "30"]);
    assert!(code == Some(3) && err.contains("E0640"), "{name}: {out}{err}");
    let (_, code, err) =
        command(name, &format!("{text}run {{ t = 0 .. 1; start = steady }}\n"), &["run", "m.ode", "-o", "rows.csv"]);
    assert!(code == Some(3) && err.contains("E0640"), "{name}: {err}");
}

/// First row of a run with `start = steady`, by name, and the messages of the run.
#[track_caller]
fn start(name: &str, text: &str, more: &[&str]) -> (Vec<(String, f64)>, String) {
    let text = format!("{text}run {{ t = 0 .. 1; samples = 2; start = steady }}\n");
    let arguments: Vec<&str> = ["run", "m.ode"].iter().chain(more).copied().collect();
    let (out, code, err) = command(name, &text, &arguments);
    assert_eq!(code, Some(0), "{name}: {err}");
    let mut lines = out.lines();
    let mut cells = || lines.next().unwrap_or_default().split(',').map(str::to_owned).collect::<Vec<String>>();
    let (names, values) = (cells(), cells());
    (names.into_iter().zip(values.iter().map(|v| v.parse().expect("a number"))).collect(), err)
}

#[track_caller]
fn at(row: &[(String, f64)], name: &str) -> f64 {
    row.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name} in {row:?}")).1
}

const SWITCH: &str = "param a = 4\nstate x = 1, y = 0.5\nx' = a/(1 + y^2) - x\ny' = a/(1 + x^2) - y\n";

#[test]
fn several_steady_states_are_all_found() {
    // x = y solves x^3 + x = 4; else x y = 1 and x + y = 4
    let (side, middle) = (2.0 + 3f64.sqrt(), 1.378_796_700_129_086_2);
    let three: [(&str, &[f64]); 3] =
        [("stable node", &[side, 1.0 / side]), ("saddle", &[middle, middle]), ("stable node", &[1.0 / side, side])];
    expect("switch", SWITCH, &["--starts", "30"], &three);
    let lorenz = "param s = 10, r = 28, b = 8/3\nstate x = 1, y = 1, z = 1\nx' = s*(y - x)\ny' = x*(r - z) - y\nz' = x*y - b*z\n";
    let c = 72f64.sqrt();
    expect(
        "lorenz",
        lorenz,
        &["--starts", "60"],
        &[("saddle", &[0.0, 0.0, 0.0]), ("saddle", &[c, c, 27.0]), ("saddle", &[-c, -c, 27.0])],
    );
    expect(
        "fork",
        "param r = 2\nstate x = 0.5\nx' = r*x - x^3\n",
        &["--starts", "30"],
        &[("unstable node", &[0.0]), ("stable node", &[2f64.sqrt()]), ("stable node", &[-2f64.sqrt()])],
    );
    let hunters = "state p = 1, q = 1\np' = 1.5*p - p*q\nq' = p*q - 3*q\n";
    expect("hunters", hunters, &["--starts", "30"], &[("saddle", &[0.0, 0.0]), ("centre", &[3.0, 1.5])]);
    let tank = "param D = 0.3, m = 1, K = 0.5, S0 = 4\nstate X = 1, X >= 0, S = 1, S >= 0\nmu = m*S/(K + S)\nX' = (mu - D)*X\nS' = D*(S0 - S) - mu*X\n";
    let s = 0.5 * 0.3 / 0.7;
    expect("tank", tank, &["--starts", "30"], &[("stable node", &[4.0 - s, s]), ("saddle", &[0.0, 4.0])]);
    let well = "state x = 0.5, x' = 0\nx'' = x - x^3 - 0.3*x'\n";
    expect(
        "well",
        well,
        &["--starts", "30"],
        &[("saddle", &[0.0, 0.0]), ("stable focus", &[1.0, 0.0]), ("stable focus", &[-1.0, 0.0])],
    );
}

#[test]
fn one_steady_state_is_found_from_the_initial_values() {
    let brusselator = "param A = 1, B = 3\nstate X = 1, Y = 1\nX' = A + X^2*Y - (B + 1)*X\nY' = B*X - X^2*Y\n";
    expect("brusselator", brusselator, &[], &[("unstable focus", &[1.0, 3.0])]);
    // at B = 1 + A^2 a pair lies on the imaginary axis
    expect("hopf", &brusselator.replace("B = 3", "B = 2"), &[], &[("centre", &[1.0, 2.0])]);
    let schnakenberg = "param a = 0.2, b = 1.3\nstate u = 1, v = 1\nu' = a - u + u^2*v\nv' = b - u^2*v\n";
    expect("schnakenberg", schnakenberg, &[], &[("stable focus", &[1.5, 1.3 / 2.25])]);
    let root = 2f64.cbrt();
    let dae = "state x = 0\nunknown z = 1\nx' = z - x\nz^3 + x - z = 2\n";
    expect("dae", dae, &[], &[("stable node", &[root, root])]);
    let mass = "state x = 1, y = 5\n2*x' + y' = 1 - x\nx' + 3*y' = x - y\n";
    let found = steady("mass", mass, &[]);
    assert!(
        found.len() == 1 && found[0].reached && found[0].value("x") == 1.0 && found[0].value("y") == 1.0,
        "{found:?}"
    );
    // a slow state next to fast ones with a conserved sum: it is not conserved itself
    let slow = "state s = 1, A = 1, B = 0\ns' = 1e-11*(2*A - s)\nA' = 3*B - A\nB' = A - 3*B\n";
    expect("slow", slow, &[], &[("stable node", &[1.5, 0.75, 0.25])]);
    // stiff: the smallest eigenvalue is 1e-12 of the largest, and not rounding
    let stiff = "state x = 2, y = 1\nx' = 1e6*(y - x)\ny' = 1e-6*(1 - y)\n";
    expect("stiff", stiff, &[], &[("stable node", &[1.0, 1.0])]);
}

#[test]
fn conserved_quantities_keep_their_values() {
    let (k1, km, k2, kr, e0, s0) = (3.0, 0.5, 0.8, 0.2, 0.7, 2.5);
    let text = format!(
        "param k1 = {k1}, km = {km}, k2 = {k2}, kr = {kr}\nstate E = {e0}, S = {s0}, C = 0, P = 0\nE' = -k1*E*S + (km + k2)*C\n\
         S' = -k1*E*S + km*C + kr*P\nC' = k1*E*S - (km + k2)*C\nP' = k2*C - kr*P\n"
    );
    // k1 (e0 - c)(s0 - (1 + k2/kr) c) = (km + k2) c, by bisection
    let q = 1.0 + k2 / kr;
    let g = |c: f64| k1 * (e0 - c) * (s0 - q * c) - (km + k2) * c;
    let (mut low, mut high) = (0.0, f64::min(e0, s0 / q));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if g(middle) > 0.0 { low = middle } else { high = middle }
    }
    let state = [e0 - low, s0 - q * low, low, low * k2 / kr];
    let (out, code, err) = command("enzyme", &text, &["steady", "m.ode", "--starts", "20"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("conserved: E + C = 0.7\n") && out.contains("conserved: S + C + P = 2.5\n"), "{out}");
    let inside: Vec<Printed> = parse(&out).into_iter().filter(|p| p.values.iter().all(|(_, v)| *v > 0.0)).collect();
    assert_eq!(inside.len(), 1, "{out}");
    assert!(inside[0].kind.starts_with("stable") && inside[0].reached, "{out}");
    let (row, _) = start("enzyme", &text, &[]);
    for ((name, printed), exact) in inside[0].values.iter().zip(state) {
        assert!((printed - exact).abs() < 1e-10 && (at(&row, name) - exact).abs() < 1e-10, "{name}: {out}");
    }
    // Robertson: everything ends in C, and B vanishes as a double root
    let robertson =
        "state A = 1, B = 0, C = 0\nA' = -0.04*A + 1e4*B*C\nB' = 0.04*A - 1e4*B*C - 3e7*B^2\nC' = 3e7*B^2\n";
    let found = steady("robertson", robertson, &[]);
    assert!(found.len() == 1 && found[0].kind == "degenerate", "{found:?}");
    assert!(found[0].value("A").abs() < 1e-9 && found[0].value("B").abs() < 1e-12, "{found:?}");
    assert!((found[0].value("C") - 1.0).abs() < 1e-9, "{found:?}");
    // momentum: masses are the factors
    let masses = "param m = 2, M = 3\nstate x = 0, x' = 1, y = 1, y' = 0\nm*x'' = y - x - 1 - x' + y'\nM*y'' = x - y + 1 + x' - y'\n";
    let (_, code, err) = command("masses", masses, &["steady", "m.ode"]);
    assert!(code == Some(3) && err.contains("E0640"), "two masses that drift together never rest: {err}");
}

/// A loss that is 1e-16 of the fastest rate, or starts far from the initial values, determines the steady state of
/// the solution.
#[test]
fn a_slow_loss_is_not_reported_as_conservation() {
    let binding = "param kon = 1e9, koff = 1, kd = 1e-7\nstate A = 3, B = 0.5, AB = 0\nA' = koff*AB - kon*A*B + 0.5e-7 - kd*A\n\
                   B' = koff*AB - kon*A*B\nAB' = kon*A*B - koff*AB\n";
    let (out, _, err) = command("binding", binding, &["steady", "m.ode"]);
    assert!(out.contains("conserved: B + AB = 0.5\n") && !out.contains("A + AB ="), "{out}{err}");
    // A' + AB' = 0.5e-7 - kd A, and A B = 1e-9 AB
    let found = parse(&out);
    assert!(found.len() == 1 && (found[0].value("A") - 0.5).abs() < 1e-9, "{out}");
    assert!((found[0].value("B") - 0.5e-9 / (0.5 + 1e-9)).abs() < 1e-15, "{out}");
    let slow = "state A = 1, B = 0.5\nA' = B - A + 1e-15*(5 - A)\nB' = A - B\n";
    expect("slow", slow, &[], &[("degenerate", &[5.0, 5.0])]);
    let threshold = "state A = 1, B = 0, C = 1\nA' = B - A - 1e-3*A*max(0, C - 1e4)\nB' = A - B\nC' = 1e5 - C\n";
    expect("threshold", threshold, &[], &[("stable node", &[0.0, 0.0, 1e5])]);
}

/// Totals are found through decimal numbers, through functions whose arguments differ in sign, and with factors of many digits.
#[test]
fn totals_need_no_whole_numbers() {
    let volumes = "param V1 = 0.0123, V2 = 4.567\nstate c1 = 3, c2 = 0.1\nc1' = -2*(c1 - c2)/V1\nc2' = (0.1 + 1.9)*(c1 - c2)/V2\n";
    let (out, _, err) = command("volumes", volumes, &["steady", "m.ode"]);
    assert!(out.contains("conserved: 123*c1 + 45670*c2 = 4936\n"), "{out}{err}");
    let digits = "param V1 = 0.012345678, V2 = 4.56789123, V3 = 1.23456789\nstate a = 3, b = 0.1, c = 0\na' = -tanh(a - b)/V1\n\
                  b' = -tanh(b - a)/V2 + (1 - exp(b - c))/V2\nc' = (1/exp(c - b) - 1)/V3\n";
    let rest = (0.012345678 * 3.0 + 4.56789123 * 0.1) / (0.012345678 + 4.56789123 + 1.23456789);
    expect("digits", digits, &[], &[("stable node", &[rest, rest, rest])]);
}

#[test]
fn models_without_a_steady_state_are_refused() {
    none("square", "state x = 1\nx' = 1 + x^2\n");
    none("near", "state x = 1\nx' = x^2 + 1e-12\n");
    none("ramp", "state x = 1\nx' = 1e-12\n");
    none("leak", "state x = 1, y = 0\nx' = y - x\ny' = x - y + 1e-12\n");
    none("leak-of-atoms", "state A = 1, B = 0\nA' = B - A\nB' = A - B - 1e-9*(1 + B^2)\n");
    none("relay", "state x = 0\nx' = if x < 1 then 1 else -1\n");
    none("least", "state x = 0.5, y = 0\nx' = (x^2 - 1)^2 + 0.1 + y\ny' = -y\n");
}

#[test]
fn constraints_and_repeated_events_are_refused() {
    let pendulum = "param g = 9.81\nstate x = 1, y = 0, u = 0, v = 0\nunknown T = 0\nx' = u\ny' = v\nu' = -T*x\nv' = -T*y - g\n\
                    x^2 + y^2 = 1\n";
    let (_, code, err) = command("pendulum", pendulum, &["steady", "m.ode"]);
    assert!(code != Some(0) && err.contains("E0322"), "{err}");
    let doses = "state x = 1\nx' = -x\nevery 12 from 6 { x += 1 }\n";
    let (_, code, err) = command("doses", doses, &["steady", "m.ode"]);
    assert!(code != Some(0) && err.contains("E0639"), "{err}");
    let (row, _) = start("doses", doses, &[]);
    assert_eq!(at(&row, "x"), 0.0);
}

#[test]
fn multiple_roots_are_found_and_called_degenerate() {
    expect("double", "state x = 1\nx' = x^2\n", &[], &[("degenerate", &[0.0])]);
    expect("double-at-one", "state x = 3\nx' = (x - 1)^2\n", &[], &[("degenerate", &[1.0])]);
    expect("triple", "state x = 1\nx' = -x^3\n", &[], &[("degenerate", &[0.0])]);
    // from many starts it is one state, not a list of close states
    for text in ["state x = -1\nx' = x^2\n", "state x = 1\nx' = -x^3\n"] {
        expect("many", text, &["--starts", "20"], &[("degenerate", &[0.0])]);
    }
    // rounding of f makes this root uncertain by 1e-8, and its slope too
    for text in ["state x = 0.5\nx' = x^2 - 2*x + 1\n", "state x = 0.5\nx' = -(x - 1)^2*(x - 1.001)\n"] {
        let found = steady("expanded", text, &[]);
        assert!(found.len() == 1 && found[0].kind == "degenerate", "{found:?}");
        assert!((found[0].value("x") - 1.0).abs() < 1e-6, "{found:?}");
    }
    // a simple root next to a double one, which look like a triple root from far away
    for range in [&["--starts", "20"][..], &["--starts", "20", "--set", "x=-5:5"][..]] {
        let found = steady("beside", "state x = 0.5\nx' = -(x - 1)^2*(x - 1.001)\n", range);
        assert!(found.len() == 2 && found[1].kind == "stable node", "{found:?}");
        assert!((found[1].value("x") - 1.001).abs() < 1e-9, "{found:?}");
    }
}

/// Near a saddle-node: the two states are distinguished, and only the one that the motion reaches is reported as reached.
#[test]
fn states_near_a_saddle_node_are_distinguished() {
    for (square, apart) in [("1e-6", 1e-3), ("1e-12", 1e-6)] {
        let text = |from: &str| format!("state x = {from}\nx' = x^2 - {square}\n");
        let both = steady("saddle-node", &text("-1"), &["--starts", "20"]);
        assert_eq!(both.len(), 2, "{both:?}");
        for (found, sign) in both.iter().zip([-1.0, 1.0]) {
            assert!((found.value("x") - sign * apart).abs() <= 1e-8 * apart, "{both:?}");
        }
        let (row, said) = start("arrives", &text("-1"), &[]);
        assert!((at(&row, "x") + apart).abs() <= 1e-8 * apart && !said.contains("W0620"), "{row:?} {said}");
        // beyond the unstable one it diverges
        let (_, said) = start("leaves", &text("0.1"), &[]);
        assert!(said.contains("W0620"), "{said}");
    }
    // and beyond the end of both there is none
    none("no-node", "state x = -1\nx' = x^2 + 1e-12\n");
}

/// Robertson's reaction with its balance as an equation: one state, to ten tolerances, from each of many starts.
#[test]
fn the_end_of_robertsons_reaction_is_one_state() {
    let text =
        "state A = 1, B = 0\nunknown C = 0\nA' = -0.04*A + 1e4*B*C\nB' = 0.04*A - 1e4*B*C - 3e7*B^2\nA + B + C = 1\n";
    let found = steady("robertson", text, &["--starts", "20"]);
    assert!(found.len() == 1 && found[0].kind == "degenerate", "{found:?}");
    for (name, exact) in [("A", 0.0), ("B", 0.0), ("C", 1.0)] {
        assert!((found[0].value(name) - exact).abs() <= 1e-8, "{name}: {found:?}");
    }
}

/// An epidemic ends in one of a line of steady states, which the solution determines: ln(s/s0) = R0 (s - s0 - i0).
#[test]
fn the_solution_chooses_among_a_line_of_steady_states() {
    let text = "param b = 2, g = 1\nstate S = 0.99, I = 0.01\nS' = -b*S*I\nI' = b*S*I - g*I\n";
    let mut s = 0.1f64;
    for _ in 0..200 {
        s = 0.99 * (2.0 * (s - 1.0)).exp();
    }
    let (row, said) = start("epidemic", text, &[]);
    assert!((at(&row, "S") - s).abs() < 1e-4 && at(&row, "I").abs() < 1e-8, "{row:?}, not {s}");
    assert!(said.contains("W0620"), "{said}");
}

#[test]
fn a_run_starts_where_the_solution_comes_to_rest() {
    let cubic = |x: &str| format!("state x = {x}\nx' = x*(1 - x)*(x - 0.3)\n");
    // near the saddle the solution is slow, and moves to its own side
    for (from, to) in [("0.3000001", 1.0), ("0.2999999", 0.0), ("0.9", 1.0), ("5", 1.0), ("-0.1", 0.0)] {
        let (row, said) = start("sides", &cubic(from), &[]);
        assert!((at(&row, "x") - to).abs() < 1e-9 && !said.contains("W0620"), "{from}: {row:?} {said}");
    }
    for (from, to) in [("1, y = 0.9", 2.0 + 3f64.sqrt()), ("0.9, y = 1", 2.0 - 3f64.sqrt())] {
        let (row, _) = start("switch-start", &SWITCH.replace("1, y = 0.5", from), &[]);
        assert!((at(&row, "x") - to).abs() < 1e-9, "{from}: {row:?}");
    }
    let (row, said) = start("cycle", "state x = 2, y = 0\nx' = y\ny' = (1 - x^2)*y - x\n", &[]);
    assert!(at(&row, "x") == 0.0 && said.contains("W0620") && said.contains("unstable focus"), "{row:?} {said}");
    let (row, said) = start("unstable", &cubic("0.3"), &[]);
    assert!(at(&row, "x") == 0.3 && said.contains("W0620"), "{row:?} {said}");
    // unknowns are solved along, outputs follow
    let (row, _) = start("along", "state x = 0\nunknown z = 1\nx' = z - x\nz^3 + x - z = 2\noutput w = x + z\n", &[]);
    assert!((at(&row, "w") - 2.0 * 2f64.cbrt()).abs() < 1e-9, "{row:?}");
}

/// Derivatives of the steady start by parameters, and points of a sweep.
#[test]
fn the_flag_says_the_same_as_the_text() {
    let text = "state x = 1, y = 0\nx' = y - x + 2\ny' = x - 3*y\n";
    let rows = |block: &str, more: &[&str]| {
        let text = format!("{text}run {{ t = 0 .. 1{block} }}\n");
        let (out, code, err) = command("flag", &text, &[&["run", "m.ode", "-q"], more].concat());
        assert_eq!(code, Some(0), "{err}");
        out
    };
    assert_eq!(rows("; start = steady", &[]), rows("", &["--start", "steady"]));
    assert_ne!(rows("", &[]), rows("", &["--start", "steady"]));
}

#[test]
fn sensitivities_and_sweeps_start_there_too() {
    let text = "param k = 2, d = 0.5\nstate x = 0\nx' = k - d*x^3\n";
    let (row, _) = start("sens", text, &["--sens", "k"]);
    // d x^3 = k: dx/dk = 1/(3 d x^2)
    let x = 4f64.cbrt();
    assert!((at(&row, "x") - x).abs() < 1e-9 && (at(&row, "d(x)/d(k)") - 1.0 / (1.5 * x * x)).abs() < 1e-9, "{row:?}");
    let text = format!("{text}run {{ t = 0 .. 1; start = steady }}\n");
    let (out, code, err) = command("sweep", &text, &["sweep", "m.ode", "--set", "k=1:4:4"]);
    assert_eq!(code, Some(0), "{err}");
    for (line, k) in out.lines().skip(1).zip([1.0, 2.0, 3.0, 4.0f64]) {
        let x: f64 = line.rsplit(',').next().and_then(|v| v.parse().ok()).expect("a number");
        assert!((x - (k / 0.5).cbrt()).abs() < 1e-9, "{line}");
    }
}

/// Random polynomial systems that return from infinity have at least one steady state (Brouwer); results are checked
/// in the polynomials.
#[test]
fn random_polynomials_are_zero_at_what_is_found() {
    let mut state = 12345u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 401) as f64 / 100.0 - 2.0
    };
    let mut several = 0;
    for turn in 0..50 {
        let n = 2 + turn % 3;
        let names: Vec<String> = (0..n).map(|i| format!("x{i}")).collect();
        // constant, linear and quadratic coefficients of each equation
        let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..1 + n + n * n).map(|_| draw()).collect()).collect();
        let terms = |x: &[f64], i: usize| -> Vec<f64> {
            let row = &rows[i];
            let mut all = vec![row[0], -x[i] * x[i] * x[i]];
            all.extend((0..n).map(|j| row[1 + j] * x[j]));
            all.extend((0..n * n).map(|k| row[1 + n + k] * x[k / n] * x[k % n]));
            all
        };
        let mut text =
            format!("state {}\n", names.iter().map(|name| format!("{name} = 0.5")).collect::<Vec<_>>().join(", "));
        for (i, row) in rows.iter().enumerate() {
            let mut sum = format!("{:?} - x{i}^3", row[0]);
            (0..n).for_each(|j| sum += &format!(" + ({:?})*x{j}", row[1 + j]));
            (0..n * n).for_each(|k| sum += &format!(" + ({:?})*x{}*x{}", row[1 + n + k], k / n, k % n));
            text += &format!("x{i}' = {sum}\n");
        }
        let found = steady("random", &text, &["--starts", "20"]);
        assert!(!found.is_empty(), "{text}");
        several += usize::from(found.len() > 1);
        for printed in &found {
            let x: Vec<f64> = names.iter().map(|name| printed.value(name)).collect();
            for i in 0..n {
                let all = terms(&x, i);
                let (sum, size) = (all.iter().sum::<f64>(), all.iter().map(|t| t.abs()).sum::<f64>());
                assert!(sum.abs() <= 1e-9 * size, "{sum} of {size} in {printed:?}\n{text}");
            }
        }
    }
    assert!(several >= 20, "{several}");
}

#[test]
fn the_same_search_prints_the_same() {
    let once = |seed: &str| command("again", SWITCH, &["steady", "m.ode", "--starts", "25", "--seed", seed]).0;
    assert_eq!(once("3"), once("3"));
    let narrow = steady("narrow", SWITCH, &["--starts", "5", "--set", "x=0.2:0.3", "--set", "y=3.5:4"]);
    assert!(narrow.iter().any(|p| (p.value("y") - 2.0 - 3f64.sqrt()).abs() < 1e-9), "{narrow:?}");
}

/// From a start near the extremum of a sine, Newton's step leads far away, where a state of that size cannot tell one
/// period from the next.
#[test]
fn no_steady_state_is_listed_where_its_digits_say_nothing() {
    let pendulum = "state x = 1, y = 0\nx' = y\ny' = -sin(x)\nrun { t = 0 .. 10 }\n";
    let found = steady("pendulum", pendulum, &["--starts", "40"]);
    assert!(found.len() > 2 && found.iter().all(|printed| printed.value("x").abs() < 1e4), "{found:?}");
    assert!(found.iter().any(|printed| printed.value("x") == 0.0), "{found:?}");
    // a state may be far from the initial values
    expect("far", "state x = 0\nx' = 1e7 - x\nrun { t = 0 .. 10 }\n", &[], &[("stable node", &[1e7])]);
}
