//! Commands that show properties of a model or method: `order`, `compare`, `field`, and `run --table`.

use crate::common;

use common::{DECAY, Folder, model};

fn cells(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The cells of the row of a table that begins with this word.
#[track_caller]
fn row<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let found = text.lines().map(cells).find(|c| c.first() == Some(&first));
    found.unwrap_or_else(|| panic!("no row `{first}` in\n{text}"))
}

#[track_caller]
fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// The number after `fitted order`.
#[track_caller]
fn fitted(text: &str) -> f64 {
    let line =
        text.lines().find_map(|l| l.strip_prefix("fitted order ")).unwrap_or_else(|| panic!("no fit in\n{text}"));
    number(line.split(',').next().unwrap_or(""))
}

/// A pendulum with its force as an algebraic unknown.
const ROD: &str = "param g = 9.81, L = 1\nstate x = L*sin(1), y = -L*cos(1), u = 0, v = 0\nunknown T = 0\nx' = u\n\
                   y' = v\nu' = -T*x\nv' = -T*y - g\nx^2 + y^2 = L^2\nrun { t = 0 .. 2 }\n";

#[test]
fn the_order_of_methods_is_seen() {
    let folder = Folder::new("order");
    for (method, p) in
        [("euler", 1.0), ("midpoint", 2.0), ("rk4", 4.0), ("trapezoidal", 2.0), ("rodas4", 4.0), ("bdf3", 3.0)]
    {
        let out = folder
            .run(&["order", &model("lotka_volterra.ode"), "--method", method, "--t-end", "3", "-o", "o.svg"])
            .exits(0)
            .out();
        assert!((fitted(&out) - p).abs() < 0.25, "{method}: {out}");
        assert!(!out.contains("It is "), "{out}");
    }
    // errors of the table are those of Euler's closed form on y' = -y
    let out =
        folder.run(&["order", &model("bead.ode"), "--set", "k=1", "--method", "euler", "-o", "o.png"]).exits(0).out();
    let (errors, exact): (Vec<f64>, Vec<f64>) = ["20", "40", "80"]
        .iter()
        .map(|steps| {
            let n = number(steps);
            let closed = |t: f64| 100.0 * ((1.0 - 1.0 / n).powf(t * n) - (-t).exp());
            let worst = (1..=20).map(|i| closed(f64::from(i) / 20.0).abs()).fold(0.0, f64::max);
            (number(row(&out, steps)[2]), worst / (100.0 + 1e-2))
        })
        .unzip();
    for (e, x) in errors.iter().zip(&exact) {
        assert!((e - x).abs() < 1e-3 * x, "{errors:?} and not {exact:?}");
    }
    assert!(std::fs::read(folder.path("o.png")).expect("a picture").starts_with(b"\x89PNG"));
    // where a solution passes zero, |y - ref| / |ref| would be far above the error that a plot shows
    let folder = folder.with("swing.ode", "state x = 1, x' = 0\nx'' = -x\nrun { t = 0 .. 20 }\n");
    let out = folder.run(&["order", "swing.ode", "--method", "velocity-verlet", "-o", "o.svg"]).exits(0).out();
    let h = 20.0f64 / 160.0;
    let turn = 2.0 * (h / 2.0).asin();
    let worst = (1..=20).map(|i| (f64::from(i), f64::from(i) / h * turn)).fold(0.0f64, |worst, (t, angle)| {
        worst.max((angle.cos() - t.cos()).abs()).max((angle.sin() * (turn / 2.0).cos() - t.sin()).abs())
    });
    let error = number(row(&out, "160")[2]);
    assert!((error - worst).abs() < 0.01 * worst, "{error} and not {worst}: {out}");
    // 20 steps are accurate to 3e-9 already
    let folder = folder.with("course.ode", "state y = 1\ny' = -y + sin(t)\nrun { t = 0 .. 2 }\n");
    let out = folder.run(&["order", "course.ode", "--method", "dopri5", "-o", "o.svg"]).exits(0).out();
    assert!(out.contains("of the state at 4 times") && (fitted(&out) - 5.0).abs() < 0.25, "{out}");
    // iterations of these methods reach 1e-11 in a model of index 3
    let folder = folder.with("rod.ode", ROD);
    for (method, p) in [("bdf4", 4.0), ("bdf5", 5.0), ("bdf6", 6.0)] {
        let out = folder.run(&["order", "rod.ode", "--method", method, "-o", "o.svg"]).exits(0).out();
        assert!((fitted(&out) - p).abs() < 0.25, "{method}: {out}");
    }
}

