//! Pictures of `odec plot`, read back from SVG: the accuracy of lines, the elements of a picture, and their names.

use std::collections::HashSet;

use crate::common;

use common::{DECAY, Folder, model};

type Point = (f64, f64);

/// Line of a picture: its colour, width and points, all in pixels.
#[derive(Debug)]
struct Line {
    colour: String,
    width: f64,
    points: Vec<Point>,
}

/// Units of the picture's numbers per pixel.
const UNITS: f64 = 10.0;
/// Widths of the lines of curves and of legends.
const CURVE: f64 = 2.0;
const LEGEND: f64 = 2.4;

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let after = tag.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
    after.split('"').next().unwrap_or_default()
}

fn lines(svg: &str, width: f64) -> Vec<Line> {
    let point = |text: &str| {
        let (x, y) = text.split_once(',')?;
        Some((x.parse::<f64>().ok()? / UNITS, y.parse::<f64>().ok()? / UNITS))
    };
    let tags = svg.split("<polyline").skip(1).map(|rest| rest.split("/>").next().unwrap_or_default());
    let lines = tags.map(|tag| Line {
        colour: attribute(tag, "stroke").to_string(),
        width: attribute(tag, "stroke-width").parse::<f64>().unwrap_or(0.0) / UNITS,
        points: attribute(tag, "points").split_whitespace().filter_map(point).collect(),
    });
    lines.filter(|line| (line.width - width).abs() < 0.05).collect()
}

/// The texts of a picture.
fn texts(svg: &str) -> Vec<String> {
    let texts = svg.split("<text").skip(1).filter_map(|rest| rest.split_once('>'));
    texts.map(|(_, rest)| rest.split("</text>").next().unwrap_or_default().trim().to_string()).collect()
}

/// Width and height in pixels.
fn size(svg: &str) -> (f64, f64) {
    let number = |name| attribute(svg, name).parse().expect("a size");
    (number("width"), number("height"))
}

/// Columns of the rows of a run.
fn columns(csv: &str) -> Vec<Vec<f64>> {
    let mut columns = vec![];
    for row in csv.lines().skip(1) {
        for (k, cell) in row.split(',').enumerate() {
            if columns.len() <= k {
                columns.push(vec![]);
            }
            columns[k].push(cell.parse::<f64>().expect("a number"));
        }
    }
    columns
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
}

fn from_segment(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let s = if length > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (p.0 - a.0 - s * dx).hypot(p.1 - a.1 - s * dy)
}

/// Largest distance in pixels between a dense solution and its drawn line. The scale follows from the ends and the
/// extremes of the line, which must therefore be present.
fn deviation(line: &[Point], t: &[f64], y: &[f64]) -> f64 {
    let (left, right) = ends(line.iter().map(|p| p.0));
    let (high, low) = ends(line.iter().map(|p| p.1));
    let ((t0, t1), (y0, y1)) = (ends(t.iter().copied()), ends(y.iter().copied()));
    let places: Vec<Point> = t
        .iter()
        .zip(y)
        .map(|(t, y)| (left + (t - t0) / (t1 - t0) * (right - left), low - (y - y0) / (y1 - y0) * (low - high)))
        .collect();
    let mut worst = 0.0f64;
    let mut start = 0;
    for p in places {
        // segments that end a pixel before it are farther than that
        while start + 2 < line.len() && line[start + 1].0 < p.0 - 1.0 {
            start += 1;
        }
        let near = line[start..].windows(2).take_while(|s| s[0].0 <= p.0 + 1.0);
        worst = worst.max(near.map(|s| from_segment(p, s[0], s[1])).fold(f64::INFINITY, f64::min));
    }
    worst
}

/// Draws a model of one state and compares the line with many rows of the same run.
#[track_caller]
fn is_followed(folder: &Folder, file: &str, samples: &str) {
    let name = file.trim_end_matches(".ode");
    folder.run(&["plot", file, "x"]).exits(0);
    let svg = folder.read(&format!("{name}.svg"));
    let curves = lines(&svg, CURVE);
    assert_eq!(curves.len(), 1, "{name}");
    let csv = folder.run(&["run", file, "--record", "x", "--samples", samples, "-q"]).exits(0).out();
    let rows = columns(&csv);
    let far = deviation(&curves[0].points, &rows[0], &rows[1]);
    assert!(far < 1.0 / 3.0, "{name}: {far} pixels");
}

