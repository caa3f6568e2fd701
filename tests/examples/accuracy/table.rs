//! The figures as lines of a table: tabs between the columns.

use std::fmt::Write;

use crate::measure::Report;

/// The names of the columns.
pub const HEAD: &str = "problem\tn\treference\tmethod\trtol\tfloor\tsteps\trejected\tf\t\
                        corrected\tlanded\tbetween_f\tlast\tends\trows\twhat\n";

/// A line for each run.
pub fn lines(report: &Report) -> String {
    let mut text = String::new();
    let reference = match &report.reference {
        Ok(method) => (*method).to_string(),
        Err(why) => format!("none: {why}"),
    };
    for run in &report.runs {
        let case = &run.case;
        let _ = write!(text, "{}\t{}\t{reference}\t", report.problem, report.n);
        let _ = write!(text, "{}\t{:e}\t{:e}\t", case.method.name, case.rtol, case.floor);
        let _ = match &run.result {
            Ok((stats, errors)) => {
                let missed = stats.rejected + stats.failed;
                let between = stats.between;
                let _ = write!(text, "{}\t{missed}\t{}\t", stats.accepted, stats.rhs);
                let _ = write!(text, "{}\t{}\t{}\t", between.corrected, between.landed, between.rhs);
                writeln!(text, "{:.3e}\t{:.3e}\t{:.3e}\t", errors.last, errors.ends, errors.rows)
            }
            Err(why) => writeln!(text, "\t\t\t\t\t\t\t\t\t{why}"),
        };
    }
    text
}
