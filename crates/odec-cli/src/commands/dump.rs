//! `odec dump`: what the compiler makes of a model, stage by stage.

use odec_ir::Program;
use odec_lang::diagnostic::Diagnostic;

use crate::args::{Dump, Model, RunBlock, Stage};
use crate::exit::Exit;
use crate::flags;
use crate::input;
use crate::report::Reporter;
use crate::session::{self, Checked, exit_with};

/// Prints a stage.
pub fn dump(args: &Dump, reporter: Reporter) -> Exit {
    let text = match args.stage {
        Stage::Tree => tree(args, reporter),
        Stage::Model => session::check(&args.model, reporter, false).map(|checked| checked.model.to_string()),
        Stage::Ir => lower(&args.model, reporter).map(|program| program.to_string()),
        Stage::Clif => {
            lower(&args.model, reporter).and_then(|program| machine(odec_jit::clif_text(&program), reporter))
        }
        Stage::Asm => lower(&args.model, reporter).and_then(|program| machine(odec_jit::asm_text(&program), reporter)),
    };
    match text {
        Ok(text) => super::print(&text, reporter),
        Err(exit) => exit,
    }
}

/// The tree is shown even if the model is wrong: that is when one wants to see it.
fn tree(args: &Dump, reporter: Reporter) -> Result<String, Exit> {
    let source = input::read(&args.model.file).map_err(|d| {
        reporter.diagnostic(None, &d);
        if d.code.starts_with("E07") { Exit::File } else { Exit::Model }
    })?;
    let (tree, diagnostics) = odec_lang::parse(&source);
    reporter.diagnostics(Some(&source), &diagnostics, true);
    Ok(tree.to_string())
}

/// The kernels of a model with the values of the command line.
pub fn lower(model: &Model, reporter: Reporter) -> Result<Program, Exit> {
    lower_checked(&session::check(model, reporter, false)?, model, reporter, false)
}

/// The same for a model that is already checked; `full` as in [`Reporter::diagnostics`], for the warnings.
pub fn lower_checked(checked: &Checked, model: &Model, reporter: Reporter, full: bool) -> Result<Program, Exit> {
    let choices = flags::choices(model, &RunBlock::default()).map_err(|d| {
        reporter.diagnostic(None, &d);
        Exit::Usage
    })?;
    let tables = session::tables(checked, model, reporter)?;
    let overrides =
        odec_lang::model::Overrides { values: choices.set, params: choices.params, tables, open: choices.open };
    let lowered = odec_lang::lower::lower_warned(&checked.model, &overrides).map_err(|list| {
        reporter.diagnostics(Some(&checked.source), &list, true);
        exit_with(&checked.model, &overrides.values, &list)
    })?;
    reporter.diagnostics(Some(&checked.source), &lowered.warnings, full);
    Ok(lowered.program)
}

/// The text, or the end of the process.
pub fn machine<T>(result: Result<T, odec_jit::JitError>, reporter: Reporter) -> Result<T, Exit> {
    result.map_err(|e| {
        reporter.diagnostic(None, &Diagnostic::error("E0615", format!("the model cannot be compiled: {e}")));
        Exit::Model
    })
}
