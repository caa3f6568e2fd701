//! Number of instructions of some whole runs, against a table: detects a slowdown without a clock. Needs valgrind and
//! a release build, so it runs only on request: `cargo test --workspace --test instructions -- --ignored`; with
//! `UPDATE=1` in front, the table is rewritten.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use odec_tests::command::scratch;
use odec_tests::fuzz::skipped;
use odec_tests::{root, text};

/// Largest relative difference between a count and the table. Valgrind shows programs a processor without AVX-512, and
/// with AVX2 and FMA on every x86-64 machine of the last ten years. The same program still differs by up to 3.5 %
/// between an AMD EPYC and an Intel Xeon, because the C library chooses other variants of memcpy and libm; the seeds of
/// hash tables add less than 1 %. A smaller margin would fail without a change of odec.
const MARGIN: f64 = 0.08;

/// The runs: starting and compiling, then stepping, of small stiff, banded, non-stiff and two-dimensional problems.
const RUNS: [&str; 9] = [
    "run models/robertson.ode",
    "run models/pollu.ode --method auto --rtol 1e-6 --samples 10",
    "run models/pollu.ode --method rodas5p --rtol 1e-10 --atol 1e-14 --samples 10",
    "run models/hires.ode --method radau5 --rtol 1e-12 --atol 1e-16 --samples 10",
    "run models/van_der_pol.ode --method bdf --rtol 1e-10 --atol 1e-12 --samples 10",
    "run models/lorenz.ode --method dopri5 --t-end 100 --samples 10",
    "run models/pleiades.ode --method auto --rtol 1e-10 --samples 10",
    "run models/brusselator1d.ode --set N=500 --method rodas4 --samples 10",
    "run models/heat2d.ode --set N=64 --method auto --samples 10",
];

fn table() -> PathBuf {
    root().join("tests/fixtures/instructions.txt")
}

/// The command as users build it, in the target folder of this test; `ODEC` names an existing one.
fn release() -> PathBuf {
    if let Some(path) = std::env::var_os("ODEC") {
        return path.into();
    }
    let this = std::env::current_exe().expect("the path of this test");
    // target/debug/deps/this-test
    let target = this.ancestors().nth(3).expect("a target folder");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args(["build", "--quiet", "--release", "--locked", "--bin", "odec", "--target-dir"])
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "odec does not build");
    target.join("release/odec")
}

fn count(odec: &PathBuf, run: &str) -> u64 {
    let output = Command::new("valgrind")
        .current_dir(root())
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(odec)
        .args(run.split(' '))
        .args(if run.starts_with("run") { &["-o", "/dev/null"][..] } else { &[] })
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    // a model may be wrong on purpose
    assert!(output.status.success() || run.starts_with("check"), "odec {run}\n{said}");
    let total = said.lines().find_map(|l| l.split_once("refs:")).map(|(_, n)| n.trim().replace(',', ""));
    total.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no count for odec {run}\n{said}"))
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let group = |(k, c): (usize, char)| match (digits.len() - k) % 3 {
        0 if k > 0 => format!(",{c}"),
        _ => c.to_string(),
    };
    digits.chars().enumerate().map(group).collect()
}

/// 20 states, and 100 events that never happen, whose conditions are of one kind.
fn guarded(kind: &str, guards: usize) -> String {
    let mut text =
        "fn hill(u) = u^2/(1 + u^2)\nindex i = 1..20\nboundary clamp i\nstate x[i] = sin(i)\ndiscrete k = 0\n\
                    x[i]' = 0.5*(x[i-1] - 2*x[i] + x[i+1]) + sin(0.3*i*t) - 0.05*x[i]^3\ny[i] = exp(x[i]/10)\n\
                    output k\n"
            .to_owned();
    for j in 0..guards {
        let [a, b, c] = [j % 20 + 1, (7 * j + 3) % 20 + 1, (11 * j + 5) % 20 + 1];
        let far = 100 + j;
        text += &match kind {
            "states" => format!("when x[{a}] > {far} {{ k += 1 }}\n"),
            "sums" => format!("when x[{a}] + 0.5*x[{b}] - x[{c}] > {far} {{ k += 1 }}\n"),
            "products" => format!("when x[{a}]*x[{b}] + x[{c}]^2 > {far} {{ k += 1 }}\n"),
            _ => format!("when hill(x[{a}]) + y[{b}]*sin(x[{c}] + t) > {far} {{ k += 1 }}\n"),
        };
    }
    text
}

