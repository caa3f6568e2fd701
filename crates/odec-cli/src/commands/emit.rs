//! `odec emit`: the compiled kernels as files for other programs.

use std::path::{Path, PathBuf};

use odec_emit::EmitError;
use odec_ir::switch::Switching;
use odec_ir::{Invariants, Program, Span};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::lower::Located;
use odec_sim::{Error, Loaded};

use super::dump::not_compiled;
use crate::args::{Emit, RunBlock, Target};
use crate::exit::Exit;
use crate::flags;
use crate::input::{Inputs, error, keep_apart};
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session;
use crate::whole::write_files;

/// Writes them.
pub fn emit(args: &Emit, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = session::load(&args.model, reporter, Detail::Short)?;
    let made_of = Made::of(args, &loaded, reporter)?;
    let program = &made_of.program;
    if let Some(invariants) = &program.invariants {
        return Err(loaded.refuse(drifts(invariants)));
    }
    let start = loaded.model().run(None).ok().flatten().and_then(|run| run.entries.iter().find(|e| e.key == "start"));
    if let Some(entry) = start {
        return Err(loaded.refuse(from_steady(entry.span)));
    }
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.{}", program.name, args.to.extension())));
    let on_stdout = path == Path::new("-");
    let paired = matches!(args.to, Target::Object | Target::C);
    let header = path.with_extension("h");
    if paired && (on_stdout || header == path) {
        return Err(alone(&path, args.to).into());
    }
    let (main, second) = made(args, &made_of)?;
    if on_stdout {
        return print(&String::from_utf8_lossy(&main));
    }
    let files: Vec<(PathBuf, Vec<u8>)> =
        std::iter::once((path, main)).chain(second.map(|text| (header, text.into_bytes()))).collect();
    let inputs = Inputs::of(&args.model, loaded.model());
    for (path, _) in &files {
        keep_apart(&inputs, &[("-o", Some(path))])?;
    }
    write_files(&files)?;
    if !reporter.quiet() && reporter.human() {
        let names: Vec<String> = files.iter().map(|(p, _)| p.display().to_string()).collect();
        say(&format!("wrote {}\n", names.join(" and ")));
    }
    Ok(Exit::Success)
}

/// What is written.
struct Made {
    program: Program,
    /// Of a model with events: what decides modes, and what events write.
    switching: Option<Switching>,
}

impl Made {
    /// C source holds events; nothing else does.
    fn of(args: &Emit, loaded: &Loaded, reporter: Reporter) -> Result<Made, Error> {
        if args.to == Target::C && !loaded.model().events.is_empty() {
            let choices = flags::choices(&args.model, &RunBlock::default())?;
            let (lowered, located) = loaded.located(&choices)?;
            reporter.diagnostics(Some(loaded.source()), &lowered.warnings, Detail::Short);
            if let Some(Located { program, switching }) = located {
                return Ok(Made { program, switching: Some(switching) });
            }
        }
        loaded.without_events()?;
        let program = session::program_for_others(loaded, &args.model, reporter, Detail::Short)?;
        Ok(Made { program, switching: None })
    }
}

/// The bytes of the file, and the text of the header that comes with it.
fn made(args: &Emit, made: &Made) -> Result<(Vec<u8>, Option<String>), Error> {
    let program = &made.program;
    let options = match &args.prefix {
        Some(prefix) => odec_emit::Options { prefix: prefix.clone() },
        None => odec_emit::Options::of(program),
    };
    let header = || odec_emit::c_header(program, &options).map_err(not_emitted);
    Ok(match args.to {
        Target::Clif => (odec_jit::clif_text(program).map_err(not_compiled)?.into_bytes(), None),
        Target::Asm => (odec_jit::asm_text(program).map_err(not_compiled)?.into_bytes(), None),
        // the header first: it refuses a prefix that is no C name
        Target::Object => {
            let header = header()?;
            (odec_jit::object(program, &options.prefix).map_err(not_compiled)?, Some(header))
        }
        Target::C if made.switching.is_some() => {
            let Some(switching) = &made.switching else { return Err(not_emitted(EmitError::Counters)) };
            let source = odec_emit::c_source_with_events(program, switching, &options).map_err(not_emitted)?;
            let header = odec_emit::c_header_with_events(program, switching, &options).map_err(not_emitted)?;
            (source.into_bytes(), Some(header))
        }
        Target::C => (odec_emit::c_source(program, &options).map_err(not_emitted)?.into_bytes(), Some(header()?)),
    })
}

/// A name under which two files do not go.
fn alone(path: &Path, to: Target) -> Diagnostic {
    let headline = if path == Path::new("-") {
        "`-o -`: two files are written, and standard output is one".to_string()
    } else {
        format!("`{}` is the name of the header that comes with it", path.display())
    };
    error(&codes::E0705, headline, Some(format!("give a name that ends in `.{}`", to.extension())))
}

fn not_emitted(e: EmitError) -> Error {
    match e {
        EmitError::BadPrefix(prefix) => {
            let headline = format!("`--prefix {prefix}`: no C name begins like this");
            error(&codes::E0705, headline, Some("for example `--prefix robertson`".to_string())).into()
        }
        EmitError::Counters => {
            let help = "count with a discrete and an event: `when x > next { n += 1; next += 1 }`".to_string();
            error(&codes::E0504, e.to_string(), Some(help)).into()
        }
        EmitError::Samples => {
            let help = "write the input as a formula in `t`, or as a `discrete` that events set".to_string();
            error(&codes::E0504, e.to_string(), Some(help)).into()
        }
        EmitError::Malformed(_) => error(
            &codes::E0900,
            e.to_string(),
            Some("this is a bug in odec: `odec explain E0900` says what to report".to_string()),
        )
        .into(),
        e => error(&codes::E0615, format!("the model cannot be compiled: {e}"), None).into(),
    }
}

/// What is emitted looks for no steady state.
fn from_steady(place: Span) -> Diagnostic {
    let headline = "an emitted program starts from the initial values, and not from a steady state";
    Diagnostic::error(&codes::E0323, headline)
        .label(place, "the run starts from a steady state")
        .help("find it with `odec steady`, write it as the initial values, and leave this entry out")
}

/// What is emitted makes no projections.
fn drifts(invariants: &Invariants) -> Diagnostic {
    let headline = "an emitted program does not keep constraints that have to be differentiated";
    let report = Diagnostic::error(&codes::E0322, headline);
    let constraints = invariants.constraints.iter().map(|(span, _)| *span);
    constraints.fold(report, |report, span| report.label(span, "this constraint")).help(
        "differentiate it by hand until it gives an unknown, and see in the emitted program how far the result drifts",
    )
}
