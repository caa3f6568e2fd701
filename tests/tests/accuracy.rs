//! The error of whole runs against reference solutions with at least 15 digits, at three tolerances.
//!
//! The error is max_i |y_i - ref_i| / (|ref_i| + scale_i), and the absolute tolerance of a state is rtol * scale_i.
//! References: Test Set for IVP Solvers (Bari) and Robertson's problem at 40, recomputed by Radau IIA of order 13 in
//! quadruple precision; more digits than a double holds are cut.

use odec_tests::command::{run, run_in, scratch};

struct Case {
    name: &'static str,
    model: &'static str,
    t_end: &'static str,
    /// Name, reference value, scale.
    reference: &'static [(&'static str, f64, f64)],
}

#[rustfmt::skip]
const CASES: [Case; 6] = [
    Case {
        name: "Robertson to 40",
        model: "models/robertson.ode",
        t_end: "40",
        reference: &[("A", 0.715827068719405, 1e-6), ("B", 9.185534764557764e-6, 1e-10), ("C", 0.28416374574583037, 1e-6)],
    },
    Case {
        name: "Robertson to 1e11",
        model: "models/robertson.ode",
        t_end: "1e11",
        reference: &[("A", 2.083340149701294e-8, 1e-8), ("B", 8.333360770334784e-14, 1e-13), ("C", 0.9999999791665152, 1e-6)],
    },
    Case {
        name: "HIRES",
        model: "models/hires.ode",
        t_end: "321.8122",
        reference: &[
            ("Pr", 0.0007371312573325667, 1e-4), ("Pfr", 0.00014424857263161848, 1e-4), ("PrX", 5.888729740967575e-5, 1e-4),
            ("PfrX", 0.001175651343283149, 1e-4), ("PrX2", 0.0023863561988313304, 1e-4), ("PfrX2", 0.0062389682527427956, 1e-4),
            ("PfrX2E", 0.0028499983951857685, 1e-4), ("E", 0.0028500016048142313, 1e-4),
        ],
    },
    Case {
        name: "POLLU",
        model: "models/pollu.ode",
        t_end: "60",
        reference: &[
            ("NO2", 0.056462554800227695, 1e-6), ("NO", 0.13424841304223384, 1e-6), ("O", 4.139734331099427e-9, 1e-6),
            ("O3", 0.00552314020748436, 1e-6), ("HO2", 2.018977262302196e-7, 1e-6), ("OH", 1.4645418634939657e-7, 1e-6),
            ("HCHO", 0.07784249118997964, 1e-6), ("CO", 0.3245075353396018, 1e-6), ("ALD", 0.007494013383880406, 1e-6),
            ("MEO2", 1.6222931573015602e-8, 1e-6), ("C2O3", 1.1358638332570748e-8, 1e-6), ("CO2", 0.00223050597572136, 1e-6),
            ("PAN", 0.000208716288279863, 1e-6), ("CH3O", 1.3969210168401577e-5, 1e-6), ("HNO3", 0.008964884856898295, 1e-6),
            ("O1D", 4.352846369330104e-18, 1e-6), ("SO2", 0.006899219696263405, 1e-6), ("SO4", 0.0001007803037365946, 1e-6),
            ("NO3", 1.7721465139699844e-6, 1e-6), ("N2O5", 5.682943292316393e-5, 1e-6),
        ],
    },
    Case {
        name: "OREGO",
        model: "models/orego.ode",
        t_end: "360",
        reference: &[("x", 1.0008148703185227, 1e-6), ("y", 1228.178521549888, 1e-6), ("z", 132.05549428465082, 1e-6)],
    },
    Case {
        name: "van der Pol, mu = 1000",
        model: "models/van_der_pol.ode",
        t_end: "2000",
        reference: &[("x", 1.706167732170465, 1e-2), ("x'", -0.0008928097010248166, 1e-3)],
    },
];

/// Error over rtol.
fn error(case: &Case, method: &str, rtol: &str) -> f64 {
    let tolerance: f64 = rtol.parse().expect("a number");
    let mut arguments: Vec<String> =
        ["run", case.model, "--quiet", "--method", method, "--rtol", rtol, "--t-end", case.t_end, "--samples", "1"]
            .map(str::to_owned)
            .to_vec();
    for (name, _, scale) in case.reference {
        arguments.extend(["--atol".to_owned(), format!("{name}={:e}", tolerance * scale)]);
    }
    let ran = run(&arguments).success();
    let table = ran.text();
    let columns: Vec<&str> = table.lines().next().expect("a head line").split(',').collect();
    let last: Vec<f64> = table.lines().last().expect("rows").split(',').map(|v| v.parse().expect("a number")).collect();
    assert_eq!(last[0], case.t_end.parse::<f64>().expect("a number"));
    let one = |(name, known, scale): &(&str, f64, f64)| {
        let at = columns.iter().position(|c| c == name).unwrap_or_else(|| panic!("no column {name} in {columns:?}"));
        (last[at] - known).abs() / (known.abs() + scale)
    };
    case.reference.iter().map(one).fold(0.0, f64::max) / tolerance
}

