//! `odec field`: the vector field of two states, with integral curves, nullclines and equilibria.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::bind::{Bound, Purpose};
use odec_sim::blame::{self, number};
use odec_sim::contour::even;
use odec_sim::field::{Equilibrium, EquilibriumType, PixelPoint, Plane, PlaneWindow};
use odec_sim::portrait;
use odec_sim::{Error, Simulation};

use crate::args::FieldArgs;
use crate::exit::Exit;
use crate::figure::Destination;
use crate::flags;
use crate::input::{Inputs, error};
use crate::picture::{Diagram, Ink, Key, Mark, Range, Shape};
use crate::report::Reporter;
use crate::rows::print;
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::brief;

/// Number of arrows across and down.
const ARROWS: (usize, usize) = (27, 19);
/// Number of points of the grid for nullclines.
const GRID: (usize, usize) = (161, 121);

/// Draws and prints the vector field.
pub fn field(args: &FieldArgs, reporter: Reporter) -> Result<Exit, Error> {
    let simulation = simulate(&args.model, &args.block, Purpose::Rows, reporter)?;
    simulation.without_events()?;
    let bound = simulation.bound();
    let (x, y) = (axis(bound, args.x.as_deref(), 0)?, axis(bound, args.y.as_deref(), 1)?);
    if x.1 == y.1 {
        let other =
            bound.states.places().find(|place| *place != x.1).map_or_else(|| "Y".into(), |k| bound.states.name(k));
        let help = format!("give two states, for example `odec field {} {} {other}`", args.model.file.display(), x.0);
        let headline = format!("`{}` is on both axes: a vector field needs two different states", x.0);
        return Err(error(&codes::E0706, headline, Some(help)).into());
    }
    let inputs = Inputs::of(&args.model, simulation.model(), simulation.source());
    let to = Destination::new(&args.figure, &format!("{}-field.svg", simulation.model().name), &inputs)?;
    let x_range = args.x_range.as_deref().map(|t| flags::range("--x-range", t)).transpose()?;
    let y_range = args.y_range.as_deref().map(|t| flags::range("--y-range", t)).transpose()?;
    let at = args.at.as_deref().map(|t| flags::finite("--at", t)).transpose()?;
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    if let Some(t) = at.filter(|t| (t - t0) * (t_end - t) < 0.0) {
        let help = format!("the run goes from {} to {}", number(t0), number(t_end));
        let headline = format!("`--at {}`: the run does not contain this time", number(t));
        return Err(error(&codes::E0705, headline, Some(help)).into());
    }
    signal::listen();
    let rows = match portrait::run(bound, at, &signal::asked_to_stop) {
        Ok(rows) => rows,
        Err(why) => return session::unfinished(&simulation, why),
    };
    let here = rows.iter().find(|r| Some(r.0) == at).unwrap_or(&rows[0]).clone();
    let extent =
        |k: usize, range: Option<PixelPoint>| range.unwrap_or_else(|| portrait::about(rows.iter().map(|r| r.1[k])));
    let window = PlaneWindow { x: extent(x.1, x_range), y: extent(y.1, y_range) };
    let plane = Plane { system: &bound.executor, t: here.0, y: here.1, axes: (x.1, y.1) };
    if !plane.seen(&window) {
        let headline = "the equations determine no derivative of these two states anywhere in the window".to_string();
        let help = "the mass matrix may be singular, or the window may lie outside the domain of a function";
        return Err(error(&codes::E0705, headline, Some(help.into())).into());
    }
    let equilibria = plane.equilibria(&window);
    print(&text(&simulation, &plane, (&x.0, &y.0), &window, equilibria.as_deref()))?;
    let path: Vec<PixelPoint> = rows.iter().map(|r| (r.1[x.1], r.1[y.1])).collect();
    let list = equilibria.unwrap_or_default();
    let diagram = draw(&simulation, &plane, (&x.0, &y.0), &window, &list, path, to.size);
    if signal::asked_to_stop() {
        return Ok(Exit::Interrupted);
    }
    to.write(&diagram, reporter)
}

/// The state with this name, or the one with this rank.
fn axis(bound: &Bound, name: Option<&str>, rank: usize) -> Result<(String, usize), Box<Diagnostic>> {
    let states = &bound.states;
    match name {
        Some(name) => {
            let found = states.find(name).map_err(|why| Box::new(blame::misnamed(name, "odec field", &why)))?;
            let known: Vec<&str> = states.names().collect();
            let place = found.ok_or_else(|| Box::new(blame::unknown_name(name, "odec field", &known)))?;
            Ok((states.name(place), place))
        }
        None => states.places().nth(rank).map(|place| (states.name(place), place)).ok_or_else(|| {
            Box::new(error(&codes::E0706, "a vector field needs two states, and the model has one".into(), None))
        }),
    }
}

