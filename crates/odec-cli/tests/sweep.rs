//! `odec sweep`: the rows are those of single runs, in the order of the points, for any number of threads; failed
//! runs, interrupts and invalid ranges.

use crate::common;

use common::{DECAY, Folder, model, whole};

const MODEL: &str = "\
model decay
param k = 1 in 0..20
state x = 1
state y = 2*x
x' = -k*x
y' = -y
output half = x/2
run { t = 0 .. 2; rtol = 1e-8; samples = 4 }
";

/// Grows without bound by t = 1/r.
const GROWTH: &str = "\
param r = 1
state x = 1
x' = r*x^2
run { t = 0 .. 0.9 }
";

const ROD: &str = "\
model rod
const N = 5
index i, j = 1..N
param c[i] = 1 + i/N
state u[i] = i
u[i]' = -c[i]*u[i] + sum(j: u[j])/N
run { t = 0 .. 1; method = rodas4 }
";

/// Runs close to the pole, whose errors grow, are told as `odec run` tells them; the rows stay those of single runs.
#[test]
fn errors_that_grow_in_a_run_are_told() {
    let folder = Folder::new("sweep-grown").with("growth.ode", GROWTH);
    let sweep = |r: &str, threads: &str| {
        let ran = folder.run(&["sweep", "growth.ode", "--set", &format!("r={r}:3"), "--threads", threads]).exits(0);
        (ran.err(), ran.out())
    };
    let (told, rows) = sweep("0.1:1.111111", "1");
    assert!(told.contains("W0622") && told.contains("in 1 of 3 runs"), "{told}");
    let (again, same) = sweep("0.1:1.111111", "2");
    assert!(again.contains("in 1 of 3 runs") && rows == same, "{again}");
    let (silent, _) = sweep("0.1:0.9", "1");
    assert!(!silent.contains("W0622"), "{silent}");
}

fn rows(table: &str) -> Vec<Vec<String>> {
    whole(table);
    table.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect()).collect()
}

fn numbers(row: &[String]) -> Vec<f64> {
    row.iter().map(|field| field.parse().expect("a number")).collect()
}

/// Both ends of a range are converted, as a single value is.
#[test]
fn ranges_take_units() {
    let text = "model dose\nparam dose = 100 [mg], k = 1 [1/h]\ntime t [h]\nstate m = 2 [mg]\nm' = dose*k - k*m\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("sweep-units").with("dose.ode", text);
    let sweep = |set: &str| folder.run(&["sweep", "dose.ode", "-q", "--set", set]).exits(0).out();
    assert_eq!(sweep("dose=0.125[g]:0.5[g]:4"), sweep("dose=125:500:4"));
    assert_eq!(sweep("dose=0:0.5[g]:3"), sweep("dose=0:500:3"));
    assert_eq!(sweep("m=0.25[g]:1[g]:3log"), sweep("m=250:1000:3log"));
    let wrong = folder.run(&["sweep", "dose.ode", "--set", "dose=1:4[g]:4"]).exits(2).err();
    assert!(wrong.contains("either both ends have a unit or none"), "{wrong}");
    let wrong = folder.run(&["sweep", "dose.ode", "--set", "dose=1[h]:4[h]:4"]).err();
    assert!(wrong.contains("E0570"), "{wrong}");
}

#[test]
fn columns_have_units_when_asked() {
    let text =
        "param k = 0.1 [1/s], n = 2\ntime t [s]\nstate x = 1 [m]\nx' = -k*x\noutput v = x'\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("sweep-header").with("decay.ode", text);
    let sweep = ["sweep", "decay.ode", "-q", "--set", "k=1:2:2", "--set", "n=1:2:2", "--set", "x=1:2:2"];
    let plain = folder.run(&sweep).exits(0).out();
    let with_units = folder.run(&[&sweep[..], &["--units"]].concat()).exits(0).out();
    assert_eq!(plain.lines().next(), Some("k,n,x(0),t,x,v"));
    assert_eq!(with_units.lines().next(), Some("k [1/s],n,x(0) [m],t [s],x [m],v [m/s]"));
    assert!(plain.lines().skip(1).eq(with_units.lines().skip(1)));
}

