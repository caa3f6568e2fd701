//! Files that are read and written: no source of a model is overwritten, files are whole, tables are bounded.

use std::process::{Command, Stdio};

use super::common::{DECAY, Folder, Ran, whole};

const TABLE: &str = "\
const N = 3
index i = 1..N
const w[i] = csv(\"w.csv\")
state u[i] = 1
u[i]' = -w[i]*u[i]
run { t = 0 .. 1; samples = 2 }
";

fn with_table(name: &str) -> Folder {
    Folder::new(name).with("table.ode", TABLE).with("w.csv", "1\n2\n3\n")
}

#[cfg(unix)]
#[test]
fn sources_of_a_model_are_not_overwritten_through_links() {
    let folder = with_table("links");
    std::fs::hard_link(folder.path("table.ode"), folder.path("hard.csv")).expect("a hard link");
    std::os::unix::fs::symlink("table.ode", folder.path("soft.csv")).expect("a link");
    for output in ["hard.csv", "soft.csv"] {
        folder.run(&["run", "table.ode", "-o", output]).exits(2).says("E0702").says("overwrite the model");
    }
    std::fs::hard_link(folder.path("w.csv"), folder.path("again.csv")).expect("a hard link");
    for output in ["w.csv", "again.csv"] {
        folder.run(&["run", "table.ode", "-o", output]).exits(2).says("E0702").says("a table of the model, `w.csv`");
        folder.run(&["sweep", "table.ode", "--set", "u[1]=1:2:2", "-o", output]).exits(2).says("E0702");
    }
    folder.run(&["plot", "table.ode", "-o", "w.csv"]).exits(2);
    assert_eq!((folder.read("table.ode").as_str(), folder.read("w.csv").as_str()), (TABLE, "1\n2\n3\n"));
}

#[test]
fn the_file_of_a_part_is_not_overwritten() {
    let part = "state x = 1\nx' = -x\n";
    let folder =
        Folder::new("part").with("up.ode", "use \"part.ode\" as p\nrun { t = 0 .. 1 }\n").with("part.ode", part);
    for flags in [
        &["run", "up.ode", "-o", "part.ode"][..],
        &["run", "up.ode", "--stats", "part.ode"],
        &["run", "up.ode", "--events", "part.ode"],
        &["sweep", "up.ode", "--set", "p.x=1:2:2", "-o", "part.ode"],
        &["emit", "up.ode", "--to", "c", "-o", "part.ode"],
        &["export", "up.ode", "-o", "part.ode"],
    ] {
        folder.run(flags).exits(2).says("E0702").says("a part of the model, `part.ode`");
    }
    assert_eq!(folder.read("part.ode"), part);
}

#[cfg(unix)]
#[test]
fn two_outputs_in_one_new_file_are_refused_however_they_are_written() {
    let folder = Folder::new("twice").with("decay.ode", DECAY);
    std::fs::create_dir(folder.path("real")).expect("a folder");
    std::os::unix::fs::symlink("real", folder.path("link")).expect("a link");
    std::os::unix::fs::symlink("real/later.csv", folder.path("later.csv")).expect("a link to no file yet");
    let whole = folder.path("r.csv").display().to_string();
    for (rows, stats) in [
        ("r.csv", "./r.csv"),
        ("r.csv", "real/../r.csv"),
        ("r.csv", whole.as_str()),
        ("real/q.csv", "link/q.csv"),
        ("later.csv", "real/later.csv"),
    ] {
        folder.run(&["run", "decay.ode", "-o", rows, "--stats", stats]).exits(2).says("E0702").says("both name");
    }
    folder.run(&["run", "decay.ode", "-q", "-o", "real/r.csv", "--stats", "r.csv"]).exits(0);
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new("dash").with("decay.ode", DECAY);
    let rows = folder.run(&["run", "decay.ode", "-q"]).exits(0).out();
    assert_eq!(folder.run(&["run", "decay.ode", "-q", "-o", "-"]).exits(0).out(), rows);
    let swept = ["sweep", "decay.ode", "-q", "--set", "k=1:2:3"];
    let rows = folder.run(&swept).exits(0).out();
    assert_eq!(folder.run(&[&swept[..], &["-o", "-"]].concat()).exits(0).out(), rows);
    folder.run(&["run", "decay.ode", "-o", "-", "--stats", "-"]).exits(2).says("E0702");
    folder.run(&["emit", "decay.ode", "--to", "c", "-o", "-"]).exits(2).says("writes two files");
    folder.run(&["emit", "decay.ode", "--to", "clif", "-o", "-"]).exits(0).prints("function");
    assert!(!folder.path("-").exists());
}

#[test]
fn emit_writes_both_files_or_none_and_names_them_by_the_model() {
    let folder = Folder::new("both").with("file.ode", DECAY);
    folder.run(&["emit", "file.ode", "--to", "object"]).exits(0).says("wrote decay.o and decay.h");
    std::fs::create_dir(folder.path("half.h")).expect("a folder in the way");
    folder.run(&["emit", "file.ode", "--to", "c", "-o", "half.c"]).exits(5).says("E0703");
    assert!(!folder.path("half.c").exists(), "half of what was asked for");
    let left = std::fs::read_dir(&folder.0).expect("the folder").filter_map(|e| e.ok()?.file_name().into_string().ok());
    assert!(left.into_iter().all(|name| !name.contains("part")), "a draft is left");
}

#[cfg(unix)]
#[test]
fn tables_come_from_the_folder_of_the_model_unless_others_are_allowed() {
    let folder = with_table("allowed");
    folder.run(&["run", "table.ode", "-q"]).exits(0);
    std::fs::create_dir(folder.path("models")).expect("a folder");
    std::fs::write(folder.path("models/far.ode"), TABLE.replace("w.csv", "../w.csv")).expect("a model");
    std::os::unix::fs::symlink("../w.csv", folder.path("models/w.csv")).expect("a link");
    std::fs::write(folder.path("models/link.ode"), TABLE).expect("a model");
    for model in ["models/far.ode", "models/link.ode"] {
        for command in ["run", "check", "test"] {
            folder.run(&[command, model]).exits(5).says("E0719").says("--allow-read");
        }
        // the proposed folder is that of the file, not that of the link
        let told = folder.run(&["run", model]).exits(5).err().split_whitespace().collect::<Vec<_>>().join(" ");
        let proposed = told.split("`--allow-read ").nth(1).and_then(|rest| rest.split('`').next()).expect("help");
        folder.run(&["run", model, "-q", "--allow-read", proposed]).exits(0);
        folder.run(&["run", model, "-q", "--allow-read", "."]).exits(0);
        folder.run(&["sweep", model, "-q", "--allow-read", "w.csv", "--set", "u[1]=1:2:2"]).exits(0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_without_an_end_is_not_read_for_ever() {
    let folder = Folder::new("endless").with("zero.ode", &TABLE.replace("w.csv", "/dev/zero"));
    folder.run(&["run", "zero.ode"]).exits(5).says("E0719");
    folder.run(&["run", "zero.ode", "--allow-read", "/dev"]).exits(5).says("E0701").says("not an ordinary file");
}

/// A killed run may leave a part of a row: the file does not end with a newline, and is refused as a table.
#[test]
fn a_torn_row_is_recognised() {
    let wide = TABLE.replace("const w[i]", "index j = 1..2\nconst w[i,j]").replace("-w[i]", "-w[i,2]");
    let folder = Folder::new("torn").with("pair.ode", &wide);
    std::fs::write(folder.path("w.csv"), "1,2\n3,4\n5,6\n").expect("a table");
    folder.run(&["run", "pair.ode", "-q"]).exits(0);
    for torn in ["1,2\n3,4\n5", "1,2\n3,4\n5,6e-"] {
        std::fs::write(folder.path("w.csv"), torn).expect("a table");
        folder.run(&["run", "pair.ode"]).exits(1).says("E0714").says("its last row, line 3, is incomplete");
    }
}

/// SIGTERM and SIGHUP are answered like Ctrl-C.
#[cfg(unix)]
#[test]
fn a_request_to_end_keeps_whole_rows() {
    let long = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 1e6; method = rk4; step = 0.001; max_steps = 1000000000 }\n";
    let folder = Folder::new("terminate").with("long.ode", long);
    for signal in ["-TERM", "-HUP"] {
        let mut command = folder.command(&["run", "long.ode", "-o", "rows.csv"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let started = std::time::Instant::now();
        while !folder.path("rows.csv").metadata().is_ok_and(|m| m.len() > 0) {
            assert!(started.elapsed() < std::time::Duration::from_mins(1), "no rows come");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs").success());
        let ran = Ran(child.wait_with_output().expect("an end")).exits(130).says("interrupted at");
        assert!(whole(&folder.read("rows.csv")) > 0, "{}", ran.err());
        std::fs::remove_file(folder.path("rows.csv")).expect("the rows");
    }
}

/// A run that writes to a pipe which nobody reads notices no signal; the first one ends it all the same.
#[cfg(unix)]
#[test]
fn one_request_ends_a_run_that_does_not_notice_it() {
    let folder = Folder::new("unnoticed").with("decay.ode", DECAY);
    let mut command = folder.command(&["run", "decay.ode", "--samples", "300000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs").success());
    let started = std::time::Instant::now();
    while child.try_wait().expect("a state").is_none() {
        assert!(started.elapsed() < std::time::Duration::from_mins(1), "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn the_reader_that_has_enough_is_named_in_the_summary() {
    use std::io::Read;
    let folder = Folder::new("enough").with("decay.ode", DECAY);
    let mut command = folder.command(&["run", "decay.ode", "--samples", "300000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut first = [0u8; 9];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("a header line");
    Ran(child.wait_with_output().expect("an end")).exits(0).says("the reader closed the pipe");
}

#[test]
fn mistakes_on_the_command_line_suggest_the_correction() {
    let folder = Folder::new("slips").with("decay.ode", DECAY);
    folder.run(&["rnu", "decay.ode"]).exits(2).says("Did you mean `odec run`?");
    folder.run(&["run", "decay.ode", "--method", "foo"]).exits(2).says("E0611").says("`bdf`");
    folder.run(&["methods"]).exits(0).prints("\nauto ");
    let ran = folder.run(&["sweep", "decay.ode", "--set", "k=1:2:2", "--threads", "0"]).exits(2).says("`--threads 4`");
    assert!(!ran.err().contains("100000"), "{}", ran.err());
    folder.run(&["run", "decay.ode", "--max-steps", "1e12"]).exits(2).says("E0614").says("the limit is 10000000000");
    let atol = ["run", "decay.ode", "--atol", "3.3333333333333334e-24"];
    folder.run(&atol).exits(0).says("atol 3.33e-24\n");
}

/// The list of codes and its page contain the exit code of each code.
#[test]
fn the_list_of_codes_has_their_exit_codes() {
    let folder = Folder::new("codes");
    let list = folder.run(&["explain"]).exits(0).out();
    for (code, exit) in [("E0201", 1), ("E0705", 2), ("E0604", 3), ("E0616", 4), ("E0701", 5), ("E0900", 70)] {
        assert!(list.lines().any(|line| line.starts_with(&format!("{code}  {exit:>4}  "))), "{code}\n{list}");
        folder.run(&["explain", code]).exits(0).prints(&format!("Exit code {exit}: "));
    }
}

/// Failed runs, rows of several samples and outputs that are NaN have the same bytes in every form as those written
/// by one machine.
#[test]
fn joined_parts_have_the_bytes_of_the_whole_sweep_in_every_form() {
    let model = "param k = 1\nstate x = 1\nx' = k*x^2\noutput q = log(x - 2)\nrun { t = 0 .. 0.9 }\n";
    let folder = Folder::new("joined-forms").with("m.ode", model);
    let flags = ["sweep", "m.ode", "--set", "k=0.1:2:7", "--set", "x=0.5:1:3", "--samples", "3", "-q"];
    let with = |more: &[&str]| folder.run(&[&flags[..], more].concat());
    for form in ["csv", "jsonl", "parquet", "arrow", "npz"] {
        // if runs fail, the command ends with exit code 3, and their rows are present
        with(&["-o", &format!("whole.{form}")]).exits(3);
    }
    for k in 0..4 {
        with(&["--shard", &format!("{k}/4"), "-o", "parts"]);
    }
    for form in ["csv", "jsonl", "parquet", "arrow", "npz"] {
        folder.run(&["sweep", "--join", "parts", "-o", &format!("joined.{form}"), "-q"]).exits(3);
        let read = |name: &str| std::fs::read(folder.path(&format!("{name}.{form}"))).expect("a table");
        assert!(read("whole") == read("joined"), "{form}");
    }
}

/// A model may have quantities `point` and `ok`: the columns of the sweep with these names then have others, in a sweep
/// and in one joined from parts.
#[test]
fn quantities_named_as_columns_of_a_sweep_are_not_lost() {
    let model = "param k = 1\nstate ok = 1, point = 2\nok' = -k*ok\npoint' = -point\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("sweep-ok").with("m.ode", model);
    let flags = ["sweep", "m.ode", "--set", "k=1:2:2", "-q"];
    folder.run(&[&flags[..], &["-o", "whole.npz"]].concat()).exits(0);
    folder.run(&[&flags[..], &["--shard", "0/1", "-o", "parts"]].concat()).exits(0);
    folder.run(&["sweep", "--join", "parts", "-o", "joined.npz", "-q"]).exits(0);
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a table");
    let (whole, joined) = (read("whole.npz"), read("joined.npz"));
    let has = |name: &str| whole.windows(name.len()).any(|part| part == name.as_bytes());
    for name in ["point_.npy", "k.npy", "t.npy", "ok.npy", "point.npy", "ok_.npy"] {
        assert!(has(name), "{name}");
    }
    assert!(whole == joined);
}

/// A table of another form is not written as CSV under its name.
#[test]
fn names_of_other_forms_are_refused() {
    let folder = Folder::new("foreign").with("decay.ode", DECAY);
    folder.run(&["run", "decay.ode", "-o", "rows.tsv"]).exits(2).says("E0850");
    folder.run(&["run", "decay.ode", "-q", "-o", "rows.pq"]).exits(0);
    assert_eq!(std::fs::read(folder.path("rows.pq")).expect("a file")[..4], *b"PAR1");
}
