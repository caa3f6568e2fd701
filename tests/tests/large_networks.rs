//! Networks with so many reactions that their laws are loops: runs, messages and derivatives, through the command.

use std::fmt::Write;
use std::path::PathBuf;

use odec_tests::command::{run_in, scratch};

/// 400 reactions `make<r>` with two laws. The first 20 species are `s<i>`, the others `p<i>`.
fn network(folder: &str, start: impl Fn(usize) -> f64) -> PathBuf {
    let folder = scratch(folder);
    let mut text = String::new();
    for i in 0..400 {
        let _ = writeln!(text, "state s{i} = {}, p{i} = 0\nparam k{i} = {}", start(i), 0.1 + 0.01 * (i % 60) as f64);
        let _ = writeln!(text, "make{i}: s{i} -> p{i}  rate k{i}*sqrt(s{i})*s{i}");
        let _ = writeln!(text, "back{i}: p{i} -> s{}  mass k{i}", (i + 1) % 400);
    }
    text += "output make7, make8\nrun { t = 0 .. 2; samples = 4 }\n";
    std::fs::write(folder.join("network.ode"), text).expect("a folder");
    folder
}

/// The kernels of f are loops; interpreter and machine code give the same bytes; amounts are kept.
#[test]
fn large_networks_run_as_loops() {
    let folder = network("large-networks", |i| 1.0 + (i % 5) as f64);
    let kernels = run_in(&folder, &["dump", "--stage", "ir", "network.ode"], b"").success();
    let rhs = kernels.text();
    let rhs = rhs.split("kernel rhs").skip(1).map(|kernel| kernel.split("kernel ").next().expect("a kernel"));
    let longest = rhs.map(|kernel| kernel.lines().count()).max();
    assert!(longest.is_some_and(|lines| lines < 40), "{longest:?}");
    for method in ["auto", "bdf", "tsit5", "taylor"] {
        let run = ["run", "network.ode", "--method", method, "--rtol", "1e-6"];
        let compiled = run_in(&folder, &run, b"").success();
        let interpreted = run_in(&folder, &[&run[..], &["--interpret"]].concat(), b"").success();
        assert_eq!(compiled.text(), interpreted.text(), "{method}");
        let last = compiled.text();
        let last: Vec<f64> =
            last.lines().last().expect("rows").split(',').map(|x| x.parse().expect("a number")).collect();
        let (sum, start) = (last[1..801].iter().sum::<f64>(), 3.0 * 400.0);
        assert!((sum - start).abs() < 1e-6 * start, "{method}: {sum}");
    }
    let checked = run_in(&folder, &["check", "--derivatives", "network.ode"], b"").success();
    assert!(checked.err.contains("df/dy") || checked.text().contains("df/dy"), "{}", checked.err);
}

/// A rate without a value is named with its line, though its code is that of all the others.
#[test]
fn a_rate_without_a_value_is_named() {
    let folder = network("large-networks-blame", |i| if i == 237 { -1.0 } else { 1.0 });
    let ran = run_in(&folder, &["run", "network.ode", "--method", "bdf", "--quiet"], b"");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    for named in ["through `make237`", "s237 = -1", "rate k237*sqrt(s237)*s237", "this is NaN"] {
        assert!(ran.err.contains(named), "{named} is not in\n{}", ran.err);
    }
}
