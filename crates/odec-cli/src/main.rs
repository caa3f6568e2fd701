//! The command `odec`: files, flags, signals, terminal, plots, exit codes. The only crate that does IO.

mod args;
mod commands;
mod exit;
mod figure;
mod flags;
mod input;
mod picture;
mod progress;
mod report;
mod rows;
mod session;
mod signal;
mod summary;

use std::process::ExitCode;

use clap::Parser;

use exit::Exit;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        report::say(&format!(
            "odec: this is a bug in odec, not in your model: {info}\n\
             Please report it, with the model and the command line.\n"
        ));
    }));
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let exit = if e.use_stderr() { Exit::Usage } else { Exit::Success };
            // a closed pipe on `--help | head` is no error
            let _ = e.print();
            if e.kind() == clap::error::ErrorKind::InvalidSubcommand
                && let Some(file) = std::env::args().nth(1).filter(|word| word.ends_with(".ode"))
            {
                report::say(&format!("\nTo solve a model: odec run {file}\n"));
            }
            return exit.into();
        }
    };
    std::panic::catch_unwind(|| commands::execute(cli)).unwrap_or(Exit::Bug).into()
}
