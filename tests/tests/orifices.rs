//! Laws whose right-hand side has a value on one side of their surface only: flow through an orifice, forces with a root.

use odec_tests::command::scratch;
use odec_tests::share::Share;

use crate::events::{number, odec, table};

/// x and v at t = 20 from x = 1, v = 0 with v' = -sign(x) |x|^p, by the integral of energy in high precision.
const ROOT: [f64; 2] = [-0.599_532_244_890_064_6, -0.845_210_328_729_293_4];
const POWER: [f64; 2] = [0.967_521_388_549_324_7, -0.251_760_864_340_842_8];

/// The laws as people write them.
const LAWS: [(&str, [f64; 2]); 4] = [
    ("-sign(x)*sqrt(abs(x))", ROOT),
    ("if x > 0 then -sqrt(x) else sqrt(-x)", ROOT),
    ("if x >= 0 then -x^0.5 else (-x)^0.5", ROOT),
    ("-sign(x)*abs(x)^1.5", POWER),
];

/// Error of the last row of an oscillator, in units of the largest value. The only warning is W0622, and it is true.
fn off(folder: &str, text: &str, arguments: &[&str], [x, v]: [f64; 2]) -> f64 {
    let ran = odec(&scratch(folder), text, &[&["run", "M"], arguments].concat()).success();
    let warned = ran.err.contains("warning");
    assert!(!warned || ran.err.matches("warning[").count() == ran.err.matches("warning[W0622]").count(), "{}", ran.err);
    let last = table(&ran.text()).pop().expect("a row");
    let off = (number(&last[1]) - x).abs().max((number(&last[2]) - v).abs());
    let rtol = arguments.iter().skip_while(|a| **a != "--rtol").nth(1).map(|rtol| number(rtol));
    let least = x.abs().min(v.abs());
    assert!(!warned || rtol.is_some_and(|rtol| off > 5.0 * rtol * least), "{off:e}: {}", ran.err);
    off
}

#[test]
fn laws_by_roots_cross_their_surface_by_every_method() {
    let mut share = Share::one_of(4);
    // errors of methods of order 2 add up over 13 crossings, more so at tight tolerances
    let high = ["auto", "tsit5", "vern7", "vern9", "dop853", "taylor", "rodas4", "rodas5p", "radau5", "kencarp4"];
    let low = ["bs32", "rkf45", "rodas3", "tr-bdf2", "sdirk2", "bdf", "rk4", "trapezoidal"];
    for (law, exact) in LAWS {
        let text = format!("state x = 1, v = 0\nx' = v\nv' = {law}\nrun {{ t = 0 .. 20; samples = 1 }}\n");
        for (rtol, atol) in [("1e-4", "1e-7"), ("1e-6", "1e-9"), ("1e-8", "1e-11")] {
            for method in high.into_iter().filter(|_| share.takes()) {
                let off = off("orifices-0", &text, &["--method", method, "--rtol", rtol, "--atol", atol], exact);
                assert!(off <= 100.0 * number(rtol), "{method} {rtol}: {off:e}\n{text}");
            }
            for method in low.into_iter().filter(|_| share.takes()) {
                let off = off("orifices-0", &text, &["--method", method, "--rtol", rtol, "--atol", atol], exact);
                assert!(off <= 5.0 * number(rtol).powf(2.0 / 3.0), "{method} {rtol}: {off:e}\n{text}");
            }
        }
    }
}

#[test]
fn laws_by_roots_cross_their_surface_with_constant_steps() {
    // the error at a crossing has order 1.5 + 1, or the order of the method if that is lower
    let text = "state x = 1, v = 0\nx' = v\nv' = -sign(x)*sqrt(abs(x))\nrun { t = 0 .. 20; samples = 1 }\n";
    for method in ["tsit5", "rk4", "vern7", "rodas3", "rodas4", "rodas5p", "radau5", "kencarp4", "abm4", "bs32"] {
        let coarse = off("orifices-1", text, &["--method", method, "--step", "0.02"], ROOT);
        let fine = off("orifices-1", text, &["--method", method, "--step", "0.005"], ROOT);
        assert!(fine < 1e-3 && fine < 0.15 * coarse, "{method}: {coarse:e} {fine:e}");
    }
}

