//! `odec check`: what is wrong with a model, and whether its derivatives are right.

use odec_sim::Error;
use odec_sim::derivatives::{self, Worst};

use crate::args::Check;
use crate::exit::Exit;
use crate::report::{Reporter, say};
use crate::rows::print;
use crate::session;
use crate::summary::brief;

/// Says it.
pub fn check(args: &Check, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = session::load(&args.model, reporter, true)?;
    // values from the command line are checked too, and lowering finds what only the equations together show
    let program = session::program(&loaded, &args.model, reporter, true)?;
    if !args.derivatives {
        if !reporter.quiet() && reporter.human() {
            say(&format!("{}: no errors\n", loaded.source().name));
        }
        return Ok(Exit::Success);
    }
    let tables = loaded.compare_derivatives(&program)?;
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
    let right = tables.iter().all(|table| table.passes());
    Ok(print(&text)?.or(if right { Exit::Success } else { Exit::PROMISE }))
}
