//! Rows of the mass matrix that are zero: written out as `0*z' = ...`, by a zero in a table of masses, by a parameter, or
//! by an equation of an array without derivatives. Each model is compared with its exact solution.

use odec_tests::share::Share;

use crate::unknowns::{last, refusal, warned};

const METHODS: [&str; 8] = ["auto", "rodas4", "rodas5p", "radau5", "bdf", "tr-bdf2", "kencarp4", "sdirk2"];

const RUN: &str = "run { t = 0 .. 1; samples = 1; rtol = 1e-7; atol = 1e-10 }\n";

/// Name, text, and exact values at t = 1.
type Model = (&'static str, &'static str, &'static [(&'static str, f64)]);

const E1: f64 = 0.367_879_441_171_442_33;

/// The plates of capacitors: a - b decays like exp(-t), and a + b = i.
const MODELS: [Model; 10] = [
    ("scalar", "state x = 1, z = 0.9\nx' = -z\n0*z' = x - z\n", &[("x", E1), ("z", E1)]),
    ("right", "state x = 1, z = 0.9\nx' = -z\nz - x = 0*z'\n", &[("x", E1), ("z", E1)]),
    ("parameter", "param eps = 0\nstate x = 1, z = 1\nx' = -z\neps*z' = x - z\n", &[("x", E1), ("z", E1)]),
    (
        "array",
        "index i = 1..3\nstate x[i] = i, z[i] = 0.8*i\nx[i]' = -z[i]\n0*z[i]' = x[i] - z[i]\n",
        &[("x[1]", E1), ("x[3]", 3.0 * E1), ("z[2]", 2.0 * E1)],
    ),
    (
        "array-parameter",
        "param eps = 0\nindex i = 1..3\nstate x[i] = i, z[i] = i\nx[i]' = -z[i]\neps*z[i]' = 2*(x[i] - z[i])\n",
        &[("x[2]", 2.0 * E1), ("z[3]", 3.0 * E1)],
    ),
    (
        "table",
        "index i = 1..3\nconst m[i] = [1, 2, 0]\nstate x[i] = [1, 1, 2]\n\
         m[i]*x[i]' = (if i == 3 then x[1] + x[2] else 0) - x[i]\n",
        &[("x[1]", E1), ("x[2]", 0.606_530_659_712_633_4), ("x[3]", E1 + 0.606_530_659_712_633_4)],
    ),
    (
        "empty",
        "index i = 1..3\nparam C = 1, R = 2\nstate a[i] = i, b[i] = 0\nC*(a[i]' - b[i]') = (b[i] - a[i])/R\n\
         0 = a[i] + b[i] - i\n",
        &[("a[1]", (1.0 + 0.606_530_659_712_633_4) / 2.0), ("b[3]", 3.0 * (1.0 - 0.606_530_659_712_633_4) / 2.0)],
    ),
    (
        "empty-first",
        "index i = 1..3\nstate a[i] = i, b[i] = 0\na[i] + b[i] = i\na[i]' - b[i]' = (b[i] - a[i])/2\n",
        &[("a[2]", 1.0 + 0.606_530_659_712_633_4), ("b[2]", 1.0 - 0.606_530_659_712_633_4)],
    ),
    (
        "matrix",
        "index i = 1..3, j = 1..3\nconst M[i,j] = [[2, 1, 0], [1, 1, 0], [0, 0, 0]]\nstate x[i] = [1, 1, 2]\n\
         sum(j: M[i,j]*x[j]') = (if i == 1 then -2*x[1] - x[2] else if i == 2 then -x[1] - x[2] else x[3] - x[1] - x[2])\n",
        &[("x[1]", E1), ("x[2]", E1), ("x[3]", 2.0 * E1)],
    ),
    (
        "field",
        "const N = 3\nindex i = 1..N\nstate u[i] = sin(pi*i/4), p[i] = 0\nboundary p[0] = 0, p[N+1] = 0\nu[i]' = -p[i]\n\
         0*p[i]' = (p[i-1] - 2*p[i] + p[i+1])/(2 - 2*cos(pi/4)) + u[i]\n",
        &[("u[2]", E1), ("p[2]", E1), ("p[1]", E1 * std::f64::consts::FRAC_1_SQRT_2)],
    ),
];

#[test]
fn zero_rows_give_the_exact_solution() {
    let mut share = Share::one_of(3);
    for (name, text, exact) in MODELS {
        for method in METHODS.into_iter().filter(|_| share.takes()) {
            let found = last(&format!("zero-rows-{name}"), &format!("{text}{RUN}"), &["--method", method]);
            for (column, value) in exact {
                let got = found.iter().find(|(c, _)| c == column).expect("a column").1;
                let error = (got - value).abs();
                assert!(error <= 1e-5, "{name}, {method}: {column} = {got}, off by {error:e}");
            }
        }
    }
}

/// The summary names what moved at the start; initial values that satisfy the equations give no warning.
#[test]
fn the_start_of_zero_rows_is_consistent() {
    let text =
        |z: &str| format!("index i = 1..2\nstate x[i] = i, z[i] = {z}\nx[i]' = -z[i]\n0*z[i]' = x[i] - z[i]\n{RUN}");
    let moved = warned("zero-rows-moved", &text("0.5*i"), &[]);
    assert!(moved.contains("z[1] from 0.5 to 1"), "{moved}");
    let still = warned("zero-rows-still", &text("i"), &[]);
    assert!(!still.contains("W0509") && !still.contains("to satisfy"), "{still}");
}

/// A parameter that is zero by default can be given.
#[test]
fn a_coefficient_that_is_given_is_no_zero_row() {
    let text = format!("param eps = 0\nstate x = 1, z = 0\nx' = 0\neps*z' = x - z\n{RUN}");
    let found = last("zero-rows-given", &text, &["--set", "eps=0.5", "--method", "dopri5"]);
    let z = found.iter().find(|(c, _)| c == "z").expect("a column").1;
    assert!((z - 0.864_664_716_763_387_3).abs() < 1e-6, "{z}");
}

#[test]
fn explicit_methods_and_other_slips_are_refused() {
    let text = format!("index i = 1..2\nstate x[i] = i, z[i] = i\nx[i]' = -z[i]\n0*z[i]' = x[i] - z[i]\n{RUN}");
    let said = refusal("zero-rows-explicit", &text, &["--method", "dopri5"]);
    assert!(said.contains("E0619"), "{said}");
    // derivatives that cancel are a slip
    for (name, equation, code) in [
        ("cancel", "x[i]' - x[i]' = z[i]", "E0309"),
        ("no-derivative", "2*x[i] = z[i]", "E0503"),
        ("shifted", "2*x[i+1]' = z[i]", "E0531"),
    ] {
        let text =
            format!("index i = 1..2\nstate x[i] = i, z[i] = i\nboundary x[3] = 0\n{equation}\nz[i]' = -z[i]\n{RUN}");
        let said = refusal(&format!("zero-rows-{name}"), &text, &[]);
        assert!(said.contains(code), "{name}: {said}");
    }
}
