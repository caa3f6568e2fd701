//! `odec plot`: states and outputs against time, or one against another; large arrays as colours.

use std::path::PathBuf;

use odec_ode::problem::{SolveError, Stop};
use odec_sim::bind::Purpose;
use odec_sim::sample::Keep;
use odec_sim::{Error, Simulation};

use super::profile::{MAX_CURVES, Part};
use crate::args::{LogAxes, Plot};
use crate::exit::Exit;
use crate::figure;
use crate::flags;
use crate::input::{Inputs, keep_apart};
use crate::picture::{Curve, Picture, encode, panels};
use crate::report::{Reporter, say};
use crate::session::{fail, simulate_at};
use crate::signal;
use crate::whole::write_file;

/// Runs and draws.
pub fn plot(args: &Plot, reporter: Reporter) -> Result<Exit, Error> {
    let size = figure::size(&args.size)?;
    let at = args.at.as_deref().map(|text| flags::list("--at", text)).transpose()?;
    let mut block = args.block.clone();
    if block.record.is_none() && !(args.names.is_empty() && args.x.is_none()) {
        // what is named is drawn, whether the run block records it or not
        block.record = Some("all".to_string());
    }
    let simulation = simulate_at(&args.model, &block, Purpose::Picture, at.clone(), reporter)?;
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", simulation.model().name)));
    let format = figure::format(&path)?;
    keep_apart(&Inputs::of(&args.model, simulation.model()), &[("-o", Some(&path))])?;
    let (x, chosen) = chosen(args, &simulation)?;
    let part = match at.is_some() || x == 0 && chosen.len() > MAX_CURVES {
        true => Some(Part::of(&simulation.bound().columns, &chosen, at.is_some())?),
        false => None,
    };

    signal::listen();
    let kept = part.as_ref().map_or(chosen.as_slice(), |part| part.columns.as_slice());
    let mut keep = Keep::new([&[x], kept].concat(), &signal::asked_to_stop);
    let exit = match simulation.run(&mut keep).result {
        Ok(outcome) if outcome.stop == Stop::Interrupted => return Ok(Exit::Interrupted),
        Ok(_) => Exit::Success,
        Err(why @ SolveError::Refused(_)) => return Err(simulation.explain(&why)),
        Err(why @ SolveError::Failed(_)) => fail(&simulation.explain(&why), reporter),
    };
    let log_y = matches!(args.log, Some(LogAxes::Y | LogAxes::Xy));
    let bytes = match &part {
        None => encode(&picture(&simulation, args, size, &keep), format),
        Some(part) if part.is_plane() => encode(&part.over_plane(&simulation, &keep, size), format),
        Some(part) if at.is_some() => encode(&part.profiles(&simulation, &keep, size, log_y), format),
        Some(part) => encode(&part.over_time(&simulation, &keep, size), format),
    };
    let bytes = bytes.map_err(|e| figure::bad_size(&format!("`--size {}`: {e}", args.size)))?;
    write_file(&path, &bytes)?;
    if !reporter.quiet() && reporter.human() {
        say(&format!("wrote {}\n", path.display()));
    }
    Ok(exit)
}

/// The column on the horizontal axis, and those that are drawn.
fn chosen(args: &Plot, simulation: &Simulation) -> Result<(usize, Vec<usize>), Error> {
    let columns = &simulation.bound().columns;
    let x = match args.x.as_deref() {
        None => 0,
        Some(name) => columns.find(name, "--x")?[0],
    };
    let mut chosen = vec![];
    for name in &args.names {
        chosen.extend(columns.find(name, "odec plot")?);
    }
    if chosen.is_empty() {
        chosen = (1..columns.len()).filter(|&k| k != x).collect();
        // of a model with large arrays the first one
        if let (true, Some(k)) = (chosen.len() > MAX_CURVES || args.at.is_some(), chosen.first()) {
            let first = columns.series(*k).map(|(series, _)| series.name.clone()).unwrap_or_default();
            chosen = columns.find(&first, "odec plot")?;
        }
    }
    Ok((x, chosen))
}

fn picture(simulation: &Simulation, args: &Plot, size: (u32, u32), keep: &Keep) -> Picture {
    let (x, chosen) = (keep.columns()[0], &keep.columns()[1..]);
    let names = &simulation.bound().columns;
    let against_time = x == 0;
    let (log_x, log_y) = match args.log {
        None => (against_time && simulation.bound().logarithmic.is_some(), false),
        Some(axes) => (matches!(axes, LogAxes::X | LogAxes::Xy), matches!(axes, LogAxes::Y | LogAxes::Xy)),
    };
    let curves: Vec<Curve> = chosen
        .iter()
        .enumerate()
        .map(|(k, &c)| Curve { name: names.name(c), points: keep.rows().map(|r| (r[0], r[k + 1])).collect() })
        .collect();
    let y_label = match chosen {
        [only] => label(simulation, *only),
        _ => String::new(),
    };
    let panels = if log_y || !against_time { vec![curves] } else { panels(curves) };
    let title = simulation.model().name.clone();
    Picture { title, x_label: label(simulation, x), y_label, panels, log_x, log_y, size }
}

/// Name of a column with its unit, as the model writes it.
pub(super) fn label(simulation: &Simulation, column: usize) -> String {
    let columns = &simulation.bound().columns;
    let unit = match columns.series(column) {
        Some((series, _)) => &series.unit,
        None => &simulation.model().time.unit,
    };
    match unit {
        Some(unit) => format!("{} [{unit}]", columns.name(column)),
        None => columns.name(column),
    }
}
