//! Models with index sets through the command and the library: sizes and parts from the command line, tables from
//! files, pictures, and code that is the same for every size.

use std::path::{Path, PathBuf};

use odec_tests::command::{Ran, run_in, scratch};
use odec_tests::{root, text};

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a writable folder");
    path
}

#[track_caller]
fn odec(folder: &Path, arguments: &[&str]) -> Ran {
    run_in(folder, arguments, b"").orderly()
}

/// Head line and rows.
fn table(ran: &Ran) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = ran.text();
    let mut lines = text.lines();
    // subscripts of several indices contain commas, and are quoted
    let mut head = vec![String::new()];
    let mut quoted = false;
    for c in lines.next().expect("a head line").chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => head.push(String::new()),
            c => head.last_mut().expect("a name").push(c),
        }
    }
    let rows = lines.map(|l| l.split(',').map(|v| v.parse().expect("a number")).collect()).collect();
    (head, rows)
}

/// Modes of the discrete equation decay independently: the solution is known for every size.
const ROD: &str = "model rod
const N = 8
index i = 1..N
param k = 1
dx = 1/(N + 1)
state u[i] = sin(pi*i*dx)
u[i]' = k*(u[i-1] - 2*u[i] + u[i+1])/dx^2
boundary u[0], u[N+1] = 0
output heat = sum(i: u[i])*dx
run { t = 0 .. 0.1; samples = 4; rtol = 1e-8; atol = 1e-10 }
";

fn rod(n: usize, i: usize, t: f64) -> f64 {
    let dx = 1.0 / (n as f64 + 1.0);
    let half = std::f64::consts::PI * dx / 2.0;
    (2.0 * half * i as f64).sin() * (-4.0 * t * (half.sin() / dx).powi(2)).exp()
}

#[test]
fn sizes_come_from_the_command_line_and_every_element_is_a_column() {
    let folder = scratch("sizes");
    write(&folder, "rod.ode", ROD);
    for n in [1, 2, 8, 100] {
        let set = format!("N={n}");
        let ran = odec(&folder, &["run", "rod.ode", "--set", &set]).success();
        let (head, rows) = table(&ran);
        let mut names: Vec<String> = (1..=n).map(|i| format!("u[{i}]")).collect();
        names.insert(0, "t".to_string());
        names.push("heat".to_string());
        assert_eq!(head, names);
        assert!(ran.err.contains(&format!("N = {n}")), "{}", ran.err);
        let last = rows.last().expect("rows");
        for i in 1..=n {
            let expected = rod(n, i, last[0]);
            assert!((last[i] - expected).abs() < 1e-6, "u[{i}] of {n} is {}, not {expected}", last[i]);
        }
        let heat: f64 = last[1..=n].iter().sum::<f64>() / (n as f64 + 1.0);
        assert!((last[n + 1] - heat).abs() < 1e-12);
    }
}

#[test]
fn the_interpreter_gives_the_rows_of_the_machine_code() {
    let folder = scratch("interpreted");
    write(&folder, "rod.ode", ROD);
    for method in ["bdf", "rodas4", "dopri5"] {
        let rows = |more: &[&str]| {
            let flags = ["run", "rod.ode", "--set", "N=30", "--method", method, "--quiet"];
            odec(&folder, &[&flags, more].concat()).success().out
        };
        assert_eq!(rows(&[]), rows(&["--interpret"]), "{method}");
    }
}

