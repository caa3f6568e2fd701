//! Bad input of every kind through the command: a clear message and a documented exit code, never a panic, never a hang.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use odec_tests::command::{Ran, odec, run_in, scratch};
use odec_tests::fuzz::skipped;
use odec_tests::mutate::{Random, tokens};
use odec_tests::{models, text};

/// Exit codes that `odec --help` documents, without the code for internal errors.
const DOCUMENTED: [i32; 7] = [0, 1, 2, 3, 4, 5, 130];

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

/// Runs the command, and fails for an undocumented code, no output, or excessive output.
#[track_caller]
fn answered(folder: &Path, arguments: &[&str]) -> Ran {
    let ran = run_in(folder, arguments, b"").orderly();
    let code = ran.code.expect("orderly");
    assert!(DOCUMENTED.contains(&code), "{arguments:?}: exit code {code}\n{}", ran.err);
    if code != 0 {
        assert!(ran.err.trim().len() > 20, "{arguments:?}: exit code {code} and no message: {:?}", ran.err);
    }
    assert!(ran.err.len() < 100_000, "{arguments:?}: {} bytes of messages", ran.err.len());
    ran
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], code: i32) -> Ran {
    let ran = answered(folder, arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}\n{}", ran.err);
    ran
}

const DECAY: &str = "model decay\nstate x = 1\nx' = -x\nrun { t = 0 .. 1 }\n";

#[test]
fn texts_that_are_too_deep_or_too_long() {
    let folder = scratch("deep");
    let n = 100_000;
    let equation = |right: String| {
        format!("model deep\nstate x = 1\nx' = {right}\nrun {{ t = 0 .. 1e-6; method = euler; step = 1e-6 }}\n")
    };
    let nested = |open: &str, inner: &str, close: &str, n: usize| {
        equation(format!("{}{inner}{}", open.repeat(n), close.repeat(n)))
    };
    let cases = [
        ("parentheses", nested("(", "x", ")", n)),
        ("open", nested("(", "x", "", n)),
        ("closed", nested("", "x", ")", n)),
        ("brackets", equation(format!("x{}", "[x".repeat(n)))),
        ("braces", format!("model m\nrun {}\n", "{".repeat(n))),
        ("minus", nested("-", "x", "", n)),
        ("minus-blank", nested("- ", "x", "", n)),
        ("not", nested("not ", "x", "", n)),
        ("powers", equation(format!("{}x", "x^".repeat(n)))),
        ("calls", nested("sin(", "x", ")", n)),
        ("ifs", equation(format!("{}x{}", "(if x > 0 then ".repeat(n), " else 0)".repeat(n)))),
        ("ifs-tail", equation(format!("{}x", "if x > 0 then 1 else ".repeat(n)))),
        ("products", equation(format!("x{}", "*x".repeat(n)))),
        ("quotients", equation(format!("x{}", "/x".repeat(n)))),
        ("comparisons", equation(format!("x{}", " < x".repeat(n)))),
        ("primes", format!("model m\nstate x = 1\nx{} = 1\n", "'".repeat(n))),
        ("arguments", equation(format!("max({}x)", "x, ".repeat(n)))),
        ("number", equation("1".repeat(n))),
        ("fraction", equation(format!("0.{}", "3".repeat(n)))),
        ("exponent", equation(format!("1e{}", "9".repeat(n)))),
        ("comments", format!("{}{DECAY}", "#\n".repeat(n))),
        ("documentation", format!("{}{DECAY}", "## a\n".repeat(n))),
        ("blank-lines", format!("{}{DECAY}", "\n".repeat(n))),
        ("quotes", equation("\"".repeat(n))),
        ("unit", format!("model m\nparam a = 1 [{}]\nstate x = a\nx' = 1\n", "m*".repeat(n))),
    ];
    for (name, text) in cases {
        let path = write(&folder, &format!("{name}.ode"), text);
        answered(&folder, &["check", path.to_str().expect("UTF-8")]);
    }
}

