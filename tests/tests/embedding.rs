//! The examples of docs/embedding.md are compiled and run: the loop of a game in Rust, and the emitted object called
//! from C.

use std::process::Command;

use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, SampleRule};
use odec_sim::{Loaded, Session, Simulation};
use odec_tests::command::{finish, run_in, scratch};
use odec_tests::fuzz::skipped;
use odec_tests::share::Share;
use odec_tests::{block, root, snapshot, text};

#[path = "../examples/game_loop.rs"]
mod game_loop;
#[path = "../examples/solver.rs"]
mod solver;

const CART: &str = include_str!("../fixtures/embedding/cart.ode");
const MASS: f64 = 2.0;
const FRICTION: f64 = 0.5;

/// Place and velocity after a time under a constant force.
fn pushed((x, v): (f64, f64), force: f64, time: f64) -> (f64, f64) {
    let (limit, fade) = (force / FRICTION, (-FRICTION / MASS * time).exp());
    (x + limit * time + (v - limit) * MASS / FRICTION * (1.0 - fade), limit + (v - limit) * fade)
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * (1.0 + expected.abs()), "{found}, not {expected}");
}

#[test]
fn a_force_set_in_each_frame_moves_the_cart() {
    game_loop::main().expect("the example runs");
    let mut cart = game_loop::start(CART).expect("a model");
    let mut expected = (0.0, 0.0);
    for frame in 0..4 * game_loop::RATE {
        game_loop::step(&mut cart, frame).expect("a frame");
        expected = pushed(expected, game_loop::push(frame), 1.0 / f64::from(game_loop::RATE));
        assert_eq!(cart.time(), f64::from(frame + 1) / f64::from(game_loop::RATE), "the end of a frame is met exactly");
        near(cart.get("x").expect("a state"), expected.0, 1e-5);
        near(cart.get("x'").expect("a velocity"), expected.1, 1e-5);
        near(cart.get("energy").expect("an output"), MASS * expected.1 * expected.1 / 2.0, 1e-4);
    }
    assert!(expected.0.abs() > 1.0, "it moves");
    assert_eq!(cart.get("force").expect("a parameter"), -20.0);
    cart.set("x'", 0.0).expect("a velocity can be set");
    assert_eq!(cart.get("energy").expect("an output"), 0.0);
    for (name, value, code) in
        [("force", 21.0, "E0407"), ("force", f64::NAN, "E0705"), ("energy", 1.0, "E0408"), ("speed", 1.0, "E0706")]
    {
        let error = cart.set(name, value).expect_err("it cannot be set");
        assert!(error.class.exit_code() == 2 && error.to_string().contains(code), "{name}: {error}");
    }
}

/// The quantity 0.1 prey + 0.4 predators - 0.4 log prey - 1.1 log predators is constant.
#[test]
fn a_system_written_by_hand_is_solved() {
    solver::main();
    let rows = solver::rows().0;
    let invariant =
        |(_, prey, predators): (f64, f64, f64)| 0.1 * prey + 0.4 * predators - 0.4 * prey.ln() - 1.1 * predators.ln();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [0.0, 10.0, 20.0, 30.0, 40.0]);
    assert!((rows[1].1 - rows[0].1).abs() > 1.0, "they change");
    for row in &rows {
        near(invariant(*row), invariant(rows[0]), 1e-4);
    }
}

fn load() -> Loaded {
    Session::new().load("cart.ode", CART).expect("a model")
}

fn choices() -> Choices {
    Choices { t_end: Some(8.0), samples: Some(SampleRule::Count(8)), ..Choices::default() }
}

fn ends_at(cart: &Simulation) -> f64 {
    let solution = cart.solve().expect("a run");
    assert_eq!(solution.columns(), ["t", "x", "x'", "energy"]);
    assert_eq!(solution.rows().len(), 9);
    solution.column("x").expect("a column").last().expect("a row")
}

