//! The pages `accuracy.md`, for users and for developers, from the tables of figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use odec_tests::{root, text};

/// Text of the table if there is no solution for comparison.
const UNKNOWN: &str = "no reference";
/// Largest ratio of errors of rows and of ends of steps, in addition to the tolerance.
const WORSE: f64 = 3.0;
/// Largest ratio of an error and that of the best method of SciPy if the tolerance is not met.
const BEYOND: f64 = 10.0;

const USERS: &str = "\
# How accurate runs are

`rtol` and `atol` bound the error of one step: odec divides the error of each state by `atol + rtol*abs(y)` and keeps
the root mean square of these numbers below 1. The errors of the steps add up, and the equations may damp or amplify
them. So the error of a run can be smaller or larger than the tolerance. This page shows how large it is on {count}
problems with known solutions.

An error below is in units of the tolerance: 1 means `atol + rtol*size`, where `size` is the largest value that the
state has in the run, and `atol` is 1e-3 `rtol`. Every figure is the largest error over 1,000 rows and all states.

- `auto` uses a fraction of your tolerance internally, so that the error of its rows stays within the tolerance on most
  problems. Give `auto` the tolerance that you need.
- A method that you name uses your tolerance as it is, and the table shows how far it misses it. To know the error of
  your run, compare it with a run at a tenth of its tolerance: the difference is the error of the first.
- An output may amplify the errors of the states that it reads, as a small difference of large terms does. odec then
  compares the rows with those of a second run, and gives W0622 if they miss their tolerance.
- A chaotic model amplifies every error. No tolerance gives correct values after a long time.

The files [`accuracy.tsv`](../tests/problems/accuracy.tsv) and [`scipy.tsv`](../tests/problems/scipy.tsv) have the
figures of every problem, method and tolerance: errors at the end, at the ends of steps, and over the rows.

## All methods

Each cell gives the number of problems that the method solves within 100,000 steps, and the median, the 90th
percentile and the maximum of their errors. A method of low order needs too many steps at a tight tolerance, and an
explicit method needs too many for a stiff problem.

";

const DEVELOPERS: &str = "\
# Accuracy: how it is measured

```text
cargo run --release -p odec-tests --example accuracy -- --table tests/problems/accuracy.tsv --out docs
```

This command runs every model of `tests/problems` with every method that has an error estimate and dense output, at
three tolerances. It writes this page, the page for users, and the figures of every run
(`tests/problems/accuracy.tsv`). The reference solution has a much tighter tolerance. Its value at each row is the end
of a separate run, so it does not depend on dense output. `--only detest_A,robertson`, `--methods auto,bdf` and
`--floor 1` (`atol` divided by `rtol`) restrict the measurement. `--from tests/problems/accuracy.tsv --out docs` writes
the pages without measuring.

| column | meaning |
|---|---|
| `last` | error at the end of the run, relative to the value of each state there |
| `ends` | largest error at 400 or fewer ends of steps, at all of them if rows have much larger errors; relative to the largest value of each state in the run |
| `rows` | the same over 1,000 rows |
| `corrected`, `landed`, `between_f` | rows that odec corrected, or reached by an extra step; evaluations of f for both |

The figures of SciPy are in `tests/problems/scipy.tsv`. Its first line gives versions and date. To measure them again:

```text
cargo run --release -p odec-tests --example accuracy -- --solutions FOLDER
python3 tests/problems/scipy_peer.py target/release/odec FOLDER > tests/problems/scipy.tsv
```

";

/// A line of the table of odec.
struct Line {
    problem: String,
    method: String,
    rtol: String,
    /// Errors `last`, `ends`, `rows`.
    errors: Result<[f64; 3], String>,
}

fn lines(table: &str) -> Vec<Line> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let value = |at: usize| cells[at].parse::<f64>();
        let errors = match (value(12), value(13), value(14)) {
            (Ok(last), Ok(ends), Ok(rows)) => Ok([last, ends, rows]),
            _ => Err(cells.get(15).copied().unwrap_or_default().to_string()),
        };
        Line { problem: cells[0].into(), method: cells[3].into(), rtol: cells[4].into(), errors }
    };
    let known = |line: &Line| line.errors.as_ref().err().is_none_or(|why| why != UNKNOWN);
    table.lines().skip(1).map(line).filter(known).collect()
}

