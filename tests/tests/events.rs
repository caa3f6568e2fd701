//! Models with events through the command: closed forms, instants with several events, and changes that must not
//! affect any bit.

use std::path::Path;

use odec_tests::command::{run_in, scratch};
use odec_tests::{block, root};

/// Runs a command on a text, in a separate folder.
pub fn odec(folder: &Path, text: &str, arguments: &[&str]) -> odec_tests::command::Ran {
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let arguments: Vec<&str> = arguments.iter().map(|a| if *a == "M" { "m.ode" } else { a }).collect();
    run_in(folder, &arguments, b"")
}

/// The rows of a CSV table without its header.
pub fn table(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

pub fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// Log of the events of a run, which succeeds.
fn log(name: &str, text: &str, more: &[&str]) -> Vec<Vec<String>> {
    let folder = scratch(name);
    let mut arguments = vec!["run", "M", "--events", "log.csv"];
    arguments.extend(more);
    odec(&folder, text, &arguments).success();
    table(&std::fs::read_to_string(folder.join("log.csv")).expect("a log"))
}

/// Time, and value after the instant, of the lines of a log for a name.
fn changes(log: &[Vec<String>], name: &str) -> Vec<(f64, f64)> {
    log.iter().filter(|line| line[5] == name).map(|line| (number(&line[0]), number(&line[7]))).collect()
}

const METHODS: [&str; 6] = ["auto", "tsit5", "vern9", "dop853", "rodas5p", "bdf"];

#[test]
fn every_example_of_the_pages_keeps_its_promises() {
    for (page, least) in [("docs/language/events.md", 10), ("docs/doses.md", 5)] {
        let folder = scratch("events-page");
        let examples = block::of(&root().join(page), "ode");
        assert!(examples.len() >= least, "{page}: {}", examples.len());
        for example in examples {
            let ran = odec(&folder, &example.text, &["test", "M"]);
            assert_eq!(ran.code, Some(0), "{page}, line {}\n{}\n{}", example.line, ran.text(), ran.err);
        }
    }
}

/// Each model of the page of doses promises something, by every method of a family.
#[test]
fn doses_are_those_of_the_closed_forms() {
    let folder = scratch("events-doses");
    for example in block::of(&root().join("docs/doses.md"), "ode") {
        for method in METHODS {
            let ran = odec(&folder, &example.text, &["test", "M", "--method", method]).success();
            assert!(ran.text().contains("ok "), "line {}: {}", example.line, ran.text());
        }
    }
}

fn ball(e: f64, end: f64, rtol: f64) -> String {
    format!(
        "param g = 9.81\nstate h = 1, h' = 0\ndiscrete hits = 0, still = 0\nh'' = if still == 1 then 0 else -g\n\
         when h < 0 {{ h' := -{e}*h'; hits += 1 }}\nrest {{ h := 0; h' := 0; still := 1 }}\n\
         run {{ t = 0 .. {end}; rtol = {rtol}; atol = 1e-13; samples = steps }}\n"
    )
}

/// The times of the impacts to 1e-10, the time of rest to 1e-9, and never below the floor.
#[test]
fn a_ball_bounces_and_comes_to_rest() {
    for (e, end) in [(0.3, 2.0), (0.8, 6.0), (0.99, 100.0)] {
        for method in ["dopri5", "vern7"] {
            let folder = scratch("events-ball");
            let text = ball(e, end, 1e-10);
            let ran = odec(&folder, &text, &["run", "M", "--method", method, "--events", "log.csv"]).success();
            let log = table(&std::fs::read_to_string(folder.join("log.csv")).expect("a log"));
            let first = (2.0 / 9.81_f64).sqrt();
            for (t, hits) in changes(&log, "hits") {
                let impact = first + 2.0 * first * e * (1.0 - e.powf(hits - 1.0)) / (1.0 - e);
                assert!((t - impact).abs() < 1e-10, "{method}, e = {e}, bounce {hits}: {t} for {impact}");
            }
            let still = changes(&log, "still");
            let limit = first * (1.0 + e) / (1.0 - e);
            assert_eq!(still.len(), 1, "{method}, e = {e}");
            assert!((still[0].0 - limit).abs() < 1e-9, "{method}, e = {e}: {} for {limit}", still[0].0);
            let lowest = table(&ran.text()).iter().map(|row| number(&row[1])).fold(0.0, f64::min);
            assert!(lowest > -1e-9, "{method}, e = {e}: {lowest}");
        }
    }
}

#[test]
fn chains_of_one_instant_are_rounds() {
    let text = "discrete a = 0, b = 0, c = 0\nstate x = 1\nx' = -1\nwhen c == 1 { stop \"third\" }\n\
                when b == 1 { c := 1 }\nwhen a == 1 { b := 1 }\nwhen x < 0 { a := 1 }\nrun { t = 0 .. 5 }\n";
    let log = log("events-chain", text, &[]);
    let lines: Vec<String> = log.iter().map(|line| format!("{} {} {}", line[1], line[3], line[5])).collect();
    assert_eq!(lines, ["0 7 a", "1 6 b", "2 5 c", "3 4 "]);
    assert!(log.iter().all(|line| (number(&line[0]) - 1.0).abs() < 1e-12), "{log:?}");
}

#[test]
fn a_run_that_an_event_stops_says_so_and_has_its_rows() {
    let folder = scratch("events-stop");
    let text = "state x = 1.1\nx' = -1\nwhen x < 0 { stop \"empty\" }\nrun { t = 0 .. 5; samples = 10 }\n";
    let ran = odec(&folder, text, &["run", "M"]).success();
    assert!(ran.err.contains("stopped by empty (line 3)"), "{}", ran.err);
    let rows = table(&ran.text());
    assert_eq!(rows.len(), 4, "{}", ran.text());
    assert!((number(&rows[3][0]) - 1.1).abs() < 1e-12, "the last row is that of the stop: {}", ran.text());
}

/// `0.1*3` and `0.3` are one time: both doses are given in one round, and none is lost.
#[test]
fn times_that_differ_by_rounding_are_one_instant() {
    let text = "state x = 0\nx' = 0\nevery 0.1 from 0.1 until 0.45 { x += 1 }\nat [0.1 + 0.2] { x += 10 }\n\
                run { t = 0 .. 1; samples = 10 }\nexpect x(0.3) = 13 within 0\nexpect x(1) = 14 within 0\n";
    let log = log("events-ties", text, &[]);
    let at: Vec<(String, String)> =
        log.iter().filter(|line| (number(&line[0]) - 0.3).abs() < 1e-9).map(|l| (l[0].clone(), l[1].clone())).collect();
    assert!(at.len() == 2 && at[0] == at[1], "{log:?}");
    odec(&scratch("events-ties-test"), text, &["test", "M"]).success();
}

/// A dose at the end of a series is left out; one at its start, and at the start of the run, is given.
#[test]
fn series_have_their_start_and_not_their_end() {
    for (series, count) in [("12 from 0 until 96", 8), ("12 from 12 until 96", 7), ("0.1 until 1", 10), ("0.1", 21)] {
        let text = format!("state x = 0\nx' = 0\nevery {series} {{ x += 1 }}\nrun {{ t = 0 .. END }}\n");
        let text = text.replace("END", if series.starts_with("12") { "100" } else { "2" });
        let log = log("events-series", &text, &[]);
        assert_eq!(log.len(), count, "{series}: {log:?}");
    }
}

#[test]
fn priorities_delays_and_cancels_stack_at_one_instant() {
    let text = "discrete n = 1, log = 0\nstate x = 0\nx' = 1\n\
                when x > 1 priority 3 { n := 10*n + 3 }\nwhen x > 1 late priority 1 { n := 10*n + 1 }\n\
                when x > 1 late priority 2 { n := 10*n + 2 }\nat 0.5 after 0.5 late { n := 10*n + 5 }\n\
                when x > 0.25 and x < 0.75 after 0.75 cancel { log := 1 }\n\
                run { t = 0 .. 2 }\nexpect n(2) = 13215 within 0\nexpect log(2) = 0 within 0\n";
    for method in METHODS {
        odec(&scratch("events-stack"), text, &["test", "M", "--method", method]).success();
    }
}

/// The rows do not depend on the order of the statements.
#[test]
fn the_order_of_the_text_changes_no_bit() {
    let lines = [
        "when x > 1 { x := 0.1*y; n += 1 }",
        "when y < 0 { y += 0.3; y += 0.1*x }",
        "every 0.7 { y += 0.1 }",
        "every 0.35 { y += 1e-17; x += 0.2 }",
        "at [1.4, 2.1] { y += 0.01*n }",
    ];
    let head = "discrete n = 0\nstate x = 0, y = 1\nx' = 1 + y\ny' = -x\noutput n\n";
    let end = "run { t = 0 .. 5; samples = 50 }\n";
    let rows = |order: &[usize]| {
        let text = order.iter().fold(head.to_owned(), |text, &k| text + lines[k] + "\n") + end;
        odec(&scratch("events-order"), &text, &["run", "M"]).success().text()
    };
    let first = rows(&[0, 1, 2, 3, 4]);
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 4, 0, 3, 2]] {
        assert_eq!(first, rows(&order), "{order:?}");
    }
}

