//! Circuits whose equations have sharp bends: a saturating amplifier, a bridge of diodes. References by SciPy on the
//! equations of the states alone, with the unknowns by bisection at each evaluation.

use crate::unknowns::{last, refusal};

const METHODS: [&str; 4] = ["auto", "rodas5p", "radau5", "bdf"];

/// A Wien bridge oscillator: an amplifier with a gain of 1e5 that saturates at 12 V. One tolerance of its output is
/// many times the input at which it saturates.
const WIEN: &str = "param R = 1e4, C = 1e-8, A = 1e5, Vs = 12, Ra = 1e4, Rb = 2.2e4\n\
    state u = 0.1, v = 0\nunknown vo = 0\nvo = Vs*tanh(A*(v - vo*Ra/(Ra + Rb))/Vs)\ni = (vo - u - v)/R\n\
    C*u' = i\nC*v' = i - v/R\nrun { t = 0 .. 0.005; samples = 1 }\n";

/// A bridge rectifier with a floating source: while all four diodes block, only a leak of 1 Gohm determines `n`.
const BRIDGE: &str = "param Is = 1e-12, VT = 0.0259, Rs = 10, Rl = 1000, C = 1e-4, V0 = 5, f = 50, leak = 1e-9\n\
    state vc = 0\nunknown a = 0, n = 0\nfn d(v) = Is*(exp(v/VT) - 1)\nsrc = V0*sin(2*pi*f*t)\n\
    0 = (src - a)/Rs - d(a - n - vc) + d(n - a)\n\
    0 = d(a - n - vc) + d(-n - vc) - d(n - a) - d(n) - leak*n\n\
    C*vc' = d(a - n - vc) + d(-n - vc) - vc/Rl\nrun { t = 0 .. 0.0317; samples = 1 }\n";

/// Checks the last row of runs by all methods.
fn check(name: &str, text: &str, rtols: &[f64], reference: &[(&str, f64)], times: f64) {
    for method in METHODS {
        for rtol in rtols {
            let (asked, atol) = (format!("{rtol:e}"), format!("{:e}", 1e-3 * rtol));
            let found = last(name, text, &["--method", method, "--rtol", &asked, "--atol", &atol]);
            for (column, value) in reference {
                let got = found.iter().find(|(c, _)| c == column).expect("a column").1;
                let error = (got - value).abs();
                assert!(error <= times * rtol * value.abs(), "{method}, {asked}: {column} = {got}, off by {error:e}");
            }
        }
    }
}

#[test]
fn a_saturating_amplifier_is_followed_at_any_tolerance() {
    let reference = [("u", 6.259_249_89), ("v", 2.661_063_07), ("vo", 8.515_061_477)];
    check("circuit-wien", WIEN, &[1e-3, 1e-4, 1e-6], &reference, 60.0);
}

#[test]
fn a_blocking_rectifier_bridge_is_simulated_at_any_tolerance() {
    let reference = [("vc", 3.440_087_681_644), ("a", -2.545_207_055_31), ("n", -2.344_230_502_003)];
    check("circuit-bridge", BRIDGE, &[1e-4, 1e-6], &reference, 20.0);
}

/// The transistor amplifier of the Test Set for IVP Solvers; `y8` passes 0, where its tolerance is near the rounding of
/// the currents.
const AMPLIFIER: &str = "param Ub = 6, UF = 0.026, al = 0.99, be = 1e-6, R0 = 1000, R = 9000\n\
    param C1 = 1e-6, C2 = 2e-6, C3 = 3e-6, C4 = 4e-6, C5 = 5e-6\n\
    state y1 = 0, y2 = 3, y3 = 3, y4 = 6, y5 = 3, y6 = 3, y7 = 6, y8 = 0\n\
    ue = 0.1*sin(200*pi*t)\ng1 = be*(exp((y2 - y3)/UF) - 1)\ng2 = be*(exp((y5 - y6)/UF) - 1)\n\
    -C1*y1' + C1*y2' = (y1 - ue)/R0\nC1*y1' - C1*y2' = y2/R + (y2 - Ub)/R + (1 - al)*g1\n\
    -C2*y3' = y3/R - g1\n-C3*y4' + C3*y5' = (y4 - Ub)/R + al*g1\n\
    C3*y4' - C3*y5' = y5/R + (y5 - Ub)/R + (1 - al)*g2\n-C4*y6' = y6/R - g2\n\
    -C5*y7' + C5*y8' = (y7 - Ub)/R + al*g2\nC5*y7' - C5*y8' = y8/R\nrun { t = 0 .. 0.2; samples = 1 }\n";

#[test]
fn tolerances_near_rounding_are_met() {
    let reference =
        [("y1", -0.005_562_145_012_262_275), ("y5", 2.704_617_865_010_554_6), ("y8", 1.236_995_868_091_547_6)];
    for (method, atol) in [("radau5", "1e-12"), ("radau5", "1e-13"), ("auto", "1e-12")] {
        let found = last("circuit-amplifier", AMPLIFIER, &["--method", method, "--rtol", "1e-8", "--atol", atol]);
        for (column, value) in reference {
            let error = (found.iter().find(|(c, _)| c == column).expect("a column").1 - value).abs();
            assert!(error <= 1e-6 * value.abs(), "{method}, {atol}: {column} is off by {error:e}");
        }
    }
}

