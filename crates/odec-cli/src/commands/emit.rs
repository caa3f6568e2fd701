//! `odec emit`: writes the compiled kernels as files for other programs.

use std::path::{Path, PathBuf};

use odec_emit::EmitError;
use odec_ir::switch::Switching;
use odec_ir::{Invariants, Program, Span};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::program::ModeProgram;
use odec_sim::choices::Choices;
use odec_sim::{Error, Loaded};

use super::dump::not_compiled;
use super::fmu;
use crate::args::{Emit, RunBlock, Target};
use crate::exit::Exit;
use crate::flags;
use crate::input::{Inputs, error, keep_apart};
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session;
use crate::whole::write_files;

/// Writes the files.
pub fn emit(args: &Emit, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = session::load(&args.model, reporter, Detail::Short)?;
    let made_of = EmitInputs::of(args, &loaded, reporter)?;
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
    let mut library_note = String::new();
    if paired && (on_stdout || header == path) {
        return Err(alone(&path, args.to).into());
    }
    let (main, second) = match args.to {
        Target::Fmu => {
            if on_stdout {
                return Err(no_text(args.to).into());
            }
            let options = options(args, program);
            let (bytes, library) =
                fmu::written(&loaded, &made_of.choices, program, made_of.switching.as_ref(), &options)?;
            library_note = format!(", {library}");
            (bytes, None)
        }
        _ => made(args, &made_of)?,
    };
    if on_stdout {
        return print(&String::from_utf8_lossy(&main));
    }
    let files: Vec<(PathBuf, Vec<u8>)> =
        std::iter::once((path, main)).chain(second.map(|text| (header, text.into_bytes()))).collect();
    let inputs = Inputs::of(&args.model, loaded.model(), loaded.source());
    for (path, _) in &files {
        keep_apart(&inputs, &[("-o", Some(path))])?;
    }
    write_files(&files)?;
    if !reporter.quiet() && reporter.human() {
        let names: Vec<String> = files.iter().map(|(p, _)| p.display().to_string()).collect();
        say(&format!("wrote {}{library_note}\n", names.join(" and ")));
    }
    Ok(Exit::Success)
}

/// The inputs of an emitter.
struct EmitInputs {
    program: Program,
    /// For a model with events: the description of modes and events.
    switching: Option<Switching>,
    /// The settings of the command line.
    choices: Choices,
}

impl EmitInputs {
    /// C source and object files support events, and FMUs everything that switches. Other formats support neither.
    fn of(args: &Emit, loaded: &Loaded, reporter: Reporter) -> Result<EmitInputs, Error> {
        let events = !loaded.model().events.is_empty();
        let choices = flags::choices(&args.model, &RunBlock::default())?;
        if args.to == Target::Fmu || (matches!(args.to, Target::C | Target::Object) && events) {
            let (lowered, located) = loaded.located(&choices)?;
            reporter.diagnostics(Some(loaded.source()), &lowered.warnings, Detail::Short);
            if let Some(ModeProgram { program, switching }) = located {
                return Ok(EmitInputs { program, switching: Some(switching), choices });
            }
            if !events {
                return Ok(EmitInputs { program: lowered.program, switching: None, choices });
            }
        }
        loaded.without_events()?;
        let program = session::program_for_others(loaded, &args.model, reporter, Detail::Short)?;
        Ok(EmitInputs { program, switching: None, choices })
    }
}

/// The options with the prefix of the names.
fn options(args: &Emit, program: &Program) -> odec_emit::Options {
    match &args.prefix {
        Some(prefix) => odec_emit::Options { prefix: prefix.clone() },
        None => odec_emit::Options::of(program),
    }
}

