//! `odec stability`: the region where |R(z)| is at most 1, the values h*lambda of a model, and the largest stable step.

use odec_lang::diagnostic::codes;
use odec_ode::method::{self, Method};
use odec_sim::bind::Purpose;
use odec_sim::blame::{self, number};
use odec_sim::contour::Grid;
use odec_sim::run_eigenvalues::RunEigenvalues;
use odec_sim::spectrum::{self, MAX_UNKNOWNS, Spectrum};
use odec_sim::stability::{self, Amplification, C, Window};
use odec_sim::{Error, Simulation};

use crate::args::{self, Stability};
use crate::exit::Exit;
use crate::figure::Destination;
use crate::input::{Inputs, error};
use crate::picture::{Diagram, Ink, Key, Mark, Range, Shape};
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::brief;

/// Number of points of the grid: across the picture, and on each side of the real axis.
const GRID: (usize, usize) = (181, 70);
/// A picture is enlarged by up to this factor to show all h*lambda.
const WIDEN: f64 = 2.5;
/// Width of the boundaries in pixels.
const LINE: f64 = 2.0;

/// Longest equation in the report, in characters.
const LONGEST: usize = 90;

type Names = Vec<(String, Amplification)>;

/// Draws and prints the stability region.
pub fn stability(args: &Stability, reporter: Reporter) -> Result<Exit, Error> {
    let Some(file) = &args.file else {
        let Some(name) = &args.block.method else {
            let help = "for example `odec stability --method rk4` or `odec stability model.ode`";
            let headline = "`odec stability` needs a method, a model, or both";
            return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
        };
        if name == method::auto::METHOD.name {
            let headline = "`auto` changes between methods, and each has its own region";
            let help = "choose one: `--method vern7` or `--method rodas5p`; with a model, odec shows the one that `auto` takes";
            return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
        }
        let (method, regions) = method::find(name)
            .and_then(|m| Ok((m, stability::of(m)?)))
            .map_err(|refusal| blame::unknown_method(&refusal, None))?;
        let to = Destination::new(&args.figure, &format!("{}-stability.svg", method.name), &Inputs::default())?;
        print(&axes(method, &regions))?;
        return to.write(&draw(method, &regions, None, to.size), reporter);
    };
    let model = args::ModelArgs {
        file: file.clone(),
        set: args.set.clone(),
        params: args.params.clone(),
        files: args.files.clone(),
    };
    let simulation = simulate(&model, &args.block, Purpose::Method, reporter)?;
    let (name, method) = (&simulation.model().name, simulation.bound().choice.method);
    let inputs = Inputs::of(&model, simulation.model(), simulation.source());
    let to = Destination::new(&args.figure, &format!("{name}-{}-stability.svg", method.name), &inputs)?;
    let regions = stability::of(method).map_err(|refusal| simulation.refused(&refusal))?;
    let n = simulation.bound().executor.layout().n;
    if n > MAX_UNKNOWNS {
        let headline = format!("odec does not compute the eigenvalues of {n} unknowns: the limit is {MAX_UNKNOWNS}");
        let help = "show the region alone: `odec stability --method NAME`";
        return Err(error(&codes::E0705, headline, Some(help.into())).into());
    }
    signal::listen();
    let along = match RunEigenvalues::of(simulation.bound(), &signal::asked_to_stop) {
        Ok(along) => along,
        Err(why) => return session::unfinished(&simulation, why),
    };
    if along.spectra.is_empty() {
        let headline = "the Jacobian has no finite value along the run, so it has no eigenvalues".to_string();
        return Err(error(&codes::E0602, headline, Some("show the region alone: leave out the model".into())).into());
    }
    print(&(super::chosen(&simulation) + &axes(method, &regions) + &report(&along, &simulation, &regions)))?;
    to.write(&draw(method, &regions, Some(&(&simulation, &along)), to.size), reporter)
}