#[test]
fn one_compiled_model_runs_with_other_values_on_other_threads() {
    let cart = load().simulate(&choices(), Purpose::Rows).expect("a simulation");
    let forces = [-20.0, -5.0, 5.0, 20.0];
    std::thread::scope(|scope| {
        let runs = forces.map(|force| {
            let cart = &cart;
            scope.spawn(move || ends_at(&cart.with(&[("force", force)]).expect("values")))
        });
        for (force, run) in forces.into_iter().zip(runs) {
            near(run.join().expect("a thread"), pushed((0.0, 0.0), force, 8.0).0, 1e-5);
        }
    });
    // the first one is unchanged
    assert_eq!(ends_at(&cart), 0.0);
    // initial values require a separate program
    near(ends_at(&cart.with(&[("x'", 3.0)]).expect("values")), pushed((0.0, 3.0), 0.0, 8.0).0, 1e-5);
    let error = cart.with(&[("force", 99.0)]).err().expect("outside its bounds");
    assert_eq!((error.class.exit_code(), error.diagnostics[0].code.code), (2, "E0407"));
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let error = Session::new().load("wrong.ode", "state x = 1\nx' = -k*x\n").err().expect("no model");
    let told = error.to_string();
    assert!(told.starts_with("wrong.ode:2:7: error[E0201]: "), "{told}");
    let missing = load().simulate(&Choices::default(), Purpose::Rows).err().expect("no end");
    assert_eq!((missing.class.exit_code(), missing.diagnostics[0].code.code), (2, "E0709"));
    // a program that gives models no files does not read them implicitly
    let table = "index i = 1..2\nconst w[i] = csv(\"/etc/passwd\")\nstate u[i] = 1\nu[i]' = -w[i]*u[i]\n";
    let error = Session::new().load("table.ode", table).expect("a model").program(&Choices::default());
    assert_eq!(error.err().expect("no table").diagnostics[0].code.code, "E0719");
    let files = std::collections::HashMap::from([("w.csv".to_owned(), b"w\n0.5\n2\n".to_vec())]);
    let table = table.replace("/etc/passwd", "w.csv");
    let decay = Session::new().with_files(files).load("table.ode", &table).expect("a model");
    let decay = decay.simulate(&choices(), Purpose::Rows).expect("a table").solve().expect("a run");
    near(decay.column("u[1]").expect("a column").last().expect("a row"), (-4.0f64).exp(), 1e-5);
}

#[test]
fn the_emitted_object_is_called_from_c() {
    let folder = scratch("embedding");
    for file in ["cart.ode", "host.c"] {
        std::fs::copy(root().join("tests/fixtures/embedding").join(file), folder.join(file)).expect("a file");
    }
    run_in(&folder, &["emit", "cart.ode", "--to", "object"], b"").success();
    let Some(ran) = run_host(&folder, &["host.c", "cart.o"]) else { return };
    let (x, v) = pushed((0.0, 0.0), 20.0, 8.0);
    let expected = [("x", x), ("x'", v), ("energy", MASS * v * v / 2.0)];
    assert_eq!(ran.lines().count(), expected.len());
    for (line, (name, value)) in ran.lines().zip(expected) {
        let (found, number) = line.split_once(" = ").expect("a name and a number");
        assert_eq!(found, name);
        near(number.parse().expect("a number"), value, 1e-8);
    }
}

/// Compiles a host with a C file from a folder, and runs it; `None` without a C compiler.
fn run_host(folder: &std::path::Path, files: &[&str]) -> Option<String> {
    run_host_with(folder, files, &[])
}

/// Like [`run_host`], with arguments for the host.
fn run_host_with(folder: &std::path::Path, files: &[&str], arguments: &[&str]) -> Option<String> {
    if Command::new("cc").arg("--version").output().is_err() {
        skipped("emitted C, because there is no `cc`");
        return None;
    }
    let mut cc = Command::new("cc");
    cc.current_dir(folder).args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]);
    cc.args(files).args(["-o", "host", "-lm"]);
    finish(cc, b"").success();
    let mut host = Command::new(folder.join("host"));
    host.args(arguments);
    Some(finish(host, b"").success().text())
}

/// Rows of numbers, without the line of names if there is one.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').map(|x| x.parse().ok()).collect::<Option<Vec<f64>>>();
    text.lines().filter_map(numbers).collect()
}