#[test]
fn lines_follow_the_solution_to_a_third_of_a_pixel() {
    let folder = Folder::new("plot-curves")
        .with(
            "vdp.ode",
            "state x = 2, v = 0\nx' = v\nv' = 100*(1 - x^2)*v - x\nrun { t = 0 .. 300; method = rodas5p; samples = 20 }\n",
        )
        .with(
            "vdp_bdf.ode",
            "state x = 2, v = 0\nx' = v\nv' = 100*(1 - x^2)*v - x\nrun { t = 0 .. 300; method = bdf; rtol = 1e-7 }\n",
        )
        .with("hum.ode", "state x = 1, v = 0\nx' = 2*pi*100*v\nv' = -2*pi*100*x\nrun { t = 0 .. 1; samples = 10; rtol = 1e-8 }\n")
        .with("coarse.ode", "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 20; method = vern7; rtol = 1e-4; samples = 3 }\n");
    is_followed(&folder, "vdp.ode", "60000");
    is_followed(&folder, "vdp_bdf.ode", "60000");
    is_followed(&folder, "hum.ode", "60000");
    is_followed(&folder, "coarse.ode", "5000");
}

#[test]
fn a_peak_between_samples_is_drawn() {
    let text = "state x = 0\nx' = 2000*(t - 5)*exp(-1000*(t - 5)^2) - x*1e-3\noutput peak = exp(-1e4*(t - 7.05)^2)\n\
                run { t = 0 .. 10; samples = 4; max_step = 0.05 }\n";
    let folder = Folder::new("plot-peak").with("peak.ode", text);
    folder.run(&["plot", "peak.ode", "peak"]).exits(0);
    let svg = folder.read("peak.svg");
    let (high, low) = ends(lines(&svg, CURVE)[0].points.iter().map(|p| p.1));
    assert!(low - high > 500.0, "a peak of {} pixels", low - high);
    // its top is 1, which has a tick
    assert!(texts(&svg).contains(&"1.0".to_string()), "{:?}", texts(&svg));
}

#[test]
fn dense_oscillations_stay_small_files_with_all_of_their_height() {
    let text =
        "state x = 1, v = 0\nx' = 2*pi*100*v\nv' = -2*pi*100*x\nrun { t = 0 .. 60; samples = 10; rtol = 1e-8 }\n";
    let folder = Folder::new("plot-dense").with("hum.ode", text);
    folder.run(&["plot", "hum.ode", "x"]).exits(0);
    let svg = folder.read("hum.svg");
    assert!(svg.len() < 1_500_000, "{} bytes", svg.len());
    let points = &lines(&svg, CURVE)[0].points;
    let (top, bottom) = ends(points.iter().map(|p| p.1));
    // in every tenth pixel of the width both ends are reached
    for column in 0..100 {
        let (left, right) = ends(points.iter().map(|p| p.0));
        let at = left + (right - left) * f64::from(column) / 100.0;
        let here = points.iter().filter(|p| (p.0 - at - 1.0).abs() < 1.0).map(|p| p.1);
        let (high, low) = ends(here);
        assert!(high < top + 1.0 && low > bottom - 1.0, "column {column}: {high} .. {low} of {top} .. {bottom}");
    }
}

/// Planets as components of a vector, and a scalar.
const PLANETS: &str = "\
## Planets that do not see each other. They only see the sun.
model planets
units off
time t [yr]
const N = 3
index a = 1..N
state p[a] = (a, 0, 0.1*a) [au], p[a]' = (0, 6.28/sqrt(a), 0)
p[a]'' = -39.5*p[a]/norm(p[a])^3
output nearest = min(a: norm(p[a])) [au]
run { t = 0 .. 2; samples = 5 }
";

