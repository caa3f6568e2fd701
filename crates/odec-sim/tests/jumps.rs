//! Sensitivities across events and switches, from the text of a model: against central differences of accurate runs,
//! and refusals if there is no derivative.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Session, Solution};

fn choices(sens: &[&str], set: &[(&str, f64)], method: &str) -> Choices {
    Choices {
        open: sens.iter().map(|name| (*name).to_string()).collect(),
        sensitivities: !sens.is_empty(),
        set: set.iter().map(|(name, value)| ((*name).to_string(), *value)).collect(),
        method: Some(method.to_string()),
        rtol: Some(1e-11),
        atol: Some(1e-13),
        ..Choices::default()
    }
}

fn solve(text: &str, choices: &Choices) -> Result<Solution, odec_sim::Error> {
    Session::new().load("model.ode", text)?.simulate(choices, Purpose::Rows)?.solve()
}

/// All rows of a column.
fn rows(solution: &Solution, name: &str) -> Vec<f64> {
    solution.column(name).unwrap_or_else(|| panic!("no column {name}")).collect()
}

/// Compares the derivatives of the columns by parameters of these values with differences.
fn agree(text: &str, columns: &[&str], parameters: &[(&str, f64)], tolerance: f64) {
    for method in ["vern9", "dop853", "taylor", "radau5"] {
        let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
        let found = solve(text, &choices(&names, &[], method)).unwrap_or_else(|e| panic!("{method}: {e}\n{text}"));
        for &(name, value) in parameters {
            let apart = 1e-5 * value.abs().max(0.1);
            let [above, below] = [value + apart, value - apart].map(|value| {
                solve(text, &choices(&[], &[(name, value)], "vern9")).unwrap_or_else(|e| panic!("{e}\n{text}"))
            });
            for column in columns {
                let own = rows(&found, &format!("d({column})/d({name})"));
                let differences = rows(&above, column).into_iter().zip(rows(&below, column));
                let differences: Vec<f64> = differences.map(|(a, b)| (a - b) / (2.0 * apart)).collect();
                assert_eq!(own.len(), differences.len());
                for (own, difference) in own.iter().zip(differences) {
                    let size = difference.abs().max(1.0);
                    let close = (own - difference).abs() < tolerance * size;
                    assert!(close, "{method}: d({column})/d({name}) = {own}, differences {difference}\n{text}");
                }
            }
        }
    }
}

#[test]
fn of_a_ball_by_gravity_restitution_and_height() {
    let text = "param e = 0.8, g = 9.81, h0 = 1\ndiscrete hits = 0, fastest = 0\nstate h = h0, h' = 0\nh'' = -g\n\
                when h < 0 { h' := -e*h'; hits += 1; fastest := fastest + h'*t }\noutput hits, fastest\n\
                run { t = 0 .. 2; samples = [0.3, 1, 1.9] }";
    agree(text, &["h", "h'", "hits", "fastest"], &[("e", 0.8), ("g", 9.81), ("h0", 1.0)], 1e-6);
    // the first bounce, in closed form: h = e v (t - T) - g (t - T)^2/2 with T = sqrt(2/g), v = g T
    let solution = solve(text, &choices(&["e"], &[], "vern9")).expect("a run");
    let fall = (2.0f64 / 9.81).sqrt();
    let own = rows(&solution, "d(h)/d(e)")[1];
    assert!((own - 9.81 * fall * (1.0 - fall)).abs() < 1e-9, "{own}");
}