/// A host with its own solver and the functions of the header gets the rows of `odec run`, from C and from an object
/// file: counters that follow states, measured inputs, delays, lists of times, an accumulation that comes to rest.
#[test]
fn models_with_events_run_in_a_host_of_c() {
    let mut share = Share::one_of(2);
    let folder = scratch("embedding-hybrid");
    std::fs::copy(root().join("tests/fixtures/embedding/hybrid.c"), folder.join("hybrid.c")).expect("a file");
    for (model, end, samples, events) in
        [("quantiser", "8", "40", 2), ("room", "4", "40", 20), ("rest", "6", "60", 80), ("ball", "1.2", "12", 2)]
    {
        let file = format!("{model}.ode");
        std::fs::copy(root().join("tests/fixtures/embedding").join(&file), folder.join(&file)).expect("a file");
        let t = format!("0..{end}");
        let run = ["run", &file, "--t", &t, "--samples", samples, "--events", "log.csv", "--quiet"];
        let expected = rows(&run_in(&folder, &run, b"").success().text());
        let log = text(&folder.join("log.csv"));
        assert!(log.lines().count() > events, "{model} has fewer than {events} events:\n{log}");
        for (to, written) in [("c", "model.c"), ("object", "model.o")].into_iter().filter(|_| share.takes()) {
            run_in(&folder, &["emit", &file, "--to", to, "--prefix", "model", "-o", written], b"").success();
            let Some(found) = run_host_with(&folder, &["hybrid.c", written], &[end, samples]) else { return };
            let found = rows(&found);
            assert_eq!(found.len(), expected.len(), "{model} {to}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.len(), expected.len(), "{model} {to}");
                for (found, expected) in found.iter().zip(expected) {
                    let apart = (found - expected).abs();
                    assert!(apart <= 2e-7 * (1.0 + expected.abs()), "{model} {to}: {found}, not {expected}");
                }
            }
        }
    }
}

/// The events of the emitted C are those of `odec run`: their times, and the final state of the run.
#[test]
fn a_ball_bounces_in_emitted_c() {
    let folder = scratch("embedding-ball");
    for file in ["ball.ode", "bounce.c"] {
        std::fs::copy(root().join("tests/fixtures/embedding").join(file), folder.join(file)).expect("a file");
    }
    run_in(&folder, &["emit", "ball.ode", "--to", "c"], b"").success();
    let own = run_in(&folder, &["run", "ball.ode", "--events", "log.csv", "--quiet"], b"").success();
    let Some(found) = run_host(&folder, &["bounce.c", "ball.c"]) else { return };
    let log = text(&folder.join("log.csv"));
    let mut times: Vec<f64> = Vec::new();
    for line in log.lines().skip(1) {
        let time: f64 = line.split(',').next().and_then(|t| t.parse().ok()).expect("a time");
        if times.last() != Some(&time) {
            times.push(time);
        }
    }
    let lines: Vec<&str> = found.lines().collect();
    let events = lines.iter().filter(|line| line.contains("event"));
    let time = |line: &str| line.split(' ').next().and_then(|t| t.parse::<f64>().ok()).expect("a time");
    let mut found: Vec<f64> = events.map(|line| time(line)).collect();
    found.dedup();
    assert_eq!(found.len(), times.len(), "{lines:?}\n{log}");
    assert!(times.len() == 5, "four bounces and a push: {times:?}");
    for (found, expected) in found.iter().zip(&times) {
        near(*found, *expected, 1e-8);
    }
    let last = own.text();
    let last: Vec<f64> = last.lines().last().expect("a row").split(',').map(|x| x.parse().expect("a number")).collect();
    let end = lines.last().expect("a line");
    let number = |name: &str| -> f64 {
        let rest = end.split(&format!("{name} = ")).nth(1).expect("a name");
        rest.split(',').next().and_then(|x| x.parse().ok()).expect("a number")
    };
    near(time(end), last[0], 1e-8);
    near(number("h'"), last[2], 1e-7);
    near(number("hits"), 4.0, 0.0);
}

