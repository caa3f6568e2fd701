//! `odec order`: errors of constant steps, measured against an accurate run, the observed order, and a picture.

use odec_lang::diagnostic::codes;
use odec_ode::method::Method;
use odec_sim::Error;
use odec_sim::bind::Purpose;
use odec_sim::blame::number;
use odec_sim::convergence::{self, ErrorLine, StepRun, Study};

use crate::args::Order;
use crate::exit::Exit;
use crate::figure::Destination;
use crate::input::{Inputs, error};
use crate::picture::{Diagram, Ink, Key, Mark, Range, Shape};
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::brief;

/// A fitted order that deviates from the order of the method by more than this is mentioned.
const ORDER_DEVIATION: f64 = 0.25;
/// A larger error is meaningless.
const BLOWN_UP: f64 = 1e3;

/// Measures, prints and draws the errors.
pub fn order(args: &Order, reporter: Reporter) -> Result<Exit, Error> {
    if args.block.step.is_some() || args.block.samples.is_some() {
        let headline = "`odec order` has no `--step` and no `--samples`: it halves the step size, and measures errors at \
                        20 times";
        let help = "choose the time span with `--t` or `--t-end`";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    let simulation = simulate(&args.model, &args.block, Purpose::Method, reporter)?;
    let (name, method) = (&simulation.model().name, simulation.bound().choice.method);
    if ["bdf", "abm"].contains(&method.name) {
        let headline =
            format!("`{}` chooses the step size and the order itself: `odec order` needs constant steps", method.name);
        let fixed = if method.structure.jacobian { "`bdf1` to `bdf6`" } else { "`abm2`, `abm3` or `abm4`" };
        return Err(error(&codes::E0613, headline, Some(format!("use {fixed}"))).into());
    }
    let inputs = Inputs::of(&args.model, simulation.model(), simulation.source());
    let to = Destination::new(&args.figure, &format!("{name}-{}-order.svg", method.name), &inputs)?;
    signal::listen();
    let study = match convergence::study(simulation.bound(), method, &signal::asked_to_stop) {
        Ok(study) => study,
        Err(why) => return session::unfinished(&simulation, why),
    };
    print(&(super::chosen(&simulation) + &text(name, method, &study)))?;
    to.write(&draw(name, method, &study, to.size), reporter)
}

fn text(model: &str, method: &Method, study: &Study) -> String {
    let r = &study.reference;
    let mut rows = vec![["steps", "h", "error", "ratio", "order"].map(String::from).to_vec()];
    for (k, p) in study.points.iter().enumerate() {
        let before = k.checked_sub(1).map(|b| &study.points[b]).filter(|b| b.error < BLOWN_UP && p.error > 0.0);
        let error = match p.error {
            e if e < BLOWN_UP => format!("{e:.3e}"),
            e if e.is_finite() => "blew up".to_string(),
            _ => "failed".to_string(),
        };
        let mut row = vec![p.steps.to_string(), number(p.h), error];
        if let Some(b) = before.filter(|_| p.error < BLOWN_UP) {
            let ratio = b.error / p.error;
            row.push(brief(ratio));
            row.push(format!("{:.2}", ratio.ln() / (b.h / p.h).ln()));
        }
        rows.push(row);
    }
    let mut out = format!(
        "{} on {model}; errors against {} at rtol {}, accurate to about {}\n{} at {} times\n\n",
        method.name,
        r.method,
        shortest(r.rtol),
        brief(r.error),
        super::MEASURE,
        study.times
    );
    out.push_str(&super::table(&rows, &[]));
    out.push('\n');
    match study.fit {
        Some(fit) => {
            out.push_str(&format!(
                "fitted order {:.2}, from h = {} to {}; the order of {} is {}\n",
                fit.order,
                number(study.points[fit.range.0].h),
                number(study.points[fit.range.1].h),
                method.name,
                method.order
            ));
            let excess = fit.order - f64::from(method.order);
            if excess < -ORDER_DEVIATION {
                out.push_str(
                    "The fitted order is lower: the solution may not be smooth, or the problem may be stiff at these \
                     steps.\n",
                );
            } else if excess > ORDER_DEVIATION {
                out.push_str(
                    "The fitted order is higher: at these steps, the errors do not follow a single power of h yet.\n",
                );
            }
        }
        None => out.push_str(
            "odec cannot fit an order: fewer than three errors lie between rounding and 1e-3. Try another end time, \
             `--t-end`.\n",
        ),
    }
    out
}

fn draw(model: &str, method: &Method, study: &Study, size: (u32, u32)) -> Diagram {
    let shown: Vec<&StepRun> = study.points.iter().filter(|p| p.error > 0.0 && p.error < BLOWN_UP).collect();
    let ends = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if low <= high { (low / 1.6, high * 1.6) } else { (1e-3, 1.0) }
    };
    let (x0, x1) = ends(shown.iter().map(|p| p.h).collect());
    let (y0, y1) = ends(shown.iter().map(|p| p.error).collect());
    let points: Vec<(f64, f64)> = shown.iter().map(|p| (p.h, p.error)).collect();
    let mut shapes = vec![Shape::Line(points.clone(), Ink::Series(0), 2.0)];
    let mut legend = vec![("error".to_string(), Key::Marked(Ink::Series(0), Mark::Disk))];
    if let Some(ErrorLine { order, constant, .. }) = study.fit {
        let at = |h: f64| (h, (constant + order * h.ln()).exp());
        shapes.push(Shape::Dashes(vec![at(x0), at(x1)], Ink::Series(1), 2.0));
        legend.push((format!("order {order:.2}, fitted"), Key::Dashes(Ink::Series(1))));
    }
    let reference = study.reference.error;
    if reference > y0 {
        shapes.push(Shape::Dashes(vec![(x0, reference), (x1, reference)], Ink::Faint, 1.2));
        legend.push(("error of the reference solution".to_string(), Key::Dashes(Ink::Faint)));
    }
    shapes.push(Shape::Marks(points, Ink::Series(0), Mark::Disk));
    Diagram {
        title: format!("Convergence of {} on {model}", method.name),
        x_label: "step h".into(),
        y_label: "largest error".into(),
        x: Range { low: x0, high: x1, log: true },
        y: Range { low: y0, high: y1, log: true },
        equal: false,
        shapes,
        legend,
        size,
    }
}