const RELAXATION: &str = "param k = 1\ndiscrete up = 1, n = 0\nstate x = 0.5, v = 0\nx' = (if up == 1 then 1 else -1)*k + 0.1*v\n\
                          v' = -x\nwhen x > 1 { up := 0; n += 1 }\nwhen x < 0 { up := 1; n += 1 }\noutput n\n\
                          run { t = 0 .. 8; samples = 80 }\n";

/// An event that never happens, a log and the number of rows change no step; machine code and interpreter agree.
#[test]
fn an_observer_changes_no_bit() {
    let folder = scratch("events-looks");
    for method in METHODS {
        let run = |text: &str, more: &[&str]| {
            let mut arguments = vec!["run", "M", "--method", method];
            arguments.extend(more);
            odec(&folder, text, &arguments).success().text()
        };
        let plain = run(RELAXATION, &[]);
        assert_eq!(plain, run(RELAXATION, &["--interpret"]), "{method}");
        assert_eq!(plain, run(RELAXATION, &["--events", "log.csv"]), "{method}");
        let never = format!("{RELAXATION}when x > 1e300 {{ x := 0 }}\nat 1000 {{ v := 0 }}\n");
        assert_eq!(plain, run(&never, &[]), "{method}");
        if method == "rodas5p" {
            // its rows between the ends of steps are corrected in sequence
            continue;
        }
        let fine = run(RELAXATION, &["--samples", "8000"]);
        let every = table(&fine);
        for row in table(&plain) {
            assert!(every.contains(&row), "{method}: {row:?}");
        }
    }
}

