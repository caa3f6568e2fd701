//! Tables: times of odec in milliseconds, and times of the other solvers relative to them.

use std::fmt::Write;

use crate::curve::{Curve, ERRORS};
use crate::group::Row;
use crate::machine;
use crate::peer::{limit, odec};
use crate::results::{Measured, Results, Target};

/// Three digits, or as many as the number has before the point.
pub fn figure(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    let before = x.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let after = (2 - before).clamp(0, 6) as usize;
    format!("{x:.after$}")
}

fn cell(x: Option<f64>) -> String {
    x.map_or("-".into(), figure)
}

fn exponent(error: f64) -> String {
    format!("{error:.0e}")
}

/// A table in Markdown.
pub fn markdown(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: String = head.iter().map(|_| "---|").collect();
    let body: String = rows.iter().map(|r| line(r)).collect();
    format!("{}|{rule}\n{body}", line(head))
}

/// Table of one problem: one row per curve.
pub fn problem(measured: &Measured) -> String {
    let mut head = vec!["time to an error of".to_string()];
    head.extend(ERRORS.map(exponent));
    let own = measured.own();
    let mut rows = vec![];
    for curve in &measured.curves {
        let is_own = own.is_some_and(|o| std::ptr::eq(o, curve));
        let mut row = vec![if is_own { format!("**{}, ms**", curve.label()) } else { curve.label() }];
        row.extend(ERRORS.map(|error| {
            if is_own {
                return curve.time(error).map_or("-".into(), |t| format!("**{}**", figure(t)));
            }
            cell(curve.time(error).zip(own.and_then(|o| o.time(error))).map(|(t, o)| t / o))
        }));
        rows.push(row);
    }
    markdown(&head, &rows)
}

/// List of the missing points in the curves of a problem.
pub fn gaps(measured: &Measured) -> String {
    let gap = |c: &Curve| c.missing.as_ref().map(|why| format!("- {}: {why}\n", c.label()));
    measured.curves.iter().filter_map(gap).collect()
}

/// The best of each peer at two errors, over odec's default.
fn summary(results: &Results) -> String {
    let errors = [1e-5, 1e-9];
    let others: Vec<&str> = results.present.iter().map(|p| p.0).filter(|p| *p != odec::NAME).collect();
    let mut head = vec!["problem".to_string()];
    for error in errors {
        head.push(format!("odec, ms to {}", exponent(error)));
        head.extend(others.iter().map(|p| p.to_string()));
    }
    let mut rows = vec![];
    for measured in &results.measured {
        let mut row = vec![format!("[{}](benchmarks/{}.svg)", measured.problem.title, measured.problem.id)];
        for error in errors {
            row.push(cell(measured.own_time(error)));
            row.extend(others.iter().map(|p| cell(measured.ratio(p, error))));
        }
        rows.push(row);
    }
    markdown(&head, &rows)
}

fn rows(list: &[Row], head: &[&str]) -> String {
    let cells: Vec<Vec<String>> =
        list.iter().map(|row| std::iter::once(row.what.clone()).chain(row.figures.iter().cloned()).collect()).collect();
    markdown(&head.iter().map(|h| h.to_string()).collect::<Vec<_>>(), &cells)
}

fn target(t: &Target) -> Vec<String> {
    let reached = match t.reached {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "not measured",
    };
    vec![t.number.to_string(), t.what.clone(), t.place.clone(), t.wanted.clone(), t.found.clone(), reached.into()]
}

