//! The command `odec`: files, flags, signals, terminal, plots, exit codes. The only crate that does IO. The program `odec` calls
//! [`command`], and so does the script of the Python package.

mod args;
mod arithmetic;
mod commands;
mod compared;
mod digits;
mod exit;
mod figure;
mod flags;
mod folder;
mod from_steady;
mod habits;
mod input;
mod log;
mod memory;
mod pages;
mod picture;
mod progress;
mod report;
mod rows;
mod save;
mod session;
mod signal;
mod summary;
mod table;
mod whole;
mod zip;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};
use odec_lang::diagnostic::codes;

use exit::Exit;

pub use commands::described;
pub use memory::budget as memory_budget;
pub use report::full as rendered;
pub use save::save;
pub use table::{Column, Kind, Meta};

/// Runs a command line, whose first word is the name of the program. Returns the exit code of the process.
pub fn command(words: &[OsString]) -> u8 {
    let json = asks_for_json(words.get(1..).unwrap_or_default());
    std::panic::set_hook(Box::new(move |info| report::say(&report::internal(&info.to_string(), json))));
    odec_jit::stdio::report_long_files();
    if json {
        // every line is an object
        signal::told();
    }
    let exit = match args::Cli::try_parse_from(words) {
        Ok(cli) => guarded(|| commands::execute(cli)),
        Err(e) => refuse(&habits::answered(e, words), json),
    };
    if exit == Exit::Interrupted {
        signal::tell();
    }
    exit.code()
}

/// Runs a command. A panic ends it with the exit code of a bug in odec; the panic hook has printed the report.
fn guarded(command: impl FnOnce() -> Exit + std::panic::UnwindSafe) -> Exit {
    std::panic::catch_unwind(command).unwrap_or(Exit::INTERNAL)
}

/// Handles a command line that clap rejects, or a request for help.
fn refuse(e: &clap::Error, json: bool) -> Exit {
    if !e.use_stderr() {
        // a closed pipe in `--help | head` is not an error
        let _ = e.print();
        return Exit::Success;
    }
    let run = (e.kind() == clap::error::ErrorKind::InvalidSubcommand).then(|| instead_of(e)).flatten();
    if json {
        let text = e.render().to_string();
        let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        let headline = parts.next().unwrap_or_default();
        let headline = headline.strip_prefix("error: ").unwrap_or(&headline).to_string();
        let help: Vec<String> = parts.filter(|part| !part.is_empty()).chain(run).collect();
        report::say(&report::line(&input::error(&codes::E0712, headline, Some(help.join("\n")))));
    } else {
        let _ = e.print();
        if let Some(run) = run {
            report::say(&format!("\n{run}\n"));
        }
    }
    Exit::USAGE
}

/// The suggestion for an unknown command.
fn instead_of(e: &clap::Error) -> Option<String> {
    let clap::error::ContextValue::String(word) = e.get(clap::error::ContextKind::InvalidSubcommand)? else {
        return None;
    };
    if word.ends_with(".ode") {
        return Some(format!("To solve a model: odec run {word}"));
    }
    if e.get(clap::error::ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let command = args::Cli::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let near = odec_lang::suggest::nearest(word, names);
    near.first().map(|near| format!("Did you mean `odec {near}`?"))
}

/// True if an invalid command line contains `--message-format json`.
fn asks_for_json(words: &[OsString]) -> bool {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let words = &words[..end];
    words.iter().any(|word| word == "--message-format=json")
        || words.windows(2).any(|pair| pair[0] == "--message-format" && pair[1] == "json")
}

#[cfg(test)]
mod tests {
    use odec_lang::diagnostic::{Diagnostic, codes};
    use odec_sim::Error;

    use super::{Exit, guarded, report};

    #[test]
    fn a_bug_in_odec_ends_with_exit_code_70_and_says_what_to_report() {
        assert_eq!(guarded(|| Exit::Success).code(), 0);
        assert_eq!(guarded(|| panic!("on purpose")).code(), 70);
        // an internal error without a panic
        let error = Error::from(Box::new(Diagnostic::error(&codes::E0900, "this is a bug in odec")));
        assert_eq!(Exit::from(error.class).code(), 70);
        for json in [false, true] {
            let said = report::internal("panicked at here.rs:1:\nindex out of bounds", json);
            for part in [
                "E0900",
                "this is a bug in odec, not in your model",
                "here.rs:1",
                "index out of bounds",
                "odec explain E0900",
            ] {
                assert!(said.contains(part), "{said}");
            }
        }
    }
}
