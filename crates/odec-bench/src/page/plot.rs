//! Work-precision plots: milliseconds against the error reached, both in logarithms.

use std::path::Path;

use plotters::prelude::*;

use crate::curve::Curve;
use crate::peer;
use crate::results::Measured;

const SIZE: (u32, u32) = (1100, 560);
/// Width of the curves; their names stand next to them.
const WIDTH: u32 = 800;
/// Height of a line of the names.
const LINE: i32 = 18;

/// Colours by peer, dark enough for white paper.
fn colour(peer: &str, k: usize) -> RGBColor {
    let shades: &[(u8, u8, u8)] = match peer {
        peer::odec::NAME => {
            &[(200, 30, 30), (240, 150, 40), (150, 20, 90), (230, 110, 140), (200, 110, 220), (110, 40, 160)]
        }
        peer::limit::NAME => &[(20, 20, 20), (90, 90, 90), (150, 150, 150)],
        peer::cvode::NAME => &[(30, 80, 180), (90, 140, 220), (20, 130, 160), (70, 70, 130), (130, 190, 220)],
        peer::diffsol::NAME => &[(30, 130, 60)],
        peer::heyoka::NAME => &[(0, 150, 150)],
        _ => &[(150, 110, 20)],
    };
    let (red, green, blue) = shades[k % shades.len()];
    RGBColor(red, green, blue)
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low / 1.5, high * 1.5))
}

/// Draws the curves of a problem.
pub fn draw(measured: &Measured, file: &Path) -> Result<(), String> {
    let points = || measured.curves.iter().flat_map(|c| c.points.iter());
    let (Some(errors), Some(times)) =
        (bounds(points().map(|p| p.error.clamp(1e-13, 1.0))), bounds(points().map(|p| p.minimum)))
    else {
        return Ok(());
    };
    chart(measured, file, errors, times).map_err(|e| format!("{}: {e}", file.display()))
}

fn chart(
    measured: &Measured,
    file: &Path,
    errors: (f64, f64),
    times: (f64, f64),
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (curves, names) = area.split_horizontally(WIDTH);
    let mut chart = ChartBuilder::on(&curves)
        .caption(&measured.problem.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        // small errors on the right
        .build_cartesian_2d((errors.0..errors.1).log_scale(), (times.0..times.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("error at the end")
        .y_desc("milliseconds")
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| crate::page::tables::figure(*y))
        .light_line_style(WHITE.mix(0.0))
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    let mut seen: Vec<&str> = vec![];
    for (row, curve) in measured.curves.iter().enumerate() {
        let k = seen.iter().filter(|p| **p == curve.peer).count();
        seen.push(curve.peer);
        let colour = colour(curve.peer, k);
        let width = if curve.peer == peer::odec::NAME && curve.method == "auto" { 3 } else { 1 };
        let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: width };
        let line = line(curve);
        chart.draw_series(LineSeries::new(line.clone(), style))?;
        let at = 50 + LINE * row as i32;
        names.draw(&PathElement::new([(0, at), (22, at)], style))?;
        names.draw(&Text::new(curve.label(), (30, at - 7), ("sans-serif", 13)))?;
        chart.draw_series(line.into_iter().map(|p| Circle::new(p, 2 + width / 2, style)))?;
    }
    area.present()?;
    Ok(())
}

fn line(curve: &Curve) -> Vec<(f64, f64)> {
    curve.points.iter().map(|p| (p.error.clamp(1e-13, 1.0), p.minimum)).collect()
}
