//! Times so large that neighbouring floating-point numbers are far apart.

use crate::monitor::simulation;

/// The largest error of x = cos(w*(t - t0)) over the rows.
fn error(text: &str, w: f64) -> f64 {
    let solution = simulation(text).solve().expect("a run");
    let (t, x) = (solution.column("t").expect("time"), solution.column("x").expect("x"));
    let t: Vec<f64> = t.collect();
    let t0 = t[0];
    t.iter().zip(x).map(|(t, x)| (x - (w * (t - t0)).cos()).abs()).fold(0.0, f64::max)
}

#[test]
fn an_autonomous_model_is_equally_accurate_at_large_times() {
    for (method, most) in [("auto", 1e-6), ("tsit5", 2e-5), ("taylor", 1e-6), ("radau5", 1e-5), ("rodas5p", 1e-5)] {
        // 50 Hz at a time of this century in seconds since 1970, and a cycle at a time of 1e12
        for (w, start, length) in [(100.0 * std::f64::consts::PI, 1.7e9, 1.0), (1.0, 1e12, 20.0)] {
            let text = format!(
                "param w = {w}\nstate x = 1, v = 0\nx' = v*w\nv' = -x*w\nrun {{ t = {start} .. {start} + {length}; method = {method}; samples = 320 }}\n"
            );
            assert!(error(&text, w) < most, "{method} from {start}: {:e}", error(&text, w));
        }
    }
}

#[test]
fn terms_of_a_large_time_are_as_accurate_as_their_argument_or_the_run_fails() {
    // x of x' = -x + sin(50*t) from 0 on, with the values that the sine has at these times
    let text = "state x = 0\nx' = -x + sin(50*t)\nrun { t = 1.7e9 .. 1700000010; samples = 200; method = METHOD }\n";
    let steady = |t: f64| ((50.0 * t).sin() - 50.0 * (50.0 * t).cos()) / 2501.0;
    for method in ["auto", "tsit5", "bdf"] {
        let solution = simulation(&text.replace("METHOD", method)).solve().expect("a run");
        let (t, x) = (solution.column("t").expect("time"), solution.column("x").expect("x"));
        let exact = |t: f64| steady(t) - steady(1.7e9) * (1.7e9 - t).exp();
        let most = t.zip(x).map(|(t, x)| (x - exact(t)).abs()).fold(0.0, f64::max);
        assert!(most < 5e-6, "{method}: {most:e}");
    }
    let text = "state x = 0\nx' = -x + sin(t)\nrun { t = 1e13 .. 10000000000020 }\n";
    let told = simulation(text).solve().expect_err("no steps there").to_string();
    assert!(told.contains("numbers near t = 1e13 are 0.00195312 apart") && told.contains("begin at 0"), "{told}");
}