#[test]
fn everything_recorded_is_drawn_and_named() {
    let folder = Folder::new("plot-all").with("planets.ode", PLANETS);
    folder.run(&["plot", "planets.ode"]).exits(0).says("wrote planets.svg");
    let svg = folder.read("planets.svg");
    let texts = texts(&svg);
    // 3 planets with 3 components of position and velocity; the last panel has one curve, which its axis names
    for a in 1..=3 {
        for part in ["", "'"] {
            for c in ["x", "y", "z"] {
                assert!(
                    texts.contains(&format!("p[{a}]{part}.{c}").replace('\'', "&apos;"))
                        || texts.contains(&format!("p[{a}]{part}.{c}")),
                    "p[{a}]{part}.{c}: {texts:?}"
                );
            }
        }
    }
    for label in ["Planets that do not see each other", "t [yr]", "p.x [au]", "nearest [au]"] {
        assert!(texts.iter().any(|t| t == label), "{label}: {texts:?}");
    }
    assert!(texts.iter().any(|t| t.ends_with(".z [au/yr]")), "the unit of a velocity: {texts:?}");
    // each of 18 + 1 curves is a line; dashes are more of them
    let colours: HashSet<_> = lines(&svg, CURVE).into_iter().map(|l| l.colour).collect();
    assert_eq!(colours.len(), 7);
    assert_eq!(lines(&svg, LEGEND).iter().map(|l| (l.points[0].1 * UNITS) as i64).collect::<HashSet<_>>().len(), 18);
}

#[test]
fn no_two_curves_of_a_picture_look_alike() {
    let mut text = String::from("model many\n");
    for k in 0..20 {
        text.push_str(&format!("state x{k} = {}\nx{k}' = -{}*x{k}\n", 1.0 + f64::from(k) * 0.1, 1 + k));
    }
    text.push_str("run { t = 0 .. 1 }\n");
    let folder = Folder::new("plot-styles").with("many.ode", &text);
    folder.run(&["plot", "many.ode"]).exits(0);
    let svg = folder.read("many.svg");
    // style of a line in the legend: its colour, and the ends of its dashes
    let mut looks: Vec<(i64, String, Vec<i64>)> = vec![];
    for line in lines(&svg, LEGEND) {
        let level = (line.points[0].1 * UNITS) as i64;
        let dash = line.points.iter().map(|p| (p.0 * UNITS) as i64);
        match looks.iter_mut().find(|l| l.0 == level) {
            Some(look) => look.2.extend(dash),
            None => looks.push((level, line.colour, dash.collect())),
        }
    }
    assert_eq!(looks.len(), 20, "a line in the legend for each curve");
    let different: HashSet<(String, Vec<i64>)> = looks.into_iter().map(|l| (l.1, l.2)).collect();
    assert_eq!(different.len(), 20);
    let texts = texts(&svg);
    assert!((0..20).all(|k| texts.contains(&format!("x{k}"))), "{texts:?}");
}