/// An event that the motion leads back to its own condition at once ends the run of a host too, without an endless loop.
#[test]
fn a_host_in_c_ends_when_instants_make_no_progress() {
    let folder = scratch("embedding-crowd");
    std::fs::copy(root().join("tests/fixtures/embedding/hybrid.c"), folder.join("hybrid.c")).expect("a file");
    for event in ["when x > 1 { x := 1 }", "discrete n = 0\nwhen x > n + 0.5 { n := x - 0.5 }"] {
        std::fs::write(folder.join("m.ode"), format!("state x = 0\nx' = 1\n{event}\n")).expect("a file");
        run_in(&folder, &["emit", "m.ode", "--to", "c", "--prefix", "model", "-o", "model.c"], b"").success();
        if run_host_with(&folder, &["hybrid.c", "model.c"], &["0.25", "5"]).is_none() {
            return;
        }
        let mut host = Command::new(folder.join("host"));
        host.args(["3", "30"]);
        let ran = finish(host, b"");
        assert!(ran.code == Some(1) && ran.err.contains("status -4 at "), "{event}: {:?}\n{}", ran.code, ran.err);
    }
}

/// Features that emitted programs do not support are refused by name.
#[test]
fn unsupported_features_of_emitted_c_are_refused() {
    let folder = scratch("embedding-refused");
    let refused = |text: &str, to: &str, found: &str| {
        std::fs::write(folder.join("m.ode"), text).expect("a file");
        let ran = run_in(&folder, &["emit", "m.ode", "--to", to], b"");
        assert!(ran.code != Some(0) && ran.err.contains("E0504") && ran.err.contains(found), "{text}\n{}", ran.err);
    };
    for to in ["c", "object"] {
        refused("state x = 1, x >= 0\nx' = -x\n", to, "bound");
    }
    refused("state x = 1\nx' = -x\nat 1 { x := 1 }\n", "clif", "the model has an event here");
}

/// Arrays of relations and events, some of whose elements are at an edge, give valid C.
#[test]
fn arrays_with_events_are_written() {
    let folder = scratch("embedding-array");
    let text = "model net\nindex i = 1..5\nparam k = 0.4\nstate V[i] = i/10\ndiscrete n[i] = 0\n\
                V[i]' = 1 - V[i] + 0.1*max(V[i-1] - V[i], 0) + (mod(t, 2) < 0.5)\nboundary V[0] = 0\n\
                when V[i] > 1 - k { V[i] := 0; n[i] += 1 }\nevery 0.5 from 0.1 until 3 { V[2] += 0.01 }\noutput n\n";
    std::fs::write(folder.join("net.ode"), text).expect("a file");
    run_in(&folder, &["emit", "net.ode", "--to", "c"], b"").success();
    let host = "#include <stdio.h>\n#include \"net.h\"\nint main(void) {\n\
                printf(\"%d %d %d %d %d\\n\", (int)net_interface, (int)net_relations, (int)net_events, (int)net_discretes, \
                (int)net_stop_everies);\nreturn 0;\n}\n";
    std::fs::write(folder.join("host.c"), host).expect("a file");
    let Some(found) = run_host(&folder, &["host.c", "net.c"]) else { return };
    // a threshold and a bend for each element; five events and one at known times; the pulse begins and ends, for the
    // elements inside and for those at the edge
    assert_eq!(found.trim(), "3 10 6 5 4");
}

/// The page shows the files that are compiled above, word by word.
#[test]
fn the_page_shows_what_is_run() {
    let path = root().join("docs/embedding.md");
    let mut page = text(&path);
    for (language, file) in [
        ("ode", "tests/fixtures/embedding/cart.ode"),
        ("rust", "tests/examples/game_loop.rs"),
        ("c", "tests/fixtures/embedding/host.c"),
    ] {
        let shown = block::of(&path, language).remove(0).text;
        page = page.replacen(&shown, &text(&root().join(file)), 1);
    }
    for (language, file) in [
        ("ode", "tests/fixtures/embedding/ball.ode"),
        ("rust", "tests/examples/solver.rs"),
        ("c", "tests/fixtures/embedding/bounce.c"),
    ] {
        let shown = block::of(&path, language).remove(1).text;
        page = page.replacen(&shown, &text(&root().join(file)), 1);
    }
    snapshot::report(snapshot::check(&path, &page).err().as_slice());
}