/// A sum of 100,000 terms is a valid model: it runs, or a limit with a name stops it.
#[test]
fn a_sum_of_a_hundred_thousand_terms() {
    let folder = scratch("sum");
    let terms: Vec<String> = (0..100_000).map(|i| format!("{}*x", 1 + i % 7)).collect();
    let text = format!(
        "model sum\nstate x = 1\nx' = -({})\nrun {{ t = 0 .. 1e-6; method = euler; step = 1e-6 }}\n",
        terms.join(" + ")
    );
    write(&folder, "sum.ode", text);
    let ran = answered(&folder, &["run", "sum.ode"]);
    if ran.code == Some(0) {
        let last: f64 =
            ran.text().lines().last().and_then(|l| l.split(',').nth(1)).expect("a row").parse().expect("a number");
        let slope: f64 = (0..100_000).map(|i| f64::from(1 + i % 7)).sum();
        assert!((last - (1.0 - 1e-6 * slope)).abs() < 1e-9, "{last}");
    } else {
        assert_eq!(ran.code, Some(1), "{}", ran.err);
    }
}

/// Short texts that would grow without bound if they were written out.
#[test]
fn texts_that_explode() {
    let folder = scratch("explode");
    let mut functions = String::from("model f\nfn f0(x) = x + 1\n");
    let mut definitions = String::from("model d\nstate x = 1\na0 = x*1.5\n");
    let mut chain = String::from("model c\nstate x = 1\nb0 = x\n");
    for i in 1..=64 {
        functions.push_str(&format!("fn f{i}(x) = f{0}(x)*f{0}(x + {i})\n", i - 1));
        definitions.push_str(&format!("a{i} = a{0}*a{0} + sin(a{0})\n", i - 1));
    }
    for i in 1..=20_000 {
        chain.push_str(&format!("b{i} = b{} + 1\n", i - 1));
    }
    functions.push_str("state x = 1\nx' = f64(x)\n");
    definitions.push_str("x' = a64\n");
    chain.push_str("x' = -b20000\n");
    for (name, text) in [("functions", &functions), ("definitions", &definitions), ("chain", &chain)] {
        write(&folder, &format!("{name}.ode"), text);
        answered(&folder, &["check", &format!("{name}.ode")]);
        answered(&folder, &["run", &format!("{name}.ode"), "--t-end", "1e-9", "--method", "euler", "--step", "1e-9"]);
    }
}

#[test]
fn recursion_is_refused() {
    let folder = scratch("recursion");
    for (name, body) in [
        ("definition", "state x = 1\na = b\nb = a\nx' = a\n"),
        ("itself", "state x = 1\na = a + 1\nx' = a\n"),
        ("function", "fn f(x) = g(x)\nfn g(x) = f(x)\nstate x = 1\nx' = f(x)\n"),
        ("initial", "state x = y, y = x\nx' = 1\ny' = 1\n"),
        ("const", "const A = B, B = A\nstate x = A\nx' = 1\n"),
    ] {
        write(&folder, &format!("{name}.ode"), format!("model m\n{body}"));
        refused(&folder, &["check", &format!("{name}.ode")], 1);
    }
}