#[test]
fn pairs_are_orbits_in_true_proportion() {
    let folder = Folder::new("plot-pairs").with("planets.ode", PLANETS);
    folder.run(&["plot", &model("kepler.ode"), "x:y", "--t-end", "7", "-o", "kepler.svg"]).exits(0);
    let svg = folder.read("kepler.svg");
    let points = &lines(&svg, CURVE)[0].points;
    let ((left, right), (top, bottom)) = (ends(points.iter().map(|p| p.0)), ends(points.iter().map(|p| p.1)));
    // an ellipse of eccentricity 1/2
    let ratio = (right - left) / (bottom - top);
    assert!((ratio - 1.0 / 0.75f64.sqrt()).abs() < 2e-3, "{ratio}");
    let (width, _) = size(&svg);
    assert!(right > 0.8 * width, "nothing is empty beside it: {right} of {width}");

    // the unit of `double` follows from that of x
    let line = "state x = 1 [m]\nx' = (1 [m/s])\noutput double = 2*x\nrun { t = 0 .. 1 }\n";
    let folder = folder.with("line.ode", line);
    folder.run(&["plot", "line.ode", "x:double", "-o", "l.svg"]).exits(0);
    let points = &lines(&folder.read("l.svg"), CURVE)[0].points;
    let ((left, right), (top, bottom)) = (ends(points.iter().map(|p| p.0)), ends(points.iter().map(|p| p.1)));
    let ratio = (bottom - top) / (right - left);
    assert!((ratio - 2.0).abs() < 2e-3, "{ratio}");

    folder.run(&["plot", "planets.ode", "p[*].x:p[*].y", "-o", "p.svg"]).exits(0);
    let texts = texts(&folder.read("p.svg"));
    for label in ["p.x [au]", "p.y [au]", "p[1]", "p[3]"] {
        assert!(texts.iter().any(|t| t == label), "{label}: {texts:?}");
    }
    folder.run(&["plot", "planets.ode", "p[1..2].x:p[*].y"]).exits(2).says("pairs 2 quantities with 3");
    // against one of them
    folder.run(&["plot", &model("lotka_volterra.ode"), "--x", "prey", "predator", "-o", "v.svg"]).exits(0);
    folder.run(&["plot", "planets.ode", "--x", "p[1].x", "p[*].y", "-o", "x.svg"]).exits(0);
    folder.run(&["plot", "planets.ode", "--x", "p[*].x"]).exits(2).says("--x");
}

/// Heat between two ends, over positions.
const ROD: &str = "\
model rod
const N = 40
param L = 0.5 [m]
index i = 1..N
dx = L/N
axis x[i] = (i - 1/2)*dx [m]
state T[i] = (sin(2*pi*(i - 1/2)/N)*(1 [K])) [K]
T[i]' = (T[i-1] - 2*T[i] + T[i+1])/dx^2*(1e-3 [m^2/s])
boundary T[0] = -T[1], T[N+1] = -T[N]
output heat = sum(i: T[i])*dx
run { t = 0 .. 10 }
";

#[test]
fn an_axis_gives_places_to_an_index() {
    let folder = Folder::new("plot-axis").with("rod.ode", ROD);
    folder.run(&["plot", "rod.ode"]).exits(0);
    let svg = folder.read("rod.svg");
    let all = texts(&svg);
    for label in ["x [m]", "T [K]", "heat [m*K]", "t [s]", "0.5", "0.2"] {
        assert!(all.iter().any(|t| t == label), "{label}: {all:?}");
    }
    assert!(svg.matches("<rect").count() > 500, "cells of a map beside the curve");
    folder.run(&["plot", "rod.ode", "T", "--at", "0,1,5", "-o", "p.svg"]).exits(0);
    let svg = folder.read("p.svg");
    let all = texts(&svg);
    for label in ["x [m]", "t = 0 s", "t = 5 s"] {
        assert!(all.iter().any(|t| t == label), "{label}: {all:?}");
    }
    assert_eq!(lines(&svg, CURVE).len(), 3);
    // the unit of the coordinate may follow from that of L
    let inferred = ROD.replace("*dx [m]", "*dx").replace("model rod", "model inferred");
    let folder = folder.with("inferred.ode", &inferred);
    folder.run(&["plot", "inferred.ode", "T"]).exits(0);
    assert!(texts(&folder.read("inferred.svg")).iter().any(|t| t == "x [m]"), "the derived unit of an axis");
    // a parameter can be the coordinate too, and other sizes have other positions
    folder.run(&["plot", "rod.ode", "T", "--at", "0", "--set", "L=3", "-o", "q.svg"]).exits(0);
    assert!(texts(&folder.read("q.svg")).contains(&"2.5".to_string()));
    // it has no other effect
    let without = ROD.replace("axis x[i]", "x[i]").replace(" [m]\nstate", "\nstate");
    let folder = folder.with("plain.ode", &without.replace("model rod", "model plain"));
    let rows = |file: &str| folder.run(&["run", file, "-q"]).exits(0).out();
    assert_eq!(rows("rod.ode"), rows("plain.ode"));
}

