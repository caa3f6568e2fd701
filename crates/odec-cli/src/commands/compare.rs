//! `odec compare`: methods side by side on one model, as a table and as a diagram of work against precision.

use std::time::{Duration, Instant};

use odec_lang::diagnostic::codes;
use odec_ode::method::{self, Method};
use odec_ode::problem::Options;
use odec_sim::Error;
use odec_sim::bind::{Bound, Purpose};
use odec_sim::blame::{self, number};
use odec_sim::choose;
use odec_sim::compare::{self, End, Measurement};
use odec_sim::reference::{Gone, Reference, accurate, even_times};

use crate::args::{Compare, RunBlock, Work};
use crate::exit::Exit;
use crate::figure::Destination;
use crate::flags;
use crate::input::{Inputs, error};
use crate::picture::{Diagram, Ink, Key, Mark, Range, Shape};
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::{brief, duration, grouped};

/// Times at which errors are measured; with constant steps they are ends of steps.
const TIMES: usize = 100;
/// The longest steps that are tried divide the run into so many at least.
const COARSEST: f64 = 5.0;
/// Short runs are repeated for so long, others so often, unless it takes too long; the shortest time counts.
const REPEAT: Duration = Duration::from_millis(20);
const REPEATS: u32 = 3;
const TOO_LONG: Duration = Duration::from_millis(500);
/// Methods that are compared unless others are named: some of each family.
const DEFAULT: [&str; 9] =
    ["euler", "rk4", "dopri5", "backward-euler", "trapezoidal", "rodas4", "radau5", "bdf2", "bdf"];
/// Errors that are nearer to that of the reference are not drawn.
const ABOVE_REFERENCE: f64 = 2.0;
/// Settings of the curves: factors on the relative tolerance, and on the step.
const TOLERANCES: [f64; 8] = [1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5];
const STEPS: [f64; 8] = [4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125];
/// Methods of order 1 are not run at smaller relative tolerances than this.
const LOW_ORDER: f64 = 1e-8;
/// Bounds of the tolerances that are tried.
const TOLERANCE: (f64, f64) = (1e-12, 0.05);
/// Steps of a run of a curve; longer ones are left out.
const BUDGET: u64 = 300_000;
/// Larger errors are not drawn.
const LARGEST: f64 = 10.0;