/// Largest share, in percent.
const MOST: f64 = 5.0;

/// The kinds of 100 conditions that take more than [`MOST`] percent of the instructions of a long run.
fn dear_conditions(odec: &PathBuf, model: &Path, method: &str) -> Vec<String> {
    // what a run, with its second run (W0622), takes beyond one of half its length; the rest is compiling
    let long = |kind: &str, guards: usize| {
        std::fs::write(model, guarded(kind, guards)).expect("a file");
        let run = |end: u32| {
            let model = model.display();
            count(odec, &format!("run {model} --t 0..{end} --samples 1 --method {method} --rtol 1e-6"))
        };
        (run(240) - run(120)) as f64
    };
    let plain = long("", 0);
    let share = |kind: &str| 100.0 * (long(kind, 100) / plain - 1.0);
    let shares = ["states", "sums", "products", "functions"].map(|kind| (kind, share(kind)));
    for (kind, share) in &shares {
        println!("{share:+6.2} %  100 {kind} with {method}");
    }
    let dear = shares.into_iter().filter(|(_, share)| *share > MOST);
    dear.map(|(kind, share)| format!("100 {kind} with {method}: {share:.1} %")).collect()
}

/// The share of the instructions of a long run that 100 conditions take which are never met.
#[test]
#[ignore = "needs valgrind and a release build; .ci/run asks for it"]
fn conditions_that_are_never_met_cost_little() {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !valgrind.is_ok_and(|s| s.success()) {
        return skipped("the cost of conditions, because valgrind is not installed");
    }
    let (odec, folder) = (release(), scratch("instructions-guards"));
    // counts do not depend on the load, so that the methods can be measured at the same time
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads = ["tsit5", "auto", "rodas5p", "bdf"].map(|method| {
            let (odec, model) = (&odec, folder.join(format!("{method}.ode")));
            scope.spawn(move || dear_conditions(odec, &model, method))
        });
        threads.into_iter().flat_map(|thread| thread.join().expect("a count")).collect()
    });
    assert!(wrong.is_empty(), "too much:\n{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs valgrind and a release build; .ci/run asks for it"]