/// The limits that the eigenvalues set for the step size.
fn report(along: &RunEigenvalues, simulation: &Simulation, regions: &Names) -> String {
    let bound = simulation.bound();
    let time = &simulation.model().time.name;
    let backwards = bound.problem.t_end < bound.problem.t0;
    // in a backward run, growing modes decay
    let mirrored: Vec<Spectrum> = along
        .spectra
        .iter()
        .map(|s| Spectrum { values: s.values.iter().map(|v| if backwards { -v } else { *v }).collect(), ..s.clone() })
        .collect();
    let mut lines: Vec<(String, String)> = vec![(
        simulation.model().name.clone(),
        format!(
            "{time} = {} .. {}, eigenvalues at {} points of the run",
            shortest(bound.problem.t0),
            shortest(bound.problem.t_end),
            along.spectra.len()
        ),
    )];
    // step doubling applies the formula to both halves of a step
    let step_name = if stability::parts_of_step(bound) > 1.0 { "half step" } else { "step" };
    let limits: Vec<_> = regions.iter().map(|(name, r)| (name, spectrum::limit(r, &mirrored))).collect();
    if limits.iter().all(|(_, limit)| limit.is_none()) {
        lines.push((format!("largest stable {step_name}"), "no limit".into()));
    }
    for (name, limit) in limits {
        let Some(limit) = limit else { continue };
        let several = if regions.len() == 1 { String::new() } else { format!(", {name}") };
        let label = format!("largest stable {step_name}{several}");
        let region = regions.iter().find(|(other, _)| other == name).map(|(_, region)| region);
        let size = limit.lambda.norm();
        let step = match region.and_then(|region| region.stable_beyond(limit.lambda / size)) {
            _ if limit.step > 0.0 => number(limit.step),
            Some(beyond) => format!("none: undamped oscillations grow with every step up to {}", number(beyond / size)),
            None => "none: undamped oscillations grow with every step size".to_string(),
        };
        lines.push((label, step));
        let spectrum = &along.spectra[limit.index];
        let lambda = if backwards { -limit.lambda } else { limit.lambda };
        let states = states(simulation, &spectrum::participation(&bound.executor, spectrum, lambda));
        let by = if states.is_empty() { String::new() } else { format!("{}, ", states.join(", ")) };
        lines.push(("set by".into(), format!("{by}λ = {} at {time} = {}", complex(lambda), brief(spectrum.t))));
        if let Some((place, text)) = states.first().and_then(|s| equation(simulation, s)) {
            lines.push((place, text));
        }
    }
    if let ([(_, region)], Some(h)) = (regions.as_slice(), bound.options.step.filter(|_| bound.options.fixed)) {
        let grows = along.growing(region);
        let verdict = match grows {
            0 => "stable at every point".to_string(),
            k => format!("unstable at {k} of {} points", along.spectra.len()),
        };
        lines.push((format!("step {}", number(h)), verdict));
    } else if let [(_, region)] = regions.as_slice() {
        let grows = along.growing(region);
        let steps = along.steps.iter().map(|h| h.abs());
        let range =
            format!("{} to {}", brief(steps.clone().fold(f64::INFINITY, f64::min)), brief(steps.fold(0.0, f64::max)));
        lines.push((
            format!("{step_name}s taken"),
            format!("{range}; outside the region at {grows} of {} points", along.spectra.len()),
        ));
    }
    if along.skipped > 0 {
        lines.push(("left out".into(), format!("{} points without finite eigenvalues", along.skipped)));
    }
    aligned(&lines)
}

