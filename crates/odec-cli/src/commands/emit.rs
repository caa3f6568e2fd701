//! `odec emit`: the compiled kernels as files for other programs.

use std::path::PathBuf;

use odec_emit::EmitError;

use crate::args::{Emit, Target};
use crate::exit::Exit;
use crate::input::{error, keep_apart};
use crate::report::{Reporter, say};
use crate::rows::write_file;

use super::dump::{lower, machine};

/// Writes them.
pub fn emit(args: &Emit, reporter: Reporter) -> Exit {
    match write(args, reporter) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn write(args: &Emit, reporter: Reporter) -> Result<Exit, Exit> {
    let program = lower(&args.model, reporter)?;
    let extension = match args.to {
        Target::Object => "o",
        Target::C => "c",
        Target::Clif => "clif",
        Target::Asm => "s",
    };
    let path = args.output.clone().unwrap_or_else(|| {
        let stem =
            args.model.file.file_stem().filter(|s| *s != "-").map_or(PathBuf::from(&program.name), PathBuf::from);
        stem.with_extension(extension)
    });
    let options = match &args.prefix {
        Some(prefix) => odec_emit::Options { prefix: prefix.clone() },
        None => odec_emit::Options::of(&program),
    };
    let header = path.with_extension("h");
    if header == path && matches!(args.to, Target::Object | Target::C) {
        let headline = format!("`{}` is the name of the header that comes with it", path.display());
        let help = format!("end the name in `.{extension}`");
        reporter.diagnostic(None, &error("E0705", headline, Some(help)));
        return Err(Exit::Usage);
    }
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![];
    match args.to {
        Target::Clif => files.push((path, machine(odec_jit::clif_text(&program), reporter)?.into_bytes())),
        Target::Asm => files.push((path, machine(odec_jit::asm_text(&program), reporter)?.into_bytes())),
        Target::Object => {
            let text = written(odec_emit::c_header(&program, &options), reporter)?;
            files.push((path, machine(odec_jit::object(&program, &options.prefix), reporter)?));
            files.push((header, text.into_bytes()));
        }
        Target::C => {
            files.push((path, written(odec_emit::c_source(&program, &options), reporter)?.into_bytes()));
            files.push((header, written(odec_emit::c_header(&program, &options), reporter)?.into_bytes()));
        }
    }
    for (path, _) in &files {
        keep_apart(&args.model.file, &[("-o", Some(path))]).map_err(|d| {
            reporter.diagnostic(None, &d);
            Exit::Usage
        })?;
    }
    for (path, bytes) in &files {
        write_file(path, bytes).map_err(|d| {
            reporter.diagnostic(None, &d);
            Exit::File
        })?;
    }
    if !reporter.quiet() && reporter.human() {
        let names: Vec<String> = files.iter().map(|(p, _)| p.display().to_string()).collect();
        say(&format!("wrote {}\n", names.join(" and ")));
    }
    Ok(Exit::Success)
}

/// The text, or the end of the process.
fn written(result: Result<String, EmitError>, reporter: Reporter) -> Result<String, Exit> {
    result.map_err(|e| match e {
        EmitError::BadPrefix(prefix) => {
            let headline = format!("`--prefix {prefix}`: no C name begins like this");
            reporter.diagnostic(None, &error("E0705", headline, Some("for example `--prefix robertson`".to_string())));
            Exit::Usage
        }
        e => {
            reporter.diagnostic(None, &error("E0615", format!("the model cannot be compiled: {e}"), None));
            Exit::Model
        }
    })
}