/// By problem and tolerance: error and method of each peer.
type Peers = BTreeMap<(String, String), Vec<(f64, String)>>;

/// SciPy's errors at the end, in ascending order, by problem and tolerance, for an absolute tolerance of 1e-3 of the
/// relative one.
fn scipy() -> (String, Peers) {
    let table = text(&root().join("tests/problems/scipy.tsv"));
    let mut found: BTreeMap<_, Vec<(f64, String)>> = BTreeMap::new();
    for line in table.lines().skip(2) {
        let cells: Vec<&str> = line.split('\t').collect();
        if let (Ok(last), "0.001") = (cells[6].parse(), cells[3]) {
            let rtol: f64 = cells[2].parse().unwrap_or(f64::NAN);
            found.entry((cells[0].into(), format!("{rtol:e}"))).or_default().push((last, cells[1].into()));
        }
    }
    for list in found.values_mut() {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let head = table.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']).to_string();
    (head, found)
}

/// Two significant digits.
fn short(v: f64) -> String {
    match v {
        v if !v.is_finite() => "none".into(),
        0.0 => "0".into(),
        v if !(1e-3..1e4).contains(&v) => format!("{v:.0e}"),
        v if v >= 10.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v if v >= 0.01 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// Names in the order of their first occurrence.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut list: Vec<&String> = vec![];
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list
}

/// Solved, and the distribution of the errors over rows.
fn distribution(lines: &[&Line]) -> String {
    let mut errors: Vec<f64> = lines.iter().filter_map(|l| l.errors.as_ref().ok()).map(|e| e[2]).collect();
    errors.sort_by(f64::total_cmp);
    if errors.is_empty() {
        return "0".into();
    }
    let at = |part: f64| short(errors[((errors.len() - 1) as f64 * part).round() as usize]);
    format!("{}: {}, {}, {}", errors.len(), at(0.5), at(0.9), at(1.0))
}

/// A table with a row for each method and a column for each tolerance.
fn methods(lines: &[Line], rtols: &[&String]) -> String {
    let mut page = String::from("| method |");
    for rtol in rtols {
        page += &format!(" rtol {rtol} |");
    }
    page += &format!("\n|{}\n", "---|".repeat(rtols.len() + 1));
    for method in distinct(lines.iter().map(|l| &l.method)) {
        let _ = write!(page, "| `{method}` |");
        for rtol in rtols {
            let list: Vec<&Line> = lines.iter().filter(|l| l.method == *method && l.rtol == **rtol).collect();
            let _ = write!(page, " {} |", distribution(&list));
        }
        page += "\n";
    }
    page
}

/// Runs whose rows are worse than the rule permits.
fn worse(lines: &[Line]) -> Vec<&Line> {
    let wrong = |l: &&Line| l.errors.as_ref().is_ok_and(|[_, ends, rows]| *rows > WORSE * ends + 1.0);
    lines.iter().filter(wrong).collect()
}

/// Compares `auto` with the best method of SciPy: lists runs that fail, or whose error at the end is above the
/// tolerance and far above that of SciPy.
fn beside(lines: &[Line], best: &BTreeMap<(String, String), Vec<(f64, String)>>) -> (String, usize) {
    let (mut page, mut met) = (String::new(), 0);
    for line in lines.iter().filter(|l| l.method == "auto") {
        let key = (line.problem.clone(), line.rtol.clone());
        let other = best.get(&key).and_then(|list| list.first());
        let beside = other.map_or("none".into(), |(error, name)| format!("{}, {name}", short(*error)));
        match &line.errors {
            Ok([last, ..]) if *last <= 1.0 || other.is_some_and(|(error, _)| *last <= BEYOND * error) => met += 1,
            Ok([last, ..]) => {
                let _ = writeln!(page, "| `{}` | {} | {} | {beside} |", line.problem, line.rtol, short(*last));
            }
            Err(why) => {
                let _ = writeln!(page, "| `{}` | {} | {why} | {beside} |", line.problem, line.rtol);
            }
        }
    }
    (page, met)
}

/// Writes both pages.
pub fn write(table: &str, docs: &Path) -> Result<(), String> {
    let lines = lines(table);
    let rtols = distinct(lines.iter().map(|l| &l.rtol));
    let problems = distinct(lines.iter().map(|l| &l.problem));
    let (version, best) = scipy();
    let save = |name: &str, text: String| {
        let path = docs.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    let mut page = USERS.replace("{count}", &problems.len().to_string());
    page += &methods(&lines, &rtols);
    let (misses, met) = beside(&lines, &best);
    let all = lines.iter().filter(|l| l.method == "auto").count();
    let count = problems.len();
    let measured = best.keys().map(|(problem, _)| problem).collect::<BTreeSet<_>>().len();
    let _ = write!(
        page,
        "\n## `auto` compared with SciPy\n\n`Radau`, `LSODA` and `DOP853` ran with the same tolerances on {measured} of the \
         problems\n({version}), each for at most 10,000 steps and 20 s.\n\n`auto` ran on all {count} problems with three \
         tolerances. In {met} of these {all} runs, its error at the end is within\nthe tolerance, or at most {BEYOND} \
         times that of the best of the three.{}",
        if misses.is_empty() { "\n" } else { " The others:\n\n" }
    );
    if !misses.is_empty() {
        page += "| problem | rtol | error of `auto` | best of SciPy |\n|---|---|---|---|\n";
        page += &misses;
    }
    let wrong = worse(&lines);
    let runs = lines.iter().filter(|l| l.errors.is_ok()).count();
    let _ = write!(
        page,
        "\n## Rows and the ends of steps\n\nIn {} of {runs} runs, the largest error over rows is at most {WORSE} times \
         the largest error at the\nends of steps, plus the tolerance.",
        runs - wrong.len()
    );
    page += if wrong.is_empty() {
        "\n"
    } else {
        " The others:\n\n| problem | method | rtol | ends | rows |\n|---|---|---|---|---|\n"
    };
    for line in &wrong {
        if let Ok([_, ends, rows]) = &line.errors {
            let Line { problem, method, rtol, .. } = line;
            let _ = writeln!(page, "| `{problem}` | `{method}` | {rtol} | {} | {} |", short(*ends), short(*rows));
        }
    }
    page += "\nThe [developer page](dev/accuracy.md) has the figures of `auto` on every problem, and the commands that measure them.\n";
    save("accuracy.md", page)?;
    save("dev/accuracy.md", developers(&lines, &rtols, &problems, &best))
}

/// The page for developers: every problem with `auto`, compared with SciPy.
fn developers(
    lines: &[Line],
    rtols: &[&String],
    problems: &[&String],
    best: &BTreeMap<(String, String), Vec<(f64, String)>>,
) -> String {
    let mut page = DEVELOPERS.to_string();
    page += "## `auto` on every problem\n\n";
    page += "Each cell gives the errors at the end, at the ends of steps, and over the rows. The column `SciPy` gives the smallest\n\
             error of the three SciPy methods at the end.\n\n| problem |";
    for rtol in rtols {
        page += &format!(" {rtol} | SciPy |");
    }
    page += &format!("\n|{}\n", "---|".repeat(2 * rtols.len() + 1));
    for problem in problems {
        let _ = write!(page, "| `{problem}` |");
        for rtol in rtols {
            let own = lines.iter().find(|l| l.problem == **problem && l.rtol == **rtol && l.method == "auto");
            let errors = match own.map(|l| &l.errors) {
                Some(Ok(errors)) => errors.map(short).join(", "),
                Some(Err(why)) => why.clone(),
                None => String::new(),
            };
            let other = best.get(&((*problem).clone(), (*rtol).clone())).and_then(|list| list.first());
            let other = other.map_or(String::new(), |(error, name)| format!("{} {name}", short(*error)));
            let _ = write!(page, " {errors} | {other} |");
        }
        page += "\n";
    }
    page
}
