//! Bad input, bad outputs, failing runs, signals: a clear message, the documented exit code, whole rows kept.

use crate::common;

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{DECAY, Folder, Ran, whole};

#[test]
fn files_that_are_not_models() {
    let folder = Folder::new("input").with("decay.ode", DECAY).with("empty.ode", "");
    folder.run(&["run", "deacy.ode"]).exits(5).says("E0701").says("did you mean `decay.ode`?");
    folder.run(&["run", "."]).exits(5).says("is a directory");
    folder.run(&["run", "empty.ode"]).exits(1);
    std::fs::write(folder.path("latin1.ode"), b"state x = 1 # \xe9\n").expect("a file");
    folder.run(&["run", "latin1.ode"]).exits(1).says("UTF-8");
    let deep = format!("state x = 1\nx' = {}x{}\n", "(".repeat(100_000), ")".repeat(100_000));
    std::fs::write(folder.path("deep.ode"), deep).expect("a file");
    assert!(folder.run(&["run", "deep.ode"]).exits(1).err().len() < 4000);
    let long = format!("state x = 1\nx' = {}\n", "-".repeat(100_000) + "x");
    std::fs::write(folder.path("long.ode"), long).expect("a file");
    assert!(folder.run(&["run", "long.ode", "--t-end", "1"]).exits(0).err().len() < 4000);
    let name = "n".repeat(100_000);
    std::fs::write(folder.path("name.ode"), format!("state x = 1\nx' = -{name}\n")).expect("a file");
    assert!(folder.run(&["run", "name.ode"]).exits(1).err().len() < 4000);
}

#[test]
fn flags_of_other_tools_have_their_counterpart() {
    let folder = Folder::new("habits").with("decay.ode", DECAY).with("data.csv", "t,A\n0,1\n1,0.5\n");
    for (flags, text) in [
        (["--dt", "0.1"], "write `--step 0.1`"),
        (["--tol", "1e-8"], "write `--rtol 1e-8`"),
        (["--param", "k=2"], "write `--set k=2`"),
        (["-p", "k=2"], "write `--set k=2`"),
        (["--solver", "rk4"], "write `--method rk4`"),
        (["--stop", "3"], "write `--t-end 3`"),
        (["--param", "fast"], "'--params'"),
        (["--t-end", "1day"], "`--t-end 1[day]`"),
        (["--set", "k=3 1/h"], "`--set k=3[1/h]`"),
        (["--set", "k=x"], "the value is not a number"),
        (["--method", "rk"], "`rk4`"),
        (["--method", "gear"], "`bdf`"),
    ] {
        folder.run(&[&["run", "decay.ode"], &flags[..]].concat()).exits(2).says(text);
    }
    let oscillator = "state x = 1, x' = 0\nx'' = -x\noutput e = x^2 + x'^2\nrun { t = 0 .. 1 }\n";
    let folder = folder.with("spring.ode", oscillator);
    folder
        .run(&["run", "spring.ode", "--method", "leapfrog"])
        .exits(2)
        .says("needs a constant step")
        .says("--step 0.01");
    folder.run(&["plot", "spring.ode", "x,e"]).exits(2).says("separate the names by spaces, without quotes: `x e`");
    folder.run(&["field", "spring.ode", "x'"]).exits(2).says("give two states").says("spring.ode x' x`");
    folder.run(&["run", "data.csv"]).exits(5).says("`data.csv` is a table, not a model");
    folder.run(&["fit", "data.csv", "decay.ode", "--params", "k"]).exits(5).says("`odec fit MODEL.ode data.csv");
    folder
        .run(&["fit", "decay.ode", "data.csv", "--params", "k", "k"])
        .exits(5)
        .says("`k` is a parameter")
        .says("commas");
}

