//! Circuits whose equations bend sharply: an amplifier that saturates, a bridge of diodes. References by SciPy on the
//! equations of the states alone, with the unknowns by bisection at each evaluation.

use crate::unknowns::last;

const METHODS: [&str; 4] = ["auto", "rodas5p", "radau5", "bdf"];

/// A Wien bridge oscillator: an amplifier with a gain of 1e5 that saturates at 12 V. One tolerance of its output is many
/// times the input in which it saturates.
const WIEN: &str = "param R = 1e4, C = 1e-8, A = 1e5, Vs = 12, Ra = 1e4, Rb = 2.2e4\n\
    state u = 0.1, v = 0\nunknown vo = 0\nvo = Vs*tanh(A*(v - vo*Ra/(Ra + Rb))/Vs)\ni = (vo - u - v)/R\n\
    C*u' = i\nC*v' = i - v/R\nrun { t = 0 .. 0.005; samples = 1 }\n";

/// A bridge rectifier whose source floats: while all four diodes block, a leak of 1 Gohm alone holds `n`.
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
fn a_bridge_that_blocks_is_followed_at_any_tolerance() {
    let reference = [("vc", 3.440_087_681_644), ("a", -2.545_207_055_31), ("n", -2.344_230_502_003)];
    check("circuit-bridge", BRIDGE, &[1e-4, 1e-6], &reference, 20.0);
}