/// The stability limits on the axes.
fn axes(method: &Method, regions: &Names) -> String {
    let mut lines = vec![(method.name.to_string(), format!("order {}, {}", method.order, method.family.name()))];
    for (name, region) in regions {
        let real = match region.limit(C::new(-1.0, 0.0)) {
            _ if !region.defined(C::new(-1.0, 0.0)) => "no h: the method does not support damping".to_string(),
            f64::INFINITY => "every h".to_string(),
            r => format!("h*|λ| up to {}", number(r)),
        };
        let imaginary = match region.limit(C::new(0.0, 1.0)) {
            f64::INFINITY => "every h".to_string(),
            up_to => {
                let beyond = region.stable_beyond(C::new(0.0, 1.0)).map(|r| format!("h*|λ| from {} on", number(r)));
                let up_to = (up_to > 0.0).then(|| format!("h*|λ| up to {}", number(up_to)));
                let parts: Vec<String> = up_to.into_iter().chain(beyond).collect();
                if parts.is_empty() { "no h".to_string() } else { parts.join(", and ") }
            }
        };
        if regions.len() == 1 {
            lines.push(("decay".into(), format!("stable for {real}")));
            lines.push(("oscillation".into(), format!("stable for {imaginary}")));
        } else {
            lines.push((name.clone(), format!("decay stable for {real}, oscillation for {imaginary}")));
        }
    }
    aligned(&lines)
}

/// Aligns two columns.
fn aligned(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(l, _)| l.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(l, r)| format!("{l}{}  {r}\n", " ".repeat(width - l.chars().count()))).collect()
}

pub(super) fn complex(v: C) -> String {
    let four = |v: f64| number(format!("{v:.3e}").parse().unwrap_or(v));
    match four(v.im.abs()) {
        _ if v.im.abs() <= 1e-9 * v.norm() => four(v.re),
        im if v.re.abs() <= 1e-9 * v.norm() => format!("±{im}i"),
        im => format!("{} ± {im}i", four(v.re)),
    }
}

/// The states with the largest participation, in the order of the text.
fn states(simulation: &Simulation, shares: &[f64]) -> Vec<String> {
    const MUCH: f64 = 0.5;
    const MOST: usize = 4;
    let states = &simulation.bound().states;
    let much = states.places().filter(|k| shares.get(*k).is_some_and(|s| *s >= MUCH));
    much.map(|k| states.name(k)).take(MOST).collect()
}

/// Location and text of the equation of a state.
fn equation(simulation: &Simulation, state: &str) -> Option<(String, String)> {
    let (model, source, states) = (simulation.model(), simulation.source(), &simulation.bound().states);
    let (series, _) = states.at(states.find(state).ok()??)?;
    let target = model.states.iter().position(|s| (0..s.order).any(|k| s.derivative(k) == series.name))?;
    // coupled equations belong to several states: use the declaration of the state
    let own = model.equations.iter().find(|e| e.target == Some(target));
    let span = own.map_or(model.states[target].span, |e| e.span);
    let (name, line, _) = source.place(span);
    let text = source.text.get(span.start as usize..span.end as usize)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    Some((format!("{name}:{line}"), text))
}

