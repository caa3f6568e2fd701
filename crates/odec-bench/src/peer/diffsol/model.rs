//! Problems in DiffSL: small ones are translated from their C, the others are written out.

use std::fmt::Write;

use crate::problem::{Kind, Problem, root};

/// Largest mesh that is written out in DiffSL: beyond it, compilation takes longer than the measurement.
const CELLS: usize = 5_000;
/// Like [`CELLS`], for a quick measurement.
const QUICK_CELLS: usize = 1_024;

/// A problem in DiffSL, or why it is not.
pub fn text(problem: &Problem, quick: bool) -> Result<String, String> {
    let most = if quick { QUICK_CELLS } else { CELLS };
    match problem.kind {
        Kind::Small(id) => small(id, &problem.start),
        Kind::NonStiff(0) => Ok(LORENZ.into()),
        Kind::NonStiff(1) => Ok(ARENSTORF.into()),
        Kind::NonStiff(_) => Ok(pleiades(&problem.start)),
        Kind::Line(cells) if cells <= most => Ok(line(cells, &problem.start)),
        Kind::Torus(edge) if edge * edge <= most => Ok(torus(edge, &problem.start)),
        Kind::Square(edge) if edge * edge <= most => Ok(square(edge, &problem.start)),
        _ => Err("its compiler would take too long".into()),
    }
}

/// Turns `const double r1=0.35*y1;` into `r1 { 0.35*y1 }` and `d[0]=...;` into the elements of F.
fn small(id: &str, start: &[f64]) -> Result<String, String> {
    let path = root().join(format!("crates/odec-bench/limit/problems/{id}.h"));
    let header = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let body = header.split("ATTR void fun").nth(1).and_then(|t| t.split_once('{')).map(|(_, t)| t);
    let body = body.and_then(|t| t.split_once("\n}")).map(|(t, _)| t).ok_or("no function in the header")?;
    let (mut named, mut f) = (String::new(), String::new());
    for statement in body.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        let (left, right) = statement.split_once('=').ok_or(statement)?;
        if left.trim().starts_with("d[") {
            let _ = writeln!(f, "  {},", right.trim());
        } else if !right.trim().starts_with("y[") {
            let name = left.trim().rsplit(' ').next().unwrap_or_default();
            let _ = writeln!(named, "{name} {{ {} }}", right.trim());
        }
    }
    let states: String = start.iter().enumerate().map(|(k, y)| format!("  y{} = {},\n", k + 1, number(*y))).collect();
    // constants come before the states, definitions that use states after them
    let (mut constants, mut others) = (String::new(), String::new());
    for line in named.lines() {
        let uses = line.split(|c: char| !c.is_alphanumeric()).any(|w| w.starts_with('y') && w.len() > 1);
        let target = if uses { &mut others } else { &mut constants };
        let _ = writeln!(target, "{line}");
    }
    Ok(format!("{constants}u_i {{\n{states}}}\n{others}F_i {{\n{f}}}\n"))
}

/// Number in DiffSL, which does not accept an exponent after a number without a point.
fn number(x: f64) -> String {
    format!("{x:?}")
}

const LORENZ: &str = "
u_i { x = 1.0, y = 0.0, z = 0.0, }
F_i { 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z, }
";

const ARENSTORF: &str = "
mu { 0.012277471 } nu { 1.0 - mu }
u_i { x = 0.994, y = 0.0, v = 0.0, w = -2.001585106379082522405, }
ra { (1.0 - mu) / pow((x + mu) * (x + mu) + y * y, 1.5) }
rb { mu / pow((x - nu) * (x - nu) + y * y, 1.5) }
F_i { v, w, x + 2.0 * w - ra * (x + mu) - rb * (x - nu), y - 2.0 * v - ra * y - rb * y, }
";

fn pleiades(start: &[f64]) -> String {
    let mut text = String::from("u_i {\n");
    for (block, letter) in ["x", "y", "v", "w"].iter().enumerate() {
        for k in 0..7 {
            let _ = writeln!(text, "  {letter}{} = {},", k + 1, number(start[7 * block + k]));
        }
    }
    text.push_str("}\n");
    for i in 1..=7 {
        for j in i + 1..=7 {
            let _ = writeln!(
                text,
                "r{i}{j} {{ pow((x{j} - x{i}) * (x{j} - x{i}) + (y{j} - y{i}) * (y{j} - y{i}), -1.5) }}"
            );
        }
    }
    text.push_str("F_i {\n");
    for letter in ["v", "w"] {
        for k in 1..=7 {
            let _ = writeln!(text, "  {letter}{k},");
        }
    }
    for axis in ["x", "y"] {
        for i in 1..=7 {
            let pull = |j: usize| {
                let (a, b) = (i.min(j), i.max(j));
                format!("{j}.0 * ({axis}{j} - {axis}{i}) * r{a}{b}")
            };
            let sum: Vec<String> = (1..=7).filter(|j| *j != i).map(pull).collect();
            let _ = writeln!(text, "  {},", sum.join(" + "));
        }
    }
    text.push_str("}\n");
    text
}

