//! `odec dump`: prints a model at each stage of compilation.

use odec_ir::Program;
use odec_ir::names::plain;
use odec_lang::stoichiometry::Stoichiometry;
use odec_sim::Error;

use crate::args::{Dump, ModelArgs, Stage};
use crate::exit::Exit;
use crate::report::{Detail, Reporter};
use crate::rows::print;
use crate::session;

/// Prints a stage.
pub fn dump(args: &Dump, reporter: Reporter) -> Result<Exit, Error> {
    let program = || program(&args.model, reporter);
    let text = match args.stage {
        Stage::Tree => tree(args, reporter)?,
        Stage::Reactions => reactions(args, reporter)?,
        Stage::Model => session::load(&args.model, reporter, Detail::Short)?.model().to_string(),
        Stage::Ir => program()?.to_string(),
        Stage::Clif => odec_jit::clif_text(&program()?).map_err(not_compiled)?,
        Stage::Asm => odec_jit::asm_text(&program()?).map_err(not_compiled)?,
    };
    print(&text)
}

/// The tree is shown even if the model is invalid: then it is needed most.
fn tree(args: &Dump, reporter: Reporter) -> Result<String, Error> {
    let (source, _) = session::text(&args.model, reporter, Detail::Full)?;
    let host = session::host(&args.model)?;
    let source = host.with_parts(source);
    host.fits(&source)?;
    let (tree, diagnostics) = odec_lang::parse(&source);
    reporter.diagnostics(Some(&source), &diagnostics, Detail::Full);
    Ok(tree.to_string())
}

/// The reactions of a valid model.
fn reactions(args: &Dump, reporter: Reporter) -> Result<String, Error> {
    let loaded = session::load(&args.model, reporter, Detail::Short)?;
    let is_state = |name: &str| loaded.model().states.iter().any(|state| plain(&state.name) == name);
    let (source, _) = session::text(&args.model, reporter, Detail::Short)?;
    let (tree, _) = odec_lang::parse(&source);
    Ok(Stoichiometry::of(&tree, &is_state).map_or_else(|| "# no reactions\n".to_owned(), |found| found.to_string()))
}

/// The kernels of a model with the values of the command line.
pub fn program(model: &ModelArgs, reporter: Reporter) -> Result<Program, Error> {
    session::program(&session::load(model, reporter, Detail::Short)?, model, reporter, Detail::Short)
}

/// The message for a model that cannot be compiled.
pub fn not_compiled(error: odec_jit::JitError) -> Error {
    odec_sim::blame::not_compiled(&error.into(), None).into()
}