#[test]
fn an_order_that_cannot_be_measured_is_refused() {
    let folder = Folder::new("order-refused").with("decay.ode", DECAY);
    folder.run(&["order", "decay.ode", "--method", "bdf", "-o", "o.svg"]).exits(2).says("constant step");
    assert!(!folder.path("o.svg").exists());
}

#[test]
fn methods_are_compared() {
    let folder = Folder::new("compare");
    let bead = model("bead.ode");
    let run = |flags: &[&str]| folder.run(&[&["compare", &bead, "-o", "c.svg"], flags].concat()).exits(0).out();
    let out = run(&["--methods", "euler,backward-euler,bdf", "--step", "0.2"]);
    assert!(row(&out, "euler").join(" ").contains("blew up by t = "), "{out}");
    let implicit = row(&out, "backward-euler");
    assert_eq!(implicit[1], "reached");
    // x(1) = 100/1.2^5, relative to the largest x, 100
    let error = (1.2f64.powi(-5) - (-1f64).exp()) * 100.0 / 100.01;
    assert!((number(implicit[2]) - error).abs() < 1e-4 * error.max(1.0), "{out}");
    assert_eq!(row(&out, "bdf")[1], "refused");
    assert!(out.contains("the run sets a constant step"), "{out}");

    let out = run(&["--methods", "rodas4,bdf", "--rtol", "1e-7", "--work", "steps"]);
    for name in ["rodas4", "bdf"] {
        let error = number(row(&out, name)[2]);
        assert!(error > 1e-10 && error < 1e-4, "{out}");
    }
    assert!(folder.read("c.svg").contains("steps"));
}

#[test]
fn drifts_and_counts_stand_in_the_table() {
    let folder = Folder::new("compare-drift");
    let arguments =
        ["compare", &model("kepler.ode"), "--methods", "rk4,midpoint", "--step", "0.01", "--t-end", "1", "-o", "c.png"];
    let out = folder.run(&arguments).exits(0).out();
    assert!(out.contains("drift of energy") && out.contains("drift of momentum"), "{out}");
    let (rk4, midpoint) = (row(&out, "rk4"), row(&out, "midpoint"));
    let (small, large) = (number(rk4[3]).abs(), number(midpoint[3]).abs());
    assert!(small > 0.0 && small < 1e-3 * large, "{out}");
    // 100 steps of four and of two evaluations; the first of a step may be shared with the last of the step before
    assert_eq!(rk4[5], "100");
    let f = number(rk4[6]);
    assert!((400.0..=501.0).contains(&f), "{out}");
}

#[test]
fn equilibria_have_their_types() {
    let folder = Folder::new("field");
    let out = folder.run(&["field", &model("lotka_volterra.ode"), "-o", "f.svg"]).exits(0).out();
    let saddle = row(&out, "saddle");
    assert_eq!((saddle[1], saddle[2]), ("0", "0"), "{out}");
    assert!(out.contains("-3, 1.5"), "{out}");
    let centre = row(&out, "centre");
    assert!((number(centre[1]) - 3.0).abs() < 1e-9 && (number(centre[2]) - 1.5).abs() < 1e-9, "{out}");
    assert!(out.contains("±2.12132i"), "{out}");

    let pendulum = model("pendulum.ode");
    let arguments = ["field", &pendulum, "θ", "θ'", "--x-range=-4..4", "--y-range=-9..9", "-o", "f.png"];
    let out = folder.run(&arguments).exits(0).out();
    assert_eq!(out.lines().filter(|l| l.starts_with("saddle")).count(), 2, "{out}");
    assert!((number(row(&out, "saddle")[1]) + std::f64::consts::PI).abs() < 1e-5, "{out}");
    assert_eq!(out.lines().filter(|l| l.starts_with("centre")).count(), 1, "{out}");

    // the other types, by their eigenvalues
    for (a, b, c, d, kind) in [
        (-1, 0, 0, -2, "stable node"),
        (1, 0, 0, 2, "unstable node"),
        (-1, 3, -3, -1, "stable focus"),
        (1, 3, -3, 1, "unstable focus"),
    ] {
        let text =
            format!("state x = 1, y = 0.5\nx' = ({a})*x + ({b})*y\ny' = ({c})*x + ({d})*y\nrun {{ t = 0 .. 1 }}\n");
        let folder = Folder::new(&kind.replace(' ', "-")).with("m.ode", &text);
        let flags = ["field", "m.ode", "--x-range=-1..1", "--y-range=-1..1", "-o", "f.svg"];
        let out = folder.run(&flags).exits(0).out();
        assert!(out.lines().any(|l| l.starts_with(kind)), "{kind}: {out}");
    }
}

