//! Limits of a run: memory that is estimated in advance, file sizes that the system limits, a standard output that is
//! closed.

use super::common::{DECAY, Folder, whole};

/// Heat in a rod.
const ROD: &str = "\
model rod
const N = 10
index i = 1..N
state u[i] = 1
u[i]' = N^2*(u[i-1] - 2*u[i] + u[i+1])
boundary u[0], u[N+1] = 0
run { t = 0 .. 1e-6; samples = 1; record = outputs }
output middle = u[1]
";

#[test]
fn a_run_that_takes_more_memory_than_it_may_is_refused_before_it_begins() {
    let folder = Folder::new("budget").with("rod.ode", ROD);
    let run = |flags: &[&str]| folder.run(&[&["run", "rod.ode", "-q"], flags].concat());
    let ran = run(&["--set", "N=1000000", "--max-memory", "200M", "-o", "rows.csv"]).exits(2);
    ran.says("E0720").says("the limit is 200 MB").says("1000000 states: 480 MB").says("--max-memory");
    assert!(!folder.path("rows.csv").exists());
    run(&["--set", "N=1000", "--max-memory", "200M"]).exits(0);
    // each thread of a sweep has its own states
    let sweep = |threads: &str| {
        let flags = ["--set", "N=2000", "--set", "u=1:2:8", "--max-memory", "40M", "--threads", threads];
        folder.run(&[&["sweep", "rod.ode", "-q"], &flags[..]].concat())
    };
    sweep("1").exits(0);
    sweep("8").exits(2).says("E0720");
    for (wrong, flag) in [("x", "x"), ("-3", "-3"), ("0", "0"), ("3Q", "3Q")] {
        run(&["--max-memory", wrong]).exits(2).says("E0705").says(&format!("`--max-memory {flag}`"));
    }
    for size in ["1G", "1GB", "2e9", "900 M"] {
        run(&["--max-memory", size]).exits(0);
    }
}

/// Every command refuses a text that needs more memory to compile than the limit, before it parses the text.
#[test]
fn a_text_that_takes_more_memory_than_it_may_is_not_parsed() {
    let definitions: String = (0..20_000).map(|k| format!("d{k} = 2*x\n")).collect();
    let folder = Folder::new("text").with("long.ode", &format!("{DECAY}{definitions}"));
    let run = |command: &[&str], limit: &str| folder.run(&[command, &["long.ode", "--max-memory", limit]].concat());
    for command in
        [&["check"][..], &["run", "-q"], &["emit", "--to", "c"], &["dump", "--stage", "tree"], &["check", "--fix"]]
    {
        let ran = run(command, "60M").exits(2).says("E0720").says("to compile the model, odec would need about");
        ran.says("words, numbers and signs").says("arrays").says("--max-memory");
    }
    run(&["check"], "1G").exits(0);
    run(&["check"], "x").exits(2).says("E0705").says("`--max-memory x`");
    // a comment takes nothing
    let folder = folder.with("long.ode", &format!("{DECAY}{}", "# d = 2*x\n".repeat(20_000)));
    folder.run(&["check", "long.ode", "--max-memory", "100M"]).exits(0);
}

/// The estimate is not exact, but neither far above nor far below the memory of the process.
#[cfg(target_os = "linux")]
#[test]
fn the_estimate_is_about_what_a_run_takes() {
    let folder = Folder::new("estimate").with("rod.ode", ROD);
    for method in ["auto", "bdf", "radau5", "tsit5"] {
        let flags = ["--set", "N=20000", "--method", method, "--stats", "s.json", "--samples", "1", "--max-steps", "5"];
        folder.run(&[&["run", "rod.ode", "-q"], &flags[..]].concat());
        let stats: serde_json::Value = serde_json::from_str(&folder.read("s.json")).expect("statistics");
        let of = |key: &str| stats[key].as_f64().expect("a number");
        let (estimated, peak) = (of("estimated_bytes"), of("peak_bytes"));
        assert!(peak <= 1.3 * estimated && estimated <= 5.0 * peak, "{method}: {estimated} and {peak}");
    }
}