/// Each run of a sweep has the rows of a single run, regardless of earlier runs.
#[test]
fn a_sweep_has_the_bits_of_single_runs() {
    let folder = scratch("events-sweep");
    let swept = odec(&folder, RELAXATION, &["sweep", "M", "--set", "k=0.5:2:4", "--threads", "2"]).success().text();
    let swept: Vec<&str> = swept.lines().skip(1).filter_map(|line| line.split_once(',')).map(|(_, row)| row).collect();
    let alone = |k: &str| {
        let rows = odec(&folder, RELAXATION, &["run", "M", "--set", &format!("k={k}"), "--samples", "1"]).success();
        rows.text().lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(swept, ["0.5", "1", "1.5", "2"].map(alone));
    // values that are not 0 at the start and the same at the end
    let constant = "param q = 1\ndiscrete d = 3\nstate x = 1\nx' = q\nabove = if x > 0.5 then 1 else 0\n\
                    when x > 100 { d := 5 }\noutput d, e = 2*d + q, above, rate = x'\nrun { t = 0 .. 2; samples = 1 }\n";
    for threads in ["1", "3"] {
        let swept = odec(&folder, constant, &["sweep", "M", "--set", "q=1:4:4", "--threads", threads]).success().text();
        let rows: Vec<Vec<String>> = table(&swept).into_iter().map(|row| row[1..].to_vec()).collect();
        let alone = |q: &str| {
            let run = odec(&folder, constant, &["run", "M", "--set", &format!("q={q}")]).success().text();
            table(&run).pop().expect("a row")
        };
        assert_eq!(rows, ["1", "2", "3", "4"].map(alone), "{swept}");
        assert!(rows.iter().all(|row| row[row.len() - 4] == "3" && row[row.len() - 2] == "1"), "{swept}");
    }
}

/// A right-hand side with the same comparison as its condition finds it true, also in models with index sets.
#[test]
fn right_sides_see_what_their_condition_saw() {
    let neuron = "state V = 0\ndiscrete n = 0, ok = 0\nV' = 1/1.4 - 0.1*V\n\
                  when V > 1 { n += 1; ok += (if V > 1 then 1 else 0); V := 0 }\noutput n, ok\n\
                  run { t = 0 .. 200; samples = 1 }\n";
    let unrelated = format!("index i = 1..2\nstate q[i] = 0\nq[i]' = 0\n{neuron}");
    let array = "index i = 1..12\nindex k = 1..3\nstate V[i] = 0\ndiscrete n = 0, ok = 0, at[k] = 0\nV[i]' = 1/(1 + 0.1*i) - 0.1*V[i]\n\
                 when V[i] > 1 { n += 1; ok += (if V[i] > 1 then 1 else 0); at[k] += V[i] > 1; V[i] := 0 }\n\
                 output n, ok, least = min(k: at[k]), most = max(k: at[k])\nrun { t = 0 .. 20; samples = 1 }\n";
    let total = "index i = 1..3\nstate V[i] = 0\ndiscrete n = 0, ok = 0\nV[i]' = i/7 + 1e-3*cos(t)\nall = sum(i: V[i])\n\
                 when all > 1 { n += 1; ok += all > 1; V[i] := 0 }\noutput n, ok\nrun { t = 0 .. 50; samples = 1 }\n";
    let timed = "index i = 1..4\nstate q[i] = 0\ndiscrete n = 0, ok = 0\nq[i]' = 0\n\
                 when sin(t) > i/7 { n += 1; ok += sin(t) > i/7 }\noutput n, ok\nrun { t = 0 .. 20; samples = 1 }\n";
    let folder = scratch("events-seen");
    for (text, least) in [(neuron, 100.0), (unrelated.as_str(), 100.0), (array, 50.0), (total, 40.0), (timed, 12.0)] {
        let run = odec(&folder, text, &["run", "M"]).success().text();
        let head: Vec<&str> = run.lines().next().expect("a header").split(',').collect();
        let row = table(&run).pop().expect("a row");
        let first = head.iter().position(|name| *name == "n").expect("a column");
        let counts: Vec<f64> = row[first..].iter().map(|text| number(text)).collect();
        assert!(counts[0] >= least && counts.iter().all(|count| *count == counts[0]), "{counts:?}\n{text}");
    }
}

/// Equality of quantities that change by jumps lasts: the event happens at its start.
#[test]
fn equality_of_what_jumps_is_a_condition() {
    let text = "state x = 0\ndiscrete m = 0, k = 0, j = 0\nx' = 1\nstep = floor(x)\nfn no(a) = not a\n\
                when floor(x) == 1 { m += 1 }\nwhen step == 2 and x < 2.5 { k += 1 }\n\
                when no(sign(x - 1) == -1) { j += 1 }\nrun { t = 0 .. 4 }\n";
    let log = log("events-equal", text, &[]);
    for (name, at) in [("m", 1.0), ("k", 2.0), ("j", 1.0)] {
        let changes = changes(&log, name);
        assert!(changes.len() == 1 && (changes[0].0 - at).abs() < 1e-9, "{name}: {changes:?}");
    }
}

/// A row at the time of an event has the right limit; output at each step has both limits.
#[test]
fn rows_at_an_event_hold_the_right_limit() {
    let text = "state x = 0\nx' = 1\nat 1 { x := 10 }\nrun { t = 0 .. 2; samples = [0, 1, 2] }\n";
    let folder = scratch("events-rows");
    let rows = table(&odec(&folder, text, &["run", "M"]).success().text());
    assert_eq!(rows[1], ["1", "10"]);
    let steps = table(&odec(&folder, text, &["run", "M", "--samples", "steps"]).success().text());
    let at: Vec<&str> = steps.iter().filter(|row| row[0] == "1").map(|row| row[1].as_str()).collect();
    assert_eq!(at, ["1", "10"], "{steps:?}");
}

/// Discretes start from parameters and initial values, and can be set.
#[test]
fn discretes_start_at_their_given_values() {
    let text = "param k = 3\nindex i = 1..3\nstate x = 2*k\ndiscrete a = k + 1, b = x + a, c[i] = [1, 2, 3], d[i] = i*k\n\
                x' = 0\noutput a, b, c, d\nrun { t = 0 .. 1; samples = 1 }\n";
    let folder = scratch("events-discretes");
    let row = |more: &[&str]| {
        let mut arguments = vec!["run", "M"];
        arguments.extend(more);
        odec(&folder, text, &arguments).success().text().lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(row(&[]), "1,6,4,10,1,2,3,3,6,9");
    assert_eq!(row(&["--set", "k=1"]), "1,2,2,4,1,2,3,1,2,3");
    assert_eq!(row(&["--set", "a=7", "--set", "c[2]=5"]), "1,6,7,13,1,5,3,3,6,9");
}

/// An event over an index is one event for each element; all elements that are due at once form one round.
#[test]
fn events_of_arrays_happen_element_by_element() {
    let text = "index i, j = 1..4\nconst next[i] = [2, 3, 4, 1]\nstate v[i] = i/4\ndiscrete n[i] = 0, sum_of = 0\n\
                v[i]' = 1\nwhen v[i] > 1.5 { v[i] := 0; n[next[i]] += 1; sum_of += i }\noutput n, sum_of\n\
                run { t = 0 .. 1.3; samples = 1 }\nexpect sum_of(0.6) = 4 within 0\nexpect sum_of(1.3) = 10 within 0\n\
                expect n[1](0.6) = 1 within 0\nexpect n[2](1.3) = 1 within 0\nexpect v[4](0.6) = 0.1 within 1e-9\n";
    odec(&scratch("events-arrays"), text, &["test", "M"]).success();
    let log = log("events-arrays-log", text, &[]);
    let indices: Vec<&str> = log.iter().filter(|line| line[5] == "sum_of").map(|line| line[4].as_str()).collect();
    assert_eq!(indices, ["4", "3", "2", "1"]);
}

/// An index that only a clause names makes an event for each of its values too.
#[test]
fn an_index_in_a_clause_belongs_to_the_head() {
    let text = "index i, j = 1..3\nconst d[i] = 0.25*i\nstate x[i] = 0\ndiscrete at1[i] = 0, many[i] = 0, pairs[j] = 0\n\
                x[i]' = 0\nat 1 after d[i] { at1[i] := t; x[i] += i }\nevery 1 from 0.1*i until i { many[i] += 1 }\n\
                when x[i] > 0 after d[j] { pairs[j] += i }\nwhen t >= 2 priority i { x[i] := 10*x[i] }\n\
                output at1, many, pairs\nrun { t = 0 .. 4; samples = 1 }\n\
                expect at1[2](4) = 1 within 0\nexpect many[1](4) = 1 within 0\nexpect many[3](4) = 3 within 0\n\
                expect pairs[1](1.5) = 1 within 0\nexpect pairs[3](4) = 6 within 0\nexpect x[3](4) = 30 within 0\n";
    odec(&scratch("events-clauses"), text, &["test", "M"]).success();
}

/// Times may depend on discretes: each dose sets the time of the next one.
#[test]
fn times_follow_discretes() {
    let text = "discrete next = 1, gap = 1\nstate x = 0\nx' = 0\nat next { x += 1; gap := 2*gap; next := t + 2*gap }\n\
                run { t = 0 .. 20 }\n";
    let log = log("events-next", text, &[]);
    let times: Vec<f64> = changes(&log, "x").iter().map(|change| change.0).collect();
    assert_eq!(times, [1.0, 3.0, 7.0, 15.0]);
}

#[test]
fn commands_that_leave_events_out_refuse_them() {
    let folder = scratch("events-refused");
    let others: [&[&str]; 3] = [&["emit", "M", "--to", "asm"], &["bench", "M"], &["order", "M"]];
    for arguments in others {
        let ran = odec(&folder, RELAXATION, arguments).orderly();
        assert!(ran.code != Some(0) && ran.err.contains("E0504"), "{arguments:?}\n{}", ran.err);
    }
}

#[test]
fn every_ball_of_an_array_comes_to_rest() {
    let folder = scratch("events-rest");
    let text = "index i = 1..3\ndiscrete still[i] = 0\nstate h[i] = 1, h[i]' = 0\nh[i]'' = if still[i] == 1 then 0 else -9.81\n\
                when h[i] < 0 { h[i]' := -0.5*h[i]' }\nrest { h[i] := 0; h[i]' := 0; still[i] := 1 }\n\
                output a = h[1], b = h[2], c = h[3]\nexpect a(3) = 0 within 0\nexpect b(3) = 0 within 0\n\
                expect c(3) = 0 within 0\nrun { t = 0 .. 3 }\n";
    for method in METHODS {
        for rtol in ["1e-4", "1e-8"] {
            let ran = odec(&folder, text, &["test", "M", "--method", method, "--rtol", rtol]);
            assert_eq!(ran.code, Some(0), "{method}, {rtol}\n{}\n{}", ran.text(), ran.err);
        }
    }
}

#[test]
fn terms_guarded_by_a_condition_may_be_undefined_before_it() {
    let folder = scratch("events-guarded");
    let models = [
        ("if x > 0 then 0 else (if sqrt(-x) > 1 then 1 else 2)", 3.0),
        ("if x > 0 then (if ln(x) > 0 then 1 else 2) else 5", 13.0),
    ];
    for (rate, exact) in models {
        let text = format!(
            "state x = 2, y = 0\nx' = -1\ny' = {rate}\nrun {{ t = 0 .. 4 }}\nexpect y(4) = {exact:?} within 1e-6\n"
        );
        for method in METHODS {
            let ran = odec(&folder, &text, &["test", "M", "--method", method, "--rtol", "1e-8"]);
            assert_eq!(ran.code, Some(0), "{rate}, {method}\n{}\n{}", ran.text(), ran.err);
        }
    }
}

#[test]
fn times_that_no_run_could_tell_apart_are_an_error() {
    let folder = scratch("events-dense");
    for period in ["1e-20", "1e-17"] {
        let text = format!("state y = 0\ny' = 1\nevery {period} {{ y += 1 }}\nrun {{ t = 1 .. 2 }}\n");
        let ran = odec(&folder, &text, &["run", "M"]);
        assert!(ran.code == Some(3) && ran.err.contains("E0628"), "{period}: {}", ran.err);
    }
    // an event makes two later times of a list equal: a dose would be lost; past times may be equal
    for (to, code) in [("3", Some(3)), ("4", Some(0))] {
        let text = format!(
            "state x = 0\ndiscrete d = 5, e = 0.5\nx' = 0\nat 1 {{ d := {to}, e := 0.25 }}\n\
             at [3, d] {{ x += 10 }}\nat [0.25, e] {{ x += 1 }}\nrun {{ t = 0 .. 10 }}\n"
        );
        let ran = odec(&folder, &text, &["run", "M"]);
        assert!(ran.code == code, "{to}: {}", ran.err);
        assert!(code == Some(0) || ran.err.contains("this event has the time 3 twice"), "{}", ran.err);
    }
    // a long run with events near its start makes progress
    let text = "state x = 0\nx' = 0\nevery 0.01 from 0 until 30 { x += 1 }\nrun { t = 0 .. 1e11; samples = 2 }\n\
                expect x(1e11) = 3000 within 0\n";
    let ran = odec(&folder, text, &["test", "M"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.text(), ran.err);
}

/// An event that never happens changes no bit of a picture, and no warning.
#[test]
fn an_event_that_never_happens_changes_no_picture() {
    let plain = "model m\nstate x = 0, x' = 0\nx'' = -0.05*x' - x + 1.1*cos(0.9*t)\nrun { t = 0 .. 60; samples = 6 }\n";
    let drawn = |name: &str, text: &str, method: &str| {
        let folder = scratch(name);
        let ran = odec(&folder, text, &["plot", "M", "--method", method, "-o", "m.svg"]).success();
        let warnings: Vec<String> =
            ran.err.lines().filter(|line| line.contains("warning")).map(str::to_owned).collect();
        (std::fs::read_to_string(folder.join("m.svg")).expect("a picture"), warnings)
    };
    for method in ["auto", "vern7", "dop853", "rodas5p", "bdf"] {
        let alone = drawn("events-no-event", plain, method);
        let beside = drawn("events-never", &format!("{plain}at 1000 {{ x := 0 }}\n"), method);
        assert!(alone == beside, "{method}: {:?} and {:?}", alone.1, beside.1);
    }
}

/// A comparison that a discrete makes irrelevant has no effect, so no step lands on it: the run has the bits of one
/// without it.
#[test]
fn relations_disabled_by_a_latch_are_not_located() {
    let model = "discrete held = 1\nstate x = 0, v = 1, z = 0\nx' = v\nv' = -100*x\nz' = held\n";
    let latched = [
        "when held == 0 and x > 0.05 { held := 0 }",
        "when x > 0.05 and held < 1 { held := 0 }",
        "when not (x > 0.05 or held == 1) { held := 0 }",
        "index i = 1..3\nwhen x > 0.05*i and held < 1 { held := 0 }",
        "when x > 0.05 and x < 0.07 and held - 1 > 0 { held := 0 }",
        "when (if held == 1 then 2 < 1 else x > 0.05) { held := 0 }",
    ];
    for method in METHODS {
        let folder = scratch("events-latched");
        let run = |events: &str| {
            let text = format!("{model}{events}\nrun {{ t = 0 .. 5; samples = steps }}\n");
            odec(&folder, &text, &["run", "M", "--method", method]).success().text()
        };
        let plain = run("");
        for events in latched {
            assert!(run(events) == plain, "{method}: {events}");
        }
        // a comparison without a latch is located
        assert!(run("when held == 1 and x > 0.05 { held := 1 }") != plain, "{method}");
    }
}

/// When a discrete opens the latch, the comparison behind it is located again, even if it became true before.
#[test]
fn a_relation_enabled_by_a_latch_is_located() {
    let text = "discrete open = 0, hits = 0, n = 0\nstate x = 0, v = 1\nx' = v\nv' = -x\n\
                at 1 { open := 1 }\nat 20 { open := 0 }\nwhen open == 1 and x > 0.5 { hits += 1 }\n\
                when open == 0 or v < 0 { n += 1 }\nrun { t = 0 .. 40 }\nexpect hits(40) = 4 within 0\n\
                expect n(40) = 4 within 0\n";
    for method in METHODS {
        let folder = scratch("events-opened");
        let ran = odec(&folder, text, &["test", "M", "--method", method]);
        assert_eq!(ran.code, Some(0), "{method}: {}{}", ran.text(), ran.err);
    }
}

/// An event that puts a quantity onto the surface of its own condition, from which the motion leads back across it,
/// would happen infinitely often, or has no effect: no run continues past the limit as if it held.
#[test]
fn an_event_that_leads_back_is_an_error() {
    let models = [
        "state x = 0\nx' = 1\nwhen x > 1 { x := 1 }",
        "state x = 0\nx' = 1\nwhen x >= 1 { x := 1 }",
        "state x = 0\nx' = 1\nwhen not (x < 1) { x := 1 }",
        "state x = 0\nx' = 1\nwhen 3*x > 3 and x < 4 { x := 1 }",
        "state x = 0\nx' = 0.7\nwhen sin(x) > 0.5 { x := asin(0.5) }",
        "state x = 0, y = 0.3\nx' = 1\ny' = 0.1\nwhen x > y { x := y }",
        "discrete n = 0\nstate x = 0\nx' = 1\nwhen x >= 1 { x := 1; n += 1 }",
        "discrete peak = 0.7\nstate x = 0\nx' = 1\nwhen x > peak { peak := x }",
        "discrete peak = 0\nstate x = 0\nx' = 1\nwhen x > peak + 0.5 { peak := x - 0.5 }",
        "state h = 1, h' = 0\nh'' = -9.81\nwhen h < 0 { h := 0; h' := 0 }",
        "state h = 1, h' = 0\nh'' = -9.81\nwhen h <= 0 { h := 0; h' := 0 }",
        "discrete n = 0\nstate h = 1, h' = 0\nh'' = -9.81\nwhen h <= 0 { h := 0; n += 1 }",
        "index i = 1..3\nstate x[i] = 0\nx[i]' = i\nwhen x[i] > 1 { x[i] := 1 }",
        "unknown z = 0\nstate x = 0\nx' = 1\nz + z^3 = x\nwhen z > 0.5 { x := 0.625 }",
    ];
    for model in models {
        for method in ["auto", "vern7", "rodas5p", "bdf"] {
            if method == "vern7" && model.contains("unknown") {
                continue;
            }
            let text = format!("{model}\nrun {{ t = 0 .. 3 }}\n");
            let ran = odec(&scratch("events-returns"), &text, &["run", "M", "--method", method]);
            let explained = ran.err.contains("E0626") && ran.err.contains("leads back to its own condition");
            assert!(ran.code == Some(3) && explained, "{method}: {model}\n{:?}\n{}", ran.code, ran.err);
        }
    }
}

/// An event that writes onto a surface and is led away from it, stays there, waits before it happens again, or is
/// latched off, is not an error.
#[test]
fn a_run_continues_if_an_event_leads_away() {
    let models = [
        ("state x = 0, v = 1\nx' = v\nv' = 0\nwhen x > 1 { x := 1; v := -v }\nexpect x(3) = -1 within 1e-9", "turns"),
        ("discrete on = 1\nstate x = 0\nx' = on\nwhen x > 1 { x := 1; on := 0 }\nexpect x(3) = 1 within 0", "stays"),
        ("state x = 0\nx' = if x < 1 then 1 else 0\nwhen x >= 1 { x := 1 }\nexpect x(3) = 1 within 1e-12", "ends"),
        (
            "discrete p = 1\nstate x = 0\nx' = p\nwhen x > 1 and p == 1 { x := 1; p := 2 }\nexpect x(3) = 5 within 1e-9",
            "latch",
        ),
        ("discrete p = 1\nstate x = 0\nx' = p\nwhen x >= 1 { p := 2 }\nexpect x(3) = 5 within 1e-9", "goes on"),
        ("state x = 0\nx' = 1\nwhen x > 1 after 0.8 { x := 1 }\nexpect x(3) = 1.4 within 1e-9", "waits"),
        (
            "discrete n = 0\nstate x = 0\nx' = 1\nat 1 { x := 2 }\nwhen x > 2 { n += 1 }\nexpect n(3) = 1 within 0",
            "another's",
        ),
        (
            "discrete n = 0\nstate h = 1, h' = 0\nh'' = -9.81\nwhen h < 0 { h := 0; h' := -0.9*h'; n += 1 }\n\
          expect n(3) = 4 within 0",
            "bounces",
        ),
        (
            "discrete still = 0\nstate h = 1, h' = 0\nh'' = if still == 1 then 0 else -9.81\n\
          when h < 0 { h := 0; h' := -0.5*h' }\nrest { h := 0; h' := 0; still := 1 }\nexpect h(3) = 0 within 0",
            "rests",
        ),
    ];
    for (model, name) in models {
        for method in METHODS {
            let text = format!("{model}\nrun {{ t = 0 .. 3 }}\n");
            let ran = odec(&scratch("events-no-return"), &text, &["test", "M", "--method", method]);
            assert_eq!(ran.code, Some(0), "{method}, {name}: {}{}", ran.text(), ran.err);
        }
    }
}

/// A run does not cross a surface on which it starts, in either direction; `from start` has no effect on crossings.
#[test]
fn a_surface_at_the_start_is_not_crossed() {
    for (rate, at, count) in [("1", "0", 0), ("-1", "0", 0), ("1", "1", 1), ("-1", "-1", 1), ("cos(t)", "0", 1)] {
        for method in METHODS {
            let text = format!(
                "discrete n = 0\nstate y = 0\ny' = {rate}\nwhen y == {at} {{ n += 1 }}\nexpect n(4) = {count} within 0\n\
                 run {{ t = 0 .. 4 }}\n"
            );
            let ran = odec(&scratch("events-start-on"), &text, &["test", "M", "--method", method]);
            assert_eq!(ran.code, Some(0), "{method}: {text}{}{}", ran.text(), ran.err);
        }
    }
    let text = "discrete n = 0\nstate y = 0\ny' = 1\nwhen y == 0 from start { n += 1 }\nrun { t = 0 .. 4 }\n";
    let ran = odec(&scratch("events-start-on"), text, &["check", "M"]);
    assert!(ran.code == Some(1) && ran.err.contains("E0546"), "{}", ran.err);
}