fn draw(method: &Method, regions: &Names, along: Option<&(&Simulation, &RunEigenvalues)>, size: (u32, u32)) -> Diagram {
    let list: Vec<&Amplification> = regions.iter().map(|(_, r)| r).collect();
    let aspect = f64::from(size.0) * 0.74 / (f64::from(size.1) * 0.86);
    let mut window = Window::about(&list, aspect);
    let points: Vec<C> = along.map(|(_, a)| a.points().filter(|z| z.norm().is_finite()).collect()).unwrap_or_default();
    let need = points
        .iter()
        .fold(1.0f64, |m, z| m.max(z.re / window.right).max(z.re / window.left).max(1.05 * z.im.abs() / window.top));
    if need > 1.0 && need <= WIDEN {
        window = Window { left: window.left * need, right: window.right * need, top: window.top * need };
    }
    let grids: Vec<Grid> = list.iter().map(|r| r.sample(&window, GRID.0, GRID.1)).collect();
    let mut shapes = vec![];
    let mut legend = vec![];
    if let Some(first) = grids.first() {
        // if all are stable
        let mut all = first.clone();
        for grid in &grids[1..] {
            for (v, w) in all.values.iter_mut().zip(&grid.values) {
                *v = v.max(*w);
            }
        }
        shapes.push(Shape::Region(all.region(), Ink::Pale(0)));
        let plane = list.iter().all(|r| r.defined(C::new(-1.0, 0.0)));
        legend.push((
            if !plane {
                "stable on the imaginary axis"
            } else if grids.len() == 1 {
                "stable"
            } else {
                "stable at each order"
            }
            .to_string(),
            if plane { Key::Region(Ink::Pale(0)) } else { Key::Text },
        ));
    }
    shapes.push(Shape::Line(vec![(window.left, 0.0), (window.right, 0.0)], Ink::Faint, 1.2));
    shapes.push(Shape::Line(vec![(0.0, -window.top), (0.0, window.top)], Ink::Faint, 1.2));
    for (k, ((name, region), grid)) in regions.iter().zip(&grids).enumerate() {
        // colours of the orders, without the colour of the points
        let ink = Ink::Series(if k == 0 { 0 } else { k + 1 });
        for curve in grid.curves() {
            shapes.push(Shape::Line(curve, ink, LINE));
        }
        if region.second_order() {
            let end = region.limit(C::new(0.0, 1.0)).min(window.top);
            shapes.push(Shape::Line(vec![(0.0, -end), (0.0, end)], ink, 3.0));
        }
        let text = if regions.len() == 1 { "|R(z)| = 1".to_string() } else { format!("|R(z)| = 1, {name}") };
        legend.push((text, Key::Line(ink)));
    }
    if let Some((simulation, _)) = along {
        steps(simulation, &points, &window, &mut shapes, &mut legend);
    }
    let title = match along {
        Some((simulation, _)) => format!("Stability of {}, and {}", method.name, simulation.model().name),
        None => format!("Stability of {}", method.name),
    };
    Diagram {
        title,
        x_label: "Re hλ".into(),
        y_label: "Im hλ".into(),
        x: Range { low: window.left, high: window.right, log: false },
        y: Range { low: -window.top, high: window.top, log: false },
        equal: true,
        shapes,
        legend,
        size,
    }
}

/// The products of the step and the eigenvalues of a run.
fn steps(
    simulation: &Simulation,
    points: &[C],
    window: &Window,
    shapes: &mut Vec<Shape>,
    legend: &mut Vec<(String, Key)>,
) {
    let (name, options) = (&simulation.model().name, &simulation.bound().options);
    let ink = Ink::Series(1);
    let (inside, outside): (Vec<C>, Vec<C>) =
        points.iter().copied().partition(|z| z.re >= window.left && z.re <= window.right && z.im.abs() <= window.top);
    let text = match options.step.filter(|_| options.fixed) {
        Some(h) => format!("hλ of {name}, h = {}", number(h)),
        None if stability::parts_of_step(simulation.bound()) > 1.0 => format!("hλ of {name}, h = half a step"),
        None => format!("hλ of {name}"),
    };
    legend.push((text, Key::Mark(ink, Mark::Dot)));
    if !outside.is_empty() {
        legend.push((format!("{} of {} lie outside the picture,", outside.len(), points.len()), Key::Text));
        let far = outside.iter().fold(C::new(0.0, 0.0), |m, z| if z.norm() > m.norm() { *z } else { m });
        legend.push((format!("up to {}", complex(far)), Key::Text));
    }
    shapes.extend(beyond(window, &outside).into_iter().map(|(at, towards)| Shape::Head(at, towards, ink)));
    let mut marks: Vec<(f64, f64)> = inside.iter().map(|z| (z.re, z.im)).collect();
    marks.dedup();
    shapes.push(Shape::Marks(marks, ink, Mark::Dot));
}

/// The points where rays from the origin to points outside leave the window, and their directions; only a few.
fn beyond(window: &Window, points: &[C]) -> Vec<((f64, f64), (f64, f64))> {
    const INSET: f64 = 0.985;
    const ANGLES: f64 = 60.0;
    let mut seen = std::collections::BTreeSet::new();
    let mut list = vec![];
    for z in points {
        let bin = (z.im.atan2(z.re) / std::f64::consts::TAU * ANGLES).round() as i64;
        if seen.insert(bin) {
            let side = if z.re < 0.0 { window.left / z.re } else { window.right / z.re };
            let s = INSET * side.min(window.top / z.im.abs());
            list.push(((s * z.re, s * z.im), (z.re, z.im)));
        }
    }
    list
}
