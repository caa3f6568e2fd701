//! `odec explain`: prints the page of a diagnostic.

use odec_lang::diagnostic::codes::{self, codes, find};
use odec_lang::diagnostic::{Class, Code};
use odec_sim::Error;

use crate::args::Explain;
use crate::exit::Exit;
use crate::input::error;
use crate::pages::in_width;
use crate::rows::print;

/// Prints a page, or the list of codes.
pub fn explain(args: &Explain) -> Result<Exit, Error> {
    let Some(code) = &args.code else {
        let line = |c: &Code| format!("{c}  {:>4}  {}\n", c.class.exit_code(), c.title);
        let list: String = codes().map(line).collect();
        return print(&format!("code   exit  title\n{list}"));
    };
    if let Some(found) = find(&code.to_uppercase()) {
        let end = if found.class.ends() { exit_line(found) } else { String::new() };
        let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        print(&in_width(&format!("{}\n{end}", found.page.trim_end()), terminal))
    } else {
        let help = "`odec explain` without a code lists all codes".to_string();
        Err(error(&codes::E0707, format!("there is no code `{code}`"), Some(help)).into())
    }
}

/// The exit code of the process for this diagnostic.
fn exit_line(code: &Code) -> String {
    let Code { class, .. } = code;
    let or = if *class == Class::Setting {
        format!(", or {} if the cause is in the model", Class::Model.exit_code())
    } else {
        String::new()
    };
    format!("\nExit code {}{or}: {}.\n", class.exit_code(), class.meaning())
}