fn list(values: impl Iterator<Item = f64>) -> String {
    values.map(|y| format!("  {},\n", number(y))).collect()
}

fn species(start: &[f64]) -> String {
    let (x, z) = (start.iter().step_by(2).copied(), start.iter().skip(1).step_by(2).copied());
    format!("p_i {{\n{}}}\nq_i {{\n{}}}\nu_i {{\n  x = p_i,\n  z = q_i,\n}}\n", list(x), list(z))
}

fn line(n: usize, start: &[f64]) -> String {
    let c = 0.02 * ((n + 1) * (n + 1)) as f64;
    let m = n - 1;
    let edge = |value: f64| {
        let inside = list((0..n).map(|i| if i == 0 || i == m { value * c } else { 0.0 }));
        format!("{{\n{inside}}}\n")
    };
    format!(
        "D_ij {{ (0..{n}, 0..{n}): {}, (0..{m}, 1..{n}): {c:?}, (1..{n}, 0..{m}): {c:?}, }}\n\
         b_i {}e_i {}{}\
         f_i {{ D_ij * x_j }}\ng_i {{ D_ij * z_j }}\n\
         F_i {{\n  1.0 + x_i * x_i * z_i - 4.0 * x_i + f_i + b_i,\n  3.0 * x_i - x_i * x_i * z_i + g_i + e_i,\n}}\n",
        number(-2.0 * c),
        edge(1.0),
        edge(3.0),
        species(start),
    )
}

fn torus(n: usize, start: &[f64]) -> String {
    let c = 0.1 * (n * n) as f64;
    let mut entries = String::new();
    for q in 0..n * n {
        let (j, i) = (q / n, q % n);
        let mut row = vec![
            (q, -4.0 * c),
            (j * n + (i + 1) % n, c),
            (j * n + (i + n - 1) % n, c),
            (((j + 1) % n) * n + i, c),
            (((j + n - 1) % n) * n + i, c),
        ];
        row.sort_by_key(|e| e.0);
        row.iter().for_each(|(k, v)| {
            let _ = writeln!(entries, "  ({q}, {k}): {},", number(*v));
        });
    }
    format!(
        "D_ij {{\n{entries}}}\n{}f_i {{ D_ij * x_j }}\ng_i {{ D_ij * z_j }}\n\
         F_i {{\n  1.0 + x_i * x_i * z_i - 4.4 * x_i + f_i,\n  3.4 * x_i - x_i * x_i * z_i + g_i,\n}}\n",
        species(start),
    )
}

fn square(n: usize, start: &[f64]) -> String {
    let c = ((n + 1) * (n + 1)) as f64;
    let mut entries = String::new();
    for q in 0..n * n {
        let (j, i) = (q / n, q % n);
        let mut row = vec![(q, -4.0 * c)];
        row.extend((i > 0).then(|| (q - 1, c)));
        row.extend((i < n - 1).then(|| (q + 1, c)));
        row.extend((j > 0).then(|| (q - n, c)));
        row.extend((j < n - 1).then(|| (q + n, c)));
        row.sort_by_key(|e| e.0);
        row.iter().for_each(|(k, v)| {
            let _ = writeln!(entries, "  ({q}, {k}): {},", number(*v));
        });
    }
    format!(
        "D_ij {{\n{entries}}}\np_i {{\n{}}}\nu_i {{ x = p_i }}\nF_i {{ D_ij * x_j }}\n",
        list(start.iter().copied())
    )
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::problem::all;

    #[test]
    fn the_c_of_a_small_problem_becomes_diffsl() {
        let problem = all().into_iter().find(|p| p.id == "rober40").expect("known");
        let text = text(&problem, true).expect("a text");
        assert!(text.starts_with("k1 { 0.04 }\n"), "{text}");
        assert!(text.contains("u_i {\n  y1 = 1.0,\n  y2 = 0.0,\n  y3 = 0.0,\n}"), "{text}");
        assert!(text.contains("F_i {\n  -k1*y1 + k3*y2*y3,"), "{text}");
    }
}