#[test]
fn errors_stay_near_the_tolerance() {
    let mut wrong = Vec::new();
    for case in &CASES {
        for method in ["bdf", "rodas4"] {
            let bound = if case.name == "OREGO" && method == "bdf" { 300.0 } else { 100.0 };
            let errors = ["1e-4", "1e-6", "1e-8"].map(|rtol| error(case, method, rtol));
            println!("{:24} {method:8} error/rtol at 1e-4, 1e-6, 1e-8: {errors:9.3?}", case.name);
            if errors.iter().any(|e| !e.is_finite() || *e >= bound) {
                wrong.push(format!("{} {method}: {errors:?}, bound {bound}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The last row of a problem of `tests/problems` with `auto` at equal tolerances but for `floor`, and the largest value in
/// each column.
fn automatic(problem: &str, rtol: f64, floor: f64) -> (Vec<f64>, Vec<f64>) {
    let (model, atol) = (format!("tests/problems/{problem}.ode"), format!("{:e}", floor * rtol));
    let rtol = format!("{rtol:e}");
    let words = ["run", &model, "--quiet", "--rtol", &rtol, "--atol", &atol, "--samples", "200", "--record", "states"];
    let ran = run(&words.map(str::to_owned)).success();
    let table = ran.text();
    let row = |line: &str| line.split(',').map(|v| v.parse().expect("a number")).collect();
    let rows: Vec<Vec<f64>> = table.lines().skip(1).map(row).collect();
    let largest = |k: usize| rows.iter().map(|row| row[k]).fold(f64::MIN, f64::max);
    (rows[rows.len() - 1].clone(), (0..rows[0].len()).map(largest).collect())
}

#[test]
fn populations_that_fall_below_their_tolerance_come_back() {
    for (rtol, floor) in [(1e-4, 1.0), (1e-6, 1e-3), (1e-8, 1e-3)] {
        let (last, _) = automatic("seir_seasonal", rtol, floor);
        let error = (last[1] - 0.02907027699034762).abs() / (rtol * (floor + 0.029));
        assert!(error <= 1.0, "{rtol:e}: {error} tolerances");
    }
}

#[test]
fn a_reaction_that_decays_to_zero_reaches_its_end() {
    for rtol in [1e-4, 1e-6, 1e-8] {
        let (last, _) = automatic("e5_1e13", rtol, 1e-3);
        assert!(last[1..].iter().all(|y| y.abs() <= rtol), "{last:?}");
    }
}

#[test]
fn a_short_pulse_after_a_long_rest_is_found() {
    for rtol in [1e-4, 1e-6, 1e-8] {
        let (_, largest) = automatic("pulse_late", rtol, 1e-3);
        // its area is sqrt(pi)/2, and it decays meanwhile
        assert!(largest[1] > 0.4 && largest[1] < 0.9, "{rtol:e}: {}", largest[1]);
    }
}

/// The value of `x` at t = 52 of a model that is at rest but for a short time around t = 50.
fn after_a_pulse(name: &str, term: &str, method: &str) -> f64 {
    let folder = scratch(&format!("pulses-{name}"));
    let text = format!("param w = 0.01, c = 50\nstate x = 0\nx' = {term} - x\nrun {{ t = 0 .. 52; samples = 10 }}\n");
    std::fs::write(folder.join("pulse.ode"), text).expect("a writable folder");
    let arguments = ["run", "pulse.ode", "--quiet", "--method", method].map(str::to_owned);
    let ran = run_in(&folder, &arguments, b"").success();
    let table = ran.text();
    let last = table.lines().last().expect("rows");
    last.split(',').nth(1).expect("a column").parse().expect("a number")
}

#[test]
fn no_method_passes_over_a_pulse_of_a_term_of_time() {
    let w = 0.01_f64;
    let root = std::f64::consts::PI.sqrt();
    let decayed = |area: f64| area * (-2.0_f64).exp();
    let terms = [
        ("gauss", "exp(-((t - c)/w)^2)", decayed(w * root * (w * w / 4.0).exp()), 1e-4),
        ("bell", "exp(-(t - c)^2/(2*w^2))", decayed(w * root * 2.0_f64.sqrt() * (w * w / 2.0).exp()), 1e-4),
        // the area between two fronts
        ("fronts", "tanh((t - c)/w) - tanh((t - c - 5*w)/w)", decayed(2.0 * 5.0 * w * 1.0253), 1e-3),
        (
            "wave",
            "exp((cos(2*pi*(t - c)/40) - 1)/w^2)",
            decayed(w * 40.0 / (2.0 * std::f64::consts::PI) * root * 2.0_f64.sqrt() * 1.002),
            2e-3,
        ),
    ];
    let general = ["auto", "bs32", "dopri5", "tsit5", "vern7", "vern9", "dop853", "heun", "abm", "bdf"];
    let stiff = ["sdirk2", "tr-bdf2", "kencarp4", "radau5", "ros2", "rodas3", "rodas4", "rodas5p", "trapezoidal"];
    let mut wrong = Vec::new();
    for (name, term, known, part) in terms {
        let series = if name == "gauss" || name == "bell" { &["taylor"][..] } else { &[] };
        for method in general.iter().chain(&stiff).chain(series) {
            let found = after_a_pulse(name, term, method);
            if (found - known).abs() > part * known {
                wrong.push(format!("{name}, {method}: {found:e} and not {known:e}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_run_ends_where_the_factor_of_a_derivative_vanishes() {
    let folder = scratch("vanishing-factor");
    std::fs::write(folder.join("m.ode"), "state x = 1\n(2 - t)*x' = -x\nrun { t = 0 .. 4 }\n")
        .expect("a writable folder");
    for method in ["auto", "taylor", "vern7", "rodas4", "bdf", "radau5"] {
        let ran = run_in(&folder, &["run", "m.ode", "--method", method].map(str::to_owned), b"");
        assert!(ran.code != Some(0) && ran.err.contains("(2 - t)"), "{method}: {}", ran.err);
    }
}

/// 1,000 rows of a model; the absolute tolerance is `floor` times the relative one.
fn rows_of(model: &str, method: &str, rtol: f64, floor: f64) -> Vec<Vec<f64>> {
    let (rtol, atol) = (format!("{rtol:e}"), format!("{:e}", rtol * floor));
    let words = ["run", model, "--quiet", "--method", method, "--rtol", &rtol, "--atol", &atol, "--samples", "1000"];
    let ran = run(&words.map(str::to_owned)).success();
    let row = |line: &str| line.split(',').map(|v| v.parse().expect("a number")).collect();
    ran.text().lines().skip(1).map(row).collect()
}

/// The largest error over rows in tolerances, by the largest value of each state; the reference is by `vern9`.
fn row_error(model: &str, method: &str, rtol: f64) -> f64 {
    let (rows, known) = (rows_of(model, method, rtol, 1e-3), rows_of(model, "vern9", 1e-12, 1e-6));
    assert_eq!(rows.len(), known.len());
    let columns = 1..known[0].len();
    let of = |k: usize| {
        let size = known.iter().map(|row| row[k].abs()).fold(0.0, f64::max);
        let error = rows.iter().zip(&known).map(|(a, b)| (a[k] - b[k]).abs()).fold(0.0, f64::max);
        error / (rtol * (size + 1e-3))
    };
    columns.map(of).fold(0.0, f64::max)
}

/// Cases that fall to a hundredth of a percent, and whose next wave is late or early by the relative error of their low.
const EPIDEMIC: &str = "model epidemic
param b0 = 1250, b1 = 0.08, mu = 0.02, s = 35.84, g = 100
state S = 0.06, E = 1e-4, I = 1e-4
b = b0*(1 + b1*cos(2*pi*t))
S' = mu*(1 - S) - b*S*I
E' = b*S*I - (mu + s)*E
I' = s*E - (mu + g)*I
run { t = 0 .. 5 }
";

/// A laser whose loss falls at t = 20: photons grow from spontaneous emission to a pulse.
const LASER: &str = "model laser
param k = 100
state n = 0.1, q = 1e-5
loss = (if t < 20 then 10 else 1)
q' = k*(n - loss)*q*0.1 + 1e-6*n
n' = (3 - n - n*q)*0.1
run { t = 0 .. 100 }
";

#[test]
fn a_state_that_grows_again_after_a_minimum_is_on_time() {
    let folder = scratch("accuracy-lows");
    for (name, text, rtol, most) in
        [("epidemic", EPIDEMIC, 1e-4, 10.0), ("epidemic", EPIDEMIC, 1e-6, 10.0), ("laser", LASER, 1e-8, 5.0)]
    {
        let model = folder.join(format!("{name}.ode"));
        std::fs::write(&model, text).expect("a model");
        let error = row_error(&model.display().to_string(), "auto", rtol);
        assert!(error <= most, "{name} at {rtol:e}: {error} tolerances");
    }
}

#[test]
fn rows_of_pairs_of_order_5_are_as_accurate_as_the_ends_of_their_steps() {
    for method in ["dopri5", "tsit5"] {
        let error = row_error("tests/problems/detest_E5.ode", method, 1e-8);
        assert!(error <= 1.0, "{method}: {error} tolerances");
    }
}

#[test]
fn rows_in_steps_at_the_limit_of_stability_are_checked() {
    for (problem, method, rtol, most) in [
        ("detest_C4", "vern7", 1e-4, 1.5),
        ("detest_C4", "vern7", 1e-6, 1.5),
        ("detest_C4", "dop853", 1e-8, 0.5),
        ("stiffdetest_E1", "tsit5", 1e-6, 2.5),
    ] {
        let error = row_error(&format!("tests/problems/{problem}.ode"), method, rtol);
        assert!(error <= most, "{problem}, {method} at {rtol:e}: {error} tolerances");
    }
}

#[test]
fn rows_between_the_extrapolated_ends_of_two_half_steps_are_checked() {
    let error = row_error("tests/problems/detest_F4.ode", "ssprk33", 1e-8);
    assert!(error <= 2.0, "{error} tolerances");
}
