//! `odec check`: what is wrong with a model, and whether its derivatives are right.

use odec_sim::derivatives;

use crate::args::Check;
use crate::exit::Exit;
use crate::report::{Reporter, say};
use crate::session;
use crate::summary::brief;

/// Says it.
pub fn check(args: &Check, reporter: Reporter) -> Exit {
    let checked = match session::check(&args.model, reporter, true) {
        Ok(checked) => checked,
        Err(exit) => return exit,
    };
    // values from the command line are checked too, and lowering finds what only the equations together show
    let program = match super::dump::lower_checked(&checked, &args.model, reporter) {
        Ok(program) => program,
        Err(exit) => return exit,
    };
    if !args.derivatives {
        if !reporter.quiet() && reporter.human() {
            say(&format!("{}: no errors\n", checked.source.name));
        }
        return Exit::Success;
    }
    let report = derivatives::compare(&program);
    let mut text = String::new();
    for table in &report.tables {
        text.push_str(&format!(
            "{:<8} {:>6} entries at {} points: symbolic and dual numbers differ by {}, symbolic and differences by {}\n",
            table.name,
            table.entries,
            report.points,
            brief(table.dual.size),
            brief(table.difference.size)
        ));
        for (what, worst) in [("dual numbers", &table.dual), ("differences", &table.difference)] {
            if !worst.passes() {
                text.push_str(&format!("    d({})/d({}): symbolic {}, {what} {}\n", worst.row, worst.column, worst.found, worst.expected));
            }
        }
    }
    let exit = super::print(&text, reporter);
    if exit == Exit::Success && !report.passes() { Exit::Test } else { exit }
}