#[test]
fn planes_stand_side_by_side_and_fill_the_picture() {
    let text = "const N = 6\nindex i, j = 1..N\nstate u[i,j] = i - 3.5, v[i,j] = j\nu[i,j]' = -u[i,j]\nv[i,j]' = -v[i,j]\n\
                output least = min(i, j: u[i,j])\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("plot-planes").with("grid.ode", text);
    for (flags, count) in [(&["u"][..], 1), (&["u", "v"], 2), (&["u", "--at", "0,0.5,1"], 3)] {
        folder.run(&[&["plot", "grid.ode"], flags, &["-o", "g.svg"]].concat()).exits(0);
        let svg = folder.read("g.svg");
        let (width, height) = size(&svg);
        let all = texts(&svg);
        assert_eq!(all.iter().filter(|t| *t == "i").count(), count, "{all:?}");
        let boxes: Vec<Point> = svg
            .split("<rect")
            .skip(2)
            .filter_map(|tag| {
                let number = |name| attribute(tag, name).parse::<f64>().ok();
                Some(((number("x")? + number("width")?) / UNITS, (number("y")? + number("height")?) / UNITS))
            })
            .collect();
        let (right, bottom) = (ends(boxes.iter().map(|b| b.0)).1, ends(boxes.iter().map(|b| b.1)).1);
        assert!(right > 0.85 * width && bottom > 0.8 * height, "{right} x {bottom} of {width} x {height}");
    }
    // maps at several times share one scale of colours: u is within 2.5 at first, and within 0.92 at the end
    folder.run(&["plot", "grid.ode", "u", "--at", "0,1", "-o", "g.svg"]).exits(0);
    let ticks = texts(&folder.read("g.svg"));
    assert_eq!(ticks.iter().filter(|t| matches!(t.as_str(), "-2" | "−2")).count(), 2, "{ticks:?}");
    // axes with different units have no common scale, but every map is drawn
    let units = text.replace("state u", "axis p[i] = i [m]\naxis q[j] = j [s]\nstate u");
    let folder = folder.with("units.ode", &units);
    folder.run(&["plot", "units.ode", "u", "--at", "0,1", "-o", "m.svg"]).exits(0);
    let (found, (width, height)) = (folder.read("m.svg"), size(&folder.read("m.svg")));
    assert_eq!(texts(&found).iter().filter(|t| t.contains("t = ")).count(), 2);
    assert!(width > 400.0 && height > 200.0, "{width} x {height}");
    let all = folder.run(&["plot", "grid.ode", "-o", "all.svg"]).exits(0);
    drop(all);
    let texts = texts(&folder.read("all.svg"));
    assert!(["u", "v", "least"].iter().all(|n| texts.contains(&n.to_string())), "{texts:?}");
}

#[test]
fn one_run_writes_both_formats() {
    let folder = Folder::new("both").with("decay.ode", DECAY);
    folder.run(&["plot", "decay.ode", "-o", "a.svg", "-o", "a.png"]).exits(0).says("wrote a.svg").says("wrote a.png");
    assert!(folder.read("a.svg").contains("<svg") && folder.path("a.png").exists());
    folder.run(&["plot", "decay.ode", "-o", "a.svg", "-o", "a.svg"]).exits(2).says("E0702");
}

/// Height in pixels of the drawn parts of each column of this width, from the left end to the right.
fn heights(line: &[Point], left: f64, right: f64, width: f64) -> Vec<f64> {
    let count = ((right - left) / width) as usize;
    let column = |k: usize| {
        let (from, to) = (left + width * k as f64, left + width * (k + 1) as f64);
        let (low, high) = ends(line.iter().filter(|p| (from..to).contains(&p.0)).map(|p| p.1));
        if low <= high { high - low } else { 0.0 }
    };
    (0..count).map(column).collect()
}

