//! Rows at the times of events, which are known up to rounding.

use odec_tests::command::scratch;

use crate::events::{number, odec, table};

const METHODS: [&str; 9] = ["auto", "dopri5", "vern7", "taylor", "rodas5p", "radau5", "bdf", "kencarp4", "abm"];

/// 3*0.1 exceeds 0.3 by rounding. Nevertheless the row at 0.3 belongs to the third event, and keeps its time.
#[test]
fn rows_at_an_event_but_for_rounding_have_the_values_after_it() {
    let text = "param T = 0.1\ndiscrete n = 0\nstate x = 0\nx' = n\nevery T { n += 1 }\noutput n, late = (if t < 3*T then 0 else 1)\n\
                run { t = 0 .. 2; samples = 20 }\nexpect n(0.3) = 4 within 0\nexpect n(0.7) = 8 within 0\n";
    let folder = scratch("instants-rows");
    for method in METHODS {
        for (period, end) in [("0.1", 2.0), ("1e-4", 2e-3), ("7e5", 1.4e7)] {
            let (set, t) = (format!("T={period}"), format!("0..{end}"));
            let ran =
                odec(&folder, text, &["run", "M", "--method", method, "--set", &set, "--t", &t, "--samples", "20"]);
            for (k, row) in table(&ran.success().text()).iter().enumerate() {
                let time = end * k as f64 / 20.0;
                assert!((number(&row[0]) - time).abs() <= f64::EPSILON * time, "{method}: {row:?}");
                assert_eq!(number(&row[2]), k as f64 + 1.0, "{method}, T = {period}: {row:?}");
                assert_eq!(number(&row[3]), f64::from(u8::from(k >= 3)), "{method}, T = {period}: {row:?}");
            }
        }
        odec(&folder, text, &["test", "M", "--method", method]).success();
    }
}

/// The same for a table that jumps, and for a surface that a state reaches at a round time.
#[test]
fn rows_at_a_jump_but_for_rounding_have_the_values_after_it() {
    let text = "input q(t) = table([0, 0.0035, 0.0041, 0.02], [1, 2, 3, 4], hold, clamp)\ndiscrete n = 0\nstate x = 0, z = 0\n\
                x' = 1\nz' = q(t)\nwhen x >= 0.0057 { n := 1 }\noutput n, w = q(t)\nrun { t = 0 .. 0.02; samples = 200 }\n";
    let folder = scratch("instants-jumps");
    let rows = table(&odec(&folder, text, &["run", "M", "--quiet"]).success().text());
    for (k, row) in rows.iter().enumerate() {
        let value = [35, 41, 200].iter().filter(|jump| k >= **jump).count() + 1;
        assert_eq!(number(&row[4]), value as f64, "{row:?}");
        assert!(k == 57 || number(&row[3]) == f64::from(u8::from(k > 57)), "{row:?}");
    }
}