/// Measures, prints and draws.
pub fn compare(args: &Compare, reporter: Reporter) -> Result<Exit, Error> {
    if args.block.method.is_some() {
        let help = "for example `--methods rk4,bdf2`";
        let headline = "`odec compare` takes `--methods`, not `--method`";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    let mut names: Vec<&str> = args.methods.iter().map(|name| name.trim()).collect();
    match names.as_slice() {
        [] => names = DEFAULT.to_vec(),
        ["all"] => names = method::table().iter().map(|m| m.name).collect(),
        _ => {}
    }
    let methods = choose::named(&names)?;
    let rtol = args.block.rtol.as_deref().map(flags::tolerance).transpose()?;
    // the model's own method does not matter, and need not suit it; absolute tolerances follow the relative one, so that
    // their ratio, in which errors are measured, stays
    let first = methods.first().map(|m| m.name.to_string());
    let follow = args.block.atol.is_empty();
    let own = if follow { None } else { args.block.rtol.clone() };
    let block = RunBlock { method: first, rtol: own, ..args.block.clone() };
    let simulation = simulate(&args.model, &block, Purpose::Rows, reporter)?;
    let model = simulation.model();
    let to = Destination::new(&args.figure, &format!("{}-compare.svg", model.name), &Inputs::of(&args.model, model))?;
    signal::listen();
    let bound = simulation.bound();
    let options = match rtol.filter(|_| follow) {
        Some(rtol) => with_tolerance(&bound.options, rtol),
        None => bound.options.clone(),
    };
    let sweep = settings(bound, &options);
    let done = (|| {
        let reference = accurate(bound, &times(bound, &sweep), &signal::asked_to_stop)?;
        compare::warm(bound);
        let mut rows = vec![];
        for &method in &methods {
            rows.push((method, timed(bound, method, &options, &reference)?));
        }
        Ok((reference, rows))
    })();
    let (reference, rows) = match done {
        Ok(done) => done,
        Err(gone) => return session::gone(&simulation, gone),
    };
    print(&text(&model.name, &model.time.name, (bound, &options), &reference, &rows))?;
    let curves = match curves(bound, &sweep, &reference, &rows, args.work) {
        Ok(curves) => curves,
        Err(gone) => return session::gone(&simulation, gone),
    };
    if curves.iter().all(|(_, points)| points.is_empty()) {
        return Ok(Exit::Success);
    }
    to.write(&draw(&model.name, bound, &curves, args.work, to.size), reporter)
}

/// A measurement and its seconds.
type Timed = (Measurement, f64);

fn timed(bound: &Bound, method: &'static Method, options: &Options, reference: &Reference) -> Result<Timed, Gone> {
    let clock = Instant::now();
    let mut best = f64::INFINITY;
    let mut repeats = 0;
    loop {
        let start = Instant::now();
        let measured = compare::measure(bound, method, options, reference, &signal::asked_to_stop)?;
        best = best.min(start.elapsed().as_secs_f64());
        repeats += 1;
        let long = clock.elapsed();
        if (long > REPEAT && repeats >= REPEATS) || long > TOO_LONG || matches!(measured.end, End::Refused(_)) {
            return Ok((measured, best));
        }
    }
}

fn text(
    model: &str,
    time: &str,
    (bound, options): (&Bound, &Options),
    reference: &Reference,
    rows: &[(&Method, Timed)],
) -> String {
    let control = match options.step.filter(|_| options.fixed) {
        Some(h) => format!("constant step {}", number(h)),
        None => format!("rtol {}", shortest(options.rtol)),
    };
    let mut out = format!(
        "{model}, {control}; errors against {} at rtol {}, which is accurate to about {}\n\n",
        reference.method,
        shortest(reference.rtol),
        brief(reference.error)
    );
    let conserved = compare::conserved(bound);
    let mut head = vec!["method".to_string(), "end".into(), "error".into()];
    head.extend(conserved.iter().map(|name| format!("drift of {name}")));
    head.extend(["steps", "f", "J", "LU", "time"].map(String::from));
    let mut table = vec![head];
    let mut notes = vec![];
    for (method, (m, seconds)) in rows {
        let end = match &m.end {
            End::Reached => "reached".to_string(),
            End::BlewUp(t) => format!("blew up by {time} = {}", brief(*t)),
            End::Failed(t) => format!("failed at {time} = {}", brief(*t)),
            End::Refused(refusal) => {
                notes.push(format!("{}: {}\n", method.name, blame::reason(refusal)));
                table.push(vec![method.name.to_string(), "refused".into()]);
                continue;
            }
        };
        let error = if m.error.is_finite() { format!("{:.2e}", m.error) } else { "-".into() };
        let mut row = vec![method.name.to_string(), end, error];
        row.extend(m.drifts.iter().map(|d| format!("{d:.2e}")));
        let s = &m.stats;
        let steps = s.accepted + s.rejected + s.failed;
        row.extend([steps, s.rhs, s.jacobians, s.factorisations].map(grouped));
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

type Curves<'a> = Vec<(&'a str, Vec<(f64, f64)>)>;

/// Error and work of each method over a range of tolerances or steps.
fn curves<'a>(
    bound: &Bound,
    sweep: &[Options],
    reference: &Reference,
    rows: &[(&'static Method, Timed)],
    work: Work,
) -> Result<Curves<'a>, Gone> {
    let mut curves = vec![];
    for (method, (first, _)) in rows {
        let mut points = vec![];
        if matches!(first.end, End::Refused(_)) {
            continue;
        }
        for options in sweep {
            // a low order would take all day
            if !options.fixed && method.order <= 1 && options.rtol < LOW_ORDER {
                continue;
            }
            let (m, seconds) = timed(bound, method, options, reference)?;
            let known = m.error > ABOVE_REFERENCE * reference.error;
            let shown = known && m.error < LARGEST && matches!(m.end, End::Reached);
            if shown {
                let steps = m.stats.accepted + m.stats.rejected + m.stats.failed;
                let cost = match work {
                    Work::Time => seconds,
                    Work::F => m.stats.rhs as f64,
                    Work::Steps => steps as f64,
                };
                points.push((m.error, cost));
            }
        }
        curves.push((method.name, points));
    }
    Ok(curves)
}

/// The options of the points of a curve, the coarsest first.
fn settings(bound: &Bound, own: &Options) -> Vec<Options> {
    match own.step.filter(|_| own.fixed) {
        Some(h) => {
            let span = (bound.problem.t_end - bound.problem.t0).abs();
            let fits = |s: &f64| *s <= h || span / s >= COARSEST;
            let steps = STEPS.iter().map(|f| f * h).filter(fits).filter(|s| span / s < BUDGET as f64);
            steps.map(|h| Options { step: Some(h), ..own.clone() }).collect()
        }
        None => {
            let list = TOLERANCES.iter().map(|f| f * own.rtol).filter(|r| *r >= TOLERANCE.0 && *r <= TOLERANCE.1);
            list.map(|rtol| Options { max_steps: BUDGET, ..with_tolerance(own, rtol) }).collect()
        }
    }
}

/// The same options at another tolerance, the absolute ones in proportion.
fn with_tolerance(own: &Options, rtol: f64) -> Options {
    Options { rtol, atol: own.atol.iter().map(|a| a * (rtol / own.rtol)).collect(), ..own.clone() }
}

/// Times at which errors are measured: where constant steps are compared, ends of steps of every size.
fn times(bound: &Bound, sweep: &[Options]) -> Vec<f64> {
    let longest = sweep.first().filter(|o| o.fixed).and_then(|o| o.step);
    let Some(h) = longest else { return even_times(bound, TIMES) };
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    let h = h.copysign(t_end - t0);
    let whole = ((t_end - t0) / h * (1.0 + 1e-9)).floor() as usize;
    let every = whole.div_ceil(TIMES).max(1);
    let mut times: Vec<f64> = (1..=whole / every).map(|k| t0 + (k * every) as f64 * h).collect();
    // the last step is shortened to the end, or ends there but for rounding
    times.retain(|t| (t_end - t) / h > 1e-6);
    times.push(t_end);
    times
}

fn draw(model: &str, bound: &Bound, curves: &Curves<'_>, work: Work, size: (u32, u32)) -> Diagram {
    let ends = |pick: fn(&(f64, f64)) -> f64| {
        let values = || curves.iter().flat_map(|(_, points)| points.iter().map(pick));
        (values().fold(f64::INFINITY, f64::min) / 1.5, values().fold(0.0, f64::max) * 1.5)
    };
    let ((x0, x1), (y0, y1)) = (ends(|p| p.0), ends(|p| p.1));
    let (mut shapes, mut legend) = (vec![], vec![]);
    for (k, (name, points)) in curves.iter().filter(|(_, points)| !points.is_empty()).enumerate() {
        let ink = Ink::Series(k);
        // the colours come round again: then in dashes
        let again = (k / 8) % 2 == 1;
        let line = if again { Shape::Dashes } else { Shape::Line };
        shapes.push(line(points.clone(), ink, 2.0));
        shapes.push(Shape::Marks(points.clone(), ink, Mark::Dot));
        legend.push((name.to_string(), if again { Key::Dashes(ink) } else { Key::Marked(ink) }));
    }
    let what = if bound.options.fixed { "steps" } else { "tolerances" };
    Diagram {
        title: format!("Work and precision on {model}, by {what}"),
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
