//! `odec import`: converts an SBML file to the text of a model.

use std::path::Path;

use odec_lang::diagnostic::codes;
use odec_sim::Error;

use crate::args::{Files, Import, ModelArgs};
use crate::exit::Exit;
use crate::input::{self, error};
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session::converted;
use crate::whole::write_file;

/// Reads the file, and writes the model.
pub fn import(args: &Import, reporter: Reporter) -> Result<Exit, Error> {
    let source = input::read(&args.file)?;
    if !odec_sbml::is_xml(&source.text) {
        let headline = format!("`{}` is not XML; odec imports SBML only", source.name);
        return Err(error(&codes::E0801, headline, None).into());
    }
    let files = Files { path: args.path.clone(), allow_read: args.allow_read.clone(), data: vec![], max_memory: None };
    let file = ModelArgs { file: args.file.clone(), set: vec![], params: None, files };
    let (model, _) = converted(&file, source, reporter, Detail::Full, odec_sbml::import_with_units)?;
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => print(&model.text),
        Some(path) if path == args.file => {
            let headline = format!("`-o {}` would overwrite the input file", path.display());
            Err(error(&codes::E0702, headline, Some("choose another file".to_string())).into())
        }
        Some(path) => {
            write_file(path, model.text.as_bytes())?;
            if !reporter.quiet() && reporter.human() {
                let p = path.display();
                say(&format!("wrote {p}; next: odec check {p}, odec run {p} --t-end ...\n"));
            }
            Ok(Exit::Success)
        }
    }
}