#[test]
fn by_the_end_of_a_pulse() {
    let text = "param t0 = 5, t1 = 5.5, a = 20\nstate x = 0\nx' = -x + a*(t0 < t < t1)\nrun { t = 0 .. 7; samples = [5.2, 6, 7] }";
    let solution = solve(text, &choices(&["t1", "t0"], &[], "vern9")).expect("a run");
    let by = rows(&solution, "d(x)/d(t1)");
    for (own, exact) in by.iter().zip([0.0, 20.0 * (-0.5f64).exp(), 20.0 * (-1.5f64).exp()]) {
        assert!((own - exact).abs() < 1e-10, "{own} {exact}");
    }
    let own = rows(&solution, "d(x)/d(t0)")[2];
    assert!((own + 20.0 * (-2.0f64).exp()).abs() < 1e-10, "{own}");
    agree(text, &["x"], &[("t0", 5.0), ("t1", 5.5), ("a", 20.0)], 1e-7);
}

#[test]
fn of_periodic_times_and_of_doses() {
    let train = "param every = 1.3, w = 0.4, lag = 0.2\nstate x = 0\nx' = -x + 5*(mod(t - lag, every) < w) + (sin(3*t*w) > 0.5)\n\
                 run { t = 0 .. 5; samples = [1, 2.5, 5] }";
    agree(train, &["x"], &[("every", 1.3), ("w", 0.4), ("lag", 0.2)], 1e-6);
    let doses = "param tau = 1.25, amount = 3, k = 0.7\nstate x = 1\nx' = -k*x\nat tau { x += amount*t }\n\
                 every tau from 0.3 until 4 after 0.1*tau { x := 0.5*x + tau }\nrun { t = 0 .. 4; samples = [1, 2, 4] }";
    agree(doses, &["x"], &[("tau", 1.25), ("amount", 3.0), ("k", 0.7)], 1e-6);
    // each time follows from a discrete that depends on the parameter, and on the state
    let chain = "param gap = 0.6\nstate x = 1\nx' = -x\ndiscrete next = 0.5*gap, total = gap^2\n\
                 at next { x += 1; total += x*t; next := t + gap + 0.1*x }\noutput total, next\n\
                 run { t = 0 .. 3; samples = [0.2, 1, 3] }";
    agree(chain, &["x", "total", "next"], &[("gap", 0.6)], 1e-6);
}

#[test]
fn of_a_thermostat() {
    let text = "param low = 19, high = 21, k = 1\ndiscrete on = 1, cost = 0, since = 0\nstate T = 19.5\n\
                T' = k*(10 + 20*on - T)\nwhen T > high { on := 0; cost += (t - since)*T }\n\
                when T < low { on := 1; since := t }\noutput cost, rate = k*on*since\n\
                run { t = 0 .. 3; samples = [0.05, 0.5, 1.7, 3] }";
    agree(text, &["T", "cost", "rate"], &[("low", 19.0), ("high", 21.0), ("k", 1.0)], 1e-5);
}

/// The equations jump where the state crosses moving surfaces, with counters and bends; second order, arrays.
#[test]
fn of_surfaces_in_the_equations() {
    let one = "param k = 0.5, r = 1.5\nstate x = 1, y = 0, v = 0\nx' = if x > k then -1 else -2*r\n\
               y' = floor(3*x*r) + max(y - k, 0) - abs(x - 0.1*k)\nv' = if x*x + 0.1*y > k*t then x else y - v\n\
               run { t = 0 .. 1; samples = [0.1, 0.4, 1] }";
    agree(one, &["x", "y", "v"], &[("k", 0.5), ("r", 1.5)], 1e-5);
    let array = "index i = 1..4\nparam k = 0.8, scale = 1\nstate u[i] = 0, w[i] = 0.1*i\ndiscrete n[i] = 0\n\
                 u[i]' = scale*i - u[i]*(u[i] > k)\nw[i]' = u[i] - w[i]\n\
                 when w[i] > k { w[i] := w[i] - k*scale; n[i] += w[i] }\noutput total = sum(i: n[i])\n\
                 run { t = 0 .. 2; samples = [0.5, 1, 2] }";
    agree(array, &["u[1]", "u[4]", "w[3]", "w[4]", "total"], &[("k", 0.8), ("scale", 1.0)], 1e-5);
}