fn runs_take_the_instructions_of_the_table() {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !valgrind.is_ok_and(|s| s.success()) {
        return skipped("instruction counts, because valgrind is not installed");
    }
    let odec = release();
    let counts: Vec<(u64, &str)> = RUNS.iter().map(|run| (count(&odec, run), *run)).collect();
    if std::env::var_os("UPDATE").is_some() {
        let lines: String = counts.iter().map(|(n, run)| format!("{:>15}  odec {run}\n", grouped(*n))).collect();
        std::fs::write(table(), lines).expect("the table is written");
        return;
    }
    let known = text(&table());
    let mut wrong = vec![];
    for (now, run) in counts {
        let line = known.lines().find(|l| l.ends_with(&format!("  odec {run}")));
        let before =
            line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.replace(',', "").parse::<u64>().ok());
        let Some(before) = before else {
            wrong.push(format!("odec {run}: not in the table"));
            continue;
        };
        let change = now as f64 / before as f64 - 1.0;
        println!("{:>15} {:+6.1} %  odec {run}", grouped(now), 100.0 * change);
        if change.abs() > MARGIN {
            let word = if change > 0.0 { "slower" } else { "faster: renew the table, so that it guards what was won" };
            let (now, before) = (grouped(now), grouped(before));
            wrong.push(format!(
                "odec {run}: {now} instructions, {before} in the table ({:+.1} %, {word})",
                100.0 * change
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "\n{}\nIf this is meant: UPDATE=1 cargo test --workspace --test instructions -- --ignored",
        wrong.join("\n")
    );
}

/// 1,200 reactions of one law on a ring of 300 species. A model with an event has no loops for repeated laws.
fn network(event: bool) -> String {
    let mut text = (0..300).map(|i| format!("state s{i} = {}\n", 1 + i % 3)).collect::<String>();
    for r in 0..1200 {
        let [a, b, c] = [r / 4, r / 4 + r % 4 + 1, r / 4 + 7].map(|k| k % 300);
        text += &format!("param k{r} = 0.{}\ns{a} + s{b} -> s{c}  mass k{r}\n", 1 + r % 9);
    }
    if event {
        text += "discrete z = 0\nwhen t == 1e6 { z := 1 }\n";
    }
    text
}

/// The whole run of a large network, with its laws as loops and as straight-line code.
#[test]
#[ignore = "needs valgrind and a release build; .ci/run asks for it"]
fn repeated_laws_are_cheaper_as_loops() {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !valgrind.is_ok_and(|s| s.success()) {
        return skipped("the cost of repeated laws, because valgrind is not installed");
    }
    let (odec, folder) = (release(), scratch("instructions-networks"));
    let run = |event: bool| {
        let model = folder.join("m.ode");
        std::fs::write(&model, network(event)).expect("a file");
        count(&odec, &format!("run {} --quiet --t 0..1 --samples 1 --method bdf", model.display()))
    };
    let (loops, plain) = (run(false), run(true));
    println!("{} instructions, {} without loops", grouped(loops), grouped(plain));
    assert!(loops * 4 < plain * 3, "{loops} instructions, {plain} without loops");
}

/// A line of a long model, from its number and the number of the line before.
type Line = fn(usize, usize) -> String;

/// Statements of long models, by the number of a line and the one before. `a0` is `2*x`.
const LONG: [(&str, Line); 13] = [
    ("plain", |k, b| format!("a{k} = sin(a{b}) + 1")),
    ("if", |k, b| format!("a{k} = if a{b} > 1 then a{b} else 2*a{b}")),
    ("and", |k, b| format!("a{k} = if a{b} > 1 and x > {k} or t < {k} then a{b} else sqrt(a{b})")),
    ("max", |k, b| format!("a{k} = max(a{b}, {k}*x)/2")),
    ("abs", |k, b| format!("a{k} = abs(a{b} - {k}*x)")),
    ("floor", |k, b| format!("a{k} = a{b}/2 + floor(a{b}*{k})/{k}")),
    ("time", |k, b| format!("a{k} = a{b}/2 + t/{k}\nb{k} = if t + {k} > a{b}*0 + {k} then x else 2*x")),
    ("clock", |k, b| format!("c{k} = {} + t/{k}\na{k} = if c{k} > {k} then a{b} else 2*a{b}", clock(b))),
    ("derivatives", |k, b| format!("a{k} = a{b}/2 + sin(t)\noutput d{k} = a{k}'")),
    ("events", |k, b| format!("a{k} = a{b} + {k}*x\nwhen a{k} < -1 {{ x := 1 }}")),
    ("unknowns", |k, b| format!("unknown a{k} = 1\n0 = a{k}^3 + a{k} - a{b}")),
    ("names", |k, b| format!("a{k} = zz{k}*a{b}")),
    ("parameters", |k, b| format!("param p{k} = {k} in 0 .. {}\na{k} = p{k} + a{b}", k + 1)),
];

fn clock(before: usize) -> String {
    if before == 0 { "t".to_owned() } else { format!("c{before}") }
}

/// A check takes time in proportion to the length of a model: five times the lines, five times the instructions.
#[test]
#[ignore = "needs valgrind and a release build; .ci/run asks for it"]
fn the_cost_of_a_check_grows_with_the_length_of_the_model() {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !valgrind.is_ok_and(|s| s.success()) {
        return skipped("the cost of long models, because valgrind is not installed");
    }
    let (odec, folder) = (release(), scratch("instructions-long"));
    let mut wrong = vec![];
    for (name, line) in LONG {
        let cost = |lines: usize| {
            let model = folder.join("m.ode");
            let body: Vec<String> = (1..lines).map(|k| line(k, k - 1)).collect();
            let text = format!("state x = 1\na0 = 2*x\n{}\nx' = -1e-9*a{}\n", body.join("\n"), lines - 1);
            std::fs::write(&model, text).expect("a file");
            count(&odec, &format!("check {}", model.display())) as f64
        };
        // what the first lines and the start of the process take is left out
        let [few, some, many] = [100, 500, 2100].map(cost);
        let ratio = (many - few) / (some - few);
        println!("{ratio:6.2}  {name}");
        if ratio > 6.5 {
            wrong.push(format!("{name}: {ratio:.1} times the instructions for five times the lines"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
