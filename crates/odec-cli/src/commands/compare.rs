//! `odec compare`: compares methods on one model, as a table and as a work-precision diagram.

use odec_lang::diagnostic::codes;
use odec_sim::Error;
use odec_sim::bind::{Bound, Purpose};
use odec_sim::blame::grouped;
use odec_sim::blame::{self, number};
use odec_sim::compare::{self, End};
use odec_sim::work::{self, Comparison, Watch, WorkPoint};

use crate::args::{Compare, RunBlock, Work};
use crate::exit::Exit;
use crate::figure::Destination;
use crate::flags;
use crate::input::{Inputs, error};
use crate::picture::{Diagram, Ink, Key, Mark, Range, STYLES, Shape};
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::{brief, duration};

/// Measures, prints and draws the comparison.
pub fn compare(args: &Compare, reporter: Reporter) -> Result<Exit, Error> {
    if args.block.method.is_some() {
        let help = "for example `--methods rk4,bdf2`";
        let headline = "`odec compare` has the flag `--methods`, not `--method`";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    let names: Vec<&str> = args.methods.iter().map(|name| name.trim()).collect();
    let methods = work::methods(&names)?;
    let rtol = args.block.rtol.as_deref().map(flags::tolerance).transpose()?;
    // the model's own method is irrelevant and need not suit it; absolute tolerances follow the relative one, so that
    // their ratio, the floor of relative errors, stays the same
    let first = methods.first().map(|m| m.name.to_string());
    let follow = args.block.atol.is_empty();
    let own = if follow { None } else { args.block.rtol.clone() };
    let block = RunBlock { method: first, rtol: own, ..args.block.clone() };
    let simulation = simulate(&args.model, &block, Purpose::Comparison, reporter)?;
    simulation.without_events()?;
    let model = simulation.model();
    let inputs = Inputs::of(&args.model, model, simulation.source());
    let to = Destination::new(&args.figure, &format!("{}-compare.svg", model.name), &inputs)?;
    signal::listen();
    let bound = simulation.bound();
    work::need(bound).within(simulation.choices().max_memory)?;
    let watch = Watch { clock: &session::seconds, stop: &signal::asked_to_stop };
    let comparison = match Comparison::new(bound, &methods, rtol.filter(|_| follow), watch) {
        Ok(comparison) => comparison,
        Err(why) => return session::unfinished(&simulation, why),
    };
    print(&text(&model.name, &model.time.name, bound, &comparison))?;
    let curves = match comparison.curves() {
        Ok(curves) => curves,
        Err(why) => return session::unfinished(&simulation, why),
    };
    if curves.iter().all(|(_, points)| points.is_empty()) {
        return Ok(Exit::Success);
    }
    let cost = |p: &WorkPoint| match args.work {
        Work::Time => p.seconds,
        Work::F => p.rhs as f64,
        Work::Steps => p.steps as f64,
    };
    let curves = curves.iter().map(|(name, points)| (*name, points.iter().map(|p| (p.error, cost(p))).collect()));
    to.write(&draw(&model.name, bound, &curves.collect(), args.work, to.size), reporter)
}

fn text(model: &str, time: &str, bound: &Bound, comparison: &Comparison<'_>) -> String {
    let Comparison { options, reference, rows, .. } = comparison;
    let control = match options.step.filter(|_| options.fixed) {
        Some(h) => format!("constant step {}", number(h)),
        None => format!("rtol {}", shortest(options.rtol)),
    };
    let mut out = format!(
        "{model}, {control}; errors against {} at rtol {}, accurate to about {}\n{}\n\n",
        reference.method,
        shortest(reference.rtol),
        brief(reference.error),
        super::MEASURE
    );
    let conserved = compare::conserved(bound);
    let mut head = vec!["method".to_string(), "end".into(), "error".into()];
    head.extend(conserved.iter().map(|name| format!("drift of {name}")));
    head.extend(["steps", "f", "J", "LU", "time"].map(String::from));
    let mut table = vec![head];
    let mut notes = vec![];
    for work::MeasuredMethod { method, measured: m, seconds } in rows {
        let end = match &m.end {
            End::Reached => "reached".to_string(),
            End::BlewUp(t) => format!("blew up by {time} = {}", brief(*t)),
            End::Failed(t) => format!("failed at {time} = {}", brief(*t)),
            End::Refused(refusal) => {
                notes.push(format!("{}: {}\n", method.name, blame::reason(refusal, &bound.states)));
                table.push(vec![method.name.to_string(), "refused".into()]);
                continue;
            }
        };
        let error = if m.error.is_finite() { format!("{:.2e}", m.error) } else { "-".into() };
        let mut row = vec![method.name.to_string(), end, error];
        row.extend(m.drifts.iter().map(|d| format!("{d:.2e}")));
        let s = &m.stats;
        row.extend([s.steps(), s.rhs, s.jacobians, s.factorisations].map(grouped));
        row.push(duration(*seconds));
        table.push(row);
    }
    out.push_str(&super::table(&table, &[true, true]));
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&notes.concat());
    }
    out
}

/// Error and work of each method.
type Curves<'a> = Vec<(&'a str, Vec<(f64, f64)>)>;

fn draw(model: &str, bound: &Bound, curves: &Curves<'_>, work: Work, size: (u32, u32)) -> Diagram {
    let ends = |pick: fn(&(f64, f64)) -> f64| {
        let values = || curves.iter().flat_map(|(_, points)| points.iter().map(pick));
        (values().fold(f64::INFINITY, f64::min) / 1.5, values().fold(0.0, f64::max) * 1.5)
    };
    let ((x0, x1), (y0, y1)) = (ends(|p| p.0), ends(|p| p.1));
    let (mut shapes, mut legend) = (vec![], vec![]);
    for (k, (name, points)) in curves.iter().filter(|(_, points)| !points.is_empty()).enumerate() {
        let ink = Ink::Series(k);
        // line styles repeat: then use other marks
        let mark = [Mark::Dot, Mark::Ring, Mark::Cross, Mark::Disk][k / STYLES % 4];
        shapes.push(Shape::Line(points.clone(), ink, 2.0));
        shapes.push(Shape::Marks(points.clone(), ink, mark));
        legend.push((name.to_string(), Key::Marked(ink, mark)));
    }
    let what = if bound.options.fixed { "steps" } else { "tolerances" };
    Diagram {
        title: format!("Work-precision diagram of {model}, by {what}"),
        x_label: "largest error".into(),
        y_label: match work {
            Work::Time => "time [s]",
            Work::F => "evaluations of f",
            Work::Steps => "steps",
        }
        .into(),
        x: Range { low: x0, high: x1, log: true },
        y: Range { low: y0, high: y1, log: true },
        equal: false,
        shapes,
        legend,
        size,
    }
}
