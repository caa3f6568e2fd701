//! `odec explain`: the page of a diagnostic.

use odec_lang::diagnostic::codes::{codes, find};

use crate::args::Explain;
use crate::exit::Exit;
use crate::input::error;
use crate::report::Reporter;

/// Prints a page, or the list of codes.
pub fn explain(args: &Explain, reporter: Reporter) -> Exit {
    let Some(code) = &args.code else {
        let list: String = codes().map(|c| format!("{}  {}\n", c.code, c.title)).collect();
        return super::print(&list, reporter);
    };
    match find(&code.to_uppercase()) {
        Some(found) => super::print(&format!("{}\n", found.page.trim_end()), reporter),
        None => {
            let help = "`odec explain` without a code lists them".to_string();
            reporter.diagnostic(None, &error("E0707", format!("there is no code `{code}`"), Some(help)));
            Exit::Usage
        }
    }
}