#[test]
fn parts_of_arrays_are_recorded() {
    let folder = scratch("recorded");
    write(&folder, "rod.ode", ROD);
    let plate = "model plate
const N = 4
index i, j = 1..N
state u[i,j] = i + 10*j, u[i,j]' = 0
u[i,j]'' = -u[i,j]
run { t = 0 .. 1; samples = 2 }
";
    write(&folder, "plate.ode", plate);
    let head = |file: &str, record: &str| table(&odec(&folder, &["run", file, "--record", record]).success()).0;
    assert_eq!(head("rod.ode", "u[3],heat,u[1..2]"), ["t", "u[3]", "heat", "u[1]", "u[2]"]);
    assert_eq!(head("plate.ode", "u[2,*]"), ["t", "u[2,1]", "u[2,2]", "u[2,3]", "u[2,4]"]);
    assert_eq!(head("plate.ode", "u[1..2,4]'"), ["t", "u[1,4]'", "u[2,4]'"]);
    assert_eq!(head("plate.ode", "all").len(), 1 + 2 * 16);
    // the run block has the same effect
    for (entry, names) in [
        ("u", vec!["u[1]", "u[2]", "u[3]", "u[4]", "u[5]", "u[6]", "u[7]", "u[8]"]),
        ("u[3]", vec!["u[3]"]),
        ("[heat, u[3]]", vec!["heat", "u[3]"]),
    ] {
        write(&folder, "entry.ode", &ROD.replace("samples = 4", &format!("samples = 4; record = {entry}")));
        assert_eq!(table(&odec(&folder, &["run", "entry.ode"]).success()).0[1..], names, "record = {entry}");
    }
    let (names, rows) = table(&odec(&folder, &["run", "plate.ode", "--record", "u[3,2]"]).success());
    assert_eq!((names.len(), rows[0][1]), (2, 23.0));
    for (record, answer) in [
        ("u[9]", "from 1 to 8"),
        ("u[1,2]", "one index"),
        ("u[", "not a name"),
        ("w[1]", "no quantity `w[1]` to record"),
    ] {
        let ran = odec(&folder, &["run", "rod.ode", "--record", record]);
        assert_eq!(ran.code, Some(2), "{record}: {}", ran.err);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&ran.err).contains(answer), "{record}: {}", ran.err);
    }
}

#[test]
fn tolerances_and_start_values_of_elements() {
    let folder = scratch("elements");
    write(&folder, "rod.ode", ROD);
    odec(&folder, &["run", "rod.ode", "--atol", "u=1e-5", "--atol", "u[3]=1e-12"]).success();
    assert_eq!(odec(&folder, &["run", "rod.ode", "--atol", "u[0]=1e-5"]).code, Some(2));
    let (_, rows) = table(&odec(&folder, &["run", "rod.ode", "--set", "u=5", "--set", "u[3]=7"]).success());
    assert_eq!(rows[0][1..5], [5.0, 5.0, 7.0, 5.0]);
    assert_eq!(odec(&folder, &["run", "rod.ode", "--set", "u[9]=7"]).code, Some(2));
}

#[test]
fn sizes_that_make_no_sense_are_refused_at_once() {
    let folder = scratch("nonsense");
    write(&folder, "rod.ode", ROD);
    for n in ["0", "-3", "2.5", "1e12", "1e300"] {
        let ran = odec(&folder, &["run", "rod.ode", "--set", &format!("N={n}")]);
        assert!(matches!(ran.code, Some(1 | 2)), "N = {n}: {:?} {}", ran.code, ran.err);
        assert!(ran.err.contains("error[E"), "N = {n}: {}", ran.err);
    }
}