#[test]
fn fields_that_cannot_be_drawn() {
    let folder = Folder::new("field-bad")
        .with("decay.ode", DECAY)
        .with("line.ode", "state x = 1, y = 1\nx' = x - y\ny' = y - x\nrun { t = 0 .. 1 }\n");
    folder.run(&["field", "decay.ode"]).exits(2).says("two states");
    let lorenz = model("lorenz.ode");
    folder.run(&["field", &lorenz, "x", "nothing"]).exits(2).says("E0706");
    folder.run(&["field", &lorenz, "x", "x"]).exits(2).says("both axes");
    folder.run(&["field", &lorenz, "x", "z", "--x-range", "3..1"]).exits(2).says("E0705");
    folder.run(&["field", &lorenz, "x", "z", "--at=-5"]).exits(2).says("the run does not contain this time");
    folder.run(&["field", "line.ode", "-o", "f.svg"]).exits(0).prints("not isolated");
    folder
        .run(&["field", &lorenz, "x", "z", "--t-end", "5", "--at", "2", "-o", "f.svg"])
        .exits(0)
        .prints("fixed at their values at t = 2");
}

#[test]
fn a_table_shows_the_steps() {
    let folder = Folder::new("table");
    let out = folder.run(&["run", &model("bead.ode"), "--run", "euler", "--table", "-q"]).exits(0).out();
    assert_eq!(row(&out, "step"), ["step", "t", "x", "y"]);
    assert_eq!(row(&out, "0"), ["0", "0", "100", "100"]);
    assert_eq!(row(&out, "1"), ["1", "0.0015", "99.85", "-50"]);
    assert_eq!(row(&out, "3"), ["3", "0.0045", "99.5506747", "-12.5"]);
    let width = out.lines().next().map_or(0, str::len);
    assert!(out.lines().all(|l| l.len() == width), "{out}");
    assert_eq!(out.lines().count(), 12);
    // each step is a row, regardless of the samples in the model, unless the command line gives others
    let folder = folder.with("decay.ode", DECAY);
    let rows = |flags: &[&str]| {
        folder.run(&[&["run", "decay.ode", "--table", "-q"], flags].concat()).exits(0).out().lines().count()
    };
    assert_eq!(rows(&["--method", "rk4", "--step", "0.1"]), 22);
    assert_eq!(rows(&["--samples", "3"]), 5);
}

/// Two coupled equations, whose mass matrix depends on the angle.
const CART: &str = "\
model cart
state x = 0.2, x' = 0
state a = 0.5, a' = 0
3*x'' + cos(a)*a'' = a'^2*sin(a) - 30*x
cos(a)*x'' + a'' = -9.81*sin(a)
conserve E = 3*x'^2/2 + cos(a)*x'*a' + a'^2/2 - 9.81*cos(a) + 15*x^2
run { t = 0 .. 3; method = rk4 }
";

#[test]
fn a_varying_mass_matrix_is_taken_into_account() {
    let folder = Folder::new("cart").with("cart.ode", CART);
    let out = folder.run(&["order", "cart.ode", "-o", "o.svg"]).exits(0).out();
    assert!((fitted(&out) - 4.0).abs() < 0.25, "{out}");
    let out = folder.run(&["compare", "cart.ode", "--methods", "rk4", "--rtol", "1e-8", "-o", "c.svg"]).exits(0).out();
    assert!(number(row(&out, "rk4")[3]).abs() < 1e-6, "{out}");
    // at rest M x'' = -K x with M = [3 1; 1 1] and K = diag(30, 9.81): the squares of the frequencies solve
    // det(K - w M) = 2 w^2 - (30 + 3*9.81) w + 30*9.81 = 0
    let still = ["--set", "x=0", "--set", "a=0", "--step", "0.1", "-o", "s.svg"];
    let out = folder.run(&[&["stability", "cart.ode"], still.as_slice()].concat()).exits(0).out();
    let (b, c) = (30.0 + 3.0 * 9.81, 30.0 * 9.81);
    let fast = ((b + f64::sqrt(b * b - 8.0 * c)) / 4.0).sqrt();
    let line = out.lines().find_map(|l| l.strip_prefix("largest stable step")).expect("a step");
    assert!((number(line.trim()) - 8f64.sqrt() / fast).abs() < 1e-4, "{out}");
}

