//! `odec completions`: what the tab key offers, from the definitions of the flags.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::exit::Exit;
use crate::report::Reporter;

/// Prints the script of a shell.
pub fn completions(args: &Completions, reporter: Reporter) -> Exit {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "odec", &mut script);
    super::print(&String::from_utf8_lossy(&script), reporter)
}