/// Delays, chains of rounds, late values and priorities at one instant.
#[test]
fn of_chains_of_events() {
    let text = "param p = 0.7, d = 0.3\nstate x = 0, y = 1\nx' = 1 + p*y\ny' = -y\ndiscrete a = 0, b = 0\n\
                when x > 1 { a := x*t + p; x -= p }\nwhen a > 0 { b := a*y; y += a }\n\
                when x > 0.9 after d late { y += b*x }\nwhen x > 0.5 after d*x { y := 0.5*y + x*t }\noutput a, b\n\
                run { t = 0 .. 1.5; samples = [0.3, 0.9, 1.5] }";
    agree(text, &["x", "y", "a", "b"], &[("p", 0.7), ("d", 0.3)], 1e-5);
}

/// The derivative with respect to an initial value, and a bend at the start.
#[test]
fn by_initial_values() {
    let text = "param c = 0.2\nstate x = 2, y = 0\nx' = -x\ny' = max(x - 1, c*y)\nwhen x < 1.5 { y += x*t }\n\
                run { t = 0 .. 2; samples = [0.1, 1, 2] }";
    agree(text, &["x", "y"], &[("x", 2.0), ("c", 0.2)], 1e-6);
}

#[test]
fn terms_without_a_derivative_are_refused() {
    let refused = |text: &str, by: &str, code: &str, found: &str| {
        let error = solve(text, &choices(&[by], &[], "vern9")).err().unwrap_or_else(|| panic!("no refusal\n{text}"));
        assert_eq!(error.diagnostics[0].code.code, code, "{error}");
        assert!(error.to_string().contains(found), "{error}");
    };
    // x = (t - 1)^3 reaches 0 with the rate 0
    let grazing =
        "param p = 0\nstate x = -1, n = 0\nx' = 3*(t - 1)^2\nn' = 0\nwhen x > p { n += 1 }\nrun { t = 0 .. 2 }";
    refused(grazing, "p", "E0629", "model.ode:5");
    let together = "param k = 1\nstate x = 0\nx' = -x + (t > 1)\nat k { x := 2*x }\nrun { t = 0 .. 2 }";
    refused(together, "k", "E0629", "t = 1");
    let list = "param k = 1\nstate x = 0\nx' = 1\nat [1, k] { x := 2*x + t }\nrun { t = 0 .. 2 }";
    refused(list, "k", "E0628", "the time 1 twice");
    let start = "param k = 0\nstate x = 1\nx' = 1\nat k { x := 2*x }\nrun { t = 0 .. 2 }";
    refused(start, "k", "E0629", "t = 0");
    let on = "param k = 1\nstate x = 1\nx' = if x > k then 2 else 1\nrun { t = 0 .. 2 }";
    refused(on, "k", "E0629", "t = 0");
    let rest = "param e = 0.5\ndiscrete still = 0\nstate h = 1, h' = 0\nh'' = if still == 1 then 0 else -9.81\n\
                when h < 0 { h' := -e*h' }\nrest { h := 0; h' := 0; still := 1 }\nrun { t = 0 .. 3 }";
    // the last bounces are smaller than the tolerances, or the event after all of them is
    refused(rest, "e", "E0629", "at t = 1.35457");
}

/// A parameter without effect does not change the derivatives with respect to the others, and events that do not
/// depend on it do not move.
#[test]
fn a_parameter_that_moves_nothing() {
    let text = "param k = 1, idle = 2\nstate x = 1\nx' = -k*x\nat 1 { x += 1 }\nwhen x < 0.5 { x := 2 }\n\
                run { t = 0 .. 4; samples = [0.5, 2, 4] }";
    let solution = solve(text, &choices(&["k", "idle"], &[], "vern9")).expect("a run");
    assert_eq!(rows(&solution, "d(x)/d(idle)"), [0.0; 3]);
    agree(text, &["x"], &[("k", 1.0)], 1e-6);
}
