//! One file per command. Each returns how the process ends; everything it has to say goes through `Reporter`.

mod bench;
mod check;
mod compare;
mod completions;
mod dump;
mod emit;
mod explain;
mod field;
mod man;
mod methods;
mod new;
mod order;
mod plot;
mod profile;
mod run;
mod stability;
mod sweep;
mod test;

use odec_ode::problem::SolveError;
use odec_sim::blame;
use odec_sim::reference::Gone;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::report::Reporter;
use crate::rows::Trouble;
use crate::session::{Session, refuse};

/// Runs the command.
pub fn execute(cli: Cli) -> Exit {
    let reporter = Reporter::new(&cli.common);
    match cli.command {
        Command::Run(args) => run::run(&args, reporter),
        Command::Check(args) => check::check(&args, reporter),
        Command::Sweep(args) => sweep::sweep(&args, reporter),
        Command::Test(args) => test::test(&args, reporter),
        Command::Plot(args) => plot::plot(&args, reporter),
        Command::Stability(args) => stability::stability(&args, reporter),
        Command::Order(args) => order::order(&args, reporter),
        Command::Compare(args) => compare::compare(&args, reporter),
        Command::Bench(args) => bench::bench(&args, reporter),
        Command::Field(args) => field::field(&args, reporter),
        Command::Dump(args) => dump::dump(&args, reporter),
        Command::Methods => methods::methods(reporter),
        Command::Emit(args) => emit::emit(&args, reporter),
        Command::Explain(args) => explain::explain(&args, reporter),
        Command::New(args) => new::new(&args, reporter),
        Command::Completions(args) => completions::completions(&args, reporter),
        Command::Man => man::man(reporter),
    }
}

/// Writes text on standard output and tells how that ends the process.
fn print(text: &str, reporter: Reporter) -> Exit {
    match crate::rows::print(text) {
        Ok(()) => Exit::Success,
        Err(trouble) => after(trouble, reporter),
    }
}

/// How the process ends when its output cannot be written.
fn after(trouble: Trouble, reporter: Reporter) -> Exit {
    match trouble {
        Trouble::Closed => Exit::Success,
        Trouble::Failed(d) => {
            reporter.diagnostic(None, &d);
            Exit::File
        }
    }
}

/// A table with its columns aligned, numbers to the right: the first row is the head, `left` says which columns are text.
fn table(rows: &[Vec<String>], left: &[bool]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            let cell = if left.get(c) == Some(&true) { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
            line.push_str(&cell);
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Says why a run that was to be looked at gave nothing, and how that ends the process.
fn gone(session: &Session, gone: Gone, reporter: Reporter) -> Exit {
    match gone {
        Gone::Interrupted => Exit::Interrupted,
        Gone::Failed(SolveError::Refused(refusal)) => refuse(session, &refusal, reporter),
        Gone::Failed(SolveError::Failed(failure)) => {
            let d = blame::failed(&session.model, &session.source, &session.bound, &failure);
            reporter.diagnostic(Some(&session.source), &d);
            Exit::Run
        }
    }
}
