//! How accurate runs are: every problem of `tests/problems`, every method with continuous output, three tolerances; the
//! errors at step ends and over rows, beside SciPy's, as the page `docs/accuracy.md`.
//!
//! `cargo run --release -p odec-tests --example accuracy -- --out docs`; see `docs/dev/accuracy.md`.

mod measure;
mod page;
mod problem;
mod reference;
mod table;

use std::path::PathBuf;

use odec_ode::method::{self, Adaptive, Family, Method};

use crate::measure::Case;

/// Relative tolerances.
const RTOLS: [f64; 3] = [1e-4, 1e-6, 1e-8];

/// Arguments of the command.
#[derive(Default)]
struct Asked {
    /// Prefixes of the names of problems; all problems if empty.
    only: Vec<String>,
    /// Methods; all methods if empty.
    methods: Vec<String>,
    /// Absolute tolerance relative to the relative one.
    floor: Option<f64>,
    /// File for the figures.
    table: Option<PathBuf>,
    /// File with figures of an earlier run, from which the pages are made.
    from: Option<PathBuf>,
    /// Folder of the pages.
    out: Option<PathBuf>,
    /// Folder for the solutions, for the script that measures SciPy.
    solutions: Option<PathBuf>,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut words = std::env::args().skip(1);
    let list = |text: String| text.split(',').map(str::to_string).collect();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--only" => asked.only = list(value),
            "--methods" => asked.methods = list(value),
            "--floor" => asked.floor = Some(value.parse().map_err(|_| format!("{value} is no number"))?),
            "--table" => asked.table = Some(value.into()),
            "--from" => asked.from = Some(value.into()),
            "--out" => asked.out = Some(value.into()),
            "--solutions" => asked.solutions = Some(value.into()),
            _ => {
                let flags = "--only, --methods, --floor, --table, --from, --out, --solutions";
                return Err(format!("{word} is no flag; there are {flags}"));
            }
        }
    }
    Ok(asked)
}

/// `auto`, and the methods with an error estimate and continuous output that any system can have.
fn methods(asked: &Asked) -> Vec<&'static Method> {
    let auto = method::find("auto").expect("auto is a method");
    let estimates = |m: &&&'static Method| m.adaptive != Adaptive::FixedStep;
    let fits = |m: &&&'static Method| !matches!(m.family, Family::Splitting(_) | Family::Alpha(_));
    let wanted = |m: &&'static Method| asked.methods.is_empty() || asked.methods.iter().any(|name| name == m.name);
    let table = method::table().iter().filter(estimates).filter(fits).copied();
    std::iter::once(auto).chain(table).filter(wanted).collect()
}

fn main() -> Result<(), String> {
    let asked = asked()?;
    if let (Some(table), Some(folder)) = (&asked.from, &asked.out) {
        return page::write(&odec_tests::text(table), folder);
    }
    let floor = asked.floor.unwrap_or(1e-3);
    let problems = problem::all(&asked.only);
    if let Some(folder) = &asked.solutions {
        return solutions(&problems, folder);
    }
    let methods = methods(&asked);
    let each = |rtol| methods.iter().map(move |method| Case { method, rtol, floor });
    let cases: Vec<Case> = RTOLS.into_iter().flat_map(each).collect();
    let mut text = table::HEAD.to_string();
    for problem in &problems {
        let report = measure::report(problem, &cases);
        let lines = table::lines(&report);
        print!("{lines}");
        text += &lines;
    }
    let write = |path: &PathBuf, text: &str| std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
    if let Some(path) = &asked.table {
        write(path, &text)?;
    }
    if let Some(folder) = &asked.out {
        page::write(&text, folder)?;
    }
    Ok(())
}

/// Writes the solution of each problem, a row for each time.
fn solutions(problems: &[problem::Problem], folder: &std::path::Path) -> Result<(), String> {
    for problem in problems {
        let case = Case { method: method::find("auto").expect("auto is a method"), rtol: 1e-6, floor: 1e-3 };
        let rows = measure::rows(problem, case).map_err(|e| format!("{}: {e}", problem.name))?;
        let line = |(t, y): &(f64, Vec<f64>)| {
            let values: Vec<String> = std::iter::once(t).chain(y).map(|v| format!("{v:e}")).collect();
            values.join(" ") + "\n"
        };
        let text: String = rows.iter().map(line).collect();
        let path = folder.join(format!("{}.txt", problem.name));
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