#[test]
fn elements_cross_their_surfaces_together_and_apart() {
    for start in ["1", "i"] {
        let text = format!(
            "index i = 1..3\nstate x[i] = {start}, v[i] = 0\nx[i]' = v[i]\nv[i]' = -sign(x[i])*sqrt(abs(x[i]))\n\
             run {{ t = 0 .. 20; samples = 1 }}\n"
        );
        for method in ["auto", "tsit5", "vern9", "rodas5p", "radau5", "bdf"] {
            let ran =
                odec(&scratch("orifices-2"), &text, &["run", "M", "--method", method, "--rtol", "1e-7"]).success();
            let last = table(&ran.text()).pop().expect("a row");
            // x scales as the fourth power of time: x(t; a) = a x(t/a^(1/4)), so all runs from x = 1 are the same
            let same = if start == "1" { 1..=3 } else { 1..=1 };
            for column in same {
                let off = (number(&last[column]) - ROOT[0]).abs();
                assert!(off < 2e-4, "{method}, {column}: {off:e}");
            }
        }
    }
}

#[test]
fn two_tanks_with_an_orifice_between_them() {
    // the levels become equal in finite time and stay equal: d' = -sqrt(d) from 1, (1 - t/2)^2. From t = 4 on, the
    // first is filled: d' = 0.1 - sqrt(d), with u = sqrt(d): t - 4 = -2 u - 0.2 ln(1 - 10 u), u(10) = 0.1 to 1e-14
    let equal = "state h1 = 1, h2 = 0\nq = 0.5*sign(h1 - h2)*sqrt(abs(h1 - h2))\nh1' = -q + (if t > 4 then 0.1 else 0)\n\
                 h2' = q\nrun { t = 0 .. 10; samples = [1, 3, 10] }\n";
    let methods =
        ["auto", "tsit5", "vern7", "vern9", "dop853", "rodas5p", "rodas4", "radau5", "bdf", "kencarp4", "tr-bdf2"];
    for method in methods {
        for rtol in ["1e-4", "1e-6", "1e-8"] {
            let ran = odec(&scratch("orifices-3"), equal, &["run", "M", "--method", method, "--rtol", rtol]).success();
            let rows = table(&ran.text());
            let exact = [[0.625, 0.375], [0.5, 0.5], [0.805, 0.795]];
            for (row, exact) in rows.iter().zip(exact) {
                let off = (number(&row[1]) - exact[0]).abs().max((number(&row[2]) - exact[1]).abs());
                assert!(off <= 100.0 * number(rtol), "{method} {rtol}: {off:e} {row:?}");
            }
        }
    }
}

#[test]
fn a_surface_that_is_crossed_does_not_hide_a_place_without_a_value() {
    let text =
        "state x = 1, v = 0\nx' = -1\nv' = if x > 0 then sqrt(x) else sqrt(x - 1)\nrun { t = 0 .. 2; samples = 1 }\n";
    for method in ["auto", "tsit5", "rodas5p"] {
        let ran = odec(&scratch("orifices-4"), text, &["run", "M", "--method", method]);
        assert!(ran.code == Some(3) && ran.err.contains("E0601"), "{method}: {}{}", ran.text(), ran.err);
    }
}

/// If the derivative of a root is infinite, implicit methods continue with a secant.
#[test]
fn every_method_rests_at_a_root_and_starts_from_one() {
    let methods =
        ["auto", "tsit5", "vern7", "abm", "rodas4", "rodas5p", "radau5", "bdf", "kencarp4", "tr-bdf2", "sdirk2"];
    let last = |text: &str, method: &str, rtol: &str| {
        let ran = odec(&scratch("orifices-5"), text, &["run", "M", "--method", method, "--rtol", rtol]).success();
        let row = table(&ran.text()).pop().expect("a row");
        row[1..].iter().map(|x| number(x)).collect::<Vec<_>>()
    };
    for method in methods {
        for rtol in ["1e-4", "1e-6", "1e-8"] {
            // errors of methods of order 2 add up at tight tolerances
            let low = ["tr-bdf2", "sdirk2"].contains(&method);
            let tolerance = if low { 5.0 * number(rtol).powf(2.0 / 3.0) } else { 100.0 * number(rtol) };
            // x = (1 - t/2)^2 up to t = 2, and 0 afterwards
            let rest = "state x = 1\nx' = if x > 0 then -sqrt(x) else sqrt(-x)\nrun { t = 0 .. 4; samples = 1 }\n";
            assert!(last(rest, method, rtol)[0].abs() < 1e-6, "{method} {rtol}");
            // without an inflow: d = (1 - t/2)^2
            let tanks = "state a = 2, b = 1\nq = if a > b then sqrt(a - b) else -sqrt(b - a)\na' = -q/2\nb' = q/2\n\
                         run { t = 0 .. 4; samples = 1 }\n";
            let levels = last(tanks, method, rtol);
            assert!(levels.iter().all(|level| (level - 1.5).abs() < tolerance), "{method} {rtol}: {levels:?}");
            // t = 2 (s - ln(1 + s)) with s = sqrt(x)
            let start = "state x = 0\nx' = 1 + abs(x)^0.5\nrun { t = 0 .. 2; samples = 1 }\n";
            let s = last(start, method, rtol)[0].sqrt();
            assert!((2.0 * (s - s.ln_1p()) - 2.0).abs() < tolerance, "{method} {rtol}: {s}");
        }
    }
}

