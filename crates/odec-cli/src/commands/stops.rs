//! `odec check --stops`: lists everything that ends a step of a run.

use odec_sim::bind::Purpose;
use odec_sim::hybrid::step_ends::{StepEnd, StepEndKind};
use odec_sim::{Error, Loaded};

use crate::args::{Check, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::rows::{print, shortest};

/// Largest number of times shown of a list; for a longer list, the first ones and the last one.
const MAX_TIMES: usize = 5;
/// Longest text of the model in the list.
const MAX_TEXT: usize = 40;

/// Prints the list.
pub fn list(loaded: &Loaded, args: &Check) -> Result<Exit, Error> {
    let mut choices = flags::choices(&args.model, &RunBlock::default())?;
    if loaded.model().run(None).ok().flatten().is_none() {
        // the times do not depend on the end of a run
        (choices.t0, choices.t_end) = (Some(0.0), Some(1.0));
    }
    let simulation = loaded.simulate(&choices, Purpose::Rows)?;
    let found = simulation.stops();
    if found.is_empty() {
        return print("nothing but the end of the run ends a step\n");
    }
    let lines: Vec<[String; 3]> = found.iter().map(|found| line(loaded, found)).collect();
    let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
    let (number, text) = (width(0), width(1));
    let mut shown = String::new();
    for [at, what, kind] in &lines {
        shown.push_str(format!("{at:<number$}  {what:<text$}  {kind}").trim_end());
        shown.push('\n');
    }
    print(&shown)
}

fn line(loaded: &Loaded, found: &StepEnd) -> [String; 3] {
    let source = loaded.source();
    let file = source.file_at(found.place.start as usize);
    let (name, line, _) = source.place(found.place);
    let place = if file == 0 { format!("line {line}") } else { format!("{name}:{line}") };
    let text = source.text.get(found.place.range()).unwrap_or_default();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > MAX_TEXT {
        text = text.chars().take(MAX_TEXT - 1).chain(['…']).collect();
    }
    [place, text, kind(&found.kind)]
}

fn kind(kind: &StepEndKind) -> String {
    let elements = |n: usize| if n == 1 { String::new() } else { format!(", {n} elements") };
    match kind {
        StepEndKind::Times(times) => format!("known: at {}", times_of(times)),
        StepEndKind::Every { at, period } => format!("known: at {}, every {}", shortest(*at), shortest(*period)),
        StepEndKind::Knots { times, period: Some(period) } => {
            format!("{} samples every {}: {}", times.len(), shortest(*period), times_of(times))
        }
        StepEndKind::Knots { times, period: None } => format!("{} samples: {}", times.len(), times_of(times)),
        StepEndKind::Surface(n) => format!("located during the run{}", elements(*n)),
        StepEndKind::Condition(n) => format!("event, located during the run{}", elements(*n)),
        StepEndKind::Event(times) => format!("event at {}", times_of(times)),
        StepEndKind::Repeated { from, period, until } if until.is_finite() => {
            format!("event at {}, every {}, before {}", shortest(*from), shortest(*period), shortest(rounded(*until)))
        }
        StepEndKind::Repeated { from, period, .. } => {
            format!("event at {}, every {}", shortest(*from), shortest(*period))
        }
    }
}

/// Twelve digits: events end a few rounding errors before the time after `until`.
fn rounded(time: f64) -> f64 {
    format!("{time:.11e}").parse().unwrap_or(time)
}

fn times_of(times: &[f64]) -> String {
    let list = |times: &[f64]| times.iter().map(|t| shortest(*t)).collect::<Vec<_>>().join(", ");
    match times {
        [] => "no time".to_string(),
        [.., last] if times.len() > MAX_TIMES => format!("{}, ... {}", list(&times[..MAX_TIMES - 2]), shortest(*last)),
        _ => list(times),
    }
}