#[test]
fn tables_come_from_files_beside_the_model() {
    let folder = scratch("tables");
    std::fs::create_dir_all(folder.join("data")).expect("a folder");
    let model = "model network
const N = 3, E = 4
index i = 1..N
index e = 1..E
const from[e] = csv(\"edges.csv\", \"from\")
const to[e] = csv(\"edges.csv\", \"to\")
const weight[e] = csv(\"edges.csv\", \"weight\")
const start[i] = csv(\"start.csv\")
state u[i] = start[i]
u[i]' = sum(e where to[e] == i: weight[e]*(u[from[e]] - u[to[e]]))
run { t = 0 .. 50; samples = 2 }
";
    write(&folder, "data/network.ode", model);
    let edges = "from,to,weight\n# a ring with a chord\n1,2,1\n2,3, 0.5\n3,1,2\n1,3,1\n";
    write(&folder, "data/edges.csv", edges);
    write(&folder, "data/start.csv", "10\n0\n-4\n");
    let (_, rows) = table(&odec(&folder, &["run", "data/network.ode"]).success());
    assert_eq!(rows[0][1..], [10.0, 0.0, -4.0]);
    // flow along the edges stops when all values are equal
    let last = rows.last().expect("rows");
    assert!((last[1] - last[2]).abs() < 1e-6 && (last[2] - last[3]).abs() < 1e-6, "{last:?}");

    let refused = |file: &str, content: &str, code: i32, answer: &str| {
        write(&folder, file, content);
        let ran = odec(&folder, &["run", "data/network.ode"]);
        assert_eq!(ran.code, Some(code), "{content:?}: {}", ran.err);
        let words = ran.err.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(answer), "{content:?}: {words}");
    };
    refused("data/edges.csv", &edges.replace("2,3,", "4,3,"), 1, "error[E0");
    refused("data/edges.csv", &edges.replace("2,3,", "2.5,3,"), 1, "error[E0");
    refused("data/edges.csv", &edges.replace("0.5", "half"), 1, "line 4: `half` is not a number");
    refused("data/edges.csv", &edges.replace("weight", "w"), 1, "no column `weight`");
    refused("data/edges.csv", &edges.replace("1,3,1\n", ""), 1, "error[E0");
    write(&folder, "data/edges.csv", edges);
    refused("data/start.csv", "10\n0\n", 1, "`start.csv` has 2 values, but `start` has 3 elements");
    refused("data/start.csv", "", 1, "contains no numbers");
    std::fs::remove_file(folder.join("data/start.csv")).expect("its own file");
    let ran = odec(&folder, &["run", "data/network.ode"]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
}

#[test]
fn arrays_are_drawn_as_colours_and_as_profiles() {
    let folder = scratch("pictures");
    write(&folder, "rod.ode", ROD);
    let draw = |flags: &[&str]| {
        odec(&folder, &[&["plot", "rod.ode", "--set", "N=40", "-o", "rod.svg"], flags].concat()).success();
        text(&folder.join("rod.svg"))
    };
    let map = draw(&["u"]);
    assert!(map.matches("<rect").count() > 100, "cells of a map");
    assert!(map.contains(">\nt\n") && map.contains(">\ni\n") && map.contains(">\nu\n"), "labels of axes");
    let profiles = draw(&["u", "--at", "0,0.05,0.1"]);
    assert!(profiles.contains("t = 0.05"), "a curve for each time");
    assert!(profiles.matches("<polyline").count() >= 3);
    let curves = draw(&["u[1]", "u[20]"]);
    assert!(curves.contains("u[20]"));
    odec(&folder, &["plot", "rod.ode", "--set", "N=40", "-o", "rod.png"]).success();
    // named quantities are drawn, even if the run block records only outputs
    write(&folder, "quiet.ode", &ROD.replace("samples = 4", "samples = 4; record = outputs"));
    odec(&folder, &["plot", "quiet.ode", "u[2]", "-o", "quiet.svg"]).success();
    // an array and a number have a panel each
    let both = draw(&["u", "heat"]);
    assert!(both.matches("<rect").count() > 100 && both.contains(">\nheat\n"));
}

#[test]
fn every_stage_can_be_dumped() {
    let folder = scratch("stages");
    write(&folder, "rod.ode", ROD);
    for stage in ["tree", "model", "ir", "clif", "asm"] {
        let dump = |n: &str| odec(&folder, &["dump", "rod.ode", "--stage", stage, "--set", n]).success().text();
        let (small, large) = (dump("N=3"), dump("N=100000"));
        assert!(small.len() > 100, "{stage}: {small}");
        let lines = |text: &str| text.lines().count();
        assert_eq!(lines(&small), lines(&large), "{stage} grows with the model");
    }
    odec(&folder, &["check", "rod.ode", "--derivatives"]).success();
}

#[test]
fn solvers_of_linear_systems_agree_and_are_reported() {
    let folder = scratch("solvers");
    write(&folder, "rod.ode", ROD);
    let end = |linear: &str| {
        let flags = ["run", "rod.ode", "--set", "N=60", "--method", "bdf", "--linear", linear];
        let ran = odec(&folder, &[&flags[..], &["--stats", "stats.json", "-o", "rows.csv"]].concat()).success();
        assert!(ran.err.contains("linear "), "{linear}: {}", ran.err);
        let stats: serde_json::Value = serde_json::from_str(&text(&folder.join("stats.json"))).expect("JSON");
        assert_eq!(stats["linear"]["n"], 60, "{linear}");
        assert!(stats["jacobian_entries"] == 60 + 2 * 59 && stats["extents"][0][1] == 60, "{linear}: {stats}");
        let rows = text(&folder.join("rows.csv"));
        rows.lines().last().expect("rows").split(',').map(|v| v.parse().expect("a number")).collect::<Vec<f64>>()
    };
    let dense = end("dense");
    for linear in ["banded", "sparse", "krylov"] {
        for (a, b) in end(linear).iter().zip(&dense) {
            assert!((a - b).abs() < 1e-6, "{linear}: {a} and {b}");
        }
    }
    assert_eq!(odec(&folder, &["run", "rod.ode", "--linear", "magic"]).code, Some(2));
}

/// Memory is proportional to the number of unknowns; a million of them run (measured, see the figures), here fewer do.
#[test]
fn many_states_run_within_their_memory() {
    let folder = scratch("many");
    let model = root().join("models/brusselator2d.ode");
    let model = model.to_str().expect("UTF-8");
    let memory = |n: usize| {
        let set = format!("N={n}");
        let flags = ["run", model, "--set", &set, "--t-end", "1e-3", "--rtol", "1e-3", "--record", "u[0,0],mean"];
        odec(&folder, &[&flags[..], &["-o", "rows.csv", "--stats", "stats.json"]].concat()).success();
        let stats: serde_json::Value = serde_json::from_str(&text(&folder.join("stats.json"))).expect("JSON");
        assert_eq!(stats["states"], 2 * n * n);
        stats["bound_bytes"].as_f64().expect("a number") / (2 * n * n) as f64
    };
    let (small, large) = (memory(50), memory(150));
    assert!((large / small - 1.0).abs() < 0.1, "{small} and {large} bytes for each state");
}

/// A sum inside another, over the same range and without its index, is evaluated separately, in outputs, equations
/// and derivatives.
#[test]
fn sums_that_do_not_vary_with_the_sum_around_them() {
    let folder = scratch("closed_sums");
    write(
        &folder,
        "closed.ode",
        "model closed
const N = 4
index i = 1..N
param a[i] = i, K[i in 1..N, j in 1..N] = i + j/10
state u[i] = 0.3*i
u[i]' = -u[i] + sum(j in 1..N: sqrt(K[i,j]/prod(m in 1..N: sin(m/3)))*u[j])
      + sum(j in 1..N: exp(u[j]*a[j]/5)*a[i]/sum(m in 1..N: exp(u[m]*a[m]/5)))
      + sum(j in 1..N: K[i,j]*sin(u[j]/prod(m in 1..N: u[m] + a[m])))
      + sum(j in 1..N: sqrt(K[i,j]/prod(m in 1..N: sin(K[i,m]/3) + K[m,i]))*u[j])
output s[i] = sum(j in 1..N: u[j]*sqrt(K[i,j]/prod(m in 1..N: sin(m/3))))
run { t = 0 .. 0.01; samples = 2 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "closed.ode"]));
    let product: f64 = (1..=4).map(|m| (f64::from(m) / 3.0).sin()).product();
    for i in 1..=4 {
        let term = |j: i32| 0.3 * f64::from(j) * ((f64::from(i) + f64::from(j) / 10.0) / product).sqrt();
        let expected: f64 = (1..=4).map(term).sum();
        let got = rows[0][4 + i as usize];
        assert!((got - expected).abs() < 1e-13 * expected, "s[{i}] is {got}, not {expected}");
    }
    let checked = odec(&folder, &["check", "--derivatives", "closed.ode"]).text();
    assert!(checked.contains("df/dp        44") && !checked.contains("WRONG"), "{checked}");
}

/// A comparison inside a minimum over an index is located for each element, with a sum over the same range and
/// without that index on one side.
#[test]
fn comparisons_of_an_element_with_a_sum_over_the_same_range() {
    let folder = scratch("closed_comparisons");
    write(
        &folder,
        "closed.ode",
        "model closed
const N = 3
index j = 1..N, k = 1..N
state x = 0, s = 1
total = sum(k: if k >= N then k else 0*s)
over[j] = sum(m in 1..2 where total > (if j == 1 then 2*s else 2.5*s): 1)
x' = min(j: over[j]) + sum(j: exp(over[j]))
s' = 1
run { t = 0 .. 1; samples = 1 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "closed.ode"]));
    // 3 > 2.5*s until t = 0.2, 3 > 2*s until t = 0.5
    let e = f64::exp(2.0);
    let expected = 0.2 * (2.0 + 3.0 * e) + 0.3 * (e + 2.0) + 0.5 * 3.0;
    assert!((rows[1][1] - expected).abs() < 1e-9, "x is {}, not {expected}", rows[1][1]);
}

/// A value that is staged over an index may contain reductions over that index inside reductions over others.
#[test]
fn staged_values_with_nested_reductions_over_the_same_range() {
    let folder = scratch("closed_nests");
    write(
        &folder,
        "closed.ode",
        "model closed
const N = 4
index i = 1..N
param a[i] = i, b[i in 1..N, j in 1..N] = i + j/10
state u[i] = 1
u[i]' = 0
most = max(k in 1..N, l in 1..N: a[k])
output q = max(j in 1..N, i: u[j]*sqrt(prod(m in 1..N: most) + b[j,1] + i))
output r = max(j in 1..N, i: u[j]*(if N < 9 then prod(m in 1..N: most) + a[i] else b[j,i]))
output s = max(j in 1..N, i: u[j]*sqrt(prod(m in 1..N: most) + a[i]))
run { t = 0 .. 1; samples = 1 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "closed.ode"]));
    let expected = [f64::sqrt(256.0 + 4.1 + 4.0), 260.0, f64::sqrt(260.0)];
    for (got, expected) in rows[0][5..].iter().zip(expected) {
        assert!((got - expected).abs() < 1e-13 * expected, "{got}, not {expected}");
    }
}

/// Beyond the ends of its indices a definition follows its own rules, also at corners, regardless of the rules of its
/// operands.
#[test]
fn definitions_continue_by_their_own_rules() {
    let folder = scratch("own_rules");
    write(
        &folder,
        "ends.ode",
        "model ends
const N = 4
index i, j = 1..N, l = 1..N, c, d = 1..N
boundary clamp j, periodic l, clamp c, clamp d
param a[i] = i
state v[j] = 10*j
v[j]' = 0
b[l] = v[l] + a[l]
e[c,d] = 10*c + d
f[c,l] = 10*c + l
output p[l] = b[l-2], q[i] = e[i-2,i-2], r[i] = e[i+2,i-2], s[i] = f[i-2,i-2]
run { t = 0 .. 1; samples = 1 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "ends.ode"]));
    let expected =
        [[33.0, 44.0, 11.0, 22.0], [11.0, 11.0, 11.0, 22.0], [31.0, 41.0, 41.0, 42.0], [13.0, 14.0, 11.0, 22.0]];
    assert_eq!(rows[0][5..], expected.concat()[..]);
}

