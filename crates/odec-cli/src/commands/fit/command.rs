//! The command that runs a model with its fitted values: `odec run` with the flags of the fit. If data files have values
//! of their own, there is one command for each such file.

use odec_sim::select::names;

use super::options::own_values;
use crate::args;

/// The commands for these names and values, one line each.
pub fn to_run(args: &args::fit::FitArgs, fitted: &[(&str, String)]) -> String {
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for (file, own) in args.tables.iter().map(|text| own_values(text)) {
        if settings.iter().all(|(_, other)| *other != own) {
            settings.push((file, own));
        }
    }
    let several = settings.len() > 1;
    let line = |(file, own): (&str, &str)| {
        let shown = if several { format!("  # {file}") } else { String::new() };
        command(args, fitted, own) + &shown
    };
    settings.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The command with the values of one data file, `A=2,params=high`.
fn command(args: &args::fit::FitArgs, fitted: &[(&str, String)], own: &str) -> String {
    let mut words = vec!["odec run".to_owned(), quoted(&args.file.display().to_string())];
    let mut flag = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    let (block, files) = (&args.block, &args.files);
    for folder in &files.path {
        flag("path", &folder.display().to_string());
    }
    for folder in &files.allow_read {
        flag("allow-read", &folder.display().to_string());
    }
    files.data.iter().for_each(|data| flag("data", data));
    let entries = [
        ("max-memory", &files.max_memory),
        ("run", &block.run),
        ("t", &block.t),
        ("t-end", &block.t_end),
        ("method", &block.method),
        ("step", &block.step),
        ("rtol", &block.rtol),
        ("max-step", &block.max_step),
        ("max-steps", &block.max_steps),
        ("start", &block.start),
        ("linear", &block.linear),
    ];
    for (name, value) in entries {
        if let Some(value) = value {
            flag(name, value);
        }
    }
    block.atol.iter().for_each(|tolerance| flag("atol", tolerance));
    // a value of a fitted name was only the start of the fit
    let is_fitted = |text: &&String| {
        let name = text.split('=').next().unwrap_or_default().trim();
        fitted.iter().any(|(other, _)| *other == name)
    };
    args.set.iter().filter(|text| !is_fitted(text)).for_each(|text| flag("set", text));
    for text in names(own).iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        match text.strip_prefix("params=") {
            Some(set) => flag("params", set.trim()),
            None => flag("set", text),
        }
    }
    words.extend(fitted.iter().map(|(name, value)| format!("--set '{name}={value}'")));
    if block.interpret {
        words.push("--interpret".to_owned());
    }
    words.join(" ")
}

/// A word as a shell takes it: in quotes if it contains more than letters, digits and plain signs.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '+' | '=' | ',' | ':');
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