fn text(
    simulation: &Simulation,
    plane: &Plane<'_>,
    names: (&str, &str),
    window: &PlaneWindow,
    list: Option<&[Equilibrium]>,
) -> String {
    let mut out = format!(
        "{}: {} in {} .. {}, {} in {} .. {}",
        simulation.model().name,
        names.0,
        brief(window.x.0),
        brief(window.x.1),
        names.1,
        brief(window.y.0),
        brief(window.y.1)
    );
    let time = format!("{} = {}", simulation.model().time.name, number(plane.t));
    if plane.y.len() > 2 {
        out.push_str(&format!(", other states fixed at their values at {time}"));
    } else if !simulation.bound().executor.is_autonomous() {
        out.push_str(&format!(", at {time}"));
    }
    out.push_str("\n\n");
    let Some(list) = list else {
        out.push_str("The equilibria are not isolated.\n");
        return out;
    };
    if list.is_empty() {
        out.push_str("There is no equilibrium in this window.\n");
        return out;
    }
    let mut rows = vec![["equilibrium", names.0, names.1, "eigenvalues"].map(String::from).to_vec()];
    for e in list {
        let kind = match (plane.y.len() > 2, e.at_rest) {
            (false, _) => e.kind.name().to_string(),
            (true, true) => format!("{} in this plane", e.kind.name()),
            (true, false) => format!("{} in this plane; other states move", e.kind.name()),
        };
        rows.push(vec![kind, number(e.at.0), number(e.at.1), values(e)]);
    }
    out.push_str(&super::table(&rows, &[true, false, false, true]));
    out
}

fn values(e: &Equilibrium) -> String {
    let size = e.values.iter().fold(0.0f64, |m, v| m.max(v.norm()));
    let clean = |v: f64| number(if v.abs() <= 1e-8 * size { 0.0 } else { v });
    match e.values.as_slice() {
        [a, _] if a.im.abs() > 1e-8 * size => match clean(a.re).as_str() {
            "0" => format!("±{}i", clean(a.im.abs())),
            re => format!("{re} ± {}i", clean(a.im.abs())),
        },
        list => {
            let mut real: Vec<f64> = list.iter().map(|v| v.re).collect();
            real.sort_by(f64::total_cmp);
            real.iter().map(|v| clean(*v)).collect::<Vec<_>>().join(", ")
        }
    }
}

fn draw(
    simulation: &Simulation,
    plane: &Plane<'_>,
    names: (&str, &str),
    window: &PlaneWindow,
    list: &[Equilibrium],
    path: Vec<PixelPoint>,
    size: (u32, u32),
) -> Diagram {
    let mut shapes = vec![];
    let (w, h) = window.size();
    let inner = |low: f64, extent: f64, count: usize| {
        even(low + 0.5 * extent / count as f64, low + extent * (1.0 - 0.5 / count as f64), count)
    };
    for x in inner(window.x.0, w, ARROWS.0) {
        for y in inner(window.y.0, h, ARROWS.1) {
            if let Some(direction) = plane.at((x, y)) {
                shapes.push(Shape::Arrow((x, y), direction, Ink::Faint, 15.0));
            }
        }
    }
    for curve in plane.curves(window, &signal::asked_to_stop) {
        let middle = curve.len() / 2;
        if let Some(direction) = plane.at(curve[middle]) {
            shapes.push(Shape::Head(curve[middle], direction, Ink::Series(5)));
        }
        shapes.push(Shape::Line(curve, Ink::Series(5), 1.34));
    }
    let mut legend = vec![("integral curves".to_string(), Key::Line(Ink::Series(5)))];
    let [first, second] = plane.nullclines(window, GRID.0, GRID.1);
    for (curves, name, ink) in [(first, names.0, Ink::Series(2)), (second, names.1, Ink::Series(3))] {
        if !curves.is_empty() {
            legend.push((format!("{name}' = 0"), Key::Dashes(ink)));
        }
        shapes.extend(curves.into_iter().map(|c| Shape::Dashes(c, ink, 2.0)));
    }
    legend.push(("the run".to_string(), Key::Line(Ink::Series(1))));
    let start = path[0];
    shapes.push(Shape::Line(path, Ink::Series(1), 2.0));
    shapes.push(Shape::Marks(vec![start], Ink::Series(1), Mark::Disk));
    let mut seen: Vec<EquilibriumType> = vec![];
    for e in list {
        shapes.push(Shape::Marks(vec![e.at], Ink::Dark, mark(e.kind)));
        if !seen.contains(&e.kind) {
            seen.push(e.kind);
            legend.push((e.kind.name().to_string(), Key::Mark(Ink::Dark, mark(e.kind))));
        }
    }
    Diagram {
        title: format!("Vector field of {}", simulation.model().name),
        x_label: label(simulation, names.0),
        y_label: label(simulation, names.1),
        x: Range { low: window.x.0, high: window.x.1, log: false },
        y: Range { low: window.y.0, high: window.y.1, log: false },
        equal: false,
        shapes,
        legend,
        size,
    }
}

/// A state with its unit, as written in the model.
fn label(simulation: &Simulation, name: &str) -> String {
    let states = &simulation.bound().states;
    let series = states.find(name).ok().flatten().and_then(|place| states.at(place));
    match series.and_then(|(series, _)| series.unit.as_ref()) {
        Some(unit) => format!("{name} [{unit}]"),
        None => name.to_string(),
    }
}

fn mark(kind: EquilibriumType) -> Mark {
    match kind {
        EquilibriumType::StableNode | EquilibriumType::StableFocus => Mark::Disk,
        EquilibriumType::Saddle | EquilibriumType::Degenerate => Mark::Cross,
        EquilibriumType::UnstableNode | EquilibriumType::UnstableFocus | EquilibriumType::Centre => Mark::Ring,
    }
}