/// The bytes of the file, and the text of its header.
fn made(args: &Emit, made: &EmitInputs) -> Result<(Vec<u8>, Option<String>), Error> {
    let program = &made.program;
    let options = options(args, program);
    let header = match &made.switching {
        Some(switching) => odec_emit::c_header_with_events(program, switching, &options),
        None => odec_emit::c_header(program, &options),
    };
    Ok(match args.to {
        Target::Clif => (odec_jit::clif_text(program).map_err(not_compiled)?.into_bytes(), None),
        Target::Asm => (odec_jit::asm_text(program).map_err(not_compiled)?.into_bytes(), None),
        // the header first: it refuses a prefix that is not a C name
        Target::Object => {
            let header = header.map_err(not_emitted)?;
            let object = match &made.switching {
                Some(switching) => odec_jit::object_with_events(program, switching, &options.prefix),
                None => odec_jit::object(program, &options.prefix),
            };
            (object.map_err(not_compiled)?, Some(header))
        }
        // written in module `fmu`
        Target::Fmu => (Vec::new(), None),
        Target::C => {
            let source = match &made.switching {
                Some(switching) => odec_emit::c_source_with_events(program, switching, &options),
                None => odec_emit::c_source(program, &options),
            };
            (source.map_err(not_emitted)?.into_bytes(), Some(header.map_err(not_emitted)?))
        }
    })
}

/// The message for a name that would be the same for both files.
fn alone(path: &Path, to: Target) -> Diagnostic {
    let headline = if path == Path::new("-") {
        "`-o -`: `odec emit` writes two files, which cannot share standard output".to_string()
    } else {
        format!("`{}` is the name of the header that `odec emit` writes with it", path.display())
    };
    error(&codes::E0705, headline, Some(format!("choose a name that ends in `.{}`", to.extension())))
}

/// The message for a binary format that cannot be printed on a terminal.
fn no_text(to: Target) -> Diagnostic {
    let help = Some(format!("choose a name that ends in `.{}`", to.extension()));
    error(&codes::E0705, "`-o -`: an FMU is a binary archive, and standard output is for text".to_string(), help)
}

pub(super) fn not_emitted(e: EmitError) -> Error {
    match e {
        EmitError::BadPrefix(prefix) => {
            let headline = format!("`--prefix {prefix}`: a C name cannot begin with this");
            error(&codes::E0705, headline, Some("for example `--prefix robertson`".to_string())).into()
        }
        EmitError::NotExplicit => {
            let headline = "FMI model exchange supports only equations `x' = f`, and this model has others".to_string();
            let help = "solve the equations for the derivatives, and replace unknowns by definitions where possible";
            error(&codes::E0811, headline, Some(help.to_string())).into()
        }
        EmitError::TooManyVariables(n) => {
            let headline = format!("an FMU cannot have {n} variables; the limit is {}", odec_emit::MAX_VARIABLES);
            error(&codes::E0812, headline, Some("reduce the index sets".to_string())).into()
        }
        EmitError::Malformed(_) => error(
            &codes::E0900,
            e.to_string(),
            Some("this is a bug in odec: `odec explain E0900` says what to report".to_string()),
        )
        .into(),
        e => error(&codes::E0615, format!("odec cannot compile the model: {e}"), None).into(),
    }
}

/// Emitted code does not search for steady states.
fn from_steady(place: Span) -> Diagnostic {
    let headline = "an emitted program cannot start from a steady state, only from initial values";
    Diagnostic::error(&codes::E0323, headline)
        .label(place, "the run starts from a steady state")
        .help("find the steady state with `odec steady`, write it as the initial values, and remove this entry")
}

/// Emitted code does not project onto constraints.
fn drifts(invariants: &Invariants) -> Diagnostic {
    let headline = "an emitted program cannot satisfy constraints that must be differentiated";
    let report = Diagnostic::error(&codes::E0322, headline);
    let constraints = invariants.constraints.iter().map(|(span, _)| *span);
    constraints.fold(report, |report, span| report.label(span, "this constraint")).help(
        "differentiate the constraint by hand until it determines an unknown, and check how far the emitted program \
         drifts from it",
    )
}
