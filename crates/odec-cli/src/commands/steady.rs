//! `odec steady`: steady states of a model, with their types and conserved quantities.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::bind::Purpose;
use odec_sim::blame::{self, number};
use odec_sim::points::ValueRange;
use odec_sim::stability::C;
use odec_sim::steady::{Conserved, NoSteady, Search, Steady, SteadyResult};
use odec_sim::{Error, Simulation};

use super::stability::complex;
use crate::args::{self, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input::error;
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::simulate;
use crate::signal;

/// Largest number of eigenvalues shown for a state.
const MAX_VALUES: usize = 8;
/// Number of digits of a printed value.
const DIGITS: usize = 12;

/// Searches and prints the steady states.
pub fn steady(args: &args::SteadyArgs, reporter: Reporter) -> Result<Exit, Error> {
    let ranges = flags::ranges(&args.model.set, true)?;
    let model = args::ModelArgs { set: ranges.plain.clone(), ..args.model.clone() };
    let simulation = simulate(&model, &RunBlock::default(), Purpose::Equilibria, reporter)?;
    let converted = ranges.list.iter().zip(ranges.ends(simulation.model())?);
    let converted = converted.map(|(range, (low, high))| ValueRange { low, high, ..range.clone() }).collect();
    let ranges = places(&simulation, converted, args.starts)?;
    if let Some(report) = blame::steady::repeated(simulation.model()) {
        return Err(simulation.error(vec![report]));
    }
    signal::listen();
    let none = |why: NoSteady| {
        let report = blame::steady::none(simulation.model(), simulation.bound(), &why, args.starts);
        simulation.error(vec![report])
    };
    let search = Search::new(simulation.bound()).map_err(none)?;
    let found = search.find(args.starts, args.seed.unwrap_or(1), &ranges, &signal::asked_to_stop);
    if signal::asked_to_stop() {
        return Ok(Exit::Interrupted);
    }
    if found.list.is_empty() && found.beyond == 0 {
        return Err(none(NoSteady::None));
    }
    print(&text(&simulation, &found, search.conserved(), args.starts))?;
    Ok(Exit::Success)
}

/// The states to draw from ranges, by index in y.
fn places(simulation: &Simulation, ranges: Vec<ValueRange>, starts: u64) -> Result<Vec<(usize, ValueRange)>, Error> {
    let states = &simulation.bound().states;
    let mut found = Vec::new();
    for range in ranges {
        if starts == 0 {
            let headline =
                format!("`--set {}` has a range, but the search draws no starting points from it", range.name);
            return Err(error(&codes::E0705, headline, Some("for example `--starts 100`".into())).into());
        }
        let chosen = states.select(&range.name).map_err(|why| blame::misnamed(&range.name, "--set", &why))?;
        if chosen.is_empty() {
            let known: Vec<&str> = states.names().collect();
            let report: Diagnostic = blame::unknown_state(&range.name, "--set", &known);
            return Err(report.into());
        }
        for choice in &chosen {
            let start = states.list()[choice.quantity].start;
            let all = choice.runs.iter().flat_map(|run| start + run.start..start + run.end);
            found.extend(all.map(|place| (place, range.clone())));
        }
    }
    Ok(found)
}

fn text(simulation: &Simulation, found: &SteadyResult, conserved: &[Conserved], starts: u64) -> String {
    let states = &simulation.bound().states;
    let count = match found.list.len() {
        0 => "no steady state".to_owned(),
        1 => "one steady state".to_owned(),
        n => format!("{n} steady states"),
    };
    let from = if starts == 0 { "the initial values".to_owned() } else { format!("{} starting points", starts + 1) };
    let mut out = format!("{}: {count} from {from}\n", simulation.model().name);
    for combination in conserved {
        let sum = blame::steady::sum(&combination.terms, |place| states.name(place));
        out.push_str(&format!("conserved: {sum} = {}\n", digits(combination.value)));
    }
    if !simulation.model().events.is_empty() {
        out.push_str("without events: the quantities that they change keep their initial values\n");
    }
    for (k, steady) in found.list.iter().enumerate() {
        out.push_str(&one(simulation, k, steady));
    }
    if found.more > 0 {
        out.push_str(&format!("\n{} more degenerate steady states, which form a line or a surface\n", found.more));
    }
    if found.beyond > 0 {
        out.push_str("\nodec has left out steady states beyond the bounds of the states\n");
    }
    out
}

/// The report about a steady state: its type, values and eigenvalues.
fn one(simulation: &Simulation, k: usize, steady: &Steady) -> String {
    let states = &simulation.bound().states;
    let kind = steady.kind.map_or("without eigenvalues", odec_sim::field::EquilibriumType::name);
    let reached = if steady.reached { ", reached from the initial values" } else { "" };
    let model = simulation.model();
    let bracket = |unit: Option<String>| unit.map(|unit| format!(" [{unit}]")).unwrap_or_default();
    let unit = |name: &str| bracket(model.units.text_of(name, &model.time.name));
    let values: Vec<String> = states
        .places()
        .map(|p| (states.name(p), digits(steady.y[p])))
        .map(|(name, value)| format!("{name} = {value}{}", unit(&name)))
        .collect();
    let mut out = format!("\n{}  {kind}{reached}\n   {}\n", k + 1, values.join(", "));
    let pairs: Vec<String> =
        steady.values.iter().filter(|(v, _)| v.im >= 0.0).map(|(v, error)| eigenvalue(*v, *error)).collect();
    if !pairs.is_empty() {
        let more = pairs.len().saturating_sub(MAX_VALUES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let time = model.units.text_of(&model.time.name, &model.time.name).map(|unit| format!("1/{unit}"));
        let list = pairs[..pairs.len().min(MAX_VALUES)].join(", ");
        out.push_str(&format!("   eigenvalues {list}{more}{}\n", bracket(time)));
    }
    out.push_str(&format!("   residual {}\n", number(steady.residual)));
    out
}

/// An eigenvalue; a real part below its error is printed as 0.
fn eigenvalue(v: C, error: f64) -> String {
    let clean = |x: f64| if x.abs() <= error { 0.0 } else { x };
    complex(C::new(clean(v.re), clean(v.im)))
}

/// A value in its shortest form.
fn digits(v: f64) -> String {
    shortest(format!("{v:.*e}", DIGITS - 1).parse().unwrap_or(v))
}
