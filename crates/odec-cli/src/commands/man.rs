//! `odec man`: the manual page, from the definitions of the flags.

use clap::CommandFactory;
use odec_sim::Error;

use crate::args::Cli;
use crate::exit::Exit;
use crate::rows::print;

/// Prints the page of `odec` and those of its commands, in roff.
pub fn man() -> Result<Exit, Error> {
    let mut page = vec![];
    let mut command = Cli::command();
    command.build();
    // writing into a vector cannot fail
    let _ = clap_mangen::Man::new(command.clone()).render(&mut page);
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let _ = clap_mangen::Man::new(sub.clone()).render(&mut page);
    }
    print(&String::from_utf8_lossy(&page))
}
