//! `odec emit`: the compiled kernels as files for other programs.

use std::path::{Path, PathBuf};

use crate::args::{Emit, Target};
use crate::exit::Exit;
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
        let stem = args.model.file.file_stem().filter(|s| *s != "-").map_or(PathBuf::from(&program.name), PathBuf::from);
        stem.with_extension(extension)
    });
    let prefix = odec_emit::prefix(&program);
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![];
    let header = path.with_extension("h");
    match args.to {
        Target::Clif => files.push((path, machine(odec_jit::clif_text(&program), reporter)?.into_bytes())),
        Target::Asm => files.push((path, machine(odec_jit::asm_text(&program), reporter)?.into_bytes())),
        Target::Object => {
            files.push((path, machine(odec_jit::object(&program, &prefix), reporter)?));
            files.push((header, odec_emit::c_header(&program, &odec_emit::Options::default()).into_bytes()));
        }
        Target::C => {
            let mut options = odec_emit::Options::default();
            options.header = name_of(&header);
            files.push((path, odec_emit::c_source(&program, &options).into_bytes()));
            files.push((header, odec_emit::c_header(&program, &options).into_bytes()));
        }
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

fn name_of(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}
