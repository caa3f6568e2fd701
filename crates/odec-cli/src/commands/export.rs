//! `odec export`: writes a model as SBML.

use std::path::Path;
use std::sync::Arc;

use odec_sbml::{Chosen, Exported};
use odec_sim::Error;

use crate::args::{Export, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input::{Inputs, keep_apart};
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session;
use crate::whole::write_file;

/// Runs the command: checks the model, and writes the file.
pub fn export(args: &Export, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = session::load(&args.model, reporter, Detail::Full)?;
    keep_apart(
        &Inputs::of(&args.model, loaded.model(), loaded.source()),
        &[("-o", args.output.as_deref().filter(|path| *path != Path::new("-")))],
    )?;
    let choices = flags::choices(&args.model, &RunBlock::default())?;
    let (values, names) = loaded.values(&choices)?;
    // reactions of parts remain equations
    let tree = loaded.source().is_alone().then(|| odec_lang::parse(loaded.source()).0);
    let Exported { text, diagnostics } = odec_sbml::export(loaded.model(), tree.as_ref(), &Chosen { values, names });
    let Some(text) = text else {
        return Err(Error::new(Some(Arc::new(loaded.source().clone())), diagnostics));
    };
    reporter.diagnostics(Some(loaded.source()), &diagnostics, Detail::Full);
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => print(&text),
        Some(path) => {
            write_file(path, text.as_bytes())?;
            if !reporter.quiet() && reporter.human() {
                let p = path.display();
                say(&format!(
                    "wrote {p}; SBML has no run: give odec run {p} the time span and tolerances of the model\n"
                ));
            }
            Ok(Exit::Success)
        }
    }
}
