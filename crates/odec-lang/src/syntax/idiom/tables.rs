//! Tables as other languages use them: `np.interp(t, times, values)`, `q = table(...)`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0505;

/// Names for an input.
const NAMES: [&str; 5] = ["q", "u", "f", "input1", "measured"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(defined(scene, line));
}

/// The line `name = [1, 2, 3]` or `const name[i] = [1, 2, 3]` of a list, and the list.
fn list<'a>(scene: &'a Scene<'_>, name: &str) -> Option<(&'a Line<'a>, &'a str)> {
    scene.lines.iter().find_map(|line| {
        let at = usize::from(matches!(line.text(0), "const" | "param"));
        let equals = line.find(at, "=")?;
        let last = line.tokens.len().checked_sub(1)?;
        let whole = line.text(equals + 1) == "[" && line.close(equals + 1) == Some(last);
        (line.text(at) == name && whole).then(|| (line, line.slice(equals + 1, last + 1)))
    })
}

/// `interp(t, tt, xx)`, `interp1(tt, xx, t)`: a table of two lists, called at `at`, with a module from `from` on.
pub(super) fn interpolated(scene: &Scene<'_>, line: &Line<'_>, at: usize, from: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let known = matches!(word, "interp" | "interp1" | "approx" | "interp1d" | "lookup" | "LOOKUP" | "interpolate");
    if !known || line.text(at + 1) != "(" {
        return None;
    }
    let close = line.close(at + 1)?;
    let arguments = line.arguments(at + 1)?;
    let text = |k: usize| arguments.get(k).map_or("", |r| line.slice(r.start, r.end));
    let samples = |k: usize| {
        let text = text(k);
        if text.starts_with('[') {
            Some((None, text))
        } else {
            list(scene, text).map(|(line, list)| (Some(line), list))
        }
    };
    // Python has the argument first, MATLAB and R have it last
    let (of, x, y) = match (samples(0), samples(1), samples(2)) {
        (None, Some(x), Some(y)) => (text(0), x, y),
        (Some(x), Some(y), None) if arguments.len() > 2 => (text(2), x, y),
        _ => return None,
    };
    let of = of.strip_prefix("xout").map_or(of, |rest| rest.trim_start_matches([' ', '=']));
    let name = NAMES.into_iter().find(|name| !scene.is_declared(name))?;
    let argument = if of == scene.time { scene.time } else { "x" };
    let found =
        IdiomMatch::new(CODE, format!("odec has no function `{word}`"), line.span(from, close)).label("a table");
    let lines: Vec<_> = [x.0, y.0].into_iter().flatten().map(|line| line.range.clone()).collect();
    let instead = if lines.is_empty() { "" } else { " instead of the lists" };
    let mut found = found.help(format!(
        "declare it as an input{instead}, `input {name}({argument}) = table({}, {}, linear)`, and write `{name}({of})` here",
        with_commas(x.1), with_commas(y.1)
    ));
    found.also = lines;
    Some(found)
}

/// `[0, 1]` for `[0 1]` of MATLAB.
fn with_commas(list: &str) -> String {
    let plain = !list.contains(',') && !list.contains(['(', '+', '*', '/']);
    let inside = list.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| plain);
    inside.map_or_else(
        || list.to_owned(),
        |inside| format!("[{}]", inside.split_whitespace().collect::<Vec<_>>().join(", ")),
    )
}

/// `q = table(...)`, `param q = table(...)`
fn defined(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = usize::from(matches!(line.text(0), "param" | "const" | "state"));
    let last = line.tokens.len().checked_sub(1)?;
    let named =
        line.is_name(at) && line.text(at + 1) == "=" && line.text(at + 2) == "table" && line.text(at + 3) == "(";
    if !named || scene.is_function("table") || line.close(at + 3) != Some(last) {
        return None;
    }
    let name = line.text(at);
    let uses: Vec<_> = scene
        .lines
        .iter()
        .filter(|other| other.range != line.range)
        .flat_map(|other| (0..other.tokens.len()).filter(|&k| other.text(k) == name).map(move |k| (other, k)))
        .collect();
    let called = |(line, k): &(&Line<'_>, usize)| line.text(k + 1) == "(" && line.touches(*k);
    let argument =
        uses.iter().filter(|place| called(place)).map(|(line, k)| line.text(k + 2)).find(|text| *text != scene.time);
    let argument = argument.filter(|text| text.starts_with(char::is_alphabetic)).unwrap_or(scene.time);
    let mut text = line.slice(at + 2, last + 1).to_owned();
    // there is no default for the values between two samples
    let said = (at + 3..last).any(|k| matches!(line.text(k), "hold" | "linear" | "cubic" | "spline"));
    if !said {
        text.truncate(text.len() - 1);
        // a file needs the name of its column
        let file = line.kind(at + 4) == Some(TokenKind::Text) && at + 5 == last;
        text.push_str(&if file { format!(", \"{name}\", linear)") } else { ", linear)".to_owned() });
    }
    let better = format!("input {name}({argument}) = {text}");
    let plain: Vec<_> = uses.iter().filter(|place| !called(place)).collect();
    let rest = if plain.is_empty() { String::new() } else { format!(", and `{name}({argument})` where it is used") };
    let found = IdiomMatch::new(&codes::E0529, "declare a table as an input", line.span(0, last)).label("a table");
    let mut found = found.help(format!("write `{better}`{rest}")).over(line.range.clone());
    let lists = line.kind(at + 4) == Some(TokenKind::Open) || line.kind(at + 4) == Some(TokenKind::Text);
    if said && plain.is_empty() && lists {
        found = found.fix(line.span(0, last), better);
    }
    found.also = uses.iter().map(|(line, _)| line.range.clone()).collect();
    Some(found)
}
