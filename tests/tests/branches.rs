//! Algebraic equations with several solutions: runs stay on the initial branch.

use odec_tests::command::{run_in, scratch};

/// An acid that a reaction consumes and a base neutralises: at neutrality, the concentration of protons falls from
/// 1e-7 to 1e-12, and a negative solution of the charge balance comes within 4e-9.
const START: &str = "param Ka = 1.8e-5 [mol/L], Kw = 1e-14 [mol^2/L^2], k = 0.2 [1/s]\nstate A = 100 [mmol/L], Na = 0 [mol/L]\n\
                     unknown h = 1e-3 [mol/L]\n";
const END: &str = "A' = -k*A*h/(1e-4 [mol/L])\nNa' = 1 [mmol/(L*s)]\nrun { t = 0 .. 60; samples = 1 }\n";
/// The charge balance as written, and multiplied by one and by both denominators.
const BALANCES: [&str; 3] = [
    "h + Na = Kw/h + A*Ka/(Ka + h)\n",
    "h*(h + Na) = Kw + h*A*Ka/(Ka + h)\n",
    "(Ka + h)*h*(h + Na) = Kw*(Ka + h) + h*A*Ka\n",
];
/// Reference at t = 60: Radau of SciPy with the solution of the balance inside of f, and with 1e-12.
const A: f64 = 10.819_793_326_104_34;
const H: f64 = 2.033_338_339_022_13e-13;

fn numbers(row: &str) -> [f64; 4] {
    let row: Vec<f64> = row.split(',').map(|x| x.parse().expect("a number")).collect();
    row.try_into().expect("t, A, Na, h")
}

fn last_row(rows: &str) -> [f64; 4] {
    numbers(rows.lines().last().expect("a row"))
}

/// With a tolerance that resolves the protons, every method follows them. Otherwise a run may end with a message, but
/// never on the other solution, where A is 25.9.
#[test]
fn no_step_ends_on_another_solution() {
    let dir = scratch("branches");
    for (k, balance) in BALANCES.iter().enumerate() {
        std::fs::write(dir.join("titration.ode"), format!("{START}{balance}{END}")).expect("scratch");
        for method in ["auto", "rodas4", "rodas5p", "radau5", "bdf", "sdirk2", "kencarp4"] {
            for rtol in ["1e-4", "1e-6"] {
                let arguments = ["run", "titration.ode", "--method", method, "--rtol", rtol];
                let closer = run_in(&dir, &[&arguments[..], &["--atol", "h=1e-16"]].concat(), b"").success();
                let [_, acid, _, h] = last_row(&closer.text());
                let bound = 300.0 * rtol.parse::<f64>().expect("a number");
                assert!((acid - A).abs() <= bound * A, "{method}, {rtol}, {k}: A = {acid}");
                assert!((h - H).abs() <= bound * H + 1e-16, "{method}, {rtol}, {k}: h = {h}");
                let ran = run_in(&dir, &arguments, b"").orderly();
                let [t, acid, ..] = last_row(&ran.text());
                assert!(t < 60.0 || (acid - A).abs() < 0.1, "{method}, {rtol}, {k}: A = {acid}");
            }
        }
    }
}

/// Added base or acid changes the protons by 9 powers of ten at an instant: Newton's method stays on the positive branch.
#[test]
fn no_instant_ends_on_another_solution() {
    let dir = scratch("branches-events");
    let at = "at 1 { Na += 0.2 }\nat 2 { Na -= 0.2 }\nat 3 { Na += 0.095 }\nat 4 { Na -= 0.03 }\n";
    let end = "A' = -0.1 [1/s]*A\nNa' = 0\nrun { t = 0 .. 5; samples = 5; atol = 1e-16 }\n";
    std::fs::write(dir.join("poured.ode"), format!("{START}{}{at}{end}", BALANCES[0])).expect("scratch");
    for method in ["auto", "radau5", "bdf"] {
        let ran = run_in(&dir, &["run", "poured.ode", "--method", method, "--record", "A,Na,h"], b"").success();
        for row in ran.text().lines().skip(1) {
            let [_, acid, base, h] = numbers(row);
            let acid = acid * 1e-3;
            // the only positive solution, by halving in the logarithm
            let (mut low, mut high) = (1e-16f64, 1.0f64);
            for _ in 0..200 {
                let middle = (low * high).sqrt();
                let charge = middle + base - 1e-14 / middle - acid * 1.8e-5 / (1.8e-5 + middle);
                if charge < 0.0 { low = middle } else { high = middle }
            }
            assert!((h / low - 1.0).abs() < 1e-5, "{method}: {row}, not {low}");
        }
    }
}
