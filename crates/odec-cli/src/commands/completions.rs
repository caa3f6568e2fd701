//! `odec completions`: shell completions, from the definitions of the flags.

use clap::CommandFactory;
use odec_sim::Error;

use crate::args::{Cli, Completions};
use crate::exit::Exit;
use crate::rows::print;

/// Prints the script of a shell.
pub fn completions(args: &Completions) -> Result<Exit, Error> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "odec", &mut script);
    print(&String::from_utf8_lossy(&script))
}