/// A Miller integrator: its capacitor lies between two nodes of which the amplifier joins the voltages, so that one
/// equation holds two derivatives and the other none. The amplifier saturates at t = 0.011.
const MILLER: &str = "param A = 1e5, Vs = 12, R = 1e4, C = 1e-7\nstate vm = 0, vo = 0\n\
    C*(vm' - vo') = (3*sin(200*t) - vm)/R\n0 = vo + Vs*tanh(A*vm/Vs)\nrun { t = 0 .. 0.02; samples = 1 }\n";

#[test]
fn an_equation_without_a_derivative_takes_a_row_of_the_mass_matrix() {
    let reference = [("vm", 8.155_257_380e-5), ("vo", -7.095_148_824_4)];
    check("circuit-miller", MILLER, &[1e-4, 1e-6], &reference, 60.0);
    // one equation too many is still refused
    let said = refusal("circuit-miller-2", &MILLER.replace("run", "0 = vm\nrun"), &[]);
    assert!(said.contains("E0503"), "{said}");
}

/// If two solutions of an equation meet and end, the run ends too: solving for the unknown does not lead to the third
/// one.
#[test]
fn a_run_ends_at_a_fold() {
    let text = "state x = 0\nunknown z = 2\nx' = -1\nz^3 - 3*z = x\nrun { t = 0 .. 3; samples = 6 }\n";
    for method in METHODS {
        for rtol in ["1e-3", "1e-6"] {
            let said = refusal("circuit-fold", text, &["--method", method, "--rtol", rtol]);
            assert!(said.contains("at t = 2") && said.contains("`z`"), "{method}, {rtol}: {said}");
        }
    }
}

/// A converter with a switch and an ideal diode, whose current stops in each period.
#[test]
fn a_converter_at_rest_is_simulated() {
    let text = "param Vi = 12 [V], L = 10 [uH], C = 10 [uF], R = 50 [ohm], T = 20 [us], D = 0.3\ndiscrete on = 1\n\
                state il = 0 [A], vc = 0 [V]\nunknown vx = 12 [V]\nevery T { on := 1 }\n\
                every T from D*T { on := 0 }\n0 = if on == 1 then vx - Vi else if il > 0 then vx else vx - vc\n\
                L*il' = if on == 1 or il > 0 then vx - vc else 0 [V]\nC*vc' = il - vc/R\nwhen il < 0 { il := 0 }\n\
                run { t = 0 .. 203 [us]; samples = 1 }\n";
    let reference = [("il", 0.619_910_478_684), ("vc", 9.965_954_708_700)];
    // thirty restarts at order 1 cost bdf 29 tolerances
    check("circuit-converter", text, &[1e-4, 1e-6], &reference, 100.0);
}

/// Without a leak, nothing determines the nodes of the source while all diodes block. The message names a node and
/// the leak, regardless of the first equation without a finite value; with the leak the run continues.
#[test]
fn a_floating_node_is_named() {
    let model = |leak: &str, first: &str, second: &str| {
        format!(
            "fn diode(v) = 1e-12*(exp(v/0.025) - 1)\n{first}{second}a - b = 10*sin(314*t)\n\
             0 = diode(a - vc) + diode(b - vc) - diode(-a) - diode(-b){leak}\n\
             1e-4*vc' = diode(a - vc) + diode(b - vc) - vc/100\nrun {{ t = 0 .. 0.02; samples = 1 }}\n"
        )
    };
    let (unknowns, states) = ("unknown a = 0, b = 0\n", "state vc = 0\n");
    for (first, second) in [(unknowns, states), (states, unknowns)] {
        let said = refusal("circuit-floating", &model("", first, second), &[]);
        assert!(said.contains("a step led the unknown `") && said.contains("needs a leak"), "{said}");
        last("circuit-floating-leak", &model(" + 1e-9*b", first, second), &[]);
    }
}

/// The trapezoidal rule keeps the residual of an equation without a derivative, if it takes the mean of both ends.
#[test]
fn the_trapezoidal_rule_takes_few_steps_on_a_rectifier() {
    let text = "param Is = 1e-12, VT = 25.852e-3, Rs = 1, C = 1e-4, R = 1000, f = 50\nstate vc = 0\nunknown i = 0\n\
                i = Is*(exp((10*sin(2*pi*f*t) - Rs*i - vc)/VT) - 1)\nC*vc' = i - vc/R\n\
                run { t = 0 .. 0.06; samples = 1 }\n";
    let of = |method: &str, rtol: &str| {
        let options = ["--method", method, "--rtol", rtol, "--atol", "1e-9", "--max-steps", "20000"];
        last("circuit-trapezoidal", text, &options)
    };
    let exact = of("radau5", "1e-9");
    for (rtol, times) in [("1e-3", 50.0), ("1e-4", 50.0), ("1e-5", 100.0)] {
        let error = (of("trapezoidal", rtol)[1].1 - exact[1].1).abs();
        let tolerance: f64 = rtol.parse().expect("a number");
        assert!(error < times * tolerance * exact[1].1.abs(), "{rtol}: off by {error:e}");
    }
}
