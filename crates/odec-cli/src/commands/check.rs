//! `odec check`: reports the errors of a model, and checks its derivatives.

use std::path::Path;

use odec_lang::diagnostic::apply;
use odec_lang::diagnostic::{Diagnostic, Fix, codes};
use odec_lang::source::Source;
use odec_sim::Error;
use odec_sim::derivatives::{self, Worst};

use super::stops;
use crate::args::{Check, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input;
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session;
use crate::summary::{brief, counted};
use crate::whole::write_file;

/// Number of rounds in which the corrected text is parsed again, because one mistake may hide another.
const MAX_ROUNDS: usize = 20;

/// Runs the command.
pub fn check(args: &Check, reporter: Reporter) -> Result<Exit, Error> {
    let corrected = if args.fix { apply_fixes(args, reporter)? } else { None };
    let loaded = match corrected {
        Some(source) => {
            let loaded = session::host(&args.model)?.check(source).1?;
            reporter.diagnostics(Some(loaded.source()), loaded.warnings(), Detail::Full);
            loaded
        }
        None => session::load(&args.model, reporter, Detail::Full)?,
    };
    // values from the command line are checked too, and lowering finds faults that only the whole set of equations shows
    let program = session::program(&loaded, &args.model, reporter, Detail::Full)?;
    loaded.check_runs(&flags::choices(&args.model, &RunBlock::default())?)?;
    if args.stops {
        let listed = stops::list(&loaded, args)?;
        if !args.derivatives {
            return Ok(listed);
        }
    }
    if !args.derivatives {
        if !reporter.quiet() && reporter.human() {
            say(&format!("{}: no errors\n", loaded.source().name));
        }
        return Ok(Exit::Success);
    }
    let tables = loaded.compare_derivatives(&program)?;
    let mut text = format!("symbolic derivatives at {} points, largest relative difference to\n", derivatives::POINTS);
    text.push_str("        entries  dual numbers  differences\n");
    for table in &tables {
        let (dual, difference) = (brief(table.dual.size), brief(table.difference.size));
        let verdict = if table.passes() { "" } else { "  WRONG" };
        text.push_str(&format!("{:<6} {:>8}  {dual:>12}  {difference:>11}{verdict}\n", table.name, table.entries));
        for (what, worst) in [("dual numbers", &table.dual), ("differences", &table.difference)] {
            if !worst.passes() {
                let Worst { row, column, found, expected, .. } = worst;
                text.push_str(&format!("       d({row})/d({column}) is {found}, {what} give {expected}\n"));
            }
        }
    }
    let right = tables.iter().all(odec_sim::derivatives::DerivativeTable::passes);
    Ok(print(&text)?.or(if right { Exit::Success } else { Exit::PROMISE }))
}

/// Applies all tested fixes, round by round, and writes the text back. Returns the corrected text of standard input,
/// which cannot be read again.
fn apply_fixes(args: &Check, reporter: Reporter) -> Result<Option<Source>, Error> {
    let file = args.model.file.as_path();
    let host = session::host(&args.model)?;
    let source = input::read(file)?;
    if odec_sbml::is_xml(&source.text) {
        let help = format!("import the model first: odec import {} -o model.ode", file.display());
        return Err(input::error(
            &codes::E0705,
            "`--fix` corrects models in odec's language, not XML".into(),
            Some(help),
        )
        .into());
    }
    let mut source = host.with_parts(source);
    host.fits(&source)?;
    let mut made = 0;
    for _ in 0..MAX_ROUNDS {
        // the files of parts remain unchanged
        let mut fixes = tried(&odec_lang::check(&source).diagnostics);
        fixes.retain(|fix| fix.span.range().end <= source.model().len());
        let Some(text) = apply(source.model(), &fixes).filter(|_| !fixes.is_empty()) else { break };
        made += fixes.len();
        source = host.with_parts(Source::new(source.name, text));
    }
    if file == Path::new("-") {
        print(source.model())?;
        return Ok(Some(Source::new(source.name.clone(), source.model().to_owned())));
    }
    if made > 0 {
        write_file(file, source.model().as_bytes())?;
    }
    if !reporter.quiet() && reporter.human() {
        let places = counted(made, "place", "places").unwrap_or("nothing".to_string());
        say(&format!("{}: corrected {places}\n", source.name));
    }
    Ok(None)
}

/// The tested fixes; if the fixes of two messages overlap, those of the first.
fn tried(list: &[Diagnostic]) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = vec![];
    for d in list.iter().filter(|d| d.fixes_tried) {
        let touches = |a: &Fix| fixes.iter().any(|b| a.span.start <= b.span.end && b.span.start <= a.span.end);
        if !d.fixes.iter().any(touches) {
            fixes.extend(d.fixes.iter().cloned());
        }
    }
    fixes
}