#[test]
fn flags_that_make_no_sense() {
    let folder = Folder::new("senseless").with("decay.ode", DECAY).with("end.ode", "state x = 1\nx' = -x\n");
    for (flags, text) in [
        (["--rtol", "-1"], "`--rtol -1`"),
        (["--rtol", "x"], "not a number"),
        (["--t-end", "nan"], "`--t-end nan`"),
        (["--t-end", "inf"], "finite"),
        (["--t-end", "0"], "E0710"),
        (["--t", "5"], "two dots"),
        (["--step", "0"], "above 0"),
        (["--step", "-1"], "above 0"),
        (["--samples", "0"], "above 0"),
        (["--samples", "1e12"], "exceed the limit"),
        (["--samples", "log(5, 9)"], "first logarithmic sample"),
        (["--samples", "9,1"], "outside"),
        (["--max-steps", "1.5"], "whole number"),
        (["--set", "k"], "`--set k`"),
        (["--set", "kk=1"], "`kk`"),
        (["--set", "half=1"], "you cannot set it"),
        (["--atol", "y=1"], "`y`"),
        (["--method", "rodas5000"], "E0611"),
        (["--method", "bdf7"], "not zero-stable"),
        (["--record", "X"], "E0706"),
        (["--run", "none"], "`none`"),
        (["--params", "none"], "`none`"),
        (["--stats", "-"], "E0702"),
    ] {
        let ran = folder.run(&[&["run", "decay.ode"], &flags[..]].concat()).exits(2).says(text);
        assert!(ran.out().is_empty(), "{flags:?} wrote rows");
    }
    folder.run(&["run", "end.ode"]).exits(2).says("--t-end 10");
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new("output").with("decay.ode", DECAY);
    folder.run(&["run", "decay.ode", "-o", "no/rows.csv"]).exits(5).says("E0703");
    folder.run(&["run", "decay.ode", "-o", "."]).exits(5).says("directory");
    folder.run(&["run", "decay.ode", "-q", "--stats", "no/stats.json"]).exits(5).says("E0703");
    if cfg!(target_os = "linux") {
        folder.run(&["run", "decay.ode", "-o", "/dev/full"]).exits(5).says("no space left");
        let full = std::fs::File::options().write(true).open("/dev/full").expect("the full device");
        let ran = folder.command(&["run", "decay.ode"]).stdout(full).output().expect("the command starts");
        Ran(ran).exits(5).says("no space left");
    }
}

