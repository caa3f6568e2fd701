//! `odec plot`: states and outputs against time, or one against another; large arrays as colours.

mod choose;
pub(super) mod label;
mod panels;
mod part;
mod poles;

use std::path::{Path, PathBuf};

use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::Stop;
use odec_sim::Error;
use odec_sim::bind::Purpose;
use odec_sim::trace::Request;

use crate::args::{LogAxes, Plot};
use crate::exit::Exit;
use crate::figure;
use crate::flags;
use crate::input::{Inputs, keep_apart};
use crate::picture::{Picture, encode};
use crate::report::{Detail, Reporter, say};
use crate::session::{Conclusion, conclude, simulate_at};
use crate::signal;
use crate::whole::write_file;

/// Runs the model and draws the plot.
pub fn plot(args: &Plot, reporter: Reporter) -> Result<Exit, Error> {
    let size = args.size.as_deref().map(figure::size).transpose()?;
    let at = args.at.as_deref().map(|text| flags::list("--at", text)).transpose()?;
    let mut block = args.block.clone();
    if block.record.is_none() && !(args.names.is_empty() && args.x.is_none()) {
        // named quantities are drawn even if the run block does not record them
        block.record = Some("all".to_string());
    }
    let simulation = simulate_at(&args.model, &block, Purpose::Picture, at.clone(), reporter)?;
    let mut paths = args.output.clone();
    if paths.is_empty() {
        paths.push(PathBuf::from(format!("{}.svg", simulation.model().name)));
    }
    let formats = paths.iter().map(|path| figure::format(path)).collect::<Result<Vec<_>, _>>()?;
    let written: Vec<(&str, Option<&Path>)> = paths.iter().map(|path| ("-o", Some(path.as_path()))).collect();
    keep_apart(&Inputs::of(&args.model, simulation.model(), simulation.source()), &written)?;
    let choice = choose::choose(args, &simulation, at.as_deref())?;
    let log = match args.log {
        None => (simulation.bound().logarithmic.is_some() && simulation.bound().problem.t0 == 0.0, false),
        Some(axes) => (matches!(axes, LogAxes::X | LogAxes::Xy), matches!(axes, LogAxes::Y | LogAxes::Xy)),
    };
    if args.log.is_some() {
        choice.accepts(&simulation, log)?;
    }
    let mut plan = panels::PanelPlan::of(&simulation, &choice, log, args.log.is_some(), size);

    let mut folded: Vec<Diagnostic> = choice.items.iter().flat_map(|item| item.warnings(&simulation)).collect();
    folded.dedup();
    reporter.diagnostics(Some(simulation.source()), &folded, Detail::ForRows);

    signal::listen();
    let request = Request { curves: &plan.curves, grids: &plan.grids };
    let mut traced = simulation.trace(&request, &signal::asked_to_stop);
    // the points depend on the ends of the axes, which the first run shows
    for end in [panels::PanelPlan::end_early, panels::PanelPlan::end_at_poles] {
        if end(&mut plan, &simulation, &traced) {
            let request = Request { curves: &plan.curves, grids: &plan.grids };
            traced = simulation.trace(&request, &signal::asked_to_stop);
        }
    }
    if traced.result.as_ref().is_ok_and(|outcome| outcome.stop == Stop::Interrupted) {
        return Ok(Exit::Interrupted);
    }
    let Conclusion { exit, .. } =
        conclude(&simulation, &traced.result, &traced.seen, vec![], (reporter, Detail::ForRows))?;
    let mut notes = plan.notes(&simulation, &traced);
    if !choice.left_out.is_empty() {
        let names = choice.left_out.join(", ");
        notes.push(format!(
            "not plotted for lack of space: {names}; name the quantities to plot: `odec plot FILE NAME`\n"
        ));
    }
    if args.names.is_empty() && args.x.is_none() {
        let constant = plan.leave_out_constants(&simulation, &traced);
        if let Some(first) = constant.first() {
            let names = constant.join(", ");
            notes.push(format!("not plotted because they are constant: {names}; `odec plot FILE {first}` plots one\n"));
        }
    }
    let rows = plan.rows(&simulation, &choice, traced);
    let picture = Picture { title: label::title(simulation.model(), &simulation.source().text), rows, size };
    let too_small = |e: String| {
        let asked = args.size.as_ref().map_or(String::new(), |size| format!("`--size {size}`: "));
        figure::bad_size(&format!("{asked}{e}"))
    };
    let placed = picture.placed().map_err(too_small)?;
    for (path, format) in paths.iter().zip(formats) {
        let bytes = encode(&placed, format).map_err(too_small)?;
        write_file(path, &bytes)?;
    }
    if !reporter.quiet() && reporter.human() {
        for note in notes {
            say(&note);
        }
        for path in &paths {
            say(&format!("wrote {}\n", path.display()));
        }
    }
    Ok(exit)
}