#[test]
fn costs_are_measured() {
    let folder = Folder::new("bench");
    let flags = ["--methods", "rk4,bdf,rodas4,verlet", "--rtols", "1e-3,1e-6", "--repeat", "3"];
    let hires = model("hires.ode");
    let out = folder.run(&[&["bench", &hires][..], &flags].concat()).exits(0).out();
    let errors: Vec<f64> = out
        .lines()
        .map(cells)
        .filter(|c| c.first() == Some(&"rodas4"))
        .map(|c| {
            assert_eq!((c[2], c[8]), ("reached", "3"), "{out}");
            number(c[3])
        })
        .collect();
    assert!(errors.len() == 2 && errors[1] < errors[0] && errors[1] < 1e-4, "{out}");
    assert!(out.lines().any(|l| cells(l).starts_with(&["velocity-verlet", "1e-3", "refused"])), "{out}");
    assert_eq!(out.matches("velocity-verlet: ").count(), 1, "{out}");
    let out = folder.run(&[&["bench", &hires, "--json"][..], &flags].concat()).exits(0).out();
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    let bdf = runs.iter().find(|r| r["method"] == "bdf").unwrap();
    assert!(bdf["minimum"].as_f64().unwrap() <= bdf["median"].as_f64().unwrap() && bdf["f"].as_u64().unwrap() > 10);
    assert!(runs.iter().all(|r| r["reason"].is_string() == (r["end"] == "refused")), "{out}");
    folder.run(&["bench", &hires, "--repeat", "0"]).exits(2);
    folder.run(&["bench", &hires, "--rtol", "1e-3"]).exits(2);
    folder.run(&["bench", &hires, "--rtols", "2"]).exits(2);
    folder.run(&["bench", &hires, "--step", "0.1"]).exits(2);
    folder.run(&["bench", &hires, "--samples", "10"]).exits(2);
    let few = ["bench", &hires, "--methods", "rodas4", "--rtols", "1e-4", "--repeat", "1", "--max-steps", "10"];
    // nothing was measured
    let out = folder.run(&few).exits(3).out();
    assert!(out.contains("failed at"), "{out}");
    // a run long enough for fused steps reports them
    let text =
        "state x = 1, v = 0\nx' = v\nv' = -x - x^3\nrun { t = 0 .. 4000; rtol = 1e-6; method = rodas4; samples = 1 }\n";
    let folder = folder.with("long.ode", text);
    folder.run(&["run", "long.ode", "-o", "long.csv"]).exits(0).says("fused steps in machine code");
}

/// A warning about a run has two places, a setting and a state. A comment on the line of either turns it off.
#[test]
fn a_warning_about_a_run_is_turned_off_at_either_of_its_places() {
    let model = |state: &str, samples: &str| {
        format!("state x = 0, v = 1 {state}\nx' = v\nv' = -x\nrun {{\n  t = 0 .. 100\n  samples = 20 {samples}\n}}\n")
    };
    let turned_off = "# allow W0608";
    for (state, samples, shown) in
        [("", "", true), (turned_off, "", false), ("", turned_off, false), ("# allow W0607", "", true)]
    {
        let folder = Folder::new("allowed").with("spring.ode", &model(state, samples));
        let said = folder.run(&["run", "spring.ode", "-o", "rows.csv"]).exits(0).err();
        assert_eq!(said.contains("W0608"), shown, "{said}");
    }
}

#[test]
fn a_single_method_of_auto_is_named() {
    let text = "state x = 1, y = 0\nx' = y\ny' = -sin(x)\nrun { t = 0 .. 10 }\n";
    let folder = Folder::new("chosen").with("swing.ode", text);
    for command in ["order", "stability"] {
        let out = folder.run(&[command, "swing.ode", "-o", "o.svg"]).exits(0).out();
        assert!(out.starts_with("method ") && out.contains("`auto` takes it for stiff parts"), "{out}");
        let out = folder.run(&[command, "swing.ode", "--method", "rk4", "-o", "o.svg"]).exits(0).out();
        assert!(!out.contains("auto"), "{out}");
    }
    folder.run(&["order", "swing.ode", "--step", "0.7", "-o", "o.svg"]).exits(2).says("no `--step`");
    folder.run(&["order", "swing.ode", "--method", "abm", "-o", "o.svg"]).exits(2).says("`abm2`, `abm3` or `abm4`");
}
