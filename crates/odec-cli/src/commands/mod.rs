//! One file per command. Each returns how the process ends; everything it has to say goes through `Reporter`.

mod check;
mod completions;
mod dump;
mod emit;
mod explain;
mod man;
mod methods;
mod new;
mod plot;
mod run;
mod test;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::report::Reporter;
use crate::rows::Trouble;

/// Runs the command.
pub fn execute(cli: Cli) -> Exit {
    let reporter = Reporter::new(&cli.common);
    match cli.command {
        Command::Run(args) => run::run(&args, reporter),
        Command::Check(args) => check::check(&args, reporter),
        Command::Test(args) => test::test(&args, reporter),
        Command::Plot(args) => plot::plot(&args, reporter),
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
