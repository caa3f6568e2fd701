//! Sizes of states and tolerances: a solution multiplied by any power of ten takes the same steps, and a state that begins
//! at 0 may become much larger than its absolute tolerance.

use std::fs;

use odec_tests::command::{run_in, scratch};

/// Methods of each kind that solve equations.
const METHODS: [&str; 9] =
    ["auto", "radau5", "kencarp4", "sdirk2", "trapezoidal", "backward-euler", "implicit-midpoint", "rodas5p", "bdf"];

#[test]
fn states_far_above_their_absolute_tolerance_are_solved() {
    let folder = scratch("scales");
    for (size, atol) in [("1e150", "1e-9"), ("1e150", "1e-6"), ("1", "1e-170"), ("1", "1e-300"), ("1e-170", "1e-300")] {
        let model = format!(
            "state x = {size}, y = 0\nx' = -x\ny' = x - 2*y\nrun {{ t = 0 .. 2; rtol = 1e-6; atol = {atol}; samples = 1 }}\n"
        );
        fs::write(folder.join("decay.ode"), model).expect("a writable folder");
        let size: f64 = size.parse().expect("a number");
        for method in METHODS {
            let ran = run_in(&folder, &["run", "decay.ode", "--method", method], b"").success();
            let text = ran.text();
            let last = text.lines().last().expect("a row");
            let row: Vec<f64> = last.split(',').map(|v| v.parse().expect("a number")).collect();
            let exact = [(-2f64).exp(), (-2f64).exp() - (-4f64).exp()];
            for (v, exact) in row[1..].iter().zip(exact) {
                assert!((v / size - exact).abs() < 2e-3 * exact, "{method} {size:e} {atol}: {row:?}");
            }
        }
    }
}

/// Uranium in seconds: the powers of a step of 1e17 s, and the coefficients that they multiply, leave the range of
/// doubles.
#[test]
fn solutions_in_long_times_have_finite_and_right_rows() {
    let folder = scratch("scales-long");
    let (slow, fast) = (4.915937450779754e-18, 3.150669002545206e-17);
    let model = format!(
        "param slow = {slow:e}, fast = {fast:e}\nstate A = 1, B = 0\nA' = -slow*A\nB' = slow*A - fast*B\n\
         run {{ t = 0 .. 1.4e18; samples = 173 }}\n"
    );
    fs::write(folder.join("decay.ode"), model).expect("a writable folder");
    for method in ["auto", "taylor", "vern9"] {
        for rtol in ["1e-10", "1e-12"] {
            let arguments = ["run", "decay.ode", "--method", method, "--rtol", rtol, "--atol", "1e-13"];
            let ran = run_in(&folder, &arguments, b"").success();
            for line in ran.text().lines().skip(1) {
                let row: Vec<f64> = line.split(',').map(|v| v.parse().expect("a number")).collect();
                let [a, b] = [slow, fast].map(|rate| (-rate * row[0]).exp());
                let exact = [a, slow / (fast - slow) * (a - b)];
                let near = row[1..].iter().zip(exact).all(|(v, exact)| (v - exact).abs() < 1e-11);
                assert!(near, "{method} {rtol}: {row:?}, exact {exact:?}");
            }
        }
    }
}

#[test]
fn equal_solutions_of_different_size_take_equal_steps() {
    let folder = scratch("scales-equal");
    for method in METHODS {
        let steps = |size: &str| {
            let model =
                format!("state x = {size}\nx' = -x\nrun {{ t = 0 .. 2; rtol = 1e-6; atol = 0; samples = 1 }}\n");
            fs::write(folder.join("decay.ode"), model).expect("a writable folder");
            let ran = run_in(&folder, &["run", "decay.ode", "--method", method, "-o", "rows.csv"], b"").success();
            ran.text().lines().chain(ran.err.lines()).find(|line| line.starts_with("steps")).map(str::to_owned)
        };
        let one = steps("1");
        assert!(one.is_some() && one == steps("1e150") && one == steps("1e-170"), "{method}: {one:?}");
    }
}