/// A neighbour of an element that a table names follows the rule for the ends. The element itself must exist.
#[test]
fn neighbours_of_what_a_table_names_follow_the_ends() {
    let folder = scratch("table_ends");
    let model = |rule: &str, table: &str| {
        format!(
            "model ring
const N = 3
index i = 1..N
const n[i] = {table}
boundary {rule} i
state u[i] = i
u[i]' = u[n[i]+1] - u[i]
d[i] = u[i]^2 + u[i+1]
fn before(k) = u[k-1]
output p[i] = u[n[i]-1], q[i] = u[n[i]+2], r[i] = d[n[i]-1], s = before(n[3])
run {{ method = euler; step = 0.5; t = 0 .. 0.5; samples = 1 }}
"
        )
    };
    // n is 2, 3, 1
    let wanted = [
        ("periodic", [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 7.0, 10.0, 3.0], [2.0, 1.5, 2.5]),
        ("clamp", [1.0, 2.0, 1.0, 3.0, 3.0, 3.0, 3.0, 7.0, 3.0, 1.0], [2.0, 2.5, 2.5]),
    ];
    for (rule, outputs, later) in wanted {
        write(&folder, "ring.ode", &model(rule, "1 + mod(i, 3)"));
        let (_, rows) = table(&odec(&folder, &["run", "ring.ode"]));
        assert_eq!(rows[0][4..], outputs, "{rule}");
        assert_eq!(rows[1][1..4], later, "{rule}");
        write(&folder, "none.ode", &model(rule, "i - 1"));
        let refused = odec(&folder, &["check", "none.ode"]);
        assert!(refused.err.contains("E0520") && refused.err.contains("correct the table"), "{}", refused.err);
    }
}