const ALL: [&str; 21] = [
    "auto", "tsit5", "dopri5", "vern7", "dop853", "bs32", "rkf45", "abm", "taylor", "rodas3", "rodas4", "rodas5p",
    "ros2", "radau5", "kencarp4", "tr-bdf2", "sdirk2", "bdf", "bdf3", "bdf5", "bdf6",
];

#[test]
fn the_event_at_the_bottom_of_a_tank_happens_in_time() {
    // h = (1 - t/4)^2: an error of h moves the time by the root of it
    let laws = ["if h > 0 then -0.5*sqrt(h) else 0", "-0.5*sqrt(max(h, 0))", "if h >= 0 then -0.5*h^0.5 else 0"];
    for (law, method) in laws.iter().flat_map(|law| ALL.map(|method| (law, method))) {
        let text = format!(
            "state h = 1\ndiscrete emptied = 0\nh' = {law}\nwhen h <= 0 {{ emptied := t }}\noutput emptied\n\
             run {{ t = 0 .. 6; samples = 1 }}\n"
        );
        for rtol in ["1e-4", "1e-6", "1e-8"] {
            // methods of order 2 take tens of thousands of steps at tight tolerances; a root has no series at 0
            let slow = rtol == "1e-8" && ["ros2", "sdirk2", "rodas3"].contains(&method);
            if slow || (method == "taylor" && *law != laws[0]) {
                continue;
            }
            let ran = odec(&scratch("orifices-8"), &text, &["run", "M", "--method", method, "--rtol", rtol]).success();
            let row = table(&ran.text()).pop().expect("a row");
            let off = (number(&row[2]) - 4.0).abs();
            assert!(off < 30.0 * (1e-3 * number(rtol)).sqrt(), "{law} {method} {rtol}: {row:?} {}", ran.err);
            assert!(number(&row[1]).abs() <= 1e-3 * number(rtol), "{law} {method} {rtol}: {row:?}");
            assert!(!ran.err.contains("W0621"), "{law} {method} {rtol}: {}", ran.err);
        }
    }
}

#[test]
fn tanks_in_a_row_start_empty_and_run_dry() {
    // the second level by integration in the root of t; it is empty 5.193744236768506 after the start
    let text = "index i = 1..3\nstate h[i] = if i == 1 then 1 else 0\ndiscrete dry[i] = 0\n\
                q[i] = if h[i] > 0 then 0.5*sqrt(h[i]) else 0\nh[1]' = -q[1]\nh[i in 2..3]' = q[i-1] - q[i]\n\
                when h[i] <= 0 { dry[i] := t }\noutput dry[i]\nrun { t = 0 .. 10; samples = [3, 10] }\n";
    for method in ALL {
        for rtol in ["1e-4", "1e-6"] {
            let ran = odec(&scratch("orifices-9"), text, &["run", "M", "--method", method, "--rtol", rtol]).success();
            let rows = table(&ran.text());
            let off = (number(&rows[0][2]) - 0.225_103_519_111_189).abs();
            assert!(off < 100.0 * number(rtol), "{method} {rtol}: {off:e} {rows:?}");
            let last: Vec<f64> = rows[1].iter().map(|x| number(x)).collect();
            assert!(last[1..4].iter().all(|level| level.abs() < 1e-9), "{method} {rtol}: {last:?}");
            let off = (last[4] - 4.0).abs().max((last[5] - 5.193_744_236_768_506).abs());
            assert!(off < 30.0 * (1e-3 * number(rtol)).sqrt(), "{method} {rtol}: {off:e} {last:?}");
        }
    }
}

