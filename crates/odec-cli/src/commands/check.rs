//! `odec check`: what is wrong with a model, and whether its derivatives are right.

use odec_sim::derivatives::{self, Worst};

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
    let program = match super::dump::lower_checked(&checked, &args.model, reporter, true) {
        Ok(program) => program,
        Err(exit) => return exit,
    };
    if !args.derivatives {
        if !reporter.quiet() && reporter.human() {
            say(&format!("{}: no errors\n", checked.source.name));
        }
        return Exit::Success;
    }
    let tables = match derivatives::compare(&program, &checked.model.time.name) {
        Ok(tables) => tables,
        Err(error) => {
            reporter.diagnostics(Some(&checked.source), &[odec_sim::blame::extents(&error, &program)], true);
            return Exit::Model;
        }
    };
    let mut text = format!("symbolic derivatives at {} points, largest relative difference to\n", derivatives::POINTS);
    text.push_str("        entries  dual numbers  differences\n");
    for table in &tables {
        let (dual, difference) = (brief(table.dual.size), brief(table.difference.size));
        let verdict = if table.passes() { "" } else { "  WRONG" };
        text.push_str(&format!("{:<6} {:>8}  {dual:>12}  {difference:>11}{verdict}\n", table.name, table.entries));
        for (what, worst) in [("dual numbers", &table.dual), ("differences", &table.difference)] {
            if !worst.passes() {
                let Worst { row, column, found, expected, .. } = worst;
                text.push_str(&format!("       d({row})/d({column}) is {found}, {what} give {expected}\n"));
            }
        }
    }
    let exit = super::print(&text, reporter);
    if exit == Exit::Success && !tables.iter().all(|t| t.passes()) { Exit::Test } else { exit }
}