#[test]
fn bytes_of_any_kind() {
    let folder = scratch("bytes");
    let mut random = Random(7);
    for i in 0..12 {
        let length = 1 + random.below(5000);
        let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        let name = format!("random{i}.ode");
        write(&folder, &name, bytes);
        let ran = answered(&folder, &["run", &name]);
        assert_ne!(ran.code, Some(0));
    }
    for (name, bytes) in [
        ("empty.ode", &b""[..]),
        ("blank.ode", b" \n\t\n"),
        ("comment.ode", b"# nothing\n"),
        ("nul.ode", b"model m\0\nstate x = 1\nx' = -x\n"),
        ("latin1.ode", b"model m\nstate \xe4 = 1\n\xe4' = 1\n"),
        ("cut.ode", b"model m\nstate x = 1 # \xe2\x82"),
        ("surrogate.ode", b"model m\nstate \xed\xa0\x80 = 1\n"),
        ("image.ode", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("elf.ode", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
    ] {
        write(&folder, name, bytes);
        for command in ["check", "run", "test", "dump"] {
            let ran = answered(&folder, &[command, name]);
            if command == "run" {
                assert_ne!(ran.code, Some(0), "{name} runs");
            }
        }
    }
}

/// Words of the language in random order, and lines of models shuffled: through the library, many of them.
#[test]
fn words_in_any_order_never_panic() {
    let mut words: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for path in models() {
        let text = text(&path);
        words.extend(tokens(&text).into_iter().map(|t| text[t].to_owned()));
        lines.extend(text.lines().map(str::to_owned));
    }
    let extra = [
        "when", "every", "from", "until", "boundary", "index", "sum(", "{", "}", "[", "]", ":=", "\"", "'", "''", "²",
        "−", "\t", "//", "##", "\n",
    ];
    words.extend(extra.iter().map(|w| (*w).to_owned()));
    let mut random = Random(11);
    for round in 0..1500 {
        let mut text = String::new();
        for _ in 0..1 + random.below(60) {
            let word = if round % 3 == 0 { random.pick(&lines) } else { random.pick(&words) };
            text.push_str(word);
            text.push_str(if round % 3 == 0 || random.below(6) == 0 { "\n" } else { " " });
        }
        let source = odec_lang::source::Source::new("random".to_owned(), text);
        let result = std::panic::catch_unwind(|| {
            let checked = odec_lang::check(&source);
            for diagnostic in &checked.diagnostics {
                for label in &diagnostic.labels {
                    // every place is inside the text, on boundaries of characters
                    assert!(source.text.get(label.span.range()).is_some(), "{diagnostic:?}");
                }
            }
            if let Some(model) = &checked.model {
                drop(odec_lang::lower(model, &odec_lang::Overrides::default()));
            }
        });
        assert!(result.is_ok(), "round {round}:\n{}", source.text);
    }
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = scratch("files");
    write(&folder, "decay.ode", DECAY);
    refused(&folder, &["run", "missing.ode"], 5);
    refused(&folder, &["run", "."], 5);
    refused(&folder, &["run", "decay.ode", "-o", "no/such/folder/rows.csv"], 5);
    refused(&folder, &["run", "decay.ode", "-o", "."], 5);
    refused(&folder, &["plot", "decay.ode", "-o", "no/such/folder/x.svg"], 5);
    refused(&folder, &["emit", "decay.ode", "--to", "c", "-o", "no/such/folder/x.c"], 5);
    refused(&folder, &["run", "decay.ode", "--stats", "no/such/folder/s.json"], 5);
    if Path::new("/dev/full").exists() {
        refused(&folder, &["run", "decay.ode", "-o", "/dev/full"], 5);
    } else {
        skipped("a full disk below -o, because there is no /dev/full");
    }
    refused(&folder, &["new", "decay.ode"], 5);
}

#[test]
fn a_full_disk_on_standard_output() {
    if !Path::new("/dev/full").exists() {
        return skipped("a full disk on standard output, because there is no /dev/full");
    }
    let folder = scratch("full");
    write(&folder, "decay.ode", DECAY);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let child = Command::new(odec())
        .current_dir(&folder)
        .args(["run", "decay.ode"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn();
    let output = child.and_then(std::process::Child::wait_with_output).expect("odec runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{message}");
    assert!(!message.contains("panicked"), "{message}");
}

/// `odec run ... | head -1`
#[test]
fn a_reader_that_has_enough() {
    let folder = scratch("pipe");
    write(&folder, "decay.ode", DECAY);
    let mut child = Command::new(odec())
        .current_dir(&folder)
        .args(["run", "decay.ode", "--samples", "500000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("odec runs");
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    let mut message = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut message).expect("text");
    let status = child.wait().expect("a child");
    assert_eq!(first, "t,x\n");
    assert_eq!(status.code(), Some(0), "{message}");
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn flags_that_make_no_sense() {
    let folder = scratch("flags");
    write(&folder, "decay.ode", DECAY);
    write(&folder, "endless.ode", "model m\nstate x = 1\nx' = -x\n");
    for flags in [
        &["--rtol", "-1"][..],
        &["--rtol", "0"],
        &["--rtol", "nan"],
        &["--rtol", "fast"],
        &["--atol", "-1"],
        &["--atol", "q=1e-3"],
        &["--t-end", "nan"],
        &["--t-end", "inf"],
        &["--t", "0..nan"],
        &["--t", "5"],
        &["--step", "0"],
        &["--step", "-1"],
        &["--step", "nan"],
        &["--method", "bdf7"],
        &["--method", "magic"],
        &["--method", ""],
        &["--samples", "-5"],
        &["--samples", "1e300"],
        &["--samples", "log(200, 0)"],
        &["--samples", "log(200"],
        &["--record", "nothing_like_that"],
        &["--set", "k=1"],
        &["--set", "x"],
        &["--set", "x=abc"],
        &["--set", "x=nan"],
        &["--params", "other"],
        &["--run", "other"],
        &["--max-steps", "0"],
        &["--max-steps", "-1"],
        &["--no-such-flag"],
    ] {
        let arguments: Vec<&str> = ["run", "decay.ode"].iter().chain(flags).copied().collect();
        let ran = answered(&folder, &arguments);
        assert!(matches!(ran.code, Some(1 | 2)), "{flags:?}: exit code {:?}\n{}", ran.code, ran.err);
    }
    let ran = answered(&folder, &["run", "endless.ode"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("--t-end"), "the flag is named: {}", ran.err);
    answered(&folder, &["run", "endless.ode", "--t-end", "1"]).success();
}

/// The same text with the line ends and the byte order mark of another system.
#[test]
fn line_ends_of_other_systems_do_not_matter() {
    let folder = scratch("ends");
    write(&folder, "unix.ode", DECAY);
    write(&folder, "dos.ode", DECAY.replace('\n', "\r\n"));
    write(&folder, "mark.ode", format!("\u{feff}{DECAY}"));
    write(&folder, "cut.ode", DECAY.trim_end());
    let unix = answered(&folder, &["run", "unix.ode"]).success();
    for name in ["dos.ode", "mark.ode", "cut.ode"] {
        assert_eq!(answered(&folder, &["run", name]).success().out, unix.out, "{name}");
    }
}

/// Ctrl-C at any moment: exit code 130, and the rows so far are whole.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_whole_rows() {
    let folder = scratch("interrupt");
    write(
        &folder,
        "long.ode",
        "model long\nstate x = 1, x' = 0\nx'' = -x\nrun { t = 0 .. 1e6; method = rk4; step = 1e-2; samples = steps; max_steps = 1e9 }\n",
    );
    let mut random = Random(3);
    for round in 0..12 {
        let mut child = Command::new(odec())
            .current_dir(&folder)
            .args(["run", "long.ode", "-o", "rows.csv"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("odec runs");
        // it may be interrupted at any time from the start; the handler must be installed before the first row
        while std::fs::metadata(folder.join("rows.csv")).map_or(0, |m| m.len()) < 100 {
            assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_micros(random.below(60_000) as u64));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let output = child.wait_with_output().expect("a child");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "round {round}: {message}");
        let rows = text(&folder.join("rows.csv"));
        assert!(rows.ends_with('\n'), "round {round}: a torn row");
        let mut last = -1.0;
        for line in rows.lines().skip(1) {
            let values: Vec<f64> = line.split(',').map(|v| v.parse().expect("a number")).collect();
            assert!(values.len() == 3 && values[0] > last, "round {round}: {line}");
            last = values[0];
        }
        std::fs::remove_file(folder.join("rows.csv")).expect("its own file");
    }
}

/// A pipe without a writer has no end: it is refused before it is opened.
#[cfg(unix)]
#[test]
fn a_pipe_is_not_accepted_as_a_table() {
    let folder = scratch("pipe-table");
    let made = Command::new("mkfifo").arg(folder.join("pipe.csv")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    write(
        &folder,
        "input.ode",
        "input q(t) = table(\"pipe.csv\", linear)\nstate x = 1\nx' = q(t)\nrun { t = 0 .. 1 }\n",
    );
    let array = "index i = 1..2\nconst w[i] = csv(\"pipe.csv\")\nstate x[i] = 1\nx[i]' = w[i]\nrun { t = 0 .. 1 }\n";
    write(&folder, "array.ode", array);
    write(&folder, "whole.csv", "0,1\n1,2\n");
    for arguments in [&["run", "input.ode"][..], &["run", "array.ode"], &["check", "input.ode"]] {
        let ran = refused(&folder, arguments, 5);
        assert!(ran.err.contains("not an ordinary file"), "{}", ran.err);
    }
    let text = "input q(t) = table(\"whole.csv\", linear)\nstate x = 1\nx' = q(t)\nrun { t = 0 .. 1 }\n";
    write(&folder, "input.ode", text);
    refused(&folder, &["run", "input.ode", "--data", "q=pipe.csv"], 5);
    answered(&folder, &["run", "input.ode"]);
    // a command does not overwrite its input
    write(&folder, "other.csv", "0,5\n1,6\n");
    for output in ["whole.csv", "other.csv"] {
        refused(&folder, &["run", "input.ode", "--data", "q=other.csv", "-o", output], 2);
    }
    for command in ["plot", "sweep", "test", "check"] {
        answered(&folder, &[command, "input.ode", "--data", "q=other.csv"]);
    }
}