#[test]
fn an_old_file_survives_a_run_that_is_refused() {
    let folder = Folder::new("survives").with("decay.ode", DECAY).with("rows.csv", "precious\n");
    folder.run(&["run", "decay.ode", "-o", "rows.csv", "--rtol", "1e-30"]).exits(2);
    assert_eq!(folder.read("rows.csv"), "precious\n");
    folder.run(&["run", "decay.ode", "-o", "rows.csv", "-q"]).exits(0);
    assert_eq!(whole(&folder.read("rows.csv")), 5);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new("pipe").with("decay.ode", DECAY);
    let mut command = folder.command(&["run", "decay.ode", "-q", "--samples", "200000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut first = [0u8; 9];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("a header");
    assert_eq!(&first, b"t,x,half\n");
    let ran = Ran(child.wait_with_output().expect("an end")).exits(0);
    assert_eq!(ran.err(), "");
}

#[test]
fn rows_before_a_failure_are_kept() {
    let folder = Folder::new("failure").with("blow.ode", "state x = 1\nx' = x^2\nrun { t = 0 .. 2; samples = 20 }\n");
    let ran = folder.run(&["run", "blow.ode"]).exits(3).says("E0604").says("last accepted").says("blow.ode:2:6");
    // the solution is 1/(1 - t): rows up to 0.9, and perhaps one at the pole itself, depending on rounding
    assert!((10..=11).contains(&whole(&ran.out())), "{}", ran.out());
    folder.run(&["run", "blow.ode", "-o", "rows.csv", "-q"]).exits(3);
    assert_eq!(folder.read("rows.csv"), ran.out());
}

/// Unix only: there is no other way to send a signal without unsafe code than the command `kill`.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_whole_rows() {
    let long = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 1e6; method = rk4; step = 0.001; max_steps = 1000000000 }\n";
    let folder = Folder::new("interrupt").with("long.ode", long);
    for delay in [60, 150, 300] {
        let mut command = folder.command(&["run", "long.ode", "-o", "rows.csv"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        // the handler is installed before the first row
        let started = Instant::now();
        while !folder.path("rows.csv").metadata().is_ok_and(|m| m.len() > 0) {
            assert!(started.elapsed() < Duration::from_mins(1), "no rows come");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(delay));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let ran = Ran(child.wait_with_output().expect("an end")).exits(130).says("interrupted at");
        assert!(whole(&folder.read("rows.csv")) > 0, "{}", ran.err());
        std::fs::remove_file(folder.path("rows.csv")).expect("the rows");
    }
}

/// Commands without a summary say a word too.
#[cfg(unix)]
#[test]
fn every_command_says_that_a_signal_stopped_it() {
    let long = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 1e6; method = rk4; step = 0.001; max_steps = 1000000000 }\n";
    let folder = Folder::new("stopped").with("long.ode", long);
    let commands: [&[&str]; 4] = [
        &["run", "long.ode", "-o", "rows.csv", "-q"],
        &["plot", "long.ode", "-o", "x.svg"],
        &["test", "long.ode"],
        &["stability", "long.ode"],
    ];
    for (words, signal) in commands.iter().zip(["-INT", "-TERM", "-HUP", "-TERM"]) {
        let mut command = folder.command(words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        std::thread::sleep(Duration::from_secs(1));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        Ran(child.wait_with_output().expect("an end")).exits(130).says("stopped by Ctrl-C, SIGTERM or SIGHUP");
    }
}

#[test]
fn the_model_is_never_written_over() {
    let folder = Folder::new("over").with("decay.ode", DECAY);
    for flags in [
        &["run", "decay.ode", "-o", "decay.ode"][..],
        &["run", "decay.ode", "-o", "./decay.ode"],
        &["run", "decay.ode", "-o", "rows.csv", "--stats", "decay.ode"],
        &["emit", "decay.ode", "--to", "c", "-o", "decay.ode"],
    ] {
        folder.run(flags).exits(2).says("E0702").says("overwrite the model");
    }
    folder.run(&["run", "decay.ode", "-o", "a", "--stats", "a"]).exits(2).says("both name `a`");
    folder.run(&["check", "decay.ode"]).exits(0);
    folder.run(&["run", "decay.ode", "-q", "-o", "rows.csv", "--stats", "stats.json"]).exits(0);
}

#[test]
fn values_of_flags_are_quoted_as_typed_and_names_are_looked_up_where_they_count() {
    let folder = Folder::new("quoted").with("decay.ode", DECAY);
    let says = |flags: &[&str], exit: i32, text: &str| {
        folder.run(&[&["run", "decay.ode"], flags].concat()).exits(exit).says(text);
    };
    says(&["--set", "k=abc"], 2, "`--set k=abc`: the value is not a number");
    says(&["--set", "k="], 2, "`--set k=`: a number is missing after `=`");
    says(&["--set", "k=inf"], 2, "`--set k=inf`: the value must be finite");
    says(&["--atol", "half=1e-3"], 2, "the model has no state `half`");
    says(&["--max-steps", "1"], 3, "1 step was not enough");
    says(&["--max-steps", "2", "--max-step", "1e-9"], 3, "`--max-step`");
}

#[test]
fn a_state_that_is_an_output_is_one_column_and_outputs_alone_need_some() {
    let bare = "state x = 1\nx' = -x\n";
    let folder = Folder::new("columns").with("x.ode", &format!("{bare}output x\n")).with("bare.ode", bare);
    let table = |record: &str| folder.run(&["run", "x.ode", "-q", "--t-end", "1", "--record", record]).exits(0).out();
    assert!(table("all").starts_with("t,x\n"));
    assert!(table("outputs").starts_with("t,x\n"));
    let ran = folder.run(&["run", "bare.ode", "--t-end", "1", "--record", "outputs"]).exits(2);
    ran.says("E0706").says("the model has none");
}

#[test]
fn an_expectation_before_the_start_is_named_as_such() {
    let text = "state x = 1\nx' = -x\nrun { t = 0 .. 1 }\nexpect x(-1) = 2.7 within 1e-3\n";
    let folder = Folder::new("early").with("x.ode", text);
    folder.run(&["test", "x.ode"]).exits(4).prints("not reached").says("before the run starts");
}

#[test]
fn a_forgotten_command_is_named() {
    let folder = Folder::new("forgotten").with("decay.ode", DECAY);
    folder.run(&["decay.ode"]).exits(2).says("odec run decay.ode");
    folder.run(&["explain", "e0201"]).exits(0).prints("E0201");
}

/// An error about a value beyond a bound names the origin of the value.
#[test]
fn bounds_are_those_of_the_model_and_the_value_that_of_the_command_line() {
    let text = |k: &str| format!("param k = {k} in 0..1\nstate x = 1\nx' = -k*x\nrun {{ t = 0 .. 1 }}\n");
    let folder = Folder::new("bounds").with("fine.ode", &text("0.5")).with("wrong.ode", &text("3"));
    folder.run(&["run", "fine.ode", "--set", "k=3"]).exits(2).says("E0407");
    folder.run(&["dump", "fine.ode", "--set", "k=3"]).exits(2).says("E0407");
    folder.run(&["run", "wrong.ode"]).exits(1).says("E0407");
    folder.run(&["run", "wrong.ode", "--set", "k=4"]).exits(1).says("E0407");
}

#[test]
fn a_wrong_command_line_gives_a_json_diagnostic_with_the_json_format() {
    let folder = Folder::new("words").with("decay.ode", DECAY);
    for words in [
        &["run", "decay.ode", "--message-format", "json", "--t_end", "3"][..],
        &["--message-format=json", "rum", "decay.ode"],
        &["--message-format=json", "decay.ode"],
        &["--message-format=json"],
        &["run", "--message-format", "json"],
    ] {
        let err = folder.run(words).exits(2).err();
        assert_eq!(err.lines().count(), 1, "{words:?}: {err}");
        assert!(err.starts_with("{\"code\":\"E0712\",\"severity\":\"error\",\"headline\":\""), "{words:?}: {err}");
    }
    let err = folder.run(&["run", "decay.ode", "--", "--message-format=json"]).exits(2).err();
    assert!(err.starts_with("error:"), "{err}");
    assert!(folder.run(&["--message-format=json", "--help"]).exits(0).err().is_empty());
}

/// A flag takes a constant expression, and the unit of what it sets.
#[test]
fn flags_take_expressions_and_units() {
    let text = "time t [s]\nparam k = 2 [1/min], V = 3 [L]\nstate c = 4 [ng/mL], d = 1\nc' = -k*c\nd' = 0\n";
    let folder = Folder::new("measured").with("m.ode", text);
    let rows = |flags: &[&str]| {
        folder.run(&[&["run", "m.ode", "-q", "--t-end", "60", "--samples", "3"], flags].concat()).exits(0).out()
    };
    let same = |a: &[&str], b: &[&str]| assert_eq!(rows(a), rows(b), "{a:?} {b:?}");
    same(&["--set", "k=10/4"], &["--set", "k=2.5"]);
    same(&["--set", "k=2^-1 [1/min]"], &["--set", "k=0.5"]);
    same(&["--set", "k=1/24[1/s]"], &["--set", "k=2.5"]);
    same(&["--set", "c=2*(1 + 1)"], &["--set", "c=4"]);
    same(&["--max-step", "10[ms]"], &["--max-step", "0.01"]);
    same(&["--step", "0.5[min]", "--method", "rk4"], &["--step", "30", "--method", "rk4"]);
    same(&["--atol", "c=10[ng/L]", "--rtol", "1e-3"], &["--atol", "c=0.01", "--rtol", "1e-3"]);
    assert_ne!(rows(&["--atol", "c=0.01", "--rtol", "1e-3"]), rows(&["--rtol", "1e-3"]));
    let span = |t: &str| folder.run(&["run", "m.ode", "-q", "--samples", "3", "--t", t]).exits(0).out();
    assert_eq!(span("0..1/2[h]"), span("0..1800"));
    let times = |list: &str| folder.run(&["run", "m.ode", "-q", "--t-end", "60", "--samples", list]).exits(0).out();
    assert_eq!(times("100[ms],0.5[min],60"), times("[0.1, 30, 60]"));
    let wrong = |flags: &[&str], said: &str| {
        folder.run(&[&["run", "m.ode", "--t-end", "60"], flags].concat()).says(said);
    };
    wrong(&["--set", "k=V/2"], "`--set k=V/2`: the value is not a number");
    wrong(&["--set", "k=1/0"], "the value must be finite");
    wrong(&["--atol", "10[ng/L]"], "for example `--atol x=10[ng/L]`");
    wrong(&["--atol", "c=10[s]"], "`c` is in [ng/mL], but 10 [s] is not");
    wrong(&["--atol", "d=10[s]"], "`d` has no unit");
    wrong(&["--max-step", "10[mg]"], "`t` is in [s], but 10 [mg] is not");
    wrong(&["--samples", "1[s],10[mg]"], "`t` is in [s], but 10 [mg] is not");
}