/// A quantity that an event stops does not change in any bit: its condition becomes true again only by its next
/// motion. A matrix from before the event would let it creep, and the block would slip again at once.
#[test]
fn a_quantity_stopped_by_an_event_does_not_creep() {
    // x = cos(t - t0) + ... while the block slips, x' = 1/2 while it sticks: the same cycle repeatedly
    let text = "discrete stuck = 1, slips = 0\nstate x = 0, v = 0.5\nx' = if stuck == 1 then 0.5 else v\n\
                v' = if stuck == 1 then 0 else -x + 0.6*sign(0.5 - v)\n\
                when stuck == 1 and x > 1 { stuck := 0; slips += 1 }\n\
                when stuck == 0 and v > 0.5 { stuck := 1; v := 0.5 }\noutput stuck, slips\n\
                run { t = 0 .. 40; samples = 40 }\n";
    // slips at 2 + k T: x - 0.6 = a cos s + 0.5 sin s with a = 0.4, v = 0.5 again at s = 2 pi - 2 atan(a/0.5), at x = 0.2
    let slip = std::f64::consts::TAU - 2.0 * (0.4f64 / 0.5).atan();
    let cycle = slip + (1.0 - 0.2) / 0.5;
    let folder = scratch("instants-creep");
    for method in [&METHODS[..], &["tr-bdf2", "sdirk2", "rodas4", "rkf45"]].concat() {
        for rtol in ["1e-4", "1e-6", "1e-8"] {
            let ran = odec(&folder, text, &["run", "M", "-q", "--method", method, "--rtol", rtol]).success();
            for row in table(&ran.text()) {
                let phase = (number(&row[0]) - 2.0) / cycle;
                let (slips, part) = ((phase.floor() + 1.0).max(0.0), phase.rem_euclid(1.0) * cycle);
                let stuck = if number(&row[0]) < 2.0 || part > slip { 1.0 } else { 0.0 };
                // rows next to an event are decided by the tolerance
                if [0.0, slip, cycle].iter().all(|edge| (part - edge).abs() > 0.02) {
                    assert_eq!([number(&row[3]), number(&row[4])], [stuck, slips], "{method} {rtol}: {row:?}");
                }
                assert!(stuck == 0.0 || part < slip + 0.02 || number(&row[2]) == 0.5, "{method} {rtol}: {row:?}");
            }
        }
    }
}

/// Three elements and their counter have events at 1, 2, ..., including the last instant, the end of the run.
#[test]
fn a_run_that_ends_within_rounding_of_an_event_has_the_values_after_it() {
    let text = "index i = 1..3\ndiscrete n = 0, chain = 0, next = 6\nstate x[i] = 0\nx[i]' = 1\n\
                when x[i] >= 1 { x[i] := 0; n += 1 }\nwhen n >= next { chain += 1; next += 6 }\n\
                output n, chain\nrun { t = 0 .. END; samples = 1 }\n";
    for method in METHODS {
        for (end, rtol) in [(1, "1e-4"), (2, "1e-6"), (5, "1e-6"), (5, "1e-8"), (7, "1e-8")] {
            let text = text.replace("END", &end.to_string());
            let ran =
                odec(&scratch("instants-end"), &text, &["run", "M", "--method", method, "--rtol", rtol]).success();
            let last = table(&ran.text()).pop().expect("a row");
            let values: Vec<f64> = last[4..6].iter().map(|value| number(value)).collect();
            assert_eq!(values, [f64::from(3 * end), f64::from(end / 2)], "{method} {rtol}: {}", ran.text());
            assert!(number(&last[1]).abs() < 1e-9, "{method} {rtol}: {}", ran.text());
        }
    }
}