#[test]
fn the_rows_are_the_bits_of_single_runs() {
    let folder = Folder::new("sweep-single").with("decay.ode", MODEL).with("rod.ode", ROD);
    for (file, set, names) in [
        ("decay.ode", &["k=0.5:2:3", "x=1:100:2log"][..], &["k", "x"][..]),
        ("decay.ode", &["y=3:5:2", "k=3"], &["y"]),
        ("rod.ode", &["c[2]=0.5:4:3"], &["c[2]"]),
        ("rod.ode", &["u=1:2:2", "u[4]=5:6:2"], &["u", "u[4]"]),
        ("rod.ode", &["c=2:3:2", "N=4"], &["c"]),
    ] {
        for method in ["auto", "bdf", "vern7"] {
            let sets: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
            let table = folder.run(&[&["sweep", file, "-q", "--method", method], &sets[..]].concat()).exits(0).out();
            for row in rows(&table) {
                let values: Vec<String> = names.iter().zip(&row).map(|(name, x)| format!("{name}={x}")).collect();
                let plain = set.iter().filter(|s| !s.contains(':')).map(ToString::to_string);
                let all: Vec<String> = plain.chain(values).flat_map(|s| ["--set".to_string(), s]).collect();
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let alone = folder.run(&[&["run", file, "-q", "--method", method], &all[..]].concat()).exits(0).out();
                let last: Vec<String> = alone.lines().last().expect("rows").split(',').map(str::to_string).collect();
                assert_eq!(row[names.len()..], last, "{file} {method} {all:?}");
            }
        }
    }
}

#[test]
fn a_grid_has_the_last_range_varying_fastest_and_rows_where_samples_are_asked_for() {
    let folder = Folder::new("sweep-grid").with("decay.ode", MODEL);
    let table = folder.run(&["sweep", "decay.ode", "-q", "--set", "k=1:3:3", "--set", "x=1:100:3:log"]).exits(0).out();
    assert!(table.starts_with("k,x(0),t,x,y,half\n"), "{table}");
    let found: Vec<Vec<f64>> = rows(&table).iter().map(|row| numbers(row)).collect();
    assert_eq!(found.len(), 9);
    for (n, row) in found.iter().enumerate() {
        let (k, x0) = ([1.0, 2.0, 3.0][n / 3], [1.0, 10.0, 100.0][n % 3]);
        assert_eq!(row[0], k);
        assert!((row[1] / x0 - 1.0).abs() < 1e-14);
        assert_eq!(row[2], 2.0);
        assert!((row[3] / (row[1] * (-2.0 * k).exp()) - 1.0).abs() < 1e-6, "{row:?}");
        // its initial value follows
        assert!((row[4] / (2.0 * row[1] * (-2f64).exp()) - 1.0).abs() < 1e-6, "{row:?}");
    }
    let arguments = ["sweep", "decay.ode", "-q", "--set", "k=1:3:2", "--samples", "0.5,2", "--record", "half"];
    let table = folder.run(&arguments).exits(0).out();
    assert!(table.starts_with("k,t,half\n"), "{table}");
    assert_eq!(rows(&table).iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["0.5", "2", "0.5", "2"]);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::new("sweep-threads");
    let robertson = model("robertson.ode");
    let run = |threads: &str, seed: &str| {
        let sets = ["--set", "k1=0.01:1:log", "--set", "k3=1e3:1e4", "--t-end", "40"];
        let arguments = ["sweep", &robertson, "-q", "--random", "60", "--threads", threads, "--seed", seed];
        folder.run(&[&arguments[..], &sets].concat()).exits(0).out()
    };
    let one = run("1", "1");
    assert_eq!(whole(&one), 60);
    assert_eq!(one, run("2", "1"));
    assert_eq!(one, run("7", "1"));
    assert_ne!(one, run("2", "2"));
}

#[test]
fn no_run_is_lost_however_threads_end() {
    let folder = Folder::new("sweep-all").with("decay.ode", MODEL);
    for runs in 1..40 {
        let set = format!("k=0.5:2:{runs}");
        let threads = (1 + runs % 5).to_string();
        let arguments = ["sweep", "decay.ode", "-q", "--set", &set, "--threads", &threads];
        assert_eq!(whole(&folder.run(&arguments).exits(0).out()), runs);
    }
}