/// Neither the rows nor the times of evenly spaced rows are kept.
#[cfg(target_os = "linux")]
#[test]
fn rows_take_no_memory() {
    let folder = Folder::new("even").with("decay.ode", DECAY);
    let peak = |rows: &str| {
        let ran = folder.run(&["run", "decay.ode", "-q", "--stats", "s.json", "--samples", rows, "-o", "/dev/null"]);
        ran.exits(0);
        let stats: serde_json::Value = serde_json::from_str(&folder.read("s.json")).expect("statistics");
        stats["peak_bytes"].as_f64().expect("a number")
    };
    let (few, many) = (peak("1000"), peak("1000000"));
    assert!(many < few + 4e6, "{few} and {many} bytes");
}

#[cfg(unix)]
fn shell(folder: &Folder, script: &str) -> super::common::Ran {
    let mut command = std::process::Command::new("sh");
    command.current_dir(&folder.0).args(["-c", script]).env("ODEC", env!("CARGO_BIN_EXE_odec"));
    super::common::Ran(command.output().expect("a shell"))
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn rows_for_a_closed_standard_output_are_refused() {
    let folder = Folder::new("closed").with("decay.ode", DECAY);
    shell(&folder, "$ODEC run decay.ode >&-").exits(5).says("E0704").says("standard output is closed");
    shell(&folder, "$ODEC sweep decay.ode --set k=1:2:3 >&-").exits(5).says("E0704");
    shell(&folder, "$ODEC methods >&-").exits(5).says("E0704");
    shell(&folder, "$ODEC run decay.ode -q -o rows.csv --stats - >&-").exits(5).says("E0704");
    assert_eq!(whole(&folder.read("rows.csv")), 5);
    // commands that write nothing to standard output are not affected, and /dev/null is not closed
    shell(&folder, "$ODEC run decay.ode -q -o rows.csv >&-").exits(0);
    shell(&folder, "$ODEC run decay.ode -q > /dev/null").exits(0);
    shell(&folder, "$ODEC run decay.ode -q <> /dev/null >&0").exits(0);
    shell(&folder, "$ODEC check decay.ode >&-").exits(0);
}

/// If the system ends the process because a file becomes too long, the file and a reader contain whole rows.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_files_keeps_whole_rows() {
    let folder = Folder::new("limit").with("decay.ode", DECAY);
    let long = "run decay.ode -q --samples 20000";
    for script in [
        format!("ulimit -f 100; $ODEC {long} -o rows.csv"),
        format!("ulimit -f 100; $ODEC {long} > rows.csv"),
        format!("ulimit -f 100; $ODEC methods > rows.csv; $ODEC {long} > rows.csv"),
    ] {
        let ran = shell(&folder, &script).exits(5).says("E0704").says("too large");
        let length = folder.read("rows.csv").len();
        assert!(whole(&folder.read("rows.csv")) > 100 && length <= 102_400, "{length} bytes\n{}", ran.err());
    }
    // a file that is whole at the end is not there, nor is what it was made of
    for name in ["rows.npz", "rows.parquet", "rows.arrow"] {
        let ran = shell(&folder, &format!("ulimit -f 100; $ODEC {long} -o {name}")).exits(5);
        ran.says("E0704").says(name).says("too large");
    }
    shell(&folder, "ulimit -f 4; $ODEC emit decay.ode --to fmu").exits(5).says("E0704").says("too large");
    let names = std::fs::read_dir(&folder.0).expect("a folder").map(|e| e.expect("a file").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    assert_eq!(names, ["decay.ode", "rows.csv"]);
    let stats = "ulimit -f 0; $ODEC run decay.ode -q --stats s.json > /dev/null";
    shell(&folder, stats).exits(5).says("E0704").says("`s.json`");
    assert!(!folder.path("s.json").exists());
}