#[test]
fn an_output_that_varies_faster_than_the_steps_keeps_its_height() {
    let folder = Folder::new("plot-fast")
        .with("time.ode", "state x = 1\nx' = -x/100\noutput y = sin(400*t)\nrun { t = 0 .. 300 }\n")
        .with("state.ode", "state a = 0, w = 300\na' = w\nw' = 0*a\noutput y = sin(a)\nrun { t = 0 .. 100 }\n");
    for name in ["time", "state"] {
        folder.run(&["plot", &format!("{name}.ode"), "y"]).exits(0);
        let svg = folder.read(&format!("{name}.svg"));
        let points = &lines(&svg, CURVE)[0].points;
        let (left, right) = ends(points.iter().map(|p| p.0));
        let (high, low) = ends(points.iter().map(|p| p.1));
        let least = heights(points, left, right, 2.0).into_iter().fold(f64::INFINITY, f64::min);
        assert!(least > 0.97 * (low - high), "{name}: {least} of {} pixels", low - high);
    }
}

#[test]
fn a_pulse_of_an_output_between_steps_is_drawn() {
    let time = "state x = 1\nx' = -x/100\noutput y = exp(-((t - 50)/0.001)^2)\nrun { t = 0 .. 300 }\n";
    let state = "state x = 0\nx' = 0.1\noutput y = exp(-((x - 5)/0.001)^2)\nrun { t = 0 .. 100 }\n";
    let switch = "state x = 0\nx' = 0.1\noutput y = if 4.999 < x < 5.001 then 1 else 0\nrun { t = 0 .. 100 }\n";
    let folder = Folder::new("plot-pulse").with("time.ode", time).with("state.ode", state).with("switch.ode", switch);
    for name in ["time", "state", "switch"] {
        folder.run(&["plot", &format!("{name}.ode"), "y"]).exits(0);
        let svg = folder.read(&format!("{name}.svg"));
        let (high, low) = ends(lines(&svg, CURVE)[0].points.iter().map(|p| p.1));
        assert!(low - high > 500.0, "{name}: a pulse of {} pixels", low - high);
        // its top is 1, which has a tick
        assert!(texts(&svg).contains(&"1.0".to_string()), "{name}: {:?}", texts(&svg));
    }
}

#[test]
fn logarithmic_axes_are_drawn_or_refused() {
    let map =
        "const N = 30\nindex i = 1..N\naxis r[i] = 1.3^i\nstate u[i] = i\nu[i]' = -0.1*u[i]\nrun { t = 0 .. 10 }\n";
    let sign = "state x = 1\nx' = -x\noutput y = -x\nrun { t = 0 .. 3 }\n";
    let folder = Folder::new("plot-log").with("map.ode", map).with("sign.ode", sign);
    let refused = folder.run(&["plot", "map.ode", "u", "--log", "y"]).exits(2).err();
    assert!(refused.contains("no logarithmic vertical axis"), "{refused}");
    folder.run(&["plot", "map.ode", "u", "--at", "0,10", "-o", "even.svg"]).exits(0);
    folder.run(&["plot", "map.ode", "u", "--at", "0,10", "--log", "x", "-o", "log.svg"]).exits(0);
    let middle = |file: &str| {
        let x: Vec<f64> = lines(&folder.read(file), CURVE)[0].points.iter().map(|p| p.0).collect();
        let (left, right) = ends(x.iter().copied());
        (x[x.len() / 2] - left) / (right - left)
    };
    assert!(middle("even.svg") < 0.2 && middle("log.svg") > 0.4, "{} {}", middle("even.svg"), middle("log.svg"));
    let told = folder.run(&["plot", "sign.ode", "--log", "y"]).exits(0).err();
    assert!(told.contains("`y`: no line") && !told.contains("negative"), "{told}");
    let both =
        folder.with("swing.ode", "state x = 1, v = 0\nx' = v\nv' = -x\noutput r = x^2 + 1\nrun { t = 0 .. 9 }\n");
    let told = both.run(&["plot", "swing.ode", "--log", "y"]).exits(0).err();
    assert!(told.contains("`x`, `v`: negative values are not drawn"), "{told}");
}