#[test]
fn an_inflow_that_stops_for_a_while_fills_the_tank_again() {
    // from t = 6 pi on, h/t^2 in high precision
    let exact = 0.023_578_389_735_3;
    for start in ["0.5", "0"] {
        let text = format!(
            "state h = {start}\nh' = 0.2*max(sin(t), 0) - sqrt(max(h, 0))\nrun {{ t = 0 .. 20; samples = 1 }}\n"
        );
        let methods = ["auto", "vern7", "dop853", "abm", "rodas4", "rodas5p", "radau5", "kencarp4", "tr-bdf2", "bdf"];
        for method in methods {
            for rtol in ["1e-4", "1e-6", "1e-8"] {
                let arguments = ["run", "M", "--method", method, "--rtol", rtol];
                let ran = odec(&scratch("orifices-10"), &text, &arguments).success();
                let row = table(&ran.text()).pop().expect("a row");
                let off = (number(&row[1]) - exact).abs();
                assert!(off < 40.0 * number(rtol) * exact.sqrt(), "{start} {method} {rtol}: {off:e}");
            }
        }
    }
}

#[test]
fn outlets_at_two_heights_close_one_after_the_other() {
    // h' = -sqrt(h)/2 - sqrt(h - 1/2)/2 down to 1/2, by quadrature; then 4 sqrt(1/2)
    let text = "state h = 1\ndiscrete upper = 0, lower = 0\n\
                h' = -(if h > 0 then 0.5*sqrt(h) else 0) - (if h > 0.5 then 0.5*sqrt(h - 0.5) else 0)\n\
                when h <= 0.5 { upper := t }\nwhen h <= 0 { lower := t }\noutput upper, lower\n\
                run { t = 0 .. 6; samples = 1 }\n";
    for method in ALL {
        for rtol in ["1e-4", "1e-6"] {
            let ran = odec(&scratch("orifices-11"), text, &["run", "M", "--method", method, "--rtol", rtol]).success();
            let row = table(&ran.text()).pop().expect("a row");
            let off = (number(&row[2]) - 0.781_048_583_502_54).abs();
            assert!(off < 100.0 * number(rtol), "{method} {rtol}: {off:e}");
            let off = (number(&row[3]) - 3.609_475_708_248_730_5).abs();
            assert!(off < 30.0 * (1e-3 * number(rtol)).sqrt(), "{method} {rtol}: {off:e}");
        }
    }
}

#[test]
fn the_time_at_which_a_tank_is_empty_is_accurate() {
    // h' = -c h^p from h0 is at 0 after h0^(1-p)/((1-p) c); z and w are smooth, and need no smaller steps
    for (p, c, start) in [(0.5, 0.5, 2.0), (0.6, 1.0, 3.0), (0.75, 2.0, 1.0)] {
        let exact = f64::powf(start, 1.0 - p) / ((1.0 - p) * c);
        let text = format!(
            "discrete te = 0\nstate h = {start}, z = 1, w = 0\nh' = if h > 0 then -{c}*h^{p} else 0\nz' = -z + 0.1*w\n\
             w' = z - w\nwhen h <= 0 {{ te := t }}\noutput te\nrun {{ t = 0 .. {}; samples = 1 }}\n",
            1.5 * exact
        );
        for method in ["auto", "tsit5", "dopri5", "dop853", "rodas5p", "radau5", "kencarp4", "taylor"] {
            for rtol in ["1e-4", "1e-6"] {
                let arguments = ["run", "M", "--method", method, "--rtol", rtol, "--atol", rtol];
                let ran = odec(&scratch("orifices-12"), &text, &arguments).success();
                let row = table(&ran.text()).pop().expect("a row");
                let off = (number(&row[4]) / exact - 1.0).abs();
                assert!(off < 20.0 * number(rtol), "{p} {method} {rtol}: {off:e}");
            }
        }
    }
}

/// The first tank of `docs/language/bounds.md`: the series of a root ends where the tank is empty.
#[test]
fn auto_rests_on_the_bound_of_a_root_at_small_tolerances() {
    let text = "state h = 1, h >= 0\nh' = -0.5*sqrt(h)\nrun { t = 0 .. 10; samples = 10 }\n";
    for (rtol, atol) in [("1e-7", "1e-10"), ("1e-7", "1e-11"), ("1e-9", "1e-12"), ("1e-11", "1e-14")] {
        let flags = ["run", "M", "--rtol", rtol, "--atol", atol, "--max-steps", "2000"];
        for row in table(&odec(&scratch("orifices-bound"), text, &flags).success().text()) {
            let (t, h) = (number(&row[0]), number(&row[1]));
            let exact = if t < 4.0 { (1.0 - 0.25 * t).powi(2) } else { 0.0 };
            assert!((h - exact).abs() < 30.0 * number(rtol), "{rtol} {atol}: {h} at {t}");
        }
    }
}
