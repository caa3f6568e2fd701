//! One file per command. Each returns how the process ends; all its messages go through `Reporter`.

mod bench;
mod check;
mod compare;
mod completions;
mod dump;
mod emit;
mod explain;
mod export;
mod field;
mod fit;
mod fmu;
mod import;
mod man;
mod meta;
mod methods;
mod new;
mod order;
mod plot;
mod run;
mod shards;
mod stability;
mod steady;
mod stops;
mod sweep;
mod test;

pub use meta::of as described;
use odec_ode::method::auto;
use odec_ode::problem::Options;
use odec_sim::{Error, Simulation};

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::report::Reporter;
use crate::session::fail;

/// Runs the command, and prints its error.
pub fn execute(cli: Cli) -> Exit {
    let reporter = Reporter::new(cli.common);
    dispatch(cli.command, reporter).unwrap_or_else(|error| fail(&error, reporter))
}

fn dispatch(command: Command, reporter: Reporter) -> Result<Exit, Error> {
    match command {
        Command::Run(args) => run::run(&args, reporter),
        Command::Check(args) => check::check(&args, reporter),
        Command::Sweep(args) => sweep::sweep(&args, reporter),
        Command::Fit(args) => fit::fit(&args, reporter),
        Command::Test(args) => test::test(&args, reporter),
        Command::Plot(args) => plot::plot(&args, reporter),
        Command::Stability(args) => stability::stability(&args, reporter),
        Command::Steady(args) => steady::steady(&args, reporter),
        Command::Order(args) => order::order(&args, reporter),
        Command::Compare(args) => compare::compare(&args, reporter),
        Command::Bench(args) => bench::bench(&args, reporter),
        Command::Field(args) => field::field(&args, reporter),
        Command::Dump(args) => dump::dump(&args, reporter),
        Command::Methods => methods::methods(),
        Command::Emit(args) => emit::emit(&args, reporter),
        Command::Explain(args) => explain::explain(&args),
        Command::Import(args) => import::import(&args, reporter),
        Command::Export(args) => export::export(&args, reporter),
        Command::New(args) => new::new(&args, reporter),
        Command::Completions(args) => completions::completions(&args),
        Command::Man => man::man(),
    }
}

/// Which method a command takes that needs a single one, and which other one `auto` may take; empty if the user named
/// the method.
fn chosen(simulation: &Simulation) -> String {
    let bound = simulation.bound();
    if !bound.choice.automatic {
        return String::new();
    }
    let options = Options { fixed: false, ..bound.options.clone() };
    match auto::methods_of(&bound.executor, &options).explicit {
        Some(explicit) => format!(
            "method {}: `auto` takes it for stiff parts, and `{}` for others; choose one with `--method`\n\n",
            bound.choice.method.name, explicit.name
        ),
        None => format!(
            "method {}: `auto` takes it throughout; choose another one with `--method`\n\n",
            bound.choice.method.name
        ),
    }
}

/// How errors are measured; see [`odec_sim::reference::error`].
const MEASURE: &str = "error: the largest |y - ref|, relative to the largest |ref| of the state";

/// An aligned table with numbers to the right: the first row is the head, `left` marks text columns.
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
