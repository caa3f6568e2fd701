//! Flags that other tools have, and the flag of the same meaning here.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;

/// Flags of other tools, and those of odec.
const COUNTERPARTS: &[(&str, &str)] = &[
    ("--dt", "--step"),
    ("--h", "--step"),
    ("--timestep", "--step"),
    ("--time-step", "--step"),
    ("--step-size", "--step"),
    ("--stepsize", "--step"),
    ("--max-dt", "--max-step"),
    ("--hmax", "--max-step"),
    ("--tol", "--rtol"),
    ("--tolerance", "--rtol"),
    ("--reltol", "--rtol"),
    ("--rel-tol", "--rtol"),
    ("--abstol", "--atol"),
    ("--abs-tol", "--atol"),
    ("--param", "--set"),
    ("--parameter", "--set"),
    ("--parameters", "--set"),
    ("-p", "--set"),
    ("-P", "--set"),
    ("--solver", "--method"),
    ("--integrator", "--method"),
    ("-m", "--method"),
    ("--stop", "--t-end"),
    ("--end", "--t-end"),
    ("--tmax", "--t-end"),
    ("--time", "--t-end"),
    ("--tstop", "--t-end"),
    ("--tfinal", "--t-end"),
    ("--duration", "--t-end"),
    ("--stop-time", "--t-end"),
    ("-t", "--t-end"),
    ("--tspan", "--t"),
    ("--points", "--samples"),
    ("--npoints", "--samples"),
    ("--nout", "--samples"),
    ("--rows", "--samples"),
    ("--saveat", "--samples"),
    ("--columns", "--record"),
    ("--out", "--output"),
    ("--outfile", "--output"),
];

/// An error about an unknown flag names the flag of the same meaning, instead of one that is only spelt alike.
pub fn answered(mut e: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(flag)) = e.get(ContextKind::InvalidArg) else { return e };
    let flag = flag.clone();
    let Some((_, own)) = COUNTERPARTS.iter().find(|(other, _)| *other == flag) else { return e };
    let value = value_of(&flag, words);
    let names_set = *own == "--set" && !value.as_deref().is_some_and(|value| value.contains('='));
    if e.kind() != ErrorKind::UnknownArgument || names_set || !accepts(words, own) {
        return e;
    }
    let better = value.map_or_else(|| (*own).to_owned(), |value| format!("{own} {value}"));
    e.remove(ContextKind::SuggestedArg);
    e.remove(ContextKind::Usage);
    e.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("write `{better}`").into()]));
    e
}

/// The word after a flag, or after its `=`.
fn value_of(flag: &str, words: &[OsString]) -> Option<String> {
    let at = words.iter().position(|word| word == flag);
    let next = at.and_then(|at| words.get(at + 1)).and_then(|word| word.to_str());
    let joined = words.iter().find_map(|word| word.to_str()?.strip_prefix(flag)?.strip_prefix('='));
    next.filter(|word| !word.starts_with('-')).or(joined).map(str::to_owned)
}

/// True if the command among these words has a flag.
fn accepts(words: &[OsString], flag: &str) -> bool {
    let cli = Cli::command();
    let command = words.iter().skip(1).find_map(|word| cli.find_subcommand(word));
    let long = flag.trim_start_matches('-');
    command.is_some_and(|command| command.get_arguments().any(|argument| argument.get_long() == Some(long)))
}