/// A definition at a clamped subscript may depend on a table over another index, which has no element beyond the end.
#[test]
fn a_table_that_ends_where_a_definition_continues() {
    let folder = scratch("table_in_condition");
    write(
        &folder,
        "clamped.ode",
        "model clamped
const N = 3
index i, j = 1..N, l = 1..3
const c[l] = l
boundary clamp i
state u[i] = i
u[i]' = 0
d[i] = if c[i] < 2 then 5 else u[1]
output o = sum(m in 1..N: d[m-1]), p = sum(m in 1..N, n in 1..N where d[m-1] < n: 1), q[j] = d[j+2] + d[j-2]
run { t = 0 .. 1; samples = 1 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "clamped.ode"]));
    assert_eq!(rows[0][4..], [11.0, 2.0, 6.0, 6.0, 6.0]);
    // a subscript without a rule is refused
    write(
        &folder,
        "refused.ode",
        "model refused
const N = 3
index j = 1..N, l = 1..3
const c[l] = l
state u[j] = j
u[j]' = if c[j-1] < 2 then 5 else u[1]
",
    );
    assert!(odec(&folder, &["check", "refused.ode"]).err.contains("E0520"));
}

/// An operand after a condition on indices and `and` or `or` is read only if that condition does not decide.
#[test]
fn conditions_on_indices_decide_what_is_read_after_them() {
    let folder = scratch("short_conditions");
    write(
        &folder,
        "short.ode",
        "model short
const N = 3, K = 2
index i, j = 1..N, k = 1..K
const c[j] = j, nb[i,k] = [[0, 2], [1, 3], [2, 0]]
state u[i] = i
u[i]' = 0
output o[i] = sum(k where nb[i,k] > 0 and c[nb[i,k]] > 1: u[nb[i,k]])
output p[i] = sum(j where j > i and c[j-1] > 1: u[j])
output q[i] = if i > 1 and u[i-1] > 1 then 1 else 0
output r[i] = if i == 1 or c[i-1] > 1 then 1 else 0
output s[i] = if not (i == 1 or u[i-1] > 1) then 1 else 0
output v[i] = if i > 1 and t > 3 and u[i-1] > 1 then 1 else 0
output w[i] = if t < 3 and (i > 1 and u[i] > 1) and u[i-1] > 1 then 1 else 0
output x[i] = if i == 1 or t < -1 or u[i-1] > 1 then 1 else 0
run { t = 0 .. 1; samples = 1 }
",
    );
    let (_, rows) = table(&odec(&folder, &["run", "short.ode"]));
    let expected = [[2.0, 3.0, 2.0], [3.0, 3.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]];
    let mixed = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]];
    assert_eq!(rows[0][4..], [expected.concat(), mixed.concat()].concat()[..]);
    // the order matters, and a condition on states decides nothing before the run
    for late in ["u[i-1] > 1 and i > 1", "u[i] > 1 and u[i-1] > 1", "i > 1 or u[i-1] > 1"] {
        let text = format!("model m\nconst N = 3\nindex i = 1..N\nstate u[i] = i\nu[i]' = if {late} then 1 else 0\n");
        write(&folder, "late.ode", &text);
        assert!(odec(&folder, &["check", "late.ode"]).err.contains("E0520"), "{late}");
    }
}

/// The time of a check is proportional to the length of an expression, not exponential.
#[test]
fn long_expressions_over_arrays_are_checked() {
    let folder = scratch("long_expressions");
    let head = "model long\nconst N = 3\nindex i = 1..N\nconst c[i] = i\nstate u[i] = i\n";
    let sum = vec!["u[i]*c[i]"; 300].join(" + ");
    let all = vec!["i > 1 and c[i-1] > 0 and u[i] > 0"; 100].join(" and ");
    let any = "(i > 1 and (c[i-1] > 0 or ".repeat(30) + "u[i] > 0" + &"))".repeat(30);
    write(&folder, "sum.ode", &format!("{head}u[i]' = {sum}\n"));
    write(&folder, "any.ode", &format!("{head}u[i]' = if {any} then 1 else 0\n"));
    for file in ["sum.ode", "any.ode"] {
        let checked = odec(&folder, &["check", file]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
    }
    // after a condition on states nothing is decided before the run, and `c[0]` is missing
    write(&folder, "all.ode", &format!("{head}u[i]' = if {all} then 1 else 0\n"));
    assert!(odec(&folder, &["check", "all.ode"]).err.contains("E0520"));
}