#[test]
fn a_failed_run_is_one_row_and_the_others_are_not_lost() {
    let folder = Folder::new("sweep-failed").with("growth.ode", GROWTH);
    let ran = folder.run(&["sweep", "growth.ode", "--set", "r=0.5:2:4", "--samples", "0,0.6", "--stats", "s.json"]);
    let ran = ran.exits(3).says("E0604").says("E0621").says("2 runs failed out of 4: the first one at r = 1.5");
    let found = rows(&ran.out());
    let of = |r: &str| found.iter().filter(|row| row[0] == r).map(|row| row[2].clone()).collect::<Vec<_>>();
    assert!(of("0.5").len() == 2 && of("1").len() == 2 && !ran.out().lines().any(|l| l.starts_with("1,0,nan")));
    // the rows before the failure, then the mark
    assert_eq!(of("1.5").len(), 3);
    assert_eq!(of("1.5")[2], "nan");
    let last = numbers(found.iter().rfind(|row| row[0] == "2").expect("a row"));
    assert!((last[1] - 0.5).abs() < 1e-3, "it blows up at 1/r: {last:?}");
    let json: serde_json::Value = serde_json::from_str(&folder.read("s.json")).expect("JSON");
    let each = json["each"].as_array().expect("runs");
    assert_eq!(each.iter().map(|run| run["failed"] == true).collect::<Vec<_>>(), [false, false, true, true]);
    let steps: u64 = each.iter().map(|run| run["steps"].as_u64().expect("a count")).sum();
    assert_eq!(json["totals"]["accepted"].as_u64(), Some(steps));
    assert_eq!((&json["runs"], &json["failed"]), (&4.into(), &2.into()));
}

#[test]
fn the_run_block_follows_what_varies() {
    let text = "param k = 1\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 3/k; method = rodas4; rtol = 1e-9 }\n";
    let folder = Folder::new("sweep-block").with("scaled.ode", text);
    let table = folder.run(&["sweep", "scaled.ode", "-q", "--set", "k=1:4:4"]).exits(0).out();
    for row in rows(&table) {
        let row = numbers(&row);
        assert_eq!(row[1], 3.0 / row[0]);
        assert!((row[2] / (-3f64).exp() - 1.0).abs() < 1e-7, "{row:?}");
    }
    let ends = folder.run(&["sweep", "scaled.ode", "-q", "--set", "k=1:0:2"]).exits(3);
    assert_eq!(rows(&ends.out()).len(), 2);
    assert!(ends.err().contains("E0405") && ends.err().contains("k = 0"), "{}", ends.err());
}

#[test]
fn senseless_requests_are_refused_before_anything_is_written() {
    let folder = Folder::new("sweep-refused").with("decay.ode", MODEL).with("rod.ode", ROD);
    for (flags, text) in [
        (&["--set", "k=0.1:1"][..], "a number of values"),
        (&["--set", "k=0.1:1:2.5"], "whole number"),
        (&["--set", "k=0.1:1:0"], "whole number"),
        (&["--set", "k=0.1:x:3"], "`x` is not a finite number"),
        (&["--set", "k=0:1:3log"], "above 0"),
        (&["--set", "k=1:2:3:4"], "two ends"),
        (&["--set", "k=2"], "nothing to sweep"),
        (&[], "nothing to sweep"),
        (&["--set", "k=1:2:3", "--set", "k=1:2:3"], "two ranges"),
        (&["--set", "kk=1:2:3"], "`kk`"),
        (&["--set", "half=1:2:3"], "you cannot set it"),
        (&["--set", "k=1:21:3"], "E0407"),
        (&["--set", "k=1:2:100000001"], "E0716"),
        (&["--set", "k=1:2", "--random", "0"], "whole number"),
        (&["--set", "k=1:2", "--random", "3", "--seed", "-1"], "--seed"),
        (&["--set", "k=1:2:3", "--threads", "0"], "whole number"),
        (&["--set", "k=1:2:3", "--threads", "1025"], "1024"),
        (&["--set", "k=1:2:3", "--method", "rodas5000"], "E0611"),
        (&["--set", "k=1:2:3", "--stats", "-"], "E0702"),
    ] {
        let ran = folder.run(&[&["sweep", "decay.ode"], flags].concat()).exits(2).says(text);
        assert!(ran.out().is_empty(), "{flags:?} wrote rows");
    }
    folder.run(&["sweep", "rod.ode", "--set", "N=3:5:3"]).exits(2).says("E0717");
}