#[test]
fn a_dose_at_the_start_is_drawn_on_a_logarithmic_axis() {
    let decay = |start: &str| format!("{start}\nc' = -0.3*c\nrun {{ t = 0 .. 24 }}\n");
    let folder = Folder::new("plot-dose")
        .with("state.ode", &decay("state c = 100"))
        .with("dose.ode", &decay("state c = 0\nat 0 { c += 100 }"));
    let first = |name: &str| {
        folder.run(&["plot", &format!("{name}.ode"), "--log", "y"]).exits(0);
        let points = lines(&folder.read(&format!("{name}.svg")), CURVE).remove(0).points;
        points.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("a line")
    };
    let (state, dose) = (first("state"), first("dose"));
    assert!((state.0 - dose.0).abs() < 0.5 && (state.1 - dose.1).abs() < 0.5, "{state:?} {dose:?}");
}

/// A tangent has bounds between its poles, so every pole is found: the axis ends, and the curve is interrupted there.
#[test]
fn poles_of_a_tangent_interrupt_its_curve() {
    for (output, end, poles) in [("tan(3*t)", 3, 3), ("tan(t)", 10, 3), ("tan(10*x)", 2, 2)] {
        let text = format!("state x = 1\nx' = -0.5*x\noutput q = {output}\nrun {{ t = 0 .. {end} }}\n");
        let folder = Folder::new("plot-tan").with("m.ode", &text);
        folder.run(&["plot", "m.ode", "q"]).exits(0).says("because of poles");
        let pieces = lines(&folder.read("m.svg"), CURVE).len();
        assert_eq!(pieces, poles + 1, "{output}");
    }
}

/// The run block asks for 10 s, and the ball lands after 4 ms: its curve is as round as if the run ended there.
#[test]
fn a_run_that_an_event_ends_is_drawn_at_its_own_scale() {
    let text = |end: &str| {
        format!(
            "model m\nstate y = 0, y' = 20\ny'' = -9810\nwhen y < 0 {{ stop }}\nrun {{ t = 0 .. {end}; rtol = 1e-8 }}\n"
        )
    };
    let folder = Folder::new("plot-stop").with("long.ode", &text("10")).with("short.ode", &text("0.0041"));
    let drawn = |file: &str| {
        folder.run(&["plot", file, "y", "-o", "y.svg"]).exits(0);
        lines(&folder.read("y.svg"), CURVE).remove(0).points
    };
    let (long, short) = (drawn("long.ode"), drawn("short.ode"));
    assert!(2 * long.len() > short.len() && long.len() > 30, "{} and {} points", long.len(), short.len());
}

/// An element jumps to 10 and decays within a cell of the map: the cell with the event shows the state after it.
#[test]
fn a_map_shows_the_states_after_events() {
    let text = "model m\nindex i = 1..30\nstate u[i] = 0\nu[i]' = -50*u[i]\nevery 1 from 1 { u[10] += 10 }\n\
                run { t = 0 .. 20 }\n";
    let folder = Folder::new("plot-kicks").with("m.ode", text);
    folder.run(&["plot", "m.ode", "u"]).exits(0);
    let texts = texts(&folder.read("m.svg"));
    assert!(texts.contains(&"10".to_string()) || texts.contains(&"10.0".to_string()), "{texts:?}");
}

/// In `N' = 0.1*N*(1 - N/100)` per day, N would be a rate by its units. No unit is shown that nobody wrote.
#[test]
fn units_that_follow_from_that_of_time_alone_are_not_shown() {
    let text = "model m\ntime t [day]\nstate N = 10\nN' = 0.1*N*(1 - N/100)\nrun { t = 0 .. 9; samples = 3 }\n";
    let folder = Folder::new("plot-units").with("m.ode", text);
    folder.run(&["plot", "m.ode"]).exits(0);
    let texts = texts(&folder.read("m.svg"));
    assert!(texts.iter().all(|text| !text.contains("1/day")), "{texts:?}");
    let header = folder.run(&["run", "m.ode", "--units", "-q"]).exits(0).out();
    assert!(header.starts_with("t [day],N\n"), "{header}");
}