/// Conditions that are not sums of states: each crossing is found, also of pairs that are close, and elements with fixed
/// subscripts are elements like others.
#[test]
fn conditions_that_are_curved_are_found_at_every_crossing() {
    let (x, y) = (|t: f64| t.cos(), |t: f64| (1.3 * t).sin() / 1.3);
    type Curve = (&'static str, Box<dyn Fn(f64) -> f64>, [f64; 3]);
    let curves: [Curve; 5] = [
        ("r[1]*r[2]", Box::new(move |t| x(t) * y(t)), [0.3, 0.6, -0.5]),
        ("r[1]^2 + 2*r[2]^2", Box::new(move |t| x(t).powi(2) + 2.0 * y(t).powi(2)), [0.4, 1.9, 30.0]),
        ("exp(r[1]) - cos(3*r[2])", Box::new(move |t| x(t).exp() - (3.0 * y(t)).cos()), [0.2, 2.1, 50.0]),
        ("max(r[1], r[2])/(2 + r[2])", Box::new(move |t| x(t).max(y(t)) / (2.0 + y(t))), [0.35, 0.1, 9.0]),
        ("r[1] - 0.5*r[2]", Box::new(move |t| x(t) - 0.5 * y(t)), [0.9, 0.2, 7.0]),
    ];
    let folder = scratch("instants-curves");
    for (curve, value, levels) in &curves {
        for level in levels {
            let steps = 400_000;
            let above = |k: u32| value(40.0 * f64::from(k) / f64::from(steps)) > *level;
            let expected = (1..=steps).filter(|&k| above(k) && !above(k - 1)).count();
            let text = format!(
                "index i = 1..2\nstate r[i] = 2 - i, v[i] = i - 1\nparam w[i] = 1 + 0.69*(i - 1)\ndiscrete n = 0\n\
                 r[i]' = v[i]\nv[i]' = -w[i]*r[i]\nwhen {curve} > {level:?} {{ n += 1 }}\noutput n\n\
                 run {{ t = 0 .. 40; samples = 1; rtol = 1e-8; atol = 1e-10 }}\n"
            );
            for method in METHODS {
                let ran = odec(&folder, &text, &["run", "M", "--method", method]).success();
                let last = table(&ran.text()).pop().expect("a row");
                let found = number(last.last().expect("a column"));
                assert_eq!(found, expected as f64, "{curve} > {level}, {method}");
            }
        }
    }
}

/// A ball that comes to rest by an equality.
#[test]
fn a_ball_comes_to_rest_by_an_equality() {
    let folder = scratch("instants-rest");
    for method in METHODS {
        let text = "discrete n = 0, still = 0\nstate h = 1, h' = 0\nh'' = if still == 1 then 0 else -9.81\n\
                    when h == 0 { h' := -0.5*h'; n += 1 }\nrest { h := 0; h' := 0; still := 1 }\noutput n, still\n\
                    run { t = 0 .. 3; samples = 3 }\n";
        let rows = table(&odec(&folder, text, &["run", "M", "--method", method]).success().text());
        let last: Vec<f64> = rows.last().expect("a row").iter().map(|x| number(x)).collect();
        assert!(last[1] == 0.0 && last[2] == 0.0 && last[3] > 10.0 && last[4] == 1.0, "{method}: {last:?}");
    }
}

/// A crossing whose event turns the motion round counts once.
#[test]
fn a_ball_bounces_by_an_equality() {
    let folder = scratch("instants-equality");
    let run = |condition: &str, method: &str| {
        let text = format!(
            "discrete n = 0\nstate h = 1, h' = 0\nh'' = -9.81\nwhen {condition} {{ h' := -0.8*h'; n += 1 }}\noutput n\n\
             run {{ t = 0 .. 2; samples = 8; rtol = 1e-9; atol = 1e-9 }}\n"
        );
        table(&odec(&folder, &text, &["run", "M", "--method", method]).success().text())
    };
    for method in METHODS {
        let (equal, below) = (run("h == 0", method), run("h < 0", method));
        for (equal, below) in equal.iter().zip(&below) {
            for (equal, below) in equal.iter().zip(below) {
                assert!((number(equal) - number(below)).abs() < 1e-6, "{method}: {equal} {below}");
            }
        }
        assert!(number(&equal[8][3]) == 3.0, "{method}: {equal:?}");
    }
}

/// Each of these events happens once; together they take more rounds than an instant may have without an end.
#[test]
fn many_events_that_are_alone_have_a_round_each() {
    let text = "index i = 1..1500\nstate x[i] = 0\nx[i]' = 1\nwhen x[i] > 1 alone { x[i] := -9 }\n\
                run { t = 0 .. 2; record = [x[1], x[1500]]; samples = 1 }\nexpect x[1](2) = -8 within 1e-9\n\
                expect x[1500](2) = -8 within 1e-9\n";
    odec(&scratch("instants-alone"), text, &["test", "M"]).success();
    let endless = "discrete n = 0\nindex i = 1..50\nstate x[i] = 0\nx[i]' = 1\nwhen x[i] > 1 alone { x[i] := -9 }\n\
                   when sum(i: x[i]) < 0 and n == 0 { n := 1 }\nwhen n == 1 { n := 0 }\nrun { t = 0 .. 2 }\n";
    let ran = odec(&scratch("instants-alone"), endless, &["run", "M"]);
    assert!(ran.code == Some(3) && ran.err.contains("E0626"), "{:?} {}", ran.code, ran.err);
}