/// One command makes at most 1e8 runs; a part of a longer sweep has the points of the whole sweep, and the last point
/// is exact.
#[test]
fn a_sweep_in_parts_may_be_longer_than_one_command() {
    let folder = Folder::new("sweep-long").with("decay.ode", MODEL);
    let flags = ["sweep", "decay.ode", "-q", "--set", "k=0:2:1000000001", "-o", "parts"];
    let with = |more: &[&str]| folder.run(&[&flags[..], more].concat());
    with(&[]).exits(2).says("E0716").says("0/11");
    with(&["--shard", "3/5"]).exits(2).says("E0716");
    with(&["--shard", "99999999/100000000"]).exits(0);
    with(&["--shard", "50000000/100000000"]).exits(0);
    let points = |part: &str| -> Vec<f64> {
        let table = folder.read(&format!("parts/part-{part}-of-100000000.csv"));
        let first = |line: &str| line.split(',').next().and_then(|cell| cell.parse().ok()).expect("a number");
        table.lines().skip(1).map(first).collect()
    };
    let (middle, last) = (points("50000000"), points("99999999"));
    assert_eq!((middle.len(), last.len(), middle[0], last[10]), (10, 11, 1.0, 2.0));
    assert!(last.windows(2).all(|pair| (pair[1] - pair[0] - 2e-9).abs() < 1e-15));
    // a part of another sweep is refused in this folder, and a finished part is not computed again
    folder.run(&["sweep", "decay.ode", "--set", "k=0:2:30", "--shard", "0/3", "-o", "parts"]).exits(2).says("E0852");
    let again = ["sweep", "decay.ode", "--set", "k=0:2:1000000001", "-o", "parts", "--shard", "50000000/100000000"];
    folder.run(&again).exits(0).says("already");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_whole_rows_in_order() {
    let folder = Folder::new("sweep-stop").with("decay.ode", MODEL);
    let arguments = ["sweep", "decay.ode", "--set", "k=1:2:100000000", "-o", "rows.csv", "--threads", "2"];
    let mut child =
        folder.command(&arguments).stderr(std::process::Stdio::piped()).spawn().expect("the command starts");
    let started = std::time::Instant::now();
    while std::fs::metadata(folder.path("rows.csv")).map_or(0, |m| m.len()) < 10_000 {
        assert!(started.elapsed().as_secs() < 60, "no rows");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    let table = folder.read("rows.csv");
    let found = rows(&table);
    for (n, row) in found.iter().enumerate() {
        let k: f64 = row[0].parse().expect("a number");
        assert!((k - (1.0 + n as f64 / 99_999_999.0)).abs() < 1e-12, "row {n}: {k}");
    }
}

#[test]
fn no_two_columns_have_one_name() {
    let folder = Folder::new("doubled").with("decay.ode", DECAY);
    let table = folder.run(&["sweep", "decay.ode", "--set", "x=1:2:2", "-q"]).exits(0).out();
    assert!(table.starts_with("x(0),t,x"), "{table}");
    folder.run(&["sweep", "decay.ode", "--set", "x=1:2:2", "-q", "-o", "rows.jsonl"]).exits(0);
    let first: serde_json::Value =
        serde_json::from_str(folder.read("rows.jsonl").lines().next().unwrap_or("")).expect("JSON");
    assert_eq!(first["x(0)"], 1.0);
    assert!(first["x"].as_f64().is_some_and(|x| x < 1.0), "{first}");
}

/// Initial values that vary, while each run starts from a steady state.
#[test]
fn initial_values_that_are_no_starts_are_told() {
    let text = "param k = 0.5\nstate x = 0\nx' = 1 - k*x\nrun { t = 0 .. 3; start = steady }\n";
    let folder = Folder::new("sweep-steady").with("rest.ode", text);
    let told = folder.run(&["sweep", "rest.ode", "--set", "x=1:3:3"]).exits(0).err();
    assert!(told.contains("W0623") && told.contains("in 2 of 3 runs"), "{told}");
    let silent = folder.run(&["sweep", "rest.ode", "--set", "k=0.5:1:3"]).exits(0).err();
    assert!(!silent.contains("W0623"), "{silent}");
}