/// Text of the whole page.
pub fn page(results: &Results, command: &str) -> String {
    let mut page = String::from("# Benchmarks\n\n");
    let _ = writeln!(
        page,
        "Written by `{command}` ([how to run it](dev/benchmarks.md)).\n\n- machine: {}\n- compilers: {}",
        machine::processor(),
        machine::compilers()
    );
    for (name, version) in &results.present {
        let _ = writeln!(page, "- {name}: {version}");
    }
    for (name, why) in &results.absent {
        let _ = writeln!(page, "- {name} is not included: {why}");
    }
    page.push_str(
        "\n\
         Everything ran in one process on one thread, one run after the other. A time is the solve time only, the\n\
         minimum of many runs. Models are compiled in advance, and matrices and vectors are allocated in advance\n\
         where the interface allows it. odec and diffsol are built for any x86-64, without optimisation across\n\
         crates. The C code and the solvers in C are built for this processor.\n\n\
         All solvers get the same tolerances; the absolute tolerance is the relative tolerance times a floor. The\n\
         error is the largest error of all unknowns at the end of the run, compared with a reference solution in\n\
         higher precision, relative to the value or the floor. The time to reach an error is interpolated\n\
         logarithmically between two tolerances. The error at a tolerance counts as no smaller than those at the\n\
         next two tighter tolerances, so an end value that is accurate by chance brings no advantage.\n\n",
    );
    if !results.measured.is_empty() {
        let _ = writeln!(
            page,
            "## At a glance\n\n\
             Solve time of `--method auto` in milliseconds, and the time of the best method of each other solver as a multiple.\n\
             `{}` is the hand-written C code.\n",
            limit::NAME
        );
        page.push_str(&summary(results));
        page.push_str("\n## Problem by problem\n\nThe first row is in milliseconds, the others are multiples of it.\n");
    }
    for measured in &results.measured {
        let id = &measured.problem.id;
        let _ = writeln!(page, "\n### {}\n", measured.problem.title);
        let _ = writeln!(page, "{} unknowns. Model: `{}`.\n", measured.problem.n(), measured.problem.model);
        page.push_str(&problem(measured));
        let gaps = gaps(measured);
        if !gaps.is_empty() {
            let _ = write!(page, "\n{gaps}");
        }
        let _ = writeln!(page, "\n![{}](benchmarks/{id}.svg)", measured.problem.title);
    }
    if !results.ensembles.is_empty() {
        page.push_str("\n## Many trajectories\n\nOne thread, one compilation, different initial values for each trajectory, rtol = 1e-6.\n\n");
        page.push_str("odec solves each trajectory separately ([why](dev/adr/0017-runs-are-made-alone.md)).\n\n");
        page.push_str(&rows(&results.ensembles, &["", "trajectories", "ms", "multiple of odec"]));
    }
    if !results.kernels.is_empty() {
        page.push_str("\n## Single calls\n\nNanoseconds, the minimum of many batches; the C code is straight-line code for the pattern.\n\n");
        page.push_str(&rows(
            &results.kernels,
            &["", "f", "f in C", "Jacobian", "Jacobian in C", "LU in C", "solve in C"],
        ));
    }
    if !results.compile.is_empty() {
        page.push_str("\n## Compile times\n\nMilliseconds, the minimum of several compilations.\n\n");
        page.push_str(&rows(
            &results.compile,
            &["", "text to model", "kernels and derivatives", "machine code", "the rest", "all"],
        ));
        page.push_str(
            "\nThe remaining time is for the machine code of the LU for POLLU, and for binding to sizes for arrays.\n",
        );
    }
    if !results.start.is_empty() {
        page.push_str("\n## The whole process\n\nMilliseconds from start to exit, the minimum and the median.\n\n");
        page.push_str(&rows(&results.start, &["", "least", "median"]));
    }
    if !results.targets.is_empty() {
        page.push_str(
            "\n## Targets\n\n\
             odec meets a target if it meets it at every error from 1e-3 to 1e-9 that both solvers reach. The table gives\n\
             the worst of these ratios. \"The limit\" is the hand-written C code. Target 7 is a stepping loop that allocates\n\
             nothing; a test counts the allocations (`crates/odec-ode/tests/allocation.rs`).\n\n",
        );
        let head = ["", "target", "where", "wanted", "measured", "reached"].map(String::from);
        page.push_str(&markdown(&head, &results.targets.iter().map(target).collect::<Vec<_>>()));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(figure(0.0033), "0.00330");
        assert_eq!(figure(1.0), "1.00");
        assert_eq!(figure(12.345), "12.3");
        assert_eq!(figure(1234.5), "1234");
        assert_eq!(figure(f64::NAN), "-");
    }
}
